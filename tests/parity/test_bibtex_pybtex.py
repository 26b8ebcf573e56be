"""The same entries as pybtex, on real files."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from citebed.collection.formats.base import decode, normalise_newlines
from citebed.collection.formats.bibtex import parse_author_field
from citebed.collection.formats.bibtex_scanner import RawEntry, scan
from citebed.text.latex import is_plain
from citebed.text.normalise import fold, unique

pybtex_bibtex = pytest.importorskip("pybtex.database.input.bibtex")
pybtex_database = pytest.importorskip("pybtex.database")
pybtex_utils = pytest.importorskip("pybtex.bibtex.utils")

FIRST, EVERY = 15, 60
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

Fields = dict[str, str]
Simple = tuple[str, str, Fields]


def bib_files(archive: Path) -> Iterator[tuple[str, str]]:
    """The first few files and some of the others: pybtex takes its time."""
    with tarfile.open(archive) as tar:
        members = (member for member in tar if member.name.endswith(".bib"))
        for number, member in enumerate(members):
            if number < FIRST or number % EVERY == 0:
                file = tar.extractfile(member)
                assert file is not None
                yield member.name, normalise_newlines(decode(file.read())[0])


def simple(kind: str, key: str, fields: list[tuple[str, str]]) -> Simple:
    """An entry to compare: of two fields of one name the first, white space folded."""
    values: Fields = {}
    for name, value in fields:
        values.setdefault(name.lower(), " ".join(value.split()))
    return kind.lower(), key, values


def by_pybtex(text: str) -> list[Simple]:
    def fail(error: Exception) -> None:
        raise error

    parser = pybtex_bibtex.LowLevelParser(
        text, handle_error=fail, macros={month: month for month in MONTHS}
    )
    return [
        simple(kind, key, [(name, "".join(parts)) for name, parts in fields])
        for kind, (key, fields) in parser
    ]


def by_citebed(text: str) -> list[Simple]:
    entries = list(scan(text, 1, {}))
    assert all(isinstance(entry, RawEntry) and not entry.is_truncated for entry in entries)
    return [
        simple(entry.type, entry.key, list(entry.fields.items()))
        for entry in entries
        if isinstance(entry, RawEntry)
    ]


def person(text: str) -> str:
    """``von Last, Jr, First Middle`` from pybtex's parts."""
    found = pybtex_database.Person(text)
    family = " ".join(found.prelast_names + found.last_names)
    given = " ".join(found.first_names + found.middle_names)
    return fold(", ".join(filter(None, (family, " ".join(found.lineage_names), given))))


@pytest.fixture(scope="module")
def files(shared_data: Path) -> list[tuple[str, str]]:
    return list(bib_files(shared_data / "acm-cr" / "acm-dl.tar.xz"))


def test_the_same_entries(files: list[tuple[str, str]]) -> None:
    count = 0
    for name, text in files:
        ours, theirs = by_citebed(text), by_pybtex(text)
        assert len(ours) == len(theirs), name
        for mine, other in zip(ours, theirs, strict=True):
            assert mine == other, name
        count += len(ours)
    assert len(files) == 30
    assert count > 1000


def test_the_same_names(files: list[tuple[str, str]]) -> None:
    """Only names without braces and LaTeX: pybtex leaves both in names."""
    count = 0
    for _, text in files:
        for _, key, fields in by_citebed(text):
            raw = fields.get("author", "")
            if raw and is_plain(raw):
                theirs = [
                    person(part) for part in pybtex_utils.split_name_list(raw) if part != "others"
                ]
                assert parse_author_field(raw) == unique(theirs), key
                count += len(theirs)
    assert count > 1000
