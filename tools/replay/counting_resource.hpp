// A memory resource that counts what goes through it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace sluice::replay {

/// Any thread. Each counter is exact; all are relaxed, as nothing else is handed over with them.
class CountingResource final : public std::pmr::memory_resource {
public:
    explicit CountingResource(std::pmr::memory_resource& upstream) noexcept : upstream_(upstream) {}

    [[nodiscard]] std::uint64_t allocations() const noexcept {
        return allocations_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t live_bytes() const noexcept {
        return live_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t peak_bytes() const noexcept {
        return peak_.load(std::memory_order_relaxed);
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* const block = upstream_.allocate(bytes, alignment);
        allocations_.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::uint64_t peak = peak_.load(std::memory_order_relaxed);
        while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {}
        return block;
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        upstream_.deallocate(block, bytes, alignment);
        live_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::pmr::memory_resource& upstream_;
    std::atomic<std::uint64_t> allocations_{0};
    std::atomic<std::uint64_t> live_{0};
    std::atomic<std::uint64_t> peak_{0};
};

}  // namespace sluice::replay
