"""Text, dates and pages in one form."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT

from citebed.text.normalise import (
    date_in,
    entity_to_text,
    fold,
    fold_or_none,
    html_to_text,
    iso_date,
    month_in,
    page_range,
    unique,
    year_in,
)

# --- White space and letters ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""), ("  a \t\r\n b ", "a b"), ("a\u00a0b\u2003c\u2028d\u3000e", "a b c d e"),
        ("e\u0301", "é"), ("A\u030angstro\u0308m", "Ångström"),
        ("oﬃce ﬂow ﬁne", "office flow fine"), ("co\u00adoperate\u200b", "cooperate"),
        ("\ufeffstart\0", "start"), ("a\x1cb\x85c", "a b c"), ("e\u200b\u0301", "é"),
        ("نامه\u200cای", "نامه\u200cای"), ("lone \ud800 surrogate", "lone surrogate"),
        ("x²", "x²"),
    ],
)  # fmt: skip
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
    for entity, text in (("&eacute;", "é"), ("&#233;", "é"), ("&#0;", "\ufffd")):
        assert entity_to_text(entity) == text
    for other in ("", "&", "&;", "&nope;", "&notit;"):
        assert entity_to_text(other) == other


@given(ANY_TEXT)
def test_html_to_text_takes_anything_and_gives_clean_text(text: str) -> None:
    assert html_to_text(text) == fold(html_to_text(text))


@pytest.mark.parametrize("unit", ["<!--", "<a ", "<sup>", "<sup> 1", "&lt;", "&#1", "</", "<b:"])
def test_repeated_broken_html_takes_linear_time(unit: str) -> None:
    assert html_to_text(unit * ((1 << 17) // len(unit)) + " end").endswith("end")


# --- Dates ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "year"),
    [
        (None, None), ("", None), (0, None), (2010, 2010), ("c1998", 1998),
        ("in 1499 or 1500", 1500), ("20101", None), ("2100", None), ("2099–2100", 2099),
        ("{2010}", 2010),
    ],
)  # fmt: skip
def test_year(text: str | int | None, year: int | None) -> None:
    assert year_in(text) == year


@pytest.mark.parametrize(
    ("text", "month"),
    [
        (None, None), ("", None), (8, 8), ("8", 8), ("08", 8), ("12", 12), ("13", None),
        ("0", None), ("0010000", None), ("9" * 5000, None), ("aug", 8), ("AUGUST 12", 8),
        ("12~sept", 9), ("July/August", 7), ("Maytime", None), ("²", None),
    ],
)  # fmt: skip
def test_month(text: str | int | None, month: int | None) -> None:
    assert month_in(text) == month


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        ((2010, 8, 15), "2010-08-15"), ((2010, 8, None), "2010-08"), ((2010, None, 15), "2010"),
        ((2010, 13, 1), "2010"), ((2010, 8, 32), "2010-08"), ((2010, 2, 29), "2010-02"),
        ((2012, 2, 29), "2012-02-29"), ((None, 8, 15), None), ((0, 8, 15), None),
        ((10000, None, None), None), ((33, None, None), "0033"),
    ],
)  # fmt: skip
def test_iso_date(parts: tuple[int | None, int | None, int | None], date: str | None) -> None:
    assert iso_date(*parts) == date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (None, None), ("2010", "2010"), ("2010-08", "2010-08"), ("2010-8-5", "2010-08-05"),
        ("2010/08/15/", "2010-08-15"), ("2010-08-15T12:00:00Z", "2010-08-15"),
        ("2010-08/2010-09", "2010-08"), ("2010/2011", "2010"), ("2010-13", "2010"),
        ("2010-02-31", "2010-02"), ("August 2010", "2010-08"), ("15 Aug. 2010", "2010-08"),
        ("no date", None), ("20101", None),
    ],
)  # fmt: skip
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
        ("5-9", "5–9"), ("5--9", "5–9"), ("5 – 9", "5–9"), ("5—9", "5–9"), ("5\u20119", "5–9"),
        ("e12-e15", "e12–e15"), ("12:1-12:30", "12:1–12:30"), ("1.5-1.9", "1.5–1.9"),
        ("S1 -- S3", "S1–S3"), ("xi-xiv", "xi–xiv"), ("I–IV", "I–IV"), ("1-2, 5--9", "1–2, 5–9"),
        ("pp. 5-9", "pp. 5–9"), ("17", "17"), (" 17 ", "17"), ("A-12", "A-12"),
        ("2010-08-15", "2010-08-15"), ("5 - 9 - 12", "5 - 9 - 12"), ("5-", "5-"),
        ("a well-known page", "a well-known page"), ("", ""),
    ],
)  # fmt: skip
def test_pages(text: str, pages: str) -> None:
    assert page_range(text) == pages


# --- Lists ----------------------------------------------------------------------------------


def test_unique() -> None:
    assert unique(["b", "", "a", "b"]) == ("b", "a")


# --- What holds for all of them -------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [fold, date_in, page_range],
)
@given(text=ANY_TEXT | st.text())
def test_a_second_time_changes_nothing(function: Callable[[str], str | None], text: str) -> None:
    once = function(text)
    assert once is None or function(once) == once


def test_endless_combining_marks_take_linear_time() -> None:
    """Quadratic time would take minutes here."""
    assert len(fold("e" + "\u0301\u0323" * 200_000)) == 30
    assert len(fold("e\u200b" + "\u0301\u0323" * 200_000)) == 30
    assert fold("a" * 5000 + "e\u0301") == "a" * 5000 + "é"
