// Goal: a result that is there to be looked at cannot be dropped unseen.
#include <sluice/version.hpp>

int main() {
#ifdef SLUICE_TEST_MISUSE
    sluice::library_version();
    return 0;
#else
    return sluice::library_version() == sluice::header_version ? 0 : 1;
#endif
}
