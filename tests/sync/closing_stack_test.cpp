// Goal: who adds itself is taken by the end, or told that it came too late; never both, never neither.
// Method: threads push while one closes, over and over. The same stress must fail on a stack that takes and closes in two
// steps.
#include "sync/closing_stack.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sluice {

namespace {

struct Node {
    Node* next = nullptr;
    int seen = 0;  // the pusher's until it is pushed, then the closer's
};

struct ClosesInTwoSteps : sync::ClosingStackRules {
    static constexpr bool closes_at_once = false;
    static void pause() noexcept {
        std::this_thread::yield();
    }
};

// Nodes that were neither taken nor refused, or both.
template <typename Rules>
std::uint64_t wrong_ends(unsigned rounds) {
    constexpr unsigned pushers = 3;
    std::uint64_t wrong = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        sync::ClosingStack<Node, Rules> stack;
        std::vector<std::vector<Node>> nodes(pushers, std::vector<Node>(24));
        std::vector<std::uint64_t> accepted(pushers);
        std::uint64_t taken = 0;
        test::run_together(pushers + 1, [&](unsigned me) {
            if (me == pushers) {
                std::this_thread::yield();
                for (Node* node = stack.close(); node != nullptr; node = node->next)
                    taken += ++node->seen == 1 ? 1U : 1'000'000U;
                return;
            }
            for (Node& node : nodes[me]) {
                if (!stack.push(node))
                    break;
                ++accepted[me];
            }
        });
        std::uint64_t pushed = 0;
        for (const std::uint64_t of_thread : accepted)
            pushed += of_thread;
        wrong += pushed == taken ? 0U : 1U;
    }
    return wrong;
}

}  // namespace

TEST_CASE("S3 the end takes all that came before it, oldest first, and nothing later") {
    sync::ClosingStack<Node> stack;
    Node first;
    Node second;
    Node late;
    CHECK(stack.push(first));
    CHECK(stack.push(second));
    Node* const oldest = stack.close();
    CHECK(oldest == &first);
    CHECK(oldest->next == &second);
    CHECK(second.next == nullptr);
    CHECK_FALSE(stack.push(late));
}

TEST_CASE("S3 stress: nobody is lost between the end and the door") {
    CHECK(wrong_ends<sync::ClosingStackRules>(test::under_sanitizer ? 300 : 1'500) == 0);
}

TEST_CASE("the stress finds a stack that takes and closes in two steps") {
    std::uint64_t found = 0;
    for (int i = 0; i < 400 && found == 0; ++i)
        found = wrong_ends<ClosesInTwoSteps>(100);
    CHECK(found > 0);
}

}  // namespace sluice
