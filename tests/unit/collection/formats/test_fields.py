"""Functions that all formats share: ids, names, pages, and text from bytes."""

from __future__ import annotations

import re

import pytest

from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import (
    NOT_UTF8,
    Chunk,
    normalise_newlines,
    read_text,
    split_after,
)
from citebed.collection.formats.fields import (
    format_pages,
    generate_key,
    is_name_suffix,
    is_organisation,
    remove_spaces,
    strip_zeros,
)
from citebed.records import Problem


def test_ids_of_one_word_and_numbers() -> None:
    assert remove_spaces(" my\town  key ") == "my_own_key"
    assert [strip_zeros(name) for name in ("007", "000", "07a", "٠١", "")] == [
        *("7", "0", "07a", "٠١", "")
    ]


@pytest.mark.parametrize(
    ("names", "year", "title", "made"),
    [
        (["O'Neill, Zoë", "Other"], 2010, "Trees, and more", "oneill-2010-trees"),
        ([], "2010", "Trees", "2010-trees"),
        (["Müller"], None, "…", "müller"),
        ([], None, "", ""),
    ],
)
def test_made_up_ids(names: list[str], year: int | str | None, title: str, made: str) -> None:
    assert generate_key(names, year, title) == made


def test_names() -> None:
    assert [is_name_suffix(part) for part in ("Jr.", "III", "PhD", "Anna")] == [
        True,
        True,
        True,
        False,
    ]
    assert is_organisation("Fruit Research Group")
    assert is_organisation("One Two Three Four Five")
    assert not is_organisation("Anna van der Muster")


def test_pages() -> None:
    pages = [("1", "9"), ("1", "1"), ("1", None), (None, "9"), ("", None)]
    assert [format_pages(*ends) for ends in pages] == ["1–9", "1", "1", "9", None]


def test_line_ends_are_made_one() -> None:
    assert normalise_newlines("a\r\nb\nc\rd") == "a\nb\nc\rd"
    assert normalise_newlines("a\rb") == "a\nb"


def test_bytes_that_are_not_utf_8_are_read_and_noted_also_after_a_mark() -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        noted = [Problem(7, NOT_UTF8, "mended")]
        assert read_text(Chunk(mark + b"caf\xe9", "x", 7)) == ("café", noted)
        assert read_text(Chunk(mark + "café".encode(), "x")) == ("café", [])


def test_cut_after_the_last_match() -> None:
    assert split_after(re.compile(b"b"))(b"abcbd") == 4
    assert split_after(re.compile(b"x"))(b"abcbd") == 0


@pytest.mark.parametrize(
    ("doi", "told"),
    [
        ("1015/DC1", True),
        ("http://www.example.org/article/B6VC5-4HV74TJ-1", True),
        ("see the publisher's page", True),
        *(("n/a", False), ("N.A.", False), ("-", False), ("", False), ("{}", False)),
        *(("None", False), ("10.5072/x", False), ("doi:", False), ("unknown", False)),
    ],
)
@pytest.mark.parametrize(
    ("format", "form"),
    [
        ("bibtex", "@misc{{a, title={{Of Sheep}}, doi={{{}}}}}"),
        ("ris", "TY  - JOUR\nID  - a\nTI  - Of Sheep\nDO  - {}\nER  - \n"),
        ("csv", 'id,title,year,doi\na,Of Sheep,2001,"{}"\n'),
        ("csl-json", '[{{"id": "a", "type": "book", "title": "Of Sheep", "DOI": "{}"}}]'),
    ],
)
def test_a_field_that_holds_no_doi_is_reported(
    format: str, form: str, doi: str, told: bool
) -> None:
    records = list(FORMATS[format].parse(Chunk(form.format(doi).encode(), "x")))
    said = [record.what for record in records if isinstance(record, Problem)]
    assert said == ([f"a: '{doi}' is not a DOI and was left out"] if told else [])
    assert len(records) == 1 + told
