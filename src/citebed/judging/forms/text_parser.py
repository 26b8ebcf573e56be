"""Parse returned text forms.

Clear marks become answers. Anything else (a grade outside the scale, two marks for one paper, text
in place of a mark) is listed as a problem with its line.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

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
from citebed.judging.forms.text_lines import (
    Block,
    Line,
    Text,
    find_form_code,
    split_blocks,
    split_lines,
    to_plain_characters,
)
from citebed.text.normalise import fold
from citebed.text.regex import compile_regex

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
    collector = AnswerCollector(
        _code(lines), parse_limits(to_plain_characters("\n".join(line.text for line in lines)))
    )
    if not collector.code:
        collector.unread(1, "no line 'Form: …' with the form's code was found")
    for block in split_blocks(lines):
        match block.kind:
            case "question":
                _question(block, collector)
            case "query":
                _query(block, collector)
            case "paper" if block.query is None:
                _collect_grades(block, block.text(), collector)
            case "paper":
                _collect_verdict(block, block.text(), collector)
            case "opt-out":
                _opt_out(block, collector)
            case _:
                for line, number in zip(block.lines, block.numbers, strict=True):
                    _is_stray(line, number, collector)
    return collector.answers()


def _code(lines: list[Line]) -> str:
    codes = {code: line.number for line in lines if (code := find_form_code(line))}
    if len(codes) > 1:
        raise FormatError("text form", max(codes.values()), "this text has the forms "
                         f"{' and '.join(sorted(codes))}. Send one at a time.")  # fmt: skip
    return next(iter(codes), "")


def _question(block: Block, collector: AnswerCollector) -> None:
    lines = [
        line
        for line, number in zip(block.own_lines(), block.numbers, strict=False)
        if not _is_stray(line, number, collector)
    ]
    collector.question(block.number, " ".join(lines), block.line)


def _is_stray(line: str, number: int, collector: AnswerCollector) -> bool:
    """Report a mark outside of any paper; return whether the line is one."""
    is_stray = _STRAY.match(to_plain_characters(line).lstrip()[:200]) is not None
    if is_stray:
        collector.unread(number, f"{quote(line)} belongs to no paper")
    return is_stray


def _opt_out(block: Block, collector: AnswerCollector) -> None:
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


def _collect_grades(block: Block, text: Text, collector: AnswerCollector) -> None:
    grades = _drop_quoted_blanks(text, _grades(text))
    values: dict[int, set[int | NoGrade | None]] = {}
    for grade in grades:
        values.setdefault(grade.question, set()).add(parse_grade(grade.value))
    for grade in grades:
        _collect_grade(block.number, text, grade, len(values[grade.question]) > 1, collector)
    several = {text.line(each.start()): each[0] for each in _SEVERAL.finditer(text.plain)}
    for line, names in several.items():
        what = f"[{block.number}]: {quote(names)} names several questions, or a range"
        collector.unread(line, what)
    for grade in grades:
        if text.line(grade.at) in several:
            collector.doubt(grade.question, block.number)
    marks, at, *_ = _verdicts(text)
    if any(mark is not CheckboxState.EMPTY for each in marks.values() for mark in each):
        collector.unread(text.line(at), f"[{block.number}] is marked, but no QUERY is above it")
    elif not grades and not several:
        _report_lost_boxes(text, f"[{block.number}]", collector)
    else:
        _report_lone_marks(block, text, grades, collector)


def _drop_quoted_blanks(text: Text, grades: list[_Grade]) -> list[_Grade]:
    """Drop quoted blanks whose answers are typed below."""
    answered = {grade.question for grade in grades if text.is_typed(grade.at)}
    return [
        grade
        for grade in grades
        if grade.question not in answered
        or text.is_typed(grade.at)
        or grade.rest
        or parse_grade(grade.value) is not NoGrade.EMPTY
    ]


def _grades(text: Text) -> list[_Grade]:
    labels = sorted(
        {match.start(1): match for pattern in (_GRADE_LABEL, _BARE_LABEL, _BARE_IN_ROW)
         for match in pattern.finditer(text.plain)}.items()
    )  # fmt: skip
    ends = [match.start() for _, match in labels[1:]] + [len(text.plain)]
    return [
        _grade_at(text, int(match[1]), match.end(), end)
        for (_, match), end in zip(labels, ends, strict=False)
    ]


def _grade_at(text: Text, question: int, at: int, end: int) -> _Grade:
    """Parse the value in brackets after a label, or up to the end of this or the next line."""
    if (box := _BOXED.match(text.plain, at, end)) is not None:
        rest = text.plain[box.end() : text.line_end(box.end(), end)]
        return _Grade(question, at, box[1], box.end(), rest.strip(" ,;.|/"))
    stop = text.line_end(at, end)
    value = text.plain[at:stop].lstrip(" :=")
    for later in _next_lines(text, stop, end):  # it may have been wrapped
        if not isinstance(parse_grade(value), NoGrade):
            break
        longer = f"{value} {text.plain[stop:later]}"
        if not isinstance(parse_grade(longer), NoGrade):
            value, stop = longer, later
    return _Grade(question, at, value, stop, "")


def _next_lines(text: Text, stop: int, end: int) -> list[int]:
    """Return where the next two non-blank lines end."""
    ends: list[int] = []
    while stop < end and len(ends) < 2:
        start, stop = stop, text.line_end(stop + 1, end)
        if text.plain[start:stop].strip():
            ends.append(stop)
    return ends


def _collect_grade(
    paper: int, text: Text, grade: _Grade, is_repeated: bool, collector: AnswerCollector
) -> None:
    value = parse_grade(grade.value)
    line = text.line(grade.at)
    where = f"Q{grade.question} of [{paper}]"
    if value is NoGrade.EMPTY and not grade.rest:
        return
    if is_repeated:
        what = f"{where} has more than one answer here, and they differ"
    elif isinstance(value, NoGrade) or grade.rest:
        what = f"{where}: {quote(f'{grade.value} {grade.rest}')} is not a grade"
    else:
        collector.grade(grade.question, paper, value, line)
        return
    collector.doubt(grade.question, paper, line, what)


def _report_lone_marks(
    block: Block, text: Text, grades: list[_Grade], collector: AnswerCollector
) -> None:
    """Report marks on separate lines without a label; lines above the labels are the title."""
    taken = {text.line(grade.end) for grade in grades}
    first = text.line(grades[0].at) if grades else block.line
    for line, number in zip(text.plain.split("\n"), block.numbers, strict=False):
        if number > first and number not in taken and _is_lone(line):
            collector.unread(number, f"[{block.number}]: {quote(line)} belongs to no question")


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


def _collect_verdict(block: Block, text: Text, collector: AnswerCollector) -> None:
    query, where = block.query or 0, f"document [{block.query}.{block.number}]"
    marks, at, end, rest = _verdicts(text)
    line = text.line(at)
    later = text.line_end(end) if marks else 0
    comment = _comment(text, end, later)
    if not marks:
        _report_missing_marks(block, text, collector)
        return
    one = {
        kind: values[0] if len(set(values)) == 1 else CheckboxState.UNKNOWN
        for kind, values in marks.items()
    }
    value = combine_checkboxes(*(one.get(kind, CheckboxState.EMPTY) for kind in range(3)))
    if isinstance(value, CheckboxState) or rest:
        if value is not CheckboxState.EMPTY or rest.strip("[]() "):
            shown = quote(text.written[at:later])
            collector.doubt(query, block.number, line, f"{where}: {shown} is not one clear mark")
        elif comment:
            collector.unread(line, f"{where} has a comment but no mark: {quote(comment)}")
        return
    collector.verdict(query, block.number, value, comment, line)


def _verdicts(text: Text) -> tuple[dict[int, list[CheckboxState]], int, int, str]:
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


def _comment(text: Text, end: int, later: int) -> str:
    """Return the text below the marks, without the label "comment:"."""
    label = _COMMENT.search(text.plain, end)
    if label is None:
        return fold(text.written[later:])
    between = text.written[min(later, label.start()) : label.start()]
    return fold(f"{between} {text.written[label.end() :]}")


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


def _query(block: Block, collector: AnswerCollector) -> None:
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
