"""Recommendations: documents and why, with a table inside, which print and render as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from citebed.errors import CitebedError
from citebed.frames import TableResult
from citebed.retrieval.recommend import wording
from citebed.retrieval.recommend.answers_html import STYLE, answers_html
from citebed.retrieval.recommend.recommendation import Recommendation
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.drafts import Passage
    from citebed.records import Document

_MOST_NAMES = 20
_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "title": pl.String,
    "authors": pl.List(pl.String), "year": pl.Int64, "venue": pl.String, "doi": pl.String,
    "terms": pl.List(pl.String), "sentence": pl.String,
    "passage": pl.Int64, "line": pl.Int64, "section": pl.String,
    "file": pl.String, "column": pl.Int64, "key": pl.String, "in_bib": pl.Boolean,
    "chance": pl.Float64, "abstract_sentence": pl.String, "citing_sentences": pl.List(pl.String),
    "cited_by": pl.List(pl.String), "reprints": pl.List(pl.String), "link": pl.String,
    "strength": pl.String, "probability": pl.Float64, "sure": pl.String,
}  # fmt: skip
_READ: dict[str, Callable[[Recommendation], Any]] = {
    **{name: attrgetter(name) for name in _SCHEMA},
    "chance": attrgetter("probability"),  # its former name
    "sure": wording.sure,
}
"""Where the fields of a row come from."""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(TableResult, Sequence[Recommendation]):
    """What a text should cite, best first; of a draft, passage after passage.

    ``passages`` are those of a draft that asked, ``left_out`` the documents that it cites already
    or is itself, ``notes`` what else there is to say, ``libraries`` the texts of the author's .bib
    files. Where a learned ranking tells no chances, ``untold`` says why. ``silent`` is how many
    passages got no answer. ``weak`` are the ids of documents below the threshold, which are only
    shown because a number of documents was asked for: they get no BibTeX.
    """

    found: tuple[Recommendation, ...]
    passages: tuple[Passage, ...] = ()
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    collection: Collection | None = None
    libraries: Sequence[str] = ()
    untold: tuple[str, ...] = ()
    silent: int = 0
    weak: frozenset[str] = frozenset()

    @overload
    def __getitem__(self, at: int) -> Recommendation: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Recommendation, ...]: ...
    def __getitem__(self, at: int | slice) -> Recommendation | tuple[Recommendation, ...]:
        return self.found[at]

    def __len__(self) -> int:
        return len(self.found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.found == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The recommendations as flat rows, as ``--json`` prints them."""
        return [{name: read(each) for name, read in _READ.items()} for each in self.found]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The recommendations as a table: a column for each of their fields."""
        return pl.DataFrame(self.rows, schema=_SCHEMA)

    def of(self, passage: Passage) -> list[Recommendation]:
        """What one passage should cite."""
        return [each for each in self.found if each.passage == passage.number]

    def main_table(self) -> pl.DataFrame:
        """What a person looks at first."""
        first = ["passage"] if len(self.passages) > 1 else []
        because = pl.col("terms").list.join(", ").alias("because of")
        sure = pl.Series("how sure", list(map(wording.sure, self.found)), pl.String)
        return self.table.select(*first, "rank", sure, "key", "title", "year", because)

    def _repr_html_(self) -> str:
        """What a terminal shows, for notebooks."""
        return f"<style>{STYLE}</style>{answers_html(self.answers, self.summary, self.told)}"

    @property
    def answers(self) -> list[tuple[Passage, list[Recommendation]]]:
        """Each passage that asked, and what it should cite."""
        return [(passage, self.of(passage)) for passage in self.passages]

    @property
    def told(self) -> tuple[str, ...]:
        """All that there is to say beside the answers."""
        return (*self.notes, *self.untold, *self.left_out_note)

    @property
    def summary(self) -> str:
        """In a line, how many passages of a draft got an answer; empty where there is only one, or
        none."""
        if not self.found or len(self.passages) + self.silent < 2:
            return ""
        papers = {each.doc_id for each in self.found}
        had = {each.doc_id for each in self.found if each.in_bib}
        wanted = sum(bool(passage.wanted) for passage in self.passages)
        answered = len({each.passage for each in self.found})
        asked = count(len(self.passages) + self.silent, "passage")
        parts = (
            f"{asked}, {answered:,} answered with {count(len(papers), 'paper')}"
            + (f", {len(had):,} of them in your .bib" if had else ""),
            f"first, {count(wanted, 'sentence')} where a citation is to come" if wanted else "",
            f"{self.silent:,} without an answer" if self.silent else "",
        )
        return "; ".join(filter(None, parts))

    @property
    def left_out_note(self) -> tuple[str, ...]:
        """What is ``left_out``, in a line for people, if anything is."""
        if not self.left_out:
            return ()
        keys = self.left_out_keys
        more = f" and {len(keys) - _MOST_NAMES} more" if len(keys) > _MOST_NAMES else ""
        which = ", ".join(keys[:_MOST_NAMES]) + more
        return (f"left out {len(keys)} that the text cites already or is itself: {which}",)

    # --- BibTeX ---

    def bibtex(self, *, full: bool = False) -> str:
        """BibTeX entries under the keys to type, each once, ready to paste.

        They have what a reference is printed from, or all that the records came with (``full``).
        What the author's .bib files have already, and what is ``weak``, is left out.
        """
        from citebed.drafts.bibliography import entry_to_cite

        return "\n\n".join(
            entry_to_cite(document, each.key, full=full)
            for each, document in self._once()
            if not each.in_bib
        )

    def append_to(self, path: str | Path, *, full: bool = False) -> tuple[str, ...]:
        """Add to a .bib file the entries that the author does not have yet; their keys.

        What is there is told by DOI, arXiv id, key, or title and year, so that a second time adds
        nothing. What is ``weak`` is not added. The file is replaced whole; what stood in it stays
        to the byte.
        """
        from citebed.drafts.bibliography import append_new

        new = [(each.key, document) for each, document in self._once() if not each.in_bib]
        return append_new(path, new, full=full)

    @property
    def without_bibtex(self) -> tuple[str, ...]:
        """Why some documents get no BibTeX entry, in lines for people."""
        had = len({each.doc_id for each in self.found if each.in_bib} - self.weak)
        weak = len(self.weak)
        lines = (
            f"{count(had, 'paper')} left out that your .bib has already" if had else "",
            f"{count(weak, 'weak match', 'weak matches')} left out; --min-probability 0 keeps them"
            if weak
            else "",
        )
        return tuple(filter(None, lines))

    @property
    def strange_commands(self) -> tuple[str, ...]:
        """The LaTeX commands in the records that bibliographies do not use: BibTeX is written with
        these as text."""
        from citebed.collection.formats.bibtex_writer import unknown_commands

        entries = (document.bibtex or "" for _, document in self._once())
        return tuple(dict.fromkeys(name for each in entries for name in unknown_commands(each)))

    @property
    def left_out_keys(self) -> tuple[str, ...]:
        """The documents that are ``left_out``, by what one types in a ``\\cite``: first of all the
        keys of the author's own entries."""
        from citebed.collection.names import clean_key
        from citebed.collection.tables import row_to_document
        from citebed.drafts.bibliography import bibliography_for, work_from_document

        rows = self._rows(self.left_out)
        works = [
            work_from_document(row_to_document(row), clean_key(row["cite_key"])) for row in rows
        ]
        mine = bibliography_for(works, self.libraries)
        return tuple(sorted((mine.find(work) or work).key for work in works))

    def _once(self) -> list[tuple[Recommendation, Document]]:
        """Each document that is not weak, at its first recommendation."""
        first: dict[str, Recommendation] = {}
        for each in self.found:
            if each.doc_id not in self.weak:
                first.setdefault(each.doc_id, each)
        documents = self._documents(first)
        return [(each, documents[name]) for name, each in first.items()]

    def _documents(self, names: Iterable[str]) -> dict[str, Document]:
        from citebed.collection.tables import row_to_document

        return {row["doc_id"]: row_to_document(row) for row in self._rows(names)}

    def _rows(self, names: Iterable[str]) -> list[dict[str, Any]]:
        if self.collection is None:
            raise CitebedError(
                "these recommendations were created without a collection; BibTeX is not available"
            )
        rows = self.collection.scan_documents().filter(pl.col("doc_id").is_in(list(names)))
        return rows.collect().to_dicts()
