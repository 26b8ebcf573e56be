"""Fill the gaps of a draft: suggest papers for each, store choices, and write the result.

Only citation commands change: keys go into the places of the placeholders, and every other byte of
the draft stays. New entries are appended to a .bib file.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed.collection.tables import row_to_document
from citebed.drafts.bibliography import append_new, bib_text
from citebed.drafts.files import read_draft_bytes
from citebed.drafts.records import Draft
from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.output_files import find_free_path, update_file, write_file
from citebed.frames import TableResult
from citebed.options import option
from citebed.records import Document
from citebed.wording import printable
from citebed.writing.gaps import Gap, Gaps, Span, fill_spans, find_gaps

if TYPE_CHECKING:
    from citebed.retrieval.recommend.recommendations import Recommendation, Recommendations
    from citebed.retrieval.recommend.recommender import Recommender

_BACKUP = ".bak"
_OFFICE = ("word", "opendocument")


@dataclass(frozen=True, kw_only=True)
class FillOptions:
    """What to look for, and what to suggest."""

    k: int = option(5, "Number of suggestions for each gap.", "-k", min=1)
    find_gaps: bool = option(
        False, "Also find sentences that make a claim and cite nothing, not only placeholders."
    )
    gap_probability: float | None = option(
        None,
        "With --find-gaps: show only sentences with at least this probability to lack a citation.",
        min=0.0,
        max=1.0,
    )
    min_probability: float | None = option(
        None,
        "Show only suggestions with at least this probability of being right.",
        min=0.0,
        max=1.0,
    )
    before: str | None = option(
        None, "Only papers published up to this year or date, e.g. 2019 or 2019-07-31."
    )
    bib: tuple[Path, ...] = option(
        (), "Your .bib file: its keys are used, and new entries are appended (repeatable)."
    )

    def __post_init__(self) -> None:
        if self.k < 1:
            raise CitebedError(f"k is {self.k}; expected at least 1 suggestion for each gap")
        for value in (self.gap_probability, self.min_probability):
            if value is not None and not 0 <= value <= 1:
                raise CitebedError(f"the probability is {value}; expected a number from 0 to 1")


_SCHEMA: dict[str, Any] = {
    "gap": pl.Int64, "kind": pl.String, "file": pl.String, "line": pl.Int64, "column": pl.Int64,
    "section": pl.String, "placeholder": pl.String, "sentence": pl.String,
    "missing": pl.Float64, "rank": pl.Int64, "doc_id": pl.String, "key": pl.String,
    "in_bib": pl.Boolean, "title": pl.String, "authors": pl.List(pl.String), "year": pl.Int64,
    "venue": pl.String, "doi": pl.String, "probability": pl.Float64, "reason": pl.String,
    "chosen": pl.Boolean,
}  # fmt: skip


@dataclass(eq=False, repr=False)
class Filling(TableResult):
    """The gaps of a draft with suggestions, and the papers that were chosen for them.

    ``chosen`` are the ids of documents by number of the gap; an empty tuple is a skipped gap.
    """

    gaps: Gaps
    found: Recommendations | None
    recommender: Recommender
    options: FillOptions
    chosen: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def suggestions(self, gap: Gap) -> list[Recommendation]:
        """Return the suggestions for a gap, best first, without what it cites already."""
        least = self.options.min_probability or 0.0
        every = self.found or ()
        fit = [
            each for each in every
            if each.passage == gap.number and each.key not in gap.cites
            and (each.probability is None or each.probability >= least)
        ]  # fmt: skip
        return fit[: self.options.k]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        return (*self.gaps.draft.notes, *(self.found.notes if self.found else ()))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The gaps and suggestions as flat rows; a gap without suggestions has one row."""
        rows = []
        for gap in self.gaps:
            own = {
                "gap": gap.number, "kind": gap.kind, "file": gap.file, "line": gap.line,
                "column": gap.column, "section": gap.passage.section, "placeholder": gap.written,
                "sentence": gap.text, "missing": gap.probability,
            }  # fmt: skip
            chosen = self.chosen.get(gap.number, ())
            for rank, each in enumerate(self.suggestions(gap), 1):
                names = ("doc_id", "key", "in_bib", "title", "authors", "year", "venue", "doi")
                about = {name: getattr(each, name) for name in names}
                rows.append({
                    **own, "rank": rank, **about, "probability": each.probability,
                    "reason": each.reason, "chosen": each.doc_id in chosen,
                })  # fmt: skip
            if not self.suggestions(gap):
                rows.append({name: own.get(name) for name in _SCHEMA})
        return rows

    @property
    def table(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, schema=_SCHEMA)

    def main_table(self) -> pl.DataFrame:
        """Return the table to show first."""
        return self.table.select("gap", "line", "sentence", "rank", "key", "title", "probability")

    # --- Choosing

    def choose(self, number: int, *doc_ids: str) -> None:
        """Choose documents for a gap; without documents, skip it."""
        if not any(gap.number == number for gap in self.gaps):
            raise CitebedError(f"there is no gap {number}; the draft has {len(self.gaps)}.")
        known = self.recommender.index.ids
        if unknown := [name for name in doc_ids if known.find(name) < 0]:
            raise CitebedError(f"there is no document {unknown[0]!r} in this collection.")
        self.chosen[number] = tuple(dict.fromkeys(doc_ids))

    def accept_first(self, min_probability: float = 0.0) -> int:
        """Choose the first suggestion of each open gap that has at least this probability, and
        return the number of gaps."""
        before = len(self.chosen)
        for gap in self.gaps:
            best = self.suggestions(gap)[:1]
            if gap.number in self.chosen or gap.span is None or not best:
                continue
            if best[0].probability is None or best[0].probability >= min_probability:
                self.choose(gap.number, best[0].doc_id)
        return len(self.chosen) - before

    def keys(self) -> dict[str, tuple[str, bool]]:
        """Return the key of each chosen document, and whether a .bib file has it already."""
        wanted = [name for names in self.chosen.values() for name in names]
        return self.recommender.citation_keys(wanted, self._libraries(), self.gaps.draft)

    def _libraries(self) -> list[str]:
        given = [bib_text(path) for path in self.options.bib if path.exists()]
        return [*given, *self.gaps.draft.library]

    # --- Writing

    def filled(self) -> dict[Path, bytes]:
        """Return the contents of the files that change."""
        keys = self.keys()
        chosen: dict[Path, dict[Span, list[str]]] = {}
        for gap in self.gaps:
            names = self.chosen.get(gap.number, ())
            if names and gap.span is not None and gap.path is not None:
                chosen.setdefault(gap.path, {})[gap.span] = list(names)
        documents = self._documents()
        files = {}
        for path, spans in chosen.items():
            if self.gaps.form in _OFFICE:
                from citebed.writing.office_citations import fill_office

                cited = {span: [documents[name] for name in names] for span, names in spans.items()}
                data = fill_office(self.gaps.files[path], str(path), cited)
            else:
                named = {span: [keys[name][0] for name in names] for span, names in spans.items()}
                data = fill_spans(self.gaps.files[path], named, self.gaps.form)
            files[path] = data
        return files

    def diff(self) -> str:
        """Return the changes as a patch; for Word and OpenDocument, one line for each gap."""
        lines: list[str] = []
        if self.gaps.form in _OFFICE:
            keys = self.keys()
            for gap in self.gaps:
                if names := self.chosen.get(gap.number):
                    cited = ", ".join(keys[name][0] for name in names)
                    lines.append(f"{gap.file}: paragraph {gap.line}: {gap.written} -> {cited}\n")
            return "".join(lines)
        for path, data in self.filled().items():
            before, after = (
                each.decode("utf-8", "surrogateescape").splitlines(keepends=True)
                for each in (self.gaps.files[path], data)
            )
            lines += difflib.unified_diff(before, after, str(path), str(path), n=1)
        ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
        return "".join(ended).encode("utf-8", "replace").decode()

    def write(self, out: str | Path) -> tuple[Path, ...]:
        """Write the filled draft to a new file, or its changed files into a folder, with a .bib
        file for new entries; return the paths. The original stays as it is."""
        out, files = Path(out), self.filled()
        main = self.gaps.path
        names = dict.fromkeys(files, out)
        if out.is_dir() or set(files) - {main}:
            if out.exists() and not out.is_dir():
                raise CitebedError(
                    f"{printable(out)} is a file, but several files change. Name a folder."
                )
            names = {path: out / _relative(path, main.parent) for path in files}
        for target in names.values():
            if target.exists():
                raise CitebedError(
                    f"{printable(target)} exists already. Name a new file, or remove it."
                )
        bib, start = self._new_bib(out if out.is_dir() or set(files) - {main} else out.parent, out)
        written = self._write_entries(bib, start)
        for path, data in files.items():
            names[path].parent.mkdir(parents=True, exist_ok=True)
            write_file(names[path], data)
        return (*names.values(), *written)

    def _new_bib(self, folder: Path, out: Path) -> tuple[Path, bytes]:
        """Return the path of the new .bib file, and the entries that it starts with."""
        own = self._own_bib()
        if own is None:
            return (out / "references.bib" if folder == out else out.with_suffix(".bib")), b""
        target = folder / own.name
        if target.exists():  # beside the original
            return out.with_name(f"{out.stem}-new.bib"), b""
        return target, own.read_bytes()

    def write_in_place(self) -> tuple[Path, ...]:
        """Change the draft and its .bib file themselves, and return the paths of their backups."""
        files, bib = self.filled(), self._own_bib() or self.gaps.path.with_suffix(".bib")
        backups = []
        for path in (*files, *([bib] if bib.exists() and self._new_documents() else ())):
            backup = find_free_path(path.with_name(path.name + _BACKUP))
            write_file(backup, read_draft_bytes(path))
            backups.append(backup)
        self._write_entries(bib, None)
        for path, data in files.items():
            before = self.gaps.files[path]

            def change(now: bytes, before: bytes = before, data: bytes = data) -> bytes:
                if now != before:
                    raise CitebedError(
                        f"{printable(self.gaps.path)} has changed meanwhile. Run again."
                    )
                return data

            update_file(path, change)
        return tuple(backups)

    def _own_bib(self) -> Path | None:
        """Return the .bib file of the author that gets new entries, if there is one."""
        named = [self.gaps.path.parent / name for name in self.gaps.draft.bibliography_files]
        return next((path for path in (*self.options.bib, *named) if path.is_file()), None)

    def _new_documents(self) -> list[tuple[str, Document]]:
        documents = self._documents()
        keys = self.keys().items()
        return [(key, documents[name]) for name, (key, is_owned) in keys if not is_owned]

    def _documents(self) -> dict[str, Document]:
        names = [name for some in self.chosen.values() for name in some]
        table = self.recommender.collection.scan_documents()
        rows = table.filter(pl.col("doc_id").is_in(names)).collect().to_dicts()
        return {row["doc_id"]: row_to_document(row) for row in rows}

    def _write_entries(self, bib: Path, start: bytes | None) -> tuple[Path, ...]:
        """Append new entries to a .bib file, which ``start`` creates, if there are any."""
        new = self._new_documents()
        if self.gaps.form in _OFFICE or not (new or start):
            return ()
        bib.parent.mkdir(parents=True, exist_ok=True)
        if start is not None:
            write_file(bib, start)
        append_new(bib, new)
        return (bib,)

    # --- Choices that survive

    def save(self) -> None:
        """Store the choices, so that a later session continues with them."""
        names = self._names()
        stored = {names[number]: list(ids) for number, ids in self.chosen.items()}
        path = _state_file(self.gaps.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(
            path, json.dumps({"draft": str(self.gaps.path), "choices": stored}), private=True
        )

    def resume(self) -> int:
        """Take over stored choices for gaps that still exist, and return their number."""
        path = _state_file(self.gaps.path)
        if not path.is_file():
            return 0
        try:
            stored = json.loads(path.read_text("utf-8"))["choices"]
            choices = {str(name): [str(each) for each in ids] for name, ids in stored.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = "the stored choices are damaged. Remove the file to begin again"
            raise CitebedError(f"{printable(path)}: {what}.") from error
        known, before = self.recommender.index.ids, len(self.chosen)
        for number, name in self._names().items():
            if name in choices:
                ids = tuple(each for each in choices[name] if known.find(each) >= 0)
                if ids or not choices[name]:
                    self.chosen[number] = ids
        return len(self.chosen) - before

    def forget(self) -> None:
        """Remove the stored choices."""
        _state_file(self.gaps.path).unlink(missing_ok=True)

    def _names(self) -> dict[int, str]:
        """Return a name for each gap that stays the same when other gaps are filled."""
        seen: dict[str, int] = {}
        names = {}
        for gap in self.gaps:
            text = f"{gap.kind}|{gap.text}|{gap.written}"
            seen[text] = seen.get(text, 0) + 1
            names[gap.number] = hashlib.sha256(f"{text}|{seen[text]}".encode()).hexdigest()[:32]
        return names


def fill_draft(
    draft: str | Path | Gaps, recommender: Recommender, options: FillOptions | None = None
) -> Filling:
    """Find the gaps of a draft, and suggest papers for each."""
    options = options or FillOptions()
    gaps = draft
    if not isinstance(gaps, Gaps):
        gaps = find_gaps(draft, claims=options.find_gaps, min_probability=options.gap_probability)  # type: ignore[arg-type]
    found = None
    if len(gaps):
        passages = tuple(gap.suggestion_context for gap in gaps)
        found = recommender.recommend_for(
            _without_passages(gaps.draft, passages), options.k + _SPARE, each="paragraph",
            keep_cited=True, before=options.before, min_probability=0.0,
            exclude=recommender.own_documents(gaps.draft),
            bib=[path for path in options.bib if path.exists()],
        )  # fmt: skip
    return Filling(gaps, found, recommender, options)


_SPARE = 3
"""Suggestions in addition, because a citation may have some of them already."""


def _without_passages(draft: Draft, passages: Sequence[Any]) -> Draft:
    return replace(draft, passages=tuple(passages), notes=())


def _relative(path: Path, folder: Path) -> Path:
    """Return the path of a file in the draft's folder; raise ``CitebedError`` for another."""
    try:
        return path.resolve().relative_to(folder.resolve())
    except ValueError:
        what = "this file is outside of the draft's folder. Fill it in on its own"
        raise CitebedError(f"{printable(path)}: {what}, or use --in-place.") from None


def _state_file(path: Path) -> Path:
    name = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return state_folder() / "fill" / f"{name}.json"
