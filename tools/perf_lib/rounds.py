"""Measuring: which workloads there are, one round of one of them, and which rounds count.

A round runs every peer once on one workload, in random order, with a probe of the placement before and after. The two virtual
CPUs of a machine are near or far apart from one minute to the next, and throughputs follow: a round during which that
changed says nothing and is dropped.
"""

import json
import random
import subprocess

# A cache line goes there and back within 120 to 160 ns between near CPUs, and 400 to 600 between far ones.
NEAR_BELOW_NS = 250.0
# A probe that moved by more than this within one class has met another machine.
MOST_DRIFT = 1.6
LONGEST_S = 300

EXECUTORS = ("lent", "dedicated", "tbb", "asio", "caf", "naive", "seed", "inline")
POOLS = ("sluice-pool", "seed-pool")
GATES = ("sluice-gate", "seed-gate")
CORE = ("core-10", "core-64", "core-1m")


class Plan:
    """One workload: what the driver calls it, where the threads go, who runs it, for how long."""

    def __init__(self, name, placements, peers, seconds, what, program="workloads", driver_name=None):
        self.name, self.placements, self.peers, self.seconds = name, placements, peers, seconds
        self.what, self.program, self.driver_name = what, program, driver_name or name


OURS_ONLY = ("lent", "dedicated")
NOT_INLINE = EXECUTORS[:-1]
PLANS = [
    Plan("W1", ("apart", "free"), EXECUTORS, 0.3, "empty jobs, 1 actor"),
    Plan("W2", ("apart", "free"), EXECUTORS, 0.3, "empty jobs, 64 actors"),
    Plan("W2b", ("apart", "free"), EXECUTORS, 0.3, "empty jobs, 10,000 actors"),
    Plan("W2c", ("apart", "free"), EXECUTORS, 0.3, "empty jobs, 64 of 10,000 actors"),
    Plan("W3", ("free",), EXECUTORS, 0.4, "1 us each, 64 actors, 10 % writes"),
    Plan("W4a", ("free",), NOT_INLINE, 0.5, "round trip, at once again"),
    Plan("W4b", ("free",), NOT_INLINE, 0.8, "round trip after a pause of 200 us"),
    Plan("W5s", ("free",), NOT_INLINE, 1.0, "open loop, Poisson 50,000/s, 64 actors"),
    Plan("W6", ("free",), NOT_INLINE, 0.3, "calls of malloc in W2", "workloads-counted", "W2"),
    Plan("tiny", ("free",), NOT_INLINE, 1.0, "a tiny job behind a 3 ms job, CPUs busy"),
    Plan("idle", ("free",), OURS_ONLY + ("tbb",), 1.0, "a second without work"),
    Plan("memory", ("free",), OURS_ONLY, 1.0, "200,000 idle actors"),
    Plan("core", ("free",), CORE, 0.0, "one job in the pure core", "loops"),
    Plan("pool", ("free", "apart"), POOLS, 0.5, "enqueue to run, 16 workers"),
    Plan("control", ("free",), POOLS, 1.0, "a control item while bulk saturates 16 workers"),
    Plan("gate1", ("free",), GATES, 0.2, "admit and release, one thread"),
    Plan("gate2", ("apart",), GATES, 0.2, "admit and release, two threads"),
]


class Failed(Exception):
    """A program of ours did not do what it was asked for."""


def run_json(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise Failed(f"{' '.join(command)}: printed no JSON: {done.stdout[:200]!r}") from None


def distance(before_ns, after_ns):
    """far, near, or flipped: during a round between two probes."""
    if (before_ns < NEAR_BELOW_NS) != (after_ns < NEAR_BELOW_NS):
        return "flipped"
    if max(before_ns, after_ns) > MOST_DRIFT * min(before_ns, after_ns):
        return "flipped"
    return "near" if before_ns < NEAR_BELOW_NS else "far"


class Round:
    def __init__(self, plan, placement, number, before_ns, after_ns, figures):
        self.where = f"{plan.name}/{placement}"
        self.number, self.figures = number, figures
        self.before_ns, self.after_ns = before_ns, after_ns
        self.distance = distance(before_ns, after_ns)

    @property
    def kept(self):
        return self.distance != "flipped"

    def as_json(self):
        return {"workload": self.where, "round": self.number, "placement": self.distance,
                "probe_ns": [self.before_ns, self.after_ns], "figures": self.figures}


class Machine:
    """The programs of one build."""

    def __init__(self, folder, seed, run=run_json):
        self.folder, self.run = folder, run
        self.random = random.Random(seed)
        self.built = self.run([f"{folder}/workloads", "--list"])

    def probe(self):
        return self.run([f"{self.folder}/machine-limits", "pingpong"])["pingpong"]

    def limits(self):
        return self.run([f"{self.folder}/machine-limits"])

    def peers_for(self, plan, wanted):
        there = [p for p in plan.peers if plan.program == "loops" or p in self.built]
        return [p for p in there if not wanted or p in wanted or plan.peers in (POOLS, GATES, CORE)]

    def figures(self, plan, placement, peer, seconds):
        if plan.program == "loops":
            return self.run([f"{self.folder}/loops", peer, "1000000"])
        return self.run([f"{self.folder}/{plan.program}", "--peer", peer, "--workload", plan.driver_name, "--placement",
                         placement, "--seconds", str(seconds), "--seed", str(self.random.randrange(1 << 30))])

    def round(self, plan, placement, number, peers, scale):
        order = list(peers)
        self.random.shuffle(order)
        before = self.probe()
        figures = {peer: self.figures(plan, placement, peer, max(0.05, plan.seconds * scale)) for peer in order}
        return Round(plan, placement, number, before, self.probe(), figures)
