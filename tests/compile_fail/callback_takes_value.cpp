// Goal: a callback takes the Result, so that an error cannot be forgotten (E16, E19).
#include <sluice/executor.hpp>

void use(const sluice::Actor<int>& actor) {
#ifdef SLUICE_TEST_MISUSE
    actor.read([](const int& n) { return n; }).then([](int) {});
#else
    actor.read([](const int& n) { return n; }).then([](const sluice::Result<int>&) {});
#endif
}
