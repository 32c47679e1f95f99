// One flight: who may run it, how it ends, and how it is waited for. The words are in flight.hpp.

#include "flight/flight.hpp"

#include "platform/cpu.hpp"
#include "platform/thread.hpp"

#include <memory>
#include <new>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// As runner: the flight is over, and nobody has run its function.
constexpr std::uint8_t nobody_ran = 0xFF;

/// The flights whose functions this thread is inside, innermost first.
constinit thread_local const FlightRunsHere* innermost = nullptr;

void release_seat(FlightSeat& seat) noexcept {
    // acq_rel: what either holder did comes before the end.
    if (seat.refs.fetch_sub(1, memory_order_acq_rel) != 1)
        return;
    const FlightRef flight = std::move(seat.flight);  // the table outlives its memory's return
    std::destroy_at(&seat);
    flight.get()->table->memory->deallocate(&seat, sizeof(FlightSeat), alignof(FlightSeat));
}

// Says that the watch is over, and runs what is attached. From whoever comes second nothing happens.
void end_watch(FlightSeat& seat, std::uint32_t how) noexcept {
    std::uint32_t word = seat.word.load(memory_order_relaxed);
    do {
        if ((word & FlightSeat::over) != 0)
            return;
        // acq_rel. Acquire: pairs with attach()'s release; the pointer is read below. Release: pairs with the acquires of
        // the owner, who reads the result.
    } while (!seat.word.compare_exchange_weak(word, word | how, memory_order_acq_rel, memory_order_relaxed));
    if ((word & FlightSeat::attached) != 0)
        run_continuation(*seat.continuation);
}

}  // namespace

// ---- the reference --------------------------------------------------------------------------------------------------

FlightRef::FlightRef(const FlightRef& other) noexcept : flight_(other.flight_) {
    if (flight_ != nullptr)
        flight_->retain();
}

FlightRef::~FlightRef() {
    if (flight_ != nullptr)
        flight_->release();
}

void* FlightRef::record() const noexcept {
    return flight_->record();
}

void* FlightRef::result() const noexcept {
    return flight_->type->result(flight_->record());
}

std::pmr::memory_resource* FlightRef::memory() const noexcept {
    return flight_->table->memory;
}

void FlightRef::submit(std::uint8_t who, const JobOptions& options) const {
    flight_->type->submit(*this, who, options);
}

bool FlightRef::claim(std::uint8_t who) const noexcept {
    std::uint8_t nobody = 0;
    // relaxed: who is first; what it then writes is published by the landing.
    return flight_->runner.compare_exchange_strong(nobody, who, memory_order_relaxed);
}

bool FlightRef::claimed_by(std::uint8_t who) const noexcept {
    return flight_->runner.load(memory_order_relaxed) ==
           who;  // asked by `who`, after its own claim or without one
}

void FlightRef::land() const noexcept {
    Flight& flight = *flight_;
    (void)flight.table->remove(flight);
    flight.table->in_the_air.fetch_sub(1);
    // release: pairs with the acquires of landed() and wait(): the result is there.
    const std::uint32_t old = flight.word.fetch_or(Flight::landed, memory_order_release);
    if ((old & Flight::sleepers) != 0)
        sync::wake_all(flight.word);
    const ContinuationsHeld held;  // the callback of one follower may look at what another one got
    for (FlightSeat* seat = flight.seats.close(); seat != nullptr;) {
        FlightSeat& told = *std::exchange(seat, seat->next);
        end_watch(told, FlightSeat::over);
        release_seat(told);
    }
}

void FlightRef::land(Error error) const noexcept {
    flight_->error = std::move(error);
    flight_->failed = true;
    land();
}

bool FlightRef::landed() const noexcept {
    return (flight_->word.load(memory_order_acquire) & Flight::landed) != 0;  // pairs with land()
}

bool FlightRef::failed() const noexcept {
    return flight_->failed;
}
Error FlightRef::error() const noexcept {
    return flight_->error;
}

// ---- sleeping -------------------------------------------------------------------------------------------------------

// Inside its own run nobody can wait for it. On an executor's thread nobody waits for a job: the executor would not know,
// and the job may need this very thread.
WaitStatus FlightRef::wait(std::int64_t patience_ns, bool (*given_up)(const void* context),
                           const void* context) const noexcept {
    constexpr unsigned look_rounds =
        16;  // as in the executor's wait.cpp: what is about to end has ended by then
    Flight& flight = *flight_;
    if (!landed() && (runs_here() || (flight.type->submit != nullptr && on_executor_thread())))
        return WaitStatus::would_deadlock;
    if (patience_ns == 0)
        return landed() ? WaitStatus::done : WaitStatus::timed_out;
    for (unsigned round = 0; round < look_rounds && !landed(); ++round) {
        if (round % 4 == 3)
            platform::yield();
        else
            platform::cpu_relax();
    }
    const std::int64_t deadline = patience_ns < 0 ? 0 : sync::now_ns() + patience_ns;
    for (;;) {
        // The word goes into the sleep as it was announced, so a landing or a nudge in between is noticed.
        // acquire: pairs with the release in land().
        const std::uint32_t word =
            flight.word.fetch_or(Flight::sleepers, memory_order_acquire) | Flight::sleepers;
        if ((word & Flight::landed) != 0)
            return WaitStatus::done;
        if (given_up != nullptr && given_up(context))
            return WaitStatus::no_state;
        if (patience_ns < 0) {
            sync::wait(flight.word, word);
            continue;
        }
        const std::int64_t left = deadline - sync::now_ns();
        if (left <= 0)
            return WaitStatus::timed_out;
        (void)sync::wait_for(flight.word, word, left);
    }
}

void FlightRef::nudge() const noexcept {
    // release: what made the caller nudge is visible to who then asks. A modulo of 2^30 nudges between look and sleep.
    flight_->word.fetch_add(Flight::nudge, memory_order_release);
    sync::wake_all(flight_->word);
}

// ---- over the executor ----------------------------------------------------------------------------------------------

bool FlightRef::raise() const noexcept {
    Flight& flight = *flight_;
    // relaxed: glances at what only rises; `raised` decides who it is.
    if (flight.type->submit == nullptr || flight.job_class == JobClass::interactive ||
        flight.runner.load(memory_order_relaxed) != 0 || flight.raised.exchange(true, memory_order_relaxed)) {
        return false;
    }
    std::uint32_t jobs = flight.jobs.load(memory_order_relaxed);
    do {
        if (jobs == 0)
            return false;
    } while (!flight.jobs.compare_exchange_weak(jobs, jobs + 1, memory_order_relaxed));  // a count
    return true;
}

bool FlightRef::job_did_not_run() const noexcept {
    // acq_rel: the last one ends the flight, after all that the others did.
    return flight_->jobs.fetch_sub(1, memory_order_acq_rel) == 1 && claim(nobody_ran);
}

bool FlightRef::runs_here() const noexcept {
    const FlightRunsHere* inside = innermost;
    while (inside != nullptr && inside->flight_ != flight_)
        inside = inside->outer_;
    return inside != nullptr;
}

FlightRunsHere::FlightRunsHere(const FlightRef& flight) noexcept
    : flight_(flight.get()), outer_(std::exchange(innermost, this)) {}

FlightRunsHere::~FlightRunsHere() {
    innermost = outer_;
}

// ---- seats ----------------------------------------------------------------------------------------------------------

FlightWatch::FlightWatch(FlightRef flight) noexcept {
    std::pmr::memory_resource& memory = *flight.get()->table->memory;
    void* block = nullptr;
    try {
        block = memory.allocate(sizeof(FlightSeat), alignof(FlightSeat));
    } catch (...) {
        return;
    }
    seat_ = ::new (block) FlightSeat;
    seat_->flight = std::move(flight);
    if (!seat_->flight.get()->seats.push(*seat_)) {
        // It has landed since it was found. relaxed, both: nobody else knows the seat; push() has acquired.
        seat_->word.store(FlightSeat::over, memory_order_relaxed);
        seat_->refs.store(1, memory_order_relaxed);
    }
}

bool FlightWatch::over() const noexcept {
    // acquire: pairs with the release in end_watch().
    return seat_ != nullptr && (seat_->word.load(memory_order_acquire) & FlightSeat::over) != 0;
}

bool FlightWatch::gave_up() const noexcept {
    return (seat_->word.load(memory_order_relaxed) & FlightSeat::gave_up) != 0;  // after over()
}

const FlightRef& FlightWatch::flight() const noexcept {
    return seat_->flight;
}

bool FlightWatch::attach(Continuation& continuation) noexcept {
    seat_->continuation = &continuation;
    std::uint32_t word = 0;
    // release: pairs with the acquire in end_watch(). acquire on failure: it is over, see over().
    return seat_->word.compare_exchange_strong(word, FlightSeat::attached, memory_order_release,
                                               memory_order_acquire);
}

bool FlightWatch::take_back_continuation() noexcept {
    std::uint32_t word = FlightSeat::attached;
    // acquire is for the failure: it is over. (The success publishes nothing.)
    return seat_ != nullptr &&
           seat_->word.compare_exchange_strong(word, 0, memory_order_acquire, memory_order_acquire);
}

WaitStatus FlightWatch::wait(std::int64_t patience_ns) const noexcept {
    if (over())
        return gave_up() ? WaitStatus::no_state : WaitStatus::done;
    const auto given_up = [](const void* self) {
        const auto& watch = *static_cast<const FlightWatch*>(self);
        return watch.over() && watch.gave_up();
    };
    return seat_->flight.wait(patience_ns, given_up, this);
}

// The flight is held: what is attached may destroy the seat.
void FlightSeat::GiveUp::operator()() const noexcept {
    const FlightRef stays = seat->flight;
    end_watch(*seat, over | gave_up);
    stays.nudge();
}

void FlightWatch::give_up_on(std::stop_token stop) noexcept {
    seat_->stop.emplace(std::move(stop), FlightSeat::GiveUp{seat_});
}

// The callback goes first: it may be running on another thread, and is waited for then. On this thread it is not.
void FlightWatch::leave(FlightSeat* seat) noexcept {
    seat->stop.reset();
    release_seat(*seat);
}

void* FlightWatch::allocate(std::size_t size, std::size_t alignment) const noexcept {
    try {
        return seat_->flight.get()->table->memory->allocate(size, alignment);
    } catch (...) {
        return nullptr;
    }
}

void FlightWatch::free(void* memory, std::size_t size, std::size_t alignment) const noexcept {
    seat_->flight.get()->table->memory->deallocate(memory, size, alignment);
}

// Made once and never destroyed, so that giving up costs no allocation.
Error flight_error(WaitStatus status) {
    static const Error& timed_out =
        *new Error({.code = ErrorCode::timed_out, .message = "the run had not ended in time; it goes on"});
    static const Error& would_deadlock = *new Error(
        {.code = ErrorCode::would_deadlock,
         .message = "inside the key's own run, and for a job's run on an executor's thread, waiting could "
                    "never end, so nothing was waited for"});
    static const Error& cancelled =
        *new Error({.code = ErrorCode::cancelled,
                    .message = "a stop was requested while this caller waited; the run goes on"});
    switch (status) {
        case WaitStatus::timed_out:
            return timed_out;
        case WaitStatus::would_deadlock:
            return would_deadlock;
        default:
            return cancelled;
    }
}

}  // namespace sluice::detail
