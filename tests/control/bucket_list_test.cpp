// Goal: of equal nodes one at most is in the list, no node is freed while somebody can reach it, and none stays behind.
// Method: threads that insert, find and remove one key. Freeing writes the plain key, so whoever still reads it is in a race.
#include "sync/bucket_list.hpp"

#include "control/harness.hpp"
#include "control/mutants_bucket_list.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

struct alignas(8) Node {
    plain<int> key{0};
    sync::atomic<std::uintptr_t> link{0};
    plain<Node*> next_retired{nullptr};
    sync::atomic<int> freed{0};
};

template <class List>
struct Table {
    List list;
    std::array<Node, 3> nodes;
    sync::atomic<int> owners{0};

    static bool is_one(const Node& node) {
        return node.key == 1;
    }
    void free_node(Node& node) {
        node.key = 99;
        check(node.freed.fetch_add(1, sync::memory_order_relaxed) == 0, "freed once");
    }
    void leave() {
        list.leave([this](Node& node) { free_node(node); });
    }
    /// True: it is in.
    bool insert(Node& node) {
        node.key = 1;
        if (list.insert(node, is_one) != nullptr) {
            node.freed.store(1, sync::memory_order_relaxed);  // never was in
            return false;
        }
        check(owners.fetch_add(1) == 0, "of equals one at most");
        return true;
    }
    void remove(Node& node) {
        owners.fetch_sub(1);
        check(list.remove(node), "nobody else removes it");
    }
    void come_and_go(std::size_t i) {
        list.visit();
        if (insert(nodes[i]))
            remove(nodes[i]);
        leave();
    }
    void look() {
        list.visit();
        if (const Node* const found = list.find(is_one))
            check(found->key == 1, "not freed while it is looked at");
        leave();
    }
    void all_freed(std::size_t count) {
        check(list.seems_empty(), "nothing is in the list");
        for (std::size_t i = 0; i < count; ++i)
            check(nodes[i].freed.load() == 1, "none stays behind");
    }
};

template <class List>
Scenarios scenarios() {
    return {
        {{.name = "bucket_list: two equal ones come and go"},
         [](Run& run) {
             Table<List> table;
             run.thread("one", [&] { table.come_and_go(0); });
             run.thread("two", [&] { table.come_and_go(1); });
             run.join();
             table.all_freed(2);
         }},
        {{.name = "bucket_list: one goes while another looks"},
         [](Run& run) {
             Table<List> table;
             run.thread("owner", [&] { table.come_and_go(0); });
             run.thread("finder", [&] { table.look(); });
             run.join();
             table.all_freed(1);
         }},
        {{.name = "bucket_list: two removed, and a visitor"},
         [](Run& run) {
             Table<List> table;
             table.list.visit();
             static_cast<void>(table.insert(table.nodes[0]));
             table.leave();
             run.thread("remover", [&] {
                 table.list.visit();
                 table.remove(table.nodes[0]);
                 table.leave();
             });
             run.thread("next", [&] { table.come_and_go(1); });
             run.thread("finder", [&] { table.look(); });
             run.join();
             table.all_freed(2);
         }},
        {{.name = "bucket_list: one stands, others come, look and go"},
         [](Run& run) {
             Table<List> table;
             run.thread_that_stands("one", choose(24), [&] { table.come_and_go(0); });
             run.thread("two", [&] {
                 table.come_and_go(1);
                 table.look();
             });
             run.join();
             table.all_freed(2);
         }},
    };
}

struct FreesTooEarly : sync::BucketListRules {
    static constexpr bool waits_for_visitors = false;
};
struct LooksNoMore : sync::BucketListRules {
    static constexpr bool looks_again = false;
};
struct LetsEqualsIn : sync::BucketListRules {
    static constexpr bool keeps_equals_out = false;
};

}  // namespace

TEST_CASE("control: bucket_list") {
    must_hold(scenarios<sync::BucketList<Node>>(), {"bucket_list.hpp"});
}

TEST_CASE("control mutants: bucket_list") {
    must_die("FreesTooEarly", "waits_for_visitors = false",
             scenarios<sync::BucketList<Node, FreesTooEarly>>());
    must_die("LooksNoMore", "looks_again = false", scenarios<sync::BucketList<Node, LooksNoMore>>());
    must_die("LetsEqualsIn", "keeps_equals_out = false", scenarios<sync::BucketList<Node, LetsEqualsIn>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::BucketList<Node>>());
#include "control/mutants_bucket_list.inc"
}

}  // namespace sluice::control
