// The untyped half of SingleFlight: the table of flights, one run that many share, and the places from which it is watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <stop_token>
#include <utility>

#include <sluice/detail/continuation.hpp>
#include <sluice/detail/export.hpp>
#include <sluice/detail/job_handle.hpp>
#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/lane.hpp>

namespace sluice::detail {

struct Flight;       // src/flight; one run
struct FlightSeat;   // src/flight; one place from which a run is watched without holding a thread
struct FlightTable;  // src/flight

class FlightRef;

/// What is to be known of a flight's record: key, result and function, typed.
struct FlightType {
    using Submit = void (*)(const FlightRef& flight, std::uint8_t who, const JobOptions& options);
    std::size_t size;
    std::size_t alignment;
    bool (*is_of)(const void* record, const void* key) noexcept;
    void (*destroy)(void* record) noexcept;
    void* (*result)(void* record) noexcept;
    Submit submit;  ///< submits one of its jobs; null: it is run by no job
};

/// A counted reference to a flight, and what may be done to it. The record stays as long as there is one.
class SLUICE_API FlightRef {
public:
    FlightRef() noexcept = default;
    /// Takes over a reference that was counted already.
    explicit FlightRef(Flight* counted) noexcept : flight_(counted) {}
    FlightRef(const FlightRef& other) noexcept;
    FlightRef(FlightRef&& other) noexcept : flight_(std::exchange(other.flight_, nullptr)) {}
    FlightRef& operator=(FlightRef other) noexcept {
        std::swap(flight_, other.flight_);
        return *this;
    }
    ~FlightRef();

    explicit operator bool() const noexcept {
        return flight_ != nullptr;
    }
    [[nodiscard]] Flight* get() const noexcept {
        return flight_;
    }
    [[nodiscard]] void* record() const noexcept;
    [[nodiscard]] void* result() const noexcept;
    [[nodiscard]] std::pmr::memory_resource* memory() const noexcept;
    void submit(std::uint8_t who, const JobOptions& options) const;

    /// Whether the caller is the first who may run the function; `who` is not 0. **Progress**: wait-free.
    [[nodiscard]] bool claim(std::uint8_t who) const noexcept;
    [[nodiscard]] bool claimed_by(std::uint8_t who) const noexcept;
    /// Ends the run: frees the key, then tells all who wait. Once, by who has claimed it, or by the last of its jobs.
    void land() const noexcept;
    void land(Error error) const noexcept;
    [[nodiscard]] bool landed() const noexcept;
    /// After the landing: whether there is an error, and which.
    [[nodiscard]] bool failed() const noexcept;
    [[nodiscard]] Error error() const noexcept;

    /// Sleeps until it has landed, the patience is at its end, or `given_up(context)` is true (`no_state`), which is
    /// asked again after each nudge(). `would_deadlock` where nobody may sleep for it.
    [[nodiscard]] WaitStatus wait(std::int64_t patience_ns, bool (*given_up)(const void* context),
                                  const void* context) const noexcept;
    void nudge() const noexcept;

    // Over the executor (S2, S8).

    /// Whether the caller is the one who is to submit a second, interactive job; that job is counted then.
    [[nodiscard]] bool raise() const noexcept;
    /// One of its jobs has ended without having claimed it. True: it was the last, so nobody will, and the caller lands it.
    [[nodiscard]] bool job_did_not_run() const noexcept;

    /// Whether this thread is inside the flight's function (S6).
    [[nodiscard]] bool runs_here() const noexcept;

private:
    Flight* flight_ = nullptr;
};

/// While one lives, this thread is inside the flight's function.
class SLUICE_API FlightRunsHere {
public:
    explicit FlightRunsHere(const FlightRef& flight) noexcept;
    FlightRunsHere(const FlightRunsHere&) = delete;
    FlightRunsHere& operator=(const FlightRunsHere&) = delete;
    ~FlightRunsHere();

private:
    friend class FlightRef;
    const Flight* flight_;
    const FlightRunsHere* outer_;
};

/// Owns one place from which a flight is watched; what a JobHandle is for a job.
class SLUICE_API FlightWatch {
public:
    FlightWatch() noexcept = default;
    /// Takes a seat. Not valid() when there is no memory for it.
    explicit FlightWatch(FlightRef flight) noexcept;
    FlightWatch(FlightWatch&& other) noexcept : seat_(std::exchange(other.seat_, nullptr)) {}
    FlightWatch& operator=(FlightWatch&& other) noexcept {
        if (this != &other) {
            drop();
            seat_ = std::exchange(other.seat_, nullptr);
        }
        return *this;
    }
    ~FlightWatch() {
        drop();
    }

    [[nodiscard]] bool valid() const noexcept {
        return seat_ != nullptr;
    }
    /// Whether the flight has landed, or the watch was given up.
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] bool gave_up() const noexcept;
    [[nodiscard]] const FlightRef& flight() const noexcept;
    /// Has `continuation` run when it is over(). False: it is, and nothing will run.
    [[nodiscard]] bool attach(Continuation& continuation) noexcept;
    bool take_back_continuation() noexcept;
    /// Waits as the flight's wait(). `no_state`: gave_up().
    [[nodiscard]] WaitStatus wait(std::int64_t patience_ns) const noexcept;
    /// When a stop is requested, the watch is over, and what is attached runs where it was requested.
    void give_up_on(std::stop_token stop) noexcept;

    /// What a callback lies in: a block of the table's memory; null: there is none.
    [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) const noexcept;
    void free(void* memory, std::size_t size, std::size_t alignment) const noexcept;

private:
    void drop() noexcept {
        if (seat_ != nullptr)
            leave(std::exchange(seat_, nullptr));
    }
    static void leave(FlightSeat* seat) noexcept;

    FlightSeat* seat_ = nullptr;
};

/// Owns the table; flights that are in the air keep it alive.
class SLUICE_API FlightTableRef {
public:
    /// `buckets` is rounded up to a power of two. Throws std::bad_alloc.
    FlightTableRef(std::size_t buckets, std::pmr::memory_resource* memory);
    FlightTableRef(const FlightTableRef&) = delete;
    FlightTableRef& operator=(const FlightTableRef&) = delete;
    ~FlightTableRef();

    /// The flight of that key that is in the air. **Progress**: lock-free.
    [[nodiscard]] FlightRef find(std::uint64_t hash, const void* key) const noexcept;
    /// A block for a new one, whose record the caller constructs; null: no memory.
    [[nodiscard]] Flight* draft(std::uint64_t hash, const FlightType& type,
                                JobClass job_class) const noexcept;
    [[nodiscard]] static void* record_of(Flight* draft) noexcept;
    /// The record could not be constructed.
    static void discard(Flight* draft) noexcept;
    /// Puts a draft with its record into the table, unless there is one of that key: then returns that one, and the draft is
    /// gone. **Progress**: lock-free.
    [[nodiscard]] FlightRef insert(Flight* draft, const void* key, bool& inserted) const noexcept;
    /// Takes the flight of that key out of the table. False: there was none.
    bool forget(std::uint64_t hash, const void* key) const noexcept;
    [[nodiscard]] std::size_t in_the_air() const noexcept;

private:
    FlightTable* table_;
};

/// What a caller is told that stopped waiting, or may not wait. `no_state`: a stop was requested.
[[nodiscard]] SLUICE_API Error flight_error(WaitStatus status);

}  // namespace sluice::detail
