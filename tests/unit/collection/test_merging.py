"""When two records are one document, where a year or a DOI is missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.collection import import_sources, open_collection
from citebed.collection.building.merging import canonical_records, merge
from citebed.collection.formats.base import Chunk
from citebed.collection.formats.bibtex import BIBTEX
from citebed.collection.tables import frames_of

TITLE = "Attention Is Not All You Need"


def entry(key: str, year: int | None = None, **fields: str) -> str:
    given = {"title": TITLE, "author": "Doe, Jo and Roe, Ann", **fields}
    if year:
        given["year"] = str(year)
    return f"@article{{{key}, {', '.join(f'{n}={{{v}}}' for n, v in given.items())}}}\n"


def merged(folder: Path, *files: str) -> list[list[str]]:
    """The keys of each document, of files imported in this order and in the other."""
    found = []
    for order in (files, files[::-1]):
        place = folder / f"in{len(found)}"
        place.mkdir()
        for number, text in enumerate(order):
            (place / f"{number}.bib").write_text(text)
        import_sources(place / "c", [place])
        documents = open_collection(place / "c").documents
        found.append(sorted(sorted(set(keys)) for keys in documents["keys"]))
    assert found[0] == found[1]
    return found[0]


def test_the_same_paper_without_a_year_is_one_document(tmp_path: Path) -> None:
    dated = entry("doe2020", 2020, pages="1--9")
    undated = entry("Doe2020", title=TITLE.lower() + ".", author="Jo Doe and A. Roe")
    (place := tmp_path / "x").mkdir()
    (place / "a.bib").write_text(undated)
    (place / "b.bib").write_text(dated)
    assert import_sources(tmp_path / "c", [place]).documents == 1
    document = open_collection(tmp_path / "c").document("doe2020")
    assert (document.year, document.keys) == (2020, ("Doe2020", "doe2020"))


@pytest.mark.parametrize(
    "other",
    [
        entry("other"),
        entry("doe2020", title="Attention Is Not What You Need"),
        entry("doe2020", author="Doe, Jo"),
        entry("doe2020", author="Doe, Jo and Poe, Ann"),
        entry("doe2020", 2021),
        entry("doe2020", doi="10.5072/other"),
    ],
)
def test_what_differs_is_another(other: str, tmp_path: Path) -> None:
    (place := tmp_path / "x").mkdir()
    (place / "a.bib").write_text(entry("doe2020", 2020, doi="10.5072/one"))
    (place / "b.bib").write_text(other)
    assert import_sources(tmp_path / "c", [place]).documents == 2


def test_a_doi_and_a_year_from_two_records(tmp_path: Path) -> None:
    files = (entry("doe", doi="10.5072/x"), entry("doe", 2020))
    assert merged(tmp_path, *files) == [["doe"]]


def test_several_without_a_year_and_two_years(tmp_path: Path) -> None:
    files = (entry("doe"), entry("doe", 2020), entry("doe", note="again"), entry("roe", 2021))
    assert merged(tmp_path, *files) == [["doe"], ["roe"]]


def test_none_of_them_has_a_year(tmp_path: Path) -> None:
    assert merged(tmp_path, entry("doe", pages="1--2"), entry("doe")) == [["doe"]]


def test_a_key_that_only_one_source_calls_so(tmp_path: Path) -> None:
    files = (entry("long-key", ids="doe"), entry("doe", 2020))
    assert merged(tmp_path, *files) == [["doe", "long-key"]]


def test_a_short_title_says_too_little(tmp_path: Path) -> None:
    files = (entry("doe", title="Editorial", pages="1"), entry("doe", 2020, title="Editorial"))
    assert merged(tmp_path, *files) == [["doe"], ["doe"]]


def test_tables_in_many_chunks_some_of_them_empty() -> None:
    text = "".join(
        (
            entry("doe", 2020),
            entry("doe"),
            entry("doe", title="Quite Another Paper", ids="a,b"),
            entry("x", 2001, title="A Third One"),
            entry("x", 2002, title="A Fourth One", doi="10.5072/x"),
            entry("y", title="On arXiv at Last", eprint="1810.04805"),
        )
    )
    documents = list(BIBTEX.parse(Chunk(text.encode(), "x.bib")))
    whole = canonical_records(frames_of([("x.bib", documents)])["records"])
    parts = [whole[at : at + size] for at, size in ((0, 0), (0, 1), (1, 0), (1, 3), (4, 2), (6, 0))]
    for made, expected in zip(merge(pl.concat(parts, rechunk=False)), merge(whole), strict=True):
        assert made.equals(expected)
    assert merge(whole)[0]["doc_id"].to_list() == ["doe", "doe-2", "x", "x-2", "y"]


def test_an_arxiv_id_typed_for_another_paper(tmp_path: Path) -> None:
    files = (
        entry("doe", 1997, eprint="quant-ph/9611025"),
        entry("poe", 1997, eprint="quant-ph/9611025", author="Poe, Ed", title="Of Another Sort"),
        entry("new", 1998, eprint="quant-ph/9611025v2", title="Renamed Since It Appeared"),
    )
    assert merged(tmp_path, *files) == [["doe", "new"], ["poe"]]
