// Goal: the controlled scheduler finds who is held up by a thread that stands, and lets alone who is not.
// Method: a lock, where one that stands inside holds up the other; and a count, where nobody does.
#include "control/harness.hpp"

#include <doctest/doctest.h>

namespace sluice::control {

namespace {

struct SpinLock {
    sync::atomic<bool> taken{false};
    void add(plain<int>& count) {
        while (taken.exchange(true))
            relax();
        count = count + 1;
        taken.store(false);
    }
};
struct SleepingLock {
    sync::atomic<std::uint32_t> taken{0};
    void add(plain<int>& count) {
        while (taken.exchange(1) != 0)
            sync::wait(taken, 1);
        count = count + 1;
        taken.store(0);
        sync::wake_one(taken);
    }
};

template <class Lock>
Scenarios locked() {
    return {{{.name = "standing: a lock"}, [](Run& run) {
                 Lock lock;
                 plain<int> count{0};
                 run.thread_that_stands("one", choose(4), [&] { lock.add(count); });
                 run.thread("two", [&] { lock.add(count); });
                 run.join();
             }}};
}

Scenarios counted() {
    return {{{.name = "standing: a count"}, [](Run& run) {
                 sync::atomic<int> count{0};
                 const auto add = [&] {
                     count.fetch_add(1);
                     count.fetch_add(1);
                 };
                 run.thread_that_stands("one", choose(3), add);
                 run.thread("two", add);
                 run.join();
                 check(count.load() == 4, "who stood went on");
             }}};
}

}  // namespace

TEST_CASE("control: who is held up by one that stands is found") {
    must_hold(counted(), {});
    must_die("SpinLock", "a lock that is waited for awake", locked<SpinLock>());
    must_die("SleepingLock", "a lock that is waited for asleep", locked<SleepingLock>());
}

}  // namespace sluice::control
