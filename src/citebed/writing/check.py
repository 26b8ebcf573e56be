"""Check a draft: are its references real, right and used?

`check_draft` checks a draft or a .bib file, `check_references` single references. Both take an open
collection; the first call builds a lookup, which lives as long as the collection is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.collection.formats.bibtex import is_bibtex_name, is_document
from citebed.collection.formats.bibtex_scanner import RawEntry
from citebed.drafts.bibliography import UNKNOWN_KEYS, document_from_entry, read_entries
from citebed.drafts.files import decode_text, read_draft_bytes
from citebed.drafts.parsed_draft import is_key
from citebed.drafts.reader import DraftLike, resolve_draft
from citebed.drafts.records import Draft, Place
from citebed.errors import CitebedError
from citebed.frames import TableResult
from citebed.options import option
from citebed.records import Document
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import unique
from citebed.writing.bib_fixes import Fix, fix_for
from citebed.writing.reference_check import NOT_FOUND, ReferenceChecker, ReferenceOptions, Verdict
from citebed.writing.reference_comparison import (
    StatedReference,
    compare_authors,
    stated_from_document,
    stated_from_text,
    title_words,
)

Severity = Literal["error", "warning", "note"]
KINDS: dict[str, tuple[Severity, str]] = {
    "not-found": ("error", "No work has this title and these authors."),
    "wrong-title": ("warning", "Words of the title differ from the record."),
    "wrong-authors": ("warning", "The authors differ from the record."),
    "wrong-year": ("warning", "The year differs from the record."),
    "wrong-doi": ("warning", "The DOI differs from the record."),
    "wrong-arxiv": ("warning", "The arXiv id differs from the record."),
    "wrong-pages": ("warning", "The pages differ from the record."),
    "retracted": ("error", "The work was retracted."),
    "unknown-key": ("error", "The draft cites a key that no entry has."),
    "duplicate-key": ("error", "Two entries have the same key."),
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


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
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
    this_year: int | None = None

    def for_references(self) -> ReferenceOptions:
        """Return the options for single references."""
        year = self.this_year or datetime.now(UTC).year
        return ReferenceOptions(complete=self.complete, this_year=year)


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
        for row in self.findings.filter(pl.col("fix").is_not_null()).iter_rows(named=True):
            fix = Fix(
                row["fix_line"], row["fix_column"], row["fix_end_line"], row["fix_end_column"],
                row["fix"], row["fix_before"],
            )  # fmt: skip
            fixes.setdefault(row["file"], []).append(fix)
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
        order = ("error", "warning", "note")
        allowed = order[: order.index(on) + 1] if on in order else ()
        return self.findings["severity"].is_in(allowed).any()

    def without_fixes(self) -> CheckReport:
        """Return the report without the findings that a fix corrects."""
        return replace(self, findings=self.findings.filter(pl.col("fix").is_null()))

    def main_table(self) -> pl.DataFrame:
        """The findings."""
        return self.findings


# --- The parts of a draft -----------------------------------------------------------------------


class _Reference(NamedTuple):
    """A reference of a draft: its key, position, and .bib entry if it has one."""

    key: str
    stated: StatedReference
    file: str = ""
    line: int = 1
    column: int = 1
    raw: RawEntry | None = None


@dataclass
class _Findings:
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(  # noqa: PLR0913 - the columns of a finding
        self, kind: str, at: _Reference, message: str, *, nearest: str = "", printed: str = "",
        record: str = "", fix: Fix | None = None,
    ) -> None:  # fmt: skip
        places = ("line", "column", "end_line", "end_column")
        row = {
            "kind": kind, "severity": KINDS[kind][0], "key": at.key, "file": at.file,
            "line": fix.line if fix else at.line, "column": fix.column if fix else at.column,
            "printed": printed, "record": record, "nearest": nearest, "message": message,
            "fix": fix.text if fix else None, "fix_before": fix.before if fix else None,
        }  # fmt: skip
        self.rows.append(row | {f"fix_{p}": getattr(fix, p) if fix else None for p in places})


def check_draft(
    draft: DraftLike, collection: Collection | None, options: CheckOptions | None = None
) -> CheckReport:
    """Check a draft: a path, a text or a `Draft`; the path of a .bib file checks all its entries.

    Without a collection, only keys and entries are checked.
    """
    options = options or CheckOptions()
    read = _read(draft)
    found = _Findings()
    is_bibliography = not read.passages and not read.cited.entries and bool(read.library)
    listed = list(_library(read, found))
    cited = {entry.key for entry in read.cited.entries} | set(read.cited.keys)
    own = [each for each in listed if is_bibliography or each.key in cited]
    printed = list(_printed(read, {each.key for each in listed}))
    if not is_bibliography:
        _check_keys(read, listed, printed, found)
    references = [*own, *printed]
    notes = [note for note in read.notes if not note.startswith(UNKNOWN_KEYS)]  # a finding
    verdicts: list[Verdict] = []
    if collection is None:
        notes.append("no collection: citebed checked keys only, not whether the works exist")
    else:
        checker = checker_for(collection)
        verdicts = checker.check([each.stated for each in references], options.for_references())
        for reference, verdict in zip(references, verdicts, strict=True):
            _report(reference, verdict, found)
        if options.hints:
            pairs = zip(references, verdicts, strict=True)
            meant = {each.key: verdict.doc_id for each, verdict in pairs if verdict.doc_id}
            _add_hints(read, meant, collection, found)
    _check_twins(references, verdicts, found)
    return _make_report(found, references, verdicts, notes)


def check_references(
    references: Iterable[str | Mapping[str, Any] | Document],
    collection: Collection,
    options: CheckOptions | None = None,
) -> CheckReport:
    """Check references given as printed text, as BibTeX, or as fields (``title``, ``authors``,
    ``year``, ``doi`` …). Their number is the line of the report."""
    read: list[_Reference] = []
    for number, each in enumerate(references, 1):
        read += _single(each, number)
    found = _Findings()
    checker = checker_for(collection)
    options = options or CheckOptions()
    verdicts = checker.check([each.stated for each in read], options.for_references())
    for reference, verdict in zip(read, verdicts, strict=True):
        _report(reference, verdict, found)
    return _make_report(found, read, verdicts, [])


def merge_reports(reports: Sequence[CheckReport]) -> CheckReport:
    """Return one report on several drafts; an entry is used if one of them cites it."""
    findings = pl.concat([each.findings for each in reports]).unique(maintain_order=True)
    references = pl.concat([each.references for each in reports]).unique(maintain_order=True)
    cited = references.select("file", "key", cited=True)
    used = findings.join(cited, on=["file", "key"], how="left", maintain_order="left")["cited"]
    is_unused = (findings["kind"] == "unused-entry") & used.fill_null(value=False)
    notes = unique(note for each in reports for note in each.notes)
    return CheckReport(findings.filter(~is_unused), references, notes)


def checker_for(collection: Collection) -> ReferenceChecker:
    """Return the lookup of an open collection, which is built once."""
    # Beside the cached tables of the collection, which are dropped with them if it changes.
    cached = vars(collection)
    if "_reference_checker" not in cached:
        documents = collection.scan_documents().select(ReferenceChecker.COLUMNS).collect()
        cached["_reference_checker"] = ReferenceChecker(documents)
    checker: ReferenceChecker = cached["_reference_checker"]
    return checker


def _read(draft: DraftLike) -> Draft:
    is_path = isinstance(draft, Path) or (isinstance(draft, str) and "\n" not in draft)
    if is_path and is_bibtex_name(name := str(draft)):
        text, _ = decode_text(read_draft_bytes(Path(name)), name)
        return Draft((), library=(text,), library_files=(name,))
    return resolve_draft(draft)[0]


def _library(draft: Draft, found: _Findings) -> Iterator[_Reference]:
    """Yield the entries of the draft's .bib files; report repeated keys and broken entries."""
    macros: dict[str, str] = {}
    first: dict[str, _Reference] = {}
    for number, text in enumerate(draft.library):
        file = draft.library_files[number] if number < len(draft.library_files) else ""
        lines = text.split("\n")
        for raw in read_entries(text, macros):
            if not isinstance(raw, RawEntry):
                at = _Reference("", StatedReference(""), file, raw.line)
                found.add("broken-entry", at, raw.what)
                continue
            if not is_document(raw):
                continue
            stated = stated_from_document(document_from_entry(raw), raw.fields.get("author", ""))
            for key in unique([raw.key, *raw.fields.get("ids", "").replace(",", " ").split()]):
                column = lines[raw.line - 1].find(raw.text.partition("\n")[0]) + 1
                reference = _Reference(key, stated, file, raw.line, max(column, 1), raw)
                if key.casefold() in first:
                    other = first[key.casefold()]
                    message = f"the key '{key}' is already at {other.file}:{other.line}"
                    found.add("duplicate-key", reference, message)
                    continue
                first[key.casefold()] = reference
                yield reference


def _printed(draft: Draft, keys: set[str]) -> Iterator[_Reference]:
    """Yield the references of a printed list (of a .bbl file, a PDF, a Word document …)."""
    for entry in draft.cited.entries:
        if entry.key not in keys:
            stated = stated_from_text(entry.text)
            if entry.title:
                stated = replace(stated, title=entry.title, is_parsed=True)
            yield _Reference(entry.key, stated, draft.file)


def _single(given: str | Mapping[str, Any] | Document, number: int) -> Iterator[_Reference]:
    """Yield the references in a text or in fields."""
    if isinstance(given, Document):
        yield _Reference(given.doc_id, stated_from_document(given), "", number)
    elif isinstance(given, str):
        raws = [r for r in read_entries(given) if isinstance(r, RawEntry)] if "@" in given else []
        for raw in raws:
            stated = stated_from_document(document_from_entry(raw), raw.fields.get("author", ""))
            yield _Reference(raw.key, stated, "", number, 1, raw)
        if not raws:
            yield _Reference(str(number), stated_from_text(given), "", number)
    elif isinstance(given, Mapping):
        yield _Reference(str(given.get("key") or number), _stated_from_fields(given), "", number)
    else:
        raise CitebedError(f"expected a reference as text or fields; found {given!r:.60}")


def _stated_from_fields(fields: Mapping[str, Any]) -> StatedReference:
    """Return the reference in a mapping of fields with the names of BibTeX or of documents."""
    names = fields.get("authors") or fields.get("author") or ()
    listed = re.split(r"\s+and\s+|;\s*", names) if isinstance(names, str) else list(map(str, names))
    others = [name for name in listed if re.fullmatch(r"others|et\.? al\.?", name.strip())]
    authors = tuple(name_from_display(n) for n in listed if n.strip() and n not in others)
    text = {
        name: str(fields.get(name) or "") for name in ("title", "doi", "arxiv", "pages", "type")
    }
    venue = fields.get("venue") or fields.get("journal") or fields.get("booktitle") or ""
    year = re.search(r"\d{4}", str(fields.get("year") or ""))
    document = Document(
        "", text["type"], text["title"], authors, year=int(year[0]) if year else None,
        venue=str(venue) or None, pages=text["pages"] or None,
        doi=normalise_doi(text["doi"]), arxiv=arxiv_of(text["arxiv"]),
    )  # fmt: skip
    return replace(stated_from_document(document), and_others=bool(others))


# --- Findings ---------------------------------------------------------------------------------


def _report(reference: _Reference, verdict: Verdict, found: _Findings) -> None:
    """Add the findings of a verdict."""
    if verdict.name == NOT_FOUND:
        found.add(
            "not-found", reference, f"not found: {verdict.reason}", nearest=verdict.nearest,
            printed=reference.stated.title or reference.stated.text, record=verdict.nearest,
        )  # fmt: skip
    for detail in verdict.details:
        raw, record = reference.raw, verdict.record
        fix = fix_for(raw, reference.column, detail, record) if raw else None
        found.add(
            f"wrong-{detail.field}", reference, f"{detail.field}: {detail.what}",
            nearest=verdict.nearest, printed=detail.printed, record=detail.record, fix=fix,
        )  # fmt: skip
    if verdict.retracted:
        message = f"this work was retracted: {verdict.retracted}"
        found.add("retracted", reference, message, record=verdict.retracted)
    if verdict.published:
        message = f"published since: {verdict.published}"
        found.add("published", reference, message, record=verdict.published)


def _check_keys(
    draft: Draft, listed: Sequence[_Reference], printed: Sequence[_Reference], found: _Findings
) -> None:
    """Report cited keys without an entry, and entries that are never cited."""
    known = {each.key for each in (*listed, *printed)}
    is_complete = len(draft.library_files) >= len(draft.bibliography_files)
    if known and is_complete:
        places = _cited_places(draft)
        for key in draft.cited.keys:
            if key not in known and is_key(key) and not key.isdigit():
                place = places.get(key, Place())
                at = _Reference(key, StatedReference(""), draft.file_of(place), place.line,
                                place.column)  # fmt: skip
                found.add("unknown-key", at, f"'{key}' is cited, but no entry has this key")
    cited = {entry.key for entry in draft.cited.entries} | set(draft.cited.keys)
    for each in listed:
        if each.key not in cited and each.raw is not None and each.key == each.raw.key:
            found.add("unused-entry", each, f"'{each.key}' is never cited")


def _cited_places(draft: Draft) -> dict[str, Place]:
    """Return the position of the first sentence that cites each key."""
    places: dict[str, Place] = {}
    for passage in draft.passages:
        start = Place(passage.source, passage.line, passage.column)
        for at, names in enumerate(passage.sentence_cites):
            place = passage.places[at] if at < len(passage.places) else start
            for name in names:
                places.setdefault(name, place)
        for name in passage.cites:
            places.setdefault(name, start)
    return places


def _check_twins(
    references: Sequence[_Reference], verdicts: Sequence[Verdict], found: _Findings
) -> None:
    """Report references to one work under two keys."""
    first: dict[object, _Reference] = {}
    for at, each in enumerate(references):
        stated, title = each.stated, "".join(title_words(each.stated.title))
        doc_id = verdicts[at].doc_id if verdicts else None
        ids = (("id", doc_id), ("doi", stated.doi), ("arxiv", stated.arxiv))
        names: list[object] = [pair for pair in ids if pair[1]]
        other = next((first[name] for name in names if name in first), None)
        if other is None and len(title) > _LONG_TITLE and (named := first.get(title)):
            relation = compare_authors(stated.authors, named.stated.authors).relation
            other = None if relation in ("other", "unknown") else named
        if other is not None and other.raw is not each.raw:
            message = f"'{each.key}' is the same work as '{other.key}'"
            found.add("same-work", each, message, record=other.key)
        for name in (*names, title):
            first.setdefault(name, each)


_LONG_TITLE = 20
"""Letters of a title that two works by the same authors do not share."""


def _add_hints(
    draft: Draft, meant: Mapping[str, str], collection: Collection, found: _Findings
) -> None:
    """Report citing sentences that share nothing with the cited work, nor does their paragraph.

    ``meant`` are the ids of the works by citation key.
    """
    from citebed.collection.filters import Filter
    from citebed.retrieval.recommend.recommender import Recommender
    from citebed.retrieval.recommend.skipped_passages import PassageSkipped

    recommender = Recommender(collection)

    def fitting(text: str, ids: frozenset[str]) -> set[str]:
        among = Filter(doc_ids=ids)
        try:
            best = recommender.recommend(text, len(ids), among=among, min_probability=0.0)
            return {each.doc_id for each in best}
        except PassageSkipped:
            return set()

    for passage in draft.passages:
        pairs = zip(passage.sentences, passage.sentence_cites, passage.places, strict=False)
        for sentence, names, place in pairs:
            ids = frozenset(meant[name] for name in names if name in meant)
            weak = ids - fitting(sentence, ids) if ids else ids
            weak = weak - fitting(passage.text, weak) if weak else weak
            for name in unique(name for name in names if meant.get(name) in weak):
                at = _Reference(name, StatedReference(""), draft.file_of(place), *place[1:])
                message = f"this sentence has little in common with '{name}'"
                found.add("weak-citation", at, message, printed=sentence)


def _make_report(
    found: _Findings, references: Sequence[_Reference], verdicts: Sequence[Verdict],
    notes: Sequence[str],
) -> CheckReport:  # fmt: skip
    findings = pl.DataFrame(found.rows, schema=_FINDINGS).sort("file", "line", "column")
    rows = [
        {
            "key": each.key, "file": each.file, "line": each.line, "verdict": verdict.name,
            "title": each.stated.title, "doc_id": verdict.doc_id, "nearest": verdict.nearest,
            "nearest_id": verdict.nearest_id, "message": verdict.reason,
        }
        for each, verdict in zip(references, verdicts, strict=bool(verdicts))
    ]  # fmt: skip
    return CheckReport(findings, pl.DataFrame(rows, schema=_REFERENCES), unique(notes))
