#pragma once

// In which order the jobs of many FIFO lanes enter the scheduler (E14): the merge, without threads.
//
// Each submission took a number and then put its job into its thread's own lane. So the numbers of one lane
// increase, and if submission A happens-before submission B, A has the smaller number and was put before B
// was. A lane holds its jobs back from nobody: a number whose job has not been put (its thread is suspended,
// or ran out of memory) is not waited for.
//
// The consumer stages a few jobs of each lane, and lets the smallest staged number y go when nothing that
// happened before y can be missing:
//     by count   all numbers below y are out: nothing is owed and y is next, or y itself is the only one owed
//     by a look  y was staged before the last look began, and each lane whose staging is empty has been
//                visited since then
// A look visits each lane whose staging is empty. Why it is enough: what happened before y was put before y
// was, and y was seen, so a visit that begins after y was staged sees it too, if it is in that lane; in a
// lane with something staged, all that is not yet staged is larger than what is, hence larger than y. What is
// still missing below y is concurrent with y: y goes, and the missing numbers are `owed`. While something is
// owed, being next proves nothing: an owed number may have come and gone before y was taken. A late number
// needs the look like any other: another late one may have happened before it. A lane that ran empty since
// the last look must be visited again before y may go by it: at the look it was skipped.
//
// The model is tests/models/ingress_order.pml, and each sentence above that begins with a condition has a
// broken twin there.
//
// Owner: whoever holds the scheduler's role owns everything here, the lanes' staging included.

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::core {

/// What a test changes to see its checks fail; nobody else does.
struct IngressRules {
    /// Merge by number at all; a mutant emits lane by lane, as found.
    static constexpr bool by_number = true;
    /// A gap is jumped only after a look.
    static constexpr bool look_at_gap = true;
    /// Being next counts only while nothing is owed.
    static constexpr bool count_only_when_nothing_owed = true;
    /// Lanes that ran empty since the last look are visited again.
    static constexpr bool revisit = true;
    /// Who stops looking at a lane asks once more whether somebody has begun to use it.
    static constexpr bool ask_before_retiring = true;
    /// Between a mutant's two steps, where a thread may lose its CPU.
    static void rest() noexcept {}
};

/// The consumer's part of one lane. A source derives its lanes from this.
template <typename Lane, typename Item, std::size_t StagedMost>
class StagedLane {
public:
    using item_type = Item;
    static constexpr std::size_t staged_most = StagedMost;

private:
    friend Lane;
    StagedLane() = default;

    template <typename Source, typename Rules>
    friend class IngressOrder;

    [[nodiscard]] bool empty() const noexcept {
        return begin_ == end_;
    }

    std::uint64_t smallest_ = 0;   // number of the oldest staged job, while there is one
    std::uint64_t staged_in_ = 0;  // the look during or after which the staged jobs were staged
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    Lane* left_ = nullptr;  // heap of the lanes with something staged
    Lane* right_ = nullptr;
    Lane* next_exhausted_ = nullptr;  // list of the lanes that ran empty since they were last visited
    std::array<Item*, StagedMost> staged_{};
};

/// A Source has
///     type Lane, derived from StagedLane<Lane, Item, n>; an Item has a `number`
///     Lane* first()                              the list of all lanes, as far as it is visible now
///     Lane* after(Lane&)                         the next in it
///     size_t take(Lane&, Item** out, size_t max) the lane's oldest jobs; all that are visible now, or max
///     void emitted(Lane&)                        one job of the lane went out
///     void expect(Item&)                         optional: this job will be looked at soon
template <typename Source, typename Rules = IngressRules>
class IngressOrder {
    using Lane = Source::Lane;
    using Item = Lane::item_type;

public:
    explicit IngressOrder(std::uint64_t first_number) noexcept : first_(first_number), next_(first_number) {}

    /// Emits at most `max` jobs, in an order that E14 allows; none only if the lanes have none. Fewer than `max` if they had
    /// no more when all that was staged had gone out: what comes while it works is left to the next call, for a consumer
    /// on the heels of a submitter would fetch its lines job by job.
    /// cost: O(log lanes) a job, and O(lanes) a look: one a refill while no number is missing.
    std::size_t drain(Source& source, Item** out, std::size_t max) noexcept {
        std::size_t count = 0;
        while (count < max) {
            if (smallest_ == nullptr) {
                if (count != 0 && !more_) {
                    break;
                }
                look(source);
                if (smallest_ == nullptr) {
                    break;
                }
            } else if (goes_by_count(*smallest_)) {
                count += emit(source, out + count, max - count);
            } else if (Rules::revisit && exhausted_ != nullptr) {
                revisit(source);
            } else if (goes_by_look(*smallest_)) {
                count += emit(source, out + count, 1);
            } else {
                look(source);
            }
        }
        return count;
    }

    /// Every number that was emitted is below this one.
    [[nodiscard]] std::uint64_t next_number() const noexcept {
        return next_;
    }
    /// How many numbers below next_number() have not been emitted.
    [[nodiscard]] std::uint64_t owed() const noexcept {
        return owed_;
    }
    /// How many jobs were emitted, ever.
    [[nodiscard]] std::uint64_t emitted() const noexcept {
        return next_ - first_ - owed_;
    }

private:
    [[nodiscard]] bool goes_by_count(const Lane& lane) const noexcept {
        if (!Rules::by_number) {
            return true;
        }
        if (lane.smallest_ == next_) {
            return owed_ == 0 || !Rules::count_only_when_nothing_owed;
        }
        return lane.smallest_ < next_ && owed_ == 1;
    }

    [[nodiscard]] bool goes_by_look(const Lane& lane) const noexcept {
        return lane.staged_in_ != look_ || !Rules::look_at_gap;
    }

    // Emits the smallest staged job, and those behind it that come next by count.
    std::size_t emit(Source& source, Item** out, std::size_t max) noexcept {
        Lane& lane = *smallest_;
        std::size_t count = 0;
        do {
            account(lane.smallest_);
            out[count++] = lane.staged_[lane.begin_++];
            source.emitted(lane);
            expect(source, lane, lane.begin_ + expected_ahead);
            if (lane.empty()) {
                smallest_ = merged(lane.left_, lane.right_);
                lane.next_exhausted_ = exhausted_;
                exhausted_ = &lane;
                return count;
            }
            lane.smallest_ = lane.staged_[lane.begin_]->number;
        } while (count < max && owed_ == 0 && lane.smallest_ == next_);
        smallest_ = merged(lane.left_, lane.right_);
        insert(lane);
        return count;
    }

    void account(std::uint64_t number) noexcept {
        if (number >= next_) {
            owed_ += number - next_;
            next_ = number + 1;
        } else {
            assert(owed_ > 0 || !Rules::by_number);
            --owed_;
        }
    }

    // Begins a new look: from here on, all that is staged already was staged before it.
    void look(Source& source) noexcept {
        ++look_;
        exhausted_ = nullptr;
        more_ = false;
        for (Lane* lane = source.first(); lane != nullptr; lane = source.after(*lane)) {
            if (lane->empty()) {
                visit(source, *lane);
            }
        }
    }

    void revisit(Source& source) noexcept {
        while (exhausted_ != nullptr) {
            visit(source, *std::exchange(exhausted_, exhausted_->next_exhausted_));
        }
    }

    void visit(Source& source, Lane& lane) noexcept {
        const std::size_t taken = source.take(lane, lane.staged_.data(), Lane::staged_most);
        assert(taken <= Lane::staged_most);
        if (taken == 0) {
            return;
        }
        more_ |= taken == Lane::staged_most;
        lane.begin_ = 0;
        lane.end_ = static_cast<std::uint32_t>(taken);
        lane.staged_in_ = look_;
        for (std::uint32_t i = 0; i <= expected_ahead; ++i) {
            expect(source, lane, i);
        }
        lane.smallest_ = lane.staged_[0]->number;
        insert(lane);
    }

    // A staged job is another thread's memory until somebody has read it: ask for it before it is needed.
    static constexpr std::uint32_t expected_ahead = 16;
    static void expect(Source& source, const Lane& lane, std::uint32_t index) noexcept {
        if constexpr (requires(Item& item) { source.expect(item); }) {
            if (index < lane.end_) {
                source.expect(*lane.staged_[index]);
            }
        }
    }

    void insert(Lane& lane) noexcept {
        lane.left_ = nullptr;
        lane.right_ = nullptr;
        smallest_ = merged(smallest_, &lane);
    }

    // Two skew heaps into one: O(log lanes) amortised, no memory, no recursion.
    [[nodiscard]] static Lane* merged(Lane* a, Lane* b) noexcept {
        Lane* root = nullptr;
        Lane** link = &root;
        while (a != nullptr && b != nullptr) {
            if (b->smallest_ < a->smallest_ && Rules::by_number) {
                std::swap(a, b);
            }
            *link = a;
            link = &a->left_;
            Lane* const right = std::exchange(a->right_, a->left_);
            a = right;
        }
        *link = a != nullptr ? a : b;
        return root;
    }

    Lane* smallest_ = nullptr;  // the lane with the smallest staged number
    Lane* exhausted_ = nullptr;
    std::uint64_t first_;
    std::uint64_t next_;      // the largest emitted number, plus one
    std::uint64_t owed_ = 0;  // numbers below next_ that are not out
    std::uint64_t look_ = 0;
    bool more_ =
        false;  // since the last look began, a lane had as much as could be staged, and so perhaps more
};

}  // namespace sluice::core
