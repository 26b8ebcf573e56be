"""Terms counted in shards, and the statistics of the whole collection that they add up to.

The frequencies of all terms can be stored beside the index of each shard: for models that normalise
documents by all their terms, and for many queries. They are recomputed when a shard is re-indexed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection.storing.store import SHARDS
from citebed.errors import CollectionError
from citebed.files import output_files
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FIELDS, FOLDER
from citebed.retrieval.models.base import Corpus
from citebed.retrieval.models.bm25 import Bm25
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.view import View, Whole, weighed
from citebed.retrieval.sharded.sharded_index import IndexedShards, Shard
from citebed.wording import printable

NUMBERS = ("filled", "told", "df", *FIELDS)
COUNTS: Mapping[str, Any] = {
    "paper": pl.String, "term": pl.String, **dict.fromkeys(NUMBERS, pl.Int64),
}  # fmt: skip
"""One row per term: the number of documents with it (``df``), and its occurrences by field. The row
without a term has the documents with any text in the fields (``filled``), and the tokens by field.
Rows with a ``paper`` are changes without its citing text. ``told`` is 1 if a shard reports the
frequencies of the whole collection; then all shards with the term do."""
_NO_DOCUMENTS: Any = np.zeros(0)


def count_in_shard(
    terms: Sequence[str],
    papers: Sequence[str],
    fields: Fields,
    stored: Callable[[Shard], NDArray[np.int64]] | None,
    shard: Shard,
) -> pl.DataFrame:
    """Count terms of fields in a shard, and what the citing text of papers adds.

    ``stored`` reads the stored frequencies of all terms in the whole collection, if there are any.
    """
    index, view = shard.index, view_of(shard.index, fields)
    rows = [_row("", "", view.tokens, filled=view.stats.filled)]
    kept = None if stored is None else stored(shard)
    numbers = ((term, index.term_number(term)) for term in terms)
    for term, number in ((term, number) for term, number in numbers if number >= 0):
        if kept is None:
            df, times = view.counts_of(number)
        else:
            df, *by_field = kept[:, number].tolist()
            times = dict(zip(fields.weights, by_field, strict=True))
        if df:
            rows.append(_row("", term, times, df=df, told=int(kept is not None)))
    for paper in papers:  # the changes without its citing text
        rest = view_of(index, fields, paper)
        share = None if rest.is_whole else index.share(paper)
        if share is None:
            continue
        tokens = {"citing": rest.tokens["citing"] - view.tokens["citing"]}
        rows.append(_row(paper, "", tokens, filled=rest.stats.filled - view.stats.filled))
        for number in np.unique(index.terms_at(share.postings.astype(np.int64))).tolist():
            (df, times), (less, fewer) = view.counts_of(number), rest.counts_of(number)
            changed = {"citing": fewer["citing"] - times["citing"]}
            rows.append(_row(paper, index.terms[number], changed, df=less - df))
    return pl.DataFrame(rows, schema=COUNTS, orient="row")


def view_of(index: Index, fields: Fields, paper: str | None = None) -> View:
    """Return a view of a shard alone, with the fields that it has."""
    weights = {name: weight for name, weight in fields.weights.items() if name in index.fields}
    return View(index, Bm25(), Fields(weights), paper)


def _row(paper: str, term: str, by_field: Mapping[str, int], **numbers: int) -> dict[str, Any]:
    return {"paper": paper, "term": term, **dict.fromkeys(NUMBERS, 0), **numbers, **by_field}


class Less(NamedTuple):
    """Changes without the citing text of a paper: documents with text, tokens, and a table of terms
    with ``df`` and occurrences in the text (``citing``)."""

    filled: int
    tokens: int
    terms: pl.DataFrame


@dataclass(frozen=True, eq=False)
class WholeCounts:
    """Counts of the requested terms, numbered in their order, in the whole collection."""

    documents: int
    tokens: Mapping[str, int]
    fields: Fields
    filled: int
    table: pl.DataFrame
    papers: Mapping[str, Less]

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.table["term"])}

    def corpus(self, paper: str | None = None) -> Corpus:
        """Return the statistics of the collection, but not of single documents."""
        whole, less = self.tokens, self.papers.get(paper or "")
        if less is not None:
            whole = {**whole, "citing": whole["citing"] + less.tokens}
        return Corpus(
            self.documents, _NO_DOCUMENTS, _NO_DOCUMENTS,
            float(weighed(self.fields.weights, whole)),
            self.filled + (0 if less is None else less.filled),
        )  # fmt: skip

    def weighted(self, counts: Mapping[str, float], paper: str | None = None) -> TermWeights:
        """Return counts by term as a query, without terms that no document has."""
        ids = np.array(
            sorted(self.numbers[term] for term in counts.keys() & self.numbers), np.int64
        )
        names = self.table["term"].gather(ids)
        weights = np.array([counts[name] for name in names], np.float64)
        df, cf = self.frequencies(paper)
        there = df[ids] > 0
        ids = ids[there]
        return TermWeights(ids, weights[there], df[ids], cf[ids])

    def frequencies(self, paper: str | None = None) -> tuple[NDArray[np.int64], Any]:
        """Return df and cf of all terms, without the citing text of ``paper`` if given."""
        df = self.table["df"].to_numpy()
        cf = {name: self.table[name].to_numpy() for name in self.fields.weights}
        less = self.papers.get(paper or "")
        if less is not None:
            at = np.array([self.numbers.get(term, -1) for term in less.terms["term"]], np.int64)
            there = at >= 0
            df = changed(df, at[there], less.terms["df"].to_numpy()[there])
            citing = less.terms["citing"].to_numpy()[there]
            cf["citing"] = changed(cf["citing"], at[there], citing)
        return df, weighed(self.fields.weights, cf)


def changed(
    counts: NDArray[np.int64], at: NDArray[np.int64], by: NDArray[np.int64]
) -> NDArray[np.int64]:
    found = counts.copy()
    found[at] += by
    return found


class Wholes:
    """The statistics of the whole collection, with the term numbers of a shard's index.

    ``everything`` has the frequencies of all terms: df, then the occurrences by field. Without it
    only counted terms are known.
    """

    def __init__(
        self, counts: WholeCounts, index: Index, everything: NDArray[np.int64] | None = None
    ) -> None:
        self.counts, self._index, self._everything = counts, index, everything
        self.number_of_term = self._numbers_of(counts.table["term"])
        """The number of each counted term in the index, or -1."""

    def _numbers_of(self, terms: Iterable[str]) -> NDArray[np.int64]:
        return np.array([self._index.term_number(term) for term in terms], np.int64)

    @cached_property
    def _whole(self) -> Whole:
        counts, there = self.counts, self.number_of_term >= 0
        if self._everything is not None:
            df, *by_field = self._everything
            cf = dict(zip(counts.fields.weights, by_field, strict=True))
            return Whole(counts.documents, counts.filled, counts.tokens, df, cf)
        at, size = self.number_of_term[there], len(self._index.terms)
        df, cf = np.full(size, -1, np.int64), {}
        df[at] = counts.table["df"].to_numpy()[there]
        for name in counts.fields.weights:
            cf[name] = np.zeros(size, np.int64)
            cf[name][at] = counts.table[name].to_numpy()[there]
        return Whole(counts.documents, counts.filled, counts.tokens, df, cf)

    def __call__(self, paper: str | None) -> Whole | None:
        """Return the statistics without the citing text of a paper; ``None`` if it has none."""
        whole = self._whole
        if paper is None:
            return whole
        less = self.counts.papers.get(paper)
        if less is None:
            return None
        numbers = self._numbers_of(less.terms["term"])
        there = numbers >= 0
        at = numbers[there]
        known = whole.df[at] >= 0
        there[there], at = known, at[known]
        df = changed(whole.df, at, less.terms["df"].to_numpy()[there])
        citing = changed(whole.cf["citing"], at, less.terms["citing"].to_numpy()[there])
        tokens = {**whole.tokens, "citing": whole.tokens["citing"] + less.tokens}
        filled = whole.filled + less.filled
        return Whole(whole.documents, filled, tokens, df, {**whole.cf, "citing": citing})


def all_terms_schema(fields: Fields) -> dict[str, Any]:
    """Return the columns of `count_all_terms`: df, and the occurrences by field."""
    numbers = dict.fromkeys(("df", *fields.weights), pl.Int64)
    return {"shard": pl.String, "term": pl.String, **numbers}


def count_all_terms(fields: Fields, shard: Shard) -> pl.DataFrame:
    """Count all terms of a shard in some fields, one row per term."""
    index, size = shard.index, len(shard.index.terms)
    counts = {name: np.zeros(size, np.int64) for name in ("df", *fields.weights)}
    for part in view_of(index, fields).parts():
        counts["df"][part.terms] = part.df
        for name, times in part.by_field.items():
            counts[name][part.terms] = times
    own = {"shard": [index.folder.parent.name] * size, "term": index.terms.series(), **counts}
    return pl.DataFrame(own, schema=all_terms_schema(fields))


KEPT: Mapping[str, Any] = {"shard": pl.String, "terms": pl.Int64}


def keep_sums(
    folder: Path, indexed: IndexedShards, fields: Fields, table: pl.DataFrame
) -> pl.DataFrame:
    """Store the sums of a shard's terms beside its index, and return their number."""
    name = str(table["shard"][0])
    sums = table.sort("term").select("df", *fields.weights)
    path = path_of(folder, name, indexed, fields)
    with output_files.add_files(path.parent, path) as draft:
        np.save(draft / path.name, np.ascontiguousarray(sums.to_numpy().T))
    kept = f"whole-{_key(indexed)}-"
    for other in path.parent.glob("whole-*.npy"):
        if not other.name.startswith(kept):
            other.unlink(missing_ok=True)
    return pl.DataFrame({"shard": [name], "terms": [table.height]}, schema=KEPT)


def read_sums(
    folder: Path, indexed: IndexedShards, fields: Fields, shard: Shard
) -> NDArray[np.int64]:
    """Return df of the shard's terms in the whole collection, then the occurrences by field: one
    row each."""
    name = shard.index.folder.parent.name
    path = path_of(folder, name, indexed, fields)
    shape = (1 + len(fields.weights), len(shard.index.terms))
    try:
        found: NDArray[np.int64] = np.load(path, mmap_mode="r", allow_pickle=False)
        good = found.shape == shape and found.dtype == np.int64 and found.min(initial=0) >= 0
    except (OSError, ValueError, EOFError):
        good = False
    if not good or path.is_symlink():
        raise CollectionError(
            f"'{printable(path)}', the frequencies of all terms for the shard {name}, is "
            "damaged. Remove it; citebed writes it again when needed."
        )
    return found


def path_of(folder: Path, shard: str, indexed: IndexedShards, fields: Fields) -> Path:
    """Return the path of the stored frequencies of a shard's terms."""
    name = f"whole-{_key(indexed)}-{'-'.join(fields.weights)}.npy"
    return folder / SHARDS / shard / FOLDER / name


def _key(indexed: IndexedShards) -> str:
    told = json.dumps([each.fingerprint for each in indexed.shards])
    return hashlib.sha256(told.encode()).hexdigest()[:24]


def are_kept(folder: Path, indexed: IndexedShards, fields: Fields) -> bool:
    """Return True if the frequencies of all terms are stored for all shards."""
    names = (entry.name for entry in indexed.shards)
    return all(path_of(folder, name, indexed, fields).is_file() for name in names)
