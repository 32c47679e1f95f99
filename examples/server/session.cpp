#include "session.hpp"

#include <asio/buffer.hpp>
#include <asio/read_until.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <string>
#include <utility>
#include <variant>

#include <sluice/asio.hpp>

namespace server {

namespace {

using asio::use_awaitable;
using sluice::async_wait;

// Each waits for its job without holding a thread, and goes on on the connection's own thread.

asio::awaitable<std::string> answer(Documents& documents, const Set& request) {
    const auto writes = co_await async_wait(documents.set(request), use_awaitable);
    co_return writes ? "ok " + std::to_string(*writes) : error_line(writes.error());
}

asio::awaitable<std::string> answer(Documents& documents, const Get& request) {
    const auto found = co_await async_wait(documents.get(request), use_awaitable);
    if (!found)
        co_return found.error() == sluice::ErrorCode::actor_not_registered ? "none"
                                                                           : error_line(found.error());
    if (!*found)
        co_return "none";
    co_return "value " + std::to_string((*found)->writes) + ' ' + (*found)->value;
}

asio::awaitable<std::string> answer(Documents& documents, const Scan& request) {
    const auto outcome = co_await async_wait(documents.scan(request), use_awaitable);
    if (outcome.result)
        co_return **outcome.result;
    co_return outcome.result.error() == sluice::ErrorCode::actor_not_registered
        ? "found 0"
        : error_line(outcome.result.error());
}

}  // namespace

asio::awaitable<void> Sessions::serve(asio::ip::tcp::socket socket, Documents& documents) {
    sockets_.insert(&socket);
    try {
        co_await talk(socket, documents);
    } catch (const std::exception&) {
        // Out of memory, or the like: this connection ends, no other.
    }
    sockets_.erase(&socket);
}

asio::awaitable<void> Sessions::talk(asio::ip::tcp::socket& socket, Documents& documents) {
    std::string received;
    std::error_code error;
    while (!stopping_) {
        const std::size_t length =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(received, longest_line), '\n',
                                            asio::redirect_error(use_awaitable, error));
        if (error)
            co_return;  // the client has gone, or its line is too long
        Request request = parse(std::string_view(received).substr(0, length));
        received.erase(0, length);
        if (std::holds_alternative<Quit>(request))
            co_return;

        std::string reply = co_await answer_in_turn(documents, std::move(request));
        reply += '\n';
        co_await asio::async_write(socket, asio::buffer(reply), asio::redirect_error(use_awaitable, error));
        if (error)
            co_return;
    }
}

// The turn is held until the answer is there, and not while the client takes it: a slow one is in nobody's way. Who gets no
// turn (the line is full, it took too long, the server ends) has had nothing done.
asio::awaitable<std::string> Sessions::answer_in_turn(Documents& documents, Request request) {
    if (std::holds_alternative<Malformed>(request))
        co_return "error malformed set DOCUMENT KEY VALUE | get DOCUMENT KEY | scan DOCUMENT PREFIX | quit";
    const sluice::Result<sluice::TurnTicket> turn = co_await sluice::async_turn(gate_, {}, use_awaitable);
    if (!turn)
        co_return error_line(turn.error());
    if (const auto* set = std::get_if<Set>(&request))
        co_return co_await answer(documents, *set);
    if (const auto* get = std::get_if<Get>(&request))
        co_return co_await answer(documents, *get);
    co_return co_await answer(documents, std::get<Scan>(request));
}

void Sessions::stop() {
    stopping_ = true;
    std::error_code ignored;
    for (asio::ip::tcp::socket* socket : sockets_)
        socket->shutdown(asio::ip::tcp::socket::shutdown_receive,
                         ignored);  // a pending read ends; a write goes on
}

void Sessions::cut() {
    std::error_code ignored;
    for (asio::ip::tcp::socket* socket : sockets_)
        socket->close(ignored);
}

}  // namespace server
