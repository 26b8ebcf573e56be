"""Cutting BibTeX text into entries and fields, quickly where it is regular and safely where not.

There are three readers, each exact in what it accepts, tried in this order:

1. ``read_export``: an entry as programs write it (``bibtex_entry``).
2. ``_read_pattern``: one regular expression for any entry with braces or quotes, a few levels deep.
3. ``_scan_carefully``: everything else (parentheses, ``#``, deep nesting, broken braces, and
   ``%`` comments, which biber allows); it finds the place to go on from when an entry never ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES
from citebed.collection.formats.bibtex_entry import (
    FIELD_NAME,
    NOT_RECORDS,
    TOO_MUCH,
    TYPE,
    RawEntry,
    Strings,
    read_export,
)
from citebed.records import Problem
from citebed.text.regex import compile_regex


def _nested(depth: int) -> str:
    inner = rf"(?:\{{{_nested(depth - 1)}\}}[^{{}}]*+)*+" if depth else ""
    return rf"[^{{}}]*+{inner}"


_BARE = r"[A-Za-z0-9_.:+/\-]++"
_BRACED = _nested(3)
_QUOTED = rf"[^\"{{}}]*+(?:\{{{_nested(2)}\}}[^\"{{}}]*+)*+"
_FIELD = compile_regex(
    rf"\s*+({FIELD_NAME})\s*+=\s*+(?:\{{({_BRACED})\}}|\"({_QUOTED})\"|({_BARE}))\s*+"
)
_PLAIN_FIELD = rf"\s*+{FIELD_NAME}\s*+=\s*+(?:\{{{_BRACED}\}}|\"{_QUOTED}\"|{_BARE})\s*+"
_ENTRY = compile_regex(
    rf"@\s*+({TYPE})\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+,((?:{_PLAIN_FIELD},)*+(?:{_PLAIN_FIELD})?+)\s*+\}}"
)
_HEADER = compile_regex(rf"@\s*+((?:{TYPE})?+)\s*+([{{(])")
_BLANK = r"(?:\s++|%[^\n]*+)*+"
# A key may hold blanks; a word before an equals sign is a field's name, and a comma is missing.
_WORD = r"(?!%)[^\s,{}=\"]++(?!\s*+=)"
_KEY = compile_regex(
    rf"{_BLANK}((?:{_WORD}(?:[ \t]++{_WORD})*+)?+){_BLANK}(?:,|(?=[}})])|(?=[A-Za-z][\w:-]*+\s*+=))"
)
_KEY_IN_PARENTHESES = compile_regex(_KEY.pattern.replace('=\\"]', '=()\\"]'))
_NEXT_ENTRY = compile_regex(rf"^[ \t]*+@\s*+{TYPE}\s*+[{{(]", re.MULTILINE)
_LINE_FIELD = compile_regex(
    r"^[ \t,]*+([A-Za-z][\w-]*+)[ \t]*+=[ \t]*+"
    r"(?:\{([^\n]*?)\}|\"([^\n]*?)\"|(\w++))[ \t]*+,?[ \t]*+$",
    re.MULTILINE,
)
_BRACE, _ANY_BRACE = re.compile(r"[{}]"), re.compile(r"[{}()]")
_NO_RECORD_START = r"(@\s*+(?:comment|preamble)\s*+)?+"
_GROUPS = {
    "{": compile_regex(rf"{_NO_RECORD_START}\{{|\}}", re.IGNORECASE),
    "(": compile_regex(rf"{_NO_RECORD_START}[{{(]|[}})]", re.IGNORECASE),
}
_SEPARATOR = compile_regex(r"(?:[\s,]++|%[^\n]*+)*+")
_ANY_NAME = compile_regex(rf"{_BLANK}([^\s=,{{}}\"#%()']++){_BLANK}=")
_ANY_BARE = compile_regex(rf"{_BLANK}([^\s,{{}}\"#%()=']++)?")
_JOINT = compile_regex(rf"{_BLANK}#")
_MACRO_END = compile_regex(rf"{_BLANK}(,?+){_BLANK}([}})]?+)")
_QUOTE_OR_BRACE = re.compile(r"[{}\"]")
# Fields behind what closed an entry: a brace too many, or one with a backslash, closed it early.
_GOES_ON = compile_regex(r"[\s}]*+,\s*+[A-Za-z][\w-]*+\s*+=\s*+[{\"]")
_ESCAPED_BRACE, _HIDDEN_BRACE = re.compile(r"\\([{}])"), re.compile("[\ue010\ue011]")
_SHORT = 200
_COMMENTED_OUT = compile_regex(rf"([^\n]{{0,{_SHORT}}}+)\n[ \t]*+%")


class _Source:
    """A text in reading: its strings, and what was found out about it on the way.

    The same question is not answered by two searches to the end of the text: a file that is
    one long line, or full of braces that never close, is read in linear time too.
    """

    def __init__(self, text: str, strings: Strings) -> None:
        self.text = text
        self.strings = strings
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
    strings = Strings(macros, len(text))
    source = _Source(text, strings)
    at, counted, block_end = text.find("@"), 0, -1
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        entry: RawEntry | Problem | None = None
        strings.forget()
        # Only the first entry of a block can be all of it; the others share its last line.
        if at > block_end:
            block_end = _line_before_at(text, at + 1)
            entry = read_export(text[at:block_end].rstrip(), line, strings, names)
        if entry is not None:
            end = block_end
        else:
            strings.forget()
            entry, end = _read_pattern(source, at, line)
        if (strings.undefined or strings.overgrown) and isinstance(entry, RawEntry):
            entry = strings.marked(entry)
        if entry is not None:
            yield entry if end - at <= MAX_RECORD_BYTES else _too_large(line, end - at)
        at = text.find("@", end)


def _line_before_at(text: str, start: int) -> int:
    """Where the line ends behind which another begins with ``@``; the end of the text without one.

    One letter is found several times as quickly as two.
    """
    at = text.find("@", start)
    while at >= 0 and text[at - 1] != "\n":
        at = text.find("@", at + 1)
    return at - 1 if at >= 0 else len(text)


def _read_pattern(source: _Source, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
    match = _ENTRY.match(source.text, at)
    if match is None or match[1].lower() in NOT_RECORDS or _GOES_ON.match(source.text, match.end()):
        return _scan_carefully(source, at, line)
    fields: dict[str, str] = {}
    for name, braced, quoted, bare in _FIELD.findall(match[3]):
        fields.setdefault(
            name.lower(), braced or quoted or (source.strings.value(bare) if bare else "")
        )
    return RawEntry(match[1].lower(), match[2], fields, match[0], line), match.end()


def _too_large(line: int, size: int) -> Problem:
    limit = MAX_RECORD_BYTES >> 20
    return Problem(line, f"a record of {size >> 20} MiB; more than {limit} MiB is not read")


def _scan_carefully(source: _Source, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
    """An entry of any shape that starts at ``at``, and where to go on; ``None`` for no record."""
    header = _HEADER.match(source.text, at)
    if header is None or _is_commented_out(source.text, at):
        return None, at + 1
    kind, start = header[1].lower(), header.end()
    limit = source.next_entry(start)
    if kind in ("comment", "preamble"):
        return _pass_over(source, header, limit, line)
    if kind == "string":
        after = _read_macros(source, start, limit)
        if after is None:
            return Problem(line, "a @string that is not `name = value`"), limit
        notes = [f"string '{word}' {TOO_MUCH}" for word in source.strings.overgrown[:1]]
        return (Problem(line, notes[0], "mended") if notes else None), after
    entry, end = _read_entry(source, header, limit, line)
    if entry and _GOES_ON.match(source.text, end, limit):
        return _reread(source, header, limit, entry), limit
    if kind:
        return (entry, end) if entry else (_salvage(source, header, limit, line), limit)
    named = entry is not None and entry.key and entry.fields
    return (entry._replace(type="misc"), end) if entry and named else (None, start)


def _is_commented_out(text: str, at: int) -> bool:
    """Whether an entry stands behind a ``%``, and its next line too: one that ends on its line
    is read, as BibTeX does, to which a ``%`` means nothing."""
    before = text[max(0, at - _SHORT) : at].rpartition("\n")[2].lstrip()
    match = _COMMENTED_OUT.match(text, at) if before.startswith("%") else None
    return match is not None and match[1].count("{") > match[1].count("}")


def _pass_over(
    source: _Source, header: re.Match[str], limit: int, line: int
) -> tuple[Problem | None, int]:
    """Where a comment or preamble ends; no brace further down may close it over entries."""
    kind, start = header[1].lower(), header.end()
    end = source.end_of_no_record(start, header[2])
    if end is None and kind == "comment":
        return None, start
    if end is not None and end <= limit:
        return None, end
    inside = source.text[start:limit].strip()
    if end is not None and kind == "comment" and (not inside or inside.startswith("@")):
        hidden = len(_NEXT_ENTRY.findall(source.text, start, end))
        what = f"a @comment around entries ({hidden} begin a line in it); they are not read"
        return Problem(line, what, "mended"), end
    what = f"a @{kind} that does not close before the next entry; taken to end there"
    return Problem(line, what, "mended"), limit


def _reread(
    source: _Source, header: re.Match[str], limit: int, short: RawEntry
) -> RawEntry | Problem:
    """An entry that a brace closed before its last fields.

    Read again with ``\\{`` and ``\\}`` as characters, which some programs take them for; failing
    that, those of its lines that can be read are added to what was.
    """
    hidden = source.text[header.start() : limit]
    hidden = _ESCAPED_BRACE.sub(lambda m: "\\" + ("\ue010" if m[1] == "{" else "\ue011"), hidden)
    again = _Source(hidden, source.strings)
    start = _HEADER.match(hidden)
    assert start is not None
    entry, end = _read_entry(again, start, len(hidden), short.line)
    if entry and not _GOES_ON.match(hidden, end):
        fields = {name: _HIDDEN_BRACE.sub(_shown, value) for name, value in entry.fields.items()}
        return entry._replace(fields=fields, text=_HIDDEN_BRACE.sub(_shown, entry.text))
    saved = _salvage(source, header, limit, short.line)
    if isinstance(saved, Problem):
        return short._replace(broken=True)
    return saved._replace(fields=saved.fields | short.fields)


def _shown(brace: re.Match[str]) -> str:
    return "{" if brace[0] == "\ue010" else "}"


def _end_of_group(text: str, start: int, limit: int, opening: str) -> int | None:
    """The position after the brace or parenthesis that closes the one before ``start``."""
    depth = 0
    for match in (_BRACE if opening == "{" else _ANY_BRACE).finditer(text, start, limit):
        if depth == 0 and match[0] in "})":
            return match.end()
        depth += 1 if match[0] in "{(" else -1
    return None


def _read_macros(source: _Source, at: int, limit: int) -> int | None:
    """Take in the strings that a ``@string`` defines (biber allows several); where it ends."""
    while True:
        name = _ANY_NAME.match(source.text, at, limit)
        if name is None:
            return None
        value, at = _read_value(source, name.end(), limit)
        close = _MACRO_END.match(source.text, at, limit)
        if value is None or close is None or not (close[1] or close[2]):
            return None
        source.strings.defined[name[1].lower()] = value
        at = close.end()
        if close[2]:
            return at


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
            parts.append(source.strings.value(bare[1]))
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
        fields.setdefault(
            name.lower(), braced or quoted or (source.strings.value(bare) if bare else "")
        )
    if key is None or not fields.get("title"):
        what = f"@{kind} entry whose braces or quotes do not close, and no title to keep"
        return Problem(line, what)
    whole = source.text[header.start() : limit].rstrip()
    return RawEntry(kind, key[1], fields, whole, line, broken=True)
