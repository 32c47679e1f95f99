// A server for documents: Asio for the connections, Sluice for the state. Read protocol.hpp, documents.hpp, session.cpp, and
// then this file: the start, and the end on SIGTERM.
//
//   example-server [PORT [DUMP-FILE [IN-FLIGHT [IN-LINE]]]]
//
// PORT 0, the default, chooses one; the first line of output names it. IN-FLIGHT requests are worked on at a time (default 64),
// IN-LINE more wait for their turn (default 1024), and who comes then is refused.
//
// One thread runs all connections, each a coroutine, and the gate's timers; the executor's workers run the requests. No thread
// waits for a request.

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <utility>

#include <sluice/asio.hpp>

#include "documents.hpp"
#include "session.hpp"

namespace {

using asio::use_awaitable;
using asio::ip::tcp;

/// How long clients have, at the end, to take their answers.
constexpr std::chrono::seconds grace{2};
/// Connections at a time; further ones wait in the system's queue.
constexpr std::size_t most_connections = 4'096;

asio::awaitable<void> accept(tcp::acceptor& acceptor, server::Sessions& sessions,
                             server::Documents& documents) {
    asio::steady_timer pause(acceptor.get_executor());
    std::error_code error;
    while (acceptor.is_open()) {
        tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
        if (!error) {
            asio::co_spawn(acceptor.get_executor(), sessions.serve(std::move(socket), documents),
                           asio::detached);
        }
        while (acceptor.is_open() && (error || sessions.open() >= most_connections)) {
            error.clear();  // no descriptor left, most likely: some will be given back
            pause.expires_after(std::chrono::milliseconds(10));
            co_await pause.async_wait(use_awaitable);
        }
    }
}

// The end, in steps. 1. No more connections, no more requests. 2. What was asked is answered, as each connection's coroutine
// goes on to its end. 3. Clients that do not take their answers are cut off, and who still waits for a turn is refused. Then
// io_context::run() has nothing to do.
asio::awaitable<void> end_on_signal(tcp::acceptor& acceptor, server::Sessions& sessions,
                                    sluice::TurnGate& gate) {
    asio::signal_set signals(acceptor.get_executor(), SIGTERM, SIGINT);
    co_await signals.async_wait(use_awaitable);
    acceptor.close();
    sessions.stop();
    asio::steady_timer timer(acceptor.get_executor());
    for (const auto last = std::chrono::steady_clock::now() + grace;
         sessions.open() != 0 && std::chrono::steady_clock::now() < last;) {
        timer.expires_after(std::chrono::milliseconds(10));
        co_await timer.async_wait(use_awaitable);
    }
    sessions.cut();
    gate.shutdown();
}

}  // namespace

int main(int count, char** arguments) try {
    const auto number = [&](int place, long otherwise) {
        return count > place ? std::strtol(arguments[place], nullptr, 10) : otherwise;
    };
    const auto port = static_cast<std::uint16_t>(number(1, 0));
    asio::io_context context(1);
    server::Documents documents(sluice::Config{});  // before the connections, that use it until they end
    sluice::AsioClock clock(context.get_executor());
    sluice::TurnGate gate({.max_concurrent_turns = number(3, 64),
                           .max_queue_length = number(4, 1'024),
                           .max_queue_wait = std::chrono::seconds(5),
                           .clock = &clock});
    server::Sessions sessions(gate);
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), port));
    std::printf("listening on %u\n", static_cast<unsigned>(acceptor.local_endpoint().port()));
    std::fflush(stdout);
    asio::co_spawn(context, accept(acceptor, sessions, documents), asio::detached);
    asio::co_spawn(context, end_on_signal(acceptor, sessions, gate), asio::detached);
    context.run();

    documents.drain();  // nobody asks any more; this is for what a connection that was cut off had under way
    if (count > 2) {
        std::ofstream dump(arguments[2]);
        documents.dump(dump);
        if (!dump.flush())
            throw std::runtime_error("the dump could not be written");
    }
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::fprintf(stderr, "example-server: %s\n", error.what());
    return EXIT_FAILURE;
}
