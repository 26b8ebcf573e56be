"""Read LaTeX in one pass with a stack, as TeX does.

Each paragraph is collected as LaTeX, and ``latex_to_text`` turns it into words. Equations, tables
and figures are skipped, but their citations count and their captions are passages. A footnote is a
passage after its paragraph. An unclosed brace or environment is never an error: it is read as text,
and a note tells the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from citebed.collection.formats.base import decode, normalise_newlines
from citebed.drafts.files import IncludedFiles
from citebed.drafts.parsed_draft import ParsedDraft, without_places
from citebed.drafts.tex import commands
from citebed.drafts.tex.commands import add_citation, is_citation, parse_keys
from citebed.drafts.tex.output import TexOutput, parse_authors
from citebed.drafts.tex.source import Cursor, Macros
from citebed.text.latex import DISPLAY_MATHS, INLINE_MATHS, maths_as_text
from citebed.text.latex_commands import NOTHING
from citebed.text.regex import compile_regex
from citebed.wording import list_first

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
_OPTION = re.compile(r"[ \t]*\[((?:[^][{}]|\{[^{}]*\})*)\]")
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
        self._tell()

    def _tell(self) -> None:
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
            self._escaped(token, cursor)
        elif token["maths"]:
            self._maths(token.start(), cursor)
        elif token["close"]:
            self._close_group(token.start(), cursor)
        elif token["par"] or token["blank"]:
            self._out.flush()

    def _escaped(self, token: re.Match[str], cursor: Cursor) -> None:
        opening, at = token["escaped"], token.start()
        if opening in "([" and (match := DISPLAY_MATHS[opening].match(cursor.text, at)):
            cursor.at = match.end()
            self._out.write(maths_as_text(match[1]) if opening == "(" else " ", cursor, at)
        elif opening == "\\":
            cursor.at = cursor.after_options(cursor.at)
            self._out.write(" ", cursor, at)
        else:
            self._out.write(token[0], cursor, at)

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
            self._end_environment(last)
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
            self._begin_environment(name, has_no_prose, cursor)

    def _begin_environment(self, name: str, has_no_prose: bool, cursor: Cursor) -> None:
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

    def _end_environment(self, last: _Open) -> None:
        if last.name == "thebibliography":
            self._out.end_list()
        if last.name.rstrip("*") not in commands.MUTED:
            self._out.flush()
        if last.name == "abstract":
            self._out.section = last.section

    # --- Commands ---------------------------------------------------------------------------

    def _command(self, name: str, at: int, cursor: Cursor) -> None:
        if is_citation(name):
            self._cite(name, at, cursor)
        elif (handler := _HANDLERS.get(name)) is not None:
            handler(self, name, cursor)
        elif (body := self._macros.expansion(name, cursor, len(self._cursors))) is not None:
            self._cursors.append(Cursor(body, cursor.source, cursor.place_at(at)))
        elif name in commands.READ_BY_LATEX_TO_TEXT:
            self._out.write(cursor.text[at : cursor.at], cursor, at)
        elif not self._out.muted:
            self._leave_out(name, cursor)

    def _leave_out(self, name: str, cursor: Cursor) -> None:
        """Skip a command without text and its options, but keep the text in its braces."""
        if name not in NOTHING:
            cursor.at = cursor.after_options(cursor.at)
        if name not in commands.KNOWN:
            self._unknown[name] += 1

    def _cite(self, name: str, at: int, cursor: Cursor) -> None:
        start = cursor.at
        keys, cursor.at = parse_keys(name, cursor.text, start)
        if not keys and cursor.at > start:  # a placeholder: ``\cite{}``
            self._parsed.note(f"\\{name}{{}} has no key yet", cursor.place_at(at))
            if not self._out.muted:
                self._out.write(self._parsed.cite(()), cursor, at)
        elif not keys:
            self._complain(cursor, at, f"\\{name} without keys")
        elif self._out.muted:
            self._parsed.unplaced += keys
        else:
            self._out.write(add_citation(name, keys, self._parsed), cursor, at)

    def _drop(self, name: str, cursor: Cursor) -> None:
        cursor.at = cursor.after_options(cursor.at)
        if name in _ADDRESSES and (group := cursor.argument(cursor.at)) is not None:
            self._address(cursor.text[slice(*group)], cursor)
        self._pass(commands.DROPPED[name], cursor)

    def _address(self, address: str, cursor: Cursor) -> None:
        """Skip a URL, except in references; a URL of a DOI or of arXiv is a citation."""
        if self._out.in_list:
            self._out.write(f" {address} ", cursor, cursor.at)
        elif mark := self._parsed.cite_url(address):
            self._out.write(mark, cursor, cursor.at)

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
        if not self._out.muted and (label := cursor.take(_OPTION)) is not None:
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
            self._out.begin_entry(match[1].strip())

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
            text = without_places(normalise_newlines(decode(file.data)[0]))
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
