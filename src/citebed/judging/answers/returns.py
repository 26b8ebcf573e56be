"""Whatever came back: filled text forms, PDFs, HTML answer files, or mails that carry them.

Every file is kept as it came, with its hash: the same file again changes nothing. What could not
be read of it is listed with its line for the organiser, and is never guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, select, update

from citebed.errors import CitebedError, FormatError
from citebed.judging.answers.answering import Recorded, record
from citebed.judging.answers.pieces import Part, parts_in, parts_of, read_form, readable_in
from citebed.judging.asking.assigning import sheet_of
from citebed.judging.asking.links import CODE, FormRow, form_by_code
from citebed.judging.asking.questions import put_rules_on_record
from citebed.judging.forms import pdf_form
from citebed.judging.forms.sheet import Answers, Unread
from citebed.judging.store.handle import CampaignStore, Transaction
from citebed.judging.store.judgements import Source
from citebed.judging.store.schema import forms, now, problems, returns
from citebed.wording import count, printable

READ_ANEW = "read anew"
"""Who settles a problem that a second reading does not have."""
ENTERED = "organiser"
"""The way of an answer that an organiser typed."""
_MOST_CODES = 20


class Returned(NamedTuple):
    """What became of a returned file."""

    name: str
    outcome: str
    via: str | None = None
    recorded: Recorded | None = None
    unread: tuple[Unread, ...] = ()

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
) -> list[Returned]:
    """Take in what came back, files or folders in any of the forms; each whole or not at all.

    With ``again``, what is known already is read anew; a name that is no file on the disk is that
    of a return that is stored. ``charset`` reads all of them in that charset.
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    files = [each for path in several for each in _files_at(store, Path(path), again)]
    return _take_all(store, _pieces(files), again, charset)  # all are there before one is taken in


def _pieces(files: Iterable[Path | Part]) -> Iterator[Part | Returned]:
    for file in files:
        try:
            yield from parts_of(file) if isinstance(file, Path) else [file]
        except FormatError as error:
            unread = (Unread(error.line or 0, error.what),)
            yield Returned(str(file), "refused", unread=unread)


def read_uploaded(store: CampaignStore, name: str, content: bytes) -> list[Returned]:
    """Take in a file that somebody sends, as if it lay in a folder."""
    return _take_all(store, parts_in(printable(name), content), again=False)


def read_stored(store: CampaignStore, return_id: int, charset: str = "") -> list[Returned]:
    """Read one return anew, as it is stored, or in a charset that somebody chose."""
    return _take_all(store, _stored(store, returns.c.id == return_id), again=True, charset=charset)


def _files_at(store: CampaignStore, path: Path, again: bool) -> Iterator[Path | Part]:
    """The files that a path names, or what is stored under its name."""
    if path.is_dir():
        files = [each for each in path.rglob("*") if each.is_file()]
        yield from sorted(files, key=lambda each: (each.stat().st_mtime, each))
    elif path.exists():
        yield path
    elif stored := _stored(store, _under(str(path))) if again else []:
        yield from stored
    else:
        more = ", and no return of that name is stored" if again else ""
        raise CitebedError(f"there is no file or folder {printable(path)}{more}.")


def _under(name: str) -> ColumnElement[bool]:
    """What came under a name, or in a mail of that name."""
    return (returns.c.name == name) | returns.c.name.startswith(f"{name}: ", autoescape=True)


def _stored(store: CampaignStore, mine: ColumnElement[bool]) -> list[Part]:
    columns = [returns.c[field] for field in Part._fields]
    chosen = select(*columns).where(returns.c.campaign_id == store.id, mine)
    with store.reading() as tx:
        return [Part(*row) for row in tx.execute(chosen.order_by(returns.c.id))]


def _take_all(
    store: CampaignStore, pieces: Iterable[Part | Returned], again: bool, charset: str = ""
) -> list[Returned]:
    done = [
        each if isinstance(each, Returned) else store.trying(partial(_take, each, again, charset))
        for each in pieces
    ]
    put_rules_on_record(store)
    return done


def _take(part: Part, again: bool, charset: str, tx: Transaction) -> Returned:
    digest = hashlib.sha256(part.content).hexdigest()
    mine = (returns.c.campaign_id == tx.id) & (returns.c.sha256 == digest)
    known = tx.execute(select(returns).where(mine)).first()
    if known is not None and not again:
        return Returned(part.name, "known already")
    via, answers, unread = _read(part, _known_texts(tx, part), charset)
    form = form_by_code(tx, answers.code) if answers else None
    if answers and form is None:
        unread = (Unread(0, f"the form {answers.code[:40]!r} is of another campaign, or of none"),)
    row = known or _store_return(
        tx, part, digest, via, form or _named(tx, part.name, part.text().text)
    )
    recorded = None
    if via and answers and form:
        at = (row.answered_at, row.id, bool(row.undated))
        source = Source(form.person_id, form.id, via, *at)
        recorded = record(tx, form, answers, source)
        unread = (*answers.unread, *recorded.unread) or _nothing_read(answers)
        tx.log("returned", f"author {form.person_id}", form.id, via=via)
    _list_problems(tx, row.id, unread)
    outcome = "refused" if recorded is None else "read in part" if unread else "read"
    return Returned(part.name, outcome, via, recorded, unread)


def _known_texts(tx: Transaction, part: Part) -> list[str]:
    """Return what the form of a piece says, the judge's name first; its code is ASCII."""
    if part.content.isascii():
        return []
    form = _named(tx, part.name, part.content.decode("latin-1"))
    return [] if form is None else list(sheet_of(tx, form).texts())


def _read(
    part: Part, known: Sequence[str], charset: str
) -> tuple[str | None, Answers | None, tuple[Unread, ...]]:
    """The way a piece was answered and its answers, or why it has none."""
    try:
        answers = read_form(part, known, charset)
    except CitebedError as error:
        if charset:  # somebody chose it, and can choose another
            raise
        return None, None, (Unread(0, str(error)),)
    if answers is None:
        return None, None, (Unread(0, "no form of ours: neither text, PDF nor answer file"),)
    return *answers, ()


def _store_return(
    tx: Transaction, part: Part, digest: str, via: str | None, form: FormRow | None
) -> Row[Any]:
    """Store a piece as it came."""
    at = now()
    row = {"campaign_id": tx.id, "sha256": digest, "via": via, "form_id": form.id if form else None}
    row |= part._asdict() | {"answered_at": min(part.answered_at or at, at), "received_at": at}
    return tx.row(returns, tx.add(returns, **row, undated=part.answered_at is None or None))


def _named(tx: Transaction, name: str, text: str) -> FormRow | None:
    """The form whose code is in the name or the text of a piece, if it is only one."""
    codes = dict.fromkeys(CODE.findall(f"{name}\n{text}".upper()))
    rows = [form_by_code(tx, code) for code in islice(codes, _MOST_CODES)]
    known = [form for form in rows if form is not None]
    return known[0] if len(known) == 1 else None


def _list_problems(tx: Transaction, return_id: int, unread: Iterable[Unread]) -> None:
    """List what could not be read; what an earlier reading listed and this one reads is settled."""
    mine = problems.c.return_id == return_id
    listed = {(row.line, row.what): row for row in tx.execute(select(problems).where(mine))}
    for line, what in dict.fromkeys(unread):
        if listed.pop((line, what), None) is None:
            tx.add(problems, return_id=return_id, line=line, what=what)
    read_now = [row.id for row in listed.values() if row.settled_at is None]
    settled = {"settled_at": now(), "settled_by": READ_ANEW}
    tx.execute(update(problems).where(problems.c.id.in_(read_now)).values(settled))


def _nothing_read(answers: Answers) -> tuple[Unread, ...]:
    """A form that came back as it went out: the answers may stand elsewhere in the mail."""
    if answers.questions or answers.ratings or answers.approved or answers.opted_out:
        return ()
    return (Unread(0, "nothing is filled in; read it yourself, the answer may stand around it"),)


# --- what an organiser does about a return that could not be read whole ----------------------


def returned_file(tx: Transaction, return_id: int) -> Row[Any]:
    """What came back, as it is stored, with the code of its form if that is known."""
    mine = (returns.c.id == return_id) & (returns.c.campaign_id == tx.id)
    chosen = select(returns, forms.c.code).outerjoin(forms, forms.c.id == returns.c.form_id)
    row = tx.execute(chosen.where(mine)).first()
    if row is None:
        raise CitebedError(f"there is no return {return_id} in this campaign.")
    return row


def text_of(tx: Transaction, returned: Row[Any]) -> str:
    """The text of what came back, in the lines that problems name; a PDF has none."""
    part = _part_of(returned)
    return "" if pdf_form.is_this_form(part.content) else part.text(_known_texts(tx, part)).text


def _part_of(returned: Row[Any]) -> Part:
    return Part(*(getattr(returned, name) for name in Part._fields))


def charsets_of(returned: Row[Any]) -> list[tuple[str, str]]:
    """Return the charsets in which a return can be read, each with a few words that differ."""
    part = _part_of(returned)
    if pdf_form.is_this_form(part.content) or part.content.isascii():
        return []
    return [(name, _sample(part.text(charset=name).text)) for name, _ in readable_in(part.content)]


def _sample(text: str) -> str:
    """Return the first words of a text that are not ASCII."""
    words = dict.fromkeys(word for word in text.split() if not word.isascii())
    return printable(" ".join(islice(words, 4)))[:60]


def enter_answers(
    store: CampaignStore, answers: Answers, who: str = ENTERED, return_id: int | None = None
) -> Recorded:
    """Answer for an author who said so in words, or in a form that could not be read.

    All of it is put down, or nothing with the reason. Whoever enters it sees what stands, so it
    counts from now on; who typed it, and from which return, is on record.
    """

    def work(tx: Transaction) -> Recorded:
        form = form_by_code(tx, answers.code)
        if form is None:
            raise CitebedError(f"there is no form '{answers.code[:40]}' in this campaign.")
        if return_id is not None:
            returned_file(tx, return_id)
        source = Source(form.person_id, form.id, ENTERED, now())
        recorded = record(tx, form, answers, source)
        if recorded.unread:
            raise CitebedError("; ".join(what for _, what in recorded.unread[:5]) + ".")
        detail = {"judgements": recorded.judgements, "return": return_id}
        tx.log("entered", who, form.id, **detail)
        return recorded

    recorded = store.trying(work)
    put_rules_on_record(store)
    return recorded


def settle_problems(store: CampaignStore, *wanted: int | str, who: str = "organiser") -> int:
    """Deal with problems by their numbers, or with all of a file by its name; how many were open.

    A number or a name that is none of the campaign's is an error, and nothing is settled then.
    """
    with store.writing() as tx:
        numbers: set[int] = set()
        for each in wanted:
            column = problems.c.id if isinstance(each, int) else returns.c.name
            chosen = select(problems.c.id).join(returns, returns.c.id == problems.c.return_id)
            mine = chosen.where(returns.c.campaign_id == store.id, column == each)
            known = set(tx.scalars(mine))
            if not known:
                what = "problem" if isinstance(each, int) else "file with problems"
                raise CitebedError(f"there is no {what} '{each}' in this campaign.")
            numbers |= known
        fresh = problems.c.id.in_(numbers) & problems.c.settled_at.is_(None)
        done = update(problems).where(fresh).values(settled_at=now(), settled_by=who)
        return int(tx.execute(done).rowcount)
