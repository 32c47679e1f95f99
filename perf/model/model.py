#!/usr/bin/env python3
"""Where does one scheduler saturate, when does the dedicated policy pay, what does a keyed set of executors give?

    perf/model/model.py [--parameters FILE] [--csv FILE] [--svg FILE]
    perf/model/model.py --check        beside what was measured at 1 and 2 workers; exit code 1 if it is off by 2 or more, 2 if
                                       nothing was measured
    perf/model/model.py --measure PROGRAMS [--parameters FILE]
                                       takes the costs and the measured figures anew (PROGRAMS: build/perf/perf)

The same parameters give the same bytes. Standard library only.
"""

import argparse
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plot  # noqa: E402
from simulation import Costs, Simulation  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
WORKERS = (1, 2, 8, 32, 128)
JOBS_NS = (0, 1_000, 10_000, 100_000)
SHARE = 8  # workers of one executor in a keyed set
MOST_OFF = 2.0


def loaded(costs, workers, policy, job_ns):
    """As many actors and jobs as keep all workers busy, if deciding does."""
    return Simulation(costs, workers, policy, job_ns, actors=max(64, 2 * workers), window=max(1024, 64 * workers))


def sweep(costs):
    rows = []
    for job_ns in JOBS_NS:
        for workers in WORKERS:
            jobs = 20_000 if job_ns < 10_000 else 6_000
            for policy in ("lent", "dedicated"):
                rate, deciding = loaded(costs, workers, policy, job_ns).throughput(jobs)
                rows.append((policy, job_ns, workers, 1, rate, deciding))
            if workers > SHARE:
                # Executors share nothing: as many times one. That keys are spread evenly over them is taken for granted.
                executors = workers // SHARE
                rate, deciding = loaded(costs, SHARE, "lent", job_ns).throughput(jobs)
                rows.append(("keyed", job_ns, workers, executors, executors * rate, deciding))
    return rows


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("policy", "job_ns", "workers", "executors", "jobs_per_s", "share_of_time_deciding"))
    for policy, job_ns, workers, executors, rate, deciding in rows:
        writer.writerow((policy, job_ns, workers, executors, f"{rate:.0f}", f"{deciding:.3f}"))
    return text.getvalue()


def check(parameters):
    """(name, measured, modelled) of each measured figure: one producer, two CPUs."""
    costs = Costs(parameters["costs_ns"])
    found = []
    for name, measured in sorted(parameters["measured_jobs_per_s"].items()):
        policy, workload, workers = name.split("/")
        job_ns = {"W2": 0, "W3": 1_000}[workload]
        rate, _ = Simulation(costs, int(workers), policy, job_ns, producers=1, cpus=2).throughput(20_000)
        found.append((name, measured, rate))
    return found


def run(*command):
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def middle(values):
    return sorted(values)[len(values) // 2]


def measure(programs):
    """Costs, and what the check compares with: medians of five. Empty jobs with the producer on a CPU of its own, as the model has
    it: unpinned, the kernel may let it take turns with a worker while the scheduler's thread has the other CPU and waits. Jobs of
    1 us unpinned, for two workers need both."""
    probes = [run(f"{programs}/machine-limits") for _ in range(3)]
    limits = {name: middle([probe[name] for probe in probes]) for name in probes[0]}

    def loop(name):
        return middle([run(f"{programs}/loops", name, "400000")["ns_per_op"] for _ in range(5)])

    def workload(peer, name, workers):
        return [run(f"{programs}/workloads", "--peer", peer, "--workload", name, "--workers", str(workers), "--seconds", "0.3",
                    "--placement", {"W2": "apart", "W3": "free"}[name])
                for _ in range(5)]

    decide = loop("core-64")
    measured = {}
    for policy in ("lent", "dedicated"):
        for name in ("W2", "W3"):
            for workers in (1, 2):
                runs = workload(policy, name, workers)
                measured[f"{policy}/{name}/{workers}"] = round(middle([r["jobs_per_s"] for r in runs]))
    # What a worker pays for a job beside deciding is not to be had alone: it is what is left of the library's CPU for one.
    library = middle([r["library_cpu_ns_per_job"] for r in workload("lent", "W2", 1)])
    # A cost of near CPUs beside figures of far ones is no check.
    again = run(f"{programs}/machine-limits", "pingpong")["pingpong"]
    if not 1 / 1.4 < again / limits["pingpong"] < 1.4:
        raise ValueError(f"the CPUs' placement changed meanwhile (a line there and back: {limits['pingpong']:.0f} ns, then {again:.0f}); "
                         "measure again")
    costs = {"submit": loop("post"), "decide": decide, "job": max(5.0, round(library - decide, 1)),
             "hop": limits["hop_plain"], "hop_bulk": limits["hop_bulk_64"], "line": round(limits["pingpong"] / 2, 1),
             # The largest: where the two meet awake, nobody was woken.
             "wake": round(max(probe["futex_round_trip_apart"] for probe in probes) / 2, 1), "wake_call": limits["wake_nobody"]}
    return {"source": "model.py --measure", "load": round(os.getloadavg()[0], 1), "costs_ns": costs, "measured_jobs_per_s": measured}


def write(file, text):
    with open(file, "w", encoding="utf-8", newline="") as out:
        out.write(text)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", default=os.path.join(HERE, "parameters.json"), metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", metavar="PROGRAMS")
    args = parser.parse_args(words)
    try:
        if args.measure:
            write(args.parameters, json.dumps(measure(args.measure), indent=2) + "\n")
            return 0
        with open(args.parameters, encoding="utf-8") as file:
            parameters = json.load(file)
        costs = Costs(parameters["costs_ns"])
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"model.py: {error}", file=sys.stderr)
        return 2
    if args.check:
        if not parameters["measured_jobs_per_s"]:
            print("model.py: nothing measured to check against yet; --measure takes it", file=sys.stderr)
            return 2
        off = [max(a / b, b / a) for _, a, b in check(parameters)]
        for name, measured, modelled in check(parameters):
            print(f"{name:20} measured {measured / 1e6:6.2f} M/s  modelled {modelled / 1e6:6.2f} M/s  "
                  f"{modelled / measured:5.2f} times")
        return 1 if max(off) >= MOST_OFF else 0
    rows = sweep(costs)
    if args.csv:
        write(args.csv, as_csv(rows))
    if args.svg:
        write(args.svg, plot.svg(rows))
    if not args.csv and not args.svg:
        print(as_csv(rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
