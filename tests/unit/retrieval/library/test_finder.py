"""Finding: by words, names, years and keys; facets; all as the slow version has it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.reference import library as slow
from tests.unit.retrieval.library.conftest import write_library

from citebed.collection.filters import Filter
from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.library.library import Library


def ids(found: Any) -> list[str]:
    return [row["doc_id"] for row in found.rows]


def test_an_author_and_a_year(library: Library) -> None:
    found = library.find("smith 2019")
    assert ids(found) == ["oak", "elm"]  # by Smith in 2019; then what only speaks of both
    assert found.total == 2
    assert not found.notes


@pytest.mark.parametrize(
    ("name", "doc_id"),
    [
        ("10.5072/oak", "oak"),
        ("https://doi.org/10.5072/OAK", "oak"),
        ("smith2019oak", "oak"),
        ("MyKey", "oak"),
        ("arXiv:1234.5678", "sea"),
        ("elm", "elm"),
    ],
)
def test_a_name_finds_its_document_first(library: Library, name: str, doc_id: str) -> None:
    assert ids(library.find(name))[0] == doc_id
    assert library.about(name).document.doc_id == doc_id


def test_words_as_they_are_typed(library: Library) -> None:
    assert ids(library.find("müller")) == ids(library.find("muller")) == ["oak"]
    assert ids(library.find("o'brien")) == ["elm"]
    assert ids(library.find("forest oa")) == ["oak"]  # a word that is not finished yet
    assert ids(library.find("Mül")) == ["oak"]
    assert set(ids(library.find("forests"))) == {"oak", "elm", "ash"}
    assert ids(library.find("grow in forests"))[0] == "elm"  # as its title has it


def test_where_no_document_has_all_words_some_are_shown(library: Library) -> None:
    found = library.find("oak salt")
    assert set(ids(found)) == {"oak", "sea"}
    assert found.notes == ("no document has all of these words; these have some",)
    assert library.find("xylophone").total == 0
    assert library.find("the").total == 0


def test_orders(library: Library) -> None:
    assert ids(library.find(sort="newest")) == ["oak", "sea", "elm", "ash", "bare"]
    assert ids(library.find(sort="oldest")) == ["ash", "elm", "sea", "oak", "bare"]
    assert ids(library.find(sort="title")) == ["bare", "elm", "oak", "ash", "sea"]
    # Papers p1 and p2 cite oak, ash and sea; p2 is elm itself, and only p1 cites elm.
    assert ids(library.find()) == ids(library.find(sort="cited"))
    assert ids(library.find()) == ["oak", "sea", "ash", "elm", "bare"]
    assert [row["cited"] for row in library.find()] == [2, 2, 2, 1, 0]


def test_pages(library: Library) -> None:
    found = library.find(sort="oldest", start=1, k=2)
    assert (ids(found), found.total) == (["elm", "sea"], 5)
    assert [row["rank"] for row in found] == [2, 3]
    assert found.summary == "2–3 of 5 documents"
    assert "Elms grow in forests" in repr(found)
    assert found.table["doc_id"].to_list() == ["elm", "sea"]
    assert library.find(start=99).total == 5


def test_impossible_values_are_reported(library: Library) -> None:
    with pytest.raises(UnknownName, match="order"):
        library.find(sort="worst")
    with pytest.raises(CitebedError, match="expected numbers of at least 0"):
        library.find(start=-1)


def test_facets_are_of_what_was_found_without_their_own_choice(library: Library) -> None:
    found = library.find("forests", among=Filter(venues=("J. of Trees",)))
    assert set(ids(found)) == {"oak", "elm"}
    assert found.of_facet("venue") == {"J. of Trees": 2, "Tree Conf.": 1}
    assert found.of_facet("type") == {"article": 2}
    assert found.of_facet("year") == {"2019": 1, "2005": 1}
    chosen = found.facets.filter("chosen")
    assert chosen.select("facet", "value").rows() == [("venue", "J. of Trees")]


def test_years_that_are_not_a_decade_are_among_the_facets(library: Library) -> None:
    found = library.find(among=Filter("2000-2015"))
    assert {"facet": "year", "value": "2000-2015", "count": 2, "chosen": True} in found.facet_rows


# --- As the slow version ----------------------------------------------------------------------

_WORDS = ("oak", "elms", "forest", "salt", "sea", "growing", "tree", "smith", "2001", "jones")
_NAMES = ("Smith, Ann", "Jones, Bo", "Oak, Cid", "Müller, Dora", "smith, ann")
_VENUES = ("J. of Trees", "Sea Conf.", "j. of trees", None)


def _made(seed: int, number: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "doc_id": f"d{each:03}", "title": " ".join(rng.choices(_WORDS, k=3)),
            "abstract": " ".join(rng.choices(_WORDS, k=5)),
            "authors": rng.sample(_NAMES, rng.randint(0, 2)),
            "year": rng.choice((None, 1999, 2001, 2005, 2019)),
            "venue": rng.choice(_VENUES), "type": rng.choice(("article", "book")),
            "cite_key": f"k{each}",
        }
        for each in range(number)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], Library]:
    documents = _made(7, 120)
    return documents, write_library(tmp_path_factory.mktemp("many") / "c", documents)


def _asked(rng: random.Random) -> tuple[list[str], Filter, dict[str, Any]]:
    words = rng.sample((*_WORDS, "muller", "fores", "mül"), rng.randint(0, 3))
    chosen: dict[str, Any] = {}
    if rng.random() < 0.5:
        chosen["years"] = rng.choice(((2000, None), (None, 2001), (2001, 2019)))
    for kind, values in (("venue", _VENUES[:2]), ("type", ("article",)), ("author", _NAMES[:2])):
        if rng.random() < 0.3:
            chosen[kind] = (rng.choice(values),)
    first, last = chosen.get("years", (None, None))
    years = f"{first or ''}-{last or ''}" if first or last else ""
    return words, Filter(years, *(chosen.get(k, ()) for k in ("venue", "type", "author"))), chosen


@pytest.mark.parametrize("seed", range(25))
def test_found_and_facets_are_those_of_the_slow_version(
    many: tuple[list[dict[str, Any]], Library], seed: int
) -> None:
    documents, library = many
    words, among, chosen = _asked(random.Random(seed))
    stem = library.index.analyser.term
    plain = [slow.words_of(word)[0] for word in words]
    matched = slow.matching(documents, plain, stem)
    there = [each for each in documents if each["doc_id"] in matched]
    wanted = {each["doc_id"] for each in there if slow.passes(each, chosen)}
    found = library.find(" ".join(words), among=among, k=1000)
    assert {row["doc_id"] for row in found} == wanted
    assert found.total == len(wanted)
    scores = [(row["score"], row["doc_id"]) for row in found]
    assert not words or scores == sorted(scores, reverse=True)
    for kind in ("venue", "author", "type", "year"):
        others = [each for each in there if slow.passes(each, chosen, without=kind)]
        told = {value.lower(): number for value, number in found.of_facet(kind).items() if number}
        if kind == "year":
            told = {value: number for value, number in told.items() if "-" not in value}
        assert told == slow.counts(others, kind)


@pytest.mark.parametrize("seed", range(10))
def test_a_filter_lets_through_what_its_expression_does(
    many: tuple[list[dict[str, Any]], Library], seed: int
) -> None:
    _, library = many
    _, among, _ = _asked(random.Random(seed))
    masks = list(library.catalogue.masks(among).values())
    mask = np.logical_and.reduce([np.ones(len(library.catalogue), bool), *masks])
    texts = pl.col("venue", "type").cast(pl.String).replace("", None)
    table = library.catalogue.table.with_columns(texts)
    assert (
        table.filter(mask)["doc_id"].to_list() == table.filter(among.expression)["doc_id"].to_list()
    )


def test_names_and_years_add_as_rare_words_do(
    many: tuple[list[dict[str, Any]], Library],
) -> None:
    documents, library = many
    found = library.find("muller", k=1000)
    having = sum("Müller, Dora" in each["authors"] for each in documents)
    expected = 1.5 * slow.rarity(len(documents), having)
    assert having == found.total
    assert [row["score"] for row in found] == pytest.approx([expected] * having)


def test_a_library_without_citing_papers(tmp_path: Path) -> None:
    library = write_library(tmp_path / "c", [{"doc_id": "a", "title": "Alone"}])
    about = library.about("a")
    assert (about.cited_by, about.cites, about.cited_with, about.similar) == ((), (), (), ())
    assert len(library.map("a").nodes) == 1
