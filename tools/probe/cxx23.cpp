// Compiled at configure time: what Sluice takes for granted of compiler and standard library.
#include <concepts>
#include <expected>
#include <functional>
#include <memory_resource>
#include <stop_token>
#include <utility>

static_assert(__cplusplus > 202002L);

int main() {
    std::expected<int, int> value = std::unexpected(1);
    std::move_only_function<int() const> call = [] { return 0; };
    std::stop_source source;
    return value.has_value() || source.stop_requested() ? 1 : call();
}
