"""Splitting BibTeX text into entries and fields: fast for regular entries, safe for all others.

Three readers try each entry, in this order. Each reads exactly what it accepts:

1. `read_export`: an entry as programs write it, with each field in braces on lines of its own. It
   uses only string methods, several times as fast as any pattern.
2. `_ENTRY`, one regular expression for entries with braces or quotes, a few levels deep.
3. `Scanner.scan_carefully`: everything else (parentheses, ``#``, deep nesting, broken braces, and
   ``%`` comments, which biber allows). It finds where to continue if an entry never ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES
from citebed.files.limits import Allowance
from citebed.records import Problem
from citebed.text.normalise import MONTHS
from citebed.text.regex import compile_regex

TOO_MUCH = "expands to too much text; kept unexpanded"
"""The message for a name that would expand to too much text."""
NOT_RECORDS = frozenset(("comment", "preamble", "string"))


class RawEntry(NamedTuple):
    """An entry: type, key, raw values by lower-case field name, text and line.

    Values have strings (``@string``) and joins (``#``) resolved; of two fields with one name the
    first counts, as in BibTeX. ``is_truncated``: the end of the entry was not found. ``undefined``
    are names in the values that no string has, ``unexpanded`` names of too long strings.
    """

    type: str
    key: str
    fields: dict[str, str]
    text: str
    line: int
    is_truncated: bool = False
    undefined: tuple[str, ...] = ()
    unexpanded: tuple[str, ...] = ()


# --- Strings ----------------------------------------------------------------------------------


class Strings:
    """The defined strings by lower-case name, and the names in an entry that did not expand.

    ``size`` is the length of the text, which limits how much strings may add to it.
    """

    def __init__(self, defined: dict[str, str], size: int) -> None:
        self.defined = defined
        self.undefined: list[str] = []
        self.unexpanded: list[str] = []
        self._allowance = Allowance(size)

    def start_entry(self) -> None:
        """Forget the names of the entry before."""
        self.undefined.clear()
        self.unexpanded.clear()

    def expand(self, word: str) -> str:
        """Return the string of a bare word, else the word: a number, a month, or an undefined
        or too long string."""
        name = word.lower()
        text = self.defined.get(name)
        if text is None:
            text = _STANDARD.get(name)
        if text is None:
            if not word[0].isdigit() and name not in MONTHS and name not in _SEASONS:
                self.undefined.append(word)
            return word
        if not self._allowance.covers(len(text)):
            self.unexpanded.append(word)
            return word
        return text


_SEASONS = frozenset(("spring", "summer", "autumn", "fall", "winter"))
_STANDARD = {
    "acmcs": "ACM Computing Surveys",
    "acta": "Acta Informatica",
    "cacm": "Communications of the ACM",
    "ibmjrd": "IBM Journal of Research and Development",
    "ibmsj": "IBM Systems Journal",
    "ieeese": "IEEE Transactions on Software Engineering",
    "ieeetc": "IEEE Transactions on Computers",
    "ieeetcad": "IEEE Transactions on Computer-Aided Design of Integrated Circuits",
    "ipl": "Information Processing Letters",
    "jacm": "Journal of the ACM",
    "jcss": "Journal of Computer and System Sciences",
    "scp": "Science of Computer Programming",
    "sicomp": "SIAM Journal on Computing",
    "tocs": "ACM Transactions on Computer Systems",
    "tods": "ACM Transactions on Database Systems",
    "tog": "ACM Transactions on Graphics",
    "toms": "ACM Transactions on Mathematical Software",
    "toois": "ACM Transactions on Office Information Systems",
    "toplas": "ACM Transactions on Programming Languages and Systems",
    "tcs": "Theoretical Computer Science",
}
"""Journals that the styles of BibTeX (``plain.bst``) define."""


# --- Entries as programs write them -----------------------------------------------------------

TYPE = r"[A-Za-z][\w-]*+"
"""The type of an entry, as a pattern; Mendeley writes ``web_page``."""
_FIELD_NAME = r"[A-Za-z][^\s=,{}\"#%()']*+"
_EXPORT_HEADER = compile_regex(rf"@\s*+({TYPE})\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+")
_FIELD_NAME_ONLY = compile_regex(_FIELD_NAME)
_BRACE, _ANY_BRACE = re.compile(r"[{}]"), re.compile(r"[{}()]")


def read_export(block: str, line: int, strings: Strings, names: dict[str, str]) -> RawEntry | None:
    """Return the entry in ``block`` if it has the shape that programs write; else ``None``.

    ``names`` keeps the names of fields, as they are written, from one entry to the next.
    """
    start, end = block.find(",") + 1, block.rfind("}", 0, -1)
    is_closed = block.endswith("}") and block[end + 1 : -1].strip() in ("", ",")
    header = (
        _EXPORT_HEADER.fullmatch(block, 0, start - 1) if is_closed and 0 < start <= end else None
    )
    if header is None:
        return None
    # Slice once: a copy of text in other alphabets costs more than all the rest.
    pieces = block[start:end].split("},\n")
    equals = " = {" if " = {" in pieces[0] else "={"
    fields: dict[str, str] = {}
    for piece in pieces:
        name, separator, value = piece.partition(equals)
        known = names.get(name) if separator else None
        if known is None:
            braced = _read_bare_fields(piece, strings, names, fields)
            if braced is None:
                return None
            known, value = braced
        if ("{" in value or "}" in value) and not _is_balanced(value):
            return None
        if known not in fields:
            fields[known] = value
    kind = header[1].lower()
    return None if kind in NOT_RECORDS else RawEntry(kind, header[2], fields, block, line)


def _read_bare_fields(
    piece: str, strings: Strings, names: dict[str, str], fields: dict[str, str]
) -> tuple[str, str] | None:
    """Read the bare fields (``month = aug,``) before a field in braces; return that field.

    A new name is checked, and stored in ``names`` with its blanks.
    """
    while True:
        name, _, value = piece.partition("=")
        name = name.removesuffix(" ")
        known = names.get(name)
        if known is None:
            known = name.strip().lower()
            if _FIELD_NAME_ONLY.fullmatch(known) is None:
                return None
            if len(names) < 10_000:
                names[name] = known
        after = value.lstrip()
        if after[:1] == "{":
            return known, after[1:]
        bare, comma, piece = after.partition(",\n")
        if not comma or not bare.isalnum():
            return None
        fields.setdefault(known, strings.expand(bare))


def _is_balanced(value: str) -> bool:
    depth = 0
    for brace in _BRACE.findall(value):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


# --- Scanning ---------------------------------------------------------------------------------


def _nested(depth: int) -> str:
    inner = rf"(?:\{{{_nested(depth - 1)}\}}[^{{}}]*+)*+" if depth else ""
    return rf"[^{{}}]*+{inner}"


_BARE = r"[A-Za-z0-9_.:+/\-]++"
_BRACED = _nested(3)
_QUOTED = rf"[^\"{{}}]*+(?:\{{{_nested(2)}\}}[^\"{{}}]*+)*+"
_FIELD = compile_regex(
    rf"\s*+({_FIELD_NAME})\s*+=\s*+(?:\{{({_BRACED})\}}|\"({_QUOTED})\"|({_BARE}))\s*+"
)
_PLAIN_FIELD = rf"\s*+{_FIELD_NAME}\s*+=\s*+(?:\{{{_BRACED}\}}|\"{_QUOTED}\"|{_BARE})\s*+"
_ENTRY = compile_regex(
    rf"@\s*+({TYPE})\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+,((?:{_PLAIN_FIELD},)*+(?:{_PLAIN_FIELD})?+)\s*+\}}"
)
_HEADER = compile_regex(rf"@\s*+((?:{TYPE})?+)\s*+([{{(])")
_BLANK = r"(?:\s++|%[^\n]*+)*+"
# A key may contain blanks. If a word before "=" is the name of a field, the comma is missing.
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
_COMMENT_START = r"(@\s*+(?:comment|preamble)\s*+)?+"
_GROUPS = {
    "{": compile_regex(rf"{_COMMENT_START}\{{|\}}", re.IGNORECASE),
    "(": compile_regex(rf"{_COMMENT_START}[{{(]|[}})]", re.IGNORECASE),
}
_SEPARATOR = compile_regex(r"(?:[\s,]++|%[^\n]*+)*+")
_ANY_NAME = compile_regex(rf"{_BLANK}([^\s=,{{}}\"#%()']++){_BLANK}=")
_ANY_BARE = compile_regex(rf"{_BLANK}([^\s,{{}}\"#%()=']++)?")
_JOIN = compile_regex(rf"{_BLANK}#")
_STRING_END = compile_regex(rf"{_BLANK}(,?+){_BLANK}([}})]?+)")
_QUOTE_OR_BRACE = re.compile(r"[{}\"]")
# Fields after the end of an entry: a brace too many, or one with a backslash, ended it early.
_CONTINUES = compile_regex(r"[\s}]*+,\s*+[A-Za-z][\w-]*+\s*+=\s*+[{\"]")
_ESCAPED_BRACE, _HIDDEN_BRACE = re.compile(r"\\([{}])"), re.compile("[\ue010\ue011]")
_SHORT = 200
_COMMENTED_OUT = compile_regex(rf"([^\n]{{0,{_SHORT}}}+)\n[ \t]*+%")


def scan(text: str, line: int, strings: dict[str, str]) -> Iterator[RawEntry | Problem]:
    """Yield the entries of a text in order; add its ``@string`` definitions to ``strings``."""
    names: dict[str, str] = {}
    scanner = Scanner(text, Strings(strings, len(text)))
    known = scanner.strings
    at, counted, block_end = text.find("@"), 0, -1
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        entry: RawEntry | Problem | None = None
        known.start_entry()
        # Only the first entry of a block can fill it; the others share its last line.
        if at > block_end:
            # The line before the next "@" at the start of a line; to find one character is
            # several times as fast as to find two.
            following = text.find("@", at + 1)
            while following >= 0 and text[following - 1] != "\n":
                following = text.find("@", following + 1)
            block_end = following - 1 if following >= 0 else len(text)
            entry = read_export(text[at:block_end].rstrip(), line, known, names)
        if entry is not None:
            end = block_end
        else:
            known.start_entry()
            entry, end = scanner.read_entry(at, line)
        if isinstance(entry, RawEntry) and (known.undefined or known.unexpanded):
            undefined, unexpanded = map(dict.fromkeys, (known.undefined, known.unexpanded))
            entry = entry._replace(undefined=tuple(undefined), unexpanded=tuple(unexpanded))
        if entry is not None:
            yield entry if end - at <= MAX_RECORD_BYTES else _too_large(line, end - at)
        at = text.find("@", end)


def _too_large(line: int, size: int) -> Problem:
    limit = MAX_RECORD_BYTES >> 20
    return Problem(line, f"a record of {size >> 20} MiB; more than {limit} MiB is not read")


class Head(NamedTuple):
    """The start of an entry: the text before the key, the key, and where key and comma end."""

    opening: str
    key: str
    end: int


def parse_head(bibtex: str) -> Head | None:
    """Return the start of a single entry, or ``None`` if the text is not an entry."""
    header = _HEADER.match(bibtex)
    key = _match_key(header, len(bibtex)) if header else None
    return None if key is None else Head(bibtex[: key.start(1)], key[1], key.end())


def _match_key(header: re.Match[str], limit: int) -> re.Match[str] | None:
    pattern = _KEY if header[2] == "{" else _KEY_IN_PARENTHESES
    return pattern.match(header.string, header.end(), limit)


class Scanner:
    """Reads entries at any place of a text.

    No two searches to the end of the text look for the same: a file that is one long line, or
    full of braces that never close, takes linear time too. Methods with a ``limit`` read up to
    there: the next line that begins an entry.
    """

    def __init__(self, text: str, strings: Strings) -> None:
        self.text = text
        self.strings = strings
        self._next = -1
        self._comment_ends: dict[str, dict[int, int]] = {}

    def _find_group_end(self, start: int, limit: int, opening: str) -> int | None:
        """Return the position after the brace or parenthesis that closes the one before start."""
        depth = 0
        for match in (_BRACE if opening == "{" else _ANY_BRACE).finditer(self.text, start, limit):
            if depth == 0 and match[0] in "})":
                return match.end()
            depth += 1 if match[0] in "{(" else -1
        return None

    def _find_comment_end(self, start: int, opening: str) -> int | None:
        """Return the end of a comment or preamble whose content begins at ``start``."""
        if opening not in self._comment_ends:
            end = self._find_group_end(start, len(self.text), opening)
            if end is not None:
                return end
            ends = self._comment_ends[opening] = {}
            open_groups: list[int] = []
            for match in _GROUPS[opening].finditer(self.text):
                if match[0][-1] in "{(":
                    open_groups.append(match.end() if match[1] else 0)
                elif open_groups and (first := open_groups.pop()):
                    ends[first] = match.end()
        return self._comment_ends[opening].get(start)

    def read_entry(self, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
        """Return the entry that starts at ``at``, a problem, or ``None`` if it is not a record;
        and where to continue."""
        match = _ENTRY.match(self.text, at)
        is_record = match is not None and match[1].lower() not in NOT_RECORDS
        if match is None or not is_record or _CONTINUES.match(self.text, match.end()):
            return self.scan_carefully(at, line)
        fields = self._collect_fields(_FIELD.findall(match[3]))
        return RawEntry(match[1].lower(), match[2], fields, match[0], line), match.end()

    def _collect_fields(self, found: list[tuple[str, ...]]) -> dict[str, str]:
        fields: dict[str, str] = {}
        for name, braced, quoted, bare in found:
            value = braced or quoted or (self.strings.expand(bare) if bare else "")
            fields.setdefault(name.lower(), value)
        return fields

    def scan_carefully(self, at: int, line: int) -> tuple[RawEntry | Problem | None, int]:
        """Do the same as `read_entry` for an entry of any shape."""
        header = _HEADER.match(self.text, at)
        if header is None or self._is_commented_out(at):
            return None, at + 1
        kind, start = header[1].lower(), header.end()
        if self._next < start:
            match = _NEXT_ENTRY.search(self.text, start)
            self._next = len(self.text) if match is None else match.start()
        limit = self._next
        if kind in ("comment", "preamble"):
            return self._skip_comment(header, limit, line)
        if kind == "string":
            after = self._read_strings(start, limit)
            if after is None:
                return Problem(line, "a @string that is not `name = value`"), limit
            notes = [f"string '{word}' {TOO_MUCH}" for word in self.strings.unexpanded[:1]]
            return (Problem(line, notes[0], "mended") if notes else None), after
        entry, end = self._read_fields(header, limit, line)
        if entry and _CONTINUES.match(self.text, end, limit):
            return self._reread(header, limit, entry), limit
        if kind:
            return (entry, end) if entry else (self._salvage(header, limit, line), limit)
        is_named = entry is not None and entry.key and entry.fields
        return (entry._replace(type="misc"), end) if entry and is_named else (None, start)

    def _is_commented_out(self, at: int) -> bool:
        """Return True if ``%`` precedes an entry and its next line.

        BibTeX ignores ``%``, so an entry that ends on its own line is read.
        """
        before = self.text[max(0, at - _SHORT) : at].rpartition("\n")[2].lstrip()
        match = _COMMENTED_OUT.match(self.text, at) if before.startswith("%") else None
        return match is not None and match[1].count("{") > match[1].count("}")

    def _skip_comment(
        self, header: re.Match[str], limit: int, line: int
    ) -> tuple[Problem | None, int]:
        """Return the end of a comment or preamble; entries in it are lost only if it begins with
        an entry."""
        kind, start = header[1].lower(), header.end()
        end = self._find_comment_end(start, header[2])
        if end is None and kind == "comment":
            return None, start
        if end is not None and end <= limit:
            return None, end
        content = self.text[start:limit].strip()
        if end is not None and kind == "comment" and (not content or content.startswith("@")):
            hidden = len(_NEXT_ENTRY.findall(self.text, start, end))
            what = f"a @comment around entries ({hidden} begin a line in it); they are not read"
            return Problem(line, what, "mended"), end
        what = f"a @{kind} that does not close before the next entry; taken to end there"
        return Problem(line, what, "mended"), limit

    def _reread(self, header: re.Match[str], limit: int, short: RawEntry) -> RawEntry | Problem:
        """Read an entry again that a brace closed before its last fields.

        Read ``\\{`` and ``\\}`` as characters, as some programs do; if that fails, add the fields
        of its lines to ``short``.
        """
        text = self.text[header.start() : limit]
        text = _ESCAPED_BRACE.sub(lambda m: "\\" + ("\ue010" if m[1] == "{" else "\ue011"), text)
        again = Scanner(text, self.strings)
        start = _HEADER.match(text)
        assert start is not None
        entry, end = again._read_fields(start, len(text), short.line)
        if entry and not _CONTINUES.match(text, end):

            def restore(raw: str) -> str:
                return _HIDDEN_BRACE.sub(lambda m: "{" if m[0] == "\ue010" else "}", raw)

            fields = {name: restore(value) for name, value in entry.fields.items()}
            return entry._replace(fields=fields, text=restore(entry.text))
        saved = self._salvage(header, limit, short.line)
        if isinstance(saved, Problem):
            return short._replace(is_truncated=True)
        return saved._replace(fields=saved.fields | short.fields)

    def _read_strings(self, at: int, limit: int) -> int | None:
        """Store the strings that a ``@string`` defines (biber allows several); return its end."""
        while True:
            name = _ANY_NAME.match(self.text, at, limit)
            if name is None:
                return None
            value, at = self._read_value(name.end(), limit)
            close = _STRING_END.match(self.text, at, limit)
            if value is None or close is None or not (close[1] or close[2]):
                return None
            self.strings.defined[name[1].lower()] = value
            at = close.end()
            if close[2]:
                return at

    def _read_fields(
        self, header: re.Match[str], limit: int, line: int
    ) -> tuple[RawEntry | None, int]:
        text, key = self.text, _match_key(header, limit)
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
            value, at = self._read_value(name.end(), limit)
            if value is None:
                return None, at
            fields.setdefault(name[1].lower(), value)

    def _read_value(self, at: int, limit: int) -> tuple[str | None, int]:
        """Return a value with its ``#`` joins resolved, and the position after it."""
        parts: list[str] = []
        while True:
            bare = _ANY_BARE.match(self.text, at, limit)
            assert bare is not None
            at = bare.end()
            if bare[1]:
                parts.append(self.strings.expand(bare[1]))
            else:
                part, at = self._read_delimited(at, limit)
                if part is None:
                    return None, at
                parts.append(part)
            join = _JOIN.match(self.text, at, limit)
            if join is None:
                return "".join(parts), at
            at = join.end()

    def _read_delimited(self, at: int, limit: int) -> tuple[str | None, int]:
        """Return a value in braces or quotes without these, and the position after it."""
        text = self.text
        opening = text[at] if at < limit else ""
        if opening == "{":
            end = self._find_group_end(at + 1, limit, "{")
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

    def _salvage(self, header: re.Match[str], limit: int, line: int) -> RawEntry | Problem:
        """Return an entry whose braces do not close, with the fields that end on their line."""
        kind, key = header[1].lower(), _match_key(header, limit)
        if limit - header.start() > MAX_RECORD_BYTES:
            return _too_large(line, limit - header.start())
        rest = self.text[key.end() if key else limit : limit].rstrip()
        fields = self._collect_fields(_LINE_FIELD.findall(rest))
        if key is None or not fields.get("title"):
            what = f"@{kind} entry whose braces or quotes do not close, and no title to keep"
            return Problem(line, what)
        whole = self.text[header.start() : limit].rstrip()
        return RawEntry(kind, key[1], fields, whole, line, is_truncated=True)
