// One wait for room in a pool: what a line of the pool knows of who waits, and what a coroutine's wait adds to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>

#include <sluice/detail/continuation.hpp>
#include <sluice/detail/export.hpp>
#include <sluice/detail/pool_ref.hpp>
#include <sluice/error.hpp>

namespace sluice::core {
enum class Verdict : std::uint8_t;  // src/core/pool_record.hpp
}

namespace sluice::detail {

/// Lies on the stack of a thread inside enqueue_for(), or in the frame of a coroutine; src/pool/room_line.hpp has its rules.
struct RoomWaiter {
    enum State : std::uint32_t { waiting, leaving, admitted, left };

    PoolSlot* slot = nullptr;
    std::uint32_t lane = 0;
    bool awaited = false;  ///< a RoomWait; nobody sleeps
    bool counted = false;  ///< the record says that it waits; the holder's
    std::uint64_t bytes = 0;
    std::atomic<std::uint32_t> state{waiting};  ///< slept on
    core::Verdict verdict{};                    ///< why it was let go; the holder's until `state` says so
    RoomWaiter* next = nullptr;                 ///< the waiter's until it has arrived, then the holder's
};

/// A coroutine's wait. Roles: the *awaiter* calls everything but settle(); the *teller* is whoever had the baton when the wait
/// was over, and calls settle(), once. They meet on `phase_`.
class SLUICE_API RoomWait : public RoomWaiter {
public:
    explicit RoomWait(Pool& pool) noexcept : pool_(pool) {}
    RoomWait(const RoomWait&) = delete;
    RoomWait& operator=(const RoomWait&) = delete;
    ~RoomWait() = default;

    /// Memory for the closure, which is to be constructed there before enter(). Null: refused, see take().
    [[nodiscard]] void* reserve(const ItemRequest& request, const std::stop_token& stop) noexcept;
    /// False: the outcome is there, and nobody will call the continuation. True: by now this may be gone.
    [[nodiscard]] bool enter(const ItemRequest& request, std::stop_token stop,
                             Continuation& continuation) noexcept;
    /// True: the wait is over, nobody will call the continuation, and take() says what became of the item. Waits for as long
    /// as another thread's turn with the baton takes.
    [[nodiscard]] bool take_back() noexcept;
    [[nodiscard]] Result<PoolItemRef> take() noexcept;
    /// The continuation that is to be called now, if any.
    [[nodiscard]] Continuation* settle() noexcept;

private:
    /// `ended` and `finished`: settle() has brought the outcome; it needs this no more.
    enum Phase : std::uint32_t { attaching, suspended, taken_back, ended, finished };
    struct LeaveOnStop {
        RoomWait* wait;
        SLUICE_API void operator()() const noexcept;
    };
    void leave() noexcept;
    void refuse(Error error) noexcept;

    Pool& pool_;
    Continuation* continuation_ = nullptr;
    std::atomic<std::uint32_t> phase_{attaching};
    std::optional<Result<PoolItemRef>> outcome_;
    std::optional<std::stop_callback<LeaveOnStop>> leave_on_stop_;
};

}  // namespace sluice::detail
