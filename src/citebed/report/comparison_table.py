"""Comparisons of runs as a table, and what to know of them in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from citebed.evaluation.scoring.comparing import Comparison
from citebed.report.grid import Grid, number, p_text
from citebed.wording import count

DAGGER = "†"
FEW_CLUSTERS = 10


def comparison_grid(found: Sequence[Comparison]) -> Grid:
    """A row a comparison; † where the difference is significant."""
    head = [
        "measure", "base", "run", "base", "run", "difference", "d", "w/t/l", "p", "p adjusted",
        "can show",
    ]  # fmt: skip
    return Grid(head, [_row(comparison) for comparison in found], frozenset({0, 1, 2}))


def _row(of: Comparison) -> list[str]:
    mark = DAGGER if of.significant else " "
    limits = "" if math.isnan(of.low) else f" [{of.low:+.4f}, {of.high:+.4f}]"
    return [
        of.measure,
        of.base,
        of.run,
        f"{of.base_value:.4f}",
        f"{of.value:.4f}{mark}",
        f"{of.difference:+.4f}{limits}",
        number(of.effect, "+.2f"),
        f"{of.wins}/{of.ties}/{of.losses}",
        p_text(of.p),
        p_text(of.p_adjusted),
        number(of.smallest, ".4f"),
    ]


def comparison_notes(found: Sequence[Comparison], alpha: float) -> list[str]:
    """How the table was made, and what its columns say."""
    first = found[0]
    units = {(of.queries, of.clusters) for of in found}
    over = ", ".join(
        count(queries, "query")
        + (f" in {count(clusters, 'cluster')}" if clusters != queries else "")
        for queries, clusters in sorted(units)
    )
    if first.correction == "tukey":
        how = "Tukey's test of all pairs, randomised"
    elif first.correction == "none":
        how = "not corrected for the number of comparisons"
    else:
        how = f"corrected by {first.correction} over the comparisons under one measure"
    lines = [
        f"{DAGGER} p < {alpha:g}; {first.test} test, paired by query, {how}; {over}",
        "d: standardised difference; w/t/l: queries won, tied, lost; can show: the smallest "
        "difference that so many queries show with 80% power",
    ]
    effects = [of.design_effect for of in found if not math.isnan(of.design_effect)]
    if effects:
        lines.append(
            f"queries of one cluster are alike: variances are {min(effects):.2f} to "
            f"{max(effects):.2f} times those of independent queries"
        )
    lines += sorted(
        {f"note: {of.measure}: {of.note}" for of in found if of.note and "log" in of.note}
    )
    return lines
