"""CSL-JSON, as Zotero, Pandoc and the Crossref API write it.

Arrays of items, ``{"items": […]}``, a single work, ``{"message": {"items": […]}}``, JSON Lines
and items under their ids (``{"muster2010": {…}}``) are all understood.
See https://docs.citationstyles.org/ and https://api.crossref.org/.

CSL-YAML, as Pandoc and Better BibTeX write it: a list of items, often under ``references``.

Each item is parsed by itself, so that a broken one costs no other; only where some stand for others
(``&name``, ``*name``) they are read together. All scalars are read as text: no tag makes anything
else of them, and a page ``1-10`` or a country ``NO`` stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from citebed.collection.formats.base import Chunk, Format, decode, of_text, with_newlines
from citebed.collection.formats.fields import arxiv_id, bibtex_type, cite_keys, links_to, page_range
from citebed.collection.formats.json_objects import (
    JsonObject,
    as_int,
    as_object,
    as_text,
    is_keyed,
    json_format,
    keys_in,
    name_of,
    records_of,
)
from citebed.collection.formats.jsonfiles import Member, json_document, json_records
from citebed.files.limits import Allowance
from citebed.records import Document, Problem, Record
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, fold, html_to_text, iso_date, year_before_1


def _type(item: JsonObject) -> str:
    kind = bibtex_type(item.text("type"))
    masters = kind == "phdthesis" and "master" in (item.text("genre") or "").lower()
    return "mastersthesis" if masters else kind


def _person(value: Any) -> str:
    """A name from its CSL parts; one that has none (``literal``, ``name``) is a group's."""
    is_group = isinstance(value, dict) and not {"family", "given"} & value.keys()
    return name_from_parts(as_object(value).text("literal", "name")) if is_group else name_of(value)


def _date(value: Any) -> str | None:
    """The ISO date of a CSL date: ``date-parts``, or a text in ``raw`` or ``literal``.

    Pandoc's older YAML has a list of ``year``, ``month`` and ``day``.
    """
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), value)
    if not isinstance(value, dict):
        return date_in(as_text(value))
    stated = as_object(value)
    if "year" in value:
        return iso_date(*(as_int(value.get(name)) for name in ("year", "month", "day")))
    parts = next((part for part in stated.elements("date-parts") if isinstance(part, list)), [])
    numbers = [as_int(part) for part in parts[:3]] + [None, None, None]
    date = iso_date(numbers[0], numbers[1], numbers[2])
    return date or date_in(stated.text("raw", "literal", "date-time"))


def _year_before_1(value: Any) -> int | None:
    parts = as_object(value).elements("date-parts") if isinstance(value, dict) else []
    first = next((part[0] for part in parts if isinstance(part, list) and part), None)
    return year_before_1(as_text(first) if first is not None else as_text(value))


def _title(item: JsonObject) -> str:
    """Title and subtitle with a colon between, unless the title has the subtitle already."""
    title, subtitle = item.markup("title") or "", item.markup("subtitle")
    if not subtitle or title.lower().endswith(subtitle.lower()):
        return title
    return f"{title.rstrip(' :')}: {subtitle}" if title else subtitle


def _arxiv(item: JsonObject, doi: str | None) -> str | None:
    """The arXiv id; a preprint of Zotero's has it as a number or as its place in the archive."""
    in_archive = "arxiv" in (item.text("archive", "publisher") or "").lower()
    named = [item.text(name) for name in ("URL", "number", "note", "container-title")]
    return arxiv_id(doi, *named, eprint=item.text("archive_location") if in_archive else None)


_JSON_KEYS = ("citation-key", "citationKey", "citekey")
_DATES = ("issued", "published-print", "published", "published-online")
# A heading of the abstract that only says so.
_HEADING = re.compile(
    r"^\s*<(?:\w+:)?title>\s*(?:abstract|summary)\s*</(?:\w+:)?title>", re.IGNORECASE
)


def csl_record(item: JsonObject) -> Document | Problem:
    """The document of a CSL item, whatever syntax it was written in."""
    doi = item.doi("DOI", "doi", "URL", "url")
    ours = item.object("custom").text("citebed-id")
    doc_id = ours or item.text("id") or doi or item.text("DOI", *_JSON_KEYS)
    if doc_id is None:
        return item.unknown("a CSL-JSON item with 'id', 'DOI' or 'citation-key'")
    date = next(filter(None, (_date(item.values.get(name)) for name in _DATES)), None)
    return Document(
        doc_id=doc_id,
        type=_type(item),
        title=_title(item),
        authors=item.people("author", _person),
        editors=item.people("editor", _person),
        year=int(date[:4]) if date else _year_before_1(item.values.get("issued")),
        date=date,
        venue=item.markup("container-title") or item.object("event").text("name"),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=page_range(item.text("page", "article-number")),
        publisher=item.markup("publisher"),
        doi=doi,
        arxiv=_arxiv(item, doi),
        url=item.text("URL", "url"),
        abstract=html_to_text(_HEADING.sub("", item.text("abstract") or "")) or None,
        keywords=item.keywords("keyword", "subject"),
        language=item.text("language"),
        place=item.text("publisher-place", "event-place"),
        edition=item.text("edition"),
        isbn=item.text("ISBN", "ISSN"),
        keys=cite_keys(
            map(item.text, _JSON_KEYS), [item.text("id")], map(item.text, ("note", "extra"))
        ),
        links=links_to(entry.doi("DOI", "doi") for entry in item.objects("reference")),
        line=item.line,
    )


_HEAD_BYTES = 16 << 10


def _json_items(chunk: Chunk) -> Iterator[JsonObject | Problem]:
    keys = keys_in(decode(chunk.data[:_HEAD_BYTES])[0])
    if keys is not None and is_keyed(keys):
        return (
            item if isinstance(item, Problem) else _named(item) for item in json_document(chunk)
        )
    return json_records(chunk, into=frozenset({"items", "message"}))


def _named(member: Member) -> JsonObject | Problem:
    """An item that stands under its id."""
    if isinstance(member.value, dict):
        return JsonObject(member.line, {"id": member.key, **member.value})
    return Problem(member.line, f"expected a CSL-JSON item under the id '{member.key}'")


CSL_JSON = json_format("csl-json", "CSL-JSON and Crossref works", _json_items, csl_record)


# --- YAML -------------------------------------------------------------------------------------


_YAML_KEYS = (
    "id|type|title|author|editor|DOI|URL|issued|container-title|citation-key|abstract|publisher"
    "|categories|accessed|language|ISBN|ISSN|page|volume|issue|note"
)
_ITEM = rf"[ \t]*-[ \t]+(?:&[\w-]+\s+)?['\"]?(?:{_YAML_KEYS}|<<)['\"]?[ \t]*:"
_HEAD = re.compile(
    rf"(?:\s*#[^\n]*\n|\s*---[^\n]*\n|(?!references)[\w-]+:[^\n]*\n)*\s*(?:references:\s*\n\s*)?{_ITEM}"
)
_FIELDS = re.compile(r"^[ \t]*(?:- )?[ \t]*(?:type|title|author|issued):", re.MULTILINE)
_FIRST_ITEM = re.compile(rb"^([ \t]*)- ", re.MULTILINE)
_LONGEST = 256 << 10
_ANCHOR = re.compile(r"(?:^[ \t]*-|:)[ \t]+&[\w-]+\s", re.MULTILINE)
_NOTHING = frozenset(("", "~", "null", "Null", "NULL"))


def _sniff(head: str) -> bool:
    head = with_newlines(head)
    return _HEAD.match(head) is not None and _FIELDS.search(head) is not None


@of_text
def _parse(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of the items."""
    items = _with_aliases(text, chunk.line) if _ANCHOR.search(text) else None
    for item in _one_by_one(text, chunk.line) if items is None else items:
        yield from records_of(item, csl_record)


def _one_by_one(text: str, line: int) -> Iterator[JsonObject | Problem]:
    lines = text.split("\n")
    first = next((line for line in lines if line.lstrip().startswith("- ")), "")
    indent = first[: len(first) - len(first.lstrip())]
    for start, end in _yaml_items(lines, indent):
        text, at = "\n".join(lines[start:end]), line + start
        long = Problem(at, f"an item of more than {_LONGEST >> 10} KiB is not read")
        yield long if len(text) > _LONGEST else _load(text, at)


def _with_aliases(text: str, line: int) -> list[JsonObject | Problem] | None:
    """The items of a text in which some stand for others (``&name``, ``*name``, ``<<``): read
    whole, as it must be, unless it is too long or cannot be."""
    import yaml

    if len(text) > _LONGEST:
        return None
    try:
        loader = yaml.BaseLoader(text)
        root = loader.get_single_node()
        listed = [root] if isinstance(root, yaml.SequenceNode) else _under_references(root)
        nodes = listed[0].value if listed else []
        read = [(node.start_mark.line, loader.construct_object(node, deep=True)) for node in nodes]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return _affordable(read, line, len(text))


def _under_references(root: Any) -> list[Any]:
    pairs = root.value if root is not None and root.id == "mapping" else []
    return [value for name, value in pairs if name.value == "references" and value.id == "sequence"]


def _yaml_items(lines: list[str], indent: str) -> Iterator[tuple[int, int]]:
    """Where each item of the list starts and ends; what stands less deep is no part of it."""
    starts = [at for at, line in enumerate(lines) if line.startswith(f"{indent}- ")]
    for start, limit in pairwise([*starts, len(lines)]):
        goes_on = (f"{indent} ", f"{indent}\t", f"{indent}#")
        inner = ((at, lines[at]) for at in range(start + 1, limit))
        ends = (at for at, line in inner if line.strip() and not line.startswith(goes_on))
        yield start, next(ends, limit)


def _load(text: str, line: int) -> JsonObject | Problem:
    import yaml  # only files in this format need it

    try:
        value = yaml.load(text, Loader=yaml.BaseLoader)
        item = value[0] if isinstance(value, list) and value else value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        what = fold(error.problem or "unreadable")
        return Problem(line + (mark.line if mark else 0), f"not valid YAML: {what}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Problem(line, f"not valid YAML: {fold(str(error))[:80] or 'nested too deeply'}")
    (whole,) = _affordable([(0, item)], line, len(text))
    return whole


def _affordable(items: list[tuple[int, Any]], line: int, size: int) -> list[JsonObject | Problem]:
    """Items, each with its line from ``line`` on, of a text of this size; those whose aliases
    (``*name``) stand for more than such a text may borrow are left out."""
    allowance, known = Allowance(size), dict[int, int]()
    values: list[JsonObject | Problem] = []
    for at, item in items:
        try:
            covered = allowance.covers(_length(item, known))
        except RecursionError:  # an alias within what it stands for
            covered = False
        what = "its aliases (*name) stand for more than a file of this size may borrow"
        if covered and isinstance(item, dict):
            values.append(JsonObject(line + at, _without_nothing(item)))
        else:
            no_item = "expected an item with names and values"
            values.append(Problem(line + at, no_item if covered else what))
    return values


def _length(value: Any, known: dict[int, int]) -> int:
    """How many characters a value is, written out; what aliases share is measured once."""
    if isinstance(value, str):
        return len(value)
    if id(value) not in known:
        parts = [*value, *value.values()] if isinstance(value, dict) else value or ()
        known[id(value)] = 1 + sum(_length(part, known) for part in parts)
    return known[id(value)]


def _without_nothing(value: dict[Any, Any]) -> dict[str, Any]:
    """An item in which what YAML writes for nothing is nothing."""
    lent = value.get("<<")
    for other in lent if isinstance(lent, list) else [lent]:
        value = {**other, **value} if isinstance(other, dict) else value
    return {
        str(name): None if isinstance(text, str) and text in _NOTHING else text
        for name, text in value.items()
        if name != "<<"
    }


def _cut(data: bytes) -> int:
    """The start of the last item, since only the next one shows where it ends."""
    first = _FIRST_ITEM.search(data)
    if first is None:
        return 0
    return data.rfind(b"\n%s- " % first[1], first.end()) + 1 or first.start()


CSL_YAML = Format("csl-yaml", "CSL-YAML (Pandoc)", _sniff, _parse, _cut)
