"""Finding documents by words as people type them: of the text, of names, a year, part of a title.

A document is found if it has every word; where no document has, those that have some are. What goes
by the whole of the words (a DOI, a key) comes first.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.collection.filters import Filter
from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.library.catalogue import UNKNOWN, Catalogue, Mask
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.library.facets import facet_rows
from citebed.retrieval.library.found import Found
from citebed.retrieval.recommend.evidence import document_link
from citebed.retrieval.search.searcher import Searcher, score_all, usable
from citebed.retrieval.vectors.vectors import Docs

Scores = NDArray[np.float64]
SORTS = ("best", "newest", "oldest", "title", "cited")
"""The orders of what was found."""
_MOST_WORDS, _MOST_CHARACTERS = 40, 2000
"""What is looked at of a text that somebody looks for."""
_FAMILY, _OTHER_NAME, _YEAR = 1.5, 0.75, 3.0
"""A family name says more than a word of the text that is as rare, another name less; and a year
that a document is of much more than one that it speaks of."""
_SOME = "no document has all of these words; these have some"


class Matches(NamedTuple):
    """Which documents match words, and how well; ``notes`` are what there is to say of it."""

    mask: Mask
    scores: Scores
    notes: tuple[str, ...] = ()


class Order(NamedTuple):
    """How what was found is shown: in which order, from which place on, how many."""

    sort: str = "best"
    start: int = 0
    k: int = 25

    def checked(self) -> Order:
        """This, if it can be; else an error that says what is expected."""
        if self.sort not in SORTS:
            raise UnknownName("order", self.sort, SORTS)
        if self.start < 0 or self.k < 0:
            raise CitebedError(f"start {self.start}, k {self.k}: expected numbers from 0 on")
        return self


class Finder:
    """A catalogue and an index, ready to find documents in."""

    def __init__(self, catalogue: Catalogue, searcher: Searcher, citations: Citations) -> None:
        self.catalogue, self.searcher, self.citations = catalogue, searcher, citations
        self._orders: dict[str, Docs] = {}

    def find(self, words: str, among: Filter, order: Order) -> Found:
        """The documents that have these words, of those that a filter lets through."""
        order.checked()
        matches = self.matches(words[:_MOST_CHARACTERS])
        matches = matches._replace(mask=matches.mask & self.catalogue.there)
        masks = self.catalogue.masks(among)
        mask = np.logical_and.reduce([matches.mask, *masks.values()])
        if words.strip():
            docs = self._ordered(np.flatnonzero(mask), matches.scores, order.sort)
        else:
            whole = self._whole("cited" if order.sort == "best" else order.sort)
            docs = whole[mask[whole]]
        page = docs[order.start : order.start + order.k]
        facets = facet_rows(self.catalogue, matches.mask, masks, among)
        rows = self.rows(page, matches.scores[page], order.start)
        return Found(
            tuple(rows), len(docs), tuple(facets), order.start, words.strip(),
            matches.notes if len(docs) else (),
        )  # fmt: skip

    def rows(self, docs: Docs, scores: Scores, start: int = 0) -> list[dict[str, Any]]:
        """Documents as flat rows, numbered from a place on."""
        cited = self.citations.counts[docs].tolist()
        return [
            {
                "rank": start + place + 1, "doc_id": card["doc_id"], "score": float(scores[place]),
                "title": card["title"], "authors": tuple(card["authors"] or ()),
                "year": card["year"], "venue": card["venue"], "type": card["type"],
                "doi": card["doi"], "key": card["cite_key"], "cited": cited[place],
                "link": document_link(card),
            }
            for place, card in enumerate(self.catalogue.cards(docs))
        ]  # fmt: skip

    # --- Matching ---

    def matches(self, text: str) -> Matches:
        """The documents that have the words of a text; all of them where it has none."""
        named = self.catalogue.named(text)
        words = list(dict.fromkeys(self.searcher.index.analyser.words(text)))[:_MOST_WORDS]
        found = [each for word in words if (each := self._word(word)) is not None]
        if not found and not len(named):
            nothing = bool(text.strip())
            return Matches(np.full(len(self.catalogue), not nothing), self._no_scores())
        scores = self._text_scores(" ".join(words))
        for _, gains in found:
            scores += gains
        mask, notes = _all_or_some([has for has, _ in found], bool(len(named)))
        if len(found) > 1 and mask.any():
            scores[mask & self.catalogue.in_title(" ".join(text.split()))] *= 2
        if len(named):
            mask = mask.copy()
            mask[named] = True
            scores[named] = scores[mask].max(initial=0.0) + 1
        return Matches(mask, np.where(mask, scores, 0.0), notes)

    def _no_scores(self) -> Scores:
        return np.zeros(len(self.catalogue))

    def _text_scores(self, words: str) -> Scores:
        """The scores of all documents by the words of their texts."""
        view = self.searcher.view
        query = usable(self.searcher.query(words, keep=bool), view)
        if not len(query.ids):
            return self._no_scores()
        scores, has_term = score_all(view, query)
        return np.where(has_term, scores, 0.0)

    def _word(self, word: str) -> tuple[Mask, Scores] | None:
        """Which documents have a word somewhere, and what it adds where that is not their text;
        ``None`` for a word that is not looked for."""
        index = self.searcher.index
        if (term := index.analyser.term(word)) is None:
            return None
        has, gains = np.zeros(len(self.catalogue), bool), self._no_scores()
        if (number := index.term_number(term)) >= 0:
            has[self.searcher.view.term(number).docs] = True
        self._add_people(word, has, gains)
        if len(word) == 4 and word.isascii() and word.isdigit() and int(word) != UNKNOWN:
            _add(has, gains, self.catalogue.years == int(word), _YEAR)
        if not has.any():  # it may be the beginning of one
            _add(has, gains, self.catalogue.in_title(word), 1.0)
            self._add_people(word, has, gains, begins=True)
        return has, gains

    def _add_people(self, word: str, has: Mask, gains: Scores, *, begins: bool = False) -> None:
        authors = self.catalogue.authors
        both = self.catalogue.people(word, begins=begins)
        for codes, weight in zip(both, (_FAMILY, _OTHER_NAME), strict=True):
            if len(codes):
                _add(has, gains, authors.having(codes), weight)

    # --- Order ---

    def _whole(self, sort: str) -> Docs:
        """All documents in an order, which is remembered."""
        if sort not in self._orders:
            every = np.arange(len(self.catalogue))
            self._orders[sort] = self._ordered(every, self._no_scores(), sort)
        return self._orders[sort]

    def _ordered(self, docs: Docs, scores: Scores, sort: str) -> Docs:
        """Documents in an order; of equal ones the better first, then the later id."""
        keys: dict[str, tuple[NDArray[Any], ...]] = {
            "best": (),
            "newest": (-self.catalogue.years[docs],),
            "oldest": (self._oldest[docs],),
            "title": (self._title_places[docs],),
            "cited": (-self.citations.counts[docs], -self.catalogue.years[docs]),
        }
        return docs[np.lexsort((-docs, -scores[docs], *reversed(keys[sort])))]

    @cached_property
    def _oldest(self) -> NDArray[np.int32]:
        years = self.catalogue.years
        return np.where(years == UNKNOWN, np.iinfo(np.int32).max, years)

    @cached_property
    def _title_places(self) -> Docs:
        places = np.empty(len(self.catalogue), np.int64)
        places[self.catalogue.by_title] = np.arange(len(places))
        return places


def _add(has: Mask, gains: Scores, these: Mask, weight: float) -> None:
    """Let documents have a word, which counts by how few they are."""
    df = int(these.sum())
    has |= these
    gains[these] += weight * np.log(1 + (len(has) - df + 0.5) / (df + 0.5))


def _all_or_some(masks: list[Mask], has_name: bool) -> tuple[Mask, tuple[str, ...]]:
    """The documents that have all words; where there are none, and none goes by them as a name,
    those that have some, of which a note tells."""
    every = np.logical_and.reduce(masks) if masks else np.zeros(1, bool)
    if every.any() or has_name or len(masks) < 2:
        return every, ()
    return np.logical_or.reduce(masks), (_SOME,)
