"""The table of all formats, and which of them a file has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from citebed.collection.formats.acl_xml import ACL_XML
from citebed.collection.formats.annotation import ANNOTATION_XML, DOIS
from citebed.collection.formats.arxiv import ARXIV_ATOM, ARXIV_JSON
from citebed.collection.formats.base import Format
from citebed.collection.formats.bibtex import BIBTEX
from citebed.collection.formats.csl import CSL_JSON, CSL_YAML
from citebed.collection.formats.csv_tables import CSV
from citebed.collection.formats.dblp_xml import DBLP_XML
from citebed.collection.formats.endnote import ENDNOTE_XML, ENW
from citebed.collection.formats.jats import JATS
from citebed.collection.formats.jsonl import JSONL, LOCAL_CITATION_JSON
from citebed.collection.formats.openalex import OPENALEX
from citebed.collection.formats.pubmed import NBIB, PUBMED_XML
from citebed.collection.formats.ris import RIS
from citebed.collection.formats.semantic_scholar import S2ORC, SEMANTIC_SCHOLAR
from citebed.collection.formats.smart import SMART_DOCUMENTS, SMART_QUERIES
from citebed.collection.formats.tei import TEI
from citebed.collection.formats.texts import (
    BEIR_CORPUS,
    BEIR_QRELS,
    BEIR_QUERIES,
    TSV_DOCUMENTS,
    TSV_QUERIES,
)
from citebed.collection.formats.trec import TREC_DOCUMENTS, TREC_QRELS, TREC_TOPICS, sniff_pairs
from citebed.collection.formats.web_of_science import WEB_OF_SCIENCE
from citebed.collection.formats.zotero import ZOTERO_JSON, ZOTERO_RDF
from citebed.errors import UnknownName

FORMATS = {
    format.name: format
    for format in (
        BIBTEX,
        ACL_XML,
        ANNOTATION_XML,
        TEI,
        JATS,
        PUBMED_XML,
        ENDNOTE_XML,
        DBLP_XML,
        ARXIV_ATOM,
        ZOTERO_RDF,
        TREC_TOPICS,
        TREC_DOCUMENTS,
        SMART_DOCUMENTS,
        SMART_QUERIES,
        RIS,
        NBIB,
        WEB_OF_SCIENCE,
        ENW,
        CSL_YAML,
        DOIS,
        BEIR_QRELS,
        TREC_QRELS,
        OPENALEX,
        S2ORC,
        ARXIV_JSON,
        ZOTERO_JSON,
        SEMANTIC_SCHOLAR,
        CSL_JSON,
        LOCAL_CITATION_JSON,
        BEIR_CORPUS,
        BEIR_QUERIES,
        JSONL,
        CSV,
        TSV_QUERIES,
        TSV_DOCUMENTS,
    )
}
"""By name, in the order in which they are asked whether a file is theirs."""


def recognise(head: str) -> Format | None:
    """The format of a file, judged by its first few kilobytes alone."""
    head = head.removeprefix("\ufeff")
    return next((format for format in FORMATS.values() if format.sniff(head)), None)


# --- In doubt -------------------------------------------------------------------------------

_OF_DOCUMENTS = re.compile(r"corpus|collection|doc|\.all\b|passages", re.IGNORECASE)
_OF_QUERIES = re.compile(r"quer|topic|\.qry\b|\.que\b|questions", re.IGNORECASE)
_OF_JUDGEMENTS = re.compile(r"\.rel\b|qrel", re.IGNORECASE)
_PAIRS = (
    (BEIR_CORPUS, BEIR_QUERIES),
    (SMART_DOCUMENTS, SMART_QUERIES),
    (TSV_DOCUMENTS, TSV_QUERIES),
)
"""Formats of documents and of queries that can hold the very same text."""


class Taken(NamedTuple):
    """The format that a file was taken for, and why, where its content fits another as well."""

    format: Format
    why: str = ""


class Recogniser:
    """Says which format a file has: the one ``forced`` on it, else the one its content shows.

    Two ids a line are judgements where the file's name says so. Where the content fits documents
    as well as queries the file's own name decides, then the
    names of the files beside it (one says ``queries``, so this one holds the documents), and
    the more likely of the two where no name helps.
    """

    def __init__(self, forced: str | None = None, names: Iterable[str] = ()) -> None:
        if forced is not None and forced not in FORMATS:
            raise UnknownName("format", forced, FORMATS)
        self._forced = FORMATS[forced] if forced is not None else None
        self._beside: dict[str, set[str]] = {}
        for name in names:
            self._note(name)

    def of(self, name: str, head: str) -> Taken | None:
        """What a file is taken for; ``None`` where it is in no format that is known."""
        if self._forced is not None:
            return Taken(self._forced)
        found = recognise(head)
        if found is None and _OF_JUDGEMENTS.search(_split(name)[1]) and sniff_pairs(head):
            found = TREC_QRELS
        self._note(name)
        for pair in _PAIRS:
            if found in pair and found is not None and found.leaves_doubt(head):
                return self._decided(pair, found, name)
        return Taken(found) if found else None

    def _note(self, name: str) -> None:
        folder, own = _split(name)
        self._beside.setdefault(folder, set()).add(own)

    def _decided(self, pair: tuple[Format, Format], likely: Format, name: str) -> Taken:
        folder, own = _split(name)
        if (named := _named(own)) is not None:
            return Taken(pair[named])
        said = {_named(other) for other in self._beside[folder] - {own}} - {None}
        by = "the names beside it" if len(said) == 1 else "what is likely"
        taken = pair[1 - said.pop()] if len(said) == 1 else likely  # type: ignore[operator]
        other = pair[taken is pair[0]]
        return Taken(
            taken,
            f"taken for {taken.title} by {by}; its content fits {other.title} as well: "
            f"--format {other.name} reads it as that",
        )


def _split(name: str) -> tuple[str, str]:
    """The folder or archive that a file is in, and its own name."""
    *folder, own = re.split(r"[/!]", name)
    return "/".join(folder), own


def _named(own: str) -> int | None:
    """0 for the name of a file of documents, 1 for one of queries; ``None`` for any other."""
    documents, queries = _OF_DOCUMENTS.search(own), _OF_QUERIES.search(own)
    return None if bool(documents) == bool(queries) else int(bool(queries))
