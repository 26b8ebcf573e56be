"""XML of many records, read record by record: PubMed's, EndNote's, DBLP's.

Files may be of any size, and are read in flat memory.

A file is cut behind records, and each record is parsed by itself, so that one that is broken
costs no other. What the file's head declares is not at hand in later pieces: its encoding is
carried along, entities are known by their names, and names count without their prefixes.

Of DBLP, the whole of ``dblp.xml`` may be read, or records of it. Pages of people (``www``) are no
publications: they are counted, not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import (
    arxiv_id,
    best_date,
    bibtex_type,
    cite_keys,
    date_in_words,
    document,
    full_pages,
    links_to,
    made_up_id,
    one_word,
    pages_of,
    people,
)
from citebed.collection.formats.tagged import Entry, pubmed_id, pubmed_title, pubmed_type
from citebed.collection.formats.xml import (
    DECLARED,
    Element,
    as_utf8,
    attribute,
    below,
    child,
    children,
    first_text,
    has_root,
    inner_text,
    local,
    parse_fragment,
    text_at,
)
from citebed.records import Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import (
    filled,
    fold,
    iso_date,
    month_in,
    page_range,
    unique,
    year_before_1,
    year_in,
)
from citebed.wording import count

_COMMENT = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
# What does not end runs to the end, so that no place is looked at twice.
_AROUND = re.compile(
    (_COMMENT + r"|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]\s*>|\Z)|>|\Z)").encode(),
    re.DOTALL,
)
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")

_ENDING = re.compile(rb"</(?:[\w.-]+:)?\Z")
_LONGEST = 80
"""No prefix is longer."""

Read = Callable[[Element, int], Record]
"""What a record, which stands in some line, gives."""


class Names(NamedTuple):
    """The names of elements: of the records, of what may stand around them, and of records that
    are no documents, which are counted and passed over."""

    records: tuple[str, ...]
    around: tuple[str, ...]
    passed_over: tuple[str, ...] = ()


def xml_records(
    name: str, title: str, sniff: Callable[[str], bool], names: Names, read: Read
) -> Format:
    """A format of XML files of records; an element beside them that has no known name is told."""
    elements = (*names.records, *names.passed_over)
    text = rf"{_COMMENT}|<(/?)(?:[\w.-]+:)?(?:{'|'.join(elements)})(?=[\s/>])[^<>]*>"
    pattern = re.compile(text.encode(), re.DOTALL)

    def parse(chunk: Chunk) -> Iterator[Record]:
        return _records(chunk, pattern, names, read)

    def cut(data: bytes) -> int:
        return max(_last_end(data, element.encode()) for element in elements)

    return Format(name, title, sniff, parse, cut, _carry)


def _last_end(data: bytes, element: bytes) -> int:
    """Where the last end of an element is over, whatever its prefix; 0 where there is none."""
    at = len(data)
    while (at := data.rfind(element + b">", 0, at)) >= 0:
        if _ENDING.search(data, max(0, at - _LONGEST), at):
            return at + len(element) + 1
    return 0


def _carry(data: bytes, known: dict[str, str]) -> None:
    """Keep the encoding that the head of a file declares."""
    if "encoding" not in known:
        declared = DECLARED.match(data[:200])
        known["encoding"] = declared[1].decode("ascii") if declared else ""


def _records(
    chunk: Chunk, pattern: re.Pattern[bytes], names: Names, read: Read
) -> Iterator[Record]:
    around = frozenset(name.encode() for name in names.around)
    passed = frozenset(name.encode() for name in names.passed_over)
    number = 0
    data, encoding = chunk.data, chunk.macros.get("encoding")
    if encoding:
        data = b'<?xml version="1.0" encoding="%s"?>' % encoding.encode() + data
    text, problems = as_utf8(data)
    yield from (problem._replace(line=chunk.line) for problem in problems)
    line, counted, end = chunk.line, 0, 0
    for start, stop in _spans(text, pattern):
        line, counted = line + text.count(b"\n", counted, start), start
        yield from _strangers(text[end:start], around, line)
        tag = _TAG.match(text, start)
        if tag is not None and tag[1] in passed:
            number += 1
        else:
            yield from _record(text[start:stop], line, read)
        end = stop
    yield from _strangers(text[end:], around, line + text.count(b"\n", counted, end))
    if number:
        what = f"{count(number, 'record')} of the kind {' or '.join(names.passed_over)}"
        yield Problem(chunk.line, f"{what}: no publications, passed over", "ignored")


def _record(text: bytes, line: int, read: Read) -> Iterator[Record]:
    root, problems = parse_fragment(text)
    yield from (problem._replace(line=line + problem.line - 1) for problem in problems)
    if root is not None:
        yield read(root, line)


def _spans(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Where each record starts and ends: one that does not close, where the next one starts."""
    start: int | None = None
    for tag in pattern.finditer(text):
        if tag[1] is None:  # a comment
            continue
        if start is not None:
            yield start, tag.end() if tag[1] else tag.start()
            start = None
        if not tag[1] and tag[0].endswith(b"/>"):
            yield tag.span()
        elif not tag[1]:
            start = tag.start()
    if start is not None:
        yield start, len(text)


def _strangers(text: bytes, around: frozenset[bytes], line: int) -> Iterator[Problem]:
    """A problem where an element between records is none that may stand there."""
    if b"<" in text:
        names: Any = dict.fromkeys(_TAG.findall(_AROUND.sub(b"", text)))
        strange = [name for name in names if name not in around]
        if strange:
            first = strange[0].decode("utf-8", "replace")
            yield Problem(line, f"<{first}> stands where a record was expected, and was not read")


# --- PubMed -----------------------------------------------------------------------------------


def _pubmed_document(record: Element, line: int) -> Record:
    citation = child(record, "MedlineCitation")
    citation = child(record, "BookDocument") if citation is None else citation
    article = child(citation, "Article")
    article = citation if article is None else article
    number = text_at(citation, "PMID")
    ids = list(children(child(record, "PubmedData", "ArticleIdList"), "ArticleId"))
    doi = _pubmed_doi(article, [*ids, *children(child(citation, "ArticleIdList"), "ArticleId")])
    title = pubmed_title(text_at(article, "ArticleTitle") or text_at(article, "Book", "BookTitle"))
    journal, book = child(article, "Journal"), child(article, "Book")
    issue = child(journal, "JournalIssue")
    date = _pubmed_date(child(issue, "PubDate")) or _pubmed_date(child(book, "PubDate"))
    kinds = [inner_text(e) for e in below(article, "PublicationType")]
    in_book = text_at(book, "BookTitle") if text_at(article, "ArticleTitle") else ""
    # The authors' own keywords, then the headings of MeSH.
    words = (*below(citation, "Keyword"), *below(citation, "DescriptorName"))
    return document(
        line,
        pubmed_id(number) if number else doi,
        "an article without a PMID or a DOI",
        type=pubmed_type(kinds, bool(in_book)) if journal is not None or in_book else "book",
        title=title,
        authors=_pubmed_people(article, "authors"),
        editors=_pubmed_people(article, "editors"),
        date=date or _pubmed_date(child(article, "ArticleDate")),
        venue=text_at(journal, "Title") or in_book or text_at(journal, "ISOAbbreviation"),
        volume=text_at(issue, "Volume") or text_at(book, "Volume"),
        number=text_at(issue, "Issue"),
        pages=full_pages(text_at(article, "Pagination", "MedlinePgn")),
        publisher=text_at(book, "Publisher", "PublisherName"),
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=_pubmed_abstract(article),
        keywords=unique(map(inner_text, words)),
        language=text_at(article, "Language"),
        links=links_to(_pubmed_cited(record)),
    )


def _pubmed_doi(article: Element | None, ids: list[Element]) -> str | None:
    named = [e for e in ids if e.get("IdType") == "doi"]
    named += (e for e in children(article, "ELocationID") if e.get("EIdType") == "doi")
    return next(filter(None, map(normalise_doi, map(inner_text, named))), None)


def _pubmed_date(date: Element | None) -> str | None:
    """A date in parts, or as PubMed gives one that has none: ``2010 Jul-Aug``."""
    if date is None:
        return None
    year, day = year_in(text_at(date, "Year")), text_at(date, "Day")
    number = int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None
    exact = iso_date(year, month_in(text_at(date, "Month")), number)
    return exact or date_in_words(text_at(date, "MedlineDate"))


def _pubmed_people(article: Element | None, role: str) -> tuple[str, ...]:
    """The names in the lists of a role; a list that names none holds authors."""
    lists = (e for e in below(article, "AuthorList") if e.get("Type", "authors") == role)
    return filled(_pubmed_name(person) for each in lists for person in children(each, "Author"))


def _pubmed_name(person: Element) -> str:
    family, given = text_at(person, "LastName"), text_at(person, "ForeName")
    given = given or text_at(person, "Initials")
    named = name_from_parts(family, given, text_at(person, "Suffix")) if family else ""
    return named or text_at(person, "CollectiveName")


def _pubmed_abstract(article: Element | None) -> str:
    """The parts of the abstract, each behind its label (``METHODS: …``)."""
    parts = []
    for part in children(child(article, "Abstract"), "AbstractText"):
        label, text = part.get("Label", ""), inner_text(part)
        parts.append(f"{label}: {text}" if label and label != "UNLABELLED" and text else text)
    return " ".join(filter(None, parts))


def _pubmed_cited(record: Element) -> Iterator[str]:
    """What the references name: PubMed's number, else the DOI."""
    for reference in below(child(record, "PubmedData"), "Reference"):
        ids = list(below(reference, "ArticleId"))
        number = first_text(e for e in ids if e.get("IdType") == "pubmed")
        doi = normalise_doi(first_text(e for e in ids if e.get("IdType") == "doi"))
        yield pubmed_id(number) if number else doi or ""


_PUBMED_RECORDS = ("PubmedArticle", "PubmedBookArticle")
PUBMED_XML = xml_records(
    *("pubmed-xml", "PubMed XML"),
    has_root("PubmedArticleSet", *_PUBMED_RECORDS),
    Names(_PUBMED_RECORDS, ("PubmedArticleSet", "DeleteCitation", "DeleteDocument", "PMID")),
    _pubmed_document,
)

# --- EndNote ----------------------------------------------------------------------------------


_ENDNOTE_RECORDS = r"<records?\b[^<>]*>\s*<(?:record|database|source-app)\b"
_ENDNOTE_PLAIN = ("volume", "number", "publisher", "abstract", "language")


def endnote_document(record: Element, line: int) -> Record:
    """The document of a record; one without title, author or identifier is skipped."""
    named = child(record, "ref-type")
    kind = named.get("name") or inner_text(named) if named is not None else None
    title = text_at(record, "titles", "title")
    authors, editors = (
        _endnote_people(record, "authors"),
        _endnote_people(record, "secondary-authors"),
    )
    date = _endnote_date(record)
    urls = list(_endnote_urls(record))
    stated = map(normalise_doi, (text_at(record, "electronic-resource-num"), *urls))
    doi = next(filter(None, stated), None)
    label, number = text_at(record, "label"), text_at(record, "accession-num")
    doc_id = label or doi or number
    if not doc_id and (title or authors or editors):
        doc_id = made_up_id(authors or editors, date[:4] if date else None, title)
    # Some write their keywords into one element, in lines or with ; between them.
    keywords = ("".join(map(str, e.itertext())) for e in below(record, "keyword"))
    return document(
        line,
        one_word(doc_id),
        type=bibtex_type(kind),
        title=title,
        authors=authors,
        editors=editors,
        date=date,
        year=None if date else year_before_1(text_at(record, "dates", "year")),
        venue=text_at(record, "titles", "secondary-title")
        or text_at(record, "periodical", "full-title")
        or text_at(record, "alt-periodical", "full-title"),
        **{name: text_at(record, name) for name in _ENDNOTE_PLAIN},
        pages=pages_of(text_at(record, "pages")),
        place=text_at(record, "pub-location"),
        edition=text_at(record, "edition"),
        isbn=text_at(record, "isbn"),
        doi=doi,
        arxiv=arxiv_id(doi, *urls),
        url=next(iter(urls), None),
        keywords=unique(fold(word) for text in keywords for word in re.split(r"[;\n\r]", text)),
        keys=cite_keys(ids=[label], notes=[text_at(record, "notes")]),
    )


def _endnote_people(record: Element, role: str) -> tuple[str, ...]:
    listed = children(child(record, "contributors", role), "author")
    return people(filter(None, map(inner_text, listed)))


def _endnote_date(record: Element) -> str | None:
    dates = child(record, "dates")
    year = best_date(text_at(dates, "year"))
    exact = (date_in_words(f"{inner_text(e)} {year[:4]}") for e in below(dates, "date") if year)
    return max(filter(None, (year, *exact)), key=len, default=None)


def _endnote_urls(record: Element) -> Iterator[str]:
    """The addresses of a record, without those of files on its owner's disk."""
    places = children(child(record, "urls"), "related-urls", "web-urls")
    values = (inner_text(url).partition(" ")[0] for place in places for url in below(place, "url"))
    return filter(None, values)


ENDNOTE_XML = xml_records(
    *("endnote-xml", "EndNote XML", has_root("xml", "records", holding=_ENDNOTE_RECORDS)),
    Names(("record",), ("xml", "records")),
    endnote_document,
)

# --- DBLP -------------------------------------------------------------------------------------


_DBLP_PUBLICATIONS = (
    *("article", "inproceedings", "proceedings", "book", "incollection"),
    *("phdthesis", "mastersthesis", "data"),
)
_DBLP_VENUE = {"book": "series", "proceedings": "series"}
_NAMESAKE = re.compile(r"\s\d{4}$")  # tells namesakes apart: Wei Wang 0001
_DBLP_KEY = (
    r"\A<(?:[\w.-]+:)?dblp\b"
    r"|\A<(?:article|inproceedings|proceedings|book|incollection|www)\s[^<>]*\bkey\s*="
)


def _dblp_document(record: Element, line: int) -> Record:
    kind, key = local(record), attribute(record, "key")
    entry = Entry(line, {})
    for field in record:
        if text := inner_text(field):
            entry.fields.setdefault(local(field), []).append(text)
    title, addresses = entry.first("title"), entry.all("ee")
    doi = next(filter(None, map(normalise_doi, addresses)), None)
    year = year_in(entry.first("year"))
    return document(
        line,
        key,
        f"a record <{kind}> without a key",
        type="misc" if kind == "data" else kind,
        title=title[:-1] if title.endswith(".") and not title.endswith("..") else title,
        authors=filled(map(_dblp_name, entry.all("author"))),
        editors=filled(map(_dblp_name, entry.all("editor"))),
        year=year,
        date=iso_date(year, month_in(entry.first("month"))),
        venue=entry.first("journal", _DBLP_VENUE.get(kind, "booktitle")),
        volume=entry.first("volume"),
        number=entry.first("number"),
        pages=page_range(entry.first("pages")),
        publisher=entry.first("publisher", "school"),
        doi=doi,
        arxiv=arxiv_id(doi, *addresses, entry.first("volume")),
        url=next(iter(addresses), None),
        crossref=entry.first("crossref"),
        keys=cite_keys([key]),
        links=links_to(cited for cited in entry.all("cite") if cited != "..."),
    )


@lru_cache(maxsize=1 << 15)
def _dblp_name(name: str) -> str:
    """A name without the number that tells namesakes apart."""
    return name_from_display(_NAMESAKE.sub("", name))


DBLP_XML = xml_records(
    *("dblp-xml", "DBLP XML", has_root("dblp", *_DBLP_PUBLICATIONS, holding=_DBLP_KEY)),
    Names(_DBLP_PUBLICATIONS, ("dblp",), ("www", "person")),
    _dblp_document,
)
