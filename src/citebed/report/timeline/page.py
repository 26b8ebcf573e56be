"""Report on a timeline as one HTML page: scores, figures, trends, slices, and coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparison import Design
from citebed.report.evaluation.table import comparison_table
from citebed.report.html.inline_svg import Figure, figure_of
from citebed.report.html.page import render
from citebed.report.tables import Table, build_table
from citebed.report.timeline.figures import TimelineFigure
from citebed.report.timeline.series import Over
from citebed.report.timeline.table import (
    COUNTS,
    slices_table,
    stability_sentences,
    stream_comparison_notes,
    systems_table,
    trend_sentence,
    trends_table,
)
from citebed.runs.times import format_time
from citebed.timeline.scoring.comparison import StreamComparison
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import WEIGHTINGS
from citebed.timeline.timelines import Timeline

MOST_SLICES = 1000
"""The largest number of slices that a page lists."""

MOST_SENTENCES = 12


class Extras(NamedTuple):
    """Optional contents of a page.

    ``official`` has tables of official scores, ``compared`` the paired tests with options
    ``design``. ``over`` is the width of slices in figures of two systems. ``back`` is the address
    and text of a link back, for pages that are served.
    """

    official: Sequence[Table] = ()
    compared: Sequence[StreamComparison] = ()
    design: Design = Design()
    over: Over = "time"
    back: tuple[str, str] | None = None


def timeline_page(
    of: Timeline, drawn: Sequence[TimelineFigure], extras: Extras, title: str, command: str
) -> str:
    """Return the page as self-contained HTML."""
    pictures = {kind: _figures(drawn, kind) for kind in ("volume", "scores", "areas")}
    sections = {
        "data": "Data", "scores": "Scores", "over-time": "Over time",
        "compared": "Two systems, slice by slice", "slices": "Scores by slice",
        "official": "Official scores of TREC KBA", "ledger": "What the scores rest on",
    }  # fmt: skip
    missing = {"compared": not pictures["areas"], "official": not extras.official}
    shown = {name: heading for name, heading in sections.items() if not missing.get(name)}
    return render(
        "timeline.html.j2", shown, ("tables.js",), title=title, command=command,
        back=extras.back, libraries=("numpy", "polars"), facts=_facts(of), pictures=pictures,
        measure=str(of.runs[0].measures[0]), over=extras.over, **_scores(of, extras),
        **_trends(of), **_slices(of.runs), official=extras.official, **_ledger(of),
    )  # fmt: skip


def _figures(pictures: Sequence[TimelineFigure], kind: str) -> list[Figure]:
    return [
        figure_of(picture.svg, f"picture{at}", picture.alt_text, f"Picture {at + 1}", picture.name)
        for at, picture in enumerate(pictures)
        if picture.kind == kind
    ]


# --- data and scores ------------------------------------------------------------------------


def _facts(of: Timeline) -> list[str]:
    pairs, slices = of.pairs, of.pairs.slices
    return [
        f"Judgements {pairs.qrels.name}: {len(pairs.qrels.query_ids):,} queries, "
        f"{pairs.qrels.ledger.pairs:,} "
        f"pairs of query and document judged, {int(pairs.relevant.sum()):,} relevant in slices.",
        f"Slices {slices.kind}: {len(slices):,} from {format_time(int(slices.bounds[0]))} to "
        f"{format_time(int(slices.bounds[-1]))}, {pairs.slices_scored:,} of them with relevant "
        f"documents; {len(pairs):,} pairs of query and slice are scored.",
        *(
            f"Run {ledger.run}: {ledger.skipped.lines:,} documents, {ledger.measured:,} of them in "
            "scored slices."
            for ledger in (scores.ledger for scores in of.runs)
        ),
    ]


def _scores(of: Timeline, extras: Extras) -> dict[str, Any]:
    names = dict.fromkeys(weight.partition(":")[0] for weight in of.weights)
    return {
        "scores": systems_table([of]),
        "weightings": [f"{name}: {_first_line(WEIGHTINGS[name].__doc__)}" for name in names],
        **_tests(extras),
    }


def _tests(extras: Extras) -> dict[str, Any]:
    """Return the table of paired tests, if there are any, and notes on it."""
    if not extras.compared:
        return {"tests": None, "test_notes": []}
    named = [of.named for of in extras.compared]
    return {
        "tests": comparison_table(named, extras.design),
        "test_notes": stream_comparison_notes(extras.compared, extras.design.alpha),
    }


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


# --- over time ------------------------------------------------------------------------------


def _trends(of: Timeline) -> dict[str, Any]:
    """Return sentences on all trends or, if these are too many, on the significant ones.

    There is no table if there are too few slices for a trend.
    """
    significant = [trend for trend in of.trends_found if trend[2].significant(of.alpha)]
    few = len(of.trends_found) <= MOST_SENTENCES
    said = (trend_sentence(*each, of.alpha) for each in (of.trends_found if few else significant))
    sentences = [*dict.fromkeys(said), *stability_sentences(of.runs)]
    enough = any(not math.isnan(trend.low) for _, _, trend in of.trends_found)
    some = f"{len(significant)} of {len(of.trends_found)} trends are significant"
    return {
        "told_of": "" if few else f"{some}; the table has all.",
        "sentences": [f"{sentence}." for sentence in sentences],
        "trend_table": trends_table(of) if enough else None,
    }


# --- slices ---------------------------------------------------------------------------------


def _slices(runs: Sequence[StreamScores]) -> dict[str, Any]:
    number = len(runs[0].pairs.slices)
    measures = runs[0].measures if number <= MOST_SLICES else ()
    tables = [(str(measure), _slice_table(runs, measure)) for measure in measures]
    return {"number_of_slices": number, "slices": tables}


def _slice_table(runs: Sequence[StreamScores], measure: Measure) -> Table:
    scores = {each.run: each.by_slice(measure) for each in runs}
    table = slices_table(runs[0].pairs, scores)
    return replace(table, caption=f"{measure}, means over queries in each slice")


# --- ledger ---------------------------------------------------------------------------------


def _ledger(of: Timeline) -> dict[str, Any]:
    notes = [f"{note[:1].upper()}{note[1:]}." for note in of.notes()]
    notes += [f"{note}." for note in of.run_notes()]
    ledgers = [scores.ledger for scores in of.runs]
    table = build_table(COUNTS, ledgers, "Documents of the runs")
    return {"notes": notes, "ledger": table}
