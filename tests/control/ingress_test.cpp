// Goal (E14): what happened before comes out before; nothing that was announced is lost, also in a lane that is left and used
// again; a consumer that says that it sleeps, and who submits, do not miss each other.
// Method: submitters with a lane each, one consumer. The queue inside is a double (sync/moodycamel.hpp) that keeps the one
// promise that the ingress relies on.
#include "sync/ingress.hpp"

#include "sync/ingress_impl.hpp"

#include "sync/moodycamel.hpp"

#include "control/harness.hpp"
#include "control/mutants_ingress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory_resource>

namespace sluice::control {

namespace {

template <class Ingress>
struct Door {
    using Lane = Ingress::Lane;
    static constexpr std::size_t most = 4;

    Ingress ingress{*std::pmr::new_delete_resource(), 1};
    sync::atomic<std::uint64_t> numbers{1};
    std::array<core::Job, most> jobs{};
    std::array<plain<int>, most> data{};
    std::array<core::Job*, most> out{};  // the consumer's, in the order they came
    std::size_t count = 0;

    Lane& lane() {
        Lane* const lane = ingress.add_lane();
        check(lane != nullptr, "there is memory");
        return *lane;
    }
    void number(std::size_t i) {
        jobs[i].number = numbers.fetch_add(1, sync::memory_order_relaxed);
        data[i] = 1;
    }
    void push(Lane& lane, std::size_t i) {
        check(Ingress::push(lane, jobs[i]), "there is memory");
    }
    void submit(Lane& lane, std::size_t i) {
        number(i);
        push(lane, i);
    }
    /// Of a job that may have its number already.
    void submit_late(Lane& lane, std::size_t i) {
        if (jobs[i].number == 0)
            number(i);
        push(lane, i);
    }
    void drain(std::size_t max) {
        core::Job* got[most];
        const std::size_t n = ingress.drain(got, max);
        for (std::size_t i = 0; i < n; ++i) {
            check(data[index(got[i])] == 1, "what was done before is seen");
            out[count++] = got[i];
        }
        if (n == 0)
            relax();
    }
    [[nodiscard]] std::size_t index(const core::Job* job) const {
        return static_cast<std::size_t>(job - jobs.data());
    }
    [[nodiscard]] bool came_out(std::size_t i) const {
        return std::find(out.begin(), out.end(), &jobs[i]) != out.end();
    }
    [[nodiscard]] std::size_t place(std::size_t i) const {
        for (std::size_t at = 0; at < count; ++at) {
            if (out[at] == &jobs[i])
                return at;
        }
        check(false, "it came out");
        return most;
    }
};

/// Job 0 into one lane, then job 1 into another, while a consumer takes `wanted` jobs one by one.
template <class Ingress>
void one_after_the_other(Run& run, Door<Ingress>& door, auto& first, auto& second, std::size_t wanted) {
    sync::atomic<bool> first_is_in{false};
    run.thread("second", [&] {
        while (!first_is_in.load(sync::memory_order_acquire))
            relax();
        door.submit(second, 1);
    });
    run.thread("first", [&] {
        door.submit_late(first, 0);
        first_is_in.store(true, sync::memory_order_release);
    });
    run.thread("consumer", [&] {
        while (door.count < wanted)
            door.drain(1);
    });
    run.join();
    check(door.place(0) < door.place(1), "in order");
}

template <class Ingress>
Scenarios scenarios() {
    using D = Door<Ingress>;
    return {
        // The first goes into the lane that a look visits first: when it is in, the look may be past it.
        {{.name = "ingress: what happened before comes out before"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             auto& b = door.lane();
             one_after_the_other(run, door, a, b, 2);
             check(!door.ingress.pending(), "nothing is left");
             check(door.ingress.all_emitted_below(3), "and it is known");
         }},
        // A larger number goes out before the first is in; so the second is next by count, and yet must wait for the first.
        {{.name = "ingress: a late number"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             auto& b = door.lane();
             auto& c = door.lane();
             door.number(0);
             door.submit(c, 2);
             one_after_the_other(run, door, a, b, 3);
             check(door.ingress.all_emitted_below(4), "all came out");
         }},
        // A number is missing, so what is staged of the first lane has to wait for a second look, which skips that lane; what
        // was put into it behind comes before what another lane had staged already.
        {{.name = "ingress: a lane that ran empty"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             auto& b = door.lane();
             door.number(3);
             door.submit(a, 2);
             one_after_the_other(run, door, a, b, 3);
             check(!door.ingress.all_emitted_below(4), "one is missing");
         }},
        {{.name = "ingress: submit, or sleep"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             sync::atomic<int> looking{1};
             sync::atomic<std::uint32_t> told{0};
             run.thread("submitter", [&] {
                 door.submit(a, 0);
                 if (looking.load() == 0) {
                     told.store(1);
                     sync::wake_one(told);
                 }
             });
             run.thread("consumer", [&] {
                 looking.store(0);
                 while (!door.ingress.pending() && told.load() == 0)
                     sync::wait(told, 0);
                 while (door.count < 1)
                     door.drain(1);
             });
             run.join();
         }},
        {{.name = "ingress: a lane is left and used again"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             run.thread("submitter", [&] {
                 door.submit(a, 0);
                 Ingress::leave_lane(a);
                 Ingress::reuse_lane(a);
                 door.submit(a, 1);
             });
             run.thread("consumer", [&] {
                 while (door.count < 2)
                     door.drain(2);
             });
             run.join();
             check(door.place(0) < door.place(1), "in order");
         }},
        {{.name = "ingress: a lane that is new", .most_steps = 20'000},
         [](Run& run) {
             D door;
             run.thread("submitter", [&] { door.submit(door.lane(), 0); });
             run.thread("other", [&] { door.submit(door.lane(), 1); });
             run.thread("consumer", [&] {
                 while (door.count < 2)
                     door.drain(2);
             });
             run.join();
             check(door.ingress.lanes() == 2, "two lanes");
         }},
        {{.name = "ingress: a lane of another group",
          .bounds = {{0, 0, 500}, {1, 0, 1'500}, {1, 1, 1'500}},
          .random = 500},
         [](Run& run) {
             D door;
             for (int i = 0; i < 64; ++i)
                 Ingress::leave_lane(door.lane());
             core::Job* none = nullptr;
             check(door.ingress.drain(&none, 1) == 0 && !door.ingress.pending(),
                   "nothing is there, all retire");
             run.thread("submitter", [&] { door.submit(door.lane(), 0); });
             run.thread("other", [&] { door.submit(door.lane(), 1); });
             run.thread("consumer", [&] {
                 while (door.count < 2)
                     door.drain(2);
             });
             run.join();
         }},
        {{.name = "ingress: a number that never comes"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             plain<int> done{0};
             run.thread("gives up", [&] {
                 const std::uint64_t number = door.numbers.fetch_add(1, sync::memory_order_relaxed);
                 done = 1;
                 door.ingress.note_voided(number);
             });
             run.thread("submitter", [&] { door.submit(a, 0); });
             run.thread("consumer", [&] {
                 while (door.count < 1)
                     door.drain(1);
                 if (door.ingress.all_emitted_below(3))
                     check(done == 1, "what was done with the voided one is seen");
             });
             run.join();
             check(door.ingress.all_emitted_below(3), "both are accounted for");
         }},
        {{.name = "ingress: a submitter stands"},
         [](Run& run) {
             D door;
             auto& a = door.lane();
             auto& b = door.lane();
             run.thread_that_stands("one", choose(16), [&] { door.submit(a, 0); });
             run.thread("two", [&] { door.submit(b, 1); });
             run.thread("consumer", [&] {
                 while (!door.came_out(1))
                     door.drain(1);
             });
             run.join();
         }},
    };
}

struct Rules : core::IngressRules {};  // the ones of the library are declared extern
struct AsFound : core::IngressRules {
    static constexpr bool by_number = false;
};
struct NoLook : core::IngressRules {
    static constexpr bool look_at_gap = false;
    static constexpr bool revisit = false;
};
struct CountsAlways : core::IngressRules {
    static constexpr bool count_only_when_nothing_owed = false;
};
struct NoRevisit : core::IngressRules {
    static constexpr bool revisit = false;
};
struct Forgetful : core::IngressRules {
    static constexpr bool ask_before_retiring = false;
};

}  // namespace

TEST_CASE("control: ingress") {
    must_hold(scenarios<sync::BasicIngress<Rules>>(), {"ingress_impl.hpp"});
}

TEST_CASE("control mutants: ingress") {
    must_die("AsFound", "by_number = false", scenarios<sync::BasicIngress<AsFound>>());
    must_die("NoLook", "look_at_gap = revisit = false", scenarios<sync::BasicIngress<NoLook>>());
    must_die("CountsAlways", "count_only_when_nothing_owed = false",
             scenarios<sync::BasicIngress<CountsAlways>>());
    must_die("NoRevisit", "revisit = false", scenarios<sync::BasicIngress<NoRevisit>>());
    must_die("Forgetful", "ask_before_retiring = false", scenarios<sync::BasicIngress<Forgetful>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::BasicIngress<Rules>>());
#include "control/mutants_ingress.inc"
}

}  // namespace sluice::control
