// Goal: the resource that other tests judge by counts right and fails as ordered.
// Method: use it by hand.
#include "support/counting_resource.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <new>

namespace sluice {

TEST_CASE("E31: counts and bytes come and go") {
    test::CountingResource resource;
    void* const small = resource.allocate(10, 1);
    void* const large = resource.allocate(1000, 64);
    CHECK(resource.allocations() == 2);
    CHECK(resource.bytes_allocated() == 1010);
    CHECK(resource.bytes_in_use() == 1010);
    CHECK(resource.blocks_in_use() == 2);
    resource.deallocate(small, 10, 1);
    CHECK(resource.deallocations() == 1);
    CHECK(resource.bytes_in_use() == 1000);
    resource.deallocate(large, 1000, 64);
    CHECK(resource.blocks_in_use() == 0);
}

TEST_CASE("E31: the n-th allocation fails, and only that") {
    test::CountingResource resource;
    const auto take_and_return = [&resource] { resource.deallocate(resource.allocate(8, 8), 8, 8); };
    resource.fail_nth(3);
    take_and_return();
    take_and_return();
    CHECK_THROWS_AS(take_and_return(), std::bad_alloc);
    take_and_return();
    CHECK(resource.refusals() == 1);
    CHECK(resource.allocations() == 3);
    resource.fail_nth(1);
    resource.fail_nth(0);
    take_and_return();
    resource.fail_all(true);
    CHECK_THROWS_AS(take_and_return(), std::bad_alloc);
    CHECK_THROWS_AS(take_and_return(), std::bad_alloc);
    resource.fail_all(false);
    take_and_return();
    CHECK(resource.blocks_in_use() == 0);
}

TEST_CASE("E31: threads count together, and one of them meets the failure") {
    test::CountingResource resource;
    std::atomic<int> failures{0};
    resource.fail_nth(5'000);
    test::run_together(4, [&](unsigned) {
        for (int i = 0; i < 2'000; ++i) {
            try {
                resource.deallocate(resource.allocate(8, 8), 8, 8);
            } catch (const std::bad_alloc&) {
                failures.fetch_add(1);
            }
        }
    });
    CHECK(failures.load() == 1);
    CHECK(resource.allocations() == 7'999);
    CHECK(resource.bytes_in_use() == 0);
}

}  // namespace sluice
