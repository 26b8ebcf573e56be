"""TREC files: topics (SGML and XML), documents and relevance judgements (qrels).

Numbers as ids lose their leading zeros, so that ``01`` and ``1`` are one query. Topics and
documents that citebed writes read back equal; ``citebed.runs`` writes judgements.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from citebed.collection.formats.base import (
    Chunk,
    Format,
    head_matches,
    normalise_newlines,
    split_after,
    split_lines,
    text_parser,
)
from citebed.collection.formats.fields import remove_spaces, strip_zeros
from citebed.errors import CitebedError
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import ENTITY_PATTERN, entities_to_text, fold
from citebed.text.regex import compile_regex

_PROLOG = (
    r"\s*+(?:<\?xml[^<>]*>\s*+)?"
    r"(?:<!--.*?-->\s*+|<!DOCTYPE[^<>\[]*+(?:\[[^\]]*+\]\s*+)?>\s*+)*+"
)
_ANY_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")


def _normalise_id(text: str) -> str:
    return strip_zeros(remove_spaces(text))


def _check_id(name: str) -> str:
    """Return an id, or raise if a TREC file cannot contain it."""
    if name.split() != [name] or name.startswith("#"):
        raise CitebedError(
            f"the id {name!r} is empty, has white space or starts with '#', which a TREC file"
            " cannot hold: rename it or export to another format"
        )
    return name


def _remove_tags(text: str) -> str:
    """Remove tags, then resolve entities: in this order, so that an escaped ``<`` stays."""
    return fold(entities_to_text(_ANY_TAG.sub(" ", text)))


def _read_elements(
    text: str, line: int, outer: frozenset[str], inner: frozenset[str], first: str
) -> Iterator[tuple[int, bool, dict[str, str]]]:
    """Yield each outer element: its line, whether it is closed, and the text of its inner ones.

    Closing tags are optional. The first inner tag of a name counts, later ones are text. A
    ``first`` tag outside starts an element without a tag of its own. ``@`` has the attributes of
    the outer tag, ``""`` the text outside inner elements. An inner name may have a language before
    it (CLEF's ``<EN-title>``).
    """
    names = "|".join(sorted(outer | inner))
    pattern = rf"<(/?)(?:[a-z]{{2}}-)?({names})(\s[^<>]*)?>"
    tags = list(re.finditer(pattern, text, re.IGNORECASE))
    parts: dict[str, list[str]] | None = None
    start, current, counted = line, "", 0
    for number, tag in enumerate(tags, 1):
        line += text.count("\n", counted, tag.start())
        counted = tag.start()
        after = text[tag.end() : tags[number].start() if number < len(tags) else None]
        name, is_closing = tag[2].lower(), bool(tag[1])
        if name in outer:
            if parts is not None:
                yield start, is_closing, {key: "".join(texts) for key, texts in parts.items()}
            parts = None if is_closing else {"@": [tag[3] or ""]}
            start, current = line, ""
        elif parts is not None or (name == first and not is_closing):
            if parts is None:
                start, parts = line, {"@": [""]}
            if is_closing and name == current:
                current = ""
            elif not is_closing and name not in parts:
                current, parts[name] = name, []
            else:  # a tag out of place is text
                parts.setdefault(current, []).append(tag[0])
        if parts is not None:
            parts.setdefault(current, []).append(after)
    if parts is not None:
        yield start, False, {key: "".join(texts) for key, texts in parts.items()}


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


def _split_topics(data: bytes) -> int:
    """Split after the last closed topic, or before the last one if topics are not closed."""
    starts = (match.start() for match in _TOPIC_START.finditer(data))
    return split_after(_TOPIC_END)(data) or max(starts, default=0)


@text_parser
def _parse_topics(text: str, chunk: Chunk) -> Iterator[Record]:
    """Yield the queries of a topic file; their text is the description, else the title."""
    for line, _, parts in _read_elements(text, chunk.line, _TOPIC, _FIELDS, "num"):
        number = _NUMBER.search(parts["@"])
        name = _topic_field(parts, "num") or _topic_field(parts, "identifier")
        name = name or (number[1] if number else "")
        query_id = _normalise_id(entities_to_text(name))
        title = _topic_text(parts, "title", "query")
        query = _topic_text(parts, "desc", "description", "question") or title
        query = query or _remove_tags(parts.get("", ""))
        if query_id and query:
            yield Query(query_id, query, title or None, line)
        else:
            yield Problem(line, "topic without a number" if query else "topic without text")


def _topic_field(parts: dict[str, str], name: str) -> str:
    """Return a field without the label that SGML topics repeat (``<num> Number: 7``)."""
    return parts.get(name, "").strip().removeprefix(_LABELS.get(name, "")).strip()


def _topic_text(parts: dict[str, str], *names: str) -> str:
    texts = (fold(entities_to_text(_topic_field(parts, name))) for name in names)
    return next(filter(None, texts), "")


def write_topics(queries: Iterable[Query]) -> Iterator[str]:
    """Yield the lines of an SGML topic file.

    Only a ``<`` or ``&`` that would read as a tag or an entity is escaped, because most readers of
    topics do not resolve entities.
    """
    for query in queries:
        parts = (_check_id(query.query_id), query.title or "", query.text)
        number, title, text = (_UNSAFE.sub(lambda m: html.escape(m[0]), part) for part in parts)
        label = "Topic: " if title.startswith("Topic:") else ""
        yield f"<top>\n<num> Number: {number}\n<title> {label}{title}\n\n"
        yield f"<desc> Description:\n{text}\n\n<narr> Narrative:\n\n</top>\n\n"


TREC_TOPICS = Format(
    "trec-topics", "TREC topics", head_matches(_TOPIC_HEAD), _parse_topics, _split_topics
)

# --- Documents ------------------------------------------------------------------------------

_DOC = frozenset({"doc"})
_DOC_FIELDS = frozenset({"docno", "docid", "dochdr", "title", "headline", "text"})
_DOC_HEAD = compile_regex(
    rf"{_PROLOG}(?:<(?:root|docs|xml)>\s*)?<doc>\s*<docno>", re.DOTALL | re.IGNORECASE
)
_DOC_END = re.compile(rb"</doc\s*>", re.IGNORECASE)


@text_parser
def _parse_documents(text: str, chunk: Chunk) -> Iterator[Record]:
    """Yield the documents; the abstract is ``<TEXT>``, else everything but the title."""
    for line, is_closed, parts in _read_elements(text, chunk.line, _DOC, _DOC_FIELDS, "docno"):
        doc_id = _normalise_id(entities_to_text(parts.get("docno", "")))
        if not doc_id:
            yield Problem(line, "document without a DOCNO")
            continue
        title = _remove_tags(parts.get("title", "")) or _remove_tags(parts.get("headline", ""))
        body = _remove_tags(parts.get("text", "")) or _remove_tags(parts.get("", ""))
        yield Document(doc_id, title=title, abstract=body or None, line=line)
        if not is_closed:
            yield Problem(line, f"document {doc_id} is not closed by </DOC>", "mended")


def write_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Yield the lines of a TREC document file: id, title, and the abstract as text."""
    for document in documents:
        parts = (_check_id(document.doc_id), document.title, document.abstract or "")
        doc_id, title, text = (html.escape(part, quote=False) for part in parts)
        yield f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n<TITLE>{title}</TITLE>\n"
        yield f"<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


TREC_DOCUMENTS = Format(
    "trec-documents",
    "TREC documents",
    head_matches(_DOC_HEAD),
    _parse_documents,
    split_after(_DOC_END),
)

# --- Judgements -----------------------------------------------------------------------------

_RELEVANCE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0*)?")
_SMALL_RELEVANCE = re.compile(r"[+-]?[0-9]{1,3}")
_ZERO = re.compile(r"[+-]?0(?:\.0*)?")


def _sniff_qrels(head: str) -> bool:
    """Return True if 90 % of the lines have three or four columns and end in a small number.

    The first line must fit; an incomplete last line does not count. A line with one tab and only
    words after it is an id and a text.
    """
    lines = normalise_newlines(head).split("\n")
    if len(lines) > 2 and lines[-1]:
        lines.pop()
    fits = []
    for line in lines:
        if not (row := _columns(line)):
            continue
        is_text = line.strip().count("\t") == 1 and not _ZERO.fullmatch(row[-1])
        is_listed = len(row) == 4 and row[2] == "0" and _ZERO.fullmatch(row[3])
        is_number = is_listed or _SMALL_RELEVANCE.fullmatch(row[-1])
        fits.append(len(row) in (3, 4) and not is_text and bool(is_number))
    return bool(fits) and fits[0] and sum(fits) >= 0.9 * len(fits)


def sniff_pairs(head: str) -> bool:
    """Return True if 90 % of the lines are two ids: judgements if the file name says so."""
    lines = normalise_newlines(head).split("\n")
    rows = [row for row in map(_columns, lines[:-1] if len(lines) > 2 else lines) if row]
    return bool(rows) and sum(len(row) == 2 for row in rows) >= 0.9 * len(rows)


@text_parser
def _parse_qrels(text: str, chunk: Chunk) -> Iterator[Record]:
    """Yield the judgements of ``qid iteration docid relevance`` or ``qid docid relevance`` lines.

    The iteration is ignored. CACM's ``01 1410 0 0`` and CISI's ``1 28 0 0.000000`` (columns three
    and four are always 0) list relevant documents: relevance 1. So do pairs of ids. An iteration
    of 0 distinguishes TREC's lines from CACM's.
    """
    rows = [_columns(line) for line in text.split("\n")]
    full = [row for row in rows if len(row) == 4]
    if full or not all(len(row) in (0, 2) for row in rows):
        is_list = bool(full) and all(
            row[2] == "0" and _ZERO.fullmatch(row[3]) and row[1] != "0" for row in full
        )
    else:
        is_list = any(rows)
    for line, row in enumerate(rows, chunk.line):
        if not row:
            continue
        column = row[1] if is_list and len(row) > 1 else row[-2:][0]
        query, document = _normalise_id(row[0]), _normalise_id(column)
        fits = _RELEVANCE.fullmatch(row[-1]) if len(row) in (3, 4) else None
        # Ids may be empty once their invisible characters are removed.
        if (fits or (is_list and len(row) == 2)) and query and document:
            yield Judgement(query, document, int(fits[1]) if fits and not is_list else 1, line)
        else:
            shown = " ".join(row)[:60]
            yield Problem(line, f"'{shown}' is not 'query iteration document relevance'")


def _columns(line: str) -> list[str]:
    """Return the columns of a line; none for a blank line or a comment."""
    return [] if line.lstrip().startswith("#") else line.split()


TREC_QRELS = Format(
    "trec-qrels", "TREC relevance judgements", _sniff_qrels, _parse_qrels, split_lines
)
