"""Text forms: what was answered comes out, whatever happened to the text."""

from __future__ import annotations

import time
import unicodedata
from random import Random
from typing import Any

import pytest
from tests.form_answers import random_answers, random_sheet
from tests.messy_text import filled, mess
from tests.sampling import sized

from citebed.errors import FormatError
from citebed.judging.forms import text_form
from citebed.judging.forms.sheet import Answers, Rating


def plain(answers: Answers) -> Answers:
    """Answers with curly quotes made straight, which a mail program may have changed."""
    answers.questions = {n: text.replace("’", "'") for n, text in answers.questions.items()}
    answers.ratings = {
        key: said._replace(comment=said.comment.replace("’", "'"))
        for key, said in answers.ratings.items()
    }
    answers.approved = {
        n: each.replace("’", "'") if isinstance(each, str) else each
        for n, each in answers.approved.items()
    }
    return answers


def round_trip(seed: int, phase: int) -> None:
    """Fill a form at random, mangle it, and read it."""
    rng = Random(seed)
    sheet = random_sheet(rng, phase)
    form = text_form.write(sheet)
    expected = random_answers(rng, sheet, questions=rng.choice((3, 4)))
    below = rng.random() < 0.15
    text = mess(rng, filled(rng, form, sheet, expected, below), form, expected, below)
    assert text_form.is_this_form(text)
    assert plain(text_form.read(text)) == plain(expected), text


@pytest.mark.parametrize("phase", [1, 2])
def test_a_messy_form_keeps_every_answer(phase: int) -> None:
    for seed in range(sized(60, 2000)):
        round_trip(seed, phase)


def test_an_empty_form_has_no_answers_and_78_columns() -> None:
    for seed in range(20):
        phase = 1 + seed % 2
        sheet = random_sheet(Random(seed), phase)
        form = text_form.write(sheet)
        assert text_form.read(form) == Answers(sheet.code)
        assert form.count(f"\nForm: {sheet.code}\n") == 2
        for line in form.splitlines():
            wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
            assert len(line) + wide <= 78 or "https://" in line
            assert line.isprintable()


ONE = """Form: AB12-CD34
Numbers: grades 1-4; references 1-5.
QUESTION 1: How?
QUESTION 2: {two}
QUESTION 3:
--- REFERENCES ---
[1] Salton. Title.
    {marks}
[2] Other.
    Q1: [1]
"""


def phase_one(marks: str, two: str = "Why?") -> Answers:
    """Return what citebed reads from such marks below the first reference."""
    return text_form.read(ONE.format(marks=marks, two=two))


@pytest.mark.parametrize(
    ("marks", "value"),
    [
        ("Q1: 4", 4), ("Q1 [4]", 4), ("Q1=4", 4), ("Q1: [4 ]", 4), ("q1:[4]", 4), ("Q1 4", 4),
        ("Q1: [ 4 ].", 4), ("Q1: [4", 4), ("Q1: 4]", 4), ("Q1: [[4]]", 4), ("Q1: four", 4),
        ("Q1：［４］", 4), ("Q1: “4”", 4), ("Q1:\u00a0[\u00a04]", 4), ("Q1:\n    [4]", 4),
        ("Q1: ?", None), ("Q1: [can’t say]", None), ("Q1: CAN'T SAY", None), ("Q1: [n/a]", None),
        ("Q1: [don't know]", None), ("Q1: can't\n    say", None), ("Q1: [4] Q1: [4]", 4),
        ("Q1 4  Q2: [ ]", 4), ("Q1 4, Q2: [ ]", 4), ("Q1 ?  Q2 [ ]", None),
        ("Q1: [u]", None), ("Q1: U", None), ("Q1 u  Q2: [ ]", None),
    ],
)  # fmt: skip
def test_grades_as_people_write_them(marks: str, value: int | None) -> None:
    answers = phase_one(marks)
    assert answers.ratings == {(1, 1): Rating(value), (1, 2): Rating(1)}
    assert answers.unread == []


def test_an_empty_box_is_not_an_answer() -> None:
    for marks in ("Q1: [ ]", "Q1: []", "Q1:", "Q1: [_]", "Q1: [...]", "", "Q1: __"):
        answers = phase_one(marks)
        assert answers.ratings == {(1, 2): Rating(1)}
        assert answers.unread == []


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ("Q1: [7]", "Q1 of [1]: 7 is not a grade; use 1 to 4"),
        ("Q1: [0]", "0 is not a grade"),
        ("Q1: [4/5]", "'4/5' is not a grade"),
        ("Q1: 3 or 4", "'3 or 4' is not a grade"),
        ("Q1: [4?]", "'4?' is not a grade"),
        ("Q1: 3.5", "'3.5' is not a grade"),
        ("Q1: [x]", "'x' is not a grade"),
        ("Q1: [-]", "'-' is not a grade"),
        ("Q1: [ ] 4", "'4' is not a grade"),
        ("Q1: [4] not sure", "'4 not sure' is not a grade"),
        ("Q1: [4] Q1: [3]", "has more than one answer here"),
        ("Q1: [4]\n\nTitle without a number\n    Q1: [ ]", "more than one answer here"),
        ("Q1-Q2: [4]", "'Q1-Q2' names several questions"),
        ("Q1, Q2: [4]", "'Q1, Q2' names several questions"),
        ("Q1 - 4", "'Q1 - 4' names several questions"),
        ("Q3: [4]", "Q3 has grades for [1], but question 3 has no text"),
        ("Q1: [4]\n[9] Nobody\n   Q1: [2]", "Q1 of [9]: this number is not on the form"),
        ("Q1: [ ]\n    4", "[1]: '4' belongs to no question"),
        ("Q1: [ ]\n    4 / 2 / -", "[1]: '4 / 2 / -' belongs to no question"),
        ("4 / 2 / -", "[1] has no boxes left, but ends with '4 / 2 / -'"),
        ("Q1 -  Q2 x", "Q1"),
        ("grade 4", "[1] has no boxes left, but ends with 'grade 4'"),
        ("relevant [x]", "[1] is marked, but no QUERY is above it"),
        ("Q1: [4]\n[1] Salton again.\n    Q1: [3]", "Q1 of [1] is 3 here, but 4 at 8"),
    ],
)
def test_a_mark_in_doubt_is_reported_with_its_line(marks: str, says: str) -> None:
    answers = phase_one(marks)
    assert set(answers.ratings) <= {(1, 1), (1, 2)}
    assert answers.ratings.get((1, 1), Rating(4)) == Rating(4)
    assert len(answers.ratings) == 1 + ("nobody" in marks.casefold())
    assert len(answers.unread) <= 2
    found = next(each for each in answers.unread if says in each.what)
    lines = ONE.format(marks=marks, two="Why?").splitlines()
    assert (
        "Q" in lines[found.line - 1]
        or "4" in lines[found.line - 1]
        or "rel" in lines[found.line - 1]
    )


def test_grades_behind_numbers_alone_are_reported_each() -> None:
    form = "Form: AB12-CD34\nQUESTION 1: How?\n--- REFERENCES ---\n[1] 4\n[2] 3\n[3] ?\n"
    answers = text_form.read(form)
    assert answers.ratings == {}
    assert [each.line for each in answers.unread] == [4, 5, 6]


def test_a_fourth_question_may_be_added() -> None:
    answers = phase_one("Q4: [2]", two="Why?\nQUESTION 4: And when?")
    assert answers.questions == {1: "How?", 2: "Why?", 4: "And when?"}
    assert answers.ratings[4, 1] == Rating(2)


def test_a_question_given_twice_in_different_words_is_in_doubt_with_its_grades() -> None:
    answers = phase_one("Q2: [3]", two="Why?\nQUESTION 2: Why not?")
    assert answers.questions == {1: "How?"}
    assert answers.ratings == {(1, 2): Rating(1)}
    assert [each.line for each in answers.unread] == [5, 9]


def test_without_rulers_papers_are_not_questions() -> None:
    text = ONE.replace("--- REFERENCES ---", "").format(marks="", two="Why?")
    assert text_form.read(text).questions == {1: "How?", 2: "Why?"}


def test_a_placeholder_is_not_a_question() -> None:
    for text in ("n/a", "-", "None", "...", "???"):
        assert phase_one("", two=text).questions == {1: "How?"}


def test_a_citation_in_a_question_is_not_a_paper() -> None:
    answers = phase_one("Q2: [3]", two="Why does\n[3] not work\n[4] at all?")
    assert answers.questions[2] == "Why does [3] not work [4] at all?"
    assert answers.ratings == {(1, 2): Rating(1), (2, 1): Rating(3)}


TWO = """Form: AB12-CD34
Numbers: documents 1.1-1.2, 2.1.
QUERY 1
    You wrote - a
    We suggest - b
    {approve}
[1.1] A title about what is not.
    {marks}
[2.1] Other.
    relevant [x]   not relevant [ ]   can't judge [ ]
    comment:
"""


def phase_two(marks: str, approve: str = "") -> Answers:
    """Return what citebed reads from such marks below the first document."""
    return text_form.read(TWO.format(marks=marks, approve=approve))


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ("relevant [x]", Rating(1)), ("relevant [ X ]   not relevant [ ]", Rating(1)),
        ("relevant: yes", Rating(1)), ("relevant y\ncomment:", Rating(1)),
        ("relevant: no", Rating(0)),
        ("relevant (x)", Rating(1)), ("relevant [✓]", Rating(1)), ("RELEVANT [X]", Rating(1)),
        ("not relevant [x]", Rating(0)), ("not\n relevant [x]", Rating(0)),
        ("irrelevant [x]", Rating(0)),
        ("relevant: no, not relevant: yes", Rating(0)), ("cannot judge [x]", Rating(None)),
        ("relevant [no] not relevant [no] can't judge [yes]", Rating(None)),
        ("can’t judge [x]", Rating(None)), ("relevant [x]\n comment: a\n\n b", Rating(1, "a b")),
        ("relevant [x]\n no label", Rating(1, "no label")),
    ],
)  # fmt: skip
def test_verdicts_as_people_mark_them(marks: str, said: Rating) -> None:
    answers = phase_two(marks)
    assert answers.ratings == {(1, 1): said, (2, 1): Rating(1)}
    assert answers.unread == []


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ("relevant [x]   not relevant [x]", "is not one clear mark"),
        ("relevant [x]   can't judge [x]", "is not one clear mark"),
        ("relevant [✗]", "is not one clear mark"),
        ("relevant [?]", "is not one clear mark"),
        ("not relevant: no", "is not one clear mark"),
        ("relevant: yes, not relevant: yes", "is not one clear mark"),
        ("relevant [x] maybe", "is not one clear mark"),
        ("[x] relevant [ ] not relevant [ ] can't judge", "is not one clear mark"),
        ("[ ] relevant [x] not relevant [ ] can't judge", "is not one clear mark"),
        ("relevant [ ] x not relevant [ ]", "is not one clear mark"),
        ("relevant", "is not one clear mark"),
        ("x relevant", "is not one clear mark"),
        ("R", "has no boxes left, but ends with 'R'"),
        ("R\ncomment:", "has no boxes left, but ends with 'R'"),
        ("Relevant!", "has no boxes left, but ends with 'Relevant!'"),
        ("somewhat relevant", "has no boxes left, but ends with 'somewhat relevant'"),
        ("relevant [ ]\ncomment: fine", "has a comment but no mark: 'fine'"),
        ("comment: fine", "has a comment but no mark: 'fine'"),
        ("relevant [x]\n[1.1] again\n not relevant [x]", "[1.1] is 0 here, but 1 at 8"),
        ("relevant [ ]\n[1.9] unknown\n relevant [x]", "this number is not on the form"),
    ],
)
def test_a_verdict_in_doubt_is_reported(marks: str, says: str) -> None:
    answers = phase_two(marks)
    assert answers.ratings == {(2, 1): Rating(1)}
    assert any(says in each.what and 8 <= each.line <= 10 for each in answers.unread)


@pytest.mark.parametrize(
    ("quoted", "typed", "said"),
    [
        ("relevant [ ]   not relevant [ ]   can't judge [ ]", "not relevant", {(1, 1): Rating(0)}),
        ("relevant [ ]   not relevant [ ]   can't judge [ ]", "relevant [x]", {(1, 1): Rating(1)}),
        ("relevant [x]   not relevant [ ]   can't judge [ ]", "relevant", {(1, 1): Rating(1)}),
        ("relevant [x]   not relevant [ ]   can't judge [ ]", "not relevant", {}),
        ("relevant [ ]   not relevant [ ]   can't judge [ ]", "perhaps", {}),
    ],
)
def test_answers_between_quoted_lines(quoted: str, typed: str, said: dict[Any, Rating]) -> None:
    text = f"> Form: AB12-CD34\n> QUERY 1\n> [1.1] A title.\n>     {quoted}\n{typed}\n> comment:\n"
    answers = text_form.read(text)
    assert answers.ratings == said
    assert bool(answers.unread) is (not said)


def test_grades_between_quoted_lines() -> None:
    start = "> Form: AB12-CD34\n> QUESTION 1:\nHow?\n> --- REFERENCES ---\n> [1] A title.\n"
    answers = text_form.read(f"{start}>    Q1: [ ]  Q2: [ ]\nQ1: 4\n")
    assert (answers.ratings, answers.unread) == ({(1, 1): Rating(4)}, [])
    answers = text_form.read(f"{start}>    Q1: [3]  Q2: [ ]\nQ1: 4\n")
    assert answers.ratings == {}
    assert answers.unread[0].line == 6


@pytest.mark.parametrize(
    ("approve", "approved", "told"),
    [
        ("approve: [x]\nbetter wording:", {1: True}, 0),
        ("approve: yes", {1: True}, 0),
        ("approve: [ ]\nbetter wording: a new one\nof two lines", {1: "a new one of two lines"}, 0),
        ("approve: no\nbetter wording: this", {1: "this"}, 0),
        ("approve: [ ]\nbetter wording:", {}, 0),
        ("approve: no", {}, 1),
        ("approve: [x] but not the last word", {}, 1),
        ("approve: [x]\nbetter wording: this", {}, 1),
        ("approve: [✗]", {}, 1),
        ("approved!\nbetter wording:", {}, 1),
        ("I approve", {}, 1),
    ],
)
def test_approving(approve: str, approved: dict[int, bool | str], told: int) -> None:
    answers = phase_two("relevant [ ]", approve)
    assert answers.approved == approved
    assert len(answers.unread) == told


@pytest.mark.parametrize(
    ("line", "opted_out", "told"),
    [
        ("[x] please do not contact me again", True, 0),
        ("> [ X ]  Please  do not write to me again.", True, 0),
        ("x please do not contact me again", True, 0),
        ("[ ] please do not contact me again", False, 0),
        ("[?] please do not contact me again", False, 1),
        ("please do not contact me again", False, 1),
    ],
)
def test_opting_out(line: str, opted_out: bool, told: int) -> None:
    answers = phase_one("\n" + line)
    assert (answers.opted_out, len(answers.unread)) == (opted_out, told)


def test_a_text_without_a_code_and_one_with_two() -> None:
    assert text_form.read("QUESTION 1: How?").code == ""
    assert "no line 'Form: …'" in text_form.read("QUESTION 1: How?").unread[0].what
    with pytest.raises(FormatError, match=r"forms AB12-CD34 and ZZ99-ZZ99\. Send one at a time"):
        text_form.read(ONE + "Form: zz99-zz99")
    assert not text_form.is_this_form("Dear all, what form?")
    assert not text_form.is_this_form("<html>\nForm: AB12-CD34\n</html>")
    with pytest.raises(FormatError, match="Send only the form"):
        text_form.read("x" * 5_000_000)


HOSTILE = (
    "[", "[]", "[1]", "\x00", "> ", "|", " ", "\n", "Q1:[", "Q1: [4] ", "q1,q1", "relevant [x] ",
    "relevant ", "not ", "can't judge : ", "comment: ", "QUESTION 1", "question  ", "approve: ",
    "[1]\n", "Q1:\n", "\n \n", "(", "--\n", "Numbers: documents 1.1-1.2,", "1,", "Form: A-",
    "wrote: ", "\u0301", "１", "http://", "relevant:\n", "[1.1]\nrelevant [x]\n", "[1]\nQ1: 4\n",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    for start in (ONE.format(marks="", two=""), TWO.format(marks="", approve="")):
        text = start + "\nnumbers: documents\n[1.1]\n" + unit * (30_000 // len(unit))
        begun = time.process_time()
        text_form.is_this_form(text)
        text_form.read(text)
        assert time.process_time() - begun < 3
