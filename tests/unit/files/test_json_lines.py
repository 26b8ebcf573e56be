"""JSON Lines, and lines that are not JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.errors import FormatError
from citebed.files.lines import parse_json_object


def test_an_object_comes_back() -> None:
    line = r'{"a": "\ud83d\ude00 \\ud800", "b": [1.5, null]}'
    assert parse_json_object(Path("x"), 1, line, "") == {"a": "😀 \\ud800", "b": [1.5, None]}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "is not JSON"),
        ("[1]", "found no JSON object"),
        ('"{}"', "found no JSON object"),
        ("[" * 100_000, "is not JSON"),
        ('{"a":' * 100_000, "is not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "is not JSON"),
        (r'{"a": "\ud800"}', r"\\ud800 is half a character"),
        (r'{"a": ["x", {"b": "\uDFFFx"}]}', r"\\udfff is half a character"),
        (r'{"\ud800": 1}', r"\\ud800 is half a character"),
    ],
)
def test_lines_that_are_not_objects_are_reported_with_their_numbers(line: str, what: str) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        parse_json_object(Path("x"), 3, line, "Expected an object.")
    assert caught.value.line == 3
