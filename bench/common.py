"""Functions that the benchmarks share: run a command and measure its memory."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent


class Watched(NamedTuple):
    """A command that has ended: seconds, peak memory of all its processes in MB, and the rest.

    ``processor`` is the processor time of the command and of its children, in seconds.
    """

    seconds: float
    megabytes: float
    code: int
    out: str
    err: str
    processor: float = 0.0


def machine() -> str:
    """Return the processor, cores and Python that a figure was measured with."""
    about = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^Model name:\s*(.+)$", about, re.MULTILINE)
    name = f"{platform.machine()} {found[1]}" if found else platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def watch(command: Sequence[str], timeout: float | None = None) -> Watched:
    """Run a command to its end; one that takes longer than ``timeout`` seconds is killed."""
    # As where it was installed: the modules are compiled once, not at every start.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started, used = time.perf_counter(), _processor_time()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    )
    peak = [0.0]
    threading.Thread(target=_watch, args=(process.pid, peak), daemon=True).start()
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nkilled after {timeout} s"
    seconds, used = time.perf_counter() - started, _processor_time() - used
    return Watched(seconds, peak[0], process.returncode, out, err, used)


def in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Watched]:
    """Run commands in turns, so that a busy machine slows all of them down: medians of the rounds.

    Of a command that failed, the failure.
    """
    tries = [{name: watch(command) for name, command in commands.items()} for _ in range(rounds)]
    return {name: _median([each[name] for each in tries]) for name in commands}


def _median(tries: Sequence[Watched]) -> Watched:
    failed = next((each for each in tries if each.code), None)
    return failed or tries[0]._replace(
        seconds=median(each.seconds for each in tries),
        processor=median(each.processor for each in tries),
        megabytes=max(each.megabytes for each in tries),
    )


def _processor_time() -> float:
    """The processor time of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _watch(pid: int, peak: list[float]) -> None:
    """To look at large families takes long, and holds them up: the more seldom it is done."""
    while Path(f"/proc/{pid}").exists():
        started = time.perf_counter()
        family = list(family_of(pid))
        peak[0] = max(peak[0], sum(map(_megabytes, family)) if family[1:] else _highest(pid))
        time.sleep(max(0.05, 20 * (time.perf_counter() - started)))


def family_of(pid: int) -> Iterator[int]:
    """A process and all that it started, and they."""
    yield pid
    children: list[str] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += (thread / "children").read_text().split()
    except OSError:
        return
    for child in set(children):
        yield from family_of(int(child))


def _highest(pid: int) -> float:
    """The peak of a process that is alone: unlike shares of pages it costs nothing to ask for."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _megabytes(pid: int) -> float:
    """Proportional set size: pages that processes share count once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def shared_data(name: str) -> Path:
    """A folder of real data, which is not part of the project."""
    given = os.environ.get("CITEBED_DATA")
    folder = (Path(given) if given else REPOSITORY.parent / "shared" / "data") / name
    if not folder.is_dir():
        sys.exit(f"{name} is not here: set CITEBED_DATA to the folder that holds {name}/")
    return folder


def write_between(page: str, name: str, text: str) -> None:
    """Put a text between the marks ``<!-- name -->`` and ``<!-- /name -->`` of a page of docs/."""
    path = REPOSITORY / "docs" / page
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = path.read_text("utf-8").partition(start)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        sys.exit(f"{path} has no '{start}' … '{end}'")
    path.write_text(f"{before}{start}\n\n{text.strip()}\n\n{end}{after}", "utf-8")
