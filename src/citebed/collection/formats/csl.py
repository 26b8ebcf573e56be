"""CSL-JSON, as Zotero, Pandoc and the Crossref API write it, Paperpile's JSON, and CSL-YAML.

CSL-JSON comes as an array of items, as ``{"items": […]}``, a single work, ``{"message": {"items":
[…]}}``, JSON Lines, or items under their ids (``{"muster2010": {…}}``).
See https://docs.citationstyles.org/ and https://api.crossref.org/.

CSL-YAML, as Pandoc and Better BibTeX write it, is a list of items, often under ``references``. Each
item is parsed separately, so that a broken item costs no other; items with aliases (``&name``,
``*name``) are parsed together. All scalars are read as text: a page ``1-10`` or a country ``NO``
does not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from citebed.collection.formats.base import Chunk, Format, decode, normalise_newlines, text_parser
from citebed.collection.formats.detection import is_keyed_csl, json_keys
from citebed.collection.formats.fields import (
    collect_cite_keys,
    find_arxiv_id,
    format_pages,
    make_links,
    to_bibtex_type,
)
from citebed.collection.formats.json_files import (
    JsonObject,
    as_int,
    as_object,
    as_text,
    json_format,
    json_members,
    json_records,
    parse_item,
    parse_person,
)
from citebed.files.limits import Allowance
from citebed.records import Document, Problem, Record
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, fold, html_to_text, iso_date, year_before_1

_JSON_KEYS = ("citation-key", "citationKey", "citekey")
_DATES = ("issued", "published-print", "published", "published-online")
# A heading at the start of the abstract.
_HEADING = re.compile(
    r"^\s*<(?:\w+:)?title>\s*(?:abstract|summary)\s*</(?:\w+:)?title>", re.IGNORECASE
)


def parse_csl_item(item: JsonObject) -> Document | Problem:
    """Return the document of a CSL item, from JSON or YAML."""
    doi = item.doi("DOI", "doi", "URL", "url")
    citebed_id = item.object("custom").text("citebed-id")
    doc_id = citebed_id or item.text("id") or doi or item.text("DOI", *_JSON_KEYS)
    if doc_id is None:
        return item.unexpected("a CSL-JSON item with 'id', 'DOI' or 'citation-key'")
    kind = to_bibtex_type(item.text("type", "kind"))
    if kind == "phdthesis" and "master" in (item.text("genre") or "").lower():
        kind = "mastersthesis"
    title, subtitle = item.markup("title") or "", item.markup("subtitle")
    if subtitle and not title.lower().endswith(subtitle.lower()):
        title = f"{title.rstrip(' :')}: {subtitle}" if title else subtitle
    date = next(filter(None, (_parse_date(item.values.get(name)) for name in _DATES)), None)
    # Zotero stores the arXiv id of a preprint as its number or its place in the archive.
    in_arxiv = "arxiv" in (item.text("archive", "publisher") or "").lower()
    places = [item.text(name) for name in ("URL", "number", "note", "container-title")]
    return Document(
        doc_id=doc_id,
        type=kind,
        title=title,
        authors=item.people("author", _parse_name),
        editors=item.people("editor", _parse_name),
        year=int(date[:4]) if date else _year_before_1(item.values.get("issued")),
        date=date,
        venue=item.markup("container-title", "journalfull", "journal")
        or item.object("event").text("name"),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=format_pages(item.text("page", "article-number", "pages")),
        publisher=item.markup("publisher"),
        doi=doi,
        arxiv=find_arxiv_id(
            doi, *places, eprint=item.text("archive_location") if in_arxiv else None
        ),
        url=item.text("URL", "url"),
        abstract=html_to_text(_HEADING.sub("", item.text("abstract") or "")) or None,
        keywords=item.keywords("keyword", "subject", "labelsNamed"),
        language=item.text("language"),
        place=item.text("publisher-place", "event-place"),
        edition=item.text("edition"),
        isbn=item.text("ISBN", "ISSN"),
        groups=item.texts("foldersNamed"),
        keys=collect_cite_keys(
            map(item.text, _JSON_KEYS), [item.text("id")], map(item.text, ("note", "extra"))
        ),
        links=make_links(entry.doi("DOI", "doi") for entry in item.objects("reference")),
        line=item.line,
    )


def _parse_name(value: Any) -> str:
    """Return a name from its CSL parts; without ``family`` and ``given`` it is an organisation."""
    if isinstance(value, dict) and not {"family", "given", "last"} & value.keys():
        return name_from_parts(as_object(value).text("literal", "name"))
    return parse_person(value)


def _parse_date(value: Any) -> str | None:
    """Return the ISO date of a CSL date: ``date-parts``, or a text in ``raw`` or ``literal``.

    Older Pandoc YAML has a list of ``year``, ``month`` and ``day``.
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


# --- JSON -------------------------------------------------------------------------------------

_HEAD_BYTES = 16 << 10


def _json_items(chunk: Chunk) -> Iterator[JsonObject | Problem]:
    keys = json_keys(decode(chunk.data[:_HEAD_BYTES])[0])
    if keys is None or not is_keyed_csl(keys):
        yield from json_records(chunk, into=("message", "items"))
        return
    for member in json_members(chunk):
        if isinstance(member, Problem):
            yield member
        elif isinstance(member.value, dict):
            yield JsonObject(member.line, {"id": member.key, **member.value})
        else:
            yield Problem(member.line, f"expected a CSL-JSON item under the id '{member.key}'")


CSL_JSON = json_format(
    "csl-json", "CSL-JSON and Crossref works", parse_csl_item, items=_json_items, split=None
)


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
_MAX_ITEM = 256 << 10
_ANCHOR = re.compile(r"(?:^[ \t]*-|:)[ \t]+&[\w-]+\s", re.MULTILINE)
_NULL = frozenset(("", "~", "null", "Null", "NULL"))


def _sniff_yaml(head: str) -> bool:
    head = normalise_newlines(head)
    return _HEAD.match(head) is not None and _FIELDS.search(head) is not None


def _split_yaml(data: bytes) -> int:
    """Split before the last item, because only the next item shows where an item ends."""
    first = _FIRST_ITEM.search(data)
    if first is None:
        return 0
    return data.rfind(b"\n%s- " % first[1], first.end()) + 1 or first.start()


@text_parser
def _parse_yaml(text: str, chunk: Chunk) -> Iterator[Record]:
    has_anchors = len(text) <= _MAX_ITEM and _ANCHOR.search(text)
    together = _load(text, chunk.line) if has_anchors else None
    separately = (_load(item, line) for line, item in _split_items(text, chunk.line))
    for loaded in separately if not isinstance(together, list) else [together]:
        for item in loaded if isinstance(loaded, list) else [loaded]:
            yield from parse_item(item, parse_csl_item)


def _split_items(text: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each item; a less indented line ends an item."""
    lines = text.split("\n")
    first = next((line for line in lines if line.lstrip().startswith("- ")), "")
    indent = first[: len(first) - len(first.lstrip())]
    starts = [at for at, line in enumerate(lines) if line.startswith(f"{indent}- ")]
    inside = (f"{indent} ", f"{indent}\t", f"{indent}#")
    for start, limit in pairwise([*starts, len(lines)]):
        rest = ((at, lines[at]) for at in range(start + 1, limit))
        ends = (at for at, line in rest if line.strip() and not line.startswith(inside))
        yield line + start, "\n".join(lines[start : next(ends, limit)])


def _load(text: str, line: int) -> list[JsonObject | Problem] | Problem:
    """Load the items of a list, perhaps under ``references``, which may share aliases.

    Return a problem if the text is too long or not valid.
    """
    import yaml  # only this format needs it

    if len(text) > _MAX_ITEM:
        return Problem(line, f"an item of more than {_MAX_ITEM >> 10} KiB is not read")
    try:
        loader = yaml.BaseLoader(text)
        root = loader.get_single_node()
        if isinstance(root, yaml.MappingNode):
            lists = (v for key, v in root.value if key.value == "references" and v.id == "sequence")
            root = next(lists, None)
        nodes = root.value if isinstance(root, yaml.SequenceNode) else []
        items = [(node.start_mark.line, loader.construct_object(node, deep=True)) for node in nodes]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        what = fold(error.problem or "unreadable")
        return Problem(line + (mark.line if mark else 0), f"not valid YAML: {what}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Problem(line, f"not valid YAML: {fold(str(error))[:80] or 'nested too deeply'}")
    return _within_allowance(items, line, len(text))


def _within_allowance(
    items: list[tuple[int, Any]], line: int, size: int
) -> list[JsonObject | Problem]:
    """Return loaded items; ``size`` is the length of their text, and limits what aliases add."""
    allowance, lengths = Allowance(size), dict[int, int]()
    values: list[JsonObject | Problem] = []
    for at, item in items:
        try:
            is_covered = allowance.covers(_expanded_length(item, lengths))
        except RecursionError:  # an alias inside its own anchor
            is_covered = False
        if not is_covered:
            values.append(Problem(line + at, "its aliases (*name) expand to too much text"))
        elif isinstance(item, dict):
            values.append(JsonObject(line + at, _merge_keys(item)))
        else:
            values.append(Problem(line + at, "expected an item with names and values"))
    return values


def _expanded_length(value: Any, lengths: dict[int, int]) -> int:
    """Return the length of a value with its aliases expanded; each is measured once."""
    if isinstance(value, str):
        return len(value)
    if id(value) not in lengths:
        parts = [*value, *value.values()] if isinstance(value, dict) else value or ()
        lengths[id(value)] = 1 + sum(_expanded_length(part, lengths) for part in parts)
    return lengths[id(value)]


def _merge_keys(value: dict[Any, Any]) -> dict[str, Any]:
    """Return an item with its ``<<`` merged in, and ``None`` for YAML's words for null."""
    merged = value.get("<<")
    for other in merged if isinstance(merged, list) else [merged]:
        value = {**other, **value} if isinstance(other, dict) else value
    return {
        str(name): None if isinstance(text, str) and text in _NULL else text
        for name, text in value.items()
        if name != "<<"
    }


CSL_YAML = Format("csl-yaml", "CSL-YAML (Pandoc)", _sniff_yaml, _parse_yaml, _split_yaml)
