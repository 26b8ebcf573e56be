"""The form as one HTML file that works offline, and a parser for its answer file.

A content security policy with hashes allows only the page's own style and scripts. The page
creates a small JSON file, ``CODE.answers.json``, which the judge sends back as a file or as text.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jinja2 import Environment

from citebed.errors import FormatError
from citebed.judging.forms.answer_collector import (
    AnswerCollector,
    format_limits,
    parse_limits,
    quote,
)
from citebed.judging.forms.sheet import Answers, Sheet
from citebed.judging.forms.text_form import OPT_OUT, sanitise_link
from citebed.pages import asset, inlined, ready_script, templates
from citebed.text.normalise import fold

LARGEST = 2_000_000
_HERE = "citebed.judging.forms"
_MORE_QUESTIONS = 2
_MAX_PROBLEMS = 200
_WHAT = "answer file"
_BEGINS = re.compile(r'\{\s*"citebed"\s*:\s*"answers"')
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
_KNOWN = ("citebed", "version", "form", "phase", "numbers", "questions", "said", "approved",
          "opted_out")  # fmt: skip


def write(sheet: Sheet) -> str:
    """Return the HTML page of a form."""
    data = {"form": sheet.code, "phase": sheet.phase, "numbers": format_limits(sheet)}
    style, script = asset(_HERE, "form.css"), asset(_HERE, "form.js")
    return _environment().get_template("form.html.j2").render(
        sheet=sheet, data=data, opt_out=OPT_OUT, link=sanitise_link, shown=fold,
        numbers=range(1, sheet.settings.questions + _MORE_QUESTIONS + 1),
        **inlined(style=style, ready=ready_script(), script=script),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    """Return the templates, with a filter that removes control characters from values."""
    return templates(_HERE, lambda text: _CONTROLS.sub(" ", text))


# --- The answer file ------------------------------------------------------------------------


def is_this_form(content: str) -> bool:
    """Return whether a text contains an answer file; the HTML page itself does not count."""
    is_page = content.lstrip("\ufeff \t\r\n")[:1] == "<"
    return not is_page and _BEGINS.search(content) is not None


def read(content: str) -> Answers:
    """Parse an answer file."""
    fields = _load_json(content)
    code, phase = fields.get("form"), fields.get("phase")
    if fields.get("version") != 1 or not isinstance(code, str) or not 0 < len(code) <= 40:
        raise FormatError(_WHAT, None, "no form code found, or unsupported version")
    if phase not in (1, 2) or isinstance(phase, bool):
        raise FormatError(_WHAT, None, f"the phase is {quote(str(phase))}; expected 1 or 2.")
    numbers = fields.get("numbers")
    collector = AnswerCollector(
        fold(code).upper(), parse_limits(numbers if isinstance(numbers, str) else "")
    )
    reader = _Reader(content, collector)
    for name in sorted(fields.keys() - set(_KNOWN))[:_MAX_PROBLEMS]:
        reader.report(name, "is not a field of an answer file")
    reader.questions(fields.get("questions", {}))
    reader.said(fields.get("said", []), phase)
    reader.approved(fields.get("approved", {}))
    reader.opted_out(fields.get("opted_out", False))
    return collector.answers()


def _load_json(content: str) -> dict[str, Any]:
    """Parse the JSON object in a text; mail programs may have wrapped its lines."""
    if len(content) > LARGEST:
        raise FormatError(_WHAT, None, f"{len(content):,} characters; an answer file has less than "
                          f"{LARGEST:,}.")  # fmt: skip
    begin = _BEGINS.search(content)
    if begin is None:
        raise FormatError(_WHAT, None, "it contains no answers of a form.")
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique_fields)
    try:
        fields, _ = decoder.raw_decode(content, begin.start())
    except (ValueError, RecursionError) as error:
        line = content.count("\n", 0, getattr(error, "pos", 0)) + 1
        raise FormatError(_WHAT, line, f"it cannot be read ({error}): was it cut short or changed? "
                          "Ask for it again.") from error  # fmt: skip
    return dict(fields)


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("duplicate key in JSON object")
    return fields


class _Reader:
    """Checks every field of an answer file."""

    def __init__(self, content: str, collector: AnswerCollector) -> None:
        self._content = content
        self._collector = collector
        self._reported = 0
        self._place, self._line = 0, 1

    def next_line(self, part: str) -> int:
        """Return the line of the next occurrence of a part, searching forward only."""
        if self._place >= 0 and (place := self._content.find(part, self._place)) != self._place:
            self._line += self._content.count("\n", self._place, max(place, 0)) if place > 0 else 0
            self._place = place  # once a part is missing, the order is unknown: stop searching
        return self._line

    def report(self, name: str, what: str) -> None:
        """Report a problem, up to a limit: a broken file has problems everywhere."""
        self._reported += 1
        if self._reported < _MAX_PROBLEMS:
            line = self._content.count("\n", 0, max(self._content.find(name), 0)) + 1
            self._collector.unread(line, f"{quote(name)} {what}")
        elif self._reported == _MAX_PROBLEMS:
            self._collector.unread(1, f"the file has more than {_MAX_PROBLEMS} problems")

    def _numbered(self, value: Any, name: str) -> list[tuple[int, Any]]:
        if not isinstance(value, dict):
            self.report(name, "is not an object")
            return []
        for key in value:
            if not re.fullmatch("[0-9]{1,4}", key):
                self.report(key, f"is not a number of {name}")
        return [(int(key), each) for key, each in value.items() if re.fullmatch("[0-9]{1,4}", key)]

    def questions(self, value: Any) -> None:
        """Read the texts of the research questions."""
        for number, text in self._numbered(value, "questions"):
            if isinstance(text, str):
                self._collector.question(number, text, self.next_line(f'"{number}":'))
            else:
                self.report(f"question {number}", f"is {quote(json.dumps(text))}; expected a text")

    def said(self, value: Any, phase: int) -> None:
        """Read the judgements."""
        if not isinstance(value, list):
            self.report("said", "is not a list")
            return
        for each in value:
            if why := _judgement_problem(each, phase):
                as_written = json.dumps(each, ensure_ascii=False, separators=(",", ":"))
                self.report(as_written[:200], why)
                continue
            key = (each["question"], each["paper"])
            line = self.next_line(f'"question":{key[0]},"paper":{key[1]},')
            if phase == 1:
                self._collector.grade(*key, each["value"], line)
            else:
                self._collector.verdict(*key, each["value"], each.get("comment", ""), line)

    def approved(self, value: Any) -> None:
        """Read approvals and better wordings."""
        for query, each in self._numbered(value, "approved"):
            if each is True or (isinstance(each, str) and fold(each)):
                wording = fold(each) if isinstance(each, str) else True
                self._collector.approve(query, wording, self.next_line('"approved"'))
            elif each != "":
                self.report(f"approved {query}", f"is {quote(json.dumps(each))}")

    def opted_out(self, value: Any) -> None:
        """Read whether the judge wants no more mails."""
        if isinstance(value, bool):
            self._collector.opted_out = value
        else:
            self.report("opted_out", f"is {quote(json.dumps(value))}; expected true or false")


def _judgement_problem(each: Any, phase: int) -> str:
    """Return what is wrong with a judgement, or ""."""
    if not isinstance(each, dict) or not {"question", "paper", "value"} <= each.keys():
        return "is not a judgement; expected a question, a paper and a value"
    for name in ("question", "paper"):
        if type(each[name]) is not int or not 0 <= each[name] < 1_000_000:
            return f"has no valid {name} number"
    value = each["value"]
    if value is not None and (type(value) is not int or (phase == 2 and value not in (0, 1))):
        return "has an invalid value"
    comment = each.get("comment", "")
    if not isinstance(comment, str) or (comment and phase == 1):
        return "has an invalid comment"
    return ""
