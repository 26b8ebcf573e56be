"""What a collection holds, in numbers: its documents, queries, references and sources.

Three words are used throughout, and mean the same everywhere:

- a **token** is a word (letters and digits, with hyphens, apostrophes, points or slashes inside
  it) or a single other mark: ``[3], state-of-the-art`` has five. That is close to the Penn
  Treebank's tokens, which the published figures of ACM-CR count. A **word** of an abstract is
  simply what stands between blanks;
- the **citations** of a passage are the distinct references it cites, whether or not they are
  in the collection; its **mentions** count a reference again each time it is cited;
- a passage is **usable** when it is a query: something it cites is in the collection.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from citebed.collection import store, tables
from citebed.collection.collection import Collection

TOKEN = r"\w+(?:[-'’./]\w+)*|[^\w\s]"
UNFOUND = ("DOI not in the collection", "id not in the collection", "URL only", "nothing")
"""Why a reference was not found: the first of these that it has."""
_PASSAGES = ("paragraphs", "sentences")


@dataclass(frozen=True)
class Count:
    """How many there are of something."""

    name: str
    count: int


@dataclass(frozen=True)
class YearCount:
    """The documents of a year."""

    year: int
    documents: int
    with_abstract: int


@dataclass(frozen=True)
class Spread:
    """The mean, the least and the most of some counts; ``None`` where there are none."""

    mean: float | None
    least: int | None
    most: int | None


@dataclass(frozen=True)
class Documents:
    """The documents: how many have what, and of which kind they are.

    ``words`` is the mean length of an abstract. ``types``, ``languages`` and ``venues`` are the
    most frequent first; years go from the first to the last, those without documents left out.
    A venue is a series of events (see ``venue_series``); ``venues`` has the largest ones of
    ``all_venues``.
    """

    count: int
    abstract: int
    keywords: int
    doi: int
    full_text: int
    year: int
    venue: int
    language: int
    words: float | None
    types: tuple[Count, ...]
    languages: tuple[Count, ...]
    years: tuple[YearCount, ...]
    venues: tuple[Count, ...]
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

    A paragraph is measured as it is searched for: its sentences with a blank between them.
    ``pairs`` counts the pairs of query and relevant document, ``lengths`` has the tokens of each
    passage, in order.
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

    ``per_paper`` has the references and the found ones of each paper. ``coverage`` is the share
    found of all references, ``paper_coverage`` the mean of the papers' own shares (papers
    without references left out). ``unfound`` has the kinds of ``UNFOUND`` that there are.
    """

    papers: int
    references: Spread
    found: Spread
    coverage: float | None
    paper_coverage: float | None
    unfound: tuple[Count, ...]
    per_paper: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GivenSet:
    """Queries that came as files: ``relevant`` is per judged query, a grade above 0 counts."""

    name: str
    queries: int
    judged_queries: int
    judged: int
    relevant_pairs: int
    relevant: Spread
    grades: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Imported:
    """What was read: ``records`` are bibliographic records, before rules and merging.

    ``merged`` counts the records that a merge made superfluous.
    """

    files: int
    size: int
    formats: tuple[Count, ...]
    records: int
    merged: int
    set_aside: tuple[Count, ...]
    problems: tuple[Count, ...]


@dataclass(frozen=True)
class Statistics:
    """A collection in numbers; ``references`` is ``None`` where there are no citing papers."""

    name: str
    documents: Documents
    passages: tuple[Passages, ...]
    references: References | None
    query_sets: tuple[GivenSet, ...]
    links: tuple[Count, ...]
    imported: Imported


def statistics(collection: Collection, *, top_venues: int = 15) -> Statistics:
    """Count what the collection holds; ``top_venues`` says how many venues are named."""
    given = [name for name in collection.query_sets if name not in _PASSAGES]
    links = _columns(collection, "links", tables.LINKS, "kind")
    return Statistics(
        name=collection.name,
        documents=_documents(collection, top_venues),
        passages=_passages(collection),
        references=_references(collection),
        query_sets=tuple(_given_set(collection, name) for name in given),
        links=_counted(links["kind"]),
        imported=_imported(collection),
    )


def _columns(
    collection: Collection, table: str, schema: tables.Schema, *names: str
) -> pl.DataFrame:
    """Some columns of a table: the others, with their long texts, are not read."""
    return store.read_table(collection.folder, table, {name: schema[name] for name in names})


def _ranked(counts: Iterable[tuple[Any, int]]) -> tuple[Count, ...]:
    items = [Count(str(name), count) for name, count in counts if name is not None]
    return tuple(sorted(items, key=lambda item: (-item.count, item.name)))


def _counted(values: pl.Series) -> tuple[Count, ...]:
    return _ranked(values.value_counts().iter_rows())


def _spread(values: pl.Series) -> Spread:
    if values.is_empty():
        return Spread(None, None, None)
    numbers = values.to_list()
    return Spread(sum(numbers) / len(numbers), min(numbers), max(numbers))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# --- documents ---


def _documents(collection: Collection, top_venues: int) -> Documents:
    abstract = pl.col("abstract").fill_null("")
    table = collection.scan_documents().select(
        "type", "year", "venue", "language", "doi",
        abstract=abstract != "",
        keywords=pl.col("keywords").list.len().fill_null(0) > 0,
        # White space is folded in the table: counting blanks is several times as quick as \S+.
        words=pl.when(abstract != "").then(abstract.str.count_matches(" ", literal=True) + 1),
    ).collect()  # fmt: skip
    venues = _venues(table["venue"])
    words = table["words"].drop_nulls()
    return Documents(
        count=table.height,
        abstract=int(table["abstract"].sum()),
        keywords=int(table["keywords"].sum()),
        full_text=_full_text(collection),
        **{name: table.height - table[name].null_count() for name in ("doi", "year", "venue")},
        language=table.height - table["language"].null_count(),
        words=_ratio(int(words.sum()), len(words)),
        types=_counted(table["type"]),
        languages=_counted(table["language"]),
        years=_years(table),
        venues=venues[:top_venues],
        all_venues=len(venues),
    )


def _years(table: pl.DataFrame) -> tuple[YearCount, ...]:
    years = table.drop_nulls("year").group_by("year").agg(pl.len(), pl.col("abstract").sum())
    return tuple(YearCount(*row) for row in years.sort("year").iter_rows())


def _full_text(collection: Collection) -> int:
    sections = _columns(collection, "sections", tables.SECTIONS, "doc_id").unique()
    if sections.is_empty():
        return 0
    # A section goes by the id its record had, which may now be an alias.
    own = collection.scan_documents().select("doc_id", names=pl.concat_list("doc_id", "aliases"))
    found = own.explode("names").join(sections.lazy(), left_on="names", right_on="doc_id", how="semi")
    return int(found.select(pl.col("doc_id").n_unique()).collect().item())


def _venues(venues: pl.Series) -> tuple[Count, ...]:
    """Series of events and journals; each goes by the most frequent of its names."""
    names: dict[str, Counter[str]] = {}
    for venue, count in venues.drop_nulls().value_counts().iter_rows():
        series = venue_series(venue)
        names.setdefault(_venue_key(series), Counter())[series] += count
    counts = ((max(spelt, key=lambda n: (spelt[n], n)), spelt.total()) for spelt in names.values())
    return _ranked(counts)


_UNITS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ORDINAL = (
    rf"\b(?:\d+(?:st|nd|rd|th)|(?:(?:{_TENS})[- ])?(?:{_UNITS})|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teenth"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)tieth)\b"
)
_YEAR = r"\s*(?<!\w)(?:in )?(?:19|20)\d\d\b|\s*['’]\d\d\b"
_EVENT = r"\b(?:conference|workshop|symposium|meeting|congress|colloquium|forum|advances in)\b"
_DETAILS = (
    r",\s+[A-Z][\w@-]*[ -](?:19|20)\d\d\b.*$"  # ", SIGIR 2015, Santiago, Chile, …"
    r"|,.*\b(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)\b.*$"
    r"|\W+(?:Volume|Vol\.|Part) (?:\d+|[IVX]+)\b.*$"
)
_CLEANING = (
    (r"\b(\w+ Conference on) \1\b", r"\1"),  # a slip in hundreds of the ACM's records
    (r"\bon Conference\b", "Conference"),
    (r"\s*&\s*", " and "),
    (r"\(\s*\)", ""),
    (r"\s+", " "),
)


def venue_series(name: str) -> str:
    """The series an event belongs to: its name without ordinals, years, volumes and dates.

    "Proceedings of the 27th ACM International Conference on Multimedia" is one of the "ACM
    International Conference on Multimedia". A journal's name stays as it is, but for a year.
    """
    text = re.sub(_DETAILS, "", name)
    if re.search(_EVENT, text, re.IGNORECASE):
        text = re.sub(_ORDINAL, "", text, flags=re.IGNORECASE)
        text = re.sub(r"(?i)^\W*(?:proceedings|proc\.) (?:of|from)\b", "", text)
        text = re.sub(r"\s\d{1,3}$", "", text)
    text = re.sub(_YEAR, "", text)
    for pattern, replacement in _CLEANING:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"(?i)^(?:\W*\bthe\b)+", "", text).strip(" ,;:-–")
    return text or name


def _venue_key(series: str) -> str:
    """Equal for names that differ in case, sponsors or how grand they sound."""
    plain = re.sub(r"[^\w\s]", " ", series.lower())
    words = re.sub(r"\b(?:acm|ieee|cs|annual|international|the)\b", "", plain).split()
    return " ".join(words) or series


# --- citing papers ---


def _passages(collection: Collection) -> tuple[Passages, ...]:
    if collection.contexts.is_empty():
        return ()
    sentences = collection.contexts.select(
        "paper_id", "context_id", "sentence_id", "cites",
        tokens=pl.col("text").str.count_matches(TOKEN),
        characters=pl.col("text").str.len_chars(),
    )  # fmt: skip
    paragraphs = sentences.group_by("paper_id", "context_id", maintain_order=True).agg(
        pl.col("tokens").sum(),
        characters=pl.col("characters").sum() + pl.len() - 1,
        cites=pl.col("cites").explode(empty_as_null=False),
    )
    return (
        _measured(collection, "paragraphs", paragraphs, "context_id"),
        _measured(collection, "sentences", sentences, "sentence_id"),
    )


def _measured(collection: Collection, name: str, table: pl.DataFrame, key: str) -> Passages:
    known = name in collection.query_sets
    queries = collection.queries(name)["query_id"].to_list() if known else []
    parts = [pl.col(part).str.replace_all(r"\s+", "_") for part in ("paper_id", key)]
    table = table.with_columns(
        query_id=pl.concat_str(parts, separator=":"),
        citations=pl.col("cites").list.n_unique(),
        mentions=pl.col("cites").list.len(),
    )
    return Passages(
        name=name,
        all=_means(table),
        citing=_means(table.filter(pl.col("mentions") > 0)),
        usable=_means(table.filter(pl.col("query_id").is_in(queries))),
        pairs=collection.qrels(name).height if known else 0,
        lengths=tuple(table["tokens"]),
    )


def _means(table: pl.DataFrame) -> Means:
    mean = partial(_ratio, whole=table.height)
    names = ("tokens", "characters", "citations", "mentions")
    return Means(table.height, *(mean(int(table[name].sum())) for name in names))


def _references(collection: Collection) -> References | None:
    papers = _columns(collection, "papers", tables.PAPERS, "references", "found")
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
        per_paper=tuple((row[0], row[1]) for row in papers.iter_rows()),
    )


def _unfound(collection: Collection) -> tuple[Count, ...]:
    names = ("doi", "target", "url")
    table = _columns(collection, "references", tables.REFERENCES, "doc_id", *names)
    kind = pl.when(pl.col("url").is_not_null()).then(pl.lit(UNFOUND[2])).otherwise(pl.lit(UNFOUND[3]))
    for name, label in (("target", UNFOUND[1]), ("doi", UNFOUND[0])):
        kind = pl.when(pl.col(name).is_not_null()).then(pl.lit(label)).otherwise(kind)
    counts = table.filter(pl.col("doc_id").is_null()).select(kind.alias("kind"))["kind"]
    return _counted(counts)


# --- given queries, and the import ---


def _given_set(collection: Collection, name: str) -> GivenSet:
    qrels = collection.qrels(name)
    relevant = pl.col("relevance") > 0
    per_query = qrels.group_by("query_id").agg(relevant.sum().alias("relevant"))
    grades = qrels["relevance"].value_counts().sort("relevance")
    return GivenSet(
        name=name,
        queries=collection.queries(name).height,
        judged_queries=per_query.height,
        judged=qrels.height,
        relevant_pairs=int(per_query["relevant"].sum()),
        relevant=_spread(per_query["relevant"]),
        grades=tuple((row[0], row[1]) for row in grades.iter_rows()),
    )


def _imported(collection: Collection) -> Imported:
    files = _columns(collection, "import/sources", tables.SOURCES, "bytes", "format")
    aside = _columns(collection, "import/set_aside", tables.SET_ASIDE, "reason", "kept_as")
    problems = _columns(collection, "import/problems", tables.PROBLEMS, "kind")
    by_rule = aside.filter(pl.col("kept_as").is_null())
    read = collection.scan_documents().select(pl.col("records").sum(), documents=pl.len()).collect()
    kept, documents = read.row(0)
    return Imported(
        files=files.height,
        size=int(files["bytes"].sum()),
        formats=_counted(files["format"]),
        records=kept + by_rule.height,
        merged=kept - documents,
        set_aside=_counted(by_rule["reason"]),
        problems=_counted(problems["kind"]),
    )


# --- rows ---
