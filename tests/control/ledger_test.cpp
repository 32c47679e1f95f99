// Goal: a record changes as a whole, is read as a whole, and no change is lost.
// Method: threads that add one to both words of a record, and a reader; a changer and a waiter of the file's last sentence.
#include "sync/ledger.hpp"

#include "control/harness.hpp"
#include "control/mutants_ledger.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

struct Record {
    std::array<std::uint64_t, 2> words{};
};

template <class Ledger>
struct Book {
    std::array<std::array<sync::atomic<std::uint64_t>, 2>, 4> store{};
    Ledger ledger{0};

    auto records() {
        return [this](std::uint32_t index) { return store[index].data(); };
    }
    void add(std::uint32_t& scratch) {
        Record record;
        ledger.change(records(), 2, record, scratch, [](Record& r) {
            // Perhaps of two records; then the change will not be.
            ++r.words[0];
            ++r.words[1];
        });
    }
    std::uint64_t read() {
        Record record;
        static_cast<void>(ledger.read(records(), record.words, 2));
        check(record.words[0] == record.words[1], "read whole");
        return record.words[0];
    }
};

template <class Ledger>
Scenarios scenarios() {
    return {
        {{.name = "ledger: two change"},
         [](Run& run) {
             Book<Ledger> book;
             run.thread("one", [&] {
                 std::uint32_t scratch = 1;
                 book.add(scratch);
             });
             run.thread("two", [&] {
                 std::uint32_t scratch = 2;
                 book.add(scratch);
                 book.add(scratch);
             });
             run.join();
             check(book.read() == 3, "no change is lost");
         }},
        {{.name = "ledger: one changes, one reads"},
         [](Run& run) {
             Book<Ledger> book;
             run.thread("changer", [&] {
                 std::uint32_t scratch = 1;
                 for (int i = 0; i < 3; ++i)
                     book.add(scratch);
             });
             run.thread("reader", [&] {
                 const std::uint64_t first = book.read();
                 check(book.read() >= first, "never back");
             });
             run.join();
             check(book.read() == 3, "no change is lost");
         }},
        {{.name = "ledger: change, then ask who waits"},
         [](Run& run) {
             Book<Ledger> book;
             sync::atomic<bool> waiting{false};
             sync::atomic<std::uint32_t> told{0};
             run.thread("changer", [&] {
                 std::uint32_t scratch = 1;
                 book.add(scratch);
                 if (waiting.load()) {
                     told.store(1);
                     sync::wake_one(told);
                 }
             });
             run.thread("waiter", [&] {
                 waiting.store(true);
                 while (book.read() == 0 && told.load() == 0)
                     sync::wait(told, 0);
             });
             run.join();
         }},
        {{.name = "ledger: one who changes stands"},
         [](Run& run) {
             Book<Ledger> book;
             run.thread_that_stands("one", choose(16), [&] {
                 std::uint32_t scratch = 1;
                 book.add(scratch);
             });
             run.thread("two", [&] {
                 std::uint32_t scratch = 2;
                 book.add(scratch);
                 book.add(scratch);
                 check(book.read() >= 2, "its changes are there");
             });
             run.join();
             check(book.read() == 3, "no change is lost");
         }},
    };
}

struct NoTag : sync::LedgerRules {
    static constexpr std::uint64_t tag_step = 0;
};
struct TrustsFirstLook : sync::LedgerRules {
    static constexpr bool look_again = false;
};

}  // namespace

TEST_CASE("control: ledger") {
    must_hold(scenarios<sync::Ledger>(), {"ledger.hpp"});
}

TEST_CASE("control mutants: ledger") {
    must_die("NoTag", "tag_step = 0", scenarios<sync::BasicLedger<NoTag>>());
    must_die("TrustsFirstLook", "look_again = false", scenarios<sync::BasicLedger<TrustsFirstLook>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Ledger>());
#include "control/mutants_ledger.inc"
}

}  // namespace sluice::control
