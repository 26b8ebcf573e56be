"""Footnotes that cite: the full reference at the first mention, then a short form or "ibid.".

Papers in law and history cite in this way. Each work becomes an entry of the paper's references,
whether it is in a list at the end or only in footnotes. A footnote's number in the text cites the
works that the footnote names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citebed.papers.pages import Line
from citebed.papers.paper import PlacedText, ReferenceEntry
from citebed.papers.reference_list import follow_numbers, has_letters_of_size
from citebed.papers.references import REPEATED_AUTHORS, ParsedReference, parse_reference
from citebed.papers.structure import Kind, Style, heads_references, letters_only
from citebed.papers.vocabulary import phrases
from citebed.text.names import NAME, family_name
from citebed.text.regex import compile_regex

_NUMBER = re.compile(r"(\d{1,3})(?:$|(?=[^\d.,)\]–-]|[.)]\s)\s*[.)]?\s*(?=\S))")
_FEWEST, _MOST_STARTS = 4, 50
"""Fewest footnotes of a paper that cites in them, and most lines to try as the first footnote."""
_FAR = (500, 150)
"""Lines within which the next footnote must follow, and the next but one if one is missing."""
_SHORT = 4
"""Words of a line whose size is that of its letters, not of its raised number."""
_BETWEEN = re.compile(rf";\s+|(?<=[.)])\s+(?=(?:{phrases('next_in_footnote')})\b)", re.IGNORECASE)
_CUE = re.compile(rf"(?:(?:{phrases('footnote_cue')})\b[.,:]?\s+)+", re.IGNORECASE)
_PROSE = re.compile(rf"(?:{phrases('prose_in_footnote')})\b", re.IGNORECASE)
_LATER = compile_regex(rf"(?<=[a-zäöüß] )(?=[A-Z][\w.’'-]+ ){NAME}(?:\s\([\w.]{{2,6}}\))?\s?[,:(]")
"""The author of a reference after the words that introduce it."""
_AGAIN = re.compile(f"(?:{phrases('ibid')})", re.IGNORECASE)
_LAW = re.compile(phrases("law"))
_EARLIER = re.compile(
    r"\((?:wie )?(?:Anm|Fn|Fußn|Fußnote|Anmerkung|n|note|supra note)\.? ?(\d{1,3})\)"
    r"|\b(?:supra note|supra n\.|see n\.|see note|Fn\.|Anm\.) ?(\d{1,3})\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d/])(?:1[5-9]|20)\d\d(?!\d)|\bo\. ?J\.|\bn\. ?d\.")
_WORD = re.compile(r"[^\W\d_]{4,}")
_NAME = re.compile(r"[^\W\d_][\w’'-]+")
_HEAD = compile_regex(
    rf"({NAME}(?:(?:\s?/\s?|, | und | and | & ){NAME}){{0,5}})(?:\s\((?:Hrsg|Hg|eds?)\.?\))?\s?[:,]"
)
_AND = re.compile(r"\s?/\s?|, | und | and | & ")
_SAME_AUTHOR = re.compile(r"(?:ders|dies|derselbe|dieselbe|idem|eadem)\b", re.IGNORECASE)
_OTHERS = re.compile(r"\bet al|\bu\. ?a\.")
_SAME_WORK = 0.8
"""Least share of words that two full references to the same work have in common."""
_OTHER_NUMBER = 0.25
"""What "et al." counts against a work by one author, and the other way round."""
_SHORTEST = 30
"""Fewest characters of a full reference."""


def find_footnotes(
    lines: Sequence[Line], kinds: Sequence[Kind], style: Style
) -> list[tuple[str, list[Line]]]:
    """Return the notes in small print whose numbers count up through the paper or on each page.

    A note has its name and its lines, which begin with the number. The name is the number; if the
    numbers restart, also the page on which the text has it, as in ``3@12``.
    """
    small: list[Line] = []
    head, below = len(lines), False  # of a list in small print, where notes keep to their page
    for line, kind in zip(lines, kinds, strict=True):
        if kind not in (Kind.RUNNING, Kind.CAPTION):
            if kind is not Kind.HEADING and line.size < 0.97 * style.size:
                head = len(small) if below else head
                small.append(line)
            below = kind is Kind.HEADING and heads_references(line.text)
    places: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, line in enumerate(small):
        if number := _NUMBER.match(line.text):
            for page in (-1, line.page):  # page -1 stands for all pages
                places[page][int(number[1])].append(at)
    pages = {page: _longest_chain(small, numbers) for page, numbers in places.items()}
    notes = [(str(number), at) for number, at in pages.pop(-1, [])]
    restarting = []
    for page, chain in pages.items():
        if chain and (following := pages.get(page + 1)):  # it has the notes that did not fit
            later = places[page + 1].items()
            free = {number: [at for at in ats if at < following[0][1]] for number, ats in later}
            chain.extend(_count_up(small, free, *chain[-1])[1:])
        restarting += [(f"{number}@{page}", at) for number, at in chain]
    notes = max(notes, restarting, key=len)
    if len(notes) < _FEWEST or len({small[at].page for _, at in notes}) < 2:
        return []
    found = []
    for (name, at), (_, end) in pairwise([*notes, ("", len(small))]):
        some = small[at : min(end, head)] if at < head else small[at:end]
        some = [line for line in some if at < head or line.page == small[at].page]
        found.append((name, [line for line in some if has_letters_of_size(line, small[at].size)]))
    return found


def _longest_chain(
    small: Sequence[Line], places: Mapping[int, Sequence[int]]
) -> list[tuple[int, int]]:
    """Return the longest sequence of numbers that count up from 1, with their lines."""
    begins = places.get(1, ())[:_MOST_STARTS]
    return max((_count_up(small, places, 1, at) for at in begins), key=len, default=[])


def _count_up(
    small: Sequence[Line], places: Mapping[int, Sequence[int]], number: int, begin: int
) -> list[tuple[int, int]]:
    size = max(each.size for each in small[begin : begin + 1 + (len(small[begin].words) < _SHORT)])

    def fits(_: int, at: int) -> bool:
        is_short = len(small[at].words) < _SHORT and small[at].size < size
        return is_short or has_letters_of_size(small[at], size)

    return follow_numbers(places, number, begin, _FAR, fits)


def cite_in_footnotes(
    footnotes: Sequence[tuple[str, PlacedText]], listed: Sequence[ReferenceEntry]
) -> tuple[list[ReferenceEntry], dict[str, tuple[int, ...]]]:
    """Return the references of a paper, and the indexes of the references that each footnote cites.

    ``listed`` are the entries of its list. Works that are not in the list are added.
    """
    works = _Works(listed)
    cited: dict[str, tuple[int, ...]] = {}
    last: int | None = None
    for number, content in footnotes:
        found: list[int] = []
        at = 0
        for match in [*_BETWEEN.finditer(content.text), None]:
            end = match.start() if match else len(content.text)
            cue = _CUE.match(content.text, at)
            start = cue.end() if cue else at
            if _PROSE.match(content.text, start):
                later = _LATER.search(content.text, start, end)
                start = later.start() if later else start
            part = content.part(start, end)
            at = match.end() if match else end
            if _LAW.search(part.text):
                last = None  # an "ibid." after it is no work either
            elif (work := works.find(part, last)) is not None:
                found.append(work)
                last = work
        cited[number] = tuple(dict.fromkeys(found))
        works.by_note[number.partition("@")[0]].update(found)
    entries = [work.entry for work in works.works]
    return entries, {number: some for number, some in cited.items() if some}


@dataclass
class _Work:
    """A work that the paper cites, with the family names and the words of its reference."""

    entry: ReferenceEntry
    text: str
    families: list[str]
    words: set[str]
    used: int = 0
    """Number of citations before its last one, and that one."""


class _Works:
    """The works that a paper has cited so far."""

    def __init__(self, listed: Sequence[ReferenceEntry]) -> None:
        self.works: list[_Work] = []
        self._by_family: dict[str, list[int]] = defaultdict(list)
        self._number_listed, self._number_used = len(listed), 0
        self.by_note: dict[str, set[int]] = defaultdict(set)
        """The works cited in the footnotes of a number, on any page."""
        for entry in listed:
            parsed = parse_reference(entry.printed)
            families = _families(parsed)
            if REPEATED_AUTHORS.match(parsed.text) and self.works:
                families = self.works[-1].families
            elif not families and (first := _NAME.search(parsed.text)):
                families = [letters_only(first[0])]
            self._add(entry, parsed, families)

    def _add(self, entry: ReferenceEntry, parsed: ParsedReference, families: list[str]) -> int:
        for family in families:
            self._by_family[family].append(len(self.works))
        self.works.append(_Work(entry, parsed.text, families, _words(parsed.text)))
        return len(self.works) - 1

    def find(self, part: PlacedText, last: int | None) -> int | None:
        """Return the work that a part of a footnote cites; add it if a full reference is new."""
        text, words = part.text, _words(part.text)
        if _AGAIN.match(text):
            return last
        families = set(map(letters_only, _NAME.findall(text[:120])))
        authors: list[str] = []
        if last is not None and _SAME_AUTHOR.match(text):
            authors = self.works[last].families
            families.update(authors)

        earlier = _EARLIER.search(text)
        noted = self.by_note[earlier[1] or earlier[2]] if earlier else set[int]()

        def similarity(at: int) -> tuple[float, bool, int]:
            """Compare names and titles.

            Of equal works, the likeliest is in the footnote that the text names, or cited last.
            """
            work = self.works[at]
            names = sum(name in families for name in work.families) / max(len(work.families), 1)
            others = bool(_OTHERS.search(text)) != bool(_OTHERS.search(work.text))
            title = words - {*work.families}
            share = len(title & work.words) / len(title) if title else 1.0
            return names - _OTHER_NUMBER * others + 2 * share, at in noted, work.used

        def shared(at: int) -> float:
            """Return the share of words that the footnote and a work have in common."""
            own = self.works[at].words
            return len(words & own) / max(min(len(words), len(own)), 1)

        works = [at for name in sorted(families) for at in self._by_family.get(name, ())]
        if earlier:
            return self._use(max(works or noted, key=similarity, default=None))
        year = _YEAR.search(text)
        dated = [at for at in works if year and year[0] in self.works[at].text]
        best = max(dated or works, key=similarity, default=None)
        is_full = len(text) >= _SHORTEST and year is not None and not _PROSE.match(text)
        if is_full and not (dated and best is not None and best < self._number_listed):
            anonymous = [at for at, work in enumerate(self.works) if not work.families]
            same = max(((shared(at), at) for at in (*dated, *anonymous)), default=(0.0, None))
            best = same[1] if same[0] > _SAME_WORK else None
        if best is not None or not is_full:
            return self._use(best)
        parsed = parse_reference(text)
        authors = authors or _families(parsed)
        if not authors and parsed.doi is None:
            return None
        return self._use(self._add(ReferenceEntry("", part, text), parsed, authors))

    def _use(self, at: int | None) -> int | None:
        if at is not None:
            self._number_used += 1
            self.works[at].used = self._number_used
        return at


def _words(text: str) -> set[str]:
    return set(map(letters_only, _WORD.findall(text)))


def _families(parsed: ParsedReference) -> list[str]:
    """Return the authors' family names, also those before a colon, as in "Anna Ash: Title"."""
    names = [family_name(name) for name in parsed.authors]
    if not names and (head := _HEAD.match(parsed.text)):
        names = _AND.split(head[1])
    return [letters_only(name.split()[-1]) for name in names if name.strip()]
