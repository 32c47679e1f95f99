// The bytes of a fuzzer as a sequence of small numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace sluice::fuzz {

/// Once nothing is left every number is zero, so each prefix of an input is an input, and shrinking works.
class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    [[nodiscard]] bool empty() const {
        return rest_.empty();
    }
    [[nodiscard]] std::uint8_t next() {
        if (rest_.empty())
            return 0;
        const std::uint8_t byte = rest_.front();
        rest_ = rest_.subspan(1);
        return byte;
    }
    /// least..most.
    [[nodiscard]] std::uint32_t between(std::uint32_t least, std::uint32_t most) {
        return least + next() % (most - least + 1);
    }

private:
    std::span<const std::uint8_t> rest_;
};

/// Ends the process, which is how a fuzzer learns of it.
[[noreturn]] inline void found(const std::string& what) {
    std::fprintf(stderr, "found: %s\n", what.c_str());
    std::abort();
}

inline void require(bool holds, const char* what) {
    if (!holds)
        found(what);
}

}  // namespace sluice::fuzz

/// What every target defines: one run over one input. Always 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
