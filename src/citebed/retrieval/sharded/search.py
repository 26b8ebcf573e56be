"""Search a sharded collection, with the scores of one index.

Terms are counted in all shards, weighted once with the statistics of the whole collection, and
searched for in each shard; the best documents of all shards are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.retrieval.analysis import Analyser, analyser_of, is_telling
from citebed.retrieval.execution.runner import (
    RUN_COLUMNS,
    RunOptions,
    empty_queries_note,
    is_worth_preparing,
)
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.index import layout
from citebed.retrieval.index.layout import FOLDER
from citebed.retrieval.pipeline import Pipeline, Ranking
from citebed.retrieval.search.feedback import JudgedFeedback, read_judged, told_of_judged
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import usable_by
from citebed.retrieval.sharded.ranking import AT_ONCE, ShardedRanking
from citebed.retrieval.sharded.sharded_index import IndexedShards, facts_of, fields_in
from citebed.retrieval.sharded.term_counts import (
    COUNTS,
    CountAll,
    CountTerms,
    KeepAll,
    KeptTerms,
    WholeCounts,
    are_kept,
    whole_counts,
)
from citebed.retrieval.sharded.workers import (
    DOCUMENT_TERMS,
    FOUND,
    HITS,
    DocumentTerms,
    FindDocuments,
    SearchShard,
    SeenWhole,
    ShardQuery,
    Spread,
    WantedDocuments,
    best,
)
from citebed.text.sentences import split_sentences

if TYPE_CHECKING:
    from citebed.runs.tables import Run


Ranked = tuple[tuple[str, ...], tuple[float, ...]]
"""Ids of documents, and their scores."""
NOBODY: Ranked = ((), ())
Sources = tuple[Ranked, Ranked]
"""The relevant and the non-relevant documents of a query."""


def ranked(hits: pl.DataFrame) -> dict[int, Ranked]:
    """Return hits as ranked documents by query number."""
    parts = hits.partition_by("query", as_dict=True, maintain_order=True)
    return {
        int(number): (tuple(part["doc_id"]), tuple(part["score"]))
        for (number,), part in parts.items()
    }


class Judged:
    """Judgements for feedback, on documents in shards."""

    def __init__(self, collection: Collection, source: str, spread: Spread) -> None:
        self._ids: list[str] = []
        self._spread = spread
        self.judged: JudgedFeedback = read_judged(collection, self._find, source)

    def _find(self, names: Sequence[str]) -> list[int]:
        """Return the position of each document among all in the shards, -1 if it is in none."""
        work = FindDocuments(tuple(sorted(set(names))))
        self._ids = self._spread.rows(work, FOUND)["doc_id"].sort().to_list()
        place = {name: number for number, name in enumerate(self._ids)}
        return [place.get(name, -1) for name in names]

    def of(self, query_id: str) -> Sources:
        """Return the judged documents of a query, in the order of their ids."""
        relevant, others = (
            (tuple(self._ids[n] for n in hits.docs.tolist()), tuple(hits.scores.tolist()))
            for hits in self.judged.hits(query_id)
        )
        return relevant, others


def better_terms(
    queries: Sequence[tuple[TermWeights, str | None]],
    sources: Sequence[Sources],
    feedback: Feedback,
    seen: SeenWhole,
    spread: Spread,
) -> tuple[list[TermWeights], WholeCounts]:
    """Return queries improved by feedback documents, and the counts that number their terms. Each
    query comes with the paper whose citing text does not count."""
    wanted = tuple(
        WantedDocuments(2 * at + kind, names, hidden)
        for at, ((_, hidden), both) in enumerate(zip(queries, sources, strict=True))
        for kind, (names, _) in enumerate(both)
        if names
    )
    rows = spread.rows(DocumentTerms(seen, wanted), DOCUMENT_TERMS)
    counts, numbered = _numbered(seen.counts, rows)
    parts = numbered.partition_by("of", as_dict=True)
    model, better = seen.pipeline.model, []
    for at, ((terms, hidden), both) in enumerate(zip(queries, sources, strict=True)):
        own = replace(terms, ids=_renumbered(terms, seen.counts, counts))
        documents = _both(at, both, parts)
        better.append(feedback.expand(model, own, documents, counts.corpus(hidden)))
    return better, counts


def _numbered(counts: WholeCounts, rows: pl.DataFrame) -> tuple[WholeCounts, pl.DataFrame]:
    """Return counts that also number the terms of documents, and the rows with these numbers, in
    the order of documents and terms."""
    known = pl.concat([counts.table["term"], rows["term"].filter(rows["term"] != "")])
    terms = pl.DataFrame({"term": known.unique().sort()})
    numbers = terms.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
    found = rows.join(numbers, on="term", how="left").sort("of", "place", "term")
    return replace(counts, table=terms), found


def _renumbered(terms: TermWeights, before: WholeCounts, now: WholeCounts) -> np.ndarray:
    names = before.table["term"].gather(terms.ids)
    return np.array([now.numbers[name] for name in names], np.int64)


def _both(
    at: int, both: Sources, parts: Mapping[tuple[int, ...], pl.DataFrame]
) -> FeedbackDocuments:
    """Return the documents of a query in the form that feedback takes."""
    none = pl.DataFrame(schema={**DOCUMENT_TERMS, "id": pl.Int64})
    relevant, others = (
        _documents(parts.get((2 * at + kind,), none), scores)
        for kind, (_, scores) in enumerate(both)
    )
    return replace(relevant, nonrelevant=others) if len(others) else relevant


def _documents(rows: pl.DataFrame, scores: Sequence[float]) -> FeedbackDocuments:
    whole = rows.filter(pl.col("term") == "")
    terms = rows.filter(pl.col("term") != "")
    places = terms["place"].to_numpy()
    sizes = np.bincount(places.astype(np.int64), minlength=len(scores))
    return FeedbackDocuments(
        starts=np.cumsum([0, *sizes.tolist()]),
        ids=terms["id"].to_numpy(),
        tf=terms["tf"].to_numpy(),
        df=terms["df"].to_numpy(),
        cf=terms["cf"].to_numpy(),
        lengths=whole["length"].to_numpy().astype(np.float32),
        scores=np.array(scores, np.float64),
        x=whole["x"].to_numpy(),
    )


_KEEP_FROM = 5_000_000_000
"""From this much work (queries times postings) on, the frequencies of all terms are stored."""
_AT_ONCE = 4096
"""Number of queries that are sent to the shards together."""


class AskedQuery(NamedTuple):
    """A query as given: the counts of its terms, and what restricts its documents."""

    query_id: str
    counts: Counter[str]
    exclude: tuple[str, ...]
    before: str | None
    paper: str | None


def asked_queries(table: pl.DataFrame, analyser: Analyser, *, as_is: bool) -> list[AskedQuery]:
    """Return the queries of a table; their terms are analysed here, once."""
    keep = bool if as_is else is_telling

    def asked(row: dict[str, Any]) -> AskedQuery:
        text = row["text"] or ""
        terms = analyser.terms(text if as_is else query_text(text))
        return AskedQuery(
            row["query_id"], Counter(filter(keep, terms)), tuple(row["exclude"] or ()),
            row["before"], row["paper_id"] or None,
        )  # fmt: skip

    return [asked(row) for row in table.iter_rows(named=True)]


@dataclass(frozen=True)
class ShardedSearch:
    """A sharded collection with its indexes, ready for queries."""

    collection: Collection
    indexed: IndexedShards
    spread: Spread

    def run(
        self,
        table: pl.DataFrame,
        pipeline: Pipeline,
        options: RunOptions,
        progress: Progress = SILENT,
    ) -> Run:
        """Search for every query, as ``run_queries`` does on one machine."""
        from citebed.runs.tables import Run

        _check(pipeline, options)
        fields = fields_in(self.indexed, options.fields, self.collection.folder)
        options = replace(options, fields=fields)
        judged, facts, notes = self._judged(table, pipeline)
        progress.step("searching", table.height)
        parts, empty = [pl.DataFrame(schema=RUN_COLUMNS)], list[str]()
        ranks = isinstance(pipeline.stage, Ranking)
        at_once = AT_ONCE if ranks else _AT_ONCE
        is_ready = is_worth_preparing(table.height, self.indexed.postings)
        for start in range(0, table.height, at_once):
            some = table[start : start + at_once]
            batch = self._batch(some, pipeline, options, table.height)
            empty += batch.without_words
            if ranks:
                ranking = ShardedRanking(self.collection, batch.seen, self.spread, is_ready)
                runner, found = ranking.ranked(some, batch.queries())
                facts = {"ranking": runner.ranker.facts}
                parts.append(found)
            else:
                parts.append(batch.found(self.spread, judged))
            progress.add(some.height)
        said = ([empty_queries_note(empty)] if empty else []) + notes
        return Run(pl.concat(parts), str(pipeline), notes=tuple(said), facts=facts)

    def _judged(
        self, table: pl.DataFrame, pipeline: Pipeline
    ) -> tuple[Judged | None, dict[str, Any], list[str]]:
        """Return the judgements that feedback uses (or ``None``), facts about them, and notes."""
        source = None if pipeline.feedback is None else pipeline.feedback.source
        if source is None:
            return None, {}, []
        found = Judged(self.collection, source, self.spread)
        names = table["query_id"].to_list()
        return (found, *told_of_judged(found.judged, self.collection, names))

    def _batch(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, queries: int
    ) -> _Batch:
        """Prepare a batch; ``queries`` is the number of queries in all batches."""
        analyser = analyser_of(self.indexed.analyser)
        asked = asked_queries(table, analyser, as_is=options.as_is)
        ranks = isinstance(pipeline.stage, Ranking)
        everything = self._all_terms(options.fields, pipeline, queries)
        more = _of_sentences(table, analyser) if ranks else ()
        counts = self.counted(asked, options, more, everything)
        seen = SeenWhole(pipeline, options, self.indexed, counts, everything)
        hidden = [each.paper if each.paper in counts.papers else None for each in asked]
        terms = [
            counts.weighted(*each) for each in zip((a.counts for a in asked), hidden, strict=True)
        ]
        return _Batch(asked, terms, hidden, seen)

    def _all_terms(self, fields: Fields, pipeline: Pipeline, queries: int) -> Path | None:
        """Return the collection's folder if the frequencies of all terms are stored beside the
        indexes. Store them if the model needs them, or if there are very many queries."""
        folder = self.collection.folder.resolve()
        many = queries * self.indexed.postings >= _KEEP_FROM
        needed = many or pipeline.model.sees_all_terms or pipeline.feedback is not None
        if needed:
            self.keep_all_terms(fields)
        return folder if needed or are_kept(folder, self.indexed, fields) else None

    def keep_all_terms(self, fields: Fields) -> None:
        """Store the frequencies of all terms beside the index of each shard, once."""
        folder = self.collection.folder.resolve()
        fields = fields_in(self.indexed, fields, folder)
        if not are_kept(folder, self.indexed, fields):
            keep = KeepAll(folder, self.indexed, fields)
            self.spread.handed_back(CountAll(fields), keep)

    def counted(
        self,
        asked: Sequence[AskedQuery],
        options: RunOptions,
        more: Iterable[str] = (),
        everything: Path | None = None,
    ) -> WholeCounts:
        """Count the terms of queries, and ``more``, in all shards, or look them up in
        ``everything``. ``options`` must have the fields of the index."""
        terms = sorted(set(more).union(*(each.counts for each in asked)))
        papers = sorted({each.paper for each in asked if each.paper})
        if "citing" not in options.fields.weights:
            papers = []
        fields = options.fields
        kept = None if everything is None else KeptTerms(everything, self.indexed, fields)
        work = CountTerms(tuple(terms), tuple(papers), fields, kept)
        sums = self.spread.sums(work, COUNTS, ("paper", "term"))
        return whole_counts(self.indexed, fields, sums)

    def is_current(self) -> bool:
        """Return True if no shard has changed since it was indexed."""
        return all(
            layout.is_current(shard / FOLDER, layout.read_description(shard / FOLDER))
            for shard in self.collection.shards
        )

    @property
    def fields(self) -> Sequence[str]:
        """The fields that any shard has."""
        return tuple(self.indexed.tokens)

    @property
    def analyser(self) -> str:
        """The name of the analyser."""
        return self.indexed.analyser

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the index, for the metadata of a run."""
        return facts_of(self.collection, self.indexed)


def _of_sentences(table: pl.DataFrame, analyser: Analyser) -> set[str]:
    """Return the terms of the sentences of queries. They can differ from the terms of the text: the
    end of a sentence may split a word."""
    texts = (query_text(text or "") for text in table["text"])
    sentences = (sentence for text in texts for sentence in split_sentences(text))
    return {term for sentence in sentences for term in analyser.terms(sentence)}


def _check(pipeline: Pipeline, options: RunOptions) -> None:
    """Raise for options that sharded collections do not support."""
    if isinstance(pipeline.stage, Ranking):
        whole = pipeline.model.sees_all_terms or pipeline.model.uses_unique
        if pipeline.feedback is not None or whole or "citing" in options.fields.weights:
            raise CitebedError(
                f"on shards '{pipeline.stage}' works only with bm25, without feedback and without "
                f"the field 'citing'. Search with 'bm25+{pipeline.stage}', or index the collection "
                "without --on and search there."
            )
        return
    if pipeline.stage is not None:
        words = Pipeline(pipeline.model, pipeline.feedback)
        raise CitebedError(
            f"'{pipeline}' does not work on shards: '{pipeline.stage}' needs an index in one "
            f"piece. Search with '{words}', or index the collection without --on and search there."
        )


@dataclass(frozen=True)
class _Batch:
    """A batch of queries for the shards: their terms with the counts of the whole collection, and
    the paper whose citing text does not count (``hidden``)."""

    asked: Sequence[AskedQuery]
    terms: Sequence[TermWeights]
    hidden: Sequence[str | None]
    seen: SeenWhole

    @property
    def without_words(self) -> list[str]:
        """The ids of queries without a word of the index."""
        both = zip(self.asked, self.terms, strict=True)
        return [asked.query_id for asked, terms in both if not len(terms.ids)]

    def found(self, spread: Spread, judged: Judged | None) -> pl.DataFrame:
        """Return the results for the queries as the table of a run."""
        batch = self
        if self.seen.pipeline.feedback is not None:
            batch = self._better(self.seen.pipeline.feedback, spread, judged)
        return as_run(self.asked, batch.hits(spread, self.seen.options.depth))

    def hits(self, spread: Spread, depth: int) -> pl.DataFrame:
        """Return the best documents of all shards for each query."""
        queries = tuple(query for query in self.queries() if len(query.terms))
        return spread.best(SearchShard(self.seen, queries, depth), HITS, depth)

    def queries(self) -> list[ShardQuery]:
        """Return the queries with their final weights."""
        every = zip(self.asked, self.terms, self.hidden, strict=True)
        return [shard_query(at, *each, self.seen) for at, each in enumerate(every)]

    def _better(self, feedback: Feedback, spread: Spread, judged: Judged | None) -> _Batch:
        """Return the batch with the terms of feedback."""
        if judged is None:
            found = ranked(best(self.hits(spread, feedback.docs or 0), feedback.docs or 0))
            sources = [(found.get(at, NOBODY), NOBODY) for at in range(len(self.asked))]
        else:
            sources = [judged.of(each.query_id) for each in self.asked]
        queries = list(zip(self.terms, self.hidden, strict=True))
        terms, counts = better_terms(queries, sources, feedback, self.seen, spread)
        return replace(self, terms=terms, seen=replace(self.seen, counts=counts))


def shard_query(
    number: int, asked: AskedQuery, terms: TermWeights, hidden: str | None, seen: SeenWhole
) -> ShardQuery:
    """Return a query with its final weights, computed once for all shards."""
    model, corpus = seen.pipeline.model, seen.counts.corpus(hidden)
    final = usable_by(terms, model, corpus)
    constant = model.constant(final.weights, final.df, final.cf, corpus)
    extra = (model.document_weight(final.weights), constant)
    return ShardQuery(number, final.ids, final.weights, extra, asked.exclude, asked.before, hidden)


def as_run(asked: Sequence[AskedQuery], hits: pl.DataFrame) -> pl.DataFrame:
    """Return hits as the table of a run, in the order of the queries, best first."""
    order = hits.sort("query", "score", "doc_id", descending=[False, True, True])
    names = np.array([each.query_id for each in asked], object)[order["query"].to_numpy()]
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query")
    ranked = order.select(
        pl.Series("query_id", names, pl.String), "doc_id", rank.alias("rank"), "score"
    )
    return ranked.select(list(RUN_COLUMNS))
