"""A discrete-event model of the executor: what one scheduler can feed, and who decides.

One executor has W workers. Jobs of a fixed length wait in a closed loop: whatever ends is submitted again, so `window` jobs are
always somewhere. Work is handed out in runs of jobs of one actor, as long as `run_budget_ns` allows. Who decides:
    lent        a worker that finds no run takes the scheduler's role if it is free, decides for those who are idle and some
                more, hands out, runs the first itself. The core's lines come to it from the last holder.
    dedicated   a thread of its own, which decides while less than a run a worker is ready.
A worker that finds nothing sleeps, but for one, which spins. Where there are fewer CPUs than busy threads, each is slowed in
proportion. Costs are those of parameters.json, all in nanoseconds; there is no randomness, and so no seed.
"""

import heapq
import math
from collections import deque


class Costs:
    """submit: by the producer, a job. decide: the core's enqueue, decision and end, a job. job: the worker's own part, a job
    (take the node, call, give back). hop: a run through a queue. line: a cache line's way from one CPU to another. wake: from a
    futex call until the sleeper runs; wake_call: what the caller pays."""

    def __init__(self, values):
        for name in ("submit", "decide", "job", "hop", "hop_bulk", "line", "wake", "wake_call"):
            setattr(self, name, float(values[name]))


class Simulation:
    def __init__(self, costs, workers, policy, job_ns, producers=None, cpus=None, actors=64, window=1024,
                 run_budget_ns=50_000):
        self.costs, self.workers, self.policy, self.job_ns = costs, workers, policy, job_ns
        self.producers, self.cpus = producers, cpus
        each = max(costs.job + job_ns, 1.0)
        self.longest_run = max(1, min(window // actors, int(run_budget_ns / each)))
        self.now, self.events, self.order = 0.0, [], 0
        self.pending = 0             # jobs that were submitted and not decided
        self.to_submit = window      # jobs that wait for a producer
        self.producing = 0
        self.ready = deque()         # runs that were decided and not taken: numbers of jobs
        self.idle = []               # sleeping workers
        self.spinning = None
        self.deciding = False
        self.running = 0             # busy threads, for the slow-down
        self.done = 0
        self.decided_ns = 0.0        # time in which somebody decided

    # ---- time ------------------------------------------------------------------------------------------------------

    def after(self, delay, what, *arguments):
        self.order += 1
        heapq.heappush(self.events, (self.now + delay, self.order, what, arguments))

    def busy(self, span, what, *arguments):
        """A thread works for `span`, longer if CPUs are short, then does `what`."""
        self.running += 1
        if self.cpus is not None:
            span *= max(1.0, self.running / self.cpus)
        self.after(span, self.rest, what, arguments)

    def rest(self, what, arguments):
        self.running -= 1
        what(*arguments)

    # ---- producers -------------------------------------------------------------------------------------------------

    def produce(self):
        if self.producers is None:  # as many as it takes: the submission itself is not the bound
            self.pending += self.to_submit
            self.to_submit = 0
            self.work_came()
            return
        while self.producing < self.producers and self.to_submit > 0:
            batch = min(self.to_submit, 16)
            self.to_submit -= batch
            self.producing += 1
            self.busy(batch * self.costs.submit, self.produced, batch)

    def produced(self, batch):
        self.producing -= 1
        self.pending += batch
        self.work_came()
        self.produce()

    # ---- deciding --------------------------------------------------------------------------------------------------

    def work_came(self):
        if self.deciding or self.pending == 0:
            return
        if self.policy == "dedicated":
            self.decide_dedicated()
        elif not self.ready:  # what is ready goes first: nobody needs the role
            if self.spinning is not None:
                worker, self.spinning = self.spinning, None
                self.after(self.costs.line, self.look, worker)
            elif self.idle:
                self.after(self.costs.wake, self.look, self.idle.pop())

    def runs_of(self, most):
        """Up to `most` runs out of what is pending; short ones while there is little for many."""
        runs = []
        fair = max(1, math.ceil(self.pending / max(1, self.workers)))
        while self.pending > 0 and len(runs) < most:
            run = min(self.pending, self.longest_run, fair)
            self.pending -= run
            runs.append(run)
        return runs

    def decide_dedicated(self):
        room = self.workers + 1 - len(self.ready)
        if room <= 0:
            return
        runs = self.runs_of(min(room, 64))
        self.deciding = True
        cost = sum(runs) * (self.costs.decide + self.costs.hop_bulk) + len(runs) * self.costs.hop_bulk
        woken = min(len(runs), len(self.idle))
        cost += woken * self.costs.wake_call
        self.decided_ns += cost
        self.busy(cost, self.decided_dedicated, runs)

    def decided_dedicated(self, runs):
        self.deciding = False
        self.ready.extend(runs)
        self.call_idle()
        self.work_came()

    def decide_lent(self, worker):
        runs = self.runs_of(len(self.idle) + (self.spinning is not None) + 1 + self.workers)
        self.deciding = True
        woken = min(len(runs) - 1, len(self.idle))
        cost = 2 * self.costs.line + sum(runs) * (self.costs.decide + self.costs.hop_bulk) + \
            (len(runs) - 1) * self.costs.hop_bulk + woken * self.costs.wake_call
        self.decided_ns += cost
        self.busy(cost, self.decided_lent, worker, runs)

    def decided_lent(self, worker, runs):
        self.deciding = False
        self.ready.extend(runs[1:])
        self.call_idle()
        self.run(worker, runs[0], 0.0)

    def call_idle(self):
        sought = len(self.ready)
        if sought > 0 and self.spinning is not None:
            worker, self.spinning = self.spinning, None
            self.after(self.costs.line, self.look, worker)
            sought -= 1
        for _ in range(min(sought, len(self.idle))):
            self.after(self.costs.wake, self.look, self.idle.pop())

    # ---- workers ---------------------------------------------------------------------------------------------------

    def look(self, worker):
        if self.ready:
            run = self.ready.popleft()
            if self.policy == "dedicated":
                self.work_came()
            self.run(worker, run, self.costs.hop)
        elif self.policy == "lent" and not self.deciding and self.pending > 0:
            self.decide_lent(worker)
        elif self.spinning is None:
            self.spinning = worker
        else:
            self.idle.append(worker)

    def run(self, worker, jobs, fetch):
        self.busy(fetch + jobs * (self.costs.job + self.job_ns), self.ran, worker, jobs)

    def ran(self, worker, jobs):
        self.done += jobs
        self.to_submit += jobs
        self.produce()
        self.look(worker)

    # ---- all of it -------------------------------------------------------------------------------------------------

    def throughput(self, jobs):
        """Jobs per second over `jobs` jobs, after as many again that fill the pipe; and the share of time in which the
        scheduler's role was at work."""
        for worker in range(self.workers):
            self.after(0.0, self.look, worker)
        self.after(0.0, self.produce)
        began = began_deciding = None
        while self.events:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
            if began is None and self.done >= jobs:
                began, began_deciding, self.done = self.now, self.decided_ns, 0
            elif began is not None and self.done >= jobs:
                span = self.now - began
                return self.done * 1e9 / span, (self.decided_ns - began_deciding) / span
        raise RuntimeError("the model stands still: a wake-up is lost in it")
