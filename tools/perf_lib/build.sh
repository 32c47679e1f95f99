# shellcheck shell=bash
# Shared by tools/perf and tools/perf-compare. Sourced, never run.
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Peers and valgrind make the figures richer; without them there are fewer.
offer_packages() {
    local purpose=$1 package missing=()
    command -v dpkg-query >/dev/null || return 0
    while read -r package; do
        package_is_installed "$package" || missing+=("$package")
    done < <(packages_for "$purpose")
    ((${#missing[@]} == 0)) || say "Not installed, so their figures are left out: ${missing[*]}" >&2
}

# build_perf <tree>: the programs of perf/ that the tools run, in <tree>/build/perf/perf.
build_perf() {
    local tree=$1
    # What is the same in two trees is compiled once.
    export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
    (
        cd "$tree"
        # The main job, the tests and the examples are not wanted, and neither is what only they need.
        configure build/perf --buildtype=release -Dtests=disabled -Dtools=disabled -Dexamples=disabled \
            -Dbenchmarks=enabled >&2 ||
            fail "$exit_failed" "configuring failed; $tree/build/perf/meson-logs/meson-log.txt has it all"
        build build/perf perf/workloads perf/workloads-counted perf/machine-limits perf/loops >&2 ||
            fail "$exit_failed" "the build failed; $tree/build/perf/build.log has it all"
    )
}
