"""What a format is: a name, a way to recognise it, a place to cut it, and a parser."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from citebed.records import Problem, Record

MAX_RECORD_BYTES = 16 << 20
"""A single record larger than this is skipped: no bibliographic record needs 16 MiB."""

MAX_WHOLE_FILE_BYTES = 256 << 20
"""Formats that cannot be cut into pieces (JSON documents) are read up to this size."""

MAX_XML_BYTES = 32 << 20
"""XML of one paper or volume is far smaller, and broken XML takes many times its size to mend."""

TOO_LONG = f"a record of more than {MAX_RECORD_BYTES >> 20} MiB is not read"
NOT_UTF8 = "bytes that are not UTF-8 were read as Windows-1252"


WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""The marks that text in UTF-16 or UTF-32 begins with; the longer before those in them."""


class Chunk(NamedTuple):
    """A piece of a source that holds whole records.

    ``line`` is the number of its first line in the source; ``macros`` are the BibTeX strings
    defined before it; ``source`` is the path as shown to people (``a.tar.xz!b/c.bib``).
    """

    data: bytes
    source: str
    line: int = 1
    macros: Mapping[str, str] = {}


@dataclass(frozen=True)
class Format:
    """An outside format.

    ``sniff`` looks at the first few kilobytes, decoded. ``parse`` yields records and problems
    lazily, in file order, and never raises for what it finds in the data. ``cut`` gives the
    length of the longest prefix of a buffer that ends between records (0 where there is none);
    a format without ``cut`` is parsed whole. ``carry`` takes from a piece what later pieces of
    the same file need to know (BibTeX's strings). ``or_whole``: a file in which no place to cut
    is found may be one document, and is then parsed whole. ``limit``: how many bytes are parsed
    whole at most. ``leaves_doubt``: whether a head that is recognised fits another format, too.
    """

    name: str
    title: str
    sniff: Callable[[str], bool]
    parse: Callable[[Chunk], Iterator[Record]]
    cut: Callable[[bytes], int] | None = None
    carry: Callable[[bytes, dict[str, str]], None] | None = None
    or_whole: bool = False
    limit: int = MAX_WHOLE_FILE_BYTES
    leaves_doubt: Callable[[str], bool] = lambda _: False


# --- Text -----------------------------------------------------------------------------------


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_CP1252[byte] for byte in bad), error.end


_CP1252 = [bytes([b]).decode("cp1252", errors="replace") for b in range(256)]


def decode(data: bytes) -> tuple[str, bool]:
    """Decode UTF-8; bytes that are not UTF-8 are read as Windows-1252.

    Returns the text and whether anything had to be read so. A byte order mark is dropped,
    UTF-16 and UTF-32 are understood by their marks, NUL characters are removed.
    """
    for mark, encoding in WIDE_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace").replace("\0", ""), False
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text, mended = data.decode("utf-8"), False
    except UnicodeDecodeError:
        codecs.register_error("citebed-cp1252", _as_windows_1252)
        text, mended = data.decode("utf-8", errors="citebed-cp1252"), True
    return (text.replace("\0", "") if "\0" in text else text), mended


def read_text(chunk: Chunk) -> tuple[str, list[Problem]]:
    """A chunk's text, and a problem where it is not in the encoding it should be in."""
    text, mended = decode(chunk.data)
    return text, [Problem(chunk.line, NOT_UTF8, "mended")] if mended else []


def of_text(
    parse: Callable[[str, Chunk], Iterator[Record]],
) -> Callable[[Chunk], Iterator[Record]]:
    """A parser of text whose lines end in ``\\n``, of which it is told first where it is not in the
    encoding it should be in."""

    def parse_chunk(chunk: Chunk) -> Iterator[Record]:
        text, problems = read_text(chunk)
        yield from problems
        yield from parse(with_newlines(text), chunk)

    return parse_chunk


def with_newlines(text: str) -> str:
    """Text whose lines end in ``\\n``; a file without any may use ``\\r`` alone."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def starts_as(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """A test whether the head of a file matches."""
    return lambda head: pattern.match(head) is not None


# --- Cutting --------------------------------------------------------------------------------


def cut_lines(data: bytes) -> int:
    """The length up to and including the last newline."""
    return data.rfind(b"\n") + 1


def cut_after(pattern: re.Pattern[bytes]) -> Callable[[bytes], int]:
    """The end of the last place that matches, 0 where there is none."""
    return lambda data: max((match.end() for match in pattern.finditer(data)), default=0)


def cut_before(start: bytes) -> Callable[[bytes], int]:
    """The start of the last record, behind the line end that ``start`` begins with: only the next
    one shows where a record ends."""
    return lambda data: data.rfind(start) + 1
