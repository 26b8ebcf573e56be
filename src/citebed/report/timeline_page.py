"""Report on a timeline as one HTML page: scores, figures, trends, slices, and coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from citebed.evaluation.options import Design
from citebed.report.evaluation_tables import comparison_table
from citebed.report.page import PageFigure, make_page_figure, render
from citebed.report.tables import Table, build_table
from citebed.report.timeline_figures import TimelineFigure
from citebed.report.timeline_series import Over
from citebed.report.timeline_tables import (
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
    pictures: dict[str, list[PageFigure]] = {"volume": [], "scores": [], "areas": []}
    for at, each in enumerate(drawn):
        name = f"picture{at}"
        figure = make_page_figure(each.svg, name, each.alt_text, f"Picture {at + 1}", each.name)
        pictures[each.kind].append(figure)
    sections = {
        "data": "Data", "scores": "Scores", "over-time": "Over time",
        "compared": "Two systems, slice by slice", "slices": "Scores by slice",
        "official": "Official scores of TREC KBA",
        "ledger": "Coverage: judged and scored documents",
    }  # fmt: skip
    missing = {"compared": not pictures["areas"], "official": not extras.official}
    shown = {name: heading for name, heading in sections.items() if not missing.get(name)}
    names = dict.fromkeys(weight.partition(":")[0] for weight in of.weights)
    summaries = {name: (WEIGHTINGS[name].__doc__ or "").strip().split("\n")[0] for name in names}
    number = len(of.pairs.slices)
    slices = {
        str(measure): slices_table(
            of.pairs, {scores.run: scores.by_slice(measure) for scores in of.runs}
        )
        for measure in (of.runs[0].measures if number <= MOST_SLICES else ())
    }
    named = [each.named for each in extras.compared]
    test_notes = (
        stream_comparison_notes(extras.compared, extras.design.alpha) if extras.compared else []
    )
    notes = [f"{note[:1].upper()}{note[1:]}." for note in of.notes()]
    coverage = [scores.ledger for scores in of.runs]
    return render(
        "timeline.html.j2", shown, ("tables.js",), title=title, command=command,
        back=extras.back, libraries=("numpy", "polars"), facts=_facts(of), pictures=pictures,
        measure=str(of.runs[0].measures[0]), over=extras.over, scores=systems_table([of]),
        weightings=[f"{name}: {summary}" for name, summary in summaries.items()],
        tests=comparison_table(named, extras.design) if named else None, test_notes=test_notes,
        **_trends(of), number_of_slices=number,
        slices=[
            (name, replace(table, caption=f"{name}, means over queries in each slice"))
            for name, table in slices.items()
        ],
        official=extras.official, notes=[*notes, *(f"{note}." for note in of.run_notes())],
        ledger=build_table(COUNTS, coverage, "Documents of the runs"),
    )  # fmt: skip


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


def _trends(of: Timeline) -> dict[str, Any]:
    """Return sentences on all trends or, if these are too many, on the significant ones.

    The table is ``None`` if no trend has enough slices.
    """
    significant = [trend for trend in of.trends_found if trend[2].significant(of.alpha)]
    few = len(of.trends_found) <= MOST_SENTENCES
    said = (trend_sentence(*each, of.alpha) for each in (of.trends_found if few else significant))
    sentences = [*dict.fromkeys(said), *stability_sentences(of.runs)]
    enough = any(not math.isnan(trend.low) for _, _, trend in of.trends_found)
    some = f"{len(significant)} of {len(of.trends_found)} trends are significant"
    return {
        "trend_count": "" if few else f"{some}; the table has all.",
        "sentences": [f"{sentence}." for sentence in sentences],
        "trend_table": trends_table(of) if enough else None,
    }
