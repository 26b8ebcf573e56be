"""BibTeX and BibLaTeX: the documents of their entries.

BibLaTeX adds entries that are not documents, and ``@xdata`` entries, whose fields others inherit.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from citebed.collection.formats.base import Chunk, Format, decode, normalise_newlines, read_text
from citebed.collection.formats.bibtex_scanner import TOO_MUCH, TYPE, RawEntry, parse_head, scan
from citebed.collection.formats.fields import (
    check_doi,
    collect_cite_keys,
    find_arxiv_id,
    format_pages,
    generate_key,
    is_organisation,
)
from citebed.collection.formats.jabref import parse_groups
from citebed.files.limits import Allowance
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.latex import in_text_mode, is_plain, latex_to_text, text_to_latex
from citebed.text.names import canonical_name, name_from_parts
from citebed.text.normalise import (
    ENTITY_PATTERN,
    date_in,
    entity_to_text,
    filled,
    fold,
    iso_date,
    month_in,
    unique,
    year_before_1,
    year_in,
)
from citebed.text.regex import compile_regex

# --- Files ------------------------------------------------------------------------------------

_SNIFF = re.compile(
    r"^[ \t]*@[ \t]*(?:(?:string|preamble|comment)[ \t]*[{(]"
    r"|[a-z][\w-]*\s*\{\s*[^\s{}=,\"]*(?:\s*,|\s+[a-z][\w-]*\s*=\s*[{\"\w])"
    r"|[a-z][\w-]*\{[^\s{}=,\"]+[ \t]*\r?\n[ \t]*\}"
    r"|[a-z][\w-]*\s*\(\s*[^\s(){}=,\"]*\s*,\s*[a-z][\w-]*\s*=\s*[{\"\w])",
    re.MULTILINE | re.IGNORECASE,
)
_PAGE = re.compile(
    r"<(?:html|pre|!doctype html)[^<>]*>(?=.{0,4000}?<pre\b|\s*@)", re.IGNORECASE | re.DOTALL
)
_BARE_WORD = compile_regex(r"[=#]\s*+([A-Za-z][^\s,{}\"#%()=']*+)")
_KEY_DISTANCE = 200
"""Nearly all entries have their key and its comma in this many characters."""
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_bibtex_name(name: str) -> bool:
    """Return True if a file has the name of a BibTeX file."""
    return name.lower().endswith((".bib", ".bibtex"))


def may_have_long_header(name: str, head: str) -> bool:
    """Return True if a file may be BibTeX after a long header: by its name, or a ``%`` at the
    start."""
    return is_bibtex_name(name) or head.lstrip("\ufeff \t\r\n")[:1] == "%"


def sniff(head: str) -> bool:
    """Return True if an ``@word{`` begins a line, in plain text or in a web page."""
    head = head.lstrip("\ufeff \t\r\n")
    is_other = head[:1] in ("<", "[", "{", "") and _PAGE.match(head) is None
    return not is_other and _SNIFF.search(head) is not None


def parse(chunk: Chunk) -> Iterator[Record]:
    """Yield the documents of a chunk of BibTeX, and the problems in it."""
    text, problems = read_text(chunk)
    yield from problems
    strings, reported = dict(chunk.context), set[str]()
    entries = scan(normalise_newlines(text), chunk.line, strings)
    inherited = read_xdata_context(strings)
    if has_xdata := bool(inherited) or may_have_xdata(text):
        entries = resolve_xdata(entries, inherited, len(text))
    groups = parse_groups(text)
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        for word in entry.unexpanded:
            yield Problem(entry.line, f"string '{word}' {TOO_MUCH}", "mended")
        for word in entry.undefined:
            if word.lower() not in reported:
                yield Problem(entry.line, f"undefined @string '{word}'; kept as text", "mended")
            reported.add(word.lower())
        if "xdata" in entry.fields and not has_xdata:
            yield _missing_xdata(entry, entry.fields["xdata"])
        if is_document(entry):
            for record in _parse_entry(entry, strings, has_xdata=has_xdata):
                if isinstance(record, Document) and (record.groups or groups.by_key):
                    paths = groups.paths(record.groups, entry.key)
                    yield record._replace(groups=paths)
                else:
                    yield record


def _parse_entry(
    entry: RawEntry, strings: Mapping[str, str], *, has_xdata: bool
) -> Iterator[Record]:
    """Yield the document of an entry, after the problems in it."""
    document = entry_to_document(entry)
    inherits = has_xdata and document.bibtex and "xdata" in entry.text.lower()
    uses_strings = strings and document.bibtex
    if inherits or (uses_strings and not find_bare_words(entry.text).isdisjoint(strings)):
        # Write the entry without references to others.
        lines = (
            f"  {name} = {value if name == 'month' and value in MONTH_NAMES else f'{{{value}}}'},\n"
            for name, value in entry.fields.items()
        )
        bibtex = f"@{entry.type}{{{entry.key},\n{''.join(lines)}}}"
        document = document._replace(bibtex=bibtex)
    if entry.is_truncated:
        what = f"entry '{entry.key}' does not close; kept the fields that could be read"
        yield Problem(entry.line, what, "mended")
    elif f"{entry.key}," not in entry.text[:_KEY_DISTANCE] and (end := _key_without_comma(entry)):
        whole = f"{entry.text[:end].rstrip()}, {entry.text[end:]}"
        document = document._replace(bibtex=document.bibtex and whole)
        what = f"no comma after the key '{entry.key}'; citebed added it"
        yield Problem(entry.line, what, "mended")
    elif not entry.key or not (entry.key.isprintable() or fold(entry.key)):
        what = f"an entry without a key; named '{document.doc_id}'"
        yield Problem(entry.line, what, "mended")
    if document.doi is None and "doi" in entry.fields:
        yield from check_doi(document, latex_to_text(entry.fields["doi"]))
    yield document


def _key_without_comma(entry: RawEntry) -> int:
    """Return the end of a key without a comma after it; 0 for all other entries."""
    head = parse_head(entry.text) if entry.fields and entry.key else None
    return head.end if head and entry.text[head.end - 1] != "," else 0


def find_bare_words(text: str) -> set[str]:
    """Return the bare words after ``=`` or ``#`` in lower case, which may be names of strings."""
    return {word.lower() for word in _BARE_WORD.findall(text)}


# --- Splitting, and the context of later chunks -----------------------------------------------

_KEY_LINE = compile_regex(rf"[\r\n]@{TYPE}[ \t]*+\{{\s*+[^\s,{{}}\"#%=]++\s*+,".encode())
_DEFINITION = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
ONLY_STRINGS = "strings (@string) or @xdata and no entry; other files may use them"
"""The message for a file without documents that other files may need."""
XDATA = "@xdata "
"""The start of the names of ``@xdata`` entries in a context."""


def split(data: bytes) -> int:
    """Split before the last entry that begins a line."""
    last, window = 0, len(data)
    while window > 0 and not last:
        start = max(0, window - (1 << 16))
        for match in _KEY_LINE.finditer(data, start, window + 256):
            last = match.start() + 1
        window = start
    return last


def collect_strings(data: bytes, context: dict[str, str]) -> None:
    """Add the strings and ``@xdata`` entries of a chunk to ``context``, for later chunks.

    Text inside a field may look like a definition, so each is scanned from the entry before it to
    the entry after it. The rest is not scanned: one process does this for all workers. ``@xdata``
    entries get names that no string can have.
    """
    end = 0
    for match in _DEFINITION.finditer(data):
        if match.start() < end:
            continue
        start = max(end, split(data[end : match.start()]) + end)
        following = _KEY_LINE.search(data, match.end())
        end = following.start() + 1 if following else len(data)
        for entry in scan(normalise_newlines(decode(data[start:end])[0]), 1, context):
            if isinstance(entry, RawEntry) and entry.type == "xdata":
                context.update({XDATA + name: entry.text for name in _entry_names(entry)})


BIBTEX = Format("bibtex", "BibTeX and BibLaTeX", sniff, parse, split, collect_strings)


# --- Xdata ------------------------------------------------------------------------------------

_SETTINGS = frozenset(("xdata", "set", "control", "ieeetranbstctl"))
_ITEM = re.compile(r"\s+and\s+", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*xdata\s*=\s*(\S.*?)-([A-Za-z]+)(?:-([0-9]{1,6}))?\s*", re.IGNORECASE)
_LOOKUP_COST = 64
_MAX_DEPTH = 20

Fields = Mapping[str, str]


def is_document(entry: RawEntry) -> bool:
    """Return True if an entry describes a work: not a set of entries, ``@xdata`` or settings."""
    return entry.type not in _SETTINGS or (entry.type != "xdata" and "title" in entry.fields)


def may_have_xdata(text: str) -> bool:
    """Return True if a text may have an ``@xdata`` entry, quickly."""
    at = text.find("@")  # to find one character is several times as fast as to find two
    while at >= 0:
        if text[at + 1 : at + 2] in ("x", "X"):
            return True
        at = text.find("@", at + 1)
    return False


def _entry_names(entry: RawEntry) -> list[str]:
    """Return the key and BibLaTeX's ``ids``, in lower case."""
    return [name.strip().lower() for name in (entry.key, *entry.fields.get("ids", "").split(","))]


def _missing_xdata(entry: RawEntry, name: str) -> Problem:
    return Problem(entry.line, f"entry '{entry.key}' refers to missing @xdata '{name}'", "mended")


def read_xdata_context(context: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the fields of the ``@xdata`` entries in a context, by name."""
    fields: dict[str, dict[str, str]] = {}
    by_text: dict[str, dict[str, str]] = {}  # an entry may have many names
    strings = dict(context)
    for name, text in context.items():
        if name.startswith(XDATA):
            if text not in by_text:
                entry = next(scan(text, 1, strings))
                by_text[text] = entry.fields if isinstance(entry, RawEntry) else {}
            fields[name.removeprefix(XDATA)] = by_text[text]
    return fields


def resolve_xdata(
    entries: Iterable[RawEntry | Problem], known: Mapping[str, Fields], size: int
) -> Iterator[RawEntry | Problem]:
    """Yield the entries with the fields they inherit; ``known`` are entries of earlier chunks.

    ``size`` is the length of the text, which limits how much the entries inherit.
    """
    entries, resolver = list(entries), _XdataResolver(known, Allowance(size))
    for entry in entries:
        if isinstance(entry, RawEntry) and entry.type == "xdata":
            resolver.xdata.update(dict.fromkeys(_entry_names(entry), entry.fields))
    for entry in entries:
        if isinstance(entry, Problem) or entry.type == "xdata" or "xdata" not in entry.text.lower():
            yield entry
            continue
        missing: dict[str, None] = {}
        fields = resolver.inherit(entry.fields, missing)
        fields = {name: resolver.resolve(value) for name, value in fields.items()}
        for name in missing:
            yield _missing_xdata(entry, name)
        if resolver.refused:
            yield Problem(entry.line, f"xdata '{resolver.refused.pop()}' {TOO_MUCH}", "mended")
            resolver.refused.clear()
        yield entry if fields == entry.fields else entry._replace(fields=fields)


class _XdataResolver:
    """Resolves references to ``@xdata`` entries within the limit of expanded text.

    An ``@xdata`` entry may refer to another one. ``refused`` are the names that would have added
    too much text.
    """

    def __init__(self, known: Mapping[str, Fields], allowance: Allowance) -> None:
        self.xdata = dict(known)
        self.refused: list[str] = []
        self._allowance = allowance

    def inherit(self, fields: Fields, missing: dict[str, None]) -> dict[str, str]:
        """Return the fields, and from the ``@xdata`` entries they name what they lack."""
        own = {name: value for name, value in fields.items() if name != "xdata"}
        visited: set[str] = set()
        waiting = _xdata_names(fields)
        while waiting:
            name = waiting.pop()
            if name in visited:
                continue
            visited.add(name)
            if name not in self.xdata:
                missing[name] = None
            elif self._is_allowed(name, sum(map(len, self.xdata[name].values()))):
                for field, value in self.xdata[name].items():
                    if field not in ("xdata", "ids"):
                        own.setdefault(field, value)
                waiting += _xdata_names(self.xdata[name])
        return own

    def resolve(self, value: str, above: tuple[str, ...] = ()) -> str:
        """Resolve the items of a value: ``xdata=key-field-2`` is the second item of that field."""
        if "xdata" not in value.lower():
            return value
        return " and ".join(self._resolve_item(item.strip(), above) for item in _ITEM.split(value))

    def _resolve_item(self, item: str, above: tuple[str, ...]) -> str:
        match = None if item in above else _REFERENCE.fullmatch(item)
        value = self.xdata.get(match[1].lower(), {}).get(match[2].lower()) if match else None
        if match is None or value is None or not self._is_allowed(item, len(value), len(above)):
            return item
        text, place = self.resolve(value, (*above, item)), int(match[3] or 0)
        items = _ITEM.split(text)
        return text if not place else items[place - 1] if place <= len(items) else item

    def _is_allowed(self, name: str, size: int, depth: int = 0) -> bool:
        if depth < _MAX_DEPTH and self._allowance.covers(size + _LOOKUP_COST):
            return True
        self.refused.append(name)
        return False


def _xdata_names(fields: Fields) -> list[str]:
    """Return the ``@xdata`` entries that fields name, the first one last."""
    names = fields.get("xdata", "").lower().split(",")
    return [*filter(None, map(str.strip, reversed(names)))]


# --- Documents --------------------------------------------------------------------------------

_ENTITY = re.compile(rf"(?<!\\){ENTITY_PATTERN}")
_SEMICOLON, _COMMA = re.compile("[{};]"), re.compile("[{},]")
_COMMAND = re.compile(r"[{\s]*\\([a-z]+)[}\s]*")
# Any year counts if the field has nothing else: ``1473``, ``ca. 850``.
_EARLY_YEAR = re.compile(r"\W*(?:ca?\.?|circa|about|um)?\W*(\d{3,4})\W*", re.IGNORECASE)
_EARLY_DATE = re.compile(r"\s*(0\d{3}|1[0-4]\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_EARLIEST = 1500
_ADDRESSES = ("url", "ee", "bdsk-url-1")
_ARXIV_FIELDS = ("url", "journal", "journaltitle", "volume", "note", "howpublished")


def entry_to_document(entry: RawEntry) -> Document:
    get = entry.fields.get
    url = get("url")
    date = _parse_date(get("date"), get("year"), get("month"), get("issue_date"), get("day"))
    title, subtitle = latex_to_text(get("title", "")), get("subtitle")
    tail = latex_to_text(subtitle) if subtitle else ""
    authors = parse_author_field(get("author", ""))
    key_doi = normalise_doi(entry.key)
    doi = _find_doi(entry, key_doi)
    stated_id = get("citebed-id")
    doc_id = latex_to_text(stated_id) if stated_id else fold(entry.key)
    doc_id = doc_id or generate_key(authors, (date or "")[:4], title) or f"line-{entry.line}"
    archive = get("archiveprefix") or get("eprinttype") or "arxiv"
    eprint = get("eprint") if "arxiv" in archive.lower() else None
    also, notes = get("ids"), (get("note"), get("annote"))
    keys: tuple[str, ...] = ()
    if not key_doi or also or any(notes):
        names = (fold(entry.key), *map(fold, (also or "").split(",")))
        keys = collect_cite_keys(names, notes=notes)
    return Document(
        doc_id=doc_id,
        type="inproceedings" if entry.type == "conference" else entry.type,
        title=f"{title}: {tail}" if tail and tail not in title else title,
        authors=authors,
        editors=parse_author_field(get("editor", "")),
        year=int(date[:4]) if date else year_before_1(get("year") or get("date")),
        date=date,
        venue=_clean_venue(get("journal") or get("journaltitle") or get("booktitle")),
        volume=_clean(get("volume")),
        number=_clean(get("number") or get("issue")),
        pages=_clean_pages(get("pages", "")),
        publisher=_clean(
            get("publisher") or get("institution") or get("school") or get("organization")
        ),
        doi=doi,
        arxiv=find_arxiv_id(doi, *map(get, _ARXIV_FIELDS), eprint=eprint),
        url=_clean_address(url) if url else None,
        abstract=latex_to_text(get("abstract", "")) or None,
        keywords=_split_keywords(get("keywords") or get("keyword") or ""),
        language=_clean(get("language") or get("langid")),
        place=_clean(get("address") or get("location")),
        edition=_clean(get("edition")),
        isbn=_clean(get("isbn") or get("issn")),
        bibtex=None if entry.is_truncated else entry.text,
        crossref=_clean(get("crossref")),
        keys=keys,
        groups=_split_groups(get("groups") or get("mendeley-groups") or ""),
        line=entry.line,
    )


def _find_doi(entry: RawEntry, key_doi: str | None) -> str | None:
    """Return the DOI; one that publishers export as key is more reliable than the field.

    But a key cannot contain all characters of a DOI: if field and key differ only in those, the
    field counts. It also counts if citebed made the key from an id.
    """
    get = entry.fields.get
    if key_doi and (get("doi") or key_doi).lower() == key_doi:
        return key_doi
    stated = parse_doi_field(get("doi"))
    if key_doi:
        field_chars, key_chars = (
            "".join(filter(str.isalnum, text or "")) for text in (stated, key_doi)
        )
        is_right = "citebed-id" in entry.fields or field_chars == key_chars
        return stated if stated and is_right else key_doi
    if not stated and "doi" in (get("eprinttype") or get("archiveprefix") or "").lower():
        stated = parse_doi_field(get("eprint"))
    addresses = (_clean_address(raw) for name in _ADDRESSES if (raw := get(name)))
    return stated or next(filter(None, map(normalise_doi, addresses)), None)


def parse_doi_field(raw: str | None) -> str | None:
    return doi_of(_clean_address(raw)) if raw else None


# Venues, publishers and volumes recur thousands of times in a file.
@functools.lru_cache(maxsize=1 << 16)
def _clean(raw: str | None) -> str | None:
    return (latex_to_text(raw) or None) if raw else None


@functools.lru_cache(maxsize=1 << 14)
def _clean_venue(raw: str | None) -> str | None:
    command = _COMMAND.fullmatch(raw) if raw else None
    return (ASTRONOMY_JOURNALS.get(command[1]) if command else None) or _clean(raw)


@functools.lru_cache(maxsize=1 << 14)
def _clean_pages(raw: str) -> str | None:
    return format_pages(latex_to_text(raw))


@functools.lru_cache(maxsize=1 << 14)
def _parse_date(
    date: str | None, year: str | None, month: str | None, issue: str | None, day: str | None
) -> str | None:
    if (whole := date_in(date)) is not None:
        return whole
    if (early := _EARLY_DATE.match(date or "")) is not None:
        return iso_date(*(int(part) if part else None for part in early.groups()))
    number = year_in(year)
    if number is None and (match := _EARLY_YEAR.fullmatch(year or "")) is not None:
        number = int(match[1]) if int(match[1]) < _EARLIEST else None
    if number is None:
        return date_in(issue)
    day = (day or "").strip()
    day_number = int(day) if day.isdecimal() and len(day) < 3 else None
    return iso_date(number, month_in(month) or month_in(issue), day_number)


def _clean_address(raw: str) -> str | None:
    """Return a URL or a DOI; if it has no LaTeX, tildes and dashes are plain characters."""
    if "\\" in raw or "{" in raw:
        raw = raw.replace("~", r"\textasciitilde{}").replace("--", "-{}-")
        return latex_to_text(raw) or None
    if "&" in raw:
        raw = _ENTITY.sub(lambda m: entity_to_text(m[0]), raw)
    return fold(raw) or None


def _split_groups(raw: str) -> tuple[str, ...]:
    return unique(map(latex_to_text, raw.split(","))) if raw else ()


def _split_keywords(raw: str) -> tuple[str, ...]:
    if is_plain(raw):
        text = fold(raw)
        if ";" not in text and ",," not in text and text.count(",") == text.count(", "):
            return unique(text.split(", "))
        parts = text.split(";" if ";" in text else ",")
        return unique([part.strip() for part in parts])
    if "&" in raw and ";" in raw:
        raw = _ENTITY.sub(lambda m: text_to_latex(entity_to_text(m[0])), raw)
    parts = split_outside_braces(raw, _SEMICOLON)
    if len(parts) == 1:
        parts = split_outside_braces(raw, _COMMA)
    return unique(map(latex_to_text, parts))


# --- Names ------------------------------------------------------------------------------------

_AND = compile_regex(r"[{}]|(?<!\s)\s++and(?=\s)", re.IGNORECASE)
# The blank after ``\o`` or ``\v`` ends the command and not a word; a tie and ``\ `` end a word.
_BLANKS = re.compile(
    r"[{}]|(?<!\\[oOlLijcvuHkrbdt])(?<!\\ss)(?<!\\[ao]e)(?<!\\[AO]E)(?<!\\aa)(?<!\\AA)"
    r"(?:\\\s|(?<!\\)[\s~])+"
)
_WRAPPED = re.compile(r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# ``Family, Given and Family, Given`` in plain letters: most author fields are just that.
_NAME_WORD = r"(?![Aa][Nn][Dd][ ,])[A-Za-z.'-]++"
_NAME = rf"{_NAME_WORD}(?: {_NAME_WORD})*+, {_NAME_WORD}(?: {_NAME_WORD})*+"
_REGULAR = compile_regex(rf"{_NAME}(?: and {_NAME})*+")
_ONE_REGULAR = compile_regex(_NAME)
_OTHERS = frozenset(("others", "et al", "et al."))
# Names of parts in BibLaTeX: ``family=Vega, given={Juan de}``.
_PART = compile_regex(
    r"\s*+(family|given|prefix|suffix)(?:-i)?+\s*+=\s*+(?:\"([^\"]*+)\"|((?:[^,{}]++|\{[^{}]*+\})*+))\s*+",
    re.IGNORECASE,
)
_PARTS = compile_regex(r"\s*+(?:family|given|prefix|suffix)\s*+=", re.IGNORECASE)


def parse_author_field(raw: str) -> tuple[str, ...]:
    """Return the names of an ``author`` field as ``Family, Given``, without ``and others``."""
    if not raw:
        return ()
    if _REGULAR.fullmatch(raw) and "--" not in raw and "''" not in raw:
        return tuple(raw.split(" and "))
    names: list[str] = []
    for name in split_outside_braces(in_text_mode(raw), _AND):
        part = name.strip().removesuffix(",").rstrip()
        inner = _unwrap_name(part)
        listed = [*split_outside_braces(inner, _AND)] if inner else []
        # Braces around a whole list of names protect nothing.
        is_list = len(listed) > 1 and all(name.count(",") == 1 for name in listed)
        names += map(str.strip, listed) if is_list else (part,)
    return filled(
        name if _ONE_REGULAR.fullmatch(name) and is_plain(name) else _parse_name(name)
        for name in names
        if name.lower() not in _OTHERS
    )


def split_names(raw: str) -> list[str]:
    """Return the parts of an ``author`` field between ``and``, as they are written."""
    return split_outside_braces(raw, _AND)


def _unwrap_name(part: str) -> str | None:
    """Return the text in braces that surround a whole name."""
    whole = _WRAPPED.fullmatch(part) if part.startswith("{") else None
    if whole is None or (whole[1].startswith("\\") and len(whole[1]) < 6):
        return None  # ``{\\'E}`` is a letter, not a name
    return whole[1]


def split_outside_braces(raw: str, pattern: re.Pattern[str]) -> list[str]:
    """Split at the matches of a pattern outside braces; the pattern must match braces too."""
    if "{" not in raw and "}" not in raw:
        return pattern.split(raw)
    parts, depth, start = [], 0, 0
    for match in pattern.finditer(raw):
        if match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
        elif depth <= 0:
            parts.append(raw[start : match.start()])
            start = match.end()
    return [*parts, raw[start:]]


# Cached, because authors recur; plain ``Family, Given`` names do not get here.
@functools.lru_cache(maxsize=1 << 15)
def _parse_name(raw: str) -> str:
    if "=" in raw and _PARTS.match(raw):
        parts: dict[str, str] = {}
        for match in _PART.finditer(raw):
            parts.setdefault(match[1].lower(), latex_to_text(match[2] or match[3] or ""))
        family = " ".join(filter(None, (parts.get("prefix"), parts.get("family"))))
        return name_from_parts(family, parts.get("given"), parts.get("suffix"))
    if (inner := _unwrap_name(raw)) is not None:
        text = latex_to_text(inner)
        is_group = text.count(",") > 1 or (text.count(",") == 1 and is_organisation(text))
        return name_from_parts(text) if is_group else canonical_name(text)
    raw = raw.replace("\\,", " ")
    if "{" in raw:
        pieces = [latex_to_text(part) for part in split_outside_braces(raw, _COMMA)]
        return canonical_name(",".join(pieces)) if len(pieces) > 1 else _invert_name(raw)
    return canonical_name(latex_to_text(raw)) if "," in raw else _invert_name(raw)


def _invert_name(raw: str) -> str:
    """Return ``Family, Given`` for ``Given von Family``, by BibTeX's rule for the ``von`` part."""
    parts = split_outside_braces(raw, _BLANKS)
    pairs = [(part, text) for part in parts if (text := latex_to_text(part))]
    words = [text for _, text in pairs]
    if len(words) < 2:
        return canonical_name("".join(words))
    first = 1 if len(words[0]) == 2 and words[0][1] == "." else 0  # an initial in any case
    # Text in braces is neither lower nor upper case to BibTeX.
    is_lower = [
        text[0].islower() and (not part.startswith("{") or part.startswith("{\\"))
        for part, text in pairs[:-1]
    ]
    cut = next((at for at in range(first, len(is_lower)) if is_lower[at]), len(words) - 1)
    return canonical_name(f"{' '.join(words[cut:])}, {' '.join(words[:cut])}")


# --- Journals ---------------------------------------------------------------------------------

ASTRONOMY_JOURNALS = {
    "aj": "The Astronomical Journal",
    "actaa": "Acta Astronomica",
    "araa": "Annual Review of Astronomy and Astrophysics",
    "apj": "The Astrophysical Journal",
    "apjl": "The Astrophysical Journal Letters",
    "apjs": "The Astrophysical Journal Supplement Series",
    "ao": "Applied Optics",
    "apss": "Astrophysics and Space Science",
    "aap": "Astronomy & Astrophysics",
    "aapr": "The Astronomy and Astrophysics Review",
    "aaps": "Astronomy and Astrophysics Supplement Series",
    "baas": "Bulletin of the American Astronomical Society",
    "grl": "Geophysical Research Letters",
    "icarus": "Icarus",
    "jcap": "Journal of Cosmology and Astroparticle Physics",
    "jcp": "The Journal of Chemical Physics",
    "jgr": "Journal of Geophysical Research",
    "memsai": "Memorie della Società Astronomica Italiana",
    "mnras": "Monthly Notices of the Royal Astronomical Society",
    "na": "New Astronomy",
    "nar": "New Astronomy Reviews",
    "nat": "Nature",
    "nphysa": "Nuclear Physics A",
    "pasa": "Publications of the Astronomical Society of Australia",
    "pasj": "Publications of the Astronomical Society of Japan",
    "pasp": "Publications of the Astronomical Society of the Pacific",
    "physrep": "Physics Reports",
    "physscr": "Physica Scripta",
    "planss": "Planetary and Space Science",
    "pra": "Physical Review A",
    "prb": "Physical Review B",
    "prc": "Physical Review C",
    "prd": "Physical Review D",
    "pre": "Physical Review E",
    "prl": "Physical Review Letters",
    "procspie": "Proceedings of SPIE",
    "qjras": "Quarterly Journal of the Royal Astronomical Society",
    "rmxaa": "Revista Mexicana de Astronomía y Astrofísica",
    "solphys": "Solar Physics",
    "sovast": "Soviet Astronomy",
    "ssr": "Space Science Reviews",
    "zap": "Zeitschrift für Astrophysik",
}
"""Journals that ADS writes as commands (``journal = {\\apj}``)."""
