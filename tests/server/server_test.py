#!/usr/bin/env python3
"""server_test.py SERVER [SEED]: drives the example server as hundreds of clients do, kills some, and ends it by SIGTERM.

Goal: every write that was taken is answered or refused, none is lost or applied twice, one that was refused is not applied, and
SIGTERM with work in flight ends the server with exit code 0 within seconds.
Method: every write has a key of its own, so the server's dump says how often it was applied. Some clients go in the middle
of a request, some do not read their answers. The second run gets its SIGTERM while all clients write. In the third and fourth the gate in front lets two
requests in and keeps eight in line, so that most are refused; the fourth is the second again.
"""

import asyncio
import os
import random
import signal
import struct
import socket
import subprocess
import sys
import tempfile
import time

CLIENTS = 300
DOCUMENTS = 40
PATIENCE = 60  # seconds; no machine is so loaded that what must happen takes longer


class Tally:
    def __init__(self):
        self.answered = {}   # (document, key) -> value of writes that were answered with ok
        self.refused = set()
        self.errors = set()  # the codes that refusals had
        self.unknown = {}    # sent, and neither answered nor refused: the connection ended first
        self.wrong = []
        self.killed = 0
        self.scans = 0


async def ask(reader, writer, line):
    writer.write(line.encode() + b"\n")
    await writer.drain()
    answer = await reader.readline()
    return answer.decode().rstrip("\n") if answer.endswith(b"\n") else None


async def client(number, port, chance, tally, until):
    """Writes, reads back, scans; may end abruptly."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return
    last = None
    try:
        for step in range(10 ** 9):
            if until(step):
                break
            document = f"doc{chance.randrange(DOCUMENTS)}"
            what = chance.random()
            if what < 0.6:
                key, value = f"k{number}.{step}", f"v{number} {step}"
                if chance.random() < 0.01:  # gone in the middle of a request
                    tally.unknown[document, key] = value
                    writer.write(f"set {document} {key} {value}\n".encode())
                    writer.transport.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                    tally.killed += 1
                    return
                tally.unknown[document, key] = value
                answer = await ask(reader, writer, f"set {document} {key} {value}")
                if answer is None:
                    return
                del tally.unknown[document, key]
                if answer.startswith("error "):
                    tally.refused.add((document, key))
                    tally.errors.add(answer.split(" ")[1])
                    continue
                tally.answered[document, key] = value
                last = document, key, value
                if answer != "ok 1":
                    tally.wrong.append(f"a key that was set once: {answer}")
            elif what < 0.9 and last:
                answer = await ask(reader, writer, f"get {last[0]} {last[1]}")
                if answer is None:
                    return
                if answer != f"value 1 {last[2]}" and not answer.startswith("error "):
                    tally.wrong.append(f"own write not seen: {answer} for {last}")
            else:
                prefix = f"k{number}." if last is None else last[1]
                answer = await ask(reader, writer, f"scan {last[0] if last else document} {prefix}")
                if answer is None:
                    return
                tally.scans += 1
                if last and f" {last[1]}" not in answer and not answer.startswith("error "):
                    tally.wrong.append(f"own write not found: {answer} for {last}")
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()


async def stubborn(port):
    """Asks for much and never reads an answer."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2000):
            writer.write(b"scan doc0 *\n")
        await asyncio.sleep(PATIENCE)
    except (ConnectionError, asyncio.CancelledError):
        pass


def check(dump, tally):
    applied = {}
    with open(dump, encoding="utf-8") as file:
        for line in file:
            document, key, writes, value = line.rstrip("\n").split(" ", 3)
            applied[document, key] = int(writes), value
    wrong = tally.wrong
    for write, value in tally.answered.items():
        if applied.get(write) != (1, value):
            wrong.append(f"{write} was answered, and is {applied.get(write)}")
    for write in tally.refused:
        if write in applied:
            wrong.append(f"{write} was refused, and is {applied[write]}")
    for write, (writes, value) in applied.items():
        if writes != 1:
            wrong.append(f"{write} was applied {writes} times")
        if write not in tally.answered and tally.unknown.get(write) != value:
            wrong.append(f"{write} is there, and nobody sent it")
    return applied


async def run(server, seed, in_the_middle, gate=()):
    tally = Tally()
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "dump")
        process = await asyncio.create_subprocess_exec(server, "0", dump, *gate, stdout=subprocess.PIPE)
        try:
            first = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
            port = int(first.decode().split()[-1])
            until = (lambda step: False) if in_the_middle else (lambda step: step >= 25)
            clients = [asyncio.create_task(client(n, port, random.Random(chance.random()), tally, until))
                       for n in range(CLIENTS)]
            idle = [asyncio.create_task(stubborn(port)) for _ in range(3)]
            if in_the_middle:
                while len(tally.answered) < (300 if gate else 1000):
                    await asyncio.sleep(0.01)
            else:
                await asyncio.wait_for(asyncio.gather(*clients), PATIENCE)
            process.send_signal(signal.SIGTERM)
            told = time.monotonic()
            code = await asyncio.wait_for(process.wait(), PATIENCE)
            took = time.monotonic() - told
            await asyncio.wait_for(asyncio.gather(*clients), PATIENCE)
            for task in idle:
                task.cancel()
            await asyncio.gather(*idle, return_exceptions=True)
        finally:
            if process.returncode is None:
                process.kill()
        applied = check(dump, tally) if code == 0 else {}
    if code != 0:
        tally.wrong.append(f"exit code {code}")
    if took > 15:
        tally.wrong.append(f"the end took {took:.1f} s")
    if not in_the_middle and tally.killed == 0:
        tally.wrong.append("no client was killed: the test tests too little")
    if gate and not tally.refused:
        tally.wrong.append("no write was refused: the test tests too little")
    if not tally.answered:
        tally.wrong.append("no write was answered")
    for error in tally.errors - {"queue_full", "deadline_exceeded", "shut_down"}:
        tally.wrong.append(f"an error that nothing explains: {error}")
    print(f"{'in the middle' if in_the_middle else 'to the end'}: {len(tally.answered)} answered, "
          f"{len(tally.refused)} refused, {len(tally.unknown)} unknown, {tally.killed} clients killed, {tally.scans} scans, "
          f"{len(applied)} applied, ended in {took:.2f} s")
    return tally.wrong


def main():
    server = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2 ** 32)
    print(f"seed {seed}")
    wrong = asyncio.run(run(server, seed, False)) + asyncio.run(run(server, seed + 1, True))
    small = ("2", "8")
    wrong += asyncio.run(run(server, seed + 2, False, small)) + asyncio.run(run(server, seed + 3, True, small))
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
