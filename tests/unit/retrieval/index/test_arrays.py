"""The parts an index is made of: tables of strings, and columns that are mostly empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.retrieval.index.arrays import Column, ColumnWriter, Nonzero, Strings, sum_repeated

ANY = st.text(st.characters(codec=None), max_size=8)
"""Any text, halves of characters included."""


def by_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def packed(*filled: Nonzero, postings: int, folder: Path | None = None) -> dict[str, Any]:
    column = ColumnWriter("tf", folder)
    for part in filled:
        column.add(*part)
    return column.arrays(postings)


@given(st.sets(ANY), ANY, st.integers(-20, 20), st.slices(10))
def test_strings_are_a_sorted_list(values: set[str], other: str, at: int, part: slice) -> None:
    expected = sorted(values, key=by_bytes)
    found = Strings(*Strings.arrays(expected))
    assert len(found) == len(expected)
    assert list(found) == expected
    assert [found[number] for number in range(len(expected))] == expected
    assert found[part] == expected[part]
    assert [found.find(text) for text in expected] == list(range(len(expected)))
    assert found.find(other) == (expected.index(other) if other in values else -1)
    assert (other in found) == (other in values)
    if -len(expected) <= at < len(expected):
        assert found[at] == expected[at]
        assert found[np.int64(at)] == expected[at]
    else:
        with pytest.raises(IndexError):
            found[at]


@given(st.sets(st.text(st.characters(codec="utf-8"))))
def test_strings_are_a_column(values: set[str]) -> None:
    expected = sorted(values, key=by_bytes)
    blob, offsets = Strings.arrays(expected)
    assert Strings(blob, offsets).series().to_list() == expected
    of_column = Strings.arrays(pl.Series(expected, dtype=pl.String))
    np.testing.assert_array_equal(of_column[0], blob)
    np.testing.assert_array_equal(of_column[1], offsets)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 300)), max_size=40),
    st.lists(st.integers(1, 8191), max_size=3),
    st.data(),
)
def test_columns_are_a_dense_array(
    wanted: list[tuple[bool, int]], more: list[int], data: st.DataObject
) -> None:
    dense = np.array([tf if there else 0 for there, tf in wanted], np.int64)
    number = np.flatnonzero(dense)
    times = dense[number]
    if len(number):  # a posting that is named more than once is the sum
        dense[number[-1]] += sum(more)
        number = np.r_[number, [number[-1]] * len(more)]
        times = np.r_[times, more]
    filled = sum_repeated(number.astype(np.uint32), times.astype(np.uint16))
    arrays = packed(filled, postings=len(dense))
    column = Column(len(dense), arrays["tf"], arrays.get("tf.at"))
    start = data.draw(st.integers(0, len(dense)))
    stop = data.draw(st.integers(start, len(dense)))
    np.testing.assert_array_equal(column[slice(start, stop)], dense[start:stop])
    if len(dense):
        places = np.array(data.draw(st.lists(st.integers(0, len(dense) - 1))), np.int64)
        np.testing.assert_array_equal(column[places], dense[places])
    there, values = column.nonzero()
    np.testing.assert_array_equal(there, np.flatnonzero(dense))
    np.testing.assert_array_equal(values, dense[dense > 0])


def test_a_column_that_is_mostly_empty_is_kept_as_its_rest() -> None:
    few = packed(sum_repeated(np.array([7], np.uint32), np.array([2], np.uint16)), postings=100)
    assert {name: array.tolist() for name, array in few.items()} == {"tf": [2], "tf.at": [7]}
    many = packed(sum_repeated(np.arange(50, dtype=np.uint32), np.ones(50, np.uint16)), postings=60)
    assert list(many) == ["tf"]
    assert many["tf"].dtype == np.uint8
