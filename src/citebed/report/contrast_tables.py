"""Tables and notes on contrasts of judgement sets and on pool bias."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from citebed.evaluation.contrasts.changes import (
    OUTCOMES,
    SYSTEMS,
    Change,
    ContrastSummary,
    QueryChange,
    SignificanceChange,
    count_outcomes,
)
from citebed.evaluation.contrasts.contrast import Contrast
from citebed.evaluation.contrasts.pool_bias import (
    VERDICTS,
    PoolBias,
    RankingAgreement,
    UnjudgedShare,
    WorstCase,
)
from citebed.report.tables import (
    Cell,
    Column,
    Table,
    across,
    build_table,
    number,
    p_text,
    text_table,
)
from citebed.wording import count

SHORT = ("judgements", "changes", "summary")
"""The parts of a short report."""
DOUBTS = 50
"""The number of differences that depend on unjudged documents in a short report."""
_MOVES = {"from best": "fell from the best value", "from 0": "rose from 0"}
_FATE_HEADS = {
    "survives": "survive", "vanishes": "vanish", "appears": "appear",
    "turns round": "turn round", "none": "none in either",
}  # fmt: skip


# --- columns --------------------------------------------------------------------------------

SETS = (
    Column("judgements", "name", left=True),
    Column("queries", "queries"),
    Column("judged a query", lambda of: of.judged / of.queries, ".2f"),
    Column("relevant", lambda of: of.relevant / of.queries, ".2f"),
    Column("not relevant", lambda of: (of.judged - of.relevant) / of.queries, ".2f"),
    Column("one relevant", "single"),
)
"""Counts of each judgement set, per query."""

DIGESTS = (
    Column("measure", "measure", left=True),
    Column("change", "change", "+z.4f"),
    Column("runs +/-", lambda of: f"{of.rose}/{of.fell}"),
    Column(
        "queries +/-", lambda of: _if_by_query(of, f"{of.queries_rose:.0%}/{of.queries_fell:.0%}")
    ),
    Column("from best/0", lambda of: _if_by_query(of, f"{of.from_best}/{of.from_0}")),
    Column("τ runs", "systems_kendall", ".3f"),
    Column("τ queries", "queries_kendall", ".3f"),
    Column("survive", "survive"),
    Column("vanish", "vanish"),
    Column("appear", "appear"),
    Column("turn", "turn_round"),
)
"""One row per measure; ``+/-`` are runs, and queries of all runs, that rose and that fell."""

AGREEMENTS = (
    Column("measure", "measure", left=True),
    Column(
        "correlation of",
        lambda of: "systems" if of.of == SYSTEMS else f"queries, {of.run}",
        left=True,
    ),
    Column("n", "n"),
    Column("Kendall τ", "kendall", ".3f"),
    Column("τ_AP", "tau_ap", ".3f"),
    Column("Spearman", "spearman", ".3f"),
    Column("Pearson", "pearson", ".3f"),
)
"""One row for the systems and one for the queries of each run, per measure."""

CONCLUSIONS = (
    Column("measure", "measure", left=True),
    Column("base", "base", left=True),
    Column("run", "run", left=True),
    Column("before", "before_difference", "+z.4f"),
    Column("p", "before_p", p_text),
    Column("after", "after_difference", "+z.4f"),
    Column("p", "after_p", p_text),
    Column("what becomes of it", "fate", left=True),
    Column("shift", "shift", "+z.4f"),
    Column("p", "shift_p", p_text),
)

MOVERS = (
    Column("measure", "measure", left=True),
    Column("run", "run", left=True),
    Column("query", "query_id", left=True),
    Column("before", "before", ".4f"),
    Column("after", "after", ".4f"),
    Column("change", "change", "+z.4f"),
    Column("relevant", lambda of: f"{of.before_relevant} → {of.after_relevant}"),
    Column("", lambda of: _MOVES.get(of.move, ""), left=True),
)

FALLS = (
    Column("left out", "team", left=True),
    Column("run", "run", left=True),
    Column("only its", "unique"),
    Column("relevant", "unique_relevant"),
    Column("measure", "measure", left=True),
    Column("with", "before", ".4f"),
    Column("without", "after", ".4f"),
    Column(
        "change",
        lambda of: Cell(f"{of.change:+z.4f}", f"({number(100 * of.share, '+.1f')}%)", of.change),
    ),
    Column("rank", lambda of: f"{of.before_rank} → {of.after_rank}"),
)
"""One row per run and measure: the score with and without the team's own judgements."""

BOUNDS = (
    Column("measure", "measure", left=True),
    Column("better", "winner", left=True),
    Column("worse", "loser", left=True),
    Column("unjudged", lambda of: f"{of.winner_unjudged}/{of.loser_unjudged}"),
    Column("lead", "difference", "+z.4f"),
    Column("p", "p", p_text),
    Column("worst case", "worst", "+z.4f"),
    Column("p", "worst_p", p_text),
    Column("verdict", "verdict", left=True),
)
"""The significant differences, as judged and in the worst case."""


def _if_by_query(of: ContrastSummary, text: str) -> str:
    return "–" if math.isnan(of.queries_rose) else text


# --- contrasts ------------------------------------------------------------------------------


def contrast_tables(
    contrast: Contrast, part: str | None = None, *, full: bool = False
) -> Iterator[Table]:
    """Yield the tables of a contrast: the short report, the ``full`` one, or one part."""

    def wanted(name: str) -> bool:
        return part == name or (part is None and (full or name in SHORT))

    first, second = contrast.sets.before.name, contrast.sets.after.name
    if wanted("judgements"):
        yield build_table(SETS, contrast.sets.facts, "Judgements")
    if wanted("changes"):
        long = full or part is not None
        yield changes_table(contrast.changes, f"Means under {first} → under {second}", long)
        if long:
            yield directions_table(contrast.changes)
    if wanted("summary"):
        yield build_table(DIGESTS, contrast.summary, f"In short, from {first} to {second}")
    if wanted("correlations"):
        yield build_table(AGREEMENTS, contrast.agreements, f"Correlations of {first} with {second}")
    if wanted("conclusions") and contrast.conclusions:
        yield fates_table(contrast.conclusions)
        changed = changed_conclusions(contrast.conclusions, every=part is not None)
        if changed:
            yield build_table(CONCLUSIONS, changed, f"Differences under {first}, then {second}")
    moved = contrast.movers if part is not None else largest_moves(contrast.movers, 3)
    if wanted("movers") and moved:
        yield build_table(MOVERS, moved, "Queries that change most")
    if part == "queries":
        scores = (Column(first, "before", ".4f"), Column(second, "after", ".4f"))
        yield build_table((*MOVERS[:3], *scores), contrast.query_rows(), "Every query")


def contrast_lines(contrast: Contrast, part: str | None = None, *, full: bool = False) -> list[str]:
    """Return the queries that changed most, if requested, and the notes of a contrast."""
    lines = extremes_lines(contrast) if part == "movers" or full else []
    return lines + [f"note: {note}" for note in contrast.notes()]


def changes_table(changes: Sequence[Change], caption: str = "", with_change: bool = True) -> Table:
    """Make a table of runs by measures: ``0.1182 → 0.1592 +0.0410``, with the change optional."""
    cells = (
        (
            of.run, of.measure,
            f"{of.before:.4f} → {of.after:.4f}" + (f" {of.change:+z.4f}" if with_change else ""),
        )
        for of in changes
    )  # fmt: skip
    return across("run", cells, caption)


def directions_table(changes: Sequence[Change]) -> Table:
    """Make a table of runs by measures: the numbers of queries that rose, stayed and fell."""
    cells = ((of.run, of.measure, f"{of.rose}/{of.same}/{of.fell}") for of in changes)
    return across("rose/same/fell", cells, "Queries that rose, stayed, fell")


def fates_table(conclusions: Sequence[SignificanceChange]) -> Table:
    """Make a table of the outcomes of significant differences, per measure."""
    rows = [
        [measure, *(str(counts[fate]) for fate in OUTCOMES)]
        for measure, counts in count_outcomes(conclusions).items()
    ]
    head = ["differences", *(_FATE_HEADS[fate] for fate in OUTCOMES)]
    return text_table(head, rows, caption="Significant differences")


def changed_conclusions(
    conclusions: Sequence[SignificanceChange], every: bool = False
) -> list[SignificanceChange]:
    """Return the differences whose significance changed, or ``every`` difference."""
    return [of for of in conclusions if every or of.fate not in ("survives", "none")]


def largest_moves(movers: Sequence[QueryChange], shown: int) -> list[QueryChange]:
    """Return the ``shown`` largest changes under each measure."""
    measures = list(dict.fromkeys(of.measure for of in movers))
    ordered = sorted(movers, key=lambda of: (measures.index(of.measure), -abs(of.change)))
    groups = groupby(ordered, key=lambda of: of.measure)
    return [of for _, group in groups for of in islice(group, shown)]


def extremes_lines(contrast: Contrast, shown: int = 8) -> list[str]:
    """List, per measure, the queries that fell from the best value or rose from 0.

    Each has the number of its runs; queries with the most runs come first.
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


def bias_tables(bias: PoolBias, part: str | None = None, *, full: bool = False) -> Iterator[Table]:
    """Return the tables of a pool bias, or one of them; ``full`` lists all worst cases."""
    bounds = bias.bounds if full or part else _doubtful(bias)[:DOUBTS]
    made = {
        "falls": build_table(FALLS, bias.falls, "Left out of the pool"),
        "orders": orders_table(bias.orders),
        "unjudged": shares_table(bias.shares),
        "conclusions": build_table(BOUNDS, bounds, "Differences that depend on unjudged documents"),
    }
    return (table for name, table in made.items() if part in (None, name) and table.rows)


def orders_table(orders: Sequence[RankingAgreement]) -> Table:
    """Make a table of teams by measures: τ and τ_AP of the runs' order with and without a team."""
    cells = (
        (of.team, of.measure, f"{number(of.kendall, '.3f')} / {number(of.tau_ap, '.3f')}")
        for of in orders
    )
    return across("τ / τ_AP without", cells, "Order of all runs, with and without")


def shares_table(shares: Sequence[UnjudgedShare]) -> Table:
    """Make a table of runs by cut-offs: the unjudged share with and without a team."""
    cells = ((of.run, f"@{of.cutoff}", f"{of.before:.1%} → {of.after:.1%}") for of in shares)
    return across("unjudged", cells, "Unjudged documents, with → without")


def _doubtful(bias: PoolBias) -> list[WorstCase]:
    """Return the differences that depend on unjudged documents."""
    return [bound for bound in bias.bounds if bound.verdict != "stands"]


def bias_lines(bias: PoolBias, *, full: bool = False) -> list[str]:
    """Return notes on the tables; ``full`` has a sentence for every doubtful difference."""
    verdicts = Counter(bound.verdict for bound in bias.bounds)
    words = {"stands": "stand"}
    said = ", ".join(f"{verdicts[each]} {words.get(each, each)}" for each in VERDICTS)
    doubts = _doubtful(bias)
    left_out = len(doubts) - DOUBTS
    return [
        *(bound.sentence() for bound in (doubts if full else ())),
        *(
            [f"{left_out:,} more of {len(doubts):,} differences that depend on unjudged documents"]
            if left_out > 0 and not full
            else []
        ),
        f"{count(bias.judged, 'judgement')}; {bias.unclaimed:,} "
        f"{'is' if bias.unclaimed == 1 else 'are'} of documents that no run has in its first "
        f"{bias.depth}; they belong to no team and are kept",
        f"of {count(len(bias.bounds), 'significant difference')} {said}; "
        f"{count(bias.undecided, 'pair')} without one",
        "worst case: every unjudged document within the cut-off (or the depth) that only the "
        "worse run has is relevant, of the highest grade, and none of the better run's is",
    ]
