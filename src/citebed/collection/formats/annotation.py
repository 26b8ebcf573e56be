"""ACM-CR's annotated citing papers: paragraphs by sentence, with the references each cites.

ACM-CR's ``.dois`` lists: a numbered line for each reference of a citing paper.

A line is ``[n]``, a DOI, an address or ``None``, and a venue that is not kept, with tabs or
blanks between; a ``-`` in front marks a reference outside the ACM's library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format, of_text
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    children,
    file_stem,
    has_root,
    inner_text,
    line_of,
    open_root,
    text_at,
)
from citebed.records import (
    CitingPaper,
    Context,
    Problem,
    Record,
    Reference,
    ReferenceList,
    Sentence,
)
from citebed.text.identifiers import FreeIds, looks_like_url, normalise_doi
from citebed.text.normalise import fold, iso_date, unique, year_in

_LINE = re.compile(r"-?\s*\[\s*([^\s\[\]]+)\s*\]\s*(\S*)")
_NUMBERED = re.compile(r"-?\s*\[\d+\]")
_ANSWERED = re.compile(r"-?\s*\[\d+\]\s+(?:10\.\d{4,9}\S*/|https?://|None(?:\s|$))")
_DOI_LIKE = re.compile(r"(?:doi\b|\d{0,2}\.\d{3,9}[\d.]*/)", re.IGNORECASE)
_NOTHING = frozenset(("", "none", "n/a", "-"))


def reference_from(ref_id: str, text: str) -> tuple[Reference, bool]:
    """A reference from what stands for it, and whether that looks like a DOI but is none.

    ``None``, ``N/A`` or nothing gives a reference that points nowhere; what is neither a DOI
    nor an address is taken as a key of the bibliography.
    """
    raw, text = text, fold(text)
    if text.lower() in _NOTHING:
        return Reference(ref_id), False
    if (doi := normalise_doi(text)) is not None:
        return Reference(ref_id, doi=doi, raw=raw), False
    if looks_like_url(text):
        return Reference(ref_id, url=text, raw=raw), False
    return Reference(ref_id, doc_id=text, raw=raw), _DOI_LIKE.match(text) is not None


def add_reference(
    references: dict[str, Reference], ref_id: str, text: str, line: int
) -> Iterator[Problem]:
    """Add what ``text`` stands for to a reference list, and say what was wrong with it.

    Of two references with one id the first is kept.
    """
    if ref_id in references:
        yield Problem(line, f"reference {ref_id} is listed twice; the first is kept", "mended")
        return
    references[ref_id], doubtful = reference_from(ref_id, text)
    if doubtful:
        what = f"reference {ref_id}: '{fold(text)}' looks like a DOI but is none; kept as a key"
        yield Problem(line, what, "mended")


def _dois_sniff(head: str) -> bool:
    lines = [line for line in head.lstrip("\ufeff").split("\n") if line.strip()][:5]
    answered = any(_ANSWERED.match(line) for line in lines)
    return answered and all(_NUMBERED.match(line) for line in lines)


@of_text
def _dois_parse(text: str, chunk: Chunk) -> Iterator[Record]:
    """One reference list; a line that is not a reference is skipped."""
    references: dict[str, Reference] = {}
    for line, content in enumerate(text.split("\n"), chunk.line):
        if content.strip():
            yield from _read_line(line, content.strip(), references)
    if references:
        yield ReferenceList(tuple(references.values()), chunk.line)
    else:
        yield Problem(chunk.line, "a reference list without a reference")


def _read_line(line: int, content: str, references: dict[str, Reference]) -> Iterator[Problem]:
    """Add the reference of a line to the list, and say what was wrong with it."""
    match = _LINE.match(content)
    if match is None:
        yield Problem(line, f"expected '[number] DOI, URL or None', found '{fold(content)[:80]}'")
        return
    ref_id, text = match.groups()
    if not text and ref_id not in references:
        yield Problem(line, f"reference {ref_id} has no DOI, URL or None; taken as None", "mended")
    yield from add_reference(references, ref_id, text, line)


DOIS = Format(name="dois", title="ACM-CR list of cited DOIs", sniff=_dois_sniff, parse=_dois_parse)


# --- Lists of DOIs ----------------------------------------------------------------------------


_YES = frozenset(("true", "1", "yes"))
_NO = frozenset(("", "false", "0", "no"))
_PARTS = r"\A<doc\b[^<>]*>\s*<doi\b|<(?:contexts|references)\b|<context\s"


def _parse(chunk: Chunk) -> Iterator[Record]:
    """One citing paper, after the problems found in it, in the order of their lines."""
    root, problems = open_root(chunk, "doc")
    if root is not None:
        references: dict[str, Reference] = {}
        contexts: dict[str, Context] = {}
        problems += _read_contexts(root, chunk, contexts)
        problems += _read_references(root, chunk, references)
        problems += _doubtful_sentences(root, chunk, references)
        paper, doubts = _paper(root, chunk)
        problems += doubts
    yield from sorted(problems, key=lambda problem: problem.line)
    if root is not None and paper.paper_id:
        yield paper._replace(
            contexts=tuple(contexts.values()), references=tuple(references.values())
        )


def _paper(root: Element, chunk: Chunk) -> tuple[CitingPaper, list[Problem]]:
    """The paper without contexts and references; its id is empty where nothing names it."""
    line = line_of(root, chunk)
    stated = text_at(root, "doi")
    doi = normalise_doi(stated)
    year = year_in(text_at(root, "year"))
    paper = CitingPaper(
        paper_id=_as_stated(stated, doi) or text_at(root, "id") or file_stem(chunk.source),
        doi=doi,
        title=text_at(root, "title"),
        abstract=text_at(root, "abstract") or None,
        year=year,
        date=iso_date(year),
        line=line,
    )
    if stated and doi is None:
        return paper, [Problem(line, f"'{stated}' is not a DOI; kept as an id", "mended")]
    if not paper.paper_id:
        return paper, [Problem(line, "a paper without a DOI, an id or a file name")]
    return paper, []


def _as_stated(text: str, doi: str | None) -> str:
    """The DOI in the letter case of the file, without a resolver in front of it."""
    if doi is None:
        return text
    at = text.lower().rfind(doi)
    return text[at : at + len(doi)] if at >= 0 else doi


# --- References -----------------------------------------------------------------------------


def _read_references(
    root: Element, chunk: Chunk, references: dict[str, Reference]
) -> Iterator[Problem]:
    """Fill the reference list; of two with one id the first is kept."""
    for number, element in enumerate(children(child(root, "references"), "reference"), 1):
        line = line_of(element, chunk)
        ref_id = fold(attribute(element, "id"))
        if not ref_id:
            ref_id = str(number)
            yield Problem(line, f"a reference without an id; numbered {ref_id}", "mended")
        yield from add_reference(references, ref_id, "".join(map(str, element.itertext())), line)


def _doubtful_sentences(
    root: Element, chunk: Chunk, references: dict[str, Reference]
) -> Iterator[Problem]:
    """What is odd about a sentence: a number the reference list does not have, a mistyped mark."""
    for context in children(child(root, "contexts"), "context"):
        for element in list(children(context, "s")) or [context]:
            line = line_of(element, chunk)
            for cite in unique(_cites(element)):
                if cite not in references:
                    what = f"a sentence cites {cite}, which the reference list does not have"
                    yield Problem(line, what, "mended")
            mark = attribute(element, "anonymised")
            if mark.lower() not in _YES | _NO:
                yield Problem(line, f'anonymised="{mark}" is taken as "true"', "mended")


# --- Contexts -------------------------------------------------------------------------------


def _read_contexts(root: Element, chunk: Chunk, contexts: dict[str, Context]) -> Iterator[Problem]:
    """Fill the contexts; a missing id is numbered, one that is taken gets ``-2`` and so on."""
    ids = FreeIds()
    for number, element in enumerate(children(child(root, "contexts"), "context"), 1):
        line = line_of(element, chunk)
        wanted = fold(attribute(element, "id"))
        if not wanted:
            wanted = f"{number:02d}"
            yield Problem(line, f"a context without an id; numbered {wanted}", "mended")
        context_id = ids.take(wanted)
        if context_id != wanted:
            yield Problem(line, f"two contexts have the id {wanted}; now {context_id}", "mended")
        section = fold(attribute(element, "section"))
        contexts[context_id] = Context(context_id, section, _sentences(element))


def _sentences(context: Element) -> tuple[Sentence, ...]:
    """The sentences of a context; its whole text is one where none are marked.

    A mark that says neither yes nor no to whether the names were taken out is a yes.
    """
    sentences = (
        Sentence(inner_text(s), _cites(s), attribute(s, "anonymised").lower() not in _NO)
        for s in list(children(context, "s")) or [context]
    )
    return tuple(sentence for sentence in sentences if sentence.text or sentence.cites)


def _cites(sentence: Element) -> tuple[str, ...]:
    """What a sentence cites, a reference that it names twice twice."""
    return tuple(filter(None, re.split(r"[,;\s]+", attribute(sentence, "cites"))))


ANNOTATION_XML = Format(
    *("annotation-xml", "ACM-CR annotated citing paper", has_root("doc", holding=_PARTS)),
    _parse,
    limit=MAX_XML_BYTES,
)
