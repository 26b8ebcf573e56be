"""When two records are one document, where a year or a DOI is missing."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import polars as pl
import pytest
from tests.library_samples import bibtex_entry
from tests.reference import merging as reference

from citebed.collection import import_sources, open_collection
from citebed.collection.building.merging import identities
from citebed.collection.building.records import keys_of
from citebed.collection.tables import RECORD

TITLE = "Attention Is Not All You Need"


def entry(key: str, year: int | None = None, **fields: str) -> str:
    given = {"title": TITLE, "author": "Doe, Jo and Roe, Ann", **fields}
    return bibtex_entry(key, **given, year=year)


def merged(folder: Path, *files: str) -> list[list[str]]:
    """The keys of each document, of files imported in this order and in the other."""
    found: list[list[list[str]]] = []
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


def groups_of(table: pl.DataFrame) -> list[list[int]]:
    """The rows of each document."""
    keys = keys_of(table).with_columns(table["source"])
    found = identities(keys, lambda rows, what: what.of(table[rows]))
    rows = found.with_row_index("row").group_by("identity", maintain_order=True).agg("row")
    return sorted(rows["row"].to_list())


ONE_PAPER = ("Of Cats and Dogs", "Of cats and dogs.", "Of Cats and Dogs: A Study")


def random_records(seed: int, count: int) -> pl.DataFrame:
    """Return records; many have some fields in common."""
    draw = random.Random(seed)

    def some(*values: object) -> object:
        return draw.choice(values)

    rows = [
        {
            "doc_id": some("a", "b", "c", "A"),
            "keys": some([], ["a"], ["b"]),
            "title": some(
                "", "?!", "Editorial", "Of Cats and Dogs", "Of cats and dogs.",
                "Of Cats and Dogs: A Study", "Networks of Sheep, Part I",
                "Networks of Sheep, Part II", "Quite Another Paper",
            ),
            "authors": some([], ["Doe, Jo"], ["Doe, J.", "Roe, Al"], ["Poe, Ed"]),
            "year": some(None, 2000, 2000, 2001),
            "doi": some(None, None, None, "10.1/x", "10.1/y"),
            "arxiv": some(None, None, None, "2001.00001"),
            "venue": some(None, "J. Cats", "Dogs"),
            "volume": some(None, None, "1", "2"),
            "number": some(None, None, "1", "2", "to appear"),
            "pages": some(None, "3–5", "4", "7–9"),
            "abstract": some(None, "Cats."),
            "bibtex": some(None, "@misc{x,}", "@misc{x,}"),
            "source": some("a", "b", "c"),
            "line": number,
        }
        for number in range(count)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides=dict(RECORD)).select(
        pl.col(name) if name in rows[0] else pl.lit(None, dtype=kind).alias(name)
        for name, kind in RECORD.items()
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [1, 8, 40, 150])
def test_as_the_slow_way(seed: int, count: int) -> None:
    table = random_records(seed, count)
    expected = reference.groups(table.to_dicts(), ONE_PAPER)
    assert groups_of(table) == expected
    cut = [0, 0, count // 3, count // 3, count // 2, count, count]
    parts = [table[start:end] for start, end in itertools.pairwise(cut)]
    assert groups_of(pl.concat(parts, rechunk=False)) == expected


def test_an_arxiv_id_typed_for_another_paper(tmp_path: Path) -> None:
    files = (
        entry("doe", 1997, eprint="quant-ph/9611025"),
        entry("poe", 1997, eprint="quant-ph/9611025", author="Poe, Ed", title="Of Another Sort"),
        entry("new", 1998, eprint="quant-ph/9611025v2", title="Renamed Since It Appeared"),
    )
    assert merged(tmp_path, *files) == [["doe", "new"], ["poe"]]
