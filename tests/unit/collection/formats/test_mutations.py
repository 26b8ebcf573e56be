"""No reader raises or gives broken records, whatever has happened to a file.

A seeded fuzz: ``CITEBED_MUTATIONS=5000 pytest …/test_mutations.py`` runs it for longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, Chunk
from citebed.records import CitingPaper, Document, Judgement, Problem, Query, Record

COUNT = int(os.environ.get("CITEBED_MUTATIONS", "300"))
RECORDS = get_args(Record)
JUNK = [
    *(b"\0", b"\x1a\x02", b"\x85", b"\xc3", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\r"),
    *(b"{", b"}", b'"', b"\\", b"\\u", b"\\ud800", b"@", b"<", b">", b"&", b"]]>", b"<!--", b"-"),
    *(b"&amp;", b"&bogus;", b"&#0;", b"&#xd800;", b"&#99999999;", b"\n\n", b"  ", b"9" * 30),
    *(b"null", b"[[[[", b"10.1/", b"<![CDATA[", b"</doc>", b"\n.I 0\n", b"\nER  - \n", b"%"),
]


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def beheaded(data: bytes, rng: random.Random) -> bytes:
    return data[rng.randrange(len(data) + 1) :]


def spans(data: bytes, rng: random.Random) -> tuple[bytes, bytes, bytes]:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:start], data[start:end], data[end:]


def deleted(data: bytes, rng: random.Random) -> bytes:
    before, _, after = spans(data, rng)
    return before + after


def doubled(data: bytes, rng: random.Random) -> bytes:
    before, span, after = spans(data, rng)
    return before + span * rng.choice((2, 2, 3)) + after


def swapped(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def littered(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(JUNK) + data[at:]
    return data


def recoded(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", errors="replace").replace("a", "ä")
    coding = rng.choice(("latin-1", "utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp1252"))
    return text.encode(coding, errors="replace")


def spliced(data: bytes, rng: random.Random) -> bytes:
    other = SAMPLES[rng.choice(sorted(SAMPLES))]
    return truncated(data, rng) + beheaded(other, rng)


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(truncated, beheaded, deleted, doubled, swapped),
    *(flipped, littered, recoded, spliced),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(MUTATIONS)(data, rng)
    return data


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from texts_in(part)


def check(record: Any, line_count: int) -> None:
    assert isinstance(record, RECORDS)
    for text in texts_in(record):
        text.encode("utf-8")
    assert 1 <= record.line <= line_count + 1
    if isinstance(record, Problem):
        assert record.what.strip()
    elif isinstance(record, Document):
        assert record.doc_id.strip()
    elif isinstance(record, CitingPaper):
        assert record.paper_id.strip()
        ids = [context.context_id for context in record.contexts]
        assert len(set(ids)) == len(ids)
    elif isinstance(record, Query):
        assert record.query_id.strip()
        assert record.text.strip()
    elif isinstance(record, Judgement):
        assert record.query_id.strip()
        assert record.doc_id.strip()


def line_count(data: bytes) -> int:
    return max(data.count(b"\n"), data.count(b"\r")) + 1


def test_there_is_a_sample_of_every_format() -> None:
    assert list(SAMPLES) == list(FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read(name: str) -> None:
    records = list(FORMATS[name].parse(Chunk(SAMPLES[name], "x")))
    assert any(not isinstance(record, Problem) for record in records)
    for record in records:
        check(record, line_count(SAMPLES[name]))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_survived(name: str) -> None:
    rng = random.Random(name)
    for _ in range(COUNT):
        data = mutated(SAMPLES[name], rng)
        try:
            for record in FORMATS[name].parse(Chunk(data, "x")):
                check(record, line_count(data))
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\nin {data!r}")


@pytest.mark.parametrize("name", [name for name in SAMPLES if FORMATS[name].cut])
def test_a_damaged_file_is_cut_within_its_bounds(name: str) -> None:
    rng = random.Random(name)
    cut = FORMATS[name].cut
    assert cut is not None
    for _ in range(COUNT):
        data = mutated(SAMPLES[name], rng)
        assert 0 <= cut(data) <= len(data)
