"""No reader raises or gives broken records, whatever has happened to a file.

A seeded fuzz: ``CITEBED_MUTATIONS=5000 pytest …/test_mutations.py`` runs it for longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from tests.mutations import mutated
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, Chunk
from citebed.records import CitingPaper, Document, Judgement, Problem, Query, Record

COUNT = int(os.environ.get("CITEBED_MUTATIONS", "300"))
RECORDS = get_args(Record)


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
