"""Documents per second that the name filter reads, and whether its memory stays flat.

The script generates documents of some 300 bytes, 30 topics with two names each, and one document in
50 with a mention; the real command reads streams of growing length. For comparison it runs
`grep -F -i -w`, which finds the lines with a name and does nothing else, and a plain loop in
Python over a part of the stream. The exit code is 1 if the peak memory grows with the stream.
Run: python bench/filter.py [--documents N] [--folder WHERE] [--model NAME]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import Watched, watch

TOPICS = 30
SHAPES = 20_000
START = 1317427200
LOOPED = 200_000
GROWTH = 1.15
"""The longest stream may take this many times the memory of one a quarter as long."""


def names(choose: random.Random) -> list[tuple[str, str]]:
    """A full name and a nickname of one word for each topic."""
    made = [tuple(_word(choose, 5, 9).title() for _ in range(3)) for _ in range(TOPICS)]
    return [(f"{first} {last}", nick) for first, last, nick in made]


def _word(choose: random.Random, shortest: int, longest: int) -> str:
    return "".join(choose.choices("aeiourstnlmdkp", k=choose.randint(shortest, longest)))


def shapes(choose: random.Random, known: list[tuple[str, str]]) -> list[str]:
    """The ends of lines: title and text, one in 50 with a name, as many with a last name only."""
    words = [_word(choose, 2, 9) for _ in range(30_000)]
    found = []
    for number in range(SHAPES):
        text = choose.choices(words, k=40)
        if number % 50 == 0:
            text[choose.randrange(40)] = choose.choice(choose.choice(known))
        if number % 50 == 1:
            text[choose.randrange(40)] = choose.choice(known)[0].split()[1]
        title, body = " ".join(text[:6]), " ".join(text[6:])
        found.append(f'"title": "{title}", "text": "{body}"}}\n')
    choose.shuffle(found)
    return found


def lines(documents: int, ends: list[str]) -> Iterator[str]:
    """The stream, in pieces of many lines."""
    for first in range(0, documents, SHAPES):
        yield "".join(
            f'{{"doc_id": "{START + n // 4}-{n:08x}", "time": {START + n // 4}, {end}'
            for n, end in zip(range(first, min(first + SHAPES, documents)), ends, strict=False)
        )


def write(folder: Path, documents: int) -> list[tuple[str, str]]:
    """Write the stream, the topics and the names; gives the names."""
    choose = random.Random(7)
    known = names(choose)
    ends = shapes(choose, known)
    with (folder / "stream.jsonl").open("w") as handle:
        handle.writelines(lines(documents, ends))
    with (folder / "topics.jsonl").open("w") as handle:
        for full, nick in known:
            topic = {"query_id": full.replace(" ", "_"), "name": full, "aliases": [nick]}
            handle.write(json.dumps({**topic, "text": f"{full} is called {nick}"}) + "\n")
    (folder / "names.txt").write_text("".join(f"{full}\n{nick}\n" for full, nick in known))
    return known


def filtered(folder: Path, stream: Path, model: str) -> Watched:
    """Run the command to its end."""
    topics, output = str(folder / "topics.jsonl"), str(folder / "out.run")
    command = [sys.executable, "-m", "citebed", "filter", str(stream), "--topics", topics]
    options = ["--model", model, "-o", output, "--overwrite", "--restart", "--json"]
    done = watch([*command, *options])
    if done.code:
        sys.exit(done.err)
    return done


def looped(stream: Path, known: list[tuple[str, str]], documents: int) -> float:
    """Seconds of the plain loop: decode each line, look for any name, write a line."""
    every = "|".join(re.escape(name) for pair in known for name in pair)
    pattern = re.compile(rf"\b(?:{every})\b", re.IGNORECASE)
    started = time.perf_counter()
    found = 0
    with stream.open() as handle:
        for _, line in zip(range(documents), handle, strict=False):
            document = json.loads(line)
            found += bool(pattern.search(document["title"]) or pattern.search(document["text"]))
    return time.perf_counter() - started


def first_lines(stream: Path, part: Path, documents: int) -> None:
    """Copy the beginning of the stream."""
    with stream.open("rb") as whole, part.open("wb") as copy:
        for _, line in zip(range(documents), whole, strict=False):
            copy.write(line)


def main() -> None:
    """Make a stream, filter it at three lengths, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=8_000_000)
    parser.add_argument("--folder", type=Path, help="where there is room for the stream")
    parser.add_argument("--model", default="names")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder, prefix="filter-"))
    try:
        sys.exit(study(folder, given.documents, given.model))
    finally:
        shutil.rmtree(folder)


def study(folder: Path, documents: int, model: str) -> int:
    """Print the tables; gives the exit code."""
    known = write(folder, documents)
    stream, part = folder / "stream.jsonl", folder / "part.jsonl"
    print(f"{model}, {TOPICS} topics\n")
    print(("{:>12}" * 7).format("documents", "MB", "seconds", "docs/s", "MB/s", "peak MB", "lines"))
    peaks = []
    for count in (documents // 4, documents // 2, documents):
        source = stream if count == documents else part
        if source is part:
            first_lines(stream, part, count)
        done = filtered(folder, source, model)
        size = source.stat().st_size / 1e6
        found = json.loads(done.out)[0]["lines"]
        rates = (count / done.seconds, size / done.seconds)
        print(
            f"{count:>12,}{size:>12,.0f}{done.seconds:>12.1f}{rates[0]:>12,.0f}{rates[1]:>12,.0f}"
            f"{done.megabytes:>12,.0f}{found:>12,}",
            flush=True,
        )
        peaks.append(done.megabytes)
    if model == "names":
        compare(folder, stream, known, documents, done.seconds)
    flat = peaks[-1] <= GROWTH * peaks[0]
    print(f"\nmemory is {'flat' if flat else 'NOT FLAT'}: x{peaks[-1] / peaks[0]:.2f} for x4")
    return int(not flat)


def compare(
    folder: Path, stream: Path, known: list[tuple[str, str]], documents: int, seconds: float
) -> None:
    """Print what others take for less work."""
    grep = watch(["grep", "-c", "-F", "-i", "-w", "-f", str(folder / "names.txt"), str(stream)])
    part = min(LOOPED, documents)
    loop = looped(stream, known, part) * documents / part
    print(f"\ngrep -F -i -w: {grep.seconds:.1f} s, x{grep.seconds / seconds:.2f} of ours")
    print(f"a plain loop in Python (from {part:,}): {loop:.1f} s, x{loop / seconds:.2f} of ours")


if __name__ == "__main__":
    main()
