"""The targets, read from perf/targets.txt, and what measurements say about them.

A line is `NAME | CONDITION | SUBJECT RELATION BOUND`:
    NAME       what is shown
    CONDITION  any, far or near: which placements of the two CPUs it is for
    SUBJECT    WORKLOAD/PLACEMENT WHO METRIC, e.g.  W1/apart ours jobs_per_s
    RELATION   >= or <=
    BOUND      a number, or  FACTOR * SUBJECT, e.g.  2 * W1/apart best jobs_per_s
WHO is a peer by name; `ours` is either policy of Sluice, each judged by itself; `best` is the best of the others;
`same`, in a bound, is whoever is judged.
Lines that are empty or begin with # say nothing.
"""

import re

from stats import Spread

OURS = ("lent", "dedicated")
NOT_RIVALS = OURS + ("inline",)
CONDITIONS = ("any", "far", "near")


class BadTarget(Exception):
    pass


class Subject:
    def __init__(self, words):
        if len(words) != 3 or "/" not in words[0]:
            raise BadTarget(f"\"{' '.join(words)}\": want WORKLOAD/PLACEMENT WHO METRIC")
        self.where, self.who, self.metric = words

    def __eq__(self, other):
        return vars(self) == vars(other)


class Target:
    def __init__(self, name, condition, subject, relation, factor, rival):
        self.name, self.condition, self.subject = name, condition, subject
        self.relation, self.factor, self.rival = relation, factor, rival

    def bound_text(self):
        if self.rival is None:
            return f"{self.relation} {self.factor:g}"
        other = "" if self.rival.where == self.subject.where else " of " + self.rival.where
        return f"{self.relation} {self.factor:g} x {self.rival.who}{other}"


def parse_line(line):
    fields = [field.strip() for field in line.split("|")]
    if len(fields) != 3:
        raise BadTarget("want NAME | CONDITION | SUBJECT RELATION BOUND")
    name, condition, claim = fields
    if condition not in CONDITIONS:
        raise BadTarget(f"condition \"{condition}\": want {', '.join(CONDITIONS)}")
    parts = re.split(r"\s(>=|<=)\s", claim)
    if len(parts) != 3:
        raise BadTarget(f"\"{claim}\": want one >= or <=")
    left, relation, right = parts
    factor, star, rival = right.partition("*")
    try:
        factor = float(factor)
    except ValueError:
        raise BadTarget(f"bound \"{right.strip()}\": want a number, or a number * a subject") from None
    return Target(name, condition, Subject(left.split()), relation, factor, Subject(rival.split()) if star else None)


def parse(text, file="targets"):
    targets = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                targets.append(parse_line(line))
            except BadTarget as error:
                raise BadTarget(f"{file}:{number}: {error}") from None
    return targets


class Verdict:
    """What the kept rounds say about one target and one of ours: a spread of values (or of ratios to the rival, each within
    its round), and whether its median meets the bound. Without a value, `why_not` tells."""

    def __init__(self, target, who, values, why_not=None):
        self.target, self.who = target, who
        self.spread = Spread(values) if values else None
        self.why_not = None if values else why_not
        self.met = None
        if values:
            self.met = self.spread.mid >= target.factor if target.relation == ">=" else self.spread.mid <= target.factor

    def as_json(self):
        return {"name": self.target.name, "who": self.who, "condition": self.target.condition,
                "bound": self.target.bound_text(), "met": self.met, "why_not_measured": self.why_not,
                "value": self.spread.as_json() if self.spread else None}


def _rival_value(round_, rival, relation, judged):
    peers = round_.figures
    if rival.who != "best":
        return peers.get(judged if rival.who == "same" else rival.who, {}).get(rival.metric)
    found = [figures[rival.metric] for who, figures in peers.items() if who not in NOT_RIVALS and rival.metric in figures]
    if not found:
        return None
    return max(found) if relation == ">=" else min(found)


def judge(target, rounds):
    """A verdict for each of ours that the target is about. `rounds`: those that were kept, of all workloads."""
    whos = OURS if target.subject.who == "ours" else (target.subject.who,)
    mine = [r for r in rounds if r.where == target.subject.where]
    fitting = [r for r in mine if target.condition in ("any", r.distance)]
    verdicts = []
    for who in whos:
        values = []
        for round_ in fitting:
            value = round_.figures.get(who, {}).get(target.subject.metric)
            if value is None:
                continue
            if target.rival is not None:
                other = [round_] if target.rival.where == target.subject.where else \
                    [r for r in rounds if r.where == target.rival.where and r.number == round_.number]
                bound = _rival_value(other[0], target.rival, target.relation, who) if other else None
                if not bound:
                    continue
                value /= bound
            values.append(value)
        if not mine:
            why = "its workload was not run"
        elif not fitting:
            why = f"no round was {target.condition}"
        else:
            why = f"no figure of {who} or its rival"
        verdicts.append(Verdict(target, who, values, why))
    return verdicts
