"""Cite keys and arXiv ids: kept from every source, through merging, renaming and exports."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from citebed.collection import Collection, import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.formats.fields import collect_cite_keys, find_arxiv_id
from citebed.records import Document

TITLE = "Dense Passage Retrieval for Open Domain Questions"
BIB = f"@article{{mine, title={{{TITLE}}}, author={{Doe, Jo}}, year=2020, doi={{10.5072/dpr}}}}\n"
CSL = {
    "id": "http://zotero.org/users/1/items/ABCD2345",
    "type": "article-journal",
    "title": TITLE,
    "DOI": "10.5072/DPR",
    "citation-key": "doe2020dense",
    "note": "Citation Key: theirs20\nread",
}
RIS = f"TY  - JOUR\nID  - doe_dpr\nTI  - {TITLE}\nDO  - 10.5072/dpr\nER  - \n"


def read(format: str, text: str) -> Document:
    (record,) = FORMATS[format].parse(Chunk(text.encode(), "x"))
    assert isinstance(record, Document)
    return record


def imported(folder: Path, **files: str) -> Collection:
    (folder / "in").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "in" / name.replace("__", ".")).write_text(text, encoding="utf-8")
    import_sources(folder / "c", [folder / "in"])
    return open_collection(folder / "c")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("@misc{smith2010, title={T}}", ("smith2010",)),
        ("@misc{12, title={T}}", ("12",)),
        ("@misc{DBLP:conf/sigir/X, title={T}}", ("DBLP:conf/sigir/X",)),
        ("@misc{10.1145/361219.361220, title={T}}", ()),
        ("@misc{, title={T}}", ()),
        ("@misc{a, ids={b, c,,a}, title={T}}", ("a", "b", "c")),
        ("@misc{x1, note={Citation Key: smith2010}, title={T}}", ("x1", "smith2010")),
    ],
)
def test_keys_of_bibtex(text: str, keys: tuple[str, ...]) -> None:
    *_, document = FORMATS["bibtex"].parse(Chunk(text.encode(), "x"))
    assert isinstance(document, Document)
    assert document.keys == keys


@pytest.mark.parametrize(
    ("members", "keys"),
    [
        ({"id": "smith2010"}, ("smith2010",)),
        ({"id": "smith2010", "citation-key": "smith2010"}, ("smith2010",)),
        ({"id": "http://zotero.org/users/1/items/X", "citation-key": "k"}, ("k",)),
        ({"id": "1/ABCD2345", "note": "tex.x: y Citation Key: k"}, ("k",)),
        ({"id": "ITEM-1"}, ()),
        ({"id": 17}, ()),
        ({"id": "6c0f2a3e-7d7b-4c43-9d8e-1f1f1f1f1f1f"}, ()),
        ({"id": "10.1145/361219.361220"}, ()),
    ],
)
def test_keys_of_csl_json(members: dict[str, object], keys: tuple[str, ...]) -> None:
    item = {"type": "article-journal", "title": "T", **members}
    assert read("csl-json", json.dumps([item])).keys == keys


def test_keys_of_ris() -> None:
    assert read("ris", RIS).keys == ("doe_dpr",)
    assert read("ris", RIS.replace("doe_dpr", "4711")).keys == ()
    assert read("ris", RIS.replace("ID  - doe_dpr", "N1  - Citation Key: k")).keys == ("k",)


def test_only_keys_that_can_be_typed_are_kept() -> None:
    assert collect_cite_keys(["a b", "a,b", "{a}", "Müller:2010+x", None, ""]) == ("Müller:2010+x",)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("bibtex", "@misc{a, eprint={1810.04805v2}, archiveprefix={arXiv}, title={T}}"),
        ("bibtex", "@misc{a, eprint={arXiv:1810.04805}, title={T}}"),
        ("bibtex", "@misc{a, eprint={1810.04805}, eprinttype={arxiv}, title={T}}"),
        ("bibtex", "@article{a, journal={arXiv preprint arXiv:1810.04805}, title={T}}"),
        ("bibtex", "@article{a, journal={CoRR}, volume={abs/1810.04805}, title={T}}"),
        ("bibtex", "@misc{a, howpublished={\\url{https://arxiv.org/abs/1810.04805}}, title={T}}"),
        ("bibtex", "@misc{a, doi={10.48550/arXiv.1810.04805}, title={T}}"),
        (
            "bibtex",
            "@misc{a, journal={arXiv e-prints}, note={ARXIV:1810.04805}, title={T}}",
        ),
        ("bibtex", "@misc{a, url={https://arxiv.org/pdf/1810.04805v1.pdf}, title={T}}"),
        ("csl-json", '[{"id": "a", "type": "article", "number": "arXiv:1810.04805"}]'),
        (
            "csl-json",
            '[{"id": "a", "type": "article", "archive": "arXiv", '
            '"archive_location": "1810.04805"}]',
        ),
        ("ris", "TY  - UNPB\nTI  - T\nM1  - arXiv:1810.04805\nER  - \n"),
        ("ris", "TY  - JOUR\nTI  - T\nUR  - http://arxiv.org/abs/1810.04805\nER  - \n"),
        ("semantic-scholar", '{"paperId": "p", "externalIds": {"ArXiv": "1810.04805"}}'),
        (
            "openalex",
            '{"id": "https://openalex.org/W1", "authorships": [], "locations": '
            '[{"landing_page_url": "https://arxiv.org/abs/1810.04805"}]}',
        ),
        ("jsonl", '{"doc_id": "a", "arxiv": "arXiv:1810.04805v3"}'),
    ],
)
def test_an_arxiv_id_is_stored_in_one_form(format: str, text: str) -> None:
    assert read(format, text).arxiv == "1810.04805"


@pytest.mark.parametrize(
    "text",
    [
        "@misc{a, eprint={1810.04805}, eprinttype={pubmed}, title={T}}",
        "@misc{a, eprint={https://doi.org/10.1145/361219.361220}, title={T}}",
        "@misc{a, note={Extends arXiv:1810.04805}, title={T}}",
    ],
)
def test_not_an_arxiv_id_of_the_paper(text: str) -> None:
    assert read("bibtex", text).arxiv is None


def test_an_old_arxiv_id() -> None:
    assert find_arxiv_id(None, eprint="cs.CL/0112017") == "cs.cl/0112017"


def test_merging_keeps_all_keys_of_all_sources(tmp_path: Path) -> None:
    collection = imported(tmp_path, a__bib=BIB, b__json=json.dumps([CSL]), c__ris=RIS)
    (document,) = collection.iter_documents()
    assert document.keys == ("mine", "doe2020dense", "theirs20", "doe_dpr")
    for key in document.keys:
        assert collection.document(key).doc_id == "mine"


def test_a_key_that_is_not_the_id_finds_the_document(tmp_path: Path) -> None:
    collection = imported(tmp_path, b__json=json.dumps([CSL]))
    assert collection.document("doe2020dense").doc_id == CSL["id"]
    again = imported(tmp_path, z__bib="@misc{z, title={Another One Altogether}}")
    assert again.document("doe2020dense").doc_id == CSL["id"]


def test_repeated_imports_keep_records_under_one_key_apart(tmp_path: Path) -> None:
    first = "@misc{k, title={First Paper of All}, ids={k1}, year=2000}"
    second = "@misc{k, title={Second Paper of All}, ids={k2}, year=2001}"
    for text in ("", "@misc{x, title={Something Else Again}}"):
        collection = imported(tmp_path, a__bib=first, b__bib=second, c__bib=text)
        rows = collection.documents.head(2).select("doc_id", "keys", "read_as").rows()
        assert rows == [("k", ["k", "k1"], None), ("k-2", ["k", "k2"], "k")]
        assert collection.document("k2").doc_id == "k-2"


def test_keys_come_back_from_json_lines(tmp_path: Path) -> None:
    bib = BIB + "@misc{other, eprint={1810.04805}, archiveprefix={arXiv}, title={A Preprint Here}}"
    collection = imported(tmp_path, a__bib=bib, c__ris=RIS)
    export(collection, "jsonl", tmp_path / "out")
    import_sources(tmp_path / "again", [tmp_path / "out"])
    fields = ["doc_id", "keys", "arxiv"]
    again = open_collection(tmp_path / "again").documents.select(fields)
    assert again.equals(collection.documents.select(fields))
    assert again["arxiv"].to_list() == [None, "1810.04805"]
    for name in ("1810.04805", "arXiv:1810.04805v2", "https://arxiv.org/abs/1810.04805"):
        assert collection.document(name).doc_id == "other"


def without_columns(folder: Path, *names: str) -> None:
    """The tables as an earlier version wrote them."""
    for path in (folder / "documents.parquet", folder / "import" / "set_aside.parquet"):
        if path.exists():
            pl.read_parquet(path).drop(names, strict=False).write_parquet(path)


def test_a_collection_of_an_earlier_version_opens_and_gets_its_keys(tmp_path: Path) -> None:
    same_key = "@misc{c, title={Another C, Altogether}}"
    imported(
        tmp_path,
        a__bib=BIB,
        b__json=json.dumps([CSL]),
        c__bib="@misc{c, title={C C C}}",
        d__bib=same_key,
        e__bib="@misc{10.5072/e, title={Under a DOI}}",
        f__ris=RIS.replace("dpr", "other").replace(TITLE, "Something Quite Different"),
    )
    new = open_collection(tmp_path / "c").documents
    without_columns(tmp_path / "c", "keys", "arxiv", "read_as")
    old = open_collection(tmp_path / "c")
    assert [document.keys for document in old.iter_documents()] == [
        ("mine",), ("c",), ("c",), (), (),
    ]  # fmt: skip
    assert old.documents["doc_id"].to_list() == new["doc_id"].to_list()
    assert old.scan_documents().select("keys").collect().height == 5
    assert old.document("mine").title == TITLE
    assert imported(tmp_path).documents.equals(new)


@pytest.mark.parametrize("lacking", [["doubtful"], ["doubtful", "keys", "arxiv", "read_as"]])
def test_what_an_earlier_version_did_not_write_is_added_as_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: list[str]
) -> None:
    imported(tmp_path, a__bib=BIB, b__bib="@misc{c, title={C C C}}")
    without_columns(tmp_path / "c", *lacking)
    whole = open_collection(tmp_path / "c").documents
    monkeypatch.setattr("citebed.collection.storing.table_files.read_table", None)
    scanned = open_collection(tmp_path / "c").scan_documents()
    assert scanned.collect().equals(whole)
    for names in (["doc_id", "doubtful"], ["keys"], ["arxiv", "title"]):
        assert scanned.select(names).collect().equals(whole.select(names))
    named = scanned.filter(pl.col("doc_id") == "c").select("keys", "doubtful").collect()
    assert named.rows() == [(["c"], None)]


def test_the_same_arxiv_id_is_the_same_document(tmp_path: Path) -> None:
    one = "@misc{a, eprint={1810.04805}, archiveprefix={arXiv}, title={A Preprint}, year=2018}\n"
    two = "@article{b, journal={CoRR}, volume={abs/1810.04805}, title={Revised}, year=2019}\n"
    doi = "@misc{c, doi={10.48550/arXiv.1810.04805}, title={The Preprint}}\n"
    other = "@misc{d, eprint={1810.04806}, archiveprefix={arXiv}, title={A Preprint}, year=2018}\n"
    collection = imported(tmp_path, a__bib=one, b__bib=two, c__bib=doi, d__bib=other)
    assert collection.documents["keys"].to_list() == [["a", "b", "c"], ["d"]]
