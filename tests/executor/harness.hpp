#pragma once

// What the tests of the executor share: both policies and several sizes of pool, gates that hold jobs, and
// waits that end in a failure and not in a hang.
//
// Most tests hold jobs at a gate and not for a time: what must not happen meanwhile cannot happen early, and what must
// happen is waited for. So they say the same on a loaded machine.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/sluice.hpp>

#include "support/sanitizers.hpp"

namespace sluice {

// How doctest prints what it compared.
inline std::ostream& operator<<(std::ostream& out, ErrorCode code) {
    return out << to_string(code);
}
inline std::ostream& operator<<(std::ostream& out, MutationState state) {
    return out << to_string(state);
}

}  // namespace sluice

namespace sluice::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// No machine is so loaded that what must happen takes longer; reaching it is a failure.
inline constexpr std::chrono::seconds patience{60};
/// How long a test watches that something does not happen. Short: what is wrong is wrong at once, and on a loaded machine
/// a miss is not a false alarm.
inline constexpr std::chrono::milliseconds a_while{15};

/// Runs `body(Config)` under both policies, for each size of pool.
template <class Body>
void under_both_policies(std::initializer_list<std::int64_t> pool_sizes, Body body) {
    for (const SchedulerPolicy policy : {SchedulerPolicy::lent, SchedulerPolicy::dedicated}) {
        for (const std::int64_t workers : pool_sizes) {
            INFO("policy " << to_string(policy) << ", " << workers << " workers");
            Config config;
            config.policy = policy;
            config.pool_size = workers;
            body(config);
        }
    }
}

/// Waits until the condition holds. False: it never did.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    const auto deadline = steady_clock::now() + patience;
    while (!condition()) {
        if (steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(100us);
    }
    return true;
}

/// Whether the condition holds now, and still after a while.
template <class Condition>
[[nodiscard]] bool stays(Condition condition) {
    const auto end = steady_clock::now() + a_while;
    do {
        if (!condition())
            return false;
        std::this_thread::sleep_for(500us);
    } while (steady_clock::now() < end);
    return condition();
}

/// Holds jobs until it is opened. A copy is for a job; the original opens the gate when it goes, so that a test that
/// fails does not hang: declare it after the executor.
class Gate {
public:
    Gate() : state_(std::make_shared<State>()), original_(true) {}
    Gate(const Gate& other) : state_(other.state_) {}
    Gate& operator=(const Gate&) = delete;
    ~Gate() {
        if (original_)
            open();
    }

    /// For a job: counts it in and waits until the gate is open.
    void pass() const {
        state_->entered.fetch_add(1);
        state_->inside.fetch_add(1);
        state_->open.wait(false);
        state_->inside.fetch_sub(1);
    }
    void open() const {
        state_->open.store(true);
        state_->open.notify_all();
    }
    /// Jobs that came to the gate, ever.
    [[nodiscard]] unsigned entered() const {
        return state_->entered.load();
    }
    /// Jobs that stand at it now.
    [[nodiscard]] unsigned inside() const {
        return state_->inside.load();
    }
    [[nodiscard]] bool reached_by(unsigned count) const {
        return eventually([&] { return entered() >= count; });
    }

private:
    struct State {
        std::atomic<bool> open{false};
        std::atomic<unsigned> entered{0};
        std::atomic<unsigned> inside{0};
    };
    std::shared_ptr<State> state_;
    bool original_ = false;
};

/// What a job ended with; a job that does not end fails the test.
template <class T>
[[nodiscard]] Result<T> result_of(Completion<T>& completion) {
    Result<T> result = completion.wait_for(patience);
    REQUIRE_MESSAGE((result || !(result.error() == ErrorCode::timed_out)),
                    "a job that must end does not end");
    return result;
}
template <class T>
[[nodiscard]] Result<T> result_of(Completion<T>&& completion) {
    return result_of(completion);
}

/// The value of a job that must end with one.
template <class T>
[[nodiscard]] T value_of(Completion<T>& completion) {
    Result<T> result = result_of(completion);
    REQUIRE_MESSAGE(result.has_value(), "a job failed: " << result.error().message());
    return *std::move(result);
}
template <class T>
[[nodiscard]] T value_of(Completion<T>&& completion) {
    return value_of(completion);
}

/// The code that a job ended with; the zero code for a value.
template <class T>
[[nodiscard]] ErrorCode code_of(Completion<T>& completion) {
    const Result<T> result = result_of(completion);
    return result ? ErrorCode{} : result.error().value();
}
template <class T>
[[nodiscard]] ErrorCode code_of(Completion<T>&& completion) {
    return code_of(completion);
}
inline constexpr ErrorCode no_error{};

/// Holds all workers of an executor inside jobs, one actor each, until it is opened or goes.
class AllWorkersHeld {
public:
    explicit AllWorkersHeld(Executor& executor) {
        for (std::uint32_t i = 0; i < executor.config().pool_size; ++i) {
            auto holder = executor.add_actor("holder" + std::to_string(i), 0);
            held_.push_back(holder.mutate([gate = gate_](int&) { gate.pass(); }));
        }
        REQUIRE(gate_.reached_by(executor.config().pool_size));
    }
    /// Lets the workers go, and waits until their jobs have ended.
    void release() {
        gate_.open();
        for (auto& completion : held_)
            CHECK(code_of(completion) == no_error);
        held_.clear();
    }

private:
    Gate gate_;
    std::vector<Completion<void>> held_;
};

/// A value that counts how many of its kind are alive, and how many destructors ran.
class Tracked {
public:
    struct Counts {
        std::atomic<int> alive{0};
        std::atomic<int> destroyed{0};
    };
    explicit Tracked(Counts& counts) : counts_(&counts) {
        counts.alive.fetch_add(1);
    }
    Tracked(Tracked&& other) noexcept : counts_(std::exchange(other.counts_, nullptr)) {}
    Tracked(const Tracked&) = delete;
    Tracked& operator=(const Tracked&) = delete;
    Tracked& operator=(Tracked&&) = delete;
    ~Tracked() {
        if (counts_ == nullptr)
            return;
        counts_->destroyed.fetch_add(1);
        counts_->alive.fetch_sub(1);
    }

private:
    Counts* counts_;
};

/// Runs a callable when it is destroyed, but not when it was moved from.
template <class F>
class AtEnd {
public:
    explicit AtEnd(F fn) : fn_(std::move(fn)) {}
    AtEnd(AtEnd&& other) noexcept : fn_(std::move(other.fn_)), armed_(std::exchange(other.armed_, false)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    AtEnd& operator=(AtEnd&&) = delete;
    ~AtEnd() {
        if (armed_)
            fn_();
    }

private:
    F fn_;
    bool armed_ = true;
};

/// Counts the library's threads by their hooks, and outlives them.
struct ThreadCounts {
    std::atomic<int> started{0};
    std::atomic<int> stopped{0};
    [[nodiscard]] bool all_left() const {
        return eventually([&] { return stopped.load() == started.load(); });
    }
    static std::shared_ptr<ThreadCounts> watch(Config& config) {
        auto threads = std::make_shared<ThreadCounts>();
        config.on_thread_start = [threads](std::string_view) { threads->started.fetch_add(1); };
        config.on_thread_stop = [threads](std::string_view) { threads->stopped.fetch_add(1); };
        return threads;
    }
};

/// Less work where a sanitizer makes everything slower.
[[nodiscard]] constexpr int scaled(int count) {
    return under_thread_sanitizer || under_address_sanitizer ? (count + 7) / 8 : count;
}

}  // namespace sluice::test
