#pragma once

// One lane of the pool: a FIFO of slots, from any thread to any thread, in which an item may die anywhere at any time.
//
// An item dies by a change of its *slot's* word (it was claimed by a worker, cancelled, discarded), which costs O(1) and
// does not touch the lane. Its cell becomes a tombstone, and is skipped. No thread reserves a cell before it fills it, so
// a suspended thread holds up nobody.
//
// Roles: any thread pushes; any thread takes, looks and peeks. Whoever meets a half-done step of another completes it.
// Encoding: core/words/lane_cell.hpp. Position p lies in cell p mod capacity. `head` is the lowest position that may hold
// a living item, `tail` the lowest that may be empty; both may lag, and are helped on.
// Invariants
//     order     the cell of position p is filled only after that of p - 1, for `tail` comes to p only then; so items come
//               out in the order of their positions.
//     window    the positions in the cells of a ring are `capacity` numbers in a row: a cell is emptied only at `head`.
//     seat      an item lives at position p if its slot says so: queued, and seat p (of this lane). The seat of a slot is
//               set before the cell, and a slot that begins another life has none, so an old cell never names a new item.
//
// Tombstones behind one old living item may fill the ring. Then it is *compacted*: every cell is frozen by CAS, which
// records whether its item still lived; the living ones are copied in order into the lane's second ring, under new
// positions; a CAS on `epoch_` makes that one current. All who meet a frozen cell help, and all compute the same from the
// frozen cells. A ring has twice as many cells as the lane may hold items, so each compaction is paid for by at least as
// many pushes as that.
// A helper that fell asleep does nothing wrong. What it copies, it has found in cells of the positions that it expects; as
// positions are never used twice, these are the frozen cells that all others read. What it writes, it writes over a lower
// position: then the new ring is not whole yet, and the others write the same. It may freeze cells of a later epoch: that
// costs a compaction that was not needed, and loses nothing, because the seat moves before the cell does, so that whoever
// asks finds the item alive.
//
// Orders: seq_cst for all, because a push is half of the handshake of sync/lookout.hpp (announce, then ask who looks;
// count oneself out, then look). The model is tests/models/lane_queue.pml.
//
// Items: what the caller hands in. seat(slot): its seat, an atomic<uint64_t>&. live(slot, seat): the item is queued and has
// that seat. A claim(slot, seat) makes it die and says whether the caller was the one.

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>

#include "core/words/lane_cell.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct LaneQueueRules {
    /// Who copies believes what the frozen cell records; a mutant asks again, and helpers disagree.
    static constexpr bool believe_the_freeze = true;
    /// Who copies believes a frozen cell only if it has the position that it expects.
    static constexpr bool match_positions = true;
    /// Where a thread may lose its CPU: anywhere, and between freezing and copying.
    static void rest() noexcept {}
    static void frozen() noexcept {}
    /// A mutant may turn in a circle for ever, and is told to stop.
    static bool give_up() noexcept {
        return false;
    }
};

template <typename Rules>
class BasicLaneQueue {
    using Cell = core::LaneCell;

public:
    static constexpr std::uint64_t no_seat = ~std::uint64_t{0};

    /// For at most `limit` living items; `lane` (below 2^24) tells its seats from those of other lanes. The cells come from
    /// `resource`, here and never again; throws what it throws.
    BasicLaneQueue(std::uint32_t lane, std::uint32_t limit, std::pmr::memory_resource& resource)
        : lane_(std::uint64_t{lane} * Cell::most_positions),
          capacity_(std::bit_ceil(std::max<std::uint64_t>(2, std::uint64_t{limit} * 2))),
          resource_(resource) {
        // One block for both, so that nothing is left behind if there is no memory.
        auto* const cells =
            static_cast<atomic<std::uint64_t>*>(resource.allocate(bytes(), alignof(atomic<std::uint64_t>)));
        for (std::uint32_t r = 0; r < 2; ++r) {
            rings_[r].cells = cells + r * capacity_;
            // Ring 0 begins at position `capacity`; ring 1 lies below it, frozen, as if it had been left.
            for (std::uint64_t i = 0; i < capacity_; ++i) {
                const Cell cell =
                    r == 0 ? Cell::of(capacity_ + i, Cell::Kind::empty) : Cell::of(i, Cell::Kind::dropped);
                ::new (&rings_[r].cells[i]) atomic<std::uint64_t>(cell.bits);
            }
        }
        rings_[0].head.value.store(capacity_, memory_order_relaxed);  // relaxed: nobody else is here yet
        rings_[0].tail.value.store(capacity_, memory_order_relaxed);
    }
    ~BasicLaneQueue() {
        resource_.deallocate(rings_[0].cells, bytes(), alignof(atomic<std::uint64_t>));
    }
    BasicLaneQueue(const BasicLaneQueue&) = delete;
    BasicLaneQueue& operator=(const BasicLaneQueue&) = delete;

    [[nodiscard]] std::uint64_t capacity() const noexcept {
        return capacity_;
    }
    /// Compactions so far.
    [[nodiscard]] std::uint64_t epoch() const noexcept {
        return epoch_.load(memory_order_seq_cst);
    }

    /// Appends the item of a slot that the caller keeps from being used again until this returns. It may be dead already.
    /// thread: any. progress: lock-free. cost: O(1), amortised over compactions. memory: none.
    template <typename Items>
    void push(std::uint32_t slot, Items& items) noexcept {
        while (!Rules::give_up()) {
            const std::uint64_t epoch = epoch_.load(memory_order_seq_cst);
            Ring& ring = rings_[epoch % 2];
            const std::uint64_t tail = ring.tail.value.load(memory_order_seq_cst);
            const Cell cell = load(ring, tail);
            // Compacts for two reasons. NOLINTBEGIN(bugprone-branch-clone)
            if (cell.frozen()) {
                compact(epoch, items);
            } else if (cell.position() == tail && cell.kind() == Cell::Kind::empty) {
                items.seat(slot).store(seat_of(tail), memory_order_seq_cst);
                Rules::rest();
                if (replace(ring, cell, core::filled(cell, slot))) {
                    help(ring.tail, tail);
                    return;
                }
            } else if (cell.position() == tail || cell.position() == tail + capacity_) {
                // Filled, and perhaps emptied again, while the one who filled it has not come to move the tail.
                help(ring.tail, tail);
            } else if (cell.position() < tail && !drop_dead_head(ring, items)) {
                compact(epoch, items);  // full, and the oldest item lives
            }
            // NOLINTEND(bugprone-branch-clone)
            // Otherwise the tail was old, or there is room now.
        }
    }

    /// Takes the oldest living item: the first that `claim(slot, seat)` is true for.
    /// thread: any. progress: lock-free, also when empty. cost: O(1), amortised over the tombstones met. memory: none.
    template <typename Items, typename Claim>
    [[nodiscard]] std::optional<std::uint32_t> take(Items& items, Claim&& claim) noexcept {
        while (!Rules::give_up()) {
            const std::uint64_t epoch = epoch_.load(memory_order_seq_cst);
            Ring& ring = rings_[epoch % 2];
            const std::uint64_t head = ring.head.value.load(memory_order_seq_cst);
            const Cell cell = load(ring, head);
            if (cell.position() != head) {
                pass(ring, head, cell);
            } else if (cell.frozen()) {
                compact(epoch, items);
            } else if (cell.kind() == Cell::Kind::empty) {
                return std::nullopt;
            } else {
                const bool mine = claim(cell.slot(), seat_of(head));
                Rules::rest();
                remove(ring, cell);
                if (mine)
                    return cell.slot();
            }
        }
        return std::nullopt;
    }

    /// Whether there is a living item; true also in the middle of a compaction, for who then takes helps it on.
    /// thread: any. progress: lock-free.
    template <typename Items>
    [[nodiscard]] bool anything(Items& items) noexcept {
        // Two of the cases say `true` for two reasons. NOLINTBEGIN(bugprone-branch-clone)
        for (;;) {
            Ring& ring = rings_[epoch_.load(memory_order_seq_cst) % 2];
            const std::uint64_t head = ring.head.value.load(memory_order_seq_cst);
            const Cell cell = load(ring, head);
            if (cell.position() != head) {
                pass(ring, head, cell);
            } else if (cell.frozen()) {
                return true;
            } else if (cell.kind() == Cell::Kind::empty) {
                return false;
            } else if (items.live(cell.slot(), seat_of(head))) {
                return true;
            } else {
                remove(ring, cell);
            }
        }
        // NOLINTEND(bugprone-branch-clone)
    }

    /// Calls `visit(slot)` for each living item, oldest first, until it returns false. Whatever was pushed before the call and
    /// lives until its end is visited; an item may be visited twice.
    /// thread: any. progress: lock-free: begins again when the lane was compacted. cost: O(items and tombstones).
    template <typename Items, typename Visit>
    void for_each(Items& items, Visit&& visit) noexcept {
        while (!Rules::give_up()) {
            const std::uint64_t epoch = epoch_.load(memory_order_seq_cst);
            Ring& ring = rings_[epoch % 2];
            std::uint64_t p = ring.head.value.load(memory_order_seq_cst);
            // Who has pushed has helped the tail past its cell; so this is the end of what was pushed before.
            const std::uint64_t end = ring.tail.value.load(memory_order_seq_cst);
            bool frozen = false;
            for (; p < end && !frozen; ++p) {
                const Cell cell = load(ring, p);
                if (cell.kind() != Cell::Kind::item || cell.position() != p) {
                    frozen = cell.frozen();
                } else if (items.live(cell.slot(), seat_of(p))) {
                    if (!visit(cell.slot()))
                        return;
                } else {
                    frozen =
                        load(ring, p).frozen();  // then it may not be dead but on its way to another seat
                }
            }
            if (frozen)
                compact(epoch, items);
            if (!frozen && epoch_.load(memory_order_seq_cst) == epoch)
                return;
        }
    }

    /// The oldest item that seems to live, at some moment of the call, with its position; touches nothing.
    /// thread: any. progress: wait-free. cost: O(capacity) at worst.
    template <typename Items>
    [[nodiscard]] std::optional<std::uint32_t> peek(Items& items) const noexcept {
        const Ring& ring = rings_[epoch_.load(memory_order_seq_cst) % 2];
        const std::uint64_t head = ring.head.value.load(memory_order_seq_cst);
        for (std::uint64_t p = head; p < head + capacity_; ++p) {
            const Cell cell = load(ring, p);
            if (cell.position() == p && cell.kind() == Cell::Kind::empty)
                break;
            const bool held = cell.kind() == Cell::Kind::item || cell.kind() == Cell::Kind::kept;
            if (held && items.live(cell.slot(), seat_of(cell.position())))
                return cell.slot();
        }
        return std::nullopt;
    }

private:
    struct Ring {
        CacheAligned<atomic<std::uint64_t>> head;  // the takers' line
        CacheAligned<atomic<std::uint64_t>> tail;  // the pushers' line
        atomic<std::uint64_t>* cells = nullptr;    // never changed
    };

    [[nodiscard]] std::size_t bytes() const noexcept {
        return 2 * capacity_ * sizeof(atomic<std::uint64_t>);
    }
    [[nodiscard]] std::uint64_t seat_of(std::uint64_t position) const noexcept {
        return lane_ | position;
    }
    [[nodiscard]] Cell load(const Ring& ring, std::uint64_t position) const noexcept {
        return {ring.cells[position & (capacity_ - 1)].load(memory_order_seq_cst)};
    }
    bool replace(Ring& ring, Cell old, Cell next) noexcept {
        return ring.cells[old.position() & (capacity_ - 1)].compare_exchange_strong(old.bits, next.bits,
                                                                                    memory_order_seq_cst);
    }
    static void help(CacheAligned<atomic<std::uint64_t>>& count, std::uint64_t seen) noexcept {
        count.value.compare_exchange_strong(seen, seen + 1, memory_order_seq_cst);
    }

    // The head's cell has been emptied already, or the head was read too long ago.
    void pass(Ring& ring, std::uint64_t head, Cell cell) noexcept {
        if (cell.position() == head + capacity_)
            help(ring.head, head);
    }

    // The dead item at the head leaves its cell, and the head goes on. Not so if the cell has been frozen.
    void remove(Ring& ring, Cell item) noexcept {
        const Cell next = core::emptied(item, capacity_);
        if (replace(ring, item, next) || load(ring, item.position()).position() == next.position())
            help(ring.head, item.position());
    }

    // For a ring that looked full. True: it may have room now, or had an old head.
    template <typename Items>
    bool drop_dead_head(Ring& ring, Items& items) noexcept {
        const std::uint64_t head = ring.head.value.load(memory_order_seq_cst);
        const Cell cell = load(ring, head);
        if (cell.position() != head) {
            pass(ring, head, cell);
            return true;
        }
        if (cell.kind() != Cell::Kind::item)
            return cell.kind() == Cell::Kind::empty;
        if (items.live(cell.slot(), seat_of(head)))
            return false;
        remove(ring, cell);
        return true;
    }

    template <typename Items>
    void compact(std::uint64_t epoch, Items& items) noexcept {
        Ring& from = rings_[epoch % 2];
        Ring& to = rings_[(epoch + 1) % 2];
        const std::uint64_t lowest = freeze(from, items);
        Rules::frozen();
        const std::uint64_t base =
            (lowest / capacity_ + 2) * capacity_;  // above all positions of the old ring
        std::uint64_t next = base;
        for (std::uint64_t p = lowest; p < lowest + capacity_; ++p) {
            const Cell old = load(from, p);
            if (Rules::match_positions && old.position() != p)
                return;  // long over; the ring is in use again
            if (old.kind() != Cell::Kind::kept ||
                (!Rules::believe_the_freeze && !items.live(old.slot(), seat_of(old.position()))))
                continue;
            // The seat first: a helper of an older epoch that freezes the new cell must find the item alive. Fails harmlessly
            // if the item has died and its slot was used again, or if another helper has moved it.
            std::uint64_t seat = seat_of(old.position());
            Rules::rest();
            items.seat(old.slot()).compare_exchange_strong(seat, seat_of(next), memory_order_seq_cst);
            place(to, Cell::of(next, Cell::Kind::item, old.slot()), base);
            ++next;
        }
        for (std::uint64_t p = next; p < base + capacity_; ++p)
            place(to, Cell::of(p, Cell::Kind::empty), base);
        // Now the ring is whole; the head first, for until it says so nobody takes from it.
        raise(to.head, base, base);
        raise(to.tail, next, base);
        epoch_.compare_exchange_strong(epoch, epoch + 1, memory_order_seq_cst);
    }

    // Freezes every cell, and returns the lowest position.
    template <typename Items>
    std::uint64_t freeze(Ring& ring, Items& items) noexcept {
        std::uint64_t lowest = ~std::uint64_t{0};
        for (std::uint64_t i = 0; i < capacity_; ++i) {
            Cell cell = load(ring, i);
            while (!cell.frozen()) {
                const bool keep =
                    cell.kind() == Cell::Kind::item && items.live(cell.slot(), seat_of(cell.position()));
                replace(ring, cell, core::frozen(cell, keep));
                cell = load(ring, i);
            }
            lowest = std::min(lowest, cell.position());
        }
        return lowest;
    }

    // Writes a cell of the new ring, unless it has been written.
    void place(Ring& ring, Cell cell, std::uint64_t base) noexcept {
        const Cell old = load(ring, cell.position());
        Rules::rest();
        if (old.position() < base) {
            std::uint64_t expected = old.bits;
            ring.cells[cell.position() & (capacity_ - 1)].compare_exchange_strong(expected, cell.bits,
                                                                                  memory_order_seq_cst);
        }
    }

    static void raise(CacheAligned<atomic<std::uint64_t>>& count, std::uint64_t value,
                      std::uint64_t base) noexcept {
        // Until it is there: who has slept since the ring was last in use may yet move the old count on, by one.
        std::uint64_t old = count.value.load(memory_order_seq_cst);
        while (old < base && !count.value.compare_exchange_strong(old, value, memory_order_seq_cst)) {}
    }

    // Read by all, written once a compaction.
    alignas(cache_line) atomic<std::uint64_t> epoch_{0};
    const std::uint64_t lane_;
    const std::uint64_t capacity_;
    std::pmr::memory_resource& resource_;
    Ring rings_[2];
};

using LaneQueue = BasicLaneQueue<LaneQueueRules>;

}  // namespace sluice::sync
