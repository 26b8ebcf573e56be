"""Whatever came back: filled text forms, PDFs, HTML answer files, or mails that carry them.

Every file is kept as it came, with its hash: the same file again changes nothing. What could not
be read of it is listed with its line for the organiser, and is never guessed.
"""

from __future__ import annotations

import email
import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import lxml.etree
import lxml.html
from sqlalchemy import Connection, insert, select

from citebed.collection.formats.base import decode
from citebed.errors import CitebedError, FormatError
from citebed.files.reading import read_small
from citebed.judging.answering import Recorded, record
from citebed.judging.assigning import form_by_code
from citebed.judging.forms import html_form, pdf_form, text_form
from citebed.judging.forms.sheet import Answers, Unread
from citebed.judging.questions import apply_rules
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.judgements import Source, in_turn
from citebed.judging.store.schema import now, problems, returns
from citebed.wording import printable

_BLOCKS = ("br", "p", "div", "li", "tr", "pre", "blockquote", "h1", "h2", "h3", "table", "ul", "ol")
LARGEST = 20 << 20
"""Bytes that a returned file may have."""


class Part(NamedTuple):
    """A piece that may be a filled form: a file, or the text or an attachment of a mail."""

    name: str
    content: bytes
    answered_at: datetime


class Returned(NamedTuple):
    """What became of a returned file."""

    name: str
    outcome: str
    via: str | None = None
    recorded: Recorded | None = None
    unread: tuple[Unread, ...] = ()


def read_returns(store: CampaignStore, paths: Iterable[str | Path]) -> list[Returned]:
    """Take in files and folders of files; each is stored whole or not at all."""
    done = []
    for path in list(_files(paths)):  # all are there before one is taken in
        try:
            parts = parts_of(path)
        except FormatError as error:
            done.append(
                Returned(str(path), "refused", unread=(Unread(error.line or 0, error.what),))
            )
            continue
        done += [in_turn(store.database, partial(_take, store, part)) for part in parts]
    with store.writing() as connection:
        apply_rules(store, connection)
    return done


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.is_file())
        elif path.exists():
            yield path
        else:
            raise CitebedError(f"there is no file or folder {printable(path)}.")


def parts_of(path: Path) -> list[Part]:
    """The file itself, or those pieces of a mail that are forms, with the mail's date.

    A mail that has its text as HTML only is read as the lines that it shows.
    """
    content = read_small(path, LARGEST)
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    if path.suffix.lower() != ".eml":
        return [Part(path.name, content, at)]
    mail = email.message_from_bytes(content)
    at = _date_of(mail) or at
    plain: list[Part] = []
    shown: list[Part] = []
    for piece in mail.walk():
        payload, name = piece.get_payload(decode=True), piece.get_filename()
        if not isinstance(payload, bytes):
            continue
        where = f"{path.name}: {name}" if name else path.name
        if _is_ours(payload):
            plain.append(Part(where, payload, at))
        elif piece.get_content_type() == "text/html" and not name:
            lines = lines_of_html(decode(payload)[0]).encode()
            shown += [Part(where, lines, at)] if _is_ours(lines) else []
    return plain or shown or [Part(path.name, content, at)]


def lines_of_html(html: str) -> str:
    """The text of a page as lines: what stands in blocks of its own stands in lines of its own."""
    try:
        tree = lxml.html.document_fromstring(html)
    except (lxml.etree.LxmlError, ValueError):
        return ""
    for element in tree.iter(*_BLOCKS):
        if element.tag != "br":
            element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    return "".join(map(str, tree.itertext()))


def _is_ours(content: bytes) -> bool:
    text = decode(content)[0]
    return (
        pdf_form.is_this_form(content)
        or html_form.is_this_form(text)
        or text_form.is_this_form(text)
    )


def _date_of(mail: Message) -> datetime | None:
    try:
        found = parsedate_to_datetime(str(mail["Date"]))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (OverflowError, TypeError, ValueError):
        return None


def read_form(content: bytes) -> tuple[str, Answers] | None:
    """The answers in a piece and the way they were given; ``None`` if it is none of our forms."""
    if pdf_form.is_this_form(content):
        return "pdf", pdf_form.read(content)
    text = decode(content)[0]
    if html_form.is_this_form(text):
        return "html", html_form.read(text)
    if text_form.is_this_form(text):
        return "text", text_form.read(text)
    return None


def _take(store: CampaignStore, part: Part, connection: Connection) -> Returned:
    digest = hashlib.sha256(part.content).hexdigest()
    known = (returns.c.campaign_id == store.id) & (returns.c.sha256 == digest)
    if connection.scalar(select(returns.c.id).where(known)) is not None:
        return Returned(part.name, "known already")
    unread: tuple[Unread, ...] = ()
    try:
        found = read_form(part.content)
    except CitebedError as error:
        found, unread = None, (Unread(0, str(error)),)
    else:
        if found is None:
            unread = (Unread(0, "no form of ours: neither text, PDF nor answer file"),)
    form = form_by_code(store, connection, found[1].code) if found else None
    if found and form is None:
        unread = (Unread(0, f"the form {found[1].code[:40]!r} is of another campaign, or of none"),)
    at = min(part.answered_at, now())
    row = {"campaign_id": store.id, "sha256": digest, "name": part.name, "content": part.content}
    row |= {"via": found[0] if found else None, "form_id": form.id if form else None}
    made = insert(returns).returning(returns.c.id)
    row |= {"answered_at": at, "received_at": now()}
    return_id = int(connection.execute(made.values(row)).scalar_one())
    recorded = None
    if found and form:
        source = Source(form.person_id, form.id, found[0], at, return_id)
        recorded = record(store, connection, form, found[1], source)
        unread = (*found[1].unread, *recorded.unread) or _nothing_read(found[1])
        store.log(connection, "returned", f"author {form.person_id}", form.id, via=found[0])
    for line, what in unread:
        connection.execute(insert(problems).values(return_id=return_id, line=line, what=what))
    outcome = "refused" if recorded is None else "read in part" if unread else "read"
    return Returned(part.name, outcome, found[0] if found else None, recorded, unread)


def _nothing_read(answers: Answers) -> tuple[Unread, ...]:
    """A form that came back as it went out: the answers may stand elsewhere in the mail."""
    if answers.questions or answers.said or answers.approved or answers.opted_out:
        return ()
    return (Unread(0, "nothing is filled in; read it yourself, the answer may stand around it"),)
