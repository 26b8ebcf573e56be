"""Records of tagged lines: RIS, PubMed, Web of Science, EndNote and refer.

RIS records run from ``TY  - JOUR`` to ``ER  -``, PubMed records (``.nbib``, MEDLINE) from ``PMID-``
to a blank line, Web of Science records (``.ciw``, ``savedrecs.txt``) from ``PT`` to ``ER``.
EndNote's tagged export (``.enw``) has the format of refer, lines of ``%A``, ``%T``, ``%D`` …: a
record begins with ``%0``, or after a blank line if no record has ``%0``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from citebed.collection.formats.base import (
    Chunk,
    Format,
    head_matches,
    normalise_newlines,
    split_after,
    split_before,
    text_parser,
)
from citebed.collection.formats.fields import (
    check_doi,
    collect_cite_keys,
    expand_pages,
    find_arxiv_id,
    generate_key,
    make_document,
    make_links,
    parse_names,
    parse_pages,
    parse_worded_date,
    pick_date,
    remove_spaces,
    to_bibtex_type,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import (
    filled,
    fold,
    html_to_text,
    iso_date,
    unique,
    year_before_1,
    year_in,
)
from citebed.text.regex import compile_regex

# --- Records of tags --------------------------------------------------------------------------

_NO_END = "missing ER line; the record ends where the data ends"


class Entry(NamedTuple):
    """A record: its line, and for each tag its values, clean and not empty."""

    line: int
    fields: dict[str, list[str]]

    def first(self, *tags: str) -> str:
        """Return the first value of the first of these tags that the record has, else ``""``."""
        return next((self.fields[tag][0] for tag in tags if tag in self.fields), "")

    def all(self, *tags: str) -> list[str]:
        """Return every value of these tags."""
        return [value for tag in tags if tag in self.fields for value in self.fields[tag]]

    def keywords(self, *tags: str) -> tuple[str, ...]:
        """Return the values of these tags, separated at semicolons."""
        return unique([word.strip() for word in ";".join(self.all(*tags)).split(";")])


def _read_records(
    text: str,
    line: int,
    start: re.Pattern[str],
    tag: re.Pattern[str],
    lower: re.Pattern[str] | None = None,
) -> Iterator[tuple[int, str, list[str], list[str]]]:
    """Yield what precedes the first record, and each record, as four parts.

    These are the line of its first tag, the text before that, its tags, and its values, which
    extend to the next tag. ``start`` matches the line end before a record, ``tag`` a line end and
    the tag of a field, ``lower`` also one in lower case, for records that begin with ``ty``.
    """
    line -= 1
    for block in start.split("\n" + text):
        pattern = lower if lower and block.startswith("ty") else tag
        lead, *fields = pattern.split("\n" + block)
        tags = fields[::2] if pattern is tag else [name.upper() for name in fields[::2]]
        yield line + lead.count("\n"), lead, tags, fields[1::2]
        line += block.count("\n") + 1


# Venues, publishers, names and keywords recur thousands of times in a bibliography.
_clean = lru_cache(maxsize=1 << 14)(html_to_text)


def make_entry(
    line: int, tags: Sequence[str], values: Sequence[str], lists: Collection[str] = ()
) -> Entry:
    """Make a record from tags and values, and remove markup.

    For the tags in ``lists``, each line is a value.
    """
    fields: dict[str, list[str]] = {}
    pairs: Iterable[tuple[str, str]] = zip(tags, values, strict=True)
    joined = f" {' '.join(values)} "
    is_marked = "<" in joined or "&" in joined or "  " in joined  # two blanks: an empty value
    if is_marked or not (joined.isascii() and joined.isprintable()):
        split = ((t, value.split("\n") if t in lists else [value]) for t, value in pairs)
        pairs = ((t, text) for t, parts in split for part in parts if (text := _clean(part)))
    for tag, value in pairs:
        fields.setdefault(tag, []).append(value)
    return Entry(line, fields)


def _parse_closed(
    records: Iterable[tuple[int, str, list[str], list[str]]],
    start: str,
    lists: Collection[str],
    around: Collection[str],
    make: Callable[[Entry], Document | Problem],
) -> Iterator[Record]:
    """Yield the documents of records from the tag ``start`` to ``ER``, and problems.

    For ``lists`` see `make_entry`; the tags in ``around`` may be between records.
    """
    for line, _, tags, values in records:
        end = 0
        if tags[:1] == [start]:
            end = tags.index("ER") if "ER" in tags else len(tags)
            entry = make_entry(line, tags[:end], values[:end], lists)
            record = make(entry)
            yield record
            yield from check_doi(record, entry.first("DO"))
            if end == len(tags):
                yield Problem(line, _NO_END, "mended")
        outside = [at for at in range(end, len(tags)) if tags[at] not in around]
        if outside:
            at = line + outside[0] + "".join(values[: outside[0]]).count("\n")
            what = f"field {tags[outside[0]]} outside of a record: no {start} line before it"
            # Ovid writes one or two fields of a record after its ER line.
            is_record = start != "TY" or not _RECORD_TAGS.isdisjoint(tags[end:])
            yield Problem(at, what, "skipped" if is_record else "mended")


# --- RIS --------------------------------------------------------------------------------------

_RIS_TYPES = {
    **dict.fromkeys(("JOUR", "EJOUR", "MGZN", "NEWS"), "article"),
    **dict.fromkeys(("CONF", "CPAPER"), "inproceedings"),
    **dict.fromkeys(("CHAP", "ECHAP"), "incollection"),
    **dict.fromkeys(("BOOK", "EBOOK"), "book"),
    "THES": "phdthesis",
    "RPRT": "techreport",
    "UNPB": "unpublished",
}
_RIS_TAGS = (
    "A[1-4BDNUV]|BT|C[1-8ANPTY]|D[ABIOP]|E[DPRT]|I[DS]|J[12AFO]|KW|L[1-4ABK]|M[1-3]|N[12V]|OP"
    "|P[BPY]|R[INP]|S[ENPTV]|T[123AITY]|U[1-5R]|V[LO]|Y[12]"
)
# The standard has two blanks; with one, only a known tag counts.
_ONE_BLANK = rf"(?<={_RIS_TAGS})[ \t]{{1,2}}(?=-[ \t\r\n]|-\Z)"
_RIS_TAG = rf"\n(PMC?ID(?=  )|[A-Z][A-Z0-9])(?:  |{_ONE_BLANK})-[ \t]*+"
_UPPER, _ANY_CASE = compile_regex(_RIS_TAG), compile_regex(_RIS_TAG, re.IGNORECASE)
_RECORD_TAGS = {"TI", "T1", "AU", "A1", "DO", "PY", "Y1"}
_NEXT_RECORD = re.compile(r"\n(?=(?:TY|ty)(?:  -|[ \t]{1,2}-(?:[ \t\r\n]|\Z)))")
_TYPE_LINE = re.compile(
    r"^(?:TY|ty)[ \t]{1,2}-[ \t]*[A-Za-z]{2,20}(?:[ /-][A-Za-z/]{2,20}){0,3}[ \t]*\r?$",
    re.MULTILINE,
)
_TAG_LINE = re.compile(r"[A-Za-z][A-Za-z0-9][ \t]{1,2}-|[A-Z]{2,6}  -")
RIS_DOC_ID = "citebed-id: "
"""Marks the id of a document in ``U5``, if that is not the citation key."""
_RIS_END = re.compile(rb"(?:^|\n)(?:ER|er)[ \t]{1,2}-[^\n]*\n")
_PRINTED_NAME = re.compile(r"(?<!\w)\w\.|[;,]|\b(?:van|von|der|den|ten|ter|zu|zur|bin|ibn)\b")


def _sniff_ris(head: str) -> bool:
    """Return True if a ``TY`` line in the first 20 lines is followed by another tagged line.

    Publishers put a few lines of their own first.
    """
    head = normalise_newlines(head)
    match = _TYPE_LINE.search(head)
    if match is None or head.count("\n", 0, match.start()) > 20:
        return False
    rest = head[match.end() : match.end() + 4096].split("\n")
    following = next((line for line in rest if line.strip()), None)
    return following is not None and _TAG_LINE.match(following) is not None


@text_parser
def _parse_ris(text: str, chunk: Chunk) -> Iterator[Record]:
    # Lower-case tags count only in records that begin with one: an abstract may contain a line
    # ``is - as seen - …``.
    records = _read_records(text, chunk.line, _NEXT_RECORD, _UPPER, _ANY_CASE)
    yield from _parse_closed(records, "TY", {"KW"}, {"ER"}, _ris_document)


def _ris_document(entry: Entry) -> Document | Problem:
    stated_type = entry.first("TY")
    kind = _RIS_TYPES.get(stated_type.partition(" ")[0].upper()) or to_bibtex_type(stated_type)
    if kind == "phdthesis" and "master" in entry.first("M3").lower():
        kind = "mastersthesis"
    own_title, in_book = (("BT",), ()) if kind == "book" else ((), ("BT",))
    title = entry.first("TI", "T1", "CT", *own_title, "ST")
    authors = _parse_ris_names(entry.all("AU", "A1"))
    editors = _parse_ris_names(entry.all("A2", "ED") or entry.all("A3"))
    date, day = pick_date(*entry.all("PY", "Y1", "DA")), entry.first("DA")
    if date is not None and len(date) == 4 and day and not year_in(day):
        date = parse_worded_date(f"{day} {date}") or date  # EndNote writes only DA  - Mar 1
    stated = (doi_of(value) for value in entry.all("DO"))
    links = (normalise_doi(word) for value in entry.all("UR", "L3") for word in value.split())
    doi = next(filter(None, (*stated, *links, *map(doi_of, entry.all("M3")))), None)
    user_field = entry.first("U5")
    citebed_id = user_field.removeprefix(RIS_DOC_ID) if RIS_DOC_ID in user_field else ""
    doc_id = citebed_id or entry.first("ID") or doi or entry.first("AN")
    if not doc_id and (authors or editors or title):
        doc_id = generate_key(authors or editors, date[:4] if date else "", title)
    return make_document(
        entry.line,
        remove_spaces(doc_id),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        date=date,
        year=None if date else year_before_1(entry.first("PY", "Y1", "DA").strip(" /")),
        venue=entry.first("T2", "JF", "JO", *in_book, "C3", "J2", "JA"),
        volume=entry.first("VL"),
        number=entry.first("IS"),
        pages=parse_pages(entry.first("SP"), entry.first("EP")),
        publisher=entry.first("PB"),
        doi=doi,
        arxiv=find_arxiv_id(doi, *entry.all("UR", "M1", "AN", "N1", "T2", "JO", "JF")),
        url=entry.first("UR", "LK").partition(" ")[0],
        abstract=" ".join(entry.all("AB") or entry.all("N2")),
        keywords=entry.keywords("KW"),
        language=entry.first("LA"),
        place=entry.first("CY", "PP"),
        edition=entry.first("ET"),
        isbn=entry.first("SN"),
        keys=collect_cite_keys(ids=entry.all("ID"), notes=entry.all("N1", "U1", "M1")),
    )


def _parse_ris_names(values: list[str]) -> tuple[str, ...]:
    """Parse names; without a comma, initials or a particle (``van``) a name is a group's."""
    names = (
        parse_names([value]) if _PRINTED_NAME.search(value) else (fold(value),) for value in values
    )
    return filled(name for several in names for name in several)


RIS = Format(
    "ris",
    "RIS (EndNote, Mendeley, Scopus, Zotero)",
    _sniff_ris,
    _parse_ris,
    split_after(_RIS_END),
)


# --- PubMed -----------------------------------------------------------------------------------

_PUBMED_HEAD = re.compile(r"\s*PMID- [^\n]*\n(?:[A-Z]{2,4} *- |      )[^\n]*\n")
_PUBMED_TAG = re.compile(r"\n([A-Z][A-Z0-9]{1,3}) *- ?")
_PUBMED_START = re.compile(r"\n(?=PMID- )")
_PUBMED_DOI = re.compile(r"(10\.\S+)\s+\[doi\]", re.IGNORECASE)
_PUBMED_TYPES = {
    "book chapter": "incollection",
    "book": "book",
    "congress": "inproceedings",
    "preprint": "misc",
}


def pubmed_doc_id(number: str) -> str:
    """Return the id of a PubMed paper, also in references that have only its number."""
    return f"pmid:{number}"


def clean_pubmed_title(title: str) -> str:
    """Remove the full stop, and the brackets around a translated title."""
    title = title[:-1] if title.endswith(".") and not title.endswith("..") else title
    return title[1:-1] if title.startswith("[") and title.endswith("]") else title


def pubmed_type(names: list[str], in_book: bool) -> str:
    """Return the BibTeX entry type for PubMed's publication types."""
    values = (_PUBMED_TYPES[name.lower()] for name in names if name.lower() in _PUBMED_TYPES)
    return next(values, "incollection" if in_book else "article")


@text_parser
def _parse_nbib(text: str, chunk: Chunk) -> Iterator[Record]:
    records = _read_records(text, chunk.line, _PUBMED_START, _PUBMED_TAG)
    for line, _, tags, values in records:
        if tags[:1] == ["PMID"]:
            yield _nbib_document(make_entry(line, tags, values))
        elif tags:
            yield Problem(line, "a record without its PMID line: expected 'PMID- number'")


def _nbib_document(entry: Entry) -> Document | Problem:
    number = entry.first("PMID")
    title = clean_pubmed_title(entry.first("TI", "BTI"))
    authors = parse_names(entry.all("FAU")) or tuple(map(_parse_short_name, entry.all("AU")))
    authors = filled((*authors, *entry.all("CN")))
    date = parse_worded_date(entry.first("DP"))
    stated = (_PUBMED_DOI.search(value) for value in entry.all("LID", "AID", "SO"))
    doi = next(filter(None, (normalise_doi(match[1]) for match in stated if match)), None)
    own_id = pubmed_doc_id(number) if number.isdecimal() else doi
    in_book = bool(entry.first("BTI")) and bool(entry.first("TI"))
    # The keywords of the authors, then the MeSH headings without subheadings.
    headings = (heading.replace("*", "").partition("/")[0] for heading in entry.all("MH"))
    return make_document(
        entry.line,
        own_id or generate_key(authors, date[:4] if date else None, title),
        "a record without a number, a title or an author",
        type=pubmed_type(entry.all("PT"), in_book),
        title=title,
        authors=authors,
        editors=parse_names(entry.all("FED") or entry.all("ED")),
        date=date,
        venue=entry.first("BTI") if in_book else entry.first("JT", "TA"),
        volume=entry.first("VI"),
        number=entry.first("IP"),
        pages=expand_pages(entry.first("PG")),
        publisher=entry.first("PB"),
        doi=doi,
        arxiv=find_arxiv_id(doi),
        abstract=" ".join(entry.all("AB")),
        keywords=unique([*(word.strip("* ") for word in entry.all("OT")), *headings]),
        language=entry.first("LA"),
    )


def _parse_short_name(name: str) -> str:
    """Return ``Muster, AB`` for PubMed's ``Muster AB``."""
    family, _, initials = name.rpartition(" ")
    return f"{family}, {initials}" if family and initials.isupper() else name_from_display(name)


NBIB = Format(
    "nbib",
    "PubMed records (.nbib, MEDLINE)",
    head_matches(_PUBMED_HEAD),
    _parse_nbib,
    split_before(b"\nPMID- "),
)


# --- Web of Science ---------------------------------------------------------------------------

_WOS_HEAD = re.compile(r"\s*(?:FN [^\n]*\nVR \d|PT [JBSPC]\n[A-Z][A-Z0-9] )")
_WOS_TAG = re.compile(r"\n([A-Z][A-Z0-9])(?: |(?=[ \t]*(?:\n|\Z)))")
_WOS_START = re.compile(r"\n(?=PT(?: |\n|\Z))")
_WOS_END = re.compile(rb"(?:^|\n)ER[ \t]*\r?\n")
_WOS_AROUND = frozenset(("FN", "VR", "EF", "ER"))
_WOS_TYPES = {"J": "article", "B": "book", "S": "incollection", "C": "inproceedings"}
_CITED_DOI = re.compile(r"\bDOI \[?(10\.[^\s,\]]+)")
WOS_LISTS = frozenset(("AU", "AF", "BE", "ED", "CA", "BF", "CR"))
"""Tags with one value per line; in other tags, further lines continue the text."""


@text_parser
def _parse_wos(text: str, chunk: Chunk) -> Iterator[Record]:
    records = _read_records(text, chunk.line, _WOS_START, _WOS_TAG)
    yield from _parse_closed(records, "PT", WOS_LISTS, _WOS_AROUND, make_wos_document)


def make_wos_document(entry: Entry) -> Document | Problem:
    """Return the document of a record, or of a table row whose columns have the same tags."""
    title = entry.first("TI")
    authors = parse_names(entry.all("AF") or entry.all("AU")) + tuple(entry.all("CA"))
    editors = parse_names(entry.all("BE", "ED"))
    year = year_in(entry.first("PY"))
    date = parse_worded_date(f"{entry.first('PD')} {year}") if year else None
    doi = normalise_doi(entry.first("DI", "D2"))
    cited = map(_CITED_DOI.search, entry.all("CR"))
    kind = _WOS_TYPES.get(entry.first("PT")[:1], "misc")
    in_proceedings = "proceedings paper" in entry.first("DT").lower() or entry.first("CT")
    return make_document(
        entry.line,
        remove_spaces(entry.first("UT")) or doi or generate_key(authors or editors, year, title),
        type="inproceedings" if in_proceedings and kind != "article" else kind,
        title=title,
        authors=authors,
        editors=editors,
        year=year,
        date=date or iso_date(year),
        venue=entry.first("SO", "SE", "J9", "CT"),
        volume=entry.first("VL"),
        number=entry.first("IS"),
        pages=parse_pages(entry.first("BP"), entry.first("EP")) or entry.first("AR"),
        publisher=entry.first("PU"),
        doi=doi,
        arxiv=find_arxiv_id(doi),
        abstract=entry.first("AB"),
        keywords=entry.keywords("DE", "ID"),
        language=entry.first("LA"),
        links=make_links(normalise_doi(match[1]) for match in cited if match),
    )


WEB_OF_SCIENCE = Format(
    "web-of-science",
    "Web of Science records (.ciw)",
    head_matches(_WOS_HEAD),
    _parse_wos,
    split_after(_WOS_END),
)


# --- EndNote and refer ------------------------------------------------------------------------

_ENW_LINE = r"%[0-9A-Z@!#$&()*+<=>?\[~] [^\n]*\n"
_ENW_HEAD = re.compile(
    rf"(?=(?s:.*?)^%[TB] )\s*(?:%0 [A-Z][^\n]*\n{_ENW_LINE}|(?:%[A-Z] [^\n]*\n){{2}})", re.MULTILINE
)
_ENW_BLANK_LINE = re.compile(rb"\n\r?\n(?=%)")
_ENW_TAG = re.compile(r"\n%([0-9A-Z@!#$&()*+<=>?\[~^])(?:[ \t]+|(?=\n|\Z))")
_ENW_START = re.compile(r"\n(?=%0(?:[ \t]|\n|\Z))")
_ENW_BLANK = re.compile(r"\n(?=[^\S\n]*\n%)")
_REFER_TYPES = {"J": "article", "B": "incollection", "R": "techreport", "I": "book"}
"""Entry types by a tag of a refer record, which names no type."""


@text_parser
def _parse_enw(text: str, chunk: Chunk) -> Iterator[Record]:
    start = _ENW_START if _ENW_START.search("\n" + text) else _ENW_BLANK
    for line, lead, tags, values in _read_records(text, chunk.line, start, _ENW_TAG):
        if tags:
            yield _enw_document(make_entry(line, tags, values, {"K"}))
        elif stray := lead.lstrip():
            at = line - stray.count("\n")
            yield Problem(at, "text before the first record: expected a line with '%0'")


def _enw_document(entry: Entry) -> Document | Problem:
    by_tag = (kind for tag, kind in _REFER_TYPES.items() if entry.first(tag))
    kind = to_bibtex_type(entry.first("0")) if entry.first("0") else next(by_tag, "misc")
    title = entry.first("T") or (entry.first("B") if kind == "book" else "")
    authors, editors = parse_names(entry.all("A", "?")), parse_names(entry.all("E", "Y"))
    date = pick_date(*entry.all("D")) or None
    exact = None
    if date and entry.first("8"):
        exact = parse_worded_date(f"{entry.first('8')} {date[:4]}")
    doi = next(filter(None, map(normalise_doi, entry.all("R", "U", "3"))), None)
    doc_id = entry.first("F", "1") or doi or entry.first("M")
    doc_id = doc_id or generate_key(authors or editors, date[:4] if date else None, title)
    return make_document(
        entry.line,
        remove_spaces(doc_id),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        date=max(filter(None, (date, exact)), key=len, default=None),
        venue=entry.first("J", "B", "S") if kind != "book" else entry.first("S"),
        volume=entry.first("V"),
        number=entry.first("N"),
        pages=parse_pages(entry.first("P")),
        publisher=entry.first("I"),
        doi=doi,
        arxiv=find_arxiv_id(doi, *entry.all("U", "M", "J")),
        url=entry.first("U").partition(" ")[0],
        abstract=" ".join(entry.all("X")),
        keywords=entry.keywords("K"),
        language=entry.first("G"),
        place=entry.first("C"),
        edition=entry.first("7"),
        isbn=entry.first("@"),
        keys=collect_cite_keys(ids=entry.all("F", "1"), notes=entry.all("O", "Z")),
    )


def _split_enw(data: bytes) -> int:
    return split_before(b"\n%0 ")(data) or split_after(_ENW_BLANK_LINE)(data)


ENW = Format(
    "enw", "EndNote and refer records (.enw)", head_matches(_ENW_HEAD), _parse_enw, _split_enw
)
