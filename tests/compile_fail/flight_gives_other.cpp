// Goal: the function of a run gives what its callers share (S1).
#include <string>

#include <sluice/single_flight.hpp>

void use(sluice::SingleFlight<int, std::string>& flights) {
#ifdef SLUICE_TEST_MISUSE
    static_cast<void>(flights.run(1, [] { return 1.5F; }));
#else
    static_cast<void>(flights.run(1, [] { return "text"; }));
#endif
}
