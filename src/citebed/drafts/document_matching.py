"""Match a draft's citations and an author's .bib entries with documents of a collection.

This finds the documents that a draft cites already, documents that are the draft itself, and the
keys that an author types in a ``\\cite``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

import polars as pl

from citebed.drafts.records import Cited, Draft, Entry, pieces
from citebed.drafts.references import match_author_year
from citebed.text.identifiers import ARXIV_ADDRESS, FreeIds, doi_of_arxiv, normalise_doi
from citebed.text.names import family_name
from citebed.text.normalise import unique
from citebed.text.titles import plain_title

DRAFT_COLUMNS = ("doc_id", "title", "doi", "url", "aliases", "keys", "cite_key", "arxiv", "authors",
                 "year")  # fmt: skip
"""The columns of documents that a draft's citations are matched with."""
_ARXIV = "arXiv:"
_FEWEST_LETTERS = 12
_FEWEST_WORDS = 3
"""A shorter title ("Editorial", "Introduction") needs a matching author name."""
_LETTERS_ENOUGH = 24
"""First letters of a title that distinguish it from others with the same key."""
_END = 6
_MOST_PARTS = 5
_LONGEST_ENTRY = 2000
_BREAK = re.compile(r"[.?!,:;]+\s+|[“”\"«»()\[\]]+|\s[-–—]\s|''|``|\.$")


def find_cited_documents(cited: Cited, documents: pl.DataFrame) -> set[str]:
    """Return the ids of the documents that a draft cites already.

    A document matches by its id, an alias, a cite key, its DOI, its arXiv id, or its title, which
    may be a field of an entry or part of a printed reference. A key does not count if the
    bibliography uses it for another title.
    """
    ids = _by_key(cited, documents)
    ids |= _by_doi([*cited.dois, *map(doi_of_arxiv, cited.arxiv)], documents)
    ids |= _by_arxiv(cited.arxiv, documents)
    return ids | _by_title(cited.entries, documents)


def find_own_documents(title: str, doi: str | None, documents: pl.DataFrame) -> set[str]:
    """Return the ids of documents that are the draft itself, by DOI or title.

    Titles are compared by letters and digits; titles of fewer than three words do not match.
    """
    ids = _by_doi([doi] if doi else [], documents)
    plain = plain_titles([title])[0]
    if _words(title) >= _FEWEST_WORDS and plain:
        ids |= set(_with_titles([plain], documents.select("doc_id", "title"))["doc_id"])
    return ids


# --- What each sentence cites ---------------------------------------------------------------


def citing_sentences(draft: Draft, documents: pl.DataFrame) -> list[tuple[str, frozenset[str]]]:
    """Return the sentences of a draft that cite documents, each with the ids of these."""
    sentences = [each for each in pieces(draft, "sentence") if each.cites and not each.silent]
    names = dict.fromkeys(name for each in sentences for name in each.cites)
    meant = {name: _documents_named(name, draft.cited, documents) for name in names}
    found = (
        (each.text, frozenset[str]().union(*(meant[name] for name in each.cites)))
        for each in sentences
    )
    return [(text, ids) for text, ids in found if ids]


def _documents_named(name: str, cited: Cited, documents: pl.DataFrame) -> set[str]:
    """Return the documents that a name in a draft refers to.

    A name is a key, a number, an identifier, or authors and year if they match exactly one
    document.
    """
    entries = tuple(entry for entry in cited.entries if entry.key == name)
    doi = normalise_doi(name)
    is_arxiv = name.startswith(_ARXIV)
    one = Cited(
        keys=() if doi or is_arxiv else (name,),
        dois=tuple(filter(None, (doi, *(entry.doi for entry in entries)))),
        arxiv=(name.removeprefix(_ARXIV),) if is_arxiv else (),
        entries=entries,
    )
    found = find_cited_documents(one, documents)
    authored = match_author_year([name], documents).get(name, frozenset())
    return found or (set(authored) if len(authored) == 1 else set())


# --- Keys -----------------------------------------------------------------------------------


def _by_key(cited: Cited, documents: pl.DataFrame) -> set[str]:
    keys = {*cited.keys, *cited.dois}  # a publisher's export uses the DOI as id
    if not keys:
        return set()
    rows = _named(keys, documents).iter_rows()
    entries = {entry.key: entry for entry in cited.entries}
    return {doc_id for doc_id, title, doi, name in rows if may_match(entries.get(name), title, doi)}


def _named(names: Iterable[str], documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents with one of these names as id, alias or key."""
    own = [name for name in ("doc_id", "cite_key") if name in documents.columns]
    parts = [documents.lazy().select("doc_id", "title", "doi", name=name) for name in own]
    for column in ("aliases", "keys"):
        if column in documents.columns:
            others = documents.lazy().filter(pl.col(column).list.len() > 0)
            parts.append(others.select("doc_id", "title", "doi", name=column).explode("name"))
    return pl.concat(parts).filter(pl.col("name").is_in(_listed(names))).collect()


def may_match(entry: Entry | None, title: str | None, doi: str | None) -> bool:
    """Return True unless the author's entry with a document's key is about another work."""
    if entry is None or (entry.doi and entry.doi == doi):
        return True
    theirs, ours, text = plain_titles([entry.title, title or "", entry.text])
    if not theirs and ours and text:  # a printed reference contains the title somewhere
        return ours[:_LETTERS_ENOUGH] in text
    if not theirs or not ours:
        return not (entry.doi and doi)
    return theirs.startswith(ours) or ours.startswith(theirs)


# --- Identifiers ----------------------------------------------------------------------------


def _by_doi(dois: Iterable[str], documents: pl.DataFrame) -> set[str]:
    wanted = {doi for stated in dois if (doi := normalise_doi(stated))}
    if not wanted:
        return set()
    stated = pl.col("doi").str.to_lowercase().str.strip_prefix("https://doi.org/")
    return set(documents.filter(stated.is_in(_listed(wanted)))["doc_id"])


def _by_arxiv(ids: Iterable[str], documents: pl.DataFrame) -> set[str]:
    """Match arXiv ids; older collections have them only in ids and URLs."""
    wanted = set(ids)
    if not wanted:
        return set()
    starts = ("", "arxiv:", "arXiv:", "arxiv.", "arXiv.")
    listed = [start + number for number in wanted for start in starts]
    items = set(_named(listed, documents)["doc_id"])
    if "arxiv" in documents.columns:
        items |= set(documents.filter(pl.col("arxiv").is_in(_listed(wanted)))["doc_id"])
    if "url" in documents.columns:
        address = pl.col("url").str.extract(ARXIV_ADDRESS).str.to_lowercase()
        on_arxiv = documents.filter(pl.col("url").str.contains("arxiv.org", literal=True))
        items |= set(on_arxiv.filter(address.is_in(_listed(wanted)))["doc_id"])
    return items


# --- Titles ---------------------------------------------------------------------------------


def _by_title(entries: Iterable[Entry], documents: pl.DataFrame) -> set[str]:
    owners = candidate_titles(list(entries))
    if not owners:
        return set()
    columns = ["doc_id", "title", *(["authors"] if "authors" in documents.columns else [])]
    same = _with_titles(owners, documents.select(columns)).to_dicts()
    pairs = [(row, entry) for row in same for entry in owners[row["plain"]]]
    names = plain_titles([family_name((row.get("authors") or [""])[0]) for row, _ in pairs])
    texts = plain_titles([entry.text for _, entry in pairs])
    return {
        row["doc_id"]
        for (row, entry), name, text in zip(pairs, names, texts, strict=True)
        if (name and name in text) or _is_enough(entry, row["title"], bool(name))
    }


def candidate_titles(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Map possible titles of entries, in letters and digits only, to the entries."""
    texts, whose = [], []
    for entry in entries:
        titles = [entry.title] if entry.title else _runs(entry.text)
        texts += titles
        whose += [entry] * len(titles)
    owners: dict[str, list[Entry]] = {}
    for plain, entry in zip(plain_titles(texts), whose, strict=True):
        if plain and (entry.title or len(plain) >= _FEWEST_LETTERS):
            owners.setdefault(plain, []).append(entry)
    return owners


def _runs(text: str) -> list[str]:
    """Return the possible titles in a reference: one to five parts between punctuation."""
    parts = [part for part in _BREAK.split(text[:_LONGEST_ENTRY]) if part and part.strip()]
    return [
        " ".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + 1, min(start + _MOST_PARTS, len(parts)) + 1)
    ]


def _is_enough(entry: Entry, title: str, author_is_known: bool) -> bool:
    """Return True if the title alone identifies the document of an entry.

    A title field of three words does. Words in a printed reference may be the name of a journal or
    a volume, so the first author's name must match, too, if it is known.
    """
    if entry.title:
        return _words(entry.title) >= _FEWEST_WORDS
    return not author_is_known and _words(title) > _FEWEST_WORDS


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def plain_titles(texts: list[str]) -> list[str]:
    """Return titles in letters and digits only, to compare them."""
    column = pl.Series("text", texts, dtype=pl.String)
    return pl.select(plain_title(pl.lit(column))).to_series().to_list() if texts else []


def _with_titles(plains: Collection[str], documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents with one of these titles, and their plain title in ``plain``.

    Converting all titles takes most of a second for 100,000 documents, so the first and the last
    letters are compared before.
    """
    title = pl.col("title")
    head = _squeezed(title.str.head(2 * _END)).str.head(_END)
    tail = _squeezed(title.str.tail(2 * _END)).str.strip_chars_end(".?!").str.tail(_END)
    likely = _with_end(documents, head, [plain[:_END] for plain in plains])
    likely = _with_end(likely, tail, [plain[-_END:] for plain in plains])
    likely = likely.with_columns(plain=plain_title(title))
    return likely.filter(pl.col("plain").is_in(_listed(plains)))


def _squeezed(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(" ", "", literal=True)


def _with_end(documents: pl.DataFrame, end: pl.Expr, ends: Iterable[str]) -> pl.DataFrame:
    """Return documents with one of these ends, or with an end that has other characters."""
    own = documents.select(end.alias("end")).to_series()
    odd = ~own.str.contains(f"^[a-z0-9]{{{_END}}}$")
    return documents.filter((odd | own.is_in(_listed(ends))).fill_null(value=False))


def _listed(names: Iterable[str]) -> pl.Series:
    return pl.Series(sorted(set(names)), dtype=pl.String).implode()


# --- Keys -------------------------------------------------------------------------------------


class Work(NamedTuple):
    """A document as a bibliography lists it, with the collection's ``key`` and other ``keys``."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    keys: tuple[str, ...] = ()
    key: str = ""


_KEY_FEWEST_WORDS = 3
"""A shorter title ("Editorial") is not sufficient alone."""


class Bibliography:
    """The entries of .bib files; finds works and free keys."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._known: dict[str, Entry] = {}
        self._by_key: dict[str, Entry] = {}
        self._by_title: dict[str, list[Entry]] = {}
        self._keys = FreeIds(fold=str.casefold)
        self.add(entries)

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries."""
        added = list(entries)
        if not added:
            return
        for entry, plain in zip(added, plain_titles([e.title for e in added]), strict=True):
            for name in (entry.doi, entry.arxiv):
                self._known.setdefault(name or "", entry)
            self._by_key.setdefault(entry.key, entry)
            self._by_title.setdefault(plain, []).append(entry)
        self._keys.add(entry.key for entry in added)
        self._known.pop("", None)
        self._by_title.pop("", None)

    def reserve(self, keys: Iterable[str]) -> None:
        """Mark keys as taken."""
        self._keys.add(keys)

    def find(self, work: Work) -> Entry | None:
        """Return the entry of a work, by its DOI, arXiv id, keys, or title and year."""
        if not self._by_key:
            return None
        for name in (work.doi, work.arxiv):
            if name and name in self._known:
                return self._known[name]
        for key in unique((work.key, *work.keys)):
            if (entry := self._by_key.get(key)) and may_match(entry, work.title, work.doi):
                return entry
        alike = self._by_title.get(plain_titles([work.title])[0], ())
        untitled = self._by_key.get(work.key) if not work.title else None
        return next((entry for entry in alike if _is_same(entry, work)), untitled)

    def take_key(self, wanted: str) -> str:
        """Return the wanted key or a similar free one, and mark it as taken.

        As in BibTeX, keys that differ only in case are equal.
        """
        return self._keys.take(wanted)

    def is_free(self, key: str) -> bool:
        """Return True if no entry has this key."""
        return self._keys.is_free(key)


def _is_same(entry: Entry, work: Work) -> bool:
    """Compare the year, and for a short title the first author, of an entry with equal title."""
    if len(work.title.split()) >= _KEY_FEWEST_WORDS:
        return None in (entry.year, work.year) or entry.year == work.year
    named = not work.authors or family_name(work.authors[0]) in entry.text
    return named and entry.year == work.year
