#!/usr/bin/env python3
"""Rules of the tree that no compiler checks. tidy_test.py plants a breach of each and expects it refused.

    tests/tidy/tidy.py [ROOT]

Prints "file:line: [rule] what is wrong" for each breach; exit code 1 if there is any.
"""

import os
import re
import sys

CPP = (".hpp", ".cpp", ".h")
TEXT = CPP + (".py", ".sh", ".build", ".txt", ".wrap", ".pml", ".in", ".md", "")
MOST_LINES = 400

# Who may include whose private headers ("core/x.hpp"). Nothing points back: docs/ARCHITECTURE.md has the picture.
# The longest matching folder decides; a folder that is not named here is free.
ARROWS = {
    "include": set(),
    "src/core": {"core"},
    "src/platform": {"platform"},
    "src/sync": {"sync", "platform", "core"},  # what a word or a queue decides is pure; the CAS loop is here
    "src/memory": {"memory", "sync", "platform", "core"},
    "src/observe": {"observe", "sync", "platform", "core"},
    "src/flight": {"flight", "memory", "sync", "platform", "core"},
    "examples": set(),
    "tools": {"observe"},  # a report wants the library's own histogram
    "tests/api": set(),
    "tests/core": {"core"},
}
PRIVATE = {"core", "platform", "sync", "memory", "observe", "executor", "pool", "gate", "flight"}

THREAD_HEADERS = {"atomic", "thread", "mutex", "shared_mutex", "condition_variable", "semaphore", "latch", "barrier",
                  "future", "stop_token", "pthread.h"}
LOCK_WORDS = re.compile(r"\b(mutex|\w+_mutex(_t)?|Mutex(Lock)?|lock_guard|unique_lock|scoped_lock|shared_lock"
                        r"|condition_variable(_any)?|pthread_(mutex|cond|rwlock|spin)\w*|call_once|once_flag)\b")
ATOMIC_WORDS = re.compile(r"\bstd\s*::\s*(atomic(_ref|_flag)?|memory_order\w*)\b|\b__(atomic|sync)_\w+")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\\\s]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
                   r"|'(?:\\[^'\n]+|[^'\\\n])'", re.S)


class Tree:
    """The files of one tree, read once."""

    def __init__(self, root):
        self.root = root
        self.text = {}
        for folder, folders, names in os.walk(root):
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            folders[:] = sorted(f for f in folders if not self.is_foreign(relative, f))
            for name in names:
                path = name if relative == "." else f"{relative}/{name}"
                if path.startswith("tests/fuzz/corpus/"):
                    continue  # bytes, whatever they look like
                if path == ".git" or os.path.splitext(name)[1] not in TEXT or os.path.islink(os.path.join(folder, name)):
                    continue
                try:
                    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                        self.text[path] = file.read()
                except UnicodeDecodeError:
                    continue
        # The same text with comments and literals blanked out, line by line in place.
        self.code = {path: NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
                     for path, text in self.text.items() if path.endswith(CPP)}

    @staticmethod
    def is_foreign(folder, name):
        if folder == ".":
            return name.startswith("build") or name.startswith(".git") or name in (".cache", "traces")
        if folder == "subprojects":
            return name != "packagefiles"
        return name == "__pycache__"

    def includes(self, path):
        """(line, kind, name) of each include; comments are gone first, so a commented-out one does not count."""
        text = self.text[path]
        for match in INCLUDE.finditer(text):
            if self.code[path][match.start():match.end()].lstrip().startswith("#"):
                yield text.count("\n", 0, match.start()) + 1, match[1], match[2]

    def resolve(self, name):
        for folder in ("include/", "src/"):
            if folder + name in self.text:
                return folder + name
        return None


def find(pattern, text):
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group()


def atomics_through_the_seam(tree):
    for path in tree.code:
        if path.startswith("src/sync/") and path != "src/sync/atomic.hpp":
            for line, word in find(ATOMIC_WORDS, tree.code[path]):
                yield path, line, f"{word}: src/sync names its atomics through sync/atomic.hpp only"
            for line, _, name in tree.includes(path):
                if name == "atomic":
                    yield path, line, "<atomic>: include \"sync/atomic.hpp\" instead"


def sync_is_controlled(tree):
    """Each structure runs under the controlled scheduler, which asks that it came through the seam, and has a planted bug
    that must be found there."""
    tests = [path for path in tree.code if re.fullmatch(r"tests/control/\w+_test\.cpp", path)]
    included = {name for path in tests for _, _, name in tree.includes(path)}
    asked = "".join(tree.text[path] for path in tests)
    build = tree.text.get("tests/control/meson.build", "")
    for path in tree.code:
        name = path.removeprefix("src/sync/")
        if not re.fullmatch(r"src/sync/\w+\.[ch]pp", path) or name == "atomic.hpp":
            continue
        if name.endswith(".cpp"):
            # Where there is no function, templates of a header are instantiated for the library.
            if re.search(r"\)[^;{}]*\{", tree.code[path]) and f"src/sync/{name}'" not in build:
                yield path, 1, "tests/control/meson.build does not compile it"
            continue
        if f"sync/{name}" not in included:
            yield path, 1, "no tests/control/*_test.cpp includes it"
        if not any(inner == "sync/atomic.hpp" for _, _, inner in tree.includes(path)):
            continue
        if f"'{name}'" not in build:
            yield path, 1, "tests/control/meson.build plants no bug in it"
        if not re.search(rf'"{re.escape(os.path.splitext(name)[0])}(_impl)?\.[ch]pp"', asked):
            yield path, 1, "no must_hold() asks that its operations came through the seam"


# What may stand behind each order of success. g++ 12 refuses the rest, but only unoptimised, where nobody builds every day.
# Acquire behind release is neither weaker nor stronger; both compilers take it.
FAILURE_ORDERS = {
    "relaxed": {"relaxed"},
    "acquire": {"relaxed", "acquire"},
    "release": {"relaxed", "acquire"},
    "acq_rel": {"relaxed", "acquire"},
    "seq_cst": {"relaxed", "acquire", "seq_cst"},
}


def failure_is_not_stronger(tree):
    call = re.compile(r"\bcompare_exchange_(?:weak|strong)(?:_explicit)?\s*(\()")
    for path, code in tree.code.items():
        for match in call.finditer(code):
            end, depth = match.end(1), 1
            while end < len(code) and depth > 0:
                depth += {"(": 1, ")": -1}.get(code[end], 0)
                end += 1
            orders = re.findall(r"\bmemory_order(?:_|\s*::\s*)(\w+)", code[match.start():end])
            if len(orders) >= 2 and orders[-1] not in FAILURE_ORDERS.get(orders[-2], set()):
                line = code.count("\n", 0, match.start()) + 1
                yield path, line, f"{orders[-1]} on failure is stronger than {orders[-2]} on success"


def core_is_pure(tree):
    clock = re.compile(r"::\s*now\s*\(|\bclock_gettime\b|\b__rdtscp?\b")
    for path in tree.code:
        if not path.startswith("src/core/"):
            continue
        for line, word in find(clock, tree.code[path]):
            yield path, line, f"{word.strip()}: time comes into the core as an argument"
        # What our own headers bring along counts too.
        seen, todo = set(), [(line, name, name) for line, _, name in tree.includes(path)]
        while todo:
            line, name, through = todo.pop()
            if name in THREAD_HEADERS:
                yield path, line, f"<{name}> (through {through}): the core knows no threads"
            inner = tree.resolve(name)
            if inner is not None and inner not in seen:
                seen.add(inner)
                todo += [(line, n, through) for _, _, n in tree.includes(inner)]


def includes_follow_the_arrows(tree):
    for path in tree.code:
        folders = [f for f in ARROWS if path.startswith(f + "/")]
        if not folders:
            continue
        allowed = ARROWS[max(folders, key=len)]
        for line, kind, name in tree.includes(path):
            if kind == '"' and name.split("/")[0] in PRIVATE and "/" in name:
                if not any(name.startswith(a + "/") for a in allowed):
                    yield path, line, f"\"{name}\": {max(folders, key=len)} may not include that folder"
            if path.startswith("include/") and (kind == '"' or re.match(r"(concurrentqueue|mimalloc)", name)):
                yield path, line, f"{name}: a public header includes <sluice/...> and the standard library"


def no_locks(tree):
    listed = {}
    for number, entry in enumerate(tree.text.get("tests/tidy/locks.txt", "").splitlines(), 1):
        if entry.strip() and not entry.startswith("#"):
            path, _, reason = entry.partition(":")
            listed[path.strip()] = number
            if len(reason.split()) < 4:
                yield "tests/tidy/locks.txt", number, "an entry is \"file: reason\", the reason a sentence"
    used = set()
    for path in tree.code:
        if not path.startswith(("src/", "include/")):
            continue
        words = list(find(LOCK_WORDS, tree.code[path]))
        words += [(line, name) for line, _, name in tree.includes(path)
                  if name in ("mutex", "shared_mutex", "condition_variable")]
        if path in listed:
            used |= {path} if words else set()
            continue
        for line, word in words:
            yield path, line, f"{word}: no lock on any path a job takes (an exception goes to tests/tidy/locks.txt)"
    for path in sorted(set(listed) - used):
        yield "tests/tidy/locks.txt", listed[path], f"{path} has no lock; remove the entry"


def no_fences(tree):
    for path in tree.code:
        for line, word in find(re.compile(r"\batomic_(thread|signal)_fence\b"), tree.code[path]):
            yield path, line, f"{word}: ThreadSanitizer cannot model fences; order the operations themselves"


def files_fit_one_sitting(tree):
    for path, text in tree.text.items():
        lines = text.count("\n")
        if lines > MOST_LINES and not path.endswith((".md", ".txt")):
            yield path, MOST_LINES, f"{lines} lines; look for the second idea in it (at most {MOST_LINES})"


def plain_text(tree):
    home = re.compile(r"(?<![\w/.])/(home|root|Users|work)/\w+")
    for path, text in tree.text.items():
        for line, _ in find(re.compile(r"\t"), text):
            yield path, line, "a tab"
        for line, _ in find(re.compile(r"[ \t]+$", re.M), text):
            yield path, line, "white space at the end of the line"
        for line, word in find(home, text):
            yield path, line, f"{word}: a path of somebody's machine"
        if text and not text.endswith("\n"):
            yield path, text.count("\n") + 1, "no newline at the end of the file"


def pragma_once(tree):
    for path in tree.code:
        if path.endswith(".hpp") and not re.search(r"^#pragma once$", tree.code[path], re.M):
            yield path, 1, "a header begins with #pragma once"


def wraps_are_pinned(tree):
    for path, text in tree.text.items():
        if not path.endswith(".wrap"):
            continue
        if not re.search(r"^source_hash = [0-9a-f]{64}$", text, re.M):
            yield path, 1, "no source_hash of 64 hexadecimal digits"
        if not re.search(r"^\[provide\]$", text, re.M):
            yield path, 1, "no [provide] section"
        patch = re.search(r"^patch_directory = (\S+)$", text, re.M)
        if patch and f"subprojects/packagefiles/{patch[1]}/meson.build" not in tree.text:
            yield path, 1, f"subprojects/packagefiles/{patch[1]}/meson.build is not there"


def every_source_is_built(tree):
    for path in tree.code:
        if not path.startswith(("src/", "include/", "tests/", "tools/", "perf/", "examples/")):
            continue
        if path.endswith(".cpp") or path.startswith("include/"):
            # Named whole or without its ending, in a meson.build of its folder or of one above.
            name = os.path.splitext(path.rsplit("/", 1)[1])[0]
            folder, builds = path, []
            while "/" in folder:
                folder = folder.rsplit("/", 1)[0]
                builds.append(tree.text.get(folder + "/meson.build", ""))
            builds.append(tree.text.get("meson.build", ""))
            if path.startswith(("src/memory/mimalloc/", "tools/probe/", "tests/consumer/")):
                continue  # chosen by a computed name; compiled at configure time; a project of its own
            if path.startswith("tests/compile_fail/"):
                name = name.replace("_", "-")
            if not re.search(rf"(?<![\w-]){re.escape(name)}(\.[ch]pp)?'", "\n".join(builds)):
                yield path, 1, "no meson.build names it, so nobody compiles it"


def readme_shows_the_example(tree):
    """What README prints is what CI compiles, but for line breaks and the standard library's includes."""
    block = re.search(r"^```cpp\n(.*?)^```$", tree.text.get("README.md", ""), re.M | re.S)
    example = tree.text.get("examples/hello.cpp")
    if block is None or example is None:
        return
    example = re.sub(r"\A(//[^\n]*\n)*", "", example)

    def bare(text):
        return re.sub(r"\s+", "", re.sub(r"^#include <[^/>]+>$", "", text, flags=re.M))

    if bare(block[1]) != bare(example):
        line = tree.text["README.md"].count("\n", 0, block.start()) + 1
        yield "README.md", line, "the example differs from examples/hello.cpp"


RULES = [atomics_through_the_seam, sync_is_controlled, failure_is_not_stronger, core_is_pure, includes_follow_the_arrows,
         no_locks, no_fences, files_fit_one_sitting, plain_text, pragma_once, wraps_are_pinned, every_source_is_built,
         readme_shows_the_example]


def breaches(root):
    tree = Tree(root)
    if not tree.code:
        yield root, 0, "tidy", "no C++ file below this folder: wrong folder?"
    for rule in RULES:
        for path, line, text in rule(tree):
            yield path, line, rule.__name__, text


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    count = 0
    for path, line, rule, text in breaches(os.path.abspath(root)):
        print(f"{path}:{line}: [{rule}] {text}")
        count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
