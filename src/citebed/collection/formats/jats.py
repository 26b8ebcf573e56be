"""JATS, the XML of PubMed Central and of many publishers: a document, and a citing paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.fields import arxiv_id, page_range
from citebed.collection.formats.fulltext import FullText, Marks, full_text_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    children,
    file_stem,
    first_text,
    has_root,
    inner_text,
    line_of,
    local,
    open_root,
    text_at,
)
from citebed.records import Document, Record, Reference
from citebed.text.identifiers import arxiv_of, looks_like_url, normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import filled, iso_date, month_in, unique, year_in

_JATS = (
    r"\A<(?:[\w.-]+:)?pmc-articleset\b"
    r"|<(?:[\w.-]+:)?(?:front|article-meta|journal-meta)\b|\barticle-type\s*="
)
# What is not running text, and is left out of sections and contexts.
_SKIP = frozenset(
    (
        *("fig", "fig-group", "table-wrap", "table-wrap-group", "supplementary-material"),
        *("fn", "fn-group", "graphic", "media", "ref-list", "sec-meta", "label", "object-id"),
    )
)
_NO_PUBLICATION = ("pmc-release", "nihms-submitted", "received", "accepted", "retracted")
_DATE_ORDER = ("pub", "epub", "epub-ppub", "ppub", "collection")
_DASHES = frozenset("-–—‐‑−")
_LONGEST_RANGE = 100


def _parse(chunk: Chunk) -> Iterator[Record]:
    """For each article the document, then the citing paper if it has one."""
    root, problems = open_root(chunk, "article", "pmc-articleset")
    yield from problems
    for article in below(root, "article"):
        references = tuple(_references(child(article, "back")))
        document, body = _document(article, chunk), child(article, "body")
        how = FullText("sec", "title", _SKIP, _marker(references))
        yield from full_text_records(document, body, references, how)


# --- The front ------------------------------------------------------------------------------


def _document(article: Element, chunk: Chunk) -> Document:
    """What the front says of the article."""
    meta = child(article, "front", "article-meta")
    journal = child(article, "front", "journal-meta")
    doi = normalise_doi(_identifier(children(meta, "article-id"), "doi"))
    date = _date(meta)
    conference = text_at(meta, "conference", "conf-name")
    titles = children(child(meta, "title-group"), "article-title", "subtitle")
    lists = (
        group
        for group in children(meta, "kwd-group")
        if not group.get("kwd-group-type", "").startswith("abbr")
    )
    return Document(
        doc_id=doi or _other_id(article, meta, chunk),
        type="inproceedings" if conference else "article",
        title=": ".join(filter(None, (inner_text(e, ("xref", "fn")) for e in titles))),
        authors=_people(meta, "author"),
        editors=_people(meta, "editor"),
        year=year_in(date),
        date=date,
        venue=first_text(below(journal, "journal-title")) or conference or None,
        volume=text_at(meta, "volume") or None,
        number=text_at(meta, "issue") or None,
        pages=page_range(text_at(meta, "fpage"), text_at(meta, "lpage"))
        or text_at(meta, "elocation-id")
        or None,
        publisher=text_at(journal, "publisher", "publisher-name") or None,
        doi=doi,
        arxiv=arxiv_id(doi, eprint=_identifier(children(meta, "article-id"), "arxiv")),
        abstract=_abstract(meta),
        keywords=unique(inner_text(word) for group in lists for word in below(group, "kwd")),
        language=attribute(article, "lang") or None,
        line=line_of(article, chunk),
    )


def _identifier(ids: Iterable[Element], *kinds: str) -> str:
    return first_text(e for e in ids if e.get("pub-id-type") in kinds)


def _other_id(article: Element, meta: Element | None, chunk: Chunk) -> str:
    """An id for an article without a DOI: its file's name if it is alone there, PMC, PubMed."""
    if article.getparent() is None and (stem := file_stem(chunk.source)):
        return stem
    if number := _identifier(children(meta, "article-id"), "pmc", "pmcid", "pmcaid"):
        return "PMC" + number.upper().removeprefix("PMC")
    number = _identifier(children(meta, "article-id"), "pmid")
    return f"pmid:{number}" if number else ""


def _people(meta: Element | None, role: str) -> tuple[str, ...]:
    """The names of a role; a contributor without one is an author."""
    groups = children(meta, "contrib-group")
    listed = (person for group in groups for person in children(group, "contrib"))
    return filled(_name(p) for p in listed if p.get("contrib-type", "author") == role)


def _name(person: Element) -> str:
    """A person's name, the first of several forms of it, or a group's."""
    name = next(below(person, "name", "string-name", "collab"), None)
    family = text_at(name, "surname")
    if name is None or not family:
        text = inner_text(name, ("contrib-group",))
        return text if name is None or local(name) == "collab" else name_from_display(text)
    return name_from_parts(family, text_at(name, "given-names"), text_at(name, "suffix"))


def _date(meta: Element | None) -> str | None:
    """The date of publication: the electronic one before the printed one."""
    dates = [d for d in children(meta, "pub-date") if _kind(d) not in _NO_PUBLICATION]
    for date in sorted(dates, key=lambda d: (*_DATE_ORDER, _kind(d)).index(_kind(d))):
        day = text_at(date, "day")
        read = iso_date(
            year_in(text_at(date, "year") or attribute(date, "iso-8601-date")),
            month_in(text_at(date, "month")),
            int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None,
        )
        if read is not None:
            return read
    return None


def _kind(date: Element) -> str:
    return date.get("date-type") or date.get("pub-type") or ""


def _abstract(meta: Element | None) -> str | None:
    """The abstract proper (no graphical or short ones), without its own title."""
    for abstract in children(meta, "abstract"):
        if abstract.get("abstract-type") in (None, "", "abstract", "summary"):
            blocks = list(children(abstract, "p", "sec", "list")) or [abstract]
            skip = ("title", "label") if blocks == [abstract] else ("label",)
            return " ".join(filter(None, (inner_text(b, skip) for b in blocks))) or None
    return None


# --- References -----------------------------------------------------------------------------


def _references(back: Element | None) -> Iterator[Reference]:
    """The reference list, keyed by id; known by DOI, else by PubMed's number (``pmid:…``)."""
    for number, ref in enumerate(below(back, "ref"), 1):
        pmid = _identifier(below(ref, "pub-id"), "pmid")
        addresses = [attribute(e, "href") or inner_text(e) for e in below(ref, "ext-link", "uri")]
        linked = filter(None, map(normalise_doi, addresses))
        doi = normalise_doi(_identifier(below(ref, "pub-id"), "doi")) or next(linked, None)
        titles = (*below(ref, "article-title"), *below(ref, "chapter-title", "source"))
        yield Reference(
            ref_id=attribute(ref, "id") or str(number),
            doi=doi,
            url=next((a for a in addresses if looks_like_url(a) and not normalise_doi(a)), None),
            doc_id=f"pmid:{pmid}" if pmid and not doi else None,
            title=first_text(titles) or None,
            arxiv=arxiv_of(_identifier(below(ref, "pub-id"), "arxiv") or ""),
            author=_name(ref) or None,
        )


def _marker(references: tuple[Reference, ...]) -> Callable[[Element], Marks]:
    """A function that gives the citations in an element, with those that a range leaves unsaid.

    ``[3]–[6]`` cites 4 and 5 too: what stands between the two in the list.
    """
    keys = [reference.ref_id for reference in references]
    place = {key: at for at, key in enumerate(keys)}

    def marks(element: Element) -> Marks:
        cited: Marks = {}
        start: int | None = None
        for xref in below(element, "xref"):
            is_citation = xref.get("ref-type") == "bibr"
            rids = attribute(xref, "rid").split() if is_citation else []
            end = place.get(rids[0]) if rids else None
            between: list[str] = []
            if start is not None and end is not None and end - start <= _LONGEST_RANGE:
                between = keys[start + 1 : end]
            if is_citation:
                cited[xref] = (*between, *rids)
            goes_on = (xref.tail or "").strip() in _DASHES
            start = place.get(rids[-1]) if rids and goes_on else None
        return cited

    return marks


JATS = Format(
    "jats",
    "JATS or PubMed Central article",
    has_root("article", "pmc-articleset", holding=_JATS),
    _parse,
    limit=MAX_XML_BYTES,
)
