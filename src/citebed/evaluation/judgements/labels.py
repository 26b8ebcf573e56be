"""Read the second field of judgements, which may name the source of each judgement.

Evaluation programs ignore this field. A campaign's export has ``cited``, ``manual`` or
``automatic`` there; a merged set has the name of the first set that judged, and an expanded set
``cocited``. In tables it is the column ``label``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from citebed.files.input_files import reusable_path
from citebed.files.parquet import read_parquet
from citebed.runs.kba_files import detect_kba_form
from citebed.runs.reader import as_qrels, distinct_names, read_qrels, run_name
from citebed.runs.tables import Qrels, is_parquet
from citebed.runs.trec_files import QRELS, read_coded

LABEL = "label"
_SECOND = QRELS._replace(columns=("iteration", "doc_id", "relevance"))
_A_NUMBER = r"^Q?[0-9]+$"
"""An iteration or the number of a reference, which is not a source."""


def read_labelled(path: str | Path) -> Qrels:
    """Read judgements, with a column ``label`` if their second field has words."""
    path = Path(path)
    with reusable_path(path) as file:
        qrels = replace(read_qrels(file), name=run_name(path), source=path)
        labels = _labels(file)
    if labels is None or labels.str.contains(_A_NUMBER).all():
        return qrels
    return replace(qrels, rows=qrels.table.with_columns(labels.alias(LABEL)))


def _labels(file: Path) -> pl.Series | None:
    if not is_parquet(file):
        if detect_kba_form(file) is not None:
            return None  # in KBA's files the second field is the document
        return read_coded(file, _SECOND)["iteration"]
    table = read_parquet(file)
    # Without a column "relevance", "label" is PyTerrier's name for the relevance.
    known = {"relevance", LABEL} <= set(table.columns)
    return table[LABEL].cast(pl.String).fill_null("0") if known else None


def read_labelled_sets(paths: Sequence[Path]) -> list[Qrels]:
    """Read judgement sets with labels, under distinct names."""
    names = distinct_names(paths)
    return [
        replace(read_labelled(path), name=name) for path, name in zip(paths, names, strict=True)
    ]


def as_labelled(qrels: Any) -> Qrels:
    """Convert judgements as `as_qrels` does; read files with labels."""
    return read_labelled(qrels) if isinstance(qrels, str | Path) else as_qrels(qrels)


def set_label(name: str) -> str:
    """Turn the name of a set into a label, which is one word."""
    return "-".join(name.split()) or "0"
