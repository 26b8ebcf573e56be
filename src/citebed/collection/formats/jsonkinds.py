"""Telling the JSON formats apart by the keys in the first kilobytes of a file.

One table, first match wins, so the formats exclude each other. The head may end anywhere: only
keys are looked at, never a parsed document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import no_doi
from citebed.collection.formats.jsonvalues import JsonObject
from citebed.patterns import compiled
from citebed.records import Problem, Record

_TOKEN = compiled(r'"((?:[^"\\]++|\\.)*+)(?:("\s*:)|"|\\?\Z)|[\[\]{}]', re.DOTALL)
_WRAPPERS = (
    *(("message", "items"), ("message",), ("items",), ("results",)),
    *(("data",), ("recommendedPapers",)),
)
_CSL_TYPE = re.compile(r'"type"\s*:\s*"(?:[a-z]+-[a-z-]+|chapter|thesis|report)"')
_OPENALEX_ID = re.compile(r'"id"\s*:\s*"https?://(?:api\.)?openalex\.org/(?:works/)?W\d')


class Keys(NamedTuple):
    """The keys seen: of the records (under known wrappers, if any), of objects inside them.

    ``is_table`` says that every member of one outer object is itself an object; ``is_list``
    that the file is an array; ``is_whole`` that the first outer value ends within the head.
    """

    head: str
    record: frozenset[str]
    inner: frozenset[str]
    is_table: bool
    is_list: bool
    is_whole: bool


def _look(head: str) -> tuple[set[tuple[str, ...]], list[str], set[str], bool]:
    """Paths of keys up to three objects deep; the outermost ones, in order, and which of them
    hold objects; whether the first outermost value ends.

    Only strings and brackets are looked at; arrays pass their key on to the objects in them.
    """
    paths: set[tuple[str, ...]] = set()
    outer: list[str] = []
    with_objects: set[str] = set()
    stack: list[tuple[str, str]] = []
    key, whole = "", False
    for token in _TOKEN.finditer(head):
        mark = token[0][0]
        if mark in "[{":
            stack.append((mark, stack[-1][1] if stack and stack[-1][0] == "[" else key))
            if mark == "{" and len(stack) == 2 and stack[0][0] == "{":
                with_objects.add(key)
        elif mark in "]}":
            del stack[-1:]
            whole = whole or not stack
        elif token[2] and len(stack) <= 8:
            key = token[1]
            path = tuple(name for bracket, name in stack if bracket == "{")[1:]
            paths.add((*path, key)[:4])
            outer += [] if path else [key]
    return paths, outer, with_objects, whole


@lru_cache(maxsize=4)
def keys_in(head: str) -> Keys | None:
    """The keys in the head of a JSON file; ``None`` where it is not JSON."""
    head = head.lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return None
    paths, outer, with_objects, whole = _look(head)
    top = set(outer)
    cut_off = set() if whole else set(outer[-1:])
    start = next((w for w in _WRAPPERS if any(p[: len(w)] == w and p != w for p in paths)), ())
    start = start if not top & {"_id", "doc_id", "DOI"} else ()
    size = len(start)
    under = {path[size:] for path in paths if path[:size] == start}
    return Keys(
        head=head,
        record=frozenset(path[0] for path in under if len(path) == 1),
        inner=frozenset(path[1] for path in under if len(path) == 2),
        is_table=not start and bool(with_objects) and top - with_objects <= cut_off,
        is_list=head.startswith("["),
        is_whole=whole,
    )


_OPENALEX = {"abstract_inverted_index", "authorships", "referenced_works", "primary_location"}
_SCHOLAR = {"paperId", "corpusid", "corpusId", "externalIds", "externalids", "outbound_citations"}
_SCHOLAR |= {"outCitations", "paperAbstract", "citedPaper", "citingPaper"}
_S2ORC = {"body_text", "bib_entries", "pdf_parse", "latex_parse", "grobid_parse"}
_ARXIV = {"authors_parsed", "categories", "journal-ref", "submitter", "update_date"}
_CSL = {"DOI", "issued", "container-title", "citation-key", "title-short", "publisher-place"}
_CSL_WITH_TITLE = {"URL", "ISSN", "ISBN", "author", "editor", "accessed"}
_CSL_KEYED = _CSL_WITH_TITLE | {"type"}
_BEIR = {"_id", "text"}
_LOCAL = {"masked_text", "citing_id"}
_TEXT = {"title", "abstract", "authors", "sections", "text"}
_OWN_ONLY = {"doc_id", "query_id", "citing", "contexts", "authors"}
_OWN_PAIRS = ({"citing", "context"}, {"query_id", "text"}, {"query_id", "relevance"})


def _is_local(keys: Keys) -> bool:
    if keys.is_list:
        return keys.record >= _LOCAL
    known = bool((_LOCAL | {"title", "abstract"}) & keys.inner)
    return keys.is_table and known and not is_keyed(keys)


def is_keyed(keys: Keys) -> bool:
    """Whether a file is an object of CSL items under their ids."""
    one = bool(_CSL & keys.inner) or ("title" in keys.inner and bool(_CSL_KEYED & keys.inner))
    return keys.is_table and one and not _LOCAL & keys.inner


def _is_s2orc(keys: Keys) -> bool:
    annotated = {"content", "body"} & keys.record and {"annotations"} & keys.inner
    return bool(_S2ORC & keys.record or annotated)


def _is_scholar(keys: Keys) -> bool:
    s2orc = {"paper_id", "title", "authors"} <= keys.record and "contexts" not in keys.record
    return bool(_SCHOLAR & keys.record) or (s2orc and {"first", "last"} <= keys.inner)


def _is_csl(keys: Keys) -> bool:
    if _OWN_ONLY & keys.record:
        return False
    plain = keys.is_list and {"id", "type", "title"} <= keys.record
    titled = bool({"title", "id"} & keys.record and _CSL_WITH_TITLE & keys.record)
    is_one = bool(_CSL & keys.record) or titled or plain or is_keyed(keys)
    return is_one or _CSL_TYPE.search(keys.head) is not None


def _is_own(keys: Keys) -> bool:
    named = bool({"id", "paper_id"} & keys.record and _TEXT & keys.record)
    return (
        named
        or bool({"doc_id", "contexts"} & keys.record)
        or any(pair <= keys.record for pair in _OWN_PAIRS)
    )


_LONG_TEXT = 300
_TEXT_MEMBER = compiled(r'"text"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL)


def _has_long_texts(keys: Keys) -> bool:
    """Whether the texts are longer on average than those of queries (in characters)."""
    texts = _TEXT_MEMBER.findall(keys.head)
    return sum(map(len, texts)) > _LONG_TEXT * len(texts)


def is_untitled(head: str) -> bool:
    """Whether objects with a text have no title, so that they may be documents or queries."""
    keys = keys_in(head)
    return keys is not None and "title" not in keys.record


_RULES: tuple[tuple[str, Callable[[Keys], bool]], ...] = (
    ("local-citation-json", _is_local),
    ("openalex", lambda k: bool(_OPENALEX & k.record or _OPENALEX_ID.search(k.head))),
    ("s2orc", _is_s2orc),
    ("zotero-json", lambda k: "itemType" in k.record),
    ("arxiv-json", lambda k: len(_ARXIV & k.record) >= 2),
    ("semantic-scholar", _is_scholar),
    ("beir-corpus", lambda k: k.record >= _BEIR and ("title" in k.record or _has_long_texts(k))),
    ("beir-queries", lambda k: k.record >= _BEIR),
    ("csl-json", _is_csl),
    ("jsonl", _is_own),
)


def json_kind(head: str) -> str:
    """The name of the JSON format that a file starts as; ``""`` where it is none of ours."""
    keys = keys_in(head)
    if keys is None:
        return ""
    return next((name for name, holds in _RULES if holds(keys)), "")


def json_format(
    name: str,
    title: str,
    items: Callable[[Chunk], Iterator[JsonObject | Problem]],
    read: Callable[[JsonObject], Record],
    **cutting: Any,
) -> Format:
    """A JSON format: where its objects stand, and the record of an object and its line."""

    def parse(chunk: Chunk) -> Iterator[Record]:
        for item in items(chunk):
            yield from records_of(item, read)

    return Format(name, title, is_kind(name), parse, **cutting)


def records_of(
    item: JsonObject | Problem, read: Callable[[JsonObject], Record]
) -> Iterator[Record]:
    """The record of an object, and what there is to say of its DOI."""
    if isinstance(item, Problem):
        yield item
        return
    record = read(item)
    yield record
    yield from no_doi(record, item.text("DOI", "doi"))


def is_kind(name: str) -> Callable[[str], bool]:
    """A test whether a file starts as the JSON format of this name."""
    return lambda head: json_kind(head) == name
