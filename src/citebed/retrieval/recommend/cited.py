"""Which documents of a collection a draft cites already, and which stand in its .bib files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.drafts.records import Cited, Draft
from citebed.errors import CitebedError
from citebed.retrieval.memory import LruCache
from citebed.retrieval.recommend.cite_keys import work_of
from citebed.retrieval.recommend.metadata import Cards, card_of

_LIBRARIES, _DRAFTS, _CITES = 4, 16, 1000
"""So many .bib files, lists of what drafts cite, and citations by names and year are remembered: a
draft that is being written asks again and again."""
_ON_ARXIV = ("", "arxiv:", "arXiv:", "arxiv.", "arXiv.")
"""How the ids of arXiv begin where they are a document's id or key."""

Rows = NDArray[np.int64]


class Known:
    """The documents of a collection by what drafts and people call them.

    Which of them can be meant is looked up, and only these are compared: of 100,000 that takes a
    hundredth of the time.
    """

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._libraries: LruCache[tuple[str, ...], frozenset[str]] = LruCache(_LIBRARIES)
        self._authored: LruCache[str, frozenset[str]] = LruCache(_CITES)
        self._drafts: LruCache[tuple[Cited, str], frozenset[str]] = LruCache(_DRAFTS)

    def cited(self, draft: Draft) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """The documents that a draft cites already or is itself, and what it cites perhaps: of a
        citation by authors and year that fits several documents, no one can tell which it means."""
        cited = draft.cited
        if not (
            draft.title or any((cited.keys, cited.dois, cited.arxiv, cited.entries, cited.authored))
        ):
            return frozenset(), {}
        key = (cited, draft.title)
        found = self._drafts.get(key, lambda: self._named_in(*key))
        named = {cite: self._by_authors(cite) for cite in cited.authored}
        found = found.union(*(names for names in named.values() if len(names) == 1))
        return found, {cite: names for cite, names in named.items() if len(names) > 1}

    def _named_in(self, cited: Cited, title: str) -> frozenset[str]:
        from citebed.drafts import find_cited_documents, find_own_documents

        documents = self._likely(cited, title)
        own = find_own_documents(title, None, documents)
        return frozenset(find_cited_documents(cited, documents) | own)

    def in_libraries(self, libraries: Sequence[str]) -> frozenset[str]:
        """The documents that stand in .bib files, given as their texts."""
        if not libraries:
            raise CitebedError(
                "there is no .bib file to look in: the draft names none, and none was given (--bib)"
            )
        key = tuple(libraries)
        return self._libraries.get(key, lambda: self._in(key))

    def _in(self, libraries: Sequence[str]) -> frozenset[str]:
        from citebed.drafts import find_cited_documents
        from citebed.drafts.bibliography import bib_entries
        from citebed.drafts.document_matching import Bibliography

        entries = [entry for text in libraries for entry in bib_entries(text)]
        listed = Cited(
            tuple(each.key for each in entries),
            tuple(each.doi for each in entries if each.doi),
            tuple(each.arxiv for each in entries if each.arxiv),
            entries=tuple(entries),
        )
        documents, mine = self._likely(listed), Bibliography(entries)
        names = sorted(find_cited_documents(listed, documents))
        rows = documents.filter(pl.col("doc_id").is_in(names)).iter_rows(named=True)
        cards = map(card_of, rows)
        return frozenset(card["doc_id"] for card in cards if mine.find(work_of(card)) is not None)

    def find(self, name: str) -> str | None:
        """The id of the document that a name means: an id, a DOI, an arXiv id or a key."""
        from citebed.drafts import find_cited_documents
        from citebed.text.identifiers import arxiv_of, normalise_doi

        doi, arxiv = normalise_doi(name), arxiv_of(name)
        meant = Cited((name,), (doi,) if doi else (), (arxiv,) if arxiv else ())
        return min(find_cited_documents(meant, self._likely(meant)), default=None)

    def _by_authors(self, cite: str) -> frozenset[str]:
        from citebed.drafts.references import match_author_year

        return self._authored.get(
            cite, lambda: match_author_year([cite], self._cards.table).get(cite, frozenset())
        )

    # --- Looking up ---

    def _likely(self, cited: Cited, title: str = "") -> pl.DataFrame:
        """The documents that can be cited, and some others."""
        from citebed.drafts.document_matching import candidate_titles, plain_titles
        from citebed.text.identifiers import doi_of_arxiv, normalise_doi

        dois = [*map(normalise_doi, cited.dois), *map(doi_of_arxiv, cited.arxiv)]
        on_arxiv = [start + number for number in cited.arxiv for start in _ON_ARXIV]
        titles = [*candidate_titles(list(cited.entries)), *plain_titles([title] if title else [])]
        parts = [
            self._names.rows([*cited.keys, *cited.dois, *on_arxiv]),
            self._dois.rows(filter(None, dois)),
            self._arxiv.rows(cited.arxiv) if cited.arxiv else _NONE,
            self._titles.rows(titles) if titles else _NONE,
        ]
        return self._cards.table[np.unique(np.concatenate(parts))]

    @cached_property
    def _names(self) -> Lookup:
        table = self._cards.table.with_row_index("row")
        parts = [table.select("row", name=name) for name in ("doc_id", "cite_key")]
        for column in ("aliases", "keys"):
            some = table.filter(pl.col(column).list.len() > 0)
            parts.append(some.select("row", name=column).explode("name"))
        return Lookup(pl.concat(parts))

    @cached_property
    def _dois(self) -> Lookup:
        stated = pl.col("doi").str.to_lowercase().str.strip_prefix("https://doi.org/")
        return self._lookup(stated)

    @cached_property
    def _arxiv(self) -> Lookup:
        from citebed.text.identifiers import ARXIV_ADDRESS

        address = pl.col("url").str.extract(ARXIV_ADDRESS).str.to_lowercase()
        return self._lookup(pl.coalesce("arxiv", address))

    @cached_property
    def _titles(self) -> Lookup:
        from citebed.text.titles import plain_title

        return self._lookup(plain_title(pl.col("title")))

    def _lookup(self, name: pl.Expr) -> Lookup:
        return Lookup(self._cards.table.select(name=name).with_row_index("row"))


_NONE: Rows = np.zeros(0, np.int64)


class Lookup:
    """Rows by name: names are known by their hashes, which take little memory."""

    def __init__(self, named: pl.DataFrame) -> None:
        rows = named.select("row", hash=pl.col("name").hash()).filter(named["name"].is_not_null())
        rows = rows.sort("hash")
        self._hashes: NDArray[Any] = rows["hash"].to_numpy()
        self._rows = rows["row"].to_numpy()

    def rows(self, names: Iterable[str]) -> Rows:
        """The rows of names, and perhaps some others."""
        wanted = pl.Series(sorted(set(names)), dtype=pl.String).hash().to_numpy()
        starts, ends = (np.searchsorted(self._hashes, wanted, side) for side in ("left", "right"))
        spans = [self._rows[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.concatenate([_NONE, *spans]).astype(np.int64)
