"""What the organiser's dashboard shows besides the status: mails, problems, events, agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from sqlalchemy import Connection, Row, select

from citebed.judging.answers.judgement_tables import current_judgements
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import events, mails, people

if TYPE_CHECKING:
    from citebed.evaluation.judgements.agreement import Agreement


def mail_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """Every mail: to whom, of what kind, what became of it."""
    columns = [mails.c.kind, people.c.name, people.c.email, mails.c.state, mails.c.attempts,
               mails.c.error, mails.c.written_at, mails.c.sent_at]  # fmt: skip
    chosen = select(*columns).join(people, people.c.id == mails.c.person_id)
    rows = connection.execute(chosen.where(mails.c.campaign_id == store.id).order_by(mails.c.id))
    moment = pl.Datetime("us", "UTC")
    kinds = [*[pl.String] * 4, pl.Int32, pl.String, moment, moment]
    names = ["kind", "name", "email", "state", "attempts", "error", "written_at", "sent_at"]
    schema: dict[str, Any] = dict(zip(names, kinds, strict=True))
    return pl.DataFrame([tuple(row) for row in rows], schema, orient="row")


def recent_events(
    store: CampaignStore, connection: Connection, what: str, most: int = 20
) -> list[Row[Any]]:
    """The last events of a kind, the newest first."""
    mine = (events.c.campaign_id == store.id) & (events.c.what == what)
    chosen = select(events).where(mine).order_by(events.c.id.desc()).limit(most)
    return list(connection.execute(chosen))


def agreement(store: CampaignStore, connection: Connection) -> dict[int, list[Agreement]]:
    """How well judges agree, by phase, where a document was judged twice for a question."""
    table = current_judgements(store, connection, excluded=True).filter(
        pl.col("value").is_not_null(), pl.col("doc_id").is_not_null()
    )
    found = {}
    for phase in (1, 2):
        mine = table.filter(phase=phase).select(
            item=pl.concat_str("query_id", "doc_id", separator="\t"),
            judge="judge_id",
            value="value",
        )
        mine = mine.unique(["item", "judge"], keep="last", maintain_order=True)
        twice = mine.filter(pl.col("judge").n_unique().over("item") > 1)
        if twice.height:
            found[phase] = _measures(twice, phase)
    return found


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
