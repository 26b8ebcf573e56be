"""TREC's files: topics (SGML and XML), documents and relevance judgements (qrels).

Identifiers made of digits lose their leading zeros, so that ``01`` and ``1`` are one query.
What is written of topics and documents reads back equal; ``citebed.runs`` writes judgements.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from citebed.collection.formats.base import (
    Chunk,
    Format,
    cut_after,
    cut_lines,
    of_text,
    starts_as,
    with_newlines,
)
from citebed.collection.formats.fields import one_word, without_zeros
from citebed.errors import CitebedError
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import ENTITY_PATTERN, entities_to_text, fold
from citebed.text.regex import compile_regex

_PROLOG = (
    r"\s*+(?:<\?xml[^<>]*>\s*+)?"
    r"(?:<!--.*?-->\s*+|<!DOCTYPE[^<>\[]*+(?:\[[^\]]*+\]\s*+)?>\s*+)*+"
)
_ANY_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")


def _identifier(text: str) -> str:
    """An id as the other files have it: no white space, and no leading zeros in a number."""
    return without_zeros(one_word(text))


def _word(name: str) -> str:
    """An id fit for a TREC file, which cannot hold one that is empty or has white space."""
    if name.split() != [name] or name.startswith("#"):
        raise CitebedError(
            f"the id {name!r} is empty, has white space or starts with '#', which a TREC file"
            " cannot hold: rename it or export to another format"
        )
    return name


def _elements(
    text: str, line: int, outer: frozenset[str], inner: frozenset[str], first: str
) -> Iterator[tuple[int, bool, dict[str, str]]]:
    """Each outer element: its line, whether it was closed, and the text of its inner ones.

    Closing tags are optional; an inner tag counts once, later ones are text. A ``first`` one that
    stands outside starts an element whose own tag is missing. Attributes of the
    outer tag stand under ``@`` and text outside of inner elements under ``""``. A language may
    stand before an inner name (CLEF's ``<EN-title>``).
    """
    parts: dict[str, list[str]] | None = None
    start, current = line, ""
    for place, tag, after in _tags(text, line, outer | inner):
        name = tag[2].lower()
        if name in outer:
            if parts is not None:
                yield start, bool(tag[1]), _joined(parts)
            parts = None if tag[1] else {"@": [tag[3] or ""]}
            start, current = place, ""
        elif parts is not None or (name == first and not tag[1]):
            start = place if parts is None else start
            parts = {"@": [""]} if parts is None else parts
            current = _next_field(parts, current, name, tag)
        if parts is not None:
            parts.setdefault(current, []).append(after)
    if parts is not None:
        yield start, False, _joined(parts)


def _tags(text: str, line: int, names: frozenset[str]) -> Iterator[tuple[int, re.Match[str], str]]:
    """Each tag of one of these names: its line, itself, and the text up to the next."""
    pattern = "|".join(sorted(names))
    pattern = rf"<(/?)(?:[a-z]{{2}}-)?({pattern})(\s[^<>]*)?>"
    tags = list(re.finditer(pattern, text, re.IGNORECASE))
    place = 0
    for number, tag in enumerate(tags, 1):
        line += text.count("\n", place, tag.start())
        place = tag.start()
        yield line, tag, text[tag.end() : tags[number].start() if number < len(tags) else None]


def _next_field(parts: dict[str, list[str]], current: str, name: str, tag: re.Match[str]) -> str:
    """The field that text after ``tag`` belongs to; a tag out of place is text itself."""
    if tag[1] and name == current:
        return ""
    if not tag[1] and name not in parts:
        parts[name] = []
        return name
    parts.setdefault(current, []).append(tag[0])
    return current


def _joined(parts: dict[str, list[str]]) -> dict[str, str]:
    return {name: "".join(texts) for name, texts in parts.items()}


# --- Topics ---------------------------------------------------------------------------------

_TOPIC = frozenset({"top", "topic"})
_FIELDS = frozenset(
    (
        *("num", "head", "title", "desc", "narr", "dom", "smry", "con", "fac", "def"),
        *("identifier", "query", "question", "description", "narrative"),
    )
)
_NUMBERED = r"[^<>]*?\s(?:number|id|num)\s*=[^<>]*+>"
_TOPIC_HEAD = compile_regex(
    rf"{_PROLOG}(?:<topics\b[^<>]*+>\s*+<topic\b"
    rf"|(?:<[\w.-]++(?:\s[^<>]*+)?>\s*+)??"
    rf"<(?:topic{_NUMBERED}|top(?:ic)?\b[^<>]*+>\s*+(?:<head>[^<>]*+)?<(?:num|identifier)>))",
    re.DOTALL | re.IGNORECASE,
)
_TOPIC_END = re.compile(rb"</top(?:ic)?\s*>", re.IGNORECASE)
_TOPIC_START = re.compile(rb"<top(?:ic)?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(?:number|id|num)\s*=\s*[\"']?([^\"'<>]+)", re.IGNORECASE)
_LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:"}
_UNSAFE = re.compile(rf"<(?=[/A-Za-z])|(?={ENTITY_PATTERN})&")


def _cut_topics(data: bytes) -> int:
    """The end of the last closed topic; where topics are not closed, the last one's start."""
    starts = (match.start() for match in _TOPIC_START.finditer(data))
    return cut_after(_TOPIC_END)(data) or max(starts, default=0)


@of_text
def parse_topics(text: str, chunk: Chunk) -> Iterator[Record]:
    """The queries of a topic file: the description is searched for, else the title."""
    for line, _, parts in _elements(text, chunk.line, _TOPIC, _FIELDS, "num"):
        number = _NUMBER.search(parts["@"])
        name = _labelled(parts, "num") or _labelled(parts, "identifier")
        name = name or (number[1] if number else "")
        query_id = _identifier(entities_to_text(name))
        title = _topic_text(parts, "title", "query")
        query = _topic_text(parts, "desc", "description", "question") or title
        query = query or _plain(parts.get("", ""))
        if query_id and query:
            yield Query(query_id, query, title or None, line)
        else:
            yield Problem(line, "topic without a number" if query else "topic without text")


def _labelled(parts: dict[str, str], name: str) -> str:
    """A field without the label that SGML topics repeat (``<num> Number: 7``)."""
    return parts.get(name, "").strip().removeprefix(_LABELS.get(name, "")).strip()


def _topic_text(parts: dict[str, str], *names: str) -> str:
    texts = (fold(entities_to_text(_labelled(parts, name))) for name in names)
    return next(filter(None, texts), "")


def write_topics(queries: Iterable[Query]) -> Iterator[str]:
    """Lines (with their ends) of an SGML topic file.

    Only a ``<`` or ``&`` that would read as a tag or an entity is escaped, as most readers of
    topics do not resolve entities.
    """
    for query in queries:
        parts = (_word(query.query_id), query.title or "", query.text)
        number, title, text = (_UNSAFE.sub(lambda m: html.escape(m[0]), part) for part in parts)
        label = "Topic: " if title.startswith("Topic:") else ""
        yield f"<top>\n<num> Number: {number}\n<title> {label}{title}\n\n"
        yield f"<desc> Description:\n{text}\n\n<narr> Narrative:\n\n</top>\n\n"


# --- Documents ------------------------------------------------------------------------------

_DOC = frozenset({"doc"})
_DOC_FIELDS = frozenset({"docno", "docid", "dochdr", "title", "headline", "text"})
_DOC_HEAD = compile_regex(
    rf"{_PROLOG}(?:<(?:root|docs|xml)>\s*)?<doc>\s*<docno>", re.DOTALL | re.IGNORECASE
)
_DOC_END = re.compile(rb"</doc\s*>", re.IGNORECASE)


@of_text
def parse_documents(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a TREC file; ``<TEXT>`` is the abstract, else what is not the title."""
    for line, closed, parts in _elements(text, chunk.line, _DOC, _DOC_FIELDS, "docno"):
        doc_id = _identifier(entities_to_text(parts.get("docno", "")))
        if not doc_id:
            yield Problem(line, "document without a DOCNO")
            continue
        title = _plain(parts.get("title", "")) or _plain(parts.get("headline", ""))
        body = _plain(parts.get("text", "")) or _plain(parts.get("", ""))
        yield Document(doc_id, title=title, abstract=body or None, line=line)
        if not closed:
            yield Problem(line, f"document {doc_id} is not closed by </DOC>", "mended")


def _plain(text: str) -> str:
    """Text without tags, entities resolved: in this order, so that an escaped ``<`` stays."""
    return fold(entities_to_text(_ANY_TAG.sub(" ", text)))


def write_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Lines (with their ends) of a TREC document file: id, title, and the abstract as text."""
    for document in documents:
        parts = (_word(document.doc_id), document.title, document.abstract or "")
        doc_id, title, text = (html.escape(part, quote=False) for part in parts)
        yield f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n<TITLE>{title}</TITLE>\n"
        yield f"<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


# --- Judgements -----------------------------------------------------------------------------

_RELEVANCE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0*)?")
_SMALL_RELEVANCE = re.compile(r"[+-]?[0-9]{1,3}")
_ZERO = re.compile(r"[+-]?0(?:\.0*)?")


def sniff_qrels(head: str) -> bool:
    """Whether (nearly) all lines have three or four columns and a small number at their end.

    The first line must fit and nine of ten must; an unfinished last line does not count. What
    has a tab in its midst and nothing but words behind it is text with an id.
    """
    lines = with_newlines(head).split("\n")
    if len(lines) > 2 and lines[-1]:
        lines.pop()
    rows = [(line.strip().count("\t"), row) for line in lines if (row := _columns(line))]
    fit = [_fits_qrels(tabs, row) for tabs, row in rows]
    return bool(fit) and fit[0] and sum(fit) >= 0.9 * len(fit)


def sniff_pairs(head: str) -> bool:
    """Whether (nearly) all lines are two ids; only a file's name says that they are judgements."""
    lines = with_newlines(head).split("\n")
    rows = [row for row in map(_columns, lines[:-1] if len(lines) > 2 else lines) if row]
    return bool(rows) and sum(len(row) == 2 for row in rows) >= 0.9 * len(rows)


def _fits_qrels(tabs: int, row: list[str]) -> bool:
    if len(row) not in (3, 4) or (tabs == 1 and not _ZERO.fullmatch(row[-1])):
        return False
    listed = len(row) == 4 and row[2] == "0" and _ZERO.fullmatch(row[3])
    return bool(listed or _SMALL_RELEVANCE.fullmatch(row[-1]))


@of_text
def parse_qrels(text: str, chunk: Chunk) -> Iterator[Record]:
    """The judgements of ``qid iteration docid relevance`` or ``qid docid relevance`` lines.

    The iteration is not kept. CACM's ``01 1410 0 0`` and CISI's ``1 28 0 0.000000`` (columns
    three and four are 0 throughout) list relevant documents: relevance 1. So do bare pairs.
    """
    rows = [_columns(line) for line in text.split("\n")]
    pairs_only = _lists_pairs(rows)
    for line, row in enumerate(rows, chunk.line):
        if not row:
            continue
        query, document = _identifier(row[0]), _identifier(row[1 if pairs_only else -2 :][0])
        fits = _RELEVANCE.fullmatch(row[-1]) if len(row) in (3, 4) else None
        if (fits or (pairs_only and len(row) == 2)) and query and document:  # both may be invisible
            yield Judgement(query, document, int(fits[1]) if fits and not pairs_only else 1, line)
        else:
            shown = " ".join(row)[:60]
            yield Problem(line, f"'{shown}' is not 'query iteration document relevance'")


def _columns(line: str) -> list[str]:
    """The columns of a line, none for a blank line or a comment."""
    return [] if line.lstrip().startswith("#") else line.split()


def _lists_pairs(rows: list[list[str]]) -> bool:
    """Whether the rows are CACM's or CISI's; an iteration of 0 tells TREC's from them."""
    full = [row for row in rows if len(row) == 4]
    if not full and all(len(row) in (0, 2) for row in rows):
        return any(rows)
    return bool(full) and all(
        row[2] == "0" and _ZERO.fullmatch(row[3]) and row[1] != "0" for row in full
    )


TREC_TOPICS = Format(
    "trec-topics", "TREC topics", starts_as(_TOPIC_HEAD), parse_topics, _cut_topics
)
TREC_DOCUMENTS = Format(
    "trec-documents", "TREC documents", starts_as(_DOC_HEAD), parse_documents, cut_after(_DOC_END)
)
TREC_QRELS = Format("trec-qrels", "TREC relevance judgements", sniff_qrels, parse_qrels, cut_lines)
