"""Read the bibliography files of a draft, and resolve its citation keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from citebed.collection.formats.base import decode, normalise_newlines
from citebed.collection.formats.bibtex import (
    collect_strings,
    entry_to_document,
    may_have_xdata,
    read_xdata_context,
    resolve_xdata,
)
from citebed.collection.formats.bibtex_scanner import RawEntry, scan
from citebed.drafts.files import IncludedFiles
from citebed.drafts.parsed_draft import ParsedDraft, is_key, without_places
from citebed.drafts.records import Draft, Entry
from citebed.drafts.references import entry_from_document
from citebed.drafts.tex.document import TexReader
from citebed.text.normalise import unique
from citebed.wording import list_first


def read_bibliographies(parsed: ParsedDraft, files: IncludedFiles) -> None:
    """Read the bibliography files that the draft names, and add the entries that it cites.

    If a file is missing, the ``.bbl`` file that LaTeX writes is read instead, as submissions often
    contain only that. Notes report missing files and keys.
    """
    missing = []
    for name in parsed.bibliographies:
        file = files.read(name, (".bib",))
        if isinstance(file, str):
            missing.append(
                (f"{file}; its citation keys could not be resolved", f"bibliography {name}")
            )
        else:
            parsed.library.append(normalise_newlines(decode(file.data)[0]))
    cited = None if parsed.every_entry else frozenset(parsed.cited_names())
    macros: dict[str, str] = {}  # shared by all files, as in BibTeX
    parsed.entries += [entry for text in parsed.library for entry in _cited(text, cited, macros)]
    if missing and (parsed.entries or not _read_bbl(parsed, files)):
        for what, name in missing:
            parsed.note(what, name)
    elif parsed.bibliographies and not missing:
        _note_unknown_keys(parsed)


def _read_bbl(parsed: ParsedDraft, files: IncludedFiles) -> bool:
    """Read the reference list that LaTeX wrote; return False if there is none."""
    if files.draft is None:
        return False
    file = files.read(files.draft.with_suffix("").name, (".bbl",))
    if isinstance(file, str):
        return False
    listed = ParsedDraft()
    text = without_places(normalise_newlines(decode(file.data)[0]))
    TexReader(listed, IncludedFiles(None)).read(text)
    parsed.entries += listed.entries
    return bool(listed.entries)


def _note_unknown_keys(parsed: ParsedDraft) -> None:
    known = {entry.key for entry in parsed.entries}
    unknown = [name for name in parsed.cited_names() if is_key(name) and name not in known]
    if unknown:
        parsed.note(f"cited but not in the bibliography: {list_first(unknown)}")


def with_libraries(draft: Draft, texts: Sequence[str]) -> Draft:
    """Return the draft with more .bib files, given as texts, and resolve its keys in them."""
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

# In a large file (all papers of a field), only the requested entries are parsed.
_HEAD = re.compile(r"@[ \t]*([A-Za-z][\w-]*)\s*[{(]\s*([^\s,{}\"#%=]+)\s*,")
# An abstract takes longer to parse than all other fields.
_SKIPPED_FIELDS = frozenset(("abstract", "keywords", "annote", "file", "editor", "publisher"))


def bib_entries(
    text: str, macros: dict[str, str] | None = None, lent: Lent | None = None
) -> Iterator[Entry]:
    """Yield the entries of a BibTeX text, without malformed ones.

    ``lent`` are the fields of the ``@xdata`` entries among ``macros``, if they are known.
    """
    known = {} if macros is None else macros
    entries = scan(text, 1, known)
    lent = read_xdata_context(known) if lent is None else lent
    if lent or may_have_xdata(text):
        entries = resolve_xdata(entries, lent, len(text))
    for raw in entries:
        if isinstance(raw, RawEntry):
            yield _entry(raw)


def _cited(text: str, wanted: frozenset[str] | None, macros: dict[str, str]) -> Iterator[Entry]:
    """Yield entries whose key or alias (BibLaTeX's ``ids``) is wanted; ``None`` means all."""
    collect_strings(text.encode("utf-8", "surrogatepass"), macros)
    if wanted is None:
        yield from bib_entries(text, macros)
        return
    lent = read_xdata_context(macros)
    for key, part in split_entries(text):
        if not wanted.isdisjoint(names := {key, *_aliases(part)}):
            for entry in bib_entries(part, macros, lent):
                own = names if entry.key == key else {entry.key}
                yield from (replace(entry, key=name) for name in sorted(own & wanted))


_IDS = re.compile(r"[\s,]ids\s*=\s*[{\"]([^{}\"]*)", re.IGNORECASE)


def _aliases(part: str) -> list[str]:
    match = _IDS.search(part) if "ids" in part else None
    return match[1].replace(",", " ").split() if match else []


def split_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each entry, without parsing it."""
    heads = [(head.start(), head[2]) for head in _HEAD.finditer(text)]
    for (start, key), (end, _) in pairwise([*heads, (len(text), "")]):
        yield key, text[start:end]


def _entry(raw: RawEntry) -> Entry:
    needed = {name: value for name, value in raw.fields.items() if name not in _SKIPPED_FIELDS}
    return entry_from_document(raw.key, entry_to_document(raw._replace(fields=needed)))
