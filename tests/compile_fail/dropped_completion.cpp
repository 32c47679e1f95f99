// Goal: a completion cannot be dropped by oversight; detach() and post say that it is meant (E19, E27).
#include <sluice/executor.hpp>

void use(const sluice::Actor<int>& actor) {
#ifdef SLUICE_TEST_MISUSE
    actor.mutate([](int& n) { ++n; });
#else
    actor.mutate([](int& n) { ++n; }).detach();
    actor.post_mutate([](int& n) { ++n; }).value();
#endif
}
