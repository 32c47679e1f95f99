// Goal: a submission is refused only if the queue was full, and told the count that met the bound (E23, E34), whatever
// other submitters and workers do between its looks.
// Method: what others do meanwhile is done inside the count that the submission asks for. So each interleaving is written
// down, and happens.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "executor/admission.hpp"

using sluice::detail::Admission;
using Verdict = Admission::Verdict;

namespace {

/// A door, the jobs that left so far, and what is to happen at each of the next counts.
struct Door {
    explicit Door(std::uint64_t limit) : admission(limit) {}

    Admission::Answer take() {
        return admission.take([this] {
            ++counts;
            if (next.empty())
                return left;
            const auto step = next.front();
            next.erase(next.begin());
            return step();
        });
    }
    void accept(unsigned jobs) {
        for (; jobs != 0; --jobs)
            REQUIRE(take().verdict == Verdict::accepted);
    }

    Admission admission;
    std::uint64_t left = 0;
    unsigned counts = 0;
    std::vector<std::function<std::uint64_t()>> next;
};

}  // namespace

TEST_CASE("E23 E34 a full queue refuses by one count, and tells the limit as the count that met it") {
    Door door(2);
    door.accept(2);
    const auto refused = door.take();
    CHECK(refused.verdict == Verdict::full);
    CHECK(refused.number == 2);
    CHECK(door.counts == 1);
}

TEST_CASE(
    "E23 E34 while it counts others leave and are accepted: more left than it knew numbers, and there is "
    "room") {
    Door door(2);
    door.accept(2);
    door.next.push_back([&door] {
        door.left = 2;   // both ran
        door.accept(2);  // two more came
        door.left = 4;   // and ran
        return door.left;
    });
    const auto answer = door.take();
    CHECK(answer.verdict == Verdict::accepted);
    CHECK(answer.number == 5);
}

TEST_CASE(
    "E23 E34 a count that is out of date when it is made is made again: no room, and no more than the "
    "limit") {
    Door door(2);
    door.accept(2);
    door.next.push_back([&door] {
        const std::uint64_t early = door.left;  // this much was counted
        for (int i = 0; i < 8; ++i) {           // then the queue emptied and filled, again and again
            door.left += 2;
            door.accept(2);
        }
        return early;
    });
    const auto answer = door.take();
    CHECK(answer.verdict == Verdict::full);
    CHECK(answer.number == 2);
}

TEST_CASE("E22 a door that closes while it counts refuses as closed") {
    Door door(1);
    door.accept(1);
    door.next.push_back([&door] {
        (void)door.admission.close();
        return door.left;
    });
    CHECK(door.take().verdict == Verdict::closed);
}
