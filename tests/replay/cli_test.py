#!/usr/bin/env python3
"""sluice-replay as its users meet it: command line in, report and exit code out.

    cli_test.py PROGRAM SHIPPED_TRACE [NAME...]

Each test says in its name what it shows. With names, only those run. Prints TAP for meson.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.dont_write_bytecode = True
from cases import expect, run, test  # noqa: E402

HEADER = "arrival_us,actor,lane,class,service_us,bytes\n"
LONGEST = 120  # seconds that a loaded machine with a sanitizer may take for any one run

program, shipped = sys.argv[1:3]
folder = tempfile.TemporaryDirectory()


def trace(text, name="t.csv"):
    path = os.path.join(folder.name, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def rows(count, lane="read", service=0, gap=10, actors=3, job_class="interactive"):
    return HEADER + "".join(f"{i * gap},a{i % actors},{lane},{job_class},{service},0\n" for i in range(count))


def replay(*words, stdin=None):
    return subprocess.run([program, *words], input=stdin, capture_output=True, text=True, timeout=LONGEST, check=False)


def report(*words):
    done = replay(*words, "--json", "-", "--quiet")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


@test
def help_and_version_end_with_0():
    done = replay("--help")
    expect(done, 0, out="Exit codes:")
    for line in done.stdout.splitlines():
        assert len(line) <= 120, line
    expect(replay("--version"), 0, out="sluice-replay ")


@test
def mistakes_on_the_command_line_end_with_1():
    expect(replay(), 1, err="TRACE is required")
    expect(replay(shipped, "--bogus"), 1, err="--bogus")
    expect(replay(shipped, "--speed", "0"), 1, err="0 is not a number from 0.001 to 1000000")
    expect(replay(shipped, "--engine", "pool", "--map", "read/interactive=nowhere"), 1, err="--map read/interactive=nowhere")
    expect(replay(shipped, "--engine", "pool", "--lane-limit", "bulk=many"), 1, err="--lane-limit bulk=many")
    expect(replay(shipped, "--engine", "gate", "--turns", "0"), 1, err="--turns")


@test
def the_pool_replays_and_tells_refusals_by_the_bound():
    names = [("read", "interactive"), ("serial", "interactive"), ("mutating", "interactive"), ("heavy", "maintenance")]
    burst = trace("arrival_us,actor,lane,class,service_us,bytes\n" + "".join(
        f"{i},a{i % 9},{names[i % 4][0]},{names[i % 4][1]},2000,{(1 << 21) if i == 0 else 100}\n" for i in range(400)))
    done = replay(burst, "--engine", "pool", "--asap", "--workers", "2", "--max-queued", "90", "--json", "-")
    report = json.loads(done.stdout)
    expect(done, 0, err="by lane, with refusals by the bound that was hit")
    assert report["sound"] and report["run"]["engine"] == "pool", report
    lanes = {lane["lane"]: lane["jobs"] for lane in report["lanes"]}
    assert [lanes[name]["planned"] for name in ("control", "user", "cheap", "bulk")] == [100] * 4, lanes
    total = report["total"]["jobs"]
    assert total["refused_never_fits"] == 1 and total["refused_lane"] > 0 and total["refused_total"] > 0, total
    assert total["planned"] == total["refused"] + total["accepted"] == 400 and total["accepted"] == total["ran"], total
    moved = json.loads(replay(burst, "--engine", "pool", "--asap", "--map", "read/interactive=bulk", "--map",
                              "serial/interactive=bulk", "--max-queued", "1000", "--lane-limit", "bulk=1000", "--queued-bytes",
                              "4000000", "--quiet", "--json", "-").stdout)
    assert {lane["lane"]: lane["jobs"]["planned"] for lane in moved["lanes"]} == \
        {"control": 0, "user": 100, "cheap": 0, "bulk": 300}, moved
    assert moved["sound"] and moved["total"]["jobs"]["refused"] == moved["total"]["jobs"]["refused_lane"], moved


@test
def turns_replay_in_simulated_time_to_the_same_bytes():
    turns = trace("arrival_us,actor,lane,class,service_us,bytes\n" + "".join(
        f"{i * 200_000},s{i % 40},serial,interactive,{3_000_000 + i % 7 * 900_000},{20_000 + i % 11 * 9_000}\n" for i in range(600)))
    limits = ("--engine", "gate", "--tokens-per-minute", "2000000", "--requests-per-minute", "200", "--backoff-jitter", "0.5")
    runs = [replay(turns, *limits, "--seed", seed, "--json", "-") for seed in ("1", "1", "2")]
    for run in runs:
        expect(run, 0)
    assert runs[0].stdout == runs[1].stdout and runs[0].stderr == runs[1].stderr
    assert runs[0].stdout != runs[2].stdout
    report = json.loads(runs[0].stdout)
    assert report["sound"] and sum(report["outcomes"].values()) == 600, report
    assert report["backoff"]["rate_limits"] > 0 and report["backoff"]["pauses"] > 0, report
    assert 0 < report["provider"]["share_of_tokens"] <= 1.1, report
    for extra in (["--round-robin"], ["--adaptive", "aimd"], ["--adaptive", "gradient"], ["--queue", "0"],
                  ["--max-wait", "0.5"], ["--sessions", "5", "--start-interval", "1"]):
        done = json.loads(replay(turns, *limits, *extra, "--quiet", "--json", "-").stdout)
        assert done["sound"] and sum(done["outcomes"].values()) == 600, (extra, done)


@test
def a_report_that_cannot_be_written_ends_with_1():
    expect(replay(trace(rows(3)), "--asap", "--json", folder.name + "/no/such/folder.json"), 1, err="cannot be written")
    if os.path.exists("/dev/full"):
        expect(replay(trace(rows(3)), "--asap", "--json", "/dev/full"), 1, err="cannot be written")


@test
def missing_empty_and_headless_traces_end_with_2():
    expect(replay(folder.name + "/none.csv"), 2, err="none.csv: cannot be opened: No such file or directory")
    expect(replay(folder.name), 2, err="is a directory")
    expect(replay(trace("")), 2, err="t.csv: is empty")
    expect(replay(trace(HEADER)), 2, err="t.csv: has no valid row")
    expect(replay(trace("0,a,read,interactive,1,0\n")), 2, err="t.csv:1: header: want arrival_us,actor,")
    expect(replay("-", stdin=""), 2, err="standard input: is empty")


@test
def malformed_lines_are_told_counted_and_skipped():
    path = trace(rows(10) + "".join(f"{i},a,fast,interactive,1,0\n" for i in range(8)))
    done = replay(path, "--asap")
    expect(done, 0, out="skipped    8 malformed lines")
    assert done.stderr.count("t.csv:") == 5, done.stderr
    expect(done, 0, err='t.csv:12: lane: "fast" is unknown; want read, serial, heavy or mutating')
    expect(done, 0, err="and 3 malformed lines more")
    assert report(path, "--asap")["trace"]["malformed"] == 8


@test
def strict_stops_at_the_first_malformed_line_with_2():
    done = replay(trace(rows(3) + "5,,read,interactive,1,0\nworse\n"), "--strict", "--asap")
    expect(done, 2, err="t.csv:5: actor: is empty; want a key")
    assert done.stdout == "", done.stdout


@test
def every_lane_and_class_comes_back_in_its_group():
    text = HEADER
    for i in range(400):
        lane = ("read", "serial", "heavy", "mutating")[i % 4]
        text += f"{i * 20},a{i % 7},{lane},{'maintenance' if i % 3 == 0 else 'interactive'},5,0\n"
    got = report(trace(text), "--speed", "1")
    assert got["total"]["jobs"]["ran"] == 400
    assert len(got["groups"]) == 8
    for group in got["groups"]:
        planned = sum(1 for i in range(400) if ("read", "serial", "heavy", "mutating")[i % 4] == group["lane"]
                      and (i % 3 == 0) == (group["class"] == "maintenance"))
        assert group["jobs"]["planned"] == group["jobs"]["ran"] == group["latency_ns"]["count"] == planned, group
        assert group["latency_ns"]["p50"] >= 5000 * 0.99, group


@test
def in_is_out_under_both_policies_and_any_number_of_workers():
    for policy in ("lent", "dedicated"):
        for workers in ("1", "2", "4"):
            got = report(shipped, "--asap", "--service-scale", "0", "--policy", policy, "--workers", workers)
            jobs = got["total"]["jobs"]
            assert jobs["accepted"] == jobs["ran"] == got["executor"]["completed"] == 12000, (policy, workers, jobs)
            assert got["checks"]["sound"], got["checks"]
            assert got["checks"]["order"]["jobs"] == 12000
            assert got["run"]["workers"] == int(workers) and got["run"]["policy"] == policy


@test
def a_full_queue_refuses_is_counted_and_ends_with_0():
    got = report(trace(rows(300, lane="mutating", service=200, gap=0, actors=1)), "--asap", "--max-queued", "5")
    jobs = got["total"]["jobs"]
    assert jobs["refused_queue_full"] == jobs["refused"] == got["executor"]["refused"] > 0, jobs
    assert jobs["ran"] + jobs["refused"] == 300, jobs
    assert got["run"]["max_queued"] == 5


@test
def utilisation_chooses_the_speed():
    path = trace(rows(200, service=100, gap=100))  # offers one worker
    got = report(path, "--utilisation", "0.25", "--workers", "2", "--work", "sleep")
    assert abs(got["run"]["speed"] - 0.5) < 0.01, got["run"]
    assert got["wall_ns"] > 0.95 * 200 * 200_000, got["wall_ns"]
    expect(replay(trace(rows(3)), "--utilisation", "0.5"), 2, err="all service times are 0")


@test
def limit_repeat_and_seed_do_what_they_say():
    path = trace(rows(50))
    got = report(path, "--asap", "--limit", "20", "--repeat", "3")
    assert got["trace"]["rows"] == 20 and got["total"]["jobs"]["ran"] == 60
    got = report(path, "--speed", "1", "--jitter", "5", "--seed", "42")
    assert got["run"]["seed"] == 42 and got["total"]["jobs"]["ran"] == 50
    expect(replay(path, "--asap", "--repeat", "10000000"), 2, err="use --limit")


@test
def rows_out_of_order_are_sorted_with_a_notice():
    done = replay(trace(HEADER + "9,a,read,interactive,0,0\n5,a,read,interactive,0,0\n"), "--asap")
    expect(done, 0, err="sorted by arrival: 1 row came before the row above")


@test
def standard_input_is_a_trace_too():
    expect(replay("-", "--asap", stdin=rows(10)), 0, out="10 in = 10 ran")


@test
def text_goes_to_standard_output_and_json_to_its_file():
    path = os.path.join(folder.name, "out.json")
    done = replay(trace(rows(10)), "--asap", "--json", path)
    expect(done, 0, out="no job is lost, no rule is broken")
    with open(path, encoding="utf-8") as file:
        assert json.load(file)["schema"] == "sluice-replay/1"
    done = replay(trace(rows(10)), "--asap", "--json", "-")
    json.loads(done.stdout)
    expect(done, 0, err="no job is lost, no rule is broken")


@test
def quiet_says_nothing():
    done = replay(trace(rows(10)), "--asap", "--quiet")
    expect(done, 0)
    assert done.stdout == "" and done.stderr == "", done


@test
def elsewhere_than_on_a_terminal_progress_comes_in_plain_lines():
    path = trace(rows(250, gap=10_000))  # 2.5 s
    done = replay(path, "--speed", "1")
    lines = [line for line in done.stderr.splitlines() if " in flight " in line]
    expect(done, 0)
    assert 1 <= len(lines) <= 20 and "\r" not in done.stderr and "\x1b" not in done.stderr, done.stderr
    assert re.match(r"\[=* *\] +\d+ %  \d+ of 250  \d+/s  \d+ in flight  delay p99 .+  \d+ s left$", lines[0]), lines[0]
    never = replay(path, "--speed", "1", "--progress", "never")
    assert never.stderr == "", never.stderr


def on_a_terminal(*words, columns=60):
    """Runs on a pseudo terminal; returns what the terminal was sent, and the exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(program, [program, *words])
    import fcntl
    import struct
    import termios
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    sent = b""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline and select.select([terminal], [], [], LONGEST)[0]:
        try:
            some = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is gone
            break
        if not some:
            break
        sent += some
    os.close(terminal)
    return sent.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@test
def on_a_terminal_one_line_is_redrawn_within_its_width_and_gone_at_the_end():
    sent, code = on_a_terminal(trace(rows(100, gap=10_000)), "--speed", "1", columns=60)
    assert code == 0, sent
    drawn = re.findall(r"\r([^\r\n]*)\x1b\[K", sent)
    assert len([line for line in drawn if " in flight" in line]) >= 3, sent
    assert all(len(line) < 60 for line in drawn), drawn
    assert drawn[-1] == "", drawn[-1]
    assert sent.count("\n") == sent[sent.rindex("\x1b[K"):].count("\n"), "the live line scrolled"


def interrupted(path, *words, signals=(signal.SIGINT,), wait=1.0, env=None):
    process = subprocess.Popen([program, path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        process.stderr.readline()  # the first line of progress: it runs
        for number in signals:
            process.send_signal(number)
            time.sleep(wait)
        out, err = process.communicate(timeout=LONGEST)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
    finally:
        process.kill()


@test
def an_interrupt_prints_the_report_of_what_ran_and_ends_with_130():
    for number in (signal.SIGINT, signal.SIGTERM):
        path = trace(rows(4000, service=1000, gap=10_000, lane="mutating", actors=1))  # 40 s
        done = interrupted(path, "--speed", "1", "--json", folder.name + "/i.json", signals=(number,))
        expect(done, 130, out="interrupted: this is what ran until then")
        with open(folder.name + "/i.json", encoding="utf-8") as file:
            got = json.load(file)
        jobs = got["total"]["jobs"]
        assert got["run"]["interrupted"] and got["checks"]["sound"], got["checks"]
        assert 0 < jobs["ran"] < 4000 and jobs["not_submitted"] > 0, jobs
        assert jobs["ran"] + jobs["dropped"] + jobs["not_submitted"] == 4000, jobs


@test
def an_interrupt_cancels_the_queue_and_cuts_running_jobs_short():
    for work in ("spin", "sleep"):
        path = trace(rows(50, service=5_000_000, gap=1000, lane="mutating", actors=1))  # 250 s of work in one queue
        started = time.monotonic()
        done = interrupted(path, "--speed", "1", "--work", work, "--json", folder.name + "/i.json")
        expect(done, 130, out="cancelled")
        assert time.monotonic() - started < 60
        with open(folder.name + "/i.json", encoding="utf-8") as file:
            got = json.load(file)
        jobs = got["total"]["jobs"]
        assert jobs["accepted"] == 50 and jobs["dropped"] >= 45 and jobs["cut_short"] >= 1, jobs
        assert got["checks"]["sound"], got["checks"]


@test
def a_second_interrupt_leaves_at_once():
    # The report of a run cannot be held up from outside, so both signals are sent while the first is being served.
    path = trace(rows(200_000, service=0, gap=100, actors=1))
    # Who leaves at once leaves threads behind, which ThreadSanitizer would report by an exit code of its own.
    env = dict(os.environ, TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0")
    done = interrupted(path, "--speed", "1", signals=(signal.SIGINT, signal.SIGINT), wait=0.0, env=env)
    assert done.returncode == 130, done


run(sys.argv[3:])
