"""Remove the names of cited authors: ``Smith et al. [1] proposed`` becomes ``[1] proposed``.

Markers stay, as in ACM-CR's manual annotations (Boudin 2021). A capitalised word before a marker
may be a system (``BERT [3]``), so citebed removes a name only with evidence:

- ``et al.`` is enough, with or without a marker (``Smith et al. proposed … [1]``);
- so is a year in brackets right after the name (``Smith (2019)``); names with years inside
  brackets lose the names: ``(Smith, 2019; Lee 2020)`` becomes ``(2019; 2020)``;
- so are two or more names with ``and`` or ``&`` before a marker, unless a word before them (``on``,
  ``using``, ``the``) or after the marker (``is``, ``provide``, ``models``) shows that they are
  things;
- a single name before a marker needs an initial (``J. Smith [3]``), a particle (``van Rijsbergen
  [5]``), an ``'s`` (``Smith's [3] method``), a verb of authors after the marker (``Smith [3]
  proposed``), or one before it (``as proposed by Smith [3]``, ``according to Smith [3]``).

Without an initial or a particle a name must look like a surname, a capital followed by small
letters (also ``McKeown`` and ``Pérez-Agüera``), without a capitalised word before it: ``WordNet
[2]``, ``BERT [3]`` and ``Latent Semantic Analysis [4]`` always stay. A key such as ``[Smith19]`` is
a marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.text.markers import (
    AUTHORS,
    LONE_YEARS,
    YEARS,
    markers,
    may_be_authors,
    names_and_years,
)
from citebed.text.names import AND, ET_AL, INITIALS, NOT_NAMES, PARTICLE, SURNAME, skip_starters
from citebed.text.regex import compile_regex

_GAP = r"[\s~]{1,2}+"
_AT_END = r"[\s~]{0,2}$"
_POSSESSIVE = r"(?:['’]s?)?+"
_BARE = rf"(?:{SURNAME}(?:{_GAP}{SURNAME})?+)"
_SIGNED = (
    rf"(?:(?:{SURNAME}{_GAP})?+(?:{INITIALS}[\s~]{{0,2}}+){{1,3}}+(?:{PARTICLE}{_GAP})?+{SURNAME})"
)
_NOBLE = rf"(?:(?:{SURNAME}{_GAP})?+(?=[a-z]){PARTICLE}{_GAP}{SURNAME})"
_PERSON = rf"(?>{_SIGNED}|{_NOBLE}|{_BARE})"
_PEOPLE = rf"(?<!\w){_PERSON}(?:\s?,\s?(?:{_PERSON}|{INITIALS})){{0,8}}+"

_ET_AL = compile_regex(rf"\s{ET_AL}{_POSSESSIVE}(?:,(?=\s?{YEARS}))?+[\s~]*+")
_TEAM = compile_regex(rf"{_PEOPLE}(?:\s?,?\s{AND}\s{_PERSON})?+\s?,?$")
_SEVERAL = compile_regex(rf"{_PEOPLE}\s?,?\s(?P<and>{AND})\s{_PERSON}{_POSSESSIVE}{_AT_END}")
_KNOWN = compile_regex(rf"(?<!\w)(?:{_SIGNED}|{_NOBLE}){_POSSESSIVE}{_AT_END}")
_OWNER = compile_regex(rf"(?<!\w){SURNAME}['’]s?{_AT_END}")
_LONE = compile_regex(rf"(?<!\w){_BARE}{_AT_END}")
_ANOTHER = compile_regex(rf"\s?,?\s(?:{AND}\s)?+(?P<name>{_BARE}){_AT_END}")
_AUTHORS = compile_regex(rf"(?<!\w){AUTHORS}{_AT_END}")
_LAST_WORD = re.compile(r"(\w)[\w'’\u0300-\u036f\u2010\u2011.-]*[\s~]{0,2}$")

_CAPITALISED = re.compile(r"([^\W\d_]\w*)[\s~]+$")
_THING_BEFORE = re.compile(
    r"\b(?:on|in|using|with|via|like|such as|than|between|over|our|the|an?|for|including"
    r"|(?<!according )to)\s$",
    re.IGNORECASE,
)
_THING_AFTER = re.compile(
    r"\s(?:is|are|was|were|has been|have be\w+|can|provides?|offers?|allows?|enables?|achieves?"
    r"|(?:\w+\s)?(?:models?|networks?|algorithms?|datasets?|corpus|corpora|collections?|systems?"
    r"|tracks?|toolkits?|embeddings?|metrics?|measures?|tests?|scores?))\b"
)
_AUTHOR_BEFORE = re.compile(
    r"(?:\b(?:propos|introduc|present|describ|suggest|report|defin|discuss|argu|not|observ|investigat"
    r"|examin|conduct|coin|pioneer|formulat|advocat|demonstrat|analy[sz]|survey|propound)ed\sby"
    r"|\b(?:shown|given|done|made|seen|studied|put forward|carried out|pointed out)\sby"
    r"|\baccording to|\bfollowing|\b(?:works?|papers?|ideas?|findings|proposals?|surveys?"
    r"|stud(?:y|ies)|views?|suggestions?|definitions?) (?:of|by|from))\s$",
    re.IGNORECASE,
)
_AUTHOR_AFTER = re.compile(
    r",?\s(?:(?:also|first|firstly|later|then|further|originally|have|has|had|both|\w+ly)\s){0,2}"
    r"(?:(?:propose|argue|suggest|claim|note|observe|investigate|examine|hypothesi[sz]e|conjecture"
    r"|conclude|describe|believe|criticize|advocate|posit|explore|analy[sz]e|survey|report|discuss"
    r"|stud(?:y|ie)|point(?:s|ed)? out|f(?:i|ou)nd)(?:s|d|ed)?"
    r"|introduced|presented|developed|showed|shown|demonstrated|considered|defined|compared"
    r"|evaluated|extended|applied|used|employed|designed|conducted|derived|proved|formulated"
    r"|commented|identified|addressed|focused|tried|built)\b"
)
# Length of a few long names, in characters.
_FAR = 90

Span = tuple[int, int]

_SIGNS = re.compile(r"[(\[\\⁰¹²³⁴-⁹]|\bet\b|\band (?:co|others)")
"""A text without any of these has no citation."""


def anonymise(text: str, mask: str | None = None) -> str:
    """Return the text without the names of cited authors (see above).

    A ``mask`` replaces citations by name and year completely, including the year: ``Smith (2019)
    says`` becomes ``[CIT] says``. Numbers and keys stay.
    """
    if _SIGNS.search(text) is None:
        return text
    pieces, at = [], 0
    for start, end in sorted(
        {*_teams(text, mask), *_named(text, mask), *_inside_brackets(text, mask)}
    ):
        if end > at:
            pieces.append(text[at : max(at, start)])
            at = end
            if mask is not None and text[end - 1] in ")]":
                pieces.append(mask)
    return "".join([*pieces, text[at:]])


def _teams(text: str, mask: str | None) -> Iterator[Span]:
    """Yield the names with "et al."."""
    for match in _ET_AL.finditer(text):
        far = _far(text, match.start())
        before = text[far : match.start()]
        if (team := _TEAM.search(before)) is not None:
            years = LONE_YEARS.match(text, match.end()) if mask is not None else None
            end = years.end() if years else match.end()
            yield far + skip_starters(before, *team.span()), end


def _named(text: str, mask: str | None) -> Iterator[Span]:
    """Yield the names right before markers, if there is evidence that they are names.

    A name that follows a found name and its marker after "and" is another name.
    """
    found_until = -1
    for marker in markers(text):
        far = _far(text, marker.start)
        before = text[far : marker.start]
        last = _LAST_WORD.search(before)
        if last is None or last[1].islower():
            continue
        by_year = LONE_YEARS.fullmatch(text, marker.start, marker.end) is not None
        if by_year:
            match = _AUTHORS.search(before)
        else:
            match = _cited_person(before, text[marker.end : marker.end + 40])
            if match is None and found_until == far:
                match = _ANOTHER.fullmatch(before)
        if match is not None:
            found_until = marker.end
            end = marker.end if by_year and mask is not None else marker.start
            start = match.start("name") if match.re is _ANOTHER else match.start()
            yield far + skip_starters(before, start, match.end()), end


def _far(text: str, at: int) -> int:
    """Return the earliest start of names before ``at``; names contain no brackets."""
    far = max(0, at - _FAR)
    return max(far, text.rfind("]", far, at) + 1, text.rfind(")", far, at) + 1)


def _cited_person(before: str, after: str) -> re.Match[str] | None:
    """Return the names at the end of the text before a marker, if they are names of people."""
    if (several := _SEVERAL.search(before)) is not None and not _longer(before, several):
        thing = _THING_BEFORE.search(before[: several.start()]) or _THING_AFTER.match(after)
        return several if several["and"] != "and" or not thing else None
    if (known := _KNOWN.search(before)) is not None:
        return known
    if (owner := _OWNER.search(before)) is not None and not _longer(before, owner):
        return owner
    if (lone := _LONE.search(before)) is None or _longer(before, lone):
        return None
    start = skip_starters(before, *lone.span())
    author = _AUTHOR_AFTER.match(after) or _AUTHOR_BEFORE.search(before[:start])
    return lone if author else None


def _longer(before: str, found: re.Match[str]) -> bool:
    """Return True if a capitalised word precedes the names, so they are part of a longer name."""
    word = _CAPITALISED.search(before[: found.start()])
    return word is not None and word[1][0].isupper() and word[1] not in NOT_NAMES


_BRACKETS = compile_regex(r"[(\[]([^()\[\]]*+)[)\]]")
_NAMES = compile_regex(rf"(?:(?<=[(\[;])|(?<=[;,:.] )|(?<=\w ))\s?{AUTHORS}\s?,?\s?(?={YEARS})")


def _inside_brackets(text: str, mask: str | None) -> Iterator[Span]:
    """Yield the names in brackets that contain only names and years; with a mask, the brackets."""
    for match in _BRACKETS.finditer(text):
        if names_and_years(match[1]) is None:
            continue
        if mask is not None:
            yield match.span()
        else:
            for names in _NAMES.finditer(text, match.start(), match.end()):
                if may_be_authors(names[0], comma=True):
                    lead = len(names[0]) - len(names[0].lstrip())
                    yield names.start() + lead, names.end()
