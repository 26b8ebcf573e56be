"""Numbers out of range: each becomes a problem with its line, and the rest is imported."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import import_sources, open_collection
from citebed.collection.tables import LARGEST, check_range, records_to_frames
from citebed.records import Document, Judgement, Problem, Record

HUGE = "9" * 5000
TOO_LARGE = (str(LARGEST + 1), f"-{LARGEST + 2}", str(10**14), HUGE)
TOPIC = '{"query_id": "1", "text": "cats"}\n'


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        ("a.tsv", "query-id\tcorpus-id\tscore\n", "1\td\t{}\n"),
        ("a.jsonl", TOPIC, '{{"query_id": "1", "doc_id": "d", "relevance": {}}}\n'),
        ("a.qrels", "".join(f"1 0 d{n} 1\n" for n in range(99)), "1 0 d {}\n"),
    ],
)
def test_a_grade_out_of_range_is_skipped_and_reported(
    tmp_path: Path, name: str, head: str, line: str
) -> None:
    (tmp_path / name).write_text(head + "".join(map(line.format, (*TOO_LARGE, 2))))
    report = import_sources(tmp_path / "c", [tmp_path / name])
    first = head.count("\n") + 1
    expected = [(first + at, "skipped") for at in range(len(TOO_LARGE))]
    assert report.problems.select("line", "kind").rows() == expected
    qrels = open_collection(tmp_path / "c").qrels("a").table
    assert (qrels["doc_id"][-1], qrels["relevance"][-1]) == ("d", 2)


def test_years_volumes_and_weights_out_of_range_are_unknown(tmp_path: Path) -> None:
    fields = '"year": {0}, "volume": {0}, "links": [{{"target": "b", "weight": {0}}}]'
    lines = [
        f'{{{{"doc_id": "d{n}", "title": "Of {n}", {fields}}}}}'.format(number)
        for n, number in enumerate((*TOO_LARGE, "1e300", "-1e300", "1e999", "NaN"))
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    import_sources(tmp_path / "c", [tmp_path / "a.jsonl"])
    collection = open_collection(tmp_path / "c")
    assert collection.documents.height == len(lines)
    assert collection.documents["year"].null_count() == len(lines)
    assert all(map(math.isfinite, collection.links["weight"]))
    assert main(["stats", str(tmp_path / "c")]) == 0


@pytest.mark.parametrize("number", [LARGEST, -LARGEST])
def test_what_a_table_holds_fits(number: int) -> None:
    judged = Judgement("q", "d", number)
    assert check_range(judged) is judged
    assert records_to_frames([("a", [judged])])["judgements"]["relevance"].to_list() == [number]


@pytest.mark.parametrize(
    "record",
    [Judgement("q", "d", 2**31, 5), Document("d", year=-(2**40), line=5), Problem(2**33, "x")],
)
def test_what_no_table_holds_becomes_a_problem(record: Record) -> None:
    found = check_range(record)
    assert isinstance(found, Problem)
    assert found.line == min(record.line, LARGEST)
    assert "is out of range" in found.what
    assert records_to_frames([("a", [found])])["problems"].height == 1
