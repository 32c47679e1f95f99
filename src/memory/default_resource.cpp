#include "memory/default_resource.hpp"

#include "memory/mimalloc/api.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace sluice::memory {
namespace {

// Relaxed throughout: they count, and order nothing. One shared line is no burden, because a job in steady
// state does not allocate.
constinit std::atomic<std::uint64_t> allocation_count{0};
constinit std::atomic<std::uint64_t> deallocation_count{0};

class CountedResource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) final {
        allocation_count.fetch_add(1, std::memory_order_relaxed);
        void* const block = take(bytes, alignment);
        if (block == nullptr) {
            throw std::bad_alloc();
        }
        return block;
    }

    void do_deallocate(void* block, std::size_t /*bytes*/, std::size_t /*alignment*/) final {
        deallocation_count.fetch_add(1, std::memory_order_relaxed);
        give_back(block);
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept final {
        return this == &other;
    }

    // Null when out of memory.
    virtual void* take(std::size_t bytes, std::size_t alignment) noexcept = 0;
    virtual void give_back(void* block) noexcept = 0;
};

class MimallocResource final : public CountedResource {
public:
    explicit MimallocResource(const MimallocApi& api) noexcept : api_(api) {}

private:
    void* take(std::size_t bytes, std::size_t alignment) noexcept override {
        // mimalloc 2.0.9 takes any small block whose size is a power of two for naturally aligned, but aligns
        // the pages that it cuts them from to 128 bytes only. An odd size goes the long way, which looks at
        // the address.
        constexpr std::size_t guaranteed = 128;
        return api_.malloc_aligned(alignment <= guaranteed ? bytes : bytes | 1U, alignment);
    }
    void give_back(void* block) noexcept override {
        api_.free(block);
    }

    const MimallocApi& api_;
};

class SystemResource final : public CountedResource {
    void* take(std::size_t bytes, std::size_t alignment) noexcept override {
        if (alignment <= alignof(std::max_align_t)) {
            return std::malloc(
                bytes == 0 ? 1 : bytes);  // malloc(0) may return null, which here means "no memory"
        }
        // aligned_alloc wants a multiple of the alignment, which is a power of two.
        if (bytes > std::numeric_limits<std::size_t>::max() - alignment) {
            return nullptr;
        }
        const std::size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
        return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    }
    void give_back(void* block) noexcept override {
        std::free(block);
    }
};

// Built in place and never destroyed: blocks may still be given back by destructors of static objects.
std::pmr::memory_resource* make_resource() noexcept {
    if (const MimallocApi* const api = mimalloc_api(); api != nullptr) {
        alignas(MimallocResource) static std::byte storage[sizeof(MimallocResource)];
        return new (storage) MimallocResource(*api);
    }
    alignas(SystemResource) static std::byte storage[sizeof(SystemResource)];
    return new (storage) SystemResource();
}

}  // namespace

std::pmr::memory_resource* default_resource() noexcept {
    static std::pmr::memory_resource* const resource = make_resource();
    return resource;
}

void prepare_thread() noexcept {
    if (const MimallocApi* const api = mimalloc_api(); api != nullptr) {
        api->thread_init();
    }
}

const char* default_resource_name() noexcept {
    return mimalloc_api() != nullptr ? "mimalloc" : "system";
}

ResourceCounts default_resource_counts() noexcept {
    return {allocation_count.load(std::memory_order_relaxed),
            deallocation_count.load(std::memory_order_relaxed)};
}

}  // namespace sluice::memory
