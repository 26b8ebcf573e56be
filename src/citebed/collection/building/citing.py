"""From citing papers to queries and judgements: find the document that each reference cites.

A query is a paragraph or a sentence that cites at least one document of the collection. The cited
documents are relevant, except for the citing paper itself. citebed makes queries as ACM-CR did
(Boudin 2021): from the sections that a rule names, and without the author names of citations.

This module also puts links and sections of records under the ids of their documents.
"""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import polars as pl

from citebed.collection.building.records import first_author
from citebed.collection.names import all_names, is_arxiv, normalise_names, unique_names
from citebed.collection.rules import Rules
from citebed.collection.tables import CONTEXTS, PAPERS, QRELS, QUERIES, REFERENCES
from citebed.records import Problem
from citebed.runs.times import is_later
from citebed.text.headings import is_under
from citebed.text.identifiers import FreeIds
from citebed.text.normalise import fold, join_hyphens
from citebed.text.titles import plain_title
from citebed.wording import count

_FEWEST_WORDS = 3
"""A title with at least this many words identifies a paper, as in merging."""


class QuerySet(NamedTuple):
    """Queries and their judgements; ``queries`` is empty if the user gave only judgements."""

    queries: pl.DataFrame
    qrels: pl.DataFrame


class CitingTables(NamedTuple):
    """The tables of citing papers; `resolve` adds the document of each reference."""

    papers: pl.DataFrame
    references: pl.DataFrame
    contexts: pl.DataFrame
    lists: pl.DataFrame


def resolve(read: CitingTables, records: pl.DataFrame, rules: Rules) -> CitingTables:
    """Find the documents of the papers and of their references.

    ``records`` has all documents and the excluded records; its column ``kept`` is true for
    documents. An excluded citing paper still lends its year.
    """
    rows = records.filter("kept")
    references = _resolve_references(_with_lists(read), unique_names(rows))
    if rules.references != "exact":
        references = _resolve_titles(_resolve_preprints(references, rows), rows)
    else:
        to_the_letter = (
            pl.col("raw").is_null()
            | (pl.col("raw") == pl.col("doc_id"))
            | (pl.col("raw") == pl.col("doi"))
        )
        references = references.with_columns(
            pl.when(to_the_letter).then(pl.col(name)) for name in ("doc_id", "resolved_by")
        )
    names = unique_names(records).rename({"doc_id": "record"})
    facts = records.unique("doc_id", keep="first", maintain_order=True).select(
        record="doc_id", record_year="year", record_date="date", kept="kept"
    )
    counts = references.group_by("paper_id").agg(
        references=pl.len().cast(pl.Int32),
        found=pl.col("doc_id").is_not_null().sum().cast(pl.Int32),
    )
    papers = (
        read.papers.drop("references", "found", "doc_id")
        .with_columns(name=normalise_names(pl.coalesce("doi", "paper_id")))
        .join(names, on="name", how="left", maintain_order="left")
        .join(facts, on="record", how="left", maintain_order="left")
        .join(counts, on="paper_id", how="left", maintain_order="left")
        .with_columns(
            year=pl.coalesce("year", "record_year"),
            date=pl.coalesce("date", "record_date", pl.col("year").cast(pl.String)),
            doc_id=pl.when("kept").then("record"),
            references=pl.col("references").fill_null(0),
            found=pl.col("found").fill_null(0),
        )
        .select(list(PAPERS))
    )
    contexts = _resolve_contexts(read.contexts, references)
    return CitingTables(papers, references, contexts, read.lists)


def collect_lookup_keys(tables: Mapping[str, pl.DataFrame]) -> tuple[pl.Series, pl.Series]:
    """Return the names and the folded titles that the tables look up. A document without any of
    these does not change the results of `resolve` and `with_ids`."""
    record = pl.col("record").str.replace_all(r"\s+", "_").str.to_lowercase()
    items = [
        tables["papers"].select(name=normalise_names(pl.coalesce("doi", "paper_id"))),
        tables["links"].select(name=normalise_names(pl.col("target"))),
    ]
    items += [tables[name].select(name=record) for name in ("links", "sections")]
    titles = []
    for references in (tables["references"], tables["lists"]):
        own = (pl.col("doi"), _arxiv_name(), pl.col("target").str.to_lowercase())
        items += [references.select(name=each) for each in own]
        titles.append(references.select(plain=plain_title(pl.col("title"))))
    names, plain = pl.concat(items)["name"], pl.concat(titles)["plain"]
    return names.drop_nulls().unique(), plain.drop_nulls().unique()


def find_matching_documents(
    documents: pl.DataFrame, names: pl.Series, titles: pl.Series
) -> pl.DataFrame:
    """Return the documents with a name or a title from `asked`."""
    named = all_names(documents).filter(pl.col("name").is_in(names.implode()))
    is_match = (
        pl.col("doc_id").is_in(named["doc_id"].implode())
        | pl.col("doi").is_in(names.implode()).fill_null(value=False)
        | plain_title(pl.col("title")).is_in(titles.implode()).fill_null(value=False)
    )
    return documents.filter(is_match)


def _with_lists(read: CitingTables) -> pl.DataFrame:
    """Return the references, completed from reference lists in separate files of the same name."""
    if read.lists.is_empty():
        return read.references
    own, papers = read.references, read.papers
    # Drop what a list added in an earlier import; it is added again below.
    own = own.filter(~pl.col("source").is_in(read.lists["source"].unique().to_list()))
    stem = pl.col("source").str.replace(r"\.[^./]*$", "")
    owners = papers.select("paper_id", stem=stem).unique("stem", keep="first", maintain_order=True)
    listed = (
        read.lists.drop("paper_id")
        .with_columns(stem=stem)
        .join(owners, on="stem", how="inner", maintain_order="left")
        .drop("stem", "doc_id", "resolved_by")
    )
    unknown = pl.all_horizontal(pl.col("doi", "arxiv", "url", "target").is_null())
    merged = own.join(
        listed, on=["paper_id", "ref_id"], how="left", suffix="_list", maintain_order="left"
    )
    filled = merged.with_columns(
        pl.when(unknown).then(pl.col(f"{name}_list")).otherwise(pl.col(name)).alias(name)
        for name in ("doi", "arxiv", "url", "target", "raw")
    ).select(list(REFERENCES))
    more = listed.join(own, on=["paper_id", "ref_id"], how="anti", maintain_order="left")
    return pl.concat([filled, more], how="diagonal").select(list(REFERENCES))


def _resolve_references(references: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Find documents by DOI, by arXiv id, or by the id that the source gives the cited document."""
    stated = {
        "doi": pl.col("doi"),
        "arxiv": _arxiv_name(),
        "id": pl.col("target").str.to_lowercase(),
    }
    unknown = pl.lit(None, dtype=pl.String)  # discard what an earlier import found
    rows = references.with_columns(
        *(name.alias(f"as_{by}") for by, name in stated.items()),
        doc_id=unknown,
        resolved_by=unknown,
    )
    for by in stated:
        known = names.select(pl.col("name").alias(f"as_{by}"), pl.col("doc_id").alias(f"by_{by}"))
        rows = rows.join(known, on=f"as_{by}", how="left", maintain_order="left")
    return _fill_in_documents(rows, [f"by_{by}" for by in stated])


def _arxiv_name() -> pl.Expr:
    """Return a reference's arXiv name: its arXiv id, or the one in its DOI, URL, target or text."""
    stated = pl.lit("arxiv:") + pl.col("arxiv")
    named = [normalise_names(pl.col(column)) for column in ("doi", "url", "target", "raw")]
    return pl.coalesce(stated, *(pl.when(is_arxiv(name)).then(name) for name in named))


def _fill_in_documents(references: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Fill in ``doc_id`` from the first of these columns (``by_doi``, …) with a value, and
    ``resolved_by`` with the name of that column."""
    by = (
        pl.when(pl.col(column).is_not_null()).then(pl.lit(column.removeprefix("by_")))
        for column in columns
    )
    return references.with_columns(
        doc_id=pl.coalesce("doc_id", *columns), resolved_by=pl.coalesce("resolved_by", *by)
    ).select(list(REFERENCES))


def _resolve_titles(references: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Find references by title, if exactly one document has that title.

    This applies to references without a DOI or id, and to those with a DOI that several documents
    have. The first authors must be the same if both are known. A title of one or two words
    ("Information Retrieval") does not identify a paper.
    """
    shared = documents.filter(pl.col("doubtful").list.contains("doi"))["doi"]
    unsure = pl.col("doi").is_null() | pl.col("doi").is_in(shared.implode())
    nameless = pl.all_horizontal(pl.col("doc_id", "target").is_null()) & unsure
    telling = pl.col("title").str.count_matches(r"[\p{L}\p{N}]+") >= _FEWEST_WORDS
    plain = plain_title(pl.col("title"))
    references = references.with_columns(plain=pl.when(nameless & telling).then(plain))
    wanted = references["plain"].drop_nulls().unique()
    if wanted.is_empty():
        return references.drop("plain")
    is_wanted = pl.col("plain").is_in(wanted.implode()) & pl.col("plain").is_unique()
    first = first_author(pl.col("authors"))
    titles = documents.select(by_title="doc_id", plain=plain, first=first).filter(is_wanted)
    joined = references.join(titles, on="plain", how="left", maintain_order="left")
    cited = first_author(pl.concat_list("author"))
    same = (cited == "") | (pl.col("first") == "") | (cited == pl.col("first"))
    return _fill_in_documents(
        joined.with_columns(by_title=pl.when(same).then("by_title")), ["by_title"]
    )


def _resolve_preprints(references: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Find the published version of a cited preprint, and the preprint of a cited publication.

    Title and first author must be the same, and only one document may have them. One of the two
    must be on arXiv: otherwise two identifiers mean two papers.
    """
    work = pl.concat_str([plain_title(pl.col("title")), pl.col("first")], separator="|")
    telling = pl.col("title").str.count_matches(r"[\p{L}\p{N}]+") >= _FEWEST_WORDS
    telling &= pl.col("first") != ""
    lost = references.with_columns(
        first=first_author(pl.concat_list("author")), preprint=_arxiv_name().is_not_null()
    )
    lost = lost.with_columns(work=pl.when(telling & pl.col("doc_id").is_null()).then(work))
    wanted = lost["work"].drop_nulls().unique()
    if wanted.is_empty():
        return references
    on_arxiv = pl.col("arxiv").is_not_null() | is_arxiv(normalise_names(pl.col("doi")))
    works = (
        documents.with_columns(first=first_author(pl.col("authors")))
        .select(by_preprint="doc_id", work=work, on_arxiv=on_arxiv.fill_null(value=False))
        .filter(pl.col("work").is_in(wanted.implode()) & pl.col("work").is_unique())
    )
    joined = lost.join(works, on="work", how="left", maintain_order="left")
    either = pl.col("preprint") | pl.col("on_arxiv")
    rows = joined.with_columns(by_preprint=pl.when(either).then("by_preprint"))
    return _fill_in_documents(rows, ["by_preprint"])


def _resolve_contexts(contexts: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
    numbered = contexts.drop("cited", "sentence_id").with_row_index("row")
    rows = references.select("paper_id", "ref_id", "doc_id").drop_nulls()
    cited = (
        numbered.select("row", "paper_id", ref_id="cites")
        .explode("ref_id")
        .join(rows, on=["paper_id", "ref_id"], how="inner", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg(cited=pl.col("doc_id").unique(maintain_order=True))
    )
    return (
        numbered.join(cited, on="row", how="left", maintain_order="left")
        .with_columns(
            cited=pl.col("cited").fill_null(pl.lit([], dtype=pl.List(pl.String))),
            sentence_id=pl.concat_str(
                "context_id", pl.col("sentence").cast(pl.String), separator="."
            ),
        )
        .select(list(CONTEXTS))
    )


MASK = "[CIT]"
"""The replacement for a citation by name and year in a query without names."""


def passages(contexts: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return the sentences for queries: those in the wanted sections, without names of cited
    authors.

    citebed removes names from sentences that were not anonymised by hand (``anonymised`` is null).
    With ``clean_annotations``, it also does so if the annotator left the names in.
    """
    contexts = contexts.filter(~_outside(contexts, rules))
    if rules.clean_annotations:
        cleaned = [
            fold(join_hyphens(_BROKEN.sub(r"\1\n", text))) if by_hand is not None else text
            for text, by_hand in contexts.select("text", "anonymised").iter_rows()
        ]
        mark = pl.when(pl.col("anonymised")).then(pl.lit(value=True))
        contexts = contexts.with_columns(text=pl.Series(cleaned, dtype=pl.String), anonymised=mark)
    if not rules.anonymise or not contexts["anonymised"].null_count():
        return contexts
    from citebed.text.anonymise import anonymise  # compiles its patterns on import, which is slow

    columns = contexts.select("text", pl.col("anonymised").is_null()).iter_rows()
    texts = [anonymise(text, MASK).strip() if unseen else text for text, unseen in columns]
    return contexts.with_columns(text=pl.Series(texts, dtype=pl.String))


_BROKEN = re.compile(r"(?<=\w)([-\u2010]) (?=\w)")
"""A hyphen at the end of a line, after white space is folded."""


def _outside(contexts: pl.DataFrame, rules: Rules) -> pl.Series:
    """Return which sentences are outside the sections that citebed makes queries of."""
    sections = contexts["section"].fill_null("")
    if not rules.sections:
        return pl.repeat(False, contexts.height, dtype=pl.Boolean, eager=True)
    return ~sections.is_in([name for name in sections.unique() if is_under(name, rules.sections)])


def paragraphs_outside(contexts: pl.DataFrame, rules: Rules) -> dict[str, int]:
    """Return the number of citing paragraphs outside the wanted sections, by section, most
    first."""
    left_out = contexts.filter(_outside(contexts, rules)).unique(["paper_id", "context_id"])
    sections = left_out["section"].fill_null("").value_counts(name="paragraphs")
    return dict(sections.sort("paragraphs", "section", descending=[True, False]).iter_rows())


def query_sets(citing: CitingTables, documents: pl.DataFrame, rules: Rules) -> dict[str, QuerySet]:
    if citing.papers.is_empty():
        return {}
    asking = citing.contexts.filter(pl.col("cited").list.len() > 0)
    whole = citing.contexts.join(
        asking, on=["paper_id", "context_id"], how="semi", maintain_order="left"
    )
    contexts = passages(whole, rules)
    paragraphs = contexts.group_by("paper_id", "context_id", maintain_order=True).agg(
        pl.col("section").first(),
        pl.col("text").str.join(" "),
        cited=pl.col("cited").explode(empty_as_null=False).unique(maintain_order=True),
    )
    sentences = contexts.select("paper_id", "section", "text", "cited", context_id="sentence_id")
    return {
        "paragraphs": _query_set(paragraphs, citing.papers, documents, rules),
        "sentences": _query_set(sentences, citing.papers, documents, rules),
    }


def query_id(passage: pl.Expr) -> pl.Expr:
    """Return the id of a passage as a query: paper id, colon, passage id, without the white space
    that TREC files do not allow."""
    parts = (part.str.replace_all(r"\s+", "_") for part in (pl.col("paper_id"), passage))
    return pl.concat_str(*parts, separator=":")


def _query_set(
    passages: pl.DataFrame, papers: pl.DataFrame, documents: pl.DataFrame, rules: Rules
) -> QuerySet:
    own = papers.select("paper_id", "title", "date", own="doc_id").unique("paper_id", keep="first")
    named = passages.join(own, on="paper_id", how="left", maintain_order="left").with_columns(
        query_id=query_id(pl.col("context_id"))
    )
    answers = (
        named.select("query_id", "own", "date", doc_id="cited")
        .explode("doc_id")
        .drop_nulls("doc_id")
        .filter(pl.col("own").is_null() | (pl.col("doc_id") != pl.col("own")))
    )
    if rules.no_future:
        dates = documents.select("doc_id", published="date")
        answers = answers.join(dates, on="doc_id", how="left", maintain_order="left").filter(
            ~is_later(pl.col("published"), pl.col("date")).fill_null(value=False)
        )
    qrels = answers.select("query_id", "doc_id", relevance=pl.lit(1, dtype=pl.Int32))
    before = pl.col("date") if rules.no_future else pl.lit(None, dtype=pl.String)
    queries = named.join(qrels, on="query_id", how="semi", maintain_order="left").with_columns(
        exclude=pl.concat_list("own").list.drop_nulls(), before=before
    )
    return QuerySet(queries.select(list(QUERIES)), qrels.unique(maintain_order=True))


# --- Links and sections -----------------------------------------------------------------------


def with_ids(table: pl.DataFrame, documents: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose records belong to a document, under the id of that document.

    The source tells two documents apart that were read with the same id.
    """
    if table.is_empty():
        return table
    here = documents.select(
        "source",
        here="doc_id",
        name=pl.concat_list("doc_id", "aliases").list.eval(pl.element().str.to_lowercase()),
    ).explode("name")
    rows = (
        table.drop("doc_id", "target_id", strict=False)
        .with_columns(name=pl.col("record").str.replace_all(r"\s+", "_").str.to_lowercase())
        .join(names, on="name", how="left", maintain_order="left")
        .join(
            here.unique(["source", "name"], keep="first", maintain_order=True),
            on=["source", "name"],
            how="left",
            maintain_order="left",
        )
        .with_columns(doc_id=pl.coalesce("here", "doc_id"))
        .drop("name", "here")
    )
    if "target" in table.columns:
        targets = names.select(name="name", target_id="doc_id")
        rows = (
            rows.with_columns(name=normalise_names(pl.col("target")))
            .join(targets, on="name", how="left", maintain_order="left")
            .drop("name")
        )
    return rows.select(table.columns)


# --- Files of queries and judgements --------------------------------------------------------------

_RESERVED = ("paragraphs", "sentences")
_NAME_LENGTH = 40  # characters of up to four bytes; with an ending this fits a file name


def file_sets(
    topics: pl.DataFrame, judgements: pl.DataFrame, rules: Rules
) -> tuple[dict[str, QuerySet], list[tuple[str, Problem]]]:
    """Return the query sets of the imported files, and problems.

    A judgement file belongs to the query file that shares most of its ids; among equals, to the one
    in the nearest folder. If a query file has one judgement file, the set has the name of the query
    file. If it has several, each set has the name of its judgement file.
    """
    queries = {source: _queries(part, rules) for source, part in _by_source(topics).items()}
    qrels: dict[str, pl.DataFrame] = {}
    problems: list[tuple[str, Problem]] = []
    for source, part in _by_source(judgements).items():
        qrels[source], doubts = _qrels(part, rules)
        problems += [(source, problem) for problem in doubts]
    holders: dict[str, list[str]] = {}
    for file, table in queries.items():
        for query_id in table["query_id"]:
            holders.setdefault(query_id, []).append(file)
    by_ids: dict[frozenset[str], _Candidates] = {}
    partners = {}
    for file, table in qrels.items():
        ids = frozenset(table["query_id"])
        if ids not in by_ids:
            by_ids[ids] = _Candidates(ids, holders)
        partners[file] = by_ids[ids].nearest(file)
    lent = Counter(partners.values())
    named: dict[str, QuerySet] = {}
    names = FreeIds()
    for source, part in qrels.items():
        partner = partners[source]
        shared = partner is None or lent[partner] > 1
        name = _name(source if shared or partner is None else partner, names)
        own = queries[partner] if partner is not None else pl.DataFrame(schema=QUERIES)
        judged = own.join(part, on="query_id", how="semi", maintain_order="left") if shared else own
        named[name] = QuerySet(judged, part)
    for source, own in queries.items():
        if source not in lent:
            named[_name(source, names)] = QuerySet(own, pl.DataFrame(schema=QRELS))
    return named, problems


def judgement_problems(judgements: pl.DataFrame, rules: Rules) -> list[tuple[str, Problem]]:
    """Return the problems that ``file_sets`` finds in judgements."""
    parts = _by_source(judgements).items()
    return [(source, problem) for source, part in parts for problem in _qrels(part, rules)[1]]


def _by_source(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): part for key, part in table.group_by("source", maintain_order=True)}


def _queries(topics: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    name = pl.col("query_id").str.replace_all(r"\s+", "_")
    if rules.query_ids == "order":
        name = pl.int_range(1, pl.len() + 1).cast(pl.String)
    unique = topics.with_columns(query_id=name).unique(
        "query_id", keep="first", maintain_order=True
    )
    known = unique.select("query_id", "text", "title", exclude=pl.lit([], QUERIES["exclude"]))
    return pl.concat([pl.DataFrame(schema=QUERIES), known], how="diagonal")


def _qrels(judgements: pl.DataFrame, rules: Rules) -> tuple[pl.DataFrame, list[Problem]]:
    table = judgements.select(list(QRELS)).with_columns(
        pl.col("query_id", "doc_id").str.replace_all(r"\s+", "_")
    )
    problems: list[Problem] = []
    codes = set(table["relevance"].unique().to_list())
    if rules.relevance:
        if unknown := sorted(codes - set(rules.relevance)):
            what = f"relevance codes without a meaning in the rules: {unknown}"
            problems.append(Problem(1, what))
        table = table.filter(pl.col("relevance").is_in(list(rules.relevance))).with_columns(
            pl.col("relevance").replace_strict(dict(rules.relevance), return_dtype=pl.Int32)
        )
    elif codes == {-1, 1, 2, 3, 4}:
        what = (
            "codes -1 and 1 to 4 look like Cranfield's, where 1 is the best; they are kept as they "
            "are. Import with --profile cranfield, which turns them so that higher is better and "
            "counts queries as Cranfield's judgements do, not as its file of queries numbers them"
        )
        problems.append(Problem(1, what, "mended"))
    best = table.sort("relevance", descending=True, maintain_order=True)
    unique = best.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    if repeated := table.height - unique.height:
        repeat = "repeats" if repeated == 1 else "repeat"
        given = f"{count(repeated, 'judgement')} {repeat} a query and document"
        what = f"{given}; the highest relevance is kept"
        problems.append(Problem(1, what, "mended"))
    rows = table.join(unique, on=list(QRELS), how="semi", maintain_order="left")
    return rows.unique(maintain_order=True), problems


_Parts = tuple[str, ...]


class _Candidates:
    """The query files that share the most of some query ids, and more than half of them.

    They are sorted by path, so that `nearest` can search by bisection.
    """

    def __init__(self, ids: frozenset[str], holders: dict[str, list[str]]) -> None:
        shared = Counter(source for name in ids for source in holders.get(name, ()))
        most = max(shared.values(), default=0)
        self._names: dict[_Parts, str] = {}
        self._by_stem: dict[str | None, list[_Parts]] = {}
        for source, number in shared.items():
            if number == most and number * 2 > len(ids):
                self._names[_parts(source)] = source
                self._by_stem.setdefault(_stem(source), []).append(_parts(source))
        self._by_stem[None] = list(self._names)
        for places in self._by_stem.values():
            places.sort()

    def nearest(self, source: str) -> str | None:
        """Return the file nearest to ``source``, among those with the same name if there are
        any."""
        if not self._names:
            return None
        places = self._by_stem.get(_stem(source)) or self._by_stem[None]
        here = _parts(source)
        at = bisect(places, here)
        beside = places[max(at - 1, 0) : at + 1]
        # Given tuples, commonprefix compares path parts instead of letters.
        common = max(len(os.path.commonprefix([here, place])) for place in beside)  # noqa: RUF071
        last = bisect(places, (*here[:common], "\U0010ffff"))
        return self._names[places[last - 1]]


def _parts(source: str) -> _Parts:
    return PurePosixPath(source.replace("!", "/")).parts or ("set",)  # a damaged table names none


def _stem(source: str) -> str:
    name = _parts(source)[-1]
    return name.split(".")[0] or name


def _name(source: str, names: FreeIds) -> str:
    """Return a free name for the queries or judgements of a file."""
    stem = re.sub(r"[\\\x00-\x1f\x7f]+", "-", _stem(source)).lstrip(".")[:_NAME_LENGTH] or "set"
    return names.take(f"{stem}-given" if stem in _RESERVED else stem, stem=stem)
