"""How far judges of a question agree, on which papers they do not, and how long they looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from sqlalchemy import Connection

from citebed.judging.answers.judgement_tables import current_judgements
from citebed.judging.store.handle import CampaignStore

if TYPE_CHECKING:
    from citebed.evaluation.judgements.agreement import Agreement


_PAIR = ("query_id", "doc_id", "phase")


def disagreements(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """Every judgement of the papers that judges value differently, those of one paper together.

    ``differ`` says in what: first come those that one finds relevant and another not, then those
    with other grades. ``counts`` marks what the exported judgements have: the question's author.
    "Can't say" disagrees with nobody.
    """
    table = current_judgements(store, connection, excluded=True).filter(
        pl.col("value").is_not_null(), pl.col("doc_id").is_not_null()
    )
    threshold = pl.when(phase=1).then(store.settings.relevant_from).otherwise(1)
    several = pl.col("judge_id").n_unique().over(*_PAIR) > 1
    differ = (
        pl.when(pl.col("relevant").n_unique().over(*_PAIR) > 1)
        .then(pl.lit("relevance"))
        .when(pl.col("value").n_unique().over(*_PAIR) > 1)
        .then(pl.lit("grade"))
    )
    counts = pl.col("own") == pl.col("own").max().over("query_id", "doc_id")
    columns = ("judge", "own", "value", "relevant", "counts", "comment", "seconds")
    return (
        table.with_columns(relevant=pl.col("value") >= threshold, counts=counts)
        .with_columns(differ=differ)
        .filter(several, pl.col("differ").is_not_null())
        .sort(pl.col("differ") == "grade", *_PAIR, ~pl.col("own"), "judgement_id")
        .select(*_PAIR, "differ", *columns)
    )


def times_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """How long judges looked at a paper before they judged it, in seconds, by phase.

    Only the web knows it; a paper that was judged again counts with all its time.
    """
    table = current_judgements(store, connection, excluded=True)
    seconds = pl.col("seconds")
    times = table.group_by("phase").agg(
        judgements=pl.len(),
        timed=seconds.count(),
        median=seconds.median(),
        mean=seconds.mean(),
        ninth_decile=seconds.quantile(0.9, "linear"),
    )
    return times.sort("phase")


def agreement(store: CampaignStore, connection: Connection) -> dict[int, list[Agreement]]:
    """How well judges agree, by phase, where a document was judged twice for a question."""
    table = current_judgements(store, connection, excluded=True).filter(
        pl.col("value").is_not_null(), pl.col("doc_id").is_not_null()
    )
    by_phase = {}
    for phase in (1, 2):
        mine = table.filter(phase=phase).select(
            item=pl.concat_str("query_id", "doc_id", separator="\t"),
            judge="judge_id",
            value="value",
        )
        mine = mine.unique(["item", "judge"], keep="last", maintain_order=True)
        twice = mine.filter(pl.col("judge").n_unique().over("item") > 1)
        if twice.height:
            by_phase[phase] = _measures(twice, phase)
    return by_phase


def _measures(twice: pl.DataFrame, phase: int) -> list[Agreement]:
    from citebed.evaluation.judgements.agreement import (
        cohens_kappa,
        krippendorffs_alpha,
        raw_agreement,
    )

    measures = [raw_agreement(twice)]
    if twice["judge"].n_unique() == 2:
        measures.append(cohens_kappa(twice))
    measures.append(krippendorffs_alpha(twice, metric="ordinal" if phase == 1 else "nominal"))
    return measures
