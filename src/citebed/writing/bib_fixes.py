"""Correct details in .bib files, and keep everything else of the file byte for byte."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
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
        start, value = _find_value(raw, name), raw.fields.get(name, "")
        new = _new_value(name, value, detail.record, record.authors)
        if start >= 0 and new and new != value:
            before, after = (raw.text[:at].split("\n") for at in (start, start + len(value)))
            columns = [len(p[-1]) + (column if len(p) == 1 else 1) for p in (before, after)]
            lines = [raw.line - 1 + len(p) for p in (before, after)]
            return Fix(lines[0], columns[0], lines[1], columns[1], new, value)
    return None


def _find_value(raw: RawEntry, name: str) -> int:
    """Return the offset of a field's value if the entry states it once and literally, else -1."""
    stored = raw.fields.get(name, "")
    value = re.escape(stored)
    field = rf"(?i:(?<![\w-]){name})\s*=\s*"
    pattern = rf"{field}(?:\{{({value})\}}|\"({value})\"|(?=\d)({value}))\s*(?:[,}})]|$)"
    depth = raw.text.partition(",")[0].count("{")
    before = ((match, raw.text[: match.start()]) for match in re.finditer(pattern, raw.text))
    own = [match for match, text in before if text.count("{") - text.count("}") == depth]
    return own[0].start(own[0].lastindex or 0) if len(own) == 1 else -1


def _new_value(name: str, value: str, stated: str, authors: Sequence[str]) -> str | None:
    """Return what to write instead of a value; ``None`` if that is unclear."""
    match name:
        case "author":
            return _new_authors(value, authors)
        case "title":
            return _new_title(value, stated)
        case "date":
            return re.sub(r"^\d{4}", stated, value) if "/" not in value else None
        case "year":
            return stated if re.fullmatch(r"\s*\d{4}\s*", value) else None
        case "pages":
            return re.sub(r"\s*[-–—]+\s*", "--", stated)
    return stated


def _new_authors(value: str, authors: Sequence[str]) -> str | None:
    """Return the record's authors; names that are right stay as they are written."""
    own = [(part.strip(), parse_author_field(part)) for part in split_names(value)]
    if re.search(r"\bothers\b", value) or any(len(names) != 1 for _, names in own):
        return None
    return " and ".join(
        next((part for part, (own_name,) in own if same_person(own_name, name)), "")
        or format_names((name,))
        for name in authors
    )


_WORD = re.compile(r"[^\W_]+")


def _new_title(value: str, record: str) -> str | None:
    """Return the title with only the changed words replaced, so that braces and case stay."""
    ours, theirs = list(_WORD.finditer(value)), list(_WORD.finditer(record))
    left, right = ([word[0].lower() for word in words] for words in (ours, theirs))
    new = value
    for tag, a, b, c, d in reversed(
        SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    ):
        if tag in ("insert", "delete") or "\\" in value:
            return None  # where a word is missing, punctuation may be, too
        if tag == "replace":
            words = text_to_latex(record[theirs[c].start() : theirs[d - 1].end()])
            new = new[: ours[a].start()] + words + new[ours[b - 1].end() :]
    return new


# --- Files ------------------------------------------------------------------------------------


def apply_fixes(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, int]:
    """Return a file with fixes, and their number; all other bytes stay.

    A fix is left out if the file has other text at its place by now.
    """
    mark = next((mark for mark in (*WIDE_MARKS, codecs.BOM_UTF8) if data.startswith(mark)), b"")
    encoding = WIDE_MARKS.get(mark, "utf-8")
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    text, done = data[len(mark) :].decode(encoding, errors), 0
    lines = text.split("\n" if "\n" in text else "\r")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    is_other = re.search("[\ud800-\udfff]", text) is not None  # bytes that are not UTF-8
    for fix in sorted(set(fixes), reverse=True):
        if fix.end_line <= len(lines) and (fix.text.isascii() or not is_other):
            start = starts[fix.line - 1] + fix.column - 1
            end = starts[fix.end_line - 1] + fix.end_column - 1
            if normalise_newlines(text[start:end]) == fix.before:
                text, done = text[:start] + fix.text + text[end:], done + 1
    return mark + text.encode(encoding, errors), done


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
