"""Indexes made for tests: from lists of words, or at random and large; and both ways to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.reference.search import Doc, on_disk

from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index import layout
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import Description
from citebed.retrieval.models import model_of
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.searcher import Hits, Searcher, finish_query

EVERY_MODEL = (
    "bm25",
    "bm25(k1=0,b=0)",
    "bm25(k1=1000,b=1)",
    "bm25(k1=0.9,b=0.4,lengths=lucene)",
    "bm25f",
    "bm25f(k1=2,b=1,b_title=0,b_abstract=0.5)",
    "okapi",
    "okapi(k1=0,b=0,k3=0)",
    "okapi(k1=2,b=1,k3=1000)",
    *(f"cosine(tf={tf},idf={idf})" for tf in ("raw", "log") for idf in ("lemur", "plain", "none")),
    "cosine(tf=bm25,idf=plain,k1=0.5)",
    "kl(mu=1000)",
    "kl(mu=0.001)",
    "kl(mu=1e9)",
    "kl(lambda=0.001)",
    "kl(lambda=0.999)",
    "kl(delta=0.7)",
    "kl(delta=1)",
    "kl(mu=500,lambda=0.3)",
    "ql",
    "ql(mu=1)",
)
"""Every model, with parameters from the ends and the middle of their ranges."""

ONE_FIELD = Fields({"title": 1.0})
TWO_FIELDS = Fields({"title": 2.5, "abstract": 1.0})


def write_index(folder: Path, arrays: Mapping[str, Any]) -> Index:
    """An index of given arrays."""
    description = Description(
        analyser="none",
        documents=len(arrays["ids.offsets"]) - 1,
        terms=len(arrays["terms.offsets"]) - 1,
        postings=len(arrays["docs"]),
        citing_papers=0,
        citing_sources=(),
        sources={},
        hashing="none",
        citebed="0",
    )
    folder.mkdir(parents=True, exist_ok=True)
    with mock.patch("os.fsync"):  # waiting for the disk takes longer than everything else
        layout.write(folder, description, arrays)
    return Index(folder)


def index_of(folder: Path, docs: Sequence[Doc], fields: Sequence[str] = ("title",)) -> Index:
    """An index of documents given as words, counted by the slow twin; ids keep their order."""
    ids = [f"d{number:06}" for number in range(len(docs))]
    return write_index(folder, on_disk(ids, docs, fields))


def random_index(folder: Path, documents: int, shares: Sequence[float], seed: int) -> Index:
    """A large index: a term for each share of the documents that has it, tf from few values.

    Many documents are alike, so that scores tie. There are two fields.
    """
    rng = np.random.default_rng(seed)
    docs = []
    for share in shares:
        df = max(1, round(share * documents))
        docs.append(np.sort(rng.choice(documents, df, replace=False)))
    ends = np.cumsum([0, *map(len, docs)])
    together = np.concatenate(docs).astype(np.uint32)
    title = rng.choice([1, 1, 1, 2, 3, 200], ends[-1]).astype(np.uint32)
    abstract = rng.choice([0, 0, 1, 4], ends[-1]).astype(np.uint32)
    names = [f"t{number:05}".encode() for number in range(len(shares))]
    ids = [f"d{number:07}".encode() for number in range(documents)]
    arrays: dict[str, Any] = {
        "offsets": ends.astype(np.int64),
        "docs": together,
        "hashes": np.zeros(documents, np.uint64),
        "tf.title": title,
        "tf.abstract": abstract,
    }
    for field, tf in (("title", title), ("abstract", abstract)):
        lengths = np.bincount(together, weights=tf, minlength=documents)
        arrays[f"length.{field}"] = lengths.astype(np.uint32)
    for key, values in (("terms", names), ("ids", ids)):
        arrays[key] = np.frombuffer(b"".join(values), np.uint8)
        arrays[f"{key}.offsets"] = np.cumsum([0, *map(len, values)]).astype(np.int64)
    return write_index(folder, arrays)


class Both:
    """An index searched in both ways: by scoring everything, and by bounds."""

    def __init__(self, index: Index, model: str, fields: Fields = ONE_FIELD) -> None:
        self.slow = Searcher(index, model_of(model), fields)
        self.fast = Searcher(index, model_of(model), fields)
        self.fast.prepare()

    @property
    def is_bounded(self) -> bool:
        """Whether the fast searcher has bounds at all."""
        return self.fast._prepared is not None

    def by_kernel(self, query: TermWeights, k: int, *, bounds: bool) -> Hits:
        """Search by bounds or by adding up, whichever is quicker."""
        from citebed.retrieval import kernels

        searcher = self.fast
        prepared = searcher._prepared
        final = finish_query(query, searcher.view)
        extra = (searcher.model.document_weight(final.weights), searcher.view.constant(final))
        what = (final.ids, final.weights, extra, np.zeros(0, bool), min(k, prepared.documents))
        workspace = prepared.workspace()
        search = kernels.search if bounds else kernels.accumulate
        return Hits(*search(prepared.arrays, *what, workspace))

    def query(self, weights: Mapping[int, float], *, final: bool = False) -> TermWeights:
        """A query of term numbers and weights."""
        ids = np.array(sorted(weights), np.int64)
        df, cf = self.slow.view.frequencies(ids)
        there = df > 0
        values = np.array([weights[number] for number in ids.tolist()], np.float64)
        return TermWeights(ids[there], values[there], df[there], cf[there], final)

    def assert_same(self, queries: Sequence[TermWeights], k: int, **options: Any) -> list[Hits]:
        """Search both ways and compare to the last bit; gives what was found."""
        slow = self.slow.search_all(queries, k, **options)
        fast = self.fast.search_all(queries, k, **options)
        for expected, found in zip(slow, fast, strict=True):
            np.testing.assert_array_equal(found.docs, expected.docs)
            np.testing.assert_array_equal(found.scores, expected.scores)
        return slow


def assert_in_order(hits: Hits) -> None:
    """Scores descend; among equal ones the documents do."""
    pairs = list(zip(-hits.scores, -hits.docs, strict=True))
    assert pairs == sorted(pairs)
    assert len(set(hits.docs.tolist())) == len(hits.docs)
