"""Citation markers: the places where a text cites, and the references that they cite.

Markers are:

- numbers in square brackets: ``[3]``, ``[13, 14]``, ``[1-3]``, ``[1]–[4]``, ``[12, p. 5]``;
- keys in square brackets: ``[Smith19]``, ``[SJ+99]``, and the masks ``[CIT]``, ``[REF]``, ``[?]``;
- names and years: ``(Smith, 2019)``, ``[Smith et al., 2019; Lee 2020a,b]``, ``(e.g., Smith 2019)``;
- the year after a name in the text: in ``Smith et al. (2019)`` it is ``(2019)``;
- ``\\cite{…}`` and its family, Markdown's ``[@key]``, superscript digits after a word;
- round brackets that contain only markers: ``(see [3])``.

Not markers, though they look similar:

- ``[0, 1]``, because no reference has the number 0; two numbers after words or signs of intervals
  (``in the range [1, 5]``, ``x ∈ [1, 5]``); a range of 200 or more numbers;
- ``a[1]``, ``f(x)[2]``: a bracket right after a word of one or two letters is an index, except for
  short names (``Wu[1]``);
- ``(2004)``, unless it follows a name with small letters: ``at TREC (2004)`` is a date;
- ``(3)``, which is more often an equation or an item than a reference;
- ``x²``, ``km²``: superscripts after fewer than four letters are powers.

Each pattern reads a text only once, so no text takes long.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from citebed.text.names import AND, ET_AL, NAME, YEAR, skip_starters
from citebed.text.regex import compile_regex

# --- Inside the brackets --------------------------------------------------------------------

_LONGEST_RANGE = 200
_LONGEST_INSIDE = 2000
_DASH = "[-‐-―−]"

_LOCATOR = (
    r"(?i:pp?\.?|pages?|sec(?:t(?:ion)?s?)?\.?|§§?|ch(?:ap(?:ter)?s?)?\.?|figs?\.?|figures?|tables?"
    r"|theorems?|thm\.?|lemma|def(?:inition)?\.?|eqs?\.?|algorithms?|appendix|vol\.?|no\.?|s\."
    r"|rn\.|kap\.|abb\.|bd\.|anm\.|fn\.|art\.)"
    rf"\s{{0,2}}+[\dA-Z][\w.]{{0,8}}+(?:\s?{_DASH}\s?[\dA-Z][\w.]{{0,8}}+)?(?:\s?ff?\.)?"
)
_CUE = (
    r"(?:(?:but )?see(?: also)?|cf\.?|e\.?\s?g\.?|i\.?\s?e\.?|for (?:example|instance)"
    r"|for (?:a )?(?:recent )?(?:review|survey|overview)s?|such as|inter alia|among others|also"
    r"|as in|following|based on|adapted from|compare|(?:as )?(?:cited|reviewed|summari[sz]ed"
    r"|surveyed|discussed|described|shown|proposed|reported) (?:in|by)"
    r"|vgl\.?(?: (?:auch|dazu|hierzu|etwa))?|siehe(?: auch)?|s\. auch|dazu|hierzu|so(?: auch)?"
    r"|(?:so )?etwa|z\.\s?b\.|zit(?:iert|\.) (?:nach|n\.)|voir|véase)"
)
_CUES = compile_regex(rf"\s*+(?:{_CUE}(?!\w)\.?+[,:]?+\s++){{0,3}}+", re.IGNORECASE)
_NUMBER = re.compile(rf"(\d{{1,4}})[a-z]?(?:\s{{0,2}}{_DASH}{{1,2}}\s{{0,2}}(\d{{1,4}})[a-z]?)?")
_LOCATES = compile_regex(_LOCATOR)
_KEY = re.compile(r"[A-Z][A-Za-z]{0,30}[+*]?[:-]?\d{2,4}[a-z]?")
_MASK = re.compile(r"CITE?|CITATIONS?|REF|\?+(?:\s?,\s?\?+){0,20}")
_AT_KEY = re.compile(r"(?:^|[\s;])-?@(\w(?:[\w:.#$%&+?<>~/-]*\w)?)")

_WHEN = (
    rf"(?:{YEAR}[a-z]?(?:\s?\[{YEAR}\])?|in press|forthcoming|to appear|im Erscheinen"
    r"|n\.\s?d\.|o\.\s?J\.)"
)
YEARS = rf"{_WHEN}(?:\s?[,/&]\s?(?:{_WHEN}|[a-z]\b)){{0,9}}"
AUTHORS = (
    rf"(?:{NAME}(?:\s?[,/]\s?{NAME}){{0,12}}+(?:\s?,?\s{AND}\s{NAME})?+(?:\s?,?\s{ET_AL})?+"
    r"(?:['’]s?)?)"
)
_PAGES = rf"(?:\s?[,:]\s?(?:{_LOCATOR}|\d+(?:{_DASH}\d+)?(?:\s?ff?\.)?)){{0,3}}"
_CITATION = compile_regex(
    rf"(?P<authors>{AUTHORS})(?P<comma>\s?,)?\s?\(?(?P<years>{YEARS})\)?{_PAGES}"
)
_NEXT = re.compile(
    r";|(?:(?<=\d{4})|(?<=\d{4}[a-z]))(?:,? (?:and|&) |, )(?=[^\W\d_]{2})(?!\w{1,4}\.\s?\d)"
)
LONE_YEARS = compile_regex(rf"[(\[](?P<years>{YEARS}){_PAGES}[)\]]")
# Capitalised words before a year that are not authors.
_NO_AUTHOR = frozenset(
    """
    January February March April May June July August September October November December Jan Feb
    Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Spring Summer Autumn Fall Winter Version Figure Table
    Section Edition Conference Workshop Track Challenge Task Year Equation Chapter Part Windows
    Symposium
    """.split()  # noqa: SIM905
)


def cites_of(inside: str) -> tuple[str, ...] | None:
    """Return what the content of square brackets cites: ``()`` for a mask such as ``CIT``, ``None``
    if it is not a marker."""
    inside = inside.strip()
    if not inside or len(inside) > _LONGEST_INSIDE:
        return None
    if _MASK.fullmatch(inside):
        return ()
    if "@" in inside and (keys := _AT_KEY.findall(inside)):
        return tuple(keys)
    cites = numbers(inside)
    return cites if cites is not None else names_and_years(inside)


def numbers(inside: str) -> tuple[str, ...] | None:
    """Parse numbers, keys and ranges between commas, with page numbers; expand ranges."""
    cites: list[str] = []
    for part in re.split("[,;]", _without_cues(inside)):
        item = part.strip()
        if (number := _NUMBER.fullmatch(item)) is not None and number[2]:
            low, high = int(number[1]), int(number[2])
            if not 0 <= high - low < _LONGEST_RANGE:
                return None
            cites += map(str, range(low, high + 1))
        elif number or _KEY.fullmatch(item):
            cites.append(item)
        elif not cites or not _LOCATES.fullmatch(item):
            return None
    return tuple(cites)


def _without_cues(text: str) -> str:
    """Return ``Smith 2019`` for ``see, e.g., Smith 2019``."""
    match = _CUES.match(text)
    return text[match.end() :] if match else text


def names_and_years(inside: str) -> tuple[str, ...] | None:
    """Parse ``Smith, 2019; Lee 2020a,b`` into names with years."""
    cites: list[str] = []
    if len(inside) > _LONGEST_INSIDE:
        return None
    for part in _NEXT.split(" ".join(inside.split())):
        match = _CITATION.fullmatch(_without_cues(part).strip())
        if match is None or not may_be_authors(match["authors"], match["comma"] is not None):
            return None
        cites += dated(match["authors"], match["years"])
    return tuple(cites)


def may_be_authors(authors: str, comma: bool = False) -> bool:
    """Return True if the names before a year may be authors.

    Without a comma before the year they need small letters: ``TREC 2004`` is an event, ``WHO,
    2004`` an author.
    """
    words = re.findall(r"[^\W\d_]+", authors)
    if not words or words[-1] in _NO_AUTHOR or all(word[0].islower() for word in words):
        return False
    return comma or any(not word.isupper() for word in words if len(word) > 1)


def dated(authors: str, years: str) -> list[str]:
    """Return a citation for each year; a single letter repeats the year (``2020a,b``)."""
    authors = " ".join(re.sub(r"['’]s?$", "", authors).split())
    cites, year = [], ""
    for part in re.split(r"\s?[,/&]\s?", re.sub(r"\s?\[\d+\]", "", years)):
        year = part if len(part) > 1 else year[:4] + part
        cites.append(f"{authors} {year}")
    return cites


# --- Markers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marker:
    """A citation marker ``text[start:end]``.

    ``cites`` are its references in order: numbers and keys as written, expanded ranges (``[1-3]``
    cites 1, 2, 3), names with years (``Smith et al. 2019``); a mask has none.
    """

    start: int
    end: int
    cites: tuple[str, ...]


def markers(text: str) -> list[Marker]:
    """Return the citation markers of a text, in order, without nested ones."""
    commands = _matching(_CITE, text, _keys)
    raised = _matching(_RAISED, text, lambda match: numbers(match[0].translate(_PLAIN)))
    found = _outermost([*commands, *_square(text), *raised, *_years(text)])
    named = _matching(_PARENTHESIS, text, lambda match: names_and_years(match[1]))
    return _outermost([*found, *named, *_round_around(text, found)])


def _matching(
    pattern: re.Pattern[str],
    text: str,
    cites_of: Callable[[re.Match[str]], tuple[str, ...] | None],
) -> Iterator[Marker]:
    for match in pattern.finditer(text):
        if (cites := cites_of(match)) is not None:
            yield Marker(match.start(), match.end(), cites)


def _outermost(found: Iterable[Marker]) -> list[Marker]:
    kept: list[Marker] = []
    for marker in sorted(found, key=lambda marker: (marker.start, -marker.end)):
        if not kept or marker.start >= kept[-1].end:
            kept.append(marker)
    return kept


# --- LaTeX and superscripts -----------------------------------------------------------------

_CITE = compile_regex(
    r"\\(?=[A-Za-z]{0,12}cite)[A-Za-z]{4,24}+\*?+"
    r"(?:\s{0,2}+(?:\[[^\[\]{}]*+\]\s{0,2}+){0,2}+\{[^{}]*+\})++",
    re.IGNORECASE,
)
_BRACED = re.compile(r"\{([^{}]*)\}")
_DIGIT = "[⁰¹²³⁴-⁹]"
_LETTER = r"[^\W\d_⁰¹²³⁴-⁹]"
_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED = compile_regex(
    rf"(?={_DIGIT})(?:(?<={_LETTER}{{4}})|(?<={_LETTER}{{3}}[.,;:!?”’]))"
    rf"{_DIGIT}{{1,3}}+(?!{_DIGIT})(?:[,⁻–-]{_DIGIT}{{1,3}}+(?!{_DIGIT}))*+"
)


def _keys(match: re.Match[str]) -> tuple[str, ...]:
    keys = (key.strip() for group in _BRACED.findall(match[0]) for key in group.split(","))
    return tuple(filter(None, keys))


# --- Square brackets ------------------------------------------------------------------------

_BRACKET = compile_regex(r"\[([^\[\]]*+)\]")
_TO = re.compile(rf"\s?{_DASH}{{1,2}}\s?")
_YEAR = re.compile(rf"{YEAR}[a-z]?")
_INDEXED = re.compile(r"(?:(?<![^\W\d_])(?![A-Z][a-z])[^\W\d_]{1,2}|[\d_)}])$")
_INTERVAL = re.compile(
    r"(?:\b(?:ranges?|interval|scale|values?|domain|between|within|from|bounded|normali[sz]ed)"
    r"(?: (?:of|is|in|to|by|from))?|[∈=×<>≤≥])\s?$"
)


def _square(text: str) -> list[Marker]:
    items: list[Marker] = []
    no_marker = -1
    for match in _BRACKET.finditer(text):
        cites = _cites_in_text(text, match) if match.start() != no_marker else None
        if cites is None:
            no_marker = match.end()  # a bracket right after it is not a marker either: ``m[2][3]``
            continue
        marker = Marker(match.start(), match.end(), cites)
        last = items.pop() if items else None
        items += [marker] if last is None else _joined(text, last, marker)
    return items


def _cites_in_text(text: str, match: re.Match[str]) -> tuple[str, ...] | None:
    """Return what square brackets cite; ``None`` if they are not a marker in this place."""
    if (cites := cites_of(match[1])) is None:
        return None
    before = text[max(0, match.start() - 40) : match.start()]
    if _INDEXED.search(before[-3:]) or _is_interval(before, match[1], cites):
        return None
    return cites


def _is_interval(before: str, inside: str, cites: tuple[str, ...]) -> bool:
    """Return True for numbers that are not references: an interval, a list with 0, a year."""
    if "0" in cites or (len(cites) == 1 and _YEAR.fullmatch(cites[0])):
        return True
    return len(cites) == 2 and "," in inside and _INTERVAL.search(before) is not None


def _joined(text: str, left: Marker, right: Marker) -> list[Marker]:
    """Join ``[1]–[4]`` to one marker; return other markers unchanged."""
    between = text[left.end : right.start] if right.start - left.end <= 4 else ""
    if left.cites and right.cites and _TO.fullmatch(between):
        middle = numbers(f"{left.cites[-1]}-{right.cites[0]}")
        if middle is not None and len(middle) > 1:
            return [Marker(left.start, right.end, left.cites[:-1] + middle + right.cites[1:])]
    return [left, right]


# --- Names and years ------------------------------------------------------------------------

_PARENTHESIS = compile_regex(r"\(([^()]*+)\)")
_NAMED = compile_regex(rf"(?P<authors>{AUTHORS})[\s~]{{0,2}}$")
_LITTLE = compile_regex(rf"(?:(?:{_CUE}|and|or|{_LOCATOR})(?!\w)|[\s,;:.&]++)*+", re.IGNORECASE)


def _years(text: str) -> Iterator[Marker]:
    """Yield years in brackets after names."""
    for match in LONE_YEARS.finditer(text):
        before = text[max(0, match.start() - 90) : match.start()]
        if (named := _NAMED.search(before)) is not None:
            authors = before[skip_starters(before, *named.span("authors")) : named.end("authors")]
            if may_be_authors(authors):
                cites = tuple(dated(authors, match["years"]))
                yield Marker(match.start(), match.end(), cites)


def _round_around(text: str, found: list[Marker]) -> Iterator[Marker]:
    """Yield round brackets that contain only markers and words such as "see"."""
    starts = [marker.start for marker in found]
    for match in _PARENTHESIS.finditer(text):
        inner = found[bisect_left(starts, match.start()) : bisect_left(starts, match.end())]
        if inner and inner[-1].end < match.end():
            edges = [match.start() + 1, *(at for m in inner for at in (m.start, m.end))]
            rest = [*zip(edges[::2], [*edges[1::2], match.end() - 1], strict=True)]
            if all(_LITTLE.fullmatch(text, start, end) for start, end in rest):
                cites = tuple(cite for marker in inner for cite in marker.cites)
                yield Marker(match.start(), match.end(), cites)


# --- Removing markers -----------------------------------------------------------------------

_BLANKS = " \t\u00a0~"
_BETWEEN = re.compile(r"\s?(?:[,;&]|,?\s?(?:and|or))?\s?")


def remove_markers(text: str) -> str:
    """Return the text without citation markers, and without leftover spaces and commas.

    ``Text [3].`` becomes ``Text.``, ``as in [3] and [4].`` becomes ``as in.``; the names in ``Smith
    et al. (2019)`` stay.
    """
    pieces, at = [], 0
    items: list[tuple[int, int]] = []
    for marker in markers(text):
        first, last = items[-1] if items else (0, -9)
        if marker.start - last < 9 and _BETWEEN.fullmatch(text, last, marker.start):
            items[-1] = (first, marker.end)
        else:
            items.append((marker.start, marker.end))
    for start, end in items:
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    for number in range(1, len(pieces)):
        pieces[number - 1 : number + 1] = _mended(pieces[number - 1], pieces[number])
    return "".join(pieces)


def _mended(left: str, right: str) -> tuple[str, str]:
    """Return the text on both sides of a removed marker, with a space between them if needed."""
    bare_left, bare_right = left.rstrip(_BLANKS), right.lstrip(_BLANKS)
    if not bare_left or not bare_right:
        return bare_left, bare_right
    if bare_left[-1] in ",;" and bare_right[0] in ",;.:":
        bare_left = bare_left[:-1]
    parted = (left, right) != (bare_left, bare_right)
    if parted and bare_left[-1:] not in "([{“\n" and bare_right[0] not in ".,;:!?)]}”\n":
        bare_left += " "
    return bare_left, bare_right
