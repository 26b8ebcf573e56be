"""Correct details in .bib files, and keep everything else of the file byte for byte."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from difflib import SequenceMatcher, unified_diff
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from citebed.collection.formats.base import WIDE_MARKS, normalise_newlines
from citebed.collection.formats.bibtex import parse_author_field, split_names
from citebed.collection.formats.bibtex_scanner import RawEntry
from citebed.collection.formats.bibtex_writer import format_names
from citebed.drafts.files import read_draft_bytes, to_text
from citebed.files.output_files import update_file
from citebed.papers.reference_matcher import CandidateDocument
from citebed.text.latex import text_to_latex
from citebed.wording import printable
from citebed.writing.reference_check import Detail
from citebed.writing.reference_comparison import same_person


class Fix(NamedTuple):
    """A replacement of text: from a position up to another, in lines and columns from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    before: str


_FIELDS = {
    "title": ("title",), "authors": ("author",), "year": ("year", "date"), "doi": ("doi",),
    "arxiv": ("eprint",), "pages": ("pages",),
}  # fmt: skip


def fix_for(
    raw: RawEntry, column: int, detail: Detail, record: CandidateDocument | None
) -> Fix | None:
    """Return the correction of a detail in its entry, which begins in this column.

    The field must be in the entry itself, once, in braces, in quotation marks or as a number;
    otherwise there is none.
    """
    if record is None or not detail.record or raw.is_truncated:
        return None
    for name in _FIELDS[detail.field]:
        span = _find_value(raw.text, name)
        value = raw.text[span[0] : span[1]] if span else ""
        new = _new_value(name, value, detail, record) if span else None
        if span and new and new != value:
            start, end = (raw.text[:at].split("\n") for at in span)
            columns = [len(p[-1]) + (column if len(p) == 1 else 1) for p in (start, end)]
            line = raw.line - 1
            return Fix(line + len(start), columns[0], line + len(end), columns[1], new, value)
    return None


def _find_value(text: str, name: str) -> tuple[int, int] | None:
    """Return the span of a field's value inside its delimiters, if the entry has it once."""
    outer = text[: text.find(",")].count("{")
    spans = []
    for match in re.finditer(rf"(?i)(?<![\w-]){name}\s*=\s*", text):
        before = text[: match.start()]
        if before.count("{") - before.count("}") != outer:
            continue
        start, end = match.end(), _value_end(text, match.end())
        if end is None or not re.match(r"\s*(?:[,})]|$)", text[end:]):
            return None
        inner = 0 if text[start].isdigit() else 1
        spans.append((start + inner, end - inner))
    return spans[0] if len(spans) == 1 else None


def _value_end(text: str, start: int) -> int | None:
    opening = text[start : start + 1]
    if opening.isdigit():
        match = re.compile(r"\d+").match(text, start)
        return match.end() if match else None
    if opening not in ("{", '"') or not opening:
        return None
    depth = 0
    for at in range(start, len(text)):
        sign = text[at]
        depth += (sign == "{") - (sign == "}")
        if (opening == "{" and depth == 0) or (
            opening == '"' and sign == '"' and at > start and depth == 0
        ):
            return at + 1
    return None


def _new_value(name: str, value: str, detail: Detail, record: CandidateDocument) -> str | None:
    match name:
        case "author":
            return _new_authors(value, record)
        case "title":
            return _new_title(value, detail.record)
        case "date":
            return re.sub(r"^\d{4}", detail.record, value) if "/" not in value else None
        case "pages":
            return re.sub(r"\s*[-–—]+\s*", "--", detail.record)
        case "doi" | "eprint":
            return detail.record
        case _:
            return detail.record if re.fullmatch(r"\s*\d{4}\s*", value) else None


def _new_authors(value: str, record: CandidateDocument) -> str | None:
    """Return the record's authors; names that are right stay as they are written."""
    if re.search(r"\bothers\b", value):
        return None
    parts = split_names(value)
    names = [parse_author_field(part) for part in parts]
    if any(len(parsed) != 1 for parsed in names):
        return None
    own = [(part.strip(), parsed[0]) for part, parsed in zip(parts, names, strict=True)]
    made = []
    for name in record.authors:
        written = next((part for part, parsed in own if same_person(parsed, name)), None)
        made.append(written or format_names((name,)))
    return " and ".join(made)


_WORD = re.compile(r"[^\W_]+")


def _new_title(value: str, record: str) -> str | None:
    """Return the title with only the changed words replaced, so that braces and case stay."""
    if "\\" in value:
        return None
    ours, theirs = list(_WORD.finditer(value)), list(_WORD.finditer(record))
    left, right = ([word[0].lower() for word in each] for each in (ours, theirs))
    pieces, at = [], 0
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if a == b or c == d:  # where a word is missing, punctuation may be, too
            return None
        pieces += [
            value[at : ours[a].start()],
            text_to_latex(record[theirs[c].start() : theirs[d - 1].end()]),
        ]
        at = ours[b - 1].end()
    return "".join([*pieces, value[at:]])


# --- Files ------------------------------------------------------------------------------------


def apply_fixes(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, int]:
    """Return a file with fixes, and their number; all other bytes stay.

    A fix is left out if the file has other text at its place by now.
    """
    mark = next((mark for mark in (*WIDE_MARKS, codecs.BOM_UTF8) if data.startswith(mark)), b"")
    encoding = WIDE_MARKS.get(mark, "utf-8")
    text = data[len(mark) :].decode(
        encoding, "surrogateescape" if encoding == "utf-8" else "strict"
    )
    lines = text.split("\n" if "\n" in text else "\r")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    done = 0
    for fix in sorted(set(fixes), reverse=True):
        if fix.end_line > len(lines):
            continue
        start = starts[fix.line - 1] + fix.column - 1
        end = starts[fix.end_line - 1] + fix.end_column - 1
        if normalise_newlines(text[start:end]) == fix.before and (
            fix.text.isascii() or not _SURROGATE.search(text)
        ):
            text = text[:start] + fix.text + text[end:]
            done += 1
    return mark + text.encode(encoding, "surrogateescape"), done


_SURROGATE = re.compile("[\ud800-\udfff]")


def diff_fixes(path: str | Path, fixes: Iterable[Fix]) -> str:
    """Return the fixes as a unified diff."""
    data = read_draft_bytes(Path(path))
    before, after = (to_text(each) for each in (data, apply_fixes(data, fixes)[0]))
    name = printable(path)
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def write_fixes(path: str | Path, fixes: Iterable[Fix]) -> int:
    """Write the fixes into their .bib file, and return their number."""
    wanted, done = list(fixes), 0

    def change(data: bytes) -> bytes | None:
        nonlocal done
        after, done = apply_fixes(data, wanted)
        return after if done else None

    update_file(Path(path), change)
    return done
