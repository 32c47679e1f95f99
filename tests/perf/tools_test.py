#!/usr/bin/env python3
"""What tools/perf and tools/perf-compare decide with, and the model of perf/model.

    tools_test.py ROOT [NAME...]

Each test says in its name what it shows. With names, only those run. Prints TAP for meson.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "tools/perf_lib"), os.path.join(root, "perf/model"), os.path.join(root, "tests/support")]
sys.dont_write_bytecode = True
import compare  # noqa: E402
import counts  # noqa: E402
import model  # noqa: E402
import plant  # noqa: E402
import plot  # noqa: E402
import rounds  # noqa: E402
import stats  # noqa: E402
import targets  # noqa: E402
from cases import Skipped, run, test  # noqa: E402
from simulation import Costs, Simulation  # noqa: E402

COSTS = {"submit": 60, "decide": 40, "job": 20, "hop": 60, "hop_bulk": 10, "line": 250, "wake": 10_000, "wake_call": 1_100}


def tool(name, *words):
    return subprocess.run([sys.executable, os.path.join(root, "tools/perf_lib", name), *words], capture_output=True, text=True,
                          timeout=60, check=False)


def script(name, *words):
    return subprocess.run([os.path.join(root, "tools", name), *words], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)


def refused(done, *words):
    assert done.returncode == 2, (done.returncode, done.stderr)
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr}"
    assert done.stdout == "", done.stdout


# ---- statistics --------------------------------------------------------------------------------------------------------


@test
def mann_whitney_is_exact_for_small_samples():
    # By enumeration: of all ways to draw four of nine ranks, how many have a U as large?
    for first, second in (([1, 2, 3, 4, 5], [6, 7, 8, 9]), ([1, 3, 5, 7, 9], [2, 4, 6, 8]), ([5, 6, 7, 8, 9], [1, 2, 3, 4])):
        pooled = sorted(first + second)
        observed = stats.u_statistic(first, second)
        drawn = [[v for v in pooled if v in s] for s in map(set, itertools.combinations(pooled, len(second)))]
        as_large = sum(stats.u_statistic([v for v in pooled if v not in d], d) >= observed for d in drawn)
        assert abs(stats.mann_whitney(first, second) - as_large / len(drawn)) < 1e-12, (first, second)


@test
def mann_whitney_agrees_with_published_values():
    # All of one above all of the other: 1 of C(10, 5) = 252 orders.
    assert abs(stats.mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) - 1 / 252) < 1e-12
    # The one-sided 5 % point of n = m = 10 is U = 27 (73 from the other side); of n = m = 5 it is 4 (21).
    for size, point in ((10, 73), (5, 21)):
        ways = stats._ways(size, size)
        assert sum(ways[point:]) / sum(ways) <= 0.05 < sum(ways[point - 1:]) / sum(ways), size


@test
def mann_whitney_with_ties_is_the_normal_approximation_and_never_finds_what_is_the_same():
    assert stats.mann_whitney([3] * 9, [3] * 9) == 1.0
    assert 0.4 < stats.mann_whitney([1, 2, 2, 3] * 5, [1, 2, 2, 3] * 5) < 0.6
    big = [float(i) for i in range(40)]
    assert stats.mann_whitney(big, [v + 20.5 for v in big]) < 1e-6
    assert stats.mann_whitney([v + 20.5 for v in big], big) > 1 - 1e-6


@test
def an_unchanged_tree_passes_and_a_tenth_is_found_in_noise_of_three_percent():
    draw = random.Random(7)

    def sample(middle):
        return [draw.gauss(middle, 0.03 * middle) for _ in range(12)]

    comparisons = len(compare.TIMED)
    false_alarms = sum(compare.worse(sample(100), sample(100), False, comparisons)[2] for _ in range(2_000))
    assert false_alarms == 0, false_alarms
    found = sum(compare.worse(sample(100), sample(110), False, comparisons)[2] for _ in range(200))
    assert found >= 196, found
    found = sum(compare.worse(sample(110), sample(100), True, comparisons)[2] for _ in range(200))
    assert found >= 190, found


@test
def a_difference_that_is_sure_but_small_is_no_regression():
    old = [100 + i / 100 for i in range(12)]
    ratio, chance, bad = compare.worse(old, [v * 1.03 for v in old], False, 7)
    assert 1.02 < ratio < 1.04 and chance < 1e-5 and not bad


@test
def quartiles_are_interpolated():
    spread = stats.Spread([1, 2, 3, 4])
    assert (spread.low, spread.mid, spread.high, spread.count) == (1.75, 2.5, 3.25, 4)
    assert stats.number(1234.5) == "1,234" and stats.number(0.0123456) == "0.0123" and stats.number(0) == "0"


# ---- rounds and targets ------------------------------------------------------------------------------------------------


def made(where, before, after, figures, number=0):
    name, placement = where.split("/")
    return rounds.Round(rounds.Plan(name, (placement,), (), 0, ""), placement, number, before, after, figures)


@test
def a_round_counts_if_the_placement_did_not_flip_and_the_probe_stayed():
    assert rounds.distance(140, 150) == "near" and rounds.distance(450, 520) == "far"
    assert rounds.distance(140, 450) == rounds.distance(450, 140) == "flipped"
    assert rounds.distance(300, 600) == "flipped"
    assert made("W1/apart", 140, 450, {}).kept is False and made("W1/apart", 450, 450, {}).kept is True


class Fake:
    """Programs that answer what a test says; the probe answers the next of `probes`."""

    def __init__(self, probes):
        self.probes, self.commands = iter(probes), []

    def __call__(self, command):
        self.commands.append(command)
        if "--list" in command:
            return {"lent": {}, "tbb": {}}
        if "pingpong" in command:
            return {"pingpong": next(self.probes)}
        return {"jobs_per_s": 1e6}


@test
def flipped_rounds_are_measured_again_and_a_machine_that_never_rests_ends_too():
    import main
    plan = rounds.Plan("W1", ("apart",), ("lent", "tbb", "asio"), 0.3, "")
    args = main.arguments(["--rounds", "2"])
    fake = Fake([450, 150, 450, 460, 440, 450])
    found = main.measure(rounds.Machine("x", 1, fake), [plan], args, lambda text: None)
    assert [r.distance for r in found] == ["flipped", "far", "far"]
    assert all(sorted(r.figures) == ["lent", "tbb"] for r in found), "asio was not built"
    never = main.measure(rounds.Machine("x", 1, Fake(itertools.cycle([450, 150]))), [plan], args, lambda text: None)
    assert len(never) == 4 and not any(r.kept for r in never)


@test
def the_shipped_targets_parse_and_speak_of_what_is_measured():
    with open(os.path.join(root, "perf/targets.txt"), encoding="utf-8") as file:
        found = targets.parse(file.read())
    assert len(found) >= 25
    plans = {f"{p.name}/{placement}": p for p in rounds.PLANS for placement in p.placements}
    special = ("ours", "best", "same")
    for target in found:
        for subject in filter(None, (target.subject, target.rival)):
            assert subject.where in plans, (target.name, subject.where)
            assert subject.who in special or subject.who in plans[subject.where].peers, (target.name, subject.who)


@test
def a_line_that_is_no_target_is_refused_with_its_number():
    for line, word in (("a | any", "want NAME"), ("a | always | W1/free ours x >= 1", "always"),
                       ("a | any | W1/free ours x > 1", "want one >="), ("a | any | W1 ours x >= 1", "WORKLOAD/PLACEMENT"),
                       ("a | any | W1/free ours x >= two", "two"), ("a | any | W1/free ours x >= 2 * W1/free tbb", "W1/free tbb")):
        try:
            targets.parse("# a comment\n" + line, "t.txt")
        except targets.BadTarget as error:
            assert "t.txt:2" in str(error) and word in str(error), error
        else:
            raise AssertionError(line)


def verdicts(line, *made_rounds):
    return {v.who: v for v in targets.judge(targets.parse_line(line), made_rounds)}


@test
def a_target_is_judged_by_the_median_of_ratios_within_rounds_for_each_policy():
    # The machine doubles its speed between rounds: ratios of medians would mislead.
    figures = [{"lent": {"j": 2.0 * s}, "dedicated": {"j": 3.0 * s}, "tbb": {"j": 1.2 * s}, "asio": {"j": 0.5 * s},
                "inline": {"j": 99.0}} for s in (1, 2, 4)]
    got = verdicts("t | far | W1/apart ours j >= 2 * W1/apart best j", *(made("W1/apart", 450, 450, f) for f in figures))
    assert abs(got["lent"].spread.mid - 2 / 1.2) < 1e-9 and got["lent"].met is False
    assert got["dedicated"].met is True and got["dedicated"].spread.count == 3
    got = verdicts("t | far | W1/apart ours j <= 2 * W1/apart best j", *(made("W1/apart", 450, 450, f) for f in figures))
    assert abs(got["lent"].spread.mid - 4) < 1e-9, "the best of what should be small is the smallest"


@test
def a_target_for_far_cpus_says_so_when_they_were_near():
    near = made("W1/apart", 140, 140, {"lent": {"j": 2.0}, "dedicated": {"j": 2.0}})
    got = verdicts("t | far | W1/apart ours j >= 1", near)
    assert got["lent"].met is None and "no round was far" in got["lent"].why_not
    assert verdicts("t | any | W1/apart ours j >= 1", near)["lent"].met is True
    assert "not run" in verdicts("t | any | W2/apart ours j >= 1", near)["lent"].why_not
    assert "no figure" in verdicts("t | any | W1/apart ours j >= 1 * W1/apart tbb j", near)["lent"].why_not


@test
def a_workload_may_be_judged_beside_another_of_the_same_round():
    pair = [made("W2c/apart", 450, 450, {"lent": {"j": 9.0}, "dedicated": {"j": 8.0}}, 3),
            made("W2/apart", 450, 450, {"lent": {"j": 10.0}, "dedicated": {"j": 8.0}}, 3),
            made("W2/apart", 450, 450, {"lent": {"j": 1.0}, "dedicated": {"j": 1.0}}, 4)]
    got = verdicts("t | any | W2c/apart ours j >= 0.95 * W2/apart same j", *pair)
    assert got["lent"].spread.mid == 0.9 and not got["lent"].met and got["dedicated"].met


# ---- comparing, counting, planting -------------------------------------------------------------------------------------


@test
def callgrind_totals_are_read():
    assert counts.parse("events: Ir\nsummary: 1234\nfn=(1)\n1 5\ntotals: 1234\n") == 1234
    try:
        counts.parse("events: Ir\n")
    except rounds.Failed:
        pass
    else:
        raise AssertionError("a file without a total")
    text = "fn=(1) core\n+1 30\ncfn=(2) queue\ncalls=1 5\n+2 70\nfn=(2)\n5 70\n"
    assert counts.functions(text, 10, 2) == [(7.0, "queue"), (3.0, "core")]


@test
def more_instructions_than_the_base_are_a_regression_and_the_same_are_none():
    def measure(growth):
        return lambda program, loop: 300.0 * (growth if program.startswith("new") and loop == "core-64" else 1)

    for growth, names in ((1.0, []), (1.019, []), (1.1, ["core-64"]), (0.5, [])):
        devnull, kept = open(os.devnull, "w", encoding="utf-8"), sys.stdout
        sys.stdout = devnull
        try:
            slower, _ = compare.compare_counts("old", "new", measure(growth))
        finally:
            sys.stdout = kept
            devnull.close()
        assert [line.split(":")[0] for line in slower] == names, (growth, slower)


@test
def the_shipped_baseline_has_every_loop():
    if not os.path.exists(os.path.join(root, "perf/baseline.json")):
        raise Skipped("no baseline was taken yet: tools/perf-compare --update-baseline")
    with open(os.path.join(root, "perf/baseline.json"), encoding="utf-8") as file:
        baseline = json.load(file)
    assert set(baseline["instructions"]) == set(counts.LOOPS) and baseline["compiler"], baseline


@test
def a_slowdown_is_planted_in_the_core_as_it_is_now():
    with open(os.path.join(root, "src/core/scheduler.cpp"), encoding="utf-8") as file:
        text = file.read()
    new = plant.planted(text, 30)
    assert new is not None and new.count("planted < 6;") == 1, "tell tools/perf_lib/plant.py what enqueue is called now"
    assert plant.planted("nothing here", 30) is None


# ---- command lines -----------------------------------------------------------------------------------------------------


@test
def perf_refuses_what_it_does_not_know():
    refused(tool("main.py", "--only", "W2,W9"), "W9", "W2b")
    refused(tool("main.py", "--peers", "lent,rust"), "rust", "tbb")
    refused(tool("main.py", "--rounds", "0"), "--rounds 0")
    refused(tool("main.py", "--rounds", "many"), "many")
    refused(tool("main.py", "--bogus"), "--bogus")
    refused(tool("main.py", "W2"), "W2")
    refused(tool("main.py", "--targets", "/nowhere"), "/nowhere")
    assert tool("main.py", "--check", "--only", "W2,W4a", "--quick").returncode == 0


@test
def perf_compare_refuses_what_it_does_not_know():
    refused(tool("compare.py"), "BASE")
    refused(tool("compare.py", "HEAD", "--update-baseline"), "BASE")
    refused(tool("compare.py", "HEAD", "--rounds", "3"), "--rounds 3")
    refused(tool("compare.py", "HEAD", "--no-times", "--no-counts"), "nothing")
    refused(tool("compare.py", "HEAD", "--plant", "0"), "--plant 0")
    assert tool("compare.py", "HEAD", "--check", "--plant", "10").returncode == 0


@test
def the_scripts_refuse_before_they_build():
    refused(script("perf", "--only", "W9"), "W9")
    refused(script("perf-compare"), "BASE")


@test
def a_program_that_is_not_there_ends_perf_with_1():
    with tempfile.TemporaryDirectory() as folder:
        done = tool("main.py", "--programs", folder, "--targets", os.path.join(root, "perf/targets.txt"))
    assert done.returncode == 1 and "workloads" in done.stderr, done


# ---- the model ---------------------------------------------------------------------------------------------------------


@test
def one_scheduler_feeds_long_jobs_and_is_the_bound_of_empty_ones():
    costs = Costs(COSTS)
    rate, deciding = Simulation(costs, 8, "dedicated", 100_000).throughput(2_000)
    assert 0.9 * 8e4 < rate <= 8.1e4 and deciding < 0.05, (rate, deciding)
    rate, deciding = Simulation(costs, 8, "dedicated", 0).throughput(20_000)
    assert deciding > 0.95 and rate < 1e9 / COSTS["decide"], (rate, deciding)


@test
def no_more_runs_than_workers_and_cpus_have_time_for():
    costs = Costs(COSTS)
    for policy in ("lent", "dedicated"):
        for workers in (1, 2, 8):
            for job_ns in (0, 1_000, 100_000):
                most = workers * 1e9 / (job_ns + COSTS["job"])
                assert Simulation(costs, workers, policy, job_ns).throughput(20_000)[0] <= most * 1.02
        rate = Simulation(costs, 8, policy, 10_000, producers=1, cpus=2).throughput(3_000)[0]
        assert rate < 2.05e5, rate


@test
def the_same_costs_give_the_same_bytes():
    first, second = ([Simulation(Costs(COSTS), 8, policy, 1_000).throughput(5_000) for policy in ("lent", "dedicated")]
                     for _ in range(2))
    assert first == second


@test
def the_model_is_within_its_bound_of_what_was_measured():
    with open(os.path.join(root, "perf/model/parameters.json"), encoding="utf-8") as file:
        parameters = json.load(file)
    if not parameters["measured_jobs_per_s"]:
        raise Skipped("nothing was measured yet: perf/model/model.py --measure build/perf/perf")
    for name, measured, modelled in model.check(parameters):
        assert max(measured / modelled, modelled / measured) < model.MOST_OFF, (name, measured, modelled)


@test
def the_plot_has_a_panel_a_job_length_and_a_line_a_policy():
    rows = [(policy, job_ns, workers, 1, 1e6 * workers, 0.5) for policy in ("lent", "dedicated", "keyed")
            for job_ns in (0, 1_000) for workers in (1, 8)]
    picture = plot.svg(rows)
    assert picture.count("<polyline") == 6 and picture.count("empty jobs") == 1 and "jobs of 1 us" in picture


run(sys.argv[2:])
