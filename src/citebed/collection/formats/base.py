"""The interface of an import format, and what all formats share: decoding text, splitting files."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from citebed.records import Problem, Record

MAX_RECORD_BYTES = 16 << 20
"""citebed skips larger records: no bibliographic record needs 16 MiB."""

MAX_WHOLE_FILE_BYTES = 256 << 20
"""The largest file that citebed reads in one piece."""

MAX_XML_BYTES = 32 << 20
"""The largest XML file of one paper or volume; repairing broken XML takes many times its size."""

TOO_LONG = f"a record of more than {MAX_RECORD_BYTES >> 20} MiB is not read"
NOT_UTF8 = "bytes that are not UTF-8 were read as Windows-1252"


class Chunk(NamedTuple):
    """A part of a source that holds whole records.

    ``source`` is the path as shown to people (``a.tar.xz!b/c.bib``), ``line`` the number of the
    first line in that source. ``context`` is what earlier chunks define, such as BibTeX strings.
    """

    data: bytes
    source: str
    line: int = 1
    context: Mapping[str, str] = {}


@dataclass(frozen=True)
class Format:
    """An import format.

    ``sniff`` recognises the decoded first kilobytes of a file. ``parse`` yields records and
    problems lazily, in file order, and never raises for bad data. ``split`` returns the length of
    the longest prefix of a buffer that ends between records (0 for no prefix); without it, citebed
    parses whole files of up to ``limit`` bytes. ``collect_context`` stores what later chunks need
    from this one. With ``allow_unsplit``, a file that ``split`` cannot split is parsed whole.
    ``is_ambiguous`` returns True if a recognised head also fits another format.
    """

    name: str
    title: str
    sniff: Callable[[str], bool]
    parse: Callable[[Chunk], Iterator[Record]]
    split: Callable[[bytes], int] | None = None
    collect_context: Callable[[bytes, dict[str, str]], None] | None = None
    allow_unsplit: bool = False
    limit: int = MAX_WHOLE_FILE_BYTES
    is_ambiguous: Callable[[str], bool] = lambda _: False


# --- Text -----------------------------------------------------------------------------------

WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order marks of UTF-16 and UTF-32; longer marks before their prefixes."""

_CP1252 = [bytes([b]).decode("cp1252", errors="replace") for b in range(256)]


def _decode_as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_CP1252[byte] for byte in bad), error.end


def decode(data: bytes) -> tuple[str, bool]:
    """Decode UTF-8, or UTF-16 and UTF-32 with a byte order mark; drop the mark and NUL characters.

    Bytes that are not UTF-8 are read as Windows-1252; the second value is True if there were any.
    """
    for mark, encoding in WIDE_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace").replace("\0", ""), False
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text, repaired = data.decode("utf-8"), False
    except UnicodeDecodeError:
        codecs.register_error("citebed-cp1252", _decode_as_cp1252)
        text, repaired = data.decode("utf-8", errors="citebed-cp1252"), True
    return (text.replace("\0", "") if "\0" in text else text), repaired


def read_text(chunk: Chunk) -> tuple[str, list[Problem]]:
    """Decode a chunk; return the text and a problem if it was not valid UTF-8."""
    text, repaired = decode(chunk.data)
    return text, [Problem(chunk.line, NOT_UTF8, "mended")] if repaired else []


def normalise_newlines(text: str) -> str:
    """Return text whose lines end in ``\\n``; ``\\r`` alone ends lines only without any ``\\n``."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def text_parser(
    parse: Callable[[str, Chunk], Iterator[Record]],
) -> Callable[[Chunk], Iterator[Record]]:
    """Make a parser of chunks from a parser of text, which gets decoded text with ``\\n`` lines."""

    def parse_chunk(chunk: Chunk) -> Iterator[Record]:
        text, problems = read_text(chunk)
        yield from problems
        yield from parse(normalise_newlines(text), chunk)

    return parse_chunk


def head_matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Make a ``sniff`` that matches a pattern with the start of a file."""
    return lambda head: pattern.match(normalise_newlines(head)) is not None


# --- Splitting ------------------------------------------------------------------------------


def split_lines(data: bytes) -> int:
    """Split after the last newline."""
    return data.rfind(b"\n") + 1


def split_after(pattern: re.Pattern[bytes]) -> Callable[[bytes], int]:
    """Make a ``split`` after the last match, for formats that mark the end of a record."""
    return lambda data: max((match.end() for match in pattern.finditer(data)), default=0)


def split_before(start: bytes) -> Callable[[bytes], int]:
    """Make a ``split`` before the last record, for formats that mark only the start of a record.

    ``start`` is a newline and the characters that start a record.
    """
    return lambda data: data.rfind(start) + 1
