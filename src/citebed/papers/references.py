"""Parse a printed reference in any style: authors, title, year, venue, identifiers.

Names come first, then perhaps a year, then the title. The title is in quotation marks, or ends at a
full stop that is not part of an abbreviation, or, if commas separate all parts, at a comma before
something like a venue. A part that is uncertain stays empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from citebed.papers.vocabulary import phrases
from citebed.text.identifiers import arxiv_in, arxiv_of_doi, doi_in, replace_identifiers, url_in
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
from citebed.text.normalise import entities_to_text, fold, join_hyphens
from citebed.text.regex import compile_regex


@dataclass(frozen=True)
class ParsedReference:
    """A reference: its ``text`` in one line, and its parts.

    ``authors`` are in canonical form (``Family, Given``). ``confidence`` is the probability that
    the title is right; 0 without a title.
    """

    text: str
    authors: tuple[str, ...] = ()
    title: str = ""
    year: int | None = None
    venue: str = ""
    doi: str | None = None
    url: str | None = None
    arxiv: str | None = None
    confidence: float = 0.0


def parse_reference(text: str) -> ParsedReference:
    """Parse an entry of a reference list, with its line breaks and without its label."""
    line = join_lines(text)
    doi = doi_in(_RUN_IN.sub(r"\1 ", line)) if "10." in line else None
    arxiv = (arxiv_in(line) if _ON_ARXIV.search(line) else None) or arxiv_of_doi(doi or "")
    url = url_in(line) if "://" in line or "www." in line else None
    bare = _AROUND.sub(" ", replace_identifiers(line, lambda _: _GONE))
    body = " ".join(_BLANKS.sub(r"\1", _LEFT.sub(" ", bare)).split())
    authors = parse_authors(body)
    rest = body[authors.end :]
    farther = None if _YEAR_FIRST.match(rest) else _FARTHER.match(rest)
    rest = rest[farther.end() :] if farther and not _PROSE.search(farther[0]) else rest
    dated = _YEAR_FIRST.match(rest)
    titled = _split_title(rest[dated.end() :] if dated else rest, authors, dated is not None)
    first = (dated["inside"] or dated["bare"]) if dated else None
    year = int(first) if first else _find_year(titled.rest) or _find_year(rest, _INSIDE)
    return ParsedReference(
        line,
        authors.names,
        titled.title,
        year,
        _find_venue(titled.rest),
        doi,
        url,
        arxiv,
        _confidence(authors, titled, year),
    )


REPEATED_AUTHORS = re.compile(
    r"\s*(?:(?:[—–\ue000-\uf8ff-]{1,3}|_{2,})(?=[\s.,(“])|(?:Ders|Dies|Id|Idem|Eadem)\.?[,:])"
)
"""A dash or word that repeats the authors of the entry before; a font may not name the dash."""
_ON_ARXIV = re.compile(r"[xX][iI][vV]|abs/")
_LEFT = compile_regex(r"(?i)\b(?:doi|url)\s?:?\s*+(?=$|[.,;)]|\()|\[online\]\.?|\(\s*\)|<\s*>")
_BLANKS = compile_regex(r" ++([.,;:)])")
_GONE = "\ue000"
_AROUND = compile_regex(rf"\s*+{_GONE}[\s.,;{_GONE}]*+")


# --- The year ---------------------------------------------------------------------------------

_YEAR = r"(?:1[5-9]|20)\d\d"
_UNDATED = r"n\. ?d\.|in press|forthcoming|to appear|submitted"
_YEAR_FIRST = compile_regex(
    rf"[\s.,;:]*+(?:[(\[](?:(?P<inside>{_YEAR})[a-z]?(?:,[^()\[\]]{{0,30}}+)?|{_UNDATED})[)\]]"
    rf"|(?P<bare>{_YEAR})[a-z]?(?=[.,:;]\s))[.,:;]*+\s*+"
)
_FARTHER = compile_regex(rf"[^“\"]{{0,1500}}?[.)] (?={_YEAR}[a-z]?\. )")
_PROSE = compile_regex(r"(?: [a-z]{2,}+){3}")


_INSIDE = compile_regex(rf"[(\[](?:[^()\[\]]{{0,40}}?[ ,’'.])?({_YEAR})[a-z]?[)\]]")
_SEEN = compile_regex(r"(?i)\b(?:retrieved|accessed|visited|last access|available)\b")
_ALONE = compile_regex(rf"(?<![\d:/–—-])(?<!p\. )(?<!pp\. )({_YEAR})[a-z]?(?![\d:/]|[–—-]\d)")


def _find_year(rest: str, *patterns: re.Pattern[str]) -> int | None:
    """Return the last year in brackets after the title, or else the last year that stands alone."""
    rest = _SEEN.split(rest, maxsplit=1)[0]
    for pattern in patterns or (_INSIDE, _ALONE):
        years = pattern.findall(rest)
        if years:
            return int(years[-1])
    return None


# --- The title --------------------------------------------------------------------------------


class _Titled(NamedTuple):
    """A title, the text after it, and what ended it: a quotation, a full stop, a comma …"""

    title: str = ""
    rest: str = ""
    end: str = ""


_QUOTED = compile_regex(
    r"[\s.,:;]*+(?:“(?P<a>[^“”]{4,400})”|\"(?P<b>[^\"]{4,400})\"|``(?P<c>[^`]{4,400}?)''"
    r"|«\s?(?P<d>[^«»]{4,400})»|„(?P<e>[^„“”]{4,400})[“”]"
    r"|‘(?P<f>[^‘]{4,400}?)’(?=[.,;]|\s(?:[Ii]n\b|[A-Z]))|''(?P<g>[^']{4,400}?)'')(?P<after>[.,;:]?)"
)
_IN = compile_regex(r"(?i)\s*+(?:in\b:?|presented at|proc\b|arxiv|\(|\[|vol\b|ph\.?d|$)")


def _split_title(text: str, authors: AuthorList, dated: bool) -> _Titled:
    quoted = _QUOTED.match(text)
    if quoted:
        inside = next(part for part in quoted.groups()[:-1] if part is not None)
        last = text[quoted.end() - 2]  # before the closing quotation mark
        if quoted["after"] in tuple(".,;") or last in ".," or _IN.match(text, quoted.end()):
            return _Titled(_trim(inside), text[quoted.end() :], "quotation")
    by_commas = bool(authors.names) and not dated and text.lstrip().startswith(",")
    text = text.lstrip(" .,;:")
    return _split_at_comma(text) if by_commas else _split_at_point(text)


_NEXT = r"[^\Wa-z]|[(\[“\"‘«]|[a-z][a-z ]{2,40} \d|[a-z]{1,5}[A-Z]|in\b"
_POINT = compile_regex(rf"(?<![.?!])(?P<sign>[.?!]++)(?P<quote>[”\"’»]?)(?:\s++(?={_NEXT})|\s*$)")
_ABBREVIATED = compile_regex(rf"(?:^|[\s(\[“\"‘.])(?:{phrases('abbreviation')})$")
_VENUE = compile_regex(f"(?i)(?:{phrases('venue')})")


def _split_at_point(text: str) -> _Titled:
    """Split at the first full stop that ends the title.

    A title may go on after a question or a first sentence. The point of an abbreviation ends it
    only if the text has no other full stop.
    """
    if _PLACE.match(text):
        return _Titled("", text)
    likely: re.Match[str] | None = None
    for point in _POINT.finditer(text):
        after = text[point.end() :]
        if point["sign"] == "." and after and _ABBREVIATED.search(text[: point.start()][-12:]):
            likely = likely or point
        elif not _is_still_title(after, point["sign"]):
            return _cut(text, point if after or not likely else likely)
    if likely:
        return _cut(text, likely)
    return _Titled(_trim(text), "", "end")


def _cut(text: str, point: re.Match[str]) -> _Titled:
    title = text[: point.start()] + point["sign"].replace(".", "") + point["quote"]
    after = text[point.end() :]
    return _Titled(_trim(title), after, "point" if after else "end")


_SMALL = compile_regex(r" [a-z]{4,}+(?=[ ,:;?]|$)")
_PUBLISHED = compile_regex(rf"(?i)\b(?:{phrases('publication')})\b|\d")


def _is_still_title(after: str, sign: str) -> bool:
    """Return True if the sentence that follows belongs to the title, too.

    It must not be a venue or the end of the reference. After a question, most sentences do; after
    a full stop, only those with several lower-case words.
    """
    following = _POINT.search(after)
    if following is None or following.end() == len(after) or _VENUE.match(after):
        return False
    sentence = after[: following.start()]
    small = len(_SMALL.findall(sentence))
    if "." not in sign:
        return small > 0 or sentence.count(" ") > 3 or after.startswith("In ", following.end())
    return small > 2 and not _PUBLISHED.search(sentence)


_PLACE = compile_regex(
    r"(?:(?:[A-Z]{2,5} )?+(?:[A-Z][\w-]{0,11}+\. ){2,8}+(?:[A-Z][\w-]*+ ){0,2}+"
    r"|(?:J|Phys|Nucl|Ann|Rev|Proc)\. (?:[A-Z][\w-]*+ ){1,4}+"
    r"|(?:(?:[A-Z][\w&-]*+|of|the|and|in|for|on|&) ){1,6}+)"
    r"[A-Z]?\d{1,4}(?:, ?[A-Z]?\d|:\d| ?\(\d{4}\))"
)
"""A journal with its volume, in references without a title."""


# --- References with commas between all parts: ``A. Doe, Title, Journal 12 (2018)`` --------------

_COMMA = compile_regex(r",\s++")
_GOING_ON = compile_regex(r"(?!in\b|pp?\b|vol\b|ed\b|eds\b|no\b|see\b|ser\b|at\b:)[a-z]++(?![A-Z])")
_NUMBER = compile_regex(r"[\s(](?:vol\. ?|volume )?\d{1,4}(?=[\s,:;()]|\.?$)")


def _split_at_comma(text: str) -> _Titled:
    """Split at the comma before the venue, or at a full stop if that comes first."""
    comma, titled = _title_comma(text), _split_at_point(text)
    if titled.title and (comma is None or len(titled.title) <= comma.start()):
        return titled
    if comma is None or _PLACE.match(text):
        return _Titled("", text)
    return _Titled(_trim(text[: comma.start()]), text[comma.end() :], "comma")


def _title_comma(text: str) -> re.Match[str] | None:
    """Return the first comma before the words of a venue.

    Otherwise return the last comma before a volume number, or else the first comma that no
    lower-case word follows.
    """
    commas = [at for at in _COMMA.finditer(text[:_FARTHEST]) if not _GOING_ON.match(text, at.end())]
    named = next((at for at in commas if _VENUE.match(text, at.end())), None)
    number = _NUMBER.search(text, commas[0].end()) if commas else None
    counted = [at for at in commas if number and at.end() <= number.start()]
    if named and not text[named.end()].isdigit():
        return named
    return counted[-1] if counted else next(iter(commas), None)


_FARTHEST = 1000
_NOTE = compile_regex(
    r"(?i)\s*+[(\[](?:\d{1,2}(?:st|nd|rd|th)? ed(?:ition|n)?\.?|[\w ]{0,20}edition|online"
    r"|vol\.? ?\d+|[^()\[\]]{0,30}(?:thesis|dissertation)\b[^()\[\]]{0,60}|computer software|\d{4}"
    r"|data ?set|preprint)[)\]]$|, \d{1,2}(?:st|nd|rd|th) ed(?:ition|n)?$"
)
_LONGEST_TITLE = 400


def _trim(title: str) -> str:
    """Strip punctuation and notes such as ``(2nd ed.)``; return "" if no title is left."""
    title = _NOTE.sub("", title.strip(" .,;:")).strip(" ,;:")
    if title[:1] in '“"' and title[-1:] in '”"' and len(title) > 2:
        title = title[1:-1].strip(" .,;:")
    return title if len(title) <= _LONGEST_TITLE and any(map(str.isalpha, title)) else ""


# --- The venue --------------------------------------------------------------------------------

_IN_FRONT = compile_regex(
    r"(?i)[\s.,;:]*+(?:in\b:?|presented at(?: the)?\b:?)\s++"
    r"(?:[^()]{2,200}?\((?:eds?|hrsg)\.?\),?\s++)?"
)
_CUT = compile_regex(
    r"(?i)(?:^|[,.;]?\s++)(?:vol(?:ume)?\b|pp?\.|pages?\b|no\.|art(?:icle)?\b|\d++(?![\w’'])(?!\s++[A-Z][a-z]+)"
    r"|\(|\[|abs/)|,\s++|;|:\s|\s[–—-]\s|\.\s(?=(?:1[5-9]|20)\d\d\b)"
)
_WHOLE_WORD = compile_regex(r"(?:^|\s)(?:[^\W\d_]{7,}+|[A-Z]{3,}+|[a-z]++|\S*\))$")


def _find_venue(rest: str) -> str:
    """Return the text after the title, up to numbers, a publisher or a place."""
    front = _IN_FRONT.match(rest)
    text = rest[front.end() :] if front else rest.lstrip(" .,;:")
    text = _SEEN.split(text, maxsplit=1)[0]
    cut = _CUT.search(text)
    venue = text[: cut.start()] if cut else text
    points = list(_POINT.finditer(venue))
    # A full stop ends it, unless it belongs to an abbreviation.
    before = venue[: points[0].start()] if len(points) == 1 else ""
    if before.count(" ") > 4 or _WHOLE_WORD.search(before):
        venue = before
    venue = venue.strip(' .,;:“”"')
    return venue if 1 < len(venue) <= 250 and venue[0].isalnum() and not venue.isdigit() else ""


# --- Confidence -------------------------------------------------------------------------------

_PRECISION = {"quotation": 0.99, "point": 0.97, "comma": 0.97, "end": 0.4, "": 0.0}
"""Share of right titles for each way to end, in generated references in twenty styles, a third of
them without names, year or end. Short titles, and those without names or a year, are right less
often."""


def _confidence(authors: AuthorList, titled: _Titled, year: int | None) -> float:
    """Return the probability that the title is right."""
    probability = _PRECISION[titled.end] if titled.title else 0.0
    if titled.end == "quotation":
        return probability
    probability *= (1.0 if authors.names else 0.7) * (1.0 if year else 0.82)
    return probability if len(titled.title.split()) > 2 else 0.6 * probability


# --- Lines and addresses that line ends broke ---------------------------------------------------

_LONGEST = 20_000
"""Characters of the longest reference; the rest of a longer text is ignored."""

_ADDRESS = compile_regex(
    r"(?i)(?:https?|ftp):|www\.|\bdoi\b|(?<![\d.])10\.(?:\d{4,9}/|\d{0,9}(?:\s|$))|arxiv:"
)
_ADDRESS_GOES_ON = compile_regex(
    r"[/?=&#%_~]|[-(]\w|\.(?=\w)|\d{3,9}\.\d|\d{5,9}\.?$|[\w-]{0,40}[/=?_%]\S|\d{1,9}[a-z]{1,4}\d{3}"
    r"|(?!(?:\d\d?\.){1,2}(?:19|20)\d\d\b)\d[\w()-]{0,40}\.(?:[a-z]{0,3}\d{4}|\w[\w()-]{0,40}\.\w)"
)
_CHECKED = compile_regex(r"(?<![\d.])10\.\d{4,9}/[bs]\d[\d()-]*\n[\d()-]*-[\dx][.,;]?$")
"""A DOI that ends with a check digit, as ``10.1016/s0378-7753(99)00195-0``, and its line end."""
# "10.1016/j.jenvp.2017.⏎06.004": a reference that ends with its DOI has nothing after the stop.
_DOI_OPEN = compile_regex(r"(?<![\d.])10\.\d{4,9}/\S*[a-z\d]\.$")
_DOI_GOES_ON = compile_regex(r"(?!\d{1,2}\.?$)(?=[^\d\s]{0,40}\d|x\.?$)[\da-z][\w.()/:-]*+$")
# The part of a DOI behind its slash has a digit.
_DOI_INCOMPLETE = compile_regex(r"(?<![\d.])10\.(?:\d{4,9}/[^\s\d]*|\d{0,9})$")
_DOI_REST = compile_regex(r"[\w/.:(-]\S{0,40}?\d")
_ADDRESS_END = compile_regex(r"\d{3}[\w.()-]*+\.?$")
_OPEN_END = tuple("/:=?&#%_~.-(")
_OTHER = compile_regex(
    r"(?i)[(\[]?(?:19\d|20[0-3])\d[a-z]?[.,;)\]]*$|pmi?[dc]|arxiv|doi\b|https?:|www\.|\(?10\.\d{4,9}/"
)
"""A year, or another identifier."""
_RUN_IN = compile_regex(
    r"(10\.\d{4,9}/\S{1,200}?[\w)])[.,;]?(?=\[?(?:PM(?:C?ID)|PubMed|Epub|CrossRef|Google|Accessed"
    r"|Available|Retrieved|Received|https?:)|\[(?![\d<]))"
)
"""A DOI that runs into the next word."""
_TOKEN = compile_regex(r"(\S++)(\s*+)")
# A broken word in lines that were joined before: its hyphen, and a blank.
_HYPHEN = compile_regex(r"(?<=[^\W\d_A-Z])- (?=[a-z])")


def join_lines(text: str) -> str:
    """Return a reference in one line, without hyphens in broken words or blanks in addresses."""
    text = text[:_LONGEST].strip()
    pieces: list[str] = []
    last, blank = "", ""
    for token in _TOKEN.finditer(text) if _ADDRESS.search(text) else ():
        broken = blank and _is_broken(last, token[1], "\n" in blank or "\r" in blank)
        pieces += ["" if broken else blank, token[1]]
        last = last + token[1] if broken else token[1]
        blank = token[2]
    return fold(join_hyphens(_HYPHEN.sub("-\n", entities_to_text("".join(pieces) or text))))


def _is_broken(last: str, first: str, line_ends: bool) -> bool:
    """Return True if an address goes on after a line end, or after a blank in its place."""
    if not _ADDRESS.search(last[-300:]):
        return False
    if last.endswith(("http:", "https:")):
        return first.startswith("//")
    if line_ends and _DOI_INCOMPLETE.search(last[-300:]):
        return _DOI_REST.match(first) is not None
    if _OTHER.match(first):
        return False
    if line_ends and _DOI_OPEN.search(last[-100:]):
        return _DOI_GOES_ON.match(first) is not None
    if line_ends and _CHECKED.search(f"{last[-100:]}\n{first[:40]}"):
        return True
    if last.endswith(_OPEN_END):
        return _ADDRESS_GOES_ON.match(first) is not None or (
            not last.endswith(".") and (line_ends or first[0].isdigit()) and len(last) > 5
        )
    goes_on = _ADDRESS_GOES_ON.match(first) or _ADDRESS_END.match(first)
    return line_ends and goes_on is not None


# --- Authors ----------------------------------------------------------------------------------
# A style writes names in one of five ways: "W. Bruce Croft" or "W. B. Croft" (display), "Croft,
# W. B." or "Croft WB" (initials behind), "Croft, Bruce" (inverted). The first name shows which one;
# some styles invert only the first name.


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
_GROUP = compile_regex(
    rf"(?P<display>(?:[^\W\da-z_][\w&’'-]*+ ){{1,6}}?(?i:{phrases('organisation')})\b)"
    r"(?P<suffix>(?!))?+"
)
_IDEOGRAPHS = compile_regex(r"(?P<display>[\u3400-\u9fff·]{2,6}+)(?P<suffix>(?!))?+")
_GOES_ON = compile_regex(rf"\.?{_NAME_GOES_ON}")

_AND = r"(?:and|&|und|y|et(?! al))"
_BETWEEN = compile_regex(rf"(?P<last>[,;]? ?{_AND} )|[,;] ?(?:\.\.\. ?|… ?)?(?P<amp>& ?)?")
_LAST = compile_regex(rf" ?{_AND} ")
_OTHERS = compile_regex(
    rf"(?:[,;]? ?(?:and )?)(?:{ET_AL}|(?:\d+ )?others\b|(?:\.\.\.|…)(?! ?{UPPER}))"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_EDITORS = compile_regex(r"(?i),? ?[(\[]?(?:eds?|editors?|hrsg)\b\.?[)\]]?")
_YEAR_NEXT = r"[(\[]?(?:(?:1[5-9]|20)\d\d[a-z]?\b|n\. ?d\.|in press|forthcoming)"
_ENDED = compile_regex(
    rf"(?P<year>[.,]? {_YEAR_NEXT})|(?P<quote>[.,]? ?(?:[\"“”«„‘]|``|''))|(?P<point>\.(?: |$)|$)"
    rf"|(?P<colon> ?:)|(?P<initial>(?<=\.) (?=\w))|(?P<comma>[,;])|(?P<bracket> ?\[)"
)
_ENDS = {"year": 4, "quote": 4, "point": 3, "colon": 3, "initial": 3, "comma": 1, "bracket": 1}
_ORGANISATION = re.compile(rf"(?i)\b(?:{phrases('organisation')})\b")
_BEFORE_YEAR = compile_regex(rf"([^.()\[\]“\"]{{2,80}}?)[.,]? (?={_YEAR_NEXT}[a-z]?[)\]]?[.,:)\]])")


class AuthorList(NamedTuple):
    """Names in canonical form (``Family, Given``), and the offset at which they end.

    ``clear`` tells how clear that end is; it is odd if "and" precedes the last name.
    """

    names: tuple[str, ...] = ()
    end: int = 0
    clear: int = 0


def parse_authors(text: str) -> AuthorList:
    """Return the authors that a reference begins with, or none if they look like a title.

    Try each style, and take the names with the clearest end: before a year or a quotation.
    """
    best = AuthorList()
    for patterns, behind in _STYLES:
        best = max(best, _parse(text, patterns, behind), key=lambda parse: parse.clear)
        if best.clear >= 2 * _CLEAR:
            break
    if best.names:
        return best
    match = _BEFORE_YEAR.match(text)
    if match is None or len(match[1].split()) > 12:
        return AuthorList()
    one = match[1].strip(" ,")  # an organisation, or names between commas in an unknown style
    parts = re.split(r",? and |[,;] ", one)
    if len(parts) == 1 or _ORGANISATION.search(one):
        return AuthorList((one,), match.end(1))
    return AuthorList(tuple(filter(None, map(name_from_display, parts))), match.end(1))


_STYLES: tuple[tuple[tuple[re.Pattern[str], ...], bool], ...] = (
    ((_IDEOGRAPHS,), False),
    ((_BEHIND, _BEFORE), True),
    ((_BEHIND_BARE, _GROUP), True),
    ((_BEFORE,), False),
    ((_INVERTED, _DISPLAY), False),
    ((_DISPLAY,), False),
    ((_BEFORE, _DISPLAY), False),
)
_CLEAR = 4


def _parse(text: str, patterns: tuple[re.Pattern[str], ...], behind: bool) -> AuthorList:
    """Return the names in one style, or none if the text cannot be such a list of names."""
    names = _names(text, patterns)
    others = _OTHERS.match(text, names[-1].end()) if names else None
    while names and not (others or _end_clarity(text, names[-1].end(), behind, len(names))):
        names.pop()
    if not names:
        return AuthorList()
    end = others.end() if others else names[-1].end()
    editors = _EDITORS.match(text, end)
    clear = _CLEAR if others or editors else _end_clarity(text, end, behind, len(names))
    last = len(names) > 1 and bool(_LAST.search(text, names[-2].end(), names[-1].start()))
    if clear < _CLEAR and not (behind or last) and _DISPLAY in patterns:
        if _BEFORE.match(text):
            return AuthorList()
        if clear == 1:
            names, end = names[:1], names[0].end()  # "Jane Doe, Deep Learning, J. Noise 3"
    end = editors.end() if editors else end
    return AuthorList(tuple(map(_canonical, names)), end, 2 * clear + last)


def _names(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[re.Match[str]]:
    """Return names between commas; the first pattern is the style of the first name."""
    first = _match_name(patterns[0], text, 0)
    if first is None:
        return []
    parts = first.groupdict()
    if "family" in parts and first.re is not _INVERTED and _GOES_ON.match(text, first.end()):
        # The initial after a family name belongs to the name that follows.
        bare = first.re is _BEHIND_BARE
        if len(parts["given"].rstrip(".")) == 1 if bare else " " in parts["family"]:
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
