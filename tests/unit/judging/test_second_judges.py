"""Second judges: a page, forms and a greeting of their own, and no say in another's question."""

from __future__ import annotations

import email
import email.policy
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader
from sqlalchemy import select
from tests.campaigns import save
from tests.unit.judging.conftest import Answer, form_row
from tests.unit.judging.test_pdf_form import fill

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.judging.assignments import FormRow, load_judge_list, load_sheet
from citebed.judging.forms import html_form, pdf_form, text_form
from citebed.judging.forms.sheet import Sheet
from citebed.judging.judgements import Source, Verdict
from citebed.judging.responses import approve
from citebed.judging.store.schema import approvals, forms, now, people
from citebed.report.campaign import campaign_counts

QUERY = "demo-filters-a1q1"
STATED = "We present a novel way to see how filters age?"
WORDING = "how filters age"
BETTER = "how do spam filters rot"


@pytest.fixture
def second(asked: Campaign, answer: Answer) -> FormRow:
    """The form of Zoe, who judges the list of Ada's question, which was reformulated."""
    answer(1, STATED, [4, 4])
    asked.reformulate(QUERY, WORDING, "filler")
    asked.pool(size=4)
    assert asked.second_judge(QUERY, "Zoe Yew", "zoe@example.org")
    with asked.reading() as tx:
        last = tx.scalar(select(forms.c.id).order_by(forms.c.id.desc()).limit(1))
        return form_row(tx, int(last or 0))


def test_a_second_judge_is_not_an_author(asked: Campaign, second: FormRow) -> None:
    with asked.reading() as tx:
        assert tx.row(people, second.person_id).name == "Zoe Yew"
        assert "3 papers, 5 authors, 1 second judge, 4 forms" in campaign_counts(tx)


def _sheet(campaign: Campaign, form: FormRow) -> Sheet:
    with campaign.reading() as tx:
        return load_sheet(tx, form)


def _as_text(sheet: Sheet) -> bytes:
    text = text_form.write(sheet).replace("better wording:", f"better wording: {BETTER}")
    return text.replace("relevant [ ]", "relevant [x]", 1).encode()


def _as_pdf(sheet: Sheet) -> bytes:
    return fill(pdf_form.write(sheet), {"better.1": BETTER, "relevant.1.1": True})


def _as_answers(sheet: Sheet) -> bytes:
    said = [{"question": 1, "paper": 1, "value": 1}]
    answers = {"citebed": "answers", "version": 1, "form": sheet.code, "phase": 2, "said": said}
    return json.dumps(answers | {"approved": {"1": BETTER}}).encode()


@pytest.mark.parametrize("write", [_as_text, _as_pdf, _as_answers])
def test_no_form_lets_a_second_judge_reword_the_question(
    asked: Campaign, second: FormRow, tmp_path: Path, write: Callable[[Sheet], bytes]
) -> None:
    sheet = _sheet(asked, second)
    # As if it were the author's form, which asks for the wording.
    own = tuple(query._replace(own=True, stated=STATED) for query in sheet.queries)
    path = tmp_path / "returned"
    path.write_bytes(write(sheet._replace(queries=own)))
    (done,) = asked.returns(path)
    assert asked.question(QUERY) == WORDING
    assert done.recorded is not None
    assert done.recorded.judgements == 1
    assert [what for _, what in done.unread] == [
        "query 1: only its author may approve or reword it"
    ]
    with asked.reading() as tx:
        assert tx.execute(select(approvals)).all() == []


@pytest.mark.parametrize("said", [True, BETTER])
def test_the_rule_is_beneath_every_door(asked: Campaign, second: FormRow, said: bool | str) -> None:
    source = Source(second.person_id, second.id, "web", now())
    with asked.writing() as tx, pytest.raises(CitebedError, match="only its author"):
        approve(tx, second, 1, said, source)
    assert asked.question(QUERY) == WORDING
    assert asked.tables()["reformulations"]["approved"].sum() == 0


@pytest.mark.usefixtures("second")
def test_the_author_is_still_asked(asked: Campaign, tmp_path: Path) -> None:
    asked.invite(["text"])
    with asked.reading() as tx:
        (own,) = tx.execute(select(forms).where(forms.c.phase == 2, forms.c.person_id == 1))
        sheet = load_sheet(tx, own)
    assert (sheet.is_second, sheet.about, sheet.queries[0].stated) == (False, sheet.paper, STATED)
    (tmp_path / "returned").write_bytes(_as_text(sheet))
    asked.returns(tmp_path / "returned")
    assert asked.question(QUERY) == BETTER


def test_forms_of_second_judges_say_what_they_are(asked: Campaign, second: FormRow) -> None:
    sheet = _sheet(asked, second)
    pages = PdfReader(io.BytesIO(pdf_form.write(sheet))).pages
    in_pdf = " ".join(page.extract_text() for page in pages)
    for written in (text_form.write(sheet), html_form.write(sheet), in_pdf):
        text = " ".join(written.split())
        assert "second judge" in text
        assert WORDING in text
        shown = text.partition("<script")[0]
        for of_authors in (sheet.paper, STATED, "Your paper", "did not cite", "you wrote",
                           "your research question", "your question", "approve"):  # fmt: skip
            assert of_authors.lower() not in shown.lower()
    with asked.reading() as tx:
        (listed,) = load_judge_list(tx, second, lambda _: "").questions
    assert (listed.own, listed.stated, listed.correction) == (False, None, "")


def test_second_judges_are_greeted_as_such(asked: Campaign, second: FormRow) -> None:
    paths = asked.invite()
    (path,) = (path for path in paths if second.code in path.name)
    mail = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    assert "second assessment of a paper list" in mail["Subject"]
    body = mail.get_body(("plain",))
    assert body is not None
    text = " ".join(body.get_content().split())
    assert "another author's question" in text
    assert "asking authors which papers" not in text


def test_disagreements_are_listed_with_who_said_what(asked: Campaign, second: FormRow) -> None:
    assert asked.disagreements.is_empty()
    with asked.writing() as tx:
        author = form_row(tx, 1)
        item, other, *_ = second.content["asked"][0]["items"]
        for form, value, took in ((author, 1, 30_000), (second, 0, 90_000)):
            source = Source(form.person_id, form.id, "web", now())
            save(tx, source, Verdict(item, value, f"I say {value}", took_ms=took))
            save(tx, source, Verdict(other, 1))
    found = asked.disagreements
    told = found.select("query_id", "differ", "judge", "own", "value", "counts", "comment").rows()
    assert [row[1:] for row in told] == [
        ("relevance", "Ada Bell", True, 1, True, "I say 1"),
        ("relevance", "Zoe Yew", False, 0, False, "I say 0"),
    ]
    assert {row[0] for row in told} == {QUERY}
    assert found["seconds"].to_list() == [30.0, 90.0]
    times = asked.tables()["times"].filter(phase=2).row(0, named=True)
    assert (times["judgements"], times["timed"]) == (4, 2)
    assert (times["median"], times["mean"]) == (60.0, 60.0)
