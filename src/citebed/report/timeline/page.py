"""A timeline as one page: scores under each weighting, pictures, trends, slices, the ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparing import Design
from citebed.report.evaluation.page import comparison_table
from citebed.report.grid import Grid, p_text
from citebed.report.html.inline_svg import Figure, figure_of
from citebed.report.html.page import (
    Cell,
    Column,
    Table,
    count_cells,
    counts_table,
    known,
    limits_text,
    number_cell,
    render,
)
from citebed.report.timeline.comparisons import stream_comparison_notes
from citebed.report.timeline.figures import Picture
from citebed.report.timeline.series import Over
from citebed.report.timeline.table import stability_sentences, trend_sentence
from citebed.runs.times import format_time
from citebed.timeline.scoring.ledger import judged_ledger
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.uncertainty import UNITS_DRAWN, StreamComparison
from citebed.timeline.scoring.weights import WEIGHTINGS
from citebed.timeline.timelines import Timeline

MOST_SLICES = 1000
"""More slices than this are not listed: the page would grow too large."""

MOST_SENTENCES = 12


_COUNTS = {
    "lines": ("documents", "lines of the run"),
    "measured": ("measured", "documents in scored pairs of query and slice"),
    "judged": ("judged", "how many of these are judged"),
    "elsewhere": ("elsewhere", "in slices without relevant documents for their query"),
    "outside": ("outside", "in no slice"),
    "unjudged": ("no judgements", "documents of queries that nobody judged"),
    "untimed": ("untimed", "documents without a time"),
    "cells": ("pairs", "of query and slice that are scored"),
    "silent": ("silent", "such pairs in which the run returned nothing, which score 0"),
}
"""What is counted of a run, with its column's head and meaning."""


class Extras(NamedTuple):
    """What stands in a page when it was asked for.

    ``official`` are tables of official scores by what their cut-offs are best for, ``compared`` the
    paired tests by ``design``; slices in pictures of two systems are as wide as ``over`` says.
    """

    official: Mapping[str, Grid] = MappingProxyType({})
    compared: Sequence[StreamComparison] = ()
    design: Design = Design()
    over: Over = "time"


def timeline_page(
    of: Timeline, drawn: Sequence[Picture], extras: Extras, title: str, command: str
) -> str:
    """The page: HTML with its style and script, which loads nothing from anywhere."""
    pictures = {kind: _figures(drawn, kind) for kind in ("volume", "scores", "areas")}
    sections = {
        "data": "Data", "scores": "Scores", "over-time": "Over time",
        "compared": "Two systems, slice by slice", "slices": "Scores by slice",
        "official": "Official scores of TREC KBA", "ledger": "What the scores rest on",
    }  # fmt: skip
    missing = {"compared": not pictures["areas"], "official": not extras.official}
    kept = {name: heading for name, heading in sections.items() if not missing.get(name)}
    return render(
        "timeline.html.j2", kept, ("tables.js",), title=title, command=command,
        libraries=("numpy", "polars"), facts=_facts(of), pictures=pictures,
        measure=str(of.runs[0].measures[0]), over=extras.over, **_scores(of, extras),
        **_trends(of), **_slices(of.runs), official=_official(extras.official), **_ledger(of),
    )  # fmt: skip


def _figures(pictures: Sequence[Picture], kind: str) -> list[Figure]:
    return [
        figure_of(picture.svg, f"picture{at}", picture.says, f"Picture {at + 1}", picture.name)
        for at, picture in enumerate(pictures)
        if picture.kind == kind
    ]


# --- data and scores ------------------------------------------------------------------------


def _facts(of: Timeline) -> list[str]:
    pairs, ledger = of.runs[0].pairs, judged_ledger(of.runs[0].pairs)
    bounds = pairs.slices.bounds
    return [
        f"Judgements {pairs.qrels.name}: {ledger.queries:,} queries, {ledger.pairs:,} "
        f"pairs of query and document judged, {int(pairs.relevant.sum()):,} relevant in slices.",
        f"Slices {pairs.slices.kind}: {ledger.slices:,} from {format_time(int(bounds[0]))} to "
        f"{format_time(int(bounds[-1]))}, {ledger.slices - ledger.empty_slices:,} of them with "
        f"relevant documents; {ledger.cells:,} pairs of query and slice are scored.",
        *(
            f"Run {scores.run}: {scores.ledger.lines:,} documents, {scores.ledger.measured:,} of "
            "them in scored slices."
            for scores in of.runs
        ),
    ]


def _scores(of: Timeline, extras: Extras) -> dict[str, Any]:
    teams = any(scores.team for scores in of.runs)
    columns = [Column("team", number=False)] * teams + [
        Column("run", number=False),
        Column("queries"),
    ]
    columns += [
        Column(f"{each}, {weight}", f"{_first_line(type(each).__doc__)} Slices weighted: {weight}.")
        for each in of.runs[0].measures
        for weight in of.weights
    ]
    rows = [
        [
            *[Cell(scores.team)] * teams,
            Cell(scores.run, kind="name"),
            *count_cells([len(scores.pairs.queries)]),
            *_means(of, scores.run),
        ]
        for scores in of.runs
    ]
    caption = "Means over queries of the weighted means over slices"
    if of.units:
        caption += f", with {of.level:.0%} intervals {UNITS_DRAWN[of.units]}"
    names = dict.fromkeys(weight.partition(":")[0] for weight in of.weights)
    return {
        "scores": Table(caption, columns, rows),
        "weightings": [f"{name}: {_first_line(WEIGHTINGS[name].__doc__)}" for name in names],
        **_tests(extras),
    }


def _means(of: Timeline, run: str) -> list[Cell]:
    rows = of.table.filter(run=run).select("value", "low", "high").fill_null(math.nan).rows()
    return [number_cell(mean, ".4f", limits_text(low, high, ".4f")) for mean, low, high in rows]


def _tests(extras: Extras) -> dict[str, Any]:
    """The paired tests, if there are any, and how they were made."""
    if not extras.compared:
        return {"tests": None, "test_notes": []}
    named = [of.named for of in extras.compared]
    return {
        "tests": comparison_table(named, extras.design),
        "test_notes": stream_comparison_notes(extras.compared, extras.design.alpha),
    }


def _number_rows(rows: Sequence[Sequence[str]], left: frozenset[int]) -> list[list[Cell]]:
    """The cells of a table of text; those that are not set to the left sort as numbers."""
    return [
        [Cell(text, value=None if at in left else float(text)) for at, text in enumerate(row)]
        for row in rows
    ]


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


# --- over time ------------------------------------------------------------------------------


def _trends(of: Timeline) -> dict[str, Any]:
    """Sentences: for all trends or, where these would be too many to read, the significant ones.

    With too few slices for a trend there is no table of them.
    """
    told = [found for found in of.trends_found if found[2].significant(of.alpha)]
    few = len(of.trends_found) <= MOST_SENTENCES
    said = (trend_sentence(*each, of.alpha) for each in (of.trends_found if few else told))
    sentences = [*dict.fromkeys(said), *stability_sentences(of.runs)]
    enough = any(not math.isnan(found.low) for _, _, found in of.trends_found)
    lead = f"{len(told)} of {len(of.trends_found)} trends are significant; the table has all."
    return {
        "told_of": "" if few else lead,
        "sentences": [f"{sentence}." for sentence in sentences],
        "trend_table": _trend_table(of) if enough else None,
    }


def _trend_table(of: Timeline) -> Table:
    unit = of.trends_found[0][2].unit
    columns = [
        Column("run", number=False), Column("measure", number=False),
        Column(f"change per {unit}", "Theil-Sen slope of the slice scores, with its interval"),
        Column("p", "Mann-Kendall test, corrected for neighbouring slices being alike"),
        Column("at first", "where the line of that slope starts"),
        Column("at last", "where it ends"),
        Column("change", "from the one to the other, as a share of the first"),
    ]  # fmt: skip
    rows = [
        [
            Cell(run),
            Cell(measure, kind="name"),
            number_cell(
                found.slope, "+.4f", limits_text(found.low, found.high),
                "†" if found.significant(of.alpha) else "",
            ),
            Cell(p_text(found.test.p), value=known(found.test.p)),
            number_cell(found.first, ".3f"),
            number_cell(found.last, ".3f"),
            number_cell(-found.drop, "+.0%"),
        ]
        for run, measure, found in of.trends_found
    ]  # fmt: skip
    caption = f"Trends of the slice scores; † marks those with p below {of.alpha:g}"
    return Table(caption, columns, rows)


# --- slices ---------------------------------------------------------------------------------


def _slices(runs: Sequence[StreamScores]) -> dict[str, Any]:
    number = len(runs[0].pairs.slices)
    measures = runs[0].measures if number <= MOST_SLICES else ()
    tables = [(str(measure), _slice_table(runs, measure)) for measure in measures]
    return {"number_of_slices": number, "slices": tables}


def _slice_table(runs: Sequence[StreamScores], measure: Measure) -> Table:
    pairs = runs[0].pairs
    queries = np.bincount(pairs.slice, minlength=len(pairs.slices))
    relevant = np.bincount(pairs.slice, pairs.relevant, len(pairs.slices)).astype(np.int64)
    values = np.stack([scores.by_slice(measure) for scores in runs], axis=1)
    columns = [
        Column("slice", "its start, UTC", number=False),
        Column("queries", "with relevant documents in it"),
        Column("relevant", "documents"),
        *(Column(scores.run) for scores in runs),
    ]
    rows = [
        [
            Cell(label, "partial" if pairs.slices.partial[at] else "", kind="number"),
            *count_cells((queries[at], relevant[at])),
            *(number_cell(float(value), ".4f") for value in values[at]),
        ]
        for at, label in enumerate(pairs.slices.labels)
    ]
    return Table(f"{measure}, means over queries in each slice", columns, rows)


# --- official scores and ledger -------------------------------------------------------------


def _official(tables: Mapping[str, Grid]) -> list[Table]:
    found = []
    for name, grid in tables.items():
        columns = [Column(head, number=at not in grid.left) for at, head in enumerate(grid.head)]
        caption = f"Official scores, best cut-offs by {name}"
        found.append(Table(caption, columns, _number_rows(grid.rows, grid.left)))
    return found


def _ledger(of: Timeline) -> dict[str, Any]:
    notes = [f"{note[:1].upper()}{note[1:]}." for note in of.notes()]
    notes += [f"{note}." for note in of.run_notes()]
    ledgers = [scores.ledger for scores in of.runs]
    table = counts_table("What the runs gave, and where it is", _COUNTS, ledgers)
    return {"notes": notes, "ledger": table}
