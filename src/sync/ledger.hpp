#pragma once

// One record of several words that many threads change as if it were one word.
//
// Roles: any thread reads and changes. Whoever changes brings a *scratch* record of its own and takes the replaced one
// home instead: as many records as there are threads inside a change, and one more, and none is ever allocated here.
// Encoding: head_ = {tag:40, index:24}. `index` names the current record, `tag` counts the changes. The records live with
// the caller, who finds them by `records(index)`, an array of atomic words; they are type-stable, so an old one may be
// read at any time.
// Invariant: the current record is not written. It was written by one thread that owned it as its scratch, and only who
// replaces it by CAS may write it again.
//
// Why a change is consistent: the words were copied after head_ was read as h, and the CAS finds h again. Tags are not
// used twice, so head_ was h all the time, the record was current, and nobody wrote it. No order is needed for that.
// Why a reading without a change is: the words are stored with release and loaded with acquire. Had the copy read a word
// of a later life of the record, then its writer's replacement of h would have happened before the second load of
// head_, which would not find h (as in sync/published.hpp).
// Were head_ to have no tag, a record that was replaced and is current again would let a stale copy through (ABA).
//
// The changes of head_ are seq_cst: callers have handshakes of the form "change the record, then ask whether somebody
// waits", beside "say that I wait, then look at the record". On x86-64 it costs nothing.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct LedgerRules {
    /// A change is seen in the tag.
    static constexpr std::uint64_t tag_step = 1;
    /// A reader looks at the head again after its copy.
    static constexpr bool look_again = true;
    /// Between a mutant's two steps, where a thread may lose its CPU.
    static void rest() noexcept {}
};

template <typename Rules>
class BasicLedger {
public:
    /// No scratch was to be had.
    static constexpr std::uint32_t nil = 0xff'ffff;

    /// `first`: the record that is current at the start, already written.
    explicit BasicLedger(std::uint32_t first) noexcept : head_(pack(0, first)) {}
    BasicLedger(const BasicLedger&) = delete;
    BasicLedger& operator=(const BasicLedger&) = delete;

    /// Copies the current record into words[0..count).
    /// thread: any. progress: lock-free; a retry means that another thread has changed it.
    template <typename Records, typename Words>
    std::uint64_t read(Records&& records, Words& words, std::size_t count) const noexcept {
        std::uint64_t head = head_.load(memory_order_seq_cst);
        for (;;) {
            copy(records(index_of(head)), words, count);
            Rules::rest();
            const std::uint64_t again = head_.load(memory_order_seq_cst);
            if (again == head || !Rules::look_again) {
                return head;
            }
            head = again;
        }
    }

    /// The name of the present state: two equal ones mean that nothing has changed in between.
    [[nodiscard]] std::uint64_t version() const noexcept {
        return head_.load(memory_order_seq_cst);
    }

    /// Replaces the record r by what `step(r)` makes of it; false from `step`: leave it as it is. `scratch` is the index
    /// of the caller's record, and of the one that it owns afterwards; if it is nil, `provide()` is asked for one when it is
    /// needed. `record` is what there is afterwards, the changed one or the one that was left.
    /// thread: any. progress: lock-free. memory: none of its own. Returns false if there was no scratch.
    template <typename Records, typename Record, typename Step, typename Provide>
    [[nodiscard]] bool change(Records&& records, std::size_t count, Record& record, std::uint32_t& scratch,
                              Step&& step, Provide&& provide) {
        std::uint64_t head = head_.load(memory_order_seq_cst);
        for (;;) {
            copy(records(index_of(head)), record.words, count);
            Rules::rest();
            const Record before = record;
            if (!step(record)) {
                record = before;
                const std::uint64_t again = head_.load(memory_order_seq_cst);
                if (again == head) {
                    return true;
                }
                head = again;
                continue;
            }
            if (scratch == nil) {
                scratch = provide();
                if (scratch == nil) {
                    return false;
                }
            }
            auto* const mine = records(scratch);
            for (std::size_t i = 0; i < count; ++i) {
                // Release: partner of the acquire in copy(), for readers that are too late.
                mine[i].store(record.words[i], memory_order_release);
            }
            const std::uint64_t next = pack(tag_of(head) + Rules::tag_step, scratch);
            const std::uint64_t replaced = head;
            if (head_.compare_exchange_strong(head, next, memory_order_seq_cst)) {
                scratch = index_of(replaced);
                return true;
            }
        }
    }

    /// As above, with a scratch at hand.
    template <typename Records, typename Record, typename Step>
    void change(Records&& records, std::size_t count, Record& record, std::uint32_t& scratch,
                Step&& step) noexcept {
        static_cast<void>(change(
            records, count, record, scratch,
            [&](Record& r) {
                step(r);
                return true;
            },
            [] { return nil; }));
    }

private:
    template <typename Words>
    static void copy(const atomic<std::uint64_t>* from, Words& to, std::size_t count) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            // Acquire: partner of the release in change().
            to[i] = from[i].load(memory_order_acquire);
        }
    }

    [[nodiscard]] static constexpr std::uint64_t pack(std::uint64_t tag, std::uint32_t index) noexcept {
        return tag << 24U | index;
    }
    [[nodiscard]] static constexpr std::uint32_t index_of(std::uint64_t head) noexcept {
        return static_cast<std::uint32_t>(head & 0xff'ffffU);
    }
    [[nodiscard]] static constexpr std::uint64_t tag_of(std::uint64_t head) noexcept {
        return head >> 24U;
    }
    static_assert(index_of(pack(7, 9)) == 9 && tag_of(pack(7, 9)) == 7);

    alignas(cache_line) atomic<std::uint64_t> head_;
};

using Ledger = BasicLedger<LedgerRules>;

}  // namespace sluice::sync
