"""The bibliography files that a draft names: what its keys stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.bibtex import document_of
from citebed.collection.formats.bibtex_scan import RawEntry, carry, scan
from citebed.drafts.files import Neighbours
from citebed.drafts.findings import Findings, is_key, without_places
from citebed.drafts.records import Entry
from citebed.drafts.tex import TexReader
from citebed.records import Document
from citebed.text.identifiers import arxiv_in, arxiv_of, arxiv_of_doi
from citebed.text.latex import latex_to_text

_HEAD = re.compile(r"@[ \t]*([A-Za-z]+)\s*[{(]\s*([^\s,{}\"#%=]+)\s*,")
_NAMES_SHOWN = 5


def read_bibliographies(findings: Findings, neighbours: Neighbours) -> None:
    """Add the entries that the draft cites from the files it names.

    Where a file is missing but LaTeX left its list of references beside the draft (``.bbl``,
    all that a submission often has), that is read. Notes tell of missing files and keys.
    """
    missing = []
    for name in findings.bibliographies:
        found = neighbours.read(name, (".bib",))
        if isinstance(found, str):
            missing.append(f"bibliography {name}: {found}; its keys stand for themselves only")
        else:
            wanted = None if findings.every_entry else frozenset(findings.cited_names())
            findings.entries += _entries(found.data, wanted)
    if missing and (findings.entries or not _read_bbl(findings, neighbours)):
        for what in missing:
            findings.note(what)
    elif findings.bibliographies and not missing:
        _tell_of_unknown(findings)


def _read_bbl(findings: Findings, neighbours: Neighbours) -> bool:
    """Whether a list of references that LaTeX made was there to be read instead."""
    if neighbours.draft is None:
        return False
    found = neighbours.read(neighbours.draft.with_suffix("").name, (".bbl",))
    if isinstance(found, str):
        return False
    listed = Findings()
    text = without_places(with_newlines(decode(found.data)[0]))
    TexReader(listed, Neighbours(None)).read(text)
    findings.entries += listed.entries
    return bool(listed.entries)


def _tell_of_unknown(findings: Findings) -> None:
    known = {entry.key for entry in findings.entries}
    unknown = [name for name in findings.cited_names() if is_key(name) and name not in known]
    if unknown:
        shown = ", ".join(unknown[:_NAMES_SHOWN])
        more = f" and {len(unknown) - _NAMES_SHOWN} more" if len(unknown) > _NAMES_SHOWN else ""
        findings.note(f"cited but not in the bibliography: {shown}{more}")


def _entries(data: bytes, wanted: frozenset[str] | None) -> Iterator[Entry]:
    """The entries of a .bib file whose keys are wanted; all, for ``None``.

    Only these are parsed, so that a few keys are found quickly in a large file.
    """
    macros: dict[str, str] = {}
    carry(data, macros)
    text = with_newlines(decode(data)[0])
    for part in [text] if wanted is None else _parts(text, wanted):
        for raw in scan(part, 1, macros):
            if isinstance(raw, RawEntry) and (wanted is None or raw.key in wanted):
                yield _entry(raw, document_of(raw))


def _parts(text: str, wanted: frozenset[str]) -> Iterator[str]:
    """The pieces of a file that begin with an entry of a wanted key, up to the next entry."""
    start = None
    for head in _HEAD.finditer(text):
        if start is not None:
            yield text[start : head.start()]
        start = head.start() if head[2] in wanted else None
    if start is not None:
        yield text[start:]


def _entry(raw: RawEntry, document: Document) -> Entry:
    fields = raw.fields
    arxiv = None
    if "arxiv" in fields.get("archiveprefix", fields.get("eprinttype", "arxiv")).lower():
        arxiv = arxiv_of(fields.get("eprint", ""))
    for name in ("url", "journal", "note", "doi", "volume"):
        arxiv = arxiv or arxiv_in(latex_to_text(fields.get(name, "")))
    if arxiv is None and document.doi:
        arxiv = arxiv_of_doi(document.doi)
    said = ("; ".join(document.authors), document.title, document.venue, str(document.year or ""))
    text = ". ".join(part for part in said if part)
    return Entry(raw.key, text, document.title, document.doi, arxiv)
