# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables are for the scripts that source this
# Shared by tools/run, tools/test, the tools/check-* scripts and .ci/run. Sourced, never run.
#
# Exit codes of every script that sources this:
#   0  all went well
#   1  configuring, building, the main job, a test or a check failed
#   2  the command line was not understood
#   3  packages are missing and we may not install them; what to type was printed

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

readonly exit_failed=1 exit_usage=2 exit_packages=3

# No script here reads from the terminal, and a tool that asks must get "no more input" and not wait.
exec </dev/null

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }
fail() {
    local code=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$code"
}

# The comment that a script opens with is its help.
print_help() { sed -n '2,/^$/{/^# shellcheck/d;/^#/s/^# \{0,1\}//p}' "$1"; }

# ---- packages ------------------------------------------------------------------------------------------------------

# Prints the packages of the given purposes (first column of tools/packages.txt).
packages_for() {
    local purpose
    for purpose in "$@"; do
        awk -v purpose="$purpose" '$1 == purpose { print $2 }' tools/packages.txt
    done
}

package_is_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Names what is missing and installs it: directly as root, else by sudo if that asks for no password. Otherwise says
# what to type and leaves with exit_packages.
require_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "Not a Debian system: taking it that these, or their like, are here: $*"
        return
    fi
    local missing=() package
    for package in "$@"; do
        package_is_installed "$package" || missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    say "Missing packages: ${missing[*]}"

    local as_root=()
    if ((EUID != 0)); then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            local sudo='' as_whom=', as root,'
            if command -v sudo >/dev/null; then
                sudo='sudo ' as_whom=
            fi
            {
                say "They need root, which this user is not and cannot become without a password. Type$as_whom"
                say
                say "    ${sudo}apt-get update && ${sudo}apt-get install --no-install-recommends ${missing[*]}"
                say
                say "and start again."
            } >&2
            exit "$exit_packages"
        fi
    fi
    # A lock held by another apt is waited for; the update may fail (no network) while all packages are in the cache.
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    "${apt[@]}" update || say "apt-get update failed; going on with the lists that are here"
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "$exit_packages" "apt-get could not install: ${missing[*]}"
}

# Packages of "build", and a C++ compiler that is good enough: CXX of the caller, else the first that will do. It ends up
# in `compiler`, and behind ccache in CXX for Meson, which looks for ccache only where nobody names a compiler.
require_build_tools() {
    local packages
    mapfile -t packages < <(packages_for build)
    require_packages "${packages[@]}"

    if [[ -n ${CXX:-} ]]; then
        use_compiler "$CXX"
        return 0
    fi
    choose_compiler && return 0
    say "No C++ compiler here compiles tools/probe/cxx23.cpp (tried: ${compilers_tried[*]})"
    require_packages g++
    choose_compiler || fail "$exit_failed" "g++ is installed but does not compile tools/probe/cxx23.cpp as C++23"
}

compilers_tried=(c++ g++ clang++-19)
choose_compiler() {
    for compiler in "${compilers_tried[@]}"; do
        if command -v "$compiler" >/dev/null &&
            "$compiler" -std=c++2b -fsyntax-only tools/probe/cxx23.cpp >/dev/null 2>&1; then
            use_compiler "$compiler"
            return 0
        fi
    done
    return 1
}

use_compiler() {
    compiler=${1#ccache }
    if command -v ccache >/dev/null; then
        export CXX="ccache $compiler"
    else
        export CXX=$compiler
    fi
}

# ---- build and test ------------------------------------------------------------------------------------------------

# configure <folder> <meson argument>...: sets the folder up, unless it was set up by the same words before.
configure() {
    local folder=$1
    shift
    local words="CXX=${CXX:-} $*"
    if [[ -f $folder/build.ninja && -f $folder/.configured-as && $(<"$folder/.configured-as") == "$words" ]]; then
        return 0
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    if ! meson setup "$folder" "$@" >"$folder/setup.log" 2>&1; then
        cat "$folder/setup.log" >&2
        return 1
    fi
    sed -n '/^sluice [0-9]/,/^Found ninja/{/^Found ninja/!p}' "$folder/setup.log"
    printf '%s' "$words" >"$folder/.configured-as"
}

# build <folder> [target...]: quiet when there is nothing to do, and when all goes well.
build() {
    local folder=$1
    shift
    local log=$folder/build.log keep_going=()
    # Somebody who waits wants the first error, CI wants all of them.
    [[ -z ${CI:-} ]] || keep_going=(-k 0)
    if ! ninja -C "$folder" "${keep_going[@]}" "$@" >"$log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\] (Compiling|Linking|Generating)' "$log" >&2 || true
        return 1
    fi
    # Warnings in a build that does not make them errors.
    grep -E 'warning:' "$log" || true
}

# run_tests <folder> <meson test argument>...: all tests of a built folder. Adds to the three counters.
tests_passed=0 tests_failed=0 tests_skipped=0
run_tests() {
    local folder=$1 status=0
    shift
    local log=$folder/test.log
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" 2>&1 | tee "$log" | grep -vE '^(ninja:|$|Full log)' ||
        status=${PIPESTATUS[0]}
    local passed failed skipped
    # Meson's closing table is "Name:  count". Expected failures passed; unexpected passes and timeouts did not.
    read -r passed failed skipped < <(awk '
        $1 == "Ok:" || ($1 == "Expected" && $2 == "Fail:")                           { passed += $NF }
        $1 == "Fail:" || $1 == "Timeout:" || ($1 == "Unexpected" && $2 == "Pass:")   { failed += $NF }
        $1 == "Skipped:"                                                             { skipped += $NF }
        END { print passed + 0, failed + 0, skipped + 0 }' "$log")
    if ((status != 0 && failed == 0)); then
        failed=1 # meson itself fell over, or no test is there: never let that look like success
    fi
    if ((passed + failed == 0)); then
        say "No test ran in $folder"
        failed=1
    fi
    tests_passed=$((tests_passed + passed))
    tests_failed=$((tests_failed + failed))
    tests_skipped=$((tests_skipped + skipped))
    ((failed == 0))
}

# failures <folder>: of each test that failed in its last run there, the name and the end of what it printed. Who reads
# only the end of a long output has to see what went wrong.
failures() {
    python3 - "$1/meson-logs/testlog.json" <<'EOF'
import json
import sys

good = {"OK", "EXPECTEDFAIL", "SKIP"}
for line in open(sys.argv[1], encoding="utf-8"):
    test = json.loads(line)
    if test["result"] in good:
        continue
    print(f"{test['name']}: {test['result']} after {test['duration']:.1f} s, exit status {test['returncode']}")
    for stream in ("stdout", "stderr"):
        for text in test.get(stream, "").splitlines()[-40:]:
            print(f"    {stream}: {text[:300]}")
EOF
}

# ---- sanitizers ----------------------------------------------------------------------------------------------------

# The sanitizers bring an allocator of their own, so mimalloc is off; a shared library that leaves the sanitizer's
# symbols to the program needs b_lundef=false.
sanitizer_arguments=(-Ddebug=true -Doptimization=1 -Dmimalloc=disabled -Db_lundef=false)

# configure_instrumented <folder> <meson argument>...: by clang 19, for tests and not for measuring.
configure_instrumented() {
    local folder=$1
    shift
    use_compiler clang++-19
    configure "$folder" "-Dwerror=${SLUICE_WERROR:-false}" -Dtests=enabled -Dtools=enabled -Dbenchmarks=disabled \
        -Dexamples=enabled "$@"
}

# Each sets up its folder, and the options that its programs run with.
configure_asan() {
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    configure_instrumented build/asan -Db_sanitize=address,undefined "${sanitizer_arguments[@]}"
}
configure_tsan() {
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=4
    if [[ -f tests/support/tsan.supp ]]; then
        TSAN_OPTIONS+=:suppressions=$root/tests/support/tsan.supp
    fi
    configure_instrumented build/tsan -Db_sanitize=thread "${sanitizer_arguments[@]}"
}

# ---- what tools/run and tools/test have in common ------------------------------------------------------------------

release=build/release
replay=$release/tools/replay/sluice-replay
shipped_trace=traces/selfrec_files.csv
# Half of each service time, at half of all workers' time: about 5 s on two CPUs, less on more.
shipped_options=(--utilisation 0.5 --service-scale 0.5)

configure_release() {
    # SLUICE_WERROR is set by .ci/run: warnings are errors there, and only there.
    configure "$release" --buildtype=release "-Dwerror=${SLUICE_WERROR:-false}" -Dtests=enabled -Dtools=enabled \
        -Dbenchmarks=enabled -Dexamples=enabled ||
        fail "$exit_failed" "configuring failed; $release/meson-logs/meson-log.txt has it all"
}
