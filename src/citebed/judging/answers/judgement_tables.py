"""The judgements of a campaign as tables: who said what, and the sets J1, J2 and J1+2."""

from __future__ import annotations

import polars as pl
from sqlalchemy import Connection, func, select

from citebed.errors import UnknownName
from citebed.judging.asking.questions import set_aside
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import CURRENT, forms, items, judgements, people, questions
from citebed.runs.tables import Qrels

SETS = ("j1", "j2", "j12")
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "phase": pl.Int32,
    "judge": pl.String,
    "judge_id": pl.Int64,
    "own": pl.Boolean,
    "value": pl.Int32,
    "comment": pl.String,
    "via": pl.String,
    "answered_at": pl.Datetime("us", "UTC"),
    "seconds": pl.Float64,
    "judgement_id": pl.Int64,
    "item_id": pl.Int64,
}


_earlier = judgements.alias("earlier")
_SECONDS = (
    select(func.sum(_earlier.c.took_ms) / 1000.0)
    .where(_earlier.c.item_id == judgements.c.item_id)
    .where(_earlier.c.person_id == judgements.c.person_id)
    .scalar_subquery()
)
"""How long a judge looked at a paper, until the last judgement of it."""


def current_judgements(
    store: CampaignStore, connection: Connection, *, excluded: bool = False
) -> pl.DataFrame:
    """Every judge's last word on every item, one a row; ``doc_id`` is empty outside the collection.

    ``seconds`` is how long its judge looked at the paper in all, where that is known (on the web).
    With ``excluded``, of questions that were set aside too.
    """
    phase = items.c.pool_id.is_not(None)
    rows = connection.execute(
        select(
            questions.c.id,
            questions.c.query_id,
            items.c.doc_id,
            phase,
            people.c.name,
            people.c.id,
            forms.c.person_id == people.c.id,
            judgements.c.value,
            judgements.c.comment,
            judgements.c.via,
            judgements.c.answered_at,
            _SECONDS,
            judgements.c.id,
            items.c.id,
        )
        .join(items, items.c.id == judgements.c.item_id)
        .join(questions, questions.c.id == items.c.question_id)
        .join(people, people.c.id == judgements.c.person_id)
        .join(forms, forms.c.id == questions.c.form_id)
        .where(questions.c.campaign_id == store.id, CURRENT)
        .order_by(questions.c.id, items.c.id, judgements.c.id)
    ).all()
    aside = {} if excluded else set_aside(store, connection)
    kept = [
        (query, doc, 2 if pooled else 1, *rest)
        for question, query, doc, pooled, *rest in rows
        if question not in aside
    ]
    return pl.DataFrame(kept, _COLUMNS, orient="row")


def qrels_of(
    store: CampaignStore, connection: Connection, name: str = "j12", *, graded: bool = False
) -> Qrels:
    """A set of judgements in the form of trec_eval: J1, J2, or both.

    Binary by default: a reference is relevant from the campaign's threshold on, as both phases
    then say the same. ``graded`` keeps the grades of phase one, the lowest as 0, and gives a
    document found relevant in phase two 1. What the question's author says counts; another judge
    only where the author said nothing. Of several judgements that count so (of two references to
    one document, say) it is the highest. "Can't say" is no judgement.
    """
    if name not in SETS:
        raise UnknownName("set of judgements", name, SETS)
    table = current_judgements(store, connection)
    first = pl.col("phase") == 1
    grade = pl.col("value") - 1 if graded else pl.col("value") >= store.settings.relevant_from
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


_SEVERAL = (
    "can't say is left out; the author's judgement counts, another judge's only without it; of "
    "several that count the highest"
)


def mapping_rule(store: CampaignStore, *, graded: bool = False) -> str:
    """How judgements became relevance, in words."""
    settings = store.settings
    if graded:
        return (
            f"phase one: grade g of 1 to {len(settings.grades)} is relevance g-1; "
            f"phase two: relevant is 1, not relevant 0; {_SEVERAL}"
        )
    return (
        f"phase one: grades {settings.relevant_from} to {len(settings.grades)} are 1, lower ones "
        f"0; phase two: relevant is 1, not relevant 0; {_SEVERAL}"
    )
