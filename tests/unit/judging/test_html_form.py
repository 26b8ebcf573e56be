"""HTML forms: a page that loads nothing, and answer files that are checked in every field."""

from __future__ import annotations

import json
import re
import time
from random import Random
from typing import Any

import pytest
from lxml import html
from tests.form_answers import random_answers, random_sheet
from tests.sampling import sized

from citebed.errors import FormatError
from citebed.judging.forms import html_form
from citebed.judging.forms.answer_collector import format_limits
from citebed.judging.forms.sheet import Answers, Rating, Sheet

EVIL = "</script><script>hacked=1</script><img src=x onerror=hacked=1> \"q\" 'a' \n\x00\u2028"


def file_of(sheet: Sheet, answers: Answers, **changes: Any) -> dict[str, Any]:
    """The answer file of such answers."""
    said = [
        {"question": query, "paper": paper, "value": each.value}
        | ({"comment": each.comment} if each.comment else {})
        for (query, paper), each in answers.ratings.items()
    ]
    return {
        "citebed": "answers", "version": 1, "form": answers.code, "phase": sheet.phase,
        "numbers": format_limits(sheet), "said": said, "opted_out": answers.opted_out,
        "questions": {str(number): text for number, text in answers.questions.items()},
        "approved": {str(number): each for number, each in answers.approved.items()},
    } | changes  # fmt: skip


def messy(rng: Random, data: dict[str, Any]) -> str:
    """The text of an answer file as it comes back."""
    is_ascii, indent = rng.random() < 0.5, rng.choice((None, 1, 4))
    text = json.dumps(data, ensure_ascii=is_ascii, indent=indent)
    how = rng.choice(("file", "mail", "wrapped"))
    if how == "wrapped":
        text = re.sub(r"(.{60,70}) (?! )", "\\1\n", text)
    if how != "file":
        text = f"Hello, here it is:\n\n{text}\n\n-- \nAnn {{x}}\n"
    return rng.choice(("", "\ufeff")) + text.replace("\n", rng.choice(("\n", "\r\n")))


def round_trip(seed: int, phase: int) -> None:
    rng = Random(seed)
    sheet = random_sheet(rng, phase)
    expected = random_answers(rng, sheet)
    text = messy(rng, file_of(sheet, expected))
    assert html_form.is_this_form(text)
    assert html_form.read(text) == expected


@pytest.mark.parametrize("phase", [1, 2])
def test_an_answer_file_keeps_every_answer(phase: int) -> None:
    for seed in range(sized(60, 2000)):
        round_trip(seed, phase)


def one(**changes: Any) -> str:
    """An answer file of phase one, a judgement on each line, with other fields."""
    data = {"citebed": "answers", "version": 1, "form": "AB12-CD34", "phase": 1}
    data |= {"numbers": "Numbers: grades 1-4; references 1-5", "questions": {"1": "How?"}}
    return json.dumps(data | changes, separators=(",", ":")).replace("{", "{\n", 1)


def judgement(**changes: Any) -> dict[str, Any]:
    return {"question": 1, "paper": 2, "value": 3} | changes


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ([judgement(value=7)], "7 is not a grade"),
        ([judgement(value=True)], "has an invalid value"),
        ([judgement(value="4")], "has an invalid value"),
        ([judgement(value=3.5)], "has an invalid value"),
        ([judgement(value=float("nan"))], "has an invalid value"),
        ([judgement(paper=9)], "this number is not on the form"),
        ([judgement(paper="2")], "has no valid paper number"),
        ([judgement(question=-1)], "has no valid question number"),
        ([judgement(question=2)], "question 2 has no text"),
        ([judgement(), judgement(value=4)], "is 4 here, but 3"),
        ([judgement(comment="<b>")], "has an invalid comment"),
        ([{"question": 1}], "is not a judgement"),
        ([None], "is not a judgement"),
        ("all", "is not a list"),
    ],
)
def test_a_judgement_that_is_impossible_is_reported(said: Any, says: str) -> None:
    answers = html_form.read(one(said=said))
    assert answers.ratings == {}
    assert says in answers.unread[0].what
    assert answers.unread[0].line == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"questions": ["a"]}, "is not an object"),
        ({"questions": {"1": 5}}, "expected a text"),
        ({"questions": {"x": "a"}}, "is not a number of questions"),
        ({"approved": {"1": 5}}, "'approved 1' is '5'"),
        ({"approved": {"1": False}}, "'approved 1' is 'false'"),
        ({"opted_out": "yes"}, "expected true or false"),
        ({"hello": 1}, "is not a field of an answer file"),
    ],
)
def test_a_field_that_is_impossible_is_reported(changes: dict[str, Any], says: str) -> None:
    answers = html_form.read(one(**changes))
    assert says in answers.unread[0].what
    assert (answers.ratings, answers.approved, answers.opted_out) == ({}, {}, False)


@pytest.mark.parametrize("value", [2, -1, "1", True])
def test_a_verdict_is_0_or_1_or_none(value: Any) -> None:
    changes = {"phase": 2, "numbers": "Numbers: documents 1.1-1.5"}
    assert html_form.read(one(**changes, said=[judgement(value=value)])).ratings == {}
    answers = html_form.read(one(**changes, said=[judgement(value=None, comment=EVIL)]))
    assert answers.ratings[1, 2].value is None
    assert "<script>" in answers.ratings[1, 2].comment


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"citebed":"answers","version":1,', "cut short or changed"),
        ('{"citebed":"answers","version":1,"form":"A","form":"B"}', "duplicate key"),
        ('{"citebed":"answers","a":' + "[" * 100_000, "cannot be read"),
        ('{"citebed":"answers","version":2,"form":"A","phase":1}', "unsupported version"),
        ('{"citebed":"answers","version":1,"form":5,"phase":1}', "no form code found"),
        ('{"citebed":"answers","version":1,"form":"A","phase":3}', "expected 1 or 2"),
        (
            '{"citebed":"answers","version":1,"form":"A","phase":' + "9" * 5000 + "}",
            "cannot be read",
        ),
        ("{}", "no answers of a form"),
        ("x" * 3_000_000, "an answer file has less than"),
    ],
)
def test_no_answer_file(text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        html_form.read(text)


def test_a_hostile_file_is_read_in_a_time_that_grows_with_it() -> None:
    said = [judgement(question=n % 90, paper=n % 7, value=n % 9) for n in range(20_000)]
    begun = time.process_time()
    html_form.read(one(said=said, questions={str(n): "x" for n in range(9000)}))
    html_form.read(one(said=[judgement(value="x")] * 20_000))
    assert time.process_time() - begun < 6


def test_the_page_escapes_everything_and_loads_nothing() -> None:
    for phase in (1, 2):
        sheet = random_sheet(Random(2), phase)
        entry = (
            random_sheet(Random(2), 1)
            .references[0]
            ._replace(title=EVIL, authors=EVIL, url="javascript:hacked=1")
        )
        settings = sheet.settings.changed(
            title=EVIL, organiser=EVIL, contact=EVIL, grades=(EVIL, "b")
        )
        sheet = sheet._replace(
            settings=settings, person=EVIL, paper=EVIL, link="javascript:1",
            references=(entry,), code="AB12-CD34",
            queries=tuple(each._replace(text=EVIL, stated=EVIL, entries=(entry,))
                        for each in sheet.queries),
        )  # fmt: skip
        page = html_form.write(sheet)
        tree: Any = html.document_fromstring(page)
        assert len(tree.findall(".//script")) == 3  # what runs first, the data, the page's own
        assert not tree.findall(".//img")
        assert not tree.xpath("//@src | //*[starts-with(@href, 'javascript')] | //link | //@style")
        assert not re.search("[\x00-\x08\u2028]", page)
        policy = tree.xpath("//meta[@http-equiv]/@content")[0]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy
        assert not html_form.is_this_form(page)


def test_what_no_page_made_is_not_taken() -> None:
    assert not html_form.is_this_form('{"citebed": "questions"}')
    assert html_form.read(one(said=[judgement()])).ratings == {(1, 2): Rating(3)}
