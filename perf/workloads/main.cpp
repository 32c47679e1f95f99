// One workload of one peer, in a process of its own: nothing of one measurement is left for the next.
//
//     workloads --peer NAME --workload NAME [--placement free|apart] [--seconds S] [--workers N] [--seed N]
//     workloads --list
//
// Prints one line of JSON. Exit code 0; 1 if the measurement failed; 2 if the command line was not understood.
// tools/perf runs it, interleaved, and says what the figures mean.

#include "workloads/workloads.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace {

using namespace perf;

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "workloads: %s\n", why.c_str());
    std::exit(2);
}

double number(std::string_view option, std::string_view text, double least, double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
        refuse(std::string(option) + " " + std::string(text) + ": want a number from " +
               std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

void list() {
    std::printf("{");
    const char* between = "";
    for (const Peer* peer : all_peers()) {
        std::printf("%s\n  \"%.*s\": {\"what\": \"%.*s\", \"workloads\": [", between,
                    static_cast<int>(peer->name.size()), peer->name.data(),
                    static_cast<int>(peer->what.size()), peer->what.data());
        const char* comma = "";
        for (const Workload& workload : peer->workloads) {
            std::printf("%s\"%.*s\"", comma, static_cast<int>(workload.name.size()), workload.name.data());
            comma = ", ";
        }
        std::printf("]}");
        between = ",";
    }
    std::printf("\n}\n");
}

template <class Named>
std::string names(std::span<const Named> all) {
    std::string text;
    for (const auto& one : all) {
        text += text.empty() ? "" : ", ";
        if constexpr (std::is_pointer_v<Named>)
            text += one->name;
        else
            text += one.name;
    }
    return text;
}

const Peer& peer_called(std::string_view name) {
    const auto all = all_peers();
    const auto found = std::ranges::find_if(all, [&](const Peer* peer) { return peer->name == name; });
    if (found == all.end())
        refuse("--peer " + std::string(name) + ": this build has " + names(all));
    return **found;
}

Run workload_of(const Peer& peer, std::string_view name) {
    const auto found = std::ranges::find(peer.workloads, name, &Workload::name);
    if (found == peer.workloads.end()) {
        refuse("--workload " + std::string(name) + ": " + std::string(peer.name) + " has " +
               names(peer.workloads));
    }
    return found->run;
}

Placement placement_called(std::string_view name) {
    if (name == "free")
        return Placement::free;
    if (name != "apart")
        refuse("--placement " + std::string(name) + ": want free or apart");
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        refuse("--placement apart: needs two CPUs");
    return Placement::apart;
}

}  // namespace

int main(int count, char** words) {
    Request request;
    std::optional<std::string_view> peer;
    const std::span arguments(words + 1, static_cast<std::size_t>(count - 1));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view option = arguments[i];
        if (option == "--list") {
            list();
            return 0;
        }
        if (i + 1 == arguments.size())
            refuse(std::string(option) + ": unknown, or without its value");
        const std::string_view value = arguments[++i];
        if (option == "--peer")
            peer = value;
        else if (option == "--workload")
            request.workload = value;
        else if (option == "--placement")
            request.placement = placement_called(value);
        else if (option == "--seconds")
            request.length =
                std::chrono::nanoseconds(static_cast<std::int64_t>(number(option, value, 0.001, 600) * 1e9));
        else if (option == "--workers")
            request.workers = static_cast<unsigned>(number(option, value, 1, 128));
        else if (option == "--seed")
            request.seed = static_cast<std::uint64_t>(number(option, value, 0, 1e15));
        else
            refuse(std::string(option) + ": unknown");
    }
    if (!peer || request.workload.empty())
        refuse("--peer and --workload are required; --list shows what there is");
    const Figures figures = workload_of(peer_called(*peer), request.workload)(request);
    std::printf("{");
    const char* comma = "";
    for (const auto& [name, value] : figures) {
        std::printf("%s\"%s\": %.6g", comma, name.c_str(), value);
        comma = ", ";
    }
    std::printf("}\n");
}
