"""A collection as a library: find documents, look at one and what is around it, draw maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from citebed.collection.filters import Filter
from citebed.collection.names import clean_key
from citebed.collection.tables import row_to_document
from citebed.drafts.reader import DraftLike, resolve_draft
from citebed.drafts.records import Draft
from citebed.errors import CollectionError
from citebed.retrieval.library.about import About
from citebed.retrieval.library.catalogue import Catalogue
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.library.finding import Finder, Order
from citebed.retrieval.library.found import Found
from citebed.retrieval.library.map import Map
from citebed.retrieval.library.mapping import Mapper, Wanted
from citebed.retrieval.library.nearness import Nearness
from citebed.retrieval.recommend.evidence import CitingPapers
from citebed.retrieval.recommend.recommender import Recommender
from citebed.wording import printable

_A_PASSAGE, _A_TEXT = 5, 20
"""So many recommendations of each passage of a draft are on its map, and of a text."""


class Library:
    """The library of the collection that a recommender recommends from.

    Nothing is read before it is asked for; the first question takes a second or two for 100,000
    documents.
    """

    def __init__(self, recommender: Recommender) -> None:
        self.recommender = recommender
        self.collection, self.index = recommender.collection, recommender.index

    @cached_property
    def catalogue(self) -> Catalogue:
        """What documents are looked up by."""
        return Catalogue(self.collection, self.index)

    @cached_property
    def citations(self) -> Citations:
        """Who cites what."""
        return Citations(self.collection, self.catalogue)

    @cached_property
    def nearness(self) -> Nearness:
        """What is like what."""
        return Nearness(self.collection, self.catalogue, self.recommender.searcher)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.catalogue, self.recommender.searcher, self.citations)

    @cached_property
    def _citers(self) -> CitingPapers:
        return CitingPapers(self.collection)

    def prepare(self) -> None:
        """Read now what the first questions would have to wait for."""
        self.find("prepare", k=1)
        self.nearness.vectors  # noqa: B018 - loaded now

    def find(
        self,
        words: str = "",
        *,
        among: Filter = Filter(),  # noqa: B008 - it is frozen
        sort: str = "best",
        start: int = 0,
        k: int = 25,
    ) -> Found:
        """The documents that have these words, in their text, their authors' names, their year or,
        of a word that is not finished yet, in their title; all of them where there are no words.

        A DOI, an arXiv id or a key finds its document first. ``among`` lets only some documents
        through; ``sort`` is ``best``, ``newest``, ``oldest``, ``title`` or ``cited`` (here, by most
        papers); without words the best are the most cited. ``start`` is how many to skip.
        """
        return self._finder.find(words, among, Order(sort, start, k))

    def number_of(self, name: str) -> int:
        """The number of a document by its id, or any other name that it goes by."""
        number = self.index.ids.find(name)
        if number < 0:
            number = next(iter(self.catalogue.named(name).tolist()), -1)
        if number < 0 or not self.catalogue.there[number]:
            raise CollectionError(
                f"no document '{printable(name)}' in {printable(self.collection.folder)}"
            )
        return number

    def about(self, doc_id: str, k: int = 10) -> About:
        """A document by any name that it goes by, and what is around it; ``k`` documents each that
        are cited with it and similar to it."""
        number = self.number_of(doc_id)
        (record,) = self.nearness.records([number])
        (row,) = self._rows([number])
        document, key = row_to_document(record), clean_key(row["key"] or row["doc_id"])
        return About(
            document, {**row, "abstract": record["abstract"] or ""}, row["link"], key,
            _bibtex(document, key), self._cited_by(number), self._cites(number),
            self._cited_with(number, k), self.similar([row["doc_id"]], k).rows,
        )  # fmt: skip

    def similar(self, doc_ids: str | Sequence[str], k: int = 10) -> Found:
        """The ``k`` documents that are most like one or several, which are left out themselves."""
        names = [doc_ids] if isinstance(doc_ids, str) else list(doc_ids)
        hits = self.nearness.like([self.number_of(name) for name in names], k)
        rows = self._finder.rows(hits.docs, hits.scores)
        return Found(tuple(rows), len(rows))

    def map(
        self,
        around: DraftLike | Sequence[str],
        k: int = 60,
        *,
        cited: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Map:
        """Up to ``k`` documents around a draft, a text, or documents by their names, in two
        dimensions: what is cited, recommended, cited together and similar, in groups; and of which
        groups a draft cites nothing. ``cited`` are documents that the draft will cite too, and
        ``exclude`` those that are not on the map."""
        names = self._documents_in(around)
        mapper = Mapper(self.catalogue, self.citations, self.nearness)
        never = frozenset(self.catalogue.numbers_of(exclude).tolist())
        if names is not None:
            wanted = self._around_documents(names)._replace(never=never.difference(names))
            return mapper.map(wanted, k, of_draft=False)
        draft, _ = resolve_draft(around)  # type: ignore[arg-type]
        wanted, notes = self._around_draft(draft, cited)
        return mapper.map(wanted._replace(never=never), k, of_draft=True, notes=notes)

    # --- Parts of a document's page ---

    def _rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        docs = np.array(numbers, np.int64)
        return self._finder.rows(docs, np.zeros(len(docs)))

    def _cited_by(self, number: int) -> tuple[dict[str, Any], ...]:
        found = []
        for mention in self.citations.of(number).iter_rows(named=True):
            citer = mention["citer"]
            found.append({
                "paper_id": citer, "doc_id": citer if self.index.ids.find(citer) >= 0 else None,
                "by": self._citers.describe(citer, mention["year"]), "year": mention["year"],
                "section": mention["section"] or "", "sentence": mention["text"] or "",
            })  # fmt: skip
        return tuple(found)

    def _cites(self, number: int) -> tuple[dict[str, Any], ...]:
        found = self.citations.cited_by(number)
        rows = self._rows([doc for doc, _ in found])
        return tuple({**row, "kind": kind} for row, (_, kind) in zip(rows, found, strict=True))

    def _cited_with(self, number: int, k: int) -> tuple[dict[str, Any], ...]:
        found = self.citations.together(number).head(k)
        rows = self._rows(found["doc"].to_list())
        counts = found.select("sentences", "paragraphs", "papers").to_dicts()
        return tuple({**row, **each} for row, each in zip(rows, counts, strict=True))

    # --- What a map is around ---

    def _documents_in(self, around: DraftLike | Sequence[str]) -> list[int] | None:
        """The documents that are named; ``None`` where a draft is given."""
        if isinstance(around, Draft | Path):
            return None
        if isinstance(around, str):
            found = self.catalogue.named(around).tolist() if len(around.split()) == 1 else []
            return found[:1] or None
        return [self.number_of(name) for name in around]

    def _around_documents(self, numbers: Iterable[int]) -> Wanted:
        centre = tuple(dict.fromkeys(numbers))
        cited = [doc for number in centre for doc, _ in self.citations.cited_by(number)]
        citers = (
            self.index.ids.find(name)
            for number in centre
            for name in self.citations.of(number)["citer"].unique(maintain_order=True)
        )
        return Wanted(centre, tuple(cited), tuple(doc for doc in citers if doc >= 0))

    def _around_draft(self, draft: Draft, more: Iterable[str]) -> tuple[Wanted, tuple[str, ...]]:
        several = len(draft.passages) > 1
        unit, k = ("paragraph", _A_PASSAGE) if several else ("text", _A_TEXT)
        found = self.recommender.recommend_for(draft, k, each=unit)
        if not found and not found.left_out:  # better a map of the best there is than none
            found = self.recommender.recommend_for(draft, k, each=unit, min_probability=0.0)
        best: dict[str, tuple[float, int]] = {}
        for each in found:
            worth = (each.probability or 0.0, -each.rank)
            best[each.doc_id] = max(best.get(each.doc_id, worth), worth)
        ordered = sorted(best, key=lambda name: (-best[name][0], -best[name][1], name))
        left_out = [name for name in sorted(found.left_out) if not self._is_itself(name, draft)]
        wanted = Wanted(
            cited=tuple(self.catalogue.numbers_of(left_out).tolist()),
            taken=tuple(self.catalogue.numbers_of(more).tolist()),
            recommended=tuple(self.catalogue.numbers_of(ordered).tolist()),
        )
        return wanted, found.notes

    def _is_itself(self, name: str, draft: Draft) -> bool:
        number = self.index.ids.find(name)
        title = self.catalogue.table["title"][number] if number >= 0 else ""
        return bool(draft.title) and title.casefold() == (draft.title or "").casefold()


def _bibtex(document: Any, key: str) -> str:
    from citebed.drafts.bibliography import entry_to_cite  # with the reader of BibTeX

    return entry_to_cite(document, key)
