"""Which documents a filter lets through, told by a loop over rows."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection.filters import Filter, resolve_names
from citebed.errors import CitebedError

ROWS = [
    {"doc_id": "a", "year": 1999, "venue": "SIGIR", "type": "article", "authors": ["Ann Lee"]},
    {"doc_id": "b", "year": 2010, "venue": " sigir ", "type": "book", "authors": ["Bo", "Ann Lee"]},
    {"doc_id": "c", "year": None, "venue": None, "type": "article", "authors": None},
    {"doc_id": "d", "year": 2020, "venue": "ECIR", "type": None, "authors": []},
]
TABLE = pl.DataFrame(ROWS, schema={
    "doc_id": pl.String, "year": pl.Int32, "venue": pl.String, "type": pl.String,
    "authors": pl.List(pl.String),
})  # fmt: skip


def through(wanted: Filter) -> str:
    return "".join(TABLE.filter(wanted.expression)["doc_id"])


@pytest.mark.parametrize(
    ("wanted", "which"),
    [
        (Filter(), "abcd"),
        (Filter(years="2010"), "b"),
        (Filter(years="2000-"), "bd"),
        (Filter(years="-2010"), "ab"),
        (Filter(years="2000–2015"), "b"),
        (Filter(venues=("sigir",)), "ab"),
        (Filter(venues=("SIGIR", "ECIR")), "abd"),
        (Filter(types=("Article",)), "ac"),
        (Filter(authors=("ann lee",)), "ab"),
        (Filter(doc_ids=frozenset("cd")), "cd"),
        (Filter(doc_ids=frozenset()), ""),
        (Filter(years="2000-", venues=("sigir",)), "b"),
    ],
)
def test_lets_through(wanted: Filter, which: str) -> None:
    assert through(wanted) == which


@pytest.mark.parametrize("years", ["-", "two", "2010-2020-2030", "99999", "20 10"])
def test_wrong_ranges_of_years_are_refused(years: str) -> None:
    with pytest.raises(CitebedError, match="is not a range of years"):
        Filter(years=years)


@given(st.one_of(st.none(), st.integers(0, 3000)), st.one_of(st.none(), st.integers(0, 3000)))
def test_spans_are_read_as_they_are_written(first: int | None, last: int | None) -> None:
    if first is None and last is None:
        return
    written = f"{'' if first is None else first}-{'' if last is None else last}"
    assert Filter(years=written).span == (first, last)


def test_only_an_empty_filter_is_none() -> None:
    assert not Filter()
    assert Filter(doc_ids=frozenset())


KNOWN = pl.Series(["Proc. 31st ACM SIGIR Conf.", "SIGIR Forum", "ECIR", "Li, Hang", "Oliver, Li"])


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("ecir", ["ecir"]),
        ("SIGIR", ["proc. 31st acm sigir conf.", "sigir forum"]),
        ("acm sigir", ["proc. 31st acm sigir conf."]),
        ("li", ["li, hang", "oliver, li"]),
        ("IR", ["ir"]),  # no word of any name
        ("c++ (x", ["c++ (x"]),
    ],
)
def test_an_unknown_name_stands_for_all_names_with_its_words(wanted: str, meant: list[str]) -> None:
    assert resolve_names([wanted], KNOWN) == meant
