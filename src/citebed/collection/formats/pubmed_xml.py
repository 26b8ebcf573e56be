"""PubMed's XML: the files of the baseline and what ``efetch`` gives, article by article."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.fields import arxiv_id, links_to
from citebed.collection.formats.nbib import pubmed_id, pubmed_title, pubmed_type
from citebed.collection.formats.tagged import date_in_words, full_pages
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
from citebed.text.names import name_from_parts
from citebed.text.normalise import filled, iso_date, month_in, unique, year_in


def _read(record: Element, line: int) -> Iterator[Record]:
    citation = child(record, "MedlineCitation")
    citation = child(record, "BookDocument") if citation is None else citation
    article = child(citation, "Article")
    article = citation if article is None else article
    number = text_at(citation, "PMID")
    ids = list(children(child(record, "PubmedData", "ArticleIdList"), "ArticleId"))
    ids += children(child(citation, "ArticleIdList"), "ArticleId")
    doi = _doi(article, ids)
    title = pubmed_title(text_at(article, "ArticleTitle") or text_at(article, "Book", "BookTitle"))
    if not (number or doi):
        yield Problem(line, "an article without a PMID or a DOI")
        return
    yield _document(article, citation, title, doi)._replace(
        doc_id=pubmed_id(number) if number else doi or "",
        links=links_to(_cited(record)),
        line=line,
    )


def _document(
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
        keywords=_keywords(citation),
        language=text_at(article, "Language") or None,
    )


def _doi(article: Element | None, ids: list[Element]) -> str | None:
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


def _keywords(citation: Element | None) -> tuple[str, ...]:
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
