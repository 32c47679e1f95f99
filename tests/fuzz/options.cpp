// Goal:   no command line whatever makes the replay's parser do anything but answer: options within their bounds, or a sentence.
// Method: the input is cut into words at its line ends. What is understood is then made into a pool's set-up, as the replay
//         does it.

#include "bytes.hpp"

#include "options.hpp"
#include "trace/row.hpp"

#include <sstream>
#include <string>
#include <vector>

using namespace sluice::replay;
using sluice::fuzz::require;

namespace {

[[nodiscard]] bool within(double value, double least, double most) {
    return value >= least && value <= most;  // false for what is no number
}

void check(const Options& options) {
    require(options.pace.kind == PaceKind::asap || within(options.pace.value, 0.001, 1e6),
            "the pace has bounds");
    require(options.workers <= 256, "workers have a bound");
    require(within(options.service_scale, 0, 1000), "service times cannot overflow");
    require(options.repeat >= 1 && within(options.jitter, 0, 1000), "laps and jitter have bounds");
    require(options.patience_s >= 1 && options.patience_s <= 86'400, "patience has bounds");
    require(!options.json || !options.json->empty(), "a report goes somewhere");
    const auto setup = make_pool_setup(options.pool, options.workers, options.max_queued);
    require(setup.has_value() || setup.error().starts_with("--"), "a refused set-up names its option");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream text(std::string(data, data + size));
    std::vector<std::string> words{"sluice-replay"};
    for (std::string word; words.size() < 64 && std::getline(text, word);)
        words.emplace_back(word.c_str());  // a command line has no NUL in it
    std::vector<const char*> pointers;
    for (const std::string& word : words)
        pointers.push_back(word.c_str());
    const auto options = parse_options(static_cast<int>(pointers.size()), pointers.data());
    if (options)
        check(*options);
    else
        require(!options.error().text.empty() &&
                    (options.error().code == ExitCode::usage || options.error().code == ExitCode::ok),
                "a refused command line is told why");
    return 0;
}
