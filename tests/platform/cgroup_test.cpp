// Goal: E1, the CPU quota of control groups, of both versions, nested and mounted anywhere; nonsense is no
// limit.
// Method: the pure parts on text, then whole trees of files in a temporary folder.
#include "platform/linux/cgroup.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::platform::cgroup {

namespace {

// A tree of files that is gone at the end of the test.
class FakeRoot {
public:
    FakeRoot() {
        std::string pattern = (std::filesystem::temp_directory_path() / "sluice-cgroup-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~FakeRoot() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;

    FakeRoot& with(std::string_view file, std::string_view content) {
        const std::filesystem::path path = path_ / std::filesystem::path(file).relative_path();
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << content;
        return *this;
    }
    [[nodiscard]] unsigned limit() const {
        return cpu_limit(path_.string());
    }

private:
    std::filesystem::path path_;
};

constexpr std::string_view v2_mount = "30 22 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
constexpr std::string_view v1_mount =
    "31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace

TEST_CASE("E1: a quota is rounded up to whole CPUs, and at least one") {
    CHECK(limit_of_v2("150000 100000\n") == 2U);
    CHECK(limit_of_v2("200000 100000\n") == 2U);
    CHECK(limit_of_v2("200001 100000") == 3U);
    CHECK(limit_of_v2("1000 100000\n") == 1U);
    CHECK(limit_of_v2("max 100000\n") == std::nullopt);
    CHECK(limit_of_v2("9223372036854775807 1\n") == 4'294'967'295U);
    CHECK(limit_of_v1("50000\n", "100000\n") == 1U);
    CHECK(limit_of_v1("250000\n", "100000\n") == 3U);
    CHECK(limit_of_v1("-1\n", "100000\n") == std::nullopt);
}

TEST_CASE("E1: what is not a quota is no limit") {
    for (const std::string_view text :
         {"", "\n", " ", "100000", "100000 ", "x 100000", "1e5 100000", "100000 100000 7", "0 100000",
          "-5 100000", "100000 0", "100000 -1", "99999999999999999999 1", "+1 1", "max", "max max", "1\n1"}) {
        CAPTURE(text);
        CHECK(limit_of_v2(text) == std::nullopt);
        CHECK(limit_of_v1(text, "100000") ==
              (text == "100000" || text == "100000 " ? std::optional(1U) : std::nullopt));
    }
    CHECK(limit_of_v1("100000", "") == std::nullopt);
    CHECK(limit_of_v1("100000", "0") == std::nullopt);
}

TEST_CASE("E1: the groups that concern CPU time") {
    const auto found = memberships(
        "9:name=systemd:/\n5:devices:/d\n3:cpuset:/s\n2:cpu,cpuacct:/a/b\n1:cpuacct:/c\n0::/"
        "u:v\n7:cpu\nnonsense\n\n4:cpu:x");
    REQUIRE(found.size() == 2);
    CHECK(found[0] == Membership{"/a/b", false});
    CHECK(found[1] == Membership{"/u:v", true});
    CHECK(memberships("").empty());
}

TEST_CASE("E1: the mounts that concern CPU time") {
    const auto found = mounts(
        "22 1 0:21 / /sys rw - sysfs sysfs rw\n"
        "31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:3 master:1 - cgroup cgroup rw,cpu\n"
        "32 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "40 30 0:37 /docker/a\\040b /mnt/c\\134d\\04 rw - cgroup2 none rw\n"
        "41 30 0:37 / relative rw - cgroup2 none rw\n"
        "42 30 0:37 / /no/dash rw cgroup2 none rw\n"
        "43 30\n\n");
    REQUIRE(found.size() == 2);
    CHECK(found[0] == Mount{"/sys/fs/cgroup/cpu", "/", false});
    CHECK(found[1] == Mount{"/mnt/c\\d\\04", "/docker/a b", true});
    CHECK(mounts("").empty());
}

TEST_CASE("E1: a group is looked up below what is mounted, with all its ancestors") {
    using Folders = std::vector<std::string>;
    const Mount whole{"/cg", "/", true};
    CHECK(folders({"/a/b", true}, whole) == Folders{"/cg/a/b", "/cg/a", "/cg"});
    CHECK(folders({"/", true}, whole) == Folders{"/cg"});
    const Mount container{"/cg", "/docker/x", true};
    CHECK(folders({"/docker/x/in", true}, container) == Folders{"/cg/in", "/cg"});
    CHECK(folders({"/docker/x", true}, container) == Folders{"/cg"});
    CHECK(folders({"/docker/xy", true}, container) == Folders{"/cg"});
    CHECK(folders({"/elsewhere", true}, container) == Folders{"/cg"});
    CHECK(folders({"/../up", true}, whole) == Folders{"/cg"});
}

TEST_CASE("E1: version 2, nested: the tightest quota on the way up holds") {
    FakeRoot root;
    root.with("/proc/self/cgroup", "0::/slice/service\n").with("/proc/self/mountinfo", v2_mount);
    CHECK(root.limit() == 0);
    root.with("/sys/fs/cgroup/slice/service/cpu.max", "max 100000\n");
    CHECK(root.limit() == 0);
    root.with("/sys/fs/cgroup/slice/cpu.max", "300000 100000\n");
    CHECK(root.limit() == 3);
    root.with("/sys/fs/cgroup/slice/service/cpu.max", "800000 100000\n");
    CHECK(root.limit() == 3);
    root.with("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    CHECK(root.limit() == 2);
    root.with("/sys/fs/cgroup/slice/service/cpu.max", "10000 100000\n");
    CHECK(root.limit() == 1);
    root.with("/sys/fs/cgroup/slice/other/cpu.max", "1 1\n");
    root.with("/sys/fs/cgroup/slice/service/cpu.max", "garbage\n");
    CHECK(root.limit() == 2);
}

TEST_CASE("E1: version 1, nested, mounted with cpuacct") {
    FakeRoot root;
    root.with("/proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/a/b\n")
        .with("/proc/self/mountinfo", v1_mount);
    root.with("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    root.with("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    CHECK(root.limit() == 0);
    root.with("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "350000\n");
    CHECK(root.limit() == 0);  // no period beside it
    root.with("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    CHECK(root.limit() == 4);
}

TEST_CASE("E1: both versions at once, and a container that sees its own group as the root") {
    FakeRoot root;
    root.with("/proc/self/cgroup", "1:cpu:/docker/x\n0::/\n");
    root.with("/proc/self/mountinfo",
              "1 2 0:1 /docker/x /cpu rw - cgroup cgroup rw,cpu\n3 4 0:2 / /unified rw - cgroup2 none rw\n");
    root.with("/cpu/cpu.cfs_quota_us", "400000\n").with("/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(root.limit() == 4);
    root.with("/unified/cpu.max", "200000 100000\n");
    CHECK(root.limit() == 2);
}

TEST_CASE("E1: without a list of mounts the usual places are tried") {
    FakeRoot root;
    root.with("/proc/self/cgroup", "2:cpu:/a\n0::/b\n");
    CHECK(root.limit() == 0);
    root.with("/sys/fs/cgroup/b/cpu.max", "500000 100000\n");
    CHECK(root.limit() == 5);
    root.with("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
    root.with("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    CHECK(root.limit() == 3);
}

TEST_CASE("E1: no files at all is no limit") {
    const FakeRoot root;
    CHECK(root.limit() == 0);
    CHECK(cpu_limit("/nowhere/at/all") == 0);
}

}  // namespace sluice::platform::cgroup
