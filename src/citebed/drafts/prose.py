"""From blocks to passages: sentences, what each of them cites, and no markers left.

A citation that a reader of LaTeX or Markdown found is put into the text as a numeric marker,
``[1]``, so that sentences are split and markers removed as in any other text, and where it
stood is remembered.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from citebed.drafts.findings import PLACE, Block, Findings, places_of
from citebed.drafts.records import Entry, Passage
from citebed.drafts.references import is_authored
from citebed.drafts.wanting import place_wanted, silent_as
from citebed.text.hyphens import join_hyphens
from citebed.text.identifiers import replace_identifiers
from citebed.text.markers import markers, remove_markers
from citebed.text.normalise import fold, unique
from citebed.text.sentences import sentence_spans

_MARKER = "[1]"
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_FIRST_NAME = re.compile(r"[^\W\d_][\w'’-]+")
_EMPTY = re.compile(r"\(\s*(?:(?:see|e\.g\.|cf\.|i\.e\.|and|also|for example|[,;.])\s*)*\)|\[\s*\]")
_LOOSE = re.compile(r" (?=\)|[,.;:!?](?:\s|$))|(?<=\() |(?<=\bal\.)\.(?!\.)")
_MAY_CITE = re.compile(r"[\[(\\⁰-⁹¹²³]")


class _Spot(NamedTuple):
    """Where a citation stands in a text, and what it cites."""

    at: int
    names: tuple[str, ...]


class _Names:
    """What the markers of a text stand for, by its own list of references.

    A number is that of an entry. A name with a year (``Smith et al. 2019``) is the one entry that
    has both; where several or none do, it stands for itself.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self._by_key = {entry.key: entry.doi or entry.key for entry in entries if entry.key}
        self._by_year: dict[str, list[Entry]] = {}
        for entry in entries:
            for year in set(_YEAR.findall(entry.text)):
                self._by_year.setdefault(year, []).append(entry)

    def meaning(self, cite: str) -> str:
        """A DOI, a key, or the marker's own words."""
        if cite in self._by_key:
            return self._by_key[cite]
        name, year = _FIRST_NAME.match(cite), _YEAR.search(cite)
        if name is None or year is None:
            return cite
        same = [entry for entry in self._by_year.get(year[0], ()) if name[0] in entry.text]
        return (same[0].doi or same[0].key or cite) if len(same) == 1 else cite


def passages_of(findings: Findings) -> tuple[Passage, ...]:
    """The passages of a draft, numbered from 1; blocks without a word in them are left out."""
    known = _Names(findings.entries)
    passages: list[Passage] = []
    for block in findings.blocks:
        passage = _passage(block, len(passages) + 1, findings, known)
        if any(map(str.isalnum, passage.text)):
            passages.append(passage)
    return tuple(passages)


def _passage(block: Block, number: int, findings: Findings, known: _Names) -> Passage:
    named = replace_identifiers(block.text, lambda name: findings.cite([name]))
    text = fold(join_hyphens(place_wanted(named, lambda: findings.cite(()))))
    shown, spots = _shown(text, findings)
    spots = sorted([*spots, *_written(shown, spots, known, findings)])
    sentences: list[str] = []
    cites: list[tuple[str, ...]] = []
    wanted: dict[int, None] = {}
    for sentence, names, wants in _sentences(shown, spots):
        clean = _clean(sentence)
        if any(map(str.isalnum, clean)) or not sentences:
            sentences.append(clean)
            cites.append(names)
        else:
            cites[-1] = unique((*cites[-1], *names))
        wanted |= {len(sentences) - 1: None} if wants else {}
    words = " ".join(filter(None, sentences))
    places = places_of(block.raw, sentences)
    source, line, column = places[0] if places else block.raw.place(0)
    return Passage(
        text=words,
        line=line,
        section=block.section,
        number=number,
        cites=unique(name for names in cites for name in names),
        sentences=tuple(sentences),
        sentence_cites=tuple(cites),
        source=source,
        column=column,
        places=places,
        silent=silent_as(words, sentences, block.kind, block.section),
        wanted=tuple(wanted),
    )


def _shown(text: str, findings: Findings) -> tuple[str, list[_Spot]]:
    """The text with each place as a marker, and where the markers are."""
    pieces, spots, length, at = [], [], 0, 0
    for match in PLACE.finditer(text):
        before = text[at : match.start()]
        # ``word\\cite{a}`` is no part of the word.
        if before and not before[-1].isspace() and before[-1] not in "([":
            before += " "
        spots.append(_Spot(length + len(before), findings.citations[int(match[1])]))
        after = " " if text[match.end() : match.end() + 1].isalnum() else ""
        pieces.append(f"{before}{_MARKER}{after}")
        length += len(pieces[-1])
        at = match.end()
    return "".join(pieces) + text[at:], spots


def _written(shown: str, spots: list[_Spot], known: _Names, findings: Findings) -> Iterator[_Spot]:
    """The markers that stand in the text itself, by what their entries are."""
    places = [spot.at for spot in spots]
    for marker in markers(shown) if _MAY_CITE.search(shown) else ():
        first = bisect_left(places, marker.start)
        if marker.cites and (first == len(places) or places[first] >= marker.end):
            findings.numbers.update((int(cite), None) for cite in marker.cites if cite.isdecimal())
            names = tuple(map(known.meaning, marker.cites))
            findings.authored.update((name, None) for name in names if is_authored(name))
            yield _Spot(marker.start, names)


def _sentences(shown: str, spots: list[_Spot]) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Each sentence with what it cites, and whether a citation is still to come in it; a marker
    between two belongs to the one before."""
    places = [spot.at for spot in spots]
    spans = sentence_spans(shown)
    taken = 0
    for index, (start, end) in enumerate(spans, start=1):
        upto = len(places) if index == len(spans) else bisect_left(places, end)
        own = spots[taken:upto]
        names = unique(name for spot in own for name in spot.names)
        yield shown[start:end], names, any(not spot.names for spot in own)
        taken = upto


def _clean(sentence: str) -> str:
    """A sentence without its markers, nor what they leave behind: ``(see )``, `` ,``, ``al..``."""
    text = sentence
    if _MAY_CITE.search(text):
        text = _EMPTY.sub("", remove_markers(text))
    return _LOOSE.sub("", fold(text.replace("\\", " ")))
