#pragma once

// Those who wait for one end: anybody may add itself until the end comes, which takes them all and closes the door. A node
// has a `next` (Node*).
//
// Roles: any thread pushes a node that it owns; one thread closes.
// Encoding: head_ = address of the youngest node, null, or `closed` (an address that no node has).
// Invariant: after `closed` the head never changes. So a push either comes before the end, which then takes the node, or
// is told that it came too late; no node is both, and none is neither.
// No ABA: nobody pops one node, and a push only links to what it saw.

#include "sync/atomic.hpp"

#include <cstdint>
#include <utility>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct ClosingStackRules {
    /// Takes the nodes and closes in one step; a mutant takes two.
    static constexpr bool closes_at_once = true;
    /// Where a test lets other threads in.
    static void pause() noexcept {}
};

template <typename Node, typename Rules = ClosingStackRules>
class ClosingStack {
public:
    ClosingStack() = default;
    ClosingStack(const ClosingStack&) = delete;
    ClosingStack& operator=(const ClosingStack&) = delete;

    /// False: the end has come, and the node is still the caller's; what came before the end is visible.
    /// thread: any. progress: lock-free. memory: none.
    [[nodiscard]] bool push(Node& node) noexcept {
        // Acquire: partner of the release in close(), for who came too late.
        Node* head = head_.load(memory_order_acquire);
        do {
            if (head == closed())
                return false;
            node.next = head;
            // Release: partner of the acquire in close(). Acquire on failure: as the load.
        } while (!head_.compare_exchange_weak(head, &node, memory_order_release, memory_order_acquire));
        return true;
    }

    /// Closes the door and gives all that came before, oldest first, linked by `next`.
    /// thread: one, once. progress: wait-free but for putting them in order.
    [[nodiscard]] Node* close() noexcept {
        // acq_rel. Acquire: partner of push's release. Release: partner of its acquires.
        Node* youngest = nullptr;
        if (Rules::closes_at_once) {
            youngest = head_.exchange(closed(), memory_order_acq_rel);
        } else {
            youngest = head_.exchange(nullptr, memory_order_acq_rel);
            Rules::pause();
            head_.store(closed(), memory_order_release);
        }
        Node* oldest = nullptr;
        while (youngest != nullptr) {
            Node* const node = std::exchange(youngest, youngest->next);
            node->next = std::exchange(oldest, node);
        }
        return oldest;
    }

private:
    [[nodiscard]] Node* closed() const noexcept {
        // Inside this object, so no node is there; never looked at. NOLINTNEXTLINE(performance-no-int-to-ptr)
        return reinterpret_cast<Node*>(reinterpret_cast<std::uintptr_t>(&head_));
    }

    atomic<Node*> head_{nullptr};
};

}  // namespace sluice::sync
