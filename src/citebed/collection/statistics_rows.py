"""Statistics for programs: flat rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from citebed.collection.statistics import (
    CollectionStatistics,
    Documents,
    GivenSet,
    Passages,
    References,
    Spread,
    _ratio,
)

Row = dict[str, str | int | float | None]


def rows(statistics: CollectionStatistics) -> list[Row]:
    """The statistics as flat rows: ``group``, ``name``, ``value`` and ``share``.

    ``share`` is the value's part of the whole its group counts, between 0 and 1, or null where
    there is no such whole; a mean of nothing is null. Groups: ``documents``, ``types``,
    ``languages``, ``years``, ``venues``, ``paragraphs``, ``sentences``, ``references``,
    ``unfound``, ``query set NAME``, ``grades NAME``, ``links``, ``import``, ``formats``,
    ``set aside``, ``problems``.
    """
    made = statistics.imported
    return [
        *_document_rows(statistics.documents),
        *(row for part in statistics.passages for row in _passage_rows(part)),
        *(_reference_rows(statistics.references) if statistics.references else ()),
        *(row for given in statistics.query_sets for row in _given_rows(given)),
        *_shares("links", statistics.links),
        *(_row("import", name, getattr(made, name)) for name in ("files", "records", "merged")),
        *_shares("formats", made.formats, made.files),
        *_shares("set aside", made.set_aside, made.records),
        *_shares("problems", made.problems),
    ]


def _row(group: str, name: str, value: float | None, share: float | None = None) -> Row:
    return {"group": group, "name": name, "value": value, "share": share}


def _shares(group: str, counts: Iterable[tuple[object, int]], whole: int = 0) -> Iterator[Row]:
    for name, count in counts:
        yield _row(group, str(name), count, _ratio(count, whole))


def _spread_rows(group: str, what: str, spread: Spread) -> Iterator[Row]:
    for name in ("mean", "least", "most"):
        yield _row(group, f"{what}, {name}", getattr(spread, name))


def _document_rows(documents: Documents) -> Iterator[Row]:
    yield _row("documents", "count", documents.count)
    having = ((f"with {name}", count) for name, count in documents.having)
    yield from _shares("documents", having, documents.count)
    yield _row("documents", "words per abstract", documents.words)
    yield _row("documents", "venues", documents.all_venues)
    for group in ("types", "languages", "venues"):
        yield from _shares(group, getattr(documents, group), documents.count)
    yield from _shares("years", ((year, n) for year, n, _ in documents.years), documents.count)


def _passage_rows(passages: Passages) -> Iterator[Row]:
    for part in ("all", "citing", "usable"):
        means = getattr(passages, part)
        yield _row(passages.name, part, means.count, _ratio(means.count, passages.all.count))
        for name in ("tokens", "characters", "citations", "mentions"):
            yield _row(passages.name, f"{name} per passage, {part}", getattr(means, name))
    yield _row(passages.name, "pairs", passages.pairs)


def _reference_rows(references: References) -> Iterator[Row]:
    total, found = (sum(counts) for counts in zip(*references.per_paper, strict=True))
    yield _row("references", "papers", references.papers)
    yield _row("references", "count", total)
    yield _row("references", "found", found, references.coverage)
    yield _row("references", "coverage, mean of papers", references.paper_coverage)
    yield from _spread_rows("references", "per paper", references.references)
    yield from _spread_rows("references", "found per paper", references.found)
    yield from _shares("unfound", references.unfound, total - found)


def _given_rows(given: GivenSet) -> Iterator[Row]:
    group = f"query set {given.name}"
    yield _row(group, "queries", given.queries)
    yield _row(group, "judged queries", given.judged_queries)
    yield _row(group, "judged pairs", given.judged)
    yield _row(group, "relevant pairs", given.relevant, _ratio(given.relevant, given.judged))
    yield from _spread_rows(group, "relevant per query", given.per_query)
    yield from _shares(f"grades {given.name}", given.grades, given.judged)
