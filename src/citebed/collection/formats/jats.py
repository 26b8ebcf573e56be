"""JATS, the XML of PubMed Central and of many publishers: a document, and a citing paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.fields import find_arxiv_id, format_pages
from citebed.collection.formats.full_text import FullText, Marks, full_text_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    children,
    descendants,
    file_stem,
    first_text,
    inner_text,
    local_name,
    source_line,
    text_at,
    xml_format,
)
from citebed.records import Document, Record, Reference
from citebed.text.identifiers import arxiv_of, looks_like_url, normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import filled, iso_date, month_in, unique, year_in

_JATS = (
    r"\A<(?:[\w.-]+:)?pmc-articleset\b"
    r"|<(?:[\w.-]+:)?(?:front|article-meta|journal-meta)\b|\barticle-type\s*="
)
# Not running text; left out of sections and contexts.
_SKIP = frozenset(
    (
        *("fig", "fig-group", "table-wrap", "table-wrap-group", "supplementary-material"),
        *("fn", "fn-group", "graphic", "media", "ref-list", "sec-meta", "label", "object-id"),
    )
)
_OTHER_DATES = ("pmc-release", "nihms-submitted", "received", "accepted", "retracted")
_DATE_ORDER = ("pub", "epub", "epub-ppub", "ppub", "collection")
_DASHES = frozenset("-–—‐‑−")
_MAX_RANGE = 100


def _parse(root: Element, chunk: Chunk) -> Iterator[Record]:
    for article in descendants(root, "article"):
        references = tuple(_references(child(article, "back")))
        document, body = _document(article, chunk), child(article, "body")
        layout = FullText("sec", "title", _SKIP, _mark_finder(references))
        yield from full_text_records(document, body, references, layout)


# --- The front ------------------------------------------------------------------------------


def _document(article: Element, chunk: Chunk) -> Document:
    meta = child(article, "front", "article-meta")
    journal = child(article, "front", "journal-meta")
    doi = normalise_doi(_identifier(children(meta, "article-id"), "doi"))
    doc_id = doi or ""
    if not doc_id and article.getparent() is None:  # the only article of its file
        doc_id = file_stem(chunk.source)
    if not doc_id and (pmc := _identifier(children(meta, "article-id"), "pmc", "pmcid", "pmcaid")):
        doc_id = "PMC" + pmc.upper().removeprefix("PMC")
    if not doc_id and (pmid := _identifier(children(meta, "article-id"), "pmid")):
        doc_id = f"pmid:{pmid}"
    date = _date(meta)
    conference = text_at(meta, "conference", "conf-name")
    titles = children(child(meta, "title-group"), "article-title", "subtitle")
    keywords = (
        word
        for group in children(meta, "kwd-group")
        if not group.get("kwd-group-type", "").startswith("abbr")
        for word in descendants(group, "kwd")
    )
    return Document(
        doc_id=doc_id,
        type="inproceedings" if conference else "article",
        title=": ".join(filter(None, (inner_text(e, ("xref", "fn")) for e in titles))),
        authors=_people(meta, "author"),
        editors=_people(meta, "editor"),
        year=year_in(date),
        date=date,
        venue=first_text(descendants(journal, "journal-title")) or conference or None,
        volume=text_at(meta, "volume") or None,
        number=text_at(meta, "issue") or None,
        pages=format_pages(text_at(meta, "fpage"), text_at(meta, "lpage"))
        or text_at(meta, "elocation-id")
        or None,
        publisher=text_at(journal, "publisher", "publisher-name") or None,
        doi=doi,
        arxiv=find_arxiv_id(doi, eprint=_identifier(children(meta, "article-id"), "arxiv")),
        abstract=_abstract(meta),
        keywords=unique(map(inner_text, keywords)),
        language=attribute(article, "lang") or None,
        line=source_line(article, chunk),
    )


def _identifier(ids: Iterable[Element], *kinds: str) -> str:
    return first_text(e for e in ids if e.get("pub-id-type") in kinds)


def _people(meta: Element | None, role: str) -> tuple[str, ...]:
    """Return the names of a role; a contributor without a role is an author."""
    groups = children(meta, "contrib-group")
    listed = (person for group in groups for person in children(group, "contrib"))
    return filled(_name(p) for p in listed if p.get("contrib-type", "author") == role)


def _name(person: Element) -> str:
    """Return the first form of a person's name, or the name of a group."""
    name = next(descendants(person, "name", "string-name", "collab"), None)
    family = text_at(name, "surname")
    if name is None or not family:
        text = inner_text(name, ("contrib-group",))
        return text if name is None or local_name(name) == "collab" else name_from_display(text)
    return name_from_parts(family, text_at(name, "given-names"), text_at(name, "suffix"))


def _date(meta: Element | None) -> str | None:
    """Return the date of publication: the electronic before the printed one."""
    dates = [(e.get("date-type") or e.get("pub-type") or "", e) for e in children(meta, "pub-date")]
    published = [(kind, date) for kind, date in dates if kind not in _OTHER_DATES]
    for _, date in sorted(published, key=lambda pair: (*_DATE_ORDER, pair[0]).index(pair[0])):
        day = text_at(date, "day")
        parsed = iso_date(
            year_in(text_at(date, "year") or attribute(date, "iso-8601-date")),
            month_in(text_at(date, "month")),
            int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None,
        )
        if parsed is not None:
            return parsed
    return None


def _abstract(meta: Element | None) -> str | None:
    """Return the abstract without its own title, and no graphical or short abstract."""
    for abstract in children(meta, "abstract"):
        if abstract.get("abstract-type") in (None, "", "abstract", "summary"):
            blocks = list(children(abstract, "p", "sec", "list")) or [abstract]
            skip = ("title", "label") if blocks == [abstract] else ("label",)
            return " ".join(filter(None, (inner_text(b, skip) for b in blocks))) or None
    return None


# --- References -----------------------------------------------------------------------------


def _references(back: Element | None) -> Iterator[Reference]:
    """Yield the reference list, with the DOI, else the PubMed number (``pmid:…``)."""
    for number, ref in enumerate(descendants(back, "ref"), 1):
        pmid = _identifier(descendants(ref, "pub-id"), "pmid")
        links = descendants(ref, "ext-link", "uri")
        addresses = [attribute(e, "href") or inner_text(e) for e in links]
        linked = filter(None, map(normalise_doi, addresses))
        doi = normalise_doi(_identifier(descendants(ref, "pub-id"), "doi")) or next(linked, None)
        titles = (*descendants(ref, "article-title"), *descendants(ref, "chapter-title", "source"))
        yield Reference(
            ref_id=attribute(ref, "id") or str(number),
            doi=doi,
            url=next((a for a in addresses if looks_like_url(a) and not normalise_doi(a)), None),
            doc_id=f"pmid:{pmid}" if pmid and not doi else None,
            title=first_text(titles) or None,
            arxiv=arxiv_of(_identifier(descendants(ref, "pub-id"), "arxiv") or ""),
            author=_name(ref) or None,
        )


def _mark_finder(references: tuple[Reference, ...]) -> Callable[[Element], Marks]:
    """Make a function that finds citation markers; ``[3]–[6]`` cites 4 and 5 as well."""
    keys = [reference.ref_id for reference in references]
    place = {key: at for at, key in enumerate(keys)}

    def find_marks(element: Element) -> Marks:
        marks: Marks = {}
        start: int | None = None
        for xref in descendants(element, "xref"):
            is_citation = xref.get("ref-type") == "bibr"
            rids = attribute(xref, "rid").split() if is_citation else []
            end = place.get(rids[0]) if rids else None
            between: list[str] = []
            if start is not None and end is not None and end - start <= _MAX_RANGE:
                between = keys[start + 1 : end]
            if is_citation:
                marks[xref] = (*between, *rids)
            continues = (xref.tail or "").strip() in _DASHES
            start = place.get(rids[-1]) if rids and continues else None
        return marks

    return find_marks


JATS = xml_format(
    "jats", "JATS or PubMed Central article", ("article", "pmc-articleset"), _parse, _JATS
)
