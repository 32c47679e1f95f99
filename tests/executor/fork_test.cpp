// Goal: a child of fork() is refused clearly, hangs nowhere, and leaves the parent alone (E35).
// Method: children that try everything with the executor of their parent, and end with a code that says what went wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Runs `in_child` in a child, which has a minute; 0: it found everything as it should be.
template <class F>
int in_a_child(F&& in_child) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(in_child());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

}  // namespace

TEST_CASE(
    "E35 a child's submissions are refused with forked; its waits and destructors neither hang nor reach the "
    "parent") {
    if (under_thread_sanitizer)
        return;  // it does not follow a fork of a process with threads
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts contexts;
        std::optional<Executor> executor(std::in_place, config);
        auto actor = executor->add_actor("a", 1);
        auto tracked = executor->emplace_actor<Tracked>("t", {}, contexts);
        const Gate gate;
        auto running = actor.mutate([gate](int& n) {
            gate.pass();
            return ++n;
        });
        REQUIRE(gate.reached_by(1));
        std::optional<Completion<int>> queued = actor.mutate([](int& n) { return ++n; });
        auto done = tracked.read([](const Tracked&) { return 5; });
        REQUIRE(eventually([&] { return done.ready() || config.pool_size == 1; }));
        const int verdict = in_a_child([&] {
            if (code_of(actor.mutate([](int&) {})) != ErrorCode::forked)
                return 1;
            if (actor.post_read([](const int&) {}).error() != ErrorCode::forked)
                return 2;
            if (queued->wait_for(1s).error() != ErrorCode::forked)
                return 3;
            if (config.pool_size > 1 && done.wait().value() != 5)
                return 4;
            if (executor->remove_actor("a"))
                return 5;
            try {
                (void)executor->add_actor("b", 0);
                return 6;
            } catch (const Exception& refused) {
                if (refused.error() != ErrorCode::forked)
                    return 7;
            }
            if (executor->snapshot().jobs.accepted < 2)
                return 8;
            executor->shutdown(Shutdown::drain);
            if (executor->wait_shut_down().error() != ErrorCode::forked)
                return 9;
            queued.reset();
            executor.reset();
            if (contexts.destroyed.load() != 0)
                return 10;
            Executor own(config);  // one of its own works
            return value_of(own.add_actor("a", 3).read([](const int& n) { return n; })) == 3 ? 0 : 11;
        });
        CHECK(verdict == 0);
        CHECK_FALSE(queued->ready());
        gate.open();
        CHECK(value_of(running) == 2);
        CHECK(value_of(*queued) == 3);
        CHECK(contexts.alive.load() == 1);
    });
}
