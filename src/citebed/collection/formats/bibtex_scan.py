"""Cutting BibTeX text into entries and fields, quickly where it is regular and safely where not.

There are three readers, each exact in what it accepts, tried in this order:

1. ``_read_export``: an entry as programs write it, fields in braces, one after another on
   lines of their own. Cut with plain string methods, several times as fast as any pattern.
2. ``_read_pattern``: one regular expression for any entry with braces or quotes, a few levels deep.
3. ``_scan_carefully``: everything else (parentheses, ``#``, deep nesting, broken braces); it
   finds the place to go on from when an entry never ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES, decode, with_newlines
from citebed.patterns import compiled
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
    inner = rf"(?:\{{{_nested(depth - 1)}\}}[^{{}}]*+)*+" if depth else ""
    return rf"[^{{}}]*+{inner}"


_NAME = r"[A-Za-z][^\s=,{}\"#%()']*+"
_BARE = r"[A-Za-z0-9_.:+/\-]++"
_BRACED = _nested(3)
_QUOTED = rf"[^\"{{}}]*+(?:\{{{_nested(2)}\}}[^\"{{}}]*+)*+"
_FIELD = compiled(rf"\s*+({_NAME})\s*+=\s*+(?:\{{({_BRACED})\}}|\"({_QUOTED})\"|({_BARE}))\s*+")
_PLAIN_FIELD = rf"\s*+{_NAME}\s*+=\s*+(?:\{{{_BRACED}\}}|\"{_QUOTED}\"|{_BARE})\s*+"
_ENTRY = compiled(
    rf"@\s*+([A-Za-z]++)\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+,((?:{_PLAIN_FIELD},)*+(?:{_PLAIN_FIELD})?+)\s*+\}}"
)
_EXPORT_HEADER = compiled(r"@\s*+([A-Za-z]++)\s*+\{\s*+([^\s,{}\"#%=]*+)\s*+")
_FIELD_NAME = compiled(_NAME)
_HEADER = compiled(r"@\s*+([A-Za-z]++)\s*+([{(])")
# A key may hold blanks; a word before an equals sign is a field's name, and a comma is missing.
_WORD = r"[^\s,{}=\"]++(?!\s*+=)"
_KEY = compiled(
    rf"\s*+((?:{_WORD}(?:[ \t]++{_WORD})*+)?+)\s*+(?:,|(?=[}})])|(?=[A-Za-z][\w:-]*+\s*+=))"
)
_KEY_IN_PARENTHESES = compiled(_KEY.pattern.replace('=\\"]', '=()\\"]'))
_NEXT_ENTRY = compiled(r"^[ \t]*+@\s*+[A-Za-z]++\s*+[{(]", re.MULTILINE)
_LINE_FIELD = compiled(
    r"^[ \t,]*+([A-Za-z][\w-]*+)[ \t]*+=[ \t]*+"
    r"(?:\{([^\n]*?)\}|\"([^\n]*?)\"|(\w++))[ \t]*+,?[ \t]*+$",
    re.MULTILINE,
)
_BRACE, _ANY_BRACE = re.compile(r"[{}]"), re.compile(r"[{}()]")
_NO_RECORD_START = r"(@\s*+(?:comment|preamble)\s*+)?+"
_GROUPS = {
    "{": compiled(rf"{_NO_RECORD_START}\{{|\}}", re.IGNORECASE),
    "(": compiled(rf"{_NO_RECORD_START}[{{(]|[}})]", re.IGNORECASE),
}
_SEPARATOR = compiled(r"[\s,]*+")
_ANY_NAME = compiled(r"\s*+([^\s=,{}\"#%()']++)\s*+=")
_ANY_BARE = compiled(r"\s*+([^\s,{}\"#%()=']++)?")
_JOINT = compiled(r"\s*+#")
_MACRO_END = compiled(r"\s*+,?\s*+[})]")
_QUOTE_OR_BRACE = re.compile(r"[{}\"]")
_NOT_RECORDS = frozenset(("comment", "preamble", "string"))


class _Source:
    """A text in reading: its strings, and what was found out about it on the way.

    The same question is not answered by two searches to the end of the text: a file that is
    one long line, or full of braces that never close, is read in linear time too.
    """

    def __init__(self, text: str, macros: dict[str, str]) -> None:
        self.text = text
        self.macros = macros
        self._next = -1
        self._ends: dict[str, dict[int, int]] = {}

    def next_entry(self, start: int) -> int:
        """Where the next entry stands that starts a line; the end of the text without one."""
        if self._next < start:
            match = _NEXT_ENTRY.search(self.text, start)
            self._next = len(self.text) if match is None else match.start()
        return self._next

    def end_of_no_record(self, start: int, opening: str) -> int | None:
        """Where the comment or preamble ends whose contents begin at ``start``."""
        if opening not in self._ends:
            end = _end_of_group(self.text, start, len(self.text), opening)
            if end is not None:
                return end
            self._ends[opening] = _ends_of_no_records(self.text, opening)
        return self._ends[opening].get(start)


def _ends_of_no_records(text: str, opening: str) -> dict[int, int]:
    ends: dict[int, int] = {}
    open_groups: list[int] = []
    for match in _GROUPS[opening].finditer(text):
        if match[0][-1] in "{(":
            open_groups.append(match.end() if match[1] else 0)
        elif open_groups and (start := open_groups.pop()):
            ends[start] = match.end()
    return ends


def scan(text: str, line: int, macros: dict[str, str]) -> Iterator[RawEntry | Problem]:
    """The entries of ``text``, in order; ``@string`` definitions go into ``macros``."""
    names: dict[str, str] = {}
    source = _Source(text, macros)
    at, counted, block_end = text.find("@"), 0, -1
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        entry: RawEntry | Problem | None = None
        # Only the first entry of a block can be all of it; the others share its last line.
        if at > block_end:
            following = text.find("\n@", at)
            block_end = len(text) if following < 0 else following
            entry = _read_export(text[at:block_end].rstrip(), line, macros, names)
        if entry is not None:
            end = block_end
        else:
            entry, end = _read_pattern(source, at, line)
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
    if flat:
        parts = [piece.partition(" = {") for piece in pieces]
        try:
            fields = {names[name]: value for name, equals, value in parts if equals}
        except KeyError:
            fields = {}
        if len(fields) == len(pieces):
            return fields
    fields = {}
    for piece in pieces:
        name, equals, value = piece.partition(" = {")
        known = names.get(name) if equals else None
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


def _read_pattern(source: _Source, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
    match = _ENTRY.match(source.text, at)
    if match is None or match[1].lower() in _NOT_RECORDS:
        return _scan_carefully(source, at, line)
    fields: dict[str, str] = {}
    for name, braced, quoted, bare in _FIELD.findall(match[3]):
        fields.setdefault(name.lower(), braced or quoted or source.macros.get(bare.lower(), bare))
    return RawEntry(match[1].lower(), match[2], fields, match[0], line), match.end()


def _too_large(line: int, size: int) -> Problem:
    limit = MAX_RECORD_BYTES >> 20
    return Problem(line, f"a record of {size >> 20} MiB; more than {limit} MiB is not read")


def _scan_carefully(source: _Source, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
    """An entry of any shape that starts at ``at``, and where to go on; ``None`` for no record."""
    header = _HEADER.match(source.text, at)
    if header is None:
        return None, at + 1
    kind, opening, start = header[1].lower(), header[2], header.end()
    if kind == "comment":
        return None, source.end_of_no_record(start, opening) or start
    limit = source.next_entry(start)
    if kind == "preamble":
        return None, source.end_of_no_record(start, opening) or limit
    if kind == "string":
        after = _read_macro(source, start, limit)
        what = "a @string that is not `name = value`"
        return (Problem(line, what), limit) if after is None else (None, after)
    entry, end = _read_entry(source, header, limit, line)
    return (entry, end) if entry else (_salvage(source, header, limit, line), limit)


def _end_of_group(text: str, start: int, limit: int, opening: str) -> int | None:
    """The position after the brace or parenthesis that closes the one before ``start``."""
    depth = 0
    for match in (_BRACE if opening == "{" else _ANY_BRACE).finditer(text, start, limit):
        if depth == 0 and match[0] in "})":
            return match.end()
        depth += 1 if match[0] in "{(" else -1
    return None


def _read_macro(source: _Source, at: int, limit: int) -> int | None:
    name = _ANY_NAME.match(source.text, at, limit)
    if name is None:
        return None
    value, at = _read_value(source, name.end(), limit)
    close = _MACRO_END.match(source.text, at, limit)
    if value is None or close is None:
        return None
    source.macros[name[1].lower()] = value
    return close.end()


def _key_at(header: re.Match[str], limit: int) -> re.Match[str] | None:
    pattern = _KEY if header[2] == "{" else _KEY_IN_PARENTHESES
    return pattern.match(header.string, header.end(), limit)


class Head(NamedTuple):
    """How an entry begins: ``opening`` up to the key, which ends (with its comma) at ``end``."""

    opening: str
    key: str
    end: int


def head_of(bibtex: str) -> Head | None:
    """The head of an entry that stands alone, or ``None`` if it is not one."""
    header = _HEADER.match(bibtex)
    key = _key_at(header, len(bibtex)) if header else None
    return None if key is None else Head(bibtex[: key.start(1)], key[1], key.end())


def _read_entry(
    source: _Source, header: re.Match[str], limit: int, line: int
) -> tuple[RawEntry | None, int]:
    text, key = source.text, _key_at(header, limit)
    if key is None:
        return None, limit
    fields: dict[str, str] = {}
    at = key.end()
    while True:
        at = _SEPARATOR.match(text, at, limit).end()  # type: ignore[union-attr]
        if at < limit and text[at] in "})":
            whole = text[header.start() : at + 1]
            return RawEntry(header[1].lower(), key[1], fields, whole, line), at + 1
        name = _ANY_NAME.match(text, at, limit)
        if name is None:
            return None, at
        value, at = _read_value(source, name.end(), limit)
        if value is None:
            return None, at
        fields.setdefault(name[1].lower(), value)


def _read_value(source: _Source, at: int, limit: int) -> tuple[str | None, int]:
    """A value with its ``#`` joins resolved, and the position behind it."""
    parts: list[str] = []
    while True:
        bare = _ANY_BARE.match(source.text, at, limit)
        assert bare is not None
        at = bare.end()
        if bare[1]:
            parts.append(source.macros.get(bare[1].lower(), bare[1]))
        else:
            part, at = _read_delimited(source.text, at, limit)
            if part is None:
                return None, at
            parts.append(part)
        joint = _JOINT.match(source.text, at, limit)
        if joint is None:
            return "".join(parts), at
        at = joint.end()


def _read_delimited(text: str, at: int, limit: int) -> tuple[str | None, int]:
    opening = text[at] if at < limit else ""
    if opening == "{":
        end = _end_of_group(text, at + 1, limit, "{")
        return (None, at) if end is None else (text[at + 1 : end - 1], end)
    if opening != '"':
        return None, at
    depth = 0
    for match in _QUOTE_OR_BRACE.finditer(text, at + 1, limit):
        if match[0] == '"' and depth == 0:
            return text[at + 1 : match.start()], match.end()
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            break
    return None, at


def _salvage(source: _Source, header: re.Match[str], limit: int, line: int) -> RawEntry | Problem:
    """What can be saved of an entry whose braces do not close: fields that end on their line."""
    kind, key = header[1].lower(), _key_at(header, limit)
    if limit - header.start() > MAX_RECORD_BYTES:
        return _too_large(line, limit - header.start())
    fields: dict[str, str] = {}
    rest = source.text[key.end() if key else limit : limit].rstrip()
    for name, braced, quoted, bare in _LINE_FIELD.findall(rest):
        fields.setdefault(name.lower(), braced or quoted or source.macros.get(bare.lower(), bare))
    if key is None or not fields.get("title"):
        what = f"@{kind} entry whose braces or quotes do not close, and no title to keep"
        return Problem(line, what)
    whole = source.text[header.start() : limit].rstrip()
    return RawEntry(kind, key[1], fields, whole, line, broken=True)


def cut(data: bytes) -> int:
    """Where a buffer of BibTeX can be cut: before its last entry that starts a line."""
    last, window = 0, len(data)
    while window > 0 and not last:
        start = max(0, window - (1 << 16))
        for match in _HEADER_BYTES.finditer(data, start, window + 256):
            last = match.start() + 1
        window = start
    return last


_HEADER_BYTES = compiled(rb"[\r\n]@[A-Za-z]++[ \t]*+\{\s*+[^\s,{}\"#%=]++\s*+,")
_STRING_START = re.compile(rb"@[ \t]*string\s*[{(]", re.IGNORECASE)


def carry(data: bytes, macros: dict[str, str]) -> None:
    """Put the strings that a piece defines into ``macros``, for the pieces that follow it."""
    for match in _STRING_START.finditer(data):
        body = with_newlines(decode(data[match.start() : match.start() + 4096])[0])
        header = _HEADER.match(body)
        if header is not None:
            _read_macro(_Source(body, macros), header.end(), len(body))
