"""Read uploaded files as a draft and .bib files, in a temporary folder.

Names and archives may be malicious. citebed writes only into that folder, makes and follows no
links, limits the unpacked size of archives, and does not read other files that the draft includes.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from citebed.drafts.files import MAX_BYTES, to_text
from citebed.drafts.office import Package
from citebed.drafts.reader import FORMS_BY_ENDING, read_draft
from citebed.drafts.records import Draft
from citebed.errors import CitebedError
from citebed.files.file_kinds import ZIP, detect_office_kind
from citebed.files.limits import format_size
from citebed.wording import count, list_first, printable

MAX_FILES = 2000
_LIBRARY = (".bib", ".bibtex")
_BESIDE = (*_LIBRARY, ".bbl", ".cls", ".sty", ".bst", ".typ", ".tex", ".ltx")
_DRAFTS = (*FORMS_BY_ENDING, ".txt", ".text", ".docx", ".docm", ".odt", ".ipynb", ".pdf")
_PARTS = re.compile(r"[\\/]+")
_BAD = re.compile(r"[\x00-\x1f\x7f<>:\"|?*]")
_LONGEST_PART = 120
_MOST_PARTS = 16
_DOCUMENT = re.compile(rb"\\documentclass|\\documentstyle")
_INCLUDED = re.compile(rb"\\(?:input|include|subfile)\s*\{?\s*([^}\s%]+)")


class UploadedDraft(NamedTuple):
    """A draft, if there was one; the texts of .bib files by name; and notes about other files."""

    draft: Draft | None
    libraries: dict[str, str]
    notes: tuple[str, ...]


def read_uploads(files: Iterable[tuple[str, bytes]]) -> UploadedDraft:
    """Read uploaded files, given by name and content: one draft with its files, and .bib files.

    A .zip is unpacked. Raise ``CitebedError`` if the draft cannot be read, or if there is neither a
    draft nor a .bib file.
    """
    with tempfile.TemporaryDirectory(prefix="citebed-draft-") as temporary:
        folder = Path(temporary).resolve()
        uploads = list(files)
        is_alone = len(uploads) == 1 and not _is_archive(*uploads[0])
        stored, skipped = _store(uploads, folder, any_name=is_alone)
        main, others = _choose_draft(folder, stored)
        if is_alone and not stored[0].lower().endswith(_LIBRARY):
            main = stored[0]  # read_draft says why if it is not a draft
        libraries = {
            name: to_text((folder / name).read_bytes())
            for name in stored
            if name.lower().endswith(_LIBRARY)
        }
        if main is None and not libraries:
            names = _list_names([*stored, *skipped]) or "nothing"
            raise CitebedError(
                f"the upload contains no draft ({names}); expected LaTeX, Markdown, plain text, "
                "Word, OpenDocument, a notebook, Typst, reStructuredText, a PDF, a .zip of these, "
                "or a .bib"
            )
        draft = None
        if main is not None:
            inside = f"{folder}/"  # removed from messages, because the folder is temporary
            try:
                draft = read_draft(folder / main, within=folder)
            except CitebedError as error:
                raise CitebedError(str(error).replace(inside, "")) from error
            own = tuple(note.replace(inside, "") for note in draft.notes)
            draft = replace(draft, file=printable(main), notes=own)
    notes = []
    if skipped:
        notes.append(f"{count(len(skipped), 'file')} skipped: {_list_names(skipped)}")
    if others:
        read = printable(main or "")
        notes.append(f"{read} was read as the draft; not read: {_list_names(others)}")
    return UploadedDraft(draft, libraries, tuple(notes))


# --- Store the files --------------------------------------------------------------------------


def safe_name(name: str) -> str:
    """Return an uploaded name as a safe relative path, perhaps empty.

    Drives, ``..`` and characters that some systems do not allow are removed.
    """
    parts = [part.strip() for part in _PARTS.split(_BAD.sub("_", name))]
    kept = [part for part in parts if part not in ("", ".", "..")]
    return "/".join(part[-_LONGEST_PART:] for part in kept[-_MOST_PARTS:])


def _store(
    files: Iterable[tuple[str, bytes]], folder: Path, *, any_name: bool
) -> tuple[list[str], list[str]]:
    """Write files with a known suffix (or any) into a folder; return stored and skipped names."""
    stored: dict[str, None] = {}
    skipped, left = [], MAX_BYTES
    for name, data in _unpacked(files):
        safe = safe_name(name) or ("draft" if any_name else "")
        if not any_name and not safe.lower().endswith((*_DRAFTS, *_BESIDE)):
            skipped.append(safe or "a file without a name")
            continue
        left -= len(data)
        if left < 0:
            raise CitebedError(f"together, the files are larger than {format_size(MAX_BYTES)}.")
        if len(stored) >= MAX_FILES:
            raise CitebedError(f"more than {MAX_FILES:,} files. Upload only the draft.")
        path = folder / PurePosixPath(safe)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            stored[safe] = None
        except OSError:  # for example, the name is also a folder
            skipped.append(safe)
    return list(stored), skipped


def _unpacked(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for name, data in files:
        if _is_archive(name, data):
            # Files that no draft needs are left empty.
            package = Package(data, printable(name), "a zip archive")
            for member in package.names():
                # macOS adds files to archives.
                if (
                    member.endswith("/")
                    or package.is_link(member)
                    or any(
                        part == "__MACOSX" or part.startswith("._") for part in member.split("/")
                    )
                ):
                    continue
                is_needed = member.lower().endswith((*_DRAFTS, *_BESIDE))
                yield member, (package.read(member) or b"") if is_needed else b""
        else:
            yield name, data


def _is_archive(name: str, data: bytes) -> bool:
    """Return True for a zip archive that is not a Word or OpenDocument file."""
    lower = name.lower()
    if not data.startswith(ZIP) or lower.endswith((".docx", ".docm", ".odt")):
        return False
    return lower.endswith(".zip") or not detect_office_kind(data)


# --- Choose the draft -------------------------------------------------------------------------


def _choose_draft(folder: Path, names: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the draft among files, and the other possible drafts.

    LaTeX files with a document that no other file includes come first. Then higher folders and
    shorter names win.
    """
    able = [name for name in names if name.lower().endswith(_DRAFTS)]
    tex = [
        name for name in able if FORMS_BY_ENDING.get(PurePosixPath(name).suffix.lower()) == "tex"
    ]
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


def _list_names(names: Sequence[str]) -> str:
    return list_first([printable(name) for name in names])
