"""Read LaTeX in one pass with a stack, as TeX does.

Each paragraph is collected as LaTeX, and ``latex_to_text`` turns it into words. Equations, tables
and figures are skipped, but their citations count and their captions are passages. A footnote is a
passage after its paragraph. An unclosed brace or environment is never an error: it is read as text,
and a note tells the user.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from citebed.drafts import tex_commands as commands
from citebed.drafts.files import IncludedFiles
from citebed.drafts.parsed_draft import PLACE, Block, Origin, ParsedDraft, Raw, without_places
from citebed.drafts.records import Place
from citebed.drafts.references import parse_entry
from citebed.drafts.tex_commands import NOTE, add_citation, is_citation, parse_keys
from citebed.text.latex import DISPLAY_MATHS, INLINE_MATHS, NOTHING, latex_to_text, maths_as_text
from citebed.text.normalise import join_hyphens, unique
from citebed.text.regex import compile_regex
from citebed.wording import list_first

NO_KEY = "has no key yet"
"""The end of the note about an empty citation command."""
_BRACE = compile_regex(r"\\.|%[^\n]*+|[{}]", re.DOTALL)
_END = re.compile(r"\\end[ \t]*\{([^{}\n]{1,60})\}")
_GAP = compile_regex(r"[ \t]*+(?:%[^\n]*+\n[ \t]*+)*+(?:\n[ \t]*+(?!\n))?+")
_OPTIONS = compile_regex(rf"\*?(?:[ \t]*+{NOTE})*+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_ONE_PARAGRAPH = 4000
"""The maximum number of characters in a title, label or length; a longer one has an unclosed
brace."""


class Cursor:
    """A source text and the current offset in it.

    One pass finds the ends of all groups and environments, so unclosed braces need no second scan.
    The text of a macro has one ``place``: the position where the macro is used.
    """

    def __init__(
        self,
        text: str,
        source: str = "",
        place: Place | None = None,
        path: Path | None = None,
    ) -> None:
        self.text = text
        self.source = source
        self.path = path
        self.at = 0
        self._place = place
        self._line, self._line_start, self._counted = 1, 0, 0

    def place_at(self, at: int) -> Place:
        """Return the position of an offset; offsets must not decrease between calls."""
        if self._place is not None:
            return self._place
        if at > self._counted:
            if lines := self.text.count("\n", self._counted, at):
                self._line += lines
                self._line_start = self.text.rindex("\n", self._counted, at) + 1
            self._counted = at
        return Place(self.source, self._line, max(at - self._line_start, 0) + 1)

    def has(self, text: str, at: int) -> bool:
        """Return True if the file has exactly this text at this offset."""
        return self._place is None and self.text.startswith(text, at)

    @cached_property
    def _closes(self) -> dict[int, int]:
        closes: dict[int, int] = {}
        opened: list[int] = []
        for match in _BRACE.finditer(self.text):
            if match[0] == "{":
                opened.append(match.start())
            elif match[0] == "}" and opened:
                closes[opened.pop()] = match.start()
        return closes

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        ends: dict[str, list[int]] = {}
        for match in _END.finditer(self.text):
            ends.setdefault(match[1], []).append(match.start())
        return ends

    def end_of(self, environment: str, at: int) -> int | None:
        """Return the offset of the next ``\\end`` of an environment."""
        ends = self._ends.get(environment, [])
        index = bisect_left(ends, at)
        return ends[index] if index < len(ends) else None

    def after_options(self, at: int) -> int:
        """Return the offset after a star and ``[options]``."""
        match = _OPTIONS.match(self.text, at)
        return match.end() if match else at

    def _after_gap(self, at: int) -> int:
        gap = _GAP.match(self.text, at)
        return gap.end() if gap else at

    def group(self, at: int) -> tuple[int, int] | None:
        """Return start and end of the contents of the next ``{…}``, if it is closed."""
        opening = self._after_gap(at)
        closing = self._closes.get(opening)
        return None if closing is None else (opening + 1, closing)

    def argument(self, at: int) -> tuple[int, int] | None:
        """Return the next group if it is at most one paragraph, as most arguments must be."""
        group = self.group(at)
        if group is None or group[1] - group[0] > _ONE_PARAGRAPH:
            return None
        return None if _BLANK_LINE.search(self.text, *group) else group

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern here, and move after it."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match

    def take_group(self) -> str | None:
        """Return the contents of the next group, and move after it."""
        group = self.group(self.at)
        if group is None:
            return None
        self.at = group[1] + 1
        return self.text[slice(*group)]

    def is_open(self, at: int) -> bool:
        """Return True if a brace comes next, closed or not."""
        return self.text.startswith("{", self._after_gap(at))


# --- Simple macros: a name, arguments, a text -----------------------------------------------

_DEEPEST = 40
_FREE = 1 << 18
"""Characters that macros may expand to, in addition to four times the text itself."""

_MACRO_NAME = re.compile(r"\*?\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))")
_COUNT = re.compile(r"\s*\[(\d)\](?:\s*\[([^][]*)\])?")
_PARAMETERS = re.compile(r"\s*((?:#\d)*)(?=\s*\{)")
_LET = re.compile(r"\s*=?\s*(?:\\[A-Za-z@]+|\\?.)")
_MACRO_OPTION = re.compile(r"\s*\[([^][{}]*)\]")
_SLOT = re.compile(r"#(\d)")


class _Macro(NamedTuple):
    arguments: int
    default: str | None
    body: str


class Macros:
    """The macros of a draft; ``notes`` reports endless expansion."""

    def __init__(self) -> None:
        self._known: dict[str, _Macro] = {}
        self._left = _FREE
        self.notes: list[str] = []

    def allow(self, characters: int) -> None:
        """Allow more expansion after reading this many characters."""
        self._left += 4 * characters

    def define(self, kind: str, cursor: Cursor) -> None:
        """Read the definition after ``\\kind``, and move after it."""
        if (match := cursor.take(_MACRO_NAME)) is None:
            return
        if kind == "let":
            cursor.take(_LET)
        elif kind.endswith("DocumentCommand"):
            cursor.take_group()
            cursor.take_group()
        else:
            name = match[1] or match[2]
            arguments, default = 0, None
            if kind.endswith("def"):
                match = cursor.take(_PARAMETERS)
                arguments = match[1].count("#") if match else 0
            elif match := cursor.take(_COUNT):
                arguments, default = int(match[1]), match[2]
            body = cursor.take_group()
            # The reader handles known commands better than their definitions would.
            known = name in commands.KNOWN or name in commands.ASIDES or name in commands.SECTIONS
            if body is not None and not known and not is_citation(name):
                self._known[name] = _Macro(arguments, default, body)

    def expansion(self, name: str, cursor: Cursor, depth: int) -> str | None:
        """Return the text of a macro with its arguments; ``None`` for an unknown macro."""
        macro = self._known.get(name)
        if macro is None:
            return None
        if depth > _DEEPEST or self._left < 0:
            self.notes = [f"macros that expand endlessly, such as \\{name}, were skipped"]
            return None
        values = _arguments(macro, cursor)
        if values is None:
            return None
        body = macro.body
        if values:
            # Check the size before building a text with a hundred copies of a long argument.
            by_slot = {str(slot): value for slot, value in enumerate(values, 1)}
            self._left -= sum(len(by_slot.get(slot, "")) for slot in _SLOT.findall(body))
            if self._left < 0:
                return None
            body = _SLOT.sub(lambda m: by_slot.get(m[1], ""), body)
        self._left -= len(macro.body) + 1
        return body


def _arguments(macro: _Macro, cursor: Cursor) -> list[str] | None:
    values, start = [], cursor.at
    if macro.default is not None:
        option = cursor.take(_MACRO_OPTION)
        values.append(option[1] if option else macro.default)
    while len(values) < macro.arguments:
        if (value := cursor.take_group()) is None:
            cursor.at = start
            return None
        values.append(value)
    return values


@dataclass
class _Paragraph:
    kind: str = ""
    pieces: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, cursor: Cursor, at: int) -> None:
        """Add text with its position in the source."""
        self.origins.append(Origin(self.length, cursor.place_at(at), cursor.has(text, at)))
        self.pieces.append(text)
        self.length += len(text)

    def text(self) -> str:
        """Return the words, without remaining backslashes."""
        raw = join_hyphens("".join(self.pieces))
        return latex_to_text(raw).replace("\\", " ").strip()

    def raw(self) -> Raw:
        """Return the LaTeX, with blanks for citations."""
        return Raw(PLACE.sub(lambda place: " " * len(place[0]), "".join(self.pieces)), self.origins)


class TexOutput:
    """Makes blocks from pieces of text.

    While ``muted`` is above 0, nothing is written. An aside (a footnote, caption or heading)
    becomes a block after its paragraph, unless `take_aside` returns its text.
    """

    def __init__(self, parsed: ParsedDraft) -> None:
        self.section = ""
        self.muted = 0
        self._parsed = parsed
        self._paragraphs = [_Paragraph()]
        self._asides: list[Block] = []
        self._entry: tuple[str, Place] | None = None
        self.in_list = False  # True inside a reference list

    def write(self, text: str, cursor: Cursor, at: int) -> None:
        """Add text with its position in the source."""
        if not self.muted:
            self._paragraphs[-1].add(text, cursor, at)

    def flush(self, following: str = "") -> None:
        """End the paragraph; in a reference list, the entry continues.

        ``following`` is the kind of the next paragraph, e.g. ``item``.
        """
        if self.muted:
            return
        if self.in_list and len(self._paragraphs) == 1:
            self._paragraphs[-1].pieces.append(" ")
            return
        paragraph = self._paragraphs[-1]
        in_aside = len(self._paragraphs) > 1
        self._paragraphs[-1] = _Paragraph(paragraph.kind if in_aside else following)
        text = paragraph.text()
        block = [Block(text, paragraph.raw(), self.section, paragraph.kind)] if text else []
        if in_aside:
            self._asides += block
        else:
            self._parsed.blocks += [*block, *self._asides]
            self._asides.clear()

    def begin_aside(self, kind: str) -> None:
        """Begin an aside."""
        self._paragraphs.append(_Paragraph(kind))

    def end_aside(self) -> None:
        """End the aside and make it a block."""
        self.flush()
        self._paragraphs.pop()

    def take_aside(self) -> str:
        """End the aside and return its text instead of making a block."""
        return PLACE.sub("", self._paragraphs.pop().text())

    # --- A list of references ---------------------------------------------------------------

    def begin_list(self) -> None:
        """Begin a reference list."""
        self.flush()
        self.in_list = True

    def begin_entry(self, key: str, place: Place) -> None:
        """Begin a reference."""
        self._end_entry()
        self._entry = key, place

    def end_list(self) -> None:
        """End the reference list."""
        self._end_entry()
        self.in_list = False

    def _end_entry(self) -> None:
        if self._entry is not None:
            (key, place), text = self._entry, PLACE.sub("", self._paragraphs[-1].text())
            self._parsed.entries.append(parse_entry(key, text, place))
        self._paragraphs[-1] = _Paragraph()
        self._entry = None


# --- Authors --------------------------------------------------------------------------------

_LONGEST = 20_000
_BETWEEN = re.compile(r"\\(?:and|And|AND|quad|qquad)(?![A-Za-z])|\\\\\s*(?:\[[^]]*\])?\s*\\and")
_ASIDE = re.compile(
    r"\\(?:thanks|textsuperscript|inst|affil|orcid|orcidID|email|footnotemark|fnref|corref|texttt"
    r"|IEEEauthorrefmark|authornote|authornotemark|IEEEauthorblockA|href|url|samethanks)\*?"
    r"(?:\[[^][{}]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\})?"
    r"|\\(?:begin|end)\{\w+\*?\}(?:\[[^]]*\])?(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})?"
    r"|\$[^$]*\$|%[^\n]*|\\footnote\{(?:[^{}]|\{[^{}]*\})*\}"
)
_COMMA_OR_AND = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+&\s+")
_PERSON_NAME = re.compile(r"[^\W\d_][^\d@/|]*")


def parse_authors(tex: str) -> tuple[str, ...]:
    """Return the names in the argument of ``\\author``, without notes and affiliations."""
    if len(tex) > _LONGEST:
        return ()
    plain = _ASIDE.sub("", tex)
    lines = [part.split("\\\\")[0] for part in _BETWEEN.split(plain)]
    # ``A. One, B. Two and C. Three`` are three names; parts that are not names are dropped.
    parts = (part for line in lines for part in _COMMA_OR_AND.split(latex_to_text(line)))
    names = (part.strip(" .*†‡") for part in parts)
    words = ((name, len(name.split())) for name in names)
    return unique(name for name, size in words if 1 < size < 7 and _PERSON_NAME.fullmatch(name))


_TOKEN = compile_regex(
    r"\\(?:(?P<command>[A-Za-z@]++)\*?|(?P<escaped>.))"
    r"|(?P<comment>%[^\n]*+(?:\n[ \t]*+(?P<blank>\n\s*+)?)?)"
    r"|(?P<par>\n[ \t]*+\n\s*+)"
    r"|(?P<maths>\$)"
    r"|(?P<close>\})",
    re.DOTALL,
)
_ENVIRONMENT = re.compile(r"[ \t]*\{([^{}\n]{1,60})\}")
_VERBATIM = re.compile(r"(?:\[[^]\n]*\])?(?:\{\w*\}(?=\W))?([^\w\s{])[^\n]*?\1|\{[^{}\n]*\}")
_FILE = re.compile(r"[ \t]*(?:\{([^{}\n]*)\}|([^\s{}\\%]+))")
_TWO_PARTS = re.compile(r"[ \t]*\{([^{}\n]*)\}[ \t]*\{([^{}\n]*)\}")
_LABEL = re.compile(r"\s*(?:\[(?:[^][{}]|\{[^{}]*\})*\])?\s*\{([^{}]*)\}")
_ITEM_LABEL = re.compile(r"[ \t]*\[((?:[^][{}]|\{[^{}]*\})*)\]")
_FI = re.compile(r"\\fi(?![A-Za-z])")
_ADDRESSES = frozenset(("url", "href", "nolinkurl", "path"))
_SHOWN_COMMANDS = 6


@dataclass
class _Open:
    """An open environment, or an aside in braces if ``end`` is known."""

    name: str
    cursor: Cursor
    muted: int
    end: int = -1
    section: str = ""


class TexReader:
    """Reads LaTeX into ``parsed``, with the files that it includes."""

    def __init__(self, parsed: ParsedDraft, files: IncludedFiles) -> None:
        self._parsed = parsed
        self._files = files
        self._macros = Macros()
        self._out = TexOutput(parsed)
        self._cursors: list[Cursor] = []
        self._open: list[_Open] = []
        self._open_names: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._ended = False

    def read(self, text: str) -> None:
        """Read a document, or a part without a preamble."""
        self._macros.allow(len(text))
        self._out.muted = int("\\begin{document}" in text)
        self._cursors.append(Cursor(text))
        while self._cursors and not self._ended:
            self._step(self._cursors[-1])
        while self._open:
            self._close()
        self._out.flush()
        for what in self._macros.notes:
            self._parsed.note(what)
        names = [f"\\{name}" for name, _ in self._unknown.most_common()]
        if names:
            what = "unknown LaTeX commands were ignored and their text was kept"
            self._parsed.note(f"{what}: {list_first(names, _SHOWN_COMMANDS)}")

    def _complain(self, cursor: Cursor, at: int, what: str) -> None:
        self._parsed.note(f"{what}; read as text", cursor.place_at(at))

    # --- One step ---------------------------------------------------------------------------

    def _step(self, cursor: Cursor) -> None:
        token = _TOKEN.search(cursor.text, cursor.at)
        end = len(cursor.text) if token is None else token.start()
        if end > cursor.at and not self._out.muted:
            self._out.write(cursor.text[cursor.at : end], cursor, cursor.at)
        if token is None:
            while self._open and self._open[-1].cursor is cursor and self._open[-1].end >= 0:
                self._close()
            self._cursors.pop()
            return
        cursor.at = token.end()
        if token["command"]:
            self._command(token["command"], token.start(), cursor)
        elif token["escaped"] is not None:
            opening, at = token["escaped"], token.start()
            if opening in "([" and (match := DISPLAY_MATHS[opening].match(cursor.text, at)):
                cursor.at = match.end()
                self._out.write(maths_as_text(match[1]) if opening == "(" else " ", cursor, at)
            elif opening == "\\":
                cursor.at = cursor.after_options(cursor.at)
                self._out.write(" ", cursor, at)
            else:
                self._out.write(token[0], cursor, at)
        elif token["maths"]:
            self._maths(token.start(), cursor)
        elif token["close"]:
            self._close_group(token.start(), cursor)
        elif token["par"] or token["blank"]:
            self._out.flush()

    def _maths(self, at: int, cursor: Cursor) -> None:
        if match := DISPLAY_MATHS["$"].match(cursor.text, at):
            self._out.write(" ", cursor, at)
        elif match := INLINE_MATHS.match(cursor.text, at):
            self._out.write(maths_as_text(match[1]), cursor, at)
        elif not self._out.muted:
            self._complain(cursor, at, "a $ without a closing $")
        cursor.at = match.end() if match else at + 1

    # --- Asides -----------------------------------------------------------------------------

    def _aside(self, name: str, cursor: Cursor) -> None:
        """Begin a footnote, caption or title, which is separate from its paragraph."""
        at = cursor.after_options(cursor.at)
        if name == "captionof" and (kind := cursor.argument(at)):
            at = kind[1] + 1
        group = cursor.group(at) if name in commands.ASIDES else cursor.argument(at)
        if group is None:
            if cursor.is_open(at):
                self._complain(cursor, at, f"\\{name} has an unclosed brace")
            return
        cursor.at = group[0]
        self._open.append(_Open(name, cursor, self._out.muted, group[1]))
        self._open_names[name] += 1
        self._out.muted = 0
        self._out.begin_aside("caption" if name in commands.CAPTIONS else "")

    def _close_group(self, at: int, cursor: Cursor) -> None:
        last = self._open[-1] if self._open else None
        if last is not None and last.cursor is cursor and 0 <= last.end <= at:
            self._close()
        else:
            self._out.write("}", cursor, at)

    def _close(self) -> None:
        """Close the last open environment or aside."""
        last = self._open.pop()
        self._open_names[last.name] -= 1
        if last.end < 0:
            if last.name == "thebibliography":
                self._out.end_list()
            if last.name.rstrip("*") not in commands.MUTED:
                self._out.flush()
            if last.name == "abstract":
                self._out.section = last.section
        elif last.name in commands.ASIDES:
            self._out.end_aside()
        elif last.name in commands.TITLES:
            title = self._out.take_aside()
            self._parsed.title = self._parsed.title or title
        else:
            self._out.section = self._out.take_aside()
        self._out.muted = last.muted

    # --- Environments -----------------------------------------------------------------------

    def _begin(self, _name: str, cursor: Cursor) -> None:
        if (match := cursor.take(_ENVIRONMENT)) is None:
            return
        name = match[1].strip()
        has_no_prose = name in commands.RAW or name.rstrip("*") in commands.MUTED
        if name == "document":
            self._out.muted = 0
        elif has_no_prose and (end := cursor.end_of(name, cursor.at)) is None:
            self._complain(cursor, cursor.at, f"\\begin{{{name}}} without \\end")
        elif name in commands.RAW and end is not None:
            cursor.at = end + len(f"\\end{{{name}}}")
        else:
            out = self._out
            self._open.append(_Open(name, cursor, out.muted, section=out.section))
            self._open_names[name] += 1
            if has_no_prose:
                out.write(" ", cursor, cursor.at)
                out.muted += 1
            elif name == "thebibliography":
                out.begin_list()
            else:
                out.flush()
            if name == "abstract":
                out.section = "Abstract"
            cursor.at = cursor.after_options(cursor.at)
            self._pass(commands.ENVIRONMENT_ARGUMENTS.get(name, 0), cursor)

    def _end(self, _name: str, cursor: Cursor) -> None:
        if (match := cursor.take(_ENVIRONMENT)) is None:
            return
        name = match[1].strip()
        self._ended = name == "document"
        if self._open_names[name]:
            while self._open[-1].name != name:
                self._close()
            self._close()

    # --- Commands ---------------------------------------------------------------------------

    def _command(self, name: str, at: int, cursor: Cursor) -> None:
        if is_citation(name):
            start = cursor.at
            keys, cursor.at = parse_keys(name, cursor.text, start)
            if not keys and cursor.at > start:  # a placeholder: ``\cite{}``
                self._parsed.note(f"\\{name}{{}} {NO_KEY}", cursor.place_at(at))
                if not self._out.muted:
                    self._out.write(self._parsed.cite(()), cursor, at)
            elif not keys:
                self._complain(cursor, at, f"\\{name} without keys")
            elif self._out.muted:
                self._parsed.unplaced += keys
            else:
                self._out.write(add_citation(name, keys, self._parsed), cursor, at)
        elif (handler := _HANDLERS.get(name)) is not None:
            handler(self, name, cursor)
        elif (body := self._macros.expansion(name, cursor, len(self._cursors))) is not None:
            self._cursors.append(Cursor(body, cursor.source, cursor.place_at(at)))
        elif name in commands.READ_BY_LATEX_TO_TEXT:
            self._out.write(cursor.text[at : cursor.at], cursor, at)
        elif not self._out.muted:
            # Skip the command and its options, but keep the text in its braces.
            if name not in NOTHING:
                cursor.at = cursor.after_options(cursor.at)
            if name not in commands.KNOWN:
                self._unknown[name] += 1

    def _drop(self, name: str, cursor: Cursor) -> None:
        cursor.at = cursor.after_options(cursor.at)
        if name in _ADDRESSES and (group := cursor.argument(cursor.at)) is not None:
            # Skip a URL, except in references; a URL of a DOI or of arXiv is a citation.
            address = cursor.text[slice(*group)]
            if self._out.in_list:
                self._out.write(f" {address} ", cursor, cursor.at)
            elif mark := self._parsed.cite_url(address):
                self._out.write(mark, cursor, cursor.at)
        self._pass(commands.DROPPED[name], cursor)

    def _pass(self, count: int, cursor: Cursor) -> None:
        for _ in range(count):
            group = cursor.argument(cursor.at)
            if group is None:
                return
            cursor.at = cursor.after_options(group[1] + 1)

    def _break(self, name: str, cursor: Cursor) -> None:
        """End the paragraph; ``\\paragraph{Data.} We …`` begins a new one."""
        self._out.flush("item" if name.endswith("paragraph") else "")
        cursor.at = cursor.after_options(cursor.at)

    def _item(self, _name: str, cursor: Cursor) -> None:
        self._out.flush("item")
        if not self._out.muted and (label := cursor.take(_ITEM_LABEL)) is not None:
            self._out.write(f"{label[1]} ", cursor, label.start(1))

    def _heading(self, name: str, cursor: Cursor) -> None:
        self._out.flush()
        self._aside(name, cursor)

    def _author(self, _name: str, cursor: Cursor) -> None:
        cursor.at = cursor.after_options(cursor.at)
        if (names := cursor.take_group()) is not None:
            self._parsed.authors += parse_authors(names)

    def _pass_false(self, _name: str, cursor: Cursor) -> None:
        end = _FI.search(cursor.text, cursor.at)
        cursor.at = end.end() if end else len(cursor.text)

    def _bibitem(self, _name: str, cursor: Cursor) -> None:
        if self._out.in_list and (match := cursor.take(_LABEL)) is not None:
            place = cursor.place_at(match.start())
            column = max(1, place.column - len(r"\bibitem"))
            self._out.begin_entry(match[1].strip(), place._replace(column=column))

    # --- Other files ------------------------------------------------------------------------

    def _bibliography(self, _name: str, cursor: Cursor) -> None:
        cursor.at = cursor.after_options(cursor.at)
        if (group := cursor.argument(cursor.at)) is not None:
            self._parsed.name_bibliographies(cursor.text[slice(*group)].split(","))
            cursor.at = group[1] + 1

    def _include(self, command: str, cursor: Cursor) -> None:
        match = cursor.take(_TWO_PARTS if command in commands.IMPORTS else _FILE)
        if match is None:
            return
        name = "/".join(part.strip() for part in match.groups() if part is not None)
        file = self._files.read(name, (".tex", ".ltx", ".bbl"), cursor.source)
        if isinstance(file, str):
            self._parsed.note(file, f"\\{command}{{{name}}}")
        elif file.path in (self._files.draft, *(c.path for c in self._cursors)):
            what = "not read again, because it includes itself"
            self._parsed.note(what, f"\\{command}{{{name}}}")
        else:
            text = without_places(file.text)
            self._macros.allow(len(text))
            self._cursors.append(Cursor(text, file.shown, path=file.path))


_Handler = Callable[[TexReader, str, Cursor], object]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(commands.DROPPED, TexReader._drop),
    **dict.fromkeys(commands.DEFINITIONS, lambda own, name, at: own._macros.define(name, at)),
    **dict.fromkeys(commands.SECTIONS, TexReader._heading),
    **dict.fromkeys(commands.BREAKS, TexReader._break),
    **dict.fromkeys(commands.ASIDES | commands.TITLES, TexReader._aside),
    **dict.fromkeys(commands.AUTHORS, TexReader._author),
    **dict.fromkeys(commands.BIBLIOGRAPHIES, TexReader._bibliography),
    **dict.fromkeys(commands.INCLUDES | commands.IMPORTS, TexReader._include),
    **dict.fromkeys(
        ("verb", "lstinline", "mintinline", "Verb"), lambda _, _name, cursor: cursor.take(_VERBATIM)
    ),
    "begin": TexReader._begin,
    "item": TexReader._item,
    "end": TexReader._end,
    "bibitem": TexReader._bibitem,
    "iffalse": TexReader._pass_false,
}
