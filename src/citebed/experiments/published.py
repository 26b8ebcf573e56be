"""Reproduce the tables of three papers: published figures beside those computed here.

Boudin (2021), ACM-CR: a manually annotated test collection for citation recommendation. Ritchie,
Robertson & Teufel (2007), Creating a test collection: relevance judgements of cited & non-cited
papers. Dietz, Dalton & Balog (2013), Time-aware evaluation of cumulative citation recommendation
systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import UnknownName
from citebed.evaluation.contrasts.contrast import contrast
from citebed.evaluation.options import CONTRASTED, Design
from citebed.evaluation.scoring.comparison import Comparison, compare
from citebed.evaluation.scoring.evaluation import evaluate
from citebed.frames import FlatRow
from citebed.report.tables import DAGGER, Table, text_table
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.runs.tables import Run
from citebed.timeline.timelines import Timeline, timeline
from citebed.wording import count


@dataclass(frozen=True)
class Figure(FlatRow):
    """A published figure and the value computed here; nan if one is missing.

    ``name`` and ``column`` are the headings of row and column. ``mark`` is a dagger if the computed
    difference is significant.
    """

    table: str
    name: str
    column: str
    published: float
    value: float
    mark: str = ""


@dataclass(frozen=True)
class Published:
    """Published tables with the values computed here, and notes on them."""

    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def tables(self) -> Iterator[Table]:
        """Yield each table, with a published and a computed value in each cell."""
        for name in dict.fromkeys(figure.table for figure in self.figures):
            figures = [figure for figure in self.figures if figure.table == name]
            columns = list(dict.fromkeys(figure.column for figure in figures))
            cells = {(of.name, of.column): (_shown(of.published), _shown(of.value) + of.mark)
                     for of in figures}  # fmt: skip
            head = [f"{column}, {of}" for column in columns for of in ("published", "here")]
            rows = [
                [row, *(text for column in columns for text in cells[row, column])]
                for row in dict.fromkeys(figure.name for figure in figures)
            ]
            yield text_table(["", *head], rows, caption=name)


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


# --- ACM-CR (2021) ----------------------------------------------------------------------------

ACM_CR_QUERIES = ("paragraphs", "sentences")
ACM_CR_MEASURES = {"R@10": "recall@10", "nDCG@10": "nDCG@10"}
ACM_CR_OPTIONS = RunOptions(depth=20, as_is=True)
ACM_CR_MODELS = {
    "BM25": "bm25(lengths=lucene)",
    "SciBERT": 'bm25(lengths=lucene)+rerank(with="{encoder}")',
    "BM25 + SciBERT": 'bm25(lengths=lucene)+sum(with="{encoder}")',
}
ACM_CR_TABLE_2 = {
    ("paragraphs", "BM25"): (0.3358, 0.2827),
    ("paragraphs", "SciBERT"): (0.3397, 0.2307),
    ("paragraphs", "BM25 + SciBERT"): (0.3440, 0.2937),
    ("sentences", "BM25"): (0.3903, 0.3156),
    ("sentences", "SciBERT"): (0.3340, 0.1761),
    ("sentences", "BM25 + SciBERT"): (0.4030, 0.3231),
}
ACM_CR_DOCUMENTS = 114_882


def acm_cr(
    collection: str | Path | Collection, encoder: Path | None = None, progress: Progress = SILENT
) -> Published:
    """Reproduce Table 2 of Boudin (2021): BM25 without cleaning, and re-ranked by SciBERT.

    ``encoder`` is the folder of SciBERT's weights; without it, its rows stay empty.
    """
    opened = open_collection(collection)
    for name in ACM_CR_QUERIES:
        if name not in opened.query_sets:
            raise UnknownName("query set", name, opened.query_sets)
    index = open_index(opened, verified=True)
    models = {
        name: model.format(encoder=encoder)
        for name, model in ACM_CR_MODELS.items()
        if encoder is not None or "{encoder}" not in model
    }
    figures: list[Figure] = []
    for kind in ACM_CR_QUERIES:
        queries, qrels = _under_authors_ids(opened, kind)
        runs = {
            name: run_queries(opened, index, queries, model, ACM_CR_OPTIONS, progress)
            for name, model in models.items()
        }
        figures += _table_2(kind, qrels, runs)
    documents = count(len(index.ids), "document")
    return Published(tuple(figures), (f"{documents}; the paper has {ACM_CR_DOCUMENTS:,}",))


def _table_2(kind: str, qrels: pl.DataFrame, runs: Mapping[str, Run]) -> Iterator[Figure]:
    evaluation = evaluate(qrels, runs, tuple(ACM_CR_MEASURES))
    tests: Iterable[Comparison] = ()
    if len(runs) > 1:
        tests = compare(evaluation, Design(baseline="BM25", test="t"))
    better = {(of.run, of.measure) for of in tests if of.significant and of.difference > 0}
    scores = {
        (of.run, str(summary.measure)): summary.value
        for of, summaries in zip(evaluation.runs, evaluation.summaries(None), strict=True)
        for summary in summaries
    }
    for (of, model), published in ACM_CR_TABLE_2.items():
        if of == kind:
            for (measure, column), figure in zip(ACM_CR_MEASURES.items(), published, strict=True):
                mark = DAGGER if (model, measure) in better else ""
                value = scores.get((model, measure), math.nan)
                yield Figure("Table 2", f"{kind}, {model}", column, figure, value, mark)


def _under_authors_ids(collection: Collection, kind: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return queries and judgements with the ids of ACM-CR's own TREC files.

    In these files two paragraphs of one paper share an id and so form one query, with the
    judgements of both and the text of the last.
    """
    shared = pl.col("query_id").str.replace(r"(:[^:.]*)-\d+$", "$1")
    queries = collection.queries(kind).with_columns(shared)
    qrels = collection.qrels(kind).table.with_columns(shared)
    return (
        queries.unique("query_id", keep="last", maintain_order=True),
        qrels.unique(("query_id", "doc_id"), keep="first", maintain_order=True),
    )


# --- Cited and non-cited papers (2007) --------------------------------------------------------

CITED_QUERIES = 82
CITED_OPTIONS = RunOptions(depth=100)
CITED_MODELS = {
    "Indri": "ql(mu=2500)",
    "Cosine": "cosine(tf=log)",
    "Okapi": "okapi",
    "KL": "kl(mu=1000)",
    "Okapi FB (J1)": 'okapi+feedback(from="{j1}",terms=20)',
    "Okapi FB (J1+2)": 'okapi+feedback(from="{j12}",terms=20)',
    "KL FB (J1)": 'kl(mu=1000)+feedback(from="{j1}",terms=20)',
    "KL FB (J1+2)": 'kl(mu=1000)+feedback(from="{j12}",terms=20)',
}
CITED_MEASURES = dict(zip(CONTRASTED, ("MAP", "P(5)", "R-P", "GMAP", "bpref"), strict=True))
CITED_TABLE_5 = {
    "Indri": (0.1182, 0.1592, 0.1049, 0.2610, 0.1322, 0.1823, 0.0090, 0.0370, 0.3570, 0.3107),
    "Cosine": (0.0704, 0.1275, 0.0537, 0.2024, 0.0700, 0.1431, 0.0039, 0.0282, 0.3314, 0.2654),
    "Okapi": (0.0717, 0.0830, 0.0439, 0.1146, 0.0577, 0.0957, 0.0008, 0.0024, 0.2565, 0.2000),
    "KL": (0.1112, 0.1654, 0.1049, 0.2683, 0.1194, 0.1857, 0.0088, 0.0399, 0.3725, 0.3209),
    "Okapi FB (J1)": (
        *(0.6816, 0.3425, 0.4634, 0.5171, 0.6447),
        *(0.3589, 0.3863, 0.1833, 0.8371, 0.4526),
    ),
    "Okapi FB (J1+2)": (
        *(0.3367, 0.4121, 0.2634, 0.5171, 0.3083),
        *(0.4230, 0.1078, 0.1985, 0.7081, 0.6064),
    ),
    "KL FB (J1)": (
        *(0.2362, 0.2303, 0.1610, 0.3244, 0.2430),
        *(0.2554, 0.0580, 0.1040, 0.5627, 0.3939),
    ),
    "KL FB (J1+2)": (
        *(0.1519, 0.2300, 0.1317, 0.3220, 0.1451),
        *(0.2450, 0.0278, 0.1023, 0.4842, 0.3934),
    ),
}
"""For each of ``CITED_MEASURES``, the score under J1 and then under J1+2."""


def cited_and_non_cited(
    collection: str | Path | Collection,
    topics: str | Path,
    j1: str | Path,
    j12: str | Path,
    progress: Progress = SILENT,
) -> Published:
    """Reproduce Table 5 of Ritchie, Robertson & Teufel (2007): eight runs under J1 and J1+2.

    ``j1`` and ``j12`` have the same queries: those with judgements of both phases.
    """
    opened = open_collection(collection)
    index = open_index(opened, verified=True)
    runs = {
        name: run_queries(
            opened, index, str(topics), model.format(j1=j1, j12=j12), CITED_OPTIONS, progress
        )
        for name, model in CITED_MODELS.items()
    }
    contrasted = contrast(j1, j12, runs)
    figures = []
    for name, published in CITED_TABLE_5.items():
        for at, (measure, column) in enumerate(CITED_MEASURES.items()):
            change = contrasted.change(name, measure)
            row, both = f"{name}, {column}", published[2 * at : 2 * at + 2]
            figures += [
                Figure("Table 5", row, "J1", both[0], change["before"]),
                Figure("Table 5", row, "J1+2", both[1], change["after"]),
            ]
    queries = count(len(contrasted.sets.query_ids), "query judged", "queries judged")
    notes = [f"{queries} in both sets; the paper has {CITED_QUERIES}", *contrasted.sets.notes]
    return Published(tuple(figures), tuple(notes))


# --- Time-aware evaluation (2013) -------------------------------------------------------------

TIME_AWARE_MEASURES = {"AP": "MAP", "nDCG@R": "NDCG@R", "Rprec": "R-Prec"}
TIME_AWARE_SLICES = {"7d": "MAP-weeks", "1d": "MAP-days"}
TIME_AWARE_WEIGHTS = {"uniform": "Table 2, even slices", "burst": "Table 3, slices by bursts"}
TIME_AWARE_TABLES = {
    "UvAIncLearnHigh": (0.512, 0.522, 0.504, 0.540, 0.619, 0.568, 0.640),
    "UDInfoKBA_WIKI1": (0.482, 0.600, 0.542, 0.527, 0.609, 0.537, 0.613),
    "lsisRFAI": (0.480, 0.573, 0.547, 0.523, 0.604, 0.546, 0.622),
    "google_dic_3": (0.454, 0.462, 0.455, 0.485, 0.621, 0.516, 0.631),
    "PC_RM10_1500": (0.438, 0.539, 0.523, 0.497, 0.591, 0.519, 0.602),
    "gslis_adaptive": (0.334, 0.587, 0.448, 0.365, 0.411, 0.386, 0.431),
    "wordNER500": (0.039, 0.244, 0.063, 0.061, 0.070, 0.051, 0.063),
    "ner_jaccard": (0.038, 0.090, 0.060, 0.038, 0.053, 0.052, 0.068),
    "disgraph2": (0.019, 0.027, 0.022, 0.031, 0.064, 0.033, 0.067),
}
"""By run: the three measures of Table 1, then weeks and days of Tables 2 and 3."""


def time_aware(judgements: Any, runs: Any, teams: bool | str | Path = True) -> Published:
    """Reproduce Tables 1 to 3 of Dietz, Dalton & Balog (2013): the best run of each team.

    Table 1 scores one batch; Tables 2 and 3 score weeks and days, weighted evenly and by bursts.
    """

    def scored(slices: str, weight: Sequence[str], measures: Sequence[str]) -> Timeline:
        return timeline(
            judgements, runs, slices=slices, weight=weight, measures=measures, teams=teams,
            graded=False, units=None,
        )  # fmt: skip

    batch = scored("all", ["uniform"], tuple(TIME_AWARE_MEASURES))
    cut = {each: scored(each, tuple(TIME_AWARE_WEIGHTS), ("AP",)) for each in TIME_AWARE_SLICES}
    columns: list[tuple[str, str, Timeline, str, str]] = [
        ("Table 1, one batch", column, batch, measure, "uniform")
        for measure, column in TIME_AWARE_MEASURES.items()
    ]
    for weight, table in TIME_AWARE_WEIGHTS.items():
        for slices, column in TIME_AWARE_SLICES.items():
            columns.append((table, column, cut[slices], "AP", weight))
    figures = []
    for at, (table, column, scores, measure, weight) in enumerate(columns):
        means = scores.table.filter(measure=measure, weight=weight)
        values = dict(means.select("run", "value").iter_rows())
        for of in batch.runs:
            published = TIME_AWARE_TABLES.get(of.run)
            figure = published[at] if published else math.nan
            row = f"{of.team}, {of.run}" if of.team else of.run
            figures.append(Figure(table, row, column, figure, values[of.run]))
    return Published(tuple(figures), tuple(batch.notes()))
