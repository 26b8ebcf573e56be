"""Turn blocks into passages: split sentences, assign citations to them, and remove markers.

Citations from LaTeX or Markdown become the numeric marker ``[1]``. So citebed splits sentences and
removes markers as in any other text. The offset of a citation shows which sentence it belongs to.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from citebed.drafts.parsed_draft import PLACE, ParsedDraft, find_places
from citebed.drafts.records import STUB, Entry, Passage
from citebed.drafts.references import is_authored
from citebed.text.identifiers import replace_identifiers
from citebed.text.markers import markers, remove_markers
from citebed.text.normalise import fold, join_hyphens, unique
from citebed.text.sentences import sentence_spans

_MARKER = "[1]"
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_FIRST_NAME = re.compile(r"[^\W\d_][\w'’-]+")
_EMPTY = re.compile(r"\(\s*(?:(?:see|e\.g\.|cf\.|i\.e\.|and|also|for example|[,;.])\s*)*\)|\[\s*\]")
_LOOSE = re.compile(r" (?=\)|[,.;:!?](?:\s|$))|(?<=\() |(?<=\bal\.)\.(?!\.)")
_MAY_CITE = re.compile(r"[\[(\\⁰-⁹¹²³]")


class _Citation(NamedTuple):
    """The offset of a citation in a text, and the works that it cites."""

    at: int
    names: tuple[str, ...]


class _ReferenceList:
    """Resolves the markers of a text with its own reference list.

    A number refers to an entry. A name with a year (``Smith et al. 2019``) refers to the entry with
    both, if there is exactly one.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self._by_key = {entry.key: entry.doi or entry.key for entry in entries if entry.key}
        self._by_year: dict[str, list[Entry]] = {}
        for entry in entries:
            for year in set(_YEAR.findall(entry.text)):
                self._by_year.setdefault(year, []).append(entry)

    def resolve(self, cite: str) -> str:
        """Return a DOI or a key, or the marker itself if it is unknown."""
        if cite in self._by_key:
            return self._by_key[cite]
        name, year = _FIRST_NAME.match(cite), _YEAR.search(cite)
        if name is None or year is None:
            return cite
        same = [entry for entry in self._by_year.get(year[0], ()) if name[0] in entry.text]
        return (same[0].doi or same[0].key or cite) if len(same) == 1 else cite


def make_passages(parsed: ParsedDraft) -> tuple[Passage, ...]:
    """Return the passages of a draft, numbered from 1, without blocks that have no words."""
    references = _ReferenceList(parsed.entries)
    passages: list[Passage] = []
    for block in parsed.blocks:
        named = replace_identifiers(block.text, lambda name: parsed.cite([name]))
        text = fold(join_hyphens(mark_placeholders(named, lambda: parsed.cite(()))))
        pieces, placed, length, at = [], [], 0, 0
        for match in PLACE.finditer(text):
            before = text[at : match.start()]
            # Separate the citation from the word in ``word\\cite{a}``.
            if before and not before[-1].isspace() and before[-1] not in "([":
                before += " "
            placed.append(_Citation(length + len(before), parsed.citations[int(match[1])]))
            after = " " if text[match.end() : match.end() + 1].isalnum() else ""
            pieces.append(f"{before}{_MARKER}{after}")
            length += len(pieces[-1])
            at = match.end()
        shown, citations = "".join(pieces) + text[at:], placed
        citations = sorted([*citations, *_printed_citations(shown, citations, references, parsed)])
        sentences: list[str] = []
        cites: list[tuple[str, ...]] = []
        wanted: dict[int, None] = {}
        for sentence, names, wants in _sentences(shown, citations):
            plain = sentence
            if _MAY_CITE.search(plain):
                plain = _EMPTY.sub("", remove_markers(plain))
            clean = _LOOSE.sub("", fold(plain.replace("\\", " ")))
            if any(map(str.isalnum, clean)) or not sentences:
                sentences.append(clean)
                cites.append(names)
            else:
                cites[-1] = unique((*cites[-1], *names))
            wanted |= {len(sentences) - 1: None} if wants else {}
        words = " ".join(filter(None, sentences))
        places = find_places(block.raw, sentences)
        source, line, column = places[0] if places else block.raw.place(0)
        passage = Passage(
            text=words,
            line=line,
            section=block.section,
            number=len(passages) + 1,
            cites=unique(name for names in cites for name in names),
            sentences=tuple(sentences),
            sentence_cites=tuple(cites),
            source=source,
            column=column,
            places=places,
            silent=skip_reason(words, sentences, block.kind, block.section),
            wanted=tuple(wanted),
        )
        if any(map(str.isalnum, passage.text)):
            passages.append(passage)
    return tuple(passages)


def _printed_citations(
    shown: str, citations: list[_Citation], references: _ReferenceList, parsed: ParsedDraft
) -> Iterator[_Citation]:
    """Yield the citations whose markers are in the text itself."""
    places = [citation.at for citation in citations]
    for marker in markers(shown) if _MAY_CITE.search(shown) else ():
        first = bisect_left(places, marker.start)
        if marker.cites and (first == len(places) or places[first] >= marker.end):
            parsed.numbers.update((int(cite), None) for cite in marker.cites if cite.isdecimal())
            names = tuple(map(references.resolve, marker.cites))
            parsed.author_year.update((name, None) for name in names if is_authored(name))
            yield _Citation(marker.start, names)


def _sentences(
    shown: str, citations: list[_Citation]
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield each sentence, the works it cites, and True if it has a placeholder for a citation.

    A marker between two sentences belongs to the first.
    """
    places = [citation.at for citation in citations]
    spans = sentence_spans(shown)
    start_of_own = 0
    for index, (start, end) in enumerate(spans, start=1):
        upto = len(places) if index == len(spans) else bisect_left(places, end)
        own = citations[start_of_own:upto]
        names = unique(name for citation in own for name in citation.names)
        yield shown[start:end], names, any(not citation.names for citation in own)
        start_of_own = upto


# --- Placeholders for citations, and passages without citations -----------------------------------

_TO_CITE = r"(?:citations?(?: needed)?|cite(?: this| here| me)?|refs?\.?(?: needed)?|references?)"
ADD_CITATION = (
    r"(?:please )?(?:(?:add|insert|find|put|get|needs?|missing) )?(?:(?:an?|the|some|more) )?"
    r"(?:cite|citations?|refs?|references?)\b"
)
"""A regular expression for what a note says about a missing citation: ``add a reference``."""
_TO_DO = rf"(?:todo|fixme|tbd|xxx)\b:? ?{ADD_CITATION}"
PLACEHOLDER = re.compile(
    rf"\[(?:\?+(?:[,;]\s?\?+)*|@\??|{_TO_CITE}|{_TO_DO}[^][\n]{{0,80}}|x{{2,3}})\]"
    rf"|\((?:\?+|citations? needed|refs?\.? needed|{_TO_DO}[^()\n]{{0,80}}|cite|ref)\)"
    r"|(?<=\s)\[\](?=[\s.,;:)])"
    r"|(?-i:\[CIT(?:E|ATION):? [^][\n]{1,80}\]|\b(?:CITATION NEEDED|NEEDS CITATION)\b"
    r"|\b(?:TODO|FIXME):? ?(?:(?:ADD|add) )?(?:CITE|cite|CITATION|citation)\b"
    r"(?: (?:needed|here))?)",
    re.IGNORECASE,
)
"""A mark in the text of a draft that asks for a citation."""


def mark_placeholders(text: str, place: Callable[[], str]) -> str:
    """Replace the placeholders in a text by the marks that ``place`` returns."""
    return PLACEHOLDER.sub(lambda _: place(), text)


def put_placeholders_first(passages: Sequence[Passage]) -> list[Passage]:
    """Return the sentences with a placeholder first, each alone, then the rest of all passages."""
    first = [each.part([number]) for each in passages for number in each.wanted]
    rests = [[n for n in range(len(each.sentences)) if n not in each.wanted] for each in passages]
    pairs = zip(passages, rests, strict=True)
    others = [each.part(rest) if each.wanted else each for each, rest in pairs]
    return [*first, *(each for each in others if each.text)]


# --- Passages without citations ---------------------------------------------------------------


_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Tab\.|Algorithm|Listing|Scheme|Abbildung|Tabelle|Tableau)\s*"
    r"(?:(?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})?\s?[a-z]?\s*(?:[.:|]|[–—-]\s)|:)\s*\S"
)
_KEYWORDS = re.compile(
    r"(?:keywords|key words|index terms|ccs concepts)\b\s*[:.–—-]", re.IGNORECASE
)
_THANKS = re.compile(
    r"(?:\d+(?:\.\d+)*\.?\s+)?(?:acknowledge?ments?|funding|author contributions?"
    r"|(?:conflicts?|declaration) of (?:competing )?interests?|competing interests"
    r"|data availability(?: statement)?)",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
# In scripts without blanks, each character counts as a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_FEWEST_WORDS = 10
"""A passage with fewer words that does not end like a sentence is a heading or a list fragment."""
_FEWEST, _FEWEST_OF_ITEM = 3, 4
"""A passage or list item with fewer words is a stub, even if it ends like a sentence."""


def skip_reason(text: str, sentences: Sequence[str], kind: str, section: str) -> str:
    """Return the reason why a passage needs no citations, or "" for prose."""
    if kind == "caption" or is_caption(text):
        return "caption"
    if _KEYWORDS.match(text):
        return "list of keywords"
    if _THANKS.fullmatch(section):
        return "acknowledgement"
    is_bare = _words(text) < (_FEWEST_OF_ITEM if kind == "item" else _FEWEST)
    return STUB if is_bare or all(map(_is_stub, sentences)) else ""


def is_caption(text: str) -> bool:
    """Return True if a text begins like a caption: ``Figure 3: …``."""
    return _CAPTION.match(text) is not None


def _is_stub(sentence: str) -> bool:
    return _words(sentence) < _FEWEST_WORDS and not _ENDED.search(sentence)


def _words(text: str) -> int:
    return len(_WORD.findall(text))
