// Goal: however a deadline, a stop, the start, a removal and a shutdown meet at one job, it ends exactly once (E16, E24,
//       E25), with an outcome that one of them gives.
// Method: rounds of one job each, with all of these at about the same time. The job counts its runs, the closure its
//         destructions, the callback its calls, and the executor's totals must agree. SLUICE_TEST_SEED repeats a run,
//         SLUICE_RACE_ROUNDS sets how many rounds a policy gets (the issue asks for a million).
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Tally {
    std::atomic<int> runs{0};
    std::atomic<int> closures{0};
    std::atomic<int> answers{0};
    std::atomic<int> code{-1};
};

class Witness {
public:
    explicit Witness(Tally& tally) : tally_(&tally) {
        tally.closures.fetch_add(1);
    }
    Witness(Witness&& other) noexcept : tally_(std::exchange(other.tally_, nullptr)) {}
    Witness& operator=(Witness&&) = delete;
    ~Witness() {
        if (tally_ != nullptr)
            tally_->closures.fetch_sub(1);
    }
    void operator()(int&) const {
        tally_->runs.fetch_add(1);
    }

private:
    Tally* tally_;
};

void pause(Random& random) {
    std::atomic<std::uint64_t> spent{0};
    for (std::uint64_t i = random.below(400); i != 0; --i)
        spent.store(i, std::memory_order_relaxed);
    if (random.one_in(8))
        std::this_thread::yield();
}

int rounds() {
    const char* const given = std::getenv("SLUICE_RACE_ROUNDS");
    return given == nullptr ? scaled(12'000) : static_cast<int>(std::strtol(given, nullptr, 10));
}

}  // namespace

TEST_CASE("E16 E24 E25 deadline, stop, start, removal and shutdown at one job: exactly one outcome") {
    under_both_policies({1, 2}, [](const Config& config) {
        INFO("seed " << seed());
        Random random(1);
        const int count = rounds() / 2;
        std::optional<Executor> executor(std::in_place, config);
        std::atomic<int> round{0};
        std::atomic<int> over{0};
        std::optional<std::stop_source> source;
        // The rival: stops the job of each round, at about the time at which everything else happens to it.
        std::jthread rival([&] {
            Random own(2);
            for (int seen = 0;;) {
                const int now = round.load();
                if (now < 0)
                    return;
                if (now == seen) {
                    std::this_thread::yield();
                    continue;
                }
                seen = now;
                pause(own);
                source->request_stop();
                over.store(seen);
            }
        });
        std::uint64_t ended[4] = {};
        for (int i = 1; i <= count; ++i) {
            Tally tally;
            source.emplace();
            const bool removes = random.one_in(4);
            const bool shuts_down = random.one_in(64);
            auto actor = executor->add_actor(removes ? "goes" : "stays", 0);
            const auto deadline = random.one_in(2)
                                      ? steady_clock::now() + std::chrono::nanoseconds(random.below(30'000))
                                      : steady_clock::time_point::max();
            const bool stop_comes_first =
                random.one_in(8);  // before the submission, that is: else at any time after
            if (stop_comes_first) {
                round.store(i);
                pause(random);
            }
            actor.mutate({.deadline = deadline, .stop = source->get_token()}, Witness(tally))
                .then([&tally](Result<void> result) {
                    tally.code.store(result ? 0 : static_cast<int>(result.error().value()));
                    tally.answers.fetch_add(1);
                });
            round.store(i);
            pause(random);
            if (removes)
                executor->remove_actor("goes");
            if (shuts_down) {
                executor->shutdown(random.one_in(2) ? Shutdown::cancel : Shutdown::drain);
                if (random.one_in(2))
                    executor.reset();
            }
            REQUIRE(eventually([&] { return tally.answers.load() != 0 && over.load() == i; }));
            const int code = tally.code.load();
            REQUIRE(eventually([&] { return tally.closures.load() == 0; }));
            REQUIRE(tally.answers.load() == 1);
            REQUIRE(tally.runs.load() == (code == 0 ? 1 : 0));
            switch (static_cast<ErrorCode>(code)) {
                case ErrorCode::cancelled:
                    ++ended[1];
                    break;
                case ErrorCode::deadline_exceeded:
                    REQUIRE(deadline != steady_clock::time_point::max());
                    ++ended[2];
                    break;
                case ErrorCode::actor_removed:
                case ErrorCode::actor_not_registered:
                    REQUIRE(removes);
                    ++ended[3];
                    break;
                case ErrorCode::shut_down:
                    REQUIRE(shuts_down);
                    break;
                default:
                    REQUIRE(code == 0);
                    ++ended[0];
            }
            if (shuts_down) {
                executor.reset();
                executor.emplace(config);
            } else if (i % 256 == 0) {
                const JobTotals totals = executor->snapshot().jobs;
                REQUIRE(totals.accepted == totals.queued + totals.running + totals.completed());
            }
        }
        round.store(-1);
        MESSAGE("ran " << ended[0] << ", stopped " << ended[1] << ", too late " << ended[2] << ", removed "
                       << ended[3]);
        CHECK(ended[0] > 0);
        CHECK(ended[1] > 0);
    });
}
