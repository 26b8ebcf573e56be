"""Read returned files: filled text forms, PDFs, HTML answer files, and mails with these.

Each file is stored unchanged with its hash; the same file again changes nothing. Unreadable
answers are never guessed, but listed as problems with their line.
"""

from __future__ import annotations

import email
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import lxml.etree
import lxml.html
from sqlalchemy import ColumnElement, Row, select, update

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import read_small
from citebed.judging.assignments import CODE, FormRow, form_by_code, load_form, load_sheet
from citebed.judging.forms import html_form, pdf_form, text_form
from citebed.judging.forms.charsets import DecodedText, decode_as, decode_text, possible_texts
from citebed.judging.forms.sheet import Answers, ParseProblem
from citebed.judging.judgements import Source
from citebed.judging.questions import apply_rules
from citebed.judging.responses import RecordResult, record_answers
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import forms, now, problems, returns
from citebed.wording import count, printable

MAX_BYTES = 20 << 20
"""The maximum size of a returned file."""
READ_AGAIN = "read anew"
"""The value of ``settled_by`` for problems that a second reading solved."""
ENTERED = "organiser"
"""The value of ``via`` of answers that an organiser entered."""
_BLOCKS = ("br", "p", "div", "li", "tr", "pre", "blockquote", "h1", "h2", "h3", "table", "ul", "ol")
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_MAX_CODES = 20


# --- Parts of files and mails -----------------------------------------------------------------


class Part(NamedTuple):
    """A part that may be a filled form: its bytes, and the ``content_type`` that its mail declares.

    ``answered_at`` is known for mails only: the time of a file may be the time of a copy.
    """

    name: str
    content: bytes
    answered_at: datetime | None = None
    content_type: str | None = None

    def text(self, known: Sequence[str] = (), charset: str = "") -> DecodedText:
        """Decode the part; convert an HTML body to text.

        ``known`` are texts that must occur in it, which reveal its charset. ``charset`` is the
        organiser's choice and overrides the declared one.
        """
        declared = Message()
        declared["Content-Type"] = self.content_type or "text/plain"
        named = declared.get_content_charset()
        is_page = declared.get_content_type() == "text/html"
        if is_page and not named and (inside := _META.search(self.content[:4096])):
            named = inside[1].decode()
        if charset:
            read = DecodedText(decode_as(self.content, charset))
        else:
            read = decode_text(self.content, named, known)
        return read._replace(text=_html_to_text(read.text)) if is_page else read


def read_parts(path: Path) -> list[Part]:
    """Read a file and split it into parts."""
    return split_into_parts(path.name, read_small(path, MAX_BYTES))


def split_into_parts(name: str, content: bytes) -> list[Part]:
    """Return the file itself, or the parts of a mail that are forms, with the mail's date.

    An HTML body is used only if the mail has no other part with a form; an attached HTML page
    counts as a file.
    """
    if not name.lower().endswith(".eml"):
        return [Part(name, content)]
    mail = email.message_from_bytes(content)
    at = _mail_date(mail)
    plain: list[Part] = []
    pages: list[Part] = []
    for piece in mail.walk():
        payload = piece.get_payload(decode=True)
        if not isinstance(payload, bytes):
            continue
        name_of_file = piece.get_filename() or ""
        kind = piece.get_content_type()
        if kind == "text/html" and name_of_file:
            kind = "application/octet-stream"
        charset = re.sub(r"[^\w.:+-]", "?", piece.get_content_charset() or "", flags=re.ASCII)
        declared = f"{kind}; charset={charset[:40]}" if charset else kind
        with suppress(LookupError, ValueError):  # keep a name that cannot be decoded
            name_of_file = str(make_header(decode_header(name_of_file)))
        attached = printable(name_of_file.replace("\0", ""))
        part = Part(f"{name}: {attached}" if attached else name, payload, at, declared)
        is_pdf = pdf_form.is_this_form(payload)
        text = "" if is_pdf else part.text().text
        if is_pdf or html_form.is_this_form(text) or text_form.is_this_form(text):
            (pages if kind.startswith("text/html") else plain).append(part)
    return plain or pages or [Part(name, content, at)]


def _mail_date(mail: Message) -> datetime | None:
    """Return when the last server received a mail, else its sender's date."""
    for text in (str(mail["Received"]).rpartition(";")[2], str(mail["Date"])):
        with suppress(OverflowError, TypeError, ValueError):  # try the next header
            at = parsedate_to_datetime(text)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def _html_to_text(html: str) -> str:
    """Return the text of an HTML page, with a line break around each block element."""
    try:
        reader = lxml.html.HTMLParser(encoding="utf-8")  # ignore the page's declaration
        tree = lxml.html.document_fromstring(html.encode(), parser=reader)
    except (lxml.etree.LxmlError, ValueError):
        return ""
    for element in tree.iter(*_BLOCKS):
        if element.tag != "br":
            element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    return "".join(map(str, tree.itertext()))


def read_form(
    part: Part, known: Sequence[str] = (), charset: str = ""
) -> tuple[str, Answers] | None:
    """Return the format and the answers of a form, or ``None`` for anything else.

    If the text was not read in its declared charset, a problem says so.
    """
    if pdf_form.is_this_form(part.content):
        return "pdf", pdf_form.read(part.content)
    text, note, is_guess = part.text(known, charset)
    if html_form.is_this_form(text):
        via, answers = "html", html_form.read(text)
    elif text_form.is_this_form(text):
        via, answers = "text", text_form.read(text)
    else:
        return None
    answers.is_guess = is_guess
    if note:
        answers.unread.insert(0, ParseProblem(0, note))
    return via, answers


# --- Reading returns --------------------------------------------------------------------------


class ReturnResult(NamedTuple):
    """The result of reading a returned file."""

    name: str
    outcome: str
    via: str | None = None
    recorded: RecordResult | None = None
    unread: tuple[ParseProblem, ...] = ()

    def summary(self) -> str:
        """``read, 2 questions, 15 new judgements``"""
        if self.recorded is None:
            return self.outcome
        stated = count(self.recorded.questions, "question")
        return f"{self.outcome}, {stated}, {count(self.recorded.judgements, 'new judgement')}"


def read_returns(
    store: CampaignStore,
    paths: str | Path | Iterable[str | Path],
    *,
    again: bool = False,
    charset: str = "",
) -> list[ReturnResult]:
    """Read returned files and folders in any format, each file completely or not at all.

    ``again`` re-reads known files; a path that does not exist then names a stored return.
    ``charset`` overrides the declared charsets.
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    files = [each for path in several for each in _files_at(store, Path(path), again)]
    return _record_all(store, files, again, charset)


def read_upload(store: CampaignStore, name: str, content: bytes) -> list[ReturnResult]:
    """Read an uploaded file."""
    return _record_all(store, split_into_parts(printable(name), content))


def read_stored(store: CampaignStore, return_id: int, charset: str = "") -> list[ReturnResult]:
    """Re-read a stored return, optionally in another charset."""
    parts = _stored_parts(store, returns.c.id == return_id)
    return _record_all(store, parts, again=True, charset=charset)


def _files_at(store: CampaignStore, path: Path, again: bool) -> Iterator[Path | Part]:
    """Yield the files at a path, or the stored returns of that name."""
    if path.is_dir():
        files = [each for each in path.rglob("*") if each.is_file()]
        yield from sorted(files, key=lambda each: (each.stat().st_mtime, each))
    elif path.exists():
        yield path
    elif not again:
        raise CitebedError(f"there is no file or folder {printable(path)}.")
    else:
        in_mail = returns.c.name.startswith(f"{path}: ", autoescape=True)
        stored = _stored_parts(store, (returns.c.name == str(path)) | in_mail)
        if not stored:
            raise CitebedError(f"there is no file or folder {printable(path)}, and no stored "
                               "return has that name.")  # fmt: skip
        yield from stored


def _stored_parts(store: CampaignStore, mine: ColumnElement[bool]) -> list[Part]:
    columns = [returns.c[field] for field in Part._fields]
    chosen = select(*columns).where(returns.c.campaign_id == store.id, mine)
    with store.reading() as tx:
        return [Part(*row) for row in tx.execute(chosen.order_by(returns.c.id))]


def _record_all(
    store: CampaignStore, files: Iterable[Path | Part], again: bool = False, charset: str = ""
) -> list[ReturnResult]:
    results = []
    for file in files:
        try:
            parts = read_parts(file) if isinstance(file, Path) else [file]
        except FormatError as error:
            unread = (ParseProblem(error.line or 0, error.what),)
            results.append(ReturnResult(str(file), "refused", unread=unread))
            continue
        works = (partial(_record_part, part, again, charset) for part in parts)
        results += [store.run_with_retry(work) for work in works]
    with store.writing() as tx:
        apply_rules(tx)
    return results


def _record_part(part: Part, again: bool, charset: str, tx: Transaction) -> ReturnResult:
    """Store a part unchanged, and record the answers in it."""
    digest = hashlib.sha256(part.content).hexdigest()
    mine = (returns.c.campaign_id == tx.id) & (returns.c.sha256 == digest)
    row = tx.execute(select(returns).where(mine)).first()
    if row is not None and not again:
        return ReturnResult(part.name, "known already")
    via: str | None = None
    answers: Answers | None = None
    form: FormRow | None = None
    unread: tuple[ParseProblem, ...] = ()
    try:
        read = read_form(part, _form_texts(tx, part), charset)
    except CitebedError as error:
        if charset:  # the organiser can choose another one
            raise
        unread = (ParseProblem(0, str(error)),)
    else:
        if read is None:
            what = "this is not a citebed form (text, PDF or answer file)"
            unread = (ParseProblem(0, what),)
        else:
            via, answers = read
            form = form_by_code(tx, answers.code)
            if form is None:
                what = f"the form {answers.code[:40]!r} does not belong to this campaign"
                unread = (ParseProblem(0, what),)
    if row is None:
        named = form or _form_named_in(tx, part.name, part.text().text)
        at = now()
        columns = part._asdict() | {"answered_at": min(part.answered_at or at, at)}
        columns |= {"sha256": digest, "via": via, "form_id": named.id if named else None}
        columns |= {"received_at": at, "undated": part.answered_at is None or None}
        row = tx.row(returns, tx.add(returns, campaign_id=tx.id, **columns))
    recorded = None
    if via and answers and form:
        source = Source(form.person_id, form.id, via, row.answered_at, row.id, bool(row.undated))
        recorded = record_answers(tx, form, answers, source)
        unread = (*answers.unread, *recorded.unread)
        has_answers = answers.questions or answers.ratings or answers.approved
        if not (unread or has_answers or answers.opted_out):
            what = "the form is empty; please read the file, the answers may be around it"
            unread = (ParseProblem(0, what),)
        tx.log("returned", f"author {form.person_id}", form.id, via=via)
    _list_problems(tx, row.id, unread)
    outcome = "refused" if recorded is None else "read in part" if unread else "read"
    return ReturnResult(part.name, outcome, via, recorded, unread)


def _form_texts(tx: Transaction, part: Part) -> list[str]:
    """Return the texts of a part's form, the judge's name first; form codes are ASCII."""
    if part.content.isascii():
        return []
    form = _form_named_in(tx, part.name, part.content.decode("latin-1"))
    return [] if form is None else list(load_sheet(tx, form).texts())


def _form_named_in(tx: Transaction, name: str, text: str) -> FormRow | None:
    """Return the form whose code occurs in the name or text of a part, if there is exactly one."""
    codes = dict.fromkeys(CODE.findall(f"{name}\n{text}".upper()))
    rows = [form_by_code(tx, code) for code in islice(codes, _MAX_CODES)]
    known = [form for form in rows if form is not None]
    return known[0] if len(known) == 1 else None


def _list_problems(tx: Transaction, return_id: int, unread: Iterable[ParseProblem]) -> None:
    """Store the problems of a return; settle earlier problems that this reading solved."""
    mine = problems.c.return_id == return_id
    listed = {(row.line, row.what): row for row in tx.execute(select(problems).where(mine))}
    for line, what in dict.fromkeys(unread):
        if listed.pop((line, what), None) is None:
            tx.add(problems, return_id=return_id, line=line, what=what)
    read_now = [row.id for row in listed.values() if row.settled_at is None]
    settled = {"settled_at": now(), "settled_by": READ_AGAIN}
    tx.execute(update(problems).where(problems.c.id.in_(read_now)).values(settled))


# --- Unreadable returns -----------------------------------------------------------------------


def load_return(tx: Transaction, return_id: int) -> Row[Any]:
    """Load a stored return with the code of its form, if known."""
    mine = (returns.c.id == return_id) & (returns.c.campaign_id == tx.id)
    chosen = select(returns, forms.c.code).outerjoin(forms, forms.c.id == returns.c.form_id)
    row = tx.execute(chosen.where(mine)).first()
    if row is None:
        raise CitebedError(f"unknown return {return_id}.")
    return row


def return_text(tx: Transaction, returned: Row[Any]) -> str:
    """Return the text of a return, with the line numbers of its problems; "" for a PDF."""
    part = Part(*(getattr(returned, name) for name in Part._fields))
    return "" if pdf_form.is_this_form(part.content) else part.text(_form_texts(tx, part)).text


def possible_charsets(returned: Row[Any]) -> list[tuple[str, str]]:
    """Return the charsets in which a return can be read, each with some non-ASCII words."""
    part = Part(*(getattr(returned, name) for name in Part._fields))
    if pdf_form.is_this_form(part.content) or part.content.isascii():
        return []
    samples = []
    for name, _ in possible_texts(part.content):
        words = part.text(charset=name).text.split()
        foreign = dict.fromkeys(word for word in words if not word.isascii())
        samples.append((name, printable(" ".join(islice(foreign, 4)))[:60]))
    return samples


def enter_answers(
    store: CampaignStore, answers: Answers, who: str = ENTERED, return_id: int | None = None
) -> RecordResult:
    """Enter answers for an author, for example from an unreadable form.

    All answers are stored, or none and an error says why. The organiser sees the stored answers,
    so these count as newer. The log records who entered them, and from which return.
    """

    def work(tx: Transaction) -> RecordResult:
        form = load_form(tx, answers.code)
        if return_id is not None:
            load_return(tx, return_id)
        recorded = record_answers(
            tx, form, answers, Source(form.person_id, form.id, ENTERED, now())
        )
        if recorded.unread:
            raise CitebedError("; ".join(what for _, what in recorded.unread[:5]) + ".")
        detail = {"judgements": recorded.judgements, "return": return_id}
        tx.log("entered", who, form.id, **detail)
        return recorded

    recorded = store.run_with_retry(work)
    with store.writing() as tx:
        apply_rules(tx)
    return recorded


def settle_problems(store: CampaignStore, *wanted: int | str, who: str = "organiser") -> int:
    """Settle problems by number, or all problems of a file by name; return how many were open.

    An unknown number or name is an error, and nothing is settled.
    """
    with store.writing() as tx:
        numbers: set[int] = set()
        for each in wanted:
            column = problems.c.id if isinstance(each, int) else returns.c.name
            chosen = select(problems.c.id).join(returns, returns.c.id == problems.c.return_id)
            known = tx.scalars(chosen.where(returns.c.campaign_id == store.id, column == each))
            if not (found := set(known)):
                what = "problem" if isinstance(each, int) else "file with problems"
                raise CitebedError(f"the campaign has no {what} '{each}'.")
            numbers |= found
        open_ones = problems.c.id.in_(numbers) & problems.c.settled_at.is_(None)
        done = update(problems).where(open_ones).values(settled_at=now(), settled_by=who)
        return int(tx.execute(done).rowcount)
