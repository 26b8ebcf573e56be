"""Write ``golden/program.json.gz`` again: the output of both versions of trec_eval.

    python tests/parity/make_program_golden.py

It has three pairs of made-up files and, for each version and command line of
``trec_eval_commands``, the exit code and the lines. Crashes of the program are left out.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.parity.trec_eval_commands import (
    VERSIONS,
    commands,
    made_case,
    on_files,
    program,
    theirs,
    write_files,
)

GOLDEN = Path(__file__).parent / "golden" / "program.json.gz"
SEED = 20240613


def telling_cases() -> list[dict[str, Any]]:
    """A run that lacks a judged query, one that lacks none, and one that shares none."""
    chance = random.Random(SEED)
    drawn = [made_case(chance) for _ in range(300)]
    shared = [(case, set(case["qrels"]), set(case["run"])) for case in drawn]
    lacking = (case for case, judged, run in shared if len(judged & run) > 1 and judged - run)
    whole = (case for case, judged, run in shared if len(judged) > 2 and judged <= run)
    foreign = (case for case, judged, run in shared if not judged & run)
    return [next(lacking), next(whole), next(foreign)]


def main() -> None:
    cases = telling_cases()
    answers: list[list[Any]] = []
    for number, case in enumerate(cases):
        with tempfile.TemporaryDirectory() as folder:
            files = write_files(Path(folder), case)
            for version in VERSIONS:
                path = program(version)
                if path is None:
                    raise SystemExit(f"there is no trec_eval-{version}")
                for words in commands():
                    code, out = theirs(path, on_files(words, files))
                    if code >= 0:
                        answers.append([number, version, words, code, "" if code else out])
    text = json.dumps({"cases": cases, "answers": answers}, ensure_ascii=False, indent=0)
    GOLDEN.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{len(answers)} answers, {sum(out.count(chr(10)) for *_, out in answers)} lines")


if __name__ == "__main__":
    main()
