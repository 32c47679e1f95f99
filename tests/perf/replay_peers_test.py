#!/usr/bin/env python3
"""replay-peers as its users meet it: a trace in, the peers' figures beside each other out.

    replay_peers_test.py PROGRAM SHIPPED_TRACE [NAME...]

Each test says in its name what it shows. With names, only those run. Prints TAP for meson. No figure is judged: the machine
may be busy.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.dont_write_bytecode = True
from cases import expect, run, test  # noqa: E402

HEADER = "arrival_us,actor,lane,class,service_us,bytes\n"
LONGEST = 120  # seconds that a loaded machine may take for any one comparison

program, shipped = sys.argv[1:3]
folder = tempfile.TemporaryDirectory()


def trace(text, name="t.csv"):
    path = os.path.join(folder.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def compare(*words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=LONGEST, check=False,
                          stdin=subprocess.DEVNULL)


def report(*words):
    done = compare("--trace", shipped, "--jobs", "500", *words, "--json", "-", "--quiet")
    assert done.returncode == 0, done
    assert done.stderr == "", done.stderr
    return json.loads(done.stdout)


@test
def every_job_of_the_shipped_trace_runs_once_in_each_round_of_each_peer():
    json_report = report("--peers", "naive,lent", "--rounds", "3", "--utilisation", "0.7")
    assert [peer["name"] for peer in json_report["peers"]] == ["naive", "lent"]
    assert json_report["run"]["jobs"] == 500 and abs(json_report["run"]["utilisation"] - 0.7) < 1e-6, json_report["run"]
    for peer in json_report["peers"]:
        assert peer["jobs"] == {"planned": 1500, "ran": 1500, "lost": 0, "twice": 0}, peer["jobs"]


@test
def every_peer_of_this_build_runs_all():
    listed = [line.split()[0] for line in compare("--list").stdout.splitlines()]
    assert set(listed) >= {"lent", "dedicated", "naive", "seed"}, listed
    for work in ("spin", "sleep"):
        peers = report("--peers", ",".join(listed), "--rounds", "1", "--work", work)["peers"]
        assert [peer["name"] for peer in peers] == listed
        for peer in peers:
            assert peer["jobs"] == {"planned": 500, "ran": 500, "lost": 0, "twice": 0}, peer


@test
def medians_ranges_and_ratios_are_those_of_the_rounds():
    peers = {peer["name"]: peer for peer in report("--peers", "lent,naive", "--rounds", "4")["peers"]}
    for name in ("start_p50_us", "start_p999_us", "end_p99_us", "cpu_us_per_job"):
        lent, naive = (peers[peer]["figures"][name] for peer in ("lent", "naive"))
        for figure in (lent, naive):
            values = figure["rounds"]
            assert len(values) == 4 and min(values) > 0, (name, figure)
            assert abs(figure["median"] - statistics.median(values)) < 1e-9, (name, figure)
            assert (figure["min"], figure["max"]) == (min(values), max(values)), (name, figure)
        ratios = [left / right for left, right in zip(lent["rounds"], naive["rounds"])]
        told = peers["naive"]["lent_over_it"][name]
        assert all(abs(a - b) < 1e-9 * a for a, b in zip(ratios, told["rounds"])), (ratios, told)
        assert abs(told["median"] - statistics.median(ratios)) < 1e-9, (ratios, told)
        assert peers["lent"]["lent_over_it"][name]["median"] == 1, name
    for peer in peers.values():
        start = [peer["figures"][f"start_{q}_us"]["median"] for q in ("p50", "p90", "p99", "p999")]
        assert start == sorted(start), start


@test
def a_delay_counts_from_the_intended_arrival_and_not_from_the_call():
    # 40 jobs of 5 ms of one actor, 1 ms apart: the last is meant to start at 39 ms and cannot before 195 ms.
    path = trace(HEADER + "".join(f"{i * 1000},a,mutating,interactive,5000,0\n" for i in range(40)))
    done = compare("--trace", path, "--peers", "lent,naive", "--rounds", "1", "--utilisation", "2.5641", "--json", "-", "--quiet")
    assert done.returncode == 0, done
    for peer in json.loads(done.stdout)["peers"]:
        figures = {name: figure["median"] for name, figure in peer["figures"].items()}
        assert figures["start_p999_us"] >= 150_000, figures
        assert figures["end_p999_us"] >= figures["start_p999_us"] + 4_900, figures
        assert 70_000 <= figures["start_p50_us"] <= figures["start_p999_us"], figures


@test
def the_order_of_the_peers_is_the_seeds():
    words = ("--peers", "lent,naive,seed,dedicated", "--rounds", "4")
    first, again, other = (report(*words, "--seed", seed)["orders"] for seed in ("1", "1", "2"))
    assert first == again and first != other, (first, other)
    assert all(sorted(order) == sorted(first[0]) for order in first) and len({tuple(order) for order in first}) > 1, first


@test
def each_peer_says_which_of_an_actors_jobs_run_together():
    words = ("--peers", "lent,naive", "--rounds", "1")
    for lanes, marks in (("own", ["four", "rw"]), ("rw", ["rw", "rw"]), ("ser", ["ser", "ser"])):
        told = report(*words, "--lanes", lanes)
        assert [peer["lanes"] for peer in told["peers"]] == marks, (lanes, told)
        assert [peer["reads_together"] for peer in told["peers"]] == [lanes != "ser"] * 2, (lanes, told)
    for line in compare("--list").stdout.splitlines():
        name, mark = line.split()[:2]
        assert mark == {"lent": "four", "dedicated": "four", "naive": "rw", "seed": "rw"}.get(name, "ser"), line


@test
def reads_of_an_actor_overlap_where_the_lanes_say_so():
    # 20 reads of 20 ms of one actor at once: of three workers Sluice lends it two (E2), the others all. Asleep, so that no CPU is needed.
    path = trace(HEADER + "0,a,read,interactive,20000,0\n" * 20 + "400000,b,read,interactive,1000,0\n")
    last = {}
    for lanes in ("rw", "ser"):
        done = compare("--trace", path, "--peers", "lent,naive", "--rounds", "1", "--utilisation", "0.3341", "--work", "sleep",
                       "--workers", "3", "--lanes", lanes, "--json", "-", "--quiet")
        assert done.returncode == 0, done
        for peer in json.loads(done.stdout)["peers"]:
            last[peer["name"], lanes] = peer["figures"]["end_p999_us"]["median"]
    for name in ("lent", "naive"):
        assert last[name, "ser"] >= 395_000, last
        assert last[name, "rw"] < 0.8 * last[name, "ser"], last


@test
def the_text_has_the_peers_and_the_ratios():
    done = compare("--trace", shipped, "--jobs", "200", "--peers", "lent,naive", "--rounds", "2")
    expect(done, 0, out="lent / it within a round")
    expect(done, 0, out="200 jobs of")
    expect(done, 0, out="reads together")
    expect(done, 0, err="round 2 of 2:")
    for title in ("to start, us", "to end, us", "A job costs"):
        expect(done, 0, out=title)


@test
def mistakes_on_the_command_line_end_with_1():
    expect(compare(), 1, err="--trace is required")
    expect(compare("--trace", shipped, "--bogus"), 1, err="--bogus")
    expect(compare("--trace", shipped, "--peers", "lent,mine"), 1, err="mine is unknown; this build has lent, dedicated")
    expect(compare("--trace", shipped, "--peers", "lent,lent"), 1, err="lent is named twice")
    expect(compare("--trace", shipped, "--utilisation", "0"), 1, err="0 is not a number from 0.01 to 100")
    expect(compare("--trace", shipped, "--rounds", "0"), 1, err="0 is not a whole number from 1 to 1000")
    expect(compare("--trace", shipped, "--work", "dig"), 1, err="--work")
    expect(compare("--trace", shipped, "--lanes", "five"), 1, err="Try replay-peers --help")
    expect(compare("--trace", shipped, "--json", folder.name + "/no/such/folder.json"), 1, err="cannot be written")


@test
def traces_that_cannot_be_replayed_end_with_2():
    expect(compare("--trace", folder.name + "/none.csv"), 2, err="none.csv: cannot be opened: No such file or directory")
    expect(compare("--trace", trace("")), 2, err="t.csv: is empty")
    expect(compare("--trace", trace(HEADER)), 2, err="t.csv: has no valid row")
    expect(compare("--trace", trace(HEADER + "0,a,read,interactive,0,0\n")), 2, err="all service times are 0")


@test
def malformed_lines_are_told_and_skipped():
    path = trace(HEADER + "0,a,read,interactive,10,0\n1,a,fast,interactive,10,0\n2,a,read,interactive,10,0\n")
    done = compare("--trace", path, "--peers", "naive", "--rounds", "1", "--quiet")
    expect(done, 0, err='t.csv:3: lane: "fast" is unknown')


@test
def a_signal_ends_the_rounds_and_the_whole_ones_are_reported():
    path = os.path.join(folder.name, "interrupted.json")
    running = subprocess.Popen([program, "--trace", shipped, "--jobs", "500", "--peers", "naive,lent",
                                "--rounds", "1000", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with running:
        assert "round 1 of 1000" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=LONGEST)
    assert running.returncode == 130, running.returncode
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    assert told["run"]["interrupted"] and 1 <= told["run"]["rounds"] < 1000, told["run"]
    assert all(peer["jobs"]["ran"] == 500 * told["run"]["rounds"] for peer in told["peers"]), told["peers"]


run(sys.argv[3:])
