"""Files of queries: found beside judgements, read with located errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.errors import FormatError
from citebed.runs.query_files import queries_beside, query_texts


def test_queries_are_beside_the_judgements_of_a_collection(tmp_path: Path) -> None:
    for folder in ("qrels", "queries"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "queries" / "s.jsonl"
    assert queries_beside(tmp_path / "qrels" / "s.qrels") is None
    path.write_text("")
    assert queries_beside(tmp_path / "qrels" / "s.qrels") == path
    assert queries_beside(tmp_path / "qrels" / "s.qrels.gz") == path
    assert queries_beside(None) is None


def test_texts_by_query(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('\ufeff{"query_id": 1, "text": "a\u2028b"}\n\n{"query_id": "2"}\r\n', "utf-8")
    assert query_texts(path) == {"1": "a\u2028b"}


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b'{"query_id": "1", "text": "a"}\n{"text": "b"}\n', 2, "query_id"),
        (b"not JSON\n", 1, "query_id"),
        (b"[]\n", 1, "query_id"),
        (b'{"query_id": "1", "text": 5}\n', 1, "must be text"),
        (b'{"query_id": "1", "text": "a"}\n{"query_id": "1", "text": "b"}\n', 2, "occurs twice"),
        (b'{"query_id": "1"}\n\xff\xfe', 2, "0xff is not UTF-8"),
        (b'{"query_id": [1]}', 1, "missing query_id"),
        (b'{"query_id": "\\ud800"}', 1, "half a character"),
        (b'{"query_id": ' + b"[" * 100_000, 1, "not JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, content: bytes, line: int | None, said: str
) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=said) as error:
        query_texts(path)
    assert error.value.line == line
