#pragma once

// A memory resource that counts, and that fails when told to: for tests that memory is taken at known
// moments, given back in full, and that a refusal leaves everything as it was.
//
// Roles: any thread allocates and gives back; the counts are relaxed, because they order nothing and a test
// reads them when the threads rest.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace sluice::test {

class CountingResource final : public std::pmr::memory_resource {
public:
    explicit CountingResource(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) noexcept
        : upstream_(upstream) {}

    /// Successful ones; a refusal counts as such.
    [[nodiscard]] std::uint64_t allocations() const noexcept {
        return allocations_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t deallocations() const noexcept {
        return deallocations_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t refusals() const noexcept {
        return refusals_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t bytes_allocated() const noexcept {
        return bytes_allocated_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
        return bytes_allocated() - bytes_given_back_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t blocks_in_use() const noexcept {
        return allocations() - deallocations();
    }

    /// From now on the n-th allocation fails, once (1 is the next one); 0 takes the order back.
    void fail_nth(std::uint64_t n) noexcept {
        until_failure_.store(static_cast<std::int64_t>(n), std::memory_order_relaxed);
    }

    /// From now on all allocations fail, or none.
    void fail_all(bool fail) noexcept {
        fail_all_.store(fail, std::memory_order_relaxed);
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        const bool nth = until_failure_.load(std::memory_order_relaxed) > 0 &&
                         until_failure_.fetch_sub(1, std::memory_order_relaxed) == 1;
        if (nth || fail_all_.load(std::memory_order_relaxed)) {
            refusals_.fetch_add(1, std::memory_order_relaxed);
            throw std::bad_alloc();
        }
        void* const block = upstream_->allocate(bytes, alignment);
        allocations_.fetch_add(1, std::memory_order_relaxed);
        bytes_allocated_.fetch_add(bytes, std::memory_order_relaxed);
        return block;
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        deallocations_.fetch_add(1, std::memory_order_relaxed);
        bytes_given_back_.fetch_add(bytes, std::memory_order_relaxed);
        upstream_->deallocate(block, bytes, alignment);
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::pmr::memory_resource* const upstream_;
    std::atomic<std::uint64_t> allocations_{0};
    std::atomic<std::uint64_t> deallocations_{0};
    std::atomic<std::uint64_t> refusals_{0};
    std::atomic<std::uint64_t> bytes_allocated_{0};
    std::atomic<std::uint64_t> bytes_given_back_{0};
    std::atomic<std::int64_t> until_failure_{0};
    std::atomic<bool> fail_all_{false};
};

}  // namespace sluice::test
