"""Read the file of a draft and the files that it includes.

A draft may include files in any folder, as LaTeX allows (a bibliography stored elsewhere). citebed
reads only plain files with the suffix of a text format, and at most ``MAX_BYTES`` in total. An
uploaded draft is read ``within`` a folder: files outside it are not even looked up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from citebed.collection.formats.base import WIDE_MARKS, decode, normalise_newlines
from citebed.errors import CitebedError
from citebed.files.file_kinds import (
    HTML,
    NOTEBOOK,
    OPEN_DOCUMENT,
    WORD,
    ZIP,
    detect_kind,
    detect_office_kind,
)
from citebed.files.input_files import read_up_to
from citebed.wording import printable

MAX_BYTES = 256 << 20
"""Limit for a draft with all files that it includes."""
_MAX_FILES = 1000

_AS_TEXT = "turn it into text first, e.g. pandoc -t plain"
_ADVICE = {
    "PostScript": "turn it into text first, e.g. ps2ascii paper.ps paper.txt",
    "RTF": "save it as .docx or .odt first",
    "an old Word (or other Office) document": "save it as .docx or .odt first",
    HTML: f"{_AS_TEXT} page.html",
    "an SQLite database": "give the text itself",
    "a Parquet table": "give the text itself",
}
_EXPECTED = (
    "expected LaTeX, Markdown, Typst, reStructuredText, plain text, Word (.docx), OpenDocument "
    "(.odt), a notebook or a PDF"
)
_BY_NAME = {".docx": WORD, ".docm": WORD, ".odt": OPEN_DOCUMENT, ".ipynb": NOTEBOOK}


def document_kind(data: bytes, name: str) -> str:
    """Return ``a Word document``, ``an OpenDocument file``, ``a Jupyter notebook`` or "".

    Raise ``CitebedError`` if the name has the suffix of such a file, but the bytes are other data.
    """
    named = _BY_NAME.get(Path(name).suffix.lower(), "")
    kind = detect_kind(data) or _zip_kind(data)
    if named == NOTEBOOK and not kind and data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return NOTEBOOK
    if kind in _BY_NAME.values():
        return kind
    if named in (WORD, OPEN_DOCUMENT) and kind in ("a zip archive", "an Office document"):
        return named  # someone repacked it, so its first bytes do not show the kind
    if named and not kind:
        what = f"not {named} in spite of its name" if data.strip() else "an empty file"
        raise CitebedError(f"{name}: {what}; get it again ({_EXPECTED})")
    return ""


def decode_text(data: bytes, name: str) -> tuple[str, bool]:
    """Return the text in ``data`` with ``\\n`` line ends, and True if part of it was not UTF-8.

    Raise ``CitebedError`` for anything else than text.
    """
    if kind := detect_kind(data) or _zip_kind(data):
        raise CitebedError(f"{name}: this is {kind}; {_advice(kind)} ({_EXPECTED})")
    text, not_utf8 = decode(_with_mark(data, name))
    if not text.strip():
        raise CitebedError(f"{name}: it contains no text; {_EXPECTED}")
    return normalise_newlines(text), not_utf8


def to_text(data: bytes) -> str:
    """Return the text in ``data`` with ``\\n`` line ends."""
    return normalise_newlines(decode(data)[0])


def _zip_kind(data: bytes) -> str:
    return (detect_office_kind(data) or "a zip archive") if data.startswith(ZIP) else ""


def _advice(kind: str) -> str:
    if kind.endswith("archive"):
        return "unpack it first"
    return _ADVICE.get(kind, "give the text itself" if kind.endswith("image") else _AS_TEXT)


def _with_mark(data: bytes, name: str) -> bytes:
    """Add a byte order mark to UTF-16 without one."""
    if b"\0" not in data or data.startswith(tuple(WIDE_MARKS)):
        return data
    head = data[:4096]
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if len(data) % 2 == 0 and odd > 0.6 * half and even < 0.1 * half:
        return b"\xff\xfe" + data
    if len(data) % 2 == 0 and even > 0.6 * half and odd < 0.1 * half:
        return b"\xfe\xff" + data
    what = f"this is binary data (a NUL byte at position {data.index(0)})"
    raise CitebedError(f"{name}: {what}; {_EXPECTED}")


def read_draft_bytes(path: Path) -> bytes:
    """Return the contents of a file; raise ``CitebedError`` if it cannot be read."""
    try:
        if path.is_dir():
            raise CitebedError(f"{path}: this is a folder; name the file of the draft itself")
        with path.open("rb") as file:
            data = read_up_to(file, MAX_BYTES + 1)
    except FileNotFoundError:
        endings = ".tex, .md, .txt, .docx, .odt, .ipynb, .typ, .rst or .pdf"
        raise CitebedError(f"{path}: no such file; expected a {endings} file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CitebedError(f"{path}: cannot be read: {reason}") from error
    if len(data) > MAX_BYTES:
        raise CitebedError(f"{path}: larger than {MAX_BYTES >> 20} MiB; split the file")
    return data


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


class IncludedFile(NamedTuple):
    """A file that a draft includes: its path, its name for messages, and its text."""

    path: Path
    shown: str
    text: str


class IncludedFiles:
    """Reads the files that a draft includes; a ``draft`` of ``None`` is a text without a file.

    With ``within``, only files in that folder are read. ``unsaved`` are texts of an editor that
    replace those of files. ``edit`` changes the contents of each file before they are used.
    ``paths`` are the files that were read.
    """

    def __init__(
        self,
        draft: Path | None,
        within: Path | None = None,
        unsaved: Mapping[Path, str] = MappingProxyType({}),
        edit: Callable[[Path, bytes], bytes] | None = None,
    ) -> None:
        self.draft = draft
        self.paths: list[Path] = []
        self._unsaved = unsaved
        self._edit = edit
        self._within = within.resolve() if within is not None else None
        self._left = MAX_BYTES
        self._files_left = _MAX_FILES

    def read(self, name: str, endings: tuple[str, ...], beside: str = "") -> IncludedFile | str:
        """Return the file with a name that may lack its suffix, or the reason why it is not read.

        Search the draft's folder first, then the folder of the file ``beside``.
        """
        if self.draft is None:
            return "not read, since the text did not come from a file"
        for folder in (self.draft.parent, self.draft.parent / Path(beside).parent):
            for ending in ("", *endings):
                path = folder / f"{name}{ending}"
                if path.name.lower().endswith(endings) and self._may_be_read(path):
                    return self._read(path)
        return "not found"

    def _may_be_read(self, path: Path) -> bool:
        """Return True for a plain file in an allowed folder.

        Outside that folder, do not reveal whether the file exists.
        """
        if self._within is not None:
            try:
                real = path.resolve()
            except (OSError, ValueError, RuntimeError):  # an invalid name, or a cycle of links
                return False
            if not real.is_relative_to(self._within):
                return False
        return _absolute(path) in self._unsaved or os.path.isfile(path)

    def _read(self, path: Path) -> IncludedFile | str:
        self._files_left -= 1
        if self._files_left < 0:
            return f"not read: more than {_MAX_FILES} files are included"
        unsaved = self._unsaved.get(_absolute(path))
        try:
            if unsaved is None:
                with path.open("rb") as file:
                    data = read_up_to(file, self._left + 1)
            else:
                data = unsaved.encode("utf-8", "replace")
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        if len(data) > self._left:
            return f"not read: all files together are larger than {MAX_BYTES >> 20} MiB"
        self._left -= len(data)
        self.paths.append(_absolute(path))
        if self._edit is not None:
            data = self._edit(path, data)
        folder = self.draft.parent if self.draft else Path()
        shown = path.relative_to(folder) if path.is_relative_to(folder) else path
        return IncludedFile(path, printable(shown), to_text(data))
