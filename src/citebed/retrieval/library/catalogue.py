"""The catalogue: what users look documents up by, in memory, in the order of the index.

A value that documents share (a venue, a type, an author) is a code. Case does not matter when you
look it up; it is displayed as it is written most often.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.filters import Filter, resolve_names
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Docs, Mask
from citebed.retrieval.recommend.documents import HashIndex
from citebed.text.identifiers import arxiv_of, doi_in
from citebed.text.words import MARKS, unaccented

COLUMNS = (
    *("doc_id", "title", "authors", "year", "venue", "type", "doi", "arxiv", "url"),
    "cite_key",
)
"""The columns of the catalogue's table."""
_OTHER_NAMES = ("doi", "arxiv", "cite_key", "keys", "aliases")
_WORD = r"[\pL\pN]+"
_LAST = "\U0010ffff"
_LETTERS = re.compile(r"[^\W_]+")
UNKNOWN = 0
"""The year of a document whose year is unknown."""


class CategoryIndex:
    """Values of documents, none or several each: ``codes[i]`` is a value of ``docs[i]``."""

    def __init__(self, values: pl.Series, documents: int) -> None:
        rows = pl.DataFrame({"doc": np.arange(documents), "value": values})
        rows = rows.explode("value") if values.dtype == pl.List else rows
        folded = pl.col("value").str.strip_chars().str.to_lowercase().alias("folded")
        rows = rows.with_columns(folded).filter(pl.col("folded") != "")
        spelled = rows.group_by("folded", pl.col("value").str.strip_chars()).agg(pl.len())
        spelled = spelled.sort("len", "value", descending=[True, False])
        known = spelled.unique("folded", keep="first", maintain_order=True)
        known = known.sort("folded").with_row_index("code")
        rows = rows.join(known.select("folded", "code"), on="folded", maintain_order="left")
        rows = rows.unique(["doc", "code"], maintain_order=True)
        self.documents = documents
        self.docs: Docs = rows["doc"].to_numpy()
        self.codes: NDArray[np.uint32] = rows["code"].to_numpy()
        self.labels = known["value"]
        self._folded = known["folded"]

    def find_codes(self, wanted: Iterable[str]) -> Docs:
        """Return the codes of values, or of all values with their words (`resolve_names`)."""
        folded = resolve_names(wanted, self._folded)
        return np.asarray(self._folded.is_in(folded).arg_true(), np.int64)

    def mask(self, codes: Docs | Mask) -> Mask:
        """Return which documents have one of these values."""
        chosen = np.zeros(len(self.labels), bool)
        chosen[codes] = True
        mask = np.zeros(self.documents, bool)
        if chosen.any():
            mask[self.docs[chosen[self.codes]]] = True
        return mask

    def count(self, among: Mask) -> NDArray[np.int64]:
        """Return how many of some documents have each value."""
        return np.bincount(self.codes[among[self.docs]], minlength=len(self.labels))


class WordIndex:
    """The words of texts in lower case, sorted, each with the numbers of its texts."""

    def __init__(self, texts: pl.Series) -> None:
        rows = pl.DataFrame({"word": texts.str.extract_all(_WORD)}).with_row_index("text")
        words = rows.explode("word").drop_nulls("word").group_by("word").agg("text").sort("word")
        self._size, self._words = len(texts), words["word"].to_list()
        lengths = words["text"].list.len().to_numpy()
        self._starts = np.r_[0, np.cumsum(lengths)].astype(np.int64)
        self._texts = words["text"].explode().drop_nulls().to_numpy()

    def find(self, word: str, *, begins: bool) -> Mask:
        """Return which texts have a word, or a word with this beginning."""
        first = bisect_left(self._words, word)
        last = (bisect_left if begins else bisect_right)(self._words, word + _LAST * begins)
        mask = np.zeros(self._size, bool)
        mask[self._texts[self._starts[first] : self._starts[last]]] = True
        return mask


class Catalogue:
    """The documents of an index as users look them up."""

    def __init__(self, collection: Collection, index: Index) -> None:
        self.index, self._collection = index, collection
        # The URL is only a link for documents without a DOI; venues and types repeat.
        url = pl.when(pl.col("doi").is_null()).then("url")
        shared = pl.col("venue", "type").fill_null("").cast(pl.Categorical)
        lean = collection.scan_documents().select(COLUMNS).with_columns(url.alias("url"))
        read = lean.with_columns(shared).collect().with_row_index("row")
        ids = pl.DataFrame({"doc_id": index.ids.series()}, schema={"doc_id": pl.String})
        texts = pl.col("title", "doi", "arxiv", "url", "cite_key").fill_null("")
        joined = ids.join(read, on="doc_id", how="left", maintain_order="left")
        self.table = joined.with_columns(texts)
        # An index can be older than its collection, from which documents were removed since.
        self.present: Mask = np.asarray(self.table["row"].is_not_null(), bool)
        years = self.table["year"].fill_null(UNKNOWN)
        self.years: NDArray[np.int32] = years.to_numpy().astype(np.int32)
        self._last_in_key: tuple[str, Docs] = "", np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.years)

    @cached_property
    def venues(self) -> CategoryIndex:
        return CategoryIndex(self.table["venue"].cast(pl.String), len(self))

    @cached_property
    def types(self) -> CategoryIndex:
        """The types: article, inproceedings …"""
        return CategoryIndex(self.table["type"].cast(pl.String), len(self))

    @cached_property
    def authors(self) -> CategoryIndex:
        """The authors; people with the same name are one author."""
        return CategoryIndex(self.table["authors"], len(self))

    def masks(self, among: Filter) -> dict[str, Mask]:
        """Return which documents pass each part of a filter, by the part's name."""
        found: dict[str, Mask] = {}
        first, last = among.span
        if first is not None or last is not None:
            known = np.asarray(self.table["year"].is_not_null())
            least, most = -np.inf if first is None else first, np.inf if last is None else last
            found["year"] = known & (self.years >= least) & (self.years <= most)
        for name, wanted in (
            ("venue", among.venues), ("type", among.types), ("author", among.authors),
        ):  # fmt: skip
            if wanted:
                values: CategoryIndex = getattr(self, f"{name}s")
                found[name] = values.mask(values.find_codes(wanted))
        if among.doc_ids is not None:
            found["doc_id"] = np.zeros(len(self), bool)
            found["doc_id"][self.index.ids.find_all(sorted(among.doc_ids))] = True
        return found

    def find_by_name(self, text: str) -> Docs:
        """Return the documents with this id, DOI or its URL, arXiv id, or citation key."""
        if not (name := text.strip()) or (len(name.split()) > 1 and "10." not in name):
            return np.zeros(0, np.int64)
        wanted = {name.lower(), (doi_in(name) or "").lower(), (arxiv_of(name) or "").lower()}
        return np.unique(self._names.find(wanted))

    @cached_property
    def _names(self) -> HashIndex:
        names = self._collection.scan_documents().select("doc_id", *_OTHER_NAMES).collect()
        names = self.table.select("doc_id").join(
            names, on="doc_id", how="left", maintain_order="left"
        )
        row = pl.int_range(pl.len()).alias("row")
        return HashIndex((names.select(row, name=each) for each in names.columns), folded=True)

    @cached_property
    def _name_words(self) -> WordIndex:
        """The words of authors' names, with the codes of the authors."""
        return WordIndex(_fold(self.authors.labels))

    @cached_property
    def _family_words(self) -> WordIndex:
        """The words of family names, with the codes of the authors."""
        return WordIndex(_fold(self.authors.labels.str.split(",").list.first()))

    def find_authors(self, word: str, *, begins: bool) -> tuple[Mask, Mask]:
        """Return which authors have a word (or its beginning) in their family name, and which have
        it in another name."""
        parts = _LETTERS.findall(unaccented(word).lower())
        family, every = (np.full(len(self.authors.labels), bool(parts)) for _ in range(2))
        for part in parts:  # an author must have all parts of a name such as "o'brien"
            family &= self._family_words.find(part, begins=begins)
            every &= self._name_words.find(part, begins=begins)
        return family, every & ~family

    @cached_property
    def _titles(self) -> pl.Series:
        return _fold(self.table["title"])

    def in_title(self, text: str) -> Mask:
        """Return which titles contain a text, ignoring case and accents."""
        wanted = unaccented(text).lower()
        return np.asarray(self._titles.str.contains(wanted, literal=True), bool)

    @cached_property
    def title_words(self) -> WordIndex:
        """The words of the titles, with the numbers of the documents."""
        return WordIndex(self._titles)

    def in_key(self, text: str) -> NDArray[np.float64]:
        """Return 2 for documents whose citation key begins with a text, 1 for those whose key
        contains it, ignoring case, and 0 for the others."""
        wanted = text.lower()
        known, among = self._last_in_key  # one letter more was typed: look only at these
        if not (known and wanted.startswith(known)):
            among = np.arange(len(self))
        keys = self._keys if len(among) == len(self) else self._keys[among]
        has_text = keys.str.contains(wanted, literal=True)
        among = among[np.asarray(has_text, bool)]
        self._last_in_key = wanted, among
        found = np.zeros(len(self))
        found[among] = 1.0 + np.asarray(keys.filter(has_text).str.starts_with(wanted), bool)
        return found

    @cached_property
    def _keys(self) -> pl.Series:
        return self.table["cite_key"].str.to_lowercase()

    def in_year(self, text: str) -> Mask:
        """Return the documents of a year, or of the years that begin with three digits."""
        if not (text.isascii() and text.isdigit() and len(text) in (3, 4)):
            return np.zeros(len(self), bool)
        return np.asarray(
            self.years == int(text) if len(text) == 4 else self.years // 10 == int(text)
        )

    @cached_property
    def title_places(self) -> Docs:
        """The place of each document if they are sorted by title."""
        rows = pl.DataFrame({"title": self._titles, "doc": np.arange(len(self))})
        return np.argsort(rows.sort("title", "doc")["doc"].to_numpy())

    def rows(self, docs: Docs | Sequence[int]) -> list[dict[str, Any]]:
        return self.table[np.asarray(docs, np.int64)].to_dicts()


def _fold(texts: pl.Series) -> pl.Series:
    """Return texts in lower case without accents."""
    odd = (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
    if len(odd):
        folded = texts[odd].str.normalize("NFKD").str.replace_all(MARKS, "")
        texts = texts.clone().scatter(odd, folded)
    return texts.str.to_lowercase()
