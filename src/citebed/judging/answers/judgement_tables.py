"""The judgements of a campaign as tables, and as the sets J1, J2 and J1+2."""

from __future__ import annotations

import polars as pl
from sqlalchemy import Float, case, func, select, type_coerce

from citebed.errors import UnknownName
from citebed.judging.invitations.questions import excluded_questions
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import CURRENT, forms, items, judgements, people, questions
from citebed.runs.tables import Qrels

SETS = ("j1", "j2", "j12")

_earlier = judgements.alias("earlier")
_SECONDS = (
    select(func.sum(_earlier.c.took_ms) / 1000.0)
    .where(_earlier.c.item_id == judgements.c.item_id)
    .where(_earlier.c.person_id == judgements.c.person_id)
    .scalar_subquery()
)
"""The total time that a judge looked at a paper, in seconds."""


def current_judgements(tx: Transaction, *, excluded: bool = False) -> pl.DataFrame:
    """Return a row per judge and item with the current judgement.

    ``doc_id`` is null for papers outside the collection. ``seconds`` is the total time at the
    paper, known only on the web. ``excluded`` adds the judgements of excluded questions.
    """
    aside = () if excluded else excluded_questions(tx)
    return tx.table(
        select(
            questions.c.query_id,
            items.c.doc_id,
            case((items.c.pool_id.is_(None), 1), else_=2).label("phase"),
            people.c.name.label("judge"),
            people.c.id.label("judge_id"),
            (forms.c.person_id == people.c.id).label("own"),
            judgements.c.value,
            judgements.c.comment,
            judgements.c.via,
            judgements.c.answered_at,
            type_coerce(_SECONDS, Float).label("seconds"),
            judgements.c.id.label("judgement_id"),
            items.c.id.label("item_id"),
        )
        .join(items, items.c.id == judgements.c.item_id)
        .join(questions, questions.c.id == items.c.question_id)
        .join(people, people.c.id == judgements.c.person_id)
        .join(forms, forms.c.id == questions.c.form_id)
        .where(questions.c.campaign_id == tx.id, CURRENT, questions.c.id.not_in(aside))
        .order_by(questions.c.id, items.c.id, judgements.c.id)
    )


def build_qrels(tx: Transaction, name: str = "j12", *, graded: bool = False) -> Qrels:
    """Build the qrels J1, J2 or J1+2.

    By default they are binary: a reference is relevant from the campaign's threshold on. ``graded``
    keeps the grades of phase one, the lowest as 0, and gives relevant documents of phase two a 1.
    The author's judgement takes precedence over other judges'. Of several judgements left (for
    example of two references to one document) the highest counts. "Can't say" does not count.
    """
    if name not in SETS:
        raise UnknownName("set of judgements", name, SETS)
    table = current_judgements(tx)
    first = pl.col("phase") == 1
    grade = pl.col("value") - 1 if graded else pl.col("value") >= tx.settings.relevant_from
    relevance = pl.when(first).then(grade.cast(pl.Int64)).otherwise(pl.col("value").cast(pl.Int64))
    chosen = {"j1": first, "j2": ~first, "j12": pl.lit(True)}[name]
    table = (
        table.filter(chosen, pl.col("value").is_not_null(), pl.col("doc_id").is_not_null())
        .with_columns(relevance=relevance)
        .filter(pl.col("own") == pl.col("own").max().over("query_id", "doc_id"))
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg(pl.col("relevance").max())
    )
    return Qrels(table, name)


_PRECEDENCE = (
    "can't say does not count; the author's judgement takes precedence over other judges'; the "
    "highest of several judgements counts"
)


def mapping_rule(settings: CampaignSettings, *, graded: bool = False) -> str:
    """Return the rule from judgements to relevance as a sentence."""
    if graded:
        return (
            f"phase one: grade g of 1 to {len(settings.grades)} is relevance g-1; "
            f"phase two: relevant is 1, not relevant 0; {_PRECEDENCE}"
        )
    return (
        f"phase one: grades {settings.relevant_from} to {len(settings.grades)} are 1, lower ones "
        f"0; phase two: relevant is 1, not relevant 0; {_PRECEDENCE}"
    )
