"""Files as text: what a draft is, and the files beside it that it names.

A draft may name files in its folder, in folders beside or above it, or by a whole path (a
bibliography kept elsewhere): all of them are read as LaTeX reads them, but only plain files
with one of the endings of text, and no more than ``MAX_BYTES`` in all. A draft that somebody
else sent is read ``within`` a folder: what it names elsewhere, by whatever way, is not looked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from citebed.collection.formats.base import WIDE_MARKS, decode, with_newlines
from citebed.errors import CitebedError
from citebed.files.kinds import (
    HTML,
    NOTEBOOK,
    OPEN_DOCUMENT,
    WORD,
    ZIP,
    kind_of,
    office_kind,
)
from citebed.files.reading import read_up_to
from citebed.wording import printable

MAX_BYTES = 256 << 20
"""A draft with all that it includes is not read beyond this size."""
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
    """``a Word document``, ``an OpenDocument file``, ``a Jupyter notebook``; else nothing.

    Raises ``CitebedError`` for a file whose name says one of them and that is none.
    """
    named = _BY_NAME.get(Path(name).suffix.lower(), "")
    kind = kind_of(data) or _zip_kind(data)
    if named == NOTEBOOK and not kind and data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return NOTEBOOK
    if kind in _BY_NAME.values():
        return kind
    if named in (WORD, OPEN_DOCUMENT) and kind in ("a zip archive", "an Office document"):
        return named  # packed anew by somebody, so that its first bytes do not tell
    if named and not kind:
        what = f"not {named}, as its name says" if data.strip() else "an empty file"
        raise CitebedError(f"{name}: {what}; get it anew ({_EXPECTED})")
    return ""


def text_of(data: bytes, name: str) -> tuple[str, bool]:
    """The text in ``data``, lines ending in ``\\n``, and whether some of it was not UTF-8.

    Raises ``CitebedError``, with what was found and what to do, for anything but text.
    """
    if kind := kind_of(data) or _zip_kind(data):
        raise CitebedError(f"{name}: this is {kind}; {_advice(kind)} ({_EXPECTED})")
    text, mended = decode(_marked(data, name))
    if not text.strip():
        raise CitebedError(f"{name}: there is no text in it; {_EXPECTED}")
    return with_newlines(text), mended


def _zip_kind(data: bytes) -> str:
    return (office_kind(data) or "a zip archive") if data.startswith(ZIP) else ""


def _advice(kind: str) -> str:
    """What to do with a file of a kind that is no text."""
    if kind.endswith("archive"):
        return "unpack it first"
    return _ADVICE.get(kind, "give the text itself" if kind.endswith("image") else _AS_TEXT)


def _marked(data: bytes, name: str) -> bytes:
    """The bytes, with a byte order mark put in front of UTF-16 that has none."""
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


def bytes_of(path: Path) -> bytes:
    """The contents of a file that a user named; raises ``CitebedError`` where it cannot be read."""
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
        raise CitebedError(f"{path}: larger than {MAX_BYTES >> 20} MiB; give the text in parts")
    return data


class Neighbour(NamedTuple):
    """A file that a draft names: its path, its name as shown, and its bytes."""

    path: Path
    shown: str
    data: bytes


class Neighbours:
    """The files beside a draft, or none at all where the text came without a file; those
    ``within`` a folder only, where that is given."""

    def __init__(self, draft: Path | None, within: Path | None = None) -> None:
        self.draft = draft
        self._within = within.resolve() if within is not None else None
        self._left = MAX_BYTES
        self._files_left = _MAX_FILES

    def read(self, name: str, endings: tuple[str, ...], beside: str = "") -> Neighbour | str:
        """The file of a name that may lack its ending, or why it is not read.

        It is looked for from the draft's folder, then from that of the file ``beside``.
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
        """Whether it is a plain file, and where it may be: of what is elsewhere it is not even
        told whether it is there."""
        if self._within is not None:
            try:
                real = path.resolve()
            except (OSError, ValueError, RuntimeError):  # a name that is none, links in a ring
                return False
            if not real.is_relative_to(self._within):
                return False
        return os.path.isfile(path)

    def _read(self, path: Path) -> Neighbour | str:
        self._files_left -= 1
        if self._files_left < 0:
            return f"not read: more than {_MAX_FILES} files are included"
        try:
            with path.open("rb") as file:
                data = read_up_to(file, self._left + 1)
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        if len(data) > self._left:
            return f"not read: all files together are larger than {MAX_BYTES >> 20} MiB"
        self._left -= len(data)
        folder = self.draft.parent if self.draft else Path()
        shown = path.relative_to(folder) if path.is_relative_to(folder) else path
        return Neighbour(path, printable(shown), data)
