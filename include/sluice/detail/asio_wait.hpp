// One wait of an Asio program for something of ours: between a Completion and a completion handler. `Net` says how things
// are called in standalone Asio or in Boost.Asio; the two are twins of one shape (asio.hpp, boost_asio.hpp).
#pragma once

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <sluice/detail/awaiting.hpp>
#include <sluice/detail/continuation.hpp>

namespace sluice::detail {

/// Who holds it: the awaited thing, as its continuation; then the function that is posted to the handler's executor. If
/// that one is destroyed without having been called (its context goes), so is this, and the handler with it.
///
/// A cancellation comes from where the handler is to run, so it never meets complete(), which frees the wait there. It may
/// meet the end of the awaited thing: take_back_continuation() decides which of the two posts.
template <class Net, class Source, class Handler, class Fallback>
class AsioWait : Continuation {
    using Executor =
        decltype(Net::executor_of(std::declval<const Handler&>(), std::declval<const Fallback&>()));
    using Work = decltype(Net::keep_working(std::declval<const Executor&>()));
    using HandlerAllocator = decltype(Net::allocator_of(std::declval<const Handler&>()));
    using Allocator = typename std::allocator_traits<HandlerAllocator>::template rebind_alloc<AsioWait>;

public:
    /// Waits for `source`; memory from the handler's allocator. Throws what that throws, and what moving the handler does.
    static void start(Source source, std::stop_source stop, Handler handler, const Fallback& fallback) {
        Allocator allocator(Net::allocator_of(handler));
        AsioWait* const wait = std::allocator_traits<Allocator>::allocate(allocator, 1);
        try {
            ::new (static_cast<void*>(wait))
                AsioWait(std::move(source), std::move(stop), std::move(handler), fallback);
        } catch (...) {
            std::allocator_traits<Allocator>::deallocate(allocator, wait, 1);
            throw;
        }
        Posted posted(wait);
        Net::on_cancel(wait->handler_, [wait] { wait->cancel(); });
        if (wait->source_.attach(*wait))
            posted.let_go();  // from here on it may be gone at any moment
        else
            wait->post(std::move(posted));
    }

private:
    /// What is posted.
    class Posted {
    public:
        using allocator_type = HandlerAllocator;
        explicit Posted(AsioWait* wait) : wait_(wait), allocator_(Net::allocator_of(wait->handler_)) {}
        Posted(Posted&& other) noexcept
            : wait_(std::exchange(other.wait_, nullptr)), allocator_(other.allocator_) {}
        Posted& operator=(Posted&&) = delete;
        ~Posted() {
            if (wait_ != nullptr)
                wait_->destroy(Allocator(allocator_));
        }
        void let_go() noexcept {
            wait_ = nullptr;
        }
        void operator()() {
            std::exchange(wait_, nullptr)->complete();
        }
        [[nodiscard]] allocator_type get_allocator() const noexcept {
            return allocator_;
        }

    private:
        AsioWait* wait_;
        HandlerAllocator allocator_;
    };

    AsioWait(Source&& source, std::stop_source&& stop, Handler&& handler, const Fallback& fallback)
        : source_(std::move(source)),
          stop_(std::move(stop)),
          handler_(std::move(handler)),
          work_(Net::keep_working(Net::executor_of(handler_, fallback))) {
        run = [](Continuation& self) noexcept {
            auto& wait = static_cast<AsioWait&>(self);
            wait.post(Posted(&wait));
        };
    }

    // Never the handler itself: it is not to run inside the call that starts it, and not on a worker.
    void post(Posted posted) {
        const auto executor = work_.get_executor();  // a copy: the wait may be gone before the call returns
        Net::post(executor, std::move(posted));
    }
    void cancel() {
        (void)stop_.request_stop();
        if (!source_.take_back_continuation())
            return;  // it has ended, and is being posted
        given_up_ = true;
        post(Posted(this));
    }
    void complete() {
        Net::stop_listening(handler_);
        Allocator allocator(Net::allocator_of(handler_));
        auto outcome = given_up_ ? source_.take_given_up() : source_.take_for_callback();
        const Work work = std::move(work_);
        Handler handler = std::move(handler_);
        destroy(allocator);  // what the handler does may want the memory
        std::move(handler)(std::move(outcome));
    }
    void destroy(Allocator allocator) noexcept {
        this->~AsioWait();
        std::allocator_traits<Allocator>::deallocate(allocator, this, 1);
    }

    Source source_;
    std::stop_source stop_;
    Handler handler_;
    Work work_;
    bool given_up_ = false;
};

/// What async_wait() starts, for each form of it.
template <class Net, class Fallback>
struct StartAsioWait {
    template <class Handler, class Source>
    void operator()(Handler&& handler, Source&& source, std::stop_source stop,
                    const Fallback& fallback) const {
        using Wait = AsioWait<Net, std::decay_t<Source>, std::decay_t<Handler>, Fallback>;
        Wait::start(std::forward<Source>(source), std::move(stop), std::forward<Handler>(handler), fallback);
    }
};

}  // namespace sluice::detail
