// Goal: a share in a flight cannot be dropped by oversight; detach() says that it is meant (S2, S5).
#include <sluice/single_flight.hpp>

void use(sluice::SingleFlight<int, int>& flights, const sluice::Actor<int>& actor) {
    const auto fn = [](const int& n) { return n; };
#ifdef SLUICE_TEST_MISUSE
    flights.run(1, actor, sluice::Lane::pure_read, fn);
#else
    flights.run(1, actor, sluice::Lane::pure_read, fn).detach();
#endif
}
