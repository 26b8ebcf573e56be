"""The tables of a campaign: those of the paper, agreement between judges, and judging times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from sqlalchemy import Row, select

from citebed.judging.answers.judgement_tables import current_judgements
from citebed.judging.answers.reformulation import CLASSES
from citebed.judging.invitations.questions import (
    BY_HAND,
    FIRST_AUTHOR,
    NOTHING_RELEVANT,
    all_questions,
    current_wording,
    excluded_questions,
    last_approval,
    questions_with_judgements,
)
from citebed.judging.results.source_tables import (
    PUBLISHED_COLLECTIONS,
    JudgedQuery,
    by_source,
    compare_with_cranfield,
    comparison,
    judged_queries,
    with_both_phases,
)
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import CURRENT, forms, judgements, mails, wordings

if TYPE_CHECKING:
    from citebed.evaluation.judgements.agreement import Agreement

TITLES = {
    "returns": "Invitations, returns and exclusions",
    "reformulations": "Reformulations by class",
    "comparison": "Comparison of test collections, means per query",
    "sources": "Judged documents per query by source (T1+2)",
    "cranfield": "Judged documents per query by source, compared with Cranfield 2",
    "times": "Seconds per judged paper, on the web",
    "expected": "Expected results per query (T1+2), with 95 % intervals",
    "drawn": "Number of responses over 1,000 random draws",
}


def campaign_tables(tx: Transaction, documents: int) -> dict[str, pl.DataFrame]:
    """Return all tables by name; ``documents`` is the size of the collection.

    Tables of a simulated campaign have a column ``simulated``.
    """
    queries = judged_queries(tx)
    tables = {
        "returns": returns_table(tx, queries),
        "reformulations": reformulations_table(tx),
        "comparison": comparison(queries, documents),
        "sources": by_source(queries),
        "cranfield": compare_with_cranfield(queries),
    }
    if tx.store.simulated:  # which has no judging times
        return mark_simulated(tables)
    return tables | {"times": times_table(tx)}


def mark_simulated(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Add a column ``simulated``, which is false only for published figures."""
    marked = {name: table.with_columns(simulated=True) for name, table in tables.items()}
    if "comparison" in marked:
        published = pl.col("collection").is_in([each.name for each in PUBLISHED_COLLECTIONS])
        marked["comparison"] = marked["comparison"].with_columns(simulated=~published)
    return marked


def returns_table(tx: Transaction, queries: Sequence[JudgedQuery]) -> pl.DataFrame:
    """Return the numbers of section 2.1 of the paper: invitations, returns and exclusions by rule.

    Authors count once per paper, however many lists they received; second judges have separate
    rows. Queries count if their authors judged them.
    """
    every = all_questions(tx)
    judged = questions_with_judgements(tx, judgements.c.value.is_not(None))
    rules: Counter[str] = Counter()
    for question, reasons in excluded_questions(tx).items():
        rules[next(rule for rule in RULES if rule in reasons)] += question in judged
    invited_by = _invitations(tx, {each.id: each.person_id for each in every})
    both = with_both_phases(queries)
    in_both = {query.query_id for query in both}
    changes = (_last_reformulation(tx, each) for each in every if each.query_id in in_both)
    approvals = [approved for _, approved in filter(None, changes)]
    rows: list[tuple[int, str, int]] = [
        (1, "invitations", len(invited_by[1].invited)),
        (1, "forms returned", len(invited_by[1].returned)),
        (1, "queries with judgements", len(judged)),
        *((1, f"set aside: {rule}", rules[rule]) for rule in RULES if rules[rule]),
        (1, "queries left (All Phase One)", len(judged) - rules.total()),
        (2, "invitations", len(invited_by[2].invited)),
        (2, "forms returned", len(invited_by[2].returned)),
        (2, "queries with both phases (T1+2)", len(both)),
        (2, "of these reformulated", len(approvals)),
        (2, "of these approved by their authors", sum(approvals)),
    ]
    if second := invited_by[SECOND_JUDGES].invited:
        came = len(invited_by[SECOND_JUDGES].returned)
        rows += [(2, "second judges invited", len(second)), (2, "second judges' forms", came)]
    if silent := len(every) - len(judged):
        rows.insert(3, (1, "questions without judgements, not counted", silent))
    return pl.DataFrame(rows, orient="row", schema=["phase", "what", "number"])


class _Responses(NamedTuple):
    """The pairs of paper and person that were invited, and those that returned a form."""

    invited: set[tuple[int, int]]
    returned: set[tuple[int, int]]


RULES = (FIRST_AUTHOR, NOTHING_RELEVANT, BY_HAND)
"""The rules of exclusion; a question with several reasons counts under the first."""
SECOND_JUDGES = 3
"""The key of second judges, who count separately from the authors of phases 1 and 2."""


def _invitations(tx: Transaction, authors: Mapping[int, int]) -> dict[int, _Responses]:
    """Return invitations and returns of authors by phase, and of second judges."""
    invited = select(mails.c.form_id).where(mails.c.kind == "invitation")
    said = select(judgements.c.form_id).where(CURRENT)
    chosen = select(
        forms, forms.c.id.in_(invited).label("invited"), forms.c.id.in_(said).label("answered")
    )
    by_kind = {kind: _Responses(set(), set()) for kind in (1, 2, SECOND_JUDGES)}
    for form in tx.execute(chosen.where(forms.c.campaign_id == tx.id)):
        theirs = [authors[query["question"]] for query in form.content.get("asked", ())]
        kind = form.phase if not theirs or form.person_id in theirs else SECOND_JUDGES
        pair = (form.paper_id, form.person_id)
        by_kind[kind].invited.update([pair] if form.invited else [])
        by_kind[kind].returned.update([pair] if form.answered else [])
    return by_kind


def _last_reformulation(tx: Transaction, question: Row[Any]) -> tuple[Row[Any], bool] | None:
    """Return the last reformulation by organisers, and whether the author approved it."""
    mine = (wordings.c.question_id == question.id) & (wordings.c.kind == "reformulated")
    chosen = select(wordings).where(mine).order_by(wordings.c.id.desc()).limit(1)
    last = tx.execute(chosen).first()
    if last is None:
        return None
    said = last_approval(tx, last.id, question.person_id)
    return last, said is not None and said.approved


def reformulations_table(tx: Transaction) -> pl.DataFrame:
    """Count reformulated, approved and corrected questions by class.

    A question can have several classes; the last row counts each question once.
    """
    counts = {name: [0, 0, 0] for name in (*CLASSES, "all")}
    for each in all_questions(tx):
        if (change := _last_reformulation(tx, each)) is None:
            continue
        last, said = change
        corrected = current_wording(tx, each.id).kind == "corrected"
        for name in (*last.classes, "all"):
            counts[name][0] += 1
            counts[name][1] += said
            counts[name][2] += corrected
    rows = [(name, *numbers) for name, numbers in counts.items()]
    columns = ["class", "reformulated", "approved", "corrected"]
    return pl.DataFrame(rows, orient="row", schema=columns)


# --- agreement and judging times ----------------------------------------------------------------


_PAIR = ("query_id", "doc_id", "phase")


def disagreements(tx: Transaction) -> pl.DataFrame:
    """Return all judgements of papers on which judges disagree, grouped by paper.

    ``differ`` is ``relevance`` if one judge calls the paper relevant and another does not, else
    ``grade``. ``counts`` marks the judgements that exports use. "Can't say" is never a
    disagreement.
    """
    table = current_judgements(tx, excluded=True).filter(
        pl.col("value").is_not_null(), pl.col("doc_id").is_not_null()
    )
    threshold = pl.when(phase=1).then(tx.settings.relevant_from).otherwise(1)
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


def times_table(tx: Transaction) -> pl.DataFrame:
    """Return how many seconds judges looked at a paper before judging it, by phase.

    Only the web page measures this. A paper that was judged again counts with its total time.
    """
    table = current_judgements(tx, excluded=True)
    seconds = pl.col("seconds")
    times = table.group_by("phase").agg(
        judgements=pl.len(),
        timed=seconds.count(),
        median=seconds.median(),
        mean=seconds.mean(),
        ninth_decile=seconds.quantile(0.9, "linear"),
    )
    return times.sort("phase")


def agreement(tx: Transaction) -> dict[int, list[Agreement]]:
    """Return measures of agreement by phase, from documents that several judges judged."""
    table = current_judgements(tx, excluded=True).filter(
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
