"""Whether a text is plain is told from neighbouring bytes; here from its lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

from citebed.runs import plain_text
from citebed.runs.plain_text import separators_in

TEXT = st.text('aé#!" \t\v\f\r\n\0\x1c', max_size=40).map(str.encode)


def separators_by_lines(text: bytes, mark: bytes) -> int | None:
    """Line by line: no blank at either end, no two together, none but ``mark``, no comment."""
    found = 0
    for line in text.replace(b"\r\n", b"\n").split(b"\n"):
        fields = line.split(mark)
        if (line and not all(fields)) or line.startswith(b"#"):
            return None
        if re.search(rb"[\0-\x20]", b"".join(fields)):
            return None
        found += len(fields) - 1
    return found


@pytest.mark.parametrize("mark", [b" ", b"\t"])
@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@settings(max_examples=examples(100), deadline=None)
@given(text=TEXT)
def test_equal_to_looking_at_every_line(block: int, mark: bytes, text: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_BLOCK", block)
        assert separators_in(text, mark) == separators_by_lines(text, mark)
