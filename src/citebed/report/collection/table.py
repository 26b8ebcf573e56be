"""The statistics of a collection and of its index as tables for a terminal of 80 columns."""

from __future__ import annotations

import re

from rich import box
from rich.table import Table
from rich.text import Text

from citebed.collection.statistics import (
    CollectionStatistics,
    Counts,
    GivenSet,
    Means,
    Passages,
    References,
    Spread,
)
from citebed.report.grid import Grid
from citebed.retrieval.index.statistics import FREQUENT, IndexStatistics
from citebed.wording import count as counted

_NAME_WIDTH = 58
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
    """A name in at most ``width`` characters: usual words abbreviated, then the end cut off."""
    for long, short in _SHORTER:
        if len(name) <= width:
            return name
        name = name.replace(long, short)
    if len(name) <= width:
        return name
    cut = name[: width - 1]
    words = cut.rsplit(" ", 1)[0].rstrip(" ,;:.-") or cut
    return re.sub(r"(?: (?:and|for|in|of|on|the))+$", "", words) + "…"


def statistics_tables(statistics: CollectionStatistics) -> list[Table]:
    """One table for each thing there is to say; a table that would be empty is left out."""
    references = statistics.references
    made = [
        _header(statistics),
        _passages(statistics.passages),
        _documents(statistics),
        _references(references) if references else None,
        _venues(statistics),
        *(_given(given) for given in statistics.query_sets),
        _import(statistics),
    ]
    return [table for table in made if table is not None]


def table1(statistics: CollectionStatistics) -> Grid:
    """Table 1 of ACM-CR (Boudin 2021): contexts, those usable as queries, and what one has on
    average: tokens, characters (without blanks between sentences) and citations, each as often
    as it stands there. Sentences are those that cite.
    """
    rows = []
    for passages in statistics.passages:
        kinds = {"citing": passages.citing, "usable as queries": passages.usable}
        for name, means in kinds.items():
            averages = (means.tokens, means.characters)
            cells = [_count(means.count), *map(_mean, averages), _mean(means.mentions, 2)]
            rows.append([f"{passages.name}, {name}", *cells])
    return Grid(["contexts", "#", "tokens", "characters", "citations"], rows)


# --- cells ---


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _mean(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _share(part: int, whole: int) -> str:
    """A percentage that is 0 or 100 only where it is so exactly."""
    if not whole:
        return ""
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.1f} %"


def _table(title: str, *columns: str, caption: str | None = None) -> Table:
    table = Table(
        title=Text(f"\n{title}", style="bold"),
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("", min_width=18, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, *cells: str | int, indent: int = 0) -> None:
    # Text, not str: a name with square brackets is not markup.
    shown = (cell if isinstance(cell, str) else _count(cell) for cell in cells)
    table.add_row(Text(" " * indent + name), *shown)


def _add_counts(table: Table, counts: Counts, whole: int, indent: int = 0) -> None:
    for name, count in counts:
        _add(table, short_name(name, _NAME_WIDTH), count, _share(count, whole), indent=indent)


# --- tables ---


def _header(statistics: CollectionStatistics) -> Table:
    parts = [(statistics.documents.count, "document")]
    if statistics.references:
        parts.append((statistics.references.papers, "citing paper"))
    line = [counted(*part) for part in parts]
    queries = sum(p.usable.count for p in statistics.passages)
    queries += sum(given.queries for given in statistics.query_sets)
    line.append(counted(queries, "query"))
    table = Table.grid(padding=(0, 2))
    table.add_row(Text(statistics.name, style="bold"), Text(", ".join(line)))
    return table


def _passages(passages: tuple[Passages, ...]) -> Table | None:
    if not passages:
        return None
    names = ("number", "tokens", "characters", "citations", "mentions")
    caption = (
        "Means per passage. Tokens are words and marks; citations are distinct references, "
        "mentions count each time. Usable: cites something in the collection."
    )
    table = _table("Paragraphs and sentences", *names, caption=caption)
    for part in passages:
        _add(table, part.name.capitalize(), *_mean_cells(part.all))
        _add(table, "citing", *_mean_cells(part.citing), indent=2)
        _add(table, "usable as queries", *_mean_cells(part.usable), indent=2)
        _add(table, "pairs with documents", part.pairs, indent=2)
    return table


def _mean_cells(means: Means) -> list[str]:
    sizes = [_mean(value) for value in (means.tokens, means.characters)]
    return [_count(means.count), *sizes, _mean(means.citations, 2), _mean(means.mentions, 2)]


def _documents(statistics: CollectionStatistics) -> Table:
    documents = statistics.documents
    table = _table("Documents", "number", "share")
    _add(table, "All", documents.count)
    for word, group in (("with", "having"), ("of type", "types"), ("in language", "languages")):
        counts = tuple((f"{word} {name}", count) for name, count in getattr(documents, group))
        _add_counts(table, counts, documents.count, indent=2)
    _add(table, "Words per abstract", _mean(documents.words))
    if documents.years:
        _add(table, "Years", f"{documents.years[0][0]}–{documents.years[-1][0]}")
    for name, count in statistics.links:
        _add(table, f"Links: {name}", count)
    return table


def _references(references: References) -> Table:
    table = _table("Reference lists", "number", "mean", "least", "most", "share")
    total, found = (sum(counts) for counts in zip(*references.per_paper, strict=True))
    _add(table, "Citing papers", references.papers)
    _add(table, "References", total, *_spread_cells(references.references))
    spread = _spread_cells(references.found)
    _add(table, "found in the collection", found, *spread, _share(found, total), indent=2)
    for name, count in references.unfound:
        _add(table, name, count, "", "", "", _share(count, total), indent=2)
    if references.paper_coverage is not None:
        table.caption = f"A paper's own share found is {references.paper_coverage:.1%} on average."
    return table


def _spread_cells(spread: Spread) -> list[str]:
    return [_mean(spread.mean, 2), _count(spread.least), _count(spread.most)]


def _venues(statistics: CollectionStatistics) -> Table | None:
    documents = statistics.documents
    if not documents.venues:
        return None
    shown, all_venues = len(documents.venues), documents.all_venues
    title = "Venues" if shown == all_venues else f"The {shown} largest of {all_venues:,} venues"
    table = _table(title, "number", "share")
    _add_counts(table, documents.venues, documents.count)
    return table


def _given(given: GivenSet) -> Table:
    table = _table(f"Query set {given.name}", "number", "mean", "least", "most", "share")
    _add(table, "Queries", given.queries)
    _add(table, "judged", given.judged_queries, indent=2)
    _add(table, "Judged pairs", given.judged)
    share = _share(given.relevant, given.judged)
    _add(table, "relevant", given.relevant, *_spread_cells(given.per_query), share, indent=2)
    for grade, count in given.grades:
        _add(table, f"grade {grade}", count, "", "", "", _share(count, given.judged), indent=2)
    return table


def _import(statistics: CollectionStatistics) -> Table:
    made = statistics.imported
    table = _table("Import", "number", "share")
    _add(table, "Files", made.files)
    _add_counts(table, made.formats, made.files, indent=2)
    _add(table, "Bibliographic records", made.records)
    kept = ("kept as documents", statistics.documents.count), ("merged into another", made.merged)
    aside = tuple((f"left out: {reason}", count) for reason, count in made.set_aside)
    _add_counts(table, (*kept, *aside), made.records, indent=2)
    for kind, count in made.problems:
        _add(table, f"Problems: {kind}", count)
    return table


# --- its index ---


def index_table(found: IndexStatistics) -> Table:
    """The index: each field, and all of the documents' own text."""
    state = "" if found.current else ", the collection has changed since"
    title = f"Index ({found.analyser}, {found.bytes / 1e6:.1f} MB{state})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("field")
    for name in ("documents", "tokens", "unique terms", f"in > {FREQUENT:,} documents"):
        table.add_column(name, justify="right")
    for field in found.fields:
        numbers = (field.documents, field.tokens, field.terms)
        table.add_row(field.name, *(f"{number:,}" for number in numbers), "")
    own = (found.documents, found.tokens, found.terms, found.frequent)
    label = "all but citing" if any(f.name == "citing" for f in found.fields) else "all"
    table.add_row(label, *(f"{number:,}" for number in own))
    return table
