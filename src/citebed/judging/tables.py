"""A campaign in the tables of the paper: returns, reformulations, collections, sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlalchemy import Connection, func, select

from citebed.judging.questions import (
    FIRST_AUTHOR,
    NOTHING_RELEVANT,
    all_questions,
    set_aside,
    wording_of,
)
from citebed.judging.reformulating import CLASSES
from citebed.judging.source_tables import (
    ELSEWHERE,
    Judged,
    beside_cranfield,
    by_source,
    comparison,
    judged_queries,
    with_both_phases,
)
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import approvals, forms, judgements, mails, wordings

TITLES = {
    "returns": "Invitations, returns and exclusions",
    "reformulations": "Reformulations by class",
    "comparison": "Test collections compared, means a query",
    "sources": "Judged documents a query by source (T1+2)",
    "cranfield": "Judged documents a query by source, beside Cranfield 2",
    "expected": "What to expect of a query (T1+2), with 95% intervals",
    "methods": "Pooling methods for as many judged documents a query",
}


def campaign_tables(
    store: CampaignStore, connection: Connection, documents: int
) -> dict[str, pl.DataFrame]:
    """All tables by name; ``documents`` are how many the collection has.

    Those of a simulated campaign have a column that says so.
    """
    queries = judged_queries(store, connection)
    found = {
        "returns": returns_table(store, connection, queries),
        "reformulations": reformulations_table(store, connection),
        "comparison": comparison(queries, documents),
        "sources": by_source(queries),
        "cranfield": beside_cranfield(queries),
    }
    return marked_simulated(found) if store.simulated else found


def marked_simulated(found: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Tables with a column ``simulated``, which is false for published figures only."""
    marked = {name: table.with_columns(simulated=True) for name, table in found.items()}
    if "comparison" in marked:
        published = pl.col("collection").is_in([each.name for each in ELSEWHERE])
        marked["comparison"] = marked["comparison"].with_columns(simulated=~published)
    return marked


def returns_table(
    store: CampaignStore, connection: Connection, queries: Sequence[Judged]
) -> pl.DataFrame:
    """Section 2.1 of the paper: how many were asked, answered, and set aside by which rule."""
    every = connection.execute(all_questions(store)).all()
    aside = set_aside(store, connection)
    rules: Counter[str] = Counter()
    for reasons in aside.values():
        first = next((r for r in (FIRST_AUTHOR, NOTHING_RELEVANT) if r in reasons), None)
        rules[first or next(iter(reasons))] += 1
    rows: list[tuple[int, str, int]] = [
        (1, "invitations", _invited(store, connection, 1)),
        (1, "forms returned", _answered(store, connection, 1)),
        (1, "queries with judgements", len(every)),
        *((1, f"set aside: {rule}", number) for rule, number in rules.items()),
        (1, "queries left (All Phase One)", len(every) - len(aside)),
        (2, "invitations", _invited(store, connection, 2)),
        (2, "forms returned", _answered(store, connection, 2)),
        (2, "queries with both phases (T1+2)", len(with_both_phases(queries))),
    ]
    return pl.DataFrame(rows, orient="row", schema=["phase", "what", "number"])


def _number(connection: Connection, chosen: Any) -> int:
    return int(connection.scalar(chosen) or 0)


def _invited(store: CampaignStore, connection: Connection, phase: int) -> int:
    mine = (forms.c.campaign_id == store.id) & (forms.c.phase == phase)
    told = select(mails.c.id).where(mails.c.form_id == forms.c.id, mails.c.kind == "invitation")
    return _number(connection, select(func.count()).select_from(forms).where(mine, told.exists()))


def _answered(store: CampaignStore, connection: Connection, phase: int) -> int:
    mine = (forms.c.campaign_id == store.id) & (forms.c.phase == phase)
    chosen = select(func.count(judgements.c.form_id.distinct()))
    return _number(connection, chosen.join(forms, forms.c.id == judgements.c.form_id).where(mine))


def reformulations_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """How many questions were worded anew in each class, and what their authors said of it.

    A question may be of several classes; the last row counts each once.
    """
    counts = {name: [0, 0, 0] for name in (*CLASSES, "all")}
    for each in connection.execute(all_questions(store)).all():
        mine = (wordings.c.question_id == each.id) & (wordings.c.kind == "reformulated")
        last = connection.execute(
            select(wordings).where(mine).order_by(wordings.c.id.desc()).limit(1)
        ).first()
        if last is None:
            continue
        said = connection.scalar(
            select(approvals.c.approved)
            .where(approvals.c.wording_id == last.id, approvals.c.person_id == each.person_id)
            .order_by(approvals.c.id.desc())
            .limit(1)
        )
        corrected = wording_of(connection, each.id).kind == "corrected"
        for name in (*last.classes, "all"):
            counts[name][0] += 1
            counts[name][1] += bool(said)
            counts[name][2] += corrected
    rows = [(name, *numbers) for name, numbers in counts.items()]
    columns = ["class", "reformulated", "approved", "corrected"]
    return pl.DataFrame(rows, orient="row", schema=columns)
