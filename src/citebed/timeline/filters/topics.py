"""Standing topics: what a filter looks for, from a file of JSON Lines.

A line is ``{"query_id": "Aharon_Barak", "name": "Aharon Barak", "aliases": ["Justice Barak"],
"text": "President of the Supreme Court …", "training": ["1320223380-9367…"]}``; only
``query_id`` must be there. A name may be an object with a weight, the share of its uses in which
it means this topic: ``{"name": "Barak", "weight": 0.1}``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from citebed.errors import FormatError
from citebed.files.input_files import read_lines

_FIELDS = ("query_id", "name", "names", "aliases", "text", "title", "training")
_WIDTH = 200  # longest part of a JSON error that a message quotes
_EXPLANATION = re.compile(r"[\s_]*\([^()]*\)\s*$")


class Name(NamedTuple):
    """A name of a topic, with the share of its uses that mean the topic."""

    name: str
    weight: float = 1.0


class Topic(NamedTuple):
    """A topic or entity to filter for; ``training`` has ids of relevant documents."""

    query_id: str
    names: tuple[Name, ...]
    text: str = ""
    training: tuple[str, ...] = ()


def read_topics(path: str | Path) -> list[Topic]:
    """Read topics from a file of JSON Lines."""
    path = Path(path)
    topics: dict[str, Topic] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            topic = _topic(_loaded(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError(path, number, f"no topic: {str(error)[:_WIDTH]}") from None
        if topic.query_id in topics:
            raise FormatError(path, number, f"the query_id '{topic.query_id}' is there twice")
        topics[topic.query_id] = topic
    if not topics:
        raise FormatError(path, None, "no topic in it; expected JSON Lines with 'query_id'")
    return list(topics.values())


def _loaded(line: str) -> Any:
    """Parse a line of JSON; raise an error if its text cannot be written again."""
    fields = json.loads(line)
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise ValueError(f"{half} is half a character; leave it out") from None
    return fields


def _topic(fields: Any) -> Topic:
    if not isinstance(fields, dict):
        raise TypeError("expected a JSON object with 'query_id'")
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise ValueError(f"the field '{unknown[0]}' is none of {', '.join(_FIELDS)}")
    query_id = fields.get("query_id")
    if not isinstance(query_id, str) or query_id.replace("\0", " ").split() != [query_id]:
        raise ValueError(f"the query_id {query_id!r} is not one word, which a filter run needs")
    called = [*_listed(fields, "name"), *_listed(fields, "names"), *_listed(fields, "aliases")]
    text = " ".join(str(fields[field]) for field in ("title", "text") if fields.get(field))
    training = tuple(str(doc_id) for doc_id in _listed(fields, "training"))
    names = tuple(map(_name, called)) or (Name(spelt_out(query_id)),)
    return Topic(query_id, names, text, training)


def _listed(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _name(value: Any) -> Name:
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        weight = value.get("weight", 1.0)
        if not isinstance(weight, int | float) or not 0 < weight <= 1:
            raise ValueError(f"the weight {weight!r} of '{value['name']}' is not in (0, 1]")
        return Name(value["name"], float(weight))
    if not isinstance(value, str):
        raise TypeError(f"the name {value!r} is neither a text nor an object with 'name'")
    return Name(value)


def spelt_out(query_id: str) -> str:
    """Return the name in an id: ``Basic_Element_(music_group)`` is ``Basic Element``."""
    return _EXPLANATION.sub("", query_id).replace("_", " ").strip() or query_id
