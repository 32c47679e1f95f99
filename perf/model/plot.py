"""The model's rows as an SVG: a panel a job length, workers to the right, jobs per second upwards, both logarithmic."""

import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 210, 62, 46, 40
STYLES = {"lent": ("#1b6ca8", ""), "dedicated": ("#c0392b", "6 3"), "keyed": ("#2e7d32", "2 3")}
NAMES = {"lent": "one executor, role lent", "dedicated": "one executor, role dedicated",
         "keyed": "a set of executors by key, 8 workers each"}


def length_text(ns):
    if ns == 0:
        return "empty jobs"
    return f"jobs of {ns / 1000:g} us"


def rate_text(rate):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:g} {unit}"
    return f"{rate:g}"


def panel(x, y, rows, decades):
    low, high = decades
    most = max(row[2] for row in rows)

    def at(workers, rate):
        across = math.log(workers) / math.log(most) * WIDTH
        up = (math.log10(rate) - low) / (high - low) * HEIGHT
        return x + across, y + HEIGHT - up

    parts = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
             f'<text x="{x + WIDTH / 2}" y="{y - 8}" text-anchor="middle" font-weight="bold">{length_text(rows[0][1])}</text>']
    for decade in range(low, high + 1):
        line = at(1, 10.0 ** decade)[1]
        parts.append(f'<line x1="{x}" y1="{line:.1f}" x2="{x + WIDTH}" y2="{line:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6}" y="{line + 4:.1f}" text-anchor="end">{rate_text(10.0 ** decade)}/s</text>')
    for workers in sorted({row[2] for row in rows}):
        across = at(workers, 10.0 ** low)[0]
        parts.append(f'<text x="{across:.1f}" y="{y + HEIGHT + 16}" text-anchor="middle">{workers}</text>')
    for policy, (colour, dash) in STYLES.items():
        points = [at(row[2], row[4]) for row in rows if row[0] == policy]
        if not points:
            continue
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
    return parts


def svg(rows):
    lengths = sorted({row[1] for row in rows})
    decades = (math.floor(math.log10(min(row[4] for row in rows))), math.ceil(math.log10(max(row[4] for row in rows))))
    columns = 2
    lines = math.ceil(len(lengths) / columns)
    width = columns * (WIDTH + LEFT) + GAP
    height = TOP + lines * (HEIGHT + GAP + 20) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="11">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, (policy, (colour, dash)) in enumerate(STYLES.items()):
        x = LEFT + i * 190
        parts.append(f'<line x1="{x}" y1="14" x2="{x + 24}" y2="14" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        parts.append(f'<text x="{x + 30}" y="18">{NAMES[policy]}</text>')
    for i, job_ns in enumerate(lengths):
        x = LEFT + i % columns * (WIDTH + LEFT)
        y = TOP + i // columns * (HEIGHT + GAP + 20)
        parts += panel(x, y, [row for row in rows if row[1] == job_ns], decades)
    parts.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">workers</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
