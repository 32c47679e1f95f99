// How a part is started: once or twice with a failure that the plan has for it, after which nothing may be left, and then for
// good.
#pragma once

#include "scene.hpp"

#include "platform/thread_start.hpp"
#include "support/counting_resource.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <sluice/config.hpp>
#include <sluice/error.hpp>

namespace sluice::soak {

/// Starts a part: what it is when it is there.
template <class Made, class Configuration>
[[nodiscard]] std::unique_ptr<Made> start_part(Scene& scene, Part part, test::CountingResource& resource,
                                               const Configuration& config) {
    const auto attempt = [&](std::uint32_t failing_thread, std::uint64_t failing_allocation) {
        const std::uint64_t refusals = resource.refusals();
        platform::starts_until_failure = failing_thread;
        resource.fail_nth(failing_allocation);
        Result<Made> made = Made::create(config);
        const bool thread_failed = failing_thread != 0 && platform::starts_until_failure.exchange(0) == 0;
        resource.fail_nth(0);
        scene.faults.count(Fault::thread_start_fails, thread_failed ? 1 : 0);
        scene.findings.expect(made || thread_failed || resource.refusals() != refusals, [&] {
            return "a start that failed for nothing: " + std::string(made.error().message());
        });
        return made ? std::make_unique<Made>(*std::move(made)) : nullptr;
    };
    if (scene.plan.fails_to_start == part &&
        (scene.plan.failing_thread != 0 || scene.plan.failing_allocation != 0)) {
        attempt(scene.plan.failing_thread, scene.plan.failing_allocation).reset();
        scene.findings.expect(resource.blocks_in_use() == 0, [&] {
            return "a start that failed, or was undone at once, left " +
                   std::to_string(resource.blocks_in_use()) + " blocks";
        });
    }
    return attempt(0, 0);
}

/// Counts the part's threads by `count`, and throws where the plan says so.
[[nodiscard]] inline ThreadHook thread_hook(Scene& scene, std::atomic<std::uint64_t>& count) {
    return [&scene, &count](std::string_view) {
        if (scene.plan.hooks_throw)
            scene.faults.count(Fault::hook_throws);
        count.fetch_add(1);  // the last that the part's thread does with the scene
        if (scene.plan.hooks_throw)
            throw std::runtime_error("planned");
    };
}

/// Waits until `count` threads have stopped. The watchdog sees to it that this is not for ever.
inline void wait_for_threads(const std::atomic<std::uint64_t>& stopped, std::uint64_t count) {
    while (stopped.load() < count)
        std::this_thread::yield();
}

}  // namespace sluice::soak
