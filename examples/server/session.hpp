// One connection: a coroutine that reads a request, has it done, and answers it, until the client or the server ends it.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include <cstddef>
#include <set>
#include <string>

#include <sluice/turn_gate.hpp>

#include "documents.hpp"

namespace server {

/// The open connections, for the server's end. One thread's, that of the io_context.
class Sessions {
public:
    /// Each request waits for a turn of `gate`, and is answered with an error if it gets none.
    explicit Sessions(sluice::TurnGate& gate) : gate_(gate) {}

    /// Serves a connection until its end.
    [[nodiscard]] asio::awaitable<void> serve(asio::ip::tcp::socket socket, Documents& documents);

    /// No more requests are read; those under way are answered, then the connections end.
    void stop();
    /// Ends those whose clients do not take their answers.
    void cut();
    [[nodiscard]] std::size_t open() const noexcept {
        return sockets_.size();
    }

private:
    [[nodiscard]] asio::awaitable<void> talk(asio::ip::tcp::socket& socket, Documents& documents);

    [[nodiscard]] asio::awaitable<std::string> answer_in_turn(Documents& documents, Request request);

    sluice::TurnGate& gate_;
    std::set<asio::ip::tcp::socket*> sockets_;
    bool stopping_ = false;
};

}  // namespace server
