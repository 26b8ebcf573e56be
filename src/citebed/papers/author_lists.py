"""The authors that a printed reference begins with, whatever its style.

A style writes a name in one of five ways: ``W. Bruce Croft`` or ``W. B. Croft`` (display),
``Croft, W. B.`` or ``Croft WB`` (initials behind), ``Croft, Bruce`` (inverted). The first name
tells which; only a first name can be inverted where the others are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from citebed.patterns import compiled
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

_MOST = 500
_FAMILY = (
    rf"(?>(?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END}"
    rf"(?:[ ](?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END}){{0,2}}+)"
)
_ONE_WORD = rf"(?>(?:{PARTICLE}[ ]){{0,2}}+{NAME_WORD}{NAME_END})"
_DOTTED = rf"(?>{UPPER}{LOWER}?+\.(?:[ ]?(?:{UPPER}|[-‐]{UPPER}|[-‐]{LOWER})\.){{0,4}}+)"
_BARE = rf"(?:{UPPER}{{1,3}}(?:[-‐ ]{UPPER}){{0,2}}{NAME_END}(?!\.\w|['’]))"
_INITIALS = rf"(?:{_DOTTED}|{_BARE}\.?)"
_SUFFIX = r"(?:,? ?(?P<suffix>(?:Jr|Sr)\b\.?|I{2,3}\b|IV\b))?+"

# In "David M. Blei, Andrew Ng" the M stands before the name, in "Blei D. Topics" behind it.
_NAME_GOES_ON = rf"(?:,? and {UPPER}|, {UPPER}|,? & {UPPER}|\.?,? et al|\. [(\[]?(?:1[5-9]|20)\d\d)"

_BEHIND = compiled(rf"(?P<family>{_FAMILY}){_SUFFIX}, ?(?P<given>{_INITIALS}(?: {PARTICLE}\b)?)")
_BEHIND_BARE = compiled(
    rf"(?P<family>{_FAMILY}(?<! [A-Z])(?<! [A-Z][A-Z])(?<! [A-Z][A-Z][A-Z])|{_ONE_WORD})"
    rf" (?P<given>{_BARE}){_SUFFIX}"
    rf"(?=[,;:]|,? (?:and|&)|,? et al|,? \(|\.?$|\.(?! {_ONE_WORD}{_NAME_GOES_ON}))"
)
_INVERTED = compiled(
    rf"(?P<family>{_ONE_WORD}){_SUFFIX}, ?(?P<given>(?:{NAME_WORD}{NAME_END})(?: (?:{_DOTTED}|"
    rf"{NAME_WORD}{NAME_END})){{0,2}}+)"
)
_BEFORE = compiled(rf"(?P<display>{_DOTTED} ?(?:{NAME_WORD} )?+{_FAMILY}){_SUFFIX}")
_DISPLAY = compiled(rf"(?P<display>{NAME}){_SUFFIX}")

_AND = r"(?:and|&|und|y|et(?! al))"
_BETWEEN = compiled(rf"(?P<last>[,;]? ?{_AND} )|[,;] ?(?:\.\.\. ?|… ?)?(?P<amp>& ?)?")
_OTHERS = compiled(rf"(?:[,;]? ?(?:and )?)(?:{ET_AL}|and others|\.\.\.|…)")
_EDITORS = compiled(r"(?i),? ?[(\[]?(?:eds?|editors?|hrsg)\b\.?[)\]]?")
_YEAR_NEXT = r"[(\[]?(?:(?:1[5-9]|20)\d\d|n\. ?d\.|in press|forthcoming)"
_ENDED = compiled(rf"(?:\.|,|;|$|[ ]?[\"“”«„‘`']| ?:| {_YEAR_NEXT}|(?<=[.]) ?(?=\w))")
_ORGANISATION = re.compile(
    r"(?i)\b(?:consortium|organi[sz]ation|universit\w+|inc|ltd|gmbh|corp\w*|team|group|committee"
    r"|institut\w*|collaboration|association|foundation|ministry|agency|council|project|bureau"
    r"|department|society|commission|union|network|initiative|office|bank|center|centre|contributors"
    r"|developers|software|technologies|labs?|board|alliance|academy|federation|authority|press)\b"
)
_BEFORE_YEAR = compiled(rf"([^.()\[\]“\"]{{2,80}}?)[.,]? (?={_YEAR_NEXT}[a-z]?[)\]]?[.,:)\]])")


@dataclass(frozen=True)
class AuthorList:
    """Names in canonical form, where they end in the text, and what says so.

    ``initials_behind`` is set where names are written as ``Croft, W. B.`` or ``Croft WB``;
    ``before`` where all of them are written ``W. B. Croft``.
    """

    names: tuple[str, ...] = ()
    end: int = 0
    initials_behind: bool = False
    before: bool = False


def read_authors(text: str) -> AuthorList:
    """The authors that a reference begins with; none where they cannot be told from a title."""
    for patterns, behind in _STYLES:
        found = _read(text, patterns, behind)
        if found is not None:
            return found
    match = _BEFORE_YEAR.match(text)
    if match and len(match[1].split()) <= 10:
        return AuthorList((match[1].strip(" ,"),), match.end(1))
    return AuthorList()


_STYLES: tuple[tuple[tuple[re.Pattern[str], ...], bool], ...] = (
    ((_BEHIND, _BEFORE), True),
    ((_BEHIND_BARE,), True),
    ((_BEFORE,), False),
    ((_INVERTED, _DISPLAY), False),
    ((_DISPLAY,), False),
)


def _read(text: str, patterns: tuple[re.Pattern[str], ...], behind: bool) -> AuthorList | None:
    """The names of one style; ``None`` where the text does not begin with one, or where what
    follows the names can follow none."""
    first = _named(patterns[0], text, 0)
    if first is None:
        return None
    found, at, last = [first], first.end(), False
    while len(found) < _MOST and not _OTHERS.match(text, at):
        between = _BETWEEN.match(text, at)
        if between is None or (last and not between["last"]):
            break
        last = bool(between["last"] or between["amp"])
        following = (_named(pattern, text, between.end()) for pattern in patterns)
        name = next(filter(None, following), None)
        if name is None:
            break
        found.append(name)
        at = name.end()
    others = _OTHERS.match(text, at)
    end = others.end() if others else at
    if (editors := _EDITORS.match(text, end)) is not None:
        end = editors.end()
    if not (others or editors or _may_end(text, end, behind, len(found))):
        return None
    before = all(name.re is _BEFORE for name in found)
    return AuthorList(tuple(map(_canonical, found)), end, behind, before)


def _may_end(text: str, end: int, behind: bool, count: int) -> bool:
    """Whether a list of names can end here: before a point, a year, a quotation …"""
    match = _ENDED.match(text, end)
    if match is None:
        return False
    return ":" not in match[0] or behind or count > 1


def _named(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """A name, looked at again: its words begin with capitals, and it has more than one."""
    match = pattern.match(text, at)
    if match is None:
        return None
    if pattern is _DISPLAY and " " not in match["display"]:
        return None
    words = (word for word in re.split(r"[ .\-‐’']+", match[0]) if word)
    return match if any(word[0].isupper() or not word[0].islower() for word in words) else None


def _canonical(match: re.Match[str]) -> str:
    parts = match.groupdict()
    suffix = parts["suffix"]
    if display := parts.get("display"):
        if _ORGANISATION.search(display):
            return str(display)
        name = name_from_display(display)
        family, _, given = name.partition(", ")
        return name_from_parts(family, given, suffix) if suffix else name
    return name_from_parts(parts["family"], (parts["given"] or "").strip(), suffix)
