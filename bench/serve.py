"""Response times of the workbench: after its start, alone, and with twenty people who type at once.

The server is ``citebed serve COLLECTION``, a process of its own. The script measures the time from
the command to the first page and to the first recommendation, and of one recommendation after the
other through the API. Then twenty users each type a paragraph of a citing paper, send the text
every 300 to 600 ms, and cancel a request that has not finished by then, as the page does. Memory is
the server's own, at the end and at its peak.
Run: python bench/serve.py COLLECTION [--users 20] [--seconds 20] [--asked 300]. No peer does the
same; the script prints the aims. Clients and server share two cores; the server's processor time
shows what would remain without the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import citebed

sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import machine

AIMS = {
    "first page, s": 2.0, "first answer, s": 3.0, "alone p50, ms": 25.0, "users p99, ms": 250.0,
    "memory, MB": 500.0,
}  # fmt: skip
PAUSE = (0.3, 0.6)
TYPED = (15, 45)
"""Characters that are typed between two requests."""


class Server(NamedTuple):
    """A server that runs: where, with which key, and its process."""

    port: int
    key: str
    name: str
    process: subprocess.Popen[str]
    begun: float

    @property
    def path(self) -> str:
        """The address of the recommend API."""
        return f"/api/collections/{self.name}/recommend"

    def headers(self) -> dict[str, str]:
        """The headers that authenticate the script."""
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    def megabytes(self, which: str = "VmRSS") -> float:
        """Memory that the server has (``VmRSS``), or had at most (``VmHWM``)."""
        told = Path(f"/proc/{self.process.pid}/status").read_text().partition(f"{which}:")[2]
        return int(told.split()[0]) / 1024

    def processor_seconds(self) -> float:
        """Processor time of the server so far."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(collection: Path) -> Iterator[Server]:
    """``citebed serve`` on a collection, stopped at the end."""
    command = [sys.executable, "-m", "citebed", "serve", str(collection), "--no-browser"]
    around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=around) as process:
        assert process.stderr is not None
        line = next(each for each in process.stderr if "?key=" in each)
        address = urlsplit(line.split()[-1])
        key = address.query.partition("=")[2]
        try:
            yield Server(address.port or 0, key, collection.resolve().name, process, begun)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def asked(server: Server, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request on a connection of its own, and its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    method = "GET" if body is None else "POST"
    connection.request(method, path, body and json.dumps(body), server.headers())
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    assert answer.status == 200, said
    return said


def after_start(collection: Path, text: str) -> tuple[float, float]:
    """Seconds from the command to a page, and to a recommendation."""
    with serving(collection) as server:
        asked(server, f"/c/{server.name}/recommend")
        page = time.monotonic() - server.begun
        asked(server, server.path, {"text": text})
        return page, time.monotonic() - server.begun


def alone(server: Server, texts: list[str], number: int) -> tuple[list[float], float]:
    """Milliseconds of requests one after the other on one connection; processor time of each."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    taken, before = [], server.processor_seconds()
    for at in range(number):
        body = json.dumps({"text": texts[at % len(texts)]})
        begun = time.perf_counter()
        connection.request("POST", server.path, body, server.headers())
        answer = connection.getresponse()
        answer.read()
        taken.append((time.perf_counter() - begun) * 1000)
        assert answer.status == 200
    connection.close()
    return taken, (server.processor_seconds() - before) * 1000 / number


async def typing(
    server: Server, texts: list[str], seed: int, until: float, taken: list[float]
) -> int:
    """One who types: milliseconds of what was answered are added; gives how many were hung up."""
    chance, hung_up = random.Random(seed), 0
    await asyncio.sleep(chance.uniform(0, PAUSE[1]))
    while time.monotonic() < until:
        text, length = chance.choice(texts), 0
        while length < len(text) and time.monotonic() < until:
            length += chance.randint(*TYPED)
            pause = chance.uniform(*PAUSE)
            begun = time.monotonic()
            try:
                async with asyncio.timeout(pause):
                    taken.append(await _sent(server, text[:length]))
                await asyncio.sleep(max(0.0, begun + pause - time.monotonic()))
            except TimeoutError:
                hung_up += 1
    return hung_up


async def _sent(server: Server, text: str) -> float:
    body = json.dumps({"text": text}).encode()
    head = [f"POST {server.path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close"]
    head += [f"{name}: {value}" for name, value in server.headers().items()]
    head += [f"Content-Length: {len(body)}", "", ""]
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write("\r\n".join(head).encode() + body)
        said = await reader.read(-1)
    finally:
        writer.close()
    assert said.startswith(b"HTTP/1.1 200"), said[:300]
    return (time.perf_counter() - begun) * 1000


async def users(
    server: Server, texts: list[str], number: int, seconds: float
) -> tuple[list[float], int]:
    """Many who type at once: milliseconds of what was answered, and how many were hung up."""
    until, taken = time.monotonic() + seconds, list[float]()
    hung_up = await asyncio.gather(
        *(typing(server, texts, seed, until, taken) for seed in range(number))
    )
    return taken, sum(hung_up)


def wait_until_warm(server: Server) -> None:
    """Until the server has loaded all and computes nothing any more."""
    before = -1.0
    while server.processor_seconds() - before > 0.05:
        before = server.processor_seconds()
        time.sleep(2)


def quantile(taken: list[float], share: float) -> float:
    """The value that so large a share is not above."""
    return sorted(taken)[min(len(taken) - 1, int(share * len(taken)))]


def shown(name: str, value: float, more: str = "") -> None:
    """A figure beside its aim."""
    aim = (
        f"  (aim {AIMS[name]:g}: {'met' if value <= AIMS[name] else 'missed'})"
        if name in AIMS
        else ""
    )
    print(f"{name:<22}{value:>9.2f}{aim}{more}", flush=True)


def paragraphs(collection: Path) -> list[str]:
    """Paragraphs that cite, as people would type them."""
    texts = [text[:1500] for text in citebed.open(collection).queries("paragraphs")["text"]]
    return [text for text in texts if len(text) > 200][:500]


def main() -> None:
    """Measure, and print it beside the aims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--asked", type=int, default=300)
    parser.add_argument("--starts", type=int, default=3)
    given = parser.parse_args()
    texts = paragraphs(given.collection)
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {given.collection.name}")
    starts = [after_start(given.collection, texts[0]) for _ in range(given.starts)]
    shown("first page, s", min(page for page, _ in starts), f"  best of {given.starts}")
    shown("first answer, s", min(answer for _, answer in starts), f"  best of {given.starts}")
    with serving(given.collection) as server:
        asked(server, server.path, {"text": texts[0]})
        wait_until_warm(server)
        shown("processor to warm, s", server.processor_seconds())
        alone(server, texts, 20)
        taken, each = alone(server, texts, given.asked)
        shown("alone p50, ms", quantile(taken, 0.5))
        shown("alone p99, ms", quantile(taken, 0.99))
        shown("alone processor, ms", each)
        before = server.processor_seconds()
        taken, hung_up = asyncio.run(users(server, texts, given.users, given.seconds))
        told = f"  {len(taken)} answered, {hung_up} hung up, {given.users} users"
        shown("users p50, ms", quantile(taken, 0.5), told)
        shown("users p99, ms", quantile(taken, 0.99))
        shown("users processor, cores", (server.processor_seconds() - before) / given.seconds)
        shown("memory, MB", server.megabytes())
        shown("highest memory, MB", server.megabytes("VmHWM"))


if __name__ == "__main__":
    main()
