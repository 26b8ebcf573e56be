"""The tables of a campaign: the paper's tables, agreement between judges, and judging times.

*All Phase One* are all questions that were not excluded. *T1+2* are the questions that their
authors judged in both phases, with all these judgements; *T1* are the same questions with the
judgements of phase one. The tables count judged documents of the collection. If several judges
judged a document, it counts once, with the highest judgement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from sqlalchemy import Row, select, union

from citebed.judging.judgements import build_qrels, current_judgements
from citebed.judging.questions import (
    BY_HAND,
    CLASSES,
    FIRST_AUTHOR,
    NOTHING_RELEVANT,
    all_questions,
    current_wording,
    excluded_questions,
    last_approval,
    live_questions,
    questions_with_judgements,
)
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    forms,
    is_current,
    judgements,
    mails,
    pools,
    preferences,
    wordings,
)

if TYPE_CHECKING:
    from citebed.evaluation.judgements.agreement import Agreement, Metric


Relevant = Mapping[str, bool]
"""Judged documents: whether they are relevant."""


class PublishedCollection(NamedTuple):
    """Published figures of a collection (Ritchie, Robertson & Teufel, Table 2)."""

    name: str
    queries: int
    relevant: float
    irrelevant: float
    documents: int


PUBLISHED_COLLECTIONS = (
    PublishedCollection("Cranfield 2", 221, 7.0, 4.1, 1400),
    PublishedCollection("TREC 8", 150, 94, 1642, 528_000),
    PublishedCollection("TREC Robust", 50, 131.2, 624.74, 1_033_000),
)
CRANFIELD = {
    "all": (11.1, 7.0, 4.1),
    "phase one": (7.1, 4.5, 2.6),
    "phase two": (4.0, 2.5, 1.5),
    "manual": (3.3, 2.1, 1.2),
    "automatic": (0.7, 0.4, 0.3),
}
"""Judged documents per query in Cranfield 2: total, relevant, irrelevant (Table 4)."""
SOURCES = tuple(CRANFIELD)
LABELS = {"phase one": "cited", "manual": "manual", "automatic": "automatic"}
"""Names of the first source of a document in the second field of exported judgements."""


class PoolingRound(NamedTuple):
    """One pooling of a question: manual results, ranked lists, and documents listed before."""

    manual: Sequence[str]
    lists: Mapping[str, Sequence[str]]
    listed: Sequence[str]
    size: int = 15


class JudgedQuery(NamedTuple):
    """A query with the judgements of both phases and its pooling rounds.

    ``by_author``: its author judged in phase two, not only a second judge.
    """

    query_id: str
    first: Relevant
    second: Relevant
    rounds: Sequence[PoolingRound] = ()
    by_author: bool = True


def judged_queries(tx: Transaction) -> list[JudgedQuery]:
    """Return all questions that are not excluded, with their judgements and pooling rounds."""
    judged: dict[str, dict[str, dict[str, bool]]] = {"j1": {}, "j2": {}}
    for name, by_query in judged.items():
        for query_id, doc_id, relevance in build_qrels(tx, name).table.iter_rows():
            by_query.setdefault(query_id, {})[doc_id] = relevance > 0
    own = current_judgements(tx).filter("own", pl.col("value").is_not_null())
    by_author = set(own.filter(pl.col("phase") == 2)["query_id"])
    made = select(pools.c.settings).order_by(pools.c.round)
    return [
        JudgedQuery(
            each.query_id,
            judged["j1"].get(each.query_id, {}),
            judged["j2"].get(each.query_id, {}),
            [
                PoolingRound(*(settings[name] for name in PoolingRound._fields))
                for settings in tx.scalars(made.where(pools.c.question_id == each.id))
            ],
            each.query_id in by_author,
        )
        for each in live_questions(tx)
    ]


def with_both_phases(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """Return the queries of T1 and T1+2."""
    return [query for query in queries if query.first and query.second and query.by_author]


# --- Table 2: compared collections ------------------------------------------------------------


def comparison(queries: Sequence[JudgedQuery], documents: int) -> pl.DataFrame:
    """Return Table 2: the campaign's sets and published collections, as means per query."""
    both = with_both_phases(queries)
    sets: dict[str, list[Relevant]] = {
        "All Phase One": [query.first for query in queries],
        "T1": [query.first for query in both],
        "T1+2": [{**query.second, **query.first} for query in both],
    }
    rows = []
    for name, judged in sets.items():
        number, total = len(judged) or 1, sum(map(len, judged))
        relevant = sum(sum(each.values()) for each in judged)
        means = (relevant / number, (total - relevant) / number)
        rows.append(PublishedCollection(name, len(judged), *means, documents))
    rows += PUBLISHED_COLLECTIONS
    table = pl.DataFrame(rows, orient="row", schema=list(PublishedCollection._fields))
    thousand = pl.col("relevant") / pl.col("documents") * 1000
    return table.rename({"name": "collection"}).with_columns(per_thousand=thousand)


# --- Tables 3 and 4: judged documents by source -----------------------------------------------


def round_robin_documents(made: PoolingRound) -> set[str]:
    """Return the documents that ranked lists reach in a round-robin until the pool is full.

    This includes documents that were skipped because they were already in the pool.
    """
    passed = {*made.listed, *made.manual}
    left = made.size - len({*made.manual} - {*made.listed})
    readers = [iter(ranking) for ranking in made.lists.values()]
    reached: set[str] = set()
    while left > 0 and readers:
        for reader in list(readers):
            for doc_id in reader:
                reached.add(doc_id)
                if doc_id not in passed:
                    passed.add(doc_id)
                    left -= 1
                    break
            else:
                readers.remove(reader)
            if left <= 0:
                break
    return reached


def find_sources(query: JudgedQuery, *, by_hand: bool = True) -> dict[str, list[str]]:
    """Return all sources of each judged document, the earliest first.

    ``automatic`` are the documents that the ranked lists reached in a round-robin. Without manual
    searches (``by_hand``), a document may have no source.
    """
    rounds = [each if by_hand else each._replace(manual=()) for each in query.rounds]
    places = {
        "phase one": set(query.first),
        "manual": {doc_id for each in rounds for doc_id in each.manual},
        "automatic": {doc_id for each in rounds for doc_id in round_robin_documents(each)},
    }
    # Other methods may go deeper in one list than a round-robin would.
    default = ["automatic"] if by_hand else []
    return {
        doc_id: [name for name, documents in places.items() if doc_id in documents] or default
        for doc_id in {**query.second, **query.first}
    }


def first_sources(queries: Iterable[JudgedQuery]) -> pl.DataFrame:
    """Return the first source of each judged document as ``query_id, doc_id, label``."""
    rows = [
        (query.query_id, doc_id, LABELS[sources[0]])
        for query in queries
        for doc_id, sources in find_sources(query).items()
    ]
    columns = dict.fromkeys(("query_id", "doc_id", "label"), pl.String)
    return pl.DataFrame(rows, columns, orient="row")


def by_source(queries: Sequence[JudgedQuery]) -> pl.DataFrame:
    """Return Table 3: judged documents per query of T1+2, by source.

    ``part`` is ``judged`` (by first source), ``unique`` (with one source only) or ``unique without
    manual``.
    """
    both = with_both_phases(queries)
    counts: Counter[tuple[str, str, bool]] = Counter()
    for query in both:
        every, without = find_sources(query), find_sources(query, by_hand=False)
        for doc_id, relevant in {**query.second, **query.first}.items():
            parts = {"judged": every[doc_id][:1], "unique": every[doc_id]}
            for part, sources in (parts | {"unique without manual": without[doc_id]}).items():
                if len(sources) == 1:
                    phase = {"phase two"} if sources[0] in ("manual", "automatic") else set()
                    for name in {"all", sources[0]} | phase:
                        counts[part, name, relevant] += 1
    number = len(both) or 1
    rows = []
    for part in ("judged", "unique", "unique without manual"):
        for source in SOURCES:
            yes, no = counts[part, source, True], counts[part, source, False]
            rows.append((part, source, (yes + no) / number, yes / number, no / number))
    columns = ["part", "source", "total", "relevant", "irrelevant"]
    return pl.DataFrame(rows, orient="row", schema=columns)


def compare_with_cranfield(queries: Sequence[JudgedQuery]) -> pl.DataFrame:
    """Return Table 4: judged documents by source, compared with Cranfield 2."""
    mine = by_source(queries).filter(pl.col("part") == "judged").drop("part")
    theirs = pl.DataFrame(
        [(source, *means) for source, means in CRANFIELD.items()],
        orient="row",
        schema=["source", "cranfield_total", "cranfield_relevant", "cranfield_irrelevant"],
    )
    return mine.join(theirs, on="source", how="left", maintain_order="left")


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
    invited, returned = _invitations(tx, {each.id: each.person_id for each in every})
    both = with_both_phases(queries)
    in_both = {query.query_id for query in both}
    changes = (_last_reformulation(tx, each) for each in every if each.query_id in in_both)
    approvals = [approved for _, approved in filter(None, changes)]
    rows: list[tuple[int, str, int]] = [
        (1, "invitations", len(invited[1])),
        (1, "forms returned", len(returned[1])),
        (1, "queries with judgements", len(judged)),
        *((1, f"set aside: {rule}", rules[rule]) for rule in RULES if rules[rule]),
        (1, "queries left (All Phase One)", len(judged) - rules.total()),
        (2, "invitations", len(invited[2])),
        (2, "forms returned", len(returned[2])),
        (2, "queries with both phases (T1+2)", len(both)),
        (2, "of these reformulated", len(approvals)),
        (2, "of these approved by their authors", sum(approvals)),
    ]
    if second := invited[SECOND_JUDGES]:
        came = len(returned[SECOND_JUDGES])
        rows += [(2, "second judges invited", len(second)), (2, "second judges' forms", came)]
    if silent := len(every) - len(judged):
        rows.insert(3, (1, "questions without judgements, not counted", silent))
    return pl.DataFrame(rows, orient="row", schema=["phase", "what", "number"])


RULES = (FIRST_AUTHOR, NOTHING_RELEVANT, BY_HAND)
"""The rules of exclusion; a question with several reasons counts under the first."""
SECOND_JUDGES = 3
"""The key of second judges, who count separately from the authors of phases 1 and 2."""
_Pairs = dict[int, set[tuple[int, int]]]
"""Pairs of paper and person, for the authors by phase and for second judges."""


def _invitations(tx: Transaction, authors: Mapping[int, int]) -> tuple[_Pairs, _Pairs]:
    """Return the pairs that were invited, and the pairs that returned a form."""
    was_invited = select(mails.c.form_id).where(mails.c.kind == "invitation")
    has_answered = union(
        select(judgements.c.form_id).where(CURRENT),
        select(preferences.c.form_id).where(is_current(preferences)),
    )
    chosen = select(
        forms,
        forms.c.id.in_(was_invited).label("invited"),
        forms.c.id.in_(has_answered).label("answered"),
    )
    invited, returned = defaultdict(set), defaultdict(set)
    for form in tx.execute(chosen.where(forms.c.campaign_id == tx.id)):
        theirs = [authors[query["question"]] for query in form.content.get("asked", ())]
        kind = form.phase if not theirs or form.person_id in theirs else SECOND_JUDGES
        pair = (form.paper_id, form.person_id)
        invited[kind].update([pair] if form.invited else [])
        returned[kind].update([pair] if form.answered else [])
    return invited, returned


def _last_reformulation(tx: Transaction, question: Row[Any]) -> tuple[Row[Any], bool] | None:
    """Return the last reformulation by organisers, and whether the author approved it."""
    mine = (wordings.c.question_id == question.id) & (wordings.c.kind == "reformulated")
    chosen = select(wordings).where(mine).order_by(wordings.c.id.desc()).limit(1)
    last = tx.execute(chosen).first()
    if last is None:
        return None
    approval = last_approval(tx, last.id, question.person_id)
    return last, approval is not None and approval.approved


def reformulations_table(tx: Transaction) -> pl.DataFrame:
    """Count reformulated, approved and corrected questions by class.

    A question can have several classes; the last row counts each question once.
    """
    counts = {name: [0, 0, 0] for name in (*CLASSES, "all")}
    for each in all_questions(tx):
        if (change := _last_reformulation(tx, each)) is None:
            continue
        last, is_approved = change
        corrected = current_wording(tx, each.id).kind == "corrected"
        for name in (*last.classes, "all"):
            counts[name][0] += 1
            counts[name][1] += is_approved
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
        if measures := measure_agreement(mine, "ordinal" if phase == 1 else "nominal"):
            by_phase[phase] = measures
    return by_phase


def measure_agreement(table: pl.DataFrame, metric: Metric) -> list[Agreement]:
    """Measure agreement on the items that several judges judged: ``item, judge, value``."""
    from citebed.evaluation.judgements.agreement import (
        cohens_kappa,
        krippendorffs_alpha,
        raw_agreement,
    )

    last = table.unique(["item", "judge"], keep="last", maintain_order=True)
    twice = last.filter(pl.col("judge").n_unique().over("item") > 1)
    if twice.is_empty():
        return []
    kappa = [cohens_kappa(twice)] if twice["judge"].n_unique() == 2 else []
    return [raw_agreement(twice), *kappa, krippendorffs_alpha(twice, metric=metric)]
