// Goal: the result of a wait, and the refusal of a post, cannot be dropped unseen.
#include <sluice/executor.hpp>

void use(const sluice::Actor<int>& actor) {
    auto job = actor.read([](const int& n) { return n; });
#ifdef SLUICE_TEST_MISUSE
    job.wait();
#else
    static_cast<void>(job.wait());
#endif
}
