"""No reader raises or gives broken records, whatever has happened to a file.

A seeded fuzz: ``CITEBED_MUTATIONS=5000 pytest …/test_mutations.py`` runs it for longer.
"""

from __future__ import annotations

import os
import random

import pytest
from tests.fuzz.soundness import check, line_count
from tests.mutations import mutated
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, Chunk
from citebed.records import Problem

COUNT = int(os.environ.get("CITEBED_MUTATIONS", "300"))


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
    for _ in range(COUNT if name != "pdf" else COUNT // 10):  # tests/unit/papers has its own
        data = mutated(SAMPLES[name], rng)
        try:
            for record in FORMATS[name].parse(Chunk(data, "x")):
                check(record, line_count(data))
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\nin {data!r}")


@pytest.mark.parametrize("name", [name for name in SAMPLES if FORMATS[name].split])
def test_a_damaged_file_is_cut_within_its_bounds(name: str) -> None:
    rng = random.Random(name)
    cut = FORMATS[name].split
    assert cut is not None
    for _ in range(COUNT):
        data = mutated(SAMPLES[name], rng)
        assert 0 <= cut(data) <= len(data)
