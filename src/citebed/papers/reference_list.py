"""Find the reference list of a paper and split it into entries.

In every layout, a list follows a heading or has labels that count up, and most of its entries name
a year. The look of lines decides only where an entry begins and ends. Entries have one font size,
and begin at labels, at a hanging or first-line indent, or after a gap. If a list can be split in
several ways, citebed takes the one that gives the most entries with a year.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median

from citebed.papers.pages import Line, group_while
from citebed.papers.structure import Kind, Style, heads_references
from citebed.papers.vocabulary import phrases

_DATED = re.compile(
    r"(?<![\d/])(?:1[5-9]|20)\d\d(?!\d)|arxiv|\b10\.\d{4}|https?:|\bin (?:press|prep)|forthcoming"
    r"|submitted|unpublished|\bn\. ?d\.|\bo\. ?J\.|\bs\. ?d\.|im Erscheinen",
    re.IGNORECASE,
)
"""A year, an identifier, or words that replace them: nearly every reference has one of these."""
_LABELS = tuple(
    re.compile(label)
    for label in (
        r"\[(\d{1,4})\]\s*",
        r"\((\d{1,4})\)\s*",
        r"(\d{1,4})[.)](?:\s+|$|(?=[^\W\d]))",
        r"(\d{1,4})(?:\s+(?=[^\W\d_]|[“\"‘«„(\[])|$|(?=[A-Z][^\W\d]*[ .,]))",
    )
)
_KEY = re.compile(r"\[([^\W\d_][^\[\]/]{0,30}?\d{2,4}[a-z]?)\]\s*")
_BEGINS = re.compile(
    r"[^\W\da-z_]|[“\"‘«„—–_\ue000-\uf8ff-]|(?:v[ao]n|de[rnl]?|d[aiou]|el|al|l[ae])\b|[a-z]+[A-Z]"
)
_CAPITALISED = r"[^\W\da-z_][\w’'-]+"
_NAMED = re.compile(
    rf"(?:(?:v[ao]n|de[rn]?|zu) )*{_CAPITALISED}(?: {_CAPITALISED})?(?:, | [A-Z]{{1,3}}[ ,.]|:)"
    rf"|[A-Z]\. ?(?:[A-Z-]\. ?)*{_CAPITALISED}|[—–_\ue000-\uf8ff]{{1,3}}"
)
"""An author's name at the start of an entry, or a dash for it, which fonts may not name."""
_AFTER = re.compile(f"(?:{phrases('after_references')})", re.IGNORECASE)
_HANGING = 0.6
"""Least indent, in font sizes."""
_FAR = (250, 25)
"""Lines within which the next label must follow, and the next but one if a label is missing."""
_TEXT, _PAGE_ENTRIES = 5, 12
"""Fewest lines of text above footnotes, and fewest entries for each such text in a list."""
_FEWEST = 3
"""Fewest entries of a list that needs no other sign."""
_MOST_LISTS = 50
"""Most headings, or first labels, to try."""
_STRANGE = 0.25
"""Largest share of entries without name and year in a list whose other entries have both."""
_USUAL_LINES = 12
"""Most lines that a typical entry has."""


@dataclass
class Entry:
    """The lines of one reference, and its label, which begins its text."""

    label: str
    lines: list[Line]

    @cached_property
    def is_dated(self) -> bool:
        """True if the entry contains a year or something that replaces it."""
        return any(_DATED.search(line.text) for line in self.lines)


def find_references(lines: Sequence[Line], kinds: Sequence[Kind], style: Style) -> list[Entry]:
    """Return the entries of a paper's reference list in order, or [] if it has no list."""
    every = list(zip(lines, kinds, strict=True))
    text = [line for line, kind in every if kind not in (Kind.RUNNING, Kind.CAPTION)]
    headings = {id(line) for line, kind in every if kind is Kind.HEADING}
    lists = []
    heads = [at for at, line in enumerate(text) if heads_references(line.text)]
    for at in heads[-_MOST_LISTS:]:
        after = text[at + 1 :]
        numbered = _numbered_list(after, first=range(8))
        unnumbered = _unnumbered_list(after, headings, style)
        lists.append(numbered if _score(numbered) >= 0.7 * _score(unnumbered) else unnumbered)
    best = max(lists, key=_score, default=[])
    if _score(best) < _FEWEST:
        best = _numbered_list(text) or best
    if _score(best) < _FEWEST:  # below a heading of other words
        ends = [at for at, line in enumerate(text) if id(line) in headings]
        for at, end in pairwise([*ends[-_MOST_LISTS:], len(text)]):
            entries = _unnumbered_list(text[at + 1 : end], headings, style)
            named = sum(_NAMED.match(entry.lines[0].text) is not None for entry in entries)
            if 2 * named > len(entries) and _score(entries) > max(_score(best), len(entries) / 2):
                best = entries
    taken = {id(line) for entry in best for line in entry.lines}
    for other in lists:  # that continue its numbers, as after the methods
        labels = (best[-1].label, other[0].label) if best and other else ("", "")
        follows = all(map(str.isdigit, labels)) and int(labels[1]) - int(labels[0]) == 1
        if follows and not any(id(line) in taken for entry in other for line in entry.lines):
            best = [*best, *other]
    return best


def _dated_entries(entries: Sequence[Entry]) -> int:
    return sum(entry.is_dated for entry in entries)


def _score(entries: Sequence[Entry]) -> int:
    """Return the number of entries with a year minus the number of those without."""
    return 2 * _dated_entries(entries) - len(entries)


# --- Lists with numbers ---------------------------------------------------------------------------


def _numbered_list(lines: Sequence[Line], first: range | None = None) -> list[Entry]:
    """Return the entries from a first label on, if the labels count up.

    With ``first``, the list begins at one of these lines. Otherwise it begins at a label 1, and
    most of its entries must have a year and few lines, as references do.
    """

    def fits(last: int, at: int) -> bool:
        one, other = lines[last], lines[at]  # with one left edge, or in different columns
        aligned = one.place != other.place or abs(other.left - one.left) < 1.4 * other.size
        return has_letters_of_size(other, one.size) and aligned

    best: list[Entry] = []
    for pattern in _LABELS:
        places: dict[int, list[int]] = defaultdict(list)
        for at, line in enumerate(lines):
            if label := pattern.match(line.text):
                places[int(label[1])].append(at)
        for number in sorted(places) if first else (1,):
            for begin in places.get(number, ())[:_MOST_LISTS]:
                if first and begin not in first:
                    continue
                chain = follow_numbers(places, number, begin, _FAR, fits)
                entries = _numbered_entries(lines, chain)
                if not first and not _are_references(entries, lines, [at for _, at in chain]):
                    continue
                if _dated_entries(entries) > _dated_entries(best):
                    best = entries
        if len(best) > 2:
            return best
    return best


def follow_numbers(
    places: Mapping[int, Sequence[int]],
    number: int,
    begin: int,
    far: tuple[int, int],
    fits: Callable[[int, int], bool],
) -> list[tuple[int, int]]:
    """Return the numbers that count up from a first one, with their lines.

    ``places`` are the lines of each number, in order. The next number must follow within ``far[0]``
    lines, or the next but one, or but two, within ``far[1]``; ``fits`` compares both lines.
    """
    chain = [(number, begin)]
    while True:
        number, last = chain[-1]
        following = (
            (number + step, at)
            for step, most in ((1, far[0]), (2, far[1]), (3, far[1]))
            for some in (places.get(number + step, ()),)
            for at in some[bisect_right(some, last) : bisect_right(some, last + most)]
            if fits(last, at)
        )
        if (found := next(following, None)) is None:
            return chain
        chain.append(found)


def has_letters_of_size(line: Line, size: float) -> bool:
    """Return True if a line has letters of this font size, with or without small capitals."""
    letters = sum(len(word.text) for word in line.words)
    same = sum(len(word.text) for word in line.words if abs(word.size - size) < 0.06 * size + 0.05)
    return same > 0.3 * letters


def _are_references(entries: Sequence[Entry], lines: Sequence[Line], at: Sequence[int]) -> bool:
    """Return True if numbered entries are neither a list in the text nor footnotes.

    References have a year and few lines. The pages of a list have little other text. A page with
    footnotes has text in larger print above them.
    """
    usual = median(after - before for before, after in pairwise(at)) if len(at) > 2 else 0
    size = lines[at[0]].size
    larger = [
        sum(line.size > 1.04 * size for line in lines[before:after]) > _TEXT
        for before, after in pairwise(at)
    ]
    dated = _dated_entries(entries) > 0.6 * len(entries)
    return dated and 0 < usual <= _USUAL_LINES and _PAGE_ENTRIES * sum(larger) < len(entries)


def _numbered_entries(lines: Sequence[Line], chain: Sequence[tuple[int, int]]) -> list[Entry]:
    """Return the entries that begin at labels.

    Text of another size, or far below the last line, does not belong to an entry. The last entry
    also ends before a heading, and has no more lines than the longest other one.
    """
    entries: list[Entry] = []
    ends = [*(at for _, at in chain[1:]), None]
    for (number, begin), end in zip(chain, ends, strict=True):
        label, entry = lines[begin], [lines[begin]]
        longest = max((len(each.lines) for each in entries), default=_USUAL_LINES)
        hangs = any(len(e.lines) > 1 and e.lines[1].left > e.lines[0].left + 2 for e in entries)
        has_bold = any(line.bold for each in entries for line in each.lines)
        for line in lines[begin + 1 : begin + 1 + _FAR[0] if end is None else end]:
            last = entry[-1]
            same = line.place == last.place
            if not has_letters_of_size(line, label.size) or (
                same and line.left < label.left - label.size
            ):
                if end is None and same:
                    break
                continue
            if same and line.baseline - last.baseline > 2.3 * label.size:
                break
            if end is None and (
                len(entry) > longest
                or _AFTER.match(line.text)
                or (line.bold and not has_bold)
                or heads_references(line.text)
                or (hangs and same and line.left < label.left + 2)
                or (not same and last.text.endswith("."))
            ):
                break
            entry.append(line)
        entries.append(Entry(str(number), entry))
    return entries


# --- Lists without numbers ------------------------------------------------------------------------


def _unnumbered_list(lines: Sequence[Line], headings: set[int], style: Style) -> list[Entry]:
    """Return the entries below a heading.

    Other headings divide the text into parts. The list goes on in each part that has about as many
    years, and as many names at the start of lines, as those before.
    """
    sizes: Counter[float] = Counter()
    for line in lines[:30]:
        if id(line) not in headings:
            sizes[round(line.size, 1)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    members: list[Line] = []
    rate = name_rate = 0.0
    end = next((at for at, line in enumerate(lines) if heads_references(line.text)), len(lines))
    for part in group_while(lines[:end], lambda _, line: id(line) not in headings):
        if any(id(line) in headings and _AFTER.match(line.text) for line in part):
            continue
        own = [
            line for line in part if id(line) not in headings and has_letters_of_size(line, size)
        ]
        after = next((at for at, line in enumerate(own) if _AFTER.match(line.text)), len(own))
        own = own[:after]
        dated = sum(bool(_DATED.search(line.text)) for line in own)
        named = sum(bool(_NAMED.match(line.text)) for line in own)
        is_named = named >= 0.4 * name_rate * len(own) or len(own) <= _TEXT
        if own and is_named and dated >= 0.4 * rate * len(own) and (dated > 0 or not members):
            members += own
            rate, name_rate = max(rate, dated / len(own)), max(name_rate, named / len(own))
    return _split(members, style) if members else []


def _without_other_text(entries: list[Entry]) -> list[Entry]:
    """Return a list without the tables and addresses that stand between or after its entries.

    If nearly all entries have a name and a year, two neighbours without both are other text, and so
    is the last one.
    """
    strange = [
        not entry.is_dated and not entry.label and not _NAMED.match(entry.lines[0].text)
        for entry in entries
    ]
    if sum(strange) > _STRANGE * len(entries):
        return entries
    beside = zip([False, *strange], [*strange[1:], True], strict=False)
    other = [own and any(others) for own, others in zip(strange, beside, strict=True)]
    return [entry for entry, is_other in zip(entries, other, strict=True) if not is_other]


def _split(lines: Sequence[Line], style: Style) -> list[Entry]:
    """Split a list where its entries begin.

    Try keys in brackets, hanging indents, indents of first lines, gaps and names. Return the split
    with the most dated and the fewest undated entries.
    """
    left = _left_edges(lines, style)

    def is_flush(line: Line) -> bool:
        return line.left - left[line.place] < _HANGING * line.size

    def is_named(last: Line, line: Line) -> bool:
        return _NAMED.match(line.text) is not None and last.text.endswith((".", ")", "]"))

    def is_apart(last: Line, line: Line) -> bool:
        if last.place != line.place:
            return is_named(last, line)
        gap = line.baseline - last.baseline > 1.45 * line.size
        return gap and _BEGINS.match(line.text) is not None

    ways: tuple[Callable[[list[Line], Line], bool], ...] = (
        lambda _, line: not _KEY.match(line.text),
        lambda _, line: not is_flush(line),
        lambda group, line: not is_apart(group[-1], line),
        lambda _, line: is_flush(line),
        lambda group, line: not is_named(group[-1], line),
    )
    best: list[Entry] = []
    best_score = -len(lines) - 1
    for continues in ways:
        groups = group_while(lines, continues)
        keys = [_KEY.match(group[0].text) for group in groups]
        entries = _without_other_text(
            [Entry(key[1] if key else "", group) for key, group in zip(keys, groups, strict=True)]
        )
        good = sum(
            entry.is_dated
            and (entry.label != "" or _BEGINS.match(entry.lines[0].text) is not None)
            and len(entry.lines) <= _USUAL_LINES
            for entry in entries
        )
        if 2 * good - len(entries) > best_score:
            best, best_score = entries, 2 * good - len(entries)
    return best


def _left_edges(lines: Sequence[Line], style: Style) -> dict[tuple[int, int], float]:
    """Return the left edge of entries in each column of each page.

    For a column that holds only the end of one entry, this is the left edge of the paper's prose.
    """
    places: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in lines:
        places[line.place].append(line)
    edges = {}
    for key, some in places.items():
        least, most = min(line.left for line in some), max(line.left for line in some)
        prose = style.columns.get((-1, key[1]), (least, 0.0))[0]
        hangs = _HANGING * some[0].size < least - prose < 4 * some[0].size
        edges[key] = prose if most - least < _HANGING * some[0].size and hangs else least
    return edges


def label_length(label: str, text: str) -> int:
    """Return the length of the printed label that begins an entry's text, with its brackets."""
    matches = (pattern.match(text) for pattern in (*_LABELS, _KEY))
    return next((match.end() for match in matches if label and match and match[1] == label), 0)
