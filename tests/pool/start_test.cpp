// Goal: a pool starts whole or not at all (P9): whichever thread the system refuses, create() says so, no worker runs on,
// and nothing is left behind. A hook that throws takes nobody down.
// Method: the n-th start fails, for each n, by the seam of platform/thread_start.hpp.
#include "pool/harness.hpp"
#include "support/counting_resource.hpp"

#include "platform/thread_start.hpp"

#include <stdexcept>

using namespace sluice;
using namespace sluice::test;

TEST_CASE(
    "P9 whichever thread of a pool the system refuses: an error, no worker runs on, all memory is back") {
    CountingResource resource;
    PoolConfig config = small_pool(3, 8);
    config.memory = &resource;
    auto threads = std::make_shared<ThreadCounts>();
    config.on_thread_start = [threads](std::string_view) { threads->started.fetch_add(1); };
    config.on_thread_stop = [threads](std::string_view) { threads->stopped.fetch_add(1); };
#ifdef SLUICE_PLATFORM_PORTABLE  // which knows no CPUs to try
    const std::vector<bool> kinds_of_start{false};
#else
    const std::vector<bool> kinds_of_start{false, true};
#endif
    for (const bool with_cpus : kinds_of_start) {
        config.cpus = with_cpus ? std::vector<std::int32_t>{0} : std::vector<std::int32_t>{};
        for (std::uint32_t n = 1; n <= 3U + (with_cpus ? 1U : 0U); ++n) {
            INFO("thread " << n);
            platform::starts_until_failure = n;
            const Result<BoundedPool> refused = BoundedPool::create(config);
            CHECK(platform::starts_until_failure.load() == 0);
            REQUIRE_FALSE(refused.has_value());
            CHECK(refused.error() == ErrorCode::invalid_argument);
            CHECK(refused.error().limit().name == "workers");
            CHECK(refused.error().limit().count == n - (with_cpus && n > 1 ? 2U : 1U));
            CHECK(threads->stopped.load() == threads->started.load());
            CHECK(resource.blocks_in_use() == 0);
        }
        Result<BoundedPool> pool = BoundedPool::create(config);
        REQUIRE(pool.has_value());
        CHECK(pool->post(only, {}, [] {}));
        CHECK(pool->wait_idle_for(patience));
    }
}

TEST_CASE("P7 thread hooks and a handler that throw take no worker down, and are counted") {
    PoolConfig config = small_pool(2, 8);
    config.on_thread_start = [](std::string_view) { throw std::runtime_error("from a hook"); };
    config.on_thread_stop = config.on_thread_start;
    config.on_thrown = [](const ThrownItem&) { throw std::runtime_error("from the handler"); };
    BoundedPool pool(config);
    REQUIRE(eventually([&] { return pool.snapshot().callbacks_threw == 2; }));
    CHECK(pool.post(only, {}, [] { throw std::runtime_error("from a job"); }));
    CHECK(pool.wait_idle_for(patience));
    CHECK(pool.snapshot().callbacks_threw == 3);
    pool.shutdown(Shutdown::drain);
    REQUIRE(pool.wait_shut_down_for(patience));
    CHECK(pool.snapshot().callbacks_threw == 5);
}
