"""Parse returned text forms.

Returned forms are quoted, re-wrapped, answered above and below, signed, and full of typographic
variants. The parser first splits them into blocks (questions, queries, papers, and the rest): a
block begins where the form has a label at the beginning of a line. Clear marks become answers.
Anything else (a grade outside the scale, two marks for one paper, text in place of a mark) is
listed as a problem with its line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import NamedTuple

from citebed.errors import FormatError
from citebed.judging.forms.answer_collector import (
    AnswerCollector,
    CheckboxState,
    combine_checkboxes,
    parse_checkbox,
    parse_grade,
    parse_limits,
    quote,
)
from citebed.judging.forms.sheet import Answers
from citebed.text.normalise import fold
from citebed.text.regex import compile_regex

_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_SAME = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width to ASCII
_SAME |= dict.fromkeys(
    (9, 11, 12, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)), 32
)
_SAME |= {ord(c): ord("'") for c in "‘’‚‛′´`ʼ"} | {ord(c): ord('"') for c in "“”„‟″«»"}
_SAME |= {ord(c): ord("-") for c in "‐‑‒–—―−"} | {ord(c): ord(":") for c in "∶꞉"}
_SAME |= {ord(c): ord("[") for c in "【〔⟦"} | {ord(c): ord("]") for c in "】〕⟧"}
_SAME |= {ord("﹖"): ord("?"), ord("？"): ord("?")}

_LINK = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_QUOTE = compile_regex(r"[ \t\u00a0]*+(?:[>|]|[A-Z]{1,3}>)")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_FORM = re.compile(
    r"\s*form\s*:\s*([a-z0-9]{1,20}(?:-[a-z0-9]{1,20}){1,7}|(?-i:[A-Z0-9]{4,40}))[\s.]*$",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\s{0,99}-{2,}\s*(?:research\s+questions|references|(?:your|the)\s+question|end\s+of\s+the\s+form)\b",
    re.IGNORECASE,
)
_QUE = compile_regex(
    r"\s*+(question|query)\s*+(?:no\.?|#)?+\s*+(\d{1,6})\s*+(?:[:=]|$)", re.IGNORECASE
)
_HEAD = re.compile(r"\s*\[\s*(?:(\d{1,6})\s*\.\s*)?(\d{1,6})\s*\]")
_OPT_OUT_LINE = re.compile(
    r".{0,12}\bplease\s+do\s+not\s+(?:contact|write\s+to)\s+me\s+again\b", re.IGNORECASE
)
_CUT = re.compile(
    r"--\s*$|-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht)"
    r"|(?=.{0,300}:\s{0,9}$).{0,300}\b(?:wrote|schrieb|écrit|escribió|ha scritto|пишет)\s?:",
    re.IGNORECASE,
)
_ON = re.compile(r"\s*(?:on|am|le|el|il|\d)\b", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?<![\w.])q\s?\d{1,3}\s*[:=\[(]|\b(?:relevant|judge)\s*[:=\[(]", re.IGNORECASE
)
_DANGLING = re.compile(r"(?<![\w.])q\s?\d{1,3}\s*[:=]?\s*$", re.IGNORECASE)
_NO_TITLE = re.compile(r"\s*(?:$|[,;.|]|q\s?\d)", re.IGNORECASE)
_CLOSING = re.compile(
    r"\s*(?:[-_=*#~]{10,}\s*$"
    r"|(?:(?:with |many |kind |best |warm |kindest )*(?:regards|wishes|thanks)"
    r"|best|cheers|sincerely|yours(?: \w+)?|thank you|sent from my .*|mit freundlichen grüßen"
    r"|cordialement|saludos)\s*[,.!]?\s*$)",
    re.IGNORECASE,
)

LONGEST = 4_000_000
_BOXED = compile_regex(r"\s*+[:=]?+\s*+[\[(]([^\[\]()]{0,80})[\])]")
_GRADE_LABEL = re.compile(r"(?<![\w.])q\s?(\d{1,6})(?=\s*[:=\[(])", re.IGNORECASE)
_BARE_LABEL = re.compile(r"(?im)^[^\S\n]*q(\d{1,6})(?=[^\S\n]+\S{1,3}[^\S\n]*$)")
_BARE_IN_ROW = re.compile(r"(?<![\w.])q(\d{1,6})(?=[ ]{1,9}[\dux?][ ,;]{1,9}q\s?\d)", re.IGNORECASE)
_SEVERAL = re.compile(r"(?<![\w.])q\s?\d+\s*(?:[,/&+-]|and|to)\s*q?\s?\d", re.IGNORECASE)
_VERDICT = re.compile(
    r"\b(not\s+relevant|irrelevant|relevant|(?:can'?t|cannot|can\s+not)\s+judge)\b", re.IGNORECASE
)
_BEFORE = re.compile(r"(?:\[[^\]\n]{0,40}\]|(?:^|\s)[x✓✔✗✘☑☒])\s*(?:the\s)?$", re.IGNORECASE)
_COLON = compile_regex(r"\s*+[:=]\s*+")
_COMMENT = re.compile(r"\bcomments?\s*:", re.IGNORECASE)
_APPROVE = re.compile(r"(?im)^[^\S\n]*approved?(?=\s*[:=\[(]|[^\S\n]+(?:x|yes|y|no)\s*$)")
_BARE_APPROVE = re.compile(r"(?im)^[^\S\n]*((?:i[ ])?approved?)[^\S\n]*[.!]?[^\S\n]*$")
_BETTER = re.compile(r"\bbetter\s+wording\s*:", re.IGNORECASE)
_MAYBE = re.compile(r"(?im)^.{0,60}form[^\S\n]{0,9}:.{1,90}$")
_OPT_OUT = re.compile(r"please\s+do\s+not\s+(?:contact|write\s+to)\s+me\s+again", re.IGNORECASE)
_A_MARK = r"(?:\d|\?|u|x|✓|✔|✗|yes|no|-)"
_LONE = compile_regex(rf"{_A_MARK}(?:[\s,;/|]++{_A_MARK})*+", re.IGNORECASE)
_STRAY = re.compile(
    r"(?:q\s?\d{1,3}\s{0,9}[:=]?\s{0,9}[\[(:=]\s{0,9}\d"
    r"|(?:not\s{1,9})?relevant\s{0,9}[:=]?\s{0,9}[\[(:=]\s{0,9}(?:x|yes))\b",
    re.IGNORECASE,
)


class Line(NamedTuple):
    """A line with its number, its quoting depth, and its text without quote marks."""

    number: int
    depth: int
    text: str
    raw: str


@dataclass
class Block:
    """A part of the form: the text after its label and all lines up to the next label.

    ``typed`` are the numbers of lines that are quoted less than the label: answers between quoted
    lines. ``is_closed``: another part of the form follows, so it has no signature.
    """

    kind: str
    query: int | None
    number: int
    line: int
    depth: int
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    typed: set[int] = field(default_factory=set)
    is_closed: bool = False

    def add(self, line: Line, start: int = 0) -> None:
        """Append a line from a character on, or with the quote marks below the block's depth."""
        text = line.text if self.depth >= line.depth else _unquote(line.raw, self.depth)[1]
        self.lines.append(line.text[start:] if start else text)
        self.numbers.append(line.number)
        if line.depth < self.depth and line.text.strip():
            self.typed.add(line.number)

    def text(self) -> Text:
        """Return the lines as one text, without the closing of a letter."""
        end = len(self.lines)
        if not self.is_closed:
            lines = enumerate(map(to_plain_characters, self.lines))
            end = next((at for at, line in lines if at and _CLOSING.match(line)), end)
        return Text(self.lines[:end], self.numbers, self.typed)


class Text:
    """The text of a block as written, and in plain characters at the same positions.

    In ``plain``, links are blanked: ``?q1=5`` is not a grade.
    """

    def __init__(self, lines: list[str], numbers: list[int], typed: set[int]) -> None:
        self.lines = lines
        self.written = "\n".join(lines)
        self.plain = _LINK.sub(lambda match: " " * len(match[0]), to_plain_characters(self.written))
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1] or [0]
        self._numbers = numbers
        self._typed = typed

    def is_typed(self, at: int) -> bool:
        """Return whether a character was typed between quoted lines."""
        return self.line(at) in self._typed

    def line(self, at: int) -> int:
        """Return the line number of a character."""
        return self._numbers[bisect_right(self._starts, at) - 1]

    def line_start(self, at: int) -> int:
        """Return the position where the line of a character begins."""
        return self._starts[bisect_right(self._starts, at) - 1]

    def line_end(self, at: int, stop: int | None = None) -> int:
        """Return the position where the line of a character ends, at most ``stop``."""
        stop = len(self.plain) if stop is None else stop
        end = self.plain.find("\n", at, stop)
        return stop if end < 0 else end


def to_plain_characters(text: str) -> str:
    """Replace curly, full-width and other variants of characters; positions stay the same."""
    return text if text.isascii() and "\t" not in text else text.translate(_SAME)


def split_lines(content: str) -> list[Line]:
    """Split a text into lines, numbered from 1."""
    lines = _NEWLINE.split(_INVISIBLE.sub("", content))
    return [
        Line(at, *(_unquote(raw, 40) if raw else (0, "")), raw) for at, raw in enumerate(lines, 1)
    ]


def _unquote(raw: str, depth: int) -> tuple[int, str]:
    """Return the quoting depth of a line (at most ``depth``), and the line without quote marks."""
    levels = start = 0
    while levels < depth and (mark := _QUOTE.match(raw, start)):
        levels, start = levels + 1, mark.end()
    return levels, raw[start:].removeprefix(" ") if levels else raw


def find_form_code(line: Line) -> str | None:
    """Return the form code in a line like ``Form: CODE``, if it is one."""
    match = _FORM.match(to_plain_characters(line.text))
    return match[1].upper() if match else None


# --- Blocks -----------------------------------------------------------------------------------


class _Start(NamedTuple):
    """A label at the beginning of a line, its numbers, and where the text after it starts."""

    kind: str = ""
    query: int | None = None
    number: int = 0
    start: int = 0


def split_blocks(lines: list[Line]) -> Iterator[Block]:
    """Yield the blocks of a form; text between and around them has the kind ``other``."""
    starts = [_parse_start(to_plain_characters(line.text)) for line in lines]
    marks = _places_of_marks(lines, starts)
    block = Block("other", None, 0, 1, 0)
    query: int | None = None
    before = ""
    for at, (line, begun) in enumerate(zip(lines, starts, strict=True)):
        plain = to_plain_characters(line.text)
        is_start = begun.kind != ""
        if begun.kind == "paper":
            is_after_blank = not at or not lines[at - 1].text.strip()
            is_title = not (
                _DANGLING.search(before[-40:]) and _NO_TITLE.match(plain[begun.start :])
            )
            is_start = is_title and _starts_paper(block, begun, marks[at], is_after_blank)
        elif begun.kind == "cut":  # "On … wrote:" may be on two lines
            is_start = plain.lstrip().startswith("-") or bool(_ON.match(plain) or _ON.match(before))
        if line.text.strip():
            before = plain
        if not is_start:
            block.add(line)
            continue
        block.is_closed = begun.kind != "cut"
        yield block
        if begun.kind == "query":
            query = begun.number
        of = query if begun.query is None else begun.query
        block = Block(begun.kind, of, begun.number, line.number, line.depth)
        if begun.kind in ("question", "query", "paper", "opt-out"):
            block.add(line, begun.start)
    yield block


def _parse_start(plain: str) -> _Start:
    if not plain or plain.isspace():
        return _Start()
    if match := _HEAD.match(plain):
        return _Start("paper", int(match[1]) if match[1] else None, int(match[2]), match.end())
    if match := _QUE.match(plain):
        kind = "question" if match[1].casefold() == "question" else "query"
        return _Start(kind, None, int(match[2]), match.end())
    kinds = (("form", _FORM), ("section", _SECTION), ("opt-out", _OPT_OUT_LINE), ("cut", _CUT))
    return _Start(next((kind for kind, pattern in kinds if pattern.match(plain)), ""))


def _starts_paper(block: Block, begun: _Start, mark: str, is_after_blank: bool) -> bool:
    """Return whether a number in brackets begins a paper, rather than a grade or part of a text."""
    has_text = block.kind in ("question", "query") or (
        block.kind == "paper" and block.query is not None
    )
    if not has_text or (begun.query is not None and block.kind != "question"):
        return True
    return mark == "here" or (mark == "later" and is_after_blank and block.kind == "question")


def _places_of_marks(lines: list[Line], starts: list[_Start]) -> list[str]:
    """Return for each line where the next marks are.

    They are ``here`` (before the next paper), ``later`` (after it), or in another part ("").
    """
    places, is_here, is_later = [""] * len(lines), False, False
    for at in range(len(lines) - 1, -1, -1):
        is_here = is_here or bool(_LABELLED.search(to_plain_characters(lines[at].text[:2000])))
        places[at] = "here" if is_here else "later" if is_later else ""
        if starts[at].kind == "paper":
            is_here, is_later = False, is_here or is_later
        elif starts[at].kind in ("question", "query", "form", "section"):
            is_here = is_later = False
    return places


# --- Answers ----------------------------------------------------------------------------------


def is_this_form(content: str) -> bool:
    """Return whether a text has a line with a form code; HTML pages do not count."""
    if len(content) > LONGEST or content.lstrip("\ufeff \t\r\n")[:1] in ("<", "{"):
        return False
    may_be = _MAYBE.findall(to_plain_characters(content))
    return any(map(find_form_code, split_lines("\n".join(may_be[:1000]))))


def read(content: str) -> Answers:
    """Parse the answers of a text form; lines are numbered from 1."""
    if len(content) > LONGEST:
        raise FormatError("text form", None, f"the text has {len(content):,} characters; a form "
                         "has a few thousand. Send only the form.")  # fmt: skip
    lines = split_lines(content)
    codes = {code: line.number for line in lines if (code := find_form_code(line))}
    if len(codes) > 1:
        raise FormatError("text form", max(codes.values()), "this text has the forms "
                         f"{' and '.join(sorted(codes))}. Send one at a time.")  # fmt: skip
    limits = parse_limits(to_plain_characters("\n".join(line.text for line in lines)))
    collector = AnswerCollector(next(iter(codes), ""), limits)
    if not codes:
        collector.unread(1, "no line 'Form: …' with the form's code was found")
    for block in split_blocks(lines):
        match block.kind:
            case "question":
                numbered = zip(block.text().lines, block.numbers, strict=False)
                kept = [line for line, at in numbered if not _is_stray(line, at, collector)]
                collector.question(block.number, " ".join(kept), block.line)
            case "query":
                _read_query(block, collector)
            case "paper" if block.query is None:
                _read_grades(block, block.text(), collector)
            case "paper":
                _read_verdict(block, block.text(), collector)
            case "opt-out":
                _read_opt_out(block, collector)
            case _:
                for line, number in zip(block.lines, block.numbers, strict=True):
                    _is_stray(line, number, collector)
    return collector.answers()


def _is_stray(line: str, number: int, collector: AnswerCollector) -> bool:
    """Report a mark outside of any paper; return whether the line is one."""
    is_stray = _STRAY.match(to_plain_characters(line).lstrip()[:200]) is not None
    if is_stray:
        collector.unread(number, f"{quote(line)} belongs to no paper")
    return is_stray


def _read_opt_out(block: Block, collector: AnswerCollector) -> None:
    plain = to_plain_characters(block.lines[0])
    match = _OPT_OUT.search(plain)
    before, after = (plain[: match.start()], plain[match.end() :]) if match else ("", plain)
    marks = {parse_checkbox(each) for each in (before, after.lstrip(" :=."))}
    has_box = re.search(r"\S", before + after.strip(" .")) is not None
    if CheckboxState.YES in marks and not marks & {CheckboxState.NO, CheckboxState.UNKNOWN}:
        collector.opted_out = True
    elif CheckboxState.UNKNOWN in marks or not has_box or CheckboxState.YES in marks:
        collector.unread(block.line, f"unclear whether to stop mails: {quote(block.lines[0])}")
    for line, number in zip(block.lines[1:], block.numbers[1:], strict=True):
        _is_stray(line, number, collector)


# --- Phase one ------------------------------------------------------------------------------


class _Grade(NamedTuple):
    """A grade label, the value after it, where that ends, and the rest of the line."""

    question: int
    at: int
    value: str
    end: int
    rest: str


def _read_grades(block: Block, text: Text, collector: AnswerCollector) -> None:
    """Read the grades of a reference."""
    grades = _find_grades(text)
    values: dict[int, set[int | CheckboxState | None]] = {}
    for grade in grades:
        values.setdefault(grade.question, set()).add(parse_grade(grade.value))
    for grade in grades:
        value, line = parse_grade(grade.value), text.line(grade.at)
        where = f"Q{grade.question} of [{block.number}]"
        if value is CheckboxState.EMPTY and not grade.rest:
            continue
        if len(values[grade.question]) > 1:
            what = f"{where} has more than one answer here, and they differ"
            collector.doubt(grade.question, block.number, line, what)
        elif isinstance(value, CheckboxState) or grade.rest:
            what = f"{where}: {quote(f'{grade.value} {grade.rest}')} is not a grade"
            collector.doubt(grade.question, block.number, line, what)
        else:
            collector.grade(grade.question, block.number, value, line)
    _report_lone_marks(block, text, grades, collector)


def _report_lone_marks(
    block: Block, text: Text, grades: list[_Grade], collector: AnswerCollector
) -> None:
    """Report marks of a reference that belong to no question, or to several."""
    name = f"[{block.number}]"
    several = {text.line(each.start()): each[0] for each in _SEVERAL.finditer(text.plain)}
    for line, names in several.items():
        collector.unread(line, f"{name}: {quote(names)} names several questions, or a range")
    for grade in grades:
        if text.line(grade.at) in several:
            collector.doubt(grade.question, block.number)
    marks, at, *_ = _find_verdicts(text)
    if any(mark is not CheckboxState.EMPTY for each in marks.values() for mark in each):
        collector.unread(text.line(at), f"{name} is marked, but no QUERY is above it")
    elif not grades and not several:
        _report_lost_boxes(text, name, collector)
    else:  # marks on separate lines without a label; lines above the labels are the title
        taken = {text.line(grade.end) for grade in grades}
        first = text.line(grades[0].at) if grades else block.line
        for row, number in zip(text.plain.split("\n"), block.numbers, strict=False):
            if number > first and number not in taken and _is_lone(row):
                collector.unread(number, f"{name}: {quote(row)} belongs to no question")


def _find_grades(text: Text) -> list[_Grade]:
    """Return the grade labels with their values, without quoted blanks that are answered below."""
    labels = sorted(
        {match.start(1): match for pattern in (_GRADE_LABEL, _BARE_LABEL, _BARE_IN_ROW)
         for match in pattern.finditer(text.plain)}.items()
    )  # fmt: skip
    ends = [match.start() for _, match in labels[1:]] + [len(text.plain)]
    grades = [
        _grade_at(text, int(match[1]), match.end(), end)
        for (_, match), end in zip(labels, ends, strict=False)
    ]
    answered = {grade.question for grade in grades if text.is_typed(grade.at)}
    return [
        grade
        for grade in grades
        if grade.question not in answered
        or text.is_typed(grade.at)
        or grade.rest
        or parse_grade(grade.value) is not CheckboxState.EMPTY
    ]


def _grade_at(text: Text, question: int, at: int, end: int) -> _Grade:
    """Parse the value in brackets after a label, or up to the end of this or the next line."""
    if (box := _BOXED.match(text.plain, at, end)) is not None:
        rest = text.plain[box.end() : text.line_end(box.end(), end)]
        return _Grade(question, at, box[1], box.end(), rest.strip(" ,;.|/"))
    stop = text.line_end(at, end)
    value = text.plain[at:stop].lstrip(" :=")
    later, lines = stop, 0
    # The value may have been wrapped to one of the next two lines that are not blank.
    while later < end and lines < 2 and isinstance(parse_grade(value), CheckboxState):
        start, later = later, text.line_end(later + 1, end)
        if not text.plain[start:later].strip():
            continue
        lines += 1
        longer = f"{value} {text.plain[stop:later]}"
        if not isinstance(parse_grade(longer), CheckboxState):
            value, stop = longer, later
    return _Grade(question, at, value, stop, "")


def _report_lost_boxes(text: Text, where: str, collector: AnswerCollector) -> None:
    """Report a paper whose boxes were overwritten, by a last line that does not end a title."""
    label = _COMMENT.search(text.plain)
    plain = text.plain[: label.start() if label else None].rstrip()
    start = text.line_start(len(plain) - 1) if plain else 0
    says = start > 0 and len(plain) - start < 60 and _VERDICT.search(plain, start)
    if plain and (says or plain[-1] not in ".?!…" or _is_lone(plain[start:])):
        row = text.written[start : len(plain)]
        what = f"{where} has no boxes left, but ends with {quote(row)}"
        collector.unread(text.line(len(plain) - 1), what)


def _is_lone(line: str) -> bool:
    return len(line) < 400 and _LONE.fullmatch(line.strip("[] ")) is not None


# --- Phase two ------------------------------------------------------------------------------


def _read_verdict(block: Block, text: Text, collector: AnswerCollector) -> None:
    query, where = block.query or 0, f"document [{block.query}.{block.number}]"
    marks, at, end, rest = _find_verdicts(text)
    if not marks:
        _report_missing_marks(block, text, collector)
        return
    line, later = text.line(at), text.line_end(end)
    comment = text.written[later:]
    if label := _COMMENT.search(text.plain, end):
        between = text.written[min(later, label.start()) : label.start()]
        comment = f"{between} {text.written[label.end() :]}"
    one = {
        kind: values[0] if len(set(values)) == 1 else CheckboxState.UNKNOWN
        for kind, values in marks.items()
    }
    value = combine_checkboxes(*(one.get(kind, CheckboxState.EMPTY) for kind in range(3)))
    if not isinstance(value, CheckboxState) and not rest:
        collector.verdict(query, block.number, value, fold(comment), line)
    elif value is not CheckboxState.EMPTY or rest.strip("[]() "):
        shown = quote(text.written[at:later])
        collector.doubt(query, block.number, line, f"{where}: {shown} is not one clear mark")
    elif fold(comment):
        collector.unread(line, f"{where} has a comment but no mark: {quote(comment)}")


def _find_verdicts(text: Text) -> tuple[dict[int, list[CheckboxState]], int, int, str]:
    """Return the marks by kind (relevant, not, can't judge), their start and end, and other text.

    A label counts if a box or a colon and a word follow, or if a bare mark follows up to the end
    of a line that begins with the label.
    """
    stop = comment.start() if (comment := _COMMENT.search(text.plain)) else len(text.plain)
    labels = list(_VERDICT.finditer(text.plain, 0, stop))
    marks: dict[int, list[CheckboxState]] = {}
    begin = end = 0
    rest, is_typed = "", False
    for label, following in zip_longest(labels, labels[1:]):
        after = following.start() if following else stop
        statement = _statement(text, label, after)
        start = text.line_start(label.start())
        if statement is None:
            rest += f" {label[0]}" if marks and end >= start else ""
            continue
        if not marks:
            begin = label.start()
            rest = (_BEFORE.search(text.plain[max(start, begin - 60) : begin]) or [""])[0].strip()
        elif not rest:
            rest = text.plain[end : label.start()].strip(" \n,;.|/")
        mark, end = statement
        if text.is_typed(label.start()) and not is_typed:
            is_typed = True  # ignore quoted blanks
            marks = {at: each for at, each in marks.items() if set(each) != {CheckboxState.EMPTY}}
        name = label[1].lower()
        kind = 2 if "judge" in name else 0 if name == "relevant" else 1
        marks.setdefault(kind, []).append(mark)
    if marks:
        rest += text.plain[end : text.line_end(end, stop)].strip(" ,;.|/")
    return marks, begin, end, rest


def _statement(text: Text, label: re.Match[str], stop: int) -> tuple[CheckboxState, int] | None:
    """Return the mark after a label and where it ends."""
    if box := _BOXED.match(text.plain, label.end(), stop):
        return parse_checkbox(box[1]), box.end()
    if colon := _COLON.match(text.plain, label.end(), stop):
        end = text.line_end(colon.end(), stop)
        return parse_checkbox(text.plain[colon.end() : end]), end
    is_last = _COMMENT.match(text.plain, stop) is not None
    end = stop if is_last else text.line_end(label.end(), stop)
    value = text.plain[label.end() : min(end, label.end() + 400)]
    before = text.plain[max(text.line_start(label.start()), label.start() - 60) : label.start()]
    line_end = text.line_end(label.end(), stop)
    is_alone = not before.strip() and not text.plain[label.end() : line_end].strip(" .!")
    if is_alone and text.is_typed(label.start()):
        return CheckboxState.YES, line_end  # "relevant", typed under quoted boxes
    is_bare = value[:1].isspace() and (is_last or not before.strip())
    return (
        (CheckboxState.YES, end) if is_bare and parse_checkbox(value) is CheckboxState.YES else None
    )


def _report_missing_marks(block: Block, text: Text, collector: AnswerCollector) -> None:
    where = f"document [{block.query}.{block.number}]"
    label = _COMMENT.search(text.plain)
    if label and (comment := fold(text.written[label.end() :])):
        line = text.line(label.start())
        collector.unread(line, f"{where} has a comment but no mark: {quote(comment)}")
    rows = list(zip(text.plain.split("\n"), block.numbers, strict=False))[1:]
    lone = [each for each in rows if _is_lone(_VERDICT.sub("x", each[0][:400], count=1))]
    for row, number in lone:
        what = f"{where}: {quote(row)} is not one clear mark"
        collector.doubt(block.query or 0, block.number, number, what)
    if not lone:
        _report_lost_boxes(text, where, collector)


def _read_query(block: Block, collector: AnswerCollector) -> None:
    """Parse the approval of a wording, or a better wording."""
    text, number = block.text(), block.number
    better = _BETTER.search(text.plain)
    wording = fold(text.written[better.end() :]) if better else ""
    approve = _APPROVE.search(text.plain, 0, better.start() if better else len(text.plain))
    if wording and better:
        collector.approve(number, wording, text.line(better.start()))
    if approve is None:
        if bare := _BARE_APPROVE.search(text.plain):
            what = f"has no clear approval: {quote(bare[0])}"
            collector.doubt_approval(number, text.line(bare.start(1)), what)
        return
    end = min(text.line_end(approve.end()), better.start() if better else len(text.plain))
    box = _BOXED.match(text.plain, approve.end())
    value = box[1] if box else text.plain[approve.end() : end].lstrip(" :=")
    rest = text.plain[box.end() : max(box.end(), end)].strip(" ,;.") if box else ""
    mark, line = parse_checkbox(value), text.line(approve.end())
    if mark is CheckboxState.UNKNOWN or rest:
        what = f"has no clear approval: {quote(f'{value} {rest}')}"
        collector.doubt_approval(number, line, what)
    elif mark is CheckboxState.YES:
        collector.approve(number, True, line)
    elif mark is CheckboxState.NO and not wording:
        collector.doubt_approval(number, line, "is not approved and has no better wording")
