"""Runs scored on an engine: the very figures of one machine, and errors in our own words."""

from __future__ import annotations

import lzma
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import sized

import citebed
from citebed.distributed.engine import Engine
from citebed.errors import CitebedError
from citebed.evaluation.options import Settings
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.runs import file_ranges

MEASURES = ("nDCG@10", "AP", "R@5", "RR", "Bpref", "Judged@10", "infAP", "GMAP", "P@3", "NumRet")


def same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations are the same to the last bit, with what they rest on."""
    return all(
        (a.run, a.tag, a.ledger, a.query_ids.to_list())
        == (b.run, b.tag, b.ledger, b.query_ids.to_list())
        and np.array_equal(a.values, b.values, equal_nan=True)
        for a, b in zip(one.runs, other.runs, strict=True)
    )


queries = st.sampled_from(["q1", "q2", "q10", "ä", "#q", "q3"])
documents = st.sampled_from([f"d{n}" for n in range(30)] + ["dé", "D1"])
nearly_tied = st.integers(0, 9).map(lambda number: 16777216 + number / 8)  # in 32 bits, tied
scores = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e9, 1e9), nearly_tied)
run_rows = st.dictionaries(st.tuples(queries, documents), scores, min_size=1, max_size=80)
qrels_rows = st.dictionaries(st.tuples(queries, documents), st.integers(-1, 3), min_size=1)


cases = st.tuples(
    run_rows, qrels_rows, st.booleans(), st.sampled_from(["double", "float"]), st.booleans(),
    st.booleans(), st.sampled_from([40, 300, 1 << 20]),
)  # fmt: skip


@given(cases)
@settings(
    max_examples=sized(8, 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_scores_are_those_of_one_machine(engine: Engine, tmp_path: Path, case: Any) -> None:
    check_scores(engine, tmp_path, *case)


def check_scores(  # noqa: PLR0913, PLR0917
    engine: Engine,
    tmp_path: Path,
    run: Any,
    qrels: Any,
    complete: bool,
    kind: Any,
    parquet: bool,
    in_order: bool,
    piece: int,
) -> None:
    """Score a run here and there, where workers read it in pieces of so many bytes."""
    how = Settings(complete=complete, score_type=kind)
    judged = tmp_path / "some.qrels"
    judged.write_text("".join(f"{q} 0 {d} {rel}\n" for (q, d), rel in qrels.items()))
    path = tmp_path / ("one.parquet" if parquet else "one.run")
    table = pl.DataFrame(
        [(q, d, score) for (q, d), score in (sorted(run.items()) if in_order else run.items())],
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row",
    )  # fmt: skip
    if parquet:
        table.write_parquet(path)
    else:
        path.write_text("".join(f"{q} Q0 {d} 1 {s!r} me\n" for q, d, s in table.iter_rows()))
    try:
        here = citebed.evaluate(judged, path, MEASURES, how)
    except CitebedError:
        with pytest.raises(CitebedError):
            engine.evaluate(judged, path, MEASURES, how)
        return
    with patch.multiple(file_ranges, MIN_SIZE=piece, PIECES=1 << 20):
        assert same(here, engine.evaluate(judged, path, MEASURES, how))


def test_a_folder_of_parts_is_one_run(engine: Engine, tmp_path: Path) -> None:
    qrels, whole, parts = tmp_path / "a.qrels", tmp_path / "run", tmp_path / "parts" / "run"
    parts.mkdir(parents=True)
    lines = [f"q{n % 7} Q0 d{n} 1 {n * 37 % 11} me\n" for n in range(500)]
    qrels.write_text("".join(f"q{n % 7} 0 d{n} {n % 3}\n" for n in range(0, 500, 3)))
    whole.write_text("".join(lines))
    for part in range(3):
        (parts / f"part-{part}.txt").write_text("".join(lines[part::3]))
    assert same(citebed.evaluate(qrels, whole, MEASURES), engine.evaluate(qrels, parts, MEASURES))


@pytest.mark.parametrize(
    "line", ["q{q} Q0 d{n} 1 {s} me\n", "us sys 13234505{n:02}-d q{q} {s} 1 1\n"]
)
def test_what_only_the_engine_sees_is_read_by_it(engine: Engine, tmp_path: Path, line: str) -> None:
    """Here a pattern of names; what lies in a bucket goes the same way."""
    lines = [line.format(q=n % 3, n=n, s=1 + n * 7 % 5) for n in range(60)]
    place = line.split().index("d{n}") if "d{n}" in line else 2
    judged = {(f"q{n % 3}", text.split()[place]) for n, text in enumerate(lines) if n % 4 == 0}
    (tmp_path / "a.qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, d in sorted(judged)))
    (tmp_path / "whole.run").write_text("# a remark\n" + "".join(lines))
    for part in range(2):
        (tmp_path / f"part-{part}.run").write_text("# a remark\n" + "".join(lines[part::2]))
    here = citebed.evaluate(tmp_path / "a.qrels", tmp_path / "whole.run", MEASURES)
    there = engine.evaluate(tmp_path / "a.qrels", str(tmp_path / "part-*.run"), MEASURES)
    assert here.table().drop("run").equals(there.table().drop("run"))
    assert here.runs[0].tag == there.runs[0].tag


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", '#{"team_id": "us"}\n'])
def test_a_run_without_lines_is_taken_as_on_one_machine(
    engine: Engine, tmp_path: Path, text: str
) -> None:
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    qrels.write_text("q1 0 d0 1\n")
    run.write_text(text)
    try:
        here = citebed.evaluate(qrels, run)
    except CitebedError as error:
        with pytest.raises(CitebedError, match=re.escape(str(error))):
            engine.evaluate(qrels, run)
    else:
        assert same(here, engine.evaluate(qrels, run))


def test_a_packed_run_is_read(engine: Engine, tmp_path: Path) -> None:
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run.xz"
    qrels.write_text("q1 0 d3 1\nq2 0 d4 2\n")
    run.write_bytes(
        lzma.compress(b"".join(b"q%d Q0 d%d 1 %d me\n" % (n % 3, n, n) for n in range(9)))
    )
    assert same(citebed.evaluate(qrels, run), engine.evaluate(qrels, run))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("q1 Q0 d1 1 high me", "the score 'high' is not a finite number"),
        ("q1 Q0 d1 1 nan me", "is not a finite number"),
        ("q1 0 d1 1", "looks like judgements"),
        ("q1 Q0 d0 1 0.5 me", "retrieved twice for query 'q1'"),
    ],
)
def test_wrong_runs_get_the_messages_of_one_machine(
    engine: Engine, tmp_path: Path, line: str, told: str
) -> None:
    (tmp_path / "a.qrels").write_text("q1 0 d0 1\n")
    (tmp_path / "a.run").write_text(f"q1 Q0 d0 1 2 me\n{line}\n")
    with pytest.raises(CitebedError, match=told) as error:
        engine.evaluate(tmp_path / "a.qrels", tmp_path / "a.run")
    assert "Traceback" not in str(error.value)


def test_wrong_engines_are_refused() -> None:
    with pytest.raises(CitebedError, match="is not an engine"), citebed.engine("here"):
        pass
    with pytest.raises(CitebedError, match="no answer from"), citebed.engine("sc://127.0.0.1:9"):
        pass
    with pytest.raises(CitebedError, match="expected key=value"), citebed.engine("local", ["a"]):
        pass


def test_scores_of_32_bits_are_in_the_ledger(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q1 0 a 2\nq1 0 c 0\nq2 0 d 1\n")
    lines = ("q1 Q0 a 1 16777217.0 x", "q1 Q0 c 2 16777216.5 x", "q2 Q0 d 1 1 x")
    (tmp_path / "a.run").write_text("\n".join(lines) + "\n")
    paths = tmp_path / "a.qrels", [tmp_path / "a.run"]
    here, there = citebed.evaluate(*paths, ["AP"]), engine.evaluate(*paths, ["AP"])
    [measured] = there.runs[0].ledger.measures
    assert (measured.queries_in_32_bits, measured.value, measured.in_32_bits) == (1, 1, 0.75)
    assert same(here, there)
