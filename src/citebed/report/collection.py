"""Tables of the statistics of a collection and its index, for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from citebed.collection import Collection
from citebed.collection.statistics import MEANS, CollectionStatistics, Number, collect_statistics
from citebed.frames import TableResult
from citebed.report.tables import Table, fold, screen_width, text_table
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import DESCRIPTION, FOLDER, DamagedIndex
from citebed.retrieval.index.statistics import (
    FREQUENT,
    IndexReport,
    IndexStatistics,
    index_rows,
    index_statistics,
)
from citebed.wording import count, for_terminal, printable

_NAME_WIDTH = 58
_NOTE_WIDTH = 80
_SHARES = ("number", "share")
_SPREADS = ("number", "mean", "least", "most", "share")
_SHORTER = (
    ("International", "Intl."),
    ("Conference", "Conf."),
    ("Symposium", "Symp."),
    ("Proceedings", "Proc."),
    ("Transactions", "Trans."),
    ("Journal", "J."),
    ("Information", "Inf."),
    ("Computing", "Comp."),
    ("Research and Development", "R&D"),
)


def short_name(name: str, width: int) -> str:
    """Shorten a name to ``width`` characters: abbreviate common words, then cut the end."""
    for long, short in _SHORTER:
        if len(name) <= width:
            return name
        name = name.replace(long, short)
    if len(name) <= width:
        return name
    cut = name[: width - 1]
    words = cut.rsplit(" ", 1)[0].rstrip(" ,;:.-") or cut
    return re.sub(r"(?: (?:and|for|in|of|on|the))+$", "", words) + "…"


def statistics_text(
    statistics: CollectionStatistics,
    index: IndexStatistics | None = None,
    width: int | None = None,
) -> str:
    """Write all tables below a line with the main numbers, for a width in characters."""
    width = screen_width() if width is None else width
    lines = _NOTE_WIDTH if width is None else width
    parts = ["\n".join(fold(for_terminal(_header(statistics)), lines)) + "\n"]
    for table in collection_tables(statistics, index):
        note = "".join(f"{line}\n" for line in fold(table.note, min(lines, _NOTE_WIDTH)) if line)
        title = "\n".join(fold(for_terminal(table.caption), lines))
        parts.append(f"{title}\n{table.text(width, rule=True)}{note}")
    return "\n".join(parts)


def collection_tables(
    statistics: CollectionStatistics, index: IndexStatistics | None = None
) -> list[Table]:
    """Return all tables that are not empty."""
    made = [
        _passages(statistics) if statistics.lengths else None,
        _documents(statistics),
        _references(statistics) if statistics.per_paper else None,
        _venues(statistics) if statistics.counts("venues") else None,
        *(_query_set(statistics, name) for name in statistics.query_sets),
        _import(statistics),
        index_table(index) if index else None,
    ]
    return [table for table in made if table is not None]


def table1(statistics: CollectionStatistics) -> Table:
    """Make Table 1 of ACM-CR (Boudin 2021): numbers of contexts, and means per context.

    The means count tokens, characters (without blanks between sentences) and citations, including
    repeated ones. Only citing sentences count.
    """
    rows = []
    for name in statistics.lengths:
        for part, what in (("citing", "citing"), ("usable", "usable as queries")):
            number, tokens, characters, _, mentions = _passage_cells(statistics, name, part)
            rows.append([f"{name}, {what}", number, tokens, characters, mentions])
    return text_table(["contexts", "#", "tokens", "characters", "citations"], rows)


# --- cells ---


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def _mean(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _share(part: int, whole: int) -> str:
    """Format a percentage; it is 0 or 100 only if it is so exactly."""
    if not whole:
        return ""
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.1f} %"


def _row(name: str, *cells: str | int, indent: int = 0) -> list[str]:
    shown = (cell if isinstance(cell, str) else _count(cell) for cell in cells)
    return [" " * indent + name, *shown]


def _count_rows(counts: Iterable[tuple[str, int]], whole: int, indent: int = 0) -> list[list[str]]:
    return [
        _row(short_name(name, _NAME_WIDTH), number, _share(number, whole), indent=indent)
        for name, number in counts
    ]


def _table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    note: str = "",
    corner: str = "",
) -> Table:
    """Make a table with names in the first column; rows may be incomplete."""
    whole = ([*row, *[""] * (len(heads) + 1 - len(row))] for row in rows)
    return replace(text_table([corner, *heads], whole, caption=title), note=note)


# --- tables ---


def _header(statistics: CollectionStatistics) -> str:
    line = [count(statistics.count("documents", "count"), "document")]
    if statistics.per_paper:
        line.append(count(len(statistics.per_paper), "citing paper"))
    queries = sum(statistics.count(name, "usable") for name in statistics.lengths)
    queries += sum(statistics.count(f"query set {n}", "queries") for n in statistics.query_sets)
    line.append(count(queries, "query"))
    return f"{statistics.name}  {', '.join(line)}"


def _passages(statistics: CollectionStatistics) -> Table:
    heads = ("number", *MEANS)
    note = (
        "Means per passage. Tokens are words and marks; citations are distinct references, "
        "mentions count each time. Usable: cites something in the collection."
    )
    rows = [
        row
        for name in statistics.lengths
        for row in (
            _row(name.capitalize(), *_passage_cells(statistics, name, "all")),
            _row("citing", *_passage_cells(statistics, name, "citing"), indent=2),
            _row("usable as queries", *_passage_cells(statistics, name, "usable"), indent=2),
            _row("pairs with documents", statistics.count(name, "pairs"), indent=2),
        )
    ]
    return _table("Paragraphs and sentences", heads, rows, note)


def _passage_cells(statistics: CollectionStatistics, name: str, part: str) -> list[str]:
    """Return the number of passages, and the means of `MEANS`."""
    numbers = statistics.groups[name]
    digits = {"tokens": 1, "characters": 1, "citations": 2, "mentions": 2}
    means = (_mean(numbers[f"{mean} per passage, {part}"].value, digits[mean]) for mean in MEANS)
    return [_count(numbers[part].value), *means]


def _documents(statistics: CollectionStatistics) -> Table:
    total = statistics.count("documents", "count")
    having = [item for item in statistics.counts("documents") if item[0].startswith("with ")]
    types = [(f"of type {name}", number) for name, number in statistics.counts("types")]
    languages = [(f"in language {name}", number) for name, number in statistics.counts("languages")]
    rows = [_row("All", total), *_count_rows((*having, *types, *languages), total, indent=2)]
    words = statistics.groups["documents"]["words per abstract"].value
    rows.append(_row("Words per abstract", _mean(words)))
    if statistics.years:
        rows.append(_row("Years", f"{statistics.years[0][0]}–{statistics.years[-1][0]}"))
    rows += [_row(f"Links: {name}", number) for name, number in statistics.counts("links")]
    return _table("Documents", _SHARES, rows)


def _references(statistics: CollectionStatistics) -> Table:
    numbers = statistics.groups["references"]
    total, found = (statistics.count("references", name) for name in ("count", "found"))
    spread, share = _spread_cells(numbers, "found per paper"), _share(found, total)
    rows = [
        _row("Citing papers", len(statistics.per_paper)),
        _row("References", total, *_spread_cells(numbers, "per paper")),
        _row("found in the collection", found, *spread, share, indent=2),
        *(
            _row(name, number, "", "", "", _share(number, total), indent=2)
            for name, number in statistics.counts("unfound")
        ),
    ]
    mean = numbers["coverage, mean of papers"].value
    note = "" if mean is None else f"A paper's own share found is {mean:.1%} on average."
    return _table("Reference lists", _SPREADS, rows, note)


def _spread_cells(numbers: Mapping[str, Number], what: str) -> list[str]:
    least, most = (_count(numbers[f"{what}, {name}"].value) for name in ("least", "most"))
    return [_mean(numbers[f"{what}, mean"].value, 2), least, most]


def _venues(statistics: CollectionStatistics) -> Table:
    venues, every = statistics.counts("venues"), statistics.count("documents", "venues")
    title = "Venues" if len(venues) == every else f"The {len(venues)} largest of {every:,} venues"
    return _table(title, _SHARES, _count_rows(venues, statistics.count("documents", "count")))


def _query_set(statistics: CollectionStatistics, name: str) -> Table:
    group = f"query set {name}"
    queries, judged_queries, judged, relevant = (
        statistics.count(group, what)
        for what in ("queries", "judged queries", "judged pairs", "relevant pairs")
    )
    spread = _spread_cells(statistics.groups[group], "relevant per query")
    rows = [
        _row("Queries", queries),
        _row("judged", judged_queries, indent=2),
        _row("Judged pairs", judged),
        _row("relevant", relevant, *spread, _share(relevant, judged), indent=2),
        *(
            _row(f"grade {grade}", number, "", "", "", _share(number, judged), indent=2)
            for grade, number in statistics.counts(f"grades {name}")
        ),
    ]
    return _table(f"Query set {name}", _SPREADS, rows)


def _import(statistics: CollectionStatistics) -> Table:
    files, records, merged = (
        statistics.count("import", name) for name in ("files", "records", "merged")
    )
    used = ("kept as documents", statistics.count("documents", "count"))
    aside = ((f"left out: {why}", number) for why, number in statistics.counts("set aside"))
    rows = [
        _row("Files", files),
        *_count_rows(statistics.counts("formats"), files, indent=2),
        _row("Bibliographic records", records),
        *_count_rows((used, ("merged into another", merged), *aside), records, indent=2),
        *(_row(f"Problems: {kind}", number) for kind, number in statistics.counts("problems")),
    ]
    return _table("Import", _SHARES, rows)


# --- its index ---


def index_table(statistics: IndexStatistics) -> Table:
    """Make the table of an index: each field, and all of the documents' own text."""
    state = "" if statistics.current else ", the collection has changed since"
    title = f"Index ({statistics.analyser}, {statistics.bytes / 1e6:.1f} MB{state})"
    heads = ["documents", "tokens", "unique terms", f"in > {FREQUENT:,} documents"]
    label = "all but citing" if any(f.name == "citing" for f in statistics.fields) else "all"
    rows = [
        *(
            _row(field.name, field.documents, field.tokens, field.terms)
            for field in statistics.fields
        ),
        _row(label, statistics.documents, statistics.tokens, statistics.terms, statistics.frequent),
    ]
    return _table(title, heads, rows, corner="field")


# --- the result for Python ----------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class CollectionStats(TableResult):
    """Statistics of a collection and its index, if it has one; notes say if it is damaged."""

    collection: CollectionStatistics
    index: IndexStatistics | None = None
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Flat rows as ``--json`` prints them."""
        return [*self.collection.rows(), *(index_rows(self.index) if self.index else ())]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def main_table(self) -> pl.DataFrame:
        """Return all rows, with integers as such and other numbers to two decimals."""
        value, whole = pl.col("value"), pl.col("value").cast(pl.Int64, strict=False)
        text = pl.when(value == whole).then(whole.cast(pl.String)).otherwise(value.round(2))
        return self.table.with_columns(text, pl.col("share").round(2))


def collection_stats(collection: Collection, tally: pl.DataFrame | None = None) -> CollectionStats:
    """Compute statistics of a collection and its index; ``tally`` has counts made on workers."""
    numbers = collect_statistics(collection, tally=tally)
    if not (collection.folder / FOLDER / DESCRIPTION).exists():
        return CollectionStats(numbers)
    try:
        return CollectionStats(numbers, index_statistics(open_index(collection)))
    except DamagedIndex as error:
        return CollectionStats(numbers, notes=(str(error),))


IndexState = Literal["none", "current", "old", "damaged"]
_SAID: dict[IndexState, str] = {
    "none": "not indexed yet",
    "current": "index up to date",
    "old": "index out of date",
    "damaged": "index damaged",
}


@dataclass(frozen=True)
class CollectionState:
    """A collection's counts; ``queries`` has a count per query set.

    ``skipped`` of the ``problems`` could not be read at all.
    """

    name: str
    documents: int
    papers: int
    queries: dict[str, int]
    index: IndexState
    problems: int
    skipped: int

    def row(self) -> dict[str, Any]:
        """Return a row with texts for display."""
        return {**vars(self), "index_said": _SAID[self.index], "said": self.said()}

    def said(self) -> list[str]:
        """Return the counts as short phrases."""
        sets = [f"{number:,} {name}" for name, number in self.queries.items() if number]
        papers = [count(self.papers, "citing paper")] if self.papers else []
        asked = [f"queries: {', '.join(sets)}"] if sets else []
        return [count(self.documents, "document"), *papers, *asked]


def collection_state(collection: Collection) -> CollectionState:
    """Return the state of a collection."""
    index: IndexState = "none"
    if (collection.folder / FOLDER / DESCRIPTION).exists():
        try:
            index = "current" if open_index(collection).is_current() else "old"
        except DamagedIndex:
            index = "damaged"
    return CollectionState(
        collection.name,
        collection.scan_documents().select("doc_id").collect().height,
        collection.papers.height,
        {name: collection.queries(name).height for name in collection.query_sets},
        index,
        collection.problems.height,
        collection.problems.filter(kind="skipped").height,
    )


def index_lines(collection: Path, report: IndexReport) -> list[str]:
    """Return the report, one sentence per line."""
    size = f"{report.bytes / 1e6:.1f} MB"
    name = printable(collection)
    if report.unchanged:
        state = f"{name}: the index is up to date ({count(report.documents, 'document')})"
        return [state, *_vector_lines(name, report)]
    if not report.documents:
        return [f"{name}: there are no documents to index; run: citebed import {name} FILES…"]
    kept = report.documents - report.counted
    lines = [
        f"{name}: indexed {count(report.documents, 'document')}, "
        f"{count(report.terms, 'term')}, {count(report.postings, 'posting')}, {size}"
    ]
    if report.analyser != "english":
        lines.append(f"words become terms by the analyser {report.analyser}")
    if kept:
        lines.append(f"{count(report.counted, 'document')} new or changed, {kept:,} as before")
    if report.contexts:
        lines.append(f"citing text: {count(report.contexts, 'context')}")
    if report.contexts_elsewhere:
        what = count(report.contexts_elsewhere, "context")
        lines.append(f"{what} of the files cite papers outside the collection")
    return lines + _vector_lines(name, report)


def _vector_lines(name: str, report: IndexReport) -> list[str]:
    made = ((report.embedded, "the static model"), (report.encoded, "the encoder"))
    by = [f"{number:,} made by {model}" for number, model in made if number]
    # The vectors of the static model take no extra time.
    seconds = f" in {report.vector_seconds:.1f} s" if report.encoded else ""
    size = f"{report.vector_bytes / 1e6:.1f} MB"
    lines = [f"vectors: {' and '.join(by)}{seconds}, {size}"] if by else []
    if report.fitted_on or report.tuned_on:
        how = f"fitted on {count(report.fitted_on, 'sentence')} of this collection"
        if report.tuned_on:
            how = f"tuned on {count(report.tuned_on, 'question')}"
        share = report.words_share
        lines.append(f"weights {how}: words {share:.2f}, vectors {1 - share:.2f}")
    if report.vectors_gone:
        lines.append(
            "the earlier model of the word vectors is missing, so citebed used its own model. To "
            "use yours, add --static FILE"
        )
    if report.not_encoded:
        what = count(report.not_encoded, "document")
        lines.append(f"the encoder has not read {what} yet; run: citebed index {name} --neural")
    return lines
