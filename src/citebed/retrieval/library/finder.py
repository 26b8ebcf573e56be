"""Find documents by words as users type them: from the text, names, a year, a part of a title.

A document must have every word; if none has, those with some of the words are found. A document
whose name is the whole input (a DOI, a key) comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection.filters import Filter
from citebed.errors import CitebedError, UnknownName
from citebed.frames import TableResult
from citebed.retrieval.library.catalogue import UNKNOWN, Catalogue
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.query import Docs, Mask
from citebed.retrieval.recommend.display import format_authors
from citebed.retrieval.recommend.evidence import document_link
from citebed.retrieval.search.searcher import Searcher, finish_query, score_all
from citebed.text.words import unaccented
from citebed.wording import count

Scores = NDArray[np.float64]
SORTS = ("best", "newest", "oldest", "title", "cited")
"""The sort orders."""
FACETS = ("year", "venue", "author", "type")
_MAX_WORDS, _MAX_CHARACTERS = 40, 2000
_FAMILY, _OTHER_NAME, _YEAR = 1.5, 0.75, 3.0
"""Weights relative to an equally rare word of the text: a family name, another name, and the
document's own year."""
_MAX_VALUES = 10
_MAX_YEARS = 15
"""With more different years than this, the facet counts decades."""
_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "title": pl.String,
    "authors": pl.List(pl.String), "year": pl.Int64, "venue": pl.String, "type": pl.String,
    "doi": pl.String, "key": pl.String, "cited": pl.Int64, "link": pl.String,
}  # fmt: skip
_FACET_SCHEMA: dict[str, Any] = {
    "facet": pl.String, "value": pl.String, "count": pl.Int64, "chosen": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class FindResult(TableResult):
    """Documents that were found: a page that begins at ``start``, of ``total``.

    In ``rows``, ``cited`` is the number of papers in the collection that cite a document, and
    ``score`` is 0 without words. ``facet_rows`` count all found documents by year (or decade),
    venue, author and type; each facet ignores its own filter, so that users can choose another
    value.
    """

    rows: tuple[dict[str, Any], ...]
    total: int
    facet_rows: tuple[dict[str, Any], ...] = ()
    start: int = 0
    words: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The documents as a table."""
        return pl.DataFrame(list(self.rows), schema=_SCHEMA)

    @cached_property
    def facets(self) -> pl.DataFrame:
        """The facets as a table: ``facet``, ``value``, ``count``, ``chosen``."""
        return pl.DataFrame(list(self.facet_rows), schema=_FACET_SCHEMA)

    def of_facet(self, name: str) -> dict[str, int]:
        """Return the counts of one facet (``year``, ``venue``, ``author``, ``type``) by value."""
        return {row["value"]: row["count"] for row in self.facet_rows if row["facet"] == name}

    @property
    def summary(self) -> str:
        """The number of documents in a line, and which of them are on this page."""
        if not self.rows:
            return f"{count(self.total, 'document')}"
        first, last = self.start + 1, self.start + len(self.rows)
        which = f"{first:,}" if first == last else f"{first:,}–{last:,}"
        return f"{which} of {count(self.total, 'document')}"

    def main_table(self) -> pl.DataFrame:
        """Return the table to show first."""
        by = pl.Series("by", [format_authors(row["authors"]) for row in self.rows], pl.String)
        return self.table.select("rank", "title", by, "year", "key", "cited")


class Finder:
    """A catalogue and an index, ready to find documents in."""

    def __init__(self, catalogue: Catalogue, searcher: Searcher, citations: Citations) -> None:
        self.catalogue, self.searcher, self.citations = catalogue, searcher, citations
        self._all_sorted: dict[str, Docs] = {}

    def find(self, words: str, among: Filter, sort: str, start: int, k: int) -> FindResult:
        """Return a page of the documents that match words and pass a filter."""
        if sort not in SORTS:
            raise UnknownName("order", sort, SORTS)
        if start < 0 or k < 0:
            raise CitebedError(f"start is {start} and k is {k}; expected numbers of at least 0")
        matching, scores, notes = self._match(words[:_MAX_CHARACTERS])
        matching = matching & self.catalogue.present
        masks = self.catalogue.masks(among)
        mask = np.logical_and.reduce([matching, *masks.values()])
        if words.strip():
            docs = self._sort(np.flatnonzero(mask), scores, sort)
        else:
            order = "cited" if sort == "best" else sort
            if order not in self._all_sorted:
                every = np.arange(len(self.catalogue))
                self._all_sorted[order] = self._sort(every, np.zeros(len(every)), order)
            docs = self._all_sorted[order]
            docs = docs[mask[docs]]
        page = docs[start : start + k]
        return FindResult(
            tuple(self.rows(page, scores[page], start)), len(docs),
            tuple(self._facet_rows(matching, masks, among)), start, words.strip(),
            notes if len(docs) else (),
        )  # fmt: skip

    def rows(self, docs: Docs, scores: Scores, start: int = 0) -> list[dict[str, Any]]:
        """Return documents as flat rows, ranked from ``start`` on."""
        cited = self.citations.counts[docs].tolist()
        return [
            {
                "rank": start + place + 1, "doc_id": row["doc_id"], "score": float(scores[place]),
                "title": row["title"], "authors": tuple(row["authors"] or ()),
                "year": row["year"], "venue": row["venue"], "type": row["type"],
                "doi": row["doi"], "key": row["cite_key"], "cited": cited[place],
                "link": document_link(row),
            }
            for place, row in enumerate(self.catalogue.rows(docs))
        ]  # fmt: skip

    def complete(self, typed: str, k: int) -> tuple[Docs, Mask]:
        """Return the best ``k`` documents with every typed word in their key, authors, title or
        year, best first, and which documents have them all. The last word can be the beginning of
        a word; so can a word of a title or a key."""
        words = [part.lower() for part in typed[:_MAX_CHARACTERS].split()][:_MAX_WORDS]
        catalogue, scores = self.catalogue, np.log1p(self.citations.counts) / 100
        mask = catalogue.present.copy()
        for place, word in enumerate(words):
            best = catalogue.in_key(word)
            in_title = catalogue.title_words.find(unaccented(word), begins=True)
            best = np.maximum(best, in_title | catalogue.in_year(word))
            both = catalogue.find_authors(word, begins=place == len(words) - 1)
            for authors, weight in zip(both, (_FAMILY, _OTHER_NAME), strict=True):
                best = np.maximum(best, weight * catalogue.authors.mask(authors))
            mask &= best > 0
            scores += best
        docs = np.flatnonzero(mask)
        if len(docs) > k:  # of equal ones the later, as in _sort
            docs = docs[np.argpartition(-scores[docs] - 1e-10 * docs / len(mask), k)[:k]]
        return self._sort(docs, scores, "best"), mask

    def _match(self, text: str) -> tuple[Mask, Scores, tuple[str, ...]]:
        """Return which documents match a text, their scores, and notes."""
        catalogue, searcher = self.catalogue, self.searcher
        named = catalogue.find_by_name(text)
        words = list(dict.fromkeys(searcher.index.analyser.words(text)))[:_MAX_WORDS]
        found = [each for word in words if (each := self._match_word(word)) is not None]
        if not found and not len(named):
            is_empty = not text.strip()
            return np.full(len(catalogue), is_empty), np.zeros(len(catalogue)), ()
        scores = np.zeros(len(catalogue))
        query = finish_query(searcher.query(" ".join(words), keep=bool), searcher.view)
        if len(query.ids):
            of_text, has_term = score_all(searcher.view, query)
            scores = np.where(has_term, of_text, 0.0)
        for _, gains in found:
            scores += gains
        masks, notes = [has_word for has_word, _ in found], list[str]()
        mask = np.logical_and.reduce(masks) if masks else np.zeros(1, bool)
        if not mask.any() and not len(named) and len(masks) > 1:
            mask = np.logical_or.reduce(masks)
            notes.append("no document has all of these words; these have some")
        if len(found) > 1 and mask.any():
            scores[mask & catalogue.in_title(" ".join(text.split()))] *= 2
        if len(named):
            mask = mask | np.zeros(len(catalogue), bool)
            mask[named] = True
            scores[named] = scores[mask].max(initial=0.0) + 1
        return mask, np.where(mask, scores, 0.0), tuple(notes)

    def _match_word(self, word: str) -> tuple[Mask, Scores] | None:
        """Return which documents have a word, and its score outside their text; ``None`` for a stop
        word."""
        index, catalogue = self.searcher.index, self.catalogue
        if (term := index.analyser.term(word)) is None:
            return None
        documents = len(catalogue)
        has_word, gains = np.zeros(documents, bool), np.zeros(documents)

        def add(matching: Mask, weight: float) -> None:
            """Score documents with the word by how few they are."""
            df = int(matching.sum())
            np.logical_or(has_word, matching, out=has_word)
            gains[matching] += weight * np.log(1 + (documents - df + 0.5) / (df + 0.5))

        def add_authors(*, begins: bool) -> None:
            both = catalogue.find_authors(word, begins=begins)
            for authors, weight in zip(both, (_FAMILY, _OTHER_NAME), strict=True):
                if authors.any():
                    add(catalogue.authors.mask(authors), weight)

        if (number := index.term_number(term)) >= 0:
            has_word[self.searcher.view.term(number).docs] = True
        add_authors(begins=False)
        if len(word) == 4 and word.isascii() and word.isdigit() and int(word) != UNKNOWN:
            add(catalogue.years == int(word), _YEAR)
        if not has_word.any():  # it can be the beginning of a word
            add(catalogue.in_title(word), 1.0)
            add_authors(begins=True)
        return has_word, gains

    def _sort(self, docs: Docs, scores: Scores, sort: str) -> Docs:
        """Return documents in an order; of equal ones the better first, then the later id."""
        years, keys = self.catalogue.years[docs], list[NDArray[Any]]()
        match sort:
            case "newest":
                keys = [-years]
            case "oldest":
                keys = [np.where(years == UNKNOWN, np.iinfo(np.int32).max, years)]
            case "title":
                keys = [self.catalogue.title_places[docs]]
            case "cited":
                keys = [-self.citations.counts[docs], -years]
        return docs[np.lexsort((-docs, -scores[docs], *reversed(keys)))]

    # --- Facets ---

    def _facet_rows(
        self, matching: Mask, masks: Mapping[str, Mask], among: Filter
    ) -> Iterator[dict[str, Any]]:
        """Yield the most frequent values of each facet, and the chosen ones, with their counts."""
        chosen = {"venue": among.venues, "author": among.authors, "type": among.types}
        for facet in FACETS:
            others = [mask for name, mask in masks.items() if name != facet]
            mask = np.logical_and.reduce([matching, *others])
            if facet == "year":
                rows = self._year_rows(mask, among.years)
            else:
                values = getattr(self.catalogue, f"{facet}s")
                counts = values.count(mask)
                wanted = set(values.find_codes(chosen[facet]).tolist())
                near = np.flatnonzero(counts)
                if len(near) > _MAX_VALUES:
                    place = len(near) - _MAX_VALUES
                    near = near[counts[near] >= np.partition(counts[near], place)[place]]
                labels = {code: str(values.labels[code]) for code in {*near.tolist(), *wanted}}
                order = sorted(labels, key=lambda code: (-counts[code], labels[code]))
                rows = [
                    {"value": labels[code], "count": int(counts[code]), "chosen": code in wanted}
                    for place, code in enumerate(order)
                    if place < _MAX_VALUES or code in wanted
                ]
            for row in rows:
                yield {"facet": facet, **row}

    def _year_rows(self, mask: Mask, chosen: str) -> list[dict[str, Any]]:
        """Return the years of documents, newest first; with many years, decades."""
        years = self.catalogue.years[mask & (self.catalogue.years != UNKNOWN)]
        found, counts = np.unique(years, return_counts=True)
        if len(found) > _MAX_YEARS:
            found, counts = np.unique(years // 10 * 10, return_counts=True)
            values = [f"{year}-{year + 9}" for year in found.tolist()]
        else:
            values = [str(year) for year in found.tolist()]
        plain = "".join(chosen.split()).replace("–", "-")
        rows: list[dict[str, Any]] = [
            {"value": value, "count": number, "chosen": value == plain}
            for value, number in zip(values, counts.tolist(), strict=True)
        ][::-1]
        if plain and not any(row["chosen"] for row in rows):
            first, last = Filter(plain).span
            least = first if first is not None else -np.inf
            most = last if last is not None else np.inf
            inside = int(((years >= least) & (years <= most)).sum())
            rows.insert(0, {"value": plain, "count": inside, "chosen": True})
        return rows
