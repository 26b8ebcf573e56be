"""What a collection holds, in numbers: its documents, queries, references and sources.

- A **token** is a word (letters and digits, with hyphens, apostrophes, points or slashes inside
  it) or a single other mark: ``[3], state-of-the-art`` has five. That is close to the Penn
  Treebank's tokens, which the published figures of ACM-CR count. A **word** of an abstract is
  simply what stands between blanks.
- The **citations** of a passage are the distinct references it cites, whether or not they are
  in the collection; its **mentions** count a reference again each time it is cited, also in one
  sentence, which is what ACM-CR's published table calls citations.
- A passage is **usable** when it is a query: something it cites is in the collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from citebed.collection.building.citing import passages, query_id
from citebed.collection.collection import Collection
from citebed.collection.names import venue_key, venue_series
from citebed.collection.tallies import Counts, Tally, columns, counted, ranked, tallied
from citebed.text.languages import language_code

TOKEN = r"\w+(?:[-'’./]\w+)*|[^\w\s]"


@dataclass(frozen=True)
class Spread:
    """The mean, the least and the most of some counts; ``None`` where there are none."""

    mean: float | None
    least: int | None
    most: int | None


@dataclass(frozen=True)
class Documents:
    """The documents: how many have what, and of which kind they are.

    ``having`` counts those with an abstract, keywords, DOI, full text, year, venue and stated
    language. ``words`` is the mean length of an abstract. ``years`` has year, documents and
    documents with an abstract, the first year first; everything else the most frequent first.
    A venue is a journal or a series of events; ``venues`` has the largest of ``all_venues``.
    """

    count: int
    having: Counts
    words: float | None
    types: Counts
    languages: Counts
    years: tuple[tuple[int, int, int], ...]
    venues: Counts
    all_venues: int


@dataclass(frozen=True)
class Means:
    """Passages of some kind: how many, and what one has on average."""

    count: int
    tokens: float | None
    characters: float | None
    citations: float | None
    mentions: float | None


@dataclass(frozen=True)
class Passages:
    """The paragraphs or the sentences of the citing papers.

    A paragraph has the tokens and characters of its sentences; the blanks between them do not
    count, nor do they in the published figures of ACM-CR.
    ``pairs`` counts the pairs of query and relevant document, ``lengths`` has the tokens of
    each passage, in order.
    """

    name: str
    all: Means
    citing: Means
    usable: Means
    pairs: int
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class References:
    """The citing papers' reference lists, and how much of them the collection has.

    ``coverage`` is the share found of all references, ``paper_coverage`` the mean of the
    papers' own shares (papers without references left out). ``unfound`` tells what the others
    have: a DOI, else another id, else a URL, else nothing. ``per_paper`` has the references and
    the found ones of each paper.
    """

    papers: int
    references: Spread
    found: Spread
    coverage: float | None
    paper_coverage: float | None
    unfound: Counts
    per_paper: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FileSet:
    """Queries that came as files.

    ``judged`` counts pairs of query and document, ``relevant`` those with a grade above 0,
    ``per_query`` the relevant ones of a judged query; ``grades`` has each grade's pairs.
    """

    name: str
    queries: int
    judged_queries: int
    judged: int
    relevant: int
    per_query: Spread
    grades: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Imported:
    """What was read: ``records`` are bibliographic records, before rules and merging.

    ``merged`` counts the records that are part of another one's document.
    """

    files: int
    size: int
    formats: Counts
    records: int
    merged: int
    set_aside: Counts
    problems: Counts


@dataclass(frozen=True)
class CollectionStatistics:
    """A collection in numbers; ``references`` is ``None`` where there are no citing papers."""

    name: str
    documents: Documents
    passages: tuple[Passages, ...]
    references: References | None
    query_sets: tuple[FileSet, ...]
    links: Counts
    imported: Imported


def statistics(
    collection: Collection, *, top_venues: int = 15, tally: Tally | None = None
) -> CollectionStatistics:
    """Count what the collection holds; ``top_venues`` says how many venues are named. A ``tally``
    of its documents that was made elsewhere is not made again."""
    documents = tallied(collection) if tally is None else tally
    from_files = [name for name in collection.query_sets if name not in ("paragraphs", "sentences")]
    return CollectionStatistics(
        name=collection.name,
        documents=_documents(documents, top_venues),
        passages=_passages(collection),
        references=_references(collection),
        query_sets=tuple(_file_set(collection, name) for name in from_files),
        links=counted(columns(collection, "links", "kind")["kind"]),
        imported=_imported(collection, documents),
    )


def _spread(values: pl.Series) -> Spread:
    numbers = values.to_list()
    if not numbers:
        return Spread(None, None, None)
    return Spread(sum(numbers) / len(numbers), min(numbers), max(numbers))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# --- documents ---


def _documents(tally: Tally, top_venues: int) -> Documents:
    venues = _venues(tally.venues)
    names = {"abstract": "abstract", "keywords": "keywords", "DOI": "doi", "full text": "full text"}
    names |= {name: name for name in ("year", "venue", "language")}
    return Documents(
        count=tally.documents,
        having=tuple((shown, tally.having.get(name, 0)) for shown, name in names.items()),
        words=_ratio(tally.words, tally.having.get("abstract", 0)),
        types=ranked(tally.types.items()),
        languages=ranked(_languages(tally.languages).items()),
        years=tuple((year, *counts) for year, counts in sorted(tally.years.items())),
        venues=venues[:top_venues],
        all_venues=len(venues),
    )


def _languages(stated: Mapping[str, int]) -> Counter[str]:
    """Documents by language; ``english``, ``eng`` and ``en-GB`` are one."""
    counts: Counter[str] = Counter()
    for name, count in stated.items():
        counts[language_code(name)] += count
    return counts


def _venues(venues: Mapping[str, int]) -> Counts:
    """Series of events and journals; each goes by the most frequent of its names."""
    series: dict[str, Counter[str]] = {}
    for venue, count in venues.items():
        name = venue_series(venue)
        series.setdefault(venue_key(name), Counter())[name] += count
    return ranked((max(n, key=lambda name: (n[name], name)), n.total()) for n in series.values())


# --- citing papers ---


def _passages(collection: Collection) -> tuple[Passages, ...]:
    contexts = passages(collection.contexts, collection.rules)
    if contexts.is_empty():
        return ()
    sentences = contexts.select(
        "paper_id", "context_id", "sentence_id", "cites",
        tokens=pl.col("text").str.count_matches(TOKEN),
        characters=pl.col("text").str.len_chars(),
    )  # fmt: skip
    paragraphs = sentences.group_by("paper_id", "context_id", maintain_order=True).agg(
        pl.col("tokens", "characters").sum(),
        cites=pl.col("cites").explode(empty_as_null=False),
    )
    return (
        _measured(collection, "paragraphs", paragraphs, "context_id"),
        _measured(collection, "sentences", sentences, "sentence_id"),
    )


def _measured(collection: Collection, name: str, table: pl.DataFrame, key: str) -> Passages:
    known = name in collection.query_sets
    queries = collection.queries(name)["query_id"].to_list() if known else []
    table = table.with_columns(
        query_id=query_id(pl.col(key)),
        citations=pl.col("cites").list.n_unique(),
        mentions=pl.col("cites").list.len(),
    )
    return Passages(
        name=name,
        all=_means(table),
        citing=_means(table.filter(pl.col("mentions") > 0)),
        usable=_means(table.filter(pl.col("query_id").is_in(queries))),
        pairs=collection.qrels(name).table.height if known else 0,
        lengths=tuple(table["tokens"]),
    )


def _means(table: pl.DataFrame) -> Means:
    names = ("tokens", "characters", "citations", "mentions")
    return Means(table.height, *(_ratio(int(table[name].sum()), table.height) for name in names))


def _references(collection: Collection) -> References | None:
    papers = columns(collection, "papers", "references", "found")
    if papers.is_empty():
        return None
    listed = papers.filter(pl.col("references") > 0)
    shares = listed["found"] / listed["references"]
    return References(
        papers=papers.height,
        references=_spread(papers["references"]),
        found=_spread(papers["found"]),
        coverage=_ratio(int(papers["found"].sum()), int(papers["references"].sum())),
        paper_coverage=_ratio(float(shares.sum()), len(shares)),
        unfound=_unfound(collection),
        per_paper=tuple(papers.iter_rows()),
    )


def _unfound(collection: Collection) -> Counts:
    names = ("doc_id", "doi", "target", "url")
    table = columns(collection, "references", *names)
    kinds = {
        "doi": "DOI not in the collection",
        "target": "id not in the collection",
        "url": "URL only",
    }
    known = [pl.when(pl.col(n).is_not_null()).then(pl.lit(kind)) for n, kind in kinds.items()]
    kind = pl.coalesce(*known, pl.lit("nothing")).alias("kind")
    return counted(table.filter(pl.col("doc_id").is_null()).select(kind)["kind"])


# --- given queries, and the import ---


def _file_set(collection: Collection, name: str) -> FileSet:
    qrels = collection.qrels(name).table
    relevant = pl.col("relevance") > 0
    per_query = qrels.group_by("query_id").agg(relevant.sum())["relevance"]
    grades = qrels["relevance"].value_counts().sort("relevance")
    return FileSet(
        name=name,
        queries=collection.queries(name).height,
        judged_queries=len(per_query),
        judged=qrels.height,
        relevant=int(per_query.sum()),
        per_query=_spread(per_query),
        grades=tuple(grades.iter_rows()),
    )


def _imported(collection: Collection, tally: Tally) -> Imported:
    files = columns(collection, "import/sources", "bytes", "format")
    aside = columns(collection, "import/set_aside", "reason", "kept_as")
    problems = columns(collection, "import/problems", "kind")
    by_rule = aside.filter(pl.col("kept_as").is_null())
    return Imported(
        files=files.height,
        size=int(files["bytes"].sum()),
        formats=counted(files.filter(pl.col("format") != "")["format"]),
        records=tally.records + by_rule.height,
        merged=tally.records - tally.documents,
        set_aside=counted(by_rule["reason"]),
        problems=counted(problems["kind"]),
    )


# --- Rows for programs ------------------------------------------------------------------------


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
        *(row for each in statistics.query_sets for row in _set_rows(each)),
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
    total, resolved = (sum(counts) for counts in zip(*references.per_paper, strict=True))
    yield _row("references", "papers", references.papers)
    yield _row("references", "count", total)
    yield _row("references", "found", resolved, references.coverage)
    yield _row("references", "coverage, mean of papers", references.paper_coverage)
    yield from _spread_rows("references", "per paper", references.references)
    yield from _spread_rows("references", "found per paper", references.found)
    yield from _shares("unfound", references.unfound, total - resolved)


def _set_rows(queries: FileSet) -> Iterator[Row]:
    group = f"query set {queries.name}"
    yield _row(group, "queries", queries.queries)
    yield _row(group, "judged queries", queries.judged_queries)
    yield _row(group, "judged pairs", queries.judged)
    yield _row(group, "relevant pairs", queries.relevant, _ratio(queries.relevant, queries.judged))
    yield from _spread_rows(group, "relevant per query", queries.per_query)
    yield from _shares(f"grades {queries.name}", queries.grades, queries.judged)
