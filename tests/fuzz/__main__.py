"""``python -m tests.fuzz``: fuzz for as long as one likes, replay a seed or a case, make one small.

Examples: ``--seconds 3600 --workers 2 --summary fuzz.txt``, ``--target 'read run' --seconds 60``,
``--target 'read run' --seed 123``, ``--case failures/read-run-123.json --smaller kept.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.cases import Case, case_of
from tests.fuzz.fuzzing import PLACE, Found, Worker, described, fuzz
from tests.fuzz.minimising import smaller
from tests.fuzz.running import Failure
from tests.fuzz.targets import case_of_seed, target_of


def main() -> int:
    """Gives the exit code: 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--target", default="", help="only targets whose names start so")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--case", type=Path, help="a case that was kept")
    parser.add_argument("--smaller", type=Path, help="make it smaller, and write it here")
    parser.add_argument("--summary", type=Path, help="write the totals here too")
    given = parser.parse_args()
    if given.seed is not None or given.case:
        return _again(given)
    tally = fuzz(given.seconds, given.workers, range(given.start, sys.maxsize), given.target, _tell)
    text = tally.text()
    sys.stdout.write(text)
    if given.summary:
        given.summary.write_text(text)
    return 1 if tally.failures else 0


def _tell(found: Found) -> None:
    print("\n".join(described(found)), file=sys.stderr, flush=True)


def _again(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="citebed-fuzz-", dir=PLACE) as folder:
        worker = Worker(Path(folder))
        try:
            return _replayed(given, worker, Path(folder))
        finally:
            worker.close()


def _replayed(given: argparse.Namespace, worker: Worker, folder: Path) -> int:
    worker.ask(case=Case("read ids", "x", files={"x": b"x\n"}).to_json())  # makes the bases
    if given.case:
        case = case_of(given.case.read_text())
    else:
        target = target_of(given.seed, given.target)
        case = case_of_seed(target, given.seed, folder / "bases")
    answer = worker.ask(case=case.to_json())
    _show(case)
    if "failure" not in answer:
        print("it holds")
        return 0
    failure = Failure(**answer["failure"])
    print(f"{failure.kind} at {failure.where}: {failure.what}\n{failure.details}")
    if given.smaller:
        small = smaller(case, failure.key, worker)
        given.smaller.write_text(small.to_json() + "\n")
        _show(small)
    return 1


def _show(case: Case) -> None:
    print(f"target: {case.target}, base: {case.base or 'none'}, given: {case.given!r}")
    for words in case.commands:
        print(f"  citebed {' '.join(map(repr, words))}")
    for name, data in case.files.items():
        print(f"  {name!r}: {len(data):,} bytes {data[:200]!r}")


if __name__ == "__main__":
    sys.exit(main())
