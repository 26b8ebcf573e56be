"""Text forms filled as people fill them, and mangled as their mail programs do."""

from __future__ import annotations

import re
import textwrap
from random import Random
from typing import NamedTuple

from citebed.judging.forms.sheet import Answers, Rating, Sheet

TOP = "Dear organisers,\n\nsorry for the delay, here it is. I had 3 papers to read [1] first.\n"
SIGNATURES = (
    "",
    "\n-- \nAnn O'Hara\nRoom 4, x 12\n",
    "\nBest regards,\nAnn\n",
    "\n________________________________\nThis message is confidential. If you are not the intended "
    "recipient, 4 is no grade: [x].\n",
)
_STYLES = ("Q{}: [{}]", "Q{}: [{} ]", "Q{}: {}", "Q{} [{}]", "Q{}={}", "q{} :  [ {} ]", "Q{}: ({})")
_SPACES = ("\u00a0", "\t", "  ", "\u2003")
_WIDE = str.maketrans("[]:=?01234", "［］：＝？０１２３４")


class Row(NamedTuple):
    """A line of the form, or one that was typed into it."""

    text: str
    typed: bool = False


def filled(
    rng: Random, form: str, sheet: Sheet, answers: Answers, below: bool = False
) -> list[Row]:
    """The lines of a form with the answers in it, or with marks on lines of their own below it."""
    rows: list[Row] = []
    query, paper = 0, 0
    for line in form.splitlines():
        if found := re.match(r"\[(?:(\d+)\.)?(\d+)\]", line):
            query, paper = int(found[1] or 0), int(found[2])
        if found := re.fullmatch(r"QUESTION (\d+):", line):
            rows += _asking(rng, line, answers.questions.get(int(found[1]), ""))
        elif re.match(r"    Q1: \[ \]", line):
            marks = _graded(rng, paper, answers)
            rows += [Row(line), Row(marks.strip(), True)] if below else [Row(marks)]
        elif line.startswith("    relevant [ ]"):
            rows += _marking(rng, line, answers.ratings.get((query, paper)), below)
        elif line == "    comment:":
            said = answers.ratings.get((query, paper))
            rows += _asking(rng, line, said.comment if said else "")
        elif found := re.fullmatch(r"QUERY (\d+)", line):
            query = int(found[1])
            rows.append(Row(line))
        elif line == "    approve: [ ]":
            is_approved = answers.approved.get(query) is True
            rows.append(
                Row(f"    approve: {rng.choice(('[x]', 'yes', '[ X ]'))}" if is_approved else line)
            )
        elif line == "    better wording:":
            approved = answers.approved.get(query)
            rows += _asking(rng, line, approved if isinstance(approved, str) else "")
        else:
            mark = rng.choice(("[x]", "[X]", "x", "[ ✓ ]", "[yes]")) if answers.opted_out else "[ ]"
            rows.append(Row(re.sub(r"^\[ \](?= please)", mark, line)))
    for number in sorted(set(answers.questions) - set(range(1, sheet.settings.questions + 1))):
        at = next(at for at, row in enumerate(rows) if "REFERENCES" in row.text)
        rows[at:at] = _asking(rng, f"QUESTION {number}:", answers.questions[number])
    return rows


def _marking(rng: Random, line: str, said: Rating | None, below: bool) -> list[Row]:
    """The line of the boxes, marked, or answered on a line below it."""
    if said is None or not below:
        return [Row(_judged(rng, said) if said else line)]
    words = {1: "relevant", 0: "Not relevant.", None: "can't judge"}[said.value]
    return [Row(line), Row(rng.choice((words, _judged(rng, said).strip())), True)]


def _asking(rng: Random, label: str, text: str) -> list[Row]:
    """A label with text behind it or below, on one line or several."""
    if not text:
        return [Row(label)]
    lines = textwrap.wrap(text, rng.choice((40, 70, 300)), break_on_hyphens=False)
    if rng.random() < 0.5:
        return [Row(f"{label} {lines[0]}"), *(Row(line, True) for line in lines[1:])]
    gap = [Row("", True)] * rng.randint(0, 2)
    return [Row(label), *gap, *(Row(line, True) for line in lines), *gap]


def _graded(rng: Random, paper: int, answers: Answers) -> str:
    numbers = sorted({*range(1, 4), *answers.questions})
    parts = []
    for number in numbers:
        said = answers.ratings.get((number, paper))
        if said is None:
            parts.append(rng.choice((f"Q{number}: [ ]", f"Q{number}: []", f"Q{number}: [_]", "")))
            continue
        grade = str(said.value or rng.choice(("?", "can't say", "can’t say", "n/a", "Can't say")))
        part = rng.choice(_STYLES).format(number, grade)
        parts.append(part.translate(_WIDE) if rng.random() < 0.1 else part)
    return "    " + rng.choice(("  ", " ", ", ", "; ", "\t")).join(filter(None, parts))


def _judged(rng: Random, said: Rating) -> str:
    names = {1: "relevant", 0: "not relevant", None: "can't judge"}
    styles = ["box"] * 5 + ["words", "alone", "colon"]
    style = rng.choice(styles)
    if style == "alone":
        return f"    {names[said.value]} {rng.choice(('x', 'X', '[x]', '✓', '(x)', ': yes'))}"
    if style == "words" and said.value is not None:
        return f"    relevant: {rng.choice(('yes', 'Y') if said.value else ('no', 'NO', 'n'))}"
    marks = {value: rng.choice(("[ ]", "[]", "[  ]")) for value in names}
    marks[said.value] = rng.choice(("[x]", "[X]", "[ X ]", "(x)", "[✓]", "[ yes]", "[х]", "［x］"))
    parts = [f"{name} {marks[value]}" for value, name in names.items()]
    if style == "colon":
        parts = [part.replace(" [", ": [") for part in parts]
    if rng.random() < 0.2:
        parts = [
            part
            for part, value in zip(parts, names, strict=True)
            if value == said.value or rng.random() < 0.5
        ]
    return "    " + rng.choice(("   ", " ", "\t")).join(parts)


def mess(rng: Random, rows: list[Row], blank: str, answers: Answers, below: bool = False) -> str:
    """Change a filled form as a mail program and its user do; answers are not quoted."""
    if rng.random() < 0.4:
        rows = _without_the_unanswered(rng, rows, answers)
    if rng.random() < 0.3 and not below:
        rows = _paragraphs(rows)
    quote = rng.choice(("> ", ">> ", "> > ", "| ", ">", *(() if below else ("", ""))))
    typed_quote = "" if below else rng.choice(("", quote))
    width = rng.choice((1000, 72, 76, 60))
    lines = []
    for row in rows:
        prefix = typed_quote if row.typed else quote
        lines += _broken(rng, prefix, row.text, width)
    if rng.random() < 0.2:
        lines = [each for line in lines for each in (line, "")]
    text = "\n".join(lines) + "\n"
    text = _characters(rng, text)
    if rng.random() < 0.5:
        text = (
            TOP
            + (
                "\nOn Mon, 16 Nov 2026 at 10:00, The organisers <o@example.org>\nwrote:\n\n"
                if quote
                else "\n"
            )
            + text
        )
    text += rng.choice(SIGNATURES)
    if not quote and rng.random() < 0.3:
        text += "\n-----Original Message-----\n" + "".join(
            f"> {line}\n" for line in blank.splitlines()
        )
    if rng.random() < 0.3:
        text = "\ufeff" + text
    return text.replace("\n", rng.choice(("\n", "\n", "\r\n")))


def _without_the_unanswered(rng: Random, rows: list[Row], answers: Answers) -> list[Row]:
    """Somebody deletes the instructions, or papers that they say nothing about."""
    kept: list[Row] = []
    is_left_out = rng.random() < 0.5  # all above the first ruler
    for row in rows:
        if found := re.match(r"\[(?:(\d+)\.)?(\d+)\]", row.text):
            paper = (int(found[1] or 0), int(found[2]))
            said = {(each[0] if paper[0] else 0, each[1]) for each in answers.ratings}
            is_left_out = paper not in said and rng.random() < 0.8
        elif re.match(r"QUE|---", row.text):
            is_left_out = False
        if not is_left_out:
            kept.append(row)
    return kept


def _paragraphs(rows: list[Row]) -> list[Row]:
    """The lines of each paper run together, as programs do that fill paragraphs."""
    done: list[Row] = []
    for row in rows:
        inside = row.text.startswith("    ") and not row.typed and done and done[-1].text.strip()
        if inside and re.match(r"\[[\d.]+\]", done[-1].text) and not done[-1].typed:
            done[-1] = Row(f"{done[-1].text} {row.text.strip()}")
        else:
            done.append(row)
    return done


def _broken(rng: Random, prefix: str, text: str, width: int) -> list[str]:
    if len(prefix + text) <= width:
        return [(prefix + text) if text or rng.random() < 0.5 else prefix.rstrip()]
    lines, line = [], prefix
    for word in re.findall(r"\s*\S+", text):
        if len(line + word) > width and line.strip(" >|"):
            lines.append(line)
            line = prefix + word.lstrip()
        else:
            line += word
    return [*lines, line]


def _characters(rng: Random, text: str) -> str:
    chance = rng.random()
    if chance < 0.2:
        return re.sub(r"(?<=[\w:\]]) (?=[\[\w])", lambda _: rng.choice(_SPACES), text)
    if chance < 0.4:
        labels = r"^[ >|]*(?:Q\d+(?=\s*[:=\[])|QUESTION(?= \d+:))"
        return re.sub(labels, lambda found: found[0].lower(), text, flags=re.MULTILINE)
    if chance < 0.5:
        return text.replace("'", "’").replace("\n", "  \n")
    return text
