"""A JSON object with getters that never raise, whatever type is found.

All text they give is folded and holds no lone surrogates, so that it encodes as UTF-8.

Telling the JSON formats apart by the keys in the first kilobytes of a file.

One table, first match wins, so the formats exclude each other. The head may end anywhere: only
keys are looked at, never a parsed document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import no_doi
from citebed.records import Problem, Record, Reference
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import (
    date_in,
    fold,
    fold_or_none,
    html_to_text,
    iso_date,
    unique,
    year_before_1,
    year_in,
)
from citebed.text.regex import compile_regex

_MAX_INT = 10**15
_MAX_FLOAT = (2 - 2**-23) * 2.0**127  # of 32 bits


def as_text(value: Any) -> str | None:
    """Folded text of a string, a number, or the first of a list of them; else ``None``."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, str | int | float)), None)
    if isinstance(value, str):
        return fold_or_none(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < _MAX_INT else repr(value)
    return str(value)


def as_int(value: Any) -> int | None:
    """A whole number below 10^15 in size, from a number or its digits; else ``None``."""
    text = as_text(value)
    if text is None or re.fullmatch(r"[-+]?[0-9]{1,16}", text) is None:
        return None
    number = int(text)
    return number if abs(number) < _MAX_INT else None


class JsonObject(NamedTuple):
    """An object of a JSON file and the line where it starts."""

    line: int
    values: dict[str, Any]

    def text(self, *names: str) -> str | None:
        """The text of the first of the named members that has any."""
        for name in names:
            if (text := as_text(self.values.get(name))) is not None:
                return text
        return None

    def markup(self, *names: str) -> str | None:
        """``text`` with HTML or JATS markup, which is taken off."""
        text = self.text(*names)
        return html_to_text(text) or None if text else None

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a list of strings or numbers (or of a single one), without repetitions."""
        value = self.values.get(name)
        values = value if isinstance(value, list) else [value]
        return unique(as_text(item) or "" for item in values if not isinstance(item, list))

    def keywords(self, *names: str) -> tuple[str, ...]:
        """Keywords from lists, or from strings with semicolons or else commas between them."""
        items: list[str] = []
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str):
                items += map(fold, value.split(";" if ";" in value else ","))
            else:
                items += self.texts(name)
        return unique(items)

    def object(self, name: str) -> JsonObject:
        """The object under ``name``, empty where there is none."""
        return as_object(self.values.get(name), self.line)

    def elements(self, name: str) -> list[Any]:
        """The list under ``name``; a single value that is not null counts as a list of one."""
        value = self.values.get(name)
        if isinstance(value, list):
            return value
        return [] if value is None else [value]

    def objects(self, name: str) -> list[JsonObject]:
        """The objects in the list under ``name``; what is no object is left out."""
        items = self.elements(name)
        return [JsonObject(self.line, item) for item in items if isinstance(item, dict)]

    def people(self, name: str, one: Callable[[Any], str] | None = None) -> tuple[str, ...]:
        """The people in a list, each brought to one form by ``one``; empty ones are left out."""
        return tuple(filter(None, map(one or name_of, self.elements(name))))

    def number(self, name: str, default: float) -> float:
        """A number that the tables hold, or ``default``."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return default
        return float(value) if abs(value) <= _MAX_FLOAT else default

    def doi(self, *names: str) -> str | None:
        """The first DOI among the named members: those called so, ids and addresses."""
        read = {name: doi_of if "doi" in name.lower() else normalise_doi for name in names}
        dois = (read[name](self.text(name)) for name in names)
        return next((fold(doi) for doi in dois if doi), None)

    def year(self, name: str) -> int | None:
        """A year from -9999 to 9999 given as a number, or a plausible one in a text."""
        value = self.values.get(name)
        number = None if isinstance(value, str) else as_int(value)
        if number is not None and number and -9999 <= number <= 9999:
            return number
        return year_in(as_text(value)) or year_before_1(as_text(value))

    def when(self, year: str, *dates: str) -> tuple[int | None, str | None]:
        """Year and ISO date, each helped out by the other; the date wins where they differ."""
        date = date_in(self.text(*dates)) or iso_date(self.year(year))
        return (int(date[:4]) if date else None), date

    def unknown(self, expected: str) -> Problem:
        """The ``Problem`` of an object that is not what the format expects."""
        names = ", ".join(fold(name)[:40] for name in [*self.values][:12])
        return Problem(self.line, f"expected {expected}; found the keys {names or '(none)'}")


def as_object(value: Any, line: int = 1) -> JsonObject:
    """A value that is an object, or an empty one."""
    return JsonObject(line, value if isinstance(value, dict) else {})


def name_of(value: Any) -> str:
    """A name as it is printed or in parts, by the names that CSL or Semantic Scholar give them.

    A particle that is never dropped (``van der``) stands with the family name, a dropping one
    with the given name; ``literal`` (an organisation) is kept as it is.
    """
    if not isinstance(value, dict):
        return name_from_display(as_text(value) or "")
    person = as_object(value)
    given = [person.text("given", "first"), *person.texts("middle")]
    given.append(person.text("dropping-particle"))
    family = [person.text("non-dropping-particle"), person.text("family", "last")]
    whole, own = (" ".join(filter(None, words)) for words in (family, given))
    parts = name_from_parts(whole, own, person.text("suffix"))
    return parts or person.text("literal") or name_from_display(person.text("name") or "")


def reference_to(cited: str) -> Reference:
    """A reference that a source knows by one id: by DOI if that is one, else by document id."""
    doi = normalise_doi(cited)
    return Reference(cited, doi=fold(doi)) if doi else Reference(cited, doc_id=cited)


# --- Telling the formats apart ----------------------------------------------------------------


_TOKEN = compile_regex(r'"((?:[^"\\]++|\\.)*+)(?:("\s*:)|"|\\?\Z)|[\[\]{}]', re.DOTALL)
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
_TEXT_MEMBER = compile_regex(r'"text"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL)


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
