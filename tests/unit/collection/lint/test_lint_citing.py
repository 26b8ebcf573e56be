"""Checks on citing papers, their paragraphs and references, and on what an import skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import polars as pl
import pytest
from tests.unit.collection.lint.kinds import Altered, Collect, Found

from citebed.collection import Collection, Rules
from citebed.collection.tables import REFERENCES

BIB = """
@article{10.1145/1.1, title={Old things}, author={Doe, J.}, year=2000}
@article{10.1145/1.2, title={New things}, author={Roe, R.}, year=2021, month=may}
@article{Key3, title={Keyed things}, author={Poe, E.}, year=2020, month=jun, doi={10.1145/1.3}}
"""


def paper(
    doi: str = "10.1145/9.9",
    *,
    contexts: str = '<context id="01"><s cites="1">It is so.</s></context>',
    references: tuple[str, ...] = ("10.1145/1.1",),
) -> str:
    listed = "".join(f'<reference id="{n}">{r}</reference>' for n, r in enumerate(references, 1))
    return (
        f"<doc>\n<doi>{doi}</doi><title>On things</title><year>2020</year>\n"
        f"<contexts>\n{contexts}\n</contexts>\n<references>{listed}</references></doc>"
    )


def test_a_citing_paper_that_is_a_document(collect: Collect, found: Found) -> None:
    files = {"a.bib": BIB, "p.xml": paper("10.1145/1.3"), "q.xml": paper()}
    assert found(collect(files), "citing-papers-inside") == [
        ("10.1145/1.3", "'On things' is document Key3")
    ]


def test_an_excluded_citing_paper_is_not_inside(collect: Collect, found: Found) -> None:
    rules = Rules(exclude=("10.1145/1.3",))
    assert (
        found(collect({"a.bib": BIB, "p.xml": paper("10.1145/1.3")}, rules), "citing-papers-inside")
        == []
    )


def test_a_citing_paper_that_was_read_twice(collect: Collect, found: Found) -> None:
    collection = collect({"p.xml": paper(), "q.xml": paper() + "\n", "r.xml": paper("10.1145/9.8")})
    ((name, what),) = found(collection, "duplicate-papers")
    assert name == "10.1145/9.9"
    assert what.endswith("p.xml:1")


def test_references_later_than_the_paper(collect: Collect, found: Found) -> None:
    files = {"a.bib": BIB, "p.xml": paper(references=("10.1145/1.1", "10.1145/1.2", "10.1145/1.3"))}
    assert found(collect(files), "later-references") == [
        ("10.1145/9.9", "of 2020, cites 10.1145/1.2 of 2021-05")
    ]


def test_later_references_are_repaired_by_the_rule(collect: Collect, found: Found) -> None:
    files = {"a.bib": BIB, "p.xml": paper(references=("10.1145/1.2",))}
    assert found(collect(files, Rules(no_future=True)), "later-references") == []


@pytest.fixture
def written(collect: Collect, altered: Altered) -> Callable[..., Collection]:
    """References as the source writes them, blanks and all."""

    def made(rules: Rules, *raw: str | None) -> Collection:
        named = tuple((text or "None").strip().lower() for text in raw)
        collection = collect({"a.bib": BIB, "p.xml": paper(references=named)}, rules)
        texts: dict[str, object] = {"raw": pl.Series(raw, dtype=pl.String)}
        if rules.references == "exact":
            letter = pl.col("raw").is_null() | (pl.col("raw") == pl.col("doc_id"))
            collection = altered(collection, "references", REFERENCES, **texts)
            texts = {"doc_id": pl.when(letter).then("doc_id")}
        return altered(collection, "references", REFERENCES, **texts)

    return made


RAW = ("10.1145/1.1", "10.1145/1.2 ", "10.1145/1.3", "KEY3", None, "10.1145/7.7 ")


def test_references_found_only_tolerantly(written: Collect, found: Found) -> None:
    rows = found(written(Rules(), *RAW), "sloppy-references")
    ending = "found because case and spaces are ignored"
    assert [what for _, what in rows] == [
        f"reference 2: '10.1145/1.2 ' is not exactly '10.1145/1.2', {ending}",
        f"reference 4: 'KEY3' is not exactly 'Key3', {ending}",
    ]


def test_references_lost_to_the_letter(written: Collect, found: Found) -> None:
    rows = found(written(Rules(references="exact"), *RAW), "sloppy-references")
    assert [what for _, what in rows] == [
        "reference 2: '10.1145/1.2 ' is not exactly '10.1145/1.2', so it is lost",
        "reference 3: '10.1145/1.3' is not exactly 'Key3', so it is lost",
        "reference 4: 'KEY3' is not exactly 'Key3', so it is lost",
    ]


@pytest.mark.parametrize("mode", ["tolerant", "exact"])
def test_references_to_the_letter_pass(
    written: Collect, found: Found, mode: Literal["tolerant", "exact"]
) -> None:
    collection = written(Rules(references=mode), "10.1145/1.1", None)
    assert found(collection, "sloppy-references") == []


def test_cites_that_the_list_does_not_have(collect: Collect, found: Found) -> None:
    contexts = '<context id="01"><s cites="1">A.</s>\n<s cites="1 7">B.</s></context>'
    collection = collect({"a.bib": BIB, "p.xml": paper(contexts=contexts)})
    assert found(collection, "unknown-cites") == [
        ("10.1145/9.9:01.2", "cites 7, which the reference list does not have")
    ]


def test_a_list_in_a_file_of_its_own_can_have_the_reference(collect: Collect, found: Found) -> None:
    contexts = '<context id="01"><s cites="1 2">A.</s></context>'
    files = {"p.xml": paper(contexts=contexts), "p.dois": "[1] 10.1145/1.1\n[2] 10.1145/1.2\n"}
    assert found(collect(files), "unknown-cites") == []


def test_a_reference_that_is_in_the_list_twice(collect: Collect, found: Found) -> None:
    twice = ("10.1145/1.3", "10.1145/1.1", "key3", "None", "None", "10.5/x", "10.5/X", "10.5/y")
    collection = collect({"a.bib": BIB, "p.xml": paper(references=twice)})
    assert found(collection, "duplicate-references") == [
        ("10.1145/9.9", "reference 3 is 1 again: Key3"),
        ("10.1145/9.9", "reference 7 is 6 again: 10.5/x"),
    ]


def test_a_reference_number_that_is_in_the_list_twice(collect: Collect, found: Found) -> None:
    text = paper().replace("</references>", '<reference id="1">10.5/z</reference></references>')
    ((_, what),) = found(collect({"p.xml": text}), "duplicate-references")
    assert what == "reference 1 is listed twice; the first is kept"


def test_two_paragraphs_with_one_id(collect: Collect, found: Found) -> None:
    one = '<context id="10"><s cites="1">A.</s></context>'
    collection = collect({"p.xml": paper(contexts=one + one), "q.xml": paper("10.1145/9.8")})
    assert found(collection, "same-context-ids") == [
        ("10.1145/9.9", "two contexts have the id 10; now 10-2")
    ]


def test_records_that_were_skipped(collect: Collect, found: Found) -> None:
    broken = BIB + "@article{lost, year = {2000\n"
    collection = collect({"a.bib": broken})
    ((name, what),) = found(collection, "records-skipped")
    assert name.endswith("a.bib")
    assert "do not close" in what
