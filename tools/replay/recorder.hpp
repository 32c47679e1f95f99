// What happened to each job, written by whichever thread it happened on, without a lock or an allocation.
//
// Roles: the submitter writes Submission, a job (on its worker) writes JobRecord, anybody may read a JobRecord that has
// ended() and everything once the executor has shut down and the submitter was joined.
// Invariant: each accepted job leaves exactly one mark, `ended` (it ran) or `dropped` (its closure was destroyed
// without having run). A job with neither was lost; more than one start means that it ran twice.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace sluice::replay {

using Clock = std::chrono::steady_clock;

/// Times are nanoseconds since the start of the run; 0 stands for "not yet", and a real 0 is written as 1.
struct JobRecord {
    std::uint64_t started = 0;     ///< written by the worker before `ended`, read after it
    std::uint64_t installing = 0;  ///< heavy jobs: when the exclusive step began; same protection
    /// Released by the worker as the last thing a job does; acquired by ended(). Without the pair a reader could see
    /// the end of a job and not yet its start.
    std::atomic<std::uint64_t> ended_at{0};
    /// Relaxed: counts and flags that are looked at after the executor's end, which orders them.
    std::atomic<std::uint32_t> starts{0};
    std::atomic<bool> dropped{false};
    std::atomic<bool> cut_short{
        false};                     ///< an interrupt ended the job's work before its service time was over
    std::atomic<bool> torn{false};  ///< a reader saw its actor's context change while it ran

    /// When the job ended, or 0. Anything else in the record may be read if it is not 0.
    [[nodiscard]] std::uint64_t ended() const noexcept {
        return ended_at.load(std::memory_order_acquire);
    }
};
static_assert(sizeof(JobRecord) == 32, "two to a cache line: the plan's bound on jobs counts on it");

/// How a submission came out, as its submitter saw it.
enum class Fate : std::uint8_t { not_submitted, accepted, refused_queue_full, refused_otherwise };

struct Submission {
    std::uint64_t called = 0;   ///< just before the call
    std::uint32_t call_ns = 0;  ///< how long the call took, at most 4.29 s
    Fate fate = Fate::not_submitted;
};
static_assert(sizeof(Submission) == 16);

/// All records of a run, taken at once before it starts.
class Recorder {
public:
    explicit Recorder(std::size_t jobs)
        : size_(jobs),
          records_(std::make_unique<JobRecord[]>(jobs)),
          submissions_(std::make_unique<Submission[]>(jobs)) {}

    /// Sets the zero of all times. Before the first job.
    void start(Clock::time_point at) noexcept {
        zero_ = at;
    }
    [[nodiscard]] Clock::time_point zero() const noexcept {
        return zero_;
    }
    [[nodiscard]] std::uint64_t now() const noexcept {
        const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - zero_).count();
        return since > 0 ? static_cast<std::uint64_t>(since) : 1;
    }

    [[nodiscard]] std::size_t size() const noexcept {
        return size_;
    }
    [[nodiscard]] JobRecord& record(std::size_t job) noexcept {
        return records_[job];
    }
    [[nodiscard]] Submission& submission(std::size_t job) noexcept {
        return submissions_[job];
    }
    [[nodiscard]] std::span<const JobRecord> records() const noexcept {
        return {records_.get(), size_};
    }
    [[nodiscard]] std::span<const Submission> submissions() const noexcept {
        return {submissions_.get(), size_};
    }

private:
    std::size_t size_;
    std::unique_ptr<JobRecord[]> records_;
    std::unique_ptr<Submission[]> submissions_;
    Clock::time_point zero_{};
};

/// Rides in a job's closure and notices what becomes of it: destroyed without finish(), the job was dropped.
class JobToken {
public:
    explicit JobToken(JobRecord& record) noexcept : record_(&record) {}
    JobToken(JobToken&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    JobToken& operator=(JobToken&&) = delete;
    ~JobToken() {
        if (record_ != nullptr)
            record_->dropped.store(true, std::memory_order_relaxed);
    }

    /// Whether the token is still here: false once it was moved into a job, or finished.
    [[nodiscard]] bool here() const noexcept {
        return record_ != nullptr;
    }
    [[nodiscard]] JobRecord& record() const noexcept {
        return *record_;
    }
    /// Lets go without a mark: the submission was refused, and the submitter has written so.
    void release() noexcept {
        record_ = nullptr;
    }

    void start(std::uint64_t now) const noexcept {
        record_->starts.fetch_add(1, std::memory_order_relaxed);
        record_->started = now;
    }
    void finish(std::uint64_t now) noexcept {
        std::exchange(record_, nullptr)->ended_at.store(now, std::memory_order_release);
    }

private:
    JobRecord* record_;
};

}  // namespace sluice::replay
