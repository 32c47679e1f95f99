#pragma once

// For tests that let threads loose on a structure: a seed that is printed and can be given, random numbers
// from it, and threads that start together.
//
// SLUICE_TEST_SEED=n repeats the choices of a run. The scheduler's choices are not repeated, so a rare
// failure may take several runs with the same seed.

#include "support/sanitizers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace sluice::test {

/// The seed of this test program, printed at its first use.
inline std::uint64_t seed() {
    static const std::uint64_t chosen = [] {
        const char* const given = std::getenv("SLUICE_TEST_SEED");
        const std::uint64_t value =
            given != nullptr
                ? std::strtoull(given, nullptr, 10)
                : static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        std::printf("seed %llu (SLUICE_TEST_SEED repeats it)\n", static_cast<unsigned long long>(value));
        std::fflush(stdout);
        return value;
    }();
    return chosen;
}

/// splitmix64: small, and good enough to choose what a thread does next.
class Random {
public:
    explicit Random(std::uint64_t stream) : Random(seed(), stream) {}
    /// Of another seed than the program's own.
    Random(std::uint64_t of_seed, std::uint64_t stream)
        : state_(of_seed ^ (stream * 0xD1B5'4A32'D192'ED03ULL + 1)) {}

    std::uint64_t next() {
        state_ += 0x9E37'79B9'7F4A'7C15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
        z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
        return z ^ (z >> 31U);
    }

    /// Uniform enough in [0, limit).
    std::uint64_t below(std::uint64_t limit) {
        return next() % limit;
    }
    bool one_in(std::uint64_t n) {
        return below(n) == 0;
    }

private:
    std::uint64_t state_;
};

/// Runs body(0) ... body(count - 1) on threads of their own, started as one as far as the system lets them.
template <typename Body>
void run_together(unsigned count, Body body) {
    std::atomic<unsigned> waiting{count};
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&waiting, &body, i] {
            waiting.fetch_sub(1);
            while (waiting.load() != 0) {
                std::this_thread::yield();
            }
            body(i);
        });
    }
}

}  // namespace sluice::test
