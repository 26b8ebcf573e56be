"""Names that are not valid text are escaped wherever they are printed or stored."""

from __future__ import annotations

import json
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from citebed.wording import for_terminal, json_text, printable


def test_bytes_that_are_not_text_are_spelled() -> None:
    assert printable(os.fsdecode(b"caf\xe9.run")) == "caf\\xe9.run"
    assert printable("\ud800") == "\\ud800"
    assert printable("caf\\udce9") == "caf\\udce9"
    assert printable(Path("café")) == "café"


@given(st.text(st.characters(codec=None)))
def test_json_has_what_is_printable(text: str) -> None:
    whole = json_text({text: [text]})
    whole.encode()
    assert json.loads(whole) == {printable(text): [printable(text)]}


def test_json_has_no_infinite_numbers() -> None:
    odd = [float("inf"), -float("inf"), float("nan"), 1.5]
    whole = json_text({"a": odd, "b": (odd[0], "é"), "c": {"d": odd[1]}})
    assert json.loads(whole, parse_constant=lambda _: "no JSON") == {
        "a": [None, None, None, 1.5], "b": [None, "é"], "c": {"d": None}
    }  # fmt: skip


def test_a_terminal_is_told_nothing_by_a_file() -> None:
    assert for_terminal("a\x1b[31mb\x07\x9bc\n\td é") == "a\\x1b[31mb\\x07\\x9bc\n\td é"
