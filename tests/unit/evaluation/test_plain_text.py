"""Whether a text is plain is told from neighbouring bytes; here from its lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citebed.evaluation import plain_text
from citebed.evaluation.plain_text import stays_plain

TEXT = st.text('a#!" \t\v\f\r\n', max_size=40).map(str.encode)


def plain_by_lines(text: bytes) -> bool:
    """Line by line: no blank at either end, no two together, no line that starts with #."""
    for line in text.split(b"\n"):
        bare = line.removesuffix(b"\r").translate(bytes.maketrans(b"\t\v\f", b"   "))
        if b"  " in bare or bare != bare.strip(b" "):
            return False
        if line.startswith(b"#"):
            return False
    return True


@pytest.mark.parametrize("mapped", [1, 4, 1 << 25])
@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@settings(max_examples=100, deadline=None)
@given(text=TEXT.filter(lambda text: b"\r" not in text.replace(b"\r\n", b"\n")))
def test_equal_to_looking_at_every_line(
    mapped: int, block: int, text: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("plain") / "x.run"
    path.write_bytes(b"a" + text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_BLOCK", block)
        patch.setattr(plain_text, "_MAPPED", mapped)
        assert stays_plain(path, 0) == plain_by_lines(b"a" + text)


def test_what_stands_before_the_beginning_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a  b\nc d\n")
    assert not stays_plain(tmp_path / "x", 0)
    assert stays_plain(tmp_path / "x", 4)
    assert stays_plain(tmp_path / "x", 9)
