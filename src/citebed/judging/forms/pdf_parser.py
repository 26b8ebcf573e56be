"""Parse filled PDF forms; the "line" of a problem is its page.

PDF programs store values differently: text in several encodings or as a stream, checkboxes as
the name of a state or as a string, values in a field or in its widgets.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, StreamObject

from citebed.errors import FormatError
from citebed.judging.forms.answer_collector import (
    AnswerCollector,
    CheckboxState,
    NoGrade,
    combine_checkboxes,
    parse_checkbox,
    parse_grade,
    parse_limits,
    quote,
)
from citebed.judging.forms.sheet import Answers
from citebed.judging.forms.text_lines import to_plain_characters
from citebed.text.normalise import fold

LARGEST = 20 << 20
_PAGES, _FIELDS, _DEEP = 1000, 50_000, 20
_TEXT = 100_000
_OFF = frozenset(("", "off", "no", "false", "0"))
_NAME = re.compile(
    r"(question|approve|better)\.(\d{1,6})|(grade|relevant|not|cannot|comment)\.(\d{1,6})\.(\d{1,6})"
)
_VERDICTS = ("relevant", "not", "cannot")
_WHAT = "PDF form"
# pypdf raises any of these for damaged files.
_FAULTS = (
    PyPdfError, RecursionError, MemoryError, ArithmeticError, AttributeError, LookupError, OSError,
    TypeError, ValueError, NotImplementedError, AssertionError,
)  # fmt: skip

Fields = dict[str, tuple[int, "str | bool"]]


def is_this_form(content: bytes) -> bool:
    """Return whether this is a PDF; `read` raises an error unless it is a citebed form."""
    return b"%PDF-" in content[:1024]


def read(content: bytes) -> Answers:
    """Parse the answers of a PDF form."""
    fields = _fields(content)
    code = fields.get("form", (0, ""))[1]
    if not fields or not isinstance(code, str) or not code:
        raise FormatError(_WHAT, None, _NO_CODE if fields else _NO_FIELDS)
    numbers = fields.get("numbers", (0, ""))[1]
    collector = AnswerCollector(fold(code).upper(), parse_limits(str(numbers)))
    for number, _, page, text in _fields_of_kind(fields, "question"):
        collector.question(number, str(text), page)
    _grades(fields, collector)
    _verdicts(fields, collector)
    _approvals(fields, collector)
    page, opted_out = fields.get("opt_out", (0, False))
    mark = _mark(opted_out)
    collector.opted_out = mark is CheckboxState.YES
    if mark is CheckboxState.UNKNOWN:
        collector.unread(page, f"unclear whether to stop mails: {quote(str(opted_out))}")
    return collector.answers()


_NO_CODE = "it has form fields, but no citebed form code. Was it made from another file?"
_NO_FIELDS = (
    "it has no form fields: it was printed or flattened, so the answers are only a picture. "
    "Ask for the saved form, or enter the visible answers on the judge's page."
)


# --- The fields of a file -------------------------------------------------------------------


def _fields(content: bytes) -> Fields:
    """Return all fields by name with page and value; raise `FormatError` for a bad file."""
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
        return dict(_all_fields(reader))
    except FormatError:
        raise
    except _FAULTS as error:
        raise FormatError(_WHAT, None, "it is damaged, or encrypted in an unsupported way "
                         f"({type(error).__name__}). Ask for it again.") from error  # fmt: skip
    finally:
        logger.setLevel(was)


def _all_fields(reader: PdfReader) -> Iterator[tuple[str, tuple[int, str | bool]]]:
    """Yield the form's fields, then the widgets of the pages, which take precedence."""
    catalog = reader.root_object
    form = _resolve(catalog.get("/AcroForm"))
    listed = _resolve(form.get("/Fields")) if isinstance(form, DictionaryObject) else None
    for field in _iterate_limited(listed, _FIELDS):
        if isinstance(field, DictionaryObject) and "/T" in field:
            yield fold(_text(field["/T"])), (0, _value(field))
    for number, page in enumerate(reader.pages, 1):
        if number > _PAGES:
            raise FormatError(
                _WHAT, None, f"it has more than {_PAGES:,} pages. Send only the form."
            )
        for widget in _iterate_limited(_resolve(page.get("/Annots")), _FIELDS):
            if isinstance(widget, DictionaryObject) and (name := _name(widget)):
                yield name, (number, _value(widget))


def _iterate_limited(array: Any, most: int) -> Iterator[Any]:
    for at, each in enumerate(array if isinstance(array, ArrayObject) else ()):
        if at >= most:
            raise FormatError(_WHAT, None, f"it has more than {most:,} fields.")
        yield _resolve(each)


def _resolve(value: Any) -> Any:
    return value.get_object() if value is not None and hasattr(value, "get_object") else value


def _parents(field: DictionaryObject) -> Iterator[DictionaryObject]:
    """Yield a field and its ancestors."""
    for _ in range(_DEEP):
        yield field
        parent = _resolve(field.get("/Parent"))
        if not isinstance(parent, DictionaryObject):
            return
        field = parent


def _name(widget: DictionaryObject) -> str:
    parts = [fold(_text(each["/T"])) for each in _parents(widget) if "/T" in each]
    return ".".join(reversed(parts))[:200]


def _value(widget: DictionaryObject) -> str | bool:
    """Return the text of a field, or whether a checkbox is marked (by value, else by look)."""
    entries = {
        key: next((_resolve(each[key]) for each in _parents(widget) if key in each), None)
        for key in ("/FT", "/V")
    }
    if entries["/FT"] != "/Btn":
        return _text(entries["/V"])
    value, looks = entries["/V"], _resolve(widget.get("/AS"))
    if value is None or _state(value) in _OFF:
        is_shown = looks is not None and _state(looks) not in _OFF
        return is_shown if value is None else ("?" if is_shown else False)
    return True


def _state(value: Any) -> str:
    return fold(_text(value)).removeprefix("/").casefold()


def _text(value: Any) -> str:
    """Return a string of any encoding; join multiple choices."""
    value = _resolve(value)
    if isinstance(value, ArrayObject):
        return " / ".join(_text(each) for each in value[:20])
    if isinstance(value, StreamObject):
        value = value.get_data()
    if isinstance(value, bytes):
        return _decode(value[: 2 * _TEXT])
    if value is None or isinstance(value, DictionaryObject):
        return ""
    text = str(value)[:_TEXT]
    is_mistaken = text.startswith(("\xef\xbb\xbf", "\xff\xfe"))  # a byte order mark read as text
    return _decode(text.encode("latin-1", "replace")) if is_mistaken else text


def _decode(content: bytes) -> str:
    for mark, encoding in ((b"\xfe\xff", "utf-16"), (b"\xff\xfe", "utf-16"), (b"", "utf-8-sig")):
        if content.startswith(mark):
            try:
                return content.decode(encoding)
            except UnicodeDecodeError:
                continue
    return content.decode("cp1252", "replace")


# --- Answers --------------------------------------------------------------------------------


def _fields_of_kind(fields: Fields, kind: str) -> Iterator[tuple[int, int, int, str | bool]]:
    """Yield the numbers, page and value of the fields of a kind."""
    for name, (page, value) in fields.items():
        match = _NAME.fullmatch(name)
        if match and kind in (match[1], match[3]):
            yield int(match[2] or match[4]), int(match[5] or 0), page, value


def _grades(fields: Fields, collector: AnswerCollector) -> None:
    for question, paper, page, text in _fields_of_kind(fields, "grade"):
        grade = parse_grade(to_plain_characters(fold(str(text))))
        if grade is NoGrade.UNKNOWN:
            what = f"Q{question} of [{paper}]: {quote(str(text))} is not a grade"
            collector.doubt(question, paper, page, what)
        elif not isinstance(grade, NoGrade):
            collector.grade(question, paper, grade, page)


def _mark(value: str | bool) -> CheckboxState:
    return (
        parse_checkbox(fold(value))
        if isinstance(value, str)
        else CheckboxState.YES
        if value
        else CheckboxState.EMPTY
    )


def _verdicts(fields: Fields, collector: AnswerCollector) -> None:
    marks_of: dict[tuple[int, int], dict[str, CheckboxState]] = {}
    pages: dict[tuple[int, int], int] = {}
    for kind in _VERDICTS:
        for query, paper, page, value in _fields_of_kind(fields, kind):
            marks_of.setdefault((query, paper), {})[kind] = _mark(value)
            pages[query, paper] = page
    comments = {
        (query, paper): fold(str(text))
        for query, paper, _, text in _fields_of_kind(fields, "comment")
    }
    for (query, paper), marks in marks_of.items():
        where = f"document [{query}.{paper}]"
        verdict = combine_checkboxes(*(marks.get(kind, CheckboxState.EMPTY) for kind in _VERDICTS))
        comment, page = comments.get((query, paper), ""), pages[query, paper]
        if verdict is CheckboxState.UNKNOWN:
            collector.doubt(query, paper, page, f"{where} has marks that contradict each other")
        elif isinstance(verdict, CheckboxState):
            if comment:
                collector.unread(page, f"{where} has a comment but no mark: {quote(comment)}")
        else:
            collector.verdict(query, paper, verdict, comment, page)


def _approvals(fields: Fields, collector: AnswerCollector) -> None:
    for query, _, page, text in _fields_of_kind(fields, "better"):
        if wording := fold(str(text)):
            collector.approve(query, wording, page)
    for query, _, page, value in _fields_of_kind(fields, "approve"):
        if _mark(value) is CheckboxState.YES:
            collector.approve(query, True, page)
        elif _mark(value) is CheckboxState.UNKNOWN:
            collector.doubt_approval(query, page, "has an approval box whose value and look differ")
