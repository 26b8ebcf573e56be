"""Checks for documents that are there more than once."""

from __future__ import annotations

import random

import polars as pl
import pytest
from tests.library_samples import bibtex_entry
from tests.reference import near_duplicates
from tests.unit.collection.lint.kinds import Altered, Collect, Found

from citebed.collection.lint.documents import near_pairs
from citebed.collection.tables import DOCUMENTS
from citebed.text.titles import alike, numbers


def entry(key: str, title: str, author: str = "Doe, Jane", year: int = 2000, **more: str) -> str:
    return bibtex_entry(key, title=title, author=author, year=year, **more)


def test_one_doi_under_two_ids(collect: Collect, altered: Altered, found: Found) -> None:
    text = entry("a", "First things") + entry("b", "Last things") + entry("c", "Other things")
    collection = collect({"a.bib": text})
    assert found(collection, "duplicate-dois") == []
    same = pl.when(pl.col("doc_id") != "b").then(pl.lit("10.1/x"))
    assert found(altered(collection, "documents", DOCUMENTS, doi=same), "duplicate-dois") == [
        ("c", "'Other things' has the DOI 10.1/x, as a does")
    ]


def test_same_title_author_and_year_with_different_dois(collect: Collect, found: Found) -> None:
    title = "Infomaster: An Information Integration System"
    text = (
        entry("10.1145/1.1", title)
        + entry("10.1145/1.2", title.upper(), "Doe, J. and Roe, R.")
        + entry("10.1145/1.3", title, year=2001)
        + entry("10.1145/1.4", title, "Roe, Richard")
        + entry("10.1145/2.1", "In This Issue", volume="1")
        + entry("10.1145/2.2", "In This Issue", volume="2")
        + entry("10.1145/2.3", "In This Issue", volume="2")
    )
    assert [name for name, _ in found(collect({"a.bib": text}), "duplicate-documents")] == [
        "10.1145/1.2",
        "10.1145/2.3",
    ]


def near(collect: Collect, found: Found, *entries: str) -> list[str]:
    rows = found(collect({"a.bib": "".join(entries)}), "near-duplicate-titles")
    return [name for name, _ in rows]


def test_a_typing_error_and_an_added_word(collect: Collect, found: Found) -> None:
    assert near(
        collect,
        found,
        entry("a", "Query Expansion Using Local and Global Document Analysis"),
        entry("b", "Quary Expansion Using Local and Global Document Analysis", "Doe, J.", 2017),
        entry("c", "Demonstration of Query Expansion by Tomatoes", "Roe, R."),
    ) == ["a"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (
            "Nearest Neighbor Searching under Uncertainty I",
            "Nearest Neighbor Searching under Uncertainty II",
        ),
        (
            "Report on the SIGIR 2014 Workshop on Medicine",
            "Report on the SIGIR 2016 Workshop on Medicine",
        ),
        (
            "Second Workshop on Interacting with Objects",
            "Third Workshop on Interacting with Objects",
        ),
        ("The Thirteenth Workshop on Editing Systems", "The Fifteenth Workshop on Editing Systems"),
        ("4th Workshop on Awareness in Retrieval", "Workshop on Awareness in Retrieval"),
        ("Minimal Test Collections for Retrieval", "Robust Test Collections for Retrieval"),
        ("Editorial notes", "Editorial note"),
        ("Exactly the same title, twice over", "Exactly the Same Title Twice Over"),
    ],
)
def test_series_and_different_papers_are_not_duplicates(
    collect: Collect, found: Found, left: str, right: str
) -> None:
    text = entry("10.1145/1.1", left), entry("10.1145/1.2", right)
    assert near(collect, found, *text) == []


def test_titles_of_different_authors_are_not_compared(collect: Collect, found: Found) -> None:
    one = entry("a", "Query Expansion Using Local and Global Analysis")
    two = entry("b", "Query Expansion Using Local and Global Analyses", "Doe, Richard")
    assert near(collect, found, one, two) == []


def test_a_heading_that_recurs_is_not_a_paper(collect: Collect, found: Found) -> None:
    same = [entry(f"10.1/{n}", "Abstracts of Selected Articles", year=2000 + n) for n in range(3)]
    assert near(collect, found, *same, entry("10.1/9", "Abstracts of Slected Articles")) == []


def test_what_a_title_counts_by() -> None:
    assert numbers("Part IV of the Second TREC-8, May 2004") == ["iv", "second", "8", "2004"]
    assert numbers("The civic mix of twenty vivid tens") == ["twenty"]


def random_titles(seed: int, count: int, letters: str) -> list[str]:
    """Return titles; many differ from another one in a few letters."""
    draw = random.Random(seed)
    titles: list[str] = []
    for _ in range(count):
        if titles and draw.random() < 0.6:
            title = list(draw.choice(titles))
            for _ in range(draw.randrange(5)):
                at = draw.randrange(len(title) + 1)
                title[at : at + draw.randrange(2)] = draw.choice(letters)
        else:
            title = draw.choices(letters, k=draw.randrange(60))
        titles.append("".join(title))
    return titles


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("threshold", [0.6, 0.8, 1.0])
def test_as_the_slow_way(seed: int, threshold: float) -> None:
    letters = "abcdefghijklmnop1éß文" if seed % 2 else "abc"
    titles = random_titles(seed, 120, letters)
    draw = random.Random(seed)
    keys = [set(draw.choices("xyz", k=draw.randrange(3))) for _ in titles]
    flat = [(row, key) for row, given in enumerate(keys) for key in sorted(given)]
    frame = pl.DataFrame(flat, schema={"row": pl.UInt32, "key": pl.String}, orient="row")
    fast = near_pairs(pl.Series(titles), frame, threshold).rows()
    assert fast == near_duplicates.near_pairs(titles, keys, threshold)


@pytest.mark.parametrize("titles", [[], [""], ["", "ab"], ["", "abc", "", "abc"]])
def test_titles_with_next_to_nothing_in_them(titles: list[str]) -> None:
    frame = pl.DataFrame({"row": range(len(titles)), "key": ["k"] * len(titles)})
    assert near_pairs(pl.Series(titles, dtype=pl.String), frame, 0.5).is_empty()
    assert alike("", "") == 0
