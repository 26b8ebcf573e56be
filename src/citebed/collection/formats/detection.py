"""The table of formats, and how citebed detects the format of a file.

citebed imports the module of a format when it first needs that format.
"""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from citebed.collection.formats.base import Format
from citebed.errors import UnknownName
from citebed.text.regex import compile_regex


class _FormatTable(UserDict[str, Any]):
    """Formats by name; a format that was not used yet is the name of its module."""

    def __getitem__(self, name: str) -> Format:
        value = self.data[name]
        if isinstance(value, str):
            module = import_module(f"citebed.collection.formats.{value}")
            value = self.data[name] = getattr(module, name.upper().replace("-", "_"))
        format: Format = value
        return format


FORMATS = _FormatTable(
    {
        "pdf": "pdf",
        "bibtex": "bibtex",
        "acl-xml": "xml_records",
        "annotation-xml": "acm_cr",
        "tei": "tei",
        "jats": "jats",
        "pubmed-xml": "xml_records",
        "endnote-xml": "xml_records",
        "dblp-xml": "xml_records",
        "arxiv-atom": "catalogues",
        "zotero-rdf": "zotero",
        "opf": "zotero",
        "trec-topics": "trec",
        "trec-documents": "trec",
        "smart": "smart",
        "smart-queries": "smart",
        "ris": "tagged",
        "nbib": "tagged",
        "web-of-science": "tagged",
        "enw": "tagged",
        "csl-yaml": "csl",
        "dois": "acm_cr",
        "beir-qrels": "beir",
        "trec-qrels": "trec",
        "openalex": "catalogues",
        "s2orc": "s2orc",
        "arxiv-json": "catalogues",
        "zotero-json": "zotero",
        "semantic-scholar": "catalogues",
        "csl-json": "csl",
        "local-citation-json": "jsonl",
        "beir-corpus": "beir",
        "beir-queries": "beir",
        "jsonl": "jsonl",
        "csv": "csv_tables",
        "tsv-queries": "beir",
        "tsv-documents": "beir",
    }
)
"""All formats by name. The first whose ``sniff`` accepts a file reads it."""


def recognise(head: str) -> Format | None:
    """Return the format of a file from its first kilobytes, or ``None``."""
    head = head.removeprefix("\ufeff")
    return next((format for format in FORMATS.values() if format.sniff(head)), None)


# --- Ambiguous files ------------------------------------------------------------------------

_DOCUMENTS = re.compile(r"corpus|collection|doc|\.all\b|passages", re.IGNORECASE)
_QUERIES = re.compile(r"quer|topic|\.qry\b|\.que\b|questions", re.IGNORECASE)
_JUDGEMENTS = re.compile(r"\.rel\b|qrel", re.IGNORECASE)
_PAIRS = (
    ("beir-corpus", "beir-queries"),
    ("smart", "smart-queries"),
    ("tsv-documents", "tsv-queries"),
)
"""Formats of documents and of queries that can contain the same text."""


class FormatDetector:
    """Detects the formats of the files of an import.

    ``forced`` is a format for all files; ``names`` are the files that the import reads. Lines of
    two ids are judgements if the name of the file says so. If the content fits documents as well
    as queries, the name of the file decides, then the names of the files next to it (if another
    file has the queries, this one has the documents), then the length of the texts.
    """

    def __init__(self, forced: str | None = None, names: Iterable[str] = ()) -> None:
        if forced is not None and forced not in FORMATS:
            raise UnknownName("format", forced, FORMATS)
        self._forced = FORMATS[forced] if forced is not None else None
        self._names: dict[str, set[str]] = {}
        for name in names:
            folder, own = _split_name(name)
            self._names.setdefault(folder, set()).add(own)

    def detect(self, name: str, head: str) -> tuple[Format | None, str]:
        """Return the format of a file, and a note if its content fits another format as well."""
        if self._forced is not None:
            return self._forced, ""
        likely = recognise(head)
        folder, own = _split_name(name)
        if likely is None and _JUDGEMENTS.search(own):
            from citebed.collection.formats.trec import TREC_QRELS, sniff_pairs

            likely = TREC_QRELS if sniff_pairs(head) else None
        self._names.setdefault(folder, set()).add(own)
        pairs = [names for names in _PAIRS if likely is not None and likely.name in names]
        if likely is None or not pairs or not likely.is_ambiguous(head):
            return likely, ""
        pair = [FORMATS[each] for each in pairs[0]]
        if (named := _kind_by_name(own)) is not None:
            return pair[named], ""
        kinds = {_kind_by_name(other) for other in self._names[folder] - {own}} - {None}
        chosen, reason = likely, "which is more likely"
        if len(kinds) == 1:
            chosen, reason = pair[kinds == {0}], "judging by the names of the files next to it"
        other = pair[chosen is pair[0]]
        return chosen, (
            f"read as {chosen.title}, {reason}; its content also fits {other.title}: "
            f"use --format {other.name} to read it as that"
        )


def _split_name(name: str) -> tuple[str, str]:
    """Return the folder or archive of a file, and its own name."""
    *folder, own = re.split(r"[/!]", name)
    return "/".join(folder), own


def _kind_by_name(own: str) -> int | None:
    """Return 0 if the name of a file says documents, 1 if it says queries, else ``None``."""
    documents, queries = _DOCUMENTS.search(own), _QUERIES.search(own)
    return None if bool(documents) == bool(queries) else int(bool(queries))


# --- JSON formats ---------------------------------------------------------------------------

_TOKEN = compile_regex(r'"((?:[^"\\]++|\\.)*+)(?:("\s*:)|"|\\?\Z)|[\[\]{}]', re.DOTALL)
_WRAPPERS = (
    *(("message", "items"), ("message",), ("items",), ("results",)),
    *(("data",), ("recommendedPapers",)),
)
_CSL_TYPE = re.compile(r'"type"\s*:\s*"(?:[a-z]+-[a-z-]+|chapter|thesis|report)"')
_OPENALEX_ID = re.compile(r'"id"\s*:\s*"https?://(?:api\.)?openalex\.org/(?:works/)?W\d')


class JsonKeys(NamedTuple):
    """The keys in the head of a JSON file: of its records (inside known wrappers, if any), and of
    the objects inside them.

    ``is_table``: the file is one object, and each of its members is an object. ``is_list``: it is
    an array. ``is_whole``: its first outer value ends within the head.
    """

    head: str
    record: frozenset[str]
    inner: frozenset[str]
    is_table: bool
    is_list: bool
    is_whole: bool


@lru_cache(maxsize=4)
def json_keys(head: str) -> JsonKeys | None:
    """Return the keys in the head of a JSON file, which may end anywhere; ``None`` if not JSON.

    This looks only at strings and brackets, up to three objects deep. Objects in an array have
    the key of the array.
    """
    head = head.lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return None
    paths: set[tuple[str, ...]] = set()
    outer: list[str] = []
    with_objects: set[str] = set()
    stack: list[tuple[str, str]] = []
    key, is_whole = "", False
    for token in _TOKEN.finditer(head):
        mark = token[0][0]
        if mark in "[{":
            stack.append((mark, stack[-1][1] if stack and stack[-1][0] == "[" else key))
            if mark == "{" and len(stack) == 2 and stack[0][0] == "{":
                with_objects.add(key)
        elif mark in "]}":
            del stack[-1:]
            is_whole = is_whole or not stack
        elif token[2] and len(stack) <= 8:
            key = token[1]
            path = tuple(name for bracket, name in stack if bracket == "{")[1:]
            paths.add((*path, key)[:4])
            outer += [] if path else [key]
    top, unfinished = set(outer), set() if is_whole else set(outer[-1:])
    start: tuple[str, ...] = ()
    if not top & {"_id", "doc_id", "DOI"}:
        inside = (w for w in _WRAPPERS if any(p[: len(w)] == w and p != w for p in paths))
        start = next(inside, ())
    under = {path[len(start) :] for path in paths if path[: len(start)] == start}
    return JsonKeys(
        head=head,
        record=frozenset(path[0] for path in under if len(path) == 1),
        inner=frozenset(path[1] for path in under if len(path) == 2),
        is_table=not start and bool(with_objects) and top - with_objects <= unfinished,
        is_list=head.startswith("["),
        is_whole=is_whole,
    )


_OPENALEX = {"abstract_inverted_index", "authorships", "referenced_works", "primary_location"}
_SCHOLAR = {"paperId", "corpusid", "corpusId", "externalIds", "externalids", "outbound_citations"}
_SCHOLAR |= {"outCitations", "paperAbstract", "citedPaper", "citingPaper"}
_S2ORC = {"body_text", "bib_entries", "pdf_parse", "latex_parse", "grobid_parse"}
_ARXIV = {"authors_parsed", "categories", "journal-ref", "submitter", "update_date"}
_CSL = {"DOI", "issued", "container-title", "citation-key", "title-short", "publisher-place"}
_CSL_WITH_TITLE = {"URL", "ISSN", "ISBN", "author", "editor", "accessed"}
_BEIR = {"_id", "text"}
_LOCAL = {"masked_text", "citing_id"}
_TEXT = {"title", "abstract", "authors", "sections", "text"}
_OWN_ONLY = {"doc_id", "query_id", "citing", "contexts", "authors"}
_OWN_PAIRS = ({"citing", "context"}, {"query_id", "text"}, {"query_id", "relevance"})
_LONG_TEXT = 300
_TEXT_MEMBER = compile_regex(r'"text"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL)


def is_keyed_csl(keys: JsonKeys) -> bool:
    """Return True if a file is an object of CSL items under their ids."""
    titled = "title" in keys.inner and (_CSL_WITH_TITLE | {"type"}) & keys.inner
    return keys.is_table and bool(_CSL & keys.inner or titled) and not _LOCAL & keys.inner


def json_format_name(head: str) -> str:
    """Return the name of the JSON format of a file, or ``""``; the first rule that holds counts."""
    keys = json_keys(head)
    if keys is None:
        return ""
    record, inner, keyed_csl = keys.record, keys.inner, is_keyed_csl(keys)
    local = keys.is_table and (_LOCAL | {"title", "abstract"}) & inner and not keyed_csl
    if record >= _LOCAL if keys.is_list else local:
        return "local-citation-json"
    if _OPENALEX & record or _OPENALEX_ID.search(keys.head):
        return "openalex"
    if _S2ORC & record or ({"content", "body"} & record and "annotations" in inner):
        return "s2orc"
    if "itemType" in record:
        return "zotero-json"
    if len(_ARXIV & record) >= 2:
        return "arxiv-json"
    paper = {"paper_id", "title", "authors"} <= record and "contexts" not in record
    if _SCHOLAR & record or (paper and {"first", "last"} <= inner):
        return "semantic-scholar"
    if record >= _BEIR:
        texts = _TEXT_MEMBER.findall(keys.head)
        has_long_texts = sum(map(len, texts)) > _LONG_TEXT * len(texts)  # too long for queries
        return "beir-corpus" if "title" in record or has_long_texts else "beir-queries"
    plain = keys.is_list and {"id", "type", "title"} <= record
    titled = {"title", "id"} & record and _CSL_WITH_TITLE & record
    is_csl = _CSL & record or titled or plain or keyed_csl or _CSL_TYPE.search(keys.head)
    if is_csl and not _OWN_ONLY & record:
        return "csl-json"
    named = {"id", "paper_id"} & record and _TEXT & record
    known = named or {"doc_id", "contexts"} & record
    return "jsonl" if known or any(pair <= record for pair in _OWN_PAIRS) else ""
