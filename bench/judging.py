"""Judgements saved per second by two hundred assessors at once, and how long a save takes.

The server is one process with SQLite on disk, and syncs every judgement before it confirms it. Two
hundred connections save again and again: first each in its own rhythm (a judgement every half
second, twenty times as fast as people judge), then each as soon as the last save was confirmed.
Run: python bench/judging.py [--seconds 10] [--judges 200] [--database URL]. No peer does the same;
the aim is 300 saves per second with 99 % under 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.campaigns import links, listed_items, small_campaign, with_lists, write_collection

AIM_RATE = 300
AIM_MS = 250
PACE = 0.5
_SERVER = """
import sys
from citebed.judging.campaign import open_campaign
from citebed.web.campaigns.app import serve
serve(open_campaign(sys.argv[1]), port=0, started=lambda port: print(port, flush=True))
"""


class Judge(NamedTuple):
    """A judge's link and list."""

    token: str
    items: list[int]


class Result(NamedTuple):
    """What was measured."""

    rate: float
    median: float
    p99: float
    slowest: float


def main() -> None:
    """Measure, and print it beside the aim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--judges", type=int, default=200)
    parser.add_argument("--database", help="a PostgreSQL URL; SQLite in a file otherwise")
    arguments = parser.parse_args()
    # Not in memory, where a sync costs nothing.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as work:
        folder = Path(work)
        judges = prepare(folder, arguments.judges, arguments.database)
        for name, pace in (("paced", PACE), ("flat out", 0.0)):
            with serving(folder / "cr") as (port, process):
                before = cpu_seconds(process)
                result = asyncio.run(load(port, judges, arguments.seconds, pace))
                used = (cpu_seconds(process) - before) / arguments.seconds
            print(
                f"{name}: {len(judges)} judges, {result.rate:.0f} saves/s, median "
                f"{result.median:.0f} ms, 99th percentile {result.p99:.0f} ms, slowest "
                f"{result.slowest:.0f} ms; the server used {used:.0%} of a core "
                f"(aim: {AIM_RATE} saves/s, 99th percentile {AIM_MS} ms)"
            )


def prepare(folder: Path, number: int, database: str | None) -> list[Judge]:
    """A campaign in which so many judges have lists of fifteen documents."""
    authors = [f"Judge {n}" for n in range(1, number + 1)]
    write_collection(folder, max(number + 5, 40))  # judge n cites d(n) to d(n + 4)
    campaign = with_lists(small_campaign(folder, authors, database=database), 15)
    judges = [Judge(token, listed_items(campaign, code)) for code, token in links(campaign).items()]
    campaign.database.close()
    return judges


@contextmanager
def serving(campaign: Path) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port, and its number."""
    command = [sys.executable, "-c", _SERVER, str(campaign)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def cpu_seconds(process: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(port: int, judges: list[Judge], seconds: float, pace: float) -> Result:
    """Let all judges judge for so long."""
    begun = time.perf_counter()
    until = begun + seconds
    times: list[float] = []
    await asyncio.gather(*(judging(port, each, until, pace, times) for each in judges))
    ordered = sorted(1000 * each for each in times)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    rate = len(ordered) / (time.perf_counter() - begun)
    return Result(rate, statistics.median(ordered), p99, ordered[-1])


async def judging(port: int, judge: Judge, until: float, pace: float, times: list[float]) -> None:
    """One judge, over one connection, as a browser keeps it open."""
    chance = random.Random(judge.token)
    await asyncio.sleep(chance.random() * (pace or 0.1))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        begun = time.perf_counter()
        status = await save(reader, writer, judge, chance)
        assert status == 200, status
        took = time.perf_counter() - begun
        times.append(took)
        await asyncio.sleep(max(0.0, pace * (0.5 + chance.random()) - took) if pace else 0)
    writer.close()


async def save(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, judge: Judge, chance: random.Random
) -> int:
    """Send a judgement, and wait for its answer."""
    key = f"{chance.getrandbits(128):032x}{os.getpid():x}"
    act = {"item": chance.choice(judge.items), "value": chance.randrange(2), "comment": key[:8]}
    body = json.dumps({**act, "key": key, "ago": 0}).encode()
    head = (
        f"POST /cr/api/judge/{judge.token}/judgement HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(answer.partition("content-length: ")[2].partition("\r")[0])
    await reader.readexactly(length)
    return int(answer.split(" ", 2)[1])


if __name__ == "__main__":
    main()
