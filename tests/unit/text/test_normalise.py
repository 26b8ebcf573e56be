"""Text, names, dates and identifiers in one form."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT

from citebed.text.normalise import (
    canonical_name,
    date_in,
    display_name,
    entity_to_text,
    family_name,
    fold,
    fold_or_none,
    html_to_text,
    iso_date,
    looks_like_url,
    month_in,
    name_from_display,
    name_from_parts,
    normalise_doi,
    page_range,
    unique,
    year_in,
)

# --- White space and letters ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("  a \t\r\n b ", "a b"),
        ("a\u00a0b\u2003c\u2028d\u3000e", "a b c d e"),
        ("e\u0301", "é"),
        ("A\u030angstro\u0308m", "Ångström"),
        ("oﬃce ﬂow ﬁne", "office flow fine"),
        ("co\u00adoperate\u200b", "cooperate"),
        ("\ufeffstart\0", "start"),
        ("a\x1cb\x85c", "a b c"),
        ("e\u200b\u0301", "é"),
        ("نامه\u200cای", "نامه\u200cای"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("x²", "x²"),
    ],
)
def test_fold(text: str, clean: str) -> None:
    assert fold(text) == clean


@given(ANY_TEXT | st.text())
def test_fold_leaves_single_blanks_and_nothing_at_the_ends(text: str) -> None:
    folded = fold(text)
    assert folded == " ".join(folded.split())
    assert fold_or_none(text) == (folded or None)


def test_nothing_is_none() -> None:
    assert fold_or_none(None) is None
    assert fold_or_none("") is None
    assert fold_or_none(" \u200b ") is None


# --- HTML -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<i>n</i><sup>2</sup>", "n^2"),
        ("10<sup>-3</sup>", "10^-3"),
        ("1<sup>st</sup>", "1st"),
        ("H<sub>2</sub>O", "H2O"),
        ("a<br/>b<p>c</p>", "a b c"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One. Two."),
        ('<a href="x">link</a>', "link"),
        ("FA + TA <FSA: a < b", "FA + TA <FSA: a < b"),
        ("std::vector<int>", "std::vector<int>"),
        ("a &amp; b &lt;i&gt; &eacute;&#233;&#xE9;", "a & b <i> ééé"),
        ("&notanentity; &copy &amp", "&notanentity; &copy &amp"),
        ("AT&T; R&D", "AT&T; R&D"),
        ("a<!-- no -->b", "ab"),
        ("a<!-- b", "a<!-- b"),
        ("a<!-- b <!-- c -->d", "a<!-- b d"),
        ("<!---->a<!-- - -- -->b", "ab"),
        ("<![CDATA[x < y]]>", "x < y"),
        ("&amp;lt;", "&lt;"),
    ],
)
def test_html(html: str, text: str) -> None:
    assert html_to_text(html) == text


def test_entities() -> None:
    assert entity_to_text("&eacute;") == "é"
    assert entity_to_text("&#0;") == "\ufffd"
    assert entity_to_text("&notit;") == "&notit;"


@given(ANY_TEXT)
def test_html_to_text_takes_anything_and_gives_clean_text(text: str) -> None:
    assert html_to_text(text) == fold(html_to_text(text))


@pytest.mark.parametrize("unit", ["<!--", "<a ", "<sup>", "<sup> 1", "&lt;", "&#1", "</", "<b:"])
def test_much_broken_html_is_read(unit: str) -> None:
    assert html_to_text(unit * ((1 << 18) // len(unit)) + " end").endswith("end")


# --- Identifiers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        (None, None),
        ("", None),
        ("10.1145/ABC.Def", "10.1145/abc.def"),
        (" 10.1145/x\n", "10.1145/x"),
        ("doi:10.1145/x", "10.1145/x"),
        ("DOI: 10.1145/x", "10.1145/x"),
        ("info:doi/10.1145/x", "10.1145/x"),
        ("https://doi.org/10.1145/x", "10.1145/x"),
        ("http://dx.doi.org/10.1145%2Fx", "10.1145/x"),
        ("www.doi.org/10.1145/x", "10.1145/x"),
        ("https://dl.acm.org/doi/abs/10.1145/x", "10.1145/x"),
        ("https://doi.org/doi:10.1145/x", "10.1145/x"),
        ("{10.1145/x}", "10.1145/x"),
        ("<https://doi.org/10.1145/x>", "10.1145/x"),
        ("10.1145/x.,;", "10.1145/x"),
        ("10.1145/...", None),
        ("10.1145/", None),
        ("10.1145/a b", None),
        ("10.1000.10/x", "10.1000.10/x"),
        ("10.12/x", None),
        ("11.1145/x", None),
        ("https://example.org/10.1145/x", None),
        (
            "10.1002/(SICI)1097-4571(1999)50:1<1::AID-ASI1>3.0.CO;2-A",
            "10.1002/(sici)1097-4571(1999)50:1<1::aid-asi1>3.0.co;2-a",
        ),
    ],
)
def test_doi(text: str | None, doi: str | None) -> None:
    assert normalise_doi(text) == doi


def test_a_megabyte_of_resolvers_is_no_doi() -> None:
    assert normalise_doi("doi:" * (1 << 18)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.b/c", True),
        (" HTTP://a", True),
        ("ftp://a/b", True),
        ("www.a.b", True),
        ("a.b/c", False),
        ("https:// a", False),
        ("", False),
    ],
)
def test_url(text: str, expected: bool) -> None:
    assert looks_like_url(text) is expected


# --- Dates ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "year"),
    [
        (None, None),
        ("", None),
        (0, None),
        (2010, 2010),
        ("c1998", 1998),
        ("in 1499 or 1500", 1500),
        ("20101", None),
        ("2100", None),
        ("2099–2100", 2099),
        ("{2010}", 2010),
    ],
)
def test_year(text: str | int | None, year: int | None) -> None:
    assert year_in(text) == year


@pytest.mark.parametrize(
    ("text", "month"),
    [
        (None, None),
        ("", None),
        (8, 8),
        ("8", 8),
        ("08", 8),
        ("12", 12),
        ("13", None),
        ("0", None),
        ("0010000", None),
        ("9" * 5000, None),
        ("aug", 8),
        ("AUGUST 12", 8),
        ("12~sept", 9),
        ("July/August", 7),
        ("Maytime", None),
        ("²", None),
    ],
)
def test_month(text: str | int | None, month: int | None) -> None:
    assert month_in(text) == month


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        ((2010, 8, 15), "2010-08-15"),
        ((2010, 8, None), "2010-08"),
        ((2010, None, 15), "2010"),
        ((2010, 13, 1), "2010"),
        ((2010, 8, 32), "2010-08"),
        ((2010, 2, 29), "2010-02"),
        ((2012, 2, 29), "2012-02-29"),
        ((None, 8, 15), None),
        ((0, 8, 15), None),
        ((10000, None, None), None),
        ((33, None, None), "0033"),
    ],
)
def test_iso_date(parts: tuple[int | None, int | None, int | None], date: str | None) -> None:
    assert iso_date(*parts) == date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (None, None),
        ("2010", "2010"),
        ("2010-08", "2010-08"),
        ("2010-8-5", "2010-08-05"),
        ("2010/08/15/", "2010-08-15"),
        ("2010-08-15T12:00:00Z", "2010-08-15"),
        ("2010-08/2010-09", "2010-08"),
        ("2010/2011", "2010"),
        ("2010-13", "2010"),
        ("2010-02-31", "2010-02"),
        ("August 2010", "2010-08"),
        ("15 Aug. 2010", "2010-08"),
        ("no date", None),
        ("20101", None),
    ],
)
def test_date(text: str | None, date: str | None) -> None:
    assert date_in(text) == date


@given(st.dates().filter(lambda day: 1500 <= day.year <= 2099))
def test_a_whole_date_is_itself(day: object) -> None:
    assert date_in(str(day)) == str(day)


@given(ANY_TEXT)
def test_a_date_found_is_a_date(text: str) -> None:
    found = date_in(text)
    if found is not None and len(found) == 10:
        time.strptime(found, "%Y-%m-%d")
    assert month_in(text) in (None, *range(1, 13))
    assert year_in(text) in (None, *range(1500, 2100))


# --- Pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("5-9", "5–9"),
        ("5--9", "5–9"),
        ("5 – 9", "5–9"),
        ("5—9", "5–9"),
        ("5\u20119", "5–9"),
        ("e12-e15", "e12–e15"),
        ("12:1-12:30", "12:1–12:30"),
        ("1.5-1.9", "1.5–1.9"),
        ("S1 -- S3", "S1–S3"),
        ("xi-xiv", "xi–xiv"),
        ("I–IV", "I–IV"),
        ("1-2, 5--9", "1–2, 5–9"),
        ("pp. 5-9", "pp. 5–9"),
        ("17", "17"),
        (" 17 ", "17"),
        ("A-12", "A-12"),
        ("2010-08-15", "2010-08-15"),
        ("5 - 9 - 12", "5 - 9 - 12"),
        ("5-", "5-"),
        ("a well-known page", "a well-known page"),
        ("", ""),
    ],
)
def test_pages(text: str, pages: str) -> None:
    assert page_range(text) == pages


# --- Names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("Knuth", "Donald E.", None), "Knuth, Donald E."),
        (("King", "Martin", "Jr."), "King, Jr., Martin"),
        (("Plato", None, None), "Plato"),
        ((None, "Plato", None), "Plato"),
        ((None, None, None), ""),
        (("Acme, Inc.", "", ""), "Acme Inc."),
        ((" van  Dam ", "A", ""), "van Dam, A"),
    ],
)
def test_name_from_parts(parts: tuple[str | None, str | None, str | None], name: str) -> None:
    assert name_from_parts(*parts) == name


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("Donald E. Knuth", "Knuth, Donald E."),
        ("Knuth, Donald E.", "Knuth, Donald E."),
        ("Knuth,Donald", "Knuth, Donald"),
        ("Laurens van der Maaten", "van der Maaten, Laurens"),
        ("Van Rijsbergen", "Rijsbergen, Van"),
        ("Plato", "Plato"),
        ("Plato,", "Plato"),
        ("Anna Muster,", "Muster, Anna"),
        ("", ""),
        (" , ", ""),
    ],
)
def test_name_from_display(shown: str, name: str) -> None:
    assert name_from_display(shown) == name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("Muster,Anna", "Muster, Anna"),
        ("Muster , , Anna ,", "Muster, Anna"),
        ("King, Jr., Martin, Luther", "King, Jr., Martin Luther"),
        (",", ""),
    ],
)
def test_canonical_name(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@pytest.mark.parametrize(
    ("name", "shown", "family"),
    [
        ("Muster, Anna", "Anna Muster", "Muster"),
        ("King, Jr., Martin", "Martin King, Jr.", "King"),
        ("Plato", "Plato", "Plato"),
        ("", "", ""),
    ],
)
def test_shown_and_family_name(name: str, shown: str, family: str) -> None:
    assert display_name(name) == shown
    assert family_name(name) == family


def test_unique() -> None:
    assert unique(["b", "", "a", "b"]) == ("b", "a")


# --- What holds for all of them -------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [fold, normalise_doi, date_in, page_range, name_from_display, canonical_name],
)
@given(text=ANY_TEXT | st.text())
def test_a_second_time_changes_nothing(function: Callable[[str], str | None], text: str) -> None:
    once = function(text)
    assert once is None or function(once) == once


@given(ANY_TEXT)
def test_a_doi_found_is_found_again_behind_a_resolver(text: str) -> None:
    doi = normalise_doi(f"10.1145/{text}")
    if doi is not None and "%" not in doi and doi == doi.strip("<>{}"):
        assert normalise_doi(f"https://doi.org/{doi}") == doi


def test_marks_without_end_take_no_time_without_end() -> None:
    """In the square of their number it would take most of an hour."""
    assert len(fold("e" + "\u0301\u0323" * 400_000)) == 30
    assert len(fold("e\u200b" + "\u0301\u0323" * 400_000)) == 30
    assert fold("a" * 5000 + "e\u0301") == "a" * 5000 + "é"
