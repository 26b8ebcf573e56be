"""Mails from everywhere: a question is stored in the letters in which its author wrote it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from datetime import date
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import insert, select
from tests.campaigns import small_campaign, with_lists
from tests.unit.judging.test_returns import _filled, _sheet

import citebed
from citebed.errors import CitebedError
from citebed.judging import Campaign, new_campaign
from citebed.judging.assignments import assign_phase_one
from citebed.judging.forms.charsets import decode_text
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.judgements import Source
from citebed.judging.responses import record_answers
from citebed.judging.store.schema import forms, now, problems, returns, wordings

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


@pytest.mark.parametrize(
    ("write", "charset"),
    [
        *((_in_the_text, charset) for charset in QUESTIONS),
        *product((_in_a_page, _attached), ("koi8-r", "gb2312")),
    ],
)
def test_a_mail_is_read_in_its_declared_charset(
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
        ("x-unknown", "cp1252", "'x-unknown' is unknown: read as Windows-1252"),
        ("utf-8", "cp1252", "not valid in the declared charset 'utf-8': read as Windows-1252"),
        ("us-ascii", "utf-8", "not valid in the declared charset 'us-ascii': read as UTF-8"),
        ("punycode", "utf-8", "'punycode' is unknown: read as UTF-8"),
        ("base64", "utf-8", "'base64' is unknown: read as UTF-8"),
    ],
)
def test_a_guess_is_reported_and_listed(
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
def test_a_file_that_is_not_utf_8_is_reported_too(
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


def test_what_is_known_is_read_again_when_asked_for(asked: Campaign, tmp_path: Path) -> None:
    """A campaign that took the mail in before charsets were read: mojibake, and a problem."""
    question = "Πώς γερνούν τα φίλτρα των ροών;"
    form = _form(asked, question, "iso-8859-7")
    path = tmp_path / "m.eml"
    path.write_bytes(b"Date: Mon, 05 Jan 2026 10:00:00 +0000\n" + _in_the_text("utf-8", form))
    asked.returns(path)
    assert asked.questions["stated"][0] != question
    (stale,) = asked.problems["what"].to_list()
    path.write_bytes(b"Date: Mon, 05 Jan 2026 10:00:00 +0000\n" + _in_the_text("iso-8859-7", form))
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


def test_a_stored_return_is_read_again_by_its_name(asked: Campaign, tmp_path: Path) -> None:
    form = _form(asked, QUESTIONS["koi8-r"], "koi8-r")
    (tmp_path / "m.eml").write_bytes(_attached("koi8-r", form))
    asked.returns(tmp_path / "m.eml")
    (tmp_path / "m.eml").unlink()
    for name in ("m.eml", "m.eml: form.txt"):
        (done,) = asked.returns(name, again=True)
        assert (done.outcome, done.recorded and done.recorded[:3]) == ("read", (0, 0, 1))
    assert asked.questions["stated"].to_list() == [QUESTIONS["koi8-r"]]
    with pytest.raises(CitebedError, match="no stored return has that name"):
        asked.returns("other.eml", again=True)


def test_reading_again_takes_no_later_text_back(asked: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(_form(asked, "Early?", "utf-8"))
    asked.returns(path)
    with asked.writing() as tx:
        row = {"question_id": 1, "kind": "stated", "text": "Later?", "classes": []}
        tx.execute(insert(wordings).values(**row, who="author 1", via="web", at=now()))
    (done,) = asked.returns(path, again=True)
    assert "'Later?' stays" in done.unread[0].what
    assert asked.questions["stated"].to_list() == ["Later?"]


def _russian(folder: Path, collection: citebed.Workbench) -> Campaign:
    """A campaign whose only judge has a name that tells charsets apart."""
    path = folder / "russian.csv"
    path.write_text(
        "paper_id,title,authors,references\n"
        'p1,Старение фильтров,"Иван Петров <ivan@example.org>",d1;d2;d3\n',
        "utf-8",
    )
    url = str(folder / "c.sqlite")
    made = new_campaign(folder / "r", collection, path, database=url, contact="me@example.org")
    assign_phase_one(made, date(2026, 1, 1))
    return made


_PAIRS = [
    ("iso-8859-1", "koi8-r"),
    ("koi8-r", "windows-1251"),
    ("windows-1251", "koi8-r"),
    ("us-ascii", "koi8-r"),
    ("iso-8859-1", "utf-8"),
    ("windows-1252", "ibm866"),
    ("utf-8", "iso-8859-5"),
]


@pytest.mark.parametrize(("declared", "written"), _PAIRS)
def test_the_name_of_the_judge_shows_the_charset(
    demo: citebed.Workbench, tmp_path: Path, declared: str, written: str
) -> None:
    campaign = _russian(tmp_path, demo)
    question = QUESTIONS["koi8-r"]
    mail = tmp_path / "m.eml"
    mail.write_bytes(_in_the_text(declared, _form(campaign, question, written)))
    (done,) = campaign.returns(mail)
    assert campaign.questions["stated"].to_list() == [question]
    assert campaign.judgements["value"].to_list() == [4]
    assert "in which 'Иван' appears" in done.unread[0].what
    shown = written if written[0] != "w" else f"W{written[1:]}"
    assert f"read as {shown}".lower() in done.unread[0].what.lower()


@pytest.mark.parametrize(("declared", "written"), _PAIRS[:4])
def test_a_guess_replaces_no_stored_text_until_somebody_chooses_the_charset(
    asked: Campaign, tmp_path: Path, declared: str, written: str
) -> None:
    """The charset has none of the letters that Ada's form has beyond ASCII: nothing shows it."""
    good, other = "Как стареют фильтры?", QUESTIONS["koi8-r"]
    first, second = tmp_path / "1.eml", tmp_path / "2.eml"
    date_line = b"Date: Mon, 05 Jan 2026 %d:00:00 +0000\n"
    first.write_bytes(date_line % 10 + _in_the_text("utf-8", _form(asked, good, "utf-8")))
    second.write_bytes(date_line % 11 + _in_the_text(declared, _form(asked, other, written)))
    assert asked.returns(first)[0].outcome == "read"
    (done,) = asked.returns(second)
    assert asked.questions["stated"].to_list() == [good]
    assert (
        done.unread[-1].what == f"question 1: its charset is a guess, so the stored '{good}' stays"
    )
    assert "Please check the text" in done.unread[0].what
    with pytest.raises(
        CitebedError, match="cannot be read as 'utf-8': its bytes are not valid in it"
    ):
        asked.returns("2.eml", again=True, charset="utf-8")
    with pytest.raises(CitebedError, match="the charset is unknown"):
        asked.returns("2.eml", again=True, charset="klingon")
    assert asked.problems.height == 2
    (done,) = asked.returns("2.eml", again=True, charset=written)
    assert done.outcome == "read"
    assert asked.questions["stated"].to_list() == [other]
    assert asked.problems.is_empty()
    asked.returns("2.eml", again=True)  # the guess once more
    assert asked.questions["stated"].to_list() == [other]


def test_a_guess_replaces_no_comment_and_no_wording_of_phase_two(tmp_path: Path) -> None:
    campaign = with_lists(small_campaign(tmp_path), 2)
    with campaign.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.phase == 2).limit(1)).one()
    better, comment = "Wie altern Filter für Ströme?", "zu spät für Gewässer"
    source = Source(form.person_id, form.id, "text", now())
    told = Answers(form.code, ratings={(1, 1): Rating(1, comment)}, approved={1: better})
    garbled = better.encode("cp1252").decode("cp1251")
    guess = Answers(form.code, ratings={(1, 1): Rating(0, "zu spдt"), (1, 2): Rating(1, "nцtig")})
    guess.approved, guess.is_guess = {1: garbled}, True
    with campaign.writing() as tx:
        record_answers(tx, form, told, source)
        done = record_answers(tx, form, guess, source)
    table = campaign.judgements.filter(pl.col("phase") == 2)
    assert sorted(table.select("value", "comment").rows()) == [(0, comment), (1, "nцtig")]
    assert campaign.questions["text"][0] == better
    assert [what.partition(":")[0] for _, what in done.unread] == [
        "question 1, paper 1",
        "query 1",
    ]


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("iso-8859-1", "Où sont passés les étés où l'été était près de la forêt, à Évian ?"),
        ("iso-8859-2", "Zażółć gęślą jaźń; čeština žije. Őrült árvíztűrő tükörfúrógép"),
        ("iso-8859-1", "Hægt er að sjá áhrif þess á öðrum stöðum; smørrebrød på ærø"),
        ("windows-1254", "Şu köşe yaz köşesi, şu köşe kış köşesi: ığdır"),
        ("koi8-r", "ЭВМ и НИИ: Как стареют фильтры потоков в НИИЧаВо?"),
        ("windows-1253", "Πώς γερνούν τα φίλτρα των ροών;"),
        ("windows-1255", "כיצד מזדקנים מסננים?"),
    ],
)
def test_words_of_a_language_are_not_taken_for_garbled(charset: str, text: str) -> None:
    read = decode_text(text.encode(charset), charset)
    assert (read.text, read.note) == (text, "")


def test_a_long_text_in_any_declared_charset_takes_no_time() -> None:
    content = b"a-" * 500_000
    begun = time.monotonic()
    for charset in ("punycode", "idna", "utf-7", "unicode_escape", "rot13", "hex", "\0", "é"):
        assert decode_text(content, charset).text == content.decode()
    assert time.monotonic() - begun < 5
    assert decode_text(b"+2AA-", "utf-7").note  # half a surrogate pair is not text


SAMPLES = {
    "koi8-r": "Как стареют фильтры потоков данных?",
    "windows-1251": "Как стареют фильтры потоков данных?",
    "iso-8859-5": "Как стареют фильтры потоков данных?",
    "cp866": "Как стареют фильтры потоков данных?",
    "koi8-u": "Як старіють фільтри потоків, її зміст?",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "iso-8859-2": "Jak starzeją się filtry żywych źródeł?",
    "windows-1252": "Où sont passés les étés près de la forêt ?",
    "windows-1253": "Πώς γερνούν τα φίλτρα των ροών;",
    "iso-8859-7": "Πώς γερνούν τα φίλτρα των ροών;",
    "windows-1254": "Şu köşe yaz köşesi, şu köşe kış köşesi: ığdır",
    "windows-1255": "כיצד מזדקנים מסננים?",
    "windows-1256": "كيف تتقادم المرشحات؟",
    "windows-1257": "Kaip sensta srautų filtrai: ąčęėįšųūž?",
    "cp874": "ตัวกรองเสื่อมสภาพอย่างไร",
    "gb18030": "过滤器如何老化?",
    "big5": "過濾器如何老化?",
    "shift_jis": "フィルタはどう老化するか?",
    "euc-jp": "フィルタはどう老化するか?",
    "euc-kr": "필터는 어떻게 노화하는가?",
    "mac-roman": "Où sont passés les étés près de la forêt ?",
}
_CYRILLIC = ("koi8-r", "windows-1251", "iso-8859-5", "cp866")


def _ascii_form(charset: str) -> tuple[str, bytes]:
    """A filled form with only ASCII names, and its bytes."""
    text = f"Form: AAAA-1111\nFor Ada Lovelace\n\nQUESTION 1:\n{SAMPLES[charset]}\n"
    return text, text.encode(charset)


@pytest.mark.parametrize("written", SAMPLES)
def test_an_unconfirmed_charset_is_right_or_reported_as_a_guess(written: str) -> None:
    """The judge's known name is ASCII, so only the words themselves can show the charset."""
    text, content = _ascii_form(written)
    for declared in SAMPLES:
        read = decode_text(content, declared, ["Ada Lovelace"])
        assert read.text == text or read.is_guess, declared
        if written == declared:
            assert (read.text, read.note) == (text, "")
        elif {written, declared} <= set(_CYRILLIC):
            assert read.text == text
            assert "Please check the text" in read.note


def test_a_name_with_the_same_bytes_in_two_charsets_does_not_choose_between_them() -> None:
    """ "Müller" is the same in Windows-1250 and Windows-1252; the question is not."""
    content = "For Eva Müller\nQUESTION 1:\nPříliš žluťoučký kůň\n".encode("windows-1250")
    assert decode_text(content, "windows-1252", ["Eva Müller"]).is_guess
    assert not decode_text(content, "windows-1250", ["Eva Müller"]).is_guess
    plain = "For Eva Müller\nQUESTION 1:\nfür Ströme\n".encode("windows-1252")
    assert not decode_text(plain, "windows-1252", ["Eva Müller"]).is_guess
