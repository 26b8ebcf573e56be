"""PDFs damaged at random: each is read or told, within its limits, and nothing else happens."""

from __future__ import annotations

import os
import random
import re
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutations import MUTATIONS, mutated
from tests.pdfs import SMALL_PAPER, nameless_font, plain_pdf, set_in, set_paper
from tests.sampling import sized

from citebed.papers.child_process import PaperFile, PaperProblem, read_papers

COUNT = sized(40, 2000)
REAL = Path(os.environ.get("CITEBED_DATA", "../shared/data")) / "acm-cr" / "pdf"
_NUMBER = re.compile(rb"(?<![\w.])\d+(?![\w.])")
_NAME = re.compile(rb"/[A-Z]\w+")
_ODD = (b"0", b"-1", b"1", b"65536", b"2147483647", b"4294967296", b"9" * 30, b"1e9", b"null")
_SECONDS = 60
_MEGABYTES = 1500


def renumbered(data: bytes, rng: random.Random) -> bytes:
    """A few numbers of a file are others: lengths, places, objects, widths."""
    numbers = list(_NUMBER.finditer(data))
    for match in sorted(rng.sample(numbers, min(4, len(numbers))), key=lambda m: -m.start()):
        other = rng.choice((*_ODD, rng.choice(numbers)[0]))
        data = data[: match.start()] + other + data[match.end() :]
    return data


def renamed(data: bytes, rng: random.Random) -> bytes:
    """Replace one file name by another."""
    names = list(_NAME.finditer(data))
    for match in sorted(rng.sample(names, min(3, len(names))), key=lambda m: -m.start()):
        data = data[: match.start()] + rng.choice(names)[0] + data[match.end() :]
    return data


def bases() -> list[bytes]:
    """Return the files to damage: small ones, compressed ones, real ones."""
    made = [SMALL_PAPER, plain_pdf([["# Elms", "words"]] * 5), set_paper(), nameless_font()]
    made += [set_in(["Words of a paper in a font"] * 9), set_paper(password=("", "owner"))]
    real = sorted(REAL.glob("*.pdf"), key=lambda path: path.stat().st_size)[:3]
    return made * 2 + [path.read_bytes() for path in real]


def damaged(count: int, seed: int) -> Iterator[PaperFile]:
    rng, kinds, files = random.Random(seed), [*MUTATIONS, "renumbered", "renamed"], bases()
    for at in range(count):
        kind, data = kinds[at % len(kinds)], rng.choice(files)
        if kind in MUTATIONS:
            data = mutated(data, rng, kind)
        else:
            data = (renumbered if kind == "renumbered" else renamed)(data, rng)
        yield PaperFile(f"{at}-{kind}.pdf", data)


def peak_megabytes() -> int:
    """Return the most memory that this process or one of its children has had."""
    who = (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)
    return max(resource.getrusage(each).ru_maxrss for each in who) >> 10


def test_damaged_papers_are_read_or_reported() -> None:
    said: Counter[str] = Counter()
    before = peak_megabytes()  # of earlier tests in this process
    start, number = time.monotonic(), 0
    for read in read_papers(damaged(COUNT, seed=26), workers=2):
        number += 1
        assert time.monotonic() - start < _SECONDS, f"paper {number} took too long"
        start = time.monotonic()
        what = re.split(r"[:;(.]", read.what)[0] if isinstance(read, PaperProblem) else "read"
        said[what] += 1
        assert not (isinstance(read, PaperProblem) and "please report" in read.what), read
    assert number == COUNT
    assert said["read"] > COUNT // 10
    assert peak_megabytes() < max(_MEGABYTES, before + 1)
