"""Read an author's .bib files, and append new entries to them.

New entries have the author's key and only the fields of a printed reference. This module also reads
the bibliography files of a draft, and resolves its citation keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl

from citebed.collection.formats.base import WIDE_MARKS, decode
from citebed.collection.formats.bibtex import (
    collect_strings,
    entry_to_document,
    may_have_xdata,
    read_xdata_context,
    resolve_xdata,
)
from citebed.collection.formats.bibtex_scanner import RawEntry, scan
from citebed.collection.formats.bibtex_writer import (
    escape_commands,
    insert_fields,
    parse_single_entry,
    write_entry,
)
from citebed.drafts.document_matching import Bibliography, Work, plain_titles
from citebed.drafts.files import IncludedFiles, read_draft_bytes, to_text
from citebed.drafts.parsed_draft import ParsedDraft, is_key, without_places
from citebed.drafts.records import Draft, Entry
from citebed.drafts.references import entry_from_document
from citebed.drafts.tex import TexReader
from citebed.errors import CitebedError, FormatError
from citebed.files.output_files import update_file
from citebed.records import Document, Problem
from citebed.text.latex import text_to_latex
from citebed.text.normalise import ENTITY_PATTERN, entity_to_text, unique
from citebed.text.titles import plain_title
from citebed.wording import list_first, printable

UNKNOWN_KEYS = "cited but not in the bibliography"
"""The start of the note about keys without an entry."""


UNRESOLVED = "its citation keys could not be resolved"
"""The end of the note about a bibliography that cannot be read."""


def read_bibliographies(parsed: ParsedDraft, files: IncludedFiles) -> None:
    """Read the bibliography files that the draft names, and add the entries that it cites.

    If a file is missing, the ``.bbl`` file that LaTeX writes is read instead, as submissions often
    contain only that. Notes report missing files and keys.
    """
    missing = []
    for name in parsed.bibliographies:
        file = files.read(name, (".bib",))
        if isinstance(file, str):
            missing.append((f"{file}; {UNRESOLVED}", f"bibliography {name}"))
        else:
            parsed.library.append(file.text)
            parsed.library_files.append(printable(file.path))
    cited = None if parsed.every_entry else frozenset(parsed.cited_names())
    macros: dict[str, str] = {}  # shared by all files, as in BibTeX
    parsed.entries += [entry for text in parsed.library for entry in _cited(text, cited, macros)]
    if missing and (parsed.entries or not _read_bbl(parsed, files)):
        for what, name in missing:
            parsed.note(what, name)
    elif parsed.bibliographies and not missing:
        known = {entry.key for entry in parsed.entries}
        unknown = [name for name in parsed.cited_names() if is_key(name) and name not in known]
        if unknown:
            parsed.note(f"{UNKNOWN_KEYS}: {list_first(unknown)}")


def _read_bbl(parsed: ParsedDraft, files: IncludedFiles) -> bool:
    """Read the reference list that LaTeX wrote; return False without one."""
    if files.draft is None:
        return False
    file = files.read(files.draft.with_suffix("").name, (".bbl",))
    if isinstance(file, str):
        return False
    listed = ParsedDraft()
    TexReader(listed, IncludedFiles(None)).read(without_places(file.text))
    for entry in listed.entries:
        place = entry.place and entry.place._replace(source=file.shown)
        parsed.entries.append(replace(entry, place=place))
    return bool(listed.entries)


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
    for raw in read_entries(text, macros, lent):
        if isinstance(raw, RawEntry):
            yield entry_from_document(raw.key, document_from_entry(raw))


def read_entries(
    text: str, macros: dict[str, str] | None = None, lent: Lent | None = None
) -> Iterator[RawEntry | Problem]:
    """Yield the entries of a BibTeX text with what they inherit from ``@xdata``, and problems."""
    known = {} if macros is None else macros
    entries = scan(text, 1, known)
    lent = read_xdata_context(known) if lent is None else lent
    if lent or may_have_xdata(text):
        entries = resolve_xdata(entries, lent, len(text))
    yield from entries


def document_from_entry(raw: RawEntry) -> Document:
    """Return the document of an entry, without its abstract and keywords."""
    needed = {name: value for name, value in raw.fields.items() if name not in _SKIPPED_FIELDS}
    return entry_to_document(raw._replace(fields=needed))


def _cited(text: str, wanted: frozenset[str] | None, macros: dict[str, str]) -> Iterator[Entry]:
    """Yield entries whose key or alias (BibLaTeX's ``ids``) is wanted; ``None`` means all."""
    collect_strings(text.encode("utf-8", "surrogatepass"), macros)
    if wanted is None:
        yield from bib_entries(text, macros)
        return
    lent = read_xdata_context(macros)
    for key, part in split_entries(text):
        match = _IDS.search(part) if "ids" in part else None
        if not wanted.isdisjoint(
            names := {key, *(match[1].replace(",", " ").split() if match else [])}
        ):
            for entry in bib_entries(part, macros, lent):
                own = names if entry.key == key else {entry.key}
                yield from (replace(entry, key=name) for name in sorted(own & wanted))


_IDS = re.compile(r"[\s,]ids\s*=\s*[{\"]([^{}\"]*)", re.IGNORECASE)


def split_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each entry, without parsing it."""
    heads = [(head.start(), head[2]) for head in _HEAD.finditer(text)]
    for (start, key), (end, _) in pairwise([*heads, (len(text), "")]):
        yield key, text[start:end]


_SHORT = tuple(
    """
    author editor title subtitle booktitle journal journaltitle series address location
    edition volume number issue chapter pages publisher institution school organization
    howpublished type year date doi eprint eprinttype archiveprefix eprintclass primaryclass
    url
    """.split()  # noqa: SIM905
)
"""The fields of a printed reference."""


def entry_to_cite(document: Document, key: str, *, full: bool = False) -> str:
    """Return a BibTeX entry with this key and the fields of a printed reference.

    With ``full``, it has all fields of the record. Commands that bibliographies do not use are
    escaped.
    """
    return escape_commands(_entry(document, key, full))


def _entry(document: Document, key: str, full: bool) -> str:
    own = parse_single_entry(document.bibtex)
    if full:
        whole = write_entry(document._replace(doc_id=key))
        return whole if own is None else insert_fields(own.text, {}, key=key)
    entry = own or parse_single_entry(write_entry(document))
    kind, stated = (entry.type, entry.fields) if entry else ("misc", {})
    fields = {name: _typeset(name, stated[name]) for name in _SHORT if stated.get(name)}
    if document.year and not {"year", "date"} & fields.keys():
        fields["year"] = str(document.year)
    if document.doi and not (own and "doi" in fields):
        # Escape only what would end the field, as bibliography packages expect.
        fields["doi"] = (
            text_to_latex(document.doi) if re.search(r"[{}\\%]", document.doi) else document.doi
        )
    if {"doi", "eprint"} & fields.keys():
        fields.pop("url", None)
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}}}"


_ADDRESSES = frozenset(("doi", "eprint", "url"))
_DASH = re.compile(r"\s*[\u2010-\u2015]\s*")
_BARE = re.compile(rf"(?<!\\)(?:{ENTITY_PATTERN}|[&#%])")


def _typeset(name: str, raw: str) -> str:
    """Return a field that LaTeX can print, without ``&amp;`` and bare ``&`` from publishers.

    URLs and identifiers stay as they are.
    """
    value = " ".join(raw.split())
    if name == "pages":
        value = _DASH.sub("--", value)
    if name in _ADDRESSES or "\\url" in value or "\\href" in value:
        return value
    return _BARE.sub(lambda match: text_to_latex(entity_to_text(match[0])), value)


# --- The bibliography -------------------------------------------------------------------------


def work_from_document(document: Document, key: str) -> Work:
    """Return a document as a work of a bibliography, with the key to type for it."""
    title, authors, year = document.title, document.authors, document.year
    return Work(title, authors, year, document.doi, document.arxiv, document.keys, key)


def bib_text(path: str | Path) -> str:
    """Return the text of a .bib file."""
    return to_text(_read_bytes(Path(path)))


def bibliography_for(works: Sequence[Work], texts: Iterable[str]) -> Bibliography:
    """Parse the entries in .bib files, given as texts, that may be one of these works."""
    bibliography = Bibliography()
    for text in texts:
        parts = list(split_entries(text))
        bibliography.add(_entries_like(works, text, [part for _, part in parts]))
        bibliography.reserve(key for key, _ in parts)
    return bibliography


_MANY = 2000
"""In a file with more entries (all papers of a field), only likely entries are parsed."""
_TITLE = r"(?i)[\s,{(]title\s*=\s*[{\"]+\s*(.{1,60})"
_START = 8


def _entries_like(works: Sequence[Work], text: str, parts: list[str]) -> list[Entry]:
    """Parse the entries that may be one of these works, or all entries of a small file.

    Such an entry contains a key or an identifier of a work, or its title starts with the same
    letters and digits.
    """
    if len(parts) <= _MANY:
        return list(bib_entries(text))
    names = {name for each in works for name in (*each.keys, each.doi, each.arxiv) if name}
    starts = {plain[:_START] for plain in plain_titles([each.title for each in works])}
    table = pl.DataFrame({"part": pl.Series(parts, dtype=pl.String)})
    part = pl.col("part")
    is_named = part.str.contains_any(sorted(names), ascii_case_insensitive=True) if names else False
    start = plain_title(part.str.extract(_TITLE)).str.head(_START)
    likely = table.filter(start.is_in(sorted(starts)).fill_null(value=False) | is_named)
    return [entry for each in likely["part"] for entry in bib_entries(each)]


def _read_bytes(path: Path) -> bytes:
    if path.suffix.lower() not in (".bib", ".bibtex"):
        raise CitebedError(f"{printable(path)}: expected a BibTeX file with the suffix .bib")
    if not path.exists():
        raise CitebedError(f"{printable(path)}: no such file; expected one of your .bib files")
    return read_draft_bytes(path)


# --- Append entries ---------------------------------------------------------------------------


def append_new(
    path: str | Path, wanted: Sequence[tuple[str, Document]], *, full: bool = False
) -> tuple[str, ...]:
    """Append the documents that a .bib file does not have, and return their keys.

    A key that is taken gets a suffix. A missing file is created in an existing folder. Changes that
    others make at the same time are kept.
    """
    path = Path(path)
    if path.exists() or path.suffix.lower() != ".bib":
        _read_bytes(path)  # raises if it is not a BibTeX file
    works = [work_from_document(document, key) for key, document in wanted]
    added: dict[str, str] = {}

    def with_new(data: bytes) -> bytes | None:
        added.clear()
        mine = bibliography_for(works, [to_text(data)])
        for work, (key, document) in zip(works, wanted, strict=True):
            if mine.find(work) is None:
                free = mine.take_key(key)
                added[free] = entry_to_cite(document, free, full=full)
                mine.add(bib_entries(added[free]))
        if not added:
            return None
        return with_entries(path, data, list(added.values()))

    update_file(path, with_new)
    return tuple(added)


def with_entries(path: Path, data: bytes, entries: Sequence[str]) -> bytes:
    """Return the contents of a .bib file with more entries at its end, in its encoding; raise
    ``FormatError`` if its last entry would swallow them."""
    whole = data + _encode_entries(path, data, entries)
    before, after = ([*scan(to_text(each), 1, {})] for each in (data, whole))
    last = before[-1] if before else None
    if (
        isinstance(last, Problem)
        or (last and last.is_truncated)
        or len(after) != len(before) + len(entries)
    ):
        line = last.line if last else 1
        what = "the last entry has no closing brace. Close it, then append again."
        raise FormatError(path, line, what)
    return whole


def _encode_entries(path: Path, data: bytes, entries: Sequence[str]) -> bytes:
    """Return entries as bytes to append to a file, in its encoding and with its line ends."""
    text = "\n\n".join(entry.strip() for entry in entries) + "\n"
    before = decode(data)[0]
    if before.strip():
        text = ("\n" if before.endswith(("\n", "\r")) else "\n\n") + text
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    marked = next((name for mark, name in WIDE_MARKS.items() if data.startswith(mark)), None)
    encoding = marked or ("cp1252" if decode(data)[1] else "utf-8")
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        what = f"{path} is not UTF-8, and its encoding has no '{text[error.start]}'"
        raise CitebedError(f"{what}; save it as UTF-8 first") from error
