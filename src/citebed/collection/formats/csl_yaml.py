"""CSL-YAML, as Pandoc and Better BibTeX write it: a list of items, often under ``references``.

Each item is parsed by itself, so that a broken one costs no other; only where some stand for others
(``&name``, ``*name``) they are read together. All scalars are read as text: no tag makes anything
else of them, and a page ``1-10`` or a country ``NO`` stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.csl_json import csl_record
from citebed.collection.formats.jsonkinds import records_of
from citebed.collection.formats.jsonvalues import JsonObject
from citebed.files.limits import Allowance
from citebed.records import Problem, Record
from citebed.text.normalise import fold

_KEYS = (
    "id|type|title|author|editor|DOI|URL|issued|container-title|citation-key|abstract|publisher"
    "|categories|accessed|language|ISBN|ISSN|page|volume|issue|note"
)
_ITEM = rf"[ \t]*-[ \t]+(?:&[\w-]+\s+)?['\"]?(?:{_KEYS}|<<)['\"]?[ \t]*:"
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


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of the items."""
    text, problems = read_text(chunk)
    yield from problems
    text = with_newlines(text)
    items = _with_aliases(text, chunk.line) if _ANCHOR.search(text) else None
    for item in _one_by_one(text, chunk.line) if items is None else items:
        yield from records_of(item, csl_record)


def _one_by_one(text: str, line: int) -> Iterator[JsonObject | Problem]:
    lines = text.split("\n")
    first = next((line for line in lines if line.lstrip().startswith("- ")), "")
    indent = first[: len(first) - len(first.lstrip())]
    for start, end in _items(lines, indent):
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


def _items(lines: list[str], indent: str) -> Iterator[tuple[int, int]]:
    """Where each item of the list starts and ends; what stands less deep is no part of it."""
    starts = [at for at, line in enumerate(lines) if line.startswith(f"{indent}- ")]
    for start, limit in pairwise([*starts, len(lines)]):
        inner = range(start + 1, limit)
        end = next((at for at in inner if _is_outside(lines[at], indent)), limit)
        yield start, end


def _is_outside(line: str, indent: str) -> bool:
    return bool(line.strip()) and not line.startswith((f"{indent} ", f"{indent}\t", f"{indent}#"))


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
    (found,) = _affordable([(0, item)], line, len(text))
    return found


def _affordable(items: list[tuple[int, Any]], line: int, size: int) -> list[JsonObject | Problem]:
    """Items, each with its line from ``line`` on, of a text of this size; those whose aliases
    (``*name``) stand for more than such a text may borrow are left out."""
    allowance, known = Allowance(size), dict[int, int]()
    found: list[JsonObject | Problem] = []
    for at, item in items:
        try:
            covered = allowance.covers(_length(item, known))
        except RecursionError:  # an alias within what it stands for
            covered = False
        what = "its aliases (*name) stand for more than a file of this size may borrow"
        whole = _item(_without_nothing(item), line + at) if covered else Problem(line + at, what)
        found.append(whole)
    return found


def _length(value: Any, known: dict[int, int]) -> int:
    """How many characters a value is, written out; what aliases share is measured once."""
    if isinstance(value, str):
        return len(value)
    if id(value) not in known:
        parts = [*value, *value.values()] if isinstance(value, dict) else value or ()
        known[id(value)] = 1 + sum(_length(part, known) for part in parts)
    return known[id(value)]


def _item(item: Any, line: int) -> JsonObject | Problem:
    if isinstance(item, dict):
        return JsonObject(line, {str(name): value for name, value in item.items()})
    return Problem(line, "expected an item with names and values")


def _without_nothing(value: Any) -> Any:
    """An item in which what YAML writes for nothing is nothing."""
    if not isinstance(value, dict):
        return value
    lent = value.get("<<")
    for other in lent if isinstance(lent, list) else [lent]:
        value = {**other, **value} if isinstance(other, dict) else value
    return {
        name: None if isinstance(text, str) and text in _NOTHING else text
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
