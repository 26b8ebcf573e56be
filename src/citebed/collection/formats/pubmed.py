"""PubMed's XML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.fields import arxiv_id, document, links_to
from citebed.collection.formats.tagged import (
    date_in_words,
    full_pages,
    pubmed_id,
    pubmed_title,
    pubmed_type,
)
from citebed.collection.formats.xml import (
    Element,
    below,
    child,
    children,
    first_text,
    has_root,
    inner_text,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import filled, iso_date, month_in, unique, year_in


def _read(record: Element, line: int) -> Record:
    citation = child(record, "MedlineCitation")
    citation = child(record, "BookDocument") if citation is None else citation
    article = child(citation, "Article")
    article = citation if article is None else article
    number = text_at(citation, "PMID")
    ids = list(children(child(record, "PubmedData", "ArticleIdList"), "ArticleId"))
    doi = _doi(article, [*ids, *children(child(citation, "ArticleIdList"), "ArticleId")])
    title = pubmed_title(text_at(article, "ArticleTitle") or text_at(article, "Book", "BookTitle"))
    journal, book = child(article, "Journal"), child(article, "Book")
    issue = child(journal, "JournalIssue")
    date = _date(child(issue, "PubDate")) or _date(child(book, "PubDate"))
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
        authors=_people(article, "authors"),
        editors=_people(article, "editors"),
        date=date or _date(child(article, "ArticleDate")),
        venue=text_at(journal, "Title") or in_book or text_at(journal, "ISOAbbreviation"),
        volume=text_at(issue, "Volume") or text_at(book, "Volume"),
        number=text_at(issue, "Issue"),
        pages=full_pages(text_at(article, "Pagination", "MedlinePgn")),
        publisher=text_at(book, "Publisher", "PublisherName"),
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=_abstract(article),
        keywords=unique(map(inner_text, words)),
        language=text_at(article, "Language"),
        links=links_to(_cited(record)),
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


def _abstract(article: Element | None) -> str:
    """The parts of the abstract, each behind its label (``METHODS: …``)."""
    parts = []
    for part in children(child(article, "Abstract"), "AbstractText"):
        label, text = part.get("Label", ""), inner_text(part)
        parts.append(f"{label}: {text}" if label and label != "UNLABELLED" and text else text)
    return " ".join(filter(None, parts))


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
    has_root("PubmedArticleSet", *_RECORDS),
    Names(_RECORDS, ("PubmedArticleSet", "DeleteCitation", "DeleteDocument", "PMID")),
    _read,
)
