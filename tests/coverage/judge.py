#!/usr/bin/env python3
"""Which lines of src/ and include/ the tests of an instrumented build have reached, from what gcov says of it.

    tests/coverage/judge.py BUILD [GCOV]

Prints a table by folder, and each line of src/ that was not reached with its reason from uncovered.txt; exit code 1 if one has
none, or if a reason is there for nothing. tools/coverage builds, runs the tests and calls this; judge_test.py tests it.

A line of a template counts as reached if any instance of it was. Branches are those that gcov counts without the ones that only
an exception takes; a template's are added up where its instances have the same ones.
"""

import collections
import fnmatch
import json
import os
import subprocess
import sys

REASONS = "tests/coverage/uncovered.txt"
BY_CHANCE = "by chance: "  # opens a reason for a line that some runs reach


class File:
    def __init__(self):
        self.lines = collections.Counter()  # number: how often it was reached
        self.function = {}  # number: the function that it is in
        self.branches = {}  # (number, how many): how often each was taken


def add(files, report, root):
    """What gcov says of one object file."""
    for entry in report["files"]:
        path = os.path.relpath(os.path.normpath(os.path.join(report["current_working_directory"], entry["file"])), root)
        if not path.startswith(("src/", "include/")):
            continue
        names = {f["name"]: f["demangled_name"] for f in entry["functions"]}
        file = files[path]
        for line in entry["lines"]:
            number = line["line_number"]
            file.lines[number] += line["count"]
            file.function.setdefault(number, names.get(line.get("function_name"), ""))
            taken = [b["count"] for b in line["branches"] if not b["throw"]]
            if taken:
                before = file.branches.get((number, len(taken)), [0] * len(taken))
                file.branches[number, len(taken)] = [a + b for a, b in zip(before, taken)]


def ask_gcov(build, gcov):
    """One report for each object file of the library, also where nothing of it ever ran, and of each test that ran."""
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno") and
             (os.path.relpath(folder, build).startswith("src") or name[:-4] + "gcda" in names)]
    for start in range(0, len(notes), 10):
        done = subprocess.run([gcov, "--json-format", "--stdout", "--branch-probabilities", "--relative-only", *notes[start:start + 10]],
                              cwd=build, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                yield json.loads(line)


def read_reasons(text):
    """(line of the list, file, fragment, reason) of each entry."""
    for number, entry in enumerate(text.splitlines(), 1):
        if entry.strip() and not entry.startswith("#"):
            parts = [part.strip() for part in entry.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise ValueError(f"{REASONS}:{number}: an entry is \"file | text of the line or function | reason\"")
            yield number, *parts


def judge(files, sources, reasons):
    """(uncovered, complaints): (file, line, text, reason or None) of each, and sentences."""
    used, uncovered, complaints = set(), [], []
    for path in sorted(files):
        if not path.startswith("src/"):
            continue
        for number in sorted(n for n, count in files[path].lines.items() if count == 0):
            text = sources(path)[number - 1].strip()
            where = files[path].function.get(number, "")
            reason = None
            for entry, pattern, fragment, why in reasons:
                if fnmatch.fnmatchcase(path, pattern) and (fragment in text or fragment in where):
                    used.add(entry)
                    reason = reason or why
            uncovered.append((path, number, text, reason))
            if reason is None:
                complaints.append(f"{path}:{number}: not reached, and no reason in {REASONS}: {text}")
    for entry, pattern, fragment, why in reasons:
        if entry not in used and not why.startswith(BY_CHANCE):
            complaints.append(f"{REASONS}:{entry}: {pattern}, \"{fragment}\": all such lines are reached; remove the entry")
    return uncovered, complaints


def print_table(files):
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path, file in files.items():
        branches = [count for counts in file.branches.values() for count in counts]
        for folder in (os.path.dirname(path), path.split("/")[0] + " in all"):
            row = folders[folder]
            row[0] += len(file.lines)
            row[1] += sum(count > 0 for count in file.lines.values())
            row[2] += len(branches)
            row[3] += sum(count > 0 for count in branches)
    print("| folder | lines | reached | % | branches | taken | % |\n| --- | --- | --- | --- | --- | --- | --- |")
    for folder, (lines, reached, branches, taken) in sorted(folders.items()):
        print(f"| `{folder}` | {lines} | {reached} | {100 * reached / max(lines, 1):.1f} | {branches} | {taken} | "
              f"{100 * taken / max(branches, 1):.1f} |")


def main():
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    build, gcov = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "gcov"
    files = collections.defaultdict(File)
    for report in ask_gcov(build, gcov):
        add(files, report, root)

    def sources(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read().splitlines()

    with open(os.path.join(root, REASONS), encoding="utf-8") as file:
        reasons = list(read_reasons(file.read()))
    uncovered, complaints = judge(files, sources, reasons)
    print_table(files)
    print(f"\n{len(uncovered)} lines of src/ were not reached:")
    for path, number, text, reason in uncovered:
        print(f"{path}:{number}: {text}\n    {reason or 'NO REASON'}")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints or not files else 0


if __name__ == "__main__":
    sys.exit(main())
