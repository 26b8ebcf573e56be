"""Queries from files: what is read, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.retrieval.index.making import write_collection

from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.search.queries import query_text, read_queries


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("queries") / "c"
    queries = {"own": [{"query_id": "1", "text": "Trees"}]}
    return open_collection(write_collection(folder, [{"doc_id": "a"}], queries=queries))


def test_a_set_of_the_collection(collection: Collection) -> None:
    assert read_queries(collection, "own")["text"].to_list() == ["Trees"]


def test_lines_of_id_tab_text(collection: Collection, tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_text("\ufeffq1\tTrees\tand \x85 leaves \r\n\r\n 2 \tThe sea", newline="")
    rows = read_queries(collection, str(path)).rows(named=True)
    assert [(row["query_id"], row["text"]) for row in rows] == [
        ("q1", "Trees\tand \x85 leaves"),
        ("2", "The sea"),
    ]
    assert [(row["exclude"], row["before"], row["paper_id"]) for row in rows] == [
        (None, None, None)
    ] * 2


def test_lines_of_json(collection: Collection, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    rows = [
        {"query_id": "a", "text": "One\u2028two", "exclude": ["x", "y"], "before": "2019-07"},
        {"_id": 7, "text": "", "paper_id": "p", "title": None, "more": [1]},
    ]
    lines = [json.dumps(row, ensure_ascii=number > 0) for number, row in enumerate(rows)]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    found = read_queries(collection, str(path)).rows(named=True)
    assert [row["query_id"] for row in found] == ["a", "7"]
    assert [row["text"] for row in found] == ["One\u2028two", ""]
    assert found[0]["exclude"] == ["x", "y"]
    assert found[0]["before"] == "2019-07"
    assert found[1]["paper_id"] == "p"


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"q1\tx\n\nq1\ty\n", 3, "has query 'q1' a second time"),
        (b"q1\tx\rq2\ty\n", 1, "contains a carriage return"),
        (b"no tab here\n", 1, "a query id, a tab and the text"),
        (b"q1\tx\n\tno id\n", 2, "a query id, a tab"),
        (b'{"query_id": "a", "text": "x"', 1, "is not JSON"),
        (b"{" * 3 + b'"a":' * 3, 1, "is not JSON"),
        (b'{"a":' * 100_000, 1, "is not JSON"),
        (b'{"query_id": "a"}', 1, r'expected \{"query_id"'),
        (b'{"query_id": null, "text": "x"}', 1, r'expected \{"query_id"'),
        (b'{"query_id": "", "text": "x"}', 1, r'expected \{"query_id"'),
        (b'{"query_id": ["a"], "text": "x"}', 1, r'expected \{"query_id"'),
        (b'{"id": "a", "text": 7}', 1, r'expected \{"query_id"'),
        (b'{"id": "a", "text": "x", "exclude": "b"}', 1, "'exclude' must be a list"),
        (b'{"id": "a", "text": "x", "exclude": [1]}', 1, "'exclude' must be a list"),
        (b'{"id": "a", "text": "x", "before": 2019}', 1, "'before' must be text, not int"),
        (b'{"id": "half \\ud800", "text": "x"}', 1, r"\\ud800 is half a character"),
        (b'{"id": "a", "text": "\\uDFFF"}', 1, r"\\udfff is half a character"),
        (b'{"id": ' + b"9" * 5000 + b', "text": "x"}', 1, "is not JSON"),
        (b'{"id": "a", "text": "x", "before": "soon"}', 1, "'before': 'soon' is not a date"),
        (b'{"id": "a", "text": "x", "title": {}}', 1, "'title' must be text"),
        (b"q1\tx\nq\xe9\tx\n", 2, "0xe9 is not UTF-8"),
        (b"", None, "has no queries"),
        (b"\n \n", None, "has no queries"),
    ],
)
def test_not_a_query(
    collection: Collection, tmp_path: Path, data: bytes, line: int | None, what: str
) -> None:
    path = tmp_path / "q"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=what) as caught:
        read_queries(collection, str(path))
    assert caught.value.line == line


def test_no_such_set_and_no_such_file(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown query set 'owm'\. Did you mean 'own'"):
        read_queries(collection, "owm")
    with pytest.raises(UnknownName):
        read_queries(collection, str(tmp_path))


ANY_BYTES = st.binary(max_size=80) | st.text(max_size=40).map(str.encode)


@given(ANY_BYTES)
def test_any_bytes_are_read_or_refused(
    collection: Collection, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-queries"
    path.write_bytes(data)
    try:
        found = read_queries(collection, str(path))
    except CitebedError:
        return
    assert found["query_id"].is_unique().all()
    assert found["text"].null_count() == 0


def test_citing_text_as_a_query() -> None:
    text = "Retrie-\nval of trees [13, 14] was shown (Oak et al., 2019)."
    assert query_text(text).split() == ["Retrieval", "of", "trees", "was", "shown."]
    assert [is_telling(term) for term in ("tree", "ab", "x", "7", "é", "猫", "")] == [
        *(True, True, False, False, True, True),
        False,
    ]
