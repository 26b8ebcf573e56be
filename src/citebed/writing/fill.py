"""Fill the gaps of a draft: suggest papers for each, store choices, and write the result.

Only citation commands change: keys go into the places of the placeholders, and every other byte of
the draft stays. New entries are appended to a .bib file.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed.collection.tables import row_to_document
from citebed.drafts.bibliography import append_new, bib_text
from citebed.drafts.files import read_draft_bytes
from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.output_files import find_free_path, update_file, write_file
from citebed.frames import TableResult
from citebed.options import option
from citebed.records import Document
from citebed.text.normalise import unique
from citebed.wording import printable
from citebed.writing.gaps import OFFICE, Gap, Gaps, fill_spans, find_gaps

if TYPE_CHECKING:
    from citebed.retrieval.recommend.recommendations import Recommendation, Recommendations
    from citebed.retrieval.recommend.recommender import Recommender


@dataclass(frozen=True, kw_only=True)
class FillOptions:
    """What to look for, and what to suggest."""

    k: int = option(5, "Number of suggestions for each gap.", "-k", min=1)
    find_gaps: bool = option(
        False, "Also find sentences that make a claim and cite nothing, not only placeholders."
    )
    gap_probability: float | None = option(
        None,
        "With --find-gaps: show only sentences with at least this probability to lack a citation "
        "(default: 0.3).",
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


_OF_GAP: dict[str, Any] = {
    "gap": pl.Int64, "kind": pl.String, "file": pl.String, "line": pl.Int64, "column": pl.Int64,
    "section": pl.String, "placeholder": pl.String, "sentence": pl.String, "missing": pl.Float64,
}  # fmt: skip
_OF_PAPER: dict[str, Any] = {
    "doc_id": pl.String, "key": pl.String, "in_bib": pl.Boolean, "title": pl.String,
    "authors": pl.List(pl.String), "year": pl.Int64, "venue": pl.String, "doi": pl.String,
    "probability": pl.Float64, "reason": pl.String,
}  # fmt: skip
_SCHEMA = {**_OF_GAP, "rank": pl.Int64, **_OF_PAPER, "chosen": pl.Boolean}
_SPARE = 3
"""Suggestions in addition, because a citation may have some of them already."""


def fill_draft(
    draft: str | Path, recommender: Recommender, options: FillOptions | None = None
) -> Filling:
    """Find the gaps of a draft, and suggest papers for each."""
    options = options or FillOptions()
    gaps = find_gaps(draft, claims=options.find_gaps, min_probability=options.gap_probability)
    found = None
    if len(gaps):
        passages = tuple(gap.suggestion_context for gap in gaps)
        found = recommender.recommend_for(
            replace(gaps.draft, passages=passages, notes=()), options.k + _SPARE,
            each="paragraph", keep_cited=True, before=options.before, min_probability=0.0,
            exclude=recommender.own_documents(gaps.draft),
            bib=options.bib,
        )  # fmt: skip
    return Filling(gaps, found, recommender, options)


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
        """Return the suggestions for a gap, best first, without the papers that it cites."""
        least, cites = self.options.min_probability or 0.0, gap.span.cites if gap.span else ()
        fit = [
            each for each in self.found or ()
            if each.passage == gap.number and each.key not in cites
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
                **dict.fromkeys(_SCHEMA), "gap": gap.number, "kind": gap.kind, "file": gap.file,
                "line": gap.line, "column": gap.column, "section": gap.passage.section,
                "placeholder": gap.written, "sentence": gap.text, "missing": gap.probability,
            }  # fmt: skip
            chosen, found = self.chosen.get(gap.number, ()), self.suggestions(gap)
            for rank, each in enumerate(found, 1):
                about = {name: getattr(each, name) for name in _OF_PAPER}
                rows.append({**own, "rank": rank, **about, "chosen": each.doc_id in chosen})
            rows += [] if found else [own]
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
        if not 1 <= number <= len(self.gaps):
            raise CitebedError(f"unknown gap {number}; the draft has {len(self.gaps)}.")
        known = self.recommender.index.ids
        if unknown := [name for name in doc_ids if known.find(name) < 0]:
            raise CitebedError(f"the collection has no document {unknown[0]!r}.")
        self.chosen[number] = unique(doc_ids)

    def accept_first(self, min_probability: float = 0.0) -> int:
        """Choose the first suggestion of each open gap that has at least this probability, and
        return the number of gaps."""
        before = len(self.chosen)
        for gap in self.gaps:
            if gap.number in self.chosen or gap.span is None:
                continue
            for best in self.suggestions(gap)[:1]:
                if best.probability is None or best.probability >= min_probability:
                    self.choose(gap.number, best.doc_id)
        return len(self.chosen) - before

    def keys(self) -> dict[str, tuple[str, bool]]:
        """Return the key of each chosen document, and whether a .bib file has it already."""
        texts = [*map(bib_text, self.options.bib), *self.gaps.draft.library]
        return self.recommender.citation_keys(self._chosen_ids(), texts, self.gaps.draft)

    def _chosen_ids(self) -> list[str]:
        return [name for names in self.chosen.values() for name in names]

    def _documents(self) -> dict[str, Document]:
        table = self.recommender.collection.scan_documents()
        rows = table.filter(pl.col("doc_id").is_in(self._chosen_ids())).collect().to_dicts()
        return {row["doc_id"]: row_to_document(row) for row in rows}

    # --- Writing

    def filled(self) -> dict[Path, bytes]:
        """Return the contents of the files that change."""
        keys, documents = self.keys(), self._documents()
        files = {}
        for path, data in self.gaps.files.items():
            names = {
                gap.span: self.chosen[gap.number]
                for gap in self.gaps
                if gap.path == path and gap.span is not None and self.chosen.get(gap.number)
            }
            if names and self.gaps.form in OFFICE:
                from citebed.writing.office_citations import replace_office_spans

                cited = {span: [documents[name] for name in some] for span, some in names.items()}
                files[path] = replace_office_spans(data, str(path), cited)
            elif names:
                written = {span: [keys[name][0] for name in some] for span, some in names.items()}
                files[path] = fill_spans(data, written, self.gaps.form)
        return files

    def diff(self) -> str:
        """Return the changes as a patch; for Word and OpenDocument, one line for each gap."""
        if self.gaps.form in OFFICE:
            keys = self.keys()
            return "".join(
                f"{gap.file}: paragraph {gap.line}: {gap.written} -> "
                f"{', '.join(keys[name][0] for name in names)}\n"
                for gap in self.gaps if (names := self.chosen.get(gap.number))
            )  # fmt: skip
        lines: list[str] = []
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
        out, files, main = Path(out), self.filled(), self.gaps.path
        in_folder = out.is_dir() or bool(set(files) - {main})
        if in_folder and not out.is_dir() and (out.exists() or out.suffix == main.suffix):
            what = "several files of the draft change. Name a folder instead of this file"
            raise CitebedError(f"{printable(out)}: {what}.")
        targets = {path: out / _relative(path, main.parent) if in_folder else out for path in files}
        if taken := [target for target in targets.values() if target.exists()]:
            what = "exists already. Name a new file, or remove it"
            raise CitebedError(f"{printable(taken[0])} {what}.")
        own, new, start = self._own_bib(), self._new_entries(), b""
        bib = out / "references.bib" if in_folder else out.with_suffix(".bib")
        if own is not None:
            is_near = in_folder and own.resolve().is_relative_to(main.parent.resolve())
            name = _relative(own, main.parent) if is_near else Path(own.name)
            bib = (out if in_folder else out.parent) / name
            if bib.exists():  # the original's own
                bib = out.with_name(f"{out.stem}-new.bib")
            elif self.gaps.form not in OFFICE:
                start = own.read_bytes()
        bib = find_free_path(bib)
        for target in (*targets.values(), bib):
            target.parent.mkdir(parents=True, exist_ok=True)
        if new or start:
            write_file(bib, start)
            append_new(bib, new)
        for path, target in targets.items():
            write_file(target, files[path])
        return (*targets.values(), *([bib] if new or start else ()))

    def write_in_place(self) -> tuple[Path, ...]:
        """Change the draft and its .bib file themselves, and return the paths of their backups."""
        files, new = self.filled(), self._new_entries()
        bib = self._own_bib() or self.gaps.path.with_suffix(".bib")
        backups = []
        for path in (*files, *([bib] if new and bib.exists() else ())):
            backups.append(find_free_path(path.with_name(f"{path.name}.bak")))
            write_file(backups[-1], read_draft_bytes(path))
        if new:
            append_new(bib, new)
        for path, data in files.items():

            def change(now: bytes, path: Path = path, data: bytes = data) -> bytes:
                if now != self.gaps.files[path]:
                    raise CitebedError(f"{printable(path)} has changed meanwhile. Run again.")
                return data

            update_file(path, change)
        return tuple(backups)

    def _own_bib(self) -> Path | None:
        """Return the .bib file of the author that gets new entries, if there is one."""
        named = [self.gaps.path.parent / name for name in self.gaps.draft.bibliography_files]
        return next((path for path in (*self.options.bib, *named) if path.is_file()), None)

    def _new_entries(self) -> list[tuple[str, Document]]:
        """Return the chosen documents that no .bib file has, with their keys."""
        if self.gaps.form in OFFICE:
            return []
        documents, keys = self._documents(), self.keys().items()
        return [(key, documents[name]) for name, (key, is_owned) in keys if not is_owned]

    # --- Choices that survive

    def save(self) -> None:
        """Store the choices, so that a later session continues with them."""
        names = self._names()
        stored = {names[number]: list(ids) for number, ids in self.chosen.items()}
        self._state_file.parent.mkdir(parents=True, exist_ok=True)
        write_file(self._state_file, json.dumps(stored), private=True)

    def resume(self) -> int:
        """Take over stored choices for gaps that still exist, and return their number."""
        if not self._state_file.is_file():
            return 0
        try:
            stored: dict[str, list[str]] = json.loads(self._state_file.read_text("utf-8"))
        except ValueError as error:
            what = "the stored choices are damaged. Remove the file to begin again"
            raise CitebedError(f"{printable(self._state_file)}: {what}.") from error
        known, before = self.recommender.index.ids, len(self.chosen)
        for number, name in self._names().items():
            ids = tuple(each for each in stored.get(name, ()) if known.find(each) >= 0)
            if ids or stored.get(name) == []:
                self.chosen[number] = ids
        return len(self.chosen) - before

    def forget(self) -> None:
        """Remove the stored choices."""
        self._state_file.unlink(missing_ok=True)

    @property
    def _state_file(self) -> Path:
        return state_folder() / "fill" / f"{_digest(str(self.gaps.path.resolve()))}.json"

    def _names(self) -> dict[int, str]:
        """Return a name for each gap that stays the same when other gaps are filled."""
        seen, names = Counter[str](), {}
        for gap in self.gaps:
            text = f"{gap.kind}|{gap.text}|{gap.written}"
            seen[text] += 1
            names[gap.number] = _digest(f"{text}|{seen[text]}")
        return names


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _relative(path: Path, folder: Path) -> Path:
    """Return the path of a file in the draft's folder; raise ``CitebedError`` for another."""
    try:
        return path.resolve().relative_to(folder.resolve())
    except ValueError:
        what = "this file is outside of the draft's folder. Fill it in on its own"
        raise CitebedError(f"{printable(path)}: {what}, or use --in-place.") from None
