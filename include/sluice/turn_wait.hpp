// A turn that a coroutine waits for: what TurnGate::turn() gives, and co_await takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <sluice/detail/awaiting.hpp>
#include <sluice/detail/continuation.hpp>
#include <sluice/error.hpp>
#include <sluice/turn_ticket.hpp>

namespace sluice {

/// A turn that is asked for once it is awaited: by `co_await`, by resume_on(), or by async_wait() of an Asio adapter. See
/// TurnGate::turn(). It ends exactly once, with a ticket or an error, however release, stop, expiry and shutdown meet. A
/// ticket that nobody takes over is released.
///
/// **Thread**: one at a time, and it is moved only before it is awaited. A coroutine that is suspended here may be destroyed
/// as long as its turn has no outcome: the turn leaves the queue. **Memory**: none. While it waits it keeps the gate's
/// memory, so neither a stop request nor its end minds that the gate has gone.
class SLUICE_API TurnWait : public detail::CoAwaitable<TurnWait, Result<TurnTicket>> {
public:
    TurnWait(TurnWait&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)),
          session_(other.session_),
          stop_(std::move(other.stop_)) {}
    TurnWait& operator=(TurnWait&& other) noexcept {
        gate_ = std::exchange(other.gate_, nullptr);
        session_ = other.session_;
        stop_ = std::move(other.stop_);
        return *this;
    }
    ~TurnWait();

private:
    friend class TurnGate;
    template <class Source, class Post>
    friend class detail::Awaiter;
    template <class Net, class Source, class Handler, class Fallback>
    friend class detail::AsioWait;

    // attach() and whoever brings the outcome meet in one step on `phase_`: the later one of the two goes on.
    enum Phase : std::uint32_t { attaching, waiting, ended };
    struct LeaveOnStop {
        TurnWait* wait;
        SLUICE_API void operator()() const noexcept;
    };

    TurnWait(detail::GateState* gate, std::string_view session, std::stop_token stop) noexcept
        : gate_(gate), session_(session), stop_(std::move(stop)) {}

    // What Awaiter and AsioWait ask of what they wait for.
    [[nodiscard]] static bool ready() noexcept {
        return false;  // nothing was asked for yet
    }
    [[nodiscard]] bool valid() const noexcept {
        return gate_ != nullptr;
    }
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept;
    bool take_back_continuation() noexcept;
    [[nodiscard]] Result<TurnTicket> take_ready() noexcept;
    [[nodiscard]] Result<TurnTicket> take_for_callback() noexcept {
        return take_ready();
    }
    [[nodiscard]] Result<TurnTicket> take_given_up() noexcept {
        return take_ready();
    }
    void tell(Result<TurnTicket> outcome) noexcept;

    detail::GateState* gate_;
    std::string_view session_;
    std::stop_token stop_;
    detail::Continuation* continuation_ = nullptr;
    std::atomic<std::uint32_t> phase_{attaching};
    TurnPlace place_;      // attach()'s, until the phase is `waiting`; constant then
    bool queued_ = false;  // as place_; a reference to the gate is held
    std::optional<Result<TurnTicket>> outcome_;
    std::optional<std::stop_callback<LeaveOnStop>> leave_on_stop_;
};

}  // namespace sluice
