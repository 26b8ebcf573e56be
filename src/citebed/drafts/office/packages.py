"""Read the zip archive of a Word or OpenDocument file, and the XML in it, with limits.

XML is read as a stream to save memory. A document type is refused, because it may define entities
and no word processor writes one. No other files are opened.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Protocol
from xml.parsers import expat

from citebed.errors import CitebedError
from citebed.files.limits import (
    BOMB_RATIO,
    DecompressionBudget,
    LimitedStream,
    decompression_errors,
    effective_limit,
    format_size,
)

_MOST_MEMBERS = 20_000
_MEMBER_BYTES = 64 << 20
"""Limit for one part of a document: a book of a thousand pages needs a third of it."""
_MOST_ELEMENTS = 1_500_000
_ENTRY_MARK = b"PK\x01\x02"
_PROTECTED = 0x1
_PIECE = 1 << 16

Attributes = Mapping[str, str]


class Package:
    """The members of a document's archive; raises ``CitebedError`` if it cannot be read."""

    def __init__(self, data: bytes, name: str, kind: str) -> None:
        self.name = name
        if data.count(_ENTRY_MARK) > _MOST_MEMBERS:  # each takes memory before it is read
            raise self.error(f"{kind} with more than {_MOST_MEMBERS:,} members; not read")
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except _damage() as error:
            what = f"this is {kind}, but damaged or cut short ({error}); get it again"
            raise self.error(what) from error
        self._names = {info.filename: info for info in self._archive.infolist()}
        self._budget = DecompressionBudget(len(data))

    def error(self, what: str) -> CitebedError:
        """Return an error about this file."""
        return CitebedError(f"{self.name}: {what}")

    def names(self) -> list[str]:
        """Return the names of all members."""
        return list(self._names)

    def is_link(self, member: str) -> bool:
        """Return True if a member is a symbolic link, which Unix archives may contain."""
        return stat.S_ISLNK(self._names[member].external_attr >> 16)

    def read(self, member: str) -> bytes | None:
        """Return the contents of a member, or ``None`` if it does not exist."""
        info = self._names.get(member)
        if info is None:
            return None
        if info.flag_bits & _PROTECTED:
            raise self.error("it is protected by a password; save it without one")
        packed, most = max(info.compress_size, 1), effective_limit(_MEMBER_BYTES)
        try:
            with self._archive.open(info) as content:
                watched = LimitedStream(content, lambda: packed, self._budget)
                data = io.BufferedReader(watched, 1 << 20).read(most + 1)
        except _damage() as error:
            raise self.error(f"{member} in it cannot be read: {error}") from error
        if len(data) > max(_MEMBER_BYTES, 1) and len(data) > BOMB_RATIO * packed:
            raise self.error(f"{member} in it expands far too much, like a decompression bomb")
        if len(data) > most:
            raise self.error(
                f"{member} in it has more than {format_size(most)}; split the document"
            )
        return data


def _damage() -> tuple[type[Exception], ...]:
    return (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        struct.error,
        *decompression_errors(),
    )


# --- XML --------------------------------------------------------------------------------------


class Walker(Protocol):
    """Handles each element and text, in document order.

    Names are ``prefix:local``, with the prefix that ``spaces`` defines for the end of a namespace,
    or ``local`` for other namespaces.
    """

    @property
    def spaces(self) -> Mapping[str, str]:
        """Prefixes by the ends of namespaces."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Start an element; its attributes have local names."""

    def end(self, name: str) -> None:
        """End an element."""

    def text(self, text: str) -> None:
        """Handle text after the last start or end of an element."""


class _Refused(Exception):
    """XML that exceeds a limit, and the reason."""


def walk(package: Package, member: str, walker: Walker) -> bool:
    """Call a walker for all elements and texts of a member; return False if it does not exist."""
    data = package.read(member)
    if data is None:
        return False
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    _connect(parser, walker)
    try:
        for at in range(0, len(data), _PIECE):
            parser.Parse(data[at : at + _PIECE], False)
        parser.Parse(b"", True)
    except _Refused as error:
        raise package.error(f"{member} in it {error}") from None
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise package.error(f"{member} in it is not valid XML ({error}); save it again") from error
    return True


def _connect(parser: expat.XMLParserType, walker: Walker) -> None:
    short, left = _shortener(walker.spaces), _MOST_ELEMENTS

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Refused(f"has more than {_MOST_ELEMENTS:,} elements; split the document")
        if attributes:
            attributes = {key.rpartition("}")[2]: value for key, value in attributes.items()}
        walker.start(short(name), attributes)

    def refuse(*_: object) -> None:
        raise _Refused("has a document type, which no word processor writes; not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: walker.end(short(name))
    parser.CharacterDataHandler = walker.text
    parser.StartDoctypeDeclHandler = refuse


_MOST_NAMES = 10_000


def _shortener(spaces: Mapping[str, str]) -> Callable[[str], str]:
    known: dict[str, str] = {}

    def short(name: str) -> str:
        if (shortened := known.get(name)) is not None:
            return shortened
        space, _, local = name.rpartition("}")
        prefix = next((own for ending, own in spaces.items() if space.endswith(ending)), "")
        shortened = f"{prefix}:{local}" if prefix else local
        if len(known) < _MOST_NAMES:
            known[name] = shortened
        return shortened

    return short
