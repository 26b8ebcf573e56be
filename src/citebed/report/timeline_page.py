"""A timeline as one page: scores under each weighting, pictures, trends, slices, the ledger."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import polars as pl

from citebed._version import __version__
from citebed.evaluation.measures.base import Measure
from citebed.report.comparison_table import p_text
from citebed.report.html import (
    Cell,
    Column,
    Html,
    Page,
    element,
    escaped,
    inline_svg,
    join,
    render,
    svg_link,
    table,
)
from citebed.report.timeline_figures import Picture
from citebed.report.timeline_table import (
    official_grid,
    stability_sentence,
    systems_grid,
    trend_sentence,
)
from citebed.runs.times import format_time
from citebed.timeline.scoring.ledger import judged_ledger
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.trends import Trend, stability
from citebed.timeline.scoring.weights import WEIGHTINGS

Section = tuple[str, str, Html]
MOST_SLICES = 1000
"""More slices than this are not listed: the page would grow too large."""

MOST_SENTENCES = 12


@dataclass(frozen=True, kw_only=True)
class TimelineStudy:
    """What a page is of: scored runs, not the runs themselves, and what was found about them.

    ``trends`` are ``(run, measure, trend)``, ``official`` the tables of official scores by what
    their cut-offs are best for (none, unless they were asked for).
    """

    runs: Sequence[StreamScores]
    weights: Sequence[str]
    trends: Sequence[tuple[str, str, Trend]]
    pictures: Sequence[Picture]
    alpha: float = 0.05
    official: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def timeline_page(study: TimelineStudy, title: str, command: str) -> str:
    """The page: HTML with its style and script, which loads nothing from anywhere."""
    sections = [_data(study), _scores(study), _over_time(study)]
    if any(picture.kind == "areas" for picture in study.pictures):
        sections.append(_compared(study))
    sections.append(_slices(study))
    if study.official:
        sections.append(_official(study.official))
    sections.append(_ledger(study))
    foot = _paragraph(f"Made by citebed {__version__}. This file loads nothing.")
    return render(Page(title, _lead(command), sections, foot, Html(""), ("tables.js",)))


def _paragraph(text: str, **values: str) -> Html:
    return element("p", escaped(text), **values)


def _items(lines: Iterable[str]) -> Html:
    return element(
        "ul", join(element("li", element("bdi", escaped(line))) for line in lines), class_="notes"
    )


def _lead(command: str) -> Html:
    versions = [("Python", platform.python_version())]
    versions += [(name, version(name)) for name in ("numpy", "polars")]
    made = ", ".join(f"{name} {number}" for name, number in versions)
    return join(
        (
            element("pre", element("code", escaped(command)), tabindex="0"),
            _paragraph(f"citebed {__version__} ({made})", class_="quiet"),
        )
    )


def _figures(study: TimelineStudy, kind: str) -> Html:
    """The pictures of a kind, each in a box to scroll in, with a link that saves it."""
    plots = []
    for at, picture in enumerate(study.pictures):
        if picture.kind != kind:
            continue
        plot = inline_svg(picture.svg, f"picture{at}", picture.says)
        box = element(
            "div", plot, class_="box", tabindex="0", role="group", aria_label=f"Picture {at + 1}"
        )
        link = svg_link(picture.svg, f"{picture.name}.svg")
        plots.append(element("figure", box, element("figcaption", link)))
    return element("div", *plots, class_="plots")


# --- data and scores ------------------------------------------------------------------------


def _data(study: TimelineStudy) -> Section:
    cells, ledger = study.runs[0].cells, judged_ledger(study.runs[0].cells)
    bounds = cells.slices.bounds
    facts = [
        f"Judgements {cells.truth.judged.name}: {ledger.queries:,} queries, {ledger.pairs:,} "
        f"pairs of query and document judged, {int(cells.relevant.sum()):,} relevant in slices.",
        f"Slices {cells.slices.kind}: {ledger.slices:,} from {format_time(int(bounds[0]))} to "
        f"{format_time(int(bounds[-1]))}, {ledger.slices - ledger.empty_slices:,} of them with "
        f"relevant documents; {ledger.cells:,} pairs of query and slice are scored.",
    ]
    facts += [
        f"Run {scores.run}: {scores.ledger.lines:,} documents, {scores.ledger.measured:,} of them "
        "in scored slices."
        for scores in study.runs
    ]
    return "data", "Data", join((_items(facts), _figures(study, "volume")))


def _scores(study: TimelineStudy) -> Section:
    grid = systems_grid(study.runs, study.weights)
    abouts = [_about(each, weight) for each in study.runs[0].measures for weight in study.weights]
    columns = [Column(grid.head[0], number=False), Column(grid.head[1])]
    columns += [Column(head, about) for head, about in zip(grid.head[2:], abouts, strict=True)]
    rows = [
        [Cell(row[0]), *(Cell(text, value=_value(text)) for text in row[1:])] for row in grid.rows
    ]
    names = dict.fromkeys(weight.partition(":")[0] for weight in study.weights)
    meanings = [f"{name}: {_first_line(WEIGHTINGS[name].__doc__)}" for name in names]
    caption = "Means over queries of the weighted means over slices"
    return "scores", "Scores", join((table(caption, columns, rows), _items(meanings)))


def _about(measure: Measure, weight: str) -> str:
    return f"{_first_line(type(measure).__doc__)} Slices weighted: {weight}."


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _value(text: str) -> float | None:
    number = float(text)
    return None if math.isnan(number) else number


# --- over time ------------------------------------------------------------------------------


def _over_time(study: TimelineStudy) -> Section:
    body = [
        _paragraph(
            "Each step is a slice: the mean over the queries that have relevant documents in it. "
            "A gap is a slice in which no query has any."
        ),
        _figures(study, "scores"),
        element("h3", escaped("Does it stay good?")),
        _trends_told(study),
        _trend_table(study),
    ]
    known = any(not math.isnan(found.low) for _, _, found in study.trends)
    return "over-time", "Over time", join(body if known else body[: 3 if study.trends else 2])


def _trends_told(study: TimelineStudy) -> Html:
    """Sentences: for all trends or, where these would be too many to read, the significant ones."""
    told = [found for found in study.trends if found[2].significant(study.alpha)]
    few = len(study.trends) <= MOST_SENTENCES
    chosen = study.trends if few else told
    sentences = list(dict.fromkeys(f"{trend_sentence(*each, study.alpha)}." for each in chosen))
    lead = f"{len(told)} of {len(study.trends)} trends are significant; the table has all."
    parts = [] if few else [_paragraph(lead)]
    return join((*parts, _items(sentences + _stabilities(study.runs))))


def _stabilities(runs: Sequence[StreamScores]) -> list[str]:
    if len(runs) < 3:
        return []
    return [
        stability_sentence(
            str(each), stability({scores.run: scores.by_slice(each) for scores in runs})
        )
        + "."
        for each in runs[0].measures
    ]


def _trend_table(study: TimelineStudy) -> Html:
    unit = study.trends[0][2].unit
    columns = [
        Column("run", number=False), Column("measure", number=False),
        Column(f"change per {unit}", "Theil-Sen slope of the slice scores, with its interval"),
        Column("p", "Mann-Kendall test, corrected for neighbouring slices being alike"),
        Column("first third", "mean of the first third of the slices"),
        Column("last third", "mean of the last third of the slices"),
        Column("change", "from the first third to the last, as a share of the first"),
    ]  # fmt: skip
    rows = [_trend_cells(*found, study.alpha) for found in study.trends]
    caption = f"Trends of the slice scores; † marks those with p below {study.alpha:g}"
    return table(caption, columns, rows)


def _trend_cells(run: str, measure: str, found: Trend, alpha: float) -> list[Cell]:
    limits = "" if math.isnan(found.low) else f"[{_signed(found.low)}, {_signed(found.high)}]"
    mark = "†" if found.significant(alpha) else ""
    return [
        Cell(run),
        Cell(measure, names=("name",)),
        Cell(_signed(found.slope), limits, _sortable(found.slope), mark),
        Cell(p_text(found.test.p), value=_sortable(found.test.p)),
        _number_cell(found.first, ".3f"),
        _number_cell(found.last, ".3f"),
        _number_cell(-found.drop, "+.0%"),
    ]


def _number_cell(value: float, how: str) -> Cell:
    text = "–" if math.isnan(value) else format(value, how).replace("-", "−")
    return Cell(text, value=_sortable(value))


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def _sortable(value: float) -> float | None:
    return None if math.isnan(value) else value


def _compared(study: TimelineStudy) -> Section:
    measure = study.runs[0].measures[0]
    body = [
        _paragraph(
            f"The best system by {measure} with those next to it. Each slice is as wide as its "
            "weight, so the area under a system's line is its score, and the areas between two "
            "lines add up to their difference. A pair that changes places from one weighting to "
            "the other is good at different times: in bursts, or between them."
        ),
        _figures(study, "areas"),
    ]
    return "compared", "Two systems, slice by slice", join(body)


# --- slices ---------------------------------------------------------------------------------


def _slices(study: TimelineStudy) -> Section:
    slices = study.runs[0].cells.slices
    if len(slices) > MOST_SLICES:
        body = _paragraph(
            f"There are {len(slices):,} slices, too many for a page; --per-slice --csv lists them."
        )
    else:
        body = join(_slice_table(study.runs, measure) for measure in study.runs[0].measures)
    return "slices", "Scores by slice", body


def _slice_table(runs: Sequence[StreamScores], measure: Measure) -> Html:
    cells = runs[0].cells
    queries = np.bincount(cells.slice, minlength=len(cells.slices))
    relevant = np.bincount(cells.slice, cells.relevant, len(cells.slices)).astype(np.int64)
    values = np.stack([scores.by_slice(measure) for scores in runs], axis=1)
    columns = [
        Column("slice", "its start, UTC", number=False),
        Column("queries", "with relevant documents in it"),
        Column("relevant", "documents"),
        *(Column(scores.run) for scores in runs),
    ]
    rows = [
        [
            Cell(cells.slices.labels[at], names=("number",)),
            Cell(f"{queries[at]:,}", value=float(queries[at])),
            Cell(f"{relevant[at]:,}", value=float(relevant[at])),
            *(_number_cell(float(value), ".4f") for value in values[at]),
        ]
        for at in range(len(cells.slices))
    ]
    caption = f"{measure}, means over queries in each slice"
    inside = element("div", table(caption, columns, rows), class_="tall")
    return element("details", element("summary", escaped(f"{measure} in each slice")), inside)


# --- official scores and ledger -------------------------------------------------------------


def _official(tables: Mapping[str, pl.DataFrame]) -> Section:
    parts = [
        _paragraph(
            "A document is accepted if its confidence is greater than the cut-off. F1 of means is "
            "of the mean precision and mean recall; a run that returns nothing also gets a "
            "scaled utility (SU)."
        )
    ]
    for name, scores in tables.items():
        grid = official_grid(scores)
        columns = [Column(head, number=at not in grid.left) for at, head in enumerate(grid.head)]
        rows = [
            [
                Cell(text) if at in grid.left else Cell(text, value=_value(text))
                for at, text in enumerate(row)
            ]
            for row in grid.rows
        ]
        parts.append(table(f"Official scores, best cut-offs by {name}", columns, rows))
    return "official", "Official scores of TREC KBA", join(parts)


def _ledger(study: TimelineStudy) -> Section:
    cells = study.runs[0].cells
    notes = [f"{note[:1].upper()}{note[1:]}." for note in judged_ledger(cells).notes()]
    notes += [f"{s.run}: {note}." for s in study.runs for note in s.ledger.notes()]
    columns = [
        Column("run", number=False),
        Column("documents", "lines of the run"),
        Column("measured", "documents in scored pairs of query and slice"),
        Column("judged", "how many of these are judged"),
        Column("elsewhere", "in slices without relevant documents for their query"),
        Column("outside", "in no slice"),
        Column("no judgements", "documents of queries that nobody judged"),
        Column("untimed", "documents without a time"),
        Column("pairs", "of query and slice that are scored"),
        Column("silent", "such pairs in which the run returned nothing, which score 0"),
    ]
    rows = []
    for ledger in (scores.ledger for scores in study.runs):
        counts = (
            ledger.lines, ledger.measured, ledger.judged, ledger.elsewhere, ledger.outside,
            ledger.unjudged, ledger.untimed, ledger.cells, ledger.silent,
        )  # fmt: skip
        rows.append([Cell(ledger.run), *(Cell(f"{n:,}", value=float(n)) for n in counts)])
    body = (_items(notes), table("What the runs gave, and where it is", columns, rows))
    return "ledger", "What the scores rest on", join(body)
