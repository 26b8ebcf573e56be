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

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection.building.citing import passages, query_id
from citebed.collection.collection import Collection
from citebed.collection.names import venue_key, venue_series
from citebed.collection.tables import TABLES, count_values, sort_counts
from citebed.text.languages import language_code

TOKEN = r"\w+(?:[-'’./]\w+)*|[^\w\s]"
_AT_ONCE = 5000
PARTS = ("all", "citing", "usable")
"""The passages of a set: all, those that cite, and those that are queries."""
MEANS = ("tokens", "characters", "citations", "mentions")
"""The properties of passages, of which there are means."""


# --- Counts of documents, which can be added --------------------------------------------------


def count_documents(collection: Collection) -> pl.DataFrame:
    """Count the documents of a collection, or of a shard: ``kind``, ``name`` and ``count``.

    ``total`` counts documents, records and words of abstracts; ``having`` the documents with a
    value in a field; ``types``, ``languages``, ``venues`` and ``years`` the documents with a value;
    and ``abstracts`` the documents with an abstract by year.
    """
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
    having = {name: table.height - table[name].null_count() for name in names}
    having |= {"keywords": int(table["keywords"].sum()), "full text": full}
    total = {"documents": table.height, "records": int(table["records"].sum()), "words": words}
    rows = [("total", *item) for item in total.items()]
    rows += [("having", *item) for item in having.items()]
    with_abstract = table.filter(pl.col("abstract").is_not_null())
    for kind, values in (
        ("types", table["type"]),
        ("languages", table["language"]),
        ("venues", table["venue"]),
        ("years", table["year"]),
        ("abstracts", with_abstract["year"]),
    ):
        rows += [(kind, *item) for item in count_values(values).items()]
    schema = {"kind": pl.String(), "name": pl.String(), "count": pl.Int64()}
    return pl.DataFrame([(kind, str(name), n) for kind, name, n in rows], schema, orient="row")


def read_columns(collection: Collection, table: str, *names: str) -> pl.DataFrame:
    """Return some columns of a table without reading the others."""
    return collection.table(table, {name: TABLES[table][name] for name in names})


# --- Statistics -------------------------------------------------------------------------------


Row = dict[str, str | int | float | None]


class Number(NamedTuple):
    """A count, or a mean (``None`` of nothing), with its share of the total of its group, between 0
    and 1 (``None`` without a total)."""

    value: float | None
    share: float | None = None


Groups = dict[str, dict[str, Number]]


@dataclass(frozen=True)
class CollectionStatistics:
    """The statistics of a collection.

    ``groups`` has numbers by name: ``documents``, ``types``, ``languages``, ``years``, ``venues``,
    ``paragraphs``, ``sentences``, ``references``, ``unfound``, ``query set NAME``, ``grades NAME``,
    ``links``, ``import``, ``formats``, ``set aside``, ``problems``. Years and grades are in
    ascending order, other counts start with the most frequent. A venue is a journal or a series of
    events; only the largest are named. ``unfound`` counts what references to no document have: a
    DOI, else another id, else a URL, else nothing. ``import`` counts bibliographic records before
    rules and merging.

    ``query_sets`` are the query sets from files. ``years`` has year, documents, and documents with
    an abstract. ``lengths`` has the tokens of each paragraph and of each sentence; the tokens and
    characters of a paragraph are counted in its sentences, without the spaces between them, as in
    ACM-CR's published figures. ``per_paper`` has the references and found references of each citing
    paper.
    """

    name: str
    groups: Groups
    query_sets: tuple[str, ...] = ()
    years: tuple[tuple[int, int, int], ...] = ()
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    per_paper: tuple[tuple[int, int], ...] = ()

    def count(self, group: str, name: str) -> int:
        """Return a count."""
        return int(self.groups[group][name].value or 0)

    def counts(self, group: str) -> list[tuple[str, int]]:
        """Return the names of a group with their counts; a missing group is empty."""
        return [
            (name, int(number.value or 0)) for name, number in self.groups.get(group, {}).items()
        ]

    def rows(self) -> list[Row]:
        """Return the statistics as flat rows: ``group``, ``name``, ``value`` and ``share``."""
        return [
            {"group": group, "name": name, **number._asdict()}
            for group, numbers in self.groups.items()
            for name, number in numbers.items()
        ]


def collect_statistics(
    collection: Collection, *, top_venues: int = 15, tally: pl.DataFrame | None = None
) -> CollectionStatistics:
    """Return the statistics of a collection with the ``top_venues`` largest venues; ``tally`` are
    the rows of `count_documents` for all its parts, if the caller has them."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, name, number in (count_documents(collection) if tally is None else tally).iter_rows():
        counts[kind][name] += number
    years = sorted(map(int, counts["years"]))
    passage_tables = _passage_tables(collection)
    from_files = [name for name in collection.query_sets if name not in ("paragraphs", "sentences")]
    papers = read_columns(collection, "papers", "references", "found")
    groups = _documents(counts, top_venues)
    for name, table in passage_tables.items():
        groups[name] = _measure_passages(collection, name, table)
    if papers.height:
        groups |= _references(collection, papers)
    for name in from_files:
        groups |= _query_set(collection, name)
    groups["links"] = _shares(count_values(read_columns(collection, "links", "kind")["kind"]))
    groups |= _import(collection, counts["total"])
    return CollectionStatistics(
        collection.name,
        groups,
        tuple(from_files),
        years=tuple(
            (year, counts["years"][str(year)], counts["abstracts"][str(year)]) for year in years
        ),
        lengths={name: tuple(table["tokens"]) for name, table in passage_tables.items()},
        per_paper=tuple(papers.iter_rows()),
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _shares(counts: Mapping[Any, int], whole: int = 0) -> dict[str, Number]:
    return {str(name): Number(count, _ratio(count, whole)) for name, count in counts.items()}


def _spread(what: str, values: pl.Series) -> dict[str, Number]:
    """Return the mean, the minimum and the maximum of some counts."""
    numbers = values.to_list()
    mean = _ratio(sum(numbers), len(numbers))
    spread = (mean, min(numbers, default=None), max(numbers, default=None))
    return {
        f"{what}, {name}": Number(value)
        for name, value in zip(("mean", "least", "most"), spread, strict=True)
    }


def _documents(counts: Mapping[str, Counter[str]], top_venues: int) -> Groups:
    total = counts["total"]["documents"]
    series: dict[str, Counter[str]] = {}
    for venue, count in counts["venues"].items():
        name = venue_series(venue)
        series.setdefault(venue_key(name), Counter())[name] += count
    venues = sort_counts(  # each under the most frequent of its names
        (max(names, key=lambda name: (names[name], name)), names.total())
        for names in series.values()
    )
    languages: Counter[str] = Counter()
    for stated, count in counts["languages"].items():  # english, eng and en-GB are one
        languages[language_code(stated)] += count
    fields = ("abstract", "keywords", "DOI", "full text", "year", "venue", "language")
    having = {f"with {name}": counts["having"][name.replace("DOI", "doi")] for name in fields}
    words = _ratio(counts["total"]["words"], counts["having"]["abstract"])
    years = dict(sorted(counts["years"].items(), key=lambda item: int(item[0])))
    return {
        "documents": {
            "count": Number(total),
            **_shares(having, total),
            "words per abstract": Number(words),
            "venues": Number(len(venues)),
        },
        "types": _shares(sort_counts(counts["types"].items()), total),
        "languages": _shares(sort_counts(languages.items()), total),
        "venues": _shares(dict(islice(venues.items(), top_venues)), total),
        "years": _shares(years, total),
    }


def _passage_tables(collection: Collection) -> dict[str, pl.DataFrame]:
    """Return the paragraphs and the sentences of the citing papers, if there are any."""
    contexts = passages(collection.contexts, collection.rules)
    if contexts.is_empty():
        return {}
    sentences = contexts.select(
        "paper_id", "context_id", "cites",
        passage="sentence_id",
        tokens=pl.col("text").str.count_matches(TOKEN),
        characters=pl.col("text").str.len_chars(),
    )  # fmt: skip
    paragraphs = sentences.group_by("paper_id", "context_id", maintain_order=True).agg(
        pl.col("tokens", "characters").sum(), cites=pl.col("cites").explode(empty_as_null=False)
    )
    return {"paragraphs": paragraphs.with_columns(passage="context_id"), "sentences": sentences}


def _measure_passages(collection: Collection, name: str, table: pl.DataFrame) -> dict[str, Number]:
    has_set = name in collection.query_sets
    queries = collection.queries(name)["query_id"].to_list() if has_set else []
    table = table.with_columns(
        query_id=query_id(pl.col("passage")),
        citations=pl.col("cites").list.n_unique(),
        mentions=pl.col("cites").list.len(),
    )
    is_part = (pl.lit(value=True), pl.col("mentions") > 0, pl.col("query_id").is_in(queries))
    numbers: dict[str, Number] = {}
    for part, condition in zip(PARTS, is_part, strict=True):
        rows = table.filter(condition)
        numbers[part] = Number(rows.height, _ratio(rows.height, table.height))
        for mean in MEANS:
            value = _ratio(int(rows[mean].sum()), rows.height)
            numbers[f"{mean} per passage, {part}"] = Number(value)
    # pairs of query and relevant document
    numbers["pairs"] = Number(collection.qrels(name).table.height if has_set else 0)
    return numbers


def _references(collection: Collection, papers: pl.DataFrame) -> Groups:
    total, found = (int(papers[name].sum()) for name in ("references", "found"))
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
    reasons = count_values(unfound.select(pl.coalesce(*known, pl.lit("nothing"))).to_series())
    return {
        "references": {
            "papers": Number(papers.height),
            "count": Number(total),
            "found": Number(found, _ratio(found, total)),
            "coverage, mean of papers": Number(_ratio(float(shares.sum()), len(shares))),
            **_spread("per paper", papers["references"]),
            **_spread("found per paper", papers["found"]),
        },
        "unfound": _shares(reasons, total - found),
    }


def _query_set(collection: Collection, name: str) -> Groups:
    qrels = collection.qrels(name).table
    per_query = qrels.group_by("query_id").agg((pl.col("relevance") > 0).sum())["relevance"]
    relevant = int(per_query.sum())
    grades = dict(qrels["relevance"].value_counts().sort("relevance").iter_rows())
    return {
        f"query set {name}": {
            "queries": Number(collection.queries(name).height),
            "judged queries": Number(len(per_query)),
            "judged pairs": Number(qrels.height),
            "relevant pairs": Number(relevant, _ratio(relevant, qrels.height)),
            **_spread("relevant per query", per_query),
        },
        f"grades {name}": _shares(grades, qrels.height),
    }


def _import(collection: Collection, total: Mapping[str, int]) -> Groups:
    formats = read_columns(collection, "import/sources", "format")["format"]
    aside = read_columns(collection, "import/set_aside", "reason", "kept_as")
    reasons = aside.filter(pl.col("kept_as").is_null())["reason"]
    records = total["records"] + len(reasons)
    merged = total["records"] - total["documents"]
    numbers = {"files": len(formats), "records": records, "merged": merged}
    problems = read_columns(collection, "import/problems", "kind")["kind"]
    return {
        "import": _shares(numbers),
        "formats": _shares(count_values(formats.filter(formats != "")), len(formats)),
        "set aside": _shares(count_values(reasons), records),
        "problems": _shares(count_values(problems)),
    }
