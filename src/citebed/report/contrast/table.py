"""Contrasts of judgement sets and pool bias as tables, and what to know of them in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from citebed.evaluation.contrasts.changes import (
    FATES,
    SYSTEMS,
    Agreement,
    Change,
    Conclusion,
    Digest,
    Mover,
    fates,
)
from citebed.evaluation.contrasts.contrasting import Contrast
from citebed.evaluation.contrasts.pool import VERDICTS, Bound
from citebed.evaluation.contrasts.pool_bias import Fall, Order, PoolBias, UnjudgedShare
from citebed.evaluation.contrasts.sets import JudgementSet
from citebed.report.grid import Grid, number, p_text
from citebed.wording import count

SHORT = ("judgements", "changes", "summary")
"""The parts that tell a contrast in short."""
DOUBTS = 5
"""So many differences that rest on unjudged documents are listed unless all are asked for."""
_MOVES = {"from best": "fell from the best value", "from 0": "rose from 0"}
_FATE_HEADS = {
    "survives": "survive", "vanishes": "vanish", "appears": "appear",
    "turns round": "turn round", "none": "none in either",
}  # fmt: skip


def contrast_grids(
    found: Contrast, part: str | None = None, *, full: bool = False
) -> Iterator[tuple[str, Grid]]:
    """The tables of a contrast, each with its title: in short, in ``full``, or of one part."""

    def wanted(name: str) -> bool:
        return part == name or (part is None and (full or name in SHORT))

    first, second = found.sets.before.name, found.sets.after.name
    if wanted("judgements"):
        yield "Judgements", sets_grid(found.sets.facts)
    if wanted("changes"):
        long = full or part is not None
        yield f"Means under {first} → under {second}", changes_grid(found.changes, long)
        if long:
            yield "Queries that rose, stayed, fell", directions_grid(found.changes)
    if wanted("summary"):
        yield f"In short, from {first} to {second}", digests_grid(found.summary)
    if wanted("correlations"):
        yield f"Correlations of {first} with {second}", agreements_grid(found.agreements)
    if wanted("conclusions") and found.conclusions:
        yield "Significant differences", fates_grid(found.conclusions)
        changed = conclusions_grid(found.conclusions, every=part is not None)
        if changed.rows:
            yield f"Differences under {first}, then {second}", changed
    yield from _query_grids(found, part, wanted("movers"))


def _query_grids(found: Contrast, part: str | None, moving: bool) -> Iterator[tuple[str, Grid]]:
    """The queries that move, and every query where it is asked for."""
    moved = movers_grid(found.movers, 3 if part is None else None)
    if moving and moved.rows:
        yield "Queries that move most", moved
    if part == "queries":
        rows = [
            [r["measure"], r["run"], r["query_id"], f"{r['before']:.4f}", f"{r['after']:.4f}"]
            for r in found.query_rows()
        ]
        head = ["measure", "run", "query", found.sets.before.name, found.sets.after.name]
        yield "Every query", Grid(head, rows, frozenset({0, 1, 2}))


def contrast_lines(found: Contrast, part: str | None = None, *, full: bool = False) -> list[str]:
    """What to know of a contrast: the queries that moved furthest, and what was left out."""
    lines = extremes_lines(found) if part == "movers" or full else []
    return lines + [f"note: {note}" for note in found.notes()]


def sets_grid(facts: Sequence[JudgementSet]) -> Grid:
    """What each judgement set holds, by query."""
    head = ["judgements", "queries", "judged a query", "relevant", "not relevant", "one relevant"]
    rows = [
        [
            of.name, str(of.queries), f"{of.judged / of.queries:.2f}",
            f"{of.relevant / of.queries:.2f}", f"{(of.judged - of.relevant) / of.queries:.2f}",
            str(of.single),
        ]
        for of in facts
    ]  # fmt: skip
    return Grid(head, rows)


def _across(corner: str, cells: Iterable[tuple[str, str, str]]) -> Grid:
    """Cells of (row, column, text), rows and columns in the order in which they come."""
    rows: dict[str, list[str]] = {}
    heads: dict[str, None] = {}
    for row, column, text in cells:
        rows.setdefault(row, [row]).append(text)
        heads[column] = None
    return Grid([corner, *heads], list(rows.values()))


def changes_grid(changes: Sequence[Change], with_change: bool = True) -> Grid:
    """Runs down, measures across: ``0.1182 → 0.1592 +0.0410``, under both sets, and the change."""
    cells = (
        (
            of.run, of.measure,
            f"{of.before:.4f} → {of.after:.4f}" + (f" {of.change:+z.4f}" if with_change else ""),
        )
        for of in changes
    )  # fmt: skip
    return _across("run", cells)


def digests_grid(found: Sequence[Digest]) -> Grid:
    """A row a measure: means, queries, orders, and what becomes of significant differences.

    ``+/-`` are runs, and queries of all runs, that rose and that fell.
    """
    head = [
        "measure", "change", "runs +/-", "queries +/-", "from best/0", "τ runs", "τ queries",
        "survive", "vanish", "appear", "turn",
    ]  # fmt: skip
    rows = [
        [
            of.measure, f"{of.change:+z.4f}", f"{of.rose}/{of.fell}",
            *_by_query(of),
            number(of.systems_kendall, ".3f"), number(of.queries_kendall, ".3f"),
            *map(str, (of.survive, of.vanish, of.appear, of.turn_round)),
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows)


def _by_query(of: Digest) -> tuple[str, str]:
    if math.isnan(of.queries_rose):
        return "–", "–"
    return f"{of.queries_rose:.0%}/{of.queries_fell:.0%}", f"{of.from_best}/{of.from_0}"


def directions_grid(changes: Sequence[Change]) -> Grid:
    """Runs down, measures across: how many queries rose, stayed the same and fell."""
    cells = ((of.run, of.measure, f"{of.rose}/{of.same}/{of.fell}") for of in changes)
    return _across("rose/same/fell", cells)


def agreements_grid(found: Sequence[Agreement]) -> Grid:
    """A row for the systems and one for each run's queries, per measure."""
    head = ["measure", "correlation of", "n", "Kendall τ", "τ_AP", "Spearman", "Pearson"]
    rows = [
        [
            of.measure, "systems" if of.of == SYSTEMS else f"queries, {of.run}", str(of.n),
            *(number(x, ".3f") for x in (of.kendall, of.tau_ap, of.spearman, of.pearson)),
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows, frozenset({0, 1}))


def fates_grid(found: Sequence[Conclusion]) -> Grid:
    """Per measure, what became of the significant differences."""
    rows = [
        [measure, *(str(counts[fate]) for fate in FATES)]
        for measure, counts in fates(found).items()
    ]
    return Grid(["differences", *(_FATE_HEADS[fate] for fate in FATES)], rows)


def conclusions_grid(found: Sequence[Conclusion], every: bool = False) -> Grid:
    """The differences whose significance changed; or every one."""
    head = [
        "measure", "base", "run", "before", "p", "after", "p", "what becomes of it", "shift", "p",
    ]  # fmt: skip
    rows = [
        [
            of.measure, of.base, of.run,
            f"{of.before_difference:+z.4f}", p_text(of.before_p),
            f"{of.after_difference:+z.4f}", p_text(of.after_p),
            of.fate, number(of.shift, "+z.4f"), p_text(of.shift_p),
        ]
        for of in found
        if every or of.fate not in ("survives", "none")
    ]  # fmt: skip
    return Grid(head, rows, frozenset({0, 1, 2, 7}))


def movers_grid(found: Sequence[Mover], shown: int | None = None) -> Grid:
    """The queries that moved, as they come; or the ``shown`` largest moves of each measure."""
    head = ["measure", "run", "query", "before", "after", "change", "relevant", ""]
    if shown is not None:
        measures = list(dict.fromkeys(of.measure for of in found))
        ordered = sorted(found, key=lambda of: (measures.index(of.measure), -abs(of.change)))
        groups = groupby(ordered, key=lambda of: of.measure)
        found = [of for _, group in groups for of in islice(group, shown)]
    rows = [
        [
            of.measure, of.run, of.query_id,
            f"{of.before:.4f}", f"{of.after:.4f}", f"{of.change:+z.4f}",
            f"{of.before_relevant} → {of.after_relevant}",
            _MOVES.get(of.move, ""),
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows, frozenset({0, 1, 2, 7}))


def extremes_lines(contrast: Contrast, shown: int = 8) -> list[str]:
    """Per measure, the queries that fell from the best value and that rose from 0.

    Those for which most runs did so come first, each with the number of runs.
    """
    lines = []
    for measure in map(str, contrast.by_query):
        for move, word in _MOVES.items():
            runs = Counter(
                m.query_id for m in contrast.movers if (m.measure, m.move) == (measure, move)
            )
            first = sorted(runs, key=lambda query: (-runs[query], query))[:shown]
            named = ", ".join(f"{query} ({runs[query]})" for query in first)
            if runs:
                more = " …" if len(runs) > shown else ""
                what = "query" if len(runs) == 1 else "queries"
                lines.append(f"{measure}: {len(runs)} {what} {word} (in runs): {named}{more}")
    return lines


# --- pool bias ------------------------------------------------------------------------------


def bias_grids(
    found: PoolBias, part: str | None = None, *, full: bool = False
) -> Iterator[tuple[str, Grid]]:
    """The tables of a pool bias, each with its title, or one; all conclusions only if asked for."""
    bounds = found.bounds if full or part else _doubtful(found)[:DOUBTS]
    made = {
        "falls": ("Left out of the pool", falls_grid(found.falls)),
        "orders": ("Order of all runs, with and without", orders_grid(found.orders)),
        "unjudged": ("Unjudged documents, with → without", shares_grid(found.shares)),
        "conclusions": ("What rests on unjudged documents", bounds_grid(bounds)),
    }
    return (titled for name, titled in made.items() if part in (None, name) and titled[1].rows)


def falls_grid(found: Sequence[Fall]) -> Grid:
    """Runs and measures down: the score with and without the team's own judgements."""
    head = [
        "left out", "run", "only its", "relevant", "measure", "with", "without", "change", "rank",
    ]  # fmt: skip
    rows = [
        [
            of.team, of.run, str(of.unique), str(of.unique_relevant), of.measure,
            f"{of.before:.4f}", f"{of.after:.4f}",
            f"{of.change:+z.4f} ({number(100 * of.share, '+.1f')}%)",
            f"{of.before_rank} → {of.after_rank}",
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows, frozenset({0, 1, 4}))


def orders_grid(found: Sequence[Order]) -> Grid:
    """Teams down, measures across: τ and τ_AP of the order of all runs with and without."""
    cells = (
        (of.team, of.measure, f"{number(of.kendall, '.3f')} / {number(of.tau_ap, '.3f')}")
        for of in found
    )
    return _across("τ / τ_AP without", cells)


def shares_grid(found: Sequence[UnjudgedShare]) -> Grid:
    """Runs down, cut-offs across: the unjudged share with and without."""
    cells = ((of.run, f"@{of.cutoff}", f"{of.before:.1%} → {of.after:.1%}") for of in found)
    return _across("unjudged", cells)


def bounds_grid(found: Sequence[Bound]) -> Grid:
    """The significant differences, each as judged and in its worst case."""
    head = [
        "measure", "better", "worse", "unjudged", "lead", "p", "worst case", "p", "verdict",
    ]  # fmt: skip
    rows = [
        [
            of.measure, of.winner, of.loser, f"{of.winner_unjudged}/{of.loser_unjudged}",
            f"{of.difference:+z.4f}", p_text(of.p), f"{of.worst:+z.4f}", p_text(of.worst_p),
            of.verdict,
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows, frozenset({0, 1, 2, 8}))


def _doubtful(found: PoolBias) -> list[Bound]:
    """The differences that rest on unjudged documents."""
    return [bound for bound in found.bounds if bound.verdict != "stands"]


def bias_lines(found: PoolBias, *, full: bool = False) -> list[str]:
    """How the tables were made and what they come to; every doubt in words only in ``full``."""
    verdicts = Counter(bound.verdict for bound in found.bounds)
    words = {"stands": "stand"}
    said = ", ".join(f"{verdicts[each]} {words.get(each, each)}" for each in VERDICTS)
    return [
        *(bound.sentence() for bound in (_doubtful(found) if full else ())),
        f"{count(found.judged, 'judgement')}; {found.unclaimed:,} "
        f"{'is' if found.unclaimed == 1 else 'are'} of documents that no run has in its first "
        f"{found.depth}: nobody's, so they stay",
        f"of {count(len(found.bounds), 'significant difference')} {said}; "
        f"{count(found.undecided, 'pair')} without one",
        "worst case: every unjudged document within the cut-off (or the depth) that only the "
        "worse run has is relevant, of the highest grade, and none of the better run's is",
    ]
