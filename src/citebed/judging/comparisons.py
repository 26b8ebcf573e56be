"""Comparisons: judges see the papers of a pool in pairs; their preferences give strengths.

The pairs form a cyclic design (David 1963, The Method of Paired Comparisons, chapter 5): papers
are on a circle in random order, and each is paired with those some steps away. So each paper
occurs equally often, and as often first as second. The next judge of a question gets the same pairs
with the sides exchanged. Preferences have a table of their own, apart from judgements of papers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sqlalchemy import func, insert, select

from citebed.errors import CitebedError, UnknownName
from citebed.frames import TableResult
from citebed.judging.assignments import add_form, shuffle_for_judge
from citebed.judging.judgements import total_seconds
from citebed.judging.papers import Author, find_or_add_person
from citebed.judging.questions import current_wording, excluded_questions, live_questions
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import (
    forms,
    is_current,
    items,
    pairs,
    people,
    preferences,
    questions,
)
from citebed.judging.tables import measure_agreement
from citebed.wording import count

PER_PAPER = 4
"""How many comparisons of each paper a judge makes, by default."""
PRIOR = 1.0
"""The weight of the prior: each paper also ties once with an average paper."""


class ComparisonReport(NamedTuple):
    """The pairs of a query that a judge will see."""

    query_id: str
    judge: str
    papers: int
    pairs: int

    def summary(self) -> str:
        """Return ``p1-a1q1: 30 pairs of 15 papers for Ada Bell``."""
        size = f"{count(self.pairs, 'pair')} of {count(self.papers, 'paper')}"
        return f"{self.query_id}: {size} for {self.judge}"


def choose_pairs(papers: int, per_paper: int = PER_PAPER) -> list[tuple[int, int]]:
    """Return pairs of the numbers from 0 to ``papers`` - 1, each ``per_paper`` times.

    One step on the circle connects all papers. Each further step is the one that makes the
    variance of the strengths smallest. Few papers are all compared with each other.
    """
    half, steps = (papers - 1) // 2, [1] if papers > 2 else []
    angles = 2 * np.pi * np.arange(1, papers) / papers
    information = 1 - np.cos(angles)  # the eigenvalues of the design, apart from a factor
    while len(steps) < min(per_paper // 2, half):
        more = {step: information + 1 - np.cos(step * angles) for step in range(2, half + 1)}
        best = min(more.keys() - steps, key=lambda step: (float(np.sum(1 / more[step])), step))
        steps, information = [*steps, best], more[best]
    chosen = [(at, (at + step) % papers) for step in steps for at in range(papers)]
    if papers % 2 == 0 and per_paper >= papers - 1:
        chosen += [(at, at + papers // 2) for at in range(papers // 2)]
    return chosen


def assign_comparisons(
    store: CampaignStore,
    query_ids: Sequence[str] = (),
    judge: Author | None = None,
    per_paper: int = PER_PAPER,
    seed: int = 0,
) -> list[ComparisonReport]:
    """Assign the pools of queries (by default all) in pairs to their authors, or to a ``judge``.

    A query is skipped if the judge has compared its papers already. Authors do not get the same
    papers to grade afterwards.
    """
    if per_paper < 2 or per_paper % 2:
        raise CitebedError(f"{per_paper} comparisons of each paper are not possible. Give an even "
                           "number, so that each paper comes first as often as second."
                           )  # fmt: skip
    lists: dict[tuple[int, int], list[dict[str, Any]]] = {}
    reports = []
    with store.writing() as tx:
        every = {each.query_id: each for each in live_questions(tx)}
        names = {each.id: query_id for query_id, each in every.items()}
        second = None if judge is None else find_or_add_person(tx, judge)
        for query_id in dict.fromkeys(query_ids or every):
            if query_id not in every:
                raise UnknownName("query", query_id, every)
            question = every[query_id]
            person = question.person_id if second is None else second
            pooled = (items.c.question_id == question.id) & items.c.pool_id.is_not(None)
            listed = list(tx.scalars(select(items.c.id).where(pooled).order_by(items.c.id)))
            is_author = second is not None and second == question.person_id
            if query_ids and is_author:
                raise CitebedError(f"that judge is the author of '{query_id}'. Name no judge to "
                                   "ask the author.")  # fmt: skip
            if query_ids and len(listed) < 2:
                raise CitebedError(f"'{query_id}' has no list with two papers yet. Pool it first.")
            opted_out = second is None and question.opted_out_at is not None
            chosen = select(pairs.c.left_id, pairs.c.right_id).join(forms)
            mine = (pairs.c.question_id == question.id) & (forms.c.person_id == person)
            compared = {item for pair in tx.execute(chosen.where(mine)) for item in pair}
            if not is_author and not opted_out and len(listed) > 1 and not compared >= {*listed}:
                wording = current_wording(tx, question.id).id
                asked = {"question": question.id, "wording": wording, "items": listed}
                lists.setdefault((question.paper_id, person), []).append(asked)
        for (paper, person), queries in lists.items():
            design = {"per_paper": per_paper, "seed": seed}
            form = add_form(tx, 2, paper, person, queries, compares=design)
            name = tx.row(people, person).name
            for query in queries:
                number, circle = query["question"], list(query["items"])
                random.Random(f"{seed}/{names[number]}").shuffle(circle)
                before = select(func.count(pairs.c.form_id.distinct()))
                is_turned = int(tx.scalar(before.where(pairs.c.question_id == number)) or 0) % 2
                sides = choose_pairs(len(circle), per_paper)
                shown = {f"{one} {other}": (circle[one], circle[other]) for one, other in sides}
                ordered = shuffle_for_judge(shown, tx.store.secret, str(person))
                rows = [
                    {"form_id": form, "question_id": number, "position": place,
                     "left_id": shown[pair][is_turned], "right_id": shown[pair][1 - is_turned]}
                    for place, pair in enumerate(ordered, 1)
                ]  # fmt: skip
                tx.execute(insert(pairs), rows)
                reports.append(ComparisonReport(names[number], name, len(circle), len(rows)))
    return reports


# --- Results ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Preferences(TableResult):
    """The preferences of a campaign; it prints the strengths.

    ``answers`` has a row per judge and pair: ``preferred`` is ``left``, ``right``, ``tie`` or null
    for "can't judge". ``strengths`` are those of the Bradley-Terry model with a weak prior, and 0
    is an average paper of the query. Their intervals are about further judges like these; those of
    a query with one judge are about this judge. ``agreement`` is about pairs that several judges
    compared. ``position`` shows how often the left paper won, with its Wilson interval.
    """

    answers: pl.DataFrame
    strengths: pl.DataFrame
    agreement: pl.DataFrame
    position: pl.DataFrame

    def main_table(self) -> pl.DataFrame:
        """Return the strengths."""
        return self.strengths

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables of results by name; without preferences, there are none."""
        if self.answers.is_empty():
            return {}
        parts = {"strengths": self.strengths, "preference_agreement": self.agreement,
                 "position": self.position}  # fmt: skip
        return {name: table for name, table in parts.items() if table.height}


def load_preferences(tx: Transaction) -> Preferences:
    """Load the current preferences for questions that are not excluded, and score them."""
    left, right = items.alias("left_item"), items.alias("right_item")
    answers = tx.table(
        select(
            questions.c.query_id, left.c.doc_id.label("left"), right.c.doc_id.label("right"),
            preferences.c.value, people.c.name.label("judge"), people.c.id.label("judge_id"),
            *(preferences.c[name] for name in ("comment", "via", "answered_at")),
            total_seconds(preferences).label("seconds"),
        )
        .select_from(preferences)
        .join(pairs, pairs.c.id == preferences.c.item_id)
        .join(questions, questions.c.id == pairs.c.question_id)
        .join(left, left.c.id == pairs.c.left_id)
        .join(right, right.c.id == pairs.c.right_id)
        .join(people, people.c.id == preferences.c.person_id)
        .where(questions.c.campaign_id == tx.id, is_current(preferences))
        .where(questions.c.id.not_in(excluded_questions(tx)))
        .order_by(questions.c.id, pairs.c.id)
    )  # fmt: skip
    words = {0: "tie", 1: "left", 2: "right"}
    preferred = pl.col("value").replace_strict(words, return_dtype=pl.String)
    table = answers.with_columns(value=preferred).rename({"value": "preferred"})
    decided = answers.drop_nulls("value")
    return Preferences(table, _strengths(decided), _agreement(decided), _position(answers))


def _strengths(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the strengths of the papers of each query."""
    from citebed.evaluation.judgements.preferences import score_preferences

    kinds = {"query_id": pl.String, "doc_id": pl.String, "strength": pl.Float64, "low": pl.Float64,
             "high": pl.Float64, "comparisons": pl.Int64, "judges": pl.Int64}  # fmt: skip
    tables = [pl.DataFrame(schema=kinds)]
    winner = pl.when(value=1).then("left").when(value=2).then("right")
    for [query_id], rows in answers.group_by("query_id", maintain_order=True):
        judges = rows["judge_id"].n_unique()
        asked = rows.select(first="left", second="right", preferred=winner, cluster="judge_id")
        scored = score_preferences(asked if judges > 1 else asked.drop("cluster"), prior=PRIOR)
        named = scored.rename({"item": "doc_id"}).with_columns(query_id=pl.lit(query_id))
        named = named.with_columns(judges=pl.lit(judges)).select(*kinds)
        tables.append(named.cast(pl.Schema(kinds)))
    return pl.concat(tables)


def _agreement(answers: pl.DataFrame) -> pl.DataFrame:
    """Return measures of agreement on pairs that several judges compared, whatever their sides."""
    pair = [pl.min_horizontal("left", "right"), pl.max_horizontal("left", "right")]
    is_turned = pl.col("left") > pl.col("right")
    turned = pl.when(is_turned & (pl.col("value") > 0)).then(3 - pl.col("value")).otherwise("value")
    table = answers.select(
        item=pl.concat_str("query_id", *pair, separator="\t"), judge="judge_id", value=turned
    )
    return pl.DataFrame([each.row() for each in measure_agreement(table, "nominal")])


def _position(answers: pl.DataFrame) -> pl.DataFrame:
    """Return how often the left paper won, in all and by judge."""
    from scipy.stats import binomtest

    rows = []
    judges = answers.group_by("judge_id", "judge", maintain_order=True)
    for name, table in [("all", answers), *((name, table) for (_, name), table in judges)]:
        left, right, ties = (int((table["value"] == value).sum()) for value in (1, 2, 0))
        test = binomtest(left, left + right) if left + right else None
        interval = test.proportion_ci(method="wilson") if test else None
        rows.append({
            "judge": name, "left_won": left, "right_won": right, "ties": ties,
            "cannot_judge": table["value"].null_count(), "left_share": test and test.statistic,
            "low": interval and interval.low, "high": interval and interval.high,
        })  # fmt: skip
    kinds = dict.fromkeys(("left_share", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds)
