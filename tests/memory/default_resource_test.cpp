// Goal: E31, a default resource that any thread may use and give back to, in any alignment, and that counts.
// Method: allocate here, free there, look at addresses and counts.
#include "memory/default_resource.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice {

TEST_CASE("E31: there is one default resource, and it has a name") {
    CHECK(memory::default_resource() == memory::default_resource());
    const std::string_view name = memory::default_resource_name();
    CHECK((name == "mimalloc" || name == "system"));
    MESSAGE("default resource: ", name);
}

TEST_CASE("E31: blocks are aligned as asked, and usable to the last byte") {
    std::pmr::memory_resource& resource = *memory::default_resource();
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{256}, std::size_t{70'001}}) {
            void* const block = resource.allocate(bytes, alignment);
            CAPTURE(alignment);
            CAPTURE(bytes);
            REQUIRE(block != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
            std::memset(block, 0x5A, bytes);
            resource.deallocate(block, bytes, alignment);
        }
    }
}

TEST_CASE("E31: a block may be given back by another thread") {
    std::pmr::memory_resource& resource = *memory::default_resource();
    std::vector<void*> blocks;
    blocks.reserve(1'000);
    for (int i = 0; i < 1'000; ++i) {
        blocks.push_back(resource.allocate(256, 64));
    }
    std::jthread([&] {
        memory::prepare_thread();
        memory::prepare_thread();
        for (void* const block : blocks) {
            resource.deallocate(block, 256, 64);
        }
    });
}

TEST_CASE("E31: every use is counted") {
    std::pmr::memory_resource& resource = *memory::default_resource();
    const memory::ResourceCounts before = memory::default_resource_counts();
    void* const block = resource.allocate(100, 8);
    CHECK(memory::default_resource_counts().allocations == before.allocations + 1);
    CHECK(memory::default_resource_counts().deallocations == before.deallocations);
    resource.deallocate(block, 100, 8);
    CHECK(memory::default_resource_counts().deallocations == before.deallocations + 1);
}

}  // namespace sluice
