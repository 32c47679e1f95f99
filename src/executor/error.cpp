#include <sluice/error.hpp>

#include "sync/atomic.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace sluice {

namespace {

struct CodeText {
    std::string_view name;
    std::string_view sentence;
};

constexpr std::array<CodeText, 19> code_texts{{
    {"none", "no error"},
    {"actor_not_registered", "no such actor is registered"},
    {"actor_removed", "the actor was removed while the job was queued"},
    {"actor_fatal",
     "an exclusive job of the actor threw earlier, so it takes no jobs; remove and register it again"},
    {"job_threw", "the job threw"},
    {"queue_full", "there is no room for another job"},
    {"shut_down", "the executor is shut down"},
    {"would_deadlock", "waiting here could never end, so nothing was waited for"},
    {"timed_out", "the job had not ended in time; it goes on and can be waited for again"},
    {"cancelled", "a stop was requested while the job was queued"},
    {"deadline_exceeded", "the job's deadline passed while it was queued"},
    {"context_type_mismatch", "the actor's context has another type"},
    {"lane_mismatch", "the job cannot run in this lane"},
    {"invalid_argument", "an argument is outside its range"},
    {"no_state", "the handle is empty: moved from, or already waited for"},
    {"out_of_memory", "there was no memory for the job"},
    {"forked", "the executor belongs to the parent process"},
    {"session_limit", "as many sessions are live as may be"},
    {"never_fits", "the item alone is larger than the whole budget"},
}};

const CodeText& text_of(ErrorCode code) noexcept {
    const auto index = static_cast<std::size_t>(code);
    return code_texts[index < code_texts.size() ? index : 0];
}

class Category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override {
        return "sluice";
    }
    [[nodiscard]] std::string message(int value) const override {
        return std::string(text_of(static_cast<ErrorCode>(value)).sentence);
    }
};

/// What an exception says of itself, if it says anything. It is the user's: it may say null.
void append_what(std::string& text, const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const std::exception& error) {
        const char* what = error.what();
        text.append(what != nullptr ? what : "an exception that says nothing");
    } catch (...) {
        text.append("something that is no std::exception");
    }
}

std::string sentence_of(const Error::Parts& parts) {
    std::string text;
    if (!parts.actor.empty())
        text.append("actor '").append(parts.actor).append("'");
    if (!parts.request_id.empty()) {
        text.append(text.empty() ? "request '" : ", request '").append(parts.request_id).append("'");
    }
    if (!text.empty())
        text.append(": ");
    text.append(parts.message.empty() ? text_of(parts.code).sentence : parts.message);
    if (!parts.limit.range.empty()) {
        text.append(": ").append(parts.limit.name).append(" is ").append(std::to_string(parts.limit.count));
        text.append(", but must be ").append(parts.limit.range);
    } else if (!parts.limit.name.empty()) {
        text.append(" (").append(parts.limit.name).append(" is ").append(std::to_string(parts.limit.value));
        text.append(", count is ").append(std::to_string(parts.limit.count)).append(")");
    }
    if (parts.exception) {
        text.append(parts.code == ErrorCode::actor_fatal ? "; the first cause: " : ": ");
        append_what(text, parts.exception);
    }
    return text;
}

}  // namespace

struct Error::Record {
    sync::atomic<std::uint32_t> refs{1};
    ErrorCode code = ErrorCode::no_state;
    LimitHit limit;
    std::exception_ptr exception;
    std::string actor;
    std::string request_id;
    std::string message;
    bool shared_for_ever = false;  ///< the record for when there is no memory for one
};

std::string_view to_string(ErrorCode code) noexcept {
    return text_of(code).name;
}

// Like the records below built in place and never destroyed: an executor may end after main, and its errors be told then.
const std::error_category& error_category() noexcept {
    alignas(Category) static std::byte storage[sizeof(Category)];
    static const Category* const category = ::new (storage) Category;
    return *category;
}

Error::Error(Parts parts) noexcept {
    try {
        auto record = std::make_unique<Record>();
        record->code = parts.code;
        record->limit = parts.limit;
        record->actor = parts.actor;
        record->request_id = parts.request_id;
        record->message = sentence_of(parts);
        record->exception = std::move(parts.exception);
        record_ = record.release();
    } catch (
        ...) {  // no memory, or words that no string can hold: jobs end with errors where nothing may be thrown
        record_ = bare_record(parts.code);
    }
}

// Codes only, made once: an error must be tellable when there is no memory to tell it well.
Error::Record* Error::bare_record(ErrorCode code) noexcept {
    using Records = std::array<Record, code_texts.size()>;
    alignas(Records) static std::byte storage[sizeof(Records)];
    static Records& records = [] -> Records& {
        auto* made = ::new (storage) Records;
        for (std::size_t i = 0; i < made->size(); ++i) {
            (*made)[i].code = static_cast<ErrorCode>(i);
            (*made)[i].shared_for_ever = true;
        }
        return *made;
    }();
    const auto index = static_cast<std::size_t>(code);
    return &records[index < records.size() ? index : static_cast<std::size_t>(ErrorCode::no_state)];
}

Error::Error(const Error& other) noexcept : record_(other.record_) {
    // relaxed: from a reference that is held.
    if (record_ != nullptr && !record_->shared_for_ever)
        record_->refs.fetch_add(1, sync::memory_order_relaxed);
}

Error::~Error() {
    if (record_ == nullptr || record_->shared_for_ever)
        return;
    // acq_rel: what any holder read comes before the end.
    if (record_->refs.fetch_sub(1, sync::memory_order_acq_rel) == 1)
        delete record_;
}

ErrorCode Error::value() const noexcept {
    return record_ == nullptr ? ErrorCode::no_state : record_->code;
}
std::string_view Error::actor() const noexcept {
    return record_ == nullptr ? std::string_view{} : record_->actor;
}
std::string_view Error::request_id() const noexcept {
    return record_ == nullptr ? std::string_view{} : record_->request_id;
}
std::string_view Error::message() const noexcept {
    if (record_ == nullptr || record_->message.empty())
        return text_of(value()).sentence;
    return record_->message;
}
LimitHit Error::limit() const noexcept {
    return record_ == nullptr ? LimitHit{} : record_->limit;
}
std::exception_ptr Error::exception() const noexcept {
    return record_ == nullptr ? nullptr : record_->exception;
}

Exception::Exception(Error error)
    : std::runtime_error(std::string(error.message())), error_(std::move(error)) {}

}  // namespace sluice
