// Goal: a job in a lane that only reads cannot change its context (E7).
#include <sluice/executor.hpp>

void use(const sluice::Actor<int>& actor) {
#ifdef SLUICE_TEST_MISUSE
    actor.read([](const int& n) { return ++n; }).detach();
#else
    actor.read([](const int& n) { return n + 1; }).detach();
    actor.mutate([](int& n) { return ++n; }).detach();
#endif
}
