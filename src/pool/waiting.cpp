// Who waits until nothing is left, and what is asked after every end.

#include "pool/pool.hpp"

namespace sluice::detail {

namespace {

constexpr std::uint64_t one_idle = std::uint64_t{1} << 32U;
constexpr std::uint64_t waiter_mask = one_idle - 1;

}  // namespace

// Room has been given back, or the last item has gone: who is concerned is told.
void Pool::left_queue(const core::PoolRecord& record) noexcept {
    if (record.anyone_waiting(limits_))
        serve_room();
    if (record.closed() && record.queued_total(limits_) == 0)
        end_threads();
}

// After an item has ended. Dekker with wait_idle(): the end, then this look; the waiter counted, then its look.
void Pool::ended() noexcept {
    if (idle_waiters_.load() != 0)
        announce_idle();
}

// Exact: nothing queued and all that was taken settled, and nothing changed between the two looks. A change in between is
// another thread's step, and that one asks after its own end.
bool Pool::idle() noexcept {
    core::PoolRecord record;
    const std::uint64_t version = ledger_.read(records(), record.words, record_words_);
    if (record.queued_total(limits_) != 0)
        return false;
    auto left = static_cast<std::uint32_t>(record.thrown());  // modulo 2^32, as the record counts
    for (std::uint32_t kind = 0; kind < limits_.kinds; ++kind)
        left += record.taken(limits_, kind);
    for (const auto& worker : workers_)
        left -= static_cast<std::uint32_t>(worker->settled.load());
    return left == 0 && ledger_.version() == version;
}

// Rings once for all who wait. Not if somebody came to wait after the word was read: the look may have been before that
// one's items, so it is repeated.
void Pool::announce_idle() noexcept {
    std::uint64_t word = idle_word_.load();
    while (idle()) {
        if (idle_word_.compare_exchange_strong(word, word + one_idle)) {
            idle_bell_.fetch_add(1);
            sync::wake_all(idle_bell_);
            return;
        }
    }
}

WaitStatus Pool::wait_idle(std::int64_t patience_ns) noexcept {
    if (on_own_thread())
        return WaitStatus::would_deadlock;
    const std::int64_t deadline = patience_ns < 0 ? 0 : sync::now_ns() + patience_ns;
    idle_waiters_.fetch_add(1);
    std::uint64_t word = idle_word_.load();
    while (!idle_word_.compare_exchange_weak(word, (word & ~waiter_mask) | ((word + 1) & waiter_mask))) {}
    const std::uint64_t mine = word & ~waiter_mask;
    WaitStatus status = WaitStatus::done;
    while (!idle()) {
        const std::uint32_t bell = idle_bell_.load();
        if ((idle_word_.load() & ~waiter_mask) != mine)
            break;
        if (patience_ns < 0) {
            sync::wait(idle_bell_, bell);
            continue;
        }
        const std::int64_t left = deadline - sync::now_ns();
        if (left <= 0) {
            status = WaitStatus::timed_out;
            break;
        }
        (void)sync::wait_for(idle_bell_, bell, left);
    }
    idle_waiters_.fetch_sub(1);
    return status;
}

WaitStatus Pool::wait_ended(std::int64_t patience_ns) noexcept {
    if (on_own_thread() || !read_record().closed())
        return WaitStatus::would_deadlock;
    const std::int64_t deadline = patience_ns < 0 ? 0 : sync::now_ns() + patience_ns;
    while (ended_.load() == 0) {
        if (patience_ns < 0) {
            sync::wait(ended_, 0);
            continue;
        }
        const std::int64_t left = deadline - sync::now_ns();
        if (left <= 0)
            return WaitStatus::timed_out;
        (void)sync::wait_for(ended_, 0, left);
    }
    return WaitStatus::done;
}

}  // namespace sluice::detail
