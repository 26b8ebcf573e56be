"""An evaluation as one page: tables, interval plots, every query, and what the scores rest on."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from citebed._version import __version__
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparing import Comparison, Design
from citebed.evaluation.scoring.ledger import Ledger
from citebed.evaluation.scoring.summaries import Summary
from citebed.report.comparison_table import DAGGER, comparison_notes, p_text
from citebed.report.drawing import FileNames
from citebed.report.evaluation_figures import (
    Mean,
    by_query,
    interval_svg,
    measure_means,
    numbers,
)
from citebed.report.evaluation_queries import BUDGET, DEPTH, QueryData, Titles, query_data
from citebed.report.evaluation_study import Study
from citebed.report.html import (
    Cell,
    Column,
    Html,
    Page,
    element,
    escaped,
    inline_svg,
    join,
    json_block,
    render,
    svg_link,
    table,
)
from citebed.wording import count

Section = tuple[str, str, Html]


def no_titles(documents: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG001
    """For documents whose titles nobody knows."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Front:
    """What a page says of itself, and the texts it shows beside ids.

    ``command`` is how the page was made; ``budget`` limits the characters of data by query.
    """

    title: str
    command: str
    texts: Mapping[str, str] = field(default_factory=dict)
    titles: Titles = no_titles
    budget: int = BUDGET


def evaluation_page(study: Study, front: Front) -> str:
    """The page: HTML with its style, script and data, which loads nothing from anywhere.

    With one run there is no comparison, and nothing to lay side by side: its queries are shown
    alone.
    """
    sections: list[Section] = [_data(study), _scores(study)]
    if study.comparisons:
        sections.append(_comparison(study))
    data = Html("")
    if by_query(study.plan.measures):
        queries = query_data(study, front.texts, front.titles, front.budget)
        sections.append(_by_query(queries))
        data = json_block("query-data", queries.data)
    sections.append(_ledger([scores.ledger for scores in study.evaluation.runs]))
    foot = _paragraph(f"Made by citebed {__version__}. This file loads nothing.")
    scripts = ("tables.js", "queries.js")
    return render(Page(front.title, _lead(front), sections, foot, data, scripts))


def _paragraph(text: str, **values: str) -> Html:
    return element("p", escaped(text), **values)


def _items(lines: Iterable[str]) -> Html:
    return element(
        "ul", join(element("li", element("bdi", escaped(line))) for line in lines), class_="notes"
    )


def _lead(front: Front) -> Html:
    versions = [("Python", platform.python_version())]
    versions += [(name, version(name)) for name in ("numpy", "polars", "scipy")]
    made = ", ".join(f"{name} {number}" for name, number in versions)
    return join(
        (
            element("pre", element("code", escaped(front.command)), tabindex="0"),
            _paragraph(f"citebed {__version__} ({made})", class_="quiet"),
        )
    )


# --- data and scores ------------------------------------------------------------------------


def _data(study: Study) -> Section:
    judged = study.judged
    grades, counts = np.unique(judged.relevance, return_counts=True)
    each = ", ".join(f"grade {g}: {n:,}" for g, n in zip(grades, counts, strict=True))
    queries, relevant = len(judged.query_ids), int((judged.relevance > 0).sum())
    facts = [
        f"Judgements {judged.name}: {count(queries, 'query')}, "
        f"{count(len(judged.relevance), 'document')} judged, {relevant:,} of them relevant "
        f"({each}), {relevant / max(queries, 1):.1f} a query."
    ]
    for run in study.runs:
        queries = run.table["query_id"].n_unique()
        facts.append(
            f"Run {run.name}: {count(run.table.height, 'document')} for "
            f"{count(queries, 'query')}, "
            f"{run.table.height / max(queries, 1):,.0f} a query."
        )
    return "data", "Data", _items(facts)


def _scores(study: Study) -> Section:
    columns = [Column("run", number=False), Column("queries")]
    columns += [Column(str(m), _about(m)) for m in study.plan.measures]
    rows = [
        [Cell(scores.run), Cell(str(scores.ledger.measured), value=scores.ledger.measured)]
        + [_summary_cell(summary) for summary in summaries]
        for scores, summaries in zip(study.evaluation.runs, study.summaries, strict=True)
    ]
    parts = [
        table("Means of the runs, with their intervals", columns, rows),
        _paragraph(_how_drawn(study), class_="quiet"),
        element("h3", escaped("Intervals")),
        element("div", *_interval_plots(study), class_="plots"),
    ]
    return "scores", "Scores", join(parts if measure_plots(study) else parts[:2])


def _about(measure: Measure) -> str:
    first = (type(measure).__doc__ or "").strip().split("\n")[0]
    return first if measure.SUMMARY == "mean" else f"{first} ({measure.SUMMARY} over queries)"


def _summary_cell(summary: Summary) -> Cell:
    if summary.measure.SUMMARY == "sum":
        return Cell(f"{summary.value:.0f}", value=summary.value)
    limits = "" if math.isnan(summary.low) else f"[{summary.low:.4f}, {summary.high:.4f}]"
    return Cell(_number(summary.value, ".4f"), limits, _sortable(summary.value))


def _how_drawn(study: Study) -> str:
    resampling = study.plan.resampling
    drawn = "whole clusters of queries" if resampling.clusters is not None else "queries"
    averaged = (
        "Means are over all judged queries; one that a run lacks counts 0."
        if study.plan.settings.complete
        else "Means are over the queries that are judged and in the run."
    )
    return (
        f"{averaged} In brackets: {resampling.level:.0%} bootstrap intervals, which draw {drawn} "
        f"(seed {resampling.seed}). Two runs whose intervals overlap may still differ: they are "
        "compared query by query."
    )


def measure_plots(study: Study) -> dict[Measure, list[Mean]]:
    """What the interval plots show: for each measure the runs' means."""
    return measure_means([run.name for run in study.runs], study.summaries)


def _interval_plots(study: Study) -> list[Html]:
    names = FileNames()
    baseline = study.plan.design.baseline if len(study.runs) > 1 else None
    plots = []
    for at, (measure, means) in enumerate(measure_plots(study).items()):
        drawn = interval_svg(str(measure), means, baseline)
        said = "; ".join(f"{mean.run} {numbers(mean)}" for mean in means)
        plot = inline_svg(drawn, f"plot{at}", f"{measure}, means with intervals: {said}")
        link = svg_link(drawn, f"{names('intervals', str(measure))}.svg")
        plots.append(
            element(
                "figure",
                element(
                    "div", plot, class_="box", tabindex="0", role="group", aria_label=str(measure)
                ),
                element("figcaption", link),
            )
        )
    return plots


# --- comparison -----------------------------------------------------------------------------


def _comparison(study: Study) -> Section:
    found, design = study.comparisons, study.plan.design
    against = "" if design.baseline is None else f" with {design.baseline}"
    caption = f"Runs compared{against}, query by query; {DAGGER} marks significant differences"
    columns = _comparison_columns(design)
    body = [
        table(caption, columns, [_comparison_row(comparison, design) for comparison in found]),
        _items(comparison_notes(found, design.alpha)),
    ]
    return "comparison", "Comparison", join(body)


def _comparison_columns(design: Design) -> list[Column]:
    """What is the same in all rows, the base or a correction that is none, has no column."""
    base = [] if design.baseline else [Column("base", number=False)]
    adjusted = [] if design.correction == "none" else [Column("p adjusted")]
    return [
        Column("measure", number=False), *base, Column("run", number=False),
        Column("base's"), Column("run's"),
        Column("difference", "run less base, with its interval"),
        Column("d", "standardised difference"),
        Column("w/t/l", "queries won, tied, lost"), Column("p"), *adjusted,
        Column("can show", "the smallest difference so many queries show with 80% power"),
    ]  # fmt: skip


def _comparison_row(of: Comparison, design: Design) -> list[Cell]:
    limits = "" if math.isnan(of.low) else f"[{_number(of.low, '+.4f')}, "
    limits += "" if math.isnan(of.high) else f"{_number(of.high, '+.4f')}]"
    mark = DAGGER if of.significant else ""
    adjusted = Cell(p_text(of.p_adjusted), value=_sortable(of.p_adjusted))
    return [
        Cell(of.measure),
        *([] if design.baseline else [Cell(of.base, names=("name",))]),
        Cell(of.run, names=("name",)),
        Cell(_number(of.base_value, ".4f"), value=_sortable(of.base_value)),
        Cell(_number(of.value, ".4f"), value=_sortable(of.value), mark=mark),
        Cell(_number(of.difference, "+.4f"), limits, _sortable(of.difference)),
        Cell(_number(of.effect, "+.2f"), value=_sortable(of.effect)),
        Cell(f"{of.wins}/{of.ties}/{of.losses}", value=of.wins - of.losses),
        Cell(p_text(of.p), value=_sortable(of.p)),
        *([] if design.correction == "none" else [adjusted]),
        Cell(_number(of.smallest, ".4f"), value=_sortable(of.smallest)),
    ]


def _sortable(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float, how: str) -> str:
    """With a real minus sign; a dash for no number."""
    return "–" if math.isnan(value) else format(value, how).replace("-", "−")


# --- query by query -------------------------------------------------------------------------


def _by_query(queries: QueryData) -> Section:
    kept = (
        ("The query is here" if queries.total == 1 else f"All {queries.total:,} queries are here")
        if queries.kept == queries.total
        else f"Of {queries.total:,} queries the {queries.kept:,} whose scores differ most between "
        "the runs are here, for the page would grow too large with all (the tables above are "
        "of all)"
    )
    alone = len(queries.data["runs"]) == 1
    what = "the ranking" if alone else "both rankings"
    body = [
        _paragraph(
            f"{kept}. Choose one in the chart or in the table to see {what}: the first {DEPTH} "
            "documents, what is relevant among them, and which relevant ones are missing."
        ),
        element("noscript", _paragraph("This part of the page needs JavaScript.")),
        element("div", id="queries"),
    ]
    return "by-query", "Query by query", join(body)


# --- ledger ---------------------------------------------------------------------------------


def _ledger(ledgers: Sequence[Ledger]) -> Section:
    notes = [f"{ledger.run}: {note}." for ledger in ledgers for note in ledger.notes()]
    if len({ledger.measured for ledger in ledgers}) > 1:
        notes.append("The runs are averaged over different queries; --complete averages over all.")
    if not notes:
        notes = [
            "Every judged query is in every run, every query of the runs is judged and has a "
            "relevant document, and no tie between scores crosses relevance."
        ]
    body = [_items(notes), _counts(ledgers), _unjudged(ledgers)]
    if any(ledger.ties for ledger in ledgers):
        body.append(_tie_spans(ledgers))
    return "ledger", "What the scores rest on", join(body)


def _counts(ledgers: Sequence[Ledger]) -> Html:
    columns = [
        Column("run", number=False),
        Column("judged", "queries with judgements"), Column("in run", "queries in the run"),
        Column("measured", "queries that the means are over"),
        Column("missing", "judged queries that the run lacks"),
        Column("not judged", "queries of the run without judgements"),
        Column("none relevant", "measured queries to which no document is relevant"),
        Column("documents", "retrieved for judged queries"),
        Column("ties", "groups of equal scores whose documents differ in relevance"),
        Column("documents tied"),
    ]  # fmt: skip
    rows = []
    for of in ledgers:
        whole = (
            of.judged, of.in_run, of.measured, of.missing, of.unjudged, of.without_relevant,
            of.retrieved, of.ties, of.tied,
        )  # fmt: skip
        rows.append([Cell(of.run), *(Cell(f"{number:,}", value=number) for number in whole)])
    return table("Queries, documents and ties", columns, rows)


def _unjudged(ledgers: Sequence[Ledger]) -> Html:
    columns = [Column("run", number=False), *(Column(m.measure) for m in ledgers[0].measures)]
    rows = [
        [
            Cell(ledger.run),
            *(
                Cell(
                    f"{m.unjudged / max(m.looked_at, 1):.0%}",
                    f"{m.unjudged:,} of {m.looked_at:,}",
                    m.unjudged / max(m.looked_at, 1),
                )
                for m in ledger.measures
            ),
        ]
        for ledger in ledgers
    ]
    return table("Documents that nobody judged, among those each measure looks at", columns, rows)


def _tie_spans(ledgers: Sequence[Ledger]) -> Html:
    columns = [Column("run", number=False), *(Column(m.measure) for m in ledgers[0].measures)]
    rows = [
        [
            Cell(ledger.run),
            *(
                Cell(f"{m.lowest:.4f} to {m.highest:.4f}", value=m.highest - m.lowest)
                for m in ledger.measures
            ),
        ]
        for ledger in ledgers
    ]
    return table("Means if ties were put in the worst and in the best order", columns, rows)
