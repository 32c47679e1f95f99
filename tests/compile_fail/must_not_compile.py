#!/usr/bin/env python3
"""must_not_compile.py REGEX SOURCE COMPILER [ARGUMENT...]: the proper half compiles, the misuse is refused for REGEX."""

import re
import subprocess
import sys


def compile_it(command, source, *more):
    done = subprocess.run([*command, "-fsyntax-only", *more, source], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def main():
    because, source, *command = sys.argv[1:]
    compiled, said = compile_it(command, source)
    if not compiled:
        sys.exit(f"the proper use does not compile, so the refusal of the misuse would mean nothing:\n{said}")
    compiled, said = compile_it(command, source, "-DSLUICE_TEST_MISUSE")
    if compiled:
        sys.exit("the misuse compiles")
    if not re.search(because, said):
        sys.exit(f"refused, but not because of /{because}/:\n{said}")


if __name__ == "__main__":
    main()
