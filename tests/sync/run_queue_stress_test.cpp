// Goal (E28, E32): every job is begun by exactly one worker or taken back, whatever threads do; runs stay whole.
// Method: one thread has the role: it pushes runs of random length, takes rests and queued runs back, and pushes
// those again. Workers claim, take, and now and then give their rest back themselves. Each job counts its begins.
// The same stress must fail with each planted bug.
#include "core/job.hpp"
#include "sync/run_queue.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace sluice;
using sync::RunEntry;

namespace {

constexpr unsigned workers = 3;

/// `number` is the job's index, `order` its place in its run.
struct Outcome {
    std::uint64_t wrong = 0;
    std::uint64_t begun = 0;
    std::uint64_t revoked = 0;
    std::uint64_t recalled = 0;
};

template <typename QueueRules, typename ClaimRules>
class Stress {
public:
    explicit Stress(std::size_t count) : jobs_(count), begins_(count) {
        for (std::size_t i = 0; i < count; ++i) {
            jobs_[i].number = i;
            waiting_.push_back(&jobs_[i]);
        }
    }

    Outcome run() {
        test::run_together(1 + workers, [this](unsigned me) {
            test::Random random(me);
            if (me == workers) {
                hand_out(random);
            } else {
                work(me, random);
            }
        });
        return {wrong_.load(), begun_.load(), revoked_, recalled_};
    }

private:
    using Queue = sync::BasicRunQueue<QueueRules, 64>;
    using Claim = sync::BasicClaim<ClaimRules>;

    // The role. A planted bug may lose a job: nobody begins anything for two seconds and many looks. The looks, because on a
    // loaded machine this thread may be off its CPU for as long between two of them.
    void hand_out(test::Random& random) {
        std::uint64_t last_begun = 0;
        auto last_change = std::chrono::steady_clock::now();
        std::uint64_t looks = 0;
        while (wrong_.load() == 0 && begun_.load() < jobs_.size()) {
            push_some(random);
            if (random.one_in(4)) {
                std::array<RunEntry, 64> out{};
                const sync::RevokedRest rest = claims_[random.below(workers)].revoke(out);
                revoked_ += rest.count;
                take_back(out, rest.count, in_the_middle(out, rest.count), rest.continues_run);
            }
            take_in_given_back();
            if (random.one_in(64)) {
                std::array<RunEntry, 64> out{};
                const std::uint32_t count = queue_->recall(out);
                recalled_ += count;
                take_back(out, count, false, in_the_middle(out, count));
            }
            if (random.one_in(8)) {
                std::this_thread::yield();
            }
            if (begun_.load() != last_begun) {
                last_begun = begun_.load();
                last_change = std::chrono::steady_clock::now();
                looks = 0;
            } else if (++looks > 20'000 &&
                       std::chrono::steady_clock::now() - last_change > std::chrono::seconds(2)) {
                wrong_.fetch_add(1);
            }
        }
        stop_.store(true);
    }

    void push_some(test::Random& random) {
        for (std::uint64_t runs = random.below(8); runs > 0 && next_ < waiting_.size(); --runs) {
            const std::size_t left = waiting_.size() - next_;
            const std::size_t count = 1 + random.below(left < 20 ? left : random.one_in(4) ? 20 : 3);
            for (std::size_t i = 0; i < count; ++i) {
                core::Job& job = *waiting_[next_ + i];
                job.order = static_cast<std::uint32_t>(i);
                job.next = i + 1 < count ? waiting_[next_ + i + 1] : nullptr;
            }
            if (!queue_->try_push_run(waiting_[next_], static_cast<std::uint32_t>(count))) {
                return;
            }
            next_ += count;
        }
    }

    /// Whether a job is one of ours: a planted bug may hand out what was never put in.
    [[nodiscard]] bool known(const core::Job* job) const {
        const std::less<const core::Job*> before;
        return job != nullptr && !before(job, jobs_.data()) && before(job, jobs_.data() + jobs_.size());
    }
    [[nodiscard]] bool in_the_middle(const std::array<RunEntry, 64>& out, std::uint32_t count) const {
        return count > 0 && known(out[0].job) && out[0].job->order > 0;
    }

    void take_back(const std::array<RunEntry, 64>& out, std::uint32_t count, bool continues,
                   bool said_to_continue) {
        if (continues != said_to_continue) {
            wrong_.fetch_add(1);
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            if (known(out[i].job)) {
                waiting_.push_back(out[i].job);
            } else {
                wrong_.fetch_add(1);
            }
        }
    }

    void take_in_given_back() {
        const std::lock_guard lock(given_back_lock_);
        waiting_.insert(waiting_.end(), given_back_.begin(), given_back_.end());
        given_back_.clear();
    }

    // The owner gives its rest back, while the role may be about to take it.
    void give_back(Claim& claim, bool inside_run) {
        std::array<RunEntry, 64> out{};
        const sync::RevokedRest rest = claim.revoke(out);
        if (rest.count > 0 && rest.continues_run != inside_run) {
            wrong_.fetch_add(1);
        }
        const std::lock_guard lock(given_back_lock_);
        for (std::uint32_t i = 0; i < rest.count; ++i) {
            if (known(out[i].job)) {
                given_back_.push_back(out[i].job);
            } else {
                wrong_.fetch_add(1);
            }
        }
    }

    void work(unsigned me, test::Random& random) {
        Claim& claim = claims_[me];
        std::uint64_t expected_place = 0;
        while (!stop_.load(std::memory_order_relaxed)) {
            const RunEntry entry = claim.take_next();
            if (entry.job == nullptr) {
                expected_place = 0;
                if (queue_->claim(claim, 1 + static_cast<std::uint32_t>(random.below(24))) == 0) {
                    std::this_thread::yield();
                }
                continue;
            }
            if (!known(entry.job)) {
                wrong_.fetch_add(1);
                return;
            }
            if (begins_[entry.job->number].fetch_add(1, std::memory_order_relaxed) != 0 ||
                entry.job->order != expected_place || entry.ends_run != (entry.job->next == nullptr)) {
                wrong_.fetch_add(1);
            }
            expected_place = entry.ends_run ? 0 : expected_place + 1;
            begun_.fetch_add(1);
            if (random.one_in(16)) {
                give_back(claim, !entry.ends_run);
            }
            if (random.one_in(32)) {
                std::this_thread::yield();  // inside a job
            }
        }
    }

    std::vector<core::Job> jobs_;
    std::vector<std::atomic<std::uint32_t>> begins_;
    std::vector<core::Job*> waiting_;  // the role's
    std::size_t next_ = 0;             // the role's: what of waiting_ was pushed
    std::uint64_t revoked_ = 0;
    std::uint64_t recalled_ = 0;
    std::mutex given_back_lock_;
    std::vector<core::Job*> given_back_;
    std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
    std::array<Claim, workers> claims_;
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<std::uint64_t> wrong_{0};
    std::atomic<bool> stop_{false};
};

/// Whether a stress with a planted bug goes wrong. In a child, for what a broken queue hands out may be anything: a child that
/// dies has gone wrong, too.
template <typename QueueRules, typename ClaimRules>
bool notices(std::uint64_t most_rounds) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
            std::signal(fault, SIG_DFL);  // not the test framework's
        }
        bool wrong = false;
        for (std::uint64_t round = 0; round < most_rounds && !wrong; ++round) {
            wrong = Stress<QueueRules, ClaimRules>(100'000).run().wrong > 0;
        }
        ::_exit(wrong ? 1 : 0);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && status != 0;
}

struct RevokesByStore : sync::ClaimRules {
    static constexpr bool revoke_by_cas = false;
};
struct ReadsAfterCas : sync::ClaimRules {
    static constexpr bool read_before_cas = false;
};
struct ClaimsByStore : sync::RunQueueRules {
    static constexpr bool claim_by_cas = false;
};
struct CopiesAfterCas : sync::RunQueueRules {
    static constexpr bool copy_before_cas = false;
};

}  // namespace

TEST_CASE("E28, E32: stress: every job is begun once, runs stay whole") {
    const std::size_t count = test::under_thread_sanitizer ? 200'000 : 2'000'000;
    const Outcome outcome = Stress<sync::RunQueueRules, sync::ClaimRules>(count).run();
    MESSAGE("revoked " << outcome.revoked << ", recalled " << outcome.recalled);
    CHECK(outcome.wrong == 0);
    CHECK(outcome.begun == count);
    CHECK(outcome.revoked > 0);
    CHECK(outcome.recalled > 0);
}

// The planted bugs are data races on the jobs, which is what ThreadSanitizer would say, and end the program.
TEST_CASE("the stress notices each planted bug" * doctest::skip(test::under_thread_sanitizer)) {
    CHECK(notices<sync::RunQueueRules, RevokesByStore>(200));
    CHECK(notices<sync::RunQueueRules, ReadsAfterCas>(200));
    CHECK(notices<ClaimsByStore, sync::ClaimRules>(200));
    CHECK(notices<CopiesAfterCas, sync::ClaimRules>(200));
}
