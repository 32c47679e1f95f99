// Goal: futures, and results that throw when they are moved: what a job ended with reaches whoever asked (E16 E19).
// Method: jobs that give values, nothing, exceptions and refusals.
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "executor/coroutine.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Exceptions that came out of futures, until the executor has ended: libstdc++ counts their references where
/// ThreadSanitizer does not see it, so this thread must be the last to let go.
class Kept {
public:
    template <class T>
    [[nodiscard]] std::string what_of(std::future<T>& future) {
        try {
            static_cast<void>(future.get());
        } catch (const std::exception& exception) {
            kept_.push_back(std::current_exception());
            return exception.what();
        }
        return "nothing";
    }

private:
    std::vector<std::exception_ptr> kept_;
};

}  // namespace

TEST_CASE("E16 E19 a result that throws when it is moved still reaches its callback, and its future") {
    under_both_policies({2}, [](const Config& config) {
        Kept kept;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const JobOptions named{.request_id = "r1"};
        std::promise<Error> told;
        actor.read(named, [](const int&) { return MoveThrows(); })
            .then(
                [&](const Result<MoveThrows>& result) { told.set_value(result ? Error() : result.error()); });
        const Error error = told.get_future().get();
        CHECK(error == ErrorCode::job_threw);
        CHECK(error.actor() == "a");
        CHECK(error.request_id() == "r1");
        CHECK_THROWS_WITH_AS(std::rethrow_exception(error.exception()), "moved", std::runtime_error);
        auto future = to_future(actor.read([](const int&) { return MoveThrows(); }));
        CHECK(kept.what_of(future) == "moved");
        CHECK(executor.snapshot().callbacks_threw == 0);
    });
}

TEST_CASE("E19 futures: values, nothing, what the job threw, and an Exception for every other error") {
    under_both_policies({2}, [](const Config& config) {
        Kept kept;
        Executor executor(config);
        auto actor = executor.add_actor("a", 5);
        CHECK(to_future(actor.read([](const int& n) { return n; })).get() == 5);
        CHECK(*to_future(actor.read([](const int& n) { return std::make_unique<int>(n); })).get() == 5);
        to_future(actor.mutate([](int& n) { ++n; })).get();
        auto threw = to_future(actor.read([](const int&) -> int { throw std::out_of_range("far"); }));
        CHECK(kept.what_of(threw) == "far");
        executor.remove_actor("a");
        auto refused = to_future(actor.read([](const int& n) { return n; }));
        try {
            refused.get();
            FAIL("a refusal is an exception");
        } catch (const Exception& exception) {
            CHECK(exception.error() == ErrorCode::actor_not_registered);
        }
    });
}
