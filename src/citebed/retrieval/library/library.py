"""The library of a collection: find documents, look at one and its neighbours, draw maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from citebed.collection.filters import Filter
from citebed.collection.names import clean_key
from citebed.collection.tables import row_to_document
from citebed.drafts.reader import DraftLike, resolve_draft
from citebed.drafts.records import Draft
from citebed.errors import CollectionError
from citebed.frames import MultiTableResult
from citebed.records import Document
from citebed.retrieval.library.catalogue import Catalogue
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.library.finder import Finder, FindResult
from citebed.retrieval.library.map import Map, MapContents, build_map
from citebed.retrieval.library.similarity import SimilarityIndex
from citebed.retrieval.recommend.display import format_authors
from citebed.retrieval.recommend.evidence import CitingPapers
from citebed.retrieval.recommend.recommender import Recommender
from citebed.wording import count, for_terminal, printable

_PASSAGE_K, _TEXT_K = 5, 20
"""Recommendations on a map for each passage of a draft, and for a text."""
_LISTED = 5
Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class DocumentDetails(MultiTableResult):
    """All that a collection knows of a document.

    ``cited_by`` has a row for each sentence that cites it (``paper_id``, ``doc_id`` if the paper is
    a document of the collection, ``by``, ``year``, ``section``, ``sentence``), newest first.
    ``cites`` are the documents that it cites; ``cited_with`` its co-cited documents with numbers of
    ``sentences``, ``paragraphs`` and ``papers``; ``similar`` the most similar documents.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("document", "cited_by", "cites", "cited_with", "similar")
    MAIN: ClassVar[str] = "document"

    document: Document
    row: dict[str, Any]
    link: str
    key: str
    bibtex: str
    cited_by: Rows = ()
    cites: Rows = ()
    cited_with: Rows = ()
    similar: Rows = ()

    @property
    def citing_papers(self) -> int:
        """The number of papers in the collection that cite it."""
        return len({row["paper_id"] for row in self.cited_by})

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        return [dict(self.row)] if part == "document" else list(getattr(self, part))

    def __repr__(self) -> str:
        row = self.row
        about = (format_authors(row["authors"]), str(row["year"] or ""), row["venue"], row["doi"])
        lines = [row["title"] or row["doc_id"], f"  {' · '.join(filter(None, about))}"]
        lines += [f"  cite as: {self.key}", f"  {self.link}" if self.link else ""]
        quoted = [f"{each['by']}: {each['sentence']}" for each in self.cited_by if each["sentence"]]
        if quoted:
            head = f"cited by {count(self.citing_papers, 'paper')} here"
            lines += [head, *(f"  - {each}" for each in quoted[:_LISTED])]
        several = ("cites", self.cites), ("cited together with", self.cited_with)
        for head, rows in (*several, ("similar", self.similar)):
            lines += [head] if rows else []
            for each in rows[:_LISTED]:
                year = f" ({each['year']})" if each["year"] else ""
                lines.append(f"  - {each['title'] or each['doc_id']}{year}")
        return for_terminal("\n".join(filter(None, lines)))


class Library:
    """The library of the collection that a recommender uses.

    Nothing is read before its first use, which takes a second or two for 100,000 documents.
    """

    def __init__(self, recommender: Recommender) -> None:
        self.recommender = recommender
        self.collection, self.index = recommender.collection, recommender.index
        self._citing_papers = CitingPapers(self.collection)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The documents as users look them up."""
        return Catalogue(self.collection, self.index)

    @cached_property
    def citations(self) -> Citations:
        """Who cites what."""
        return Citations(self.collection, self.catalogue)

    @cached_property
    def similarity(self) -> SimilarityIndex:
        """The similarity of documents."""
        return SimilarityIndex(self.collection, self.catalogue, self.recommender.searcher)

    @cached_property
    def finder(self) -> Finder:
        """The search for documents by words, names and keys."""
        return Finder(self.catalogue, self.recommender.searcher, self.citations)

    def prepare(self) -> None:
        """Read everything that the first calls need."""
        self.find("prepare", k=1)
        self.similarity.vectors  # noqa: B018 - loaded now

    def find(
        self,
        words: str = "",
        *,
        among: Filter = Filter(),  # noqa: B008 - it is frozen
        sort: str = "best",
        start: int = 0,
        k: int = 25,
    ) -> FindResult:
        """Find documents with these words in their text, authors or year, or an unfinished word in
        their title; without words, all documents.

        A DOI, an arXiv id or a key finds its document first. ``among`` is a filter; ``sort`` is
        ``best``, ``newest``, ``oldest``, ``title`` or ``cited`` (by papers of the collection;
        without words also the meaning of ``best``). ``start`` is how many to skip.
        """
        return self.finder.find(words, among, sort, start, k)

    def number_of(self, name: str) -> int:
        """Return the number of a document by its id or any other name."""
        number = self.index.ids.find(name)
        if number < 0:
            number = next(iter(self.catalogue.find_by_name(name).tolist()), -1)
        if number < 0 or not self.catalogue.present[number]:
            raise CollectionError(
                f"no document '{printable(name)}' in {printable(self.collection.folder)}"
            )
        return number

    def about(self, doc_id: str, k: int = 10) -> DocumentDetails:
        """Return a document by any name, with up to ``k`` co-cited and ``k`` similar documents."""
        number = self.number_of(doc_id)
        (record,) = self.similarity.records([number])
        (row,) = self.rows([number])
        document, key = row_to_document(record), clean_key(row["key"] or row["doc_id"])
        mentions = tuple(
            {
                "paper_id": (citer := mention["citer"]),
                "doc_id": citer if self.index.ids.find(citer) >= 0 else None,
                "by": self._citing_papers.describe(citer, mention["year"]),
                "year": mention["year"], "section": mention["section"] or "",
                "sentence": mention["text"] or "",
            }
            for mention in self.citations.of(number).iter_rows(named=True)
        )  # fmt: skip
        cited = self.citations.cited_by(number)
        cites = zip(self.rows([doc for doc, _ in cited]), cited, strict=True)
        together = self.citations.together(number).head(k)
        counts = together.select("sentences", "paragraphs", "papers").to_dicts()
        cited_with = zip(self.rows(together["doc"].to_list()), counts, strict=True)

        from citebed.drafts.bibliography import entry_to_cite  # reads BibTeX

        return DocumentDetails(
            document, {**row, "abstract": record["abstract"] or ""}, row["link"], key,
            entry_to_cite(document, key), mentions,
            tuple({**each, "kind": kind} for each, (_, kind) in cites),
            tuple({**each, **numbers} for each, numbers in cited_with),
            self.similar([row["doc_id"]], k).rows,
        )  # fmt: skip

    def similar(self, doc_ids: str | Sequence[str], k: int = 10) -> FindResult:
        """Return the ``k`` documents that are most similar to one or several others."""
        names = [doc_ids] if isinstance(doc_ids, str) else list(doc_ids)
        hits = self.similarity.find([self.number_of(name) for name in names], k)
        rows = self.finder.rows(hits.docs, hits.scores)
        return FindResult(tuple(rows), len(rows))

    def map(
        self,
        around: DraftLike | Sequence[str],
        k: int = 60,
        *,
        cited: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Map:
        """Map up to ``k`` documents around a draft, a text, or documents by name, in two
        dimensions: cited, recommended, co-cited and similar ones, in groups; and the groups from
        which a draft cites nothing. The draft will also cite ``cited``; ``exclude`` is left out.
        """
        parts = self.catalogue, self.citations, self.similarity
        excluded = frozenset(self.index.ids.find_all(exclude).tolist())
        names: list[int] | None = None
        if isinstance(around, str):
            if len(around.split()) == 1:
                names = self.catalogue.find_by_name(around).tolist()[:1] or None
        elif not isinstance(around, Draft | Path):
            names = [self.number_of(name) for name in around]
        if names is not None:
            centre = tuple(dict.fromkeys(names))
            cites = [doc for number in centre for doc, _ in self.citations.cited_by(number)]
            citers = (
                citer
                for number in centre
                for citer in self.citations.of(number)["citer"].unique(maintain_order=True)
            )
            citing = tuple(self.index.ids.find_all(citers).tolist())
            excluded = excluded.difference(names)
            contents = MapContents(centre, tuple(cites), citing, excluded=excluded)
            return build_map(*parts, contents, k, of_draft=False)
        draft, _ = resolve_draft(around)  # type: ignore[arg-type]
        contents, notes = self._around_draft(draft, cited)
        contents = contents._replace(excluded=excluded)
        return build_map(*parts, contents, k, of_draft=True, notes=notes)

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return documents as flat rows, by number."""
        docs = np.array(numbers, np.int64)
        return self.finder.rows(docs, np.zeros(len(docs)))

    def _around_draft(
        self, draft: Draft, basket: Iterable[str]
    ) -> tuple[MapContents, tuple[str, ...]]:
        several = len(draft.passages) > 1
        unit, k = ("paragraph", _PASSAGE_K) if several else ("text", _TEXT_K)
        found = self.recommender.recommend_for(draft, k, each=unit)
        if not found and not found.left_out:  # a map of weak matches is better than none
            found = self.recommender.recommend_for(draft, k, each=unit, min_probability=0.0)
        best: dict[str, tuple[float, int]] = {}
        for each in found:
            worth = (each.probability or 0.0, -each.rank)
            best[each.doc_id] = max(best.get(each.doc_id, worth), worth)
        ordered = sorted(best, key=lambda name: (-best[name][0], -best[name][1], name))
        cited, title = [], (draft.title or "").casefold()
        for name in sorted(found.left_out):
            number = self.index.ids.find(name)
            own = self.catalogue.table["title"][number] if number >= 0 else ""
            if not (title and own.casefold() == title):  # the draft itself
                cited.append(name)
        contents = MapContents(
            cited=tuple(self.index.ids.find_all(cited).tolist()),
            recommended=tuple(self.index.ids.find_all(ordered).tolist()),
            basket=tuple(self.index.ids.find_all(basket).tolist()),
        )
        return contents, found.notes
