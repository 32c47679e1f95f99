// Drives all parts of the library through random episodes, with faults, and checks that everything is accounted for. `docs/TRUST.md`
// says what that shows; tools/soak builds and runs it.
//
// Exit codes: 0 all is accounted for; 1 it is not; 2 the command line was not understood. A hang aborts.

#include "episode.hpp"
#include "memory.hpp"
#include "options.hpp"
#include "report.hpp"
#include "watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

namespace {

// This file is the program of that namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace sluice::soak;
using std::chrono::steady_clock;

int run(const Options& options) {
    const std::uint64_t seed = options.seed.value_or(
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
    std::ostream& out = options.json == "-" ? std::cerr : std::cout;
    out << "seed " << seed << std::endl;  // before anything can hang
    const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(options.minutes * 60));
    Lasting lasting(options.canary);
    Tally tally;
    MemoryWatch memory(whole);
    Watchdog watchdog(options.patience);
    const auto begin = steady_clock::now();
    std::uint64_t number = options.first;
    // A finding ends the run: what comes after a broken episode says less than its plan.
    while (steady_clock::now() - begin < whole && lasting.findings.count() == 0 &&
           (options.episodes == 0 || number < options.first + options.episodes)) {
        const Plan plan = draw_plan(seed, number++);
        {
            Episode episode(plan, lasting);
            watchdog.watch(episode, plan);
            episode.run();
            watchdog.rest();
            tally.add(episode);
        }
        for (const Book& book : lasting.books)
            tally.submitted(book.entries().size());
        memory.note(steady_clock::now() - begin);
        if (lasting.findings.count() != 0)
            out << describe(plan);
    }
    for (const auto& resource : lasting.resources)
        lasting.faults.count(Fault::allocation_fails, resource.refusals());
    const Report report{
        seed,          std::chrono::duration<double>(steady_clock::now() - begin).count() / 60,
        options.first, number - options.first,
        tally,         lasting,
        memory};
    out << report.text() << std::flush;
    if (options.json == "-") {
        std::cout << report.json();
    } else if (!options.json.empty() && !(std::ofstream(options.json) << report.json())) {
        std::cerr << "soak: " << options.json << " cannot be written\n";
        return 1;
    }
    return report.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::string problem;
    const std::optional<Options> options = parse_options(argc, argv, problem);
    if (!options) {
        std::cerr << "soak: " << problem << '\n' << usage;
        return 2;
    }
    if (options->help) {
        std::cout << usage;
        return 0;
    }
    return run(*options);
}
