"""Files that somebody sent: put into a folder of their own, and read as a draft and .bib files.

Names and archives are strangers' data. Nothing is written outside the folder, no link is made or
followed, an archive unpacks to no more than its size allows, and what the draft names elsewhere is
not read.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from citebed.collection.formats.base import decode, with_newlines
from citebed.drafts.files import MAX_BYTES
from citebed.drafts.office.packages import Package
from citebed.drafts.reading import FORMS_BY_ENDING, read_draft
from citebed.drafts.records import Draft
from citebed.errors import CitebedError
from citebed.files.kinds import ZIP, office_kind
from citebed.files.limits import shown
from citebed.wording import count, first_few, printable

MOST_FILES = 2000
_LIBRARY = (".bib", ".bibtex")
_BESIDE = (*_LIBRARY, ".bbl", ".cls", ".sty", ".bst", ".typ", ".tex", ".ltx")
_DRAFTS = (*FORMS_BY_ENDING, ".txt", ".text", ".docx", ".docm", ".odt", ".ipynb", ".pdf")
_PARTS = re.compile(r"[\\/]+")
_BAD = re.compile(r"[\x00-\x1f\x7f<>:\"|?*]")
_LONGEST_PART = 120
_MOST_PARTS = 16
_DOCUMENT = re.compile(rb"\\documentclass|\\documentstyle")
_INCLUDED = re.compile(rb"\\(?:input|include|subfile)\s*\{?\s*([^}\s%]+)")


class Sent(NamedTuple):
    """What was in files that were sent: a draft, if one was among them; the texts of .bib files by
    their names; and what there is to say of the rest."""

    draft: Draft | None
    libraries: dict[str, str]
    notes: tuple[str, ...]


def read_sent(files: Iterable[tuple[str, bytes]]) -> Sent:
    """Read files by name and content: one draft, with what belongs to it, and .bib files.

    A .zip stands for the files in it. Raises ``CitebedError``, with the reader's own words, where
    the draft cannot be read, or where there is nothing to read.
    """
    with tempfile.TemporaryDirectory(prefix="citebed-draft-") as made:
        folder = Path(made).resolve()
        given = list(files)
        is_alone = len(given) == 1 and not _is_archive(*given[0])
        placed, passed_over = _placed(given, folder, is_any=is_alone)
        main, others = _main(folder, placed)
        if is_alone and not placed[0].lower().endswith(_LIBRARY):
            main = placed[0]  # which its reader may refuse, in words of its own
        libraries = {
            name: _text(folder / name) for name in placed if name.lower().endswith(_LIBRARY)
        }
        if main is None and not libraries:
            raise CitebedError(_nothing(placed, passed_over))
        draft = _read(folder, main) if main is not None else None
    notes = [*_passed_over_note(passed_over), *_others_note(main or "", others)]
    return Sent(draft, libraries, tuple(notes))


def _read(folder: Path, main: str) -> Draft:
    """The draft, in which nothing tells of the folder."""
    try:
        draft = read_draft(folder / main, within=folder)
    except CitebedError as error:
        raise CitebedError(str(error).replace(f"{folder}/", "")) from error
    notes = tuple(note.replace(f"{folder}/", "") for note in draft.notes)
    return replace(draft, file=printable(main), notes=notes)


# --- Into the folder --------------------------------------------------------------------------


def safe_name(name: str) -> str:
    """A name that was sent as a path inside a folder: without drives, ``..`` and what no system
    takes; empty where nothing is left of it."""
    parts = [part.strip() for part in _PARTS.split(_BAD.sub("_", name))]
    kept = [part for part in parts if part not in ("", ".", "..")]
    return "/".join(part[-_LONGEST_PART:] for part in kept[-_MOST_PARTS:])


def _placed(
    files: Iterable[tuple[str, bytes]], folder: Path, *, is_any: bool
) -> tuple[list[str], list[str]]:
    """Write the files that may matter (or any) into a folder; their names, and those passed
    over."""
    placed: dict[str, None] = {}
    passed_over, left = [], MAX_BYTES
    for name, data in _unpacked(files):
        safe = safe_name(name) or ("draft" if is_any else "")
        if not is_any and not safe.lower().endswith((*_DRAFTS, *_BESIDE)):
            passed_over.append(safe or "a file without a name")
            continue
        left -= len(data)
        if left < 0:
            raise CitebedError(f"the files are larger than {shown(MAX_BYTES)} together.")
        if len(placed) >= MOST_FILES:
            raise CitebedError(f"these are more than {MOST_FILES:,} files. Send the draft alone.")
        if _write(folder, safe, data):
            placed[safe] = None
        else:
            passed_over.append(safe)
    return list(placed), passed_over


def _write(folder: Path, name: str, data: bytes) -> bool:
    """Whether a file could be written: one name may be a folder in another."""
    path = folder / PurePosixPath(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError:
        return False
    return True


def _unpacked(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for name, data in files:
        if _is_archive(name, data):
            yield from _members(name, data)
        else:
            yield name, data


def _is_archive(name: str, data: bytes) -> bool:
    """Whether a file is a zip archive that is no document itself."""
    lower = name.lower()
    if not data.startswith(ZIP) or lower.endswith((".docx", ".docm", ".odt")):
        return False
    return lower.endswith(".zip") or not office_kind(data)


def _members(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The plain files in an archive that a draft may need; the others are named only."""
    package = Package(data, printable(name), "a zip archive")
    for member in package.names():
        if member.endswith("/") or package.is_link(member) or _is_hidden(member):
            continue
        is_needed = member.lower().endswith((*_DRAFTS, *_BESIDE))
        yield member, (package.read(member) or b"") if is_needed else b""


def _is_hidden(member: str) -> bool:
    """What systems add to archives."""
    return any(part == "__MACOSX" or part.startswith("._") for part in member.split("/"))


# --- Which one is the draft -------------------------------------------------------------------


def _main(folder: Path, names: Sequence[str]) -> tuple[str | None, list[str]]:
    """The draft among files, and the others that could be drafts.

    Of LaTeX files it is one that begins a document and that no other includes; it goes before all
    else, as its notes and figures may lie beside it. Higher folders and shorter names go first.
    """
    able = [name for name in names if name.lower().endswith(_DRAFTS)]
    tex = [name for name in able if FORMS_BY_ENDING.get(_ending(name)) == "tex"]
    if tex:
        texts = {name: (folder / name).read_bytes() for name in tex}
        begin = [name for name in tex if _DOCUMENT.search(texts[name])] or tex
        inner = {_stem(found) for text in texts.values() for found in _INCLUDED.findall(text)}
        outer = [name for name in begin if _stem(name.encode()) not in inner] or begin
        first = min(outer, key=_order)
        return first, [name for name in outer if name != first and _DOCUMENT.search(texts[name])]
    ordered = sorted(able, key=_order)
    return (ordered[0] if ordered else None), ordered[1:]


def _order(name: str) -> tuple[int, bool, int, str]:
    is_about = PurePosixPath(name).stem.lower() in ("readme", "license", "licence", "changelog")
    return (name.count("/"), is_about, len(name), name)


def _stem(name: bytes) -> str:
    return PurePosixPath(name.decode("utf-8", "replace")).stem


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _text(path: Path) -> str:
    return with_newlines(decode(path.read_bytes())[0])


# --- What is said -----------------------------------------------------------------------------


def _nothing(placed: Sequence[str], passed_over: Sequence[str]) -> str:
    found = first_few([printable(name) for name in (*placed, *passed_over)]) or "nothing"
    return (
        f"there is no draft in what was sent ({found}); expected LaTeX, Markdown, plain text, "
        "Word, OpenDocument, a notebook, Typst, reStructuredText, a PDF, a .zip of these, or a .bib"
    )


def _passed_over_note(names: Sequence[str]) -> list[str]:
    which = first_few([printable(name) for name in names])
    return [f"{count(len(names), 'file')} passed over: {which}"] if names else []


def _others_note(main: str, others: Sequence[str]) -> list[str]:
    which = first_few([printable(name) for name in others])
    return [f"{printable(main)} was read as the draft; not read: {which}"] if others else []
