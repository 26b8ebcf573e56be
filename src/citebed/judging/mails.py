"""Mails of a campaign: each is written once to an outbox and, with SMTP, sent once.

A mail is stored in the database under a unique key before it is written as a file. It is marked as
``sending`` before it is sent. If citebed is killed before the server confirms, the mail keeps this
state: it may or may not have gone out, so citebed reports it and does not send it again.
"""

from __future__ import annotations

import os
import re
import smtplib
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email import message_from_bytes
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.policy import default
from email.utils import format_datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select, update

from citebed.errors import CitebedError, UnknownName
from citebed.files.environment import check_online
from citebed.files.output_files import write_file
from citebed.judging.assignments import FormRow, has_responded, load_sheet
from citebed.judging.forms import html_form, pdf_form, text_form
from citebed.judging.forms.sheet import Sheet
from citebed.judging.questions import excluded_questions, papers_with_first_author_answers
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import authorships, forms, mails, now, people

FORMS = ("text", "pdf", "html", "web")
PASSWORD = "CITEBED_SMTP_PASSWORD"
MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Smtp:
    """The mail server; its password is in the environment variable `PASSWORD`."""

    host: str
    port: int = 587
    user: str = ""
    starttls: bool = True
    per_minute: int = 30


class SendReport(NamedTuple):
    """How many mails were sent, failed or were deferred, and which are unconfirmed."""

    sent: int
    failed: int
    deferred: int
    unconfirmed: tuple[str, ...]


def check_form_kinds(ways: Sequence[str]) -> None:
    """Raise `UnknownName` for an unknown kind of form."""
    for way in ways:
        if way not in FORMS:
            raise UnknownName("kind of form", way, FORMS)


def invite(store: CampaignStore, outbox: Path, ways: Sequence[str] = FORMS) -> list[Path]:
    """Write an invitation to the outbox for each form without a mail."""
    check_form_kinds(ways)
    with store.reading() as tx:
        written = set(tx.scalars(select(mails.c.form_id).where(mails.c.campaign_id == tx.id)))
        new = [form.id for form in forms_that_count(tx) if form.id not in written]
    return _write_mails(store, [(form, "invitation", 1) for form in new], outbox, ways)


def remind(
    store: CampaignStore, outbox: Path, ways: Sequence[str] = FORMS, *, after_days: int = 7
) -> list[Path]:
    """Write reminders for unanswered forms whose last mail is at least this many days old."""
    check_form_kinds(ways)
    with store.reading() as tx:
        due = []
        for form in forms_that_count(tx, unanswered=True):
            dates = select(mails.c.written_at).where(mails.c.form_id == form.id)
            written = tx.scalars(dates.order_by(mails.c.id)).all()
            if written and written[-1] <= now() - timedelta(days=after_days):
                due.append((form.id, "reminder", len(written)))
    return _write_mails(store, due, outbox, ways)


def open_forms(tx: Transaction) -> list[FormRow]:
    """Return valid forms of people who did not opt out."""
    mine = (forms.c.campaign_id == tx.id) & forms.c.revoked_at.is_(None)
    chosen = select(forms).join(people)
    chosen = chosen.where(mine, people.c.opted_out_at.is_(None), forms.c.expires_at > now())
    return list(tx.execute(chosen.order_by(forms.c.id)))


def forms_that_count(tx: Transaction, *, unanswered: bool = False) -> list[FormRow]:
    """Return the open forms whose answers would count, or only the ``unanswered`` ones.

    This leaves out co-authors whose first author responded, and forms whose questions are all
    excluded.
    """
    answered_for = papers_with_first_author_answers(tx)
    left_out = excluded_questions(tx)
    first_authors = {
        (row.paper_id, row.person_id)
        for row in tx.execute(select(authorships).where(authorships.c.position == 1))
    }
    counting = []
    for form in open_forms(tx):
        if form.phase == 1:
            is_first = (form.paper_id, form.person_id) in first_authors
            counts = is_first or form.paper_id not in answered_for
        else:
            counts = any(query["question"] not in left_out for query in form.content["asked"])
        if counts and not (unanswered and has_responded(tx, form)):
            counting.append(form)
    return counting


def _write_mails(
    store: CampaignStore, wanted: Iterable[tuple[int, str, int]], outbox: Path, ways: Sequence[str]
) -> list[Path]:
    """Store the wanted mails, each once, and write all mails that are not files yet.

    These include the mails of an interrupted call.
    """
    for form_id, kind, number in wanted:
        with store.writing() as tx:
            key = f"{form_id}:{kind}:{number}"
            if tx.scalar(select(mails.c.id).where(mails.c.key == key)) is not None:
                continue
            form = tx.row(forms, form_id)
            person, sheet, at = tx.row(people, form.person_id), load_sheet(tx, form), now()
            mail = compose(sheet, person.name, person.email, kind, ways, at)
            host = sheet.settings.contact.rpartition("@")[2] or "citebed.invalid"
            mail["Message-ID"] = f"<{form.code.lower()}.{kind}.{number}@{host}>"
            tx.add(
                mails,
                campaign_id=tx.id,
                person_id=person.id,
                form_id=form.id,
                key=key,
                kind=kind,
                subject=str(mail["Subject"]),
                file=f"{kind}-{form.code}-{number}.eml",
                content=mail.as_bytes(),
                state="held",
                attempts=0,
                written_at=at,
            )
    held = (mails.c.campaign_id == store.id) & (mails.c.state == "held")
    with store.reading() as tx:
        rows = tx.execute(select(mails).where(held).order_by(mails.c.id)).all()
    done = []
    for row in rows:
        path = outbox / row.file
        write_file(path, row.content, private=True)  # it contains a personal link
        if _change_state(store, row.id, "held", "written"):  # else another process wrote it, too
            done.append(path)
    return done


_INVITATION = (
    "We are building a test collection for research on literature search, and we are asking "
    "authors which papers are relevant to their research questions. It takes a few minutes and "
    "would help us a great deal. The form explains what to do."
)
_SECOND_JUDGE_INVITATION = (
    "We are building a test collection for research on literature search: authors tell us which "
    "papers are relevant to their research questions. To measure how well two people agree, we "
    "would like you to judge a list of papers for another author's question. It takes a few "
    "minutes and would help us a great deal. The form explains what to do."
)
_OFFERS = {
    "web": "online, on your own page: {link}",
    "html": "in the attached HTML file, which works offline and creates a small answer file that "
    "you send back",
    "pdf": "in the attached PDF form",
    "text": "in the form below, directly in your reply",
}


def compose(
    sheet: Sheet, name: str, address: str, kind: str, ways: Sequence[str], at: datetime
) -> EmailMessage:
    """Compose the mail for a form, with the chosen kinds of form; pairs are only on the web."""
    ways = ("web",) if sheet.compares else ways
    if not sheet.settings.contact:
        raise CitebedError(
            "the campaign has no contact address. Set one with 'citebed campaign settings "
            f"{sheet.campaign} --contact name@host'."
        )
    mail = EmailMessage(policy=SMTP_POLICY)
    again = "Reminder: " if kind == "reminder" else ""
    subject = "your research questions" if sheet.phase == 1 else "papers you did not cite"
    if sheet.is_second:
        subject = "second assessment of a paper list"
    mail["Subject"] = _one_line(f"{again}{sheet.settings.title}: {subject} ({sheet.code})")
    mail["From"] = mail_address(
        sheet.settings.organiser or sheet.settings.title, sheet.settings.contact
    )
    mail["To"] = mail_address(name, address)
    mail["Date"] = format_datetime(at)
    mail["Auto-Submitted"] = "auto-generated"
    invitation = _SECOND_JUDGE_INVITATION if sheet.is_second else _INVITATION
    offers = [f"- {text.format(link=sheet.link)}" for way, text in _OFFERS.items() if way in ways]
    paragraphs = [
        f"Dear {_one_line(sheet.person)},",
        *([invitation] if "text" in ways else sheet.instructions()),
        "\n".join(["You can answer", *offers]),
        f"List of the papers, with links: {sheet.list_url}",
        text_form.write(sheet) if "text" in ways else f"Form: {sheet.code}",
    ]
    mail.set_content("\n\n".join(paragraphs) + "\n")
    if "pdf" in ways:
        mail.add_attachment(
            pdf_form.write(sheet), "application", "pdf", filename=f"{sheet.code}.pdf"
        )
    if "html" in ways:
        mail.add_attachment(html_form.write(sheet), subtype="html", filename=f"{sheet.code}.html")
    return mail


def mail_address(name: str, address: str) -> Address:
    """Return a mail address with a name; raise an error unless it is one."""
    try:
        return Address(_one_line(name), addr_spec=address)
    except (ValueError, IndexError) as error:
        shown = _one_line(address)[:100]
        raise CitebedError(f"'{shown}' is not a mail address; expected name@host.") from error


def _one_line(text: str) -> str:
    """Remove line breaks and control characters, which could inject a mail header."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", text).split())


def _change_state(store: CampaignStore, mail: int, before: str, state: str, **more: Any) -> bool:
    """Change the state of a mail unless another process did; return whether it changed."""
    with store.writing() as tx:
        mine = (mails.c.id == mail) & (mails.c.state == before)
        changed = tx.execute(update(mails).where(mine).values(state=state, **more))
        return bool(changed.rowcount)


def send(
    store: CampaignStore,
    smtp: Smtp,
    *,
    most: int | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> SendReport:
    """Send the waiting mails at a limited rate; mails that the server defers stay waiting."""
    check_online("sending mails", "The mails are in the outbox; send them from there.")
    ready = (mails.c.campaign_id == store.id) & (mails.c.state == "written")
    with store.reading() as tx:
        chosen = select(mails, people.c.opted_out_at).join(people).where(ready)
        rows = tx.execute(chosen.order_by(mails.c.id).limit(most)).all()
        waited_for = {form.id for form in forms_that_count(tx, unanswered=True)}
        stuck = (mails.c.campaign_id == store.id) & (mails.c.state == "sending")
        unconfirmed = tuple(tx.scalars(select(mails.c.file).where(stuck)))
    counts = {"sent": 0, "failed": 0, "written": 0}
    if not rows:
        return SendReport(0, 0, 0, unconfirmed)
    with _connect(smtp) as server:
        for number, row in enumerate(rows):
            if number:
                pause(60 / smtp.per_minute)
            why = "opted out" if row.opted_out_at is not None else ""
            if not why and row.kind == "reminder" and row.form_id not in waited_for:
                why = "no longer needed: the form was answered or has ended"
            if why:
                _change_state(store, row.id, "written", "failed", error=why)
                counts["failed"] += 1
            elif _change_state(store, row.id, "written", "sending", attempts=row.attempts + 1):
                state, error = _deliver(server, row.content, row.attempts + 1)
                sent_at = now() if state == "sent" else None
                _change_state(store, row.id, "sending", state, error=error, sent_at=sent_at)
                counts[state] += 1
    return SendReport(counts["sent"], counts["failed"], counts["written"], unconfirmed)


def _deliver(server: smtplib.SMTP, content: bytes, attempt: int) -> tuple[str, str | None]:
    """Send a mail and return its state: ``sent``, ``failed``, or ``written`` to retry later."""
    try:
        server.send_message(message_from_bytes(content, policy=default))
    except smtplib.SMTPRecipientsRefused as error:
        code, reply = next(iter(error.recipients.values()))
    except smtplib.SMTPResponseException as error:
        code, reply = error.smtp_code, error.smtp_error  # type: ignore[assignment]
    else:
        return "sent", None
    error_text = f"{code} {reply.decode('utf-8', 'replace') if isinstance(reply, bytes) else reply}"
    again = 400 <= code < 500 and attempt < MAX_ATTEMPTS
    return ("written" if again else "failed"), error_text[:500]


def _connect(smtp: Smtp) -> smtplib.SMTP:
    try:
        server = smtplib.SMTP(smtp.host, smtp.port, timeout=60)
        if smtp.starttls:
            server.starttls(context=ssl.create_default_context())
        if smtp.user:
            server.login(smtp.user, os.environ.get(PASSWORD, ""))
    except (OSError, smtplib.SMTPException) as error:
        raise CitebedError(
            f"the mail server {smtp.host}:{smtp.port} does not accept mails: {error}. The mails "
            "stay in the outbox."
        ) from error
    return server
