"""Returned forms in any state: clear answers, nothing lost, nothing executed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.unit.judging.conftest import Answer, form_row

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.judging import returns as mail_parts
from citebed.judging.assignments import load_sheet
from citebed.judging.forms import html_form, text_form
from citebed.judging.forms.sheet import Sheet
from citebed.judging.returns import ReturnResult
from citebed.judging.store.schema import judgements
from citebed.judging.store.schema import returns as returns_table


def _sheet(campaign: Campaign, form: int = 1) -> Sheet:
    with campaign.reading() as tx:
        return load_sheet(tx, form_row(tx, form))


def _filled(sheet: Sheet, question: str, grades: dict[int, str]) -> str:
    """Return a text form as a person would fill it in."""
    text = text_form.write(sheet).replace("QUESTION 1:", f"QUESTION 1: {question}")
    for number, grade in grades.items():
        head, mark, tail = text.partition(f"\n[{number}] ")
        text = head + mark + tail.replace("Q1: [ ]", f"Q1: [{grade}]", 1)
    return text


def _returned(campaign: Campaign, path: Path, content: str | bytes) -> ReturnResult:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (done,) = campaign.returns(path)
    return done


def _number(campaign: Campaign) -> int:
    with campaign.reading() as tx:
        return int(tx.scalar(select(func.count()).select_from(judgements)) or 0)


def test_a_form_returned_twice_changes_nothing(asked: Campaign, tmp_path: Path) -> None:
    text = _filled(_sheet(asked), "How do filters age?", {1: "4", 2: "?", 5: "1"})
    done = _returned(asked, tmp_path / "a.txt", text)
    assert (done.outcome, done.via) == ("read", "text")
    assert done.recorded is not None
    assert done.recorded[:3] == (1, 3, 0)
    assert _returned(asked, tmp_path / "b.txt", text).outcome == "known already"
    # The same answers in other bytes are known one by one.
    again = _returned(asked, tmp_path / "c.txt", f"Dear all,\n{text}")
    assert again.recorded is not None
    assert again.recorded[:3] == (0, 0, 3)
    assert _number(asked) == 3


def test_half_a_form_is_half_an_answer_and_the_rest_may_follow(
    asked: Campaign, tmp_path: Path
) -> None:
    sheet = _sheet(asked)
    _returned(asked, tmp_path / "a.txt", _filled(sheet, "How do filters age?", {1: "4"}))
    _returned(asked, tmp_path / "b.txt", _filled(sheet, "How do filters age?", {2: "3"}))
    assert asked.judgements["value"].to_list() == [4, 3]
    assert asked.questions.height == 1


def test_two_contradictory_marks_are_shown_and_not_guessed(asked: Campaign, tmp_path: Path) -> None:
    text = _filled(_sheet(asked), "How do filters age?", {1: "4 1", 2: "9", 3: "2"})
    done = _returned(asked, tmp_path / "a.txt", text)
    assert done.outcome == "read in part"
    assert asked.judgements["value"].to_list() == [2]
    lines = text.splitlines()
    told = asked.problems.to_dicts()
    assert len(told) == 2
    for row, mark in zip(told, ("4 1", "9"), strict=True):
        assert mark in lines[row["line"] - 1]


def test_a_form_of_another_campaign_is_refused_and_kept(asked: Campaign, tmp_path: Path) -> None:
    sheet = _sheet(asked)._replace(code="2345-6789-ABCD-EFGH")
    done = _returned(asked, tmp_path / "a.txt", _filled(sheet, "Whose?", {1: "4"}))
    assert done.outcome == "refused"
    assert "does not belong to this campaign" in done.unread[0].what
    with asked.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(returns_table)) == 1
    assert _number(asked) == 0


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    asked: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_parts, "MAX_BYTES", 1 << 20)
    with (tmp_path / "large.pdf").open("wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(50 << 20)
    (done,) = asked.returns(tmp_path / "large.pdf")
    assert done.outcome == "refused"
    assert "larger" in done.unread[0].what or "MB" in done.unread[0].what


def test_html_sql_and_commands_in_every_field_are_text(asked: Campaign, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>'; DROP TABLE judgements; -- {{7*7}} $(rm -rf /)"
    _returned(asked, tmp_path / "a.txt", _filled(_sheet(asked), hostile, {1: "4"}))
    assert asked.questions["stated"].to_list() == [hostile]
    assert _number(asked) == 1
    asked.pool()
    asked.reformulate("demo-filters-a1q1", f"filters {hostile}", "typo")
    page = html_form.write(_sheet(asked, 2))
    assert "<script>alert(1)" not in page


def test_mails_carry_forms_in_their_text_and_as_files(asked: Campaign, tmp_path: Path) -> None:
    first, second = _sheet(asked, 1), _sheet(asked, 3)
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@x.org", "b@x.org", "Re: form"
    mail["Date"] = "Mon, 05 Jan 2026 10:00:00 +0100"
    quoted = "\n".join(f"> {line}" for line in _filled(first, "One?", {1: "4"}).splitlines())
    mail.set_content(f"Here you are.\n\n{quoted}\n")
    mail.add_attachment(
        _filled(second, "Two?", {1: "2"}).encode(), "text", "plain", filename="f.txt"
    )
    (tmp_path / "m.eml").write_bytes(mail.as_bytes())
    done = asked.returns(tmp_path / "m.eml")
    assert [each.outcome for each in done] == ["read", "read"]
    assert asked.questions["stated"].to_list() == ["One?", "Two?"]
    assert {f"{at:%Y-%m-%d}" for at in asked.judgements["answered_at"]} == {"2026-01-05"}


def test_a_mail_of_html_only_is_read_as_what_it_shows(asked: Campaign, tmp_path: Path) -> None:
    text = _filled(_sheet(asked), "How do <filters> age?", {1: "4", 3: "2"})
    lines = "".join(f"<div>{escape(line) or '<br>'}</div>" for line in text.splitlines())
    mail = EmailMessage()
    mail["From"] = "ada@example.org"
    mail.set_content(f"<html><body><p>Hello!</p><blockquote>{lines}</blockquote></body></html>",
                     subtype="html")  # fmt: skip
    (tmp_path / "m.eml").write_bytes(mail.as_bytes())
    (done,) = asked.returns(tmp_path / "m.eml")
    assert (done.outcome, done.via) == ("read", "text")
    assert asked.questions["stated"].to_list() == ["How do <filters> age?"]
    assert asked.judgements["value"].to_list() == [4, 2]


def test_an_older_answer_does_not_replace_a_newer_one(
    asked: Campaign, answer: Answer, tmp_path: Path
) -> None:
    answer(1, "How do filters age?", [4])
    mail = EmailMessage()
    mail["Date"] = "Mon, 05 Jan 2015 10:00:00 +0000"
    mail.set_content(_filled(_sheet(asked), "How do filters age?", {1: "1", 2: "3"}))
    (tmp_path / "m.eml").write_bytes(mail.as_bytes())
    (done,) = asked.returns(tmp_path / "m.eml")
    assert "older" in done.unread[0].what
    assert asked.judgements["value"].to_list() == [4, 3]


@pytest.mark.parametrize("year", [2015, 2035])
def test_the_time_of_a_file_outranks_no_answer(
    asked: Campaign, answer: Answer, tmp_path: Path, year: int
) -> None:
    answer(1, "How do filters age?", [4])
    path = tmp_path / "kept.txt"
    path.write_text(_filled(_sheet(asked), "How did filters age?", {1: "1", 2: "3"}), "utf-8")
    when = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    os.utime(path, (when, when))
    (done,) = asked.returns(path)
    assert asked.judgements["value"].to_list() == [4, 3]
    assert asked.questions["stated"].to_list() == ["How do filters age?"]
    assert [what.partition(":")[0] for _, what in done.unread] == [
        "question 1",
        "question 1, paper 1",
    ]
    # It is on record all the same, and a mail that came later counts.
    assert _number(asked) == 3
    mail = EmailMessage()
    soon = datetime.now(UTC) + timedelta(minutes=1)  # mails know seconds only
    mail["Received"] = f"from a by b; {format_datetime(soon)}"
    mail["Date"] = "Mon, 05 Jan 2015 10:00:00 +0000"  # by the clock of its sender
    mail.set_content(_filled(_sheet(asked), "How will filters age?", {1: "2"}))
    assert _returned(asked, tmp_path / "m.eml", mail.as_bytes()).unread == ()
    assert asked.judgements["value"].to_list() == [2, 3]
    assert asked.questions["stated"].to_list() == ["How will filters age?"]


def test_of_files_without_a_date_the_one_that_came_later_counts(
    asked: Campaign, tmp_path: Path
) -> None:
    first = _filled(_sheet(asked), "How do filters age?", {1: "1"})
    assert _returned(asked, tmp_path / "first.txt", first).outcome == "read"
    second = _filled(_sheet(asked), "How do filters rot?", {1: "4"})
    assert _returned(asked, tmp_path / "second.txt", second).outcome == "read"
    assert asked.judgements["value"].to_list() == [4]
    assert asked.questions["stated"].to_list() == ["How do filters rot?"]


def test_other_files_are_kept_and_reported(asked: Campaign, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.txt").write_text("I am on holiday until Monday.")
    (inbox / "b.bin").write_bytes(bytes(range(256)) * 10)
    (inbox / "c.pdf").write_bytes(b"%PDF-1.4 cut short")
    (inbox / "d.json").write_text("{" * 10_000)
    (inbox / "e.eml").write_bytes(b"Subject: x\n\nout of office\n")
    (inbox / "empty").write_bytes(b"")
    done = asked.returns(inbox)
    assert {each.outcome for each in done} == {"refused"}
    assert asked.problems.height >= 5
    assert asked.returns(inbox)[0].outcome == "known already"


def test_a_path_that_is_not_there_is_reported_before_any_is_taken_in(
    asked: Campaign, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("no form")
    with pytest.raises(CitebedError, match="no file or folder"):
        asked.returns([tmp_path / "a.txt", tmp_path / "nope"])
    assert asked.problems.is_empty()


def test_an_answer_beside_an_empty_form_is_for_the_organiser_to_read(
    asked: Campaign, tmp_path: Path
) -> None:
    with asked.reading() as tx:
        form = text_form.write(load_sheet(tx, form_row(tx, 1)))
    quoted = "\n".join(f"> {line}" for line in form.splitlines())
    path = tmp_path / "reply.txt"
    path.write_text(f"My question is how filters age; all are 4.\n\n{quoted}", "utf-8")
    (done,) = asked.returns(path)
    assert done.outcome == "read in part"
    assert "the form is empty" in asked.problems["what"][0]
