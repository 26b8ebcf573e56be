"""The table of all formats, and which of them a file has.

A format's file is loaded when it is asked for: recognising stops at the first that knows a file.
"""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from citebed.collection.formats.base import Format
from citebed.errors import UnknownName


class _Formats(UserDict[str, Any]):
    """Formats by name; of one that was not asked for yet, the file that has it (in capitals)."""

    def __getitem__(self, name: str) -> Format:
        home = self.data[name]
        if isinstance(home, str):
            module = import_module(f"citebed.collection.formats.{home}")
            self.data[name] = getattr(module, name.upper().replace("-", "_"))
        format: Format = self.data[name]
        return format


FORMATS = _Formats(
    {
        "pdf": "pdf",
        "bibtex": "bibtex",
        "acl-xml": "acl_xml",
        "annotation-xml": "annotation",
        "tei": "tei",
        "jats": "jats",
        "pubmed-xml": "xml_records",
        "endnote-xml": "xml_records",
        "dblp-xml": "xml_records",
        "arxiv-atom": "arxiv",
        "zotero-rdf": "zotero",
        "trec-topics": "trec",
        "trec-documents": "trec",
        "smart": "smart",
        "smart-queries": "smart",
        "ris": "ris",
        "nbib": "tagged",
        "web-of-science": "tagged",
        "enw": "tagged",
        "csl-yaml": "csl",
        "dois": "annotation",
        "beir-qrels": "texts",
        "trec-qrels": "trec",
        "openalex": "openalex",
        "s2orc": "semantic_scholar",
        "arxiv-json": "arxiv",
        "zotero-json": "zotero",
        "semantic-scholar": "semantic_scholar",
        "csl-json": "csl",
        "local-citation-json": "jsonl",
        "beir-corpus": "texts",
        "beir-queries": "texts",
        "jsonl": "jsonl",
        "csv": "csv_tables",
        "tsv-queries": "texts",
        "tsv-documents": "texts",
    }
)
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
    ("beir-corpus", "beir-queries"),
    ("smart", "smart-queries"),
    ("tsv-documents", "tsv-queries"),
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
        likely = recognise(head)
        if likely is None and _OF_JUDGEMENTS.search(_split(name)[1]):
            from citebed.collection.formats.trec import TREC_QRELS, sniff_pairs

            likely = TREC_QRELS if sniff_pairs(head) else None
        self._note(name)
        for pair in _PAIRS:
            if likely is not None and likely.name in pair and likely.leaves_doubt(head):
                return self._decided(pair, likely, name)
        return Taken(likely) if likely else None

    def _note(self, name: str) -> None:
        folder, own = _split(name)
        self._beside.setdefault(folder, set()).add(own)

    def _decided(self, names: tuple[str, str], likely: Format, name: str) -> Taken:
        pair = [FORMATS[each] for each in names]
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
