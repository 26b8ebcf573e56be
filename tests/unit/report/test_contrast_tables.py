"""The cells of contrast and pool-bias tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from citebed.evaluation.contrasts.pool_bias import PoolBias
from citebed.report import contrast_tables as tables
from citebed.report.tables import build_table


def rows(names: str, *values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), each, strict=True)) for each in values]


CHANGES = rows(
    "run measure before after change",
    ("bm25", "AP", 0.25, 0.5, 0.25),
    ("bm25", "Bpref", 0.5, 0.25, -0.25),
    ("kl", "AP", 0.1, 0.1, 0.0),
    ("kl", "Bpref", 0.2, 0.1, -0.1),
)


def test_runs_down_and_measures_across() -> None:
    table = tables.changes_table(CHANGES)
    assert table.head == ["run", "AP", "Bpref"]
    assert table.lines[0] == ["bm25", "0.2500 → 0.5000 +0.2500", "0.5000 → 0.2500 -0.2500"]


def test_means_alone_for_a_summary() -> None:
    assert tables.changes_table(CHANGES, with_change=False).lines[0][1] == "0.2500 → 0.5000"


def test_a_measure_in_a_row() -> None:
    names = (
        "measure change rose fell queries_rose queries_fell from_best from_0 systems_kendall "
        "queries_kendall survive vanish appear turn_round"
    )
    (digest,) = rows(names, ("AP", 0.04, 7, 1, 0.6, 0.25, 3, 14, 0.5, None, 20, 1, 2, 3))
    assert build_table(tables.DIGESTS, [digest]).lines == [
        ["AP", "+0.0400", "7/1", "60%/25%", "3/14", "0.500", "–", "20", "1", "2", "3"]
    ]
    without = {**digest, "queries_rose": None, "queries_fell": None}
    assert build_table(tables.DIGESTS, [without]).lines[0][3:5] == ["–", "–"]


def test_judgements_by_query() -> None:
    facts = rows("judgements queries judged relevant single", ("J1", 4, 10, 6, 2))
    table = build_table(tables.SETS, facts)
    assert table.lines == [["J1", "4", "2.50", "1.50", "1.00", "2"]]


def test_a_correlation_that_cannot_be_had_is_a_dash() -> None:
    found = rows(
        "measure of run n kendall tau_ap spearman pearson",
        ("AP", "systems", "all", 1, *[None] * 4),
        ("AP", "queries", "kl", 9, 0.5, 0.25, 1.0, -0.125),
    )
    table = build_table(tables.AGREEMENTS, found)
    assert table.lines[0] == ["AP", "systems", "1", "–", "–", "–", "–"]
    assert table.lines[1] == ["AP", "queries, kl", "9", "0.500", "0.250", "1.000", "-0.125"]


def test_fates_are_counted_and_listed() -> None:
    names = (
        "measure base run before_difference before_p after_difference after_p fate shift shift_p"
    )
    found = rows(
        names,
        ("AP", "a", "c", 0.1, 0.01, 0.1, 0.2, "vanishes", None, None),
        ("AP", "b", "c", 0.1, 0.5, 0.1, None, "none", None, None),
        ("P@5", "a", "b", 0.1, 0.01, -0.1, 0.00001, "turns round", -0.2, 0.003),
    )
    assert tables.fates_table(pl.DataFrame(found)).lines == [
        ["AP", "0", "1", "0", "0", "1"],
        ["P@5", "0", "0", "0", "1", "0"],
    ]
    assert build_table(tables.CONCLUSIONS, [found[0], found[2]]).lines == [
        ["AP", "a", "c", "+0.1000", "0.0100", "+0.1000", "0.2000", "vanishes", "–", "–"],
        [
            "P@5", "a", "b", "+0.1000", "0.0100", "-0.1000", "<0.0001", "turns round", "-0.2000",
            "0.0030",
        ],
    ]  # fmt: skip


def test_the_largest_moves_of_each_measure() -> None:
    found = rows(
        "measure run query_id before after change move before_relevant after_relevant",
        ("AP", "a", "q1", 1.0, 0.5, -0.5, "from best", 1, 2),
        ("AP", "b", "q2", 0.0, 0.75, 0.75, "from 0", 1, 4),
        ("P@5", "a", "q3", 0.2, 0.4, 0.2, "rose", 2, 4),
    )
    table = build_table(tables.MOVERS, tables.largest_moves(pl.DataFrame(found), 1))
    assert table.lines == [
        ["AP", "b", "q2", "0.0000", "0.7500", "+0.7500", "1 → 4", "rose from 0"],
        ["P@5", "a", "q3", "0.2000", "0.4000", "+0.2000", "2 → 4", ""],
    ]


def test_pool_bias_in_cells() -> None:
    falls = rows(
        "team run unique unique_relevant measure before after change share before_rank after_rank",
        ("us", "bm25", 7, 3, "AP", 0.5, 0.4, -0.1, -0.2, 1, 2),
    )
    orders = rows("team measure kendall tau_ap", ("us", "AP", 1.0, 0.5), ("us", "P@5", None, None))
    unjudged = rows(
        "team run cutoff before after", ("us", "bm25", 5, 0.1, 0.3), ("us", "bm25", 10, 0.0, 1.0)
    )
    conclusions = rows(
        "measure winner loser winner_unjudged loser_unjudged difference p worst worst_p verdict",
        ("P@5", "a", "b", 2, 3, 0.1, 0.01, -0.2, 0.5, "cannot be told"),
    )
    parts = {
        "falls": pl.DataFrame(falls), "orders": pl.DataFrame(orders),
        "unjudged": pl.DataFrame(unjudged), "conclusions": pl.DataFrame(conclusions),
    }  # fmt: skip
    made = [table.lines for table in tables.bias_tables(PoolBias("qrels", 5, 9, 0, 0, parts))]
    assert made == [
        [["us", "bm25", "7", "3", "AP", "0.5000", "0.4000", "-0.1000 (-20.0%)", "1 → 2"]],
        [["us", "1.000 / 0.500", "– / –"]],
        [["bm25", "10.0% → 30.0%", "0.0% → 100.0%"]],
        [["P@5", "a", "b", "2/3", "+0.1000", "0.0100", "-0.2000", "0.5000", "cannot be told"]],
    ]
