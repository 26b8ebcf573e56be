"""Long texts in blocks of whole lines, whatever breaks them off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import FormatError
from citebed.files import lines as module
from citebed.files.lines import Block, split_blocks


@given(st.lists(st.binary(max_size=9)), st.integers(1, 20))
def test_blocks_are_whole_lines_with_their_numbers(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    found = list(split_blocks(pieces, "x", size, 5))
    assert b"".join(block.data for block in found) == data
    assert all(block.data.endswith(b"\n") for block in found[:-1])
    line = 5
    for block in found:
        lines = block.data.removesuffix(b"\n").count(b"\n") + 1
        assert (block.first_line, block.lines) == (line, lines)
        line += block.lines


def broken() -> Iterator[bytes]:
    yield b"one\ntwo\nth"
    raise FormatError("x", None, "cut short")


def test_what_stands_before_damage_is_given_and_the_damage_has_its_line() -> None:
    found = split_blocks(broken(), "x", 1 << 20)
    assert next(found) == Block(b"one\ntwo\n", 1, 2)
    with pytest.raises(FormatError, match="x:3: cut short"):
        next(found)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", 1 << 10)

    def endless() -> Iterator[bytes]:
        yield b"one\n"
        while True:
            yield b"x" * 100

    found = split_blocks(endless(), "x", 64)
    assert next(found).data == b"one\n"
    with pytest.raises(
        FormatError, match=r"x:2: has a line longer than 1,024 bytes.*CITEBED_MAX_BYTES"
    ):
        next(found)
