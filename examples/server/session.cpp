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

asio::awaitable<std::string> answer(Documents& /*documents*/, const Malformed& /*request*/) {
    co_return "error malformed set DOCUMENT KEY VALUE | get DOCUMENT KEY | scan DOCUMENT PREFIX | quit";
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
        const Request request = parse(std::string_view(received).substr(0, length));
        received.erase(0, length);
        if (std::holds_alternative<Quit>(request))
            co_return;

        // A turn gate in front goes here: wait for a turn, hold it until the answer is there.
        std::string reply;
        if (const auto* set = std::get_if<Set>(&request))
            reply = co_await answer(documents, *set);
        else if (const auto* get = std::get_if<Get>(&request))
            reply = co_await answer(documents, *get);
        else if (const auto* scan = std::get_if<Scan>(&request))
            reply = co_await answer(documents, *scan);
        else
            reply = co_await answer(documents, Malformed{});

        reply += '\n';
        co_await asio::async_write(socket, asio::buffer(reply), asio::redirect_error(use_awaitable, error));
        if (error)
            co_return;
    }
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
