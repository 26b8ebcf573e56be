"""Check a draft: are its references real, right and used?

`check_draft` checks a draft or a .bib file, `check_references` single references. Both take an open
collection; the first call builds a lookup, which lives as long as the collection is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.collection.formats.bibtex import is_bibtex_name, is_document
from citebed.collection.formats.bibtex_scanner import RawEntry
from citebed.drafts.bibliography import (
    UNKNOWN_KEYS,
    UNRESOLVED,
    bib_text,
    document_from_entry,
    read_entries,
    with_libraries,
)
from citebed.drafts.files import decode_text, read_draft_bytes
from citebed.drafts.parsed_draft import is_key, is_placeholder
from citebed.drafts.reader import DraftLike, may_be_path, resolve_draft
from citebed.drafts.records import Draft, Place
from citebed.drafts.tex import NO_KEY
from citebed.errors import CitebedError
from citebed.frames import TableResult
from citebed.options import option
from citebed.records import Document, Problem
from citebed.text.normalise import unique
from citebed.wording import count, printable
from citebed.writing.bib_fixes import Fix, fix_for
from citebed.writing.gaps import find_gaps
from citebed.writing.reference_check import NOT_FOUND, ReferenceChecker, ReferenceOptions, Verdict
from citebed.writing.reference_comparison import (
    StatedReference,
    compare_authors,
    stated_from_document,
    stated_from_text,
    title_words,
)

KINDS = {
    "not-found": ("error", "No work has this title and these authors."),
    "wrong-title": ("warning", "Words of the title differ from the record."),
    "wrong-authors": ("warning", "The authors differ from the record."),
    "wrong-year": ("warning", "The year differs from the record."),
    "wrong-doi": ("warning", "The DOI differs from the record."),
    "wrong-arxiv": ("warning", "The arXiv id differs from the record."),
    "wrong-pages": ("warning", "The pages differ from the record."),
    "retracted": ("error", "The work was retracted."),
    "missing-bibliography": ("error", "A bibliography of the draft cannot be read."),
    "unknown-key": ("error", "The draft cites a key that no entry has."),
    "duplicate-key": ("error", "Two entries have the same key."),
    "missing-citation": ("warning", "A placeholder such as \\cite{} or [?] asks for a citation."),
    "broken-entry": ("warning", "An entry cannot be read completely."),
    "same-work": ("warning", "Two entries are the same work."),
    "published": ("note", "A preprint has been published since."),
    "unused-entry": ("note", "The draft never cites this entry."),
    "weak-citation": ("note", "The citing sentence hardly fits the cited work."),
}
"""The kinds of findings: severity and meaning."""

_FINDINGS: dict[str, Any] = {
    "kind": pl.String, "severity": pl.String, "key": pl.String, "file": pl.String,
    "line": pl.Int64, "column": pl.Int64, "printed": pl.String, "record": pl.String,
    "nearest": pl.String, "message": pl.String, "fix": pl.String, "fix_line": pl.Int64,
    "fix_column": pl.Int64, "fix_end_line": pl.Int64, "fix_end_column": pl.Int64,
    "fix_before": pl.String,
}  # fmt: skip
_REFERENCES: dict[str, Any] = {
    "key": pl.String, "file": pl.String, "line": pl.Int64, "verdict": pl.String,
    "title": pl.String, "doc_id": pl.String, "nearest": pl.String, "nearest_id": pl.String,
    "message": pl.String,
}  # fmt: skip
_ITEM_ID = re.compile(r"[2-9A-NP-Z]{8}|[0-9a-fA-F-]{36}")
"""The id of an item in a library of Zotero or Mendeley, which means nothing to its user."""
_TITLE_LETTERS = 60
_FIX = ("fix_line", "fix_column", "fix_end_line", "fix_end_column", "fix", "fix_before")
"""The columns of a `Fix`."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(ReferenceOptions):
    """What to check.

    ``this_year`` is the current year by default: later years are wrong.
    """

    complete: bool = option(
        False,
        "The collection holds everything that may be cited: report every other work as not found.",
    )
    hints: bool = option(
        False, "Also report sentences that hardly fit the work they cite (needs an index)."
    )
    bib: tuple[Path, ...] = option(
        (), "Your .bib file, for a draft that does not name it, such as a chapter (repeatable)."
    )
    this_year: int | None = field(default_factory=lambda: datetime.now(UTC).year)


@dataclass(frozen=True, repr=False)
class CheckReport(TableResult):
    """The findings in a draft, by file and line, and the verdict on each reference.

    A row of ``findings`` has its kind and severity, the key of the reference, its position, what is
    printed and what the record says, the nearest record, a message, and perhaps a fix: the text to
    put from ``fix_line`` and ``fix_column`` up to ``fix_end_line`` and ``fix_end_column``.
    """

    findings: pl.DataFrame
    references: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def fixes(self) -> dict[str, list[Fix]]:
        """The corrections of details, by .bib file."""
        fixes: dict[str, list[Fix]] = {}
        for file, *values in self.findings.drop_nulls("fix").select("file", *_FIX).iter_rows():
            fixes.setdefault(file, []).append(Fix(*values))
        return fixes

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The findings as rows for programs."""
        return self.findings.to_dicts()

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of references with each verdict, and of findings of each kind."""
        verdicts = self.references["verdict"].value_counts().iter_rows()
        return dict([*verdicts, *self.findings["kind"].value_counts().iter_rows()])

    def fails(self, on: str) -> bool:
        """Return True if a finding has this severity or a higher one."""
        levels = ("never", "error", "warning", "note")
        return self.findings["severity"].is_in(levels[: levels.index(on) + 1]).any()

    def without_fixes(self) -> CheckReport:
        """Return the report without the findings that a fix corrects."""
        return replace(self, findings=self.findings.filter(pl.col("fix").is_null()))

    def main_table(self) -> pl.DataFrame:
        """The findings."""
        return self.findings


class _Reference(NamedTuple):
    """A reference of a draft: its key, position, and .bib entry if it has one."""

    key: str
    stated: StatedReference = StatedReference("")
    file: str = ""
    line: int = 1
    column: int = 1
    raw: RawEntry | None = None

    @property
    def label(self) -> str:
        """The key, or the title for an id that means nothing to the user."""
        title = self.stated.title[:_TITLE_LETTERS]
        return title if title and _ITEM_ID.fullmatch(self.key) else self.key


_Finding = dict[str, Any]


def _finding(
    kind: str, at: _Reference, message: str, fix: Fix | None = None, **about: str
) -> _Finding:
    """Return a row of the findings; ``about`` are ``printed``, ``record`` and ``nearest``."""
    return {
        "kind": kind, "severity": KINDS[kind][0], "key": at.label, "file": at.file,
        "line": at.line, "column": at.column, "message": message,
        "printed": "", "record": "", "nearest": "", **about,
        **dict(zip(_FIX, fix or [None] * len(_FIX), strict=True)),
        **({"line": fix.line, "column": fix.column} if fix else {}),
    }  # fmt: skip


# --- Check ------------------------------------------------------------------------------------


def check_draft(
    draft: DraftLike, collection: Collection | None, options: CheckOptions | None = None
) -> CheckReport:
    """Check a draft: a path, a text or a `Draft`; the path of a .bib file checks all its entries.

    Without a collection, only keys and entries are checked.
    """
    options = options or CheckOptions()
    read, findings = _read(draft, options.bib)
    listed, broken = _read_library(read.library, read.library_files)
    findings += broken
    cited = {entry.key for entry in read.cited.entries} | set(read.cited.keys)
    in_files = {each.key for each in listed}
    places = _citing_places(read)
    notes, printed = list[str](), []
    for number, entry in enumerate(read.cited.entries, 1):
        if entry.key not in in_files:
            named = (places[name] for name in (entry.key, entry.doi) if name in places)
            place, key = entry.place or next(named, Place()), entry.key or str(number)
            stated = stated_from_text(entry.text, entry.title)
            printed.append(_reference_at(read, key, place)._replace(stated=stated))
    if read.passages or read.cited.entries or not read.library:
        findings += _check_keys(read, listed, in_files | {each.key for each in printed}, places)
        listed = [each for each in listed if each.key in cited]
    references = [*listed, *printed]
    unread = [key for key in read.cited.keys if is_key(key) and not key.isdigit()]
    if unread and not (in_files or read.cited.entries or read.bibliography_files):
        notes.append(
            f"the draft names no bibliography, so {count(len(unread), 'cited key')} could not be "
            "checked. Check the main file, or add --bib FILE"
        )
    elif not references and not read.library:
        notes.append("the draft has no references")
    for note in read.notes:
        if UNRESOLVED in note:
            findings.append(_finding("missing-bibliography", _Reference("", file=read.file), note))
        elif not (note.startswith(UNKNOWN_KEYS) or NO_KEY in note):  # which are findings, too
            notes.append(note)
    verdicts: list[Verdict] = []
    if collection is None:
        notes.append("no collection: citebed checked keys only, not whether the works exist")
    else:
        verdicts = _judge(references, collection, options)
    if collection is not None and options.hints:
        pairs = zip(references, verdicts, strict=True)
        meant = {each.key: verdict.doc_id for each, verdict in pairs if verdict.doc_id}
        findings += _weak_citations(read, meant, collection)
    findings += _check_twins(references, verdicts)
    return _make_report(findings, references, verdicts, notes)


def check_references(
    references: Iterable[str | Mapping[str, Any] | Document],
    collection: Collection,
    options: CheckOptions | None = None,
) -> CheckReport:
    """Check references given as printed text, as BibTeX, or as fields (``title``, ``authors``,
    ``year``, ``doi`` …). Their number is the line of the report."""
    read = [one for number, each in enumerate(references, 1) for one in _parse(each, number)]
    verdicts = _judge(read, collection, options or CheckOptions())
    return _make_report([], read, verdicts)


def merge_reports(reports: Sequence[CheckReport]) -> CheckReport:
    """Return one report on several drafts; an entry is used if one of them cites it."""
    findings = pl.concat(each.findings for each in reports).unique(maintain_order=True)
    references = pl.concat(each.references for each in reports).unique(maintain_order=True)
    notes = unique(note for each in reports for note in each.notes)
    used = references.select("file", "key", kind=pl.lit("unused-entry"))
    findings = findings.join(used, on=["file", "key", "kind"], how="anti", maintain_order="left")
    return CheckReport(findings, references, notes)


def _judge(
    references: Sequence[_Reference], collection: Collection, options: CheckOptions
) -> list[Verdict]:
    cached = vars(collection)  # dropped with the collection's tables if it changes
    if "_reference_checker" not in cached:
        documents = collection.scan_documents().select(ReferenceChecker.COLUMNS).collect()
        cached["_reference_checker"] = ReferenceChecker(documents)
    checker: ReferenceChecker = cached["_reference_checker"]
    return checker.check([each.stated for each in references], options)


def _make_report(
    findings: list[_Finding],
    references: Sequence[_Reference],
    verdicts: Sequence[Verdict],
    notes: Sequence[str] = (),
) -> CheckReport:
    """Return a report with the findings of the verdicts and others."""
    findings, rows = [*findings], []
    for each, verdict in zip(references, verdicts, strict=bool(verdicts)):
        stated, nearest = each.stated, verdict.nearest
        rows.append({
            "key": each.label, "file": each.file, "line": each.line, "verdict": verdict.name,
            "title": stated.title, "doc_id": verdict.doc_id, "nearest": nearest,
            "nearest_id": verdict.document.doc_id if verdict.document else None,
            "message": verdict.reason,
        })  # fmt: skip
        if verdict.name == NOT_FOUND:
            about = {"printed": stated.title or stated.text, "record": nearest, "nearest": nearest}
            message = f"not found: {verdict.reason}"
            findings.append(_finding("not-found", each, message, None, **about))
        for detail in verdict.details:
            fix = fix_for(each.raw, each.column, detail, verdict.document) if each.raw else None
            about = {"printed": detail.printed, "record": detail.record, "nearest": nearest}
            message = f"{detail.field}: {detail.what}"
            findings.append(_finding(f"wrong-{detail.field}", each, message, fix, **about))
        for kind, text, record in (
            ("retracted", "this work was retracted", verdict.retracted),
            ("published", "published since", verdict.published),
        ):
            if record:
                findings.append(_finding(kind, each, f"{text}: {record}", record=record))
    found = pl.DataFrame(findings, schema=_FINDINGS).sort("file", "line", "column")
    return CheckReport(found, pl.DataFrame(rows, schema=_REFERENCES), unique(notes))


# --- Read references --------------------------------------------------------------------------


def _read(draft: DraftLike, bib: Sequence[Path]) -> tuple[Draft, list[_Finding]]:
    """Read a draft with more .bib files, or a .bib file alone, and return findings on placeholders
    for citations."""
    is_path = isinstance(draft, Path) or (isinstance(draft, str) and may_be_path(draft))
    if is_path and is_bibtex_name(name := str(draft)):
        text, _ = decode_text(read_draft_bytes(Path(name)), name)
        return Draft((), library=(text,), library_files=(name,)), []
    read = resolve_draft(draft)[0]
    try:  # the place of each placeholder
        found = find_gaps(read.file) if read.file and not isinstance(draft, Draft) else None
    except CitebedError:  # a PDF, or UTF-16
        found = None
    if found is not None:
        gaps = [(gap.file, gap.line, gap.column, gap.written) for gap in found]
    else:  # the places of their sentences
        wanted = (each.places[at] for each in read.passages for at in each.wanted)
        gaps = [(read.file_of(place), place.line, place.column, "") for place in wanted]
    findings = []
    for file, line, column, written in gaps:
        at = _Reference("", file=file, line=line, column=column)
        message = f"a citation is missing{f': {written}' if written else ''}"
        findings.append(_finding("missing-citation", at, message, printed=written))
    if bib:
        read = with_libraries(read, [bib_text(path) for path in bib])
        read = replace(read, library_files=(*read.library_files, *map(printable, bib)))
    return read, findings


@lru_cache(maxsize=4)
def _read_library(
    library: tuple[str, ...], files: tuple[str, ...]
) -> tuple[list[_Reference], list[_Finding]]:
    """Return the entries of .bib files, and findings on repeated keys and broken entries.

    An editor checks the same files again after each change of the draft.
    """
    macros: dict[str, str] = {}
    first: dict[str, _Reference] = {}
    findings: list[_Finding] = []
    for text, file in zip_longest(library, files, fillvalue=""):
        lines = text.split("\n")
        for raw in read_entries(text, macros):
            if isinstance(raw, Problem):
                at = _Reference("", file=file, line=raw.line)
                findings.append(_finding("broken-entry", at, raw.what))
                continue
            if raw.is_truncated or not raw.key:
                what = f"entry '{raw.key}' does not close" if raw.is_truncated else "no key"
                at = _Reference(raw.key, file=file, line=raw.line)
                findings.append(_finding("broken-entry", at, what))
            if is_document(raw):
                start = lines[raw.line - 1].find(raw.text.partition("\n")[0])
                reference = _from_entry(raw, file, raw.line, max(start, 0) + 1)
                for key in unique([raw.key, *raw.fields.get("ids", "").replace(",", " ").split()]):
                    own = reference._replace(key=key)
                    other = first.setdefault(key.casefold(), own)
                    if other is not own:
                        message = f"the key '{key}' is already at {other.file}:{other.line}"
                        findings.append(_finding("duplicate-key", own, message))
    return [*first.values()], findings


def _from_entry(raw: RawEntry, file: str, line: int, column: int = 1) -> _Reference:
    stated = stated_from_document(document_from_entry(raw), raw.fields.get("author", ""))
    return _Reference(raw.key, stated, file, line, column, raw)


_BIBTEX = {"authors": "author", "venue": "journal", "arxiv": "eprint"}
"""BibTeX's names of the fields of documents."""


def _parse(given: str | Mapping[str, Any] | Document, number: int) -> Iterator[_Reference]:
    """Yield the references in a text, in BibTeX, or in fields with the names of BibTeX or of
    documents."""
    entries: list[RawEntry] = []
    if isinstance(given, str):
        raws = read_entries(given) if "@" in given else ()
        entries = [raw for raw in raws if isinstance(raw, RawEntry)]
        if not entries:
            yield _Reference(str(number), stated_from_text(given), line=number)
    elif isinstance(given, Document):
        yield _Reference(given.doc_id, stated_from_document(given), line=number)
    elif isinstance(given, Mapping):
        fields: dict[str, str] = {}
        for name, value in given.items():
            parts = value if isinstance(value, list | tuple) else [value or ""]
            fields[_BIBTEX.get(name, name)] = " and ".join(map(str, parts))
        fields["author"] = fields.get("author", "").replace(";", " and ")
        kind, key = fields.get("type") or "misc", fields.get("key") or str(number)
        entries = [RawEntry(kind, key, fields, "", number)]
    else:
        raise CitebedError(f"expected a reference as text or fields; found {given!r:.60}")
    for raw in entries:
        yield _from_entry(raw, "", number)


# --- Keys and citing sentences ----------------------------------------------------------------


def _citing_places(draft: Draft) -> dict[str, Place]:
    """Return the place of the first sentence that cites each work."""
    places: dict[str, Place] = {}
    for passage in draft.passages:
        start = Place(passage.source, passage.line, passage.column)
        pairs = [*zip(passage.sentence_cites, passage.places, strict=False), (passage.cites, start)]
        for names, place in pairs:
            for name in names:
                places.setdefault(name, place)
    return places


def _check_keys(
    draft: Draft, listed: Sequence[_Reference], known: Set[str], places: Mapping[str, Place]
) -> Iterator[_Finding]:
    """Yield findings on cited keys without an entry, and on entries that are never cited."""
    if known and len(draft.library_files) >= len(draft.bibliography_files):
        for key in draft.cited.keys:
            if key not in known and is_key(key) and not key.isdigit():
                at = _reference_at(draft, key, places.get(key, Place()))
                yield _finding("unknown-key", at, f"'{key}' is cited, but no entry has this key")
    cited = {entry.key for entry in draft.cited.entries} | set(draft.cited.keys)
    for each in listed:
        is_own = each.raw is not None and each.key == each.raw.key
        if is_own and each.key not in cited and not is_placeholder(each.key):
            yield _finding("unused-entry", each, f"'{each.key}' is never cited")


def _reference_at(draft: Draft, key: str, place: Place) -> _Reference:
    return _Reference(key, file=draft.file_of(place), line=place.line, column=place.column)


_LONG_TITLE = 20
"""Letters of a title that two works by the same authors do not share."""


def _check_twins(
    references: Sequence[_Reference], verdicts: Sequence[Verdict]
) -> Iterator[_Finding]:
    """Yield findings on references to one work under two keys."""
    first: dict[object, _Reference] = {}
    for each, verdict in zip_longest(references, verdicts):
        stated, title = each.stated, "".join(title_words(each.stated.title))
        ids = (("id", verdict and verdict.doc_id), ("doi", stated.doi), ("arxiv", stated.arxiv))
        names: list[object] = [pair for pair in ids if pair[1]]
        other = next((first[name] for name in names if name in first), None)
        if other is None and len(title) > _LONG_TITLE and (named := first.get(title)):
            relation = compare_authors(stated.authors, named.stated.authors).relation
            other = None if relation in ("other", "unknown") else named
        if other is not None and other.raw is not each.raw:
            message = f"'{each.key}' is the same work as '{other.key}'"
            yield _finding("same-work", each, message, record=other.key)
        for name in (*names, title):
            first.setdefault(name, each)


def _weak_citations(
    draft: Draft, meant: Mapping[str, str], collection: Collection
) -> Iterator[_Finding]:
    """Yield findings on citing sentences that share no word with the cited work, nor does their
    paragraph. ``meant`` are the ids of the works by citation key."""
    from citebed.collection.filters import Filter
    from citebed.retrieval.recommend.recommender import Recommender
    from citebed.retrieval.recommend.skipped_passages import PassageSkipped

    recommender = Recommender(collection)

    def fits(text: str, doc_id: str) -> bool:
        only = Filter(doc_ids=frozenset((doc_id,)))
        try:
            found = recommender.recommend(text, 1, among=only, min_probability=0.0)
        except PassageSkipped:
            return True  # no words to judge by
        return any(each.reason for each in found)

    for passage in draft.passages:
        pairs = zip(passage.sentences, passage.sentence_cites, passage.places, strict=False)
        for sentence, names, place in pairs:
            for name in unique(name for name in names if name in meant):
                if not any(fits(text, meant[name]) for text in (sentence, passage.text)):
                    message = f"this sentence has little in common with '{name}'"
                    at = _reference_at(draft, name, place)
                    yield _finding("weak-citation", at, message, printed=sentence)
