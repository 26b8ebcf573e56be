"""An index seen through a model and field weights: term frequencies and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.arrays import Selection, term_ranges
from citebed.retrieval.index.index import Index, Share
from citebed.retrieval.models.base import Corpus, Floats, Model, Numbers, Occurrences, TermRange
from citebed.retrieval.search.fields import Fields

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Whole:
    """Statistics of a collection: its ``documents``, the number with any text (``filled``), its
    ``tokens`` by field, and ``df`` and ``cf`` (by field) of the terms in the shard's index.

    A df of -1 is unknown.
    """

    documents: int
    filled: int
    tokens: Mapping[str, int]
    df: Counts
    cf: Mapping[str, Counts] = field(default_factory=dict)


def weighed(weights: Mapping[str, float], counts: Mapping[str, Any]) -> Any:
    """Sum counts by field, each times the weight of its field, in the order of the fields.

    The order matters: a sum of floats depends on it.
    """
    total: Any = 0.0
    for name, weight in weights.items():
        if name in counts:
            total = total + weight * counts[name]
    return total


_AT_ONCE = 1 << 21
_LONG = 1 << 16
"""To find its impact on a few documents, a term with more postings is not read completely."""
_REMEMBERED, _BYTES = 1 << 23, 16
"""The number of cached postings, and the bytes of each."""


class TermPostings(NamedTuple):
    """The documents of a term, its frequency in each of them, and its df and cf."""

    docs: NDArray[np.uint32]
    tf: Numbers
    df: int
    cf: float


class View:
    """The frequencies and statistics of an index that a model uses.

    ``without`` subtracts the citing text of one paper. ``whole`` has the statistics of the whole
    collection if the index belongs to a shard.
    """

    def __init__(
        self,
        index: Index,
        model: Model,
        fields: Fields,
        without: str | None = None,
        whole: Whole | None = None,
    ) -> None:
        there = index.fields if whole is None else whole.tokens
        missing = [name for name in fields.weights if name not in there]
        if missing:
            name, collection = missing[0], index.folder.parent
            how = f"It has: {', '.join(index.fields)}."
            if name == "citing":
                how = f"Index contexts with: citebed index {collection} --citing FILE"
            raise CitebedError(f"the index of {collection} has no field '{name}'. {how}")
        self.index = index
        self.model = model
        self.fields = fields
        self._whole = whole
        # A shard may have nothing in a field.
        self._weights = {n: fields.weights[n] for n in fields.weights if n in index.fields}
        self._fields_normalised = type(model).field_tf is not Model.field_tf
        self._share: Share | None = None
        if without and "citing" in fields.weights and (share := index.share(without)) is not None:
            postings, place = np.unique(share.postings, return_inverse=True)
            times = np.bincount(place, weights=share.times, minlength=len(postings))
            self._share = share._replace(postings=postings, times=times.astype(np.int64))
        self._all_fields = set(index.fields) <= set(fields.weights) and self._share is None
        self._terms: dict[int, TermPostings] = {}
        self._frequencies: dict[int, tuple[int, float]] = {}
        self._impacts: dict[int, NDArray[np.float32]] = {}
        self._most_remembered = _REMEMBERED
        self._remembered = 0
        self.terms_of: Callable[[int], NDArray[np.int64]] | None = None
        """Returns the terms of a document, if a caller has them already."""
        self.all_frequencies: tuple[Numbers, Numbers] | None = None
        """The df and cf of all terms, if a caller has counted them already."""

    @property
    def is_whole(self) -> bool:
        """Return True if no paper's citing text was subtracted."""
        return self._share is None

    @cached_property
    def field_lengths(self) -> dict[str, Numbers]:
        """The tokens of each document, by field."""
        lengths: dict[str, Numbers] = {n: self.index.lengths[n] for n in self._weights}
        if self._share is not None:
            citing = lengths["citing"].astype(np.int64)
            np.subtract.at(citing, self._share.docs, self._share.lengths)
            lengths["citing"] = citing
        return lengths

    @cached_property
    def tokens(self) -> Mapping[str, int]:
        """The tokens of all documents, by field."""
        if self._whole is not None:
            return self._whole.tokens
        return {name: int(lengths.sum()) for name, lengths in self.field_lengths.items()}

    @cached_property
    def stats(self) -> Corpus:
        """The statistics of the collection."""
        lengths, whole = np.zeros(len(self.index.ids), np.float64), self._whole
        for name, weight in self._weights.items():
            lengths += weight * self.field_lengths[name]
        unique = np.zeros(len(lengths) if self.model.uses_unique else 0, np.int64)
        for part in self._ranges() if self.model.uses_unique else ():
            unique += np.bincount(part.docs, minlength=len(unique))
        return Corpus(
            documents=len(lengths) if whole is None else whole.documents,
            lengths=lengths.astype(np.float32),
            tokens=float(weighed(self.fields.weights, self.tokens)),
            unique=unique.astype(np.int32),
            with_text=None if whole is None else whole.filled,
        )

    @cached_property
    def per_document(self) -> Floats:
        """The model's number for each document."""
        return self.model.per_document(self.stats, self)

    @cached_property
    def document_scores(self) -> Floats | None:
        """The model's score of each document that does not depend on its terms."""
        return self.model.document_scores(self.stats)

    def constant(self, query: TermWeights) -> float:
        """Return the constant that the model adds to every score for a query with final weights."""
        if query.extra is not None:
            return query.extra[1]
        return self.model.constant(query.weights, query.df, query.cf, self.stats)

    def document_weight(self, query: TermWeights) -> float:
        """Return the factor of the documents' own scores for a query with final weights."""
        return self.model.document_weight(query.weights) if query.extra is None else query.extra[0]

    def term(self, number: int) -> TermPostings:
        known = self._terms.get(number)
        if known is not None:
            return known
        span = slice(*self.index.offsets[number : number + 2].tolist())
        docs, counts = self.index.docs[span], self._counts(span)
        tf = self._weighted(counts, docs)
        if not self._all_fields:
            there = tf > 0
            docs, tf = docs[there], tf[there]
        if self._whole is not None:
            df, cf = self._whole_frequencies(number)
        else:
            times = {name: int(each.sum()) for name, each in counts.items()}
            df, cf = len(docs), weighed(self._weights, times)
        if self._remembered > self._most_remembered:
            self._terms.clear()
            self._impacts.clear()
            self._remembered = 0
        self._terms[number] = found = TermPostings(docs, tf, int(df), float(cf))
        self._remembered += len(docs)
        return found

    def counts_of(self, number: int) -> tuple[int, dict[str, int]]:
        """Return the df of a term in this index, and its occurrences by field."""
        span = slice(*self.index.offsets[number : number + 2].tolist())
        counts = self._counts(span)
        df = np.count_nonzero(self._weighted(counts, self.index.docs[span]))
        return int(df), {name: int(each.sum()) for name, each in counts.items()}

    def _whole_frequencies(self, terms: Any) -> tuple[Any, Any]:
        """Return df and cf of some terms in the whole collection."""
        assert self._whole is not None
        df = self._whole.df[terms]
        if np.min(df, initial=0) < 0:
            raise ValueError("the frequency of a term in the whole collection is unknown")
        cf = {name: each[terms] for name, each in self._whole.cf.items()}
        return df, weighed(self.fields.weights, cf)

    def _frequency(self, number: int) -> tuple[int, float]:
        """Return df and cf of a term, which are cached longer than its postings."""
        if number not in self._frequencies:
            found = self.term(number)
            self._frequencies[number] = found.df, found.cf
        return self._frequencies[number]

    def frequencies(self, terms: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
        """Return df and cf of some terms."""
        if self._whole is not None:
            return self._whole_frequencies(terms)
        if self.all_frequencies is not None:
            df, cf = self.all_frequencies
            return df[terms], cf[terms]
        found = [self._frequency(number) for number in terms.tolist()]
        return (
            np.array([df for df, _ in found], np.int64),
            np.array([cf for _, cf in found], np.float64),
        )

    def remember(self, memory: int) -> None:
        """Cache postings and impacts of terms in up to ``memory`` bytes, for many queries."""
        self._most_remembered = max(_REMEMBERED, memory // _BYTES)

    def documents(self, docs: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], Numbers]]:
        """Return the terms of some documents (ascending) with their tf."""
        found = []
        for doc in docs.tolist():
            terms = None if self.terms_of is None else self.terms_of(doc)
            places = self.index.document_postings(doc, terms)
            tf = self._tf(places)
            there = tf > 0
            found.append((self.index.terms_at(places[there]), tf[there]))
        return found

    def contributions(self, terms: NDArray[np.int64], docs: NDArray[np.int64]) -> Floats:
        """Return the impact of each term (column) on each document (row)."""
        table = np.zeros((len(docs), len(terms)))
        for column, number in enumerate(terms.tolist()):
            first, last = self.index.offsets[number : number + 2].tolist()
            if number in self._impacts or last - first <= _LONG:
                has, place = _found(self.term(number).docs, docs)
                table[has, column] = self.impacts(number)[place]
                continue
            # Look up single documents: that is faster than reading a long term.
            has, place = _found(np.asarray(self.index.docs[first:last]), docs)
            tf = self._tf(first + place)
            has, tf = has[tf > 0], tf[tf > 0]
            df, cf = self._frequency(number)
            every = Occurrences(tf, df, cf, self.per_document[docs[has]])
            table[has, column] = self.model.impacts(every, self.stats).astype(np.float32)
        return table

    def parts(self) -> Iterator[TermRange]:
        """Yield all terms in consecutive ranges."""
        for part in self._ranges():
            if self._whole is None:
                yield part
            else:
                df, cf = self._whole_frequencies(part.terms)
                yield part._replace(df=df, cf=cf)

    def _ranges(self) -> Iterator[TermRange]:
        """Yield all terms with their frequencies in this index alone."""
        for chosen in term_ranges(self.index.offsets, _AT_ONCE):
            offsets = self.index.offsets[chosen.start : chosen.stop + 1]
            size, span = len(offsets) - 1, slice(int(offsets[0]), int(offsets[-1]))
            docs, counts = self.index.docs[span], self._counts(span)
            tf = self._weighted(counts, docs)
            terms = np.repeat(np.arange(size), np.diff(offsets))
            by_field = {
                name: np.bincount(terms, weights=each, minlength=size).astype(np.int64)
                for name, each in counts.items()
            }
            if not self._all_fields:
                there = tf > 0
                docs, tf, terms = docs[there], tf[there], terms[there]
            df, cf = np.bincount(terms, minlength=size), weighed(self._weights, by_field)
            yield TermRange(docs, tf, df, df, cf, chosen, by_field)

    def impacts(self, number: int) -> NDArray[np.float32]:
        found = self._impacts.get(number)
        if found is None:
            docs, tf, df, cf = self.term(number)
            every = Occurrences(tf, df, cf, self.per_document[docs])
            found = self.model.impacts(every, self.stats).astype(np.float32)
            self._impacts[number] = found
        return found

    def _tf(self, where: Selection) -> Numbers:
        return self._weighted(self._counts(where), self.index.docs[where])

    def _counts(self, where: Selection) -> dict[str, Numbers]:
        """Return the frequencies of postings by field."""
        counts: dict[str, Numbers] = {name: self.index.tf[name][where] for name in self._weights}
        if "citing" in counts and self._share is not None:
            counts["citing"] = _less(counts["citing"], self._share, where)
        return counts

    def _weighted(self, counts: dict[str, Numbers], docs: Numbers) -> Numbers:
        total = np.zeros(len(docs), np.float64)
        for name, times in counts.items():
            tf = times
            if self._fields_normalised:
                lengths = self.field_lengths[name][docs]
                tf = self.model.field_tf(name, times, lengths, self._average_lengths[name])
            total += self._weights[name] * tf
        return total

    @cached_property
    def _average_lengths(self) -> dict[str, float]:
        documents = len(self.index.ids) if self._whole is None else self._whole.documents
        return {n: tokens / documents if documents else 0.0 for n, tokens in self.tokens.items()}


def _found(
    among: NDArray[np.uint32], docs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of common documents in ``docs`` and in ``among``, which ascends."""
    place = np.searchsorted(among, docs.astype(among.dtype))
    place[place == len(among)] = 0
    has = np.flatnonzero(among[place] == docs) if len(among) else np.zeros(0, np.int64)
    return has, place[has]


def _less(tf: Numbers, share: Share, where: Selection) -> Numbers:
    rest = tf.astype(np.int64)
    if not len(share.postings):  # a paper may cite with stop words only
        return rest
    if isinstance(where, slice):
        first, last = np.searchsorted(share.postings, (where.start, where.stop))
        places = share.postings[first:last].astype(np.int64) - where.start
        rest[places] -= share.times[first:last]
        return rest
    place = np.searchsorted(share.postings, where)
    place[place == len(share.postings)] = 0
    mine = share.postings[place] == where
    rest[mine] -= share.times[place[mine]]
    return rest
