"""Cutting BibTeX text into entries and fields, quickly where it is regular and safely where not.

There are three readers, each exact in what it accepts, tried in this order:

1. ``_read_export``: an entry as programs write it, fields in braces, one after another on
   lines of their own. Cut with plain string methods, several times as fast as any pattern.
2. ``_ENTRY``: one regular expression for any entry with braces or quotes, a few levels deep.
3. ``_scan_carefully``: everything else (parentheses, ``#``, deep nesting, broken braces); it
   finds the place to go on from when an entry never ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES
from citebed.records import Problem


class RawEntry(NamedTuple):
    """An entry as it stands: type, key, raw field values by lower-case name, text, line.

    Strings (``@string``) and joins (``#``) are resolved in the values; of two fields of one
    name the first counts, as in BibTeX. ``broken`` marks an entry whose end was not found.
    """

    type: str
    key: str
    fields: dict[str, str]
    text: str
    line: int
    broken: bool = False


def _nested(depth: int) -> str:
    if depth == 0:
        return r"[^{}]*+"
    return rf"[^{{}}]*+(?:\{{{_nested(depth - 1)}\}}[^{{}}]*+)*+"


_NAME = r"([A-Za-z][^\s=,{}\"#%()']*+)"
_BARE = r"([A-Za-z0-9_.:+/\-]++)"
_QUOTED = rf"\"([^\"{{}}]*+(?:\{{{_nested(2)}\}}[^\"{{}}]*+)*+)\""
_FIELD_TEXT = rf"\s*+{_NAME}\s*+=\s*+(?:\{{({_nested(3)})\}}|{_QUOTED}|{_BARE})\s*+"
_FIELD = re.compile(_FIELD_TEXT)
_PLAIN_FIELD = re.sub(r"(?<!\\)\((?!\?)", "(?:", _FIELD_TEXT)
_ENTRY = re.compile(
    rf"@\s*+([A-Za-z]++)\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+,((?:{_PLAIN_FIELD},)*+(?:{_PLAIN_FIELD})?+)\s*+\}}"
)
_EXPORT_HEADER = re.compile(r"@\s*+([A-Za-z]++)\s*+\{\s*+([^\s,{}\"#%=]*+)\s*+")
_FIELD_NAME = re.compile(r"[A-Za-z][^\s=,{}\"#%()']*+")
_HEADER = re.compile(r"@\s*+([A-Za-z]++)\s*+([{(])")
_KEY = re.compile(r"\s*+([^,{}()=\n\"]*+)\s*+(,|(?=[})]))")
_NEXT_ENTRY = re.compile(r"^[ \t]*+@\s*+[A-Za-z]++\s*+[{(]", re.MULTILINE)
_LINE_FIELD = re.compile(
    r"^[\s,]*+([A-Za-z][\w-]*+)[ \t]*+=[ \t]*+(?:\{([^\n]*?)\}|\"([^\n]*?)\"|(\w++))[ \t]*+,?[ \t\r]*+$",
    re.MULTILINE,
)
_BRACE = re.compile(r"[{}]")
_QUOTE_OR_BRACE = re.compile(r"[{}\"]")
_NOT_RECORDS = frozenset(("comment", "preamble", "string"))


def scan(text: str, line: int, macros: dict[str, str]) -> Iterator[RawEntry | Problem]:
    """The entries of ``text``, in order; ``@string`` definitions go into ``macros``."""
    names: dict[str, str] = {}
    at, counted = text.find("@"), 0
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        following = text.find("\n@", at)
        block = (text[at:] if following < 0 else text[at:following]).rstrip()
        entry: RawEntry | Problem | None = _read_export(block, line, macros, names)
        if entry is not None:
            end = len(text) if following < 0 else following
        else:
            entry, end = _read_pattern(text, at, line, macros)
        if entry is not None:
            yield entry if end - at <= MAX_RECORD_BYTES else _too_large(line, end - at)
        at = text.find("@", end)


def _read_export(
    block: str, line: int, macros: dict[str, str], names: dict[str, str]
) -> RawEntry | None:
    """The entry that ``block`` is, if it has the shape that programs write; else ``None``."""
    if not block.endswith("}"):
        return None
    head, _, rest = block.partition(",")
    header = _EXPORT_HEADER.fullmatch(head)
    rest = rest[:-1].rstrip().removesuffix(",").rstrip()
    if header is None or not rest.endswith("}"):
        return None
    pieces = rest[:-1].split("},\n")
    fields = _read_pieces(pieces, block, macros, names)
    kind = header[1].lower()
    if fields is None or kind in _NOT_RECORDS:
        return None
    return RawEntry(kind, header[2], fields, block, line)


def _read_pieces(
    pieces: list[str], block: str, macros: dict[str, str], names: dict[str, str]
) -> dict[str, str] | None:
    """The fields, each given as ``name = {value`` without its closing brace."""
    flat = block.count("{") == block.count("}") == len(pieces) + 1
    parts = [piece.partition(" = {") for piece in pieces]
    if flat:
        try:
            fields = {names[name]: value for name, _, value in parts}
        except KeyError:
            fields = {}
        if len(fields) == len(pieces):
            return fields
    fields = {}
    for piece, (name, _, value) in zip(pieces, parts, strict=True):
        known: str | None = names.get(name)
        if known is None:
            last = _read_unusual(piece, macros, names, fields)
            if last is None:
                return None
            known, value = last
        if not (flat or _is_balanced(value)):
            return None
        fields.setdefault(known, value)
    return fields


def _read_unusual(
    piece: str, macros: dict[str, str], names: dict[str, str], fields: dict[str, str]
) -> tuple[str, str] | None:
    """Read bare fields (``month = aug,``) that precede a braced one; give the braced one.

    A name seen for the first time is checked and remembered in ``names`` with its blanks.
    """
    while True:
        name, _, value = piece.partition("=")
        if _FIELD_NAME.fullmatch(name.strip()) is None:
            return None
        after = value.lstrip()
        if after[:1] == "{":
            if value.startswith(" {") and name.endswith(" ") and len(names) < 10_000:
                names[name[:-1]] = name.strip().lower()
            return name.strip().lower(), after[1:]
        bare, comma, piece = after.partition(",\n")
        if not comma or not bare.isalnum():
            return None
        fields.setdefault(name.strip().lower(), macros.get(bare.lower(), bare))


def _is_balanced(value: str) -> bool:
    if "{" not in value and "}" not in value:
        return True
    depth = 0
    for brace in _BRACE.findall(value):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def _read_pattern(
    text: str, at: int, line: int, macros: dict[str, str]
) -> tuple[RawEntry | Problem | None, int]:
    match = _ENTRY.match(text, at)
    if match is None or match[1].lower() in _NOT_RECORDS:
        return _scan_carefully(text, at, line, macros)
    fields: dict[str, str] = {}
    for name, braced, quoted, bare in _FIELD.findall(match[3]):
        fields.setdefault(name.lower(), braced or quoted or macros.get(bare.lower(), bare))
    return RawEntry(match[1].lower(), match[2], fields, match[0], line), match.end()


def _too_large(line: int, size: int) -> Problem:
    limit = MAX_RECORD_BYTES >> 20
    return Problem(line, f"a record of {size >> 20} MiB; more than {limit} MiB is not read")


def _scan_carefully(
    text: str, at: int, line: int, macros: dict[str, str]
) -> tuple[RawEntry | Problem | None, int]:
    """An entry of any shape that starts at ``at``, and where to go on; ``None`` for no record."""
    header = _HEADER.match(text, at)
    if header is None:
        return None, at + 1
    kind, opening = header[1].lower(), header[2]
    if kind == "comment":
        return None, _end_of_group(text, header.end(), opening) or header.end()
    limit = _next_entry(text, header.end())
    body = text[at:limit]
    start = header.end() - at
    if kind == "string":
        end = _read_macro(body, start, macros)
        return (Problem(line, "a @string that is not `name = value`"), limit) if end is None else (None, at + end)
    if kind == "preamble":
        return None, _end_of_group(text, header.end(), opening) or limit
    entry, end = _read_entry(body, start, kind, line, macros)
    if entry is None:
        return _salvage(body.rstrip(), start, kind, line), limit
    return entry, at + end


def _next_entry(text: str, start: int) -> int:
    match = _NEXT_ENTRY.search(text, start)
    return len(text) if match is None else match.start()


def _end_of_group(text: str, start: int, opening: str) -> int | None:
    """The position after the brace or parenthesis that closes the one before ``start``."""
    depth = 0
    for match in (_BRACE if opening == "{" else re.compile(r"[{}()]")).finditer(text, start):
        char = match[0]
        if char in "{(":
            depth += 1
        elif depth == 0:
            return match.end()
        else:
            depth -= 1
    return None


def _read_macro(body: str, at: int, macros: dict[str, str]) -> int | None:
    name = re.compile(r"\s*+([^\s=,{}\"#%()']++)\s*+=").match(body, at)
    if name is None:
        return None
    value, at = _read_value(body, name.end(), macros)
    close = re.compile(r"\s*+,?\s*+[})]").match(body, at)
    if value is None or close is None:
        return None
    macros[name[1].lower()] = value
    return close.end()


def _read_entry(
    body: str, at: int, kind: str, line: int, macros: dict[str, str]
) -> tuple[RawEntry | None, int]:
    key = _KEY.match(body, at)
    if key is None:
        return None, at
    fields: dict[str, str] = {}
    at = key.end()
    separator = re.compile(r"[\s,]*+")
    name_pattern = re.compile(r"([^\s=,{}\"#%()']++)\s*+=")
    while True:
        at = separator.match(body, at).end()  # type: ignore[union-attr]
        if body[at : at + 1] in ("}", ")"):
            return RawEntry(kind, key[1].strip(), fields, body[: at + 1], line), at + 1
        name = name_pattern.match(body, at)
        if name is None:
            return None, at
        value, end = _read_value(body, name.end(), macros)
        if value is None:
            return None, at
        fields.setdefault(name[1].lower(), value)
        at = end


def _read_value(body: str, at: int, macros: dict[str, str]) -> tuple[str | None, int]:
    """A value with its ``#`` joins resolved, and the position behind it."""
    parts: list[str] = []
    word = re.compile(r"\s*+([^\s,{}\"#%()=']++)?")
    while True:
        bare = word.match(body, at)
        assert bare is not None
        at = bare.end()
        if bare[1]:
            parts.append(macros.get(bare[1].lower(), bare[1]))
        else:
            part, at = _read_delimited(body, at)
            if part is None:
                return None, at
            parts.append(part)
        joint = re.compile(r"\s*+#").match(body, at)
        if joint is None:
            return "".join(parts), at
        at = joint.end()


def _read_delimited(body: str, at: int) -> tuple[str | None, int]:
    opening = body[at : at + 1]
    if opening == "{":
        end = _end_of_group(body, at + 1, "{")
        return (None, at) if end is None else (body[at + 1 : end - 1], end)
    if opening != '"':
        return None, at
    depth = 0
    for match in _QUOTE_OR_BRACE.finditer(body, at + 1):
        if match[0] == '"' and depth <= 0:
            return body[at + 1 : match.start()], match.end()
        depth += {"{": 1, "}": -1}.get(match[0], 0)
    return None, at


def _salvage(body: str, start: int, kind: str, line: int) -> RawEntry | Problem:
    """What can be saved of an entry whose braces do not close: fields that end on their line."""
    if len(body) > MAX_RECORD_BYTES:
        return _too_large(line, len(body))
    key = _KEY.match(body, start)
    fields: dict[str, str] = {}
    for name, braced, quoted, bare in _LINE_FIELD.findall(body, start):
        fields.setdefault(name.lower(), braced or quoted or bare)
    if key is None or not fields.get("title"):
        return Problem(line, f"@{kind} entry whose braces or quotes do not close, and no title to keep")
    return RawEntry(kind, key[1].strip(), fields, body, line, broken=True)


def cut(data: bytes) -> int:
    """Where a buffer of BibTeX can be cut: before its last entry that starts a line."""
    last = 0
    window = len(data)
    while window > 0 and not last:
        start = max(0, window - (1 << 16))
        for match in _HEADER_BYTES.finditer(data, start, window + 256):
            last = match.start() + 1
        window = start
    return last


_HEADER_BYTES = re.compile(rb"\n@[A-Za-z]++[ \t]*+\{\s*+[^\s,{}\"#%=]++\s*+,")


_STRING_START = re.compile(rb"@[ \t]*string\s*[{(]", re.IGNORECASE)


def carry(data: bytes, macros: dict[str, str]) -> None:
    """Put the strings that a piece defines into ``macros``, for the pieces that follow it."""
    for match in _STRING_START.finditer(data):
        body = data[match.start() : match.start() + 4096].decode("utf-8", errors="replace")
        header = _HEADER.match(body)
        if header is not None:
            _read_macro(body, header.end(), macros)
