"""Annotate a paper: find its citing paragraphs and sentences, and link its references."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from unicodedata import normalize

from citebed.papers.annotation import (
    AnnotatedContext,
    AnnotatedMarker,
    AnnotatedReference,
    AnnotatedSentence,
    Annotation,
)
from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph
from citebed.papers.reference_matcher import LIKELY, ReferenceMatcher, prints_doi
from citebed.papers.references import REPEATED_AUTHORS, ParsedReference, parse_reference
from citebed.papers.structure import letters_only
from citebed.papers.vocabulary import phrases
from citebed.records import Sentence
from citebed.text.anonymise import anonymise
from citebed.text.headings import BELOW, is_under
from citebed.text.identifiers import FreeIds
from citebed.text.markers import Marker, markers, numbers
from citebed.text.names import family_name
from citebed.text.normalise import fold, unique
from citebed.text.sentences import sentence_spans
from citebed.wording import count

_YEAR = re.compile(r"\b((?:1[5-9]|20)\d\d)([a-z]?)\b")
_FAMILY = re.compile(r"[^\W\d_][\w'’\u0300-\u036f\-]+")
_FIRST = re.compile(r"^\W*([^\W\d_][\w'’-]+)")
"""The first word of an entry, which may be a name even if no authors were parsed."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ß": "ss", "æ": "ae", "œ": "oe"}
)
"""Letters that have no decomposition, and what a font without them prints."""
_NAMES_END = re.compile(r"\bet\.? al|\band\b|\bund\b|\b[ye]\b|\bet\b|&|,|\d")
_OTHERS = re.compile(r"\bet\.? al|\bu\. ?a\.|\band others|\bund andere|\bet coll")
_MANY = 3
"""Number of authors that represents three or more."""
_INITIAL = re.compile(r"([^\W\d_])\.\s")
_BRACKET = re.compile(r"\[([^\[\]]{1,300})\]")
_PARTED = re.compile(r"\s*[,;]\s*")
_ROUND = re.compile(r"\((\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,30})\)")
_COUNTED = re.compile(rf"(?:\b(?:{phrases('counted')})\b\.?|=)\s?$", re.IGNORECASE)
_RAISED = re.compile("(?<![⁰¹²³⁴-⁹⁻])[⁰¹²³⁴-⁹](?:[⁰¹²³⁴-⁹]|[,;⁻–-] ?(?=[⁰¹²³⁴-⁹])){0,40}")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻;", "0123456789-,")
_POWER = re.compile(
    r"(?:(?<!\w)(?:[^\W\d_]|[a-zµ]?m|kg|sec|min|ft|in|mi|chi|Chi)|(?<![\d.,])(?:10|\d)"
    r"|[˚°Å⁻−\ue000-\uf8ff]\s?)$"
)
_CHARGE = re.compile("[+⁺þ−⁻]")
_NAMED_REF = re.compile(
    r"\b[Rr]efs?\.? (\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,30}(?: and \d{1,3})?)(?!\w|\.\d)"
)
_YEAR_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{0,300}?(?:1[5-9]|20)\d\d[^()\[\]]{0,200})[)\]]")
_IDENTIFIER = re.compile(r"(?<!\w)(?:[A-Z]{2}[A-Z\d]*|\w+_\w+|[a-z]+[A-Z]\w*)$")
"""A name in program code: ``BTE[2]`` is an index in a paper with a blank before its citations."""
_SPACED = 0.9
"""Least share of the square brackets with a blank before them in such a paper."""
_UNUSUAL = 0.8
"""Confidence of a marker of unknown form that contains the name and year of an entry."""
_NOTED = 0.9
"""Confidence of a footnote's number as a marker of the works that the footnote cites."""
_MOST, _FEW_SQUARE = 0.5, 0.2
"""Least share of the list's numbers in brackets of the kind that cites, and largest share in square
brackets if round ones cite."""
_INCOMPLETE = 0.6
"""Confidence of a marker with references that are not in the list; a person should check it."""


class Link(NamedTuple):
    """A marker and the ids of the entries that it cites."""

    start: int
    end: int
    cites: tuple[str, ...]
    confidence: float


@dataclass(frozen=True)
class ReferenceIndex:
    """A reference list, indexed by id and by name and year."""

    ids: frozenset[str]
    by_name: dict[tuple[str, str], tuple[str, ...]]
    gaps: int
    """Number of ids missing between 1 and the highest."""
    round_cite: bool = False
    """True if the paper cites with numbers in round brackets."""
    is_numbered: bool = True
    """True if the paper cites with the ids; False if they are only counted and it does not."""
    spaced: bool = False
    """True if the paper has a blank before its square brackets."""
    by_note: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """If footnotes cite: what each of them cites, by its number."""

    def links(self, text: str, content: PlacedText | None = None) -> list[Link]:
        """Return the markers in a text with the entries that they cite.

        ``content`` is the text with its places, for footnotes that restart on each page.

        Beside general markers, these are brackets with labels of the list that are not numbers, and
        the list's numbers after "ref.", in superscript (but not powers or charges), and, if the
        paper cites with them, in round brackets (but not equations and steps).
        """
        if self.by_note:
            return self._note_links(text, content)
        own = []
        for match in _BRACKET.finditer(text):
            parts = [part.replace(" ", "") for part in _PARTED.split(match[1].strip())]
            if parts[0] in self.ids and not parts[0].isdigit():
                own.append(Marker(*match.span(), tuple(part for part in parts if part in self.ids)))
        forms = [(_RAISED, _POWER, _CHARGE), (_NAMED_REF, None, None)]
        forms += [(_ROUND, _COUNTED, None)] if self.round_cite else []
        for form in forms if self.is_numbered else ():
            for match, cites in _numbers_in(text, *form):
                group = 0 if match.re is _ROUND else match.lastindex or 0
                if cites and self.ids.issuperset(cites):
                    own.append(Marker(*match.span(group), cites))
        own.sort(key=lambda marker: marker.start)
        starts = [marker.start for marker in own]
        found = [*own]
        for marker in markers(text):
            before = text[max(0, marker.start - 40) : marker.start]
            is_index = self.spaced and _IDENTIFIER.search(before)
            at = bisect_left(starts, marker.end)
            if not is_index and (at == 0 or own[at - 1].end <= marker.start):
                found.append(marker)
        every = [link for marker in found if (link := self._link(marker)).cites]
        every += self._named_links(text, every)
        return sorted(every)

    def _note_links(self, text: str, content: PlacedText | None) -> list[Link]:
        """Return the numbers of footnotes with the works that the footnotes cite."""
        links = []
        for match, notes in _numbers_in(text, _RAISED, _POWER):
            boxes = content.boxes(*match.span())[:1] if content else ()
            ends = ("", *(f"@{box.page}" for box in boxes))
            names = [note + end for note in notes for end in ends]
            if cites := unique(cite for name in names for cite in self.by_note.get(name, ())):
                links.append(Link(*match.span(), cites, _NOTED))
        return links

    def _named_links(self, text: str, others: Sequence[Link]) -> Iterator[Link]:
        """Yield brackets that contain the name of an entry, followed by the entry's year.

        Their form is not a known one, as in "(in the sense of OECD 2015, table 3)".
        """
        for match in _YEAR_IN_BRACKETS.finditer(text) if self.by_name else ():
            if any(link.start < match.end() and match.start() < link.end for link in others):
                continue
            cites: list[str] = []
            before = text[max(0, match.start() - 60) : match.start()]
            names = list(map(_plain, reversed(_FAMILY.findall(before))))  # the nearest first
            at = match.start(1)
            for year in _YEAR.finditer(text, *match.span(1)):
                names = list(map(_plain, _FAMILY.findall(text[at : year.start()]))) or names
                named = self.entries_named(text[at : year.end()].strip())
                found = (self.by_name.get((name, year[0]), ()) for name in names)
                ids = named or next(filter(None, found), ())
                at = year.end()
                cites += ids if len(ids) == 1 else ()
            if cites:
                yield Link(match.start(), match.end(), tuple(unique(cites)), _UNUSUAL)

    def _link(self, marker: Marker) -> Link:
        named = [
            (cite,)
            if cite in self.ids and (self.is_numbered or not cite.isdigit())
            else self.entries_named(cite)
            for cite in marker.cites
        ]
        cites = tuple(ids[0] for ids in named if len(ids) == 1)
        complete = 0.995 - 0.02 * min(self.gaps, 5)
        confidence = complete if len(cites) == len(named) else _INCOMPLETE
        return Link(marker.start, marker.end, cites, confidence)

    def entries_named(self, cite: str) -> tuple[str, ...]:
        """Return the entries that have the name and year of a citation."""
        year = _YEAR.search(cite)
        name = _plain(_NAMES_END.split(cite, maxsplit=1)[0])
        if year is None or not name:
            return ()
        named = self.by_name.get((name, year[0]), ())
        head, _, rest = cite.partition(", ")
        if not named and rest and (head[1:] != head[1:].lower() or head.count(" ") > 1):
            return self.entries_named(rest)  # "UMFPACK, Davis 2004"
        if len(named) < 2:
            return named
        whole = self.by_name.get((letters_only(cite[: year.start()]), year[0]), ())
        if len(whole) == 1:  # an organisation
            return whole
        keys = []
        if initial := _INITIAL.match(cite):
            keys.append(f"{initial[1].lower()}. {name}")
        # As many authors, and the second name.
        names = [_plain(each) for each in _NAMES_END.split(cite) if each.strip(" .")]
        number = _MANY if _OTHERS.search(cite) else min(len(names), 2)
        keys.append(f"{names[0]} {names[1]}" if number == 2 else f"{name} {number}")
        for key in keys:
            if len(named) > 1:
                known = self.by_name.get((key, year[0]), ())
                named = tuple(each for each in named if each in known)
        return named


def _numbers_in(
    text: str,
    form: re.Pattern[str],
    before: re.Pattern[str] | None = None,
    behind: re.Pattern[str] | None = None,
) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    """Yield the numbers printed in one form, unless the text ``before`` or ``behind`` fits."""
    for match in form.finditer(text):
        head = text[max(0, match.start() - 14) : match.start()]
        excluded = behind and behind.match(text, match.end())
        if not (excluded or (before and before.search(head))):
            inside = match[match.lastindex or 0].replace(" and ", ",").translate(_DIGITS)
            yield match, numbers(inside) or ()


def index_references(
    references: Sequence[ParsedReference],
    ids: Sequence[str],
    texts: Sequence[str] = (),
    labelled: bool = True,
) -> ReferenceIndex:
    """Index a reference list with the ids of its entries; ``texts`` show how the paper cites.

    If the list is not ``labelled``, its ids are only counted: ``[1]`` in the text is then probably
    not a citation, but program code.
    """
    by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
    before: set[str] = set()
    for ref_id, reference in zip(ids, references, strict=True):
        families = [_plain(family_name(name)) for name in reference.authors[:2]]
        given = reference.authors[0].rpartition(", ")[2] if reference.authors else ""
        names = {*families[:1], *(_plain(word) for word in _FIRST.findall(reference.text))}
        if families and given:
            names.add(f"{given[0].lower()}. {families[0]}")
        names = names | {" ".join(families)} if len(families) == 2 else names
        number = _MANY if _OTHERS.search(reference.text) else min(len(reference.authors), _MANY)
        if families:
            names |= {f"{families[0]} {number}", letters_only(reference.authors[0])}
        if REPEATED_AUTHORS.match(reference.text):
            names = before | names
        before = names
        years = list(_YEAR.finditer(reference.text))
        lettered = {year[0] for year in years if year[2]}
        stated = {str(reference.year)} if reference.year else {year[0] for year in years}
        for year in lettered or stated:
            for name in names:
                if ref_id not in by_name[name, year]:
                    by_name[name, year].append(ref_id)
    index = {key: tuple(some) for key, some in by_name.items()}
    known = {ref_id for ref_id in ids if ref_id.isdigit()}
    gaps = max(map(int, known), default=0) - len(known)
    marked = [(text, marker) for text in texts for marker in markers(text)]
    square = {cite for _, marker in marked for cite in marker.cites} & known
    befores = [
        text[max(0, at.start - 40) : at.start] for text, at in marked if text[at.start] == "["
    ]
    blanks = [each[-1:] == " " for each in befores if not _IDENTIFIER.search(each)]
    round_ = {cite for text in texts for _, some in _numbers_in(text, _ROUND) for cite in some}
    round_ &= known
    most = max(_MOST * len(known), 1)
    round_cite = len(square) <= _FEW_SQUARE * len(known) and len(round_) >= most
    by_name_only = ReferenceIndex(frozenset(ids), index, gaps, is_numbered=False)
    if not labelled:
        named = {cite for text in texts for link in by_name_only.links(text) for cite in link.cites}
        if max(len(square), len(round_)) < max(most, 2 * len(named)):
            return by_name_only
    spaced = 0 < _SPACED * len(blanks) <= sum(blanks)
    return replace(by_name_only, round_cite=round_cite, is_numbered=True, spaced=spaced)


def _plain(name: str) -> str:
    """Return the last word of a name in lower case without accents."""
    words = _FAMILY.findall(normalize("NFKD", name.lower().translate(_LETTERS)))
    return _ACCENTS.sub("", words[-1]) if words else ""


_REVIEWS = re.compile(phrases("heading_of_review"), re.IGNORECASE)
_LEAST_CITING, _LEAST_SHARE = 4, 0.7
"""Citing paragraphs in a section of related work without such a heading."""

PARTS = ("introduction", "related work")
"""The parts of papers that ACM-CR's annotators used."""


def annotate(
    paper: ReadPaper,
    paper_id: str,
    *,
    sections: Collection[str] = PARTS,
    against: ReferenceMatcher | None = None,
) -> Annotation:
    """Annotate a paper.

    ``sections`` are the parts to annotate; without any, all sections are annotated. References are
    linked to the documents in ``against``.
    """
    free = FreeIds()
    ids = [free.take(entry.label or str(at)) for at, entry in enumerate(paper.references, 1)]
    parsed = [parse_reference(entry.printed) for entry in paper.references]
    texts = [each.content.text for each in paper.paragraphs]
    labelled = any(entry.label for entry in paper.references)
    by_note = {number: tuple(ids[at] for at in places) for number, places in paper.footnotes}
    index = replace(index_references(parsed, ids, texts, labelled), by_note=by_note)
    places = [entry.content.boxes() for entry in paper.references]
    links = [index.links(each.content.text, each.content) for each in paper.paragraphs]
    parts = _parts(paper, sections, links)
    contexts: list[AnnotatedContext] = []
    for paragraph, linked in zip(paper.paragraphs, links, strict=True):
        part = parts.get(paragraph.section)
        if part is not None and linked:
            sentences = tuple(_sentences(paragraph, linked))
            confidence = min(sentence.confidence for sentence in sentences)
            context = (f"{len(contexts) + 1:02d}", part, paragraph.section, confidence, sentences)
            contexts.append(AnnotatedContext(*context))
    notes = list(_disagreements(texts, links, index, [reference.text for reference in parsed]))
    if not contexts and sections and (citing := sum(map(bool, links))):
        where = f"none of them in {' or '.join(sections)}; use --sections all"
        notes.insert(0, f"{count(citing, 'paragraph')} with citations, but {where}")
    return Annotation(
        paper_id=paper.doi or paper_id,
        doi=paper.doi,
        title=paper.title,
        authors=paper.authors,
        abstract=paper.abstract,
        year=paper.year,
        contexts=tuple(contexts),
        references=tuple(annotate_references(ids, places, parsed, against)),
        pages=paper.pages,
        notes=tuple(notes),
    )


_UNKNOWN, _UNCITED = 0.05, 0.25
"""Shares above which markers and list disagree: citations that are not in the list, and entries
that nothing cites."""
_FEW, _NEAR = 3, 1.5
"""Fewest numbers above the list's last that are citations, and the largest by that last number."""
_LONG_ENTRY = 3
"""The length, by the median, of an entry that may be several."""


def _disagreements(
    texts: Sequence[str],
    links: Sequence[Sequence[Link]],
    index: ReferenceIndex,
    entries: Sequence[str],
) -> Iterator[str]:
    """Yield notes where the citation markers of a paper and its reference list disagree."""
    if index.by_note:
        return
    cited = {cite for linked in links for link in linked for cite in link.cites}
    printed = [marker.cites for text in texts for marker in markers(text)]
    forms = [(_RAISED, _POWER), (_ROUND, _COUNTED)]
    raised, round_ = ([c for t in texts for _, c in _numbers_in(t, *form)] for form in forms)
    if not index.ids:
        counted = {cite for cites in round_ for cite in cites}
        printed += round_ if counted.issuperset(map(str, range(1, 2 * _FEW))) else []
        if len(printed) > _FEW:
            yield f"{count(len(printed), 'citation marker')}, but no reference list was found"
        return
    if index.is_numbered and all(map(str.isdigit, index.ids)):
        known = {int(each) for each in index.ids}
        last = max(known)
        numbered = [*printed, *raised, *(round_ if index.round_cite else [])]
        used = [int(c) for cites in numbered for c in cites if c.isdigit() and len(c) < 4]
        reach = last
        for number in sorted(used):
            reach = number if reach < number <= _NEAR * reach + _FEW else reach
        near = [number for number in used if last < number <= reach]
        goes_on = last + 1 in near or len(set(near)) >= _FEW or len(near) > len(set(near))
        missing = set(range(1, (reach if goes_on else last) + 1)) - known
        if len(missing) > _UNKNOWN * len(known | missing):
            yield (
                f"the paper cites {count(len(known | missing), 'reference')}, but the list that "
                f"was read has {len(known):,}: it was probably not read completely"
            )
    else:
        every = unique(cite for cites in printed for cite in cites)
        named = [cite for cite in every if not cite.isdigit() and _YEAR.search(cite)]
        unresolved = [cite for cite in named if len(index.entries_named(cite)) != 1]
        if len(unresolved) > _UNKNOWN * min(len(named), len(index.ids)):
            yield (
                f"{len(unresolved):,} of {count(len(named), 'citation')} match no entry of "
                f"the reference list, for example {unresolved[0]}"
            )
    usual = sorted(map(len, entries))[len(entries) // 2]
    long = [entry for entry in entries if len(entry) > _LONG_ENTRY * usual]
    joined = sum(len(set(_YEAR.findall(entry))) > 1 for entry in long)
    if joined > max(1, _UNKNOWN * len(entries)):
        yield f"{count(joined, 'reference')} may be several: the list was not split correctly"
    uncited = index.ids - cited
    if len(uncited) > max(_FEW, _UNCITED * len(index.ids)):
        share = f"{len(uncited):,} of {count(len(index.ids), 'reference')}"
        yield f"no citation marker was found for {share}"


def _parts(
    paper: ReadPaper, sections: Collection[str], links: Sequence[Sequence[Link]]
) -> dict[str, str | None]:
    """Return for each section its part of the paper, or ``None`` for other sections.

    If no heading names related work, the section after the introduction counts as related work,
    provided that more than 70 % of its paragraphs have citations.
    """
    named = {p.section: part_of(p.section, sections) for p in paper.paragraphs}
    top = {section: section.split(BELOW, maxsplit=1)[0] for section in named}
    tops = unique(top.values())
    first = next((at for at, top in enumerate(tops) if part_of(top, ("introduction",))), len(tops))
    if "related work" not in sections or "related work" in named.values() or first + 1 >= len(tops):
        return named
    second = [section for section in named if top[section] == tops[first + 1]]
    pairs = zip(paper.paragraphs, links, strict=True)
    cites = [bool(linked) for paragraph, linked in pairs if paragraph.section in second]
    if sum(cites) >= _LEAST_CITING and sum(cites) > _LEAST_SHARE * len(cites):
        named |= dict.fromkeys(second, "related work")
    return named


def part_of(section: str, sections: Collection[str]) -> str | None:
    """Return the part of a paper that a heading names; with no ``sections``, the heading itself."""
    if not sections:
        return section.rsplit(BELOW, maxsplit=1)[-1].lower()
    named = next((part for part in sections if is_under(section, (part,))), None)
    if named is None and "related work" in sections and _REVIEWS.search(section):
        return "related work"
    return named


def _sentences(paragraph: ReadParagraph, links: Sequence[Link]) -> Iterator[AnnotatedSentence]:
    content = paragraph.content
    for start, end in sentence_spans(content.text):
        printed = content.text[start:end]
        inside = [link for link in links if start <= link.start < end]
        marks = tuple(
            AnnotatedMarker(
                content.text[link.start : link.end], link.cites, link.confidence,
                content.boxes(link.start, link.end),
            )
            for link in inside
        )  # fmt: skip
        text = fold(anonymise(printed)) if inside else printed
        yield AnnotatedSentence(
            text=text,
            cites=tuple(unique(cite for link in inside for cite in link.cites)),
            anonymised=text != fold(printed),
            confidence=min((link.confidence for link in inside), default=1.0),
            boxes=content.boxes(start, end),
            markers=marks,
            printed=printed,
        )


def annotate_text(
    text: str, references: Sequence[AnnotatedReference]
) -> tuple[AnnotatedSentence, ...]:
    """Annotate the text of a paragraph, given the reference list of its paper."""
    parsed = [parse_reference(each.text) for each in references]
    index = index_references(parsed, [each.ref_id for each in references])
    return tuple(_sentences(ReadParagraph("", PlacedText(text)), index.links(text)))


def annotate_sentences(sentences: Iterable[Sentence]) -> Iterator[AnnotatedSentence]:
    """Anonymise sentences whose citations are already known."""
    for sentence in sentences:
        printed = fold(sentence.text)
        text = fold(anonymise(printed)) if sentence.cites else printed
        cites = tuple(unique(sentence.cites))
        yield AnnotatedSentence(text, cites, text != printed, 1.0, (), (), printed)


def annotate_references(
    ids: Sequence[str],
    places: Sequence[tuple[Box, ...]],
    parsed: Sequence[ParsedReference],
    against: ReferenceMatcher | None,
) -> Iterator[AnnotatedReference]:
    """Yield the references, each linked to its paper if one matches."""
    matched = against.candidates(parsed) if against else [()] * len(parsed)
    for ref_id, boxes, reference, candidates in zip(ids, places, parsed, matched, strict=True):
        confidence = 1.0 if reference.doi else max(reference.confidence, 0.5)
        best = None
        if candidates:  # the probability that it is linked, or left without a link, correctly
            probability = candidates[0].probability
            best = candidates[0] if probability >= LIKELY else None
            confidence = probability if best else 1 - probability
        is_known = not reference.doi or bool(best and prints_doi(reference, best.doi or ""))
        on_arxiv = f"https://arxiv.org/abs/{reference.arxiv}" if reference.arxiv else None
        yield AnnotatedReference(
            ref_id=ref_id,
            text=reference.text,
            doi=best.doi if best and best.doi and is_known else reference.doi,
            url=reference.url or on_arxiv,
            doc_id=best.doc_id if best else None,
            confidence=confidence,
            boxes=boxes,
            title=reference.title,
            authors=reference.authors,
            year=reference.year,
            venue=reference.venue,
            arxiv=reference.arxiv,
            candidates=tuple(candidates),
        )
