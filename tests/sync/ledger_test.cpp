// Goal (P3): a record of several words changes as a whole, is read as a whole, and no change is lost.
// Method: threads move units between the fields of one record, so its sum never changes; each counts what it did. The same
// stress must fail on ledgers without a tag, and with readers that trust their first look.
#include "sync/ledger.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

namespace sluice {

namespace {

constexpr std::size_t count = 6;
constexpr std::uint64_t units = 60;

struct Record {
    std::array<std::uint64_t, count> words{};
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const std::uint64_t word : words)
            all += word;
        return all;
    }
};

using Store = std::array<std::array<sync::atomic<std::uint64_t>, count>, 12>;

struct NoTag : sync::LedgerRules {
    static constexpr std::uint64_t tag_step = 0;
    static void rest() noexcept {
        std::this_thread::yield();
    }
};
struct TrustsFirstLook : sync::LedgerRules {
    static constexpr bool look_again = false;
};
struct Restless : sync::LedgerRules {
    static void rest() noexcept {
        if (std::chrono::steady_clock::now().time_since_epoch().count() % 64 == 0)
            std::this_thread::yield();
    }
};

/// How often something was seen or left that cannot be.
template <class Rules>
std::uint64_t violations(unsigned threads, std::uint64_t rounds) {
    const auto store = std::make_unique<Store>();
    const auto records = [&](std::uint32_t index) { return (*store)[index].data(); };
    for (auto& word : (*store)[0])
        word.store(units / count);
    sync::BasicLedger<Rules> ledger(0);
    std::atomic<std::uint64_t> wrong{0};
    std::array<std::atomic<std::int64_t>, count> moved{};
    test::run_together(threads, [&](unsigned me) {
        test::Random random(me);
        std::uint32_t scratch = me + 1;
        Record record;
        for (std::uint64_t round = 0; round < rounds && wrong.load() == 0; ++round) {
            const std::size_t from = random.below(count);
            const std::size_t to = random.below(count);
            if (random.one_in(4)) {
                static_cast<void>(ledger.read(records, record.words, count));
                wrong.fetch_add(record.sum() == units ? 0U : 1U);
                continue;
            }
            bool did = false;
            const bool had = ledger.change(
                records, count, record, scratch,
                [&](Record& r) {
                    did = r.words[from] != 0;
                    r.words[from] -= did ? 1U : 0U;
                    r.words[to] += did ? 1U : 0U;
                    return did;
                },
                [] { return sync::BasicLedger<Rules>::nil; });
            wrong.fetch_add(had && record.sum() == units ? 0U : 1U);
            moved[from].fetch_sub(did ? 1 : 0);
            moved[to].fetch_add(did ? 1 : 0);
        }
    });
    Record last;
    static_cast<void>(ledger.read(records, last.words, count));
    std::uint64_t off = last.sum() == units ? 0U : 1U;
    for (std::size_t i = 0; i < count; ++i) {
        const auto expected = static_cast<std::int64_t>(units / count) + moved[i].load();
        off += static_cast<std::int64_t>(last.words[i]) == expected ? 0U : 1U;
    }
    return wrong.load() + off;
}

}  // namespace

TEST_CASE("a change replaces the record, and hands the old one over as scratch") {
    Store store{};
    const auto records = [&](std::uint32_t index) { return store[index].data(); };
    sync::Ledger ledger(3);
    Record record;
    const std::uint64_t before = ledger.read(records, record.words, count);
    CHECK(record.sum() == 0);
    std::uint32_t scratch = 7;
    ledger.change(records, count, record, scratch, [](Record& r) { r.words[2] = 5; });
    CHECK(scratch == 3);
    CHECK(record.words[2] == 5);
    CHECK(ledger.version() != before);
    CHECK(store[7][2].load() == 5);
    Record read;
    static_cast<void>(ledger.read(records, read.words, count));
    CHECK(read.words == record.words);
}

TEST_CASE("a step that refuses changes nothing and needs no scratch") {
    Store store{};
    const auto records = [&](std::uint32_t index) { return store[index].data(); };
    sync::Ledger ledger(0);
    const std::uint64_t before = ledger.version();
    Record record;
    std::uint32_t scratch = sync::Ledger::nil;
    bool asked = false;
    const auto provide = [&] {
        asked = true;
        return sync::Ledger::nil;
    };
    CHECK(ledger.change(
        records, count, record, scratch,
        [](Record& r) {
            r.words[0] = 9;
            return false;
        },
        provide));
    CHECK(record.words[0] == 0);
    CHECK_FALSE(asked);
    CHECK(ledger.version() == before);
    CHECK_FALSE(ledger.change(records, count, record, scratch, [](Record&) { return true; }, provide));
    CHECK(asked);
    CHECK(ledger.version() == before);
}

TEST_CASE("P3 stress: no change is lost, and none is seen in part") {
    const std::uint64_t rounds = test::under_sanitizer ? 20'000 : 200'000;
    CHECK(violations<sync::LedgerRules>(3, rounds) == 0);
    CHECK(violations<Restless>(6, rounds / 4) == 0);
}

TEST_CASE("the stress notices a ledger without a tag") {
    CHECK(violations<NoTag>(4, 2'000'000) > 0);
}

TEST_CASE("the stress notices readers that trust their first look") {
    struct Slow : TrustsFirstLook {
        static void rest() noexcept {}
    };
    // A torn reading needs a change in the middle of a copy: a matter of many tries.
    std::uint64_t found = 0;
    for (int attempt = 0; attempt < 20 && found == 0; ++attempt)
        found = violations<Slow>(4, 1'000'000);
    CHECK(found > 0);
}

}  // namespace sluice
