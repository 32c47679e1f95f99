"""tools/perf: measures, interleaved, and judges by the targets. The shell script of that name builds and calls this."""

import argparse
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report  # noqa: E402
import targets as targets_module  # noqa: E402
from rounds import EXECUTORS, PLANS, Failed, Machine  # noqa: E402


def arguments(words):
    parser = argparse.ArgumentParser(prog="tools/perf", description=__doc__, allow_abbrev=False)
    parser.add_argument("--programs", default="build/perf/perf", help=argparse.SUPPRESS)
    parser.add_argument("--targets", default="perf/targets.txt", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="W2,W4a", help="these workloads: " + ", ".join(p.name for p in PLANS))
    parser.add_argument("--peers", metavar="lent,tbb", help="these executors: " + ", ".join(EXECUTORS))
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds to keep of each workload (default 9, --quick 3)")
    parser.add_argument("--quick", action="store_true", help="shorter and fewer rounds: that it works, not how fast it is")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of peers and of arrivals")
    parser.add_argument("--json", metavar="FILE", help="everything, each round too; - is standard output")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a target is missed")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # the command line only: before the build
    args = parser.parse_args(words)
    args.only = chosen(parser, "--only", args.only, [p.name for p in PLANS])
    args.peers = chosen(parser, "--peers", args.peers, EXECUTORS)
    args.rounds = args.rounds if args.rounds is not None else 3 if args.quick else 9
    if not 1 <= args.rounds <= 1000:
        parser.error(f"--rounds {args.rounds}: want 1 to 1000")
    return args


def chosen(parser, option, text, there):
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in there:
            parser.error(f"{option} {text}: \"{name}\" is unknown; there are {', '.join(there)}")
    return names


def measure(machine, plans, args, say):
    """All rounds, those that flipped too; a workload gets as many tries again as it has rounds."""
    rounds = []
    work = [(plan, placement) for plan in plans for placement in plan.placements]
    kept = {item: 0 for item in work}
    for number in range(2 * args.rounds):
        for item in work:
            if kept[item] == args.rounds:
                continue
            plan, placement = item
            peers = machine.peers_for(plan, args.peers)
            round_ = machine.round(plan, placement, number, peers, 0.3 if args.quick else 1.0)
            rounds.append(round_)
            kept[item] += round_.kept
            say(f"round {number + 1} of {round_.where}: {round_.distance} "
                f"({round_.before_ns:.0f}, {round_.after_ns:.0f} ns)")
    return rounds


def load_now():
    try:
        return os.getloadavg()
    except OSError:
        return (0.0, 0.0, 0.0)


def main(words):
    args = arguments(words)
    if args.check:
        return 0
    try:
        with open(args.targets, encoding="utf-8") as file:
            targets = targets_module.parse(file.read(), args.targets)
    except (OSError, targets_module.BadTarget) as error:
        print(f"tools/perf: {error}", file=sys.stderr)
        return 2
    out = sys.stderr if args.json == "-" else sys.stdout
    plans = [p for p in PLANS if not args.only or p.name in args.only]
    began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    load_before = load_now()
    try:
        machine = Machine(args.programs, args.seed)
        limits = machine.limits()
        rounds = measure(machine, plans, args, lambda text: print(text, file=sys.stderr, flush=True))
    except Failed as error:
        print(f"tools/perf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tools/perf: interrupted", file=sys.stderr)
        return 1
    load_after = load_now()
    kept = [r for r in rounds if r.kept]
    verdicts = [v for target in targets for v in targets_module.judge(target, kept)
                if not args.only or target.subject.where.split("/")[0] in args.only]
    for plan in plans:
        for placement in plan.placements:
            mine = [r for r in kept if r.where == f"{plan.name}/{placement}"]
            text = report.of_workload(plan, placement, mine, machine.peers_for(plan, args.peers))
            print(text or f"{plan.name}, {placement}: every round was dropped\n", file=out)
    print(report.of_limits(limits, rounds), file=out)
    print(f"\n{began}, load {load_before[0]:.1f} before and {load_after[0]:.1f} after, {os.cpu_count()} CPUs, seed {args.seed}"
          f"{', --quick' if args.quick else ''}: {len(kept)} rounds kept, {len(rounds) - len(kept)} dropped because the "
          f"placement flipped or the probe moved during them\n", file=out)
    print(report.of_targets(verdicts), file=out)
    if args.json:
        text = json.dumps({"schema": "sluice-perf/1", "began": began, "load": [load_before[0], load_after[0]],
                           "quick": args.quick, "seed": args.seed, "limits_ns": limits, "dropped": len(rounds) - len(kept),
                           "rounds": [r.as_json() for r in rounds], "targets": [v.as_json() for v in verdicts]}, indent=1)
        try:
            if args.json == "-":
                print(text)
            else:
                with open(args.json, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
        except OSError as error:
            print(f"tools/perf: --json {args.json}: {error.strerror}", file=sys.stderr)
            return 1
    by_target = {}
    for verdict in verdicts:
        by_target.setdefault(verdict.target.name, []).append(verdict.met)
    missed = any(True not in outcomes and False in outcomes for outcomes in by_target.values())
    return 1 if args.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
