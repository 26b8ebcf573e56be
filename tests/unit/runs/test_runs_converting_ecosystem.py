"""`from citebed import evaluate` takes what the libraries around it give."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from citebed import evaluate
from citebed.errors import CitebedError

pd = pytest.importorskip("pandas")

Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")

GRADES = [("1", "d1", 1), ("1", "d2", 0), ("1", "d3", 2), ("2", "d4", 1)]
SCORES = [("1", "d1", 2.0), ("1", "d3", 1.0), ("1", "x", 3.0), ("2", "d4", 1.0), ("2", "y", 0.5)]
# Query 1: x, d1, d3, so AP = (1/2 + 2/3) / 2 = 7/12; query 2: AP = 1.
EXPECTED = (7 / 12 + 1) / 2


def nested(rows: list[tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, document, value in rows:
        found.setdefault(query, {})[document] = value
    return found


def pyterrier_qrels() -> Any:
    return pd.DataFrame(GRADES, columns=["qid", "docno", "label"]).astype({"qid": int})


def pyterrier_run() -> Any:
    """With the columns that a retriever adds."""
    frame = pd.DataFrame(SCORES, columns=["qid", "docno", "score"]).astype({"qid": int})
    return frame.assign(query="some text", rank=0, docid=[7, 8, 9, 7, 8], emb=[np.zeros(2)] * 5)


class Dataset:
    """As of ir_datasets."""

    def qrels_iter(self) -> Iterator[Qrel]:
        return (Qrel(*row, "0") for row in GRADES)

    def scoreddocs_iter(self) -> Iterator[ScoredDoc]:
        return (ScoredDoc(*row) for row in SCORES)


class Ranx:
    """As of ranx."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows = rows

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return nested(self.rows)


QRELS: dict[str, Callable[[], Any]] = {
    "dict": lambda: nested(GRADES),
    "dict of integer queries": lambda: {int(q): found for q, found in nested(GRADES).items()},
    "dict of numpy numbers": lambda: nested([(q, d, np.int64(g)) for q, d, g in GRADES]),
    "pandas": pyterrier_qrels,
    "pandas, nullable": lambda: pyterrier_qrels().astype({"qid": "Int64", "label": "Int64"}),
    "pandas, floats": lambda: pyterrier_qrels().astype({"qid": float, "label": float}),
    "pandas, strings": lambda: pyterrier_qrels().astype({"qid": "string"}),
    "pandas, categories": lambda: pyterrier_qrels().astype({"docno": "category"}),
    "polars": lambda: pl.DataFrame(GRADES, ["query_id", "doc_id", "relevance"], orient="row"),
    "polars, other names": lambda: pl.DataFrame(GRADES, ["qid", "docno", "label"], orient="row"),
    "named tuples": lambda: [Qrel(*row, "0") for row in GRADES],
    "generator": lambda: Dataset().qrels_iter(),
    "triples": lambda: GRADES,
    "dicts of fields": lambda: [dict(zip(Qrel._fields, row, strict=False)) for row in GRADES],
    "ir_datasets": Dataset,
    "ranx": lambda: Ranx(GRADES),
}
RUNS: dict[str, Callable[[], Any]] = {
    "dict": lambda: nested(SCORES),
    "dict of runs": lambda: {"mine": nested(SCORES)},
    "dict with an empty query": lambda: {"0": {}, **nested(SCORES)},
    "list of runs": lambda: [nested(SCORES)],
    "generator of runs": lambda: (run for run in [nested(SCORES), pyterrier_run()]),
    "integers among scores": lambda: nested([(q, d, int(s) if s % 1 == 0 else s)
                                             for q, d, s in SCORES]),
    "pandas": pyterrier_run,
    "pandas, 32 bits": lambda: pyterrier_run().astype({"score": np.float32}),
    "pandas, rows in disorder": lambda: pyterrier_run().iloc[::-1],
    "polars, lazy": lambda: pl.DataFrame(SCORES, ["query_id", "doc_id", "score"],
                                         orient="row").lazy(),
    "named tuples": lambda: [ScoredDoc(*row) for row in SCORES],
    "generator": lambda: Dataset().scoreddocs_iter(),
    "triples": lambda: SCORES,
    "triples of numpy numbers": lambda: [(int(q), d, np.float32(s)) for q, d, s in SCORES],
    "dicts of fields": lambda: [{"qid": q, "docno": d, "score": s} for q, d, s in SCORES],
    "ir_datasets": Dataset,
    "ranx": lambda: Ranx(SCORES),
}  # fmt: skip


@pytest.mark.parametrize("form", QRELS)
def test_judgements_of_every_form(form: str) -> None:
    found = evaluate(QRELS[form](), nested(SCORES), ["AP"]).summary()
    assert found["value"].to_list() == [pytest.approx(EXPECTED)]


@pytest.mark.parametrize("form", RUNS)
def test_runs_of_every_form(form: str) -> None:
    found = evaluate(nested(GRADES), RUNS[form](), ["AP"]).summary()
    assert found.height
    assert found["value"].to_list() == [pytest.approx(EXPECTED)] * found.height


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_id_is_reported(missing: Any) -> None:
    frame = pyterrier_run().assign(qid=[1, missing, 1, 2, 2])
    with pytest.raises(CitebedError, match="query_id of row 2 is missing"):
        evaluate(nested(GRADES), frame, ["AP"])
    frame = pyterrier_run().assign(docno=["d1", missing, "d2", "d4", "y"])
    with pytest.raises(CitebedError, match="doc_id of row 2 is missing"):
        evaluate(nested(GRADES), frame, ["AP"])


def test_a_missing_score_and_half_a_grade_are_reported() -> None:
    with pytest.raises(CitebedError, match="score of row 3"):
        evaluate(nested(GRADES), pyterrier_run().assign(score=[1, 2, np.nan, 1, 1]), ["AP"])
    with pytest.raises(CitebedError, match=r"relevance of row 1, 0\.5, is not a whole number"):
        evaluate(pyterrier_qrels().assign(label=[0.5, 1, 1, 1]), nested(SCORES), ["AP"])


def test_what_is_none_of_these_is_reported() -> None:
    with pytest.raises(CitebedError, match="cannot read a run from a int"):
        evaluate(nested(GRADES), 7, ["AP"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"q": {"a\ud800": 1}}, r"'a\\ud800' contains half a character"),
        ([("q", "\udfff", 1)], r"'\\udfff' contains half a character"),
        ([{"query_id": "q", "doc_id": "\ud800", "score": 1}], "contains half a character"),
        ([{"query_id": "q", "doc_id": "a", "score": 1}, 5], "expected rows of query_id"),
    ],
)
def test_what_no_table_can_hold_is_reported(given: Any, told: str) -> None:
    with pytest.raises(CitebedError, match=told):
        evaluate(nested(GRADES), given, ["AP"])
