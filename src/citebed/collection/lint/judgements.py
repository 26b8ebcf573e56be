"""Checks on queries and judgements."""

from __future__ import annotations

import polars as pl

from citebed.collection import tables
from citebed.collection.lint.base import Subject, blank, check, findings, nothing, place, shown
from citebed.collection.names import document_names
from citebed.text.titles import grams, plain_title
from citebed.wording import count


def _sets(subject: Subject) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    return [
        (name, subject.queries.filter(set=name), subject.collection.qrels(name).table)
        for name in subject.collection.query_sets
    ]


def _places(subject: Subject) -> pl.DataFrame:
    """Where each judgement was read; judgements made from citing papers have no line."""
    judgements = subject.collection.table("import/judgements", tables.JUDGEMENTS)
    return judgements.select("query_id", "doc_id", "source", "line")


@check(
    "absent-documents",
    "error",
    "judgements of documents that the collection does not have",
    "They count as never found. Import the sources that have them; one that was set aside "
    "comes back with other rules (--front-matter keep, a shorter --exclude list).",
)
def absent_documents(subject: Subject) -> pl.DataFrame:
    parts = [nothing()]
    known = subject.documents.select("doc_id")
    for name, _, qrels in _sets(subject):
        absent = qrels.join(known, on="doc_id", how="anti", maintain_order="left")
        if absent.height:
            parts.append(_explained(subject, name, absent))
    return pl.concat(parts)


def _explained(subject: Subject, name: str, absent: pl.DataFrame) -> pl.DataFrame:
    """A row for each absent document: how often it is judged, and what is known of it."""
    lower = pl.col("doc_id").str.to_lowercase()
    aside = subject.collection.set_aside.select("reason", lower=lower)
    rows = (
        absent.join(
            _places(subject).unique(["query_id", "doc_id"], keep="first", maintain_order=True),
            on=["query_id", "doc_id"], how="left", maintain_order="left",
        )
        .group_by("doc_id", maintain_order=True)
        .agg(
            pl.col("source", "line").first(),
            judged=pl.len(),
            relevant=(pl.col("relevance") > 0).sum(),
        )
        .with_columns(lower=lower)
        .join(document_names(subject.documents).rename({"name": "lower", "doc_id": "known"}),
              on="lower", how="left", maintain_order="left")
        .join(aside.unique("lower", keep="first"), on="lower", how="left", maintain_order="left")
    )  # fmt: skip
    why = (
        pl.when(pl.col("known").is_not_null())
        .then(pl.format("in the collection as {}", "known"))
        .otherwise(pl.format("set aside: {}", "reason"))
        .fill_null("not in any source")
    )
    queries = pl.when(pl.col("judged") == 1).then(pl.lit("query")).otherwise(pl.lit("queries"))
    what = pl.format("judged for {} {}, relevant to {}; {}", "judged", queries, "relevant", why)
    return findings(rows, "doc_id", what, _where(name))


def _where(name: str) -> pl.Expr:
    return pl.coalesce(place(), pl.lit(f"qrels/{name}.qrels"))


@check(
    "absent-queries",
    "error",
    "judgements for queries that are not there",
    "Import the query file that belongs to the judgements. Judgements that count the queries "
    'from 1 in the order of the file need --profile cranfield (query_ids = "order").',
)
def absent_queries(subject: Subject) -> pl.DataFrame:
    parts = [nothing()]
    places = _places(subject).unique("query_id", keep="first", maintain_order=True).drop("doc_id")
    for name, queries, qrels in _sets(subject):
        if qrels.height and queries.is_empty():
            judged = qrels["query_id"].n_unique()
            are = "is" if judged == 1 else "are"
            said = f"{count(judged, 'query')} {are} judged, and none is here"
            parts.append(pl.DataFrame({"place": f"qrels/{name}.qrels", "id": name, "what": said}))
            continue
        absent = (
            qrels.join(queries, on="query_id", how="anti", maintain_order="left")
            .group_by("query_id", maintain_order=True)
            .agg(judged=pl.len())
            .join(places, on="query_id", how="left", maintain_order="left")
        )
        ending = pl.when(pl.col("judged") == 1).then(pl.lit("")).otherwise(pl.lit("s"))
        what = pl.format(
            "{} judgement{} for a query that is not in {}", "judged", ending, pl.lit(name)
        )
        parts.append(findings(absent, "query_id", what, _where(name)))
    return pl.concat(parts)


@check(
    "queries-without-relevant",
    "warning",
    "queries without any relevant document",
    "Most measures are 0 or undefined for them: judge more, or take the queries out of their "
    "file and import it again.",
)
def without_relevant(subject: Subject) -> pl.DataFrame:
    parts = [nothing()]
    for name, queries, qrels in _sets(subject):
        if queries.height and qrels.is_empty():
            said = f"none of {count(queries.height, 'query')} is judged"
            parts.append(pl.DataFrame({"place": f"queries/{name}.jsonl", "id": name, "what": said}))
            continue
        answered = qrels.filter(pl.col("relevance") > 0)
        lost = queries.join(answered, on="query_id", how="anti", maintain_order="left")
        what = pl.format("no relevant document: {}", shown("text"))
        parts.append(findings(lost, "query_id", what, pl.col("place")))
    return pl.concat(parts)


@check(
    "queries-without-text",
    "error",
    "queries or citing sentences without text",
    "Give them text in the source, or take them out, and import it again.",
)
def queries_without_text(subject: Subject) -> pl.DataFrame:
    queries = subject.queries.filter(blank("text"))
    sentences = subject.collection.contexts.filter(blank("text")).with_columns(
        query_id=pl.format("{}:{}", "paper_id", "sentence_id")
    )
    what = pl.format("a sentence without text, citing {}", pl.col("cites").list.join(", "))
    of_papers = findings(sentences, "query_id", what, place(line=None))
    of_queries = findings(queries, "query_id", pl.lit("a query without text"), pl.col("place"))
    return pl.concat([of_papers, of_queries])


@check(
    "queries-equal-to-documents",
    "warning",
    "queries that are a document's title or hold its abstract nearly whole",
    "Any search finds its own text first. List those documents in a file and import with "
    "--exclude FILE, or take the queries out.",
)
def equal_to_documents(subject: Subject) -> pl.DataFrame:
    if subject.queries.is_empty():
        return nothing()
    copies = pl.concat([_copies_of_titles(subject), _copies_of_abstracts(subject)])
    return findings(copies, name="query_id", what=pl.col("what"), where=pl.col("place"))


# --- queries that are copied from a document: its title, or its abstract nearly whole ------------

COVERED = 0.9
"""The part of an abstract that must stand in a query."""
SHORTEST = 100
"""Abstracts of fewer letters and digits ("No abstract available.") are not compared."""

_PROBE = 32
_CUT = 60
_GRAM = 5


def _copies_of_titles(subject: Subject) -> pl.DataFrame:
    """Queries equal to a title of three words or more, folded to letters and digits."""
    titles = (
        subject.documents.lazy()
        .filter(pl.col("title").str.count_matches(r"\S+") > 2)
        .select("doc_id", "plain")
        .unique("plain", keep="first", maintain_order=True)
    )
    return (
        subject.queries.lazy()
        .with_columns(plain=plain_title(pl.col("text")))
        .join(titles, on="plain", maintain_order="left")
        .select("place", "query_id", what=pl.format("is the title of {}", "doc_id"))
        .collect()
    )


def _copies_of_abstracts(subject: Subject) -> pl.DataFrame:
    """Queries that hold an abstract nearly whole: ``COVERED`` of its runs of five letters.

    Looked at are abstracts of which the beginning, middle or end (32 letters) stands in the
    query to the letter.
    """
    queries = subject.queries.with_row_index("query")
    queries = queries.with_columns(plain=plain_title(pl.col("text")))
    shared = _windows(queries).join(_probes(subject.texts), on="probe")
    pairs = shared.select("query", "row").unique()
    texts = subject.texts.with_row_index("row").select("row", "doc_id", "abstract")
    likely = (
        pairs.join(texts, on="row")
        .with_columns(whole=plain_title(pl.col("abstract")))
        .join(queries, on="query")
        .filter(pl.col("whole").str.len_chars() >= SHORTEST)
        .sort("query", "row")
    )
    covered = [coverage(*row) for row in likely.select("whole", "plain").iter_rows()]
    part = (pl.col("covered") * 100).floor().cast(pl.Int64)
    what = (
        pl.when(pl.col("whole") == pl.col("plain"))
        .then(pl.format("is the abstract of {}", "doc_id"))
        .otherwise(pl.format("holds {}% of the abstract of {}", part, "doc_id"))
    )
    copies = likely.with_columns(covered=pl.Series(covered, dtype=pl.Float64))
    return copies.filter(pl.col("covered") >= COVERED).select("place", "query_id", what=what)


def coverage(abstract: str, query: str) -> float:
    """The part of the abstract's runs of five letters that stand in the query too."""
    ours, theirs = grams(abstract, _GRAM), grams(query, _GRAM)
    return len(ours & theirs) / max(1, len(ours))


def _probes(texts: pl.DataFrame) -> pl.DataFrame:
    """The first letters of each abstract and those in its middle: ``row`` and ``probe``."""
    text = pl.col("abstract")
    size = text.str.len_chars()
    cuts = (text.str.slice(0, _CUT), text.str.slice(size // 2, _CUT))
    long = texts.lazy().with_row_index("row").filter(size >= SHORTEST)
    probes = [long.select("row", probe=plain_title(cut).str.slice(0, _PROBE)) for cut in cuts]
    return pl.concat(pl.collect_all(probes)).filter(pl.col("probe").str.len_chars() == _PROBE)


def _windows(queries: pl.DataFrame) -> pl.DataFrame:
    """Every run of letters of each query as long as a probe: ``query`` and ``probe``."""
    size = pl.col("plain").str.len_chars().cast(pl.Int64) - _PROBE
    return (
        queries.lazy()
        .filter(size >= 0)
        .select("query", "plain", at=pl.int_ranges(size + 1))
        .explode("at")
        .select("query", probe=pl.col("plain").str.slice(pl.col("at"), _PROBE))
        .unique()
        .collect()
    )
