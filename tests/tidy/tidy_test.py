#!/usr/bin/env python3
"""Goal: each rule of tidy.py refuses what it is there for, and leaves what only looks like it.
Method: the tree as it is passes; then one file is planted at a time into a small tree of the same shape.
"""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# A tree that keeps every rule, small enough to read here.
CLEAN = {
    "README.md": "```cpp\n#include <sluice/a.hpp>\nint main() {}\n```\n",
    "examples/meson.build": "e = 'hello'\n",
    "examples/hello.cpp": "// Says so.\n#include <sluice/a.hpp>\n\n#include <cstdio>\n\nint main() {\n}\n",
    "meson.build": "project('x', 'cpp')\nsources = files('src/core/a.cpp', 'src/sync/a.cpp', 'src/executor/a.cpp')\n",
    "include/sluice/a.hpp": "#pragma once\n#include <sluice/detail/b.hpp>\n",
    "include/sluice/detail/b.hpp": "#pragma once\n",
    "include/sluice/meson.build": "headers = ['a.hpp', 'detail/b.hpp']\n",
    "src/core/a.hpp": "#pragma once\n#include <sluice/a.hpp>\n",
    "src/core/a.cpp": "#include \"core/a.hpp\"\n#include <chrono>\n",
    "src/core/words/w.hpp": "#pragma once\n",
    "src/sync/atomic.hpp": "#pragma once\n#include <atomic>\ntemplate <class T> using Atomic = std::atomic<T>;\n",
    "src/sync/a.cpp": "#include \"core/words/w.hpp\"\n#include \"sync/atomic.hpp\"\n",
    "src/sync/b.hpp": "#pragma once\n#include \"sync/atomic.hpp\"\n",
    "src/executor/a.cpp": "#include \"core/a.hpp\"\n#include \"sync/atomic.hpp\"\n",
    "tests/control/meson.build": "copied = ['b.hpp']\nsources = files('b_test.cpp')\n",
    "tests/control/b_test.cpp": "#include \"sync/b.hpp\"\nvoid f() { must_hold(s, {\"b.hpp\"}); }\n",
    "subprojects/q.wrap": "[wrap-file]\nsource_hash = " + "0" * 64 + "\n[provide]\nq = q_dep\n",
}

# (rule, file, text): must be refused, by that rule and no other.
REFUSED = [
    ("atomics_through_the_seam", "src/sync/a.cpp", "std::atomic<int> x;\n"),
    ("atomics_through_the_seam", "src/sync/a.cpp", "std::atomic_ref r(x);\n"),
    ("atomics_through_the_seam", "src/sync/a.cpp", "x.load(std::memory_order_acquire);\n"),
    ("atomics_through_the_seam", "src/sync/a.cpp", "#include <atomic>\n"),
    ("atomics_through_the_seam", "src/sync/a.cpp", "int y = __atomic_load_n(&x, 0);\n"),
    ("sync_is_controlled", "src/sync/forgotten.hpp", "#pragma once\n"),
    ("sync_is_controlled", "tests/control/b_test.cpp", "// #include \"sync/b.hpp\"\n"),
    ("sync_is_controlled", "tests/control/b_test.cpp", "#include \"sync/b.hpp\"\nvoid f() { must_hold(s, {}); }\n"),
    ("sync_is_controlled", "tests/control/meson.build", "sources = files('b_test.cpp')\n"),
    ("sync_is_controlled", "src/sync/a.cpp", "int A::get() const {\n    return 1;\n}\n"),
    ("failure_is_not_stronger", "src/executor/a.cpp",
     "x.compare_exchange_weak(old, f(next), memory_order_relaxed,\n    memory_order_acquire);\n"),
    ("failure_is_not_stronger", "src/executor/a.cpp",
     "x.compare_exchange_strong(a, b, std::memory_order::release, std::memory_order::seq_cst);\n"),
    ("failure_is_not_stronger", "tests/core/t.hpp",
     "#pragma once\nbool b = x.compare_exchange_strong(a, b, memory_order_acq_rel, memory_order_seq_cst);\n"),
    ("core_is_pure", "src/core/a.cpp", "#include <atomic>\n"),
    ("core_is_pure", "src/core/a.cpp", "#include <thread>\n"),
    ("core_is_pure", "src/core/a.cpp", "#  include <latch>\n"),
    ("core_is_pure", "src/core/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("core_is_pure", "include/sluice/detail/b.hpp", "#pragma once\n#include <atomic>\n"),
    ("includes_follow_the_arrows", "src/core/a.cpp", "#include \"executor/engine.hpp\"\n"),
    ("includes_follow_the_arrows", "src/sync/a.cpp", "#include \"memory/a.hpp\"\n"),
    ("includes_follow_the_arrows", "include/sluice/a.hpp", "#pragma once\n#include \"core/a.hpp\"\n"),
    ("includes_follow_the_arrows", "include/sluice/a.hpp", "#pragma once\n#include <mimalloc.h>\n"),
    ("includes_follow_the_arrows", "tools/t.hpp", "#pragma once\n#include \"executor/engine.hpp\"\n"),
    ("includes_follow_the_arrows", "tests/core/t.hpp", "#pragma once\n#include \"sync/atomic.hpp\"\n"),
    ("no_locks", "src/executor/a.cpp", "std::mutex m;\n"),
    ("no_locks", "src/executor/a.cpp", "#include <mutex>\n"),
    ("no_locks", "include/sluice/a.hpp", "#pragma once\ninline void f() { pthread_mutex_lock(m); }\n"),
    ("no_locks", "src/executor/a.cpp", "std::condition_variable_any c;\n"),
    ("no_locks", "src/executor/a.cpp", "const platform::MutexLock lock(m);\n"),
    ("no_locks", "tests/tidy/locks.txt", "src/executor/a.cpp: it had one once, long ago\n"),
    ("no_fences", "src/executor/a.cpp", "std::atomic_thread_fence(order);\n"),
    ("files_fit_one_sitting", "src/executor/a.cpp", "int x();\n" * 401),
    ("plain_text", "src/executor/a.cpp", "int\tx;\n"),
    ("plain_text", "src/executor/a.cpp", "int x; \n"),
    ("plain_text", "src/executor/a.cpp", "int x;"),
    ("plain_text", "README.md", "see /" + "home/me/notes\n"),
    ("pragma_once", "src/core/a.hpp", "int x;\n"),
    ("wraps_are_pinned", "subprojects/q.wrap", "[wrap-file]\n[provide]\nq = q_dep\n"),
    ("wraps_are_pinned", "subprojects/q.wrap", "[wrap-file]\nsource_hash = " + "0" * 64 + "\n"),
    ("wraps_are_pinned", "subprojects/q.wrap", CLEAN["subprojects/q.wrap"] + "patch_directory = q\n"),
    ("readme_shows_the_example", "README.md", "```cpp\n#include <sluice/a.hpp>\nint main() { return 0; }\n```\n"),
    ("every_source_is_built", "src/executor/forgotten.cpp", "int x;\n"),
    ("every_source_is_built", "include/sluice/forgotten.hpp", "#pragma once\n"),
]

# (file, text): looks like a breach and is none.
ACCEPTED = [
    ("src/sync/a.cpp", "// std::atomic would bypass the seam\n/* <atomic>\n#include <atomic>\n*/\n"),
    ("src/sync/a.cpp", "const char* text = \"std::atomic\";\n"),
    ("src/core/a.cpp", "int now(int);\nint permutex;\n"),
    ("src/executor/a.cpp", "// a mutex here would be met by submit\nint x = 1'000'000;\n"),
    ("src/executor/a.cpp", "x.compare_exchange_weak(a, b, memory_order_release, memory_order_acquire);\n"
                           "x.compare_exchange_weak(a, b, memory_order_relaxed);\nx.load(memory_order_acquire);\n"
                           "x.compare_exchange_weak(a, b);  // memory_order_relaxed, memory_order_acquire\n"),
    ("src/sync/a.cpp", "template class A<int>;\n"),
    ("subprojects/q-1.0/a.cpp", "std::mutex\tm; "),
    ("build/x.cpp", "std::mutex\tm; "),
    ("tests/executor/t.hpp", "#pragma once\n#include <mutex>\n#include \"executor/engine.hpp\"\nstd::mutex m;\n"),
    ("src/executor/a.cpp", "int x();\n" * 400),
]


class TidyTest(unittest.TestCase):
    def breaches_of(self, changed):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **changed}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
            return list(tidy.breaches(root))

    def test_the_small_tree_is_clean(self):
        self.assertEqual(self.breaches_of({}), [])

    def test_each_breach_is_refused_by_its_rule(self):
        for rule, path, text in REFUSED:
            with self.subTest(rule=rule, path=path, text=text[:60]):
                self.assertEqual({found for _, _, found, _ in self.breaches_of({path: text})}, {rule})

    def test_every_rule_has_a_breach_here(self):
        self.assertEqual({rule.__name__ for rule in tidy.RULES}, {rule for rule, _, _ in REFUSED})

    def test_what_only_looks_like_a_breach_passes(self):
        for path, text in ACCEPTED:
            with self.subTest(path=path, text=text[:60]):
                self.assertEqual(self.breaches_of({path: text}), [])

    def test_a_lock_with_a_reason_passes(self):
        allowed = {"src/executor/a.cpp": "std::mutex m;\n",
                   "tests/tidy/locks.txt": "src/executor/a.cpp: taken at construction only, before any job\n"}
        self.assertEqual(self.breaches_of(allowed), [])
        allowed["tests/tidy/locks.txt"] = "src/executor/a.cpp:\n"
        self.assertEqual({found for _, _, found, _ in self.breaches_of(allowed)}, {"no_locks"})

    def test_a_breach_planted_into_the_real_tree_is_refused(self):
        real = tidy.Tree(ROOT)
        self.assertGreater(len(real.code), 10)
        sync = sorted(path for path in real.code if path.startswith("src/sync/") and path.endswith(".cpp"))
        self.assertTrue(sync, "src/sync has no source any more; plant elsewhere")
        real.text[sync[0]] += "std::atomic<int> planted;\n"
        real.code[sync[0]] += "std::atomic<int> planted;\n"
        self.assertIn(sync[0], [path for path, _, _ in tidy.atomics_through_the_seam(real)])


if __name__ == "__main__":
    unittest.main()
