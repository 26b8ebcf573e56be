"""Topics and judgements from files."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from citebed.errors import FormatError
from citebed.timeline.filters.online_learning import known_labels, labels_of
from citebed.timeline.filters.topics import Name, Topic, read_topics, spelt_out


def read(folder: Path, *lines: str) -> list[Topic]:
    (folder / "t.jsonl").write_text("\n".join(lines))
    return read_topics(folder / "t.jsonl")


def test_topics_have_names_text_and_training_documents(tmp_path: Path) -> None:
    topics = read(
        tmp_path,
        '{"query_id": "a", "name": "Ann", "aliases": ["A", {"name": "An", "weight": 0.5}]}',
        "",
        '{"query_id": "Basic_Element_(music_group)", "text": "pop", "training": ["1300000000-x"]}',
        '{"query_id": "c", "names": ["C", "D"], "title": "Sea", "text": "salt"}',
    )
    assert topics == [
        Topic("a", (Name("Ann"), Name("A"), Name("An", 0.5))),
        Topic("Basic_Element_(music_group)", (Name("Basic Element"),), "pop", ("1300000000-x",)),
        Topic("c", (Name("C"), Name("D")), "Sea salt"),
    ]
    assert spelt_out("(x)") == "(x)"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"query_id": "a"', "no topic"),
        ('["a"]', "expected a JSON object"),
        ("{}", "query_id None is not one word"),
        ('{"query_id": "a b"}', "'a b' is not one word"),
        ('{"query_id": "a\\u0000"}', "is not one word"),
        ('{"query_id": "ok"}', "'ok' occurs twice"),
        ('{"query_id": "a", "nmae": "b"}', "unknown field 'nmae'; expected"),
        ('{"query_id": "a", "name": 5}', "the name 5 is neither"),
        ('{"query_id": "a", "name": {"name": "b", "weight": 2}}', "the weight 2 of 'b'"),
        ('{"query_id": "\\ud800"}', r"\\ud800 is half a character"),
        ('{"query_id": "a", "name": "b\\udfff"}', r"\\udfff is half a character"),
        ('{"query_id": "a", "training": ["\\ud83d\\ud83d\\ude00"]}', r"\\ud83d is half"),
        ('{"query_id": "a", "name": ' + "[" * 100_000, "recursion"),
        ('{"query_id": "a", "name": {"name": "b", "weight": ' + "9" * 5000 + "}}", "no topic"),
    ],
)
def test_a_line_that_is_not_a_topic_is_an_error_with_its_place(
    tmp_path: Path, line: str, what: str
) -> None:
    with pytest.raises(FormatError, match=rf"t.jsonl:2: .*{what}"):
        read(tmp_path, '{"query_id": "ok"}', line)


def test_topics_that_are_not_utf_8_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"query_id": "a"}\n{"query_id": "caf\xe9"}\n')
    with pytest.raises(FormatError, match="t:2: byte 0xe9 is not UTF-8"):
        read_topics(path)


def test_a_file_without_topics_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no topic in it"):
        read(tmp_path, "")


def test_assessors_must_agree_that_a_document_is_relevant(tmp_path: Path) -> None:
    path = tmp_path / "q"
    path.write_text(
        "E 1323450574-a 1000 2 1\nE 1323450574-a 1000 0 1\nE 1323450575-b 1000 1 1\n"
        "F 1323450575-b 1000 -1 1\n"
    )
    labels, lines = labels_of(path)
    assert lines == 4
    assert labels == {"1323450574-a": {"E": False}, "1323450575-b": {"E": True, "F": False}}
    topics = [Topic("F", (), "", ("x",)), Topic("E", ())]
    assert known_labels(topics, labels) == {
        "1323450574-a": ((1, False),),
        "1323450575-b": ((0, False), (1, True)),
        "x": ((0, True),),
    }


def test_trec_qrels_are_judgements_too(tmp_path: Path) -> None:
    path = tmp_path / "q"
    path.write_text("E 0 10.1145/1 1\nE 0 d2 0\n")
    assert labels_of(path)[0] == {"10.1145/1": {"E": True}, "d2": {"E": False}}
    path.write_text("E 0 10.1145/1 1\nE 0 d2\n")
    with pytest.raises(FormatError, match=r"q:2: found 3 fields \('E 0 d2'\)"):
        labels_of(path)
    path.write_text(f"E 0 d1 {'9' * 5000}\n")
    with pytest.raises(FormatError, match="q:1: the relevance '9999"):
        labels_of(path)


def test_judgements_may_be_packed_or_a_table(tmp_path: Path) -> None:
    path = tmp_path / "q"
    path.write_bytes(gzip.compress(b"E 0 d1 1\n"))
    assert labels_of(path)[0] == {"d1": {"E": True}}
    table = tmp_path / "q.parquet"
    pl.DataFrame({"qid": ["E"], "docno": ["d1"], "label": [1]}).write_parquet(table)
    assert labels_of(table)[0] == {"d1": {"E": True}}
