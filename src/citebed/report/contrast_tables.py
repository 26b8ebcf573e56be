"""Tables and notes on contrasts of judgement sets and on pool bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from citebed.evaluation.contrasts.changes import OUTCOMES, SYSTEMS, count_outcomes
from citebed.evaluation.contrasts.contrast import Contrast
from citebed.evaluation.contrasts.pool_bias import VERDICTS, PoolBias
from citebed.report.tables import Cell, Column, Table, across, build_table, p_text, text_table
from citebed.wording import count

Rows = list[dict[str, Any]]
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
    Column("judgements", "judgements", left=True),
    Column("queries", "queries"),
    Column("judged a query", lambda of: of["judged"] / of["queries"], ".2f"),
    Column("relevant", lambda of: of["relevant"] / of["queries"], ".2f"),
    Column("not relevant", lambda of: (of["judged"] - of["relevant"]) / of["queries"], ".2f"),
    Column("one relevant", "single"),
)
"""Counts of each judgement set, per query."""

DIGESTS = (
    Column("measure", "measure", left=True),
    Column("change", "change", "+z.4f"),
    Column("runs +/-", "{rose}/{fell}"),
    Column("queries +/-", lambda of: _if_by_query(of, "{queries_rose:.0%}/{queries_fell:.0%}")),
    Column("from best/0", lambda of: _if_by_query(of, "{from_best}/{from_0}")),
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
        lambda of: "systems" if of["of"] == SYSTEMS else f"queries, {of['run']}",
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
    Column("relevant", "{before_relevant} → {after_relevant}"),
    Column("", lambda of: _MOVES.get(of["move"], ""), left=True),
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
        lambda of: Cell(f"{of['change']:+z.4f}", f"({_percent(of['share'])})", of["change"]),
    ),
    Column("rank", "{before_rank} → {after_rank}"),
)
"""One row per run and measure: the score with and without the team's own judgements."""

BOUNDS = (
    Column("measure", "measure", left=True),
    Column("better", "winner", left=True),
    Column("worse", "loser", left=True),
    Column("unjudged", "{winner_unjudged}/{loser_unjudged}"),
    Column("lead", "difference", "+z.4f"),
    Column("p", "p", p_text),
    Column("worst case", "worst", "+z.4f"),
    Column("p", "worst_p", p_text),
    Column("verdict", "verdict", left=True),
)
"""The significant differences, as judged and in the worst case."""


def _if_by_query(of: Mapping[str, Any], form: str) -> str:
    return "–" if of["queries_rose"] is None else form.format_map(of)


def _percent(share: float | None) -> str:
    return "–%" if share is None else f"{share * 100:+.1f}%"


# --- contrasts ------------------------------------------------------------------------------


def contrast_tables(
    contrast: Contrast, part: str | None = None, *, full: bool = False
) -> Iterator[Table]:
    """Yield the tables of a contrast: the short report, the ``full`` one, or one part."""

    def wanted(name: str) -> bool:
        return part == name or (part is None and (full or name in SHORT))

    first, second = contrast.sets.before.name, contrast.sets.after.name
    long = full or part is not None
    if wanted("judgements"):
        yield build_table(SETS, contrast.rows("judgements"), "Judgements")
    if wanted("changes"):
        caption = f"Means under {first} → under {second}"
        yield changes_table(contrast.rows("changes"), caption, long)
        if long:
            form = ("{run}", "{measure}", "{rose}/{same}/{fell}")
            caption = "Queries that rose, stayed, fell"
            yield across("rose/same/fell", contrast.rows("changes"), form, caption)
    if wanted("summary"):
        yield build_table(DIGESTS, contrast.rows("summary"), f"In short, from {first} to {second}")
    if wanted("correlations"):
        caption = f"Correlations of {first} with {second}"
        yield build_table(AGREEMENTS, contrast.rows("correlations"), caption)
    conclusions = contrast.rows("conclusions")
    if wanted("conclusions") and conclusions:
        yield fates_table(contrast.parts["conclusions"])
        unchanged = ("survives", "none") if part is None else ()
        changed = [of for of in conclusions if of["fate"] not in unchanged]
        if changed:
            yield build_table(CONCLUSIONS, changed, f"Differences under {first}, then {second}")
    moved = (
        contrast.rows("movers") if part is not None else largest_moves(contrast.parts["movers"], 3)
    )
    if wanted("movers") and moved:
        yield build_table(MOVERS, moved, "Queries that change most")
    if part == "queries":
        scores = (Column(first, "before", ".4f"), Column(second, "after", ".4f"))
        yield build_table((*MOVERS[:3], *scores), contrast.rows("queries"), "Every query")


def contrast_lines(contrast: Contrast, part: str | None = None, *, full: bool = False) -> list[str]:
    """Return the queries that changed most, if requested, and the notes of a contrast."""
    lines = extremes_lines(contrast) if part == "movers" or full else []
    return lines + [f"note: {note}" for note in contrast.notes()]


def changes_table(changes: Rows, caption: str = "", with_change: bool = True) -> Table:
    """Make a table of runs by measures: ``0.1182 → 0.1592 +0.0410``, with the change optional."""
    text = "{before:.4f} → {after:.4f}" + (" {change:+z.4f}" if with_change else "")
    return across("run", changes, ("{run}", "{measure}", text), caption)


def fates_table(conclusions: pl.DataFrame) -> Table:
    """Make a table of the outcomes of significant differences, per measure."""
    rows = [
        [measure, *(str(counts[fate]) for fate in OUTCOMES)]
        for measure, counts in count_outcomes(conclusions).items()
    ]
    head = ["differences", *(_FATE_HEADS[fate] for fate in OUTCOMES)]
    return text_table(head, rows, caption="Significant differences")


def largest_moves(movers: pl.DataFrame, shown: int) -> Rows:
    """Return the ``shown`` largest changes under each measure."""
    change = pl.col("change").abs()
    ordered = movers.sort(pl.col("measure").rle_id(), -change, maintain_order=True)
    return ordered.filter(pl.col("run").cum_count().over("measure") <= shown).to_dicts()


def extremes_lines(contrast: Contrast, shown: int = 8) -> list[str]:
    """List, per measure, the queries that fell from the best value or rose from 0.

    Each has the number of its runs; queries with the most runs come first.
    """
    lines = []
    for measure in map(str, contrast.by_query):
        for move, word in _MOVES.items():
            movers = contrast.parts["movers"].filter(measure=measure, move=move)
            runs = Counter(movers["query_id"].to_list())
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
    bounds = bias.rows("conclusions") if full or part else _doubtful(bias)[:DOUBTS]
    orders = [
        {**of, "taus": f"{_tau(of['kendall'])} / {_tau(of['tau_ap'])}"}
        for of in bias.rows("orders")
    ]
    made = {
        "falls": build_table(FALLS, bias.rows("falls"), "Left out of the pool"),
        "orders": across(
            "τ / τ_AP without", orders, ("{team}", "{measure}", "{taus}"),
            "Order of all runs, with and without",
        ),
        "unjudged": across(
            "unjudged", bias.rows("unjudged"),
            ("{run}", "@{cutoff}", "{before:.1%} → {after:.1%}"),
            "Unjudged documents, with → without",
        ),
        "conclusions": build_table(BOUNDS, bounds, "Differences that depend on unjudged documents"),
    }  # fmt: skip
    return (table for name, table in made.items() if part in (None, name) and table.rows)


def _tau(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _doubtful(bias: PoolBias) -> Rows:
    """Return the differences that depend on unjudged documents."""
    return [bound for bound in bias.rows("conclusions") if bound["verdict"] != "stands"]


def worst_case_sentence(of: Mapping[str, Any]) -> str:
    """Describe a significant difference and its worst case."""
    winner, loser = of["winner"], of["loser"]
    lead = f"{winner} beats {loser} in {of['measure']}"
    if not of["winner_unjudged"] and not of["loser_unjudged"]:
        return f"{lead}; every document that counts was judged."
    if of["verdict"] == "stands":
        return (
            f"{lead}, even if all unjudged documents of {loser} were relevant and none "
            f"of {winner}'s."
        )
    then = (
        "the difference would not be significant"
        if of["verdict"] == "cannot be told"
        else f"{loser} would be significantly better"
    )
    return f"{lead} as judged; were the unjudged documents that only {loser} has relevant, {then}."


def bias_lines(bias: PoolBias, *, full: bool = False) -> list[str]:
    """Return notes on the tables; ``full`` has a sentence for every doubtful difference."""
    bounds, doubts = bias.rows("conclusions"), _doubtful(bias)
    verdicts = Counter(bound["verdict"] for bound in bounds)
    words = {"stands": "stand"}
    said = ", ".join(f"{verdicts[each]} {words.get(each, each)}" for each in VERDICTS)
    left_out = len(doubts) - DOUBTS
    return [
        *(worst_case_sentence(bound) for bound in (doubts if full else ())),
        *(
            [f"{left_out:,} more of {len(doubts):,} differences that depend on unjudged documents"]
            if left_out > 0 and not full
            else []
        ),
        f"{count(bias.judged, 'judgement')}; {bias.unclaimed:,} "
        f"{'is' if bias.unclaimed == 1 else 'are'} of documents that no run has in its first "
        f"{bias.depth}; they belong to no team and are kept",
        f"of {count(len(bounds), 'significant difference')} {said}; "
        f"{count(bias.undecided, 'pair')} without one",
        "worst case: every unjudged document within the cut-off (or the depth) that only the "
        "worse run has is relevant, of the highest grade, and none of the better run's is",
    ]
