"""The bibliography files that a draft names: what its keys stand for, and what else they hold."""

from __future__ import annotations

from collections.abc import Iterator

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.bibtex import document_of
from citebed.collection.formats.bibtex_scan import RawEntry, carry, scan
from citebed.drafts.files import Neighbours
from citebed.drafts.findings import Findings, is_key, without_places
from citebed.drafts.records import Entry
from citebed.drafts.tex import TexReader

_NAMES_SHOWN = 5


def read_bibliographies(findings: Findings, neighbours: Neighbours) -> None:
    """Add the entries of the files that the draft names, and which of them it cites.

    Where a file is missing but LaTeX left its list of references beside the draft (``.bbl``,
    all that a submission often has), that is read. Notes tell of missing files and keys.
    """
    missing = []
    for name in findings.bibliographies:
        found = neighbours.read(name, (".bib",))
        if isinstance(found, str):
            missing.append((f"{found}; its keys stand for themselves only", f"bibliography {name}"))
        else:
            findings.library += bib_entries(found.data)
    cited = frozenset(findings.cited_names())
    findings.entries += [
        entry for entry in findings.library if findings.every_entry or entry.key in cited
    ]
    if missing and (findings.entries or not _read_bbl(findings, neighbours)):
        for what, name in missing:
            findings.note(what, name)
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


def bib_entries(data: bytes) -> Iterator[Entry]:
    """The entries of a .bib file, in order; what is broken in it is passed over."""
    macros: dict[str, str] = {}
    carry(data, macros)
    for raw in scan(with_newlines(decode(data)[0]), 1, macros):
        if isinstance(raw, RawEntry):
            yield _entry(raw)


# An abstract takes longer to read than all the rest, and a library has thousands.
_LEFT_UNREAD = frozenset(("abstract", "keywords", "annote", "file", "editor", "publisher"))


def _entry(raw: RawEntry) -> Entry:
    needed = {name: value for name, value in raw.fields.items() if name not in _LEFT_UNREAD}
    document = document_of(raw._replace(fields=needed))
    year = document.year
    said = ("; ".join(document.authors), document.title, document.venue, str(year or ""))
    text = ". ".join(part for part in said if part)
    return Entry(raw.key, text, document.title, document.doi, document.arxiv, year)
