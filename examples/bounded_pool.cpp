// A service whose reader must never block: control work is never starved, bursts are bounded, queued work can be withdrawn.
#include <chrono>
#include <cstdio>
#include <string>

#include <sluice/bounded_pool.hpp>

int main() {
    using namespace std::chrono_literals;
    namespace lanes = sluice::pool_lanes;

    sluice::BoundedPool pool;  // the default table: control, user, cheap, bulk; 64 items, 1 MiB, 16 workers

    auto item = pool.enqueue(lanes::bulk, {.call_id = "call-1", .group_id = "agent-7", .bytes = 4096},
                             [] { std::puts("bulk work"); });
    if (!item)
        std::puts(
            std::string(item.error().message()).c_str());  // which bound, its value, how many there were

    if (auto posted = pool.post(lanes::control, {}, [] { std::puts("control work"); }); !posted)
        return 1;

    (void)pool.wait_idle();
    std::printf("the item %s\n", std::string(to_string(item->state())).c_str());

    // Larger than the whole budget: no use in trying again.
    auto refused = pool.enqueue(lanes::user, {.bytes = 2U << 20U}, [] {});
    if (!refused && refused.error() == sluice::ErrorCode::never_fits)
        std::puts(std::string(refused.error().message()).c_str());

    // Waits its turn for room, for at most so long.
    if (auto waited = pool.enqueue_for(10ms, lanes::cheap, {.group_id = "agent-7"}, [] {}))
        (void)waited->cancel();          // O(1)
    (void)pool.cancel_group("agent-7");  // whatever of it is still queued

    (void)pool.wait_idle();
    const sluice::PoolTotals totals = pool.snapshot().items;
    std::printf("accepted %llu = ran %llu + cancelled %llu\n",
                static_cast<unsigned long long>(totals.accepted), static_cast<unsigned long long>(totals.ran),
                static_cast<unsigned long long>(totals.cancelled));
    return totals.accepted == totals.ran + totals.cancelled ? 0 : 1;
}
