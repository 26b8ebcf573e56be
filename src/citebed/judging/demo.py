"""Simulated authors of the demo's papers.

They reply with the form quoted, as people do; one does not reply. In phase one the grade depends
on how often the paper cites a reference; in phase two a paper is relevant if its title shares a
word with the question.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from citebed.collection import Collection
from citebed.files.output_files import write_file
from citebed.judging.assignments import count_answered, load_authorship, load_sheet
from citebed.judging.campaign import Campaign
from citebed.judging.forms import text_form
from citebed.judging.forms.sheet import Sheet
from citebed.judging.mails import open_forms

_WORD = re.compile(r"[a-z]{5,}")


def demo_papers() -> bytes:
    """Return the demo's source papers with their invented authors, as CSV."""
    return (resources.files("citebed") / "demo" / "papers.csv").read_bytes()


def play_authors(campaign: Campaign, inbox: Path) -> list[Path]:
    """Fill in all unanswered forms and write the replies to a folder."""
    file = resources.files("citebed") / "demo" / "questions.json"
    questions = json.loads(file.read_text("utf-8"))
    replies = []
    with campaign.reading() as tx:
        for form in open_forms(tx):
            if count_answered(tx, form)[0]:
                continue
            label, position = load_authorship(tx, form)
            stated = questions.get(f"{label}-{position}")
            if stated is not None:
                sheet = load_sheet(tx, form)
                filled = _filled(sheet, label, stated, campaign.collection)
                path = inbox / f"{label}-{position}-phase{form.phase}-{form.round}.txt"
                write_file(path, filled)
                replies.append(path)
    return replies


def _filled(sheet: Sheet, label: str, questions: list[str], collection: Collection) -> str:
    """Return a reply with the form quoted and the answers written into it."""
    lines = text_form.write(sheet).splitlines()
    if sheet.phase == 1:
        contexts = collection.contexts.filter(paper_id=label)
        times = Counter(contexts["cites"].explode().drop_nulls().to_list())
        cited = {entry.number: times[str(entry.number)] for entry in sheet.references}
        answered = _answer_phase_one(lines, questions, cited)
    else:
        answered = _answer_phase_two(lines, sheet)
    return "Happy to help!\n\n" + "\n".join(f"> {line}".rstrip() for line in answered) + "\n"


def _answer_phase_one(
    lines: list[str], questions: list[str], cited: dict[int, int]
) -> Iterator[str]:
    """Yield the lines of a form with answers; ``cited`` is how often the paper cites each one."""
    number = 0
    for line in lines:
        if match := re.fullmatch(r"QUESTION (\d+):\s*", line):
            place = int(match[1])
            yield f"{line} {questions[place - 1] if place <= len(questions) else ''}".rstrip()
            continue
        if match := re.match(r"\[(\d+)\] ", line):
            number = int(match[1])
        filled = line
        for at, _ in enumerate(questions, 1):
            grade = min(4, 1 + cited.get(number, 0)) if (number + at) % 7 else "?"
            filled = filled.replace(f"Q{at}: [ ]", f"Q{at}: [{grade}]")
        yield filled


def _answer_phase_two(lines: list[str], sheet: Sheet) -> Iterator[str]:
    entries = {
        f"{query.number}.{entry.number}": (query.text, entry.title)
        for query in sheet.queries
        for entry in query.entries
    }
    about = ("", "")
    for line in lines:
        if match := re.match(r"\[(\d+\.\d+)\] ", line):
            about = entries[match[1]]
        if line.strip() == "approve: [ ]":
            yield line.replace("[ ]", "[x]")
            continue
        question, title = (set(_WORD.findall(text.lower())) for text in about)
        marks = ("x", " ") if question & title else (" ", "X")
        marked = "relevant [{}]   not relevant [{}]".format(*marks)
        yield line.replace("relevant [ ]   not relevant [ ]", marked)
