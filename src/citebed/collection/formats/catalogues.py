"""Records of scholarly catalogues: arXiv, OpenAlex and Semantic Scholar.

arXiv: Atom feeds of its API, and JSON Lines like its metadata snapshot on Kaggle.
OpenAlex: JSON Lines of the snapshot, or pages of the API (``{"results": […]}``), see
https://docs.openalex.org/api-entities/works/work-object.
Semantic Scholar: papers of the Graph API and of the datasets, the older Open Research Corpus, and
S2ORC metadata, see https://api.semanticscholar.org/api-docs/ and https://github.com/allenai/s2orc.
"""

from __future__ import annotations

import re
from typing import Any

from citebed.collection.formats.fields import (
    find_arxiv_id,
    format_pages,
    make_links,
    parse_name_list,
    to_bibtex_type,
)
from citebed.collection.formats.json_files import JsonObject, as_object, as_text, json_format
from citebed.collection.formats.xml import Element, attribute, children, has_root, text_at
from citebed.collection.formats.xml_records import RecordNames, xml_records_format
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, doi_of_arxiv, normalise_doi
from citebed.text.latex import latex_to_text
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import date_in, filled, fold, html_to_text, iso_date, month_in, unique

# --- arXiv ------------------------------------------------------------------------------------

_FEED = (
    *("feed", "link", "title", "id", "updated", "author", "name", "uri", "generator", "rights"),
    *("totalResults", "startIndex", "itemsPerPage", "subtitle", "published"),
)
_CREATED = re.compile(r"\b(\d{1,2}) ([A-Za-z]{3}) (\d{4})\b")


def _tex_to_text(text: str | None) -> str:
    return fold(latex_to_text(text or ""))


def _arxiv_paper(
    number: str, title: str, abstract: str, doi: str | None, journal: str | None
) -> Document:
    """Return a paper of arXiv, with the DOI and the journal under which it was published."""
    return Document(
        doc_id=f"arXiv:{number}",
        type="article" if journal else "misc",
        title=_tex_to_text(title),
        venue=journal or "arXiv",
        doi=doi or doi_of_arxiv(number),
        arxiv=number,
        url=f"https://arxiv.org/abs/{number}",
        abstract=_tex_to_text(abstract) or None,
    )


def _parse_arxiv_entry(entry: Element, line: int) -> Record:
    address = text_at(entry, "id")
    number = arxiv_of(address) or find_arxiv_id(None, address)
    if number is None:
        what = f"an entry without the address of a paper: found '{address[:60]}'"
        return Problem(line, what if address else "an entry without an id")
    date = date_in(text_at(entry, "published"))
    names = (text_at(author, "name") for author in children(entry, "author"))
    return _arxiv_paper(
        number,
        text_at(entry, "title"),
        text_at(entry, "summary"),
        normalise_doi(text_at(entry, "doi")),
        text_at(entry, "journal_ref") or None,
    )._replace(
        authors=filled(map(name_from_display, names)),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique(attribute(term, "term") for term in children(entry, "category")),
        line=line,
    )


def _parse_arxiv_object(paper: JsonObject) -> Document | Problem:
    number = arxiv_of(paper.text("id") or "")
    if number is None:
        return paper.unexpected("a paper of arXiv with its 'id'")
    first_version = next(iter(paper.objects("versions")), paper).text("created") or ""
    date = date_in(paper.text("update_date"))
    if (created := _CREATED.search(first_version)) is not None:
        date = iso_date(int(created[3]), month_in(created[2]), int(created[1]))
    names = (
        name_from_parts(*(_tex_to_text(as_text(part)) for part in parts[:3]))
        for parts in paper.elements("authors_parsed")
        if isinstance(parts, list) and parts
    )
    return _arxiv_paper(
        number,
        paper.text("title") or "",
        paper.text("abstract") or "",
        paper.doi("doi"),
        paper.text("journal-ref"),
    )._replace(
        authors=filled(names) or parse_name_list(_tex_to_text(paper.text("authors"))),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique((paper.text("categories") or "").split()),
        line=paper.line,
    )


ARXIV_ATOM = xml_records_format(
    "arxiv-atom",
    "arXiv Atom feed",
    has_root("feed", "entry", holding="//arxiv.org/"),
    RecordNames(("entry",), _FEED),
    _parse_arxiv_entry,
)
ARXIV_JSON = json_format("arxiv-json", "arXiv metadata (JSON)", _parse_arxiv_object)


# --- OpenAlex ---------------------------------------------------------------------------------

_WORK = re.compile(r"(?:.*/)?(W[0-9]+)", re.IGNORECASE)


def shorten_id(text: str | None) -> str | None:
    """Return ``W123`` for ``https://openalex.org/W123``, and any other id as it is."""
    match = _WORK.fullmatch(text) if text else None
    return match[1].upper() if match else text


def uninvert_abstract(index: dict[str, Any]) -> str | None:
    """Return the abstract of an inverted index (word to positions).

    Words are sorted by position, so gaps and huge positions cost nothing.
    """
    placed = [
        (place, word)
        for word, places in index.items()
        for place in (places if isinstance(places, list) else [places])
        if isinstance(place, int) and not isinstance(place, bool)
    ]
    placed.sort(key=lambda pair: pair[0])
    return html_to_text(" ".join(word for _, word in placed)) or None


def _parse_work_author(value: Any) -> str:
    entry = as_object(value)
    name = entry.object("author").text("display_name") or entry.text("raw_author_name")
    return name_from_display(name or "")


def _parse_work(work: JsonObject) -> Document | Problem:
    ids, location, biblio = map(work.object, ("ids", "primary_location", "biblio"))
    doi = work.doi("doi") or ids.doi("doi")
    doc_id = shorten_id(work.text("id") or ids.text("openalex")) or doi
    if doc_id is None:
        return work.unexpected("an OpenAlex work with 'id'")
    source = location.object("source")
    source = source if source.values else work.object("host_venue")
    kind = to_bibtex_type(work.text("type_crossref", "type"))
    if kind == "article" and source.text("type") == "conference":
        kind = "inproceedings"
    places = [place.text("landing_page_url") for place in (location, *work.objects("locations"))]
    year, date = work.year_and_date("publication_year", "publication_date")
    keywords, concepts = (
        unique(
            as_text(item) or as_object(item).text("display_name", "keyword") or ""
            for item in work.elements(name)
        )
        for name in ("keywords", "concepts")
    )
    abstract = uninvert_abstract(work.object("abstract_inverted_index").values)
    return Document(
        doc_id=doc_id,
        type=kind,
        title=work.markup("title", "display_name") or "",
        authors=work.people("authorships", _parse_work_author),
        year=year,
        date=date,
        venue=source.markup("display_name") or location.markup("raw_source_name"),
        volume=biblio.text("volume"),
        number=biblio.text("issue"),
        pages=format_pages(biblio.text("first_page"), biblio.text("last_page")),
        publisher=source.text("host_organization_name", "publisher"),
        doi=doi,
        arxiv=find_arxiv_id(doi, *places),
        url=location.text("landing_page_url"),
        abstract=abstract or work.markup("abstract"),
        keywords=keywords or concepts,
        language=work.text("language"),
        links=make_links(map(shorten_id, work.texts("referenced_works"))),
        line=work.line,
    )


OPENALEX = json_format("openalex", "OpenAlex works", _parse_work, into=("results",))


# --- Semantic Scholar -------------------------------------------------------------------------

_SCHOLAR_TYPES = {
    "conference": "inproceedings",
    "journalarticle": "article",
    "booksection": "incollection",
    "book": "book",
    "review": "article",
}


def lower_names(obj: JsonObject) -> JsonObject:
    """Return an object with lower-case names: the sources of Semantic Scholar differ in case."""
    return obj._replace(values={name.lower(): value for name, value in obj.values.items()})


def _unwrap_paper(item: JsonObject) -> JsonObject:
    """Return the paper inside what the API or an old release wraps around it."""
    paper = lower_names(item)
    for name in ("citedpaper", "citingpaper"):
        if isinstance(paper.values.get(name), dict):
            return lower_names(paper.object(name))
    if "paper_id" in paper.values:
        metadata = lower_names(paper.object("metadata")).values
        return paper._replace(values={**metadata, **paper.values})
    return paper


def _parse_cited_id(value: Any) -> str | None:
    """Return the id or else the DOI of the paper that a reference names."""
    if not isinstance(value, dict):
        return as_text(value)
    paper = _unwrap_paper(as_object(value))
    own = paper.text("paperid", "corpusid", "paper_id")
    return own or lower_names(paper.object("externalids")).doi("doi")


def _parse_scholar_paper(item: JsonObject) -> Document | Problem:
    paper = _unwrap_paper(item)
    ids, journal = lower_names(paper.object("externalids")), paper.object("journal")
    doi = ids.doi("doi") or paper.doi("doi")
    own_id = paper.text("paperid", "corpusid", "paper_id", "id")
    doc_id = own_id or ids.text("corpusid") or doi
    if doc_id is None:
        return item.unexpected("a paper with 'paperId', 'corpusid' or 'paper_id'")
    arxiv, acl = paper.text("arxiv_id") or ids.text("arxiv"), paper.text("acl_id")
    url, anthology = paper.text("url", "s2_url", "s2url"), acl or ids.text("acl")
    if not url and arxiv:
        url = f"https://arxiv.org/abs/{arxiv}"
    elif not url and anthology:
        url = f"https://aclanthology.org/{anthology}"
    year, date = paper.year_and_date("year", "publicationdate")
    in_journal = journal.text("name") or paper.markup("journal", "journalname")
    in_venue = paper.markup("venue") or paper.object("publicationvenue").text("name")
    named = {name.lower() for name in paper.texts("publicationtypes")}
    kinds = [bibtex for name, bibtex in _SCHOLAR_TYPES.items() if name in named]
    kinds.append("inproceedings" if acl else "article" if in_journal is not None else "misc")
    abstract = paper.markup("abstract", "paperabstract") or ""
    cited = ("references", "outbound_citations", "outcitations")
    return Document(
        doc_id=doc_id,
        type=kinds[0],
        title=paper.markup("title") or "",
        authors=paper.people("authors"),
        year=year,
        date=date,
        venue=in_venue or in_journal,
        volume=journal.text("volume") or paper.text("journalvolume"),
        pages=format_pages(journal.text("pages") or paper.text("journalpages")),
        doi=doi,
        arxiv=find_arxiv_id(doi, url, eprint=arxiv),
        url=url,
        # S2ORC writes ":::" between paragraphs.
        abstract=" ".join(abstract.replace(":::", " ").split()) or None,
        links=make_links(
            _parse_cited_id(value) for name in cited for value in paper.elements(name)
        ),
        line=item.line,
    )


SEMANTIC_SCHOLAR = json_format(
    "semantic-scholar",
    "Semantic Scholar and S2ORC",
    _parse_scholar_paper,
    into=("data", "recommendedPapers"),
)
