#!/usr/bin/env python3
"""The judge of coverage refuses what it must: a line without a reason, a reason for nothing, an entry that is none."""

import collections
import unittest

import judge


def report(counts, branches=()):
    return {"current_working_directory": "/tree/build",
            "files": [{"file": "../src/core/a.cpp", "functions": [{"name": "_Z1fv", "demangled_name": "f()"}],
                       "lines": [{"line_number": n, "count": c, "function_name": "_Z1fv",
                                  "branches": [{"count": b, "throw": t} for b, t in branches]} for n, c in counts]},
                      {"file": "/usr/include/c++/12/vector", "functions": [], "lines": []}]}


class Judge(unittest.TestCase):
    def judged(self, reasons, *reports):
        files = collections.defaultdict(judge.File)
        for one in reports:
            judge.add(files, one, "/tree")
        return judge.judge(files, lambda path: ["one();", "two();", "three();"], list(judge.read_reasons(reasons)))

    def test_what_any_object_reached_is_reached(self):
        uncovered, complaints = self.judged("", report([(1, 0), (2, 1)]), report([(1, 3), (2, 0)]))
        self.assertEqual((uncovered, complaints), ([], []))

    def test_a_line_wants_a_reason(self):
        uncovered, complaints = self.judged("", report([(2, 0)]))
        self.assertEqual(uncovered, [("src/core/a.cpp", 2, "two();", None)])
        self.assertEqual(len(complaints), 1)

    def test_a_reason_is_by_text_or_by_function(self):
        for entry in ("src/core/a.cpp | two | none calls it", "src/core/* | f() | nobody calls it"):
            uncovered, complaints = self.judged(entry, report([(2, 0)]))
            self.assertEqual(complaints, [])
            self.assertIn("calls it", uncovered[0][3])

    def test_a_reason_for_nothing_is_refused_unless_by_chance(self):
        self.assertEqual(len(self.judged("src/core/a.cpp | two | never", report([(2, 1)]))[1]), 1)
        self.assertEqual(self.judged("src/core/a.cpp | two | by chance: a race", report([(2, 1)]))[1], [])

    def test_an_entry_has_three_parts(self):
        with self.assertRaises(ValueError):
            list(judge.read_reasons("src/core/a.cpp | two"))

    def test_branches_of_exceptions_do_not_count(self):
        files = collections.defaultdict(judge.File)
        judge.add(files, report([(1, 1)], [(1, False), (0, False), (0, True)]), "/tree")
        self.assertEqual(files["src/core/a.cpp"].branches, {(1, 2): [1, 0]})


if __name__ == "__main__":
    unittest.main()
