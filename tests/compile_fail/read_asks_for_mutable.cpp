// Goal: a job that asks for `Context&` is refused by every lane that only reads, and by the build step (E7).
#include <sluice/executor.hpp>

void use(const sluice::Actor<int>& actor) {
    const auto changes = [](int& n) { ++n; };
#ifdef SLUICE_TEST_MISUSE
    actor.read(changes).detach();
    actor.status(changes).detach();
    actor.build(changes).detach();
    actor.build(changes, changes).detach();
    actor.post_read(changes).value();
#else
    actor.mutate(changes).detach();
    actor.build([](const int&) {}, changes).detach();
    actor.post_mutate(changes).value();
#endif
}
