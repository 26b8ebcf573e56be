"""Driving the workers: seeds are handed out, answers counted, failures sorted and kept."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.running import Failure, place_of

REPOSITORY = Path(__file__).resolve().parents[2]
FAILURES = Path(__file__).parent / "failures"
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""The folder for cases: in memory, where a thousand small files take little time."""
ALL_SEEDS = range(sys.maxsize)
_LONGEST = 300
_RENEWED_AFTER = 3000
"""Cases, after which a worker makes room for a new one: what leaks must not add up."""


class Worker:
    """A process that runs cases; another takes its place where one dies of a case.

    ``bases``, which is what cases start from, is made in ``root`` where it is not given.
    """

    def __init__(self, root: Path, bases: Path | None = None) -> None:
        self.root = root
        if bases is not None:
            (root / "bases").symlink_to(bases)
        self._process: subprocess.Popen[str] | None = None
        self._done = 0

    def ask(self, **asked: Any) -> dict[str, Any]:
        """The result of a case, given by target and seed or by its content."""
        if self._process is None or self._done >= _RENEWED_AFTER:
            self.close()
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._done += 1
        answer = ""
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            waiting = select.poll()  # which takes descriptors above 1024, too
            waiting.register(process.stdout, select.POLLIN)
            if waiting.poll(1000 * _LONGEST):
                answer = process.stdout.readline()
            else:  # it ends itself in time, unless it cannot even do that
                process.kill()
        except BrokenPipeError:
            pass
        if answer:
            return dict(json.loads(answer))
        return self._died(asked)

    def _start(self) -> None:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker", str(self.root)]
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
        )
        self._done = 0
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"a worker did not start: {self._said()[0]}")

    def _said(self) -> tuple[str, int]:
        """Return the log of a dead worker, and its exit code."""
        assert self._process is not None
        assert self._process.stderr is not None
        said = self._process.stderr.read()
        code = self._process.wait()
        self.close()
        log = self.root / "log"
        return said + (log.read_text(errors="replace") if log.exists() else ""), code

    def _died(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A worker that dies of a case is a failure."""
        text, code = self._said()
        kind = "hang" if "Timeout (" in text else f"crash {code}"
        what = next(iter(re.findall(r"(?m)^(?:Timeout|Fatal|memory|\w*Error).*", text)), kind)
        failure = Failure(kind, _innermost(text), what, text[-20_000:])
        return {**asked, "files": 0, "seconds": 0.0, "failure": failure._asdict()}

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()


def _innermost(text: str) -> str:
    """Return the last call of a process that died; its traceback has that call first."""
    current = text.rpartition("(most recent call first):")[2]
    lines = [line for line in current.splitlines() if line.strip().startswith("File ")]
    return place_of("\n".join(reversed(lines)))


# --- many cases -----------------------------------------------------------------------------


@dataclass
class Found:
    """A failure with the first seed that showed it, and how many did."""

    target: str
    seed: int
    failure: Failure
    case: str
    times: int = 1


@dataclass
class Tally:
    """The cases that ran, and their results."""

    seconds: float = 0.0
    workers: int = 1
    cases: Counter[str] = field(default_factory=Counter)
    time: Counter[str] = field(default_factory=Counter)
    files: int = 0
    failures: dict[str, Found] = field(default_factory=dict)

    def add(self, seed: int, answer: dict[str, Any]) -> Found | None:
        """Count a case; gives the failure if it is one that was not met before."""
        target = answer["target"]
        self.cases[target] += 1
        self.time[target] += answer["seconds"]
        self.files += answer["files"]
        if "failure" not in answer:
            return None
        failure = Failure(**answer["failure"])
        if failure.key in self.failures:
            self.failures[failure.key].times += 1
            return None
        found = Found(target, seed, failure, answer.get("case", ""))
        self.failures[failure.key] = found
        return found

    def text(self) -> str:
        """The summary, a line for each target and each failure."""
        total = sum(self.cases.values())
        rate = total / self.seconds if self.seconds else 0
        lines = [
            f"{total:,} cases with {self.files:,} files in {self.seconds:,.0f} s on {self.workers} "
            f"workers ({rate:,.0f} a second), {len(self.failures)} distinct failures",
            "",
        ]
        for target, count in sorted(self.cases.items()):
            each = 1000 * self.time[target] / count
            lines.append(f"  {target:28} {count:8,} cases  {each:8.1f} ms each")
        for found in self.failures.values():
            lines += ["", *described(found)]
        return "\n".join(lines) + "\n"


def described(found: Found) -> list[str]:
    """A failure in a few lines, with how to see it again."""
    failure = found.failure
    return [
        f"{failure.kind} at {failure.where}, {found.times} times: {failure.what}",
        f"  again: python -m tests.fuzz --target '{found.target}' --seed {found.seed}",
    ]


def fuzz(
    seconds: float,
    workers: int = 1,
    seeds: range = ALL_SEEDS,
    only: str = "",
    tell: Callable[[Found], None] = lambda _: None,
    bases: Path | None = None,
) -> Tally:
    """Try ``seeds`` in turn for at most so long, and ``tell`` each new failure."""
    from tests.fuzz.targets import case_of_seed, target_of

    tally, lock = Tally(workers=workers), threading.Lock()
    left, begun = iter(seeds), time.monotonic()

    def work(worker: Worker) -> None:
        while time.monotonic() < begun + seconds:
            with lock:
                seed = next(left, None)
            if seed is None:
                break
            answer = worker.ask(target=target_of(seed, only), seed=seed)
            if "failure" in answer and "case" not in answer:  # it could tell nothing more
                case = case_of_seed(answer["target"], seed, worker.root / "bases")
                answer["case"] = case.to_json()
            with lock:
                new = tally.add(seed, answer)
                if new is not None:
                    keep(new)
                    tell(new)
        worker.close()

    with tempfile.TemporaryDirectory(prefix="citebed-fuzz-", dir=PLACE) as root:
        threads = [
            threading.Thread(target=work, args=(Worker(folder, bases),))
            for folder in _folders(Path(root), workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tally.seconds = time.monotonic() - begun
    return tally


def _folders(root: Path, count: int) -> Iterator[Path]:
    for number in range(count):
        (root / str(number)).mkdir()
        yield root / str(number)


def keep(found: Found) -> None:
    """Save a failure: its case, to be replayed, and its traceback."""
    FAILURES.mkdir(exist_ok=True)
    name = re.sub(r"[^\w.]+", "-", f"{found.target}-{found.seed}")
    if found.case:
        (FAILURES / f"{name}.json").write_text(found.case)
    text = "\n".join((*described(found), "", found.failure.details))
    (FAILURES / f"{name}.txt").write_text(text, errors="backslashreplace")
