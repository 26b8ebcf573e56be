"""Bibliographic records in XML: PubMed, EndNote, DBLP and the ACL Anthology.

Except for the Anthology, files may have any size: a file is split behind records, and each record
is parsed separately, so that a broken record costs no other. Later chunks do not have the
declarations at the start of the file: the encoding is part of the context, known entities are
resolved by name, and names match without their prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import (
    collect_cite_keys,
    expand_pages,
    find_arxiv_id,
    format_pages,
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
from citebed.collection.formats.tagged import Entry, clean_pubmed_title, pubmed_doc_id, pubmed_type
from citebed.collection.formats.xml import (
    DECLARED,
    Element,
    attribute,
    child,
    children,
    descendants,
    first_text,
    has_root,
    inner_text,
    local_name,
    parse_fragment,
    source_line,
    text_at,
    to_utf8,
    xml_format,
)
from citebed.records import Document, Problem, Record
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

# --- Files of records -------------------------------------------------------------------------

_COMMENT = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
# An unclosed part extends to the end, so that no character is read twice.
_MARKUP = re.compile(
    (_COMMENT + r"|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]\s*>|\Z)|>|\Z)").encode(),
    re.DOTALL,
)
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
_CLOSING_TAG = re.compile(rb"</(?:[\w.-]+:)?\Z")
_MAX_PREFIX = 80

RecordParser = Callable[[Element, int], Record]
"""Parses the element of a record, which starts in a line."""


class RecordNames(NamedTuple):
    """Names of elements: records, elements that may surround them, and records to ignore."""

    records: tuple[str, ...]
    around: tuple[str, ...]
    ignored: tuple[str, ...] = ()


def xml_records_format(
    name: str, title: str, sniff: Callable[[str], bool], names: RecordNames, parse: RecordParser
) -> Format:
    """Make a format of XML files of records; other elements between records are problems."""
    elements = (*names.records, *names.ignored)
    text = rf"{_COMMENT}|<(/?)(?:[\w.-]+:)?(?:{'|'.join(elements)})(?=[\s/>])[^<>]*>"
    pattern = re.compile(text.encode(), re.DOTALL)

    def parse_chunk(chunk: Chunk) -> Iterator[Record]:
        around = frozenset(name.encode() for name in names.around)
        ignored = frozenset(name.encode() for name in names.ignored)
        data, encoding = chunk.data, chunk.context.get("encoding")
        if encoding:
            data = b'<?xml version="1.0" encoding="%s"?>' % encoding.encode() + data
        text, problems = to_utf8(data)
        yield from (problem._replace(line=chunk.line) for problem in problems)
        line, counted, end, number = chunk.line, 0, 0, 0
        for start, stop in _find_records(text, pattern):
            line, counted = line + text.count(b"\n", counted, start), start
            yield from _check_between(text[end:start], around, line)
            end = stop
            tag = _TAG.match(text, start)
            if tag is not None and tag[1] in ignored:
                number += 1
                continue
            root, problems = parse_fragment(text[start:stop])
            yield from (problem._replace(line=line + problem.line - 1) for problem in problems)
            if root is not None:
                yield parse(root, line)
        yield from _check_between(text[end:], around, line + text.count(b"\n", counted, end))
        if number:
            kinds = " or ".join(names.ignored)
            what = (
                f"ignored {count(number, 'record')} of the kind {kinds}, which is not a publication"
            )
            yield Problem(chunk.line, what, "ignored")

    def split(data: bytes) -> int:
        return max(_find_last_end(data, element.encode()) for element in elements)

    return Format(name, title, sniff, parse_chunk, split, _collect_encoding)


def _find_last_end(data: bytes, element: bytes) -> int:
    """Return the end of the last closing tag of an element with any prefix, or 0."""
    at = len(data)
    while (at := data.rfind(element + b">", 0, at)) >= 0:
        if _CLOSING_TAG.search(data, max(0, at - _MAX_PREFIX), at):
            return at + len(element) + 1
    return 0


def _collect_encoding(data: bytes, context: dict[str, str]) -> None:
    if "encoding" not in context:
        declared = DECLARED.match(data[:200])
        context["encoding"] = declared[1].decode("ascii") if declared else ""


def _find_records(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where each record starts and ends; an unclosed record ends before the next."""
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


def _check_between(text: bytes, around: frozenset[bytes], line: int) -> Iterator[Problem]:
    """Yield a problem if an unknown element is between records."""
    if b"<" in text:
        names: Any = dict.fromkeys(_TAG.findall(_MARKUP.sub(b"", text)))
        unknown = [name for name in names if name not in around]
        if unknown:
            first = unknown[0].decode("utf-8", "replace")
            yield Problem(line, f"expected a record, found <{first}>; skipped")


# --- PubMed -----------------------------------------------------------------------------------


def _parse_pubmed(record: Element, line: int) -> Record:
    citation = child(record, "MedlineCitation")
    citation = child(record, "BookDocument") if citation is None else citation
    article = child(citation, "Article")
    article = citation if article is None else article
    number = text_at(citation, "PMID")
    ids = [
        *children(child(record, "PubmedData", "ArticleIdList"), "ArticleId"),
        *children(child(citation, "ArticleIdList"), "ArticleId"),
    ]
    dois = [e for e in ids if e.get("IdType") == "doi"]
    dois += (e for e in children(article, "ELocationID") if e.get("EIdType") == "doi")
    doi = next(filter(None, map(normalise_doi, map(inner_text, dois))), None)
    title = text_at(article, "ArticleTitle") or text_at(article, "Book", "BookTitle")
    journal, book = child(article, "Journal"), child(article, "Book")
    issue = child(journal, "JournalIssue")
    date = _parse_pubmed_date(child(issue, "PubDate")) or _parse_pubmed_date(child(book, "PubDate"))
    kinds = [inner_text(e) for e in descendants(article, "PublicationType")]
    in_book = text_at(book, "BookTitle") if text_at(article, "ArticleTitle") else ""
    abstract = []
    for part in children(child(article, "Abstract"), "AbstractText"):
        label, text = part.get("Label", ""), inner_text(part)
        has_label = label and label != "UNLABELLED" and text
        abstract.append(f"{label}: {text}" if has_label else text)
    # The keywords of the authors, then the MeSH headings.
    words = (*descendants(citation, "Keyword"), *descendants(citation, "DescriptorName"))
    return make_document(
        line,
        pubmed_doc_id(number) if number else doi,
        "an article without a PMID or a DOI",
        type=pubmed_type(kinds, bool(in_book)) if journal is not None or in_book else "book",
        title=clean_pubmed_title(title),
        authors=_parse_pubmed_people(article, "authors"),
        editors=_parse_pubmed_people(article, "editors"),
        date=date or _parse_pubmed_date(child(article, "ArticleDate")),
        venue=text_at(journal, "Title") or in_book or text_at(journal, "ISOAbbreviation"),
        volume=text_at(issue, "Volume") or text_at(book, "Volume"),
        number=text_at(issue, "Issue"),
        pages=expand_pages(text_at(article, "Pagination", "MedlinePgn")),
        publisher=text_at(book, "Publisher", "PublisherName"),
        doi=doi,
        arxiv=find_arxiv_id(doi),
        abstract=" ".join(filter(None, abstract)),
        keywords=unique(map(inner_text, words)),
        language=text_at(article, "Language"),
        links=make_links(_pubmed_references(record)),
    )


def _parse_pubmed_date(date: Element | None) -> str | None:
    """Return a date in parts, or as text like ``2010 Jul-Aug``."""
    if date is None:
        return None
    year, day = year_in(text_at(date, "Year")), text_at(date, "Day")
    number = int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None
    exact = iso_date(year, month_in(text_at(date, "Month")), number)
    return exact or parse_worded_date(text_at(date, "MedlineDate"))


def _parse_pubmed_people(article: Element | None, role: str) -> tuple[str, ...]:
    """Return the names in the lists of a role; a list without a role has authors."""
    names = []
    for people in descendants(article, "AuthorList"):
        for person in children(people, "Author") if people.get("Type", "authors") == role else ():
            family, given = text_at(person, "LastName"), text_at(person, "ForeName")
            given = given or text_at(person, "Initials")
            name = name_from_parts(family, given, text_at(person, "Suffix")) if family else ""
            names.append(name or text_at(person, "CollectiveName"))
    return filled(names)


def _pubmed_references(record: Element) -> Iterator[str]:
    """Yield the PubMed number of each reference, else its DOI."""
    for reference in descendants(child(record, "PubmedData"), "Reference"):
        ids = list(descendants(reference, "ArticleId"))
        number = first_text(e for e in ids if e.get("IdType") == "pubmed")
        doi = normalise_doi(first_text(e for e in ids if e.get("IdType") == "doi"))
        yield pubmed_doc_id(number) if number else doi or ""


_PUBMED_RECORDS = ("PubmedArticle", "PubmedBookArticle")
PUBMED_XML = xml_records_format(
    "pubmed-xml",
    "PubMed XML",
    has_root("PubmedArticleSet", *_PUBMED_RECORDS),
    RecordNames(_PUBMED_RECORDS, ("PubmedArticleSet", "DeleteCitation", "DeleteDocument", "PMID")),
    _parse_pubmed,
)

# --- EndNote ----------------------------------------------------------------------------------

_ENDNOTE_HEAD = r"<records?\b[^<>]*>\s*<(?:record|database|source-app)\b"
_ENDNOTE_PLAIN = ("volume", "number", "publisher", "abstract", "language", "edition", "isbn")


def parse_endnote_record(record: Element, line: int) -> Record:
    """Return the document of an EndNote record, or a problem if nothing names it."""
    reference_type = child(record, "ref-type")
    kind = None
    if reference_type is not None:
        kind = reference_type.get("name") or inner_text(reference_type)
    title = text_at(record, "titles", "title")
    authors, editors = (
        parse_names(filter(None, map(inner_text, children(people, "author"))))
        for people in (
            child(record, "contributors", "authors"),
            child(record, "contributors", "secondary-authors"),
        )
    )
    dates = child(record, "dates")
    year = pick_date(text_at(dates, "year"))
    exact = (
        parse_worded_date(f"{inner_text(e)} {year[:4]}") for e in descendants(dates, "date") if year
    )
    date = max(filter(None, (year, *exact)), key=len, default=None)
    # Other places (pdf-urls) have files on the disk of the owner.
    places = children(child(record, "urls"), "related-urls", "web-urls")
    addresses = (inner_text(url) for place in places for url in descendants(place, "url"))
    urls = [*filter(None, (address.partition(" ")[0] for address in addresses))]
    stated = map(normalise_doi, (text_at(record, "electronic-resource-num"), *urls))
    doi = next(filter(None, stated), None)
    label, number = text_at(record, "label"), text_at(record, "accession-num")
    doc_id = label or doi or number
    if not doc_id and (title or authors or editors):
        doc_id = generate_key(authors or editors, date[:4] if date else None, title)
    # Some files have all keywords in one element, in lines or separated by semicolons.
    keywords = ("".join(map(str, e.itertext())) for e in descendants(record, "keyword"))
    return make_document(
        line,
        remove_spaces(doc_id),
        type=to_bibtex_type(kind),
        title=title,
        authors=authors,
        editors=editors,
        date=date,
        year=None if date else year_before_1(text_at(dates, "year")),
        venue=text_at(record, "titles", "secondary-title")
        or text_at(record, "periodical", "full-title")
        or text_at(record, "alt-periodical", "full-title"),
        **{name: text_at(record, name) for name in _ENDNOTE_PLAIN},
        pages=parse_pages(text_at(record, "pages")),
        place=text_at(record, "pub-location"),
        doi=doi,
        arxiv=find_arxiv_id(doi, *urls),
        url=next(iter(urls), None),
        keywords=unique(fold(word) for text in keywords for word in re.split(r"[;\n\r]", text)),
        keys=collect_cite_keys(ids=[label], notes=[text_at(record, "notes")]),
    )


ENDNOTE_XML = xml_records_format(
    "endnote-xml",
    "EndNote XML",
    has_root("xml", "records", holding=_ENDNOTE_HEAD),
    RecordNames(("record",), ("xml", "records")),
    parse_endnote_record,
)

# --- DBLP -------------------------------------------------------------------------------------

_DBLP_PUBLICATIONS = (
    *("article", "inproceedings", "proceedings", "book", "incollection"),
    *("phdthesis", "mastersthesis", "data"),
)
_DBLP_VENUE = {"book": "series", "proceedings": "series"}
_NAMESAKE = re.compile(r"\s\d{4}$")  # the number of namesakes: Wei Wang 0001
_DBLP_HEAD = (
    r"\A<(?:[\w.-]+:)?dblp\b"
    r"|\A<(?:article|inproceedings|proceedings|book|incollection|www)\s[^<>]*\bkey\s*="
)


def _parse_dblp(record: Element, line: int) -> Record:
    kind, key = local_name(record), attribute(record, "key")
    entry = Entry(line, {})
    for field in record:
        if text := inner_text(field):
            entry.fields.setdefault(local_name(field), []).append(text)
    title, addresses = entry.first("title"), entry.all("ee")
    doi = next(filter(None, map(normalise_doi, addresses)), None)
    year = year_in(entry.first("year"))
    return make_document(
        line,
        key,
        f"a record <{kind}> without a key",
        type="misc" if kind == "data" else kind,
        title=title[:-1] if title.endswith(".") and not title.endswith("..") else title,
        authors=filled(map(_parse_dblp_name, entry.all("author"))),
        editors=filled(map(_parse_dblp_name, entry.all("editor"))),
        year=year,
        date=iso_date(year, month_in(entry.first("month"))),
        venue=entry.first("journal", _DBLP_VENUE.get(kind, "booktitle")),
        volume=entry.first("volume"),
        number=entry.first("number"),
        pages=page_range(entry.first("pages")),
        publisher=entry.first("publisher", "school"),
        doi=doi,
        arxiv=find_arxiv_id(doi, *addresses, entry.first("volume")),
        url=next(iter(addresses), None),
        crossref=entry.first("crossref"),
        keys=collect_cite_keys([key]),
        links=make_links(cited for cited in entry.all("cite") if cited != "..."),
    )


@lru_cache(maxsize=1 << 15)
def _parse_dblp_name(name: str) -> str:
    return name_from_display(_NAMESAKE.sub("", name))


DBLP_XML = xml_records_format(
    "dblp-xml",
    "DBLP XML",
    has_root("dblp", *_DBLP_PUBLICATIONS, holding=_DBLP_HEAD),
    RecordNames(_DBLP_PUBLICATIONS, ("dblp",), ("www", "person")),  # those are pages of people
    _parse_dblp,
)

# --- ACL Anthology ----------------------------------------------------------------------------

_ANTHOLOGY_ID = re.compile(
    r"(?:https?://(?:www\.)?(?:aclanthology\.org|aclweb\.org/anthology)/)?"
    r"([A-Z]\d\d-\d{4}|\d{4}\.[a-z0-9_]+-[a-zA-Z0-9_]+\.\d+)(?:\.pdf|/)?"
)
_JOURNAL_VENUES = {
    "cl": "Computational Linguistics",
    "tacl": "Transactions of the Association for Computational Linguistics",
}
_ISSUE = re.compile(r"[,:]?\s+(?:Volume|Vol\.)\s+\w+.*", re.DOTALL)


def _parse_anthology(root: Element, chunk: Chunk) -> Iterator[Record]:
    """Yield a document for each paper and each front matter of a collection's volumes."""
    for volume in children(root, "volume"):
        meta = child(volume, "meta")
        year = year_in(text_at(meta, "year"))
        journal_fields = children(meta, "journal-title", "journal-volume", "journal-issue")
        kind = volume.get("type")
        is_journal = kind == "journal" or (kind is None and next(journal_fields, None) is not None)
        venue = text_at(meta, "booktitle")
        if is_journal:
            known = (_JOURNAL_VENUES.get(inner_text(e), "") for e in children(meta, "venue"))
            title = text_at(meta, "journal-title") or next(filter(None, known), "")
            venue = title or _ISSUE.sub("", venue)
        shared = Document(
            doc_id="",
            type="article" if is_journal else "inproceedings",
            editors=_parse_people(meta, "editor"),
            year=year,
            date=iso_date(year, month_in(text_at(meta, "month"))),
            venue=venue or None,
            volume=(text_at(meta, "journal-volume") or None) if is_journal else None,
            number=(text_at(meta, "journal-issue") or None) if is_journal else None,
            publisher=text_at(meta, "publisher") or None,
        )
        for entry in children(volume, "frontmatter", "paper"):
            yield from _parse_paper(entry, volume, shared, source_line(entry, chunk))


def _parse_paper(entry: Element, volume: Element, shared: Document, line: int) -> Iterator[Record]:
    is_front = local_name(entry) == "frontmatter"
    stated = _ANTHOLOGY_ID.fullmatch(text_at(entry, "url"))
    collection = volume.getparent()
    if stated is not None:
        doc_id = stated[1]
    else:
        number = "0" if is_front else entry.get("id", "")
        name = "" if collection is None else collection.get("id", "")
        doc_id = make_anthology_id(name, volume.get("id", ""), number)
    if not doc_id:
        yield Problem(line, "a paper without an id, and no Anthology id in its url")
        return
    doi = text_at(entry, "doi")
    if doi and normalise_doi(doi) is None:
        yield Problem(line, f"{doc_id}: '{doi}' is not a DOI and was left out", "mended")
    title, pages = text_at(entry, "title"), format_pages(text_at(entry, "pages"))
    document = shared._replace(
        doc_id=doc_id,
        doi=normalise_doi(doi),
        url=f"https://aclanthology.org/{doc_id}",
        pages=pages,
        line=line,
    )
    if is_front or entry.get("id") == "0":  # the volume itself
        yield document._replace(
            type="proceedings",
            title=text_at(volume, "meta", "booktitle") or title,
            editors=shared.editors or _parse_people(entry, "author"),
        )
    else:
        yield document._replace(
            title=title,
            authors=_parse_people(entry, "author"),
            editors=_parse_people(entry, "editor") or shared.editors,
            abstract=text_at(entry, "abstract") or None,
            language=text_at(entry, "language") or None,
        )


def _parse_people(parent: Element | None, role: str) -> tuple[str, ...]:
    """Return the names of a role, without variants in other scripts and affiliations."""
    names = []
    for person in children(parent, role):
        first, last, suffix = (text_at(person, part) for part in ("first", "last", "suffix"))
        if first or last:
            names.append(name_from_parts(last, first, suffix))
        else:
            names.append(name_from_display(fold(person.text or "")))
    return filled(names)


def make_anthology_id(collection: str, volume: str, paper: str) -> str:
    """Return the id of a paper by the rule of the Anthology; ``""`` if a part is missing.

    ``2020.acl``, ``main``, ``1`` is ``2020.acl-main.1``; ``P05``, ``1``, ``1`` is ``P05-1001``.
    Workshops (``W``, ``C69``, ``D19`` from volume 5 on) have two digits for the volume and two
    for the paper.
    """
    if not (collection and volume and paper):
        return ""
    if collection[0].isdigit():
        return f"{collection}-{volume}.{paper}"
    if not all(part.isascii() and part.isdigit() for part in (volume, paper)):
        return f"{collection}-{volume}{paper}"
    is_workshop = collection[0] == "W" or collection == "C69"
    if is_workshop or (collection == "D19" and int(volume[:4]) >= 5):
        return f"{collection}-{volume:0>2}{paper:0>2}"
    return f"{collection}-{volume}{paper:0>3}"


ACL_XML = xml_format(
    "acl-xml",
    "ACL Anthology XML",
    ("collection",),
    _parse_anthology,
    holding=r"<volume\s[^<>]*\bid\s*=",
)
