"""What a test that is a script is made of: functions marked @test, each of which says in its name what it shows; run(names) runs
those that are named, or all, and prints TAP for meson.
"""

import sys

tests = []


class Skipped(Exception):
    """Raised by a test that has nothing to show here; the text says why."""


def test(function):
    tests.append(function)
    return function


def expect(done, code, *, out=None, err=None):
    """Of a finished program: its exit code, and what its output contains."""
    assert done.returncode == code, f"exit code {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}"
    if out is not None:
        assert out in done.stdout, f"{out!r} is not in\n{done.stdout}"
    if err is not None:
        assert err in done.stderr, f"{err!r} is not in\n{done.stderr}"


def run(names):
    chosen = [t for t in tests if t.__name__ in names] or tests
    print(f"1..{len(chosen)}")
    failed = 0
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skipped as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception as error:  # a test that breaks has failed, and the others still run
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            print("# " + f"{type(error).__name__}: {error}".replace("\n", "\n# "), flush=True)
    sys.exit(1 if failed else 0)
