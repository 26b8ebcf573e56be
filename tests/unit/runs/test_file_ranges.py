"""Runs in byte ranges: nothing lost, cut between queries if sorted by query."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from unittest.mock import patch

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from citebed.runs import file_ranges
from citebed.runs.file_ranges import split_between_groups, split_files
from citebed.runs.trec_files import RUN, parsed_lines

QUERIES = [f"q{n}" for n in range(12)]
lines = st.one_of(
    st.sampled_from(QUERIES).map(lambda query: f"{query} Q0 d 1 0.5 me"),
    st.sampled_from(["", "# a remark", "# " + "long " * 30]),
)
texts = st.lists(lines, max_size=80).map("\n".join)


def groups(text: bytes) -> pl.Series:
    """The query of each line."""
    return parsed_lines(text, RUN, Path("a.run"))["query_id"].cast(pl.String)


@given(texts, st.integers(1, 200), st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("", 1, False)
@example("q1 Q0 d 1 0.5 me", 1, True)
def test_pieces_are_the_file(tmp_path: Path, text: str, size: int, in_order: bool) -> None:
    if in_order:
        text = "\n".join(sorted(text.split("\n")))
    path = tmp_path / "a.run"
    path.write_text(text)
    with patch.multiple(file_ranges, MIN_SIZE=size, PIECES=1 << 20):
        assert b"".join(t for piece in split_files([path]) for t in piece.texts()) == text.encode()
        whole = split_between_groups([path], groups)
    if whole is not None:
        assert b"".join(t for piece in whole for t in piece.texts()) == text.encode()
    if in_order and whole is not None:
        found = [set(groups(b"".join(piece.texts()))) for piece in whole]
        assert sum(map(len, found)) == len(set().union(*found))


def test_a_run_in_order_is_cut_between_its_queries(tmp_path: Path) -> None:
    text = "".join(f"q{n // 50} Q0 d{n} 1 {n} me\n" for n in range(2000))
    (tmp_path / "a.run").write_text(text)
    with patch.multiple(file_ranges, MIN_SIZE=1000, PIECES=1 << 20):
        whole = split_between_groups([tmp_path / "a.run"], groups)
    assert whole is not None
    assert len(whole) > 10
    kinds = [list(groups(b"".join(piece.texts()))) for piece in whole]
    assert [query for piece in kinds for query, _ in groupby(piece)] == [f"q{n}" for n in range(40)]


def test_a_scattered_run_is_not_cut_so(tmp_path: Path) -> None:
    text = "".join(f"q{n % 7} Q0 d{n} 1 {n} me\n" for n in range(2000))
    (tmp_path / "a.run").write_text(text)
    with patch.multiple(file_ranges, MIN_SIZE=1000, PIECES=1 << 20):
        assert split_between_groups([tmp_path / "a.run"], groups) is None
