"""Plants a slowdown in a copy of the tree: work at the head of Scheduler::enqueue, through which every job goes.

    plant.py TREE INSTRUCTIONS
"""

import re
import sys

HEAD = re.compile(r"^void Scheduler::enqueue\(Job& job\) noexcept \{\n", re.M)
PER_TURN = 5  # instructions of one turn of the planted loop


def planted(text, instructions):
    turns = max(1, round(instructions / PER_TURN))
    line = f"    for (volatile int planted = 0; planted < {turns}; planted = planted + 1) {{}}\n"
    new, count = HEAD.subn(lambda match: match[0] + line, text)
    return new if count == 1 else None


def main(tree, instructions):
    file = f"{tree}/src/core/scheduler.cpp"
    with open(file, encoding="utf-8") as source:
        new = planted(source.read(), float(instructions))
    if new is None:
        print(f"plant.py: {file} has no Scheduler::enqueue as it was; tell plant.py what it is called now", file=sys.stderr)
        return 1
    with open(file, "w", encoding="utf-8") as source:
        source.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
