// Goal:   each packed word's transitions do what its header promises, for every value at the sizes that matter: masks and
//         initial values, no bit that spills over, and one owner for each job, node and number.
// Method: enumeration of all states (and of all interleavings of the parties) at tiny sizes. The CAS loops are in src/sync.

#include "core/words/admission_word.hpp"
#include "core/words/batch_word.hpp"
#include "core/words/claim_word.hpp"
#include "core/words/job_word.hpp"
#include "core/words/permit_word.hpp"
#include "core/words/waits_word.hpp"
#include "every_choice.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

using namespace sluice::core;
namespace batch_word = sluice::core::batch_word;
namespace job_word = sluice::core::job_word;
using sluice::core::test::EveryChoice;

TEST_CASE(
    "E26 batch word: a batch closes only the lease that it was opened on, and a lease ends with none open") {
    CHECK(batch_word::open(0) == 0);
    for (const std::uint32_t lease : {0U, 1U, 0xffff'ffffU}) {
        for (const std::uint32_t open : {0U, 1U, 2U, 0x7fff'ffffU}) {
            const std::uint64_t word = std::uint64_t{lease} << 32U | open;
            CHECK(batch_word::lease(word) == lease);
            CHECK(batch_word::open(word) == open);
            CHECK(batch_word::closed(batch_word::opened(word), lease) == word);
            CHECK(batch_word::closed(word, lease + 1) == word);
            CHECK(batch_word::open(batch_word::closed(word, lease)) == (open == 0 ? 0 : open - 1));
            CHECK(batch_word::lease(batch_word::next_lease(word)) == lease + 1);
            CHECK(batch_word::open(batch_word::next_lease(word)) == 0);
        }
    }
}

TEST_CASE("Claim word: fields do not touch each other, and the initial value has nothing left") {
    CHECK(ClaimWord{}.left() == 0);
    CHECK_FALSE(taken(ClaimWord{}).mine);
    for (const std::uint32_t generation : {0U, 1U, 0xffff'fffeU, 0xffff'ffffU})
        for (std::uint32_t next = 0; next <= ClaimWord::most + 1; ++next)
            for (std::uint32_t end = 0; end <= ClaimWord::most; ++end) {
                const ClaimWord word = ClaimWord::of(generation, next, end);
                CHECK(word.generation() == generation);
                CHECK(word.next() == next);
                CHECK(word.end() == end);
                const ClaimWord after = after_take(word);
                CHECK(after.generation() == generation);
                CHECK(after.next() == next + 1);
                CHECK(after.end() == end);
                CHECK(published(word, end).generation() == generation + 1);
            }
}

TEST_CASE(
    "E28 claim word: in every interleaving of owner and revokers each job is executed or given back, once") {
    for (std::uint32_t jobs = 1; jobs <= 5; ++jobs) {
        EveryChoice tree;
        do {
            ClaimWord word = published(ClaimWord::of(7, 3, 2), jobs);
            std::vector<int> executed(jobs), given_back(jobs);
            bool owner_done = false;
            int revocations = 0;
            while (!owner_done) {
                if (revocations < 2 && tree.choose(2) == 1) {
                    ++revocations;
                    const Revoked step = revoked(word);
                    for (std::uint32_t i = 0; i < step.count; ++i)
                        ++given_back[step.first + i];
                    CHECK(step.word.left() == 0);
                    CHECK(step.word.generation() == word.generation());
                    if (step.count == 0)
                        CHECK(step.word == word);
                    word = step.word;
                    continue;
                }
                const Taken step = taken(word);
                word = after_take(word);
                if (step.mine)
                    ++executed[step.index];
                owner_done = !step.mine;
            }
            CHECK(word.next() <= word.end() + 1);
            for (std::uint32_t i = 0; i < jobs; ++i)
                CHECK(executed[i] + given_back[i] == 1);
        } while (tree.next());
    }
}

TEST_CASE("Admission word: closed and number do not touch each other, and the first job has number 1") {
    const Admission first = admission({}, 0, 10);
    CHECK(first.action == AdmissionAction::admit);
    CHECK(first.first == 1);
    CHECK(first.word.number() == 1);
    CHECK_FALSE(first.word.closed());
    const std::uint64_t last = (std::uint64_t{1} << 63) - 1;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, last})
        for (const bool is_closed : {false, true}) {
            const AdmissionWord word = AdmissionWord::of(number, is_closed);
            CHECK(word.number() == number);
            CHECK(word.closed() == is_closed);
            CHECK(closed(word) == AdmissionWord::of(number, true));
        }
}

TEST_CASE(
    "E23 admission word: never more in the queue than the limit, all of a batch or nothing, and closed is "
    "closed") {
    for (std::uint64_t number = 0; number <= 6; ++number)
        for (std::uint64_t left = 0; left <= number; ++left)
            for (std::uint64_t limit = 0; limit <= 5; ++limit)
                for (std::uint64_t count = 1; count <= 3; ++count)
                    for (const bool is_closed : {false, true}) {
                        const AdmissionWord old = AdmissionWord::of(number, is_closed);
                        const Admission step = admission(old, left, limit, count);
                        const bool fits = number - left + count <= limit;
                        CHECK(step.queued == number - left);
                        if (is_closed) {
                            CHECK(step.action == AdmissionAction::refuse_closed);
                            CHECK(step.word == old);
                        } else if (!fits) {
                            CHECK(step.action == AdmissionAction::refuse_full);
                            CHECK(step.word == old);
                        } else {
                            CHECK(step.action == AdmissionAction::admit);
                            CHECK(step.word == AdmissionWord::of(number + count, false));
                            CHECK(step.first == number + 1);
                        }
                    }
    CHECK(admission(AdmissionWord::of(1'000, false), 0, ~std::uint64_t{0}).action == AdmissionAction::admit);
}

TEST_CASE("Job word: masks do not overlap, the initial value is a free node, and phases count up") {
    constexpr std::uint32_t generation_mask = ~(job_word::generation_unit - 1);
    constexpr std::uint32_t parts[] = {job_word::phase_mask, job_word::waiter_bit, job_word::dropped_bit,
                                       job_word::orphan_bit, generation_mask};
    std::uint32_t all = 0;
    for (const std::uint32_t part : parts) {
        CHECK((all & part) == 0);
        all |= part;
    }
    CHECK(job_word::phase(0) == job_word::Phase::free);
    for (const std::uint32_t generation : {0U, 1U, 5U, 0xff'ffffU})
        for (std::uint32_t flags = 0; flags < 8; ++flags) {
            const std::uint32_t old = generation * job_word::generation_unit | flags * job_word::waiter_bit;
            const std::uint32_t drafted = job_word::draft(old);
            CHECK(job_word::phase(drafted) == job_word::Phase::drafted);
            CHECK(drafted / job_word::generation_unit == (generation + 1) % (1U << 24));
            CHECK_FALSE(
                (job_word::has_waiter(drafted) || job_word::dropped(drafted) || job_word::orphan(drafted)));
            const std::uint32_t queued = job_word::queue(drafted);
            CHECK(job_word::phase(queued) == job_word::Phase::queued);
            // Ending keeps whatever the handle has written meanwhile, and carries into nothing.
            const std::uint32_t marked = queued | flags * job_word::waiter_bit;
            const std::uint32_t ended = marked + job_word::ended_step;
            CHECK(job_word::done(ended));
            CHECK((ended & ~job_word::phase_mask) == (marked & ~job_word::phase_mask));
            CHECK(job_word::free(ended) == (queued & generation_mask));
        }
}

TEST_CASE("Job word: one life is told from the next, and from a job that has ended") {
    const std::uint32_t first = job_word::queue(job_word::draft(0));
    const std::uint32_t second = job_word::queue(job_word::draft(job_word::free(first)));
    CHECK(job_word::same_queued_life(first, first | job_word::waiter_bit));
    CHECK(job_word::same_queued_life(first, first | job_word::dropped_bit));
    CHECK_FALSE(job_word::same_queued_life(first, second));
    CHECK_FALSE(job_word::same_queued_life(first, first + job_word::ended_step));
    CHECK_FALSE(job_word::same_queued_life(job_word::draft(0), job_word::draft(0)));
}

TEST_CASE(
    "E16 E19 job word: in every interleaving of engine and handle the later one frees, and a sleeper is "
    "woken") {
    EveryChoice tree;
    std::set<std::pair<int, bool>> seen;  // who freed, and whether somebody was woken
    do {
        std::uint32_t word = job_word::queue(job_word::draft(0));
        int freed_by_engine = 0, freed_by_handle = 0;
        bool ended = false, sleeps = false, woken = false;
        int handle_steps = 0;  // wait, then drop
        while (!ended || handle_steps < 2) {
            const bool handle_may_go = handle_steps < 2 && (!sleeps || woken);
            const bool by_handle = handle_may_go && (ended || tree.choose(2) == 1);
            if (!by_handle) {
                REQUIRE_FALSE(ended);  // a sleeper that nobody can wake any more
                const std::uint32_t old = word;
                word += job_word::ended_step;
                ended = true;
                woken = job_word::has_waiter(old);
                freed_by_engine += job_word::dropped(old);
            } else if (handle_steps == 0) {
                handle_steps = 1;
                const bool waits = tree.choose(2) == 1;
                if (waits && !job_word::done(word)) {
                    word |= job_word::waiter_bit;
                    sleeps = true;
                }
            } else {
                handle_steps = 2;
                freed_by_handle += job_word::done(word);
                word |= job_word::dropped_bit;
            }
        }
        CHECK(freed_by_engine + freed_by_handle == 1);
        CHECK(woken == sleeps);
        seen.emplace(freed_by_engine, woken);
    } while (tree.next());
    CHECK(seen == std::set<std::pair<int, bool>>{{0, false}, {0, true}, {1, false}});
}

TEST_CASE("E9 permit word: never more out than there are, and never fewer than none") {
    for (std::uint32_t capacity = 0; capacity <= 3; ++capacity)
        for (std::uint32_t out = 0; out <= capacity; ++out) {
            const PermitWord word = PermitWord::of(capacity, out);
            CHECK(word.capacity() == capacity);
            CHECK(word.out() == out);
            CHECK(word.available() == capacity - out);
            const PermitStep taken_step = one_taken(word);
            CHECK(taken_step.allowed == (out < capacity));
            CHECK(taken_step.after == PermitWord::of(capacity, out < capacity ? out + 1 : out));
            const PermitStep given_step = one_given_back(word);
            CHECK(given_step.allowed == (out > 0));
            CHECK(given_step.after == PermitWord::of(capacity, out > 0 ? out - 1 : out));
        }
    CHECK_FALSE(one_taken(PermitWord{}).allowed);
    CHECK(PermitWord::of(0xffff'ffffU, 0xffff'fffeU).available() == 1);
}

TEST_CASE(
    "E20 waits word: as many wait as leave a worker, or one above the reserve for maintenance; a refused one "
    "leaves no trace") {
    for (std::uint32_t workers = 1; workers <= 5; ++workers)
        for (std::uint32_t reserve = 0; reserve < workers; ++reserve)
            for (std::uint32_t waiting = 0; waiting <= workers; ++waiting)
                for (std::uint32_t held = 0; held <= waiting; ++held)
                    for (const bool maintenance : {false, true}) {
                        const WaitsWord before = WaitsWord::of(waiting, held);
                        CHECK(before.waiting() == waiting);
                        CHECK(before.for_maintenance() == held);
                        const WaitsStep step = one_waits(before, maintenance, workers, reserve);
                        const int left = static_cast<int>(workers) - static_cast<int>(waiting) - 1;
                        const bool any_maintenance = held > 0 || maintenance;
                        CHECK(step.allowed == (left > (any_maintenance ? static_cast<int>(reserve) : 0)));
                        if (!step.allowed) {
                            CHECK(step.after == before);
                            continue;
                        }
                        CHECK(step.after == WaitsWord::of(waiting + 1, held + (maintenance ? 1 : 0)));
                        CHECK(one_wait_less(step.after, maintenance) == before);
                        CHECK(one_wait_less(one_waits_elsewhere(before), false) == before);
                        CHECK(one_waits_elsewhere(before) == WaitsWord::of(waiting + 1, held));
                    }
}
