#include "episode.hpp"

#include "memory.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice::soak {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

std::size_t index_of(Part part) {
    return static_cast<std::size_t>(part);
}

}  // namespace

Episode::Episode(const Plan& plan, Lasting& lasting)
    : plan_(plan),
      lasting_(lasting),
      scene_{plan, lasting.findings, lasting.faults, {}},
      executor_(scene_, lasting.books[index_of(Part::executor)], lasting.resources[index_of(Part::executor)]),
      pool_(scene_, lasting.books[index_of(Part::pool)], lasting.resources[index_of(Part::pool)]),
      gate_(scene_, lasting.books[index_of(Part::gate)], lasting.resources[index_of(Part::gate)]) {
    scene_.executor = &executor_;
    scene_.pool = &pool_;
    scene_.gate = &gate_;
    for (unsigned i = 0; i < plan.load.submitters; ++i)
        submitters_.push_back({test::Random(plan.seed ^ plan.number, i + 1), {}, {}, {}});
}

void Episode::run() {
    for (Book& book : lasting_.books)
        book.clear();
    now("starts its parts");
    executor_.start();
    pool_.start();
    gate_.start();
    {
        std::vector<std::jthread> threads;
        at_work_ = plan_.load.submitters;
        for (Submitter& submitter : submitters_)
            threads.emplace_back([this, &submitter] { submit(submitter); });
        now("is under load");
        conduct();
        now("waits for its submitters");
    }
    end();
    now("audits");
    executor_.audit();
    pool_.audit();
    gate_.audit();
    plant();
    now("waits for its memory");
    check_memory();
}

void Episode::submit(Submitter& submitter) {
    const Load& load = plan_.load;
    test::Random& random = submitter.random;
    while (!over_.load()) {
        const std::uint64_t which = random.below(load.executor_share + load.pool_share + load.gate_share);
        if (which < load.executor_share)
            executor_.submit(submitter.jobs, random);
        else if (which < load.executor_share + load.pool_share)
            pool_.submit(submitter.items, random);
        else
            gate_.submit(submitter.turns, random);
        executor_.settle(submitter.jobs, random, false);
        pool_.settle(submitter.items, random, false);
        gate_.settle(submitter.turns, random, false);
        if (Scene::happens(random, load.rest))
            std::this_thread::sleep_for(50us);
    }
    at_work_.fetch_sub(1);
}

// The plan's time, then until all submitters have left: one may wait for a turn, and the gate's time goes by here alone.
void Episode::conduct() {
    const auto begin = steady_clock::now();
    auto next = plan_.events.begin();
    while (at_work_.load() != 0) {
        const auto passed = steady_clock::now() - begin;
        if (passed >= plan_.duration)
            over_.store(true);
        while (next != plan_.events.end() && next->at <= passed)
            disturb(*next++);
        gate_.tick();
        sample();
        do {
            std::this_thread::sleep_for(300us);
        } while (lasting_.canary == Canary::hang);
    }
}

void Episode::disturb(const Event& event) {
    switch (event.fault) {
        case Fault::stop_of_all:
            lasting_.faults.count(event.fault);
            scene_.stops.request();
            break;
        case Fault::actor_removed:
            executor_.disturb(event);
            break;
        case Fault::call_cancelled:
        case Fault::group_cancelled:
        case Fault::queue_cancelled:
            pool_.disturb(event);
            break;
        case Fault::allocation_fails:
        case Fault::early_shutdown:
            if (event.choice % part_count == index_of(Part::executor))
                executor_.disturb(event);
            else if (event.choice % part_count == index_of(Part::pool))
                pool_.disturb(event);
            else
                gate_.disturb(event);
            break;
        default:
            gate_.disturb(event);
    }
}

void Episode::sample() {
    executor_.sample();
    pool_.sample();
    gate_.sample();
    lasting_.samples.fetch_add(1);
}

// A part that goes without a shutdown is the last: while its jobs run all the others are there, though they take no more.
void Episode::end() {
    for (test::CountingResource& resource : lasting_.resources)
        resource.fail_nth(0);
    const auto abrupt = [](End how) { return how == End::destructor || how == End::own_job; };
    std::array<Part, part_count> order{Part::executor, Part::pool, Part::gate};
    const std::size_t first = abrupt(plan_.executor_end) ? 1
                              : abrupt(plan_.pool_end)   ? 2
                                                         : plan_.number % part_count;
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(first));
    for (const Part part : order) {
        if (part == Part::executor) {
            now("ends the executor");
            executor_.end();
        } else if (part == Part::pool) {
            now("ends the pool");
            pool_.end();
        } else {
            now("ends the gate");
            gate_.end();
        }
    }
    now("looks at its handles");
    if (!plan_.settles_late)
        settle_all();
    executor_.destroy();
    pool_.destroy();
    gate_.destroy();
    settle_all();
}

void Episode::settle_all() {
    for (Submitter& submitter : submitters_) {
        executor_.settle(submitter.jobs, submitter.random, true);
        pool_.settle(submitter.items, submitter.random, true);
        gate_.settle(submitter.turns, submitter.random, true);
    }
}

// Who ends on a thread of its own gives the last block back a little later.
void Episode::check_memory() {
    for (std::size_t part = 0; part < part_count; ++part) {
        const test::CountingResource& resource = lasting_.resources[part];
        const auto patience = steady_clock::now() + 10s;
        while (resource.blocks_in_use() != 0 && steady_clock::now() < patience)
            std::this_thread::yield();
        lasting_.findings.expect(resource.blocks_in_use() == 0 && resource.bytes_in_use() == 0, [&] {
            return "part " + std::to_string(part) + " left " + std::to_string(resource.blocks_in_use()) +
                   " blocks, " + std::to_string(resource.bytes_in_use()) + " bytes";
        });
    }
}

void Episode::plant() {
    if (lasting_.canary == Canary::leak)
        static_cast<void>(lasting_.resources[0].allocate(64));
    if (lasting_.canary ==
        Canary::grow)  // touched, so that it is resident; a few episodes of a slow build have to show it
        lasting_.kept.emplace_back(MemoryWatch::resident_bound() / 2, static_cast<char>(plan_.number));
}

std::string Episode::state() const {
    return std::string("it ") + phase_.load() + "\n  executor: " + executor_.state() +
           "\n  pool: " + pool_.state() + "\n  gate: " + gate_.state() + '\n';
}

}  // namespace sluice::soak
