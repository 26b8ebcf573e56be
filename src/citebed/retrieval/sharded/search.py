"""Search a sharded collection, with the scores of one index.

Terms are counted in all shards, weighted once with the statistics of the whole collection, and
searched for in each shard; the best documents of all shards are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.analysis import analyser_of, is_telling
from citebed.retrieval.execution.run_files import SearchTarget
from citebed.retrieval.execution.runner import (
    RUN_COLUMNS,
    RunOptions,
    empty_queries_note,
    is_worth_preparing,
)
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments
from citebed.retrieval.index import layout
from citebed.retrieval.index.layout import FIELDS, FOLDER
from citebed.retrieval.pipeline import Pipeline, Ranking
from citebed.retrieval.search.feedback import JudgedFeedback, read_judged, told_of_judged
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.sharded.ranking import AT_ONCE, rank_over_shards
from citebed.retrieval.sharded.sharded_index import IndexedShards, fields_in
from citebed.retrieval.sharded.term_counts import (
    COUNTS,
    Less,
    WholeCounts,
    all_terms_schema,
    are_kept,
    count_all_terms,
    count_in_shard,
    keep_sums,
    read_sums,
)
from citebed.retrieval.sharded.workers import (
    DOCUMENT_TERMS,
    FOUND,
    HITS,
    SeenWhole,
    ShardQuery,
    Spread,
    WantedDocuments,
    document_terms,
    find_documents,
    search_shard,
)
from citebed.text.sentences import split_sentences

if TYPE_CHECKING:
    from citebed.runs.tables import Run


Ranked = tuple[Sequence[str], Sequence[float]]
"""Ids of documents, and their scores."""
_KEEP_FROM = 5_000_000_000
"""From this much work (queries times postings) on, the frequencies of all terms are stored."""
_AT_ONCE = 4096
"""Number of queries that are sent to the shards together."""


@dataclass(frozen=True)
class ShardedSearch:
    """A sharded collection with its indexes, ready for queries."""

    collection: Collection
    indexed: IndexedShards
    spread: Spread

    def target(self) -> SearchTarget:
        indexed, folder = self.indexed, self.collection.folder
        facts = {
            "documents": indexed.documents,
            "sha256": hash_file(folder / FOLDER / layout.SHARDS_DESCRIPTION),
            "shards": len(indexed.shards),
        }
        return SearchTarget(
            tuple(indexed.tokens), indexed.analyser, facts, self.run, self.is_current
        )

    def is_current(self) -> bool:
        """Return True if no shard has changed since it was indexed."""
        return all(
            layout.is_current(shard / FOLDER, layout.read_description(shard / FOLDER))
            for shard in self.collection.shards
        )

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
        judged: JudgedFeedback | None = None
        facts, notes = dict[str, Any](), list[str]()
        if pipeline.feedback is not None and pipeline.feedback.source is not None:
            judged = read_judged(self.collection, pipeline.feedback.source, self._choose_known)
            names = table["query_id"].to_list()
            facts, notes = told_of_judged(judged, self.collection, names)
        progress.step("searching", table.height)
        parts, empty = [pl.DataFrame(schema=RUN_COLUMNS)], list[str]()
        ranks = isinstance(pipeline.stage, Ranking)
        at_once = AT_ONCE if ranks else _AT_ONCE
        is_ready = is_worth_preparing(table.height, self.indexed.postings)
        for start in range(0, table.height, at_once):
            some = table[start : start + at_once]
            seen, queries = self._count_terms(some, pipeline, options, table.height)
            empty += [query.query_id for query in queries if not len(query.terms.ids)]
            if ranks:
                runner, found = rank_over_shards(
                    self.collection, seen, self.spread, some, seen.finish(queries),
                    is_ready=is_ready,
                )  # fmt: skip
                facts = {"ranking": runner.ranker.facts}
                parts.append(found)
            else:
                parts.append(self._rank_by_words(seen, queries, judged))
            progress.add(some.height)
        said = ([empty_queries_note(empty)] if empty else []) + notes
        return Run(pl.concat(parts), str(pipeline), notes=tuple(said), facts=facts)

    def _choose_known(self, names: Sequence[str]) -> pl.Series:
        work = partial(find_documents, sorted(set(names)))
        return self.spread.rows(work, FOUND)["doc_id"]

    def keep_all_terms(self, fields: Fields) -> None:
        """Store the frequencies of all terms beside the index of each shard, once."""
        folder = self.collection.folder.resolve()
        fields = fields_in(self.indexed, fields, folder)
        if not are_kept(folder, self.indexed, fields):
            count = partial(count_all_terms, fields)
            keep = partial(keep_sums, folder, self.indexed, fields)
            self.spread.handed_back(count, all_terms_schema(fields), keep)

    def _count_terms(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, queries: int
    ) -> tuple[SeenWhole, list[ShardQuery]]:
        """Count the terms of a batch of queries in all shards, and return the batch; ``queries`` is
        the number of queries in all batches."""
        ranks, analyser = isinstance(pipeline.stage, Ranking), analyser_of(self.indexed.analyser)
        rows, texts = table.to_dicts(), list[str]()
        terms_of, terms = list[Counter[str]](), set[str]()
        for row in rows:
            given = row["text"] or ""
            texts.append(given if options.as_is else query_text(given))
            own = filter(bool if options.as_is else is_telling, analyser.terms(texts[-1]))
            terms_of.append(Counter(own))
            terms.update(terms_of[-1])
            if ranks:
                # The terms of sentences can differ: the end of a sentence may split a word.
                for sentence in split_sentences(query_text(given)):
                    terms.update(analyser.terms(sentence))
        # Store the frequencies of all terms if the model needs them, or for very many queries.
        folder = self.collection.folder.resolve()
        many = queries * self.indexed.postings >= _KEEP_FROM
        needed = many or pipeline.model.sees_all_terms or pipeline.feedback is not None
        if needed:
            self.keep_all_terms(options.fields)
        is_kept = needed or are_kept(folder, self.indexed, options.fields)
        everything = folder if is_kept else None
        papers = {row["paper_id"] for row in rows if row["paper_id"]}
        counts = self._sum_counts(terms, papers, options.fields, everything)
        years: dict[str, int] = {}
        if ranks:
            known = self.collection.papers.select("paper_id", "year").drop_nulls()
            years = dict(known.iter_rows())
        batch = []
        for number, (row, text, own_terms) in enumerate(zip(rows, texts, terms_of, strict=True)):
            paper, before = row["paper_id"], row["before"]
            hidden = paper if paper in counts.papers else None
            batch.append(
                ShardQuery(
                    number, row["query_id"], counts.weighted(own_terms, hidden),
                    tuple(row["exclude"] or ()), before, hidden, text if ranks else "", paper,
                    int(before[:4]) if before else years.get(paper),
                )
            )  # fmt: skip
        return SeenWhole(pipeline, options, self.indexed, counts, everything), batch

    def _sum_counts(
        self, terms: set[str], papers: set[str], fields: Fields, everything: Path | None
    ) -> WholeCounts:
        """Count terms in all shards, or look them up in ``everything``."""
        stored = (
            None if everything is None else partial(read_sums, everything, self.indexed, fields)
        )
        hidden = sorted(papers) if "citing" in fields.weights else []
        work = partial(count_in_shard, sorted(terms), hidden, fields, stored)
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

    def _rank_by_words(
        self, seen: SeenWhole, queries: Sequence[ShardQuery], judged: JudgedFeedback | None
    ) -> pl.DataFrame:
        """Return the results for a batch of queries as the table of a run."""
        if seen.pipeline.feedback is not None:
            seen, queries = self._add_feedback(seen, queries, seen.pipeline.feedback, judged)
        order = self._best(seen, queries, seen.options.depth)
        names = np.array([query.query_id for query in queries], object)[order["query"].to_numpy()]
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query")
        return order.select(
            pl.Series("query_id", names, pl.String), "doc_id", rank.alias("rank"), "score"
        )

    def _best(self, seen: SeenWhole, queries: Sequence[ShardQuery], depth: int) -> pl.DataFrame:
        """Return the best documents of all shards for each query, in the order of a run."""
        finished = [query for query in seen.finish(queries) if len(query.terms.ids)]
        found = self.spread.best(partial(search_shard, seen, finished, depth), HITS, depth)
        return found.sort("query", "score", "doc_id", descending=[False, True, True])

    def _add_feedback(
        self,
        seen: SeenWhole,
        queries: Sequence[ShardQuery],
        feedback: Feedback,
        judged: JudgedFeedback | None,
    ) -> tuple[SeenWhole, list[ShardQuery]]:
        """Return a batch with the terms of feedback, and counts that number these terms too."""
        sources: list[tuple[Ranked, ...]] = []  # relevant and other documents of each query
        if judged is None:
            found = self._best(seen, queries, feedback.docs or 0)
            by_query = found.partition_by("query", as_dict=True)
            for query in queries:
                hits = by_query.get((query.number,), found.clear())
                sources.append(((hits["doc_id"].to_list(), hits["score"].to_list()), ([], [])))
        else:
            for query in queries:
                known = judged.documents(query.query_id)
                sources.append(tuple((names, [1.0] * len(names)) for names in known))
        wanted = [
            WantedDocuments(2 * query.number + kind, names, query.hidden)
            for query, both in zip(queries, sources, strict=True)
            for kind, (names, _) in enumerate(both)
            if names
        ]
        rows = self.spread.rows(partial(document_terms, seen, wanted), DOCUMENT_TERMS)
        before = seen.counts.table["term"]
        known_terms = pl.concat([before, rows["term"].filter(rows["term"] != "")])
        counts = replace(seen.counts, table=pl.DataFrame({"term": known_terms.unique().sort()}))
        numbers = counts.table.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
        rows = rows.join(numbers, on="term", how="left").sort("of", "place", "term")
        parts, none = rows.partition_by("of", as_dict=True), rows.clear()
        better = []
        for query, both in zip(queries, sources, strict=True):
            ids = [counts.numbers[name] for name in before.gather(query.terms.ids)]
            own = replace(query.terms, ids=np.array(ids, np.int64))
            relevant, others = (
                _documents(parts.get((2 * query.number + kind,), none), scores)
                for kind, (_, scores) in enumerate(both)
            )
            documents = replace(relevant, nonrelevant=others) if len(others) else relevant
            corpus = counts.corpus(query.hidden)
            terms = feedback.expand(seen.pipeline.model, own, documents, corpus)
            better.append(query._replace(terms=terms))
        return replace(seen, counts=counts), better


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
