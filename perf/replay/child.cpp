#include "replay/child.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace perf::replay {
namespace {

using Bytes = std::array<char, sizeof(RunFigures)>;
static_assert(std::is_trivially_copyable_v<RunFigures>,
              "goes through a pipe; below PIPE_BUF, so in one piece");
static_assert(sizeof(RunFigures) <= 512);

std::string failure(const char* what) {
    return fmt::format("{}: {}", what, std::generic_category().message(errno));
}

[[noreturn]] void be_child(const std::function<RunFigures()>& run, int out) {
    // _exit in every case: what the parent has to destroy and to flush is the parent's.
    try {
        const RunFigures figures = run();
        const bool sent = write(out, &figures, sizeof figures) == static_cast<ssize_t>(sizeof figures);
        _exit(sent ? 0 : 1);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        std::fflush(stderr);
        _exit(1);
    }
}

std::string ending(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return failure("waitpid");
    }
    return WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                               : fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

// False: interrupted, or the other end was closed first.
bool receive(int in, Bytes& bytes, const std::atomic<bool>& interrupted) {
    constexpr int look_ms = 100;
    std::size_t got = 0;
    while (got < bytes.size() && !interrupted.load(std::memory_order_relaxed)) {
        pollfd ready{.fd = in, .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, look_ms) <= 0)
            continue;
        const ssize_t more = read(in, bytes.data() + got, bytes.size() - got);
        if (more == 0)
            return false;
        got += more > 0 ? static_cast<std::size_t>(more) : 0;
    }
    return got == bytes.size();
}

}  // namespace

std::expected<RunFigures, std::string> in_child(const std::function<RunFigures()>& run,
                                                const std::atomic<bool>& interrupted) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0)
        return std::unexpected(failure("pipe"));
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(run, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        std::string text = failure("fork");
        close(ends[0]);
        return std::unexpected(std::move(text));
    }
    Bytes bytes{};
    const bool received = receive(ends[0], bytes, interrupted);
    close(ends[0]);
    if (!received && interrupted.load(std::memory_order_relaxed))
        kill(child, SIGKILL);
    std::string how = ending(child);
    if (!received)
        return std::unexpected(std::move(how));
    return std::bit_cast<RunFigures>(bytes);
}

}  // namespace perf::replay
