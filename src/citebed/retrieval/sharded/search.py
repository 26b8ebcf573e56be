"""Search a sharded collection, with the scores of one index.

Terms are counted in all shards, weighted once with the statistics of the whole collection, and
searched for in each shard; the best documents of all shards are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.analysis import analyser_of, is_telling
from citebed.retrieval.execution.runner import (
    RUN_COLUMNS,
    RunOptions,
    empty_queries_note,
    is_worth_preparing,
)
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.index import layout
from citebed.retrieval.index.layout import FIELDS, FOLDER
from citebed.retrieval.pipeline import Pipeline, Ranking
from citebed.retrieval.search.feedback import JudgedFeedback, read_judged, told_of_judged
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import finish_query_with
from citebed.retrieval.sharded.ranking import AT_ONCE, rank_over_shards
from citebed.retrieval.sharded.sharded_index import IndexedShards, fields_in
from citebed.retrieval.sharded.term_counts import (
    COUNTS,
    CountAll,
    CountTerms,
    KeepAll,
    KeptTerms,
    Less,
    WholeCounts,
    are_kept,
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


def _documents(rows: pl.DataFrame, scores: Sequence[float]) -> FeedbackDocuments:
    """Return documents in the form that feedback takes, given their terms."""
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
        judged: Judged | None = None
        facts, notes = dict[str, Any](), list[str]()
        if pipeline.feedback is not None and pipeline.feedback.source is not None:
            judged = Judged(self.collection, pipeline.feedback.source, self.spread)
            names = table["query_id"].to_list()
            facts, notes = told_of_judged(judged.judged, self.collection, names)
        progress.step("searching", table.height)
        parts, empty = [pl.DataFrame(schema=RUN_COLUMNS)], list[str]()
        ranks = isinstance(pipeline.stage, Ranking)
        at_once = AT_ONCE if ranks else _AT_ONCE
        is_ready = is_worth_preparing(table.height, self.indexed.postings)
        for start in range(0, table.height, at_once):
            some = table[start : start + at_once]
            batch = self._batch(some, pipeline, options, table.height)
            both = zip(batch.asked, batch.terms, strict=True)
            empty += [asked.query_id for asked, terms in both if not len(terms.ids)]
            if ranks:
                runner, found = rank_over_shards(
                    self.collection, batch.seen, self.spread, some, batch.queries(),
                    is_ready=is_ready,
                )  # fmt: skip
                facts = {"ranking": runner.ranker.facts}
                parts.append(found)
            else:
                parts.append(batch.found(self.spread, judged))
            progress.add(some.height)
        said = ([empty_queries_note(empty)] if empty else []) + notes
        return Run(pl.concat(parts), str(pipeline), notes=tuple(said), facts=facts)

    def _batch(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, queries: int
    ) -> _Batch:
        """Prepare a batch; ``queries`` is the number of queries in all batches."""
        analyser, asked, more = analyser_of(self.indexed.analyser), list[AskedQuery](), set[str]()
        for row in table.iter_rows(named=True):
            text = (row["text"] or "") if options.as_is else query_text(row["text"] or "")
            terms = filter(bool if options.as_is else is_telling, analyser.terms(text))
            asked.append(
                AskedQuery(
                    row["query_id"], Counter(terms), tuple(row["exclude"] or ()), row["before"],
                    row["paper_id"] or None,
                )
            )  # fmt: skip
            if isinstance(pipeline.stage, Ranking):
                # The terms of sentences can differ: the end of a sentence may split a word.
                for sentence in split_sentences(query_text(row["text"] or "")):
                    more.update(analyser.terms(sentence))
        # Store the frequencies of all terms if the model needs them, or for very many queries.
        folder = self.collection.folder.resolve()
        many = queries * self.indexed.postings >= _KEEP_FROM
        needed = many or pipeline.model.sees_all_terms or pipeline.feedback is not None
        if needed:
            self.keep_all_terms(options.fields)
        is_kept = needed or are_kept(folder, self.indexed, options.fields)
        everything = folder if is_kept else None
        counts = self.counted(asked, options, more, everything)
        seen = SeenWhole(pipeline, options, self.indexed, counts, everything)
        hidden = [each.paper if each.paper in counts.papers else None for each in asked]
        weighted = [
            counts.weighted(each.counts, paper) for each, paper in zip(asked, hidden, strict=True)
        ]
        return _Batch(asked, weighted, hidden, seen)

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
        whole = sums.filter(pl.col("term") == "").iter_rows(named=True)
        told = {row["paper"]: row for row in whole}
        counted = sums.filter(pl.col("term") != "").sort("term")
        # Stored frequencies, which each shard reported, were summed too.
        counted = counted.with_columns(pl.col("df", *FIELDS) // pl.col("told").clip(1))
        by_paper, none = counted.partition_by("paper", as_dict=True), counted.clear()
        changes = {
            name: Less(row["filled"], row["citing"], by_paper.get((name,), none))
            for name, row in told.items()
            if name
        }
        return WholeCounts(
            self.indexed.documents, self.indexed.tokens, fields, told[""]["filled"],
            by_paper.get(("",), none), changes,
        )  # fmt: skip

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
        return {
            "documents": self.indexed.documents,
            "sha256": hash_file(self.collection.folder / FOLDER / layout.SHARDS_DESCRIPTION),
            "shards": len(self.indexed.shards),
        }


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

    def found(self, spread: Spread, judged: Judged | None) -> pl.DataFrame:
        """Return the results for the queries as the table of a run."""
        batch = self
        if self.seen.pipeline.feedback is not None:
            batch = self._better(self.seen.pipeline.feedback, spread, judged)
        order = batch.hits(spread, self.seen.options.depth).sort(
            "query", "score", "doc_id", descending=[False, True, True]
        )
        names = np.array([each.query_id for each in self.asked], object)[order["query"].to_numpy()]
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query")
        return order.select(
            pl.Series("query_id", names, pl.String), "doc_id", rank.alias("rank"), "score"
        )

    def hits(self, spread: Spread, depth: int) -> pl.DataFrame:
        """Return the best documents of all shards for each query."""
        queries = tuple(query for query in self.queries() if len(query.terms))
        return spread.best(SearchShard(self.seen, queries, depth), HITS, depth)

    def queries(self) -> list[ShardQuery]:
        """Return the queries with their final weights, computed once for all shards."""
        model, found = self.seen.pipeline.model, list[ShardQuery]()
        for asked, terms, hidden in zip(self.asked, self.terms, self.hidden, strict=True):
            corpus = self.seen.counts.corpus(hidden)
            final = finish_query_with(terms, model, corpus)
            constant = model.constant(final.weights, final.df, final.cf, corpus)
            found.append(
                ShardQuery(
                    len(found), final.ids, final.weights,
                    (model.document_weight(final.weights), constant),
                    asked.exclude, asked.before, hidden,
                )
            )  # fmt: skip
        return found

    def _better(self, feedback: Feedback, spread: Spread, judged: Judged | None) -> _Batch:
        """Return the batch with the terms of feedback, and counts that number these terms too."""
        if judged is None:
            depth = feedback.docs or 0
            found = best(self.hits(spread, depth), depth).partition_by("query", as_dict=True)
            sources: list[Sources] = []
            for at in range(len(self.asked)):
                hits = found.get((at,))
                known = NOBODY if hits is None else (tuple(hits["doc_id"]), tuple(hits["score"]))
                sources.append((known, NOBODY))
        else:
            sources = [judged.of(each.query_id) for each in self.asked]
        wanted = tuple(
            WantedDocuments(2 * at + kind, names, hidden)
            for at, (hidden, both) in enumerate(zip(self.hidden, sources, strict=True))
            for kind, (names, _) in enumerate(both)
            if names
        )
        rows = spread.rows(DocumentTerms(self.seen, wanted), DOCUMENT_TERMS)
        before = self.seen.counts.table["term"]
        known_terms = pl.concat([before, rows["term"].filter(rows["term"] != "")])
        counts = replace(
            self.seen.counts, table=pl.DataFrame({"term": known_terms.unique().sort()})
        )
        numbers = counts.table.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
        rows = rows.join(numbers, on="term", how="left").sort("of", "place", "term")
        parts, none = rows.partition_by("of", as_dict=True), rows.clear()
        better = []
        for at, (terms, hidden, both) in enumerate(
            zip(self.terms, self.hidden, sources, strict=True)
        ):
            ids = [counts.numbers[name] for name in before.gather(terms.ids)]
            own = replace(terms, ids=np.array(ids, np.int64))
            relevant, others = (
                _documents(parts.get((2 * at + kind,), none), scores)
                for kind, (_, scores) in enumerate(both)
            )
            documents = replace(relevant, nonrelevant=others) if len(others) else relevant
            model, corpus = self.seen.pipeline.model, counts.corpus(hidden)
            better.append(feedback.expand(model, own, documents, corpus))
        return replace(self, terms=better, seen=replace(self.seen, counts=counts))
