"""Checks of queries, judgements and citing papers."""

from __future__ import annotations

import polars as pl

from citebed.collection import tables
from citebed.collection.lint.base import (
    Subject,
    check,
    format_place,
    is_blank,
    make_findings,
    no_findings,
    quote,
)
from citebed.collection.names import unique_names
from citebed.runs.times import is_later
from citebed.text.titles import grams, plain_title
from citebed.wording import count


def _sets(subject: Subject) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    return [
        (name, subject.queries.filter(set=name), subject.collection.qrels(name).table)
        for name in subject.collection.query_sets
    ]


def _places(subject: Subject) -> pl.DataFrame:
    """Return the source and line of each judgement; those made from citing papers have none."""
    judgements = subject.collection.table("import/judgements", tables.JUDGEMENTS)
    return judgements.select("query_id", "doc_id", "source", "line")


@check(
    "absent-documents",
    "error",
    "judgements of documents that are not in the collection",
    "They count as not found. Import the sources that contain them; for excluded documents "
    "change the rules (--front-matter keep, a shorter --exclude list).",
)
def absent_documents(subject: Subject) -> pl.DataFrame:
    parts = [no_findings()]
    known = subject.documents.select("doc_id")
    for name, _, qrels in _sets(subject):
        absent = qrels.join(known, on="doc_id", how="anti", maintain_order="left")
        if absent.height:
            parts.append(_explained(subject, name, absent))
    return pl.concat(parts)


def _explained(subject: Subject, name: str, absent: pl.DataFrame) -> pl.DataFrame:
    """Return a row per absent document: how often it is judged, and why it is absent."""
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
        .join(unique_names(subject.documents).rename({"name": "lower", "doc_id": "known"}),
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
    return make_findings(rows, "doc_id", what, _where(name))


def _where(name: str) -> pl.Expr:
    return pl.coalesce(format_place(), pl.lit(f"qrels/{name}.qrels"))


@check(
    "absent-queries",
    "error",
    "judgements for queries that are not in the collection",
    "Import the query file that belongs to the judgements. Judgements that number the queries "
    'by their order in the file need --profile cranfield (query_ids = "order").',
)
def absent_queries(subject: Subject) -> pl.DataFrame:
    parts = [no_findings()]
    places = _places(subject).unique("query_id", keep="first", maintain_order=True).drop("doc_id")
    for name, queries, qrels in _sets(subject):
        if qrels.height and queries.is_empty():
            judged = qrels["query_id"].n_unique()
            are = "is" if judged == 1 else "are"
            text = f"{count(judged, 'query')} {are} judged, but the set has no queries"
            parts.append(pl.DataFrame({"place": f"qrels/{name}.qrels", "id": name, "what": text}))
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
        parts.append(make_findings(absent, "query_id", what, _where(name)))
    return pl.concat(parts)


@check(
    "queries-without-relevant",
    "warning",
    "queries without any relevant document",
    "Most measures are 0 or undefined for them. Judge more documents, or remove the queries from "
    "their file and import it again.",
)
def without_relevant(subject: Subject) -> pl.DataFrame:
    parts = [no_findings()]
    for name, queries, qrels in _sets(subject):
        if queries.height and qrels.is_empty():
            text = f"no judgements for {count(queries.height, 'query')}"
            parts.append(pl.DataFrame({"place": f"queries/{name}.jsonl", "id": name, "what": text}))
            continue
        answered = qrels.filter(pl.col("relevance") > 0)
        lost = queries.join(answered, on="query_id", how="anti", maintain_order="left")
        what = pl.format("no relevant document: {}", quote("text"))
        parts.append(make_findings(lost, "query_id", what, pl.col("place")))
    return pl.concat(parts)


@check(
    "queries-without-text",
    "error",
    "queries or citing sentences without text",
    "Add text in the source, or remove them, and import it again.",
)
def queries_without_text(subject: Subject) -> pl.DataFrame:
    queries = subject.queries.filter(is_blank("text"))
    sentences = subject.collection.contexts.filter(is_blank("text")).with_columns(
        query_id=pl.format("{}:{}", "paper_id", "sentence_id")
    )
    what = pl.format("a sentence without text, citing {}", pl.col("cites").list.join(", "))
    of_papers = make_findings(sentences, "query_id", what, format_place(line=None))
    of_queries = make_findings(queries, "query_id", pl.lit("a query without text"), pl.col("place"))
    return pl.concat([of_papers, of_queries])


@check(
    "queries-equal-to-documents",
    "warning",
    "queries that equal a document's title or contain most of its abstract",
    "Every search ranks the document first. List these documents in a file and import with "
    "--exclude FILE, or remove the queries.",
)
def equal_to_documents(subject: Subject) -> pl.DataFrame:
    if subject.queries.is_empty():
        return no_findings()
    copies = pl.concat([_copies_of_titles(subject), _copies_of_abstracts(subject)])
    return make_findings(copies, name="query_id", what=pl.col("what"), where=pl.col("place"))


COVERED = 0.9
"""Share of an abstract that a copy of it contains."""
SHORTEST = 100
"""Shorter abstracts, such as "No abstract available.", are not compared."""

_PROBE = 32
_CUT = 60
_GRAM = 5


def _copies_of_titles(subject: Subject) -> pl.DataFrame:
    """Return queries that equal a title of three or more words, in letters and digits only."""
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
    """Return queries that contain the share ``COVERED`` of an abstract's runs of five letters.

    Only abstracts are compared whose first 32 letters, or 32 from the middle, are in the query.
    """
    queries = subject.queries.with_row_index("query")
    queries = queries.with_columns(plain=plain_title(pl.col("text")))
    text = pl.col("abstract")
    size = text.str.len_chars()
    cuts = (text.str.slice(0, _CUT), text.str.slice(size // 2, _CUT))
    long = subject.texts.lazy().with_row_index("row").filter(size >= SHORTEST)
    probes = [long.select("row", probe=plain_title(cut).str.slice(0, _PROBE)) for cut in cuts]
    room = pl.col("plain").str.len_chars().cast(pl.Int64) - _PROBE
    shared = (
        queries.lazy()
        .filter(room >= 0)
        .select("query", "plain", at=pl.int_ranges(room + 1))
        .explode("at")
        .select("query", probe=pl.col("plain").str.slice(pl.col("at"), _PROBE))
        .unique()
        .collect()
    ).join(
        pl.concat(pl.collect_all(probes)).filter(pl.col("probe").str.len_chars() == _PROBE),
        on="probe",
    )
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
    """Return the share of the abstract's runs of five letters that are in the query, too."""
    ours, theirs = grams(abstract, _GRAM), grams(query, _GRAM)
    return len(ours & theirs) / max(1, len(ours))


# --- Citing papers ------------------------------------------------------------------------------


_IDENTIFIER = pl.coalesce(
    "doc_id", "doi", pl.col("target").str.to_lowercase(), pl.col("url").str.to_lowercase()
)
_UNKNOWN = r"cites (.+), which the reference list does not have"


@check(
    "citing-papers-inside",
    "warning",
    "citing papers that are also documents of the collection",
    "A search for their paragraphs finds their own abstracts. List their DOIs in a file and "
    "import with --exclude FILE.",
)
def papers_inside(subject: Subject) -> pl.DataFrame:
    inside = subject.collection.papers.filter(pl.col("doc_id").is_not_null())
    return make_findings(
        inside, "paper_id", pl.format("{} is document {}", quote("title"), "doc_id")
    )


@check(
    "duplicate-papers",
    "error",
    "citing papers that were read twice",
    "Keep one of the two, and remove the other with citebed forget.",
)
def duplicate_papers(subject: Subject) -> pl.DataFrame:
    numbered = subject.collection.papers.with_columns(first=format_place().first().over("paper_id"))
    again = numbered.filter(~pl.col("paper_id").is_first_distinct())
    return make_findings(again, "paper_id", pl.format("was read before, from {}", "first"))


@check(
    "later-references",
    "note",
    "references later than the paper that cites them",
    "The year is wrong, or a preprint was cited before it was printed. Import with --no-future "
    "so that they do not count as relevant.",
)
def later_references(subject: Subject) -> pl.DataFrame:
    if subject.collection.rules.no_future:
        return no_findings()
    papers = subject.collection.papers.select("paper_id", "date").unique("paper_id", keep="first")
    documents = subject.documents.select("doc_id", published="date")
    late = (
        subject.collection.references.join(papers, on="paper_id", maintain_order="left")
        .join(documents, on="doc_id", maintain_order="left")
        .filter(is_later(pl.col("published"), pl.col("date")))
    )
    what = pl.format("of {}, cites {} of {}", "date", "doc_id", "published")
    return make_findings(late, "paper_id", what, format_place(line=None))


@check(
    "sloppy-references",
    "warning",
    "references found only when case and spaces of the identifier are ignored",
    "Correct the identifier in the source and import it again. A profile with references = "
    '"exact" (acm-cr) loses them; references = "tolerant" finds them.',
)
def sloppy_references(subject: Subject) -> pl.DataFrame:
    """With exact comparison of identifiers these references are lost."""
    written = subject.collection.references.filter(pl.col("raw").is_not_null())
    if written.is_empty():
        return no_findings()
    exact = subject.collection.rules.references == "exact"
    folded = pl.col("raw").str.strip_chars().str.to_lowercase()
    name = pl.coalesce("doi", pl.col("target").str.to_lowercase()) if exact else folded
    names = unique_names(subject.documents).rename({"doc_id": "known"})
    likely = written.with_columns(name=name).join(names, on="name", maintain_order="left")
    if exact:
        doubtful = likely.filter(pl.col("doc_id").is_null())
    else:
        doubtful = likely.join(_as_written(subject), on="raw", how="anti", maintain_order="left")
    verdict = "so it is lost" if exact else "found because case and spaces are ignored"
    what = pl.format(
        "reference {}: '{}' is not exactly '{}', {}",
        "ref_id", "raw", "known", pl.lit(verdict),
    )  # fmt: skip
    return make_findings(doubtful, "paper_id", what, format_place(line=None))


def _as_written(subject: Subject) -> pl.DataFrame:
    documents = subject.documents
    return pl.concat(
        [
            documents.select(raw="doc_id"),
            documents.select(raw="doi"),
            documents.select(raw="aliases").explode("raw"),
        ]
    ).drop_nulls()


@check(
    "unknown-cites",
    "warning",
    "sentences that cite a number that is not in their reference list",
    "Correct the number, or add the reference to the list, in the source and import it again.",
)
def unknown_cites(subject: Subject) -> pl.DataFrame:
    collection = subject.collection
    lines = (
        collection.problems.with_columns(cite=pl.col("what").str.extract(_UNKNOWN))
        .drop_nulls("cite")
        .unique(["source", "cite"], keep="first", maintain_order=True)
        .select("source", "cite", "line")
    )
    known = collection.references.select("paper_id", cite="ref_id")
    lost = (
        collection.contexts.select("paper_id", "sentence_id", "source", cite="cites")
        .explode("cite")
        .drop_nulls("cite")
        .join(known, on=["paper_id", "cite"], how="anti", maintain_order="left")
        .join(lines, on=["source", "cite"], how="left", maintain_order="left")
        .with_columns(query_id=pl.format("{}:{}", "paper_id", "sentence_id"))
    )
    what = pl.format("cites {}, which the reference list does not have", "cite")
    return make_findings(lost, "query_id", what)


@check(
    "duplicate-references",
    "note",
    "references that are in one list twice",
    "Judgements count a document once, but the share of references found counts it twice. "
    "Correct the list in the source and import it again.",
)
def duplicate_references(subject: Subject) -> pl.DataFrame:
    named = subject.collection.references.with_columns(same=_IDENTIFIER).drop_nulls("same")
    key = ["paper_id", "same"]
    again = named.with_columns(first=pl.col("ref_id").first().over(key)).filter(
        ~pl.struct(key).is_first_distinct()
    )
    what = pl.format("reference {} is {} again: {}", "ref_id", "first", "same")
    listed = subject.collection.problems.filter(
        pl.col("what").str.contains(r"^reference .+ is listed twice")
    )
    return pl.concat(
        [
            make_findings(again, "paper_id", what, format_place(line=None)),
            make_findings(listed, "source", pl.col("what")),
        ]
    )


@check(
    "same-context-ids",
    "warning",
    "paragraphs of one paper with the same id in the source",
    "Give each paragraph its own id in the source and import it again; other judgements "
    "that name the id may mean either paragraph.",
)
def same_context_ids(subject: Subject) -> pl.DataFrame:
    same = subject.collection.problems.filter(
        pl.col("what").str.starts_with("two contexts have the id")
    )
    papers = subject.collection.papers.select("paper_id", "source")
    named = same.join(papers, on="source", how="left", maintain_order="left")
    return make_findings(named, "paper_id", pl.col("what"))


@check(
    "records-skipped",
    "warning",
    "records that were skipped on import",
    "Correct the source at this place and import it again; with --strict an import fails "
    "if it would skip anything.",
)
def skipped(subject: Subject) -> pl.DataFrame:
    skipped = subject.collection.problems.filter(pl.col("kind") == "skipped")
    return make_findings(skipped, "source", pl.col("what"))
