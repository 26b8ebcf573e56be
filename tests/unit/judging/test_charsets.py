"""Mails from everywhere: a question is stored in the letters in which its author wrote it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from tests.unit.judging.answers.test_returns import _filled, _sheet

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.judging.answers.pieces import decoded
from citebed.judging.store.schema import now, problems, returns, wordings

QUESTIONS = {
    "iso-8859-2": "Jak starzeją się filtry żywych źródeł?",
    "koi8-r": "Как стареют фильтры потоков?",
    "windows-1251": "Как стареют фильтры потоков?",
    "iso-8859-1": "Wie altern “Filter” für Ströme?",  # quotes that only Windows-1252 has
    "gb2312": "过滤器如何老化,陶喆?",  # the last letter is of the larger GBK, as mailers send it
    "big5": "過濾器如何老化?",
    "iso-2022-jp": "フィルタはどう老化するか?",
    "shift_jis": "フィルタはどう老化するか①?",
    "euc-kr": "필터는 어떻게 노화하는가?",
    "utf-8": "Wie altern Filter für Ströme?",
}
MEANT = {"iso-8859-1": "cp1252", "gb2312": "gbk", "shift_jis": "cp932"}
Write = Callable[[str, bytes], bytes]


def _head(kind: str, more: str = "") -> str:
    return f"Content-Type: {kind}\nContent-Transfer-Encoding: base64\n{more}\n"


def _in_the_text(charset: str, form: bytes) -> bytes:
    body = base64.encodebytes(form).decode()
    return f"MIME-Version: 1.0\n{_head(f'text/plain; charset={charset}')}{body}".encode()


def _in_a_page(charset: str, form: bytes) -> bytes:
    lines = b"<br>".join(form.replace(b"<", b"&lt;").splitlines())
    body = base64.encodebytes(b"<html><body>" + lines + b"</body></html>").decode()
    return f"MIME-Version: 1.0\n{_head(f'text/html; charset={charset}')}{body}".encode()


def _attached(charset: str, form: bytes) -> bytes:
    body = base64.encodebytes(form).decode()
    disposition = 'Content-Disposition: attachment; filename="form.txt"\n'
    return (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n'
        "Content-Type: text/plain\n\nSee the file.\n--b\n"
        f"{_head(f'text/plain; charset={charset}', disposition)}{body}\n--b--\n"
    ).encode()


def _form(campaign: Campaign, question: str, charset: str) -> bytes:
    return _filled(_sheet(campaign), question, {1: "4"}).encode(charset, "replace")


@pytest.mark.parametrize("charset", QUESTIONS)
@pytest.mark.parametrize("write", [_in_the_text, _in_a_page, _attached])
def test_a_mail_is_read_in_the_charset_that_it_declares(
    asked: Campaign, tmp_path: Path, charset: str, write: Write
) -> None:
    form = _form(asked, QUESTIONS[charset], MEANT.get(charset, charset))
    (tmp_path / "m.eml").write_bytes(write(charset, form))
    (done,) = asked.returns(tmp_path / "m.eml")
    assert (done.outcome, done.unread) == ("read", ())
    assert asked.questions["stated"].to_list() == [QUESTIONS[charset]]


def test_a_page_without_a_charset_in_its_mail_is_read_by_its_own(
    asked: Campaign, tmp_path: Path
) -> None:
    form = _form(asked, QUESTIONS["koi8-r"], "koi8-r").replace(b"<", b"&lt;")
    page = b'<?xml version="1.0" encoding="koi8-r"?><html><head><meta http-equiv="Content-Type" '
    page += b'content="text/html; charset=KOI8-R"></head><body><pre>' + form + b"</pre></body>"
    mail = b"MIME-Version: 1.0\nContent-Type: text/html\nContent-Transfer-Encoding: 8bit\n\n" + page
    (tmp_path / "m.eml").write_bytes(mail)
    (done,) = asked.returns(tmp_path / "m.eml")
    assert done.outcome == "read"
    assert asked.questions["stated"].to_list() == [QUESTIONS["koi8-r"]]


@pytest.mark.parametrize(
    ("declared", "written", "told"),
    [
        ("x-unknown", "cp1252", "'x-unknown', which nobody knows: read as Windows-1252"),
        ("utf-8", "cp1252", "not the 'utf-8' that it declares: read as Windows-1252"),
        ("us-ascii", "utf-8", "not the 'us-ascii' that it declares: read as UTF-8"),
        ("punycode", "utf-8", "'punycode', which nobody knows: read as UTF-8"),
        ("base64", "utf-8", "'base64', which nobody knows: read as UTF-8"),
    ],
)
def test_a_guess_is_told_and_listed(
    asked: Campaign, tmp_path: Path, declared: str, written: str, told: str
) -> None:
    question = "Wie altern Filter für Ströme?"
    mail = _in_the_text(declared, _form(asked, question, written))
    (tmp_path / "m.eml").write_bytes(mail)
    (done,) = asked.returns(tmp_path / "m.eml")
    assert done.outcome == "read in part"
    assert told in done.unread[0].what
    assert told in asked.problems["what"][0]
    assert asked.questions["stated"].to_list() == [question]


@pytest.mark.parametrize("charset", ["iso-2022-jp", "cp1252"])
def test_a_file_that_is_not_utf_8_is_told_too(
    asked: Campaign, tmp_path: Path, charset: str
) -> None:
    question = QUESTIONS.get(charset, "Wie altern Filter für Ströme?")
    (tmp_path / "f.txt").write_bytes(_form(asked, question, charset))
    (done,) = asked.returns(tmp_path / "f.txt")
    assert asked.questions["stated"].to_list() == [question]
    names = {"iso-2022-jp": "ISO-2022-JP", "cp1252": "Windows-1252"}
    assert f"read as {names[charset]}" in done.unread[0].what


def test_the_name_of_an_attached_file_is_shown_in_its_letters(
    asked: Campaign, tmp_path: Path
) -> None:
    name = f"=?koi8-r?B?{base64.b64encode('анкета.txt'.encode('koi8-r')).decode()}?="
    mail = _attached("koi8-r", _form(asked, QUESTIONS["koi8-r"], "koi8-r"))
    (tmp_path / "m.eml").write_bytes(mail.replace(b"form.txt", name.encode()))
    (done,) = asked.returns(tmp_path / "m.eml")
    assert done.name == "m.eml: анкета.txt"


def test_what_is_known_is_read_anew_when_asked_for(asked: Campaign, tmp_path: Path) -> None:
    """A campaign that took the mail in before charsets were read: mojibake, and a problem."""
    question = QUESTIONS["koi8-r"]
    form = _form(asked, question, "koi8-r")
    path = tmp_path / "m.eml"
    path.write_bytes(b"Date: Mon, 05 Jan 2026 10:00:00 +0000\n" + _in_the_text("utf-8", form))
    asked.returns(path)
    assert asked.questions["stated"][0] != question
    (stale,) = asked.problems["what"].to_list()
    path.write_bytes(b"Date: Mon, 05 Jan 2026 10:00:00 +0000\n" + _in_the_text("koi8-r", form))
    assert asked.returns(path)[0].outcome == "known already"
    (done,) = asked.returns(path, again=True)
    assert done.outcome == "read"
    assert done.recorded is not None
    assert done.recorded[:3] == (1, 0, 1)
    assert asked.questions["stated"].to_list() == [question]
    assert asked.problems.is_empty()
    with asked.reading() as tx:
        assert tx.scalars(select(returns.c.name)).all() == ["m.eml"]
        row = tx.execute(select(problems)).one()
        assert (row.what, row.settled_by) == (stale, "read anew")


def test_a_stored_return_is_read_anew_by_its_name(asked: Campaign, tmp_path: Path) -> None:
    form = _form(asked, QUESTIONS["koi8-r"], "koi8-r")
    (tmp_path / "m.eml").write_bytes(_attached("koi8-r", form))
    asked.returns(tmp_path / "m.eml")
    (tmp_path / "m.eml").unlink()
    for name in ("m.eml", "m.eml: form.txt"):
        (done,) = asked.returns(name, again=True)
        assert (done.outcome, done.recorded and done.recorded[:3]) == ("read", (0, 0, 1))
    assert asked.questions["stated"].to_list() == [QUESTIONS["koi8-r"]]
    with pytest.raises(CitebedError, match="no return of that name"):
        asked.returns("other.eml", again=True)


def test_reading_anew_takes_no_later_text_back(asked: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(_form(asked, "Early?", "utf-8"))
    asked.returns(path)
    with asked.writing() as tx:
        row = {"question_id": 1, "kind": "stated", "text": "Later?", "classes": []}
        tx.execute(insert(wordings).values(**row, who="author 1", via="web", at=now()))
    (done,) = asked.returns(path, again=True)
    assert "'Later?' stays" in done.unread[0].what
    assert asked.questions["stated"].to_list() == ["Later?"]


def test_a_long_text_in_any_declared_charset_takes_no_time() -> None:
    content = b"a-" * 500_000
    begun = time.monotonic()
    for charset in ("punycode", "idna", "utf-7", "unicode_escape", "rot13", "hex", "\0", "é"):
        assert decoded(content, charset).text == content.decode()
    assert time.monotonic() - begun < 5
    assert decoded(b"+2AA-", "utf-7").guess  # half a pair of surrogates is no text
