"""A process that runs cases, one after another, as it reads them from standard input.

``python -m tests.fuzz.worker FOLDER`` reads lines of JSON, ``{"target": …, "seed": …}`` or
``{"case": …}``, and prints a line for each. It ends if a case takes too long; the system refuses
too much memory. The reason is in ``FOLDER/log``.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import IO, Any

from tests.fuzz.bases import make
from tests.fuzz.cases import Case, case_of
from tests.fuzz.running import Failure, Place
from tests.fuzz.targets import case_of_seed

SECONDS, CPU_SECONDS = 60, 15
"""The longest that a case may take, and the most work; a machine may have much else to do."""
_MEMORY = 4 << 30
_GROWN = 1 << 30


def _limit_memory() -> None:
    """No more address space than is taken now, and some gigabytes for the cases."""
    taken = Path("/proc/self/statm")
    if taken.exists():
        now = int(taken.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _MEMORY, now + _MEMORY))


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class _Worker:
    def __init__(self, root: Path, log: IO[str]) -> None:
        self.log = log
        self.bases = root / "bases"
        if not self.bases.exists():
            make(self.bases)
        self.place = Place(root, self.bases)
        _limit_memory()

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        start, peak = time.process_time(), _peak()
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=self.log)
        case = self._case(asked)
        failure = self.place.run(case)
        faulthandler.cancel_dump_traceback_later()
        taken = time.process_time() - start
        failure = failure or _too_much(case, _peak() - peak, taken)
        found: dict[str, Any] = {
            "seconds": taken,
            "target": case.target,
            "files": len(case.files),
        }
        if failure:
            found |= {"failure": failure._asdict(), "case": case.to_json()}
        return found

    def _case(self, asked: dict[str, Any]) -> Case:
        if "case" in asked:
            return case_of(asked["case"])
        return case_of_seed(asked["target"], asked["seed"], self.bases)


def _too_much(case: Case, grown: int, taken: float) -> Failure | None:
    if grown > _GROWN:
        return Failure("memory", case.target, f"took {grown >> 20:,} MiB")
    return Failure("slow", case.target, f"took {taken:.0f} s") if taken > CPU_SECONDS else None


def main(root: Path) -> None:
    """Answer until there is nothing more to do."""
    answers = os.fdopen(os.dup(1), "w")
    log = (root / "log").open("w+")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(log.fileno(), 2)
    faulthandler.enable(log)
    asked = os.fdopen(os.dup(0))
    os.dup2(null, 0)
    worker = _Worker(root, log)
    answers.write("ready\n")
    answers.flush()
    for line in asked:
        answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
