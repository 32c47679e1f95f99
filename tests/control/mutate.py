#!/usr/bin/env python3
"""Copies of headers of src/sync with one planted bug each, for the controlled scheduler to find.

    mutate.py OUT.hpp OUT.inc MUTANTS.txt FILE...

The files are copied for each mutant, in this order. MUTANTS.txt is blocks of
    name: what is wrong
    - text of the original
    + text instead
Several lines of one sign are one text; white space and comments do not count. The text must be there exactly once, or this
fails: a mutant that does not change anything any more would live on unseen.

OUT.hpp has each copy in a namespace sluice::sync::<name>, OUT.inc a line SLUICE_MUTANT(name, "what is wrong") for each.
"""

import os
import re
import sys

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def without_comments(text):
    return COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0]), text)


def parse(path):
    mutants = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith(("- ", "+ ")):
                mutants[-1][line[0]].append(line[2:])
            else:
                name, colon, change = line.partition(":")
                if not colon or not name.isidentifier():
                    sys.exit(f"{path}:{number}: neither \"name: what is wrong\" nor a text of it")
                mutants.append({"name": name, "change": change.strip(), "-": [], "+": []})
    if not mutants:
        sys.exit(f"{path}: no mutants")
    return mutants


def mutated(texts, mutant, path):
    pattern = re.compile(r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", " ".join(mutant["-"]))))
    found = [(name, match) for name, text in texts.items() for match in pattern.finditer(text)]
    if not mutant["-"] or len(found) != 1:
        sys.exit(f"{path}: {mutant['name']}: its text is there {len(found)} times, and must be once")
    name, match = found[0]
    changed = dict(texts)
    changed[name] = texts[name][:match.start()] + "\n".join(mutant["+"]) + texts[name][match.end():]
    return changed


def main():
    header, index, listing, *files = sys.argv[1:]
    mutants = parse(listing)
    texts = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = without_comments(file.read()).replace("#pragma once", "")
    copied = re.compile(r'^#include "sync/(' + "|".join(map(re.escape, texts)) + r')"', re.M)
    out, lines = ["#pragma once\n"], []
    for mutant in mutants:
        for name, text in mutated(texts, mutant, listing).items():
            text, count = re.subn(r"^namespace sluice::sync \{", f"namespace sluice::sync::{mutant['name']} {{", text,
                                  flags=re.M)
            if count == 0:
                sys.exit(f"{listing}: {name} has no namespace sluice::sync")
            out.append(f'#line 1 "{mutant["name"]}/{name}"\n' + copied.sub("", text))
        lines.append(f'SLUICE_MUTANT({mutant["name"]}, "{mutant["change"]}")\n')
    lines.append("#undef SLUICE_MUTANT\n")
    for path, parts in ((header, out), (index, lines)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(parts))


if __name__ == "__main__":
    main()
