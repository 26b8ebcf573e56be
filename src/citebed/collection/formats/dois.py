"""ACM-CR's ``.dois`` lists: a numbered line for each reference of a citing paper.

A line is ``[n]``, a DOI, an address or ``None``, and a venue that is not kept, with tabs or
blanks between; a ``-`` in front marks a reference outside the ACM's library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.records import Problem, Record, Reference, ReferenceList
from citebed.text.identifiers import looks_like_url, normalise_doi
from citebed.text.normalise import fold

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


def _sniff(head: str) -> bool:
    lines = [line for line in head.lstrip("\ufeff").split("\n") if line.strip()][:5]
    answered = any(_ANSWERED.match(line) for line in lines)
    return answered and all(_NUMBERED.match(line) for line in lines)


def _parse(chunk: Chunk) -> Iterator[Record]:
    """One reference list; a line that is not a reference is skipped."""
    text, problems = read_text(chunk)
    yield from problems
    references: dict[str, Reference] = {}
    for line, content in enumerate(with_newlines(text).split("\n"), chunk.line):
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


DOIS = Format(name="dois", title="ACM-CR list of cited DOIs", sniff=_sniff, parse=_parse)
