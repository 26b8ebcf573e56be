"""Which documents of a collection a draft cites already, and which stand in its .bib files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import polars as pl

from citebed.collection import Collection
from citebed.drafts.records import Cited, Draft
from citebed.errors import CitebedError
from citebed.retrieval.recommending.cards import card_of
from citebed.retrieval.recommending.keying import work_of
from citebed.retrieval.remembering import Few

_COLUMNS = (
    *("doc_id", "title", "doi", "url", "aliases", "keys", "cite_key", "arxiv", "authors", "year"),
)
_LIBRARIES = 4
"""So many .bib files are remembered: a draft that is being written asks again and again."""


class Known:
    """The documents of a collection by what drafts and people call them."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._libraries: Few[tuple[str, ...], frozenset[str]] = Few(_LIBRARIES)

    @cached_property
    def _documents(self) -> pl.DataFrame:
        return self._collection.scan_documents().select(_COLUMNS).collect()

    def cited(self, draft: Draft) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """The documents that a draft cites already or is itself, and what it cites perhaps: of a
        citation by authors and year that fits several documents, no one can tell which it means."""
        cited = draft.cited
        if not (
            draft.title or any((cited.keys, cited.dois, cited.arxiv, cited.entries, cited.authored))
        ):
            return frozenset(), {}
        from citebed.drafts import already_cited, is_the_paper
        from citebed.drafts.references import by_authors

        documents = self._documents
        found = already_cited(cited, documents) | is_the_paper(draft.title, None, documents)
        named = by_authors(cited.authored, documents)
        found = found.union(*(names for names in named.values() if len(names) == 1))
        return frozenset(found), {cite: names for cite, names in named.items() if len(names) > 1}

    def in_libraries(self, libraries: Sequence[str]) -> frozenset[str]:
        """The documents that stand in .bib files, given as their texts."""
        if not libraries:
            raise CitebedError(
                "there is no .bib file to look in: the draft names none, and none was given (--bib)"
            )
        key = tuple(libraries)
        return self._libraries.get(key, lambda: self._in(key))

    def _in(self, libraries: Sequence[str]) -> frozenset[str]:
        from citebed.drafts import already_cited
        from citebed.drafts.bibliography.bibfiles import bib_entries
        from citebed.drafts.bibliography.matching import Bibliography

        entries = [entry for text in libraries for entry in bib_entries(text)]
        listed = Cited(
            tuple(each.key for each in entries),
            tuple(each.doi for each in entries if each.doi),
            tuple(each.arxiv for each in entries if each.arxiv),
            entries=tuple(entries),
        )
        likely = already_cited(listed, self._documents)
        mine = Bibliography(entries)
        rows = self._documents.filter(pl.col("doc_id").is_in(sorted(likely)))
        cards = map(card_of, rows.iter_rows(named=True))
        return frozenset(card["doc_id"] for card in cards if mine.find(work_of(card)) is not None)

    def find(self, name: str) -> str | None:
        """The id of the document that a name means: an id, a DOI, an arXiv id or a key."""
        from citebed.drafts import already_cited
        from citebed.text.identifiers import arxiv_of, normalise_doi

        doi, arxiv = normalise_doi(name), arxiv_of(name)
        meant = Cited((name,), (doi,) if doi else (), (arxiv,) if arxiv else ())
        return min(already_cited(meant, self._documents), default=None)
