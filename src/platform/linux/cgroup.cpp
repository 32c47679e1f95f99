#include "platform/linux/cgroup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <span>
#include <system_error>
#include <unistd.h>

namespace sluice::platform::cgroup {
namespace {

std::string_view without_newline(std::string_view text) noexcept {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.remove_suffix(1);
    }
    return text;
}

// Cuts the part up to `separator` off the front of `text`, and the separator with it.
std::string_view take_until(std::string_view& text, char separator) noexcept {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::optional<std::int64_t> number(std::string_view text) noexcept {
    std::int64_t value = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end || text.empty()) {
        return std::nullopt;
    }
    return value;
}

// A share of 1.5 CPUs is two threads that run three quarters of the time: rounded up. A kernel accepts no
// quota or period of zero, so one that is there is not a kernel's.
std::optional<unsigned> rounded_up(std::optional<std::int64_t> quota,
                                   std::optional<std::int64_t> period) noexcept {
    if (!quota || !period || *quota <= 0 || *period <= 0) {
        return std::nullopt;
    }
    const std::int64_t cpus = *quota / *period + (*quota % *period != 0 ? 1 : 0);
    return static_cast<unsigned>(std::min<std::int64_t>(cpus, std::numeric_limits<unsigned>::max()));
}

bool has_word(std::string_view comma_separated, std::string_view word) noexcept {
    while (!comma_separated.empty()) {
        if (take_until(comma_separated, ',') == word) {
            return true;
        }
    }
    return false;
}

// mountinfo writes blanks in paths as a backslash and three octal digits.
std::string unescaped(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned code = 0;
        if (text[i] == '\\' && i + 3 < text.size()) {
            const char* const digits = text.data() + i + 1;
            const auto [stop, error] = std::from_chars(digits, digits + 3, code, 8);
            if (error == std::errc() && stop == digits + 3 && code < 256) {
                plain.push_back(static_cast<char>(code));
                i += 3;
                continue;
            }
        }
        plain.push_back(text[i]);
    }
    return plain;
}

class OpenFile {
public:
    explicit OpenFile(const std::string& path) noexcept
        : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~OpenFile() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    // As read(): 0 at the end, below 0 on an error, such as a file that is not there.
    [[nodiscard]] ssize_t read(std::span<char> buffer) const noexcept {
        ssize_t length = -1;
        do {
            length = ::read(descriptor_, buffer.data(), buffer.size());
        } while (length < 0 && errno == EINTR);
        return length;
    }

private:
    const int descriptor_;
};

// Empty if there is no such file, or it cannot be read.
std::string contents(const std::string& path) {
    std::string text;
    const OpenFile file(path);
    constexpr std::size_t longest = std::size_t{4} << 20U;  // a mountinfo of ten thousand mounts is 2 MiB
    std::array<char, 4096> buffer{};
    ssize_t length = 0;
    while (text.size() < longest && (length = file.read(buffer)) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(length));
    }
    return text;
}

// Where a distribution mounts them, for a system that hides /proc/self/mountinfo.
std::vector<Mount> usual_mounts() {
    return {{"/sys/fs/cgroup", "/", true},
            {"/sys/fs/cgroup/unified", "/", true},
            {"/sys/fs/cgroup/cpu,cpuacct", "/", false},
            {"/sys/fs/cgroup/cpu", "/", false}};
}

std::optional<unsigned> limit_in(const std::string& folder, bool is_v2) {
    if (is_v2) {
        return limit_of_v2(contents(folder + "/cpu.max"));
    }
    return limit_of_v1(contents(folder + "/cpu.cfs_quota_us"), contents(folder + "/cpu.cfs_period_us"));
}

unsigned tightest_limit(const std::string& root) {
    const std::vector<Membership> own = memberships(contents(root + "/proc/self/cgroup"));
    std::vector<Mount> seen = mounts(contents(root + "/proc/self/mountinfo"));
    if (seen.empty()) {
        seen = usual_mounts();
    }
    unsigned tightest = 0;
    for (const Membership& membership : own) {
        for (const Mount& mount : seen) {
            if (membership.is_v2 != mount.is_v2) {
                continue;
            }
            for (const std::string& folder : folders(membership, mount)) {
                const std::optional<unsigned> limit = limit_in(root + folder, mount.is_v2);
                if (limit && (tightest == 0 || *limit < tightest)) {
                    tightest = *limit;
                }
            }
        }
    }
    return tightest;
}

}  // namespace

std::optional<unsigned> limit_of_v2(std::string_view cpu_max) noexcept {
    std::string_view rest = without_newline(cpu_max);
    const std::string_view quota = take_until(rest, ' ');
    return rounded_up(number(quota), number(rest));  // "max" is no number, and no limit
}

std::optional<unsigned> limit_of_v1(std::string_view quota, std::string_view period) noexcept {
    return rounded_up(number(without_newline(quota)), number(without_newline(period)));
}

// A line is "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
std::vector<Membership> memberships(std::string_view proc_self_cgroup) {
    std::vector<Membership> found;
    while (!proc_self_cgroup.empty()) {
        std::string_view line = take_until(proc_self_cgroup, '\n');
        const std::string_view hierarchy = take_until(line, ':');
        const std::string_view controllers = take_until(line, ':');
        if (!line.starts_with('/')) {
            continue;
        }
        const bool is_v2 = hierarchy == "0" && controllers.empty();
        if (is_v2 || has_word(controllers, "cpu")) {
            found.push_back({std::string(line), is_v2});
        }
    }
    return found;
}

// A line is "id parent device root point options [optional ...] - type source super-options".
std::vector<Mount> mounts(std::string_view proc_self_mountinfo) {
    std::vector<Mount> found;
    while (!proc_self_mountinfo.empty()) {
        std::string_view line = take_until(proc_self_mountinfo, '\n');
        for (int skipped = 0; skipped < 3; ++skipped) {
            take_until(line, ' ');
        }
        const std::string_view root = take_until(line, ' ');
        const std::string_view point = take_until(line, ' ');
        const std::size_t dash = line.find(" - ");
        if (dash == std::string_view::npos || !root.starts_with('/') || !point.starts_with('/')) {
            continue;
        }
        line.remove_prefix(dash + 3);
        const std::string_view type = take_until(line, ' ');
        take_until(line, ' ');
        if (type == "cgroup2" || (type == "cgroup" && has_word(line, "cpu"))) {
            found.push_back({unescaped(point), unescaped(root), type == "cgroup2"});
        }
    }
    return found;
}

std::vector<std::string> folders(const Membership& membership, const Mount& mount) {
    std::string_view below = membership.group;
    const std::string_view root = mount.root == "/" ? std::string_view() : std::string_view(mount.root);
    const bool inside = below.starts_with(root) && (below.size() == root.size() || below[root.size()] == '/');
    // A group above the root of its namespace is written with "..", and cannot be seen from here either.
    below = inside && below.find("/..") == std::string_view::npos ? below.substr(root.size())
                                                                  : std::string_view();
    std::vector<std::string> path;
    while (!below.empty() && below != "/") {
        path.push_back(mount.point + std::string(below));
        below = below.substr(0, below.rfind('/'));
    }
    path.push_back(mount.point);
    return path;
}

unsigned cpu_limit(const std::string& root) noexcept {
    try {
        return tightest_limit(root);
    } catch (const std::exception&) {
        return 0;  // no memory for the file names: then there is no limit that we know of
    }
}

}  // namespace sluice::platform::cgroup
