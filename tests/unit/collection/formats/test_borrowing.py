"""Limits for references inside a file (strings, ``@xdata``, ``crossref``, anchors).

Each of these texts has a few hundred bytes, and would expand to more than any machine holds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.accounting import parsed

from citebed.collection.formats import FORMATS, Chunk
from citebed.collection.formats.bibtex import collect_strings, read_xdata_context
from citebed.drafts.bibliography import bib_entries
from citebed.files.limits import Allowance
from citebed.records import Document, Problem

DOUBLED_STRINGS = '@string{a0 = "lol"}\n' + "".join(
    f"@string{{a{n} = a{n - 1} # a{n - 1}}}\n" for n in range(1, 60)
)
DOUBLED_XDATA = "@xdata{a0, author={Lol, A.}, year={2001}}\n" + "".join(
    f"@xdata{{a{n}, xdata={{a{n - 1},a{n - 1}}},"
    f" author={{xdata=a{n - 1}-author and xdata=a{n - 1}-author}}}}\n"
    for n in range(1, 60)
)
DOUBLED_ANCHORS = "- id: a0\n  title: T0\n  author: &a0\n  - family: Lol\n" + "".join(
    f"- id: a{n}\n  title: T{n}\n  author: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
)


def read(text: str, form: str = "bibtex") -> tuple[list[Document], list[Problem]]:
    records = list(FORMATS[form].parse(Chunk(text.encode(), "x")))
    problems = [record for record in records if isinstance(record, Problem)]
    return [record for record in records if isinstance(record, Document)], problems


def test_strings_that_double_are_not_followed_for_ever() -> None:
    text = f"{DOUBLED_STRINGS}@misc{{k, title = a59}}\n@misc{{next, title = a1}}\n"
    documents, problems = read(text)
    assert [document.doc_id for document in documents] == ["k", "next"]
    assert documents[1].title == "lollol"
    assert sum(len(document.bibtex or "") for document in documents) < 20 * len(text) + 200_000
    assert problems[0].kind == "mended"
    assert "string 'a" in problems[0].what
    assert "expands to too much text" in problems[0].what
    assert DOUBLED_STRINGS.split("\n")[problems[0].line - 1].startswith("@string{a")


def test_xdata_that_doubles_is_asked_once() -> None:
    documents, problems = read(f"{DOUBLED_XDATA}@misc{{k, title={{T}}, xdata={{a59}}}}\n")
    assert documents[0].year == 2001
    assert any("expands to too much text" in each.what for each in problems)


def test_a_long_chain_of_xdata_is_followed() -> None:
    chain = "".join(f"@xdata{{a{n}, xdata={{a{n - 1}}}}}\n" for n in range(1, 3000))
    text = f"@xdata{{a0, year={{2001}}}}\n{chain}@misc{{k, title={{T}}, xdata={{a2999}}}}\n"
    documents, problems = read(text)
    assert documents[0].year == 2001
    assert not problems


def test_what_earlier_pieces_lend_is_read_once_by_whatever_names() -> None:
    names = ",".join(f"n{n}" for n in range(20_000))
    macros: dict[str, str] = {}
    collect_strings(f"@xdata{{x, ids={{{names}}}, year={{2001}}}}\n".encode(), macros)
    lent = read_xdata_context(macros)
    assert lent["n19999"] is lent["x"]


@pytest.mark.parametrize(
    ("lender", "borrower"),
    [
        ("@string{{long = {{{}}}}}\n", "@misc{{k{n}, title={{T{n}}}, abstract = long}}\n"),
        ("@xdata{{x, abstract={{{}}}}}\n", "@misc{{k{n}, title={{T{n}}}, xdata={{x}}}}\n"),
    ],
)
def test_one_long_value_is_not_lent_to_thousands(lender: str, borrower: str) -> None:
    text = lender.format("word " * 20_000) + "".join(borrower.format(n=n) for n in range(3000))
    documents, problems = read(text)
    assert len(documents) == 3000
    borrowed = sum(len(document.abstract or "") for document in documents)
    assert 100_000 < borrowed <= Allowance.FREE + Allowance.TIMES * len(text) + len(text)
    assert len(problems) > 2900


def test_long_proceedings_are_not_lent_to_thousands(tmp_path: Path) -> None:
    from citebed.collection import import_sources, open_collection

    source = tmp_path / "a.bib"
    text = f"@proceedings{{p, title={{{'word ' * 20_000}}}}}\n" + "".join(
        f"@inproceedings{{k{n}, title={{T{n}}}, crossref={{p}}}}\n" for n in range(2000)
    )
    source.write_text(text)
    import_sources(tmp_path / "c", [source])
    found = open_collection(tmp_path / "c")
    assert found.documents.height == 2001
    assert found.documents["venue"].str.len_chars().sum() < 30 * len(text)
    assert found.problems["what"].str.contains("lends more than a file").sum() > 1000


def test_anchors_that_double_are_not_written_out() -> None:
    documents, problems = read(DOUBLED_ANCHORS, "csl-yaml")
    assert documents[0].authors == ("Lol",)
    assert problems[-1].what.startswith("its aliases (*name) expand to too much text")


def test_what_people_write_is_borrowed_whole() -> None:
    strings = '@string{jf = "Journal of Fruit"}\n@string{full = jf # ", " # "Series A"}\n'
    entries = "".join(f"@article{{k{n}, title={{T}}, journal = full}}\n" for n in range(2000))
    documents, problems = read(strings + entries)
    assert {document.venue for document in documents} == {"Journal of Fruit, Series A"}
    assert not problems


def test_a_drafts_bibliography_has_the_same_measure() -> None:
    text = f"{DOUBLED_STRINGS}@misc{{k, title = a59, note = a40 # a40}}\n"
    (entry,) = bib_entries(text)
    assert len(entry.title) < 20 * len(text) + 200_000


def test_a_packed_file_of_countless_records_is_refused_before_they_are_read(
    tmp_path: Path,
) -> None:
    import gzip

    path = tmp_path / "tiny.bib.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(120):
            file.write(b"@misc{a,title={b}}\n" * 50_000)
    frames, problems = parsed(path, path.name)
    assert not frames
    assert "decompression bomb" in problems[0][-1]
