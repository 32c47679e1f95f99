"""tools/perf-compare: is this tree slower than another revision? The shell script of that name builds both and calls this."""

import argparse
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import counts  # noqa: E402
from report import table  # noqa: E402
from rounds import PLANS, Failed, Plan, Round, run_json  # noqa: E402
from stats import Spread, mann_whitney, median  # noqa: E402

# A timed figure is a regression if it is worse by MOST_LOSS at the median and chance would do that to any of all figures once in
# 200 runs (Bonferroni: each has its share). Either alone would fail an unchanged tree sooner or later: the one on a noisy
# machine, the other for a difference that nobody feels.
MOST_LOSS = 0.05
CHANCE = 0.005

# (workload, placement, peer or loop, figure, whether more is better)
TIMED = [
    ("W1", "apart", "lent", "jobs_per_s", True),
    ("W2", "apart", "lent", "jobs_per_s", True),
    ("W2", "apart", "dedicated", "jobs_per_s", True),
    ("W2b", "apart", "lent", "jobs_per_s", True),
    ("loops", "free", "core-64", "ns_per_op", False),
    ("loops", "free", "post", "ns_per_op", False),
    ("loops", "free", "gate-pair", "ns_per_op", False),
]


def arguments(words):
    parser = argparse.ArgumentParser(prog="tools/perf-compare", description=__doc__, allow_abbrev=False,
                                     usage="tools/perf-compare BASE [option...] | --update-baseline")
    parser.add_argument("base", nargs="?", metavar="BASE", help="a revision that git knows")
    parser.add_argument("--rounds", type=int, default=12, metavar="N", help="interleaved runs of each (default 12, least 8)")
    parser.add_argument("--no-times", action="store_true", help="instruction counts only: a minute, and sure")
    parser.add_argument("--no-counts", action="store_true", help="timed runs only")
    parser.add_argument("--plant", type=float, metavar="PERCENT",
                        help="compare BASE with a copy of itself whose core was made slower by so much: this has to fail")
    parser.add_argument("--update-baseline", action="store_true", help="write this tree's counts to perf/baseline.json")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    for hidden in ("--old", "--new", "--baseline"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    if (args.base is None) == (not args.update_baseline):
        parser.error("want BASE, or --update-baseline without one")
    if not 8 <= args.rounds <= 1000:
        parser.error(f"--rounds {args.rounds}: want 8 to 1000; with fewer no difference is beyond chance")
    if args.no_times and args.no_counts:
        parser.error("--no-times with --no-counts leaves nothing to compare")
    if args.plant is not None and not 1 <= args.plant <= 1000:
        parser.error(f"--plant {args.plant:g}: want 1 to 1000")
    return args


def worse(old, new, more_is_better, comparisons):
    """(ratio of the medians, above 1 when new is slower; chance; whether that is a regression)."""
    if more_is_better:
        chance = mann_whitney(new, old)
        ratio = median(old) / median(new)
    else:
        chance = mann_whitney(old, new)
        ratio = median(new) / median(old)
    return ratio, chance, ratio >= 1 + MOST_LOSS and chance < CHANCE / comparisons


def compare_counts(old, new, measure=counts.count):
    rows, slower, found = [], [], {}
    for loop in counts.LOOPS:
        before, after = measure(f"{old}/loops", loop), measure(f"{new}/loops", loop)
        bad = counts.grown(before, after)
        slower += [f"{loop}: {before:.1f} to {after:.1f} instructions"] if bad else []
        found[loop] = {"old": before, "new": after, "slower": bad}
        rows.append([loop, f"{before:.1f}", f"{after:.1f}", f"{100 * (after / before - 1):+.1f} %", "SLOWER" if bad else ""])
    print("Instructions an operation, single-threaded:")
    print(table(["", "base", "this", "", ""], rows) + "\n", flush=True)
    return slower, found


def compare_baseline(file, found):
    """This tree's counts beside those in the tree, where they are of the same compiler. Growth is a regression there too."""
    if not os.path.exists(file):
        print(f"No baseline: {file} is not there (tools/perf-compare --update-baseline)\n")
        return []
    with open(file, encoding="utf-8") as text:
        baseline = json.load(text)
    if baseline["compiler"] != counts.compiler():
        print(f"The baseline is of {baseline['compiler']}, this is {counts.compiler()}: not compared\n")
        return []
    slower = [f"{loop}: {baseline['instructions'][loop]:.1f} in the baseline, {found[loop]['new']:.1f} now"
              for loop in found if loop in baseline["instructions"] and
              counts.grown(baseline["instructions"][loop], found[loop]["new"])]
    print(f"Beside the baseline: {'SLOWER ' + '; '.join(slower) if slower else 'no more instructions'}\n", flush=True)
    return slower


def one(folder, item, seed, run=run_json):
    workload, placement, who, metric, _ = item
    if workload == "loops":
        return run([f"{folder}/loops", who, "400000"])[metric]
    seconds = next(p.seconds for p in PLANS if p.name == workload)
    return run([f"{folder}/workloads", "--peer", who, "--workload", workload, "--placement", placement, "--seconds",
                str(seconds), "--seed", str(seed)])[metric]


def compare_times(old, new, rounds, seed, run=run_json):
    """Pairs in random order, each between two probes of the placement; a pair during which that flipped is dropped."""
    order = random.Random(seed)
    samples = {item: ([], []) for item in TIMED}
    dropped = 0
    for number in range(2 * rounds):
        for item in TIMED:
            if len(samples[item][0]) == rounds:
                continue
            sides = [(old, 0), (new, 1)]
            order.shuffle(sides)
            before = run([f"{new}/machine-limits", "pingpong"])["pingpong"]
            values = [0.0, 0.0]
            for folder, side in sides:
                values[side] = one(folder, item, number, run)
            after = run([f"{new}/machine-limits", "pingpong"])["pingpong"]
            if not Round(Plan(item[0], (), (), 0, ""), item[1], number, before, after, {}).kept:
                dropped += 1
                continue
            for side in (0, 1):
                samples[item][side].append(values[side])
        print(f"round {number + 1}", file=sys.stderr, flush=True)
    rows, slower, found = [], [], []
    for item, (before, after) in samples.items():
        name = f"{item[0]}/{item[1]} {item[2]} {item[3]}"
        if len(before) < 8:
            rows.append([name, "", "", "", "", f"only {len(before)} rounds kept: not compared"])
            continue
        ratio, chance, bad = worse(before, after, item[4], len(TIMED))
        slower += [f"{name}: {ratio:.3f} times the time, chance {chance:.2g}"] if bad else []
        scale = 1e6 if item[3] == "jobs_per_s" else 1
        rows.append([name, Spread(before).text(scale), Spread(after).text(scale), f"{ratio:.3f}", f"{chance:.2g}",
                     "SLOWER" if bad else ""])
        found.append({"name": name, "old": before, "new": after, "time_ratio": ratio, "chance": chance, "slower": bad})
    print("Timed, median [quartiles]; jobs/s in millions. Slower: 1.05 times the time or more, and chance below "
          f"{CHANCE / len(TIMED):.2g}. {dropped} pairs dropped, the placement flipped:")
    print(table(["", "base", "this", "time", "chance", ""], rows) + "\n", flush=True)
    return slower, found


def update_baseline(args):
    found = {loop: round(counts.count(f"{args.new}/loops", loop), 1) for loop in counts.LOOPS}
    with open(args.baseline, "w", encoding="utf-8") as file:
        json.dump({"what": "instructions an operation, by callgrind; moved by tools/perf-compare --update-baseline",
                   "compiler": counts.compiler(), "instructions": found}, file, indent=2)
        file.write("\n")
    print(f"{args.baseline}: {', '.join(f'{loop} {value}' for loop, value in found.items())}")
    return 0


def main(words):
    args = arguments(words)
    if args.check:
        return 0
    try:
        if args.update_baseline:
            return update_baseline(args)
        slower, result = [], {"schema": "sluice-perf-compare/1", "base": args.base}
        if not args.no_counts:
            more, result["counts"] = compare_counts(args.old, args.new)
            slower += more
            if args.plant is None:
                slower += compare_baseline(args.baseline, result["counts"])
        if not args.no_times:
            more, result["times"] = compare_times(args.old, args.new, args.rounds, args.seed)
            slower += more
    except Failed as error:
        print(f"tools/perf-compare: {error}", file=sys.stderr)
        return 1
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(dict(result, slower=slower), file, indent=1)
            file.write("\n")
    for line in slower:
        print("slower: " + line)
    print(f"{len(slower)} regressions beside {args.base}" if slower else f"no slower than {args.base}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
