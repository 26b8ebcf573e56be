"""Statistics of a collection: its documents, queries, references and sources.

- A **token** is a word (letters and digits, with hyphens, apostrophes, points or slashes inside)
  or a single other character: ``[3], state-of-the-art`` has five. This is close to the tokens of
  the Penn Treebank, which ACM-CR's published figures count. A **word** of an abstract is text
  between spaces.
- The **citations** of a passage are its distinct references, in the collection or not. Its
  **mentions** count each citation of a reference, also within one sentence; ACM-CR's published
  table calls these citations.
- A passage is **usable** if it is a query: a document that it cites is in the collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from citebed.collection.building.citing import passages, query_id
from citebed.collection.collection import Collection
from citebed.collection.names import venue_key, venue_series
from citebed.collection.tables import TABLES
from citebed.text.languages import language_code

TOKEN = r"\w+(?:[-'’./]\w+)*|[^\w\s]"
_AT_ONCE = 5000

Counts = tuple[tuple[str, int], ...]
"""Names with their counts, the largest count first."""


# --- Counts of documents, which can be added --------------------------------------------------


@dataclass(frozen=True)
class DocumentCounts:
    """Counts of documents; the counts of the parts of a collection can be added.

    ``having`` counts the documents with a value in a field. ``years`` has for each year the
    documents, and those with an abstract. ``types``, ``languages`` and ``venues`` count documents
    by value.
    """

    documents: int
    records: int
    words: int
    having: dict[str, int]
    types: dict[str, int]
    languages: dict[str, int]
    venues: dict[str, int]
    years: dict[int, tuple[int, int]]


def count_documents(collection: Collection) -> DocumentCounts:
    """Count the documents of a collection."""
    names = ["type", "year", "venue", "language", "doi", "abstract", "records"]
    has_keywords = pl.col("keywords").list.len().fill_null(0) > 0
    table = collection.scan_documents().select(*names, keywords=has_keywords).collect()
    abstracts = table["abstract"].drop_nulls()
    words = 0
    for start in range(0, len(abstracts), _AT_ONCE):
        # Counting spaces in the bytes of many texts is six times as fast as matching each text.
        text = abstracts.slice(start, _AT_ONCE).str.join(" ").cast(pl.Binary).item()
        words += 1 + int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(" ")))
    full = read_columns(collection, "sections", "doc_id")["doc_id"].drop_nulls().n_unique()
    with_abstract = pl.col("abstract").is_not_null().sum()
    years = table.drop_nulls("year").group_by("year").agg(pl.len(), with_abstract).iter_rows()
    having = {name: table.height - table[name].null_count() for name in names}
    return DocumentCounts(
        documents=table.height,
        records=int(table["records"].sum()),
        words=words,
        having={**having, "keywords": int(table["keywords"].sum()), "full text": full},
        types=dict(count_values(table["type"])),
        languages=dict(count_values(table["language"])),
        venues=dict(count_values(table["venue"])),
        years={year: (count, with_text) for year, count, with_text in years},
    )


def add_counts(parts: Iterable[DocumentCounts]) -> DocumentCounts:
    """Return the sum of the counts of several sets of documents."""
    every = list(parts)

    def add_all(name: str) -> dict[str, int]:
        total: Counter[str] = Counter()
        for part in every:
            total.update(getattr(part, name))
        return dict(total)

    years: dict[int, tuple[int, int]] = {}
    for part in every:
        for year, (count, with_text) in part.years.items():
            before = years.get(year, (0, 0))
            years[year] = before[0] + count, before[1] + with_text
    return DocumentCounts(
        documents=sum(part.documents for part in every),
        records=sum(part.records for part in every),
        words=sum(part.words for part in every),
        having=add_all("having"),
        types=add_all("types"),
        languages=add_all("languages"),
        venues=add_all("venues"),
        years=years,
    )


def read_columns(collection: Collection, table: str, *names: str) -> pl.DataFrame:
    """Return some columns of a table without reading the others."""
    return collection.table(table, {name: TABLES[table][name] for name in names})


def sort_counts(counts: Iterable[tuple[str, int]]) -> Counts:
    """Return counts by name, the largest first."""
    return tuple(sorted(counts, key=lambda item: (-item[1], item[0])))


def count_values(values: pl.Series) -> Counts:
    """Return the values of a column with their counts, the most frequent first."""
    return sort_counts(values.drop_nulls().value_counts().iter_rows())


# --- Statistics -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """Mean, minimum and maximum of some counts; ``None`` without counts."""

    mean: float | None
    least: int | None
    most: int | None


@dataclass(frozen=True)
class Documents:
    """Statistics of the documents.

    ``having`` counts those with an abstract, keywords, DOI, full text, year, venue and stated
    language. ``words`` is the mean length of an abstract. ``years`` has year, documents, and
    documents with an abstract, in the order of years; all others start with the most frequent.
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
    """Number of passages, and the means of their properties."""

    count: int
    tokens: float | None
    characters: float | None
    citations: float | None
    mentions: float | None


@dataclass(frozen=True)
class Passages:
    """The paragraphs or the sentences of the citing papers.

    The tokens and characters of a paragraph are counted in its sentences, without the spaces
    between them, as in ACM-CR's published figures. ``pairs`` counts the pairs of query and relevant
    document; ``lengths`` has the tokens of each passage, in order.
    """

    name: str
    all: Means
    citing: Means
    usable: Means
    pairs: int
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class References:
    """The reference lists of the citing papers, and how many references are in the collection.

    ``coverage`` is the share of all references; ``paper_coverage`` is the mean share of the papers
    that have references. ``unfound`` counts what the missing references have: a DOI, else another
    id, else a URL, else nothing. ``per_paper`` has the references and found references of each
    paper.
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
    """A query set from files.

    ``judged`` counts pairs of query and document, ``relevant`` those with a grade above 0;
    ``per_query`` has the relevant documents of a judged query, ``grades`` the pairs of each grade.
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
    """Statistics of the import: ``records`` are bibliographic records before rules and merging,
    ``merged`` are records that became part of another record's document."""

    files: int
    size: int
    formats: Counts
    records: int
    merged: int
    set_aside: Counts
    problems: Counts


@dataclass(frozen=True)
class CollectionStatistics:
    """The statistics of a collection; ``references`` is ``None`` without citing papers."""

    name: str
    documents: Documents
    passages: tuple[Passages, ...]
    references: References | None
    query_sets: tuple[FileSet, ...]
    links: Counts
    imported: Imported


def collect_statistics(
    collection: Collection, *, top_venues: int = 15, tally: DocumentCounts | None = None
) -> CollectionStatistics:
    """Return the statistics of a collection with the ``top_venues`` largest venues; ``tally`` are
    counts of its documents, if the caller has them."""
    counts = count_documents(collection) if tally is None else tally
    from_files = [name for name in collection.query_sets if name not in ("paragraphs", "sentences")]
    files = read_columns(collection, "import/sources", "bytes", "format")
    aside = read_columns(collection, "import/set_aside", "reason", "kept_as")
    by_rule = aside.filter(pl.col("kept_as").is_null())
    return CollectionStatistics(
        name=collection.name,
        documents=_documents(counts, top_venues),
        passages=_passages(collection),
        references=_references(collection),
        query_sets=tuple(_file_set(collection, name) for name in from_files),
        links=count_values(read_columns(collection, "links", "kind")["kind"]),
        imported=Imported(
            files=files.height,
            size=int(files["bytes"].sum()),
            formats=count_values(files.filter(pl.col("format") != "")["format"]),
            records=counts.records + by_rule.height,
            merged=counts.records - counts.documents,
            set_aside=count_values(by_rule["reason"]),
            problems=count_values(read_columns(collection, "import/problems", "kind")["kind"]),
        ),
    )


def _spread(values: pl.Series) -> Spread:
    numbers = values.to_list()
    if not numbers:
        return Spread(None, None, None)
    return Spread(sum(numbers) / len(numbers), min(numbers), max(numbers))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _documents(counts: DocumentCounts, top_venues: int) -> Documents:
    series: dict[str, Counter[str]] = {}
    for venue, count in counts.venues.items():
        name = venue_series(venue)
        series.setdefault(venue_key(name), Counter())[name] += count
    venues = sort_counts(  # each under the most frequent of its names
        (max(names, key=lambda name: (names[name], name)), names.total())
        for names in series.values()
    )
    languages: Counter[str] = Counter()
    for stated, count in counts.languages.items():  # english, eng and en-GB are one
        languages[language_code(stated)] += count
    fields = ("abstract", "keywords", "DOI", "full text", "year", "venue", "language")
    having = ((name, "doi" if name == "DOI" else name) for name in fields)
    return Documents(
        count=counts.documents,
        having=tuple((label, counts.having.get(name, 0)) for label, name in having),
        words=_ratio(counts.words, counts.having.get("abstract", 0)),
        types=sort_counts(counts.types.items()),
        languages=sort_counts(languages.items()),
        years=tuple((year, *numbers) for year, numbers in sorted(counts.years.items())),
        venues=venues[:top_venues],
        all_venues=len(venues),
    )


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
        _measure(collection, "paragraphs", paragraphs, "context_id"),
        _measure(collection, "sentences", sentences, "sentence_id"),
    )


def _measure(collection: Collection, name: str, table: pl.DataFrame, key: str) -> Passages:
    has_set = name in collection.query_sets
    queries = collection.queries(name)["query_id"].to_list() if has_set else []
    table = table.with_columns(
        query_id=query_id(pl.col(key)),
        citations=pl.col("cites").list.n_unique(),
        mentions=pl.col("cites").list.len(),
    )

    def means(rows: pl.DataFrame) -> Means:
        names = ("tokens", "characters", "citations", "mentions")
        return Means(rows.height, *(_ratio(int(rows[name].sum()), rows.height) for name in names))

    return Passages(
        name=name,
        all=means(table),
        citing=means(table.filter(pl.col("mentions") > 0)),
        usable=means(table.filter(pl.col("query_id").is_in(queries))),
        pairs=collection.qrels(name).table.height if has_set else 0,
        lengths=tuple(table["tokens"]),
    )


def _references(collection: Collection) -> References | None:
    papers = read_columns(collection, "papers", "references", "found")
    if papers.is_empty():
        return None
    listed = papers.filter(pl.col("references") > 0)
    shares = listed["found"] / listed["references"]
    kinds = {
        "doi": "DOI not in the collection",
        "target": "id not in the collection",
        "url": "URL only",
    }
    known = [pl.when(pl.col(name).is_not_null()).then(pl.lit(kind)) for name, kind in kinds.items()]
    unfound = read_columns(collection, "references", "doc_id", *kinds)
    unfound = unfound.filter(pl.col("doc_id").is_null())
    return References(
        papers=papers.height,
        references=_spread(papers["references"]),
        found=_spread(papers["found"]),
        coverage=_ratio(int(papers["found"].sum()), int(papers["references"].sum())),
        paper_coverage=_ratio(float(shares.sum()), len(shares)),
        unfound=count_values(unfound.select(pl.coalesce(*known, pl.lit("nothing"))).to_series()),
        per_paper=tuple(papers.iter_rows()),
    )


def _file_set(collection: Collection, name: str) -> FileSet:
    qrels = collection.qrels(name).table
    per_query = qrels.group_by("query_id").agg((pl.col("relevance") > 0).sum())["relevance"]
    return FileSet(
        name=name,
        queries=collection.queries(name).height,
        judged_queries=len(per_query),
        judged=qrels.height,
        relevant=int(per_query.sum()),
        per_query=_spread(per_query),
        grades=tuple(qrels["relevance"].value_counts().sort("relevance").iter_rows()),
    )


# --- Rows for programs ------------------------------------------------------------------------


Row = dict[str, str | int | float | None]


def statistics_rows(made: CollectionStatistics) -> list[Row]:
    """Return the statistics as flat rows: ``group``, ``name``, ``value`` and ``share``.

    ``share`` is the value's part of the total of its group, between 0 and 1, or null without a
    total; a mean of nothing is null. Groups: ``documents``, ``types``, ``languages``, ``years``,
    ``venues``, ``paragraphs``, ``sentences``, ``references``, ``unfound``, ``query set NAME``,
    ``grades NAME``, ``links``, ``import``, ``formats``, ``set aside``, ``problems``.
    """
    rows: list[Row] = []

    def add(group: str, name: str, value: float | None, share: float | None = None) -> None:
        rows.append({"group": group, "name": name, "value": value, "share": share})

    def add_shares(group: str, counts: Iterable[tuple[object, int]], whole: int = 0) -> None:
        for name, count in counts:
            add(group, str(name), count, _ratio(count, whole))

    def add_spread(group: str, what: str, spread: Spread) -> None:
        for name in ("mean", "least", "most"):
            add(group, f"{what}, {name}", getattr(spread, name))

    documents = made.documents
    add("documents", "count", documents.count)
    having = ((f"with {name}", count) for name, count in documents.having)
    add_shares("documents", having, documents.count)
    add("documents", "words per abstract", documents.words)
    add("documents", "venues", documents.all_venues)
    for group in ("types", "languages", "venues"):
        add_shares(group, getattr(documents, group), documents.count)
    add_shares("years", ((year, n) for year, n, _ in documents.years), documents.count)
    for measured in made.passages:
        for part in ("all", "citing", "usable"):
            means = getattr(measured, part)
            add(measured.name, part, means.count, _ratio(means.count, measured.all.count))
            for name in ("tokens", "characters", "citations", "mentions"):
                add(measured.name, f"{name} per passage, {part}", getattr(means, name))
        add(measured.name, "pairs", measured.pairs)
    if references := made.references:
        total, resolved = (sum(counts) for counts in zip(*references.per_paper, strict=True))
        add("references", "papers", references.papers)
        add("references", "count", total)
        add("references", "found", resolved, references.coverage)
        add("references", "coverage, mean of papers", references.paper_coverage)
        add_spread("references", "per paper", references.references)
        add_spread("references", "found per paper", references.found)
        add_shares("unfound", references.unfound, total - resolved)
    for queries in made.query_sets:
        group = f"query set {queries.name}"
        add(group, "queries", queries.queries)
        add(group, "judged queries", queries.judged_queries)
        add(group, "judged pairs", queries.judged)
        add(group, "relevant pairs", queries.relevant, _ratio(queries.relevant, queries.judged))
        add_spread(group, "relevant per query", queries.per_query)
        add_shares(f"grades {queries.name}", queries.grades, queries.judged)
    add_shares("links", made.links)
    imported = made.imported
    for name in ("files", "records", "merged"):
        add("import", name, getattr(imported, name))
    add_shares("formats", imported.formats, imported.files)
    add_shares("set aside", imported.set_aside, imported.records)
    add_shares("problems", imported.problems)
    return rows
