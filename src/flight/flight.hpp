#pragma once

// One run that many share, the places from which it is watched, and the table that finds it by its key.
//
// Roles. Leader: whoever put the flight into the table. Runner: whoever claimed it, the leader's thread or a worker.
// Follower: any thread that found it in the table. Watcher: the owner of a seat, or a thread that sleeps.
//
// Flight. It lives in one block with its record (key, result, function). `refs`: the table's, until nobody can reach the
// flight there; the leader's; each follower's; each job's. The last one destroys the record. What the record's result is,
// is written by the runner before `landed`, and read after it.
//   word   bit 0 landed; bit 1 somebody sleeps; bits 2-31 nudges, so that a sleeper that is nudged between its look and
//          its sleep does not sleep
//   jobs   jobs that may still run the function. From zero it never rises: a raise of a flight that nobody will run any
//          more comes too late (S8)
// Landing, step by step. 1. The key is free: the flight leaves its bucket, by identity (S9). 2. `landed`, and sleepers
// wake. 3. The stack of seats is closed, and each seat that was in it is told. So who finds the flight in the table is told
// of its end, whatever the order: it sleeps on the word, or its seat is in the stack, or the stack says that it has landed.
//
// Seat. The owner's handle and the stack both hold it. Its word:
//   bit 0  over: the flight has landed, or the watch was given up
//   bit 1  attached: a continuation is to run; whoever sets `over` while it is set runs it, and the seat belongs to it
//   bit 2  gave up: `over` came from give_up()

#include "sync/atomic.hpp"
#include "sync/bucket_list.hpp"
#include "sync/cache_line.hpp"
#include "sync/closing_stack.hpp"

#include <sluice/detail/flight.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <stop_token>

namespace sluice::detail {

struct FlightSeat {
    static constexpr std::uint32_t over = 1;
    static constexpr std::uint32_t attached = 2;
    static constexpr std::uint32_t gave_up = 4;

    /// What a stop request does.
    struct GiveUp {
        FlightSeat* seat;
        void operator()() const noexcept;
    };

    sync::atomic<std::uint32_t> word{0};
    sync::atomic<std::uint32_t> refs{2};  ///< the handle's and the stack's
    Continuation* continuation =
        nullptr;                 ///< the owner's until the word says `attached`, then who sets `over`
    FlightSeat* next = nullptr;  ///< in the stack of seats
    FlightRef flight;            ///< constant
    std::optional<std::stop_callback<GiveUp>> stop;  ///< the owner's
};

struct Flight {
    static constexpr std::uint32_t landed = 1;
    static constexpr std::uint32_t sleepers = 2;
    static constexpr std::uint32_t nudge = 4;

    // Constant once it is in the table.
    FlightTable* table = nullptr;
    const FlightType* type = nullptr;
    std::uint64_t hash = 0;
    JobClass job_class = JobClass::interactive;

    sync::atomic<std::uint32_t> word{0};
    sync::atomic<std::uint32_t> refs{2};  ///< the leader's and the table's
    sync::atomic<std::uint32_t> jobs{1};
    sync::atomic<std::uint8_t> runner{0};  ///< who has claimed it; 0: nobody yet
    sync::atomic<bool> raised{false};
    Error error;          ///< written before `landed`
    bool failed = false;  ///< as `error`
    sync::ClosingStack<FlightSeat> seats;

    // In its bucket, see sync/bucket_list.hpp.
    sync::atomic<std::uintptr_t> link{0};
    Flight* next_retired = nullptr;

    [[nodiscard]] void* record() noexcept;
    void retain() noexcept {
        refs.fetch_add(1, sync::memory_order_relaxed);  // from a reference that is held
    }
    void release() noexcept;
};

using FlightBucket = sync::CacheAligned<sync::BucketList<Flight>>;

/// Buckets behind it in the same block. Held by its SingleFlight and by each flight.
struct FlightTable {
    std::pmr::memory_resource* memory = nullptr;
    std::size_t bucket_count = 0;  ///< a power of two
    FlightBucket* buckets = nullptr;
    sync::atomic<std::uint64_t> refs{1};
    sync::atomic<std::uint64_t> in_the_air{0};

    [[nodiscard]] sync::BucketList<Flight>& bucket_of(std::uint64_t hash) noexcept {
        // The multiplier is 2^64 over the golden ratio: hashes that are just counted up spread over all buckets.
        const std::uint64_t mixed = hash * 0x9E37'79B9'7F4A'7C15U;
        return *buckets[(mixed >> 32U) & (bucket_count - 1)];
    }
    /// Takes a flight out of its bucket; false: it was out already.
    bool remove(Flight& flight) noexcept;
    void release() noexcept;
};

}  // namespace sluice::detail
