"""If content is ambiguous, the file name decides; the report says which format was read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection import import_sources, open_collection
from citebed.collection.formats.detection import FormatDetector

SHORT = '{"_id": "1", "text": "sorting apples"}\n'
LONG = '{"_id": "1", "text": "' + "sorting apples and pears " * 30 + '"}\n'
SMART = ".I 1\n.W\nsorting apples\n.I 2\n.W\nsorting pears\n"
TITLED = ".I 1\n.T\nApples\n.W\nsorting apples\n.I 2\n.T\nPears\n.W\nsorting pears\n"


def taken(head: str, name: str, *beside: str) -> tuple[str, str]:
    format, note = FormatDetector(names=beside).detect(name, head)
    assert format is not None
    return format.name, note


@pytest.mark.parametrize(
    ("head", "name", "format"),
    [
        (SHORT, "set/corpus.jsonl", "beir-corpus"),
        (LONG, "set/queries.jsonl", "beir-queries"),
        (SHORT, "set.zip!set/corpus.jsonl", "beir-corpus"),
        (SMART, "MED.ALL", "smart"),
        (SMART, "med.qry", "smart-queries"),
        (TITLED, "CISI.QRY", "smart-queries"),
        (TITLED, "cisi.all", "smart"),
    ],
)
def test_the_name_of_a_file_decides(head: str, name: str, format: str) -> None:
    assert taken(head, name) == (format, "")


@pytest.mark.parametrize(
    ("head", "beside", "format"),
    [
        (SHORT, "set/queries.jsonl", "beir-corpus"),
        (LONG, "set/corpus.jsonl", "beir-queries"),
        (SMART, "set/med.qry", "smart"),
        (SMART, "set/med.all", "smart-queries"),
    ],
)
def test_else_the_names_beside_it_do(head: str, beside: str, format: str) -> None:
    found, why = taken(head, "set/data", beside)
    assert found == format
    assert "the names of the files next to it" in why
    assert "--format " in why


def test_otherwise_the_likelier_format_is_used_with_a_note() -> None:
    elsewhere = ("other/queries.jsonl", "set/readme.txt")
    assert taken(SHORT, "set/a.jsonl", *elsewhere) == (
        "beir-queries",
        "read as BEIR queries, which is more likely; its content also fits a BEIR corpus: "
        "use --format beir-corpus to read it as that",
    )
    assert taken(LONG, "set/a.jsonl")[0] == "beir-corpus"
    assert taken(LONG, "set/a.jsonl", "set/queries.x", "set/corpus.x")[0] == "beir-corpus"


def test_where_content_says_it_names_do_not_count() -> None:
    assert taken('{"_id": "1", "title": "T", "text": "x"}\n', "queries.jsonl") == (
        "beir-corpus",
        "",
    )
    coupled = ".I 1\n.T\nT\n.W\nx\n.X\n1 5 1\n"
    assert taken(coupled, "a.qry") == ("smart", "")
    assert taken("TY  - JOUR\nTI  - T\nER  - \n", "queries.bib") == ("ris", "")


def test_a_forced_format_is_taken_whatever_the_content() -> None:
    format, note = FormatDetector("ris").detect("a.bib", "@article{a, title={T}}")
    assert format is not None
    assert (format.name, note) == ("ris", "")


def test_an_import_reports_the_format_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(SHORT)
    (tmp_path / "b.ris").write_text("TY  - JOUR\nTI  - T\nER  - \n")
    report = import_sources(tmp_path / "c", [tmp_path / "a.jsonl", tmp_path / "b.ris"])
    [row] = report.problems.rows(named=True)
    assert (row["source"], row["kind"]) == ("a.jsonl", "mended")
    assert row["what"].startswith("read as BEIR queries, which is more likely")


def test_a_folder_of_beir_without_titles_is_read(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "data.jsonl").write_text(SHORT)
    (tmp_path / "s" / "queries.jsonl").write_text(SHORT * 2)
    report = import_sources(tmp_path / "c", [tmp_path / "s"])
    assert (report.documents, report.queries) == (1, {"queries": 1})


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_names_can_be_asked_about(head: str, name: str, beside: list[str]) -> None:
    FormatDetector(names=beside).detect(name, head + SHORT)
    FormatDetector(names=beside).detect(name, SHORT)


def test_the_report_counts_the_formats_of_many_files(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.ris").write_text(f"TY  - JOUR\nTI  - {number}\nER  - \n")
    (tmp_path / "a.bib").write_text("@misc{a, title={T}}")
    (tmp_path / "note.txt").write_text("Nothing of ours.")
    (tmp_path / "other.txt").write_text("Neither is this.")
    report = import_sources(tmp_path / "c", sorted(tmp_path.glob("*.*")))
    assert ("taken for", "ris 4, none 2, bibtex 1") in report.lines()


def test_pairs_of_ids_are_judgements_where_the_name_says_so(tmp_path: Path) -> None:
    assert taken("1\t28\n1\t35\n", "CISI.REL") == ("trec-qrels", "")
    assert taken("q1 d1\nq2 d2\n", "set/qrels.txt") == ("trec-qrels", "")
    assert FormatDetector().detect("links.tsv", "1\t28\n1\t35\n") == (None, "")
    (tmp_path / "a.rel").write_text("1\t28\n1\t35\n")
    (tmp_path / "a.qry").write_text(SMART)
    (tmp_path / "a.all").write_text(TITLED.replace("1", "28").replace("2\n", "35\n"))
    import_sources(tmp_path / "c", [tmp_path / f"a.{end}" for end in ("rel", "qry", "all")])
    judged = open_collection(tmp_path / "c")
    [name] = judged.query_sets
    found = [(j.query_id, j.doc_id, j.relevance) for j in judged.iter_judgements(name)]
    assert found == [("1", "28", 1), ("1", "35", 1)]
