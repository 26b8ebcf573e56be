"""CSL-YAML, as Pandoc and Better BibTeX write it: a list of items, often under ``references``.

Each item is parsed by itself, so that a broken one costs no other. All scalars are read as text:
no tag makes anything else of them, and a page ``1-10`` or a country ``NO`` stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.csl_json import csl_record
from citebed.collection.formats.jsonvalues import JsonObject
from citebed.records import Problem, Record
from citebed.text.normalise import fold

_KEYS = (
    "id|type|title|author|editor|DOI|URL|issued|container-title|citation-key|abstract|publisher"
    "|categories|accessed|language|ISBN|ISSN|page|volume|issue|note"
)
_ITEM = rf"[ \t]*-[ \t]+['\"]?(?:{_KEYS})['\"]?[ \t]*:"
_HEAD = re.compile(
    rf"(?:\s*#[^\n]*\n|\s*---[^\n]*\n|(?!references)[\w-]+:[^\n]*\n)*\s*(?:references:\s*\n\s*)?{_ITEM}"
)
_FIELDS = re.compile(r"^[ \t]*(?:- )?[ \t]*(?:type|title|author|issued):", re.MULTILINE)
_FIRST_ITEM = re.compile(rb"^([ \t]*)- ", re.MULTILINE)
_LONGEST = 256 << 10
_NOTHING = frozenset(("", "~", "null", "Null", "NULL"))


def _sniff(head: str) -> bool:
    head = with_newlines(head)
    return _HEAD.match(head) is not None and _FIELDS.search(head) is not None


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of the items."""
    text, problems = read_text(chunk)
    yield from problems
    lines = with_newlines(text).split("\n")
    first = next((line for line in lines if line.lstrip().startswith("- ")), "")
    indent = first[: len(first) - len(first.lstrip())]
    for start, end in _items(lines, indent):
        text, line = "\n".join(lines[start:end]), chunk.line + start
        long = Problem(line, f"an item of more than {_LONGEST >> 10} KiB is not read")
        item = long if len(text) > _LONGEST else _load(text, line)
        yield item if isinstance(item, Problem) else csl_record(item)


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
        item = _without_nothing(value[0]) if isinstance(value, list) and value else value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        what = fold(error.problem or "unreadable")
        return Problem(line + (mark.line if mark else 0), f"not valid YAML: {what}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Problem(line, f"not valid YAML: {fold(str(error))[:80] or 'nested too deeply'}")
    if isinstance(item, dict):
        return JsonObject(line, {str(name): value for name, value in item.items()})
    return Problem(line, "expected an item with names and values")


def _without_nothing(value: Any) -> Any:
    """An item in which what YAML writes for nothing is nothing."""
    if not isinstance(value, dict):
        return value
    return {
        name: None if isinstance(text, str) and text in _NOTHING else text
        for name, text in value.items()
    }


def _cut(data: bytes) -> int:
    """The start of the last item, since only the next one shows where it ends."""
    first = _FIRST_ITEM.search(data)
    if first is None:
        return 0
    return data.rfind(b"\n%s- " % first[1], first.end()) + 1 or first.start()


CSL_YAML = Format("csl-yaml", "CSL-YAML (Pandoc)", _sniff, _parse, _cut)
