"""Medians, quartiles and the Mann-Whitney U test: what the two perf tools decide with. Standard library only."""

import math


def quantile(values, share):
    """Linear between the two nearest ranks."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


class Spread:
    """Median with the quartiles, of as many values as `count`."""

    def __init__(self, values):
        self.count = len(values)
        self.low, self.mid, self.high = (quantile(values, share) for share in (0.25, 0.5, 0.75))

    def as_json(self):
        return {"median": self.mid, "q1": self.low, "q3": self.high, "n": self.count}

    def text(self, scale=1.0, digits=3):
        low, mid, high = (number(v / scale, digits) for v in (self.low, self.mid, self.high))
        return f"{mid} [{low}..{high}]"


def number(value, digits=3):
    """As few digits as say something: 3 significant ones, no exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 4)}f}"


def u_statistic(first, second):
    """How many of all pairs have the value of `second` above that of `first`; a tie counts half."""
    return sum(1.0 if b > a else 0.5 if b == a else 0.0 for a in first for b in second)


def _ways(n, m):
    """ways[u]: in how many of all orders of n and m values without ties the statistic is u."""
    # Over the largest value: it is from the first sample (adds 0), or from the second (is above all n of the first).
    table = {}

    def count(n, m):
        if n == 0 or m == 0:
            return [1]
        if (n, m) not in table:
            without, with_it = count(n - 1, m), count(n, m - 1)
            ways = [0] * (n * m + 1)
            for u, w in enumerate(without):
                ways[u] += w
            for u, w in enumerate(with_it):
                ways[u + n] += w
            table[n, m] = ways
        return table[n, m]

    return count(n, m)


def mann_whitney(first, second):
    """One-sided: the probability of a U as large as this or larger if both samples were drawn from one distribution. Small:
    `second` is larger. Exact without ties and up to 400 pairs, else by the normal approximation with corrections for
    ties and continuity."""
    n, m = len(first), len(second)
    if n == 0 or m == 0:
        raise ValueError("no values")
    u = u_statistic(first, second)
    pooled = sorted(first + second)
    ties = [pooled.count(value) for value in set(pooled)]
    if max(ties) == 1 and n * m <= 400:
        ways = _ways(n, m)
        return sum(ways[round(u):]) / sum(ways)
    total = n + m
    variance = n * m / 12 * (total + 1 - sum(t ** 3 - t for t in ties) / (total * (total - 1)))
    if variance == 0:
        return 1.0  # all values are the same
    z = (u - n * m / 2 - 0.5) / math.sqrt(variance)
    return 0.5 * math.erfc(z / math.sqrt(2))
