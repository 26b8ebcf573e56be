"""Tables of a contrast and of pool bias: what stands in their cells."""

from __future__ import annotations

import math
from dataclasses import replace

from citebed.evaluation.contrasts.changes import (
    Agreement,
    Change,
    ContrastSummary,
    QueryChange,
    SignificanceChange,
)
from citebed.evaluation.contrasts.contrast import JudgementSet
from citebed.evaluation.contrasts.pool_bias import (
    RankingAgreement,
    ScoreDrop,
    UnjudgedShare,
    WorstCase,
)
from citebed.report import contrast_tables as tables
from citebed.report.tables import build_table

CHANGES = [
    Change("bm25", "AP", 3, 0.25, 0.5, 0.25, 2, 1, 0),
    Change("bm25", "Bpref", 3, 0.5, 0.25, -0.25, 0, 1, 2),
    Change("kl", "AP", 3, 0.1, 0.1, 0.0, 0, 3, 0),
    Change("kl", "Bpref", 3, 0.2, 0.1, -0.1, 0, 2, 1),
]


def test_runs_down_and_measures_across() -> None:
    table = tables.changes_table(CHANGES)
    assert table.head == ["run", "AP", "Bpref"]
    assert table.lines[0] == ["bm25", "0.2500 → 0.5000 +0.2500", "0.5000 → 0.2500 -0.2500"]
    assert tables.directions_table(CHANGES).lines == [
        ["bm25", "2/1/0", "0/1/2"],
        ["kl", "0/3/0", "0/2/1"],
    ]


def test_means_alone_for_a_summary() -> None:
    assert tables.changes_table(CHANGES, with_change=False).lines[0][1] == "0.2500 → 0.5000"


def test_a_measure_in_a_row() -> None:
    digest = ContrastSummary("AP", 8, 0.04, 7, 1, 0.6, 0.25, 3, 14, 0.5, math.nan, 20, 1, 2, 3)
    assert build_table(tables.DIGESTS, [digest]).lines == [
        ["AP", "+0.0400", "7/1", "60%/25%", "3/14", "0.500", "–", "20", "1", "2", "3"]
    ]
    without = replace(digest, queries_rose=math.nan, queries_fell=math.nan)
    assert build_table(tables.DIGESTS, [without]).lines[0][3:5] == ["–", "–"]


def test_judgements_by_query() -> None:
    table = build_table(tables.SETS, [JudgementSet("J1", 4, 10, 6, 0, 2)])
    assert table.lines == [["J1", "4", "2.50", "1.50", "1.00", "2"]]


def test_a_correlation_that_cannot_be_had_is_a_dash() -> None:
    table = build_table(
        tables.AGREEMENTS,
        [
            Agreement("AP", "systems", "all", 1, *[math.nan] * 4),
            Agreement("AP", "queries", "kl", 9, 0.5, 0.25, 1.0, -0.125),
        ],
    )
    assert table.lines[0] == ["AP", "systems", "1", "–", "–", "–", "–"]
    assert table.lines[1] == ["AP", "queries, kl", "9", "0.500", "0.250", "1.000", "-0.125"]


def test_fates_are_counted_and_only_changed_ones_listed() -> None:
    found = [
        SignificanceChange("AP", "a", "b", 0.1, 0.01, 0.1, 0.02, "survives"),
        SignificanceChange("AP", "a", "c", 0.1, 0.01, 0.1, 0.2, "vanishes"),
        SignificanceChange("AP", "b", "c", 0.1, 0.5, 0.1, math.nan, "none"),
        SignificanceChange("P@5", "a", "b", 0.1, 0.01, -0.1, 0.00001, "turns round", -0.2, 0.003),
    ]
    assert tables.fates_table(found).lines == [
        ["AP", "1", "1", "0", "0", "1"],
        ["P@5", "0", "0", "0", "1", "0"],
    ]
    assert build_table(tables.CONCLUSIONS, tables.changed_conclusions(found)).lines == [
        ["AP", "a", "c", "+0.1000", "0.0100", "+0.1000", "0.2000", "vanishes", "–", "–"],
        [
            "P@5", "a", "b", "+0.1000", "0.0100", "-0.1000", "<0.0001", "turns round", "-0.2000",
            "0.0030",
        ],
    ]  # fmt: skip
    assert len(tables.changed_conclusions(found, every=True)) == 4


def test_the_largest_moves_of_each_measure() -> None:
    found = [
        QueryChange("AP", "a", "q1", 1.0, 0.5, -0.5, "from best", 1, 2),
        QueryChange("AP", "b", "q2", 0.0, 0.75, 0.75, "from 0", 1, 4),
        QueryChange("P@5", "a", "q3", 0.2, 0.4, 0.2, "rose", 2, 4),
    ]
    rows = build_table(tables.MOVERS, tables.largest_moves(found, 1)).lines
    assert rows == [
        ["AP", "b", "q2", "0.0000", "0.7500", "+0.7500", "1 → 4", "rose from 0"],
        ["P@5", "a", "q3", "0.2000", "0.4000", "+0.2000", "2 → 4", ""],
    ]


def test_pool_bias_in_cells() -> None:
    fall = ScoreDrop("us", "bm25", "AP", 7, 3, 0.5, 0.4, -0.1, -0.2, 1, 2)
    assert build_table(tables.FALLS, [fall]).lines == [
        ["us", "bm25", "7", "3", "AP", "0.5000", "0.4000", "-0.1000 (-20.0%)", "1 → 2"]
    ]
    orders = [
        RankingAgreement("us", "AP", 1.0, 0.5),
        RankingAgreement("us", "P@5", math.nan, math.nan),
    ]
    assert tables.orders_table(orders).lines == [["us", "1.000 / 0.500", "– / –"]]
    shares = [
        UnjudgedShare("us", "bm25", 5, 10, 0.1, 0.3),
        UnjudgedShare("us", "bm25", 10, 20, 0, 1),
    ]
    assert tables.shares_table(shares).lines == [["bm25", "10.0% → 30.0%", "0.0% → 100.0%"]]
    bound = WorstCase("P@5", "a", "b", 5, 2, 3, 0.1, 0.01, -0.2, 0.5, "cannot be told")
    assert build_table(tables.BOUNDS, [bound]).lines == [
        ["P@5", "a", "b", "2/3", "+0.1000", "0.0100", "-0.2000", "0.5000", "cannot be told"]
    ]
