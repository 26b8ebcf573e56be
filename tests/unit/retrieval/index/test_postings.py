"""Postings sorted on disk by ranges of terms equal those sorted in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.retrieval.index.making import (
    arrays_of,
    assert_same_arrays,
    build,
    context,
    section,
    write_collection,
)

from citebed.errors import CitebedError
from citebed.retrieval.index import arrays, layout, postings, term_counts
from citebed.retrieval.index.arrays import ArrayWriter
from citebed.retrieval.index.postings import PostingPile

KEYS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=30)


def packed(pairs: list[tuple[int, int]]) -> term_counts.Keys:
    shift = term_counts.TERM_SHIFT, term_counts.ROW_SHIFT
    return np.array([(term << shift[0]) | (row << shift[1]) | 1 for term, row in pairs], np.uint64)


@given(st.lists(KEYS, max_size=6), st.permutations(range(10)), st.integers(1, 40))
def test_what_is_on_disk_is_sorted_as_in_memory(
    parts: list[list[tuple[int, int]]], order: list[int], room: int
) -> None:
    met = {term for part in parts for term, _ in part}
    final = np.full(10, -1, np.int64)
    for number, term in enumerate(term for term in order if term in met):
        final[term] = number
    with TemporaryDirectory() as name:
        found = []
        for pile in (PostingPile(), PostingPile(Path(name), room)):
            for part in parts:
                pile.add(packed(part))
            often = pile.count_postings(10)
            assert often.sum() == sum(map(len, parts))
            found.append(list(pile.pop_sorted(final, often)))
        assert not list(Path(name).iterdir())
    (whole,), some = found
    np.testing.assert_array_equal(np.concatenate([whole[:0], *some]), whole)
    terms = [set(term_counts.key_terms(part).tolist()) for part in some]
    assert sum(map(len, terms)) == len(met)  # no term is torn apart


@given(st.lists(st.lists(st.integers(0, 255), max_size=9), max_size=4))
def test_an_array_grows_in_a_file_as_in_memory(parts: list[list[int]]) -> None:
    with TemporaryDirectory() as name:
        arrays = []
        for grown in (ArrayWriter("a", np.uint8), ArrayWriter("a", np.uint8, Path(name))):
            for part in parts:
                grown.add(np.array(part, np.int64))
            arrays.append(grown.array())
        np.testing.assert_array_equal(arrays[0], arrays[1])
        assert arrays[0].dtype == arrays[1].dtype


def make(folder: Path) -> Path:
    documents = [
        {
            "doc_id": f"d{number}",
            "title": f"Tree {number % 7} of trees",
            "abstract": " ".join(f"word{number * step % 31}" for step in range(1, 20)),
            "keywords": ["oak", f"leaf {number % 3}"],
        }
        for number in range(60)
    ]
    return write_collection(
        folder,
        documents,
        sections=[section(f"d{n}", "Salt, salt and word3.", n) for n in range(20)],
        contexts=[context("p", ["d1", "d2"], "Leaves [1] of word7"), context("q", ["d1"], "tree")],
    )


@pytest.fixture
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "MEMORY_POSTINGS", 100)
    for module, name in ((postings, "BATCH"), (arrays, "_BATCH"), (layout, "_BATCH")):
        monkeypatch.setattr(module, name, 64)


def test_an_index_made_on_disk_is_the_one_made_in_memory(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plain, spilled = make(tmp_path / "plain"), make(tmp_path / "spilled")
    build(plain)
    request.getfixturevalue("_little_room")
    build(spilled)
    assert_same_arrays(arrays_of(spilled), arrays_of(plain))
    assert not [path for path in (spilled / "index").iterdir() if path.is_dir()]
    (spilled / "contexts.parquet").unlink()  # what has not changed is taken over
    build(spilled)
    taken = arrays_of(spilled)
    build(spilled, rebuild=True)
    assert_same_arrays(taken, arrays_of(spilled))


def test_more_postings_than_an_index_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "MOST_POSTINGS", 1000)
    with pytest.raises(CitebedError, match=r"more than 1,000 postings.*split the collection"):
        build(make(tmp_path / "c"))
