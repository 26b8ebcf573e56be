"""The bibliography files that a draft names: what its keys stand for, and what else they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.biblatex import carry, has_xdata, lent_before, with_xdata
from citebed.collection.formats.bibtex import document_of
from citebed.collection.formats.bibtex_entry import RawEntry
from citebed.collection.formats.bibtex_scan import scan
from citebed.drafts.files import Neighbours
from citebed.drafts.findings import Findings, is_key, without_places
from citebed.drafts.records import Draft, Entry
from citebed.drafts.references import entry_of_document
from citebed.drafts.tex.document import TexReader
from citebed.text.normalise import unique
from citebed.wording import first_few


def read_bibliographies(findings: Findings, neighbours: Neighbours) -> None:
    """Add the files that the draft names, and the entries in them that it cites.

    Where a file is missing but LaTeX left its list of references beside the draft (``.bbl``,
    all that a submission often has), that is read. Notes tell of missing files and keys.
    """
    missing = []
    for name in findings.bibliographies:
        file = neighbours.read(name, (".bib",))
        if isinstance(file, str):
            missing.append((f"{file}; its keys stand for themselves only", f"bibliography {name}"))
        else:
            findings.library.append(with_newlines(decode(file.data)[0]))
    cited = None if findings.every_entry else frozenset(findings.cited_names())
    macros: dict[str, str] = {}  # of one file for those after it, as BibTeX has it
    findings.entries += [
        entry for text in findings.library for entry in _cited(text, cited, macros)
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
    file = neighbours.read(neighbours.draft.with_suffix("").name, (".bbl",))
    if isinstance(file, str):
        return False
    listed = Findings()
    text = without_places(with_newlines(decode(file.data)[0]))
    TexReader(listed, Neighbours(None)).read(text)
    findings.entries += listed.entries
    return bool(listed.entries)


def _tell_of_unknown(findings: Findings) -> None:
    known = {entry.key for entry in findings.entries}
    unknown = [name for name in findings.cited_names() if is_key(name) and name not in known]
    if unknown:
        findings.note(f"cited but not in the bibliography: {first_few(unknown)}")


def with_libraries(draft: Draft, texts: Sequence[str]) -> Draft:
    """The draft with .bib files of the author's, given as their texts, beside those it has: what
    its keys stand for in them, it cites."""
    new = [text for text in texts if text not in draft.library]
    cited = draft.cited
    unknown = frozenset(cited.keys) - {entry.key for entry in cited.entries}
    macros: dict[str, str] = {}
    found = [entry for text in new for entry in _cited(text, unknown, macros)] if unknown else []
    added = replace(
        cited,
        entries=(*cited.entries, *found),
        dois=unique([*cited.dois, *(entry.doi for entry in found if entry.doi)]),
        arxiv=unique([*cited.arxiv, *(entry.arxiv for entry in found if entry.arxiv)]),
        titles=unique([*cited.titles, *(entry.title for entry in found)]),
    )
    return replace(draft, cited=added, library=(*draft.library, *new))


# --- Entries ------------------------------------------------------------------------------------

Lent = Mapping[str, Mapping[str, str]]

# Of a large file (all papers of a field) only those entries are parsed that are asked for.
_HEAD = re.compile(r"@[ \t]*([A-Za-z][\w-]*)\s*[{(]\s*([^\s,{}\"#%=]+)\s*,")
# An abstract takes longer to read than all the rest.
_LEFT_UNREAD = frozenset(("abstract", "keywords", "annote", "file", "editor", "publisher"))


def bib_entries(
    text: str, macros: dict[str, str] | None = None, lent: Lent | None = None
) -> Iterator[Entry]:
    """The entries of BibTeX, in order; what is broken in it is passed over.

    ``lent`` are the fields of the ``@xdata`` entries among ``macros``, where they are known.
    """
    known = {} if macros is None else macros
    entries = scan(text, 1, known)
    lent = lent_before(known) if lent is None else lent
    if lent or has_xdata(text):
        entries = with_xdata(entries, lent, len(text))
    for raw in entries:
        if isinstance(raw, RawEntry):
            yield _entry(raw)


def _cited(text: str, wanted: frozenset[str] | None, macros: dict[str, str]) -> Iterator[Entry]:
    """The entries whose keys or aliases (BibLaTeX's ``ids``) are wanted, under the wanted name;
    all, for ``None``."""
    carry(text.encode("utf-8", "surrogatepass"), macros)
    if wanted is None:
        yield from bib_entries(text, macros)
        return
    lent = lent_before(macros)
    for key, part in parts_of(text):
        if not wanted.isdisjoint(names := {key, *_aliases(part)}):
            for entry in bib_entries(part, macros, lent):
                own = names if entry.key == key else {entry.key}
                yield from (replace(entry, key=name) for name in sorted(own & wanted))


_IDS = re.compile(r"[\s,]ids\s*=\s*[{\"]([^{}\"]*)", re.IGNORECASE)


def _aliases(part: str) -> list[str]:
    match = _IDS.search(part) if "ids" in part else None
    return match[1].replace(",", " ").split() if match else []


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a file that begin with an entry, up to the next one, and its key."""
    heads = [(head.start(), head[2]) for head in _HEAD.finditer(text)]
    for (start, key), (end, _) in pairwise([*heads, (len(text), "")]):
        yield key, text[start:end]


def _entry(raw: RawEntry) -> Entry:
    needed = {name: value for name, value in raw.fields.items() if name not in _LEFT_UNREAD}
    return entry_of_document(raw.key, document_of(raw._replace(fields=needed)))
