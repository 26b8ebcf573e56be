"""KBA's runs and judgements as tables like TREC's, for all who score without time."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from citebed.errors import FormatError
from citebed.runs.assessors import OFFICIAL, merge_assessors
from citebed.runs.kba_files import SHORT_FORM, kba_form, read_filter_run, read_judgements
from citebed.runs.tables import Qrels, Run
from citebed.runs.trec_files import QRELS, RUN
from citebed.wording import count


def kba_qrels(path: Path, name: str) -> Qrels | None:
    """KBA judgements, a pair once by the track's own rule; ``None`` for a file that has none.

    Garbage, -1, is a judgement: 0.
    """
    if kba_form(path) is None:
        return None
    lines = read_judgements(path).table.with_columns(pl.col("relevance").clip(lower_bound=0))
    merged = merge_assessors(lines, OFFICIAL)
    note = (
        f"{name}: read as KBA's judgements, {count(merged.height, 'pair')} from "
        f"{count(lines.height, 'line')}, several assessors by {OFFICIAL}; grade 2 is central, 1 "
        "relevant, 0 all else"
    )
    return Qrels(merged.select(QRELS.kept).cast({"relevance": pl.Int64}), name, notes=(note,))


def kba_run(path: Path, name: str) -> Run | None:
    """A filter run, whose confidence is the score; ``None`` for a file that is none."""
    form = kba_form(path)
    if form is None:
        return None
    if form is SHORT_FORM:
        what = "these are KBA's judgements, where a run should stand. Are the files in order?"
        raise FormatError(path, None, what)
    run = read_filter_run(path)
    return Run(run.table.select(RUN.kept), name, tag=run.system or None, team=run.team)
