"""The account of every record: counted, named correctly, and checked by the import itself."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from tests.library_samples import bibtex_entry
from tests.samples import SAMPLES

from citebed.collection import ImportOptions, Rules, import_sources, open_collection
from citebed.collection.building import assembling
from citebed.collection.building.import_report import ImportReport


def entry(key: str, title: str, **fields: str) -> str:
    return bibtex_entry(key, **{"title": title, "author": "Doe, Jo", "year": "2001", **fields})


def do_import(folder: Path, files: dict[str, str], rules: Rules | None = None) -> ImportReport:
    (folder / "in").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "in" / name).write_text(text)
    report = import_sources(folder / "c", [folder / "in"], ImportOptions(rules=rules))
    assert report.account["missing"] == 0
    return report


def test_what_is_merged_is_kept_under_the_id_that_the_document_has(tmp_path: Path) -> None:
    report = do_import(
        tmp_path,
        {
            "a.bib": entry("k", "First of All Papers"),
            "b.bib": entry("k", "Second of All Papers") + entry("l", "Third of All Papers"),
            "c.bib": entry("m", "Second of all papers.") + entry("k", "Third of all papers"),
        },
    )
    assert (report.records, report.documents, report.merged) == (5, 3, 2)
    collection = open_collection(tmp_path / "c")
    assert collection.documents["doc_id"].to_list() == ["k", "k-2", "l"]
    kept = collection.set_aside.select("doc_id", "title", "kept_as").rows()
    assert sorted(kept) == [
        ("k", "Second of All Papers", "k-2"),
        ("k", "Third of all papers", "l"),
        ("l", "Third of All Papers", "l"),
        ("m", "Second of all papers.", "k-2"),
    ]


def test_the_sum(tmp_path: Path) -> None:
    files = {f"{name}.txt": text.decode() for name, text in SAMPLES.items()}
    files["more.bib"] = (
        entry("a", "A Paper of Sheep") + entry("b", "A paper of sheep") + entry("c", "Another")
        + "@article{d, title={It never ends"
    )  # fmt: skip
    files["again.bib"] = files["more.bib"] + "@book{e, title={On Doors}}"
    report = do_import(tmp_path, files, Rules(types=("article", "inproceedings", "misc")))
    account = report.account
    assert account["met"] == report.records + account["others"] + account["problems"]
    assert account["excluded"] == sum(report.set_aside.values()) > 0
    assert account["others"] > 0
    assert account["merged"] == report.merged > 0
    rows = {row["name"]: row["value"] for row in report.rows() if row["group"] == "account"}
    assert rows == {**account, "missing": 0}
    assert "bug" not in dict(report.lines())
    again = import_sources(tmp_path / "c", [])
    assert again.account == account


def test_a_mismatch_is_reported_as_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembling, "_in_order", lambda index, _: index[1:].drop("line"))
    (tmp_path / "a.bib").write_text(entry("a", "A Paper of Sheep") + entry("b", "Another"))
    report = import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    assert report.account["missing"] == 1
    said = dict(report.lines())["bug"]
    assert said.startswith("the counts do not add up (2 met, 1 documents, 0 merged")
    assert said.endswith("please report it")


def test_a_second_import_reports_the_outcome_of_the_new_file(tmp_path: Path) -> None:
    do_import(tmp_path, {"a.bib": entry("a", "A Paper of Sheep") + entry("b", "Another Paper")})
    new = (
        entry("c", "A paper of sheep.") + entry("d", "A Third Paper of Sheep")
        + entry("e", "A third paper of sheep") + entry("f", "A Fourth Paper of Sheep")
        + "@book{g, title={A Book of Doors}, year=1999}\n@article{h, title={It never ends"
    )  # fmt: skip
    report = do_import(tmp_path, {"b.bib": new}, Rules(types=("article",)))
    assert report.outcomes == [
        (
            "in/b.bib",
            "5 records, 2 documents of its own, 1 merged with others, 1 merged among themselves, "
            "1 set aside (bibtex)",
        )
    ]


def test_many_new_files_are_reported_together(tmp_path: Path) -> None:
    do_import(tmp_path, {"a.bib": entry("a", "A Paper of Sheep")})
    files = {
        f"n{n}.bib": entry(f"n{n}", "A Paper of Sheep" if n % 2 else f"Of {n} Rams")
        for n in range(6)
    }
    lines = do_import(tmp_path, files).lines()
    told = "6 files: 6 records, 3 documents of their own, 3 merged with others"
    assert lines[1:3] == [("taken for", "bibtex 6"), ("new", told)]


def test_records_larger_than_a_span(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result equals that of one pass, across spans, buckets and processes."""
    draw = random.Random(1)
    names = [f"Paper Number {draw.randrange(60)} of Sheep" for _ in range(200)]
    text = "".join(entry(f"k{n % 90}", name, note=str(n)) for n, name in enumerate(names))
    for folder, span in (("one", 50_000), ("many", 7)):
        monkeypatch.setattr(assembling, "SPAN", span)
        monkeypatch.setattr(assembling, "BUCKET", span)
        (tmp_path / folder).mkdir()
        do_import(tmp_path / folder, {"a.bib": text, "b.bib": text.replace("Sheep", "Rams")})
    one, many = (open_collection(tmp_path / folder / "c") for folder in ("one", "many"))
    assert one.documents.equals(many.documents)
    assert one.set_aside.equals(many.set_aside)
    assert one.documents["records"].max() > 5


def test_the_real_files_add_up(shared_data: Path, tmp_path: Path) -> None:
    report = import_sources(tmp_path / "c", [shared_data / "formats"])
    assert report.account["missing"] == 0
    assert report.account["met"] > 13_000
    collection = open_collection(tmp_path / "c")
    several = collection.documents.filter(pl.col("records") > 1)
    assert set(collection.set_aside["kept_as"].drop_nulls()) == set(several["doc_id"])
