// Goal: whatever the order of attaching and ending, each continuation runs exactly once, and sees the result (E16 E19).
// Method: the same rounds over jobs of an executor and over small sources that end on another thread: callback, coroutine,
// when_all, a wait that times out first, a coroutine taken back. Sources with a planted bug must be found out: one that
// looks before it attaches, one that tells nobody when a wait came first.
#include <array>
#include <atomic>
#include <coroutine>
#include <memory>
#include <thread>

#include "executor/coroutine.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// What may be wrong with a Cell.
struct Correct {
    static constexpr bool attach_looks_again = true;
};
struct LooksOnlyBefore : Correct {
    static constexpr bool attach_looks_again = false;
};

/// The smallest thing that can be awaited: it ends once, on whichever thread.
template <class Rules>
class Cell {
public:
    void end(int value) {
        value_ = value;
        const std::uint32_t old = word_.fetch_or(done);
        if ((old & attached) != 0)
            detail::run_continuation(*continuation_);
    }
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept {
        continuation_ = &continuation;
        if (Rules::attach_looks_again) {
            std::uint32_t word = 0;
            return word_.compare_exchange_strong(word, attached);
        }
        if (is_done())
            return false;
        std::this_thread::yield();  // where the other thread ends it
        word_.fetch_or(attached);
        return true;
    }
    [[nodiscard]] bool is_done() const noexcept {
        return (word_.load() & done) != 0;
    }
    /// What a planted bug has lost holds memory until it runs after all.
    void run_what_was_lost() {
        detail::run_continuation(*continuation_);
    }
    [[nodiscard]] int value() const noexcept {
        return value_;
    }

private:
    static constexpr std::uint32_t done = 1;
    static constexpr std::uint32_t attached = 2;
    std::atomic<std::uint32_t> word_{0};
    detail::Continuation* continuation_ = nullptr;
    int value_ = 0;
};

/// A handle to a Cell, as Awaitable wants it.
template <class Rules>
class CellHandle : public detail::Awaitable<CellHandle<Rules>, int> {
public:
    explicit CellHandle(std::shared_ptr<Cell<Rules>> cell) : cell_(std::move(cell)) {}
    CellHandle() = default;
    [[nodiscard]] bool ready() const noexcept {
        return false;  // so that attach() is always asked
    }
    [[nodiscard]] bool valid() const noexcept {
        return true;
    }
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept {
        return cell_->attach(continuation);
    }
    bool take_back_continuation() noexcept {
        return false;
    }
    [[nodiscard]] int take_ready() {
        return cell_->value();
    }
    [[nodiscard]] int take_for_callback() noexcept {
        return cell_->value();
    }
    [[nodiscard]] static void* allocate_callback(std::size_t size, std::size_t alignment) noexcept {
        return ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    static void free_callback(void* memory, std::size_t /*size*/, std::size_t alignment) noexcept {
        ::operator delete(memory, std::align_val_t(alignment));
    }
    static void count_callback_that_threw() noexcept {}

private:
    std::shared_ptr<Cell<Rules>> cell_;
};

/// Rounds in which a callback did not run exactly once, with the value.
template <class Rules>
int wrong_rounds(int rounds) {
    std::shared_ptr<Cell<Rules>> shared;
    std::atomic<int> round{0};
    std::atomic<int> ended{0};
    std::jthread ender([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (round.load() != i)
                std::this_thread::yield();
            shared->end(i);
            ended.store(i);
        }
    });
    int wrong = 0;
    for (int i = 1; i <= rounds; ++i) {
        std::atomic<int> runs{0};
        std::atomic<int> seen{0};
        shared = std::make_shared<Cell<Rules>>();
        CellHandle<Rules> handle(shared);
        round.store(i);
        std::move(handle).then([&](int value) {
            seen.store(value);
            runs.fetch_add(1);
        });
        while (ended.load() != i)
            std::this_thread::yield();
        wrong += runs.load() == 1 && seen.load() == i ? 0 : 1;
        if (runs.load() == 0)
            shared->run_what_was_lost();
    }
    return wrong;
}

/// What ran how often. A continuation that never comes leaves `running` above zero; one too many, below.
struct Tally {
    std::atomic<int> running{0};
    std::atomic<int> wrong{0};
    void begin() {
        running.fetch_add(1);
    }
    void end(const Result<int>& result, int expected) {
        if (!result || *result != expected)
            wrong.fetch_add(1);
        running.fetch_sub(1);
    }
};

Detached await_one(Completion<int> job, int expected, Tally& tally) {
    tally.end(co_await std::move(job), expected);
}

Detached await_two(Completion<int> one, Completion<int> two, int expected, Tally& tally) {
    std::vector<Completion<int>> both;
    both.push_back(std::move(one));
    both.push_back(std::move(two));
    const auto results = co_await when_all(std::move(both));
    tally.end(results[0], expected);
    tally.end(results[1], expected);
}

}  // namespace

TEST_CASE("E19 stress: a planted bug in attaching is found") {
    CHECK(wrong_rounds<Correct>(scaled(40'000)) == 0);
    CHECK(wrong_rounds<LooksOnlyBefore>(scaled(40'000)) > 0);
}

TEST_CASE("E16 E19 stress: attaching races with ending, and each continuation runs once, with its result") {
    under_both_policies({2, 4}, [](const Config& config) {
        Tally tally;
        {
            Executor executor(config);
            constexpr unsigned submitters = 3;
            std::array<Actor<int>, 5> actors;
            for (std::size_t i = 0; i < actors.size(); ++i)
                actors[i] = executor.add_actor("a" + std::to_string(i), 0);
            run_together(submitters, [&](unsigned self) {
                Random random(self);
                for (int i = 0; i < scaled(40'000); ++i) {
                    const Actor<int>& actor = actors[random.below(actors.size())];
                    const auto job = [&] { return actor.read([i](const int&) { return i; }); };
                    auto one = job();
                    // What passes between submitting and attaching decides who is first.
                    for (std::uint64_t spins = random.below(400); spins != 0; --spins)
                        tally.wrong.load();
                    tally.begin();
                    switch (random.below(5)) {
                        case 0:
                            std::move(one).then([&tally, i](const Result<int>& r) { tally.end(r, i); });
                            break;
                        case 1:
                            await_one(std::move(one), i, tally);
                            break;
                        case 2:
                            tally.begin();
                            await_two(std::move(one), job(), i, tally);
                            break;
                        case 3: {  // a wait that times out has left its mark, or ends it
                            const auto result = one.wait_for(std::chrono::microseconds(random.below(20)));
                            if (result || !(result.error() == ErrorCode::timed_out))
                                tally.end(result, i);
                            else
                                std::move(one).then([&tally, i](const Result<int>& r) { tally.end(r, i); });
                            break;
                        }
                        default:
                            one.detach();
                            tally.running.fetch_sub(1);
                            break;
                    }
                    while (tally.running.load() > 2'000)
                        std::this_thread::yield();
                }
            });
            CHECK(eventually([&] { return tally.running.load() == 0; }));
        }
        CHECK(tally.running.load() == 0);
        CHECK(tally.wrong.load() == 0);
    });
}

TEST_CASE(
    "E22 stress: continuations of an executor that ends under them run once, with a value or shut_down") {
    under_both_policies({1, 2}, [](const Config& config) {
        for (int round = 0; round < scaled(200); ++round) {
            std::atomic<int> ran{0};
            std::atomic<int> wrong{0};
            int attached = 0;
            {
                Executor executor(config);
                auto actor = executor.add_actor("a", 0);
                std::jthread ending;
                for (int i = 0; i < 200; ++i) {
                    if (i == 100)
                        ending = std::jthread([&] { executor.shutdown(Shutdown::cancel); });
                    ++attached;
                    actor.mutate([](int&) {}).then([&](const Result<void>& result) {
                        wrong.fetch_add(result || result.error() == ErrorCode::shut_down ? 0 : 1);
                        ran.fetch_add(1);
                    });
                }
            }
            CHECK(ran.load() == attached);
            CHECK(wrong.load() == 0);
        }
    });
}
