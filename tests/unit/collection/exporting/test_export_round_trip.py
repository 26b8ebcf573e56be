"""Any documents at all, exported and imported again: the same in every field."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.reference.jsonl import document_to_json
from tests.sampling import examples
from tests.strategies import DOCUMENT

from citebed.collection import Collection, ImportOptions, import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.exporting.base import BIBLIOGRAPHIC
from citebed.records import Document

DOCUMENTS = st.lists(
    DOCUMENT.map(lambda document: document._replace(crossref=None)),
    min_size=1,
    max_size=6,
    unique_by=lambda document: document.doc_id,
)


def imported(folder: Path, source: Path) -> Collection:
    import_sources(folder, [source], ImportOptions(workers=1))
    return open_collection(folder)


def collection_of(documents: list[Document], folder: Path) -> Collection:
    source = folder / "in.jsonl"
    lines = (json.dumps(document_to_json(document)) + "\n" for document in documents)
    source.write_text("".join(lines), encoding="utf-8")
    return imported(folder / "first", source)


@pytest.mark.parametrize(("form", "target"), [("bibtex", "out.bib"), ("jsonl", "out")])
@given(documents=DOCUMENTS)
@settings(max_examples=examples(25), deadline=None)
def test_documents_come_back(form: str, target: str, documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = collection_of(documents, folder)
        report = export(first, form, folder / target)
        again = imported(folder / "again", folder / target)
        fields = ("doc_id", *BIBLIOGRAPHIC)
        assert_frame_equal(first.documents.select(fields), again.documents.select(fields))
        assert again.problems.is_empty()
        assert not any("reads back" in note for note in report.notes)


def test_fields_that_bibtex_cannot_hold_are_reported(tmp_path: Path) -> None:
    odd = Document("odd", type="journal-article", title="T", url="https://doi.org/10.5072/x")
    with_entry = Document("other", title="Field", bibtex="@misc{a, title = {Entry}}\n@misc{b}")
    first = collection_of([odd, with_entry], tmp_path)
    report = export(first, "bibtex", tmp_path / "out.bib")
    assert "in 1 document, type changed when read back" in report.notes
    assert "in 1 document, doi changed when read back" in report.notes
    assert any("entry of 1 document did not match" in note for note in report.notes)
    again = imported(tmp_path / "again", tmp_path / "out.bib")
    assert again.documents["title"].to_list() == ["T", "Field"]


def test_given_entries_are_kept_where_they_fit(tmp_path: Path) -> None:
    entry = "@misc{key,\n  title = {A Title},\n  note = {kept}\n}"
    documents = [
        Document("key", title="A Title", bibtex=entry),
        Document("renamed", title="B Title", bibtex=entry.replace("A T", "B T")),
    ]
    export(collection_of(documents, tmp_path), "bibtex", tmp_path / "out.bib")
    text = (tmp_path / "out.bib").read_text("utf-8")
    assert text.startswith(entry)
    assert text.count("note = {kept}") == 2
    assert "@misc{key-2,\n  citebed-id = {renamed}," in text


def test_keys_that_would_collide(tmp_path: Path) -> None:
    ids = ["a,b", "a-b", "a{b", "A-B", "a-b-2"]
    first = collection_of([Document(i, title=f"Title of {n}") for n, i in enumerate(ids)], tmp_path)
    export(first, "bibtex", tmp_path / "out.bib")
    again = imported(tmp_path / "again", tmp_path / "out.bib")
    assert again.documents["doc_id"].to_list() == ids
    text = (tmp_path / "out.bib").read_text("utf-8")
    keys = [line.partition("{")[2] for line in text.splitlines() if line.startswith("@")]
    assert len({key.lower() for key in keys}) == len(ids)


def test_entries_are_under_the_keys_that_authors_type(tmp_path: Path) -> None:
    """An id that is a DOI or a number is not the key; all keys and ids come back."""
    entry = "@article{10.5072/oak, title = {Oak Trees of the North}, year = {2001}}"
    documents = [
        Document("10.5072/oak", "article", "Oak Trees of the North", year=2001, bibtex=entry,
                 doi="10.5072/oak", keys=("oak-mine", "oak-theirs")),
        Document("17", "article", "Elms of the South", year=2005, keys=("elm",)),
        Document("ash", "article", "Ashes of the West", year=2007, keys=("ash", "ashes")),
        Document("10.5072/fir", "article", "Firs of the East", year=2009, doi="10.5072/fir"),
    ]  # fmt: skip
    first = collection_of(documents, tmp_path)
    report = export(first, "bibtex", tmp_path / "out.bib")
    text = (tmp_path / "out.bib").read_text("utf-8")
    heads = [line.partition("{")[2].rstrip(",") for line in text.splitlines() if line[:1] == "@"]
    assert heads == ["oak-mine", "elm", "ash", "2009firs"]
    again = imported(tmp_path / "again", tmp_path / "out.bib")
    names = ("doc_id", "keys", "doi", "title", "year")
    given = {row[0]: row for row in first.documents.select(names).iter_rows()}
    given["10.5072/fir"][1].append("2009firs")  # the generated key is now the entry's
    assert given == {row[0]: row for row in again.documents.select(names).iter_rows()}
    assert not any("reads back" in note for note in report.notes)


@pytest.mark.parametrize(
    "doi", ["10.1016/s0031(2004)12", "10.1002/(sici)1(98)1:1<1::aid-s>3.0.co;2"]
)
@pytest.mark.parametrize("as_id", [True, False])
def test_a_doi_that_no_key_can_hold_comes_back_from_bibtex(
    tmp_path: Path, doi: str, as_id: bool
) -> None:
    given = Document(doi if as_id else "a", "article", "A title", doi=doi, year=2004)
    collection = collection_of([given], tmp_path)
    export(collection, "bibtex", tmp_path / "out.bib")
    again = imported(tmp_path / "again", tmp_path / "out.bib")
    assert again.documents.select("doc_id", "doi").rows() == [(given.doc_id, doi)]
