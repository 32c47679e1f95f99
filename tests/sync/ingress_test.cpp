// Goal: what is pushed comes out once, in an order that E14 allows; pending() tells the truth; memory runs out without
// harm, and is not asked for in steady state. Method: known pushes on one thread. Many threads: ingress_stress_test.cpp;
// the order itself: core/ingress_order_test.cpp.
#include "sync/ingress.hpp"
#include "core/job.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <numeric>
#include <vector>

using namespace sluice;

// A count of all calls of malloc, and a switch that makes it fail. Sanitizers bring a malloc of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SLUICE_TEST_COUNTS_MALLOC 1
#endif
#else
#define SLUICE_TEST_COUNTS_MALLOC 1
#endif
#endif

#if defined(SLUICE_TEST_COUNTS_MALLOC)
namespace {
std::atomic<std::uint64_t> mallocs{0};
std::atomic<bool> malloc_fails{false};
}  // namespace
extern "C" {
// glibc's name for the real one. NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t);
void* malloc(std::size_t size) {
    mallocs.fetch_add(1, std::memory_order_relaxed);
    return malloc_fails.load(std::memory_order_relaxed) ? nullptr : __libc_malloc(size);
}
}
#endif

namespace {

/// Fails from the n-th allocation on, and sees that all comes back.
class CountingResource : public std::pmr::memory_resource {
public:
    explicit CountingResource(std::uint64_t allowed = ~std::uint64_t{0}) : allowed_(allowed) {}
    ~CountingResource() override {
        CHECK(live_ == 0);
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (allowed_ == 0) {
            throw std::bad_alloc();
        }
        --allowed_;
        ++live_;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        --live_;
        std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::uint64_t allowed_;
    std::int64_t live_ = 0;
};

struct Jobs {
    explicit Jobs(std::size_t count) : all(count), pointers(count) {
        for (std::size_t i = 0; i < count; ++i) {
            all[i].number = i + 1;
            pointers[i] = &all[i];
        }
    }
    [[nodiscard]] core::Job& number(std::uint64_t n) {
        return all[n - 1];
    }
    std::vector<core::Job> all;
    std::vector<core::Job*> pointers;
};

std::vector<std::uint64_t> drained(sync::Ingress& ingress, std::size_t max) {
    std::vector<core::Job*> out(max);
    out.resize(ingress.drain(out.data(), max));
    std::vector<std::uint64_t> numbers;
    for (const core::Job* job : out) {
        numbers.push_back(job->number);
    }
    return numbers;
}

using Numbers = std::vector<std::uint64_t>;

void push_all(sync::Ingress::Lane& lane, Jobs& jobs, const Numbers& numbers) {
    for (const std::uint64_t n : numbers) {
        CHECK(sync::Ingress::push(lane, jobs.number(n)));
    }
}

}  // namespace

TEST_CASE("E14: lanes are merged by number, within the portion asked for") {
    CountingResource memory;
    sync::Ingress ingress(memory);
    CHECK_FALSE(ingress.pending());
    CHECK(drained(ingress, 8).empty());
    sync::Ingress::Lane* const a = ingress.add_lane();
    sync::Ingress::Lane* const b = ingress.add_lane();
    REQUIRE(a != nullptr);
    REQUIRE(b != nullptr);
    CHECK(ingress.lanes() == 2);
    CHECK_FALSE(ingress.pending());

    Jobs jobs(8);
    push_all(*a, jobs, {1, 4, 5, 8});
    push_all(*b, jobs, {2, 3, 6, 7});
    CHECK(ingress.pending());
    CHECK(drained(ingress, 3) == Numbers{1, 2, 3});
    CHECK(ingress.pending());
    CHECK(ingress.next_number() == 4);
    CHECK(ingress.all_emitted_below(4));
    CHECK_FALSE(ingress.all_emitted_below(5));
    CHECK(drained(ingress, 99) == Numbers{4, 5, 6, 7, 8});
    CHECK_FALSE(ingress.pending());
    CHECK(ingress.all_emitted_below(9));
}

TEST_CASE("E14: a missing number is not waited for, comes out late, and is owed until then") {
    CountingResource memory;
    sync::Ingress ingress(memory);
    sync::Ingress::Lane* const a = ingress.add_lane();
    sync::Ingress::Lane* const b = ingress.add_lane();
    Jobs jobs(6);
    CHECK(sync::Ingress::push(*a, jobs.number(1)));
    CHECK(sync::Ingress::push(*a, jobs.number(3)));
    CHECK(drained(ingress, 9) == Numbers{1, 3});
    CHECK(ingress.next_number() == 4);
    CHECK_FALSE(ingress.all_emitted_below(4));
    CHECK_FALSE(ingress.pending());  // nobody burns CPU for a submitter that is suspended
    CHECK(sync::Ingress::push(*a, jobs.number(4)));
    CHECK(sync::Ingress::push(*b, jobs.number(2)));
    CHECK(drained(ingress, 9) == Numbers{2, 4});
    CHECK(ingress.all_emitted_below(5));
    ingress.note_voided(5);
    CHECK(sync::Ingress::push(*b, jobs.number(6)));
    CHECK(drained(ingress, 9) == Numbers{6});
    CHECK(ingress.all_emitted_below(7));
}

TEST_CASE("E26: a batch is put at once, of any size") {
    CountingResource memory;
    sync::Ingress ingress(memory);
    sync::Ingress::Lane* const lane = ingress.add_lane();
    Jobs jobs(1'000);
    CHECK(sync::Ingress::push_bulk(*lane, jobs.pointers.data(), 0));
    CHECK_FALSE(ingress.pending());
    CHECK(sync::Ingress::push(*lane, jobs.number(1)));
    CHECK(sync::Ingress::push_bulk(*lane, &jobs.pointers[1], 999));
    Numbers all;
    while (ingress.pending()) {
        const Numbers some = drained(ingress, 128);
        CHECK(!some.empty());
        all.insert(all.end(), some.begin(), some.end());
    }
    Numbers expected(1'000);
    std::iota(expected.begin(), expected.end(), 1);
    CHECK(all == expected);
}

TEST_CASE("numbers may begin anywhere, and what was not drained is forgotten") {
    CountingResource memory;
    sync::Ingress ingress(memory, 100);
    sync::Ingress::Lane* const lane = ingress.add_lane();
    Jobs jobs(102);
    CHECK(ingress.next_number() == 100);
    CHECK(ingress.all_emitted_below(100));
    CHECK(sync::Ingress::push(*lane, jobs.number(100)));
    CHECK(sync::Ingress::push(*lane, jobs.number(101)));
    CHECK(drained(ingress, 1) == Numbers{100});
    CHECK(ingress.all_emitted_below(101));
    CHECK(sync::Ingress::push(*lane, jobs.number(102)));
}

TEST_CASE("no memory: no lane, and nothing is lost") {
    CountingResource memory(2);  // the ingress itself and one lane
    sync::Ingress ingress(memory);
    sync::Ingress::Lane* const lane = ingress.add_lane();
    REQUIRE(lane != nullptr);
    CHECK(ingress.add_lane() == nullptr);
    CHECK(ingress.lanes() == 1);
    Jobs jobs(1);
    CHECK(sync::Ingress::push(*lane, jobs.number(1)));
    CHECK(drained(ingress, 9) == Numbers{1});
    CHECK_THROWS_AS(sync::Ingress{*std::pmr::null_memory_resource()}, std::bad_alloc);
}

#if defined(SLUICE_TEST_COUNTS_MALLOC)

TEST_CASE("no memory: a push says so, and nothing was put") {
    CountingResource memory;
    sync::Ingress ingress(memory);
    sync::Ingress::Lane* const lane = ingress.add_lane();
    Jobs jobs(200);
    std::size_t pushed = 0;
    malloc_fails = true;
    while (pushed < 200 && sync::Ingress::push(*lane, jobs.number(pushed + 1))) {
        ++pushed;
    }
    const bool bulk = sync::Ingress::push_bulk(*lane, &jobs.pointers[pushed], 200 - pushed);
    malloc_fails = false;
    CHECK(pushed < 200);
    CHECK_FALSE(bulk);
    CHECK(ingress.pending() == (pushed > 0));
    CHECK(drained(ingress, 200).size() == pushed);
    CHECK(sync::Ingress::push_bulk(*lane, &jobs.pointers[pushed], 200 - pushed));
    CHECK(drained(ingress, 200).size() == 200 - pushed);
    CHECK_FALSE(ingress.pending());
}

TEST_CASE("E31: in steady state nothing is allocated, up to the deepest backlog so far") {
    CountingResource memory;
    sync::Ingress ingress(memory);
    const std::array<sync::Ingress::Lane*, 2> lanes{ingress.add_lane(), ingress.add_lane()};
    std::vector<core::Job> jobs(5'000);
    std::array<core::Job*, 128> out{};
    std::uint64_t number = 1;
    const auto round = [&](std::size_t backlog) {
        for (std::size_t i = 0; i < backlog; ++i) {
            jobs[i].number = number++;
            REQUIRE(sync::Ingress::push(*lanes[i % 2], jobs[i]));
        }
        for (std::size_t left = backlog; left > 0;) {
            left -= ingress.drain(out.data(), out.size());
        }
    };
    round(5'000);
    const std::uint64_t before = mallocs.load();
    for (int i = 0; i < 200; ++i) {
        round(1 + static_cast<std::size_t>(i) * 37 % 4'600);
    }
    CHECK(mallocs.load() == before);
}

#endif
