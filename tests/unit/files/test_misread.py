"""Texts that polars would take for packed by their first bytes are read as what they are."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from citebed.collection import import_sources, open_collection
from citebed.errors import CitebedError
from citebed.files.limits import polars_misreads
from citebed.runs.kba_files import read_filter_run, read_judgements
from citebed.runs.reader import read_qrels, read_run
from citebed.timeline.streams.stream_files import blocks, decode, file_source

STARTS = [b"x^", b"x\x01"]
RUN = b"2 Q0 1317945600-d 1 5 t\n"


@pytest.mark.parametrize(
    "start", [b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"(\xb5/\xfd"], ids=repr
)
def test_polars_still_does_so(start: bytes) -> None:
    """If this fails, a check can be removed."""
    assert polars_misreads(start + b" a")
    with pytest.raises(OSError, match=r"corrupt|invalid|nsupported|ismatch"):
        pl.read_csv(start + b"2 0 d 1\n" * 9, separator=" ", has_header=False)


@pytest.mark.parametrize("start", STARTS, ids=repr)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_name_may_start_like_zlib(
    tmp_path: Path, start: bytes, pack: Callable[[bytes], bytes]
) -> None:
    name, path = (start + b"2").decode(), tmp_path / "x"
    for text in (start + RUN, start + RUN.replace(b" ", b"  ")):
        path.write_bytes(pack(text))
        assert read_run(path).table.rows() == [(name, "1317945600-d", 5.0)]
    path.write_bytes(pack(start + b"2 0 d 1\n"))
    assert read_qrels(path).table.rows() == [(name, "d", 1)]
    path.write_bytes(pack(start + b"2 1323450574-a 1000 2 1\n"))
    assert read_judgements(path).table.rows() == [(name, "1323450574-a", 1323450574, 2)]
    path.write_bytes(pack(start + b'{"doc_id": "d"}\n{"doc_id": "d", "time": 5, "text": "x"}\n'))
    (found,) = (decode(block, False) for block in blocks(file_source(path), 1 << 20))
    assert found.table["line"].to_list() == [2]
    assert [problem.line for problem in found.problems] == [1]


@pytest.mark.parametrize("level", [0, 1, 5, 6, 9])
def test_zlib_is_not_unpacked(tmp_path: Path, level: int) -> None:
    path = tmp_path / "x"
    line = b"t s 1323450574-a E 1000 2 1\n"
    for read, text in (
        (read_filter_run, line),
        (read_run, b"q" + RUN),
    ):
        path.write_bytes(zlib.compress(text * 50, level))
        with pytest.raises(CitebedError):
            read(path)
    document = b'{"doc_id": "d", "time": 1323450574, "text": "x"}\n'
    path.write_bytes(zlib.compress(document * 50, level))
    for block in blocks(file_source(path), 1 << 20):
        found = decode(block, False)
        assert found.table.height + len(found.problems) <= block.lines


def test_the_queries_of_a_collection_may_start_like_zlib(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"doc_id": "d", "title": "Of powers"}\n')
    (tmp_path / "q.jsonl").write_text('{"query_id": "x^2", "text": "powers"}\n')
    (tmp_path / "q.qrels").write_text("".join(f"x^{n} 0 d 1\n" for n in range(2, 9)))
    import_sources(tmp_path / "c", [tmp_path / name for name in ("d.jsonl", "q.jsonl", "q.qrels")])
    collection = open_collection(tmp_path / "c")
    judged = {row for name in collection.query_sets for row in collection.qrels(name).table.rows()}
    assert ("x^2", "d", 1) in judged
    asked = [collection.queries(name)["query_id"].to_list() for name in collection.query_sets]
    assert ["x^2"] in asked
    path = tmp_path / "c" / "qrels" / "q.qrels"
    path.write_bytes(zlib.compress(path.read_bytes(), 5))
    with pytest.raises(CitebedError, match="damaged"):
        open_collection(tmp_path / "c").qrels("q")
