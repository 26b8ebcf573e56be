"""Reading KBA's lines at once against reading them one by one, on thousands of odd files."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import sized

from citebed.errors import FormatError
from citebed.files.lines import read_blocks
from citebed.runs import kba_files as kba_format
from citebed.runs import trec_files
from citebed.runs.kba_files import (
    RUN_FORM,
    SHORT_FORM,
    Fields,
    read_at_once,
    read_filter_run,
    read_judgements,
    read_one_by_one,
)

FILES = sized(120, 900)
BOM = b"\xef\xbb\xbf"
EPOCHS = [b"1323450574-47f2", b"1323450575-a", b"-000003600-x", b"99999-x", b"1000000000-\xc3\xa9"]
NO_EPOCHS = [
    b"1323450574", b"1323450574-", b"2011-12-09-a", b"+123456789-x", b"9999-x", b"a",
    b"999999999999-x", b"1323450574_x", b"\xe2\x81\xb0323450574-x", b"12345678901234-x",
]  # fmt: skip
SCORES = [b"1000", b"1", b"370.5", b"1e2", b".5", b"5.", b"+7", b"0" * 5000 + b"1", b"1e-300"]
NO_SCORES = [
    b"0", b"1001", b"-5", b"nan", b"inf", b"1_0", b"high", b"9" * 5000, b"1e", b"1e-400",
    "١".encode(), b"0x1", b"1d2", b"Infinity", b"1000.0000000000001", b"1e99999",
]  # fmt: skip
RATINGS = [b"1", b"2", b"-1", b"0", b"+1", b"01", b"-01", b"-0"]
NO_RATINGS = [b"-", b"None", b"NA", b"null", b"3", b"good", b"1.0", b"0001", b"9" * 5000, b"--1"]
WORDS = [
    b"CWI", b"E", b"Aharon_Barak", b"#E", b'"', b'"E', "é\u00a0\u2028\u0085".encode(), b"\x1c",
    BOM + b"E", b"1", b"0", b"\\N", b"null", b"a,b", b"'",
]  # fmt: skip
MENTIONS = [b"1", b"0", b"-", b"true", b"", b"2"]
BLANKS = [b"  ", b"\t", b" \t ", b"\v", b"\f", b"\r", b" \r", b"\x1c", b"\0", b"\xc2\xa0", b"\xff"]
ENDS = [b"\r\n", b"\n\n", b"\r", b"\r\r\n", b" \n", b"\n  ", b"\n\t\n", b"\t\r\n", b"\v\n", b"",
        b"\n \n", b"\n\0\n", b"\n" + BOM, b"\n" + b" " * 12, b"   \n"]  # fmt: skip
REMARKS = [b"# a remark", b"#", b"#{}", b"   # far in", b"#\xff", b"#\0", b"# a\rb c", BOM + b"# a",
           b"#E 1323450574-a 5 1 1", b"\v#"]  # fmt: skip
HEADS = [b"", b"", b"", b"", BOM, b'#{"team_id": "x"}\n', b"\n", b"# a\r\n", b" ", BOM + BOM,
         b"  \n  ", b"#" + b'{"a":' * 5000 + b"\n", b"# a\r", b"#{\n#}\n#x\n"]  # fmt: skip


def line_of(draw: random.Random, form: Fields, blank: bytes, odd: float) -> bytes:
    """A line of a form in which here and there something is out of order."""

    def one_of(usual: list[bytes], rare: list[bytes]) -> bytes:
        return draw.choice(rare if draw.random() < odd else usual)

    if draw.random() < odd / 2:
        return draw.choice(REMARKS)
    values = {
        "doc_id": one_of(EPOCHS[:2], EPOCHS + NO_EPOCHS),
        "score": one_of(SCORES[:3], SCORES + NO_SCORES),
        "rating": one_of(RATINGS[:4], RATINGS + NO_RATINGS),
        "contains_mention": one_of(MENTIONS[:3], MENTIONS),
    }
    fields = [values.get(name) or one_of(WORDS[:3], WORDS) for name in form]
    fields += [b"2011-12-09-17", b"NULL", b"-1", b"0-0"][: draw.choice([0, 1, 1, 4])]
    if draw.random() < odd:
        at = draw.randrange(len(fields))
        fields[at : at + 1] = draw.choice([[], [fields[at], b"7"], [b"\xff"], fields])
    indent = one_of([b""], [b" ", b"  ", b"   ", b"\t", b" " * 9, b"\v ", b"\r"])
    return indent + fields[0] + b"".join(one_of([blank], BLANKS) + field for field in fields[1:])


def file_of(draw: random.Random, form: Fields) -> bytes:
    """A small file, odd in few places or in many."""
    odd = draw.choice([0, 0.01, 0.03, 0.1])
    blank, end = draw.choice([b" ", b" ", b"\t", b"  "]), draw.choice([b"\n", b"\n", b"\r\n"])
    text = draw.choice(HEADS)
    for _ in range(draw.randint(1, 8)):
        text += line_of(draw, form, blank, odd)
        text += draw.choice(ENDS) if draw.random() < odd else end
    return text if draw.random() < 0.8 else text[: draw.randrange(len(text))]


def outcome(read: Any, path: Path) -> Any:
    """Return the table, or the number of the invalid line."""
    try:
        return read(path).table
    except FormatError as error:
        return error.line


@pytest.mark.parametrize("seed", range(sized(2, 6)))
def test_at_once_and_one_by_one_agree(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, path, ways = random.Random(seed), tmp_path / "x", Counter[str]()
    for _ in range(FILES):
        form, rated = draw.choice([(RUN_FORM, False), (RUN_FORM, True), (SHORT_FORM, True)])
        text = file_of(draw, form)
        path.write_bytes(text if draw.random() < 0.9 else gzip.compress(text, 1))
        monkeypatch.setattr(kba_format, "_BLOCK", draw.choice([1, 90, *3 * [1 << 25]]))
        monkeypatch.setattr(trec_files, "_BLOCK", draw.choice([1, 50, 1 << 18]))
        read = read_judgements if rated else read_filter_run
        try:
            head = kba_format._read_head(path, form)
        except FormatError:
            assert not text.removeprefix(BOM).strip(), text
            continue
        if rated:
            form = RUN_FORM if len(head.fields) >= len(RUN_FORM) else SHORT_FORM
        (block,) = read_blocks(path, 1 << 25)
        slow, problems = read_one_by_one(block, form, rated)
        fast = read_at_once(block.data, form, rated)
        if fast is not None:
            assert not problems, text
            assert fast.equals(slow), text
            ways["at once"] += 1
        expected = read(path, strict=False)
        columns = expected.table.columns
        if rated:
            slow = slow.with_columns(
                relevance=slow["rating"].cast(expected.table["relevance"].dtype)
            )
        assert expected.table.equals(slow.select(columns)), text
        told = [problem for problem in expected.problems if problem.kind != "mended"]
        assert told == problems, text
        strict = outcome(read, path)
        if problems:
            assert strict == problems[0].line, text
        else:
            assert strict.equals(expected.table), text
        ways["problems" if problems else "right"] += 1
    assert min(ways.values()) > FILES / 5, ways
