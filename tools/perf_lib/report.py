"""The report of tools/perf: text for people. Each figure is a median with its quartiles, of the rounds that were kept."""

import targets as targets_module
from stats import Spread, median, number

COLUMNS = {  # figure of the driver: heading, unit
    "jobs_per_s": ("M jobs/s", 1e6),
    "p50_us": ("p50 us", 1.0),
    "p99_us": ("p99 us", 1.0),
    "p99.9_us": ("p99.9 us", 1.0),
    "ns_per_pair": ("ns/pair", 1.0),
    "ns_per_op": ("ns/job", 1.0),
    "cpu_ms_per_s": ("CPU ms/s", 1.0),
    "bytes_per_actor": ("B/actor", 1.0),
    "cpu_ns_per_job": ("CPU ns/job", 1.0),
    "library_cpu_ns_per_job": ("of it library", 1.0),
    "switches_per_job": ("switches/job", 1.0),
    "mallocs_per_job": ("mallocs/job", 1.0),
}
RATIO_BY = ("jobs_per_s", "p50_us", "ns_per_pair")


def table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    line = "  ".join(h.ljust(w) for h, w in zip(headings, widths)).rstrip()
    return "\n".join([line, *("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows)])


def _ratios(rounds, peer):
    """lent's figure beside the peer's, round by round: above 1 lent is better."""
    values = []
    for round_ in rounds:
        reference = "lent" if "lent" in round_.figures else next(iter(sorted(round_.figures, reverse=True)), None)
        mine, theirs = round_.figures.get(reference, {}), round_.figures.get(peer, {})
        for metric in RATIO_BY:
            if mine.get(metric) and theirs.get(metric):
                ratio = mine[metric] / theirs[metric]
                values.append(ratio if metric == "jobs_per_s" else 1 / ratio)
                break
    return values


def of_workload(plan, placement, rounds, peers):
    lines = []
    for distance in ("far", "near"):
        kept = [r for r in rounds if r.distance == distance]
        if not kept:
            continue
        probe = Spread([ns for r in kept for ns in (r.before_ns, r.after_ns)])
        lines.append(f"{plan.name}, {placement}: {plan.what}; {distance} (probe {probe.text()} ns), {len(kept)} rounds")
        metrics = [m for m in COLUMNS if any(m in r.figures[p] for r in kept for p in peers)]
        first = "lent" if "lent" in peers else "sluice"
        headings = ["", *(COLUMNS[m][0] for m in metrics), f"{first} / it"]
        rows = []
        for peer in peers:
            cells = []
            for metric in metrics:
                values = [r.figures[peer][metric] for r in kept if metric in r.figures[peer]]
                cells.append(Spread(values).text(COLUMNS[metric][1]) if values else "")
            ratios = _ratios(kept, peer)
            note = ""
            if any("rw" in r.figures[peer] for r in kept):
                note = " rw" if kept[0].figures[peer]["rw"] else " ser"
            rows.append([peer + note, *cells, Spread(ratios).text() if ratios else ""])
        lines += [table(headings, rows), ""]
    return "\n".join(lines)


def of_limits(limits, rounds):
    """The machine's limits, and how many times each some of our figures are."""
    lines = ["Limits of this machine, ns: " + ", ".join(f"{name} {number(value)}" for name, value in limits.items())]

    def times(where, who, metric, limit, to_ns, what):
        values = [to_ns(r.figures[who][metric]) for r in rounds if r.where == where and who in r.figures and r.kept]
        if values:
            lines.append(f"  {who} {where} {number(median(values))} ns, {number(median(values) / limit)} x {what}")

    for who in targets_module.OURS:
        for where in ("W1/apart", "W2/apart", "W2b/apart"):
            times(where, who, "jobs_per_s", limits["hop_bulk_64"], lambda v: 1e9 / v, "a hop in bulk")
        times("W4a/free", who, "p50_us", limits["pingpong"], lambda v: v * 1e3, "a line there and back")
        times("W4b/free", who, "p50_us", limits["futex_round_trip_apart"], lambda v: v * 1e3, "a futex round trip")
    times("gate1/free", "sluice-gate", "ns_per_pair", 2 * limits["uncontended_rmw"], lambda v: v, "two CAS")
    times("gate2/apart", "sluice-gate", "ns_per_pair", 2 * limits["contended_rmw"], lambda v: v, "two contended CAS")
    return "\n".join(lines)


def of_targets(verdicts):
    """One line a target and policy. A target is met if one policy meets it: a user chooses one, and sees which."""
    rows = []
    for verdict in verdicts:
        said = {True: "pass", False: "MISS", None: "not measured"}[verdict.met]
        value = verdict.spread.text() if verdict.spread else verdict.why_not
        count = str(verdict.spread.count) if verdict.spread else ""
        rows.append([said, verdict.target.name, verdict.target.condition, verdict.who, value,
                     verdict.target.bound_text(), count])
    names = {}
    for verdict in verdicts:
        names.setdefault(verdict.target.name, []).append(verdict.met)
    met = sum(True in outcomes for outcomes in names.values())
    missed = sum(True not in outcomes and False in outcomes for outcomes in names.values())
    text = table(["", "target", "when", "who", "value, or ratio to the rival", "wanted", "n"], rows)
    return f"{text}\n\n{met} targets met (by one policy at least), {missed} missed, " \
           f"{len(names) - met - missed} not measured"
