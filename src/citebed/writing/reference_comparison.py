"""Compare a stated reference with a record: title, authors, kind of work, venue and pages.

Differences of style do not count: case, accents, British spelling, a missing subtitle, initials,
particles, ``et al.``, abbreviated pages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import NamedTuple

from citebed.drafts.references import entry_from_document
from citebed.papers.reference_matcher import (
    CandidateDocument,
    ReferenceQuery,
    edit_distance,
    find_title,
)
from citebed.papers.references import parse_reference
from citebed.records import Document
from citebed.text.identifiers import arxiv_of_doi
from citebed.text.names import ET_AL
from citebed.text.titles import numbers
from citebed.text.words import FUNCTION_WORDS

# --- References -------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatedReference:
    """A reference as its author states it, in fields or as printed text.

    ``is_parsed`` is True if citebed found the parts in printed text, which can go wrong.
    ``and_others`` is True if the list of authors is cut (``et al.``, ``and others``).
    """

    text: str
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    pages: str | None = None
    venue: str = ""
    type: str = ""
    and_others: bool = False
    is_parsed: bool = False


_OTHERS = re.compile(rf"{ET_AL}|,\s*(?:…|\.\.\.|\. \. \.)\s|\band \d+ (?:others|more)\b")
_OTHERS_FIELD = re.compile(r"\band\s+others\b|\bet\.?\s+al\b", re.IGNORECASE)
_PAGES = re.compile(
    r"(?:(?<=\):)|(?<![\d/.:–—-])(?:\d{1,6}:)?)(\d{1,6})\s?[-–—]{1,2}\s?(?:\d{1,6}:)?(\d{1,6})(?![\d/:–—-])"
)
_LONGEST = 5000
"""Characters of a printed reference that are read."""


def stated_from_text(text: str, title: str = "") -> StatedReference:
    """Return a reference of a printed list, perhaps with a known title."""
    parsed = parse_reference(text[:_LONGEST])
    pages = _PAGES.findall(parsed.text)
    authors = tuple(name for name in parsed.authors if not _OTHERS_FIELD.search(name))
    return StatedReference(
        parsed.text, title or parsed.title, authors, parsed.year, parsed.doi, parsed.arxiv,
        "–".join(pages[-1]) if pages else None, parsed.venue,
        and_others=_OTHERS.search(parsed.text) is not None, is_parsed=True,
    )  # fmt: skip


def stated_from_document(document: Document, author_field: str = "") -> StatedReference:
    """Return a reference of fields; ``author_field`` is the raw field, which may end in others."""
    return StatedReference(
        entry_from_document("", document).text, document.title, document.authors, document.year,
        document.doi, document.arxiv or arxiv_of_doi(document.doi or ""), document.pages,
        document.venue or "", document.type,
        and_others=_OTHERS_FIELD.search(author_field) is not None,
    )  # fmt: skip


# --- Titles -----------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")
_SUBTITLE = re.compile(r"\s*(?:[:;.?!]|\s[-–—]|\((?=[^()]*\)\W*$))\s*")
_PART = re.compile(r"(?i)\W*(?:part|vol(?:ume)?|chapter)?\W*(?:[ivx]+|\d+)\b")
_RETRACTED = re.compile(
    r"\s*[\[(]?\s*(?:retract(?:ed|ion)(?:\s+(?:article|paper|note|notice))?(?:\s*(?:to|of|for))?"
    r"|withdrawn)\s*[\])]?\s*(?:[:.\-–—]|(?<=of)|(?<=to)|(?<=for)|(?<=\]))\s*[\"“'‘]?",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"(?i)\b(?:erratum|errata|corrigend\w+|addendum|correction (?:to|of|for)|certification of)\b"
    r"|(?:^|[:;.([–—-])\W*(?:appendix|comments? on|re(?:ply|sponse) to|review of|letters? to the"
    r"|remarks? on)\b"
)
"""Words that only one of two titles has if they are about each other."""
_DROPPED = frozenset(("a", "an", "the", "and"))
_SPELLING = {
    r"(?<=\w{3})is(e|ed|es|ing|er|ers|ation|ations|able)$": r"iz\1",
    r"(?<=\w{2})ys(e|ed|es|ing|er|ers)$": r"yz\1", r"(?<=\w{2})our(?=\w*$)": "or",
    r"(?<=\w{2})ogue(?=s?$)": "og", r"(?<=[bct])re(?=[sd]?$)": "er",
    r"l(?=l(?:ed|ing|er|ers)$)": "", r"(?<=[dfp])ence(?=s?$)": "ense", r"[ao]e": "e",
    r"^(program)me(?=s?$)": r"\1", r"^(judg|acknowledg|ag)e(?=ment|ing)": r"\1",
    r"^grey": "gray", r"^artefact": "artifact",
}  # fmt: skip
"""British spellings and their American form; both titles are rewritten, so it need not be right."""


def _plain_words(text: str, letters: dict[int, str] | None = None) -> list[str]:
    """Return the words of a text in lower case and without accents, some ``letters`` replaced."""
    plain = unicodedata.normalize("NFKD", text.lower().translate(letters or {}))
    return _WORD.findall("".join(sign for sign in plain if not unicodedata.combining(sign)).lower())


@lru_cache(maxsize=1 << 14)
def title_words(title: str) -> tuple[str, ...]:
    """Return the words of a title to compare: one spelling, no accents, no articles."""
    return tuple(_americanise(word) for word in _plain_words(title) if word not in _DROPPED)


@lru_cache(maxsize=1 << 14)
def _americanise(word: str) -> str:
    if len(word) > 4 and word.isascii():
        for british, american in _SPELLING.items():
            word = re.sub(british, american, word)
    return word


def original_title(title: str) -> str:
    """Return the title without "Retraction:" or "[Withdrawn]"."""
    return _RETRACTED.sub("", title, count=1)


class TitleComparison(NamedTuple):
    """``same``, ``changed`` (some words differ) or ``other``, and the share of common words.

    ``is_cut`` is True if one of two equal titles has no subtitle.
    """

    relation: str
    share: float = 0.0
    changes: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False


_SHORTEST_MAIN = 12
_CHANGED = 0.5
"""Titles with fewer common words than this share are other titles."""
SIMILAR = 0.3
"""A title with a smaller share of common words is not even similar."""


def compare_titles(
    stated: StatedReference, known: CandidateDocument, query: ReferenceQuery
) -> TitleComparison:
    """Compare a stated title with a record's: case, accents, punctuation, articles, British
    spelling and a missing subtitle make no difference."""
    is_about = bool(_NOTICE.search(stated.title)) != bool(_NOTICE.search(known.title))
    match = find_title(known, query) if stated.is_parsed else None
    if match and match.slips <= 2 and {match.start, match.end} <= query.plain.breaks.keys():
        # The title is in the text, wherever the parser put it; one before or after is a venue.
        parsed = query.title_match or match
        is_part = abs(match.start - parsed.start) > 2 or parsed.end > match.end + 2
        overlaps = match.start < parsed.end and parsed.start < match.end
        printed = query.plain.plain[match.start : match.end + match.slips]
        has_numbers = not match.slips or all(n in printed for n in numbers(known.title))
        is_work = known.type not in CONTAINERS and not (is_part and match.cut)
        if overlaps and has_numbers and is_work:
            is_cut = match.cut or is_part
            return TitleComparison("other" if is_about else "same", 1.0, is_cut=is_cut)
    ours, theirs = (title_words(original_title(title)) for title in (stated.title, known.title))
    if not ours or not theirs or is_about:
        return TitleComparison("other")
    left, right = "".join(ours), "".join(theirs)
    if left == right:
        return TitleComparison("same", 1.0)
    if _is_main(stated.title, right) or _is_main(known.title, left):
        return TitleComparison("same", 1.0, is_cut=True)
    if _part_numbers(ours) != _part_numbers(theirs):
        return TitleComparison("other")  # another part or year of a series
    if stated.is_parsed and max(_slips(left, right)) <= 2:
        return TitleComparison("same", 1.0)  # letters that a reader of PDFs got wrong
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    changes = tuple(
        (" ".join(ours[a:b]), " ".join(theirs[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )
    if all(before.replace(" ", "") == after.replace(" ", "") for before, after in changes):
        return TitleComparison("same", 1.0)
    share = matcher.ratio()
    return TitleComparison("changed" if share >= _CHANGED else "other", share, changes)


def _slips(left: str, right: str) -> tuple[int, int]:
    """Return the edit distance from the shorter text to a part of the longer one, and how much
    longer that one is."""
    short, long = sorted((left, right), key=len)
    return edit_distance(short, long)[0] if short else len(long), len(long) - len(short)


def _part_numbers(words: Sequence[str]) -> list[str]:
    return [n for n in numbers(" ".join(words)) if not n.endswith(("ity", "rty", "pty"))]


def _is_main(title: str, plain: str) -> bool:
    """Return True if the letters are a title without its subtitle or an ending in brackets."""
    return len(plain) >= _SHORTEST_MAIN and any(
        "".join(title_words(title[: cut.start()])) == plain and not _PART.match(title, cut.end())
        for cut in _SUBTITLE.finditer(title)
    )


_REPEATED = re.compile(
    r"(?i)\W*(?:[\w'’]+ forum\b|editor|guest editor|letters? to|session|preface|index\b|foreword"
    r"|workshop on|research article|introduction to the|in memoriam|book review"
    r"|(?:response|comments?|reply|panel)(?:\W*:| on\b| to\b))"
)
"""Starts of titles that several works of an issue may have."""


def is_distinctive(title: str, fewest: int = 4) -> bool:
    """Return True if hardly two works have this title ("Editorial" and "Deep learning" may)."""
    words = [word for word in title_words(title) if word not in FUNCTION_WORDS]
    if _REPEATED.match(title):
        return False
    return len(words) >= fewest and sum(map(len, words)) >= 5 * fewest


# --- Authors ----------------------------------------------------------------------------------

_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "æ": "e", "œ": "e", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
_UMLAUT = re.compile(r"(?<=[aou])e(?!$)")
_PARTICLES = frozenset(
    """
    von van vom der den de del della di da do dos das du des la le les lo ten ter te zu zur af av
    al el bin ibn ben st saint t y e und
    """.split()  # noqa: SIM905
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "junior"))
_NICKNAMES = """
    alex sasha, alexei oleksiy, beth elizabeth, betty elizabeth, bill william, bob robert,
    cathy katherine, dick richard, eugene yevgeny, kate catherine, liz elizabeth,
    ned edward, peggy margaret, ted edward, tina christina, tony anthony, yuri iouri
"""
_SAME_GIVEN = frozenset(frozenset(pair.split()) for pair in _NICKNAMES.split(","))
"""Given names of one person with different initials."""


class _Name(NamedTuple):
    """A name to compare: the family name in letters, its words, and the given names."""

    family: str
    parts: tuple[str, ...]
    given: tuple[str, ...]


@lru_cache(maxsize=1 << 15)
def _parse_name(name: str) -> _Name:
    family, _, given = name.partition(",")
    parts = _name_words(family)
    core = [word for word in parts if word not in _PARTICLES] or parts
    words: list[str] = []
    for word in re.split(r"[\s.,\-‐‑'’]+", given):  # "JM" is two initials
        words += _name_words(" ".join(word) if len(word) <= 3 and word.isupper() else word)
    if not core and words:  # "Jr., Charles L. Isbell", DBLP's "0001, Jin Tian"
        core = [words.pop()]
    return _Name("".join(core), tuple(core), tuple(words))


def _name_words(text: str) -> list[str]:
    words = (_UMLAUT.sub("", word) for word in _plain_words(text, _LETTERS) if not word.isdigit())
    return [word for word in words if word not in _SUFFIXES]


def same_person(ours: str, theirs: str) -> bool:
    """Return True unless two names differ; initials, particles, order and accents do not count."""
    left, right = _parse_name(ours), _parse_name(theirs)
    if _same_family(left, right):
        return _same_given(left, right)
    if left.family and left.family == "".join(right.given) and "".join(left.given) == right.family:
        return True  # "Wei Zhang" and "Zhang Wei"
    whole = "".join((*left.parts, *left.given))
    return bool(whole) and whole == "".join((*right.parts, *right.given))


def _is_sure(ours: str, theirs: str) -> bool:
    """Return False if the given names of two matching names are written in full and differ."""
    left, right = (_parse_name(name).given[:1] for name in (ours, theirs))
    return not left or not right or left[0][:2] == right[0][:2] or 1 in map(len, (*left, *right))


def _is_misspelt(ours: str, theirs: str) -> bool:
    """Return True if two family names differ in a letter or two, and the given names agree."""
    left, right = _parse_name(ours), _parse_name(theirs)
    limit = 1 if max(len(left.family), len(right.family)) < 6 else 2
    return sum(_slips(left.family, right.family)) <= limit and _same_given(left, right)


def _same_family(left: _Name, right: _Name) -> bool:
    if left.family == right.family:
        return True
    short, long = sorted((left.parts, right.parts), key=len)
    if len(short) < len(long) and short and (short == long[-len(short) :] or short[0] == long[0]):
        return len("".join(short)) >= 4  # "Márquez" and "García Márquez"
    is_long = min(len(left.family), len(right.family)) >= 6
    return is_long and max(_slips(left.family, right.family)) <= 1


def _same_given(left: _Name, right: _Name) -> bool:
    if not left.given or not right.given:
        return True
    initials = [{word[0] for word in name.given} for name in (left, right)]
    ours, theirs = left.given[0], right.given[0]  # or perhaps a middle name in use
    same_start = ours[0] in initials[1] or theirs[0] in initials[0]
    return same_start or frozenset((ours, theirs)) in _SAME_GIVEN


class AuthorComparison(NamedTuple):
    """How two lists of authors compare, the share of common names, and the names that differ.

    The relation is ``same``, ``unknown``, ``order``, ``missing``, ``added``, ``changed`` or
    ``other``. ``missing`` are indexes of the record's names, ``added`` of the stated ones.
    """

    relation: str
    share: float = 0.0
    missing: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


_MOST_NAMES = 30
_MOST_PAIRS = 60
"""In longer lists, only names with the same family name are compared."""
_OVERLAP = 0.5
"""Lists of authors with fewer common names than this share of the shorter list belong to other
works, unless the first author is the same."""


def compare_authors(
    stated: Sequence[str], known: Sequence[str], *, and_others: bool = False
) -> AuthorComparison:
    """Compare a stated list of authors, perhaps cut by ``et al.``, with a record's."""
    if not stated or not known:
        return AuthorComparison("unknown")
    by_family: defaultdict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(known):
        by_family[_parse_name(name).family].append(at)
    every = range(len(known)) if len(known) <= _MOST_PAIRS else ()
    free, pairs = set(range(len(known))), dict[int, int]()
    for at, name in enumerate(stated):
        for other in (*by_family[_parse_name(name).family], *every):
            if other in free and same_person(name, known[other]):
                free.discard(other)
                pairs[at] = other
                break
    added = tuple(at for at in range(len(stated)) if at not in pairs)
    missing = tuple(sorted(free))
    sure = sum(_is_sure(stated[a], known[b]) for a, b in pairs.items())
    rest = [stated[at] for at in added[:_MOST_NAMES]]
    sure += sum(any(_is_misspelt(name, known[at]) for at in missing) for name in rest)
    size = min(len(stated), len(known))
    if not pairs and sure < _OVERLAP * size:
        relation = "other"
    elif not added and (and_others or not missing):
        missing = tuple(at for at in missing if at < min(pairs.values()))  # the first must be there
        is_ordered = list(pairs.values()) == sorted(pairs.values())
        relation = "missing" if missing else "same" if is_ordered else "order"
    elif not added or not missing:
        relation = "added" if added else "missing"
    else:
        is_led = pairs.get(0) == 0 and _is_sure(stated[0], known[0]) and sure >= size / 3
        relation = "changed" if is_led or sure >= _OVERLAP * size else "other"
    return AuthorComparison(relation, len(pairs) / size, missing, added)


# --- References and records -------------------------------------------------------------------

PREPRINT_DOI = re.compile(
    r"10\.(?:48550|31234|2139|21203|26434|20944|36227|5281|6084)/|10\.1101/(?:\d{6}$|\d{4}\.\d\d\.)"
)
NO_DOI = "10.5555/"
"""ACM's ids of papers without a DOI."""
_PREPRINT = re.compile(r"arxiv|\bcorr\b|biorxiv|medrxiv|preprint|ssrn|eprint", re.IGNORECASE)
_PROCEEDINGS = re.compile(
    r"\b(?:proc\b|proceedings|conference|conf\b|symposium|workshop|companion)", re.IGNORECASE
)
_VOLUME = re.compile(r"\b[Vv]ol\.|\b\d{1,4}\s?\(\d{1,4}\)|\b\d{1,3}, ?\d{1,2}(?:[-–]\d)? \(\d{4}\)")
_JOURNAL = re.compile(_VOLUME.pattern + r"|\bJ\. |\bJournal\b|\bTrans")
_PUBLISHER = re.compile(r"\b(?:Press|Wiley|Addison|Prentice|McGraw|Kaufmann|Elsevier|Publish\w+)\b")
CONTAINERS = frozenset(("book", "proceedings", "collection", "periodical", "mvbook", "booklet"))
_KINDS = {
    "inproceedings": "proceedings", "proceedings": "proceedings", "article": "journal",
    "book": "book", "inbook": "book", "incollection": "book", "phdthesis": "thesis",
    "mastersthesis": "thesis", "thesis": "thesis", "techreport": "report", "report": "report",
}  # fmt: skip
_NO_VENUE = FUNCTION_WORDS | frozenset(
    """
    proc proceedings conference conf international intl int annual symposium workshop
    """.split()  # noqa: SIM905
)
"""Words of a venue that say nothing about which one it is."""
_RANGE = re.compile(r"\s*(\d+)(?:\s*[-–—]+\s*(\d+))?\s*")


@dataclass(frozen=True)
class Comparison:
    """A reference compared with a record; ``named`` is the field of an identifier of both."""

    stated: StatedReference
    known: CandidateDocument
    title: TitleComparison
    authors: AuthorComparison
    named: str = ""

    @property
    def rank(self) -> tuple[float, ...]:
        """The values to sort by."""
        relation = ("other", "changed", "same").index(self.title.relation)
        return bool(self.named), relation, self.authors.share, self.title.share

    @property
    def years_apart(self) -> int | None:
        """The difference of the years, if both are known."""
        ours, theirs = self.stated.year, self.known.year
        return None if ours is None or theirs is None else abs(ours - theirs)

    @cached_property
    def kinds(self) -> tuple[str, str]:
        """The kinds of the stated work and of the record: preprint, proceedings, journal, book,
        thesis, report, or "" if it is unclear."""
        stated, known = self.stated, self.known
        text = stated.text if stated.is_parsed else ""
        ours = _kind(stated.type, stated.venue, stated.doi, text)
        is_preprint = bool(stated.arxiv) and not stated.venue
        return "preprint" if is_preprint else ours, _kind(known.type, known.venue, known.doi)

    @cached_property
    def same_venue(self) -> bool | None:
        """True if words of the venues or their starts agree, or an acronym; ``None`` if unclear."""
        stated = self.stated.venue
        ours, theirs = (
            [w for w in title_words(venue) if w not in _NO_VENUE and not w[0].isdigit()]
            for venue in (stated, self.known.venue or "")
        )
        if not ours or not theirs:
            return None
        if len(ours) == 1 and (ours[0].upper() in stated or stated.upper() == stated):
            initials = "".join(word[0] for word in theirs)
            return True if ours[0] in initials or ours[0] in theirs else None
        starts = sum(any(o.startswith(t) or t.startswith(o) for t in theirs) for o in ours)
        return starts / len(ours) >= 0.5

    @property
    def is_same_issue(self) -> bool:
        """True if year and venue agree."""
        return self.years_apart == 0 and self.same_venue is True

    @cached_property
    def pages_differ(self) -> bool | None:
        """True for other pages; ``None`` if they cannot be compared, as article numbers."""
        spans = []
        for match in (_RANGE.fullmatch(each.pages or "") for each in (self.stated, self.known)):
            if match is None:
                return None
            first, last = match[1], match[2] or ""
            whole = first[: max(0, len(first) - len(last))] + last  # "123–9" is "123–129"
            spans.append((int(first), int(whole) if last else None))
        (start, end), (known_start, known_end) = spans
        are_ranges = end is not None and known_end is not None
        if start == known_start:
            return are_ranges and end != known_end
        return True if are_ranges and 1 not in (start, known_start) else None

    @property
    def is_version(self) -> bool:
        """True if the reference means this record, even with wrong details.

        A conference paper beside a journal article by other authors is another work, and so is one
        with nothing but the same short title.
        """
        relation, apart = self.authors.relation, self.years_apart
        if self.title.relation != "same" or relation == "other":
            return False
        if self.named:
            return True
        if self.title.is_cut and relation != "same":
            return False
        is_moved = (apart or 0) > 1 or self.pages_differ or relation not in ("same", "unknown")
        same_place = self.pages_differ is False or (apart == 0 and self.same_venue is True)
        if self.stated.doi and self.known.doi and is_moved and not same_place:
            return False  # another DOI and more: another version
        if relation == "unknown":
            return is_distinctive(self.known.title) or (apart is not None and apart <= 1)
        return relation == "same" or not all(self.kinds) or self.kinds[0] == self.kinds[1]


def _kind(type: str | None, venue: str | None, doi: str | None, text: str = "") -> str:
    if PREPRINT_DOI.match(doi or "") or _PREPRINT.search(venue or ""):
        return "preprint"
    if type in _KINDS:
        return _KINDS[type]
    if _PREPRINT.search(text):
        return "preprint"
    if _PROCEEDINGS.search(venue or text):
        return "proceedings"
    if not venue and _PUBLISHER.search(text):
        return "book"
    return "journal" if _JOURNAL.search(venue or text) or _VOLUME.search(text) else ""


def compare(stated: StatedReference, query: ReferenceQuery, known: CandidateDocument) -> Comparison:
    """Compare a reference with a record."""
    pairs = {"doi": (stated.doi, known.doi), "arxiv": (stated.arxiv, known.arxiv)}
    named = next((name for name, (ours, theirs) in pairs.items() if ours and ours == theirs), "")
    title, authors = compare_titles(stated, known, query), AuthorComparison("other")
    if title.share >= SIMILAR or named:
        authors = compare_authors(stated.authors, known.authors, and_others=stated.and_others)
        if stated.is_parsed and authors.relation != "same":
            authors = _trust_parsed(stated, query, known, authors)
    return Comparison(stated, known, title, authors, named)


def _trust_parsed(
    stated: StatedReference,
    query: ReferenceQuery,
    known: CandidateDocument,
    authors: AuthorComparison,
) -> AuthorComparison:
    """Correct a comparison with authors that were parsed from printed text.

    A name of the record that the text contains is not missing, and if all are there, the parser
    put a title's words or half a name among the authors.
    """
    inside = [
        set(name.parts) <= query.words
        or (len(name.family) >= 4 and name.family in query.plain.plain)
        for name in map(_parse_name, known.authors[:_MOST_NAMES])
        if name.family
    ]
    relation, title = authors.relation, set(title_words(known.title))
    if not inside or relation == "order":
        return authors
    extra = tuple(at for at in authors.added if title.isdisjoint(title_words(stated.authors[at])))
    if relation == "added" and extra:
        return authors._replace(added=extra)
    missing = tuple(at for at in authors.missing if at >= len(inside) or not inside[at])
    if all(inside) or (relation == "missing" and not missing):
        return AuthorComparison("same", 1.0)
    if relation == "other" and sum(inside) >= max(1, len(inside) / 2):
        return AuthorComparison("unknown")
    if stated.and_others and inside[0]:
        return AuthorComparison("same", 1.0)
    return authors._replace(missing=missing)
