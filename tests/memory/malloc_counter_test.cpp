// Goal: the counter that other tests judge by sees every way of asking for memory or a mutex, on every
// thread, and sees nothing where there is nothing.
// Method: each way once, with the count before and after.
#include "support/malloc_counter.hpp"

#include "memory/default_resource.hpp"
#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

namespace sluice {

namespace {

// The compiler may drop an allocation whose result nobody can see.
std::atomic<void*> seen_block{nullptr};

template <typename T>
T* seen(T* block) {
    seen_block.store(block);
    return block;
}

template <typename Work>
test::CallCounts calls_of(Work work) {
    const test::CallCounts before = test::call_counts();
    work();
    return test::call_counts() - before;
}

struct alignas(128) Wide {
    char bytes[256];
};

}  // namespace

TEST_CASE("E31: without a counter a test can tell") {
    if (!test::call_counting_available()) {
        MESSAGE("calls are not counted in this build");
        CHECK(calls_of([] { std::free(std::malloc(1)); }).mutex_locks == 0);
    } else {
        CHECK(test::call_counts().allocations > 0);  // doctest and the start of the program
    }
}

TEST_CASE("E31: every way of allocating is counted" * doctest::skip(!test::call_counting_available())) {
    using Counts = test::CallCounts;
    CHECK(calls_of([] {}) == Counts{0, 0});
    CHECK(calls_of([] { std::free(seen(std::malloc(10))); }) == Counts{1, 0});
    CHECK(calls_of([] { std::free(seen(std::calloc(3, 10))); }) == Counts{1, 0});
    CHECK(calls_of([] { std::free(seen(std::realloc(nullptr, 10))); }) == Counts{1, 0});
    CHECK(calls_of([] { std::free(seen(std::aligned_alloc(64, 128))); }) == Counts{1, 0});
    CHECK(calls_of([] {
              void* block = nullptr;
              CHECK(::posix_memalign(&block, 64, 100) == 0);
              std::memset(block, 1, 100);
              std::free(seen(block));
          }).allocations >= 1);
    CHECK(calls_of([] {
              auto* const number = seen(new int(1));
              delete number;
          }) == Counts{1, 0});
    CHECK(calls_of([] {
              auto* const numbers = seen(new (std::nothrow) int[5]);
              delete[] numbers;
          }) == Counts{1, 0});
    CHECK(calls_of([] {
              auto* const wide = seen(new Wide());
              delete wide;
          }) == Counts{1, 0});
    CHECK(calls_of([] { std::free(seen(::strdup("inside the C library too"))); }) == Counts{1, 0});
    CHECK(calls_of([] {
              std::pmr::memory_resource& resource = *memory::default_resource();
              resource.deallocate(seen(resource.allocate(256, 64)), 256, 64);
          }) == Counts{1, 0});
}

TEST_CASE("E31: every lock is counted" * doctest::skip(!test::call_counting_available())) {
    using Counts = test::CallCounts;
    std::mutex mutex;
    CHECK(calls_of([&] { const std::scoped_lock lock(mutex); }) == Counts{0, 1});
    CHECK(calls_of([&] {
              if (mutex.try_lock()) {
                  mutex.unlock();
              }
          }) == Counts{0, 1});
    std::recursive_mutex recursive;
    CHECK(calls_of([&] {
              const std::scoped_lock outer(recursive);
              const std::scoped_lock inner(recursive);
          }) == Counts{0, 2});
}

TEST_CASE("E31: all threads count together" * doctest::skip(!test::call_counting_available())) {
    constexpr std::uint64_t each = 10'000;
    std::atomic<std::uint64_t> own{0};
    std::mutex mutex;
    const test::CallCounts all = calls_of([&] {
        test::run_together(3, [&](unsigned) {
            for (std::uint64_t i = 0; i < each; ++i) {
                void* volatile block =
                    std::malloc(i % 100 + 1);  // volatile: else clang knows that nobody needs it
                own.fetch_add(block != nullptr ? 1 : 0);
                std::free(block);
                const std::scoped_lock lock(mutex);
            }
        });
    });
    CHECK(own.load() == 3 * each);
    CHECK(all.allocations >= 3 * each);
    CHECK(all.allocations < 3 * each + 100);  // starting the threads
    CHECK(all.mutex_locks >= 3 * each);
    CHECK(all.mutex_locks < 3 * each + 100);
}

}  // namespace sluice
