// The example of the README: one actor, a read, a mutation, a heavy build.
#include <sluice/sluice.hpp>

#include <cstdio>
#include <string>
#include <vector>

using Index = std::vector<std::string>;

int main() {
    sluice::Executor executor;  // threads and defaults from the usable CPUs
    auto repo = executor.add_actor("repo-a", Index{"needle"});

    auto size = repo.read([](const Index& index) { return index.size(); });  // beside other reads
    auto added = repo.mutate([](Index& index) { index.push_back("doc"); });  // alone
    auto built =
        repo.build([](const Index&) { return Index{"a", "b", "c"}; },  // heavy, outside any exclusion
                   [](Index& index, Index fresh) {
                       index = std::move(fresh);
                       return index.size();
                   });

    if (auto result = size.wait())
        std::printf("entries: %zu\n", *result);  // std::expected<std::size_t, sluice::Error>
    if (auto result = added.wait(); !result)
        std::puts(std::string(result.error().message()).c_str());
    std::printf("after the build: %zu\n", built.wait().value());
}
