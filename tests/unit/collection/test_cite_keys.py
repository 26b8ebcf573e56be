"""The key of each document to type in a ``\\cite``: its own, and the same after every import."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from citebed.collection import import_sources, open_collection
from citebed.collection.names import make_cite_keys

SCHEMA: dict[str, Any] = {
    "keys": pl.List(pl.String),
    "authors": pl.List(pl.String),
    "year": pl.Int32,
    "title": pl.String,
}


Record = tuple[list[str], list[str], int | None, str]


def keys_of(*documents: Record) -> list[str]:
    table = pl.DataFrame(documents, SCHEMA, orient="row")
    return make_cite_keys(table.with_columns(bibtex=pl.lit(None, pl.String))).to_list()


@pytest.mark.parametrize(
    ("authors", "year", "title", "key"),
    [
        (["Lavrenko, Victor", "Croft, W."], 2001, "The Relevance Models", "lavrenko2001relevance"),
        (["Müller-Lüdenscheidt, Ä."], 1999, "Über Größe", "mullerludenscheidt1999uber"),
        (["Ørsted, H. C."], None, "On Smørrebrød", "orstedsmorrebrod"),
        (["van der Berg, J."], 2010, "What Is It?", "vanderberg2010"),
        ([], 2010, "A Report", "2010report"),
        (["山田, 太郎"], 2010, "漢字", "2010"),
        ([], None, "", "unnamed"),
    ],
)
def test_made_of_author_year_and_the_first_telling_word(
    authors: list[str], year: int | None, title: str, key: str
) -> None:
    assert keys_of(([], authors, year, title)) == [key]


def test_the_key_that_a_record_came_with_is_its_own() -> None:
    assert keys_of((["mine", "theirs"], ["Ash, Ann"], 2001, "Oaks")) == ["mine"]
    assert keys_of((["no key"], ["Ash, Ann"], 2001, "Oaks")) == ["ash2001oaks"]


def test_keys_are_unique_and_stay_with_the_record_that_had_them() -> None:
    oaks: Record = ([], ["Ash, Ann"], 2001, "Oaks")
    given = (["Ash2001Oaks"], ["Roe, Bo"], 1999, "Elms")
    numbered = (["ash2001oaks-2"], ["Roe, Bo"], 1999, "Firs")
    assert keys_of(oaks, given, oaks, numbered) == [
        "ash2001oaks-3", "Ash2001Oaks", "ash2001oaks-4", "ash2001oaks-2",
    ]  # fmt: skip


def record(number: int, title: str) -> str:
    who = "author={Ai, A.}, year=2018"
    return f"@misc{{10.5072/{number}, {who}, title={{{title}}}, doi={{10.5072/{number}}}}}\n"


def imported(folder: Path, **files: str) -> dict[str, str]:
    """The keys of the titles in a collection after an import of some files."""
    (folder / "in").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "in" / name.replace("__", ".")).write_text(text)
    import_sources(folder / "c", [folder / "in"])
    return dict(open_collection(folder / "c").documents.select("title", "cite_key").iter_rows())


ONE, TWO, THREE = "Unbiased Ranking", "Unbiased Learning", "Unbiased Clicks"


def test_documents_keep_their_keys_whatever_is_imported_later(tmp_path: Path) -> None:
    first = imported(tmp_path, m__bib=record(2, TWO) + record(1, ONE))
    assert first == {TWO: "ai2018unbiased", ONE: "ai2018unbiased-2"}
    # Before the others in the order of sources, and one of them is now merged with a fuller record
    # of another id.
    fuller = record(1, ONE).replace("doi", "pages={1--9}, doi")
    later = imported(tmp_path, a__bib=record(3, THREE) + fuller)
    assert later == {**first, THREE: "ai2018unbiased-3"}
    assert imported(tmp_path, m__bib=record(2, f"{TWO} Again")) == {
        ONE: "ai2018unbiased-2", THREE: "ai2018unbiased-3", f"{TWO} Again": "ai2018unbiased",
    }  # fmt: skip


def test_a_key_of_a_bib_file_replaces_a_generated_one_and_others_keep_theirs(
    tmp_path: Path,
) -> None:
    first = imported(tmp_path, m__bib=record(3, THREE) + record(2, TWO) + record(1, ONE))
    assert [first[each] for each in (THREE, TWO, ONE)] == [
        "ai2018unbiased", "ai2018unbiased-2", "ai2018unbiased-3",
    ]  # fmt: skip
    given = imported(tmp_path, a__bib=record(2, TWO).replace("10.5072/2,", "mine,", 1))
    assert given == {**first, TWO: "mine"}
    # The key of another document, as the author's own .bib has it.
    taken = record(2, TWO).replace("10.5072/2,", "ai2018unbiased,", 1)
    assert imported(tmp_path, a__bib=taken) == {
        TWO: "ai2018unbiased", THREE: "ai2018unbiased-2", ONE: "ai2018unbiased-3",
    }  # fmt: skip


def test_a_key_does_not_go_over_to_another_document_of_the_same_id(tmp_path: Path) -> None:
    a, b = (f"@misc{{smith, author={{Smith, S.}}, title={{{each}}}}}" for each in (ONE, TWO))
    first = imported(tmp_path, b__bib=a, c__bib=b)
    assert first == {ONE: "smith", TWO: "smith-2"}
    later = imported(tmp_path, a__bib=a.replace(ONE, THREE))
    ids = open_collection(tmp_path / "c").documents.select("title", "doc_id")
    assert dict(ids.iter_rows()) == {THREE: "smith", ONE: "smith-2", TWO: "smith-3"}
    assert later == {**first, THREE: "smith-3"}


def test_a_collection_of_an_earlier_version_has_the_keys_that_it_will_get(tmp_path: Path) -> None:
    keys = imported(tmp_path, m__bib=record(2, TWO) + record(1, ONE))
    path = tmp_path / "c/documents.parquet"
    pl.read_parquet(path).drop("cite_key").write_parquet(path)
    scanned = open_collection(tmp_path / "c").scan_documents()
    one = scanned.filter(pl.col("doc_id") == "10.5072/1").select("cite_key").collect()
    assert one.item() == "ai2018unbiased-2", "of all documents, not of those that are asked for"
    assert imported(tmp_path) == keys


def test_a_forged_key_is_not_kept(tmp_path: Path) -> None:
    imported(tmp_path, m__bib=record(2, TWO) + record(1, ONE))
    path = tmp_path / "c/documents.parquet"
    forged = pl.read_parquet(path).with_columns(cite_key=pl.lit("x}\n@preamble{y"))
    forged.write_parquet(path)
    assert imported(tmp_path) == {TWO: "ai2018unbiased", ONE: "ai2018unbiased-2"}


def test_of_the_papers_of_acm_cr_no_two_have_one_key(acm_cr: Path) -> None:
    """Made up without looking at the others, 7,387 papers shared theirs."""
    keys = open_collection(acm_cr).scan_documents().select("cite_key").collect()["cite_key"]
    often = Counter(key.lower() for key in keys)
    assert len(often) > 100_000
    assert set(often.values()) == {1}
