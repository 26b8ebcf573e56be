"""PubMed: tagged lines (``.nbib``, MEDLINE) from ``PMID-`` to a blank line, and its XML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.fields import arxiv_id, links_to, made_up_id
from citebed.collection.formats.tagged import (
    Entry,
    blocks,
    date_in_words,
    entry_of,
    full_pages,
    people,
)
from citebed.collection.formats.xml import (
    Element,
    below,
    child,
    children,
    first_text,
    inner_text,
    root_in,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import filled, iso_date, month_in, unique, year_in

_HEAD = re.compile(r"\s*PMID- [^\n]*\n(?:[A-Z]{2,4} *- |      )[^\n]*\n")
_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
_START = re.compile(r"PMID- ")
_DOI = re.compile(r"(10\.\S+)\s+\[doi\]", re.IGNORECASE)
_TYPES = {
    "book chapter": "incollection",
    "book": "book",
    "congress": "inproceedings",
    "preprint": "misc",
}


def pubmed_id(number: str) -> str:
    """What a paper of PubMed goes by here, and in the references that only name its number."""
    return f"pmid:{number}"


def pubmed_title(title: str) -> str:
    """A title without PubMed's full stop, and without the brackets of one that was translated."""
    title = title[:-1] if title.endswith(".") and not title.endswith("..") else title
    return title[1:-1] if title.startswith("[") and title.endswith("]") else title


def pubmed_type(names: list[str], in_book: bool) -> str:
    """The BibTeX entry type of PubMed's publication types."""
    values = (_TYPES[name.lower()] for name in names if name.lower() in _TYPES)
    return next(values, "incollection" if in_book else "article")


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a file; lines before the first record are told."""
    text, problems = read_text(chunk)
    yield from problems
    for line, lines in blocks(with_newlines(text).split("\n"), _START, chunk.line):
        if _START.match(lines[0]):
            yield _nbib_document(entry_of(line, _pairs(lines)))
        elif any(_TAG.match(each) for each in lines):
            yield Problem(line, "a record without its PMID line: expected 'PMID- number'")


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Tags and values; a line that begins with blanks goes on with the value before it."""
    tag, values = "", list[str]()
    for line in lines:
        match = _TAG.match(line)
        if match is None:
            values.append(line.strip())
        else:
            yield tag, " ".join(values)
            tag, values = match[1], [match[2]]
    yield tag, " ".join(values)


def _nbib_document(entry: Entry) -> Document | Problem:
    number = entry.first("PMID")
    title = pubmed_title(entry.first("TI", "BTI"))
    authors = people(entry.all("FAU")) or tuple(map(_short_name, entry.all("AU")))
    authors += tuple(entry.all("CN"))
    date = date_in_words(entry.first("DP"))
    doi = _nbib_doi(entry)
    doc_id = pubmed_id(number) if number.isdecimal() else doi
    doc_id = doc_id or made_up_id(authors, date[:4] if date else None, title)
    if not doc_id:
        return Problem(entry.line, "a record without a number, a title or an author")
    in_book = bool(entry.first("BTI")) and bool(entry.first("TI"))
    return Document(
        doc_id=doc_id,
        type=pubmed_type(entry.all("PT"), in_book),
        title=title,
        authors=filled(authors),
        editors=people(entry.all("FED") or entry.all("ED")),
        year=int(date[:4]) if date else None,
        date=date,
        venue=(entry.first("BTI") if in_book else entry.first("JT", "TA")) or None,
        volume=entry.first("VI") or None,
        number=entry.first("IP") or None,
        pages=full_pages(entry.first("PG")),
        publisher=entry.first("PB") or None,
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=" ".join(entry.all("AB")) or None,
        keywords=_nbib_keywords(entry),
        language=entry.first("LA") or None,
        line=entry.line,
    )


def _short_name(name: str) -> str:
    """``Muster, AB`` of ``Muster AB``, as PubMed abbreviates."""
    family, _, initials = name.rpartition(" ")
    return f"{family}, {initials}" if family and initials.isupper() else name_from_display(name)


def _nbib_doi(entry: Entry) -> str | None:
    values = (_DOI.search(value) for value in entry.all("LID", "AID", "SO"))
    return next(filter(None, (normalise_doi(match[1]) for match in values if match)), None)


def _nbib_keywords(entry: Entry) -> tuple[str, ...]:
    """The authors' own keywords, then the headings of MeSH without their subheadings."""
    headings = (heading.replace("*", "").partition("/")[0] for heading in entry.all("MH"))
    return unique([word.strip("* ") for word in entry.all("OT")] + list(headings))


def _cut(data: bytes) -> int:
    """The start of the last record, since only the next one shows where it ends."""
    return data.rfind(b"\nPMID- ") + 1


NBIB = Format(
    "nbib",
    "PubMed records (.nbib, MEDLINE)",
    lambda head: _HEAD.match(with_newlines(head)) is not None,
    _parse,
    _cut,
)


# --- XML --------------------------------------------------------------------------------------


def _read(record: Element, line: int) -> Iterator[Record]:
    citation = child(record, "MedlineCitation")
    citation = child(record, "BookDocument") if citation is None else citation
    article = child(citation, "Article")
    article = citation if article is None else article
    number = text_at(citation, "PMID")
    ids = list(children(child(record, "PubmedData", "ArticleIdList"), "ArticleId"))
    ids += children(child(citation, "ArticleIdList"), "ArticleId")
    doi = _xml_doi(article, ids)
    title = pubmed_title(text_at(article, "ArticleTitle") or text_at(article, "Book", "BookTitle"))
    if not (number or doi):
        yield Problem(line, "an article without a PMID or a DOI")
        return
    yield _xml_document(article, citation, title, doi)._replace(
        doc_id=pubmed_id(number) if number else doi or "",
        links=links_to(_cited(record)),
        line=line,
    )


def _xml_document(
    article: Element | None, citation: Element | None, title: str, doi: str | None
) -> Document:
    journal, book = child(article, "Journal"), child(article, "Book")
    issue = child(journal, "JournalIssue")
    date = _date(child(issue, "PubDate")) or _date(child(book, "PubDate"))
    date = date or _date(child(article, "ArticleDate"))
    kinds = [inner_text(e) for e in below(article, "PublicationType")]
    in_book = text_at(book, "BookTitle") if text_at(article, "ArticleTitle") else ""
    return Document(
        doc_id="",
        type=pubmed_type(kinds, bool(in_book)) if journal is not None or in_book else "book",
        title=title,
        authors=_people(article, "authors"),
        editors=_people(article, "editors"),
        year=int(date[:4]) if date else None,
        date=date,
        venue=text_at(journal, "Title") or in_book or text_at(journal, "ISOAbbreviation") or None,
        volume=text_at(issue, "Volume") or text_at(book, "Volume") or None,
        number=text_at(issue, "Issue") or None,
        pages=full_pages(text_at(article, "Pagination", "MedlinePgn")),
        publisher=text_at(book, "Publisher", "PublisherName") or None,
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=_abstract(article),
        keywords=_xml_keywords(citation),
        language=text_at(article, "Language") or None,
    )


def _xml_doi(article: Element | None, ids: list[Element]) -> str | None:
    named = [e for e in ids if e.get("IdType") == "doi"]
    named += (e for e in children(article, "ELocationID") if e.get("EIdType") == "doi")
    return next(filter(None, map(normalise_doi, map(inner_text, named))), None)


def _date(date: Element | None) -> str | None:
    """A date in parts, or as PubMed gives one that has none: ``2010 Jul-Aug``."""
    if date is None:
        return None
    year, day = year_in(text_at(date, "Year")), text_at(date, "Day")
    number = int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None
    exact = iso_date(year, month_in(text_at(date, "Month")), number)
    return exact or date_in_words(text_at(date, "MedlineDate"))


def _people(article: Element | None, role: str) -> tuple[str, ...]:
    """The names in the lists of a role; a list that names none holds authors."""
    lists = (e for e in below(article, "AuthorList") if e.get("Type", "authors") == role)
    return filled(_name(person) for each in lists for person in children(each, "Author"))


def _name(person: Element) -> str:
    family, given = text_at(person, "LastName"), text_at(person, "ForeName")
    given = given or text_at(person, "Initials")
    named = name_from_parts(family, given, text_at(person, "Suffix")) if family else ""
    return named or text_at(person, "CollectiveName")


def _abstract(article: Element | None) -> str | None:
    """The parts of the abstract, each behind its label (``METHODS: …``)."""
    parts = []
    for part in children(child(article, "Abstract"), "AbstractText"):
        label, text = part.get("Label", ""), inner_text(part)
        parts.append(f"{label}: {text}" if label and label != "UNLABELLED" and text else text)
    return " ".join(filter(None, parts)) or None


def _xml_keywords(citation: Element | None) -> tuple[str, ...]:
    """The authors' own keywords, then the headings of MeSH."""
    own = [inner_text(e) for e in below(citation, "Keyword")]
    return unique(own + [inner_text(e) for e in below(citation, "DescriptorName")])


def _cited(record: Element) -> Iterator[str]:
    """What the references name: PubMed's number, else the DOI."""
    for reference in below(child(record, "PubmedData"), "Reference"):
        ids = list(below(reference, "ArticleId"))
        number = first_text(e for e in ids if e.get("IdType") == "pubmed")
        doi = normalise_doi(first_text(e for e in ids if e.get("IdType") == "doi"))
        yield pubmed_id(number) if number else doi or ""


_RECORDS = ("PubmedArticle", "PubmedBookArticle")
PUBMED_XML = xml_records(
    *("pubmed-xml", "PubMed XML"),
    lambda head: root_in(head)[0] in ("PubmedArticleSet", *_RECORDS),
    Names(_RECORDS, ("PubmedArticleSet", "DeleteCitation", "DeleteDocument", "PMID")),
    _read,
)
