#pragma once

// A stack of indices, for handing recycled things round. The things themselves live elsewhere and are
// type-stable: an index stays valid as long as the stack is used, so a link may be read even if its element
// was popped meanwhile.
//
// Roles: any thread pushes an index that it owns; any thread pops and then owns what it got.
// Encoding: head = {tag:32, index:32}. `index` is the top element, `nil` if there is none; `tag` counts the
// pushes, modulo 2^32. The link below an element is an atomic index that the caller keeps and hands in
// through `links(index)`.
// Invariant: the head changes by read-modify-write only, and a link is written only by the owner of its
// element.
//
// ABA: a popper that read head {t, A} and link A -> B may be suspended while A and B are popped and A is
// pushed again. Its CAS would then make B the top although somebody owns it. The push has changed the tag, so
// the CAS fails. The promise ends if a thread sleeps between its load and its CAS for exactly a multiple of
// 2^32 pushes (minutes of nothing but pushes, and then the exact number); the elements are batches of nodes,
// which makes it hours.

#include "sync/atomic.hpp"

#include <cstdint>
#include <optional>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct TaggedStackRules {
    /// By how much a push moves the tag on; a mutant with 0 has no protection against ABA.
    static constexpr std::uint32_t tag_step = 1;
};

template <typename Rules>
class BasicTaggedStack {
public:
    /// Not an element. Indices are below it.
    static constexpr std::uint32_t nil = 0xFFFF'FFFF;

    BasicTaggedStack() = default;
    BasicTaggedStack(const BasicTaggedStack&) = delete;
    BasicTaggedStack& operator=(const BasicTaggedStack&) = delete;

    /// Puts an element on top. `links(index)` gives the link of an element, an atomic<uint32_t>& (or what
    /// acts like one).
    /// thread: any; the caller owns the element until the call. progress: lock-free. memory: none.
    template <typename Links>
    void push(std::uint32_t index, Links&& links) noexcept {
        // Relaxed: nothing behind the old top is read here, it is only linked to.
        std::uint64_t head = head_.load(memory_order_relaxed);
        std::uint64_t next = 0;
        do {
            // Relaxed: a popper that matters reads it after the CAS below; one that comes too early fails its
            // own CAS.
            links(index).store(index_of(head), memory_order_relaxed);
            next = pack(tag_of(head) + Rules::tag_step, index);
            // Release: partner of the acquires in pop; the element and its link are complete before it is
            // seen. Relaxed on failure: as the first load.
        } while (!head_.compare_exchange_weak(head, next, memory_order_release, memory_order_relaxed));
    }

    /// Takes the top element, if there is one. The caller owns it, and sees what its pusher did before.
    /// thread: any. progress: lock-free, also when empty. memory: none.
    template <typename Links>
    [[nodiscard]] std::optional<std::uint32_t> pop(Links&& links) noexcept {
        // Acquire: partner of push's release, so that the link of the top is readable. Every change of the
        // head is a read-modify-write, so the push of an element heads a release sequence that the pops above
        // it do not break.
        std::uint64_t head = head_.load(memory_order_acquire);
        while (index_of(head) != nil) {
            // Relaxed: ordered by the acquire of the head. If the element was popped and pushed again
            // meanwhile, this may be a link of that time, and the CAS fails on the tag.
            const std::uint32_t below = links(index_of(head)).load(memory_order_relaxed);
            const std::uint64_t next = pack(tag_of(head), below);
            // Acquire on both: partner of push's release. On success the load that gave `head` was an acquire
            // already, but the CAS may read a younger equal value only if the tag wrapped; acquire costs
            // nothing and closes it.
            if (head_.compare_exchange_weak(head, next, memory_order_acquire, memory_order_acquire)) {
                return index_of(head);
            }
        }
        return std::nullopt;
    }

    /// A glance, for statistics and for deciding whether a pop is worth it.
    [[nodiscard]] bool seems_empty() const noexcept {
        // Relaxed: no more than a hint.
        return index_of(head_.load(memory_order_relaxed)) == nil;
    }

private:
    [[nodiscard]] static constexpr std::uint64_t pack(std::uint32_t tag, std::uint32_t index) noexcept {
        return (static_cast<std::uint64_t>(tag) << 32U) | index;
    }
    [[nodiscard]] static constexpr std::uint32_t index_of(std::uint64_t head) noexcept {
        return static_cast<std::uint32_t>(head);
    }
    [[nodiscard]] static constexpr std::uint32_t tag_of(std::uint64_t head) noexcept {
        return static_cast<std::uint32_t>(head >> 32U);
    }

    static_assert(index_of(pack(7, 9)) == 9 && tag_of(pack(7, 9)) == 7);
    static_assert(tag_of(pack(0xFFFF'FFFFU + 1U, nil)) == 0 && index_of(pack(0, nil)) == nil);

    atomic<std::uint64_t> head_{pack(0, nil)};
};

using TaggedStack = BasicTaggedStack<TaggedStackRules>;

}  // namespace sluice::sync
