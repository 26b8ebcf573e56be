"""The ACL Anthology's own XML: a collection of volumes, each with its papers.

Both ways of writing ids are understood: ``2020.acl-main.1`` and ``P05-1001``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.fields import page_range
from citebed.collection.formats.xml import (
    Element,
    child,
    children,
    has_root,
    inner_text,
    line_of,
    local,
    open_root,
    text_at,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import filled, fold, iso_date, month_in, year_in

_ID = re.compile(
    r"(?:https?://(?:www\.)?(?:aclanthology\.org|aclweb\.org/anthology)/)?"
    r"([A-Z]\d\d-\d{4}|\d{4}\.[a-z0-9_]+-[a-zA-Z0-9_]+\.\d+)(?:\.pdf|/)?"
)
_JOURNAL_VENUES = {
    "cl": "Computational Linguistics",
    "tacl": "Transactions of the Association for Computational Linguistics",
}
_ISSUE = re.compile(r"[,:]?\s+(?:Volume|Vol\.)\s+\w+.*", re.DOTALL)


def _parse(chunk: Chunk) -> Iterator[Record]:
    """A document for each paper and each front matter, in file order."""
    root, problems = open_root(chunk, "collection")
    yield from problems
    for volume in children(root, "volume"):
        shared = _shared_fields(volume)
        for entry in children(volume, "frontmatter", "paper"):
            yield from _entry(entry, shared, chunk)


def _entry(entry: Element, shared: Document, chunk: Chunk) -> Iterator[Record]:
    """The document of a paper or a front matter; a paper that cannot be named is skipped."""
    line = line_of(entry, chunk)
    doc_id = _doc_id(entry)
    if not doc_id:
        yield Problem(line, "a paper without an id, and no Anthology id in its url")
        return
    doi = text_at(entry, "doi")
    if doi and normalise_doi(doi) is None:
        yield Problem(line, f"{doc_id}: '{doi}' is not a DOI and was left out", "mended")
    fields = shared._replace(
        doc_id=doc_id, doi=normalise_doi(doi), url=f"https://aclanthology.org/{doc_id}", line=line
    )
    title, pages = text_at(entry, "title"), page_range(text_at(entry, "pages"))
    if local(entry) == "frontmatter" or entry.get("id") == "0":  # the volume itself
        yield fields._replace(
            type="proceedings",
            title=text_at(entry.getparent(), "meta", "booktitle") or title,
            editors=fields.editors or _people(entry, "author"),
            pages=pages,
        )
    else:
        yield fields._replace(
            title=title,
            authors=_people(entry, "author"),
            editors=_people(entry, "editor") or fields.editors,
            pages=pages,
            abstract=text_at(entry, "abstract") or None,
            language=text_at(entry, "language") or None,
        )


# --- Volumes --------------------------------------------------------------------------------


def _shared_fields(volume: Element) -> Document:
    """The fields that a volume's papers have in common, as a document without an id."""
    meta = child(volume, "meta")
    year = year_in(text_at(meta, "year"))
    journal = _is_journal(volume)
    return Document(
        doc_id="",
        type="article" if journal else "inproceedings",
        editors=_people(meta, "editor"),
        year=year,
        date=iso_date(year, month_in(text_at(meta, "month"))),
        venue=(_journal_title(meta) if journal else text_at(meta, "booktitle")) or None,
        volume=(text_at(meta, "journal-volume") or None) if journal else None,
        number=(text_at(meta, "journal-issue") or None) if journal else None,
        publisher=text_at(meta, "publisher") or None,
    )


def _is_journal(volume: Element) -> bool:
    """Whether a volume says that it is an issue of a journal, or has a journal's fields."""
    if (kind := volume.get("type")) is not None:
        return kind == "journal"
    fields = children(child(volume, "meta"), "journal-title", "journal-volume", "journal-issue")
    return next(fields, None) is not None


def _journal_title(meta: Element | None) -> str:
    """The journal's name: given, known by its venue, or the book's title up to the volume."""
    if title := text_at(meta, "journal-title"):
        return title
    venues = (_JOURNAL_VENUES.get(inner_text(venue), "") for venue in children(meta, "venue"))
    return next(filter(None, venues), "") or _ISSUE.sub("", text_at(meta, "booktitle"))


def _people(parent: Element | None, role: str) -> tuple[str, ...]:
    """The names of a role; forms in other scripts (``variant``) and affiliations left out."""
    return filled(_name(person) for person in children(parent, role))


def _name(person: Element) -> str:
    first, last, suffix = (text_at(person, part) for part in ("first", "last", "suffix"))
    if first or last:
        return name_from_parts(last, first, suffix)
    return name_from_display(fold(person.text or ""))


# --- Ids ------------------------------------------------------------------------------------


def _doc_id(entry: Element) -> str:
    """The Anthology id of an entry: what its url says, else built from the ids around it."""
    if (stated := _ID.fullmatch(text_at(entry, "url"))) is not None:
        return stated[1]
    volume = entry.getparent()
    collection = None if volume is None else volume.getparent()
    if volume is None or collection is None:
        return ""
    number = "0" if local(entry) == "frontmatter" else entry.get("id", "")
    return anthology_id(collection.get("id", ""), volume.get("id", ""), number)


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """The id of a paper from its parts, by the Anthology's rule; ``""`` where one is missing.

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
    many_volumes = collection[0] == "W" or collection == "C69"
    if many_volumes or (collection == "D19" and int(volume[:4]) >= 5):
        return f"{collection}-{volume:0>2}{paper:0>2}"
    return f"{collection}-{volume}{paper:0>3}"


ACL_XML = Format(
    *("acl-xml", "ACL Anthology XML", has_root("collection", holding=r"<volume\s[^<>]*\bid\s*=")),
    _parse,
    limit=MAX_XML_BYTES,
)
