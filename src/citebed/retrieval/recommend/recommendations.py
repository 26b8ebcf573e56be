"""Recommendations: papers with evidence, as values with a table inside, and as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from citebed.errors import CitebedError
from citebed.frames import TableResult
from citebed.retrieval.recommend.display import STYLE, format_confidence, format_html
from citebed.wording import count, list_first

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.drafts import Passage
    from citebed.records import Document

_MAX_NAMES = 20
_TEXTS = pl.List(pl.String)
_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "title": pl.String,
    "authors": _TEXTS, "year": pl.Int64, "venue": pl.String, "doi": pl.String,
    "terms": _TEXTS, "sentence": pl.String, "passage": pl.Int64, "line": pl.Int64,
    "section": pl.String, "file": pl.String, "column": pl.Int64, "key": pl.String,
    "in_bib": pl.Boolean, "abstract_sentence": pl.String, "citing_sentences": _TEXTS,
    "cited_by": _TEXTS, "reprints": _TEXTS, "link": pl.String, "strength": pl.String,
    "probability": pl.Float64, "sure": pl.String, "reason": pl.String,
}  # fmt: skip


@dataclass(frozen=True)
class Recommendation:
    """A document for a passage, with evidence.

    ``terms`` are the words of the text that matched, best first. ``sentence`` is the sentence that
    led to the document, at ``line`` and ``column`` of ``file``; ``passage`` is the number of its
    passage, and ``section`` its heading. ``key`` is the citation key; ``in_bib`` if it comes from a
    .bib file. ``probability`` says how likely it is right, and ``strength`` (``weak``, ``fair`` or
    ``strong``) says the same in a word; models without probabilities have neither.
    ``abstract_sentence`` is the sentence of the abstract closest to the text; ``citing_sentences``
    are from papers that cite the document for the same reason, one of ``cited_by`` each.
    ``reprints`` are where else the work appeared, ``link`` is an address to read it. ``reason``
    says in a line what made it a recommendation: the author that the text names and the terms, or
    else a similar abstract or title.
    """

    rank: int
    doc_id: str
    score: float
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    doi: str
    terms: tuple[str, ...]
    sentence: str
    passage: int = 1
    line: int = 1
    section: str = ""
    file: str = ""
    column: int = 1
    key: str = ""
    in_bib: bool = False
    abstract_sentence: str = ""
    citing_sentences: tuple[str, ...] = ()
    cited_by: tuple[str, ...] = ()
    reprints: tuple[str, ...] = ()
    link: str = ""
    strength: str = ""
    probability: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(TableResult, Sequence[Recommendation]):
    """The recommendations for a text, best first, or for the passages of a draft.

    ``passages`` have recommendations; ``skipped`` is the number of other passages.
    ``left_out`` are the documents that the draft cites already or is itself. ``libraries`` are the
    texts of the user's .bib files.
    ``weak`` are the ids of documents below the threshold, which are only shown because of ``k``:
    they get no BibTeX.
    """

    items: tuple[Recommendation, ...]
    passages: tuple[Passage, ...] = ()
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    collection: Collection | None = None
    libraries: Sequence[str] = ()
    skipped: int = 0
    weak: frozenset[str] = frozenset()

    @overload
    def __getitem__(self, at: int) -> Recommendation: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Recommendation, ...]: ...
    def __getitem__(self, at: int | slice) -> Recommendation | tuple[Recommendation, ...]:
        return self.items[at]

    def __len__(self) -> int:
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.items == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The recommendations as flat rows, as ``--json`` prints them."""
        return [
            {name: getattr(each, name, None) for name in _SCHEMA}
            | {"sure": format_confidence(each)}
            for each in self.items
        ]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The recommendations as a table with a column for each field."""
        return pl.DataFrame(self.rows, schema=_SCHEMA)

    def of(self, passage: Passage) -> list[Recommendation]:
        """Return the recommendations for one passage."""
        return [each for each in self.items if each.passage == passage.number]

    @property
    def by_passage(self) -> list[tuple[Passage, list[Recommendation]]]:
        """Each passage with its recommendations."""
        return [(passage, self.of(passage)) for passage in self.passages]

    def main_table(self) -> pl.DataFrame:
        """Return the table to show first."""
        first = ["passage"] if len(self.passages) > 1 else []
        because = pl.col("reason").alias("because of")
        sure = pl.col("sure").alias("how sure")
        return self.table.select(*first, "rank", sure, "key", "title", "year", because)

    def _repr_html_(self) -> str:
        page = format_html(self.by_passage, self.summary, self.all_notes)
        return f"<style>{STYLE}</style>{page}"

    @property
    def all_notes(self) -> tuple[str, ...]:
        """All notes for the user."""
        return (*self.notes, *self.left_out_note)

    @property
    def summary(self) -> str:
        """The number of passages with recommendations in a line; empty for a single passage."""
        passages = len(self.passages) + self.skipped
        if not self.items or passages < 2:
            return ""
        papers = {each.doc_id for each in self.items}
        owned = {each.doc_id for each in self.items if each.in_bib}
        wanted = sum(bool(passage.wanted) for passage in self.passages)
        answered = len({each.passage for each in self.items})
        parts = (
            f"{count(passages, 'passage')}, {answered:,} with {count(len(papers), 'paper')}"
            + (f", {len(owned):,} of them in your .bib" if owned else ""),
            f"first, {count(wanted, 'sentence')} with a citation placeholder" if wanted else "",
            f"{self.skipped:,} without recommendations" if self.skipped else "",
        )
        return "; ".join(filter(None, parts))

    @property
    def left_out_note(self) -> tuple[str, ...]:
        """A note on the documents in ``left_out``, if any, with the user's own keys."""
        if not self.left_out:
            return ()
        from citebed.collection.names import clean_key
        from citebed.collection.tables import row_to_document
        from citebed.drafts.bibliography import bibliography_for, work_from_document

        rows = self._rows(self.left_out)
        works = [
            work_from_document(row_to_document(row), clean_key(row["cite_key"])) for row in rows
        ]
        mine = bibliography_for(works, self.libraries)
        keys = tuple(sorted((mine.find(work) or work).key for work in works))
        what = f"left out {count(len(keys), 'paper')} (already cited, or the draft itself)"
        return (f"{what}: {list_first(keys, _MAX_NAMES)}",)

    # --- BibTeX ---

    def bibtex(self, *, full: bool = False) -> str:
        """Return BibTeX entries under the keys to type, each once, ready to paste.

        They have what a reference list prints, or all fields (``full``). Papers in the user's .bib
        files are left out, and ``weak`` ones.
        """
        from citebed.drafts.bibliography import entry_to_cite

        entries = (entry_to_cite(document, key, full=full) for key, document in self._new_entries())
        return "\n\n".join(entries)

    def append_to(self, path: str | Path, *, full: bool = False) -> tuple[str, ...]:
        """Append entries that the user does not have yet to a .bib file, and return their keys.

        Existing entries are recognised by DOI, arXiv id, key, or title and year, so a second call
        adds nothing. ``weak`` papers are left out. The file is replaced atomically, and existing
        content stays byte for byte.
        """
        from citebed.drafts.bibliography import append_new

        return append_new(path, self._new_entries(), full=full)

    @property
    def without_bibtex(self) -> tuple[str, ...]:
        """Notes on documents without BibTeX entries."""
        owned = len({each.doc_id for each in self.items if each.in_bib} - self.weak)
        weak = len(self.weak)
        unlikely = count(weak, "unlikely match", "unlikely matches")
        lines = (
            f"{count(owned, 'paper')} left out that your .bib already has" if owned else "",
            f"{unlikely} left out; --min-probability 0 keeps them" if weak else "",
        )
        return tuple(filter(None, lines))

    @property
    def strange_commands(self) -> tuple[str, ...]:
        """LaTeX commands in the records that bibliographies do not use; BibTeX has them as text."""
        from citebed.collection.formats.bibtex_writer import unknown_commands

        documents = (document for _, document in self._once())
        names = (unknown_commands(document.bibtex or "") for document in documents)
        return tuple(dict.fromkeys(name for some in names for name in some))

    def _new_entries(self) -> list[tuple[str, Document]]:
        return [(each.key, document) for each, document in self._once() if not each.in_bib]

    def _once(self) -> list[tuple[Recommendation, Document]]:
        """Return the first recommendation of each document that is not weak."""
        from citebed.collection.tables import row_to_document

        first: dict[str, Recommendation] = {}
        for each in self.items:
            if each.doc_id not in self.weak:
                first.setdefault(each.doc_id, each)
        documents = {row["doc_id"]: row_to_document(row) for row in self._rows(first)}
        return [(each, documents[name]) for name, each in first.items()]

    def _rows(self, names: Iterable[str]) -> list[dict[str, Any]]:
        if self.collection is None:
            raise CitebedError(
                "these recommendations were created without a collection; BibTeX is not available"
            )
        rows = self.collection.scan_documents().filter(pl.col("doc_id").is_in(list(names)))
        return rows.collect().to_dicts()
