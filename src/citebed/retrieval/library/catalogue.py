"""The catalogue: what people look documents up by, kept open as a lean table and codes.

Everything is in the order of the index's numbers. A value that documents share (a venue, a type, an
author) is a code; people look it up whatever its case, and see it as it is written most often.
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
from citebed.retrieval.vectors.vectors import Docs
from citebed.text.identifiers import arxiv_of, doi_in
from citebed.text.words import MARKS, unaccented

Mask = NDArray[np.bool_]
"""Which documents, by number."""
KNOWN_COLUMNS = (
    *("doc_id", "title", "authors", "year", "venue", "type", "doi", "arxiv", "url"),
    "cite_key",
)
"""What the catalogue has of each document."""
_OTHER_NAMES = ("doi", "arxiv", "cite_key", "keys", "aliases")
_WORD = r"[\pL\pN]+"
_LAST = "\U0010ffff"
_LETTERS = re.compile(r"[^\W_]+")
UNKNOWN = 0
"""The year of a document whose year is not known."""


class Coded:
    """Values that documents have, none or several each: ``codes[i]`` is one of ``docs[i]``."""

    def __init__(self, values: pl.Series, documents: int) -> None:
        rows = _each_value(pl.DataFrame({"doc": np.arange(documents), "value": values}), "value")
        folded = pl.col("value").str.strip_chars().str.to_lowercase().alias("folded")
        rows = rows.with_columns(folded).filter(pl.col("folded") != "")
        spelled = rows.group_by("folded", pl.col("value").str.strip_chars()).agg(pl.len())
        spelled = spelled.sort("len", "value", descending=[True, False])
        known = (
            spelled.unique("folded", keep="first", maintain_order=True)
            .sort("folded")
            .with_row_index("code")
        )
        rows = rows.join(known.select("folded", "code"), on="folded", maintain_order="left")
        rows = rows.unique(["doc", "code"], maintain_order=True)
        self.documents = documents
        self.docs: NDArray[np.int64] = rows["doc"].to_numpy()
        self.codes: NDArray[np.uint32] = rows["code"].to_numpy()
        self.labels = known["value"]
        self._folded = known["folded"]

    def codes_of(self, wanted: Iterable[str]) -> NDArray[np.int64]:
        """The codes of some values, or of all that have their words (`resolve_names`)."""
        folded = resolve_names(wanted, self._folded)
        return np.asarray(self._folded.is_in(folded).arg_true(), np.int64)

    def having(self, codes: NDArray[np.int64]) -> Mask:
        """Which documents have one of these."""
        chosen = np.zeros(len(self.labels), bool)
        chosen[codes] = True
        found = np.zeros(self.documents, bool)
        found[self.docs[chosen[self.codes]]] = True
        return found

    def counts(self, among: Mask) -> NDArray[np.int64]:
        """How many of some documents have each value."""
        return np.bincount(self.codes[among[self.docs]], minlength=len(self.labels))


class Catalogue:
    """The documents of an index as people look them up."""

    def __init__(self, collection: Collection, index: Index) -> None:
        self.index, self._collection = index, collection
        # An address is only shown where there is no DOI, and most venues are those of many others.
        url = pl.when(pl.col("doi").is_null()).then("url")
        shared = pl.col("venue", "type").fill_null("").cast(pl.Categorical)
        lean = collection.scan_documents().select(KNOWN_COLUMNS).with_columns(url.alias("url"))
        read = lean.with_columns(shared).collect().with_row_index("row")
        ids = pl.DataFrame({"doc_id": index.ids.series()}, schema={"doc_id": pl.String})
        texts = pl.col("title", "doi", "arxiv", "url", "cite_key").fill_null("")
        joined = ids.join(read, on="doc_id", how="left", maintain_order="left")
        self.table = joined.with_columns(texts)
        # An index may be older than its collection, of which documents have gone since.
        self.there: Mask = np.asarray(self.table["row"].is_not_null(), bool)
        self.years: NDArray[np.int32] = (
            self.table["year"].fill_null(UNKNOWN).to_numpy().astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.years)

    # --- What documents have in common ---

    @cached_property
    def venues(self) -> Coded:
        """The venues."""
        return Coded(self.table["venue"].cast(pl.String), len(self))

    @cached_property
    def types(self) -> Coded:
        """The types: article, inproceedings …"""
        return Coded(self.table["type"].cast(pl.String), len(self))

    @cached_property
    def authors(self) -> Coded:
        """The authors; people of one name are one."""
        return Coded(self.table["authors"], len(self))

    def masks(self, among: Filter) -> dict[str, Mask]:
        """Which documents each part of a filter lets through, by the part's name; parts that let
        all through are left out."""
        found: dict[str, Mask] = {}
        first, last = among.span
        if first is not None or last is not None:
            known = np.asarray(self.table["year"].is_not_null())
            least, most = -np.inf if first is None else first, np.inf if last is None else last
            found["year"] = known & (self.years >= least) & (self.years <= most)
        for name, coded, wanted in (
            ("venue", "venues", among.venues),
            ("type", "types", among.types),
            ("author", "authors", among.authors),
        ):
            if wanted:
                values: Coded = getattr(self, coded)
                found[name] = values.having(values.codes_of(wanted))
        if among.doc_ids is not None:
            found["doc_id"] = np.zeros(len(self), bool)
            found["doc_id"][self.numbers_of(sorted(among.doc_ids))] = True
        return found

    # --- What they are called ---

    def numbers_of(self, doc_ids: Iterable[str]) -> Docs:
        """The numbers of documents by their ids; of what is not there, none."""
        numbers = (self.index.ids.find(name) for name in doc_ids)
        return np.array([number for number in numbers if number >= 0], np.int64)

    @cached_property
    def _names(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Hashes of all that single documents go by, in lower case, in order, and whose each is."""
        names = self._collection.scan_documents().select("doc_id", *_OTHER_NAMES).collect()
        names = self.table.select("doc_id").join(
            names, on="doc_id", how="left", maintain_order="left"
        )
        parts = [
            _each_value(names.select(pl.int_range(pl.len()).alias("doc"), name=column), "name")
            for column in names.columns
        ]
        rows = pl.concat(parts).filter(pl.col("name") != "")
        rows = rows.select("doc", hash=pl.col("name").str.to_lowercase().hash()).unique()
        rows = rows.sort("hash", "doc")
        return rows["hash"].to_numpy(), rows["doc"].to_numpy().astype(np.uint32)

    def named(self, text: str) -> Docs:
        """The documents that go by a name: an id, a DOI or its address, an arXiv id, a key."""
        if not (name := text.strip()) or (len(name.split()) > 1 and "10." not in name):
            return np.zeros(0, np.int64)
        wanted = {name.lower(), (doi_in(name) or "").lower(), (arxiv_of(name) or "").lower()}
        hashes, docs = self._names
        own = pl.Series(sorted(wanted - {""}), dtype=pl.String).hash().to_numpy()
        starts, ends = (np.searchsorted(hashes, own, side) for side in ("left", "right"))
        found = [docs[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.unique(np.concatenate(found)).astype(np.int64)

    # --- Names of people and titles, as they are typed ---

    @cached_property
    def _name_words(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.uint32], Mask]:
        """The words of authors' names in order; and for each, from where to where on, the codes of
        those who have it and whether it is of their family names."""
        labels = self.authors.labels
        family = plain(labels.str.split(",").list.first()).str.extract_all(_WORD)
        rows = pl.DataFrame({"word": plain(labels).str.extract_all(_WORD), "family": family})
        rows = rows.with_row_index("code").explode("word").drop_nulls("word")
        rows = rows.select("code", "word", own=pl.col("family").list.contains(pl.col("word")))
        rows = rows.sort("word", "code")
        words = rows.group_by("word", maintain_order=True).agg(pl.len())
        starts = np.r_[0, np.cumsum(words["len"].to_numpy())].astype(np.int64)
        codes = rows["code"].to_numpy().astype(np.uint32)
        return words["word"].to_list(), starts, codes, np.asarray(rows["own"], bool)

    def people(self, word: str, *, begins: bool = False) -> tuple[Docs, Docs]:
        """The authors in whose names a word is (or ``begins`` a part), by code: those whose family
        name has it, and the others."""
        words, starts, codes, own = self._name_words
        found: list[Docs] = [np.zeros(0, np.int64)] * 2
        for place, part in enumerate(_LETTERS.findall(unaccented(word).lower())):
            first = bisect_left(words, part)
            last = bisect_left(words, f"{part}{_LAST}") if begins else bisect_right(words, part)
            rows = slice(starts[first], starts[last])
            both = [np.unique(codes[rows][is_own]).astype(np.int64)
                    for is_own in (own[rows], ~own[rows])]  # fmt: skip
            # Of a name in several parts ("o'brien") one author has all.
            every = np.union1d(*both)
            found = [np.intersect1d(each, every) for each in found] if place else both
        return found[0], np.setdiff1d(found[1], found[0])

    @cached_property
    def _titles(self) -> pl.Series:
        return plain(self.table["title"])

    def in_title(self, text: str) -> Mask:
        """Which titles have a text somewhere, whatever case and accents."""
        wanted = unaccented(text).lower()
        return np.asarray(self._titles.str.contains(wanted, literal=True), bool)

    @cached_property
    def by_title(self) -> Docs:
        """The documents in the order of their titles."""
        rows = pl.DataFrame({"title": self._titles, "doc": np.arange(len(self))})
        return rows.sort("title", "doc")["doc"].to_numpy()

    # --- What is shown ---

    def cards(self, docs: Docs | Sequence[int]) -> list[dict[str, Any]]:
        """What is known of some documents, one after another."""
        return self.table[np.asarray(docs, np.int64)].to_dicts()


def _each_value(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row for each of the values in a column, where these are lists."""
    return rows.explode(name) if rows.schema[name] == pl.List else rows


def plain(texts: pl.Series) -> pl.Series:
    """Texts in lower case, without accents."""
    odd = (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
    if len(odd):
        folded = texts[odd].str.normalize("NFKD").str.replace_all(MARKS, "")
        texts = texts.clone().scatter(odd, folded)
    return texts.str.to_lowercase()
