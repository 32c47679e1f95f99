"""Instruction counts of the single-threaded parts, by callgrind: the same from run to run, whatever else the machine does.

    counts.py PROGRAMS         the life of a job, function by function, for docs/performance.md (PROGRAMS: build/perf/perf)
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from rounds import LONGEST_S, Failed

# Operations of each loop: enough that what surrounds an operation is spread thin.
OPERATIONS = 10_240
LOOPS = ("core-hot", "core-10", "core-64", "post", "mutate", "pool-enqueue-cancel", "gate-pair", "gate-grant", "histogram")
# More than this beside the base is a regression. A count moves by itself by far less: when the allocator's or the loader's
# addresses change a hash or an alignment.
MOST_GROWTH = 0.02


def callgrind(program, loop, operations, *options):
    """What callgrind wrote, and how many operations that was for."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        command = ["valgrind", "--tool=callgrind", *options, f"--callgrind-out-file={out}", program, loop, str(operations)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        except FileNotFoundError:
            raise Failed("valgrind is not installed; --no-counts does without") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)}: took more than {LONGEST_S} s") from None
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        with open(out, encoding="utf-8") as file:
            return file.read(), json.loads(done.stdout)["ops"]


def count(program, loop):
    """Instructions per operation, of the thread that runs the loop and of nothing before and after it."""
    text, ops = callgrind(program, loop, OPERATIONS, "--toggle-collect=measured")
    if parse(text) == 0:
        raise Failed(f"{program} {loop}: callgrind saw no call of measured(): is it inlined or renamed?")
    return parse(text) / ops


def life(program, loop):
    """(instructions per operation, function) of all threads, set-up left out: what ten times the operations cost more."""
    (few, few_ops), (many, many_ops) = (callgrind(program, loop, OPERATIONS * times) for times in (1, 10))
    before = dict((name, cost) for cost, name in functions(few, 1, None))
    costs = [((cost - before.get(name, 0)) / (many_ops - few_ops), name) for cost, name in functions(many, 1, None)]
    return sorted(costs, reverse=True)


def parse(text):
    """The total of a callgrind file; of one that was dumped a thread, the sum."""
    totals = re.findall(r"^(?:totals|summary): (\d+)", text, re.M)
    if not totals:
        raise Failed("callgrind wrote no total")
    return int(totals[-1])


def functions(text, ops, most):
    """(instructions per operation, function) of the dearest functions, by their own instructions."""
    own, names, current, call = {}, {}, None, False
    for line in text.splitlines():
        if match := re.match(r"fn=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2]
            current = match[1]
        elif match := re.match(r"cfn=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2]
        elif line.startswith("calls="):
            call = True
        elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
            if not call and current is not None:
                own[current] = own.get(current, 0) + int(match[1])
            call = False
    by_name = {}
    for key, cost in own.items():  # a function may have several entries, one an object file
        by_name[names.get(key, "?")] = by_name.get(names.get(key, "?"), 0) + cost
    return [(cost / ops, name) for name, cost in sorted(by_name.items(), key=lambda item: -item[1])[:most]]


def grown(before, after):
    return after > before * (1 + MOST_GROWTH)


def compiler():
    """What a baseline is good for: counts of one compiler say nothing about another's."""
    words = os.environ.get("CXX", "c++").split()
    done = subprocess.run([words[-1], "-dumpfullversion", "-dumpmachine"], capture_output=True, text=True, check=False)
    name = subprocess.run([words[-1], "--version"], capture_output=True, text=True, check=False).stdout
    kind = "clang" if "clang" in name else "gcc"
    return f"{kind} {' '.join(done.stdout.split())}"


def main(programs):
    for loop in ("post", "mutate"):
        rows = life(f"{programs}/loops", loop)
        print(f"{loop}: {sum(cost for cost, _ in rows):.0f} instructions a job, all threads")
        for cost, name in rows:
            if cost >= 1.0:
                print(f"{cost:8.1f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
