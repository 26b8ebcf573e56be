"""Check references against the records of a collection: does each work exist, and is it right?

A collection never holds everything, so a work that it does not hold is ``not in this collection``.
``not found`` needs evidence: a title of the collection under other authors, a title blended from
two works of the same authors, or an identifier that belongs to another work. ``wrong details``
needs a work of the collection: its title and some of its authors, or its identifier.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import polars as pl

from citebed.papers.reference_matcher import (
    CandidateDocument,
    ReferenceMatcher,
    ReferenceQuery,
    edit_distance,
    find_title,
)
from citebed.papers.references import ParsedReference, parse_reference
from citebed.records import Document
from citebed.text.identifiers import arxiv_of_doi
from citebed.text.names import ET_AL, display_name
from citebed.text.titles import numbers
from citebed.text.words import FUNCTION_WORDS
from citebed.wording import list_first

VerdictName = Literal["fine", "wrong details", "not found", "not in this collection"]
FINE: VerdictName = "fine"
WRONG: VerdictName = "wrong details"
NOT_FOUND: VerdictName = "not found"
NOT_HELD: VerdictName = "not in this collection"


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


class Detail(NamedTuple):
    """A detail of a reference that disagrees with the record: the field, both values, and why."""

    field: str
    printed: str
    record: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on a reference; ``doc_id`` is the work that it means.

    ``nearest`` is the most similar record in words, and ``nearest_id`` its id. ``reason`` is a
    sentence for the user, and ``record`` the record that details were compared with. ``published``
    is the published version of a preprint, ``retracted`` a retraction notice, both in words.
    """

    name: VerdictName
    doc_id: str | None = None
    nearest: str = ""
    nearest_id: str | None = None
    reason: str = ""
    details: tuple[Detail, ...] = ()
    published: str | None = None
    retracted: str | None = None
    record: CandidateDocument | None = None


# --- References -------------------------------------------------------------------------------

_OTHERS = re.compile(rf"{ET_AL}|,\s*(?:…|\.\.\.|\. \. \.)\s|\band \d+ (?:others|more)\b")
_OTHERS_FIELD = re.compile(r"\band\s+others\b|\bet\.?\s+al\b", re.IGNORECASE)
_PAGES = re.compile(
    r"(?<![\d/.:–—-])(?:\d{1,6}:)?(\d{1,6})\s?[-–—]{1,2}\s?(?:\d{1,6}:)?(\d{1,6})(?![\d/:–—-])"
)
_LONGEST = 5000
"""Characters of a printed reference that are read."""


def stated_from_text(text: str) -> StatedReference:
    """Return a reference of a printed list."""
    parsed = parse_reference(text[:_LONGEST])
    pages = next(reversed([*_PAGES.finditer(parsed.text)]), None)
    authors = tuple(name for name in parsed.authors if not _OTHERS_FIELD.search(name))
    return StatedReference(
        parsed.text, parsed.title, authors, parsed.year, parsed.doi, parsed.arxiv,
        f"{pages[1]}–{pages[2]}" if pages else None, parsed.venue,
        and_others=_OTHERS.search(parsed.text) is not None, is_parsed=True,
    )  # fmt: skip


def stated_from_document(document: Document, author_field: str = "") -> StatedReference:
    """Return a reference of fields; ``author_field`` is the raw field, which may end in others."""
    names = document.authors or document.editors
    parts = ("; ".join(names), document.title, document.venue, str(document.year or ""))
    return StatedReference(
        ". ".join(filter(None, parts)), document.title, document.authors, document.year,
        document.doi, document.arxiv or arxiv_of_doi(document.doi or ""), document.pages,
        document.venue or "", document.type,
        and_others=_OTHERS_FIELD.search(author_field) is not None,
    )  # fmt: skip


# --- Titles -----------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")
_SUBTITLE = re.compile(r"\s*(?:[:;.?!]|\s[-–—]|\((?=[^()]*\)\W*$))\s*")
_RETRACTED = re.compile(
    r"\s*[\[(]?\s*(?:retract(?:ed|ion)(?:\s+(?:article|paper|note|notice))?(?:\s*(?:to|of|for))?"
    r"|withdrawn)\s*[\])]?\s*(?:[:.\-–—]|(?<=of)|(?<=to)|(?<=for)|(?<=\]))\s*[\"“'‘]?",
    re.IGNORECASE,
)
_DROPPED = frozenset(("a", "an", "the", "and"))
_SPELLING = (
    (re.compile(r"(?<=\w{3})is(e|ed|es|ing|er|ers|ation|ations|able)$"), r"iz\1"),
    (re.compile(r"(?<=\w{2})ys(e|ed|es|ing|er|ers)$"), r"yz\1"),
    (re.compile(r"(?<=\w{2})our(?=\w*$)"), "or"),
    (re.compile(r"(?<=\w{2})ogue(?=s?$)"), "og"),
    (re.compile(r"(?<=[bct])re(?=[sd]?$)"), "er"),
    (re.compile(r"l(?=l(?:ed|ing|er|ers)$)"), ""),
    (re.compile(r"(?<=[dfp])ence(?=s?$)"), "ense"),
    (re.compile(r"[ao]e"), "e"),
    (re.compile(r"^(program)me(?=s?$)"), r"\1"),
    (re.compile(r"^(judg|acknowledg|ag)e(?=ment|ing)"), r"\1"),
    (re.compile(r"^grey"), "gray"),
    (re.compile(r"^artefact"), "artifact"),
)
"""British spellings and their American form; both titles are rewritten, so it need not be right."""


@lru_cache(maxsize=1 << 14)
def title_words(title: str) -> tuple[str, ...]:
    """Return the words of a title to compare: one spelling, no accents, no articles."""
    plain = unicodedata.normalize("NFKD", title).lower()
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return tuple(_spell(word) for word in _WORD.findall(plain) if word not in _DROPPED)


@lru_cache(maxsize=1 << 14)
def _spell(word: str) -> str:
    if len(word) > 4 and word.isascii():
        for pattern, replacement in _SPELLING:
            word = pattern.sub(replacement, word)
    return word


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


def compare_titles(
    stated: StatedReference, known: CandidateDocument, query: ReferenceQuery
) -> TitleComparison:
    """Compare a stated title with a record's: case, accents, punctuation, articles, British
    spelling and a missing subtitle make no difference."""
    if stated.is_parsed and (match := find_title(known, query)) and match.slips <= 2:
        # The title is in the text, wherever the parser put it.
        at_start = match.start in query.plain.breaks
        if at_start and match.end in query.plain.breaks:
            return TitleComparison("same", 1.0, is_cut=match.cut)
    ours = title_words(_RETRACTED.sub("", stated.title, count=1))
    theirs = title_words(_RETRACTED.sub("", known.title, count=1))
    if not ours or not theirs:
        return TitleComparison("other")
    left, right = "".join(ours), "".join(theirs)
    if left == right:
        return TitleComparison("same", 1.0)
    if _is_main(stated.title, right) or _is_main(known.title, left):
        return TitleComparison("same", 1.0, is_cut=True)
    if stated.is_parsed and edit_distance(*sorted((left, right), key=len))[0] <= 2 >= abs(
        len(left) - len(right)
    ):
        return TitleComparison("same", 1.0)  # letters that a reader of PDFs got wrong
    if _part_numbers(ours) != _part_numbers(theirs):
        return TitleComparison("other")  # another part or year of a series
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    share = matcher.ratio()
    changes = tuple(
        (" ".join(ours[a:b]), " ".join(theirs[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )
    if all(before.replace(" ", "") == after.replace(" ", "") for before, after in changes):
        return TitleComparison("same", 1.0)
    return TitleComparison("changed" if share >= _CHANGED else "other", share, changes)


def _part_numbers(words: Sequence[str]) -> list[str]:
    return [n for n in numbers(" ".join(words)) if not n.endswith(("ity", "rty", "pty"))]


def _is_main(title: str, plain: str) -> bool:
    """Return True if the letters are a title without its subtitle or an ending in brackets."""
    return len(plain) >= _SHORTEST_MAIN and any(
        "".join(title_words(title[: cut.start()])) == plain for cut in _SUBTITLE.finditer(title)
    )


def _is_distinctive(title: str, fewest: int = 4) -> bool:
    """Return True if hardly two works have this title ("Editorial" and "Deep learning" may)."""
    words = [word for word in title_words(title) if word not in FUNCTION_WORDS]
    return len(words) >= fewest and sum(map(len, words)) >= 5 * fewest


# --- Authors ----------------------------------------------------------------------------------

_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "æ": "e", "œ": "e", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
_UMLAUT = re.compile(r"(?<=[aou])e(?!$)")
_PARTICLES = frozenset(
    "von van vom der den de del della di da do dos das du des la le les lo ten ter te zu zur af av"
    " al el bin ibn ben st saint 't y e und".split()
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "junior"))
_NICKNAMES = (
    "bill william", "bob robert", "dick richard", "rick richard", "ted edward", "ned edward",
    "jack john", "tony anthony", "betty elizabeth", "beth elizabeth", "liz elizabeth",
    "peggy margaret", "jim james", "hank henry", "harry henry", "chuck charles", "gene eugene",
    "alex sasha", "mike mikhail", "kate catherine", "cathy katherine", "tina christina",
    "yuri iouri", "eugene yevgeny", "alexei oleksiy", "andrei andrew",
)  # fmt: skip
_SAME_GIVEN = frozenset(frozenset(pair.split()) for pair in _NICKNAMES)


class _Name(NamedTuple):
    """A name to compare: the family name in letters, its parts, and the given names."""

    family: str
    parts: tuple[str, ...]
    given: tuple[str, ...]
    initials: frozenset[str]


@lru_cache(maxsize=1 << 15)
def _parse_name(name: str) -> _Name:
    family, _, given = name.partition(",")
    parts = [word for word in _name_words(family) if word not in _SUFFIXES]
    core = [word for word in parts if word not in _PARTICLES] or parts
    stated = [w for w in re.split(r"[\s.,\-‐‑'’]+", given) if w]
    words: list[str] = []
    for word in stated:
        # "JM" and "J.M." are two initials; "AL" may be a name, which starts with one of them.
        is_compact = len(word) <= 3 and word.isupper()
        words += _name_words(" ".join(word) if is_compact else word)
    words = [word for word in words if word not in _SUFFIXES]
    if not core and words:  # "Jr., Charles L. Isbell", DBLP's "0001, Jin Tian"
        core = [words.pop()]
    return _Name("".join(core), tuple(core), tuple(words), frozenset(word[0] for word in words))


def _name_words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return [_UMLAUT.sub("", word) for word in _WORD.findall(plain) if not word.isdigit()]


def same_person(ours: str, theirs: str) -> bool:
    """Return True unless two names differ; initials, particles, order and accents do not count."""
    left, right = _parse_name(ours), _parse_name(theirs)
    if _same_family(left, right):
        return _same_given(left, right)
    flipped = "".join(left.given), "".join(right.given)
    if left.family and left.family == flipped[1] and flipped[0] == right.family:
        return True  # "Wei Zhang" and "Zhang Wei"
    whole = "".join((*left.parts, *left.given)), "".join((*right.parts, *right.given))
    return bool(whole[0]) and whole[0] == whole[1]


def _is_sure(ours: str, theirs: str) -> bool:
    """Return False if the given names of two matching names are written in full and differ."""
    left, right = (_parse_name(name).given[:1] for name in (ours, theirs))
    return not left or not right or left[0][:2] == right[0][:2] or 1 in map(len, (*left, *right))


def _is_misspelt(ours: str, theirs: str) -> bool:
    """Return True if two family names differ in a letter or two, and the given names agree."""
    left, right = _parse_name(ours), _parse_name(theirs)
    pair = sorted((left.family, right.family), key=len)
    apart = len(pair[1]) - len(pair[0])
    limit = 1 if len(pair[1]) < 6 else 2
    return apart <= limit and edit_distance(*pair)[0] + apart <= limit and _same_given(left, right)


def _same_family(left: _Name, right: _Name) -> bool:
    if left.family == right.family:
        return True
    short, long = sorted((left.parts, right.parts), key=len)
    if len(short) < len(long) and short and (short == long[-len(short) :] or short[0] == long[0]):
        return len("".join(short)) >= 4  # "Márquez" and "García Márquez"
    pair = sorted((left.family, right.family), key=len)
    return len(pair[0]) >= 6 and len(pair[1]) - len(pair[0]) < 2 and edit_distance(*pair)[0] <= 1


def _same_given(left: _Name, right: _Name) -> bool:
    if not left.initials or not right.initials:
        return True
    if left.given[0][0] == right.given[0][0]:
        return True
    if left.given[0][0] in right.initials or right.given[0][0] in left.initials:
        return True  # a middle name in use
    return frozenset((left.given[0], right.given[0])) in _SAME_GIVEN


class AuthorComparison(NamedTuple):
    """How two lists of authors compare, the share of common names, and the names that differ.

    The relation is ``same``, ``unknown``, ``order``, ``missing``, ``added``, ``changed`` or
    ``other``. ``missing`` are indexes of the record's names, ``added`` of the stated ones.
    """

    relation: str
    share: float = 0.0
    missing: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


_OVERLAP = 0.5
"""Lists of authors with fewer common names than this share of the shorter list belong to other
works, unless the first author is the same."""


def compare_authors(
    stated: Sequence[str], known: Sequence[str], *, and_others: bool = False
) -> AuthorComparison:
    """Compare a stated list of authors, perhaps cut by ``et al.``, with a record's."""
    if not stated or not known:
        return AuthorComparison("unknown")
    by_family: dict[str, list[int]] = {}
    for at, name in enumerate(known):
        by_family.setdefault(_parse_name(name).family, []).append(at)
    free = set(range(len(known)))
    pairs: list[tuple[int, int]] = []
    for at, name in enumerate(stated):
        near = by_family.get(_parse_name(name).family, [])
        few = range(len(known)) if len(known) <= 60 else ()
        for other in (*near, *few):
            if other in free and same_person(name, known[other]):
                free.discard(other)
                pairs.append((at, other))
                break
    matched = {at for at, _ in pairs}
    added = tuple(at for at in range(len(stated)) if at not in matched)
    missing = tuple(sorted(free))
    share = len(pairs) / min(len(stated), len(known))
    ordered = [other for _, other in pairs]
    sure = sum(_is_sure(stated[a], known[b]) for a, b in pairs) / min(len(stated), len(known))
    sure += sum(
        any(_is_misspelt(stated[a], known[b]) for b in missing) for a in added[:_MOST_NAMES]
    ) / min(len(stated), len(known))
    if not pairs and sure < _OVERLAP:
        return AuthorComparison("other", 0.0, missing, added)
    if not added and (and_others or not missing):
        relation = "same" if ordered == sorted(ordered) else "order"
        return AuthorComparison(relation, share, (), ())
    if not added:
        return AuthorComparison("missing", share, missing, ())
    if not missing:
        return AuthorComparison("added", share, (), added)
    first_is_same = pairs[:1] == [(0, 0)] and _is_sure(stated[0], known[0]) and sure >= 1 / 3
    related = sure >= _OVERLAP or first_is_same
    return AuthorComparison("changed" if related else "other", share, missing, added)


# --- Kinds of works, venues, pages ------------------------------------------------------------

_PREPRINT_DOI = re.compile(
    r"10\.(?:48550|31234|2139|21203|26434|20944|36227|5281|6084)/|10\.1101/(?:\d{6}$|\d{4}\.\d\d\.)"
)
_NO_DOI = "10.5555/"
"""ACM's ids of papers without a DOI."""
_PREPRINT = re.compile(r"arxiv|\bcorr\b|biorxiv|medrxiv|preprint|ssrn|eprint", re.IGNORECASE)
_PROCEEDINGS = re.compile(
    r"\b(?:proc\b|proceedings|conference|conf\b|symposium|workshop|companion)", re.IGNORECASE
)
_JOURNAL = re.compile(r"\bvol\.|\b\d{1,4}\s?\(\d{1,4}\)|\bJ\. |\bJournal\b|\bTrans")
_CONTAINERS = frozenset(("book", "proceedings", "collection", "periodical", "mvbook", "booklet"))
_KINDS = {
    "inproceedings": "proceedings", "proceedings": "proceedings", "article": "journal",
    "book": "book", "inbook": "book", "incollection": "book", "phdthesis": "thesis",
    "mastersthesis": "thesis", "thesis": "thesis", "techreport": "report", "report": "report",
}  # fmt: skip


def _kind(type: str | None, venue: str | None, doi: str | None, text: str = "") -> str:
    """Return preprint, proceedings, journal, book, thesis, report, or "" if it is unclear."""
    if _PREPRINT_DOI.match(doi or "") or _PREPRINT.search(venue or ""):
        return "preprint"
    if type in _KINDS:
        return _KINDS[type]
    if _PREPRINT.search(text):
        return "preprint"
    if _PROCEEDINGS.search(venue or text):
        return "proceedings"
    return "journal" if _JOURNAL.search(venue or text) else ""


def _kinds(stated: StatedReference, known: CandidateDocument) -> tuple[str, str]:
    """Return the kinds of a stated work and of a record."""
    is_preprint = bool(stated.arxiv) and not stated.venue
    text = stated.text if stated.is_parsed else ""
    ours = "preprint" if is_preprint else _kind(stated.type, stated.venue, stated.doi, text)
    return ours, _kind(known.type, known.venue, known.doi)


def _same_venue(stated: str, known: str | None) -> bool | None:
    """Return True if words or their starts agree, or an acronym does; ``None`` if unclear."""
    ours = [w for w in title_words(stated) if w not in FUNCTION_WORDS and not w.isdigit()]
    theirs = [w for w in title_words(known or "") if w not in FUNCTION_WORDS and not w.isdigit()]
    if not ours or not theirs:
        return None
    if len(ours) == 1 and stated.upper() == stated:
        initials = "".join(word[0] for word in theirs)
        return True if ours[0] in initials or ours[0] in theirs else None
    starts = sum(any(o.startswith(t) or t.startswith(o) for t in theirs) for o in ours)
    return starts / len(ours) >= 0.5


def _first_page(pages: str | None) -> tuple[int, int | None] | None:
    """Return first and last page of a numeric range, with ``123–9`` in full."""
    match = re.fullmatch(r"(\d+)(?:\s*[-–—]+\s*(\d+))?", (pages or "").strip())
    if match is None:
        return None
    first, last = match[1], match[2]
    if last and len(last) < len(first):
        last = first[: -len(last)] + last
    return int(first), int(last) if last else None


def _pages_differ(stated: str | None, known: str | None) -> bool | None:
    """Return True for other pages; ``None`` if they cannot be compared, as article numbers."""
    ours, theirs = _first_page(stated), _first_page(known)
    if ours is None or theirs is None or ours == theirs:
        return None if ours is None or theirs is None else False
    if ours[0] == theirs[0]:
        return None not in (ours[1], theirs[1])
    is_range = ours[1] is not None and theirs[1] is not None
    return True if is_range and 1 not in (ours[0], theirs[0]) else None


# --- Verdicts ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Comparison:
    """A reference compared with a candidate document."""

    document: CandidateDocument
    title: TitleComparison
    authors: AuthorComparison
    same_doi: bool
    same_arxiv: bool

    @property
    def is_version(self) -> bool:
        """True if title and authors are those of the document, even with wrong details."""
        if self.title.relation != "same" or self.authors.relation == "other":
            return False
        return (
            not self.title.is_cut or self.is_named or self.authors.relation in ("same", "unknown")
        )

    @property
    def is_named(self) -> bool:
        return self.same_doi or self.same_arxiv

    @property
    def rank(self) -> tuple[float, ...]:
        order = ("same", "changed", "other")
        return (self.is_named, -order.index(self.title.relation), self.authors.share,
                self.title.share)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """How to judge references.

    ``complete``: the collection holds everything that may be cited, so a work that it does not hold
    is ``not found``. ``this_year``: years after the next one are wrong.
    """

    complete: bool = False
    this_year: int | None = None


class ReferenceChecker:
    """Checks references against documents; building it takes a second for 100,000 documents."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "doc_id", "title", "authors", "year", "doi", "arxiv", "venue", "pages", "type",
    )  # fmt: skip

    def __init__(self, documents: pl.DataFrame) -> None:
        self._matcher = ReferenceMatcher(documents)
        notices = documents.filter(pl.col("title").str.contains(r"(?i)^\W*(?:retract|withdrawn)"))
        self._retractions: dict[str, str] = {}
        for title in notices["title"]:
            if _RETRACTED.match(title):
                plain = "".join(title_words(_RETRACTED.sub("", title, count=1)))
                self._retractions.setdefault(plain, title)
        self._retractions.pop("", None)

    def check(
        self, references: Sequence[StatedReference], options: ReferenceOptions | None = None
    ) -> list[Verdict]:
        """Return the verdict on each reference."""
        options = options or ReferenceOptions()
        queries = [ReferenceQuery(_as_parsed(reference)) for reference in references]
        rows = self._matcher.candidate_rows(queries, _MOST_CANDIDATES)
        documents = self._matcher.load_documents(row for some in rows for row in some)
        verdicts = []
        for stated, query, some in zip(references, queries, rows, strict=True):
            compared = [_compare(stated, query, documents[row]) for row in some]
            verdict = _decide(stated, compared, options)
            notice = self._retraction(verdict.record)
            verdicts.append(replace(verdict, retracted=notice) if notice else verdict)
        return verdicts

    def _retraction(self, record: CandidateDocument | None) -> str | None:
        """Return the title of the notice if the collection knows that a work was retracted."""
        if record is None or not self._retractions:
            return None
        return self._retractions.get(
            "".join(title_words(_RETRACTED.sub("", record.title, count=1)))
        )


_MOST_CANDIDATES = 6
_SIMILAR = 0.3
"""A title with a smaller share of common words is not similar."""


def _as_parsed(stated: StatedReference) -> ParsedReference:
    title = _RETRACTED.sub("", stated.title, count=1)
    return ParsedReference(
        stated.text if stated.is_parsed else title or stated.text, stated.authors, title,
        stated.year, stated.venue, stated.doi, None, stated.arxiv,
    )  # fmt: skip


def _compare(
    stated: StatedReference, query: ReferenceQuery, known: CandidateDocument
) -> _Comparison:
    title = compare_titles(stated, known, query)
    same_doi = bool(stated.doi) and stated.doi == known.doi
    same_arxiv = bool(stated.arxiv) and stated.arxiv == known.arxiv
    if title.share < _SIMILAR and not (same_doi or same_arxiv):
        return _Comparison(known, title, AuthorComparison("other"), same_doi, same_arxiv)
    authors = compare_authors(stated.authors, known.authors, and_others=stated.and_others)
    if stated.is_parsed:
        authors = _trust_parsed(stated, query, known, authors)
    return _Comparison(known, title, authors, same_doi, same_arxiv)


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
    if not inside or authors.relation in ("same", "unknown"):
        return authors
    title = set(title_words(known.title))
    extra = [at for at in authors.added if title.isdisjoint(title_words(stated.authors[at]))]
    if authors.relation == "added" and extra:
        return authors._replace(added=tuple(extra))
    if all(inside) and authors.relation != "order":
        return AuthorComparison("same", 1.0)
    missing = tuple(at for at in authors.missing if at >= len(inside) or not inside[at])
    if authors.relation == "missing" and not missing:
        return AuthorComparison("same", 1.0)
    if authors.relation == "other" and sum(inside) >= max(1, len(inside) / 2):
        return AuthorComparison("unknown")
    if stated.and_others and inside[0] and authors.relation != "order":
        return AuthorComparison("same", 1.0)
    return authors._replace(missing=missing)


_MOST_NAMES = 30


def _decide(
    stated: StatedReference, compared: Sequence[_Comparison], options: ReferenceOptions
) -> Verdict:
    """Decide on a reference from its comparisons with all candidates."""
    ordered = sorted(compared, key=lambda each: each.rank, reverse=True)
    versions = [each for each in ordered if each.is_version and _may_be_version(stated, each)]
    if versions:
        return _check_details(stated, versions, ordered, options)
    if renamed := next((each for each in ordered if _is_renamed(stated, each, options)), None):
        return _check_details(stated, [renamed], ordered, options)
    nearest = ordered[0].document if ordered and ordered[0].title.share >= _SIMILAR else None
    shown, shown_id = (describe(nearest), nearest.doc_id) if nearest else ("", None)
    evidence = _evidence(stated, ordered)
    if evidence:
        document, reason = evidence
        return Verdict(NOT_FOUND, None, describe(document), document.doc_id, reason)
    if options.complete and (stated.title or stated.authors):
        reason = "no work in this collection has this title and these authors"
        return Verdict(NOT_FOUND, None, shown, shown_id, reason)
    return Verdict(NOT_HELD, None, shown, shown_id)


def _may_be_version(stated: StatedReference, compared: _Comparison) -> bool:
    """Return False for a conference paper beside a journal article by other authors, and if only a
    short title agrees."""
    if compared.is_named or compared.authors.relation == "same":
        return True
    if compared.authors.relation != "unknown":
        kinds = _kinds(stated, compared.document)
        return not all(kinds) or kinds[0] == kinds[1]
    apart = _years_apart(stated.year, compared.document.year)
    return _is_distinctive(compared.document.title) or (apart is not None and apart <= 1)


def _years_apart(ours: int | None, theirs: int | None) -> int | None:
    return None if ours is None or theirs is None else abs(ours - theirs)


_RENAMED = 0.7
_RENAMED_NAMED = 0.4
_MOST_CHANGES = 2


def _is_renamed(stated: StatedReference, each: _Comparison, options: ReferenceOptions) -> bool:
    """Return True if a title with a few other words means this document.

    People publish several works with similar titles, so all authors and the year must agree, and
    nothing else may disagree.
    """
    title, document = each.title, each.document
    if title.relation != "changed" or each.authors.relation in ("other", "unknown"):
        return False
    if each.is_named:
        return title.share >= _RENAMED_NAMED or each.authors.relation == "same"
    if title.share < _RENAMED or each.authors.relation not in ("same", "missing"):
        return False
    if options.complete:
        return True
    words = sum(max(len(a.split()), len(b.split())) for a, b in title.changes)
    if words > _MOST_CHANGES or len(title.changes) > _MOST_CHANGES:
        return False
    if stated.is_parsed and (words > 1 or not all(map(all, title.changes))):
        return False  # the parser may have cut the title
    if (stated.doi and document.doi) or (stated.arxiv and document.arxiv):
        return False
    if _pages_differ(stated.pages, document.pages) or stated.year != document.year:
        return False
    return _same_venue(stated.venue, document.venue) is not False


def _evidence(
    stated: StatedReference, ordered: Sequence[_Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the document and the reason that show that a work does not exist, if any."""
    titled = [
        each
        for each in ordered
        if each.title.relation == "same" and not each.title.is_cut and each.document.authors
    ]
    is_swapped = all(each.authors.relation == "other" for each in titled) and stated.authors
    if titled and is_swapped:
        first = titled[0].document
        agrees = stated.year == first.year and _same_venue(stated.venue, first.venue) is not False
        fewest = 2 if titled[0].is_named else 3 if agrees else 4
        several = any(
            compare_authors(one.document.authors, first.authors).relation == "other"
            for one in titled[1:]
        )
        is_near = (_years_apart(stated.year, first.year) or 0) <= _FAR_APART or titled[0].is_named
        if _is_distinctive(first.title, fewest) and is_near and not several:
            return first, "the work with this title is by other authors"
    for each in ordered:
        is_work = each.document.type not in _CONTAINERS and bool(each.document.title)
        if each.is_named and is_work and stated.title:
            name = "DOI" if each.same_doi else "arXiv id"
            return each.document, f"its {name} belongs to another work"
    return _blend(stated, ordered)


_FAR_APART = 3
_BLENDED = 3
"""Words that a blended title takes at least from each of two titles."""


def _blend(
    stated: StatedReference, ordered: Sequence[_Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the first of two works of these authors whose titles the stated title joins."""
    ours = title_words(stated.title)
    own = [each for each in ordered if each.authors.share > 0 and each.authors.relation != "other"]
    for first in own:
        head = _common(ours, title_words(first.document.title))
        for last in own:
            tail = _common(ours[::-1], title_words(last.document.title)[::-1])
            whole = head + tail >= len(ours) and min(head, tail) >= _BLENDED
            if whole and first is not last and max(head, tail) < len(ours):
                other = f"'{last.document.title}'"
                return first.document, f"its title joins the titles of two works, with {other}"
    return None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of equal words at the start."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _check_details(
    stated: StatedReference,
    versions: Sequence[_Comparison],
    ordered: Sequence[_Comparison],
    options: ReferenceOptions,
) -> Verdict:
    """Compare the details with all versions of the work: a detail is wrong if it disagrees with
    some version and agrees with none."""
    wrong: dict[str, Detail] = {}
    right: set[str] = set()
    for each in versions:
        for name, detail in _details(stated, each):
            if detail is None:
                right.add(name)
            else:
                wrong.setdefault(name, detail)
    owner = next((each for each in ordered if each.is_named and each not in versions), None)
    if owner is not None and not right & {"doi", "arxiv"}:
        name = "doi" if owner.same_doi else "arxiv"
        if owner.title.relation == "other" and owner.document.type not in _CONTAINERS:
            own = next((v for each in versions if (v := getattr(each.document, name))), "")
            printed = getattr(stated, name) or ""
            what = f"it belongs to {describe(owner.document)}"
            wrong[name] = Detail(name, printed, own or "", what)
    latest = options.this_year
    if latest and stated.year and stated.year > latest + 1 and "year" not in right:
        known = str(versions[0].document.year or "")
        wrong["year"] = Detail("year", str(stated.year), known, f"{stated.year} is in the future")
    details = tuple(detail for name, detail in wrong.items() if name not in right)
    document = versions[0].document
    published = _published(stated, [each.document for each in versions])
    if not details:
        shown = describe(document)
        return Verdict(
            FINE, document.doc_id, shown, document.doc_id, published=published, record=document
        )
    reason = "; ".join(f"{detail.field}: {detail.what}" for detail in details)
    return Verdict(
        WRONG, document.doc_id, describe(document), document.doc_id, reason, details, published,
        record=document,
    )  # fmt: skip


def _details(stated: StatedReference, each: _Comparison) -> Iterable[tuple[str, Detail | None]]:
    """Yield each detail that can be compared: its field, and ``None`` if it agrees."""
    known = each.document
    yield "title", _title_detail(stated, each)
    if each.authors.relation != "unknown":
        yield "authors", _author_detail(stated, each)
    kinds = (
        _kind(stated.type, stated.venue, stated.doi, stated.text),
        _kind(known.type, known.venue, known.doi),
    )
    other_kind = all(kinds) and kinds[0] != kinds[1]
    other_venue = _same_venue(stated.venue, known.venue) is False
    apart = _years_apart(stated.year, known.year)
    if apart is not None and (apart <= 1 or not other_kind):
        what = f"{stated.year}, but the record says {known.year}"
        detail = Detail("year", str(stated.year), str(known.year), what)
        yield "year", None if apart <= 1 else detail
    moved = other_kind or (other_venue and apart != 0)
    if stated.doi and known.doi and not f"{stated.doi} {known.doi}".count(_NO_DOI):
        is_preprint = [_PREPRINT_DOI.match(doi) is not None for doi in (stated.doi, known.doi)]
        if stated.doi == known.doi or (is_preprint[0] == is_preprint[1] and not moved):
            detail = Detail("doi", stated.doi, known.doi, f"the record has {known.doi}")
            yield "doi", None if stated.doi == known.doi else detail
    if stated.arxiv and known.arxiv:
        detail = Detail("arxiv", stated.arxiv, known.arxiv, f"the record has {known.arxiv}")
        yield "arxiv", None if stated.arxiv == known.arxiv else detail
    differ = _pages_differ(stated.pages, known.pages)
    if differ is not None and not (differ and (moved or other_venue or (apart or 0) > 1)):
        printed, record = stated.pages or "", known.pages or ""
        detail = Detail("pages", printed, record, f"{printed}, but the record says {record}")
        yield "pages", detail if differ else None


def _title_detail(stated: StatedReference, each: _Comparison) -> Detail | None:
    if each.title.relation == "same":
        return None
    changes = [
        f"'{a or '(nothing)'}' instead of '{b or '(nothing)'}'" for a, b in each.title.changes
    ]
    return Detail("title", stated.title, each.document.title, list_first(changes, 3))


def _author_detail(stated: StatedReference, each: _Comparison) -> Detail | None:
    relation, _, missing, added = each.authors
    if relation == "same":
        return None
    known = each.document.authors
    absent = list_first([display_name(known[at]) for at in missing], 3)
    extra = list_first([display_name(stated.authors[at]) for at in added], 3)
    match relation:
        case "order":
            what = "they are in another order"
        case "missing":
            what = f"without {absent}" if absent else "some are missing"
        case "added":
            what = f"{extra} is not an author" if len(added) == 1 else f"{extra} are not authors"
        case _:
            what = f"{extra} instead of {absent}" if absent else f"with {extra}"
    return Detail("authors", "; ".join(stated.authors), "; ".join(known), what)


def _published(stated: StatedReference, versions: Sequence[CandidateDocument]) -> str | None:
    """Return the published version of a stated preprint in words, if the collection has it."""
    if not versions or _kinds(stated, versions[0])[0] != "preprint":
        return None
    kinds = ("proceedings", "journal", "book")
    return next((describe(v) for v in versions if _kind(v.type, v.venue, v.doi) in kinds), None)


def describe(document: CandidateDocument) -> str:
    """Return a record in one line: ``Salton, McGill (1983): Introduction …``."""
    families = [name.partition(",")[0] for name in document.authors]
    names = ", ".join(families[:3]) + (" et al." if len(families) > 3 else "")
    year = f" ({document.year})" if document.year else ""
    return f"{names or 'anonymous'}{year}: {document.title}"
