// Goal (E14, X11 b): a baton passes between threads, each submits the next job; they come out in that order. And no job
// is lost or doubled, whoever holds the role.
// Method: several batons at once over a few threads, which number their jobs as the executor does, by one counter; others
// submit without a baton and are suspended between number and push, so that there are gaps; two threads share the role.
// The same stress must fail without the ordering step, and with an ordering step that does not look at gaps.
// SLUICE_TEST_SECONDS=n lets the first case run longer.
#include "core/job.hpp"
#include "sync/ingress.hpp"

#include "support/stress.hpp"
#include "support/unordered_ingress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory_resource>
#include <thread>
#include <utility>

using namespace sluice;

namespace {

constexpr unsigned batons = 3;
constexpr unsigned carriers = 4;  // threads that pass batons
constexpr unsigned strays = 2;    // threads without one
constexpr unsigned consumers = 2;

/// A job of a baton (1 and up) has its place in the baton's row; a stray's has baton 0.
struct BatonJob : core::Job {
    std::uint64_t place = 0;
    unsigned baton = 0;
};

struct Result {
    std::uint64_t emitted = 0;
    std::uint64_t submitted = 0;
    std::uint64_t out_of_order = 0;
    double seconds = 0;
};

template <typename Ingress>
Result pass_batons(double most_seconds, std::uint64_t most_jobs) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto since = [begin] { return std::chrono::duration<double>(Clock::now() - begin).count(); };

    Ingress ingress(*std::pmr::new_delete_resource());
    std::atomic<std::uint64_t> numbers{0};
    std::atomic<std::uint64_t> submitted{0};
    std::atomic<bool> stop{false};
    std::atomic<bool> role{false};
    std::atomic<unsigned> submitting{carriers + strays};
    struct alignas(64) Baton {
        std::atomic<unsigned> holder{0};
        std::uint64_t place = 0;  // the holder's
    };
    std::array<Baton, batons> row;
    std::array<std::uint64_t, batons> seen{};  // the role's
    std::uint64_t emitted = 0;                 // the role's
    std::uint64_t out_of_order = 0;            // the role's
    // Nodes live until the end, and jobs are bounded, so no pool is needed.
    std::array<std::deque<BatonJob>, carriers + strays> nodes;

    const auto submit = [&](auto& lane, core::Job& job) {
        // Relaxed: the batons order the submissions, and nothing else does.
        job.number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
        return Ingress::push(lane, job);
    };

    test::run_together(carriers + strays + consumers, [&](unsigned me) {
        test::Random random(me);
        if (me < carriers + strays) {
            auto* const lane = ingress.add_lane();
            std::uint64_t mine = 0;
            while (!stop.load(std::memory_order_relaxed)) {
                bool idle = true;
                if (me < carriers) {
                    for (unsigned b = 0; b < batons; ++b) {
                        // Acquire: what the last holder submitted happened before what this one does.
                        if (row[b].holder.load(std::memory_order_acquire) != me) {
                            continue;
                        }
                        BatonJob& job = nodes[me].emplace_back();
                        job.baton = b + 1;
                        job.place = ++row[b].place;
                        idle = !submit(*lane, job);
                        ++mine;
                        row[b].holder.store(static_cast<unsigned>(random.below(carriers)),
                                            std::memory_order_release);
                    }
                } else if (random.one_in(4)) {
                    BatonJob& job = nodes[me].emplace_back();
                    job.number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
                    if (random.one_in(32)) {
                        std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
                    } else {
                        std::this_thread::yield();
                    }
                    idle = !Ingress::push(*lane, job);
                    ++mine;
                }
                if (idle || random.one_in(64)) {
                    std::this_thread::yield();
                }
            }
            submitted.fetch_add(mine);
            submitting.fetch_sub(1);
            return;
        }
        std::array<core::Job*, 128> out{};
        for (;;) {
            // Read before the drain: if nobody submits any more, this drain, or one that sees nothing pending, is the last.
            const bool last = submitting.load() == 0;
            if (!role.exchange(true)) {
                const std::size_t count = ingress.drain(out.data(), 1 + random.below(out.size()));
                for (std::size_t i = 0; i < count; ++i) {
                    const auto& job = static_cast<const BatonJob&>(*out[i]);
                    if (job.baton > 0 && job.place != ++seen[job.baton - 1]) {
                        ++out_of_order;
                    }
                }
                emitted += count;
                if (out_of_order > 0 || emitted > most_jobs || since() > most_seconds) {
                    stop.store(true, std::memory_order_relaxed);
                }
                role.store(false);
                if (count > 0 && !random.one_in(16)) {
                    continue;
                }
            }
            if (last && !ingress.pending()) {
                return;
            }
            std::this_thread::yield();
        }
    });
    return {emitted, submitted.load(), out_of_order, since()};
}

/// Threads that use lanes for a few jobs and leave them, like threads that come and go; each waits for its jobs to come out.
/// What was submitted and what came out: with a lane that is forgotten they differ.
template <typename Ingress>
std::pair<std::uint64_t, std::uint64_t> come_and_go(std::chrono::milliseconds time) {
    Ingress ingress(*std::pmr::new_delete_resource());
    std::atomic<std::uint64_t> numbers{0};
    std::atomic<bool> stop{false};
    std::atomic<unsigned> submitting{3};
    std::array<std::deque<BatonJob>, 3> nodes;
    std::array<std::atomic<std::uint64_t>, 3> came_out{};
    std::uint64_t emitted = 0;
    test::run_together(4, [&](unsigned me) {
        test::Random random(me);
        if (me == 3) {
            std::array<core::Job*, 64> out{};
            const auto end = std::chrono::steady_clock::now() + time;
            for (bool last = false;;) {
                const std::size_t count = ingress.drain(out.data(), out.size());
                emitted += count;
                for (std::size_t i = 0; i < count; ++i)
                    came_out[static_cast<BatonJob&>(*out[i]).baton].fetch_add(1);
                if (last && !ingress.pending())
                    return;
                last = submitting.load() == 0;
                if (std::chrono::steady_clock::now() > end)
                    stop.store(true);
            }
        }
        auto* const lane = ingress.add_lane();
        while (!stop.load(std::memory_order_relaxed)) {
            for (std::uint64_t i = random.below(3); i != 0; --i) {
                BatonJob& job = nodes[me].emplace_back();
                job.baton = me;
                job.number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
                if (!Ingress::push(*lane, job))
                    std::abort();
            }
            const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
            while (came_out[me].load() != nodes[me].size() && !stop.load()) {
                if (std::chrono::steady_clock::now() > patience)
                    stop.store(true);
                std::this_thread::yield();
            }
            if (came_out[me].load() != nodes[me].size())
                break;  // whatever is still to come out must do so without this thread
            Ingress::leave_lane(*lane);
            if (random.one_in(4))
                std::this_thread::yield();
            Ingress::reuse_lane(*lane);
        }
        submitting.fetch_sub(1);
    });
    return {numbers.load(), emitted};
}

}  // namespace

TEST_CASE("E14, X11b: batons between threads come out in their order") {
    const char* const given = std::getenv("SLUICE_TEST_SECONDS");
    const double most_seconds = given != nullptr ? std::strtod(given, nullptr) : 5;
    const Result result = pass_batons<sync::Ingress>(most_seconds, 500'000'000);
    MESSAGE("with the ordering step: " << result.emitted << " jobs in " << result.seconds << " s");
    CHECK(result.out_of_order == 0);
    CHECK(result.emitted == result.submitted);
    CHECK(result.emitted > 1'000);
}

TEST_CASE("E14, X11b: the stress fails without the ordering step") {
    const Result result = pass_batons<test::UnorderedIngress>(60, 100'000'000);
    MESSAGE("without the ordering step: out of order after " << result.emitted << " jobs, " << result.seconds
                                                             << " s");
    CHECK(result.out_of_order > 0);
    CHECK(result.emitted == result.submitted);
}

TEST_CASE("E14, X11b: the stress fails when gaps are jumped without a look") {
    const Result result = pass_batons<test::CarelessIngress>(60, 100'000'000);
    MESSAGE("without a look: out of order after " << result.emitted << " jobs, " << result.seconds << " s");
    CHECK(result.out_of_order > 0);
    CHECK(result.emitted == result.submitted);
}

TEST_CASE("E14 E32: lanes that are left and used again lose nothing") {
    const auto [submitted, emitted] = come_and_go<sync::Ingress>(std::chrono::seconds(2));
    CHECK(submitted > 10);  // with a sanitizer on a busy machine
    CHECK(emitted == submitted);
}

TEST_CASE("E14 E32: the stress notices when a lane in use is not looked at any more") {
    bool lost = false;
    for (int attempt = 0; attempt < 200 && !lost; ++attempt) {
        const auto [submitted, emitted] = come_and_go<test::ForgetfulIngress>(std::chrono::milliseconds(20));
        lost = emitted != submitted;
    }
    CHECK(lost);
}
