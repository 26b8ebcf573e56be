"""Rules of every format: encodings, line ends, pieces, and files of any damage or any bytes.

A seeded fuzz damages the samples: ``CITEBED_MUTATIONS=5000 pytest …`` runs it for longer.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.soundness import check, line_count
from tests.mutations import mutated
from tests.samples import SAMPLES
from tests.sampling import sized

from citebed.collection.formats import FORMATS, Chunk
from citebed.collection.formats.base import NOT_UTF8
from citebed.records import Problem, Record

COUNT = int(os.environ.get("CITEBED_MUTATIONS", sized(50, 300)))
TEXT_FORMATS = [name for name in SAMPLES if name != "pdf"]
SPLIT_FORMATS = [name for name in SAMPLES if FORMATS[name].split]


def read(name: str, data: bytes, line: int = 1, **strings: str) -> list[Record]:
    return list(FORMATS[name].parse(Chunk(data, "x", line, strings)))


def test_there_is_a_sample_of_every_format() -> None:
    assert list(SAMPLES) == list(FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read(name: str) -> None:
    records = read(name, SAMPLES[name])
    assert any(not isinstance(record, Problem) for record in records)
    for record in records:
        check(record, line_count(SAMPLES[name]))


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_line_ends_byte_order_marks_and_encodings_change_nothing(name: str) -> None:
    sample = SAMPLES[name]
    expected = read(name, sample)
    assert read(name, sample.replace(b"\n", b"\r\n")) == expected
    assert read(name, b"\xef\xbb\xbf" + sample) == expected
    if name != "beir-qrels":
        text = sample.decode().replace('encoding="UTF-8"', "").replace("encoding='UTF-8'", "")
        assert read(name, text.encode("utf-16")) == expected


@pytest.mark.parametrize(
    "name", [name for name in TEXT_FORMATS if name not in ("dblp-xml", "beir-qrels")]
)
def test_bytes_of_windows_1252_are_read_and_noted(name: str) -> None:
    text = SAMPLES[name].decode().lstrip("\ufeff")
    for letters in ("pples", "ears", "FR", "CHI", "d1"):
        text = text.replace(letters, f"ä{letters}")
    noted = [Problem(1, NOT_UTF8, "mended"), *read(name, text.encode())]
    assert read(name, text.encode("cp1252")) == noted


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_and_cut_within_its_bounds(name: str) -> None:
    rng, cut = random.Random(name), FORMATS[name].split
    for _ in range(COUNT if name != "pdf" else COUNT // 10):  # tests/unit/papers has its own
        data = mutated(SAMPLES[name], rng)
        assert cut is None or 0 <= cut(data) <= len(data)
        try:
            for record in read(name, data):
                check(record, line_count(data))
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\nin {data!r}")


@pytest.mark.parametrize("name", TEXT_FORMATS)
@given(data=st.binary())
def test_any_bytes_are_read(name: str, data: bytes) -> None:
    cut = FORMATS[name].split
    assert cut is None or 0 <= cut(data) <= len(data)
    FORMATS[name].sniff(data.decode("latin-1"))
    for record in read(name, data):
        check(record, line_count(data))


@pytest.mark.parametrize("name", SPLIT_FORMATS)
@given(data=st.data())
def test_pieces_read_like_the_whole(name: str, data: st.DataObject) -> None:
    whole, form = SAMPLES[name], FORMATS[name]
    assert form.split is not None
    start, line, strings, found = 0, 1, dict[str, str](), list[Record]()
    while start < len(whole):
        end = start + form.split(whole[start : data.draw(st.integers(start + 1, len(whole)))])
        end = end if end > start else len(whole)
        piece = whole[start:end]
        found += read(name, piece, line, **strings)
        if form.collect_context is not None:
            form.collect_context(piece, strings)
        line, start = line + piece.count(b"\n"), end
    expected = read(name, whole)
    assert [r for r in found if not isinstance(r, Problem)] == [
        record for record in expected if not isinstance(record, Problem)
    ]
