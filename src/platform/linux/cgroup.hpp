#pragma once

// The CPU quota that control groups put on this process. Version 2 has one tree and a file `cpu.max`; version
// 1 has a tree for each controller and two files, `cpu.cfs_quota_us` and `cpu.cfs_period_us`. Both may be
// mounted at once, in any place; each group on the way up to the root of a tree may have a quota, and all of
// them hold.
//
// The functions that take text are pure; what cannot be parsed is as if it were not there.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::platform::cgroup {

/// Content of a `cpu.max`: "max 100000" is no limit, "150000 100000" is 2 CPUs (rounded up, at least 1).
[[nodiscard]] std::optional<unsigned> limit_of_v2(std::string_view cpu_max) noexcept;

/// Contents of the two files of version 1; a quota of -1 is no limit.
[[nodiscard]] std::optional<unsigned> limit_of_v1(std::string_view quota, std::string_view period) noexcept;

/// Where this process is in its tree, and where that tree can be seen.
struct Membership {
    std::string group;  ///< Path in the tree, such as "/system.slice/x.service".
    bool is_v2 = false;

    friend bool operator==(const Membership&, const Membership&) = default;
};

/// Of /proc/self/cgroup, the lines that concern CPU time: version 2, and version 1 with the controller `cpu`.
[[nodiscard]] std::vector<Membership> memberships(std::string_view proc_self_cgroup);

struct Mount {
    std::string point;  ///< Folder where it is mounted.
    std::string root;   ///< What part of the tree is mounted there: "/", or a group in a container.
    bool is_v2 = false;

    friend bool operator==(const Mount&, const Mount&) = default;
};

/// Of /proc/self/mountinfo, the mounted trees that concern CPU time.
[[nodiscard]] std::vector<Mount> mounts(std::string_view proc_self_mountinfo);

/// The folders of a group and its ancestors as seen through a mount, innermost first, the mount point last. A
/// group outside of what is mounted can only be seen as the mount point itself.
[[nodiscard]] std::vector<std::string> folders(const Membership& membership, const Mount& mount);

/// The tightest limit on this process, 0 if there is none. `root` is put before all paths, so that a test can
/// bring a tree of files; empty for the real one.
[[nodiscard]] unsigned cpu_limit(const std::string& root) noexcept;

}  // namespace sluice::platform::cgroup
