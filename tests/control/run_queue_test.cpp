// Goal: each job is taken once, by its claimer or by who takes it back; what was done before it was put is seen; a worker that
// says that it sleeps, and the role that puts, do not miss each other.
// Method: a role that puts runs, overtakes a lap and revokes, and workers that claim. What belongs to a job is plain.
#include "sync/run_queue.hpp"

#include "sync/claim.hpp"
#include "sync/run_entry.hpp"

#include "control/harness.hpp"
#include "control/mutants_run_queue.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

struct Jobs {
    static constexpr std::size_t most = 6;
    std::array<core::Job, most> jobs{};
    std::array<plain<int>, most> data{};
    std::array<sync::atomic<int>, most> taken{};

    /// The role puts jobs first, first + 1 ... as one run.
    void put(auto& queue, std::size_t first, std::uint32_t count) {
        for (std::size_t i = first; i < first + count; ++i) {
            data[i] = 1;
            jobs[i].next = i + 1 < first + count ? &jobs[i + 1] : nullptr;
        }
        while (!queue.try_push_run(&jobs[first], count))
            relax();
    }
    void took(const core::Job* job) {
        check(job >= jobs.data() && job < jobs.data() + most, "a job");
        const auto i = static_cast<std::size_t>(job - jobs.data());
        check(data[i] == 1, "its data is seen");
        check(taken[i].fetch_add(1, sync::memory_order_relaxed) == 0, "once");
    }
    void take_all(auto& claim) {
        for (;;) {
            const sync::RunEntry entry = claim.take_next();
            if (entry.job == nullptr)
                return;
            took(entry.job);
        }
    }
    void revoke(auto& claim) {
        std::array<sync::RunEntry, 64> out{};
        const auto rest = claim.revoke(out);
        for (std::uint32_t i = 0; i < rest.count; ++i)
            took(out[i].job);
    }
    void rest(auto& queue, std::size_t count) {
        std::array<sync::RunEntry, 64> out{};
        for (std::uint32_t got = 1; got != 0;) {
            got = queue.recall(out);
            for (std::uint32_t i = 0; i < got; ++i)
                took(out[i].job);
        }
        for (std::size_t i = 0; i < count; ++i)
            check(taken[i].load() == 1, "none is lost");
    }
};

template <class Queue, class Claim>
Scenarios scenarios() {
    return {
        {{.name = "claim: taken by the owner or revoked"},
         [](Run& run) {
             Queue queue;
             Claim claim;
             Jobs jobs;
             jobs.put(queue, 0, 2);
             jobs.put(queue, 2, 2);
             run.thread("role", [&] {
                 jobs.revoke(claim);
                 jobs.revoke(claim);
             });
             run.thread("worker", [&] {
                 for (int i = 0; i < 2; ++i) {
                     static_cast<void>(queue.claim(claim, 2));
                     jobs.take_all(claim);
                 }
             });
             run.join();
             jobs.rest(queue, 4);
         }},
        {{.name = "claim: what the owner did before is seen with the claim"},
         [](Run& run) {
             Queue queue;
             Claim claim;
             Jobs jobs;
             plain<int> data{0};
             jobs.put(queue, 0, 2);
             run.thread("owner", [&] {
                 data = 1;
                 check(queue.claim(claim, 2) == 2, "both");
             });
             run.thread("home", [&] {
                 if (claim.observe().left() != 0)
                     check(data == 1, "seen");
             });
             run.join();
         }},
        {{.name = "run_queue: two claimers and a role that laps them"},
         [](Run& run) {
             Queue queue;
             Claim first;
             Claim second;
             Jobs jobs;
             sync::atomic<bool> all_put{false};
             run.thread("role", [&] {
                 jobs.put(queue, 0, 2);
                 jobs.put(queue, 2, 1);
                 jobs.put(queue, 3, 2);
                 all_put.store(true);
             });
             const auto work = [&](Claim& claim) {
                 for (int i = 0; i < 2; ++i) {
                     if (queue.claim(claim, 2) == 0)
                         relax();
                     jobs.take_all(claim);
                 }
             };
             run.thread("one", [&] { work(first); });
             run.thread("two", [&] { work(second); });
             run.thread("makes room", [&] {
                 Claim claim;
                 while (!all_put.load()) {
                     static_cast<void>(queue.claim(claim, 2));
                     jobs.take_all(claim);
                     relax();
                 }
             });
             run.join();
             jobs.rest(queue, 5);
         }},
        {{.name = "run_queue: put or sleep"},
         [](Run& run) {
             Queue queue;
             Claim claim;
             Jobs jobs;
             sync::atomic<bool> parked{false};
             sync::atomic<std::uint32_t> told{0};
             run.thread("role", [&] {
                 jobs.put(queue, 0, 1);
                 queue.announce();
                 if (parked.load()) {
                     told.store(1);
                     sync::wake_one(told);
                 }
             });
             run.thread("worker", [&] {
                 parked.store(true);
                 while (queue.empty() && told.load() == 0)
                     sync::wait(told, 0);
                 check(queue.claim(claim, 1) == 1, "there is one");
                 jobs.take_all(claim);
             });
             run.join();
             jobs.rest(queue, 1);
         }},
        {{.name = "run_queue: a claimer stands"},
         [](Run& run) {
             Queue queue;
             Claim first;
             Claim second;
             Jobs jobs;
             for (std::size_t i = 0; i < 3; ++i)
                 jobs.put(queue, i, 1);
             run.thread_that_stands("one", choose(12), [&] {
                 static_cast<void>(queue.claim(first, 1));
                 jobs.take_all(first);
             });
             run.thread("two", [&] {
                 // All but perhaps the one that is claimed.
                 for (std::uint32_t got = 0; got < 2;) {
                     got += queue.claim(second, 1);
                     jobs.take_all(second);
                 }
             });
             run.join();
             jobs.rest(queue, 3);
         }},
        {{.name = "claim: who claimed stands, the rest is taken back"},
         [](Run& run) {
             Queue queue;
             Claim claim;
             Jobs jobs;
             jobs.put(queue, 0, 3);
             check(queue.claim(claim, 3) == 3, "all");
             run.thread_that_stands("owner", choose(4), [&] { jobs.take_all(claim); });
             run.thread("role", [&] { jobs.revoke(claim); });
             run.join();
             jobs.rest(queue, 3);
         }},
    };
}

struct Stores : sync::ClaimRules {
    static constexpr bool revoke_by_cas = false;
};
struct ReadsLate : sync::ClaimRules {
    static constexpr bool read_before_cas = false;
};
struct StoresHead : sync::RunQueueRules {
    static constexpr bool claim_by_cas = false;
};
struct CopiesLate : sync::RunQueueRules {
    static constexpr bool copy_before_cas = false;
};

using Queue = sync::BasicRunQueue<sync::RunQueueRules, 4>;

}  // namespace

TEST_CASE("control: claim and run_queue") {
    must_hold(scenarios<Queue, sync::Claim>(), {"claim.hpp", "run_queue.hpp"});
}

TEST_CASE("control mutants: claim and run_queue") {
    must_die("Stores", "revoke_by_cas = false", scenarios<Queue, sync::BasicClaim<Stores>>());
    must_die("ReadsLate", "read_before_cas = false", scenarios<Queue, sync::BasicClaim<ReadsLate>>());
    must_die("StoresHead", "claim_by_cas = false",
             scenarios<sync::BasicRunQueue<StoresHead, 4>, sync::Claim>());
    must_die("CopiesLate", "copy_before_cas = false",
             scenarios<sync::BasicRunQueue<CopiesLate, 4>, sync::Claim>());
#define SLUICE_MUTANT(name, change) \
    must_die(#name, change,         \
             scenarios<sync::name::BasicRunQueue<sync::name::RunQueueRules, 4>, sync::name::Claim>());
#include "control/mutants_run_queue.inc"
}

}  // namespace sluice::control
