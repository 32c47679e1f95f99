#include "workloads/measure.hpp"

#include "workloads/allocations.hpp"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

namespace perf {
namespace {

cpu_set_t only(std::size_t cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    return cpus;
}

void must(bool done, const char* what) {
    if (done)
        return;
    std::perror(what);
    std::exit(1);
}

double clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

void pin_producer(Placement placement) {
    if (placement == Placement::free)
        return;
    const cpu_set_t cpus = only(0);
    must(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "CPU 0");
}

void pin_others(Placement placement) {
    if (placement == Placement::free)
        return;
    DIR* tasks = opendir("/proc/self/task");
    must(tasks != nullptr, "/proc/self/task");
    const cpu_set_t cpus = only(1);
    while (const dirent* entry = readdir(tasks)) {
        const auto thread = static_cast<pid_t>(std::atoi(entry->d_name));
        if (thread > 0 && thread != gettid())
            must(sched_setaffinity(thread, sizeof cpus, &cpus) == 0, "CPU 1");
    }
    closedir(tasks);
}

Usage Usage::now() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return {.process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
            .caller_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
            .context_switches = static_cast<double>(used.ru_nvcsw + used.ru_nivcsw),
            .allocations = allocations_so_far(),
            .at_ns = now_ns()};
}

void add_usage(Figures& figures, const Usage& before, const Usage& after, double jobs) {
    const double process = after.process_cpu_ns - before.process_cpu_ns;
    const double caller = after.caller_cpu_ns - before.caller_cpu_ns;
    figures.emplace_back("cpu_ns_per_job", process / jobs);
    figures.emplace_back("library_cpu_ns_per_job", (process - caller) / jobs);
    figures.emplace_back("switches_per_job", (after.context_switches - before.context_switches) / jobs);
    if (before.allocations >= 0)
        figures.emplace_back("mallocs_per_job", (after.allocations - before.allocations) / jobs);
}

void add_percentiles(Figures& figures, std::vector<std::int64_t>& times_ns) {
    must(!times_ns.empty(), "no sample");
    std::ranges::sort(times_ns);
    const auto at = [&](double share) {
        const auto index = static_cast<std::size_t>(share * static_cast<double>(times_ns.size() - 1));
        return static_cast<double>(times_ns[index]) / 1e3;
    };
    figures.emplace_back("p50_us", at(0.5));
    figures.emplace_back("p99_us", at(0.99));
    figures.emplace_back("p99.9_us", at(0.999));
    figures.emplace_back("samples", static_cast<double>(times_ns.size()));
}

FixedWork::FixedWork(std::chrono::nanoseconds span) {
    constexpr std::uint64_t probe = 20'000;
    std::int64_t fastest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 50; ++i) {
        const std::int64_t begin = now_ns();
        steps(probe);
        fastest = std::min(fastest, now_ns() - begin);
    }
    count_ = static_cast<std::uint64_t>(static_cast<double>(span.count()) * static_cast<double>(probe) /
                                        static_cast<double>(fastest));
}

void FixedWork::operator()() const {
    steps(count_);
}

// A chain of multiplications, each of which needs the one before.
void FixedWork::steps(std::uint64_t count) {
    [[maybe_unused]] thread_local volatile std::uint64_t result = 0;
    std::uint64_t value = count | 1U;
    for (std::uint64_t i = 0; i < count; ++i)
        value = value * 6364136223846793005U + i;
    result = value;
}

double resident_bytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    must(file != nullptr, "/proc/self/statm");
    long pages = 0;
    must(std::fscanf(file, "%*d %ld", &pages) == 1, "/proc/self/statm");
    std::fclose(file);
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace perf
