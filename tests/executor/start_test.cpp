// Goal: an executor starts whole or not at all (E22, E31): whichever allocation of its start fails, it says out_of_memory, no
// thread runs on, and nothing is left behind; likewise if the system refuses a thread. And one that was moved from answers as its contract says.
// Method: the program's own operator new, which fails when the thread that starts the executor is at its n-th call. Not under
// ThreadSanitizer, which brings operators of its own and links beside no others. Threads fail by platform/thread_start.hpp.
#include <cstdlib>
#include <new>
#include <optional>

#include "executor/harness.hpp"
#include "platform/thread_start.hpp"
#include "support/counting_resource.hpp"
#include "support/sanitizers.hpp"

using namespace sluice;
using namespace sluice::test;

#if !SLUICE_TEST_UNDER_THREAD_SANITIZER

namespace {

constinit thread_local int until_failure = 0;  // 0: none is to fail
constinit std::atomic<long> blocks{0};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (until_failure > 0 && --until_failure == 0)
        return nullptr;
    void* block = alignment <= alignof(std::max_align_t)
                      ? std::malloc(size == 0 ? 1 : size)
                      : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (block != nullptr)
        blocks.fetch_add(1, std::memory_order_relaxed);
    return block;
}
void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    void* block = allocate(size, alignment);
    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}
void release(void* block) noexcept {
    if (block != nullptr)
        blocks.fetch_sub(1, std::memory_order_relaxed);
    std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate_or_throw(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    release(block);
}

TEST_CASE(
    "E31 E22 any allocation of the start fails: out_of_memory, no thread runs on, nothing is left behind") {
    under_both_policies({2}, [](Config config) {
        const auto threads = ThreadCounts::watch(config);
        config.reserve_nodes = 64;
        // What is made once and stays is made now.
        for (int i = 0; i < 2; ++i) {
            Executor executor(config);
            CHECK(code_of(executor.add_actor("a", 0).read([](const int&) {})) == no_error);
        }
        std::optional<Executor> executor;
        int failed = 0;
        for (int n = 1; !executor; ++n) {
            REQUIRE(n < 10'000);
            INFO("allocation " << n);
            const long before = blocks.load();
            until_failure = n;
            Result<Executor> created = Executor::create(config);
            const bool in_time = until_failure == 0;
            until_failure = 0;
            if (created) {
                if (!in_time)
                    executor.emplace(*std::move(created));
                continue;  // a failure that cost nothing: a retry, or a cache that could be done without
            }
            ++failed;
            CHECK(created.error() == ErrorCode::out_of_memory);
            CHECK(threads->all_left());
            created = Result<Executor>(std::unexpect, Error());
            CHECK(blocks.load() <= before);
        }
        CHECK(failed > 10);
        CHECK(code_of(executor->add_actor("a", 0).read([](const int&) {})) == no_error);
    });
}

#endif  // !SLUICE_TEST_UNDER_THREAD_SANITIZER

TEST_CASE("E22 whichever thread the system refuses: an error, no thread runs on, all memory is back") {
    under_both_policies({2}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.reserve_nodes = 64;
        const auto threads = ThreadCounts::watch(config);
        for (std::uint32_t n = 1; n <= 3; ++n) {  // two workers and home
            INFO("thread " << n);
            platform::starts_until_failure = n;
            const Result<Executor> refused = Executor::create(config);
            CHECK(platform::starts_until_failure.load() == 0);
            REQUIRE_FALSE(refused.has_value());
            CHECK(refused.error() == ErrorCode::invalid_argument);
            CHECK(refused.error().limit().name == "pool_size");
            CHECK(refused.error().limit().count == n - 1);
            CHECK(threads->all_left());
            CHECK(resource.blocks_in_use() == 0);
        }
        Executor executor(config);
        CHECK(code_of(executor.add_actor("a", 0).read([](const int&) {})) == no_error);
    });
}

#ifndef SLUICE_PLATFORM_PORTABLE  // which knows no CPUs to try

TEST_CASE("E22 E32 the thread on which CPUs are tried is one that the system may refuse") {
    Config config;
    config.cpus = {0};
    platform::starts_until_failure = 1;
    const Result<Executor> refused = Executor::create(config);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().limit().name == "pool_size");
}

#endif

TEST_CASE("E22 an executor that was moved from answers no_state, and can be assigned to") {
    Executor executor;
    Executor other = std::move(executor);
    CHECK(other.config().pool_size >= 1);
    // The point is to use it. NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    const auto thrown = [](auto call) {
        try {
            call();
        } catch (const Exception& error) {
            return error.error().value();
        }
        return no_error;
    };
    CHECK(thrown([&] { static_cast<void>(executor.add_actor("a", 0)); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.remove_actor("a")); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.actors()); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.snapshot()); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.running_mutations()); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.mutation_state("a", "r")); }) == ErrorCode::no_state);
    CHECK(thrown([&] { static_cast<void>(executor.config()); }) == ErrorCode::no_state);
    CHECK(executor.find_actor<int>("a").error() == ErrorCode::no_state);
    CHECK(executor.actor_snapshot("a").error() == ErrorCode::no_state);
    CHECK(executor.shutdown(Shutdown::drain).error() == ErrorCode::no_state);
    CHECK(executor.wait_shut_down().error() == ErrorCode::no_state);
    CHECK(executor.wait_shut_down_for(1s).error() == ErrorCode::no_state);
    CHECK(executor.reserve(10).error() == ErrorCode::no_state);
    CHECK(code_of(executor.submit<int>("a", Lane::pure_read, {}, [](const int&) {})) == ErrorCode::no_state);
    { const Batch batch(executor); }
    executor = std::move(other);
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    CHECK(code_of(executor.add_actor("a", 0).read([](const int&) {})) == no_error);
}
