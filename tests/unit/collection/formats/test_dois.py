"""ACM-CR's ``.dois`` lists."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from citebed.collection.formats.acm_cr import DOIS
from citebed.collection.formats.base import Chunk
from citebed.records import Problem, Record, Reference, ReferenceList


def parse(text: str | bytes, line: int = 1) -> list[Record]:
    data = text.encode() if isinstance(text, str) else text
    return list(DOIS.parse(Chunk(data, "x.dois", line)))


def test_lines_of_every_kind() -> None:
    text = (
        "[1]\t10.1145/ABC.1\tCHI\n"
        "-[2]\tNone\n"
        "\n"
        "-[3] https://example.org/x  blog-12\r\n"
        "[4]\t www.example.org/y \n"
        "- [5]\tN/A\t\n"
        "[6] \tsome:key\tvenue with blanks"
    )
    assert parse(text) == [
        ReferenceList(
            (
                Reference("1", doi="10.1145/abc.1", raw="10.1145/ABC.1"),
                Reference("2"),
                Reference("3", url="https://example.org/x", raw="https://example.org/x"),
                Reference("4", url="www.example.org/y", raw="www.example.org/y"),
                Reference("5"),
                Reference("6", doc_id="some:key", raw="some:key"),
            )
        )
    ]


def test_bad_lines_are_named() -> None:
    *problems, references = parse("[1]\tNone\nwhat is this\n[2]\n[1]\tNone\n[3]\t0.1145/7\n", 11)
    assert [(p.line, p.kind) for p in problems if isinstance(p, Problem)] == [
        (12, "skipped"),
        (13, "mended"),
        (14, "mended"),
        (15, "mended"),
    ]
    assert references == ReferenceList(
        (Reference("1"), Reference("2"), Reference("3", doc_id="0.1145/7", raw="0.1145/7")), 11
    )


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xff\xfe", b"no list at all"])
def test_nothing_to_read(data: bytes) -> None:
    assert {type(record) for record in parse(data)} == {Problem}


@pytest.mark.parametrize(
    ("target", "expected", "is_reported"),
    [
        ("https://doi.org/10.1145/X", Reference("1", doi="10.1145/x"), False),
        ("ftp://example.org/x", Reference("1", url="ftp://example.org/x"), False),
        ("10.1145/", Reference("1", doc_id="10.1145/"), True),
        ("doi:unknown", Reference("1", doc_id="doi:unknown"), True),
        ("P05-1001", Reference("1", doc_id="P05-1001"), False),
    ],
)
def test_targets(target: str, expected: Reference, is_reported: bool) -> None:
    *problems, references = parse(f"[1]\t{target}\n")
    assert references == ReferenceList((expected._replace(raw=target),))
    assert bool(problems) == is_reported


def test_real_lists(shared_data: Path) -> None:
    kinds: Counter[str] = Counter()
    problems = []
    paths = sorted((shared_data / "acm-cr" / "papers").glob("*/*.dois"))
    for path in paths:
        assert DOIS.sniff(path.read_text()[:4096])
        for record in DOIS.parse(Chunk(path.read_bytes(), str(path))):
            if isinstance(record, Problem):
                problems.append((path.name, record.line, record.kind))
            elif isinstance(record, ReferenceList):
                for r in record.references:
                    kinds["doi" if r.doi else "url" if r.url else "key" if r.doc_id else "-"] += 1
    assert len(paths) == 50
    assert kinds == {"doi": 1283, "url": 299, "key": 1, "-": 8}
    assert problems == [("3397271.3401333.dois", 14, "mended")]
