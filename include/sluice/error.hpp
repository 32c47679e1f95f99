// Why a job did not end with a value, as a value: a code that works with std::error_code, the actor, the
// request, and a sentence fit to show.
#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sluice/detail/export.hpp>

namespace sluice {

/// What went wrong. Zero is never an error, as std::error_code wants it.
enum class ErrorCode : std::uint8_t {
    actor_not_registered = 1,  ///< no actor of that id (or generation) is registered
    actor_removed,             ///< the actor was removed while the job was queued
    actor_fatal,        ///< an exclusive job of the actor threw earlier; register it again for a fresh one
    job_threw,          ///< the job itself threw; Error::exception() holds what
    queue_full,         ///< a limit on queued jobs or nodes was hit; Error::limit() names it
    shut_down,          ///< the executor takes, or ran, no more jobs
    would_deadlock,     ///< waiting here could never end; nothing was waited for
    timed_out,          ///< the job is still running or queued; it can be waited for again
    cancelled,          ///< a stop was requested while the job was queued
    deadline_exceeded,  ///< the job's deadline passed while it was queued
    context_type_mismatch,  ///< the actor's context has another type than the caller asked for
    lane_mismatch,          ///< a job that changes its context was submitted to a lane that only reads
    invalid_argument,       ///< an argument is outside its range; the message names it
    no_state,               ///< the handle is empty: never submitted, moved from, or already waited for
    out_of_memory,          ///< the memory resource had nothing left for the job
    forked,                 ///< the executor belongs to the parent process
    session_limit,          ///< as many sessions are live as may be; Error::limit() names the bound
    never_fits,             ///< the item alone is larger than a whole budget; trying again is no use
};

/// The name of a code as it stands above, for logs and metrics.
[[nodiscard]] SLUICE_API std::string_view to_string(ErrorCode code) noexcept;

/// The category behind make_error_code(); its name is "sluice".
[[nodiscard]] SLUICE_API const std::error_category& error_category() noexcept;

/// Lets an ErrorCode be compared with and converted to std::error_code.
[[nodiscard]] inline std::error_code make_error_code(ErrorCode code) noexcept {
    return {static_cast<int>(code), error_category()};
}

/// A bound that a refusal ran into: its name in Config, its value, and the count that met it. Or an argument that is outside
/// its range (`invalid_argument`): its name, the largest value that is accepted, the value that was given, and the range.
struct LimitHit {
    std::string_view name;    ///< static storage; empty when no limit was involved
    std::uint64_t value = 0;  ///< the bound
    std::uint64_t count = 0;  ///< how many there were when the submission was refused; or the argument itself
    std::string_view range = {};  ///< static storage; what is accepted, for an argument; else empty
};

/// Everything that is known about a failure. Copying shares one immutable record.
///
/// **Thread**: any; distinct copies may be used by distinct threads. **Errors**: none; without memory an Error knows its code
/// only. **Memory**: making one allocates once; copying does not. An Error is made only when a job fails, never on the
/// way of one that succeeds.
class SLUICE_API Error {
public:
    /// Parts of an Error by name; what is left out stays empty.
    struct Parts {
        ErrorCode code = ErrorCode::no_state;
        std::string_view actor = {};
        std::string_view request_id = {};
        std::string message = {};  ///< empty: a sentence is made from the other parts
        LimitHit limit = {};
        std::exception_ptr exception = nullptr;
    };

    /// Nothing known; says `no_state`.
    Error() noexcept = default;
    explicit Error(Parts parts) noexcept;
    Error(const Error& other) noexcept;
    Error(Error&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Error& operator=(Error other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Error();

    /// The code as an enumerator. A moved-from Error says
    /// `no_state`.
    [[nodiscard]] ErrorCode value() const noexcept;
    /// The code for interfaces that speak std::error_code.
    [[nodiscard]] std::error_code code() const noexcept {
        return make_error_code(value());
    }
    /// The actor's id, or empty when none was involved. Valid as long as this Error.
    [[nodiscard]] std::string_view actor() const noexcept;
    /// The submitter's request id, or empty. Valid as long as this Error.
    [[nodiscard]] std::string_view request_id() const noexcept;
    /// A sentence fit to show: what happened, to which actor and request, and the limit if one was hit.
    [[nodiscard]] std::string_view message() const noexcept;
    /// The limit that was hit (for `queue_full`), with its value and the current count; or the argument that was refused.
    [[nodiscard]] LimitHit limit() const noexcept;
    /// What the job threw (for `job_threw`), or the first cause (for `actor_fatal`); else null.
    [[nodiscard]] std::exception_ptr exception() const noexcept;

    friend bool operator==(const Error& error, ErrorCode code) noexcept {
        return error.value() == code;
    }

private:
    struct Record;
    [[nodiscard]] static Record* bare_record(ErrorCode code) noexcept;

    Record* record_ = nullptr;
};

/// What a job ended with: its value, or why there is none.
template <class T>
using Result = std::expected<T, Error>;

/// Thrown only where no Result can be returned: by constructors and by the `*_or_throw` conveniences.
class SLUICE_API Exception : public std::runtime_error {
public:
    explicit Exception(Error error);
    [[nodiscard]] const Error& error() const noexcept {
        return error_;
    }

private:
    Error error_;
};

}  // namespace sluice

template <>
struct std::is_error_code_enum<sluice::ErrorCode> : std::true_type {};
