"""The fast ways of reading runs and judgements against the slow one, on thousands of odd files."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.sampling import sized

from citebed.errors import FormatError
from citebed.files import lines
from citebed.runs import trec_files
from citebed.runs.trec_files import QRELS, RUN, Layout, read_trec, trec_lines

FILES = sized(120, 1000)
BOM = b"\xef\xbb\xbf"
WORDS = [b"q1", b"q2", b"a", b"b", b"Q0", b"0", "é\u0085\u00a0\u2028".encode(), b'"', b'"a', b"'",
         b"a#", b"#a", BOM + b"a", b"\\N", b"NA", b"null", b"a,b"]  # fmt: skip
NUMBERS = {
    RUN: [b"1", b"-2.5", b"1e3", b"+1", b".5", b"5.", b"1E-320", b"0.1", b"-0", b"007",
          b"1234567890.123456789", b"9" * 400],
    QRELS: [b"0", b"1", b"-1", b"+2", b"007", b"9" * 18, b"9" * 19, b"-9223372036854775808"],
}  # fmt: skip
NO_NUMBERS = [b"nan", b"inf", b"-Infinity", b"1_0", b"0x1", b"x", b"1.5", b"1e999", b"9" * 5000,
              b"--1", b"1-", b"true", b"1d3", "١".encode(), b"1e", b"\xff"]  # fmt: skip
BLANKS = [b"  ", b"\t", b" \t", b"\v", b"\f", b"\r", b" \r", b"\x1c", b"\0", b"\xc2\xa0", b""]
ENDS = [b"\r\n", b"\n\n", b"\r", b"\r\r\n", b" \n", b"\n ", b"\n\t\n", b"\r\n\r\n", b"\v\n", b"",
        b" ", b"\n\0\n", b"\n" + BOM]  # fmt: skip
REMARKS = [b"# a remark", b"#", b"#q Q0 a 1 2 t", b"#q 0 a 1", b" # a 0 b 1", b"\v#q 0 a 1",
           b"#\xff", b"#\0", BOM + b"# a", b"# Q0 a 1 2 t", b"\r#"]  # fmt: skip


def line_of(draw: random.Random, layout: Layout, blank: bytes, odd: float) -> bytes:
    """A line of the layout in which here and there something is out of order."""

    def one_of(usual: list[bytes], rare: list[bytes]) -> bytes:
        return draw.choice(rare if draw.random() < odd else usual)

    if draw.random() < odd / 2:
        return draw.choice(REMARKS)
    fields = [one_of(WORDS[:6], WORDS) for _ in layout.fields]
    value = layout.fields.index(layout.columns[2])
    fields[value] = one_of(NUMBERS[layout][:2], NUMBERS[layout] + NO_NUMBERS)
    if draw.random() < odd:
        at = draw.randrange(len(fields))
        fields[at : at + 1] = draw.choice([[], [fields[at], b"7"], [b"\xff"], fields])
    line = fields[0] if fields else b""
    for field in fields[1:]:
        line += one_of([blank], BLANKS) + field
    return line


def file_of(draw: random.Random, layout: Layout) -> bytes:
    """A small file, odd in few places or in many."""
    odd = draw.choice([0, 0.01, 0.03, 0.1])
    blank, end = draw.choice([b" ", b"\t"]), draw.choice([b"\n", b"\n", b"\r\n"])
    text = draw.choice([b"", b"", b"", BOM, b"\n", b"# a\n", b"\r\n", b" ", BOM + BOM])
    for _ in range(draw.randint(1, 8)):
        text += line_of(draw, layout, blank, odd)
        text += draw.choice(ENDS) if draw.random() < odd else end
    return text if draw.random() < 0.8 else text[: draw.randrange(len(text))]


def in_pieces(size: int) -> Callable[[BinaryIO, int], Iterator[bytes]]:
    """A way to read a stream so many bytes at a time."""
    return lambda stream, _: iter(lambda: stream.read(size), b"")


def outcome(read: Any) -> tuple[str, Any]:
    """Return the rows, or the number of the invalid line."""
    try:
        return "rows", read()
    except FormatError as error:
        return "line", error.line


@pytest.mark.parametrize("seed", range(sized(2, 6)))
def test_fast_and_slow_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, path, ways = random.Random(seed), tmp_path / "x", Counter[str]()
    for _ in range(FILES):
        layout = draw.choice([RUN, QRELS])
        monkeypatch.setattr(trec_files, "_SAMPLE", draw.choice([20, 60, 1 << 16]))
        monkeypatch.setattr(trec_files, "_BLOCK", draw.choice([1, 50, 1 << 25]))
        monkeypatch.setattr(trec_files, "_BLOCK", draw.choice([1, 50, 1 << 18]))
        monkeypatch.setattr(lines, "read_pieces", in_pieces(draw.choice([1, 20, 1 << 20])))
        text = file_of(draw, layout)
        path.write_bytes(gzip.compress(text) if draw.random() < 0.3 else text)
        slow = outcome(lambda: [row[1:] for row in trec_lines(path, layout)])  # noqa: B023
        plain = outcome(lambda: trec_files._in_blocks(path, layout))  # noqa: B023
        if plain[0] == "rows" and plain[1] is not None and plain[1].height:
            assert ("rows", plain[1].select(layout.columns).rows()) == slow, text
            ways["in blocks"] += 1
        fast = outcome(lambda: read_trec(path, layout).select(layout.columns).rows())  # noqa: B023
        ways[fast[0]] += 1
        if fast != ("line", None):  # that error means an empty or binary file
            assert fast == slow, text
        else:
            assert not text or b"\0" in text or slow == ("rows", [])
    assert min(ways.values()) > FILES / 10, ways
