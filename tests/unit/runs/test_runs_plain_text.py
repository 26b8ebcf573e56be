"""Blanks are counted in blocks, with their neighbours; here byte by byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

from citebed.runs import trec_files
from citebed.runs.trec_files import blanks_in

TEXT = st.text('aé#!" \t\v\f\r\n\0\x1c', max_size=40).map(str.encode)


def blanks_one_by_one(text: bytes) -> int | None:
    """Byte by byte: none is first or behind another; and line by line: none is a comment."""
    is_blank = [True, *(byte <= 0x20 for byte in text)]
    if any(one and other for one, other in pairwise(is_blank)):
        return None
    if any(line.startswith(b"#") for line in text.split(b"\n")):
        return None
    return sum(is_blank[1:])


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@settings(max_examples=examples(200), deadline=None)
@given(text=TEXT)
def test_equal_to_looking_at_every_byte(block: int, text: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec_files, "_BLOCK", block)
        assert blanks_in(text) == blanks_one_by_one(text)
