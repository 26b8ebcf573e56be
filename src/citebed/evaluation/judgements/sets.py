"""Operations on judgement sets: sample, subset, difference, merge.

They accept files, tables, dicts or `Qrels` and return `Qrels`. They do not change their inputs, and
keep the order of the rows and the labels. As in trec_eval, a grade below 0 means pooled but not
judged.

The second field of a file may name the source of each judgement. Evaluation programs ignore this
field. A campaign's export has ``cited``, ``manual`` or ``automatic`` there; a merged set has the
name of the first set that judged, and an expanded set ``cocited``. In tables it is the column
``label``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.files.input_files import reusable_path
from citebed.files.parquet import read_parquet
from citebed.runs.kba_files import detect_kba_form
from citebed.runs.ranking import check_repeated_pairs, in_rank_order, number_pairs
from citebed.runs.reader import as_qrels, read_qrels, read_sets, run_name
from citebed.runs.tables import Qrels, Run, is_parquet
from citebed.runs.trec_files import LARGEST_GRADE, QRELS, read_coded

LABEL = "label"
_SECOND = QRELS._replace(columns=("iteration", "doc_id", "relevance"))
_A_NUMBER = r"^Q?[0-9]+$"
"""An iteration or the number of a reference, which is not a source."""
PAIR = ["query_id", "doc_id"]
SampleBy = Literal["judgement", "query"]


def read_labelled(path: str | Path) -> Qrels:
    """Read judgements, with a column ``label`` if their second field has words."""
    path = Path(path)
    with reusable_path(path) as file:
        qrels = replace(read_qrels(file), name=run_name(path), source=path)
        labels = _read_labels(file)
    if labels is None or labels.str.contains(_A_NUMBER).all():
        return qrels
    return replace(qrels, rows=qrels.table.with_columns(labels.alias(LABEL)))


def _read_labels(file: Path) -> pl.Series | None:
    if not is_parquet(file):
        if detect_kba_form(file) is not None:
            return None  # in KBA's files the second field is the document
        return read_coded(file, _SECOND)["iteration"]
    table = read_parquet(file)
    # Without a column "relevance", "label" is PyTerrier's name for the relevance.
    known = {"relevance", LABEL} <= set(table.columns)
    return table[LABEL].cast(pl.String).fill_null("0") if known else None


def read_labelled_sets(paths: Sequence[Path]) -> list[Qrels]:
    """Read judgement sets with labels, under distinct names."""
    return read_sets(paths, read_labelled)


def _as_labelled(data: Any) -> Qrels:
    """Convert judgements; read files with their labels."""
    return read_labelled(data) if isinstance(data, str | Path) else as_qrels(data)


def as_checked_qrels(data: Any) -> Qrels:
    """Convert judgements; raise an error if a document is judged twice for a query."""
    qrels = _as_labelled(data)
    check_repeated_pairs(qrels, number_pairs(qrels.table).keys[0])
    return qrels


def load_grades(data: Any, name: str) -> pl.DataFrame:
    """Return ``query_id``, ``doc_id`` and the grades from 0 on, as a column called ``name``."""
    judged = as_checked_qrels(as_qrels(data, name)).table.filter(pl.col("relevance") >= 0)
    return judged.select(*PAIR, pl.col("relevance").alias(name))


# --- sample and subset ------------------------------------------------------------------------


def sample(qrels: Any, share: float, seed: int = 0, by: SampleBy = "judgement") -> Qrels:
    """Draw a random share of the judgements, or of the queries with all their judgements.

    By judgement, a query with n judgements keeps ⌊share·n⌋ or one more, so that each judgement
    stays with probability ``share`` (a single judgement may be lost). By query, the nearest whole
    number of queries stays. The draw depends only on the seed and the ids, not on the order of the
    rows. With one seed, a smaller sample is part of a larger one.
    """
    if not 0 < share <= 1:
        raise CitebedError(f"the share {share} is not above 0 and up to 1.")
    if by not in ("judgement", "query"):
        raise UnknownName("way of sampling", by, ("judgement", "query"))
    judgements = _as_labelled(qrels)
    pairs = number_pairs(judgements.table)
    keys = pairs.keys[0]
    check_repeated_pairs(judgements, keys)
    order = np.argsort(keys)
    query = pairs.queries(keys[order])
    starts = np.searchsorted(query, np.arange(len(pairs.query_ids)))
    draw = np.random.default_rng(seed)
    drawn = np.zeros(len(keys), bool)
    if by == "query":
        lots = np.argsort(np.argsort(draw.random(len(starts))))
        drawn[order] = (lots < np.floor(share * len(starts) + 0.5))[query]
    else:
        # First draw for the sizes of the queries, then for the rows; neither depends on share.
        sizes = np.diff(np.append(starts, len(query)))
        wanted = np.floor(share * sizes + draw.random(len(starts)))
        shuffled = np.lexsort((draw.random(len(query)), query))
        place = np.empty(len(query), np.int64)
        place[shuffled] = np.arange(len(query)) - starts[query]
        drawn[order] = place < wanted[query]
    return Qrels(judgements.table.filter(pl.Series(drawn)), judgements.name)


def subset(
    qrels: Any,
    *,
    queries: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    min_relevance: int | None = None,
    sources: Iterable[str] | None = None,
) -> Qrels:
    """Select judgements by query, document, source and lowest grade.

    Dropped judgements count as unjudged, unlike with a measure's ``rel``; this matters for bpref
    and judged-only measures.
    """
    conditions = []
    if queries is not None:
        conditions.append(pl.col("query_id").is_in(_ids("query_id", queries)))
    if documents is not None:
        conditions.append(pl.col("doc_id").is_in(_ids("doc_id", documents)))
    if min_relevance is not None:
        conditions.append(pl.col("relevance") >= min_relevance)
    judged = as_checked_qrels(qrels)
    if sources is not None:
        wanted, column = _ids("source", sources), judged.table.get_column(LABEL, default=None)
        known = [] if column is None else column.unique().sort().to_list()
        if not known:
            raise CitebedError(
                f"{judged.name} does not name the sources of its judgements in the second field."
            )
        for source in wanted:
            if source not in known:
                raise UnknownName("source", source, known)
        conditions.append(pl.col(LABEL).is_in(wanted))
    return Qrels(judged.table.filter(*conditions) if conditions else judged.table, judged.name)


def _ids(name: str, values: Iterable[str]) -> list[str]:
    return pl.Series(name, list(values), pl.String).unique().to_list()


def pooled(qrels: Any, runs: Iterable[Run], depth: int) -> Qrels:
    """Select the judgements in a pool of this depth: documents in the first ``depth`` of a run."""
    if depth < 1:
        raise CitebedError(f"the depth {depth} is not a rank from 1.")
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in runs]
    if not tops:
        raise CitebedError("a pool needs at least one run.")
    judgements = _as_labelled(qrels)
    ours, *pool = number_pairs(judgements.table, *tops).keys
    check_repeated_pairs(judgements, ours)
    inside = np.isin(ours, np.concatenate(pool))
    return Qrels(judgements.table.filter(pl.Series(inside)), judgements.name)


# --- difference -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Difference:
    """The judgements of one set that other sets lack.

    ``shared`` counts the judgements that others have, too, and ``changed`` those among them with
    another grade; both are left out.
    """

    qrels: Qrels
    shared: int
    changed: int


def difference(qrels: Any, *others: Any) -> Difference:
    """Return the judgements of pairs that no other set judges.

    In the study of cited and non-cited papers, for example, ``difference(j12, j1)`` is what the
    second phase judged. Grades below 0 in other sets are not judgements, and remove nothing.
    """
    if not others:
        raise CitebedError("difference needs at least one other judgement set.")
    judged = as_checked_qrels(qrels)
    mine = judged.table.select(*PAIR, "relevance")
    known = [as_checked_qrels(other).table.filter(pl.col("relevance") >= 0) for other in others]
    theirs = pl.concat([table.select(*PAIR, other="relevance") for table in known])
    shared = mine.join(theirs, on=PAIR)
    return Difference(
        Qrels(
            judged.table.join(theirs, on=PAIR, how="anti", maintain_order="left"),
            judged.name,
        ),
        shared=shared.select(PAIR).n_unique(),
        changed=shared.filter(pl.col("relevance") != pl.col("other")).select(PAIR).n_unique(),
    )


# --- merge ------------------------------------------------------------------------------------


_JUDGED = pl.col("relevance") >= 0
_GRADE = pl.col("relevance").filter(_JUDGED)
_ALIKE = _GRADE.n_unique() == 1
_MODES = _GRADE.mode()  # the grades with the most votes

RULES: dict[str, tuple[str, pl.Expr]] = {
    "first": ("the grade of the first set that judges it", _GRADE.first()),
    "max": ("the highest grade", _GRADE.max()),
    "min": ("the lowest grade", _GRADE.min()),
    "mean": (
        "the mean, rounded; halves go up",
        (2 * _GRADE.sum() + _GRADE.len()) // (2 * _GRADE.len()),
    ),
    "majority": (
        "the grade of most sets; ties are left out",
        pl.when(_MODES.len() == 1).then(_MODES.first()),
    ),
    "undisputed": ("left out if two sets disagree", pl.when(_ALIKE).then(_GRADE.first())),
    "agreed": (
        "kept only if all sets give the same grade",
        pl.when(_ALIKE & (_GRADE.len() == pl.col("sets").first())).then(_GRADE.first()),
    ),
}
"""For each rule its meaning, and the grade of a pair; null if it has none."""


@dataclass(frozen=True, eq=False)
class Merged:
    """The result of merging several sets.

    ``conflicts`` has the pairs on which sets disagree: ``query_id``, ``doc_id``, one column per set
    (null if it does not judge the pair) and ``merged`` (null if the pair was left out). ``pairs``
    counts all pairs, ``shared`` those judged in several sets, and ``left_out`` those to which the
    rule gave no grade.
    """

    qrels: Qrels
    conflicts: pl.DataFrame
    rule: str
    pairs: int
    shared: int
    left_out: int


def merge(
    sets: Sequence[Any],
    rule: str,
    maps: Mapping[str, Mapping[int, int]] | None = None,
) -> Merged:
    """Merge judgement sets by a rule; ``maps`` first changes the grades of single sets.

    A pair that only one set judges keeps its grade, except under ``agreed``. Grades below 0 mean
    unjudged: any judgement replaces them without a conflict; otherwise the highest of them is kept.
    Rows are sorted by query and document. The ``label`` of a pair comes from the first set that
    judges it, or is this set's name.
    """
    if rule not in RULES:
        raise UnknownName("rule", rule, RULES)
    if not sets:
        raise CitebedError("merge needs at least one judgement set.")
    judged = [as_checked_qrels(one) for one in sets]
    names = _names(judged)
    for name in maps or {}:
        if name not in names:
            raise UnknownName("set of judgements", name, names)
    tables = [
        _labelled(replace(one, rows=_mapped(one, (maps or {}).get(one.name, {})))) for one in judged
    ]
    labels = pl.col(LABEL).filter(_JUDGED).first()  # of the first set that judges the pair
    pairs = (
        pl.concat(tables)
        .with_columns(sets=pl.lit(len(sets)))
        .group_by(PAIR, maintain_order=True)
        .agg(
            pl.coalesce(labels, pl.col(LABEL).first()).alias(LABEL),
            relevance=pl.when(_JUDGED.any())
            .then(RULES[rule][1])
            .otherwise(pl.col("relevance").max()),
            number=_JUDGED.sum(),
            disputed=_GRADE.n_unique() > 1,
        )
        .sort(PAIR)
    )
    conflicts = pairs.filter("disputed").select(*PAIR, merged="relevance")
    for one, table in zip(judged, tables, strict=True):
        grades = table.select(*PAIR, pl.col("relevance").alias(one.name))
        conflicts = conflicts.join(grades, on=PAIR, how="left", maintain_order="left")
    merged = pairs.drop_nulls("relevance").select(*PAIR, "relevance", LABEL)
    return Merged(
        Qrels(merged, "merged"),
        conflicts.select(*PAIR, *names, "merged"),
        rule,
        pairs=pairs.height,
        shared=int((pairs["number"] > 1).sum()),
        left_out=pairs.height - merged.height,
    )


def _labelled(qrels: Qrels) -> pl.DataFrame:
    """Return judgements with a label each: their own, or the set's name."""
    name = pl.lit("-".join(qrels.name.split()) or "0").alias(LABEL)
    return qrels.table.select(*PAIR, "relevance", LABEL if LABEL in qrels.table.columns else name)


def _names(sets: Sequence[Qrels]) -> list[str]:
    names = [one.name for one in sets]
    taken = {*PAIR, "merged"}
    for name in names:
        if names.count(name) > 1 or name in taken:
            raise CitebedError(
                f"two sets of judgements are called '{name}'; give them different names."
                if names.count(name) > 1
                else f"a set of judgements cannot be called '{name}'; rename it."
            )
    return names


def _mapped(qrels: Qrels, grades: Mapping[int, int]) -> pl.DataFrame:
    """Map the grades of a set, all at once."""
    old = qrels.table["relevance"]
    unknown = sorted(set(grades) - set(old.unique()))
    if unknown:
        raise CitebedError(
            f"{qrels.name} has no grade {unknown[0]} to map; "
            f"its grades are {', '.join(map(str, sorted(old.unique())))}."
        )
    if any(abs(grade) > LARGEST_GRADE for grade in grades.values()):
        raise CitebedError(f"{qrels.name}: a grade to map to is too large.")
    new = pl.col("relevance").replace(list(grades), list(grades.values()))
    return qrels.table.with_columns(new) if grades else qrels.table
