"""Parse the authors at the start of a printed reference, in any style.

A style writes names in one of five ways: ``W. Bruce Croft`` or ``W. B. Croft`` (display),
``Croft, W. B.`` or ``Croft WB`` (initials behind), ``Croft, Bruce`` (inverted). The first name
shows which one; some styles invert only the first name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from citebed.text.names import (
    ET_AL,
    LOWER,
    NAME,
    NAME_END,
    NAME_WORD,
    PARTICLE,
    UPPER,
    name_from_display,
    name_from_parts,
)
from citebed.text.regex import compile_regex

_MOST = 500
_SUFFIXES = frozenset(("Jr", "Sr", "II", "III", "IV"))
_FAMILY = (
    rf"(?>(?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END}"
    rf"(?:[ ](?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END}){{0,2}}+)"
)
_ONE_WORD = rf"(?>(?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END})"
_DOTTED = (
    rf"(?>{UPPER}{LOWER}?+\.(?:[ ]?(?:{UPPER}|[-‐]{UPPER}|[-‐]{LOWER}|{LOWER}(?=\. ?{UPPER}))\.)"
    r"{0,4}+)"
)
_BARE = (
    rf"(?:{UPPER}(?:[-‐ ]?{UPPER}|[-‐]{LOWER}|{LOWER}(?={UPPER})){{0,4}}+{NAME_END}(?!\.\w|['’]))"
)
_INITIALS = rf"(?:{_DOTTED}|{_BARE}\.?)"
_SUFFIX = r"(?:,? ?(?P<suffix>(?:Jr|Sr)\b\.?|I{2,3}\b|IV\b))?+"
# In "David M. Blei, Andrew Ng" the initial comes before the family name, in "Blei D. Topics" after.
_NAME_GOES_ON = (
    rf" {_FAMILY}(?:,? and {NAME}(?:[.,]| \()|, {UPPER}|,? & {UPPER}|\.?,? et al|\.(?: |$))"
)

_BEHIND = compile_regex(
    rf"(?P<family>{_ONE_WORD}(?=,)|{_FAMILY}){_SUFFIX}, ?(?P<given>{_INITIALS}(?: {PARTICLE}\b)?)"
    rf"(?:, (?P<behind>(?:Jr|Sr)\b\.?|I{{2,3}}\b))?+"
)
_BEHIND_BARE = compile_regex(
    rf"(?P<family>{_FAMILY}(?<! [A-Z])(?<! [A-Z][A-Z])(?<! [A-Z][A-Z][A-Z])|{_ONE_WORD}"
    rf"|{NAME_WORD}{NAME_END}) (?P<given>{_BARE}){_SUFFIX}(?=[,;:.]|,? (?:and|&)|,? et al|,? \(|$)"
)
_INVERTED = compile_regex(
    rf"(?P<family>{_ONE_WORD}){_SUFFIX}, ?"
    rf"(?P<given>(?:{_DOTTED} )?+{NAME_WORD}{NAME_END}(?: (?:{_DOTTED}|{NAME_WORD}{NAME_END}))"
    r"{0,2}+)"
)
_BEFORE = compile_regex(rf"(?P<display>{_DOTTED} ?{_FAMILY}){_SUFFIX}")
_DISPLAY = compile_regex(rf"(?P<display>{NAME}(?: [(“\"][\w. ]{{1,20}}[)”\"] {NAME})?+){_SUFFIX}")
_IDEOGRAPHS = compile_regex(r"(?P<display>[\u3400-\u9fff·]{2,6}+)(?P<suffix>(?!))?+")
_GOES_ON = compile_regex(rf"\.?{_NAME_GOES_ON}")

_AND = r"(?:and|&|und|y|et(?! al))"
_BETWEEN = compile_regex(rf"(?P<last>[,;]? ?{_AND} )|[,;] ?(?:\.\.\. ?|… ?)?(?P<amp>& ?)?")
_LAST = compile_regex(rf" ?{_AND} ")
_OTHERS = compile_regex(
    rf"(?:[,;]? ?(?:and )?)(?:{ET_AL}|and others|\d+ others|(?:\.\.\.|…)(?! ?{UPPER}))"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_EDITORS = compile_regex(r"(?i),? ?[(\[]?(?:eds?|editors?|hrsg)\b\.?[)\]]?")
_YEAR_NEXT = r"[(\[]?(?:(?:1[5-9]|20)\d\d[a-z]?\b|n\. ?d\.|in press|forthcoming)"
_ENDED = compile_regex(
    rf"(?P<year>[.,]? {_YEAR_NEXT})|(?P<quote>[.,]? ?(?:[\"“”«„‘]|``|''))|(?P<point>\.(?: |$)|$)"
    rf"|(?P<colon> ?:)|(?P<initial>(?<=\.) (?=\w))|(?P<comma>[,;])|(?P<bracket> ?\[)"
)
_ENDS = {"year": 4, "quote": 4, "point": 3, "colon": 3, "initial": 3, "comma": 1, "bracket": 1}
_ORGANISATION = re.compile(
    r"(?i)\b(?:consortium|organi[sz]ation|universit\w+|inc|ltd|gmbh|corp\w*|team|group|committee"
    r"|institut\w*|collaboration|association|foundation|ministry|agency|council|project|bureau"
    r"|department|society|commission|union|network|initiative|office|bank|center|centre|contributors"
    r"|developers|software|technologies|labs?|board|alliance|academy|federation|authority|press)\b"
)
_BEFORE_YEAR = compile_regex(rf"([^.()\[\]“\"]{{2,80}}?)[.,]? (?={_YEAR_NEXT}[a-z]?[)\]]?[.,:)\]])")


@dataclass(frozen=True)
class AuthorList:
    """Names in canonical form (``Family, Given``), and the offset at which they end."""

    names: tuple[str, ...] = ()
    end: int = 0


def parse_authors(text: str) -> AuthorList:
    """Return the authors that a reference begins with, or none if they look like a title.

    Try each style, and take the names with the clearest end: before a year or a quotation.
    """
    best = _Parse()
    for patterns, behind in _STYLES:
        parse = _parse(text, patterns, behind)
        if parse.clear > best.clear:
            best = parse
        if best.clear >= 2 * _CLEAR:
            break
    if best.names:
        return AuthorList(tuple(map(_canonical, best.names)), best.end)
    match = _BEFORE_YEAR.match(text)
    if match and len(match[1].split()) <= 12:
        return AuthorList(_names_before_year(match[1].strip(" ,")), match.end(1))
    return AuthorList()


class _Parse(NamedTuple):
    """Names in one style, their end, and how clear that end is.

    ``clear`` is 0 if the names have no clear end, and odd if "and" precedes the last name.
    """

    names: Sequence[re.Match[str]] = ()
    end: int = 0
    clear: int = 0


def _names_before_year(text: str) -> tuple[str, ...]:
    """Return names in an unknown style: an organisation, or names between commas."""
    parts = re.split(r",? and |[,;] ", text)
    if len(parts) == 1 or _ORGANISATION.search(text):
        return (text,)
    return tuple(name for part in parts if (name := name_from_display(part)))


_STYLES: tuple[tuple[tuple[re.Pattern[str], ...], bool], ...] = (
    ((_IDEOGRAPHS,), False),
    ((_BEHIND, _BEFORE), True),
    ((_BEHIND_BARE,), True),
    ((_BEFORE,), False),
    ((_INVERTED, _DISPLAY), False),
    ((_DISPLAY,), False),
    ((_BEFORE, _DISPLAY), False),
)
_CLEAR = 4


def _parse(text: str, patterns: tuple[re.Pattern[str], ...], behind: bool) -> _Parse:
    """Return the names in one style, or none if the text cannot be such a list of names."""
    names = _names(text, patterns)
    others = _OTHERS.match(text, names[-1].end()) if names else None
    while names and not (others or _end_clarity(text, names[-1].end(), behind, len(names))):
        names.pop()
    if not names:
        return _Parse()
    end = others.end() if others else names[-1].end()
    editors = _EDITORS.match(text, end)
    clear = _CLEAR if others or editors else _end_clarity(text, end, behind, len(names))
    last = len(names) > 1 and bool(_LAST.search(text, names[-2].end(), names[-1].start()))
    if clear < _CLEAR and not (behind or last) and _DISPLAY in patterns:
        if _BEFORE.match(text):
            return _Parse()
        if clear == 1:
            names, end = names[:1], names[0].end()  # "Jane Doe, Deep Learning, J. Noise 3"
    return _Parse(names, editors.end() if editors else end, 2 * clear + last)


def _names(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[re.Match[str]]:
    """Return names between commas; the first pattern is the style of the first name."""
    first = _match_name(patterns[0], text, 0)
    if first is None or _is_next_initial(first, text):
        return []
    names, last = [first], False
    while len(names) < _MOST and not _OTHERS.match(text, names[-1].end()):
        between = _BETWEEN.match(text, names[-1].end())
        if between is None or (last and not between["last"]):
            break
        last = bool(between["last"] or between["amp"])
        following = (_match_name(pattern, text, between.end()) for pattern in patterns)
        name = next(filter(None, following), None)
        if name is None:
            break
        names.append(name)
    return names


def _is_next_initial(name: re.Match[str], text: str) -> bool:
    """Return True if the initial after a family name belongs to the name that follows."""
    family = name.groupdict().get("family")
    if family is None or name.re is _INVERTED:
        return False
    alone = len(name["given"].rstrip(".")) == 1 if name.re is _BEHIND_BARE else " " in family
    return alone and _GOES_ON.match(text, name.end()) is not None


def _end_clarity(text: str, end: int, behind: bool, count: int) -> int:
    """Rate how clearly a list of names ends here: before a year, a quotation, a full stop …"""
    match = _ENDED.match(text, end)
    if match is None or match.lastgroup is None:
        return _CLEAR if _EDITORS.match(text, end) else 0
    if match.lastgroup == "colon" and not behind and count < 2:
        return 0
    return _ENDS[match.lastgroup] if match.lastgroup != "initial" or behind else 0


def _match_name(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Match a name that has a capitalised word and, in display form, at least two words."""
    match = pattern.match(text, at)
    if match is None:
        return None
    if pattern is _DISPLAY and " " not in match["display"]:
        return None
    if pattern is _IDEOGRAPHS:
        return match
    return match if any(word[0].isupper() for word in _LETTERS.findall(match[0])) else None


def _canonical(match: re.Match[str]) -> str:
    parts = match.groupdict()
    suffix = parts["suffix"] or parts.get("behind")
    if display := parts.get("display"):
        if _ORGANISATION.search(display):
            return str(display)
        shorter, _, last = display.rpartition(" ")
        if last in _SUFFIXES and " " in shorter:
            display, suffix = shorter, last
        name = name_from_display(display)
        family, _, given = name.partition(", ")
        return name_from_parts(family, given, suffix) if suffix else name
    return name_from_parts(parts["family"], (parts["given"] or "").strip(), suffix)
