"""Normalise text, HTML, dates and pages, so that all formats give the same values.

These functions never fail. All but ``html_to_text`` are idempotent; markup that was escaped twice
needs two calls.
"""

from __future__ import annotations

import calendar
import html
import re
import unicodedata
from collections.abc import Iterable
from html.entities import html5
from itertools import pairwise

from citebed.text.regex import compile_regex, limit_combining_marks

# Control and format characters without text; some scripts need the joiners U+200C and U+200D.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufffe\uffff]+"
)
_LIGATURES = tuple(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))


def fold(text: str) -> str:
    """Return the text in Unicode NFC, with single spaces, without control characters, and with
    letters for ligatures (``ﬁ``)."""
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
    # A removed character may have separated a letter from its accent.
    return unicodedata.normalize("NFC", folded)


def fold_or_none(text: str | None) -> str | None:
    """Return ``fold(text)``, or ``None`` for an empty result."""
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
# A comment ends before another begins, so one without an end takes no extra time.
_COMMENT = compile_regex(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->|<!\[CDATA\[|\]\]>")


def tag_to_text(tag: str) -> str:
    """Return a space for a tag that breaks the line, else an empty text."""
    return " " if _BLOCK.match(tag) else ""


def entity_to_text(entity: str) -> str:
    """Return the character of an HTML entity such as ``&eacute;``; unknown ones stay."""
    return html.unescape(entity) if entity.startswith("&#") else html5.get(entity[1:], entity)


def entities_to_text(text: str) -> str:
    """Return the text with characters for entities."""
    return _ENTITY.sub(lambda m: entity_to_text(m[0]), text) if "&" in text else text


def html_to_text(text: str) -> str:
    """Return plain text for HTML or JATS, without known tags and with characters for entities.

    Unknown tags are text, so ``FA + TA <FSA: …`` stays. A numeric superscript becomes a power:
    ``n<sup>2</sup>`` becomes ``n^2``.
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
    """Return the first year from 1500 to 2099 in ``text``."""
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
    """Return a year before the year 1 as a negative number: ``-51``, ``-0051``, ``44 BC``."""
    match = _BEFORE_1.fullmatch(str(text)) if text else None
    return -int(match[1] or match[2]) if match else None


def month_in(text: str | int | None) -> int | None:
    """Return the month in ``text`` (``aug``, ``August 12``, ``8``) as 1 to 12."""
    if not text:
        return None
    text = str(text).strip().lower()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) < 4 and 1 <= int(text) <= 12 else None
    return next((MONTHS[word] for word in _WORD.findall(text) if word in MONTHS), None)


def iso_date(year: int | None, month: int | None = None, day: int | None = None) -> str | None:
    """Return ``2010``, ``2010-08`` or ``2010-08-15``, up to the first unknown or invalid part."""
    if year is None or not 1 <= year <= 9999:
        return None
    if month is None or not 1 <= month <= 12:
        return f"{year:04d}"
    if day is None or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}"


def date_in(text: str | None) -> str | None:
    """Return the ISO date in ``2010``, ``2010-08-15``, ``2010/08/15/``, ``August 2010`` …"""
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
    """Return pages with en dashes: ``5-9``, ``5--9`` and ``5 – 9`` become ``5–9``.

    A page is a number, perhaps after letters (``e12``) or an article number (``12:1``), or a Roman
    number. Other text is only folded.
    """
    return _PAGE_RANGE.sub(r"\1–\2", fold(text))


# --- Lists ----------------------------------------------------------------------------------


def filled(items: Iterable[str]) -> tuple[str, ...]:
    """Return the items that are not empty, with repetitions: two people may share a name."""
    return tuple(filter(None, items))


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """Return the items that are not empty, without repetitions, in order."""
    found = dict.fromkeys(items)
    found.pop("", None)
    return tuple(found)


# --- Join words that were hyphenated at line ends -------------------------------------------------


_BREAK = compile_regex(r"(?<=\w)[-\u2010][ \t]?\r?\n\s*+(?=\w)")
_SOFT = compile_regex("\u00ad(?:[ \t]?\r?\n[ \t]*+)?")
# Match only from the start of a word; from every letter, a long word would take quadratic time.
_CHAIN = compile_regex(r"\b\w++(?:[-\u2010\u2011]\w++)++")
_WORD = compile_regex(r"\w++")
_LEFT = re.compile(r"([-\u2010\u2011]?)(\w+)$")
_RIGHT = compile_regex(r"(\w++)([-\u2010\u2011]?)")
# In "pre- and post-processing" the hyphen stands for the later word.
_SUSPENDED = frozenset(("and", "or", "to", "versus"))
# Maximum length of a word, to limit the search to the left.
_FAR = 60


def join_hyphens(text: str) -> str:
    """Return the text with the halves of words joined that were hyphenated at line ends.

    ``recommen-⏎dation`` becomes ``recommendation``. The hyphen stays if the text contains the word
    with a hyphen elsewhere, if another hyphen is next to it (``state-⏎of-the-art``), or if the
    second half does not start with a small letter (``Jensen-⏎Shannon``, ``GPT-⏎3``). Before "and"
    or "or" the hyphen stays, followed by a space. Soft hyphens are always removed.
    """
    text = _SOFT.sub("", text)
    breaks = list(_BREAK.finditer(text))
    if not breaks:
        return text
    words = {match[0].lower() for match in _WORD.finditer(text)}
    # Neighbours in hyphenated words: ``state-of-the-art`` has three pairs.
    chains = (re.split("[-\u2010\u2011]", match[0]) for match in _CHAIN.finditer(text.lower()))
    pairs = {pair for chain in chains for pair in pairwise(chain)}
    pieces, at = [], 0
    for match in breaks:
        pieces += [text[at : match.start()], _link(text, match, words, pairs)]
        at = match.end()
    return "".join([*pieces, text[at:]])


def _link(text: str, at: re.Match[str], words: set[str], pairs: set[tuple[str, str]]) -> str:
    """Return what joins the halves of a word: a hyphen, a hyphen and a space, or nothing."""
    before = _LEFT.search(text[max(0, at.start() - _FAR) : at.start()])
    after = _RIGHT.match(text, at.end())
    if before is None or after is None:  # the break is between two word characters
        return "-"
    left, right = before[2].lower(), after[1].lower()
    if right in _SUSPENDED:
        return "- "
    if (left, right) in pairs:
        return "-"
    if left + right in words:
        return ""
    if before[1] or after[2] or not after[1][0].islower() or left[-1].isdigit():
        return "-"
    return ""
