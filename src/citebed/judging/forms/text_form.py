"""The form as plain text, which judges fill in with any editor or in a reply to a mail.

Titles, names and wordings are sanitised so that they cannot look like a part of the form: they get
no square brackets and none of the form's labels with a colon.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from citebed.judging.forms.answer_collector import format_limits
from citebed.judging.forms.sheet import Entry, Sheet
from citebed.judging.forms.text_parser import is_this_form, read
from citebed.text.normalise import fold

__all__ = ["is_this_form", "read", "write"]

COLUMNS = 78
_LONGEST = 4000
OPT_OUT = "please do not contact me again"
_LABEL = re.compile(
    r"\b(form|numbers|question ?\d+|query ?\d+|q ?\d+|comments?|approved?|better wording|relevant"
    r"|judge)\s*([:=(])",
    re.IGNORECASE,
)
_LINK = re.compile(r"(?:https?|ftp)://[^\s<>\"\[\]]+", re.IGNORECASE)


def write(sheet: Sheet) -> str:
    """Return the form as text; lines have at most 78 columns, except for links."""
    lines = [*_top(sheet), *(_phase_one(sheet) if sheet.phase == 1 else _phase_two(sheet))]
    lines += [_ruler("END OF THE FORM"), "", f"[ ] {OPT_OUT}", "", *_format_markers(sheet)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _top(sheet: Sheet) -> Iterator[str]:
    title = sanitise(sheet.settings.title)
    yield from _wrapped(title)
    yield "=" * min(_columns(title), COLUMNS)
    if sheet.simulated:
        yield "SIMULATED campaign: no real person receives this form."
    yield from ("", *_format_markers(sheet), "")
    yield from _wrapped(f"For {sanitise(sheet.person)}")
    for paragraph in sheet.instructions():
        yield from ("", *_wrapped(sanitise(paragraph)))
    if sheet.phase == 1:
        yield ""
        for grade, meaning in enumerate(sheet.settings.grades, 1):
            yield from _wrapped(fold(meaning), f"  {grade}  ", "     ")
        yield "  u  can't say"
    yield ""
    yield from _wrapped(
        "Fill in your answers below and send this text back, as a reply or as an attachment. "
        + ("Write a grade between the brackets. " if sheet.phase == 1
           else "For each paper, put an x between one pair of brackets. ")
        + "You can also answer online:"
    )  # fmt: skip
    yield from (f"  {sanitise_link(sheet.link)}", "List of the papers, with links:")
    yield f"  {sanitise_link(sheet.list_url)}"
    who = ", ".join(filter(None, map(sanitise, (sheet.settings.organiser, sheet.settings.contact))))
    yield from ("", *_wrapped(f"Anything unclear? Write to {who}.")) if who else ()
    yield ""


def _format_markers(sheet: Sheet) -> Iterator[str]:
    yield f"Form: {sheet.code}"
    yield from _wrapped(f"{format_limits(sheet)}.")


def _phase_one(sheet: Sheet) -> Iterator[str]:
    yield from (_ruler("RESEARCH QUESTIONS"), "")
    for number in range(1, sheet.settings.questions + 1):
        yield from (f"QUESTION {number}:", "", "")
    yield from (_ruler("REFERENCES"), "")
    boxes = [f"Q{number}: [ ]" for number in range(1, sheet.settings.questions + 1)]
    rows = ["    " + "  ".join(boxes[at : at + 6]) for at in range(0, len(boxes), 6)]
    for entry in sheet.references:
        yield from _entry(entry, str(entry.number))
        yield from (*rows, "")


def _phase_two(sheet: Sheet) -> Iterator[str]:
    for query in sheet.queries:
        heading = "YOUR QUESTION" if query.own else "THE QUESTION"
        yield from (_ruler(heading), "", f"QUERY {query.number}")
        if query.stated is None:
            yield from (*_wrapped(sanitise(query.text), "    ", "    "), "")
        else:
            yield from _wrapped(sanitise(query.stated), "    You wrote - ", "    ")
            yield from _wrapped(sanitise(query.text), "    We suggest - ", "    ")
            yield from ("    approve: [ ]", "    better wording:", "")
        for entry in query.entries:
            yield from _entry(entry, f"{query.number}.{entry.number}")
            yield "    relevant [ ]   not relevant [ ]   can't judge [ ]"
            yield from ("    comment:", "")


def _entry(entry: Entry, number: str) -> Iterator[str]:
    """Yield a paper; its line ends with a full stop, in case its last word is "not"."""
    text = sanitise(entry.line())
    text += "" if text.endswith((".", "?", "!")) else "."
    yield from _wrapped(text, f"[{number}] ", "    ")
    if entry.link and (link := sanitise_link(entry.link)):
        yield f"    {link}"


def _ruler(heading: str) -> str:
    return f"--- {heading} ".ljust(60, "-")


def sanitise(text: str) -> str:
    """Return a text on one line, without anything that the parser could take for an answer."""
    text = fold(text[:_LONGEST]).replace("[", "(").replace("]", ")")
    return _LABEL.sub(lambda match: f"{match[1]}; {match[2].strip(':=')}", text)


def sanitise_link(url: str) -> str:
    """Return a URL without anything that does not belong to it, or ""."""
    match = _LINK.match(fold(url).replace("[", "%5B").replace("]", "%5D"))
    return match[0] if match else ""


def _wrapped(text: str, first: str = "", later: str = "") -> Iterator[str]:
    """Wrap a text to 78 columns, between words where possible."""
    line, is_empty = first, True
    for word in text.split():
        if not is_empty and _columns(line) + 1 + _columns(word) > COLUMNS:
            yield line
            line, is_empty = later, True
        line += word if is_empty else f" {word}"
        is_empty = False
        while _columns(line) > COLUMNS and not _LINK.search(line):
            cut = _fitting_length(line)
            yield line[:cut]
            line = later + line[cut:]
    yield line


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _fitting_length(text: str) -> int:
    """Return how many characters of a text fit on a line."""
    used = 0
    for at, character in enumerate(text):
        used += _columns(character)
        if used > COLUMNS:
            return at
    return len(text)
