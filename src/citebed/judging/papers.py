"""Source papers of a campaign: their authors, online dates and references.

They come as CSV (a line per paper) or BibTeX (an entry per paper) with these fields:

- ``paper_id`` (in BibTeX the key), ``title``, ``year``, ``url``;
- ``online``: a date before which citebed invites no author;
- ``authors``: ``Ada Bell <ada@example.org>; Ben Carr <ben@example.org>``; in BibTeX ``author`` and
  ``email`` in the same order;
- ``references``: ids or DOIs of documents, or titles of other papers, separated by semicolons. By
  default they come from the collection's annotated paper or document with this id.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from email.utils import parseaddr
from pathlib import Path
from typing import NamedTuple

import polars as pl
from sqlalchemy import insert, select

from citebed.collection import Collection
from citebed.collection.formats.base import decode, normalise_newlines
from citebed.collection.formats.bibtex import entry_to_document, is_document
from citebed.collection.formats.bibtex_scanner import scan
from citebed.collection.names import normalise_name, unique_names
from citebed.collection.tables import row_to_document
from citebed.errors import FormatError
from citebed.files.input_files import read_small
from citebed.judging.forms.sheet import Entry
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import authorships, papers, people, references
from citebed.records import Document, Problem
from citebed.text.latex import latex_to_text
from citebed.text.names import display_name
from citebed.text.normalise import fold, year_in
from citebed.wording import printable

_ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_MOST_BYTES = 64 << 20
_LONGEST_ADDRESS = 320
"""The maximum length of a name with its address; the parser recurses for each parenthesis."""


class Author(NamedTuple):
    """An author; without an address, citebed cannot invite them."""

    name: str
    email: str | None = None


class SourceReference(NamedTuple):
    """A reference of a source paper, with its ``doc_id`` if the collection has it."""

    entry: Entry
    doc_id: str | None = None


class SourcePaper(NamedTuple):
    """A paper whose authors are invited."""

    label: str
    title: str
    year: int | None = None
    url: str | None = None
    online_on: date | None = None
    authors: tuple[Author, ...] = ()
    references: tuple[SourceReference, ...] = ()


def read_papers(path: str | Path, collection: Collection) -> list[SourcePaper]:
    """Read source papers from CSV or BibTeX and look up their references in a collection."""
    path = Path(path)
    text = normalise_newlines(decode(read_small(path, _MOST_BYTES))[0])
    rows = _read_bibtex(path, text) if path.suffix.lower() == ".bib" else _read_csv(path, text)
    lookup = DocumentLookup(collection)
    sources = [_make_paper(path, line, row, lookup) for line, row in rows]
    if not sources:
        raise FormatError(
            path, None, "the file has no paper; expected a line or an entry per paper."
        )
    seen: set[str] = set()
    for paper in sources:
        if paper.label in seen:
            raise FormatError(path, None, f"the paper '{paper.label}' occurs twice.")
        seen.add(paper.label)
    return sources


def _read_csv(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")), restkey="", restval="")
    try:
        names = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        if "paper_id" not in names:
            shown = printable(", ".join(names)[:200]) or "none"
            raise FormatError(path, 1, f"columns: {shown}; expected paper_id, title, authors and, "
                              "if known, year, url, online, references, with commas.")  # fmt: skip
        reader.fieldnames = names
        for row in reader:
            if row.pop("", None):
                raise FormatError(path, reader.line_num, "the row has more cells than the header.")
            yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except csv.Error as error:
        what = str(error).partition(" - ")[0]  # drop advice for programmers
        raise FormatError(path, max(reader.line_num, 1), f"not valid CSV: {what}.") from error


def _read_bibtex(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    for entry in scan(text, 1, {}):
        if isinstance(entry, Problem) and entry.kind == "skipped":
            raise FormatError(path, entry.line, entry.what)
        if isinstance(entry, Problem) or not is_document(entry):
            continue
        document = entry_to_document(entry)
        addresses = _ADDRESS.findall(latex_to_text(entry.fields.get("email", "")))
        pairs = zip(document.authors, addresses + [""] * len(document.authors), strict=False)
        row = {
            "paper_id": document.doc_id,
            "title": document.title,
            "year": str(document.year or ""),
            "url": document.url or "",
            "online": entry.fields.get("online", "").strip(),
            "authors": "; ".join(f"{display_name(name)} <{mail}>" for name, mail in pairs),
            "references": latex_to_text(entry.fields.get("references", "")),
        }
        yield entry.line, row


def _make_paper(
    path: Path, line: int, row: Mapping[str, str], lookup: DocumentLookup
) -> SourcePaper:
    label = row.get("paper_id", "")
    if not label or re.search(r"\s", label) or len(label) > 200:
        raise FormatError(path, line, f"paper_id '{label[:50]}'; expected one word.")
    known = lookup.paper(label)
    title = fold(row.get("title", "")) or (known.title if known else "")
    if not title:
        raise FormatError(path, line, f"the paper '{label}' has no title.")
    try:
        online = date.fromisoformat(row["online"]) if row.get("online") else None
    except ValueError:
        raise FormatError(path, line, f"online '{row['online'][:30]}'; expected a date like "
                          "2026-07-05.") from None  # fmt: skip
    references = lookup.references(label, [fold(r) for r in row.get("references", "").split(";")])
    if not references:
        raise FormatError(
            path,
            line,
            f"the paper '{label}' has no references. Name them in this line, or import the "
            "annotated paper into the collection.",
        )
    authors: dict[str, Author] = {}
    for each in filter(str.strip, row.get("authors", "").split(";")):
        name, mail = parse_address(each.strip()) if "@" in each else (each, "")
        name = fold(re.sub(r"[\x00-\x1f\x7f]+", " ", name).replace("<>", ""))
        if "@" in each and not _ADDRESS.fullmatch(mail):
            raise FormatError(path, line, f"'{each.strip()[:80]}'; expected Name <name@host>.")
        author = Author(name or mail, mail.lower() or None)
        if author.email is not None and author.email in authors:
            raise FormatError(path, line, f"the address {mail} occurs twice.")
        authors[author.email or f"{len(authors)}"] = author
    return SourcePaper(
        label,
        title,
        year_in(row.get("year")) or (known.year if known else None),
        row.get("url") or (known.url if known else None),
        online,
        tuple(authors.values()),
        references,
    )


def parse_address(text: str) -> tuple[str, str]:
    """Split ``Name <name@host>`` into name and address; both are empty without an address."""
    return parseaddr(text) if len(text) <= _LONGEST_ADDRESS else ("", "")


class DocumentLookup:
    """Looks up documents and annotated papers of a collection by name."""

    def __init__(self, collection: Collection) -> None:
        self._documents = collection.documents
        place = {doc_id: row for row, doc_id in enumerate(self._documents["doc_id"])}
        names = unique_names(self._documents)
        self._rows = {name: place[doc_id] for doc_id, name in names.iter_rows()}
        self._links = collection.links.filter(pl.col("kind") == "cites")
        self._papers = {paper.paper_id: paper for paper in collection.iter_papers()}
        listed = collection.references.select("paper_id", "title", "url", "doc_id", "raw")
        self._listed: dict[str, list[tuple[str | None, ...]]] = {}
        for label, *row in listed.iter_rows():
            self._listed.setdefault(label, []).append(tuple(row))

    def paper(self, label: str) -> Document | None:
        """Return the collection's metadata of a source paper."""
        if (paper := self._papers.get(label)) is not None:
            return Document(label, title=paper.title, year=paper.year)
        return self.document(label)

    def document(self, name: str) -> Document | None:
        """Return the document with this id, DOI or other name."""
        row = self._rows.get(normalise_name(name))
        return None if row is None else row_to_document(self._documents.row(row, named=True))

    def references(self, label: str, cited: list[str]) -> tuple[SourceReference, ...]:
        """Return the given references of a paper, or those in the collection."""
        names: list[tuple[str | None, ...]] = [(None, None, name, name) for name in cited if name]
        if not names:
            names = self._listed.get(label, [])
        if not names and (document := self.document(label)) is not None:
            cites = self._links.filter(pl.col("doc_id") == document.doc_id)
            names = [(None, None, target, target) for target in cites["target"]]
        references = []
        for number, (title, url, name, raw) in enumerate(names, 1):
            document = self.document(name) if name else None
            if document is None:
                entry = Entry(number, title or raw or "(no title)", url=url)
                references.append(SourceReference(entry))
            else:
                references.append(SourceReference(make_entry(number, document), document.doc_id))
        return tuple(references)


def make_entry(number: int, document: Document) -> Entry:
    """Return a document as an entry of a form."""
    link = document.url or (f"https://doi.org/{document.doi}" if document.doi else None)
    authors = ", ".join(display_name(name) for name in document.authors)
    return Entry(number, document.title, authors, document.year, link)


def add_papers(store: CampaignStore, sources: list[SourcePaper]) -> int:
    """Add source papers to a campaign; return how many are new. Known ones are not changed."""
    with store.writing() as tx:
        added = insert_papers(tx, sources)
        tx.log("papers", added=added)
    return added


def insert_papers(tx: Transaction, sources: Iterable[SourcePaper]) -> int:
    """Add the papers that the campaign does not have; return how many."""
    mine = papers.c.campaign_id == tx.id
    known = set(tx.scalars(select(papers.c.label).where(mine)))
    new = [paper for paper in sources if paper.label not in known]
    for paper in new:
        row = {"label": paper.label, "title": paper.title, "year": paper.year, "url": paper.url}
        number = tx.add(papers, campaign_id=tx.id, online_on=paper.online_on, **row)
        for position, author in enumerate(paper.authors, 1):
            person = find_or_add_person(tx, author)
            tx.add(authorships, paper_id=number, person_id=person, position=position)
        rows = [
            {**cited.entry._asdict(), "doc_id": cited.doc_id, "paper_id": number}
            for cited in paper.references
        ]
        tx.execute(insert(references), rows)
    return len(new)


def find_or_add_person(tx: Transaction, author: Author) -> int:
    """Return the person with this mail address; add them if they are new."""
    if author.email is not None:
        mine = (people.c.campaign_id == tx.id) & (people.c.email == author.email)
        known = tx.scalar(select(people.c.id).where(mine))
        if known is not None:
            return int(known)
    return tx.add(people, campaign_id=tx.id, name=author.name, email=author.email)
