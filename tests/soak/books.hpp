// The soak's own count, which knows nothing of the library's: one entry a submission, written by its function, its closure and
// its handle or callback, and read when all have ended. Beside it what was found to be wrong, and the canary, a fault in
// this very count that a run must notice.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::soak {

/// What is planted into the books, or beside them, so that the run must fail.
enum class Canary : std::uint8_t {
    none,
    lose_one,  ///< one outcome is not written down
    twice,     ///< one outcome is written down twice
    leak,      ///< one block of counted memory is kept
    grow,      ///< memory that nobody counts is kept, more of it in each episode
    hang,      ///< one episode does not end
};

/// One submission. All but the first two members are written by whichever thread it comes to.
struct Entry {
    bool asked = false;                     ///< somebody waits for its outcome, or is called with it
    bool heavy = false;                     ///< its function's end is not its outcome
    std::atomic<std::uint8_t> accepted{0};  ///< where a submission says so at once
    std::atomic<std::uint8_t> began{0};
    std::atomic<std::uint8_t> returned{0};
    std::atomic<std::uint8_t> threw{0};
    std::atomic<std::uint8_t> destroyed{0};  ///< its closure
    std::atomic<std::uint8_t> told{0};       ///< outcomes
    std::atomic<std::uint8_t> outcome{0};    ///< the last of them; 0 is a value, else each part's own number
};

/// For a finding.
[[nodiscard]] std::string to_string(const Entry& entry);

/// What was wrong: the first few in words, all of them counted.
class Findings {
public:
    void add(std::string what);
    /// Adds `what` unless the condition holds.
    template <class What>
    void expect(bool holds, What&& what) {
        if (!holds)
            add(std::forward<What>(what)());
    }
    [[nodiscard]] std::uint64_t count() const {
        return count_.load();
    }
    [[nodiscard]] std::vector<std::string> first() const;

private:
    static constexpr std::size_t most = 20;
    std::atomic<std::uint64_t> count_{0};
    mutable std::mutex mutex_;
    std::vector<std::string> first_;
};

/// The entries of one part in one episode. They are as many as there is room for: when the book is full its part gets no
/// more work until the next episode.
class Book {
public:
    static constexpr std::size_t room = std::size_t{1} << 15U;

    explicit Book(Canary canary) : canary_(canary), entries_(std::make_unique<Entry[]>(room)) {}

    /// An entry for a submission that is about to be made; null: the book is full.
    [[nodiscard]] Entry* open();
    /// That submission has returned.
    void submitted() {
        submitted_.fetch_add(1);
    }
    /// An outcome of it.
    void tell(Entry& entry, std::uint8_t outcome);

    /// Bounds of what the part has counted at any moment between the two calls.
    [[nodiscard]] std::uint64_t at_least() const {
        return submitted_.load();
    }
    [[nodiscard]] std::uint64_t at_most() const {
        return std::min<std::uint64_t>(opened_.load(), room);
    }

    /// All entries, when nobody writes any more.
    [[nodiscard]] std::span<const Entry> entries() const {
        return {entries_.get(), static_cast<std::size_t>(at_most())};
    }
    void clear();

private:
    const Canary canary_;
    std::unique_ptr<Entry[]> entries_;
    std::atomic<std::uint64_t> opened_{0};
    std::atomic<std::uint64_t> submitted_{0};
    std::atomic<std::uint64_t> outcomes_{0};  ///< ever
};

/// Captured by a closure: counts its destruction, but not that of what it was moved from.
class Witness {
public:
    explicit Witness(Entry& entry) : entry_(&entry) {}
    Witness(Witness&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Witness& operator=(Witness&&) = delete;
    ~Witness() {
        if (entry_ != nullptr)
            entry_->destroyed.fetch_add(1);
    }
    [[nodiscard]] Entry& entry() const {
        return *entry_;
    }

private:
    Entry* entry_;
};

}  // namespace sluice::soak
