"""The form as a PDF with form fields, and a parser for filled ones.

The names of the fields are ``question.2``, ``grade.2.17`` (question 2, reference 17),
``relevant.1.3`` (query 1, document 3), ``not.1.3``, ``cannot.1.3``, ``comment.1.3``,
``approve.1``, ``better.1``, ``opt_out``, and the hidden ``form`` and ``numbers``.

DejaVu Sans (from matplotlib) has Latin, Greek and Cyrillic letters. Chinese, Japanese and Korean
characters need fonts of the PDF viewer. Arabic and Hebrew text runs from left to right.
"""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, StreamObject
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from citebed.errors import FormatError
from citebed.judging.forms.answer_collector import (
    AnswerCollector,
    CheckboxState,
    combine_checkboxes,
    format_limits,
    parse_checkbox,
    parse_grade,
    parse_limits,
    quote,
)
from citebed.judging.forms.sheet import Answers, Entry, Sheet
from citebed.judging.forms.text_form import OPT_OUT, sanitise_link
from citebed.judging.forms.text_parser import to_plain_characters
from citebed.text.normalise import fold

WIDTH, HEIGHT = A4
MARGIN = 50.0
LEFT, RIGHT = MARGIN, WIDTH - MARGIN
TOP, BOTTOM = HEIGHT - MARGIN, MARGIN + 18
INK, QUIET, RULE, FIELD, LINK = map(
    HexColor, ("#1d2329", "#56606b", "#c9d0d8", "#f2f5f8", "#174f8c")
)
_LONGEST = 3000
_KANA = range(0x3040, 0x3100)
_HANGUL = (range(0xAC00, 0xD7B0), range(0x1100, 0x1200))
_INDENT = LEFT + 42
_END = 60
"""Height of the end of the form in points; it shares a page with the last paper."""
_A_ROW = 7
_CHOICES = (("relevant", "relevant"), ("not", "not relevant"), ("cannot", "can't judge"))


# --- Writing ----------------------------------------------------------------------------------


def write(sheet: Sheet) -> bytes:
    """Return the PDF file of a form."""
    pages = _Pages(sheet.settings.title, f"Form: {sheet.code} · {sheet.settings.title}")
    pages.hidden("form", sheet.code)
    pages.hidden("numbers", format_limits(sheet))
    pages.text(sheet.settings.title, 15, "Bold")
    if sheet.simulated:
        pages.text("SIMULATED campaign: no real person receives this form.", 10, "Bold")
    pages.text(f"For {sheet.person}", above=4)
    pages.text(f"Form: {sheet.code}", 9, colour=QUIET)
    for paragraph in sheet.instructions():
        pages.text(paragraph, above=5)
    if sheet.phase == 1:
        pages.y -= 4
        for grade, meaning in [*enumerate(sheet.settings.grades, 1), ("u", "can't say")]:
            lines = _wrapped(meaning, 9.5, RIGHT - LEFT - 30)
            pages.room(len(lines) * 13)
            pages.text(str(grade), 9.5, "Bold", LEFT + 10)
            pages.y += 9.5 * 1.35
            pages.write(lines, LEFT + 28)
    pages.text("Fill in the fields, save the file and send it back. You can also answer online:",
               above=6)  # fmt: skip
    pages.link(sheet.link, LEFT)
    pages.text("List of the papers, with links:", above=4)
    pages.link(sheet.list_url, LEFT)
    if who := ", ".join(filter(None, (sheet.settings.organiser, sheet.settings.contact))):
        pages.text(f"Anything unclear? Write to {who}.", above=4)
    if sheet.phase == 1:
        _write_phase_one(pages, sheet)
    else:
        _write_phase_two(pages, sheet)
    pages.room(_END)
    pages.rule()
    pages.y -= 16
    pages.box("opt_out", OPT_OUT, LEFT, pages.y)
    pages.label(OPT_OUT, 9, LEFT + 18, pages.y + 2)
    pages.y -= 8
    pages.text(f"Form: {sheet.code}", 9, "Bold")
    return pages.content()


def _write_phase_one(pages: _Pages, sheet: Sheet) -> None:
    pages.heading("Research questions", 120)
    for number in range(1, sheet.settings.questions + 1):
        pages.room(72)
        pages.text(f"Question {number} (Q{number})", 9.5)
        pages.y -= 50
        box = (LEFT, pages.y, RIGHT - LEFT, 48)
        tip = f"Research question {number}"
        pages.field(f"question.{number}", tip, box, fieldFlags="multiline")
        pages.y -= 6
    pages.heading("References", 120)
    rows = -(-sheet.settings.questions // _A_ROW)
    for entry in sheet.references:
        end = _END if entry is sheet.references[-1] else 0
        top = _write_entry(pages, entry, str(entry.number), 4 + 19 * rows + end) - 17
        for at in range(sheet.settings.questions):
            number = at + 1
            x, y = _INDENT + at % _A_ROW * 62, top - at // _A_ROW * 19
            pages.label(f"Q{number}", 9, x, y + 4)
            tip = f"Grade of reference {entry.number} for question {number}"
            place = (x + _text_width(f"Q{number}", 9) + 5, y, 22.0, 15.0)
            pages.field(f"grade.{number}.{entry.number}", tip, place, maxlen=1)
        pages.y = top - (rows - 1) * 19 - 6


def _write_phase_two(pages: _Pages, sheet: Sheet) -> None:
    for query in sheet.queries:
        number = query.number
        pages.heading(f"Question {number}", 170)
        if query.stated is None:
            pages.text(query.text)
        else:
            pages.text(f"You wrote: {query.stated}")
            pages.text(f"We suggest: {query.text}", above=3)
            pages.room(64)
            pages.y -= 18
            tip = f"I approve the wording of query {number}"
            pages.box(f"approve.{number}", tip, LEFT, pages.y)
            label = "I approve the new wording, or write a better one:"
            pages.label(label, 9, LEFT + 18, pages.y + 2)
            pages.y -= 38
            pages.field(f"better.{number}", f"A better wording of query {number}",
                        (LEFT, pages.y, RIGHT - LEFT, 32), fieldFlags="multiline")  # fmt: skip
        pages.y -= 6
        for entry in query.entries:
            is_last = query is sheet.queries[-1] and entry is query.entries[-1]
            key, x = f"{number}.{entry.number}", _INDENT
            pages.y = _write_entry(pages, entry, key, 40 + (_END if is_last else 0)) - 16
            for name, label in _CHOICES:
                pages.box(f"{name}.{key}", f"{label}: document {key}", x, pages.y)
                pages.label(label, 9, x + 15, pages.y + 2)
                x += _text_width(label, 9) + 34
            pages.y -= 18
            pages.label("comment", 8, _INDENT, pages.y + 4, QUIET)
            pages.field(f"comment.{key}", f"Comment on document {key}",
                        (_INDENT + 42, pages.y, RIGHT - _INDENT - 42, 15))  # fmt: skip
            pages.y -= 5


def _write_entry(pages: _Pages, entry: Entry, number: str, more: float) -> float:
    """Draw a paper on one page with this much space below it; return where it ends."""
    lines = _wrapped(entry.line() or "(without a title)", 9.5, RIGHT - _INDENT)
    link = sanitise_link(entry.link) if entry.link else ""
    links = _wrapped(link, 8, RIGHT - _INDENT) if link else []
    pages.room(len(lines) * 12.9 + len(links) * 10.8 + more + 6)
    pages.y -= 4
    start = pages.y
    pages.text(f"[{number}]", 9.5, "Bold")
    pages.y = start
    pages.write(lines, _INDENT)
    pages.link(link, _INDENT)
    return pages.y


class _Line(NamedTuple):
    """A line of text, as runs of one font each."""

    runs: tuple[tuple[str, str], ...]
    size: float


@cache
def _register_fonts() -> None:
    """Register the fonts in reportlab, once."""
    package = find_spec("matplotlib")
    places = package.submodule_search_locations if package else None
    folder = Path(next(iter(places or ()))) / "mpl-data" / "fonts" / "ttf"
    for name, file in (("Text", "DejaVuSans.ttf"), ("Bold", "DejaVuSans-Bold.ttf")):
        pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    for name in ("STSong-Light", "HeiseiMin-W3", "HYSMyeongJo-Medium"):
        pdfmetrics.registerFont(UnicodeCIDFont(name))


def _split_by_font(text: str, font: str) -> Iterator[tuple[str, str]]:
    """Split a text into runs of characters with the font that has them."""
    ideographs = "HeiseiMin-W3" if any(ord(c) in _KANA for c in text) else "STSong-Light"

    def font_of(character: str) -> str:
        code = ord(character)
        if code < 0x1100 or code in pdfmetrics.getFont(font).face.charToGlyph:
            return font
        if any(code in each for each in _HANGUL):
            return "HYSMyeongJo-Medium"
        is_wide = unicodedata.east_asian_width(character) in "WF"
        return ideographs if is_wide and code < 0x10000 else font

    for name, group in groupby(text, font_of):
        yield name, "".join(group)


def _text_width(text: str, size: float, font: str = "Text") -> float:
    """Return the width of a text in points."""
    return float(
        sum(pdfmetrics.stringWidth(run, name, size) for name, run in _split_by_font(text, font))
    )


def _wrapped(text: str, size: float, width: float, font: str = "Text") -> list[_Line]:
    """Wrap a text to a width; break long words, and scripts without spaces anywhere."""
    text = fold(text[:_LONGEST])
    breaks = [at for at, c in enumerate(text, 1)
              if c == " " or unicodedata.east_asian_width(c) in "WF"]  # fmt: skip
    lines, line = [], ""
    for start, end in zip([0, *breaks], [*breaks, len(text)], strict=True):
        piece = text[start:end]
        if _text_width(line + piece.rstrip(), size, font) > width and line:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while _text_width(line.rstrip(), size, font) > width:
            used, fitting = 0.0, len(line)
            for at, character in enumerate(line):
                used += _text_width(character, size, font)
                if used > width:
                    fitting = max(at, 1)
                    break
            lines.append(line[:fitting])
            line = line[fitting:]
    return [_Line(tuple(_split_by_font(each, font)), size) for each in [*lines, line.rstrip()]]


class _Pages:
    """Pages that are filled from top to bottom; ``y`` is the top of the next line."""

    def __init__(self, title: str, foot: str) -> None:
        _register_fonts()
        self._file = io.BytesIO()
        self.canvas = Canvas(self._file, pagesize=A4, invariant=1)
        self.canvas.setTitle(fold(title))
        self.canvas.setAuthor("citebed")
        self.form = self.canvas.acroForm
        self._foot = _wrapped(foot, 8, RIGHT - LEFT - 60)[0]
        self.number = 1
        self.y: float = TOP

    def room(self, height: float) -> None:
        """Start a new page unless this height fits on the current one."""
        if self.y - height < BOTTOM and self.y < TOP:
            self._end_page()
            self.canvas.showPage()
            self.number += 1
            self.y = TOP

    def _end_page(self) -> None:
        self.draw(self._foot, LEFT, MARGIN - 12, QUIET)
        number = f"page {self.number}"
        self.label(number, 8, RIGHT - _text_width(number, 8), MARGIN - 12, QUIET)

    def draw(self, line: _Line, x: float, y: float, colour: HexColor = INK) -> None:
        """Draw a line of text at a position."""
        text = self.canvas.beginText(x, y)
        text.setFillColor(colour)
        for font, run in line.runs:
            text.setFont(font, line.size)
            text.textOut(run)
        self.canvas.drawText(text)

    def label(self, text: str, size: float, x: float, y: float, colour: HexColor = INK) -> None:
        """Draw a short text at a position."""
        self.draw(_wrapped(text, size, RIGHT - LEFT)[0], x, y, colour)

    def write(self, lines: list[_Line], x: float = LEFT, colour: HexColor = INK) -> None:
        """Draw lines below each other, with page breaks where needed."""
        for line in lines:
            self.room(line.size * 1.35)
            self.y -= line.size * 1.35
            self.draw(line, x, self.y + line.size * 0.3, colour)

    def text(
        self,
        text: str,
        size: float = 10,
        font: str = "Text",
        x: float = LEFT,
        colour: HexColor = INK,
        above: float = 0,
    ) -> None:
        """Draw a paragraph over the width of the page, with space above it."""
        self.y -= above
        self.write(_wrapped(text, size, RIGHT - LEFT, font), x, colour)

    def heading(self, text: str, room: float) -> None:
        """Draw a heading under a rule, on one page with this much space below."""
        self.room(room)
        self.y -= 8
        self.rule()
        self.text(text, 12, "Bold")
        self.y -= 2

    def link(self, url: str, x: float) -> None:
        """Draw a clickable link on lines of its own, if there is one."""
        link = sanitise_link(url)
        for line in _wrapped(link, 8, RIGHT - x) if link else ():
            self.write([line], x, LINK)
            width = sum(pdfmetrics.stringWidth(run, font, 8) for font, run in line.runs)
            self.canvas.linkURL(link, (x, self.y, x + width, self.y + 8 * 1.35), relative=0)

    def rule(self) -> None:
        """Draw a thin line over the width of the page."""
        self.y -= 6
        self.canvas.setStrokeColor(RULE)
        self.canvas.setLineWidth(0.5)
        self.canvas.line(LEFT, self.y, RIGHT, self.y)
        self.y -= 4

    def field(
        self, name: str, tip: str, box: tuple[float, float, float, float], **how: object
    ) -> None:
        """Add a text field; ``box`` is its left, bottom, width and height."""
        x, y, width, height = box
        self.form.textfield(
            name=name, tooltip=tip, x=x, y=y, width=width, height=height, fontName="Helvetica",
            borderColor=QUIET, fillColor=FIELD, textColor=INK, borderWidth=0.5,
            **({"fontSize": 9, "maxlen": 4000, "fieldFlags": ""} | how),
        )  # fmt: skip

    def box(self, name: str, tip: str, x: float, y: float) -> None:
        """Add a checkbox."""
        self.form.checkbox(
            name=name, tooltip=tip, x=x, y=y, size=11, buttonStyle="cross", borderWidth=0.5,
            borderColor=QUIET, fillColor=FIELD, textColor=INK, checked=False, fieldFlags="",
        )  # fmt: skip

    def hidden(self, name: str, value: str) -> None:
        """Add a hidden, read-only value."""
        self.form.textfield(
            name=name, value=value, x=0, y=0, width=1, height=1, maxlen=0, fontSize=8,
            borderWidth=0, annotationFlags="hidden", fieldFlags="readOnly",
        )  # fmt: skip

    def content(self) -> bytes:
        """Finish and return the file."""
        self._end_page()
        self.canvas.save()
        return self._file.getvalue()


# --- Parsing ----------------------------------------------------------------------------------

LARGEST = 20 << 20
_MAX_PAGES, _MAX_FIELDS, _MAX_PARENTS = 1000, 50_000, 20
_MAX_TEXT = 100_000
_OFF = frozenset(("", "off", "no", "false", "0"))
_NAME = re.compile(
    r"(question|approve|better)\.(\d{1,6})|(grade|relevant|not|cannot|comment)\.(\d{1,6})\.(\d{1,6})"
)
_WHAT = "PDF form"
_NO_CODE = "it has form fields, but no citebed form code. Was it made from another file?"
_NO_FIELDS = (
    "it has no form fields: it was printed or flattened, so the answers are only a picture. "
    "Ask for the saved form, or enter the visible answers on the judge's page."
)
# pypdf raises any of these for damaged files.
_FAULTS = (
    PyPdfError, RecursionError, MemoryError, ArithmeticError, AttributeError, LookupError, OSError,
    TypeError, ValueError, NotImplementedError, AssertionError,
)  # fmt: skip

Fields = dict[str, tuple[int, "str | bool"]]
"""The page and the value of each field, by name."""


def is_this_form(content: bytes) -> bool:
    """Return whether this is a PDF; `read` raises an error unless it is a citebed form."""
    return b"%PDF-" in content[:1024]


def read(content: bytes) -> Answers:
    """Parse the answers of a PDF form; the "line" of a problem is its page."""
    fields = _load_fields(content)
    code = fields.get("form", (0, ""))[1]
    if not fields or not isinstance(code, str) or not code:
        raise FormatError(_WHAT, None, _NO_CODE if fields else _NO_FIELDS)
    numbers = fields.get("numbers", (0, ""))[1]
    collector = AnswerCollector(fold(code).upper(), parse_limits(str(numbers)))
    for number, _, page, text in _fields_of_kind(fields, "question"):
        collector.question(number, str(text), page)
    for question, paper, page, text in _fields_of_kind(fields, "grade"):
        grade = parse_grade(to_plain_characters(fold(str(text))))
        if grade is CheckboxState.UNKNOWN:
            what = f"Q{question} of [{paper}]: {quote(str(text))} is not a grade"
            collector.doubt(question, paper, page, what)
        elif not isinstance(grade, CheckboxState):
            collector.grade(question, paper, grade, page)
    _read_verdicts(fields, collector)
    for query, _, page, text in _fields_of_kind(fields, "better"):
        if wording := fold(str(text)):
            collector.approve(query, wording, page)
    for query, _, page, value in _fields_of_kind(fields, "approve"):
        if _checkbox(value) is CheckboxState.YES:
            collector.approve(query, True, page)
        elif _checkbox(value) is CheckboxState.UNKNOWN:
            collector.doubt_approval(query, page, "has an approval box whose value and look differ")
    page, opted_out = fields.get("opt_out", (0, False))
    collector.opted_out = _checkbox(opted_out) is CheckboxState.YES
    if _checkbox(opted_out) is CheckboxState.UNKNOWN:
        collector.unread(page, f"unclear whether to stop mails: {quote(str(opted_out))}")
    return collector.answers()


def _fields_of_kind(fields: Fields, kind: str) -> Iterator[tuple[int, int, int, str | bool]]:
    """Yield the numbers, page and value of the fields of a kind."""
    for name, (page, value) in fields.items():
        match = _NAME.fullmatch(name)
        if match and kind in (match[1], match[3]):
            yield int(match[2] or match[4]), int(match[5] or 0), page, value


def _checkbox(value: str | bool) -> CheckboxState:
    if isinstance(value, str):
        return parse_checkbox(fold(value))
    return CheckboxState.YES if value else CheckboxState.EMPTY


def _read_verdicts(fields: Fields, collector: AnswerCollector) -> None:
    marks: dict[tuple[int, int], dict[str, CheckboxState]] = {}
    pages: dict[tuple[int, int], int] = {}
    for kind, _ in _CHOICES:
        for query, paper, page, value in _fields_of_kind(fields, kind):
            marks.setdefault((query, paper), {})[kind] = _checkbox(value)
            pages[query, paper] = page
    comments = {
        (query, paper): fold(str(text))
        for query, paper, _, text in _fields_of_kind(fields, "comment")
    }
    for (query, paper), by_kind in marks.items():
        where = f"document [{query}.{paper}]"
        verdict = combine_checkboxes(*(by_kind.get(k, CheckboxState.EMPTY) for k, _ in _CHOICES))
        comment, page = comments.get((query, paper), ""), pages[query, paper]
        if verdict is CheckboxState.UNKNOWN:
            collector.doubt(query, paper, page, f"{where} has marks that contradict each other")
        elif not isinstance(verdict, CheckboxState):
            collector.verdict(query, paper, verdict, comment, page)
        elif comment:
            collector.unread(page, f"{where} has a comment but no mark: {quote(comment)}")


def _load_fields(content: bytes) -> Fields:
    """Return all fields by name with page and value; raise `FormatError` for a bad file.

    PDF programs store values differently: text in several encodings or as a stream, checkboxes as
    the name of a state or as a string, values in a field or in its widgets.
    """
    if len(content) > LARGEST:
        raise FormatError(_WHAT, None, f"{len(content):,} bytes; a form has less than "
                          f"{LARGEST:,}. Is it a scan? Ask for the saved form.")  # fmt: skip
    logger = logging.getLogger("pypdf")  # users need not see its warnings
    was = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise FormatError(_WHAT, None, "it has a password. Ask for a form without one.")
        return dict(_iterate_fields(reader))
    except FormatError:
        raise
    except _FAULTS as error:
        raise FormatError(_WHAT, None, "it is damaged, or encrypted in an unsupported way "
                         f"({type(error).__name__}). Ask for it again.") from error  # fmt: skip
    finally:
        logger.setLevel(was)


def _iterate_fields(reader: PdfReader) -> Iterator[tuple[str, tuple[int, str | bool]]]:
    """Yield the form's fields, then the widgets of the pages, which take precedence."""
    form = _resolve(reader.root_object.get("/AcroForm"))
    listed = form.get("/Fields") if isinstance(form, DictionaryObject) else None
    for field in _dictionaries(listed):
        if "/T" in field:
            yield fold(_text(field["/T"])), (0, _value(field))
    for number, page in enumerate(reader.pages, 1):
        if number > _MAX_PAGES:
            what = f"it has more than {_MAX_PAGES:,} pages. Send only the form."
            raise FormatError(_WHAT, None, what)
        for widget in _dictionaries(page.get("/Annots")):
            parts = [fold(_text(each["/T"])) for each in _parents(widget) if "/T" in each]
            if name := ".".join(reversed(parts))[:200]:
                yield name, (number, _value(widget))


def _dictionaries(array: Any) -> Iterator[DictionaryObject]:
    array = _resolve(array)
    for at, each in enumerate(array if isinstance(array, ArrayObject) else ()):
        if at >= _MAX_FIELDS:
            raise FormatError(_WHAT, None, f"it has more than {_MAX_FIELDS:,} fields.")
        if isinstance(found := _resolve(each), DictionaryObject):
            yield found


def _resolve(value: Any) -> Any:
    return value.get_object() if value is not None and hasattr(value, "get_object") else value


def _parents(field: DictionaryObject) -> Iterator[DictionaryObject]:
    """Yield a field and its ancestors."""
    for _ in range(_MAX_PARENTS):
        yield field
        parent = _resolve(field.get("/Parent"))
        if not isinstance(parent, DictionaryObject):
            return
        field = parent


def _value(widget: DictionaryObject) -> str | bool:
    """Return the text of a field, or whether a checkbox is marked (by value, else by look)."""
    kind, value = (
        next((_resolve(each[key]) for each in _parents(widget) if key in each), None)
        for key in ("/FT", "/V")
    )
    if kind != "/Btn":
        return _text(value)
    look = _resolve(widget.get("/AS"))
    states = (fold(_text(each)).removeprefix("/").casefold() for each in (value, look))
    is_marked, is_shown = (state not in _OFF for state in states)
    if value is None or not is_marked:
        return is_shown if value is None else ("?" if is_shown else False)
    return True


def _text(value: Any) -> str:
    """Return a string of any encoding; join multiple choices."""
    value = _resolve(value)
    if isinstance(value, ArrayObject):
        return " / ".join(_text(each) for each in value[:20])
    if isinstance(value, StreamObject):
        value = value.get_data()
    if not isinstance(value, bytes):
        if value is None or isinstance(value, DictionaryObject):
            return ""
        text = str(value)[:_MAX_TEXT]
        if not text.startswith(("\xef\xbb\xbf", "\xff\xfe")):  # a byte order mark read as text
            return text
        value = text.encode("latin-1", "replace")
    value = value[: 2 * _MAX_TEXT]
    for mark, encoding in ((b"\xfe\xff", "utf-16"), (b"\xff\xfe", "utf-16"), (b"", "utf-8-sig")):
        if value.startswith(mark):
            try:
                return str(value.decode(encoding))
            except UnicodeDecodeError:
                continue
    return str(value.decode("cp1252", "replace"))
