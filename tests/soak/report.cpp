#include "report.hpp"

#include "memory/default_resource.hpp"
#include "support/sanitizers.hpp"

#include <cstddef>
#include <iomanip>
#include <sstream>

namespace sluice::soak {

namespace {

constexpr double mebibyte = 1 << 20U;

std::string_view build_name() {
    return test::under_thread_sanitizer ? "tsan" : test::under_address_sanitizer ? "asan" : "plain";
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
}

}  // namespace

void Tally::row(std::string_view name, std::uint64_t count) {
    for (auto& [known, sum] : rows_) {
        if (known == name) {
            sum += count;
            return;
        }
    }
    rows_.emplace_back(name, count);
}

void Tally::add(const Episode& episode) {
    const JobTotals& jobs = episode.executor().last().jobs;
    row("executor.succeeded", jobs.succeeded);
    row("executor.threw", jobs.threw);
    row("executor.actor_removed", jobs.actor_removed);
    row("executor.actor_fatal", jobs.actor_fatal);
    row("executor.shut_down", jobs.shut_down);
    row("executor.cancelled", jobs.cancelled);
    row("executor.deadline_exceeded", jobs.deadline_exceeded);
    const RefusedTotals& refused = episode.executor().last().refused;
    row("executor.refused.queue_full", refused.queue_full);
    row("executor.refused.actor_not_registered", refused.actor_not_registered);
    row("executor.refused.actor_fatal", refused.actor_fatal);
    row("executor.refused.shut_down", refused.shut_down);
    row("executor.refused.other", refused.other);
    const PoolSnapshot& pool = episode.pool().last();
    row("pool.ran", pool.items.ran);
    row("pool.thrown", pool.items.thrown);
    row("pool.cancelled", pool.items.cancelled);
    row("pool.discarded", pool.items.discarded);
    row("pool.refused.total", pool.refused.total);
    row("pool.refused.lane", pool.refused.lane);
    row("pool.refused.bytes", pool.refused.bytes);
    row("pool.refused.never_fits", pool.refused.never_fits);
    row("pool.refused.waiters", pool.refused.waiters);
    row("pool.refused.shut_down", pool.refused.shut_down);
    row("pool.refused.other", pool.refused.other);
    const TurnGateSnapshot& gate = episode.gate().last();
    row("gate.admitted", gate.admitted);
    row("gate.admitted_from_queue", gate.admitted_from_queue);
    row("gate.cancelled", gate.cancelled);
    row("gate.expired", gate.expired);
    row("gate.shut_down", gate.shut_down);
    row("gate.refused", gate.rejected.total());
}

std::string Report::text() const {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1);
    out << "soak: " << build_name() << ", memory " << memory::default_resource_name() << ", seed " << seed
        << ", " << minutes << " min, episodes " << first << ".." << first + episodes << ", "
        << lasting.samples.load() << " samples, " << tally.submissions() << " submissions\n";
    out << "\noutcomes, of parts that were shut down before they were destroyed\n";
    for (const auto& [name, count] : tally.rows())
        out << "  " << std::left << std::setw(40) << name << std::right << std::setw(12) << count << '\n';
    out << "\nfaults\n";
    for (std::size_t i = 0; i < fault_count; ++i)
        out << "  " << std::left << std::setw(40) << fault_names[i] << std::right << std::setw(12)
            << lasting.faults.of(i) << '\n';
    out << "\nresident MiB:";
    for (const MemorySample& sample : memory.series())
        out << ' ' << static_cast<double>(sample.resident) / mebibyte;
    out << "\nhighest, second fifth against last: " << static_cast<double>(memory.early().resident) / mebibyte
        << " and " << static_cast<double>(memory.late().resident) / mebibyte << " MiB (at most "
        << static_cast<double>(MemoryWatch::resident_bound()) / mebibyte << " more), "
        << memory.early().blocks << " and " << memory.late().blocks
        << " blocks of the default resource (at most " << MemoryWatch::blocks_bound << " more)"
        << (memory.level() ? "\n" : ": IT GROWS\n");
    for (const std::string& finding : lasting.findings.first())
        out << "wrong: " << finding << '\n';
    out << (good() ? "all is accounted for\n"
                   : "FAILED: " + std::to_string(lasting.findings.count()) + " findings; --seed " +
                         std::to_string(seed) + " repeats plans and faults\n");
    return out.str();
}

std::string Report::json() const {
    std::ostringstream out;
    out << "{\n  \"build\": " << quoted(build_name())
        << ",\n  \"memory\": " << quoted(memory::default_resource_name()) << ",\n  \"seed\": " << seed
        << ",\n  \"minutes\": " << minutes << ",\n  \"first\": " << first << ",\n  \"episodes\": " << episodes
        << ",\n  \"samples\": " << lasting.samples.load() << ",\n  \"submissions\": " << tally.submissions()
        << ",\n  \"outcomes\": {";
    const char* comma = "";
    for (const auto& [name, count] : tally.rows()) {
        out << comma << "\n    " << quoted(name) << ": " << count;
        comma = ",";
    }
    out << "\n  },\n  \"faults\": {";
    comma = "";
    for (std::size_t i = 0; i < fault_count; ++i) {
        out << comma << "\n    " << quoted(fault_names[i]) << ": " << lasting.faults.of(i);
        comma = ",";
    }
    out << "\n  },\n  \"resident\": [";
    comma = "";
    for (const MemorySample& sample : memory.series()) {
        out << comma << "\n    {\"seconds\": " << sample.seconds << ", \"bytes\": " << sample.resident
            << ", \"default_blocks\": " << sample.blocks << '}';
        comma = ",";
    }
    out << "\n  ],\n  \"level\": " << (memory.level() ? "true" : "false")
        << ",\n  \"findings\": " << lasting.findings.count() << ",\n  \"first_findings\": [";
    comma = "";
    for (const std::string& finding : lasting.findings.first()) {
        out << comma << "\n    " << quoted(finding);
        comma = ",";
    }
    out << "\n  ]\n}\n";
    return out.str();
}

}  // namespace sluice::soak
