"""Footnotes that cite: the full reference at the first mention, then a short form or "ibid.".

Papers in law and history cite in this way. Each work becomes an entry of the paper's references,
whether it is in a list at the end or only in footnotes. A footnote's number in the text cites the
works that the footnote names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from citebed.papers.pages import Line
from citebed.papers.paper import PlacedText, ReferenceEntry
from citebed.papers.reference_list import between, has_letters_of_size
from citebed.papers.references import REPEATED_AUTHORS, ParsedReference, parse_reference
from citebed.papers.structure import Kind, Style, letters_only
from citebed.text.names import NAME, family_name
from citebed.text.regex import compile_regex

_NUMBER = re.compile(r"(\d{1,3})(?:$|(?=[^\d.,)\]–-]|[.)]\s)\s*[.)]?\s*(?=\S))")
_FEWEST, _MOST_STARTS = 4, 50
"""Fewest footnotes of a paper that cites in them, and most lines to try as the first footnote."""
_FAR, _FAR_AFTER_GAP = 500, 150
"""Lines within which the next footnote must follow, and the next but one if one is missing."""
_BETWEEN = re.compile(
    r";\s+|(?<=[.)])\s+(?=(?:vgl|siehe|s\. auch|dazu|hierzu|so auch|ähnlich|ferner|anders|zuletzt"
    r"|grundlegend|see|cf|compare|but see|voir|véase)\b)",
    re.IGNORECASE,
)
"""The separator of works in a footnote."""
_CUE = re.compile(
    r"(?:(?:vgl|siehe|s|dazu|hierzu|so|ähnlich|ferner|auch|etwa|nur|zuletzt|grundlegend"
    r"|zum folgenden|statt vieler|näher|ausführlich|see|also|cf|compare|e\.g|but|for example"
    r"|z\. ?b|voir|véase|hier)\b[.,:]?\s+)+",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"(?:zu[rm]?|im|in|der|die|das|den|dem|es|bei|eine[rnms]?|mit|von|the|on|for|as|this|these|an?)\b",
    re.IGNORECASE,
)
"""Words that begin a sentence in a footnote, but never a reference."""
_LATER = compile_regex(rf"(?<=[a-zäöüß] )(?=[A-Z][\w.’'-]+ ){NAME}(?:\s\([\w.]{{2,6}}\))?\s?[,:(]")
"""The author of a reference after the words that introduce it."""
_AGAIN = re.compile(
    r"(?:ebd\b|ebenda\b|ibid\b|ibidem\b|id\b\.|idem\b(?!, .{12})|loc\. ?cit|a\. ?a\. ?o\b)",
    re.IGNORECASE,
)
"""A short form for the work that was cited last."""
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


@dataclass
class Footnote:
    """The lines of a footnote, and its number, which begins its text."""

    number: str
    lines: list[Line]
    restarts: bool = False
    """True if the numbers begin with 1 on each page."""

    @property
    def name(self) -> str:
        """The number, and the page if numbers restart, as in ``3@12``."""
        return f"{self.number}@{self.lines[0].page}" if self.restarts else self.number


def find_footnotes(lines: Sequence[Line], kinds: Sequence[Kind], style: Style) -> list[Footnote]:
    """Return the notes in small print whose numbers count up through the paper or on each page."""
    small = [
        line
        for line, kind in zip(lines, kinds, strict=True)
        if kind not in (Kind.RUNNING, Kind.CAPTION) and line.size < 0.97 * style.size
    ]
    places: dict[int, list[int]] = defaultdict(list)
    by_page: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, line in enumerate(small):
        if number := _NUMBER.match(line.text):
            places[int(number[1])].append(at)
            by_page[line.page][int(number[1])].append(at)
    chain = _longest_chain(small, places)
    restarting = [each for page in by_page.values() for each in _longest_chain(small, page)]
    restarts = len(restarting) > len(chain)
    notes = restarting if restarts else chain
    pages = {small[at].page for _, at in notes}
    if len(notes) < _FEWEST or len(pages) < 2:
        return []
    ends = [at for _, at in notes[1:]] + [len(small)]
    return [
        Footnote(
            str(number),
            [line for line in small[at:end] if has_letters_of_size(line, small[at].size)],
            restarts,
        )
        for (number, at), end in zip(notes, ends, strict=True)
    ]


def _longest_chain(small: Sequence[Line], places: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Return the longest sequence of numbers that count up from 1, with their lines."""
    best: list[tuple[int, int]] = []
    for begin in places.get(1, ())[:_MOST_STARTS]:
        chain = [(1, begin)]
        while True:
            last = chain[-1]
            following = (
                (last[0] + step, at)
                for step, far in ((1, _FAR), (2, _FAR_AFTER_GAP), (3, _FAR_AFTER_GAP))
                for at in between(places.get(last[0] + step, ()), last[1], last[1] + far)
                if has_letters_of_size(small[at], small[begin].size)
            )
            found = next(following, None)
            if found is None:
                break
            chain.append(found)
        best = max(best, chain, key=len)
    return best


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
            work = works.find(part, last, cited)
            if work is not None:
                found.append(work)
                last = work
        cited[number] = tuple(dict.fromkeys(found))
    return works.entries, {number: some for number, some in cited.items() if some}


class _Works:
    """The works that a paper has cited so far."""

    def __init__(self, listed: Sequence[ReferenceEntry]) -> None:
        self.entries: list[ReferenceEntry] = []
        self._parsed: list[ParsedReference] = []
        self._families: list[list[str]] = []
        self._words: list[set[str]] = []
        self._used: list[int] = []
        self._by_family: dict[str, list[int]] = defaultdict(list)
        self._number_listed = len(listed)
        for entry in listed:
            parsed = parse_reference(entry.printed)
            families = _families(parsed)
            if REPEATED_AUTHORS.match(parsed.text) and self._families:
                families = self._families[-1]
            elif not families and (first := _NAME.search(parsed.text)):
                families = [letters_only(first[0])]
            self._add(entry, parsed, families)

    def _add(self, entry: ReferenceEntry, parsed: ParsedReference, authors: list[str]) -> int:
        work = len(self.entries)
        self.entries.append(entry)
        self._parsed.append(parsed)
        self._families.append(authors)
        self._words.append(_words(parsed.text))
        self._used.append(0)
        for family in authors:
            self._by_family[family].append(work)
        return work

    def find(
        self, part: PlacedText, last: int | None, cited: dict[str, tuple[int, ...]]
    ) -> int | None:
        """Return the work that a part of a footnote cites; add it if a full reference is new."""
        text, words = part.text, _words(part.text)
        if _AGAIN.match(text):
            return last
        families = set(map(letters_only, _NAME.findall(text[:120])))
        authors: list[str] = []
        if last is not None and _SAME_AUTHOR.match(text):
            authors = self._families[last]
            families.update(authors)

        def similarity(work: int) -> tuple[float, int]:
            """Compare names and titles; of equal works, the one cited last is the likeliest."""
            own = self._families[work]
            names = sum(family in families for family in own) / max(len(own), 1)
            others = bool(_OTHERS.search(text)) != bool(_OTHERS.search(self._parsed[work].text))
            title = words - {*own}
            share = len(title & self._words[work]) / max(len(title), 1)
            return names - _OTHER_NUMBER * others + 2 * share, self._used[work]

        works = [work for name in sorted(families) for work in self._by_family.get(name, ())]
        if earlier := _EARLIER.search(text):
            noted = cited.get(earlier[1] or earlier[2], ())
            return self._use(max(noted or works, key=similarity, default=None))
        year = _YEAR.search(text)
        dated = [work for work in works if year and year[0] in self._parsed[work].text]
        best = max(dated or works, key=similarity, default=None)
        is_full = len(text) >= _SHORTEST and year is not None and not _PROSE.match(text)
        if is_full and not (dated and best is not None and best < self._number_listed):
            anonymous = [work for work, some in enumerate(self._families) if not some]
            same = [(self._shared(work, words), work) for work in (*dated, *anonymous)]
            shared, best = max(same, default=(0.0, None))
            best = best if shared > _SAME_WORK else None
        if best is not None or not is_full:
            return self._use(best)
        parsed = parse_reference(text)
        authors = authors or _families(parsed)
        if not authors and parsed.doi is None:
            return None
        return self._use(self._add(ReferenceEntry("", part, text), parsed, authors))

    def _shared(self, work: int, words: set[str]) -> float:
        """Return the share of words that a footnote and a work have in common."""
        return len(words & self._words[work]) / max(min(len(words), len(self._words[work])), 1)

    def _use(self, work: int | None) -> int | None:
        if work is not None:
            self._used[work] = max(self._used) + 1
        return work


def _words(text: str) -> set[str]:
    return set(map(letters_only, _WORD.findall(text)))


def _families(parsed: ParsedReference) -> list[str]:
    """Return the authors' family names, also those before a colon, as in "Anna Ash: Title"."""
    names = [family_name(name) for name in parsed.authors]
    if not names and (head := _HEAD.match(parsed.text)):
        names = _AND.split(head[1])
    return [letters_only(name.split()[-1]) for name in names if name.strip()]
