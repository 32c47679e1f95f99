// Goal: who adds itself is taken by the end or told that it came too late; never both, never neither.
// Method: two that push and one that closes; links and data are plain.
#include "sync/closing_stack.hpp"

#include "control/harness.hpp"
#include "control/mutants_closing_stack.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

struct Node {
    plain<Node*> next{nullptr};
    plain<int> data{0};
    plain<int> taken{0};
};

template <class Stack>
Scenarios scenarios() {
    return {
        {{.name = "closing_stack: taken, or too late"},
         [](Run& run) {
             Stack stack;
             std::array<Node, 3> nodes;
             std::array<plain<int>, 3> accepted{};
             plain<int> end{0};
             const auto push = [&](std::size_t i) {
                 nodes[i].data = 1;
                 if (stack.push(nodes[i]))
                     accepted[i] = 1;
                 else
                     check(end == 1, "who came too late sees the end");
             };
             run.thread("one", [&] {
                 push(0);
                 push(1);
             });
             run.thread("two", [&] { push(2); });
             run.thread("closer", [&] {
                 end = 1;
                 for (Node* node = stack.close(); node != nullptr; node = node->next) {
                     check(node->data == 1, "seen");
                     node->taken = node->taken + 1;
                 }
             });
             run.join();
             for (std::size_t i = 0; i < nodes.size(); ++i)
                 check(nodes[i].taken == accepted[i], "taken or too late");
         }},
        {{.name = "closing_stack: one stands"},
         [](Run& run) {
             Stack stack;
             std::array<Node, 2> nodes;
             run.thread_that_stands("one", choose(6), [&] { static_cast<void>(stack.push(nodes[0])); });
             run.thread("two", [&] { static_cast<void>(stack.push(nodes[1])); });
             run.thread("closer", [&] { static_cast<void>(stack.close()); });
             run.join();
         }},
    };
}

struct TwoSteps : sync::ClosingStackRules {
    static constexpr bool closes_at_once = false;
};

}  // namespace

TEST_CASE("control: closing_stack") {
    must_hold(scenarios<sync::ClosingStack<Node>>(), {"closing_stack.hpp"});
}

TEST_CASE("control mutants: closing_stack") {
    must_die("TwoSteps", "closes_at_once = false", scenarios<sync::ClosingStack<Node, TwoSteps>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::ClosingStack<Node>>());
#include "control/mutants_closing_stack.inc"
}

}  // namespace sluice::control
