"""Small, total functions that bring text, names, dates and identifiers to one form.

Every reader of an outside format uses these, so that the same paper looks the same wherever
it was read. All of them but ``html_to_text`` and ``display_name`` are idempotent: markup that was
escaped twice takes two readings.
"""

from __future__ import annotations

import calendar
import html
import re
import unicodedata
from collections.abc import Iterable
from html.entities import html5
from urllib.parse import unquote

from citebed.patterns import compiled, with_few_marks

# Control and format characters that carry no text; joiners (U+200C, U+200D) do, in some scripts.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u2060\ufeff"
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
        text = with_few_marks(text)
        if not unicodedata.is_normalized("NFC", text):
            text = unicodedata.normalize("NFC", text)
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    folded = with_few_marks(" ".join(_INVISIBLE.sub("", text).split()))
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
_POWER = compiled(
    r"<(?:\w+:)?(?:sup|superscript)>\s*+([-+−]?+\d++)\s*+</(?:\w+:)?(?:sup|superscript)>",
    re.IGNORECASE,
)
_ENTITY = re.compile(ENTITY_PATTERN)
# A comment ends before another begins: one that is never closed costs no second look.
_COMMENT = compiled(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->|<!\[CDATA\[|\]\]>")


def tag_to_text(tag: str) -> str:
    """What a known tag leaves behind: a blank for one that breaks the line, else nothing."""
    return " " if _BLOCK.match(tag) else ""


def entity_to_text(entity: str) -> str:
    """The character of an HTML entity such as ``&eacute;``; an unknown one stays as it is."""
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def html_to_text(text: str) -> str:
    """Plain text of a string with HTML or JATS markup: known tags removed, entities resolved.

    Only tags of a known name are taken as tags, so ``FA + TA <FSA: …`` stays. A numeric
    superscript becomes a power: ``n<sup>2</sup>`` is ``n^2``.
    """
    if "<" in text:
        text = _POWER.sub(r"^\1", _COMMENT.sub("", text))
        text = _TAG.sub(lambda m: tag_to_text(m[0]), text)
    if "&" in text:
        text = _ENTITY.sub(lambda m: entity_to_text(m[0]), text)
    return fold(text)


# --- Identifiers ----------------------------------------------------------------------------

_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_DOI_START = re.compile(
    r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|https?://dl\.acm\.org/doi/(?:abs/|pdf/|full/)?|doi:?\s*|info:doi/)",
    re.IGNORECASE,
)


def normalise_doi(text: str | None) -> str | None:
    """The DOI in ``text``, lower-case and without a resolver, or ``None`` if it is not a DOI.

    Accepts ``10.1145/X``, ``doi:10.1145/X`` and ``https://doi.org/10.1145/X``.
    """
    if not text:
        return None
    text = text.strip() if text.isascii() else fold(text)
    if not text.startswith("10."):
        text = _without_resolver(text)
    match = _DOI.fullmatch(text.rstrip(".,;"))
    return match[0].lower() if match else None


def _without_resolver(text: str) -> str:
    text = text.strip("<>{} ")
    for _ in range(4):  # one resolver is met often, two now and then, never five
        start = _DOI_START.match(text)
        if start is None:
            break
        text = text[start.end() :].lstrip()
        if "%2" in text:
            text = unquote(text)
    return text


def looks_like_url(text: str) -> bool:
    """Whether a reference that is no DOI is an address."""
    return re.match(r"(?:https?|ftp)://\S+|www\.\S+", text.strip(), re.IGNORECASE) is not None


# --- Dates ----------------------------------------------------------------------------------

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "september", "sept"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        start=1,
    )
    for name in names
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
_PAGE_RANGE = compiled(
    rf"(?<![\w:.‐-—-])(?<![‐-—-] )({_PAGE}) ?(?:-{{1,3}}+|[‐-—]) ?({_PAGE})(?![\w:]| ?[‐-—-])"
)


def page_range(text: str) -> str:
    """Pages with an en dash in their ranges: ``5-9``, ``5--9`` and ``5 – 9`` are ``5–9``.

    A page is a number, perhaps with letters (``e12``) or an article's number (``12:1``) before
    it, or a Roman number. Other text stays as it is, folded.
    """
    return _PAGE_RANGE.sub(r"\1–\2", fold(text))


# --- Names and lists ------------------------------------------------------------------------


def name_from_parts(family: str | None, given: str | None = None, suffix: str | None = None) -> str:
    """``Family, Given`` or ``Family, Suffix, Given``; a lone part stands by itself."""
    parts = [fold(part or "").replace(",", "") for part in (family, suffix, given)]
    if not parts[0]:
        parts = [parts[2], parts[1], ""]
    return ", ".join(part for part in map(str.strip, parts) if part)


_PARTICLES = frozenset(
    "von van der den de del della di da dos das du la le ten ter zu zur af av al bin ibn".split()  # noqa: SIM905
)


def name_from_display(name: str) -> str:
    """``Family, Given`` from a name as it is printed (``Given Family``, ``Family, Given``).

    The last word is the family name, with the particles (``van der``) before it.
    """
    name = fold(name).strip(" ,")
    if "," in name:
        return canonical_name(name)
    words = name.split()
    if len(words) < 2:
        return name
    cut = len(words) - 1
    while cut > 1 and words[cut - 1].lower() in _PARTICLES:
        cut -= 1
    return f"{' '.join(words[cut:])}, {' '.join(words[:cut])}"


def canonical_name(name: str) -> str:
    """``Family``, ``Family, Given`` or ``Family, Suffix, Given``, whatever the commas were."""
    parts = [part for part in map(fold, name.split(",")) if part]
    if len(parts) > 3:
        parts = [parts[0], parts[1], " ".join(parts[2:])]
    return ", ".join(parts)


def display_name(name: str) -> str:
    """A name as it is printed: ``Given Family`` from ``Family, Given``."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 1:
        return name
    if len(parts) == 2:
        return f"{parts[1]} {parts[0]}"
    return f"{' '.join(parts[2:])} {parts[0]}, {parts[1]}"


def family_name(name: str) -> str:
    """What stands before the first comma."""
    return name.partition(",")[0]


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The items without blanks and repetitions, in their first order."""
    found = dict.fromkeys(items)
    found.pop("", None)
    return tuple(found)
