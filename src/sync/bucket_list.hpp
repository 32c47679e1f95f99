#pragma once

// A list of nodes that any thread may look through, insert into and remove from, and whose nodes may be freed: one bucket
// of a hash table. Nodes are the caller's and have a `link` (atomic<uintptr_t>) and a `next_retired` (Node*).
//
// Roles. Visitor: any thread between visit() and leave(); only visitors call the rest. Remover: the visitor that marks a
// node. Freer: the visitor that takes retired nodes when the last one leaves.
// Encoding. head_ and link: the next node's address, 0 at the end; bit 0 of `link` (the mark) says that the node itself is
// removed. visitors_: how many are inside. retired_: removed nodes that are out of the list and not yet freed.
//
// Invariants.
// 1. A node goes in at the head, and only if the head has not moved since its inserter found no match. So of equal nodes
//    one at most is unmarked.
// 2. The mark is set once and never cleared, and a marked link never changes: unlinking is a CAS on the link before, which
//    fails if that one is marked (Harris). Who succeeds retires the node; so it is retired once.
// 3. A node is freed only after it was seen retired by a visitor whose leaving then brought visitors_ to zero. Whoever was
//    inside when it was unlinked has left; who comes later cannot reach it. That also rules out ABA on head and links.
// 4. While retired_ is not empty, somebody is inside, or is between leaving and looking again. Putting back and reading
//    visitors_, leaving and reading retired_ are a Dekker pair: all four seq_cst. If they were weaker, one thread could put
//    nodes back while another, the last inside, saw none: they would stay until somebody comes by.

#include "sync/atomic.hpp"

#include <cstdint>
#include <utility>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct BucketListRules {
    /// Frees what is retired only when the last visitor leaves; a mutant frees it when the next one does.
    static constexpr bool waits_for_visitors = true;
    /// Looks for retired nodes once more after leaving; a mutant leaves them behind.
    static constexpr bool looks_again = true;
    /// Inserts only where the head has not moved; a mutant reads it anew.
    static constexpr bool keeps_equals_out = true;
    /// Where a test lets other threads in.
    static void pause() noexcept {}
};

template <typename Node, typename Rules = BucketListRules>
class BucketList {
public:
    BucketList() = default;
    BucketList(const BucketList&) = delete;
    BucketList& operator=(const BucketList&) = delete;

    /// From here until leave() no node that the caller can reach is freed.
    /// thread: any. progress: wait-free.
    void visit() noexcept {
        // seq_cst: partner of the fetch_sub in leave(). Either that one sees this visitor, or this one sees all that was
        // unlinked before.
        visitors_.fetch_add(1);
    }

    /// Ends a visit. `free(node)` gets each node that nobody can reach any more; it may call anything.
    /// progress: lock-free: it goes round again only if somebody else retired nodes meanwhile.
    template <typename Free>
    void leave(Free&& free) noexcept {
        for (;;) {
            // Acquire: partner of retire's release, for the links of retired nodes. Before the count falls: what is taken
            // here was out of the list while this thread was still inside. Relaxed glance: a miss is looked for below.
            Node* taken = retired_.load(memory_order_relaxed) == nullptr
                              ? nullptr
                              : retired_.exchange(nullptr, memory_order_acquire);
            Rules::pause();
            const bool last = visitors_.fetch_sub(1) == 1;  // seq_cst: invariants 3 and 4
            if (last || !Rules::waits_for_visitors) {
                while (taken != nullptr)
                    free(*std::exchange(taken, taken->next_retired));
            } else {
                while (taken != nullptr)
                    retire(*std::exchange(taken, taken->next_retired));
            }
            // seq_cst, both: invariant 4.
            if (!Rules::looks_again || retired_.load() == nullptr || (!last && visitors_.load() != 0))
                return;
            visitors_.fetch_add(1);
        }
    }

    /// The node that `match` accepts, if one is in the list. progress: lock-free. cost: linear.
    template <typename Match>
    [[nodiscard]] Node* find(Match&& match) noexcept {
        for (;;) {
            bool disturbed = false;
            Node* const found = look_through(match, disturbed);
            if (!disturbed)
                return found;
        }
    }

    /// Puts `fresh` in unless `match` accepts a node that is there; returns that one, or null.
    /// progress: lock-free. cost: linear.
    template <typename Match>
    [[nodiscard]] Node* insert(Node& fresh, Match&& match) noexcept {
        for (;;) {
            // Acquire: partner of the release below; a reader of `fresh` follows its link to what this load saw.
            std::uintptr_t head = head_.load(memory_order_acquire);
            if (Node* const found = find(match))
                return found;
            Rules::pause();
            if (!Rules::keeps_equals_out)
                head = head_.load(memory_order_acquire);
            fresh.link.store(head, memory_order_relaxed);  // published by the CAS
            // Release: partner of the acquires in look_through(); the node is complete before it is seen.
            if (head_.compare_exchange_strong(head, address(&fresh), memory_order_release,
                                              memory_order_relaxed))
                return nullptr;
        }
    }

    /// Takes a node out. True: this call did; false: another had done so. progress: lock-free. cost: linear.
    bool remove(Node& node) noexcept {
        // acq_rel: who finds the mark sees what the remover did before, and the other way round.
        if ((node.link.fetch_or(mark, memory_order_acq_rel) & mark) != 0)
            return false;
        (void)find([](const Node&) { return false; });  // unlinks all that is marked
        return true;
    }

    /// A glance. thread: any.
    [[nodiscard]] bool seems_empty() const noexcept {
        return head_.load(memory_order_relaxed) == 0;  // no more than a hint
    }

    /// Visits every node that is not removed. `each` must not call this list.
    template <typename Each>
    void for_each(Each&& each) noexcept {
        (void)find([&each](Node& node) {
            each(node);
            return false;
        });
    }

private:
    static constexpr std::uintptr_t mark = 1;
    static_assert(alignof(Node) > mark);

    // The addresses are those of Nodes, but for the bit. NOLINTBEGIN(performance-no-int-to-ptr)
    [[nodiscard]] static Node* node_at(std::uintptr_t word) noexcept {
        return reinterpret_cast<Node*>(word & ~mark);
    }
    // NOLINTEND(performance-no-int-to-ptr)
    [[nodiscard]] static std::uintptr_t address(Node* node) noexcept {
        return reinterpret_cast<std::uintptr_t>(node);
    }

    // One walk. `disturbed`: a link changed under it, so that it may have missed something; the answer means nothing then.
    template <typename Match>
    [[nodiscard]] Node* look_through(Match& match, bool& disturbed) noexcept {
        atomic<std::uintptr_t>* before = &head_;
        std::uintptr_t at = head_.load(memory_order_acquire);  // pairs with the release in insert()
        while (Node* const node = node_at(at)) {
            const std::uintptr_t next = node->link.load(memory_order_acquire);  // pairs with the CAS below
            if ((next & mark) == 0) {
                if (match(*node))
                    return node;
                before = &node->link;
                at = next;
                continue;
            }
            // acq_rel: whoever reads the new value here sees the node behind it as this thread does.
            std::uintptr_t expected = at;
            if (!before->compare_exchange_strong(expected, next & ~mark, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
                disturbed = true;
                return nullptr;
            }
            retire(*node);
            at = next & ~mark;
        }
        return nullptr;
    }

    void retire(Node& node) noexcept {
        Node* first = retired_.load(memory_order_relaxed);  // only linked to
        do {
            node.next_retired = first;
        } while (!retired_.compare_exchange_weak(first, &node));  // seq_cst: invariant 4
    }

    atomic<std::uintptr_t> head_{0};
    atomic<Node*> retired_{nullptr};
    atomic<std::uint32_t> visitors_{0};
};

}  // namespace sluice::sync
