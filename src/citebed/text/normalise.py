"""Small, total functions that bring text, dates and pages to one form.

Every reader of an outside format uses these, so that the same paper looks the same wherever
it was read. All of them but ``html_to_text`` are idempotent: markup that was escaped twice takes
two readings.
"""

from __future__ import annotations

import calendar
import html
import re
import unicodedata
from collections.abc import Iterable
from html.entities import html5

from citebed.text.regex import compile_regex, limit_combining_marks

# Control and format characters that carry no text; joiners (U+200C, U+200D) do, in some scripts.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufffe\uffff]+"
)
_LIGATURES = tuple(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))


def fold(text: str) -> str:
    """Unicode NFC, runs of white space as one blank, none at the ends, no control characters;
    printers' ligatures (``ﬁ``) as letters."""
    if not text.isascii():
        for ligature, letters in _LIGATURES:
            if ligature in text:
                text = text.replace(ligature, letters)
        text = limit_combining_marks(text)
        if not unicodedata.is_normalized("NFC", text):
            text = unicodedata.normalize("NFC", text)
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    folded = limit_combining_marks(" ".join(_INVISIBLE.sub("", text).split()))
    # What was taken out may have kept a letter apart from its accent.
    return unicodedata.normalize("NFC", folded)


def fold_or_none(text: str | None) -> str | None:
    """``fold``, with nothing left given as ``None``."""
    return (fold(text) or None) if text else None


# --- HTML -----------------------------------------------------------------------------------

_INLINE_TAGS = (
    "i|em|b|bi|strong|u|s|a|tt|code|big|small|span|font|sup|sub|inf|scp|sc|smallcaps|it|italic"
    "|bold|roman|underline|overline|monospace|emphasis|literal|subscript|superscript"
    "|inline-formula|tex-math|tex|inlineequation|equationsource|math|mrow|mi|mn|mo|msup|msub|mfrac"
    "|mtext|mstyle|named-content|externalref|refsource|reftarget|xref|ext-link|styled-content"
    "|fixed-case|abbr|cite|q|label|fn|alternatives"
)
_BLOCK_TAGS = (
    "p|br|div|ul|ol|li|hr|h[1-6]|title|sec|list|list-item|abstract|table|tr|td|th|blockquote"
    "|disp-formula|para|section"
)
TAG_PATTERN = rf"</?(?:\w+:)?(?:{_INLINE_TAGS}|{_BLOCK_TAGS})(?:\s[^<>]*)?/?>"
ENTITY_PATTERN = r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"

_TAG = re.compile(TAG_PATTERN, re.IGNORECASE)
_BLOCK = re.compile(rf"</?(?:\w+:)?(?:{_BLOCK_TAGS})\b", re.IGNORECASE)
_POWER = compile_regex(
    r"<(?:\w+:)?(?:sup|superscript)>\s*+([-+−]?+\d++)\s*+</(?:\w+:)?(?:sup|superscript)>",
    re.IGNORECASE,
)
_ENTITY = re.compile(ENTITY_PATTERN)
# A comment ends before another begins: one that is never closed costs no second look.
_COMMENT = compile_regex(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->|<!\[CDATA\[|\]\]>")


def tag_to_text(tag: str) -> str:
    """What a known tag leaves behind: a blank for one that breaks the line, else nothing."""
    return " " if _BLOCK.match(tag) else ""


def entity_to_text(entity: str) -> str:
    """The character of an HTML entity such as ``&eacute;``; an unknown one stays as it is."""
    return html.unescape(entity) if entity.startswith("&#") else html5.get(entity[1:], entity)


def entities_to_text(text: str) -> str:
    """The text with its entities resolved."""
    return _ENTITY.sub(lambda m: entity_to_text(m[0]), text) if "&" in text else text


def html_to_text(text: str) -> str:
    """Plain text of a string with HTML or JATS markup: known tags removed, entities resolved.

    Only tags of a known name are taken as tags, so ``FA + TA <FSA: …`` stays. A numeric
    superscript becomes a power: ``n<sup>2</sup>`` is ``n^2``.
    """
    if "<" in text:
        text = _POWER.sub(r"^\1", _COMMENT.sub("", text))
        text = _TAG.sub(lambda m: tag_to_text(m[0]), text)
    return fold(entities_to_text(text))


# --- Dates ----------------------------------------------------------------------------------

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
MONTHS = {
    name: number
    for number, month in enumerate(_MONTH_NAMES, start=1)
    for name in (month[:3], month, *(["sept"] if number == 9 else []))
}
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_ISO = re.compile(
    r"(1[5-9]\d\d|20\d\d)(?:[-/](0?[1-9]|1[0-2])(?:[-/](0?[1-9]|[12]\d|3[01]))?)?(?!\d)"
)
_WORD = re.compile(r"[A-Za-z]+")


def year_in(text: str | int | None) -> int | None:
    """The first plausible year (1500 to 2099) in ``text``."""
    if not text:
        return None
    match = _YEAR.search(str(text))
    return int(match[1]) if match else None


_BEFORE_1 = re.compile(
    r"\W*?(?:ca?\.?|circa|about|um)?\s*(?:[-−–]0*([1-9]\d{0,3})|0*([1-9]\d{0,3})\s*"
    r"(?:b\.?\s?c\.?(?:\s?e\.?)?|v\.?\s?chr\.?|av\.?\s?j\.?-?c\.?|a\.?\s?c\.))(?:-\d\d){0,2}\s*",
    re.IGNORECASE,
)


def year_before_1(text: str | int | None) -> int | None:
    """A year before the year 1, as a negative number: ``-51``, ``-0051``, ``44 BC``."""
    match = _BEFORE_1.fullmatch(str(text)) if text else None
    return -int(match[1] or match[2]) if match else None


def month_in(text: str | int | None) -> int | None:
    """The month that ``text`` names (``aug``, ``August 12``, ``8``), as 1 to 12."""
    if not text:
        return None
    text = str(text).strip().lower()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) < 4 and 1 <= int(text) <= 12 else None
    return next((MONTHS[word] for word in _WORD.findall(text) if word in MONTHS), None)


def iso_date(year: int | None, month: int | None = None, day: int | None = None) -> str | None:
    """``2010``, ``2010-08`` or ``2010-08-15``, as far as the parts are known and in range."""
    if year is None or not 1 <= year <= 9999:
        return None
    if month is None or not 1 <= month <= 12:
        return f"{year:04d}"
    if day is None or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}"


def date_in(text: str | None) -> str | None:
    """An ISO date read from ``2010``, ``2010-08-15``, ``2010/08/15/``, ``August 2010`` …"""
    if not text:
        return None
    if (match := _ISO.match(text.strip())) is not None:
        year, month, day = match.groups()
        return iso_date(int(year), int(month) if month else None, int(day) if day else None)
    return iso_date(year_in(text), month_in(text))


# --- Pages ----------------------------------------------------------------------------------

_PAGE = r"(?:[A-Za-z]{0,4}+\.?+\d++(?:[:.]\d++)*+[A-Za-z]?+|[ivxlc]++|[IVXLC]++)"
_PAGE_RANGE = compile_regex(
    rf"(?<![\w:.‐-—-])(?<![‐-—-] )({_PAGE}) ?(?:-{{1,3}}+|[‐-—]) ?({_PAGE})(?![\w:]| ?[‐-—-])"
)


def page_range(text: str) -> str:
    """Pages with an en dash in their ranges: ``5-9``, ``5--9`` and ``5 – 9`` are ``5–9``.

    A page is a number, perhaps with letters (``e12``) or an article's number (``12:1``) before
    it, or a Roman number. Other text stays as it is, folded.
    """
    return _PAGE_RANGE.sub(r"\1–\2", fold(text))


# --- Lists ----------------------------------------------------------------------------------


def filled(items: Iterable[str]) -> tuple[str, ...]:
    """The items without blanks: of names, two that are the same are of two people."""
    return tuple(filter(None, items))


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The items without blanks and repetitions, in their first order."""
    found = dict.fromkeys(items)
    found.pop("", None)
    return tuple(found)
