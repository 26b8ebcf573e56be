"""A campaign in the tables of the paper: returns, reformulations, collections, sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Connection, Row, select

from citebed.judging.answers.reformulating import CLASSES
from citebed.judging.asking.questions import (
    BY_HAND,
    FIRST_AUTHOR,
    NOTHING_RELEVANT,
    all_questions,
    last_approval,
    set_aside,
    with_judgements,
    wording_of,
)
from citebed.judging.results.agreement import times_table
from citebed.judging.results.source_tables import (
    ELSEWHERE,
    JudgedQuery,
    beside_cranfield,
    by_source,
    comparison,
    judged_queries,
    with_both_phases,
)
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import (
    CURRENT,
    forms,
    judgements,
    mails,
    wordings,
)

TITLES = {
    "returns": "Invitations, returns and exclusions",
    "reformulations": "Reformulations by class",
    "comparison": "Test collections compared, means a query",
    "sources": "Judged documents a query by source (T1+2)",
    "cranfield": "Judged documents a query by source, beside Cranfield 2",
    "times": "Seconds at a paper until it was judged, on the web",
    "expected": "What to expect of a query (T1+2), with 95% intervals",
    "drawn": "How many answer, over a thousand draws",
}


def campaign_tables(
    store: CampaignStore, connection: Connection, documents: int
) -> dict[str, pl.DataFrame]:
    """All tables by name; ``documents`` are how many the collection has.

    Those of a simulated campaign have a column that says so.
    """
    queries = judged_queries(store, connection)
    tables = {
        "returns": returns_table(store, connection, queries),
        "reformulations": reformulations_table(store, connection),
        "comparison": comparison(queries, documents),
        "sources": by_source(queries),
        "cranfield": beside_cranfield(queries),
    }
    if store.simulated:  # where nobody looks at papers
        return marked_simulated(tables)
    return tables | {"times": times_table(store, connection)}


def marked_simulated(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Tables with a column ``simulated``, which is false for published figures only."""
    marked = {name: table.with_columns(simulated=True) for name, table in tables.items()}
    if "comparison" in marked:
        published = pl.col("collection").is_in([each.name for each in ELSEWHERE])
        marked["comparison"] = marked["comparison"].with_columns(simulated=~published)
    return marked


def returns_table(
    store: CampaignStore, connection: Connection, queries: Sequence[JudgedQuery]
) -> pl.DataFrame:
    """Section 2.1 of the paper: how many were asked, answered, and set aside by which rule.

    Authors are counted, once for each of their papers, however many lists they were sent; second
    judges stand in lines of their own. Queries are those with judgements of their authors.
    """
    every = connection.execute(all_questions(store)).all()
    judged = with_judgements(store, connection, judgements.c.value.is_not(None))
    rules: Counter[str] = Counter()
    for question, reasons in set_aside(store, connection).items():
        rules[next(rule for rule in RULES if rule in reasons)] += question in judged
    invited_by = _invitations(store, connection, {each.id: each.person_id for each in every})
    both = with_both_phases(queries)
    changed = _reformulated(store, connection, {query.query_id for query in both})
    rows: list[tuple[int, str, int]] = [
        (1, "invitations", len(invited_by[1].invited)),
        (1, "forms returned", len(invited_by[1].returned)),
        (1, "queries with judgements", len(judged)),
        *((1, f"set aside: {rule}", rules[rule]) for rule in RULES if rules[rule]),
        (1, "queries left (All Phase One)", len(judged) - rules.total()),
        (2, "invitations", len(invited_by[2].invited)),
        (2, "forms returned", len(invited_by[2].returned)),
        (2, "queries with both phases (T1+2)", len(both)),
        (2, "of these reformulated", len(changed)),
        (2, "of these approved by their authors", sum(changed)),
    ]
    if second := invited_by[SECOND_JUDGES].invited:
        came = len(invited_by[SECOND_JUDGES].returned)
        rows += [(2, "second judges invited", len(second)), (2, "second judges' forms", came)]
    if silent := len(every) - len(judged):
        rows.insert(3, (1, "questions without judgements, not counted", silent))
    return pl.DataFrame(rows, orient="row", schema=["phase", "what", "number"])


class _Invited(NamedTuple):
    """Who was invited and who answered, as papers and people."""

    invited: set[tuple[int, int]]
    returned: set[tuple[int, int]]


RULES = (FIRST_AUTHOR, NOTHING_RELEVANT, BY_HAND)
"""Why questions are set aside; one that has several grounds is counted under the first."""
SECOND_JUDGES = 3
"""Counted apart from the authors of phases 1 and 2."""


def _invitations(
    store: CampaignStore, connection: Connection, authors: Mapping[int, int]
) -> dict[int, _Invited]:
    """Invitations and returns of the authors in phases 1 and 2, and of second judges."""
    told = select(mails.c.form_id).where(mails.c.kind == "invitation")
    said = select(judgements.c.form_id).where(CURRENT)
    chosen = select(
        forms, forms.c.id.in_(told).label("told"), forms.c.id.in_(said).label("answered")
    )
    found = {kind: _Invited(set(), set()) for kind in (1, 2, SECOND_JUDGES)}
    for form in connection.execute(chosen.where(forms.c.campaign_id == store.id)):
        theirs = [authors[query["question"]] for query in form.content.get("asked", ())]
        kind = form.phase if not theirs or form.person_id in theirs else SECOND_JUDGES
        pair = (form.paper_id, form.person_id)
        found[kind].invited.update([pair] if form.told else [])
        found[kind].returned.update([pair] if form.answered else [])
    return found


def _reformulated(
    store: CampaignStore, connection: Connection, wanted: Collection[str]
) -> list[bool]:
    """Of these queries those that were worded anew: whether their authors approved."""
    every = connection.execute(all_questions(store)).all()
    changes = [_last_reformulation(connection, each) for each in every if each.query_id in wanted]
    return [approved for last, approved in filter(None, changes)]


def _last_reformulation(connection: Connection, question: Row[Any]) -> tuple[Row[Any], bool] | None:
    """How a question was last worded by the organisers, and whether its author approved."""
    mine = (wordings.c.question_id == question.id) & (wordings.c.kind == "reformulated")
    chosen = select(wordings).where(mine).order_by(wordings.c.id.desc()).limit(1)
    last = connection.execute(chosen).first()
    if last is None:
        return None
    said = last_approval(connection, last.id, question.person_id)
    return last, said is not None and said.approved


def reformulations_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """How many questions were worded anew in each class, and what their authors said of it.

    A question may be of several classes; the last row counts each once.
    """
    counts = {name: [0, 0, 0] for name in (*CLASSES, "all")}
    for each in connection.execute(all_questions(store)).all():
        if (change := _last_reformulation(connection, each)) is None:
            continue
        last, said = change
        corrected = wording_of(connection, each.id).kind == "corrected"
        for name in (*last.classes, "all"):
            counts[name][0] += 1
            counts[name][1] += said
            counts[name][2] += corrected
    rows = [(name, *numbers) for name, numbers in counts.items()]
    columns = ["class", "reformulated", "approved", "corrected"]
    return pl.DataFrame(rows, orient="row", schema=columns)
