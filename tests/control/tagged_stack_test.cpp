// Goal: an index is in the stack, or in the hands of one thread, which sees what the last one did with it.
// Method: what belongs to an index is plain; threads pop, use and push, among them two pops and a push, for the ABA.
#include "sync/tagged_stack.hpp"

#include "control/harness.hpp"
#include "control/mutants_tagged_stack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <optional>

namespace sluice::control {

namespace {

template <class Stack>
struct Things {
    static constexpr std::uint32_t count = 3;
    Stack stack;
    std::array<sync::atomic<std::uint32_t>, count> links{};
    std::array<plain<int>, count> held{};

    auto of() {
        return [this](std::uint32_t index) -> sync::atomic<std::uint32_t>& { return links[index]; };
    }
    std::optional<std::uint32_t> pop() {
        const auto index = stack.pop(of());
        if (index) {
            check(held[*index] == 0, "nobody else has it");
            held[*index] = 1;
        }
        return index;
    }
    void push(std::uint32_t index) {
        held[index] = 0;
        stack.push(index, of());
    }
};

template <class Stack>
Scenarios scenarios() {
    return {
        {{.name = "tagged_stack: one owner each"},
         [](Run& run) {
             Things<Stack> things;
             for (std::uint32_t i = 0; i < things.count; ++i)
                 things.push(i);
             run.thread("one", [&] {
                 for (int i = 0; i < 2; ++i) {
                     if (const auto index = things.pop())
                         things.push(*index);
                 }
             });
             run.thread("two", [&] {
                 const auto first = things.pop();
                 const auto second = things.pop();
                 if (first)
                     things.push(*first);
                 static_cast<void>(things.pop());
                 if (second)
                     things.push(*second);
             });
             run.join();
             while (things.pop()) {}
             check(things.stack.seems_empty(), "all came out");
             for (const auto& held : things.held)
                 check(held == 1, "none is lost");
         }},
        {{.name = "tagged_stack: push and pop"},
         [](Run& run) {
             Things<Stack> things;
             things.push(0);
             things.held[1] = 1;
             things.held[2] = 1;
             run.thread("pusher", [&] {
                 things.push(1);
                 things.push(2);
             });
             run.thread("popper", [&] {
                 static_cast<void>(things.pop());
                 static_cast<void>(things.pop());
             });
             run.thread("another", [&] { static_cast<void>(things.pop()); });
             run.join();
             while (things.pop()) {}
             for (const auto& held : things.held)
                 check(held == 1, "none is lost");
         }},
        {{.name = "tagged_stack: one stands"},
         [](Run& run) {
             Things<Stack> things;
             for (std::uint32_t i = 0; i < things.count; ++i)
                 things.push(i);
             run.thread_that_stands("one", choose(10), [&] {
                 if (const auto index = things.pop())
                     things.push(*index);
             });
             run.thread("two", [&] {
                 const auto first = things.pop();
                 const auto second = things.pop();
                 check(first && second, "one is away at most");
                 things.push(*first);
                 things.push(*second);
             });
             run.join();
             while (things.pop()) {}
             for (const auto& held : things.held)
                 check(held == 1, "none is lost");
         }},
    };
}

struct NoTag : sync::TaggedStackRules {
    static constexpr std::uint32_t tag_step = 0;
};

}  // namespace

TEST_CASE("control: tagged_stack") {
    must_hold(scenarios<sync::TaggedStack>(), {"tagged_stack.hpp"});
}

TEST_CASE("control mutants: tagged_stack") {
    must_die("NoTag", "tag_step = 0", scenarios<sync::BasicTaggedStack<NoTag>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::TaggedStack>());
#include "control/mutants_tagged_stack.inc"
}

}  // namespace sluice::control
