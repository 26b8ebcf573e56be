"""Citing papers of ACM-CR: annotated papers in XML, and ``.dois`` lists of their references.

An annotated paper has paragraphs by sentence, with the references that each sentence cites. A line
of a ``.dois`` list has ``[n]``, then a DOI, a URL or ``None``, then a venue that is ignored,
separated by tabs or blanks; ``-`` at its start marks a reference outside the ACM library.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format, text_parser
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    children,
    file_stem,
    has_root,
    inner_text,
    open_root,
    source_line,
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
_COMPLETE = re.compile(r"-?\s*\[\d+\]\s+(?:10\.\d{4,9}\S*/|https?://|None(?:\s|$))")
_DOI_LIKE = re.compile(r"(?:doi\b|\d{0,2}\.\d{3,9}[\d.]*/)", re.IGNORECASE)
_NONE = frozenset(("", "none", "n/a", "-"))


def _add_reference(
    references: dict[str, Reference], ref_id: str, raw: str, line: int
) -> Iterator[Problem]:
    """Add a reference with a DOI, a URL, a key of the bibliography, or (``None``) nothing.

    The first of two references with one id counts.
    """
    text = fold(raw)
    if ref_id in references:
        yield Problem(line, f"reference {ref_id} is listed twice; the first is kept", "mended")
    elif text.lower() in _NONE:
        references[ref_id] = Reference(ref_id)
    elif (doi := normalise_doi(text)) is not None:
        references[ref_id] = Reference(ref_id, doi=doi, raw=raw)
    elif looks_like_url(text):
        references[ref_id] = Reference(ref_id, url=text, raw=raw)
    else:
        references[ref_id] = Reference(ref_id, doc_id=text, raw=raw)
        if _DOI_LIKE.match(text):
            what = f"reference {ref_id}: '{text}' looks like a DOI but is not one; kept as a key"
            yield Problem(line, what, "mended")


# --- Lists of DOIs ----------------------------------------------------------------------------


def _sniff_dois(head: str) -> bool:
    lines = [line for line in head.lstrip("\ufeff").split("\n") if line.strip()][:5]
    is_complete = any(_COMPLETE.match(line) for line in lines)
    return is_complete and all(_NUMBERED.match(line) for line in lines)


@text_parser
def _parse_dois(text: str, chunk: Chunk) -> Iterator[Record]:
    references: dict[str, Reference] = {}
    for line, content in enumerate(map(str.strip, text.split("\n")), chunk.line):
        if not content:
            continue
        match = _LINE.match(content)
        if match is None:
            what = f"expected '[number] DOI, URL or None', found '{fold(content)[:80]}'"
            yield Problem(line, what)
            continue
        ref_id, target = match.groups()
        if not target and ref_id not in references:
            what = f"reference {ref_id} has no DOI, URL or None; read as None"
            yield Problem(line, what, "mended")
        yield from _add_reference(references, ref_id, target, line)
    if references:
        yield ReferenceList(tuple(references.values()), chunk.line)
    else:
        yield Problem(chunk.line, "a reference list without a reference")


DOIS = Format("dois", "ACM-CR list of cited DOIs", _sniff_dois, _parse_dois)


# --- Annotated papers -------------------------------------------------------------------------

_YES = frozenset(("true", "1", "yes"))
_NO = frozenset(("", "false", "0", "no"))
_PARTS = r"\A<doc\b[^<>]*>\s*<doi\b|<(?:contexts|references)\b|<context\s"


def _parse_annotation(chunk: Chunk) -> Iterator[Record]:
    """Yield the problems in the order of their lines, then the citing paper."""
    root, problems = open_root(chunk, "doc")
    if root is None:
        yield from sorted(problems, key=lambda problem: problem.line)
        return
    references: dict[str, Reference] = {}
    contexts: dict[str, Context] = {}
    for number, element in enumerate(children(child(root, "references"), "reference"), 1):
        line = source_line(element, chunk)
        ref_id = fold(attribute(element, "id"))
        if not ref_id:
            ref_id = str(number)
            problems.append(
                Problem(line, f"a reference without an id; numbered {ref_id}", "mended")
            )
        raw = "".join(map(str, element.itertext()))
        problems += _add_reference(references, ref_id, raw, line)
    problems += _read_contexts(root, chunk, contexts, references)
    line, year = source_line(root, chunk), year_in(text_at(root, "year"))
    stated = text_at(root, "doi")
    doi = normalise_doi(stated)
    paper_id = stated
    if doi is not None:  # the DOI in the case of the file, without a resolver
        at = stated.lower().rfind(doi)
        paper_id = stated[at : at + len(doi)] if at >= 0 else doi
    paper_id = paper_id or text_at(root, "id") or file_stem(chunk.source)
    if stated and doi is None:
        problems.append(Problem(line, f"'{stated}' is not a DOI; kept as an id", "mended"))
    elif not paper_id:
        problems.append(Problem(line, "a paper without a DOI, an id or a file name"))
    yield from sorted(problems, key=lambda problem: problem.line)
    if paper_id:
        yield CitingPaper(
            paper_id,
            doi=doi,
            title=text_at(root, "title"),
            abstract=text_at(root, "abstract") or None,
            year=year,
            date=iso_date(year),
            contexts=tuple(contexts.values()),
            references=tuple(references.values()),
            line=line,
        )


def _read_contexts(
    root: Element, chunk: Chunk, contexts: dict[str, Context], references: Collection[str]
) -> Iterator[Problem]:
    """Add the contexts; number one without an id, and rename one whose id is used (``-2``)."""
    ids = FreeIds()
    for number, context in enumerate(children(child(root, "contexts"), "context"), 1):
        line = source_line(context, chunk)
        wanted = fold(attribute(context, "id"))
        if not wanted:
            wanted = f"{number:02d}"
            yield Problem(line, f"a context without an id; numbered {wanted}", "mended")
        context_id = ids.take(wanted)
        if context_id != wanted:
            yield Problem(line, f"two contexts have the id {wanted}; now {context_id}", "mended")
        sentences = []
        for element in list(children(context, "s")) or [context]:
            line, mark = source_line(element, chunk), attribute(element, "anonymised")
            sentence = Sentence(inner_text(element), _cites(element), mark.lower() not in _NO)
            if sentence.text or sentence.cites:
                sentences.append(sentence)
            for cite in unique(sentence.cites):
                if cite not in references:
                    what = f"a sentence cites {cite}, which is not in the reference list"
                    yield Problem(line, what, "mended")
            if mark.lower() not in _YES | _NO:
                what = f'anonymised="{mark}" is not a boolean; read as "true"'
                yield Problem(line, what, "mended")
        section = fold(attribute(context, "section"))
        contexts[context_id] = Context(context_id, section, tuple(sentences))


def _cites(sentence: Element) -> tuple[str, ...]:
    """Return what a sentence cites; a reference that it cites twice is there twice."""
    return tuple(filter(None, re.split(r"[,;\s]+", attribute(sentence, "cites"))))


ANNOTATION_XML = Format(
    "annotation-xml",
    "ACM-CR annotated citing paper",
    has_root("doc", holding=_PARTS),
    _parse_annotation,
    limit=MAX_XML_BYTES,
)
