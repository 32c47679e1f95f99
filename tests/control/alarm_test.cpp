// Goal: who saw the alarm armed, after it became something to watch over, is watched.
// Method: a keeper that ticks and disarms, and a member that needs it once; if the keeper sleeps then, nobody is awake.
#include "sync/alarm.hpp"

#include "control/harness.hpp"
#include "control/mutants_alarm.hpp"

#include <doctest/doctest.h>

namespace sluice::control {

namespace {

template <class Alarm>
Scenarios scenarios() {
    return {
        {{.name = "alarm: who saw it armed is watched"},
         [](Run& run) {
             Alarm alarm;
             sync::atomic<std::uint32_t> busy{0};  // 1: somebody wants to be seen, 2: he was
             sync::atomic<bool> stop{false};
             static_cast<void>(alarm.arm());
             run.thread("keeper", [&] {
                 while (!stop.load()) {
                     alarm.sleep();
                     do {
                         alarm.tick(100);
                         if (busy.load() == 1) {
                             busy.store(2);
                             sync::wake_all(busy);
                         }
                     } while (!alarm.try_disarm([&] { return busy.load() == 1; }));
                 }
             });
             run.thread("member", [&] {
                 busy.store(1);
                 if (!alarm.armed())
                     static_cast<void>(alarm.arm());
                 while (busy.load() == 1)
                     sync::wait(busy, 1);
                 stop.store(true);
                 alarm.nudge();
             });
             run.join();
         }},
    };
}

struct AsksFirst : sync::AlarmRules {
    static constexpr bool off_before_question = false;
};

}  // namespace

TEST_CASE("control: alarm") {
    must_hold(scenarios<sync::Alarm>(), {"alarm.hpp", "parker.hpp"});
}

TEST_CASE("control mutants: alarm") {
    must_die("AsksFirst", "off_before_question = false", scenarios<sync::BasicAlarm<AsksFirst>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Alarm>());
#include "control/mutants_alarm.inc"
}

}  // namespace sluice::control
