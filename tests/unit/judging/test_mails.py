"""Mails: each written once and sent once, whatever names hold and whenever a sender dies."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update
from tests.unit.judging.conftest import TODAY, Answer, form_row

from citebed.errors import CitebedError, UnknownName
from citebed.judging import Campaign
from citebed.judging.assignments import log_once
from citebed.judging.mails import Smtp, send
from citebed.judging.responses import opt_out
from citebed.judging.store.schema import forms, mails, now, people


class _Server(socketserver.ThreadingTCPServer):
    """A mail server with given answers for recipients; it keeps accepted mails."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[bytes] = []
        self.answers: dict[str, str] = {}

    @property
    def smtp(self) -> Smtp:
        return Smtp("127.0.0.1", self.server_address[1], starttls=False, per_minute=1_000_000)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline():
            verb = line[:4].upper().strip()
            if verb in (b"EHLO", b"HELO", b"MAIL", b"RSET"):
                self._say("250 fine")
            elif verb == b"RCPT":
                address = line.partition(b"<")[2].partition(b">")[0].decode()
                self._say(self.server.answers.get(address, "250 fine"))
            elif verb == b"DATA":
                self._say("354 go on")
                lines = []
                while (one := self.rfile.readline()) != b".\r\n":
                    lines.append(one)
                self.server.taken.append(b"".join(lines))
                self._say("250 taken")
            else:
                self._say("221 bye")
                return

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


@pytest.fixture
def server() -> Iterator[_Server]:
    """A mail server on this machine."""
    with _Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()


def _sent(campaign: Campaign, server: _Server) -> tuple[int, int, int]:
    return send(campaign, server.smtp, pause=lambda _: None)[:3]


def _states(campaign: Campaign) -> list[str]:
    with campaign.reading() as tx:
        return list(tx.scalars(select(mails.c.state).order_by(mails.c.id)))


def test_everybody_who_is_due_gets_one_mail_with_all_forms(campaign: Campaign) -> None:
    written = campaign.invite(on=TODAY)
    assert len(written) == 3
    assert campaign.invite(on=TODAY) == []
    mail = email.message_from_bytes(written[0].read_bytes(), policy=email.policy.default)
    assert str(mail["To"]) == "Ada Bell <ada@example.org>"
    kinds = [part.get_content_type() for part in mail.walk()]
    assert kinds == ["multipart/mixed", "text/plain", "application/pdf", "text/html"]
    body = mail.get_body()
    assert body is not None
    text = body.get_content()
    code = campaign.status()["code"][0]
    assert f"Form: {code}" in text
    assert f"http://localhost:8000/cr26/judge/{code}." in text.replace("\n", "")
    assert set(_states(campaign)) == {"written"}


def test_a_kind_of_form_that_is_not_there_is_reported(campaign: Campaign) -> None:
    with pytest.raises(UnknownName, match="fax"):
        campaign.invite(["text", "fax"], on=TODAY)


@pytest.mark.parametrize(
    "name",
    [
        'Eve\r\nBcc: all@example.org\r\n\r\n<script>alert("x")</script>',
        "Robert'); DROP TABLE judgements;--",
        "Ångström \u2028 次郎 “quoted” \\ back",
        'a "b" <c@d.org>, e@f.org',
    ],
)
def test_a_name_starts_no_header_of_its_own(asked: Campaign, name: str) -> None:
    with asked.writing() as tx:
        tx.execute(update(people).where(people.c.id == 1).values(name=name))
    path, *others = asked.invite(["text"], on=TODAY)
    assert len(others) == 2
    mail = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    assert mail["Bcc"] is None
    addresses = mail["To"].addresses
    assert [address.addr_spec for address in addresses] == ["ada@example.org"]
    assert " ".join(name.replace("\u2028", " ").split()) == addresses[0].display_name


def test_a_mail_that_a_kill_kept_from_the_outbox_gets_there(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("citebed.judging.mails.write_file", killed)
        with pytest.raises(KeyboardInterrupt):
            campaign.invite(["text"], on=TODAY)
    assert set(_states(campaign)) == {"held"}
    assert len(campaign.invite(["text"], on=TODAY)) == 3


def test_mails_are_sent_once_and_what_was_put_off_is_tried_again(
    campaign: Campaign, server: _Server
) -> None:
    campaign.invite(["text"], on=TODAY)
    server.answers = {"ben@example.org": "451 later", "di@example.org": "550 unknown"}
    assert _sent(campaign, server) == (1, 1, 1)
    assert _states(campaign) == ["sent", "written", "failed"]
    assert campaign.status()["state"].to_list() == ["sent", "in outbox", "not sent"]
    server.answers = {}
    assert _sent(campaign, server) == (1, 0, 0)
    assert _sent(campaign, server) == (0, 0, 0)
    assert len(server.taken) == 2


def test_a_mail_whose_sender_died_is_shown_and_not_sent_again(
    campaign: Campaign, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.invite(["text"], on=TODAY)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("citebed.judging.mails._deliver", killed)
        with pytest.raises(KeyboardInterrupt):
            _sent(campaign, server)
    done = send(campaign, server.smtp, pause=lambda _: None)
    assert (done.sent, len(done.unconfirmed)) == (2, 1)
    assert len(server.taken) == 2


def test_who_opted_out_is_not_written_to_again(campaign: Campaign, server: _Server) -> None:
    campaign.invite(["text"], on=TODAY)
    with campaign.writing() as tx:
        opt_out(tx, 1)
    assert _sent(campaign, server) == (2, 1, 0)
    assert b"ada@example.org" not in b"".join(server.taken)
    assert len(campaign.remind(["text"], after_days=0)) == 2


def test_reminders_go_to_those_who_have_not_answered(campaign: Campaign, answer: Answer) -> None:
    campaign.invite(["text"], on=TODAY)
    assert campaign.remind(["text"]) == []
    answer(2, "What do co-authors ask?", [4])
    first = campaign.remind(["text"], after_days=0)
    assert len(first) == 2
    mail = email.message_from_bytes(first[0].read_bytes(), policy=email.policy.default)
    assert str(mail["Subject"]).startswith("Reminder: ")
    with campaign.writing() as tx:
        tx.execute(update(forms).where(forms.c.id == 1).values(revoked_at=now()))
    assert len(campaign.remind(["text"], after_days=0)) == 1


def _reminded(campaign: Campaign) -> list[str]:
    """To whom reminders are written, days after the last mail."""
    paths = campaign.remind(["text"], after_days=0)
    mails_of = [email.message_from_bytes(path.read_bytes()) for path in paths]
    return [str(mail["To"]).rpartition("<")[2].strip(">") for mail in mails_of]


def test_no_reminder_goes_to_co_authors_whose_answers_would_be_discarded(
    campaign: Campaign, answer: Answer
) -> None:
    campaign.invite(["text"], on=TODAY)
    answer(1, "How do filt", [])  # half a question: everybody is still asked
    assert _reminded(campaign) == ["ada@example.org", "ben@example.org", "di@example.org"]
    answer(1, "How do filters age?", [4])
    assert _reminded(campaign) == ["di@example.org"]


def _code(campaign: Campaign, form: int) -> str:
    with campaign.reading() as tx:
        return str(tx.scalar(select(forms.c.code).where(forms.c.id == form)))


def test_no_reminder_goes_to_people_whose_form_came_and_could_not_be_read(
    campaign: Campaign, tmp_path: Path
) -> None:
    campaign.invite(["text"], on=TODAY)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    ada, di = (_code(campaign, form) for form in (1, 3))
    (inbox / f"{ada}.pdf").write_bytes(b"%PDF-1.4 cut short")
    reply = f"From: di@example.org\nSubject: Re: your form ({di})\n\nI filled it in on paper.\n"
    (inbox / "reply.eml").write_text(reply)
    assert {done.outcome for done in campaign.returns(inbox)} == {"refused"}
    assert _reminded(campaign) == ["ben@example.org"]
    assert campaign.status()["state"].to_list() == ["begun", "in outbox", "begun"]
    # The organiser has seen that it was nothing: an automatic reply.
    for problem in campaign.problems.filter(file="reply.eml")["problem"]:
        campaign.settle(problem)
    assert _reminded(campaign) == ["ben@example.org", "di@example.org"]


def test_no_reminder_goes_to_those_who_finished_with_nothing(campaign: Campaign) -> None:
    campaign.invite(["text"], on=TODAY)
    with campaign.writing() as tx:
        log_once(tx, form_row(tx, 3), "finished")
    assert _reminded(campaign) == ["ada@example.org", "ben@example.org"]


def test_no_reminder_asks_for_lists_of_questions_that_were_set_aside(
    campaign: Campaign, answer: Answer
) -> None:
    campaign.invite(["text"], on=TODAY)
    answer(1, "How do filters age?", [4])
    campaign.pool(size=3)
    assert len(campaign.invite(["text"], on=TODAY)) == 1
    campaign.exclude("demo-filters-a1q1", "off topic")
    assert _reminded(campaign) == ["di@example.org"]
    campaign.exclude("demo-filters-a1q1", "on topic", lift=True)
    assert _reminded(campaign) == ["di@example.org", "ada@example.org"]


def test_a_reminder_that_waited_too_long_is_not_sent(
    campaign: Campaign, answer: Answer, server: _Server
) -> None:
    campaign.invite(["text"], on=TODAY)
    assert _sent(campaign, server) == (3, 0, 0)
    assert len(_reminded(campaign)) == 3
    answer(3, "What is a passage?", [4])
    assert _sent(campaign, server) == (2, 1, 0)


def test_a_mail_server_out_of_reach_is_reported(campaign: Campaign) -> None:
    campaign.invite(["text"], on=TODAY)
    with pytest.raises(CitebedError, match="stay in the outbox"):
        campaign.send(Smtp("127.0.0.1", 1, starttls=False))
    assert set(_states(campaign)) == {"written"}


def test_a_campaign_without_an_address_writes_no_mails(campaign: Campaign, tmp_path: Path) -> None:
    campaign.change_settings(contact="")
    with pytest.raises(CitebedError, match="settings cr26 --contact"):
        campaign.invite(["text"], on=TODAY)
    campaign.change_settings(contact="no address")
    with pytest.raises(CitebedError, match="not a mail address"):
        campaign.invite(["text"], tmp_path / "out", on=TODAY)
