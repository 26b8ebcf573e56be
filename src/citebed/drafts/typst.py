"""Read Typst: markup is prose, code and formulas are skipped.

The reader walks over the text once, with a stack of open brackets: content in ``[…]``, code in
``(…)`` and ``{…}``. The content of a function is prose, except in tables and pictures. Names of
functions and arguments identify captions, notes, title and abstract.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from dataclasses import dataclass, field

from citebed.drafts.files import IncludedFiles
from citebed.drafts.parsed_draft import (
    PLACE,
    Block,
    Origin,
    ParsedDraft,
    Raw,
    without_places,
)
from citebed.drafts.records import Place
from citebed.drafts.references import Sections
from citebed.text.identifiers import doi_in
from citebed.text.normalise import fold, unique
from citebed.text.regex import compile_regex

_DEEPEST = 50
"""Maximum depth of included files."""


def read_typst(text: str, parsed: ParsedDraft, neighbours: IncludedFiles) -> None:
    """Read Typst into ``parsed``, with the files that it includes."""
    files: dict[str, str] = {}
    waiting = [(text, "")]
    while waiting:
        inner, beside = waiting.pop()
        for name in map(str.strip, _INCLUDED.findall(inner)):
            file = neighbours.read(name.lstrip("/"), (".typ",), beside)
            if isinstance(file, str):
                parsed.note(file, name)
                continue
            shown = posixpath.normpath(file.shown)
            if shown not in files and neighbours.draft and shown != neighbours.draft.name:
                files[shown] = without_places(file.text)
                waiting.append((files[shown], shown))
    labels = frozenset[str]().union(*map(_own_labels, [text, *files.values()]))
    _Reader(text, parsed, labels, files).read()


# --- Tokens -----------------------------------------------------------------------------------

_MARKUP_TOKEN = compile_regex(
    r"(?P<comment>//[^\n]*+|/\*)"
    r"|(?P<raw>`+)"
    r"|(?P<maths>\$)"
    r"|(?P<escape>\\(?:u\{[0-9a-fA-F]{1,6}\}|[^\s\w]|\n)?)"
    r"|(?P<address>https?://[^\s\]\[<>(){}\"]++)"
    r"|(?P<reference>(?<![\w.])@(?P<key>\w(?:[\w:./-]*\w)?))"
    r"|(?P<label><[A-Za-z_][\w:.-]*+>)"
    r"|(?P<blank>\n[ \t]*+(?:\n[ \t]*+)++)"
    r"|(?P<line>\n[ \t]*+(?:(?P<head>=+)[ \t]+|(?P<item>[-+]|\d{1,3}\.|/(?!/))[ \t]+))"
    r"|(?P<code>\#(?:(?P<name>[A-Za-z_][\w-]*+(?:\.[A-Za-z_][\w-]*+)*+)|(?=[({\[\"])))"
    r"|(?P<open>\[)|(?P<close>\])"
    r"|(?P<style>(?<!\w)[*_]|[*_](?!\w))"
)
_CODE_TOKEN = compile_regex(
    r"(?P<comment>//[^\n]*+|/\*)|(?P<raw>`+)|(?P<string>\"(?:[^\"\\]++|\\.)*+\"?)"
    r"|(?P<maths>\$)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n|;)|(?P<label><[\w:./-]++>)"
    r"|(?P<word>[A-Za-z_][\w.-]*+)|(?P<colon>:)|(?P<comma>,)",
    re.DOTALL,
)
_STATEMENTS = frozenset(
    ("set", "show", "let", "import", "include", "if", "for", "while", "context")
)
_MUTED = frozenset(
    """
    table grid image cetz raw diagram canvas equation math outline figure-table tablex lq plot
    rect circle line polygon path place-table pagebreak colbreak v h counter numbering metadata
    """.split()  # noqa: SIM905
)
_CONTENT_KINDS = {
    "footnote": "note",
    "caption": "caption",
    "title": "title",
    "abstract": "abstract",
}
_PLAIN_BRACKET = "["
_COMMENT_MARK = re.compile(r"/\*|\*/")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LABEL = re.compile(r"<([A-Za-z_][\w:.-]*)>")
_INCLUDED = re.compile(r"^[ \t]*#include[ \t]*\"([^\"\n]{1,500})\"", re.MULTILINE)
_POINTING = re.compile(r"(?:cite|ref|label|link|locate|query)\(\s*$")


def _own_labels(text: str) -> frozenset[str]:
    """Return the labels in a text: ``@`` with such a name is not a citation."""
    return frozenset(
        match[1]
        for match in _LABEL.finditer(text)
        if not _POINTING.search(text, max(0, match.start() - 12), match.start())
    )


# --- Reader -----------------------------------------------------------------------------------


@dataclass
class _Buffer:
    """The words of a future block, and their start and end in the file."""

    kind: str = ""  # caption, note, title, abstract, author, item, muted
    words: list[str] = field(default_factory=list)
    start: int = -1
    end: int = 0


@dataclass
class _Frame:
    """An open bracket or statement: the sign that closes it, its function, and its buffer."""

    close: str
    name: str
    buffer: _Buffer
    is_code: bool = False
    argument: str = ""
    word: str = ""
    own: bool = False  # True if the buffer ends with this frame
    statement: bool = False


class _Reader:
    """Reads the text in one pass."""

    def __init__(
        self,
        text: str,
        parsed: ParsedDraft,
        labels: frozenset[str],
        files: dict[str, str],
        source: str = "",
    ) -> None:
        self._text, self._parsed = text, parsed
        self._labels, self._files, self._source = labels, files, source
        self._depth = 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._frames = [_Frame("", "", _Buffer(), own=True)]
        self._sections = Sections(parsed)
        self._unclosed_maths = self._unclosed_raw = len(text) + 1

    def read(self) -> None:
        """Read the whole text."""
        text, at = f"\n{self._text}", 0
        self._text, self._starts = text, [0, *(start + 1 for start in self._starts)]
        while at < len(text):
            frame = self._frames[-1]
            pattern = _CODE_TOKEN if frame.is_code else _MARKUP_TOKEN
            match = pattern.search(text, at)
            if not frame.is_code:
                self._add(text[at : match.start() if match else len(text)], at)
            if match is None:
                break
            at = self._code(match) if frame.is_code else self._markup(match)
        while self._frames:
            self._close()
        self._sections.store_references()
        if not self._source:
            self._sections.take_title(least=2, keep_section=True)

    # --- Markup

    def _markup(self, match: re.Match[str]) -> int:
        at = match.end()
        kind = match.lastgroup
        if kind in ("comment", "raw", "maths"):
            return self._passed(kind, match)
        if kind == "escape":
            sign = match[0][1:]
            self._add(" " if sign in ("", "\n") or sign.startswith("u") else sign, match.start())
        elif kind == "address":
            self._add(match[0], match.start())
        elif kind == "reference":
            return self._reference(match)
        elif kind in ("blank", "line"):
            return self._line(kind, match)
        elif kind == "code":
            return self._call(match)
        elif kind == "open":  # a printed bracket
            self._add("[", match.start())
            self._frames.append(_Frame("]", _PLAIN_BRACKET, self._frames[-1].buffer))
        elif kind == "close":
            if len(self._frames) == 1:
                self._add(match[0], match.start())
                return match.end()
            name = self._frames[-1].name
            if name == _PLAIN_BRACKET:
                self._add("]", match.start())
                name = ""
            self._close()
            if name and self._text.startswith("[", match.end()) and not self._frames[-1].is_code:
                self._open_content(name, "")
                return match.end() + 1
            return match.end()
        return at

    def _passed(self, kind: str, match: re.Match[str]) -> int:
        """Return the end of a comment, raw text or a formula."""
        if match[0].startswith("//"):
            return match.end()
        if kind == "comment":
            at = match.end()
            depth = 1
            for edge in _COMMENT_MARK.finditer(self._text, at):
                depth += 1 if edge[0] == "/*" else -1
                if not depth:
                    return edge.end()
            return len(self._text)
        mark = "$" if kind == "maths" else match[0]
        if kind == "raw" and mark == "``":
            return match.end()
        hopeless = self._unclosed_maths if kind == "maths" else self._unclosed_raw
        end = -1 if match.start() >= hopeless else self._text.find(mark, match.end())
        if end < 0:
            if kind == "maths":
                self._unclosed_maths = min(self._unclosed_maths, match.start())
            elif len(mark) == 1:
                self._unclosed_raw = min(self._unclosed_raw, match.start())
            return match.end()
        self._add(" ", match.start())
        return end + len(mark)

    def _reference(self, match: re.Match[str]) -> int:
        """Read ``@key``, a citation or a cross-reference, with an optional note ``[p. 3]``."""
        key, at = match["key"], match.end()
        if key not in self._labels:
            if self._frames[-1].buffer.kind == "muted":
                self._parsed.unplaced.append(key)
            else:
                self._add(self._parsed.cite([key]), match.start())
        if self._text[at : at + 1] == "[":
            end = self._text.find("]", at, at + 200)
            return end + 1 if end > 0 else at
        return at

    def _line(self, kind: str, match: re.Match[str]) -> int:
        """End the paragraph at a blank line, a heading or an item."""
        buffer = self._frames[-1].buffer
        if len(self._frames) > 1:
            self._add("\n", match.start())
            if kind == "blank" and buffer.kind in ("abstract", ""):
                self._flush(buffer)
            return match.end()
        self._flush(buffer)
        if kind == "blank":
            # the last line break may begin a heading
            return (
                match.start() + match[0].rindex("\n") if match[0].count("\n") > 1 else match.end()
            )
        if match["head"]:
            return self._heading(match)
        buffer.kind = "item"
        return match.end()

    def _heading(self, match: re.Match[str]) -> int:
        end = self._text.find("\n", match.end())
        end = len(self._text) if end < 0 else end
        words = re.sub(r"<[A-Za-z_][\w:.-]*>|//.*|[*_`$]|#\w+", "", self._text[match.end() : end])
        self._sections.begin(len(match["head"]), fold(words))
        if not self._sections.in_references:
            self._sections.store_references()
        return end

    # --- Code

    def _call(self, match: re.Match[str]) -> int:
        """Read ``#name(…)[…]``, a statement, or ``#(…)``."""
        name, at = match["name"] or "", match.end()
        muted = _Buffer("muted")
        first = name.split(".")[0]
        if first in _STATEMENTS:
            self._frames.append(_Frame("\n", name, muted, is_code=True, statement=True))
            return at
        following = self._text[at : at + 1]
        if following in ("(", "{"):
            self._frames.append(_Frame(_CLOSING[following], name, muted, is_code=True))
            return at + 1
        if following == "[":
            self._open_content(name, "")
            return at + 1
        if following == '"' and not name:
            string = _STRING.match(self._text, at)
            return string.end() if string else at + 1
        return at

    def _open_content(self, name: str, argument: str) -> None:
        """Open the content of a function or an argument."""
        parts = name.split(".")
        kind = _CONTENT_KINDS.get(argument) or _CONTENT_KINDS.get(parts[-1])
        outer = [parts[0], *(frame.name.partition(".")[0] for frame in self._frames[-6:])]
        if kind is None and (argument or not _MUTED.isdisjoint(outer)):
            kind = "muted"
        elif kind is None and self._frames[-1].is_code:
            kind = ""
        buffer = self._frames[-1].buffer if kind is None else _Buffer(kind)
        self._frames.append(_Frame("]", name, buffer, own=kind is not None))

    def _code(self, match: re.Match[str]) -> int:
        frame, at = self._frames[-1], match.end()
        kind = match.lastgroup
        if kind in ("comment", "raw", "maths"):
            return self._passed(kind, match)
        if kind == "string":
            self._string(frame, match[0].strip('"'))
        elif kind == "word":
            frame.word = match[0]
        elif kind == "colon":
            frame.argument = frame.word
        elif kind == "label" and (frame.name in ("cite", "label") or frame.word == "cite"):
            self._cite_in(frame, match[0][1:-1])
        elif kind == "open":
            mark = match[0]
            name = frame.word or frame.name
            argument, frame.word = frame.argument, ""
            if mark == "[":
                self._open_content(frame.name if not frame.statement else name, argument)
                frame.argument = ""
            else:
                inner = _Frame(_CLOSING[mark], name, frame.buffer, is_code=True)
                inner.argument = argument if mark == "(" and name in ("authors", "author") else ""
                self._frames.append(inner)
        elif kind == "end" and frame.statement and frame.close == "\n":
            self._frames.pop()
            return match.start() if match[0] == "\n" else at
        elif kind == "close":
            return self._close_code(match)
        elif kind == "comma":
            frame.argument = frame.word = ""
        return at

    def _cite_in(self, frame: _Frame, key: str) -> None:
        outer = next((each for each in reversed(self._frames) if not each.is_code), frame)
        if outer.buffer.kind == "muted" or frame.name not in ("cite", "label", "link"):
            self._parsed.unplaced.append(key)
        else:
            self._add(self._parsed.cite([key]), -1, outer.buffer)

    def _string(self, frame: _Frame, value: str) -> None:
        """Read the string arguments of known functions."""
        names = (frame.name, frame.argument)
        if any(name.startswith("bibliography") for name in names) and re.search(
            r"\.(?:bib|ya?ml)$", value
        ):
            self._parsed.name_bibliographies([value])
        elif frame.name in ("cite", "label"):
            if any(each.name == "cite" for each in self._frames[-4:]) and not frame.argument:
                self._cite_in(frame, value)
        elif frame.name == "link" and (doi := doi_in(value)):
            self._cite_in(frame, doi)
        elif frame.name == "include" and frame.statement:
            self._include(value)
        elif frame.argument == "title" and not self._parsed.title:
            self._parsed.title = fold(value)
        elif frame.argument in ("author", "authors", "name"):
            self._parsed.authors = unique([*self._parsed.authors, fold(value)])

    def _include(self, value: str) -> None:
        """Read an included file once, in the current section."""
        beside = posixpath.dirname(self._source)
        names = (posixpath.normpath(value.lstrip("/")), posixpath.join(beside, value))
        name = next((each for each in map(posixpath.normpath, names) if each in self._files), "")
        if name and self._depth == _DEEPEST:
            self._parsed.note("not read: too many levels of included files", name)
        elif name:
            self._flush(self._frames[0].buffer)
            text = self._files.pop(name)
            inner = _Reader(text, self._parsed, self._labels, self._files, name)
            inner._depth = self._depth + 1
            inner._sections.current = self._sections.current
            inner.read()
            self._sections.current = inner._sections.current

    def _close_code(self, match: re.Match[str]) -> int:
        """Close a bracket with all brackets that are still open inside."""
        depth = next(
            (n for n, each in enumerate(reversed(self._frames[-64:]), 1) if each.close == match[0]),
            0,
        )
        if not depth or depth >= len(self._frames):
            return match.end()
        name = self._frames[-depth].name
        for _ in range(depth):
            self._close()
        if self._text[match.end() : match.end() + 1] == "[" and match[0] == ")":
            self._open_content(name, self._frames[-1].argument)
            return match.end() + 1
        return match.end()

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.own:
            self._flush(frame.buffer)

    # --- Prose

    def _add(self, text: str, at: int, buffer: _Buffer | None = None) -> None:
        buffer = buffer or self._frames[-1].buffer
        if not text or buffer.kind == "muted":
            return
        buffer.words.append(text)
        if at >= 0 and text.strip():
            lead = len(text) - len(text.lstrip())
            buffer.start = at + lead if buffer.start < 0 else buffer.start
            buffer.end = max(buffer.end, at + len(text))

    def _flush(self, buffer: _Buffer) -> None:
        """End a paragraph."""
        text = "".join(buffer.words).replace("~", " ")
        start, end, kind = max(buffer.start, 0), buffer.end, buffer.kind
        buffer.words, buffer.start, buffer.end = [], -1, 0
        buffer.kind = "" if kind == "item" else kind
        plain = fold(PLACE.sub("", text))
        if not text.strip():
            return
        if kind == "title":
            self._parsed.title = self._parsed.title or plain
        elif self._sections.in_references and kind in ("", "item"):
            place = self._place(start)
            self._sections.references += [(plain, place), ("", place)]
        else:
            raw = Raw(self._text[start:end], [Origin(0, self._place(start))])
            section = "Abstract" if kind == "abstract" else self._sections.current
            kind = kind if kind in ("caption", "item") else ""
            self._parsed.blocks.append(Block(text, raw, section, kind))

    def _place(self, at: int) -> Place:
        line = bisect_right(self._starts, at) - 1
        return Place(self._source, max(line, 1), at - self._starts[max(line, 1)] + 1)
