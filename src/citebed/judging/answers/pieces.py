"""What came back, in pieces that may be filled forms: a file, or the text and files of a mail.

A piece is kept as it came, with what the mail says of it: its kind and its charset.
"""

from __future__ import annotations

import codecs
import email
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

import lxml.etree
import lxml.html

from citebed.collection.formats.base import decode
from citebed.files.reading import read_small
from citebed.judging.forms import html_form, pdf_form, text_form
from citebed.judging.forms.sheet import Answers, Unread
from citebed.wording import printable

_BLOCKS = ("br", "p", "div", "li", "tr", "pre", "blockquote", "h1", "h2", "h3", "table", "ul", "ol")
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
LARGEST = 20 << 20
"""Bytes that a returned file may have."""


class Part(NamedTuple):
    """A piece that may be a filled form; ``content_type`` is what its mail says of it, if so.

    ``answered_at`` is known of mails only: a file's time tells when somebody kept or copied it.
    """

    name: str
    content: bytes
    answered_at: datetime | None = None
    content_type: str | None = None

    def text(self) -> Decoded:
        """Its text; a page that a mail has in place of a text is read as the lines it shows."""
        declared = Message()
        declared["Content-Type"] = self.content_type or "text/plain"
        charset = declared.get_content_charset()
        if declared.get_content_type() != "text/html":
            return decoded(self.content, charset)
        inside = _META.search(self.content[:4096])
        page = decoded(self.content, charset or (inside[1].decode() if inside else None))
        return page._replace(text=lines_of_html(page.text))


def parts_of(path: Path) -> list[Part]:
    """The pieces of a file on the disk."""
    return parts_in(path.name, read_small(path, LARGEST))


def parts_in(name: str, content: bytes) -> list[Part]:
    """The file itself, or those pieces of a mail that are forms, with the mail's date.

    A mail that has its text as HTML only is read as the lines that it shows.
    """
    if not name.lower().endswith(".eml"):
        return [Part(name, content)]
    mail = email.message_from_bytes(content)
    at = _date_of(mail)
    plain: list[Part] = []
    shown: list[Part] = []
    for piece in mail.walk():
        payload, attached = piece.get_payload(decode=True), _name_of(piece)
        if not isinstance(payload, bytes):
            continue
        part = Part(f"{name}: {attached}" if attached else name, payload, at, _declared(piece))
        if _is_form(part):
            is_page = part.content_type is not None and part.content_type.startswith("text/html")
            (shown if is_page else plain).append(part)
    return plain or shown or [Part(name, content, at)]


def _declared(piece: Message) -> str:
    """What a piece says of itself; a page that is attached is a file, not the mail's text."""
    kind = piece.get_content_type()
    if kind == "text/html" and piece.get_filename():
        kind = "application/octet-stream"
    charset = re.sub(r"[^\w.:+-]", "?", piece.get_content_charset() or "", flags=re.ASCII)
    return f"{kind}; charset={charset[:40]}" if charset else kind


def _name_of(piece: Message) -> str:
    """The name of an attached file, which may be in words of any charset."""
    name = piece.get_filename() or ""
    with suppress(LookupError, ValueError):  # else it is shown as it stands
        name = str(make_header(decode_header(name)))
    return printable(name.replace("\0", ""))


def _date_of(mail: Message) -> datetime | None:
    """When a mail came, by the last server on its way; else when its sender's clock says."""
    for text in (str(mail["Received"]).rpartition(";")[2], str(mail["Date"])):
        with suppress(OverflowError, TypeError, ValueError):  # else the next one may say it
            at = parsedate_to_datetime(text)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def lines_of_html(html: str) -> str:
    """The text of a page as lines: what stands in blocks of its own stands in lines of its own."""
    try:
        reader = lxml.html.HTMLParser(encoding="utf-8")  # whatever the page says of itself
        tree = lxml.html.document_fromstring(html.encode(), parser=reader)
    except (lxml.etree.LxmlError, ValueError):
        return ""
    for element in tree.iter(*_BLOCKS):
        if element.tag != "br":
            element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    return "".join(map(str, tree.itertext()))


def _is_form(part: Part) -> bool:
    if pdf_form.is_this_form(part.content):
        return True
    text = part.text().text
    return html_form.is_this_form(text) or text_form.is_this_form(text)


def read_form(part: Part) -> tuple[str, Answers] | None:
    """The answers in a piece and the way they were given; ``None`` if it is none of our forms.

    A charset that had to be guessed is told among what could not be read.
    """
    if pdf_form.is_this_form(part.content):
        return "pdf", pdf_form.read(part.content)
    text, guess = part.text()
    if html_form.is_this_form(text):
        via, answers = "html", html_form.read(text)
    elif text_form.is_this_form(text):
        via, answers = "text", text_form.read(text)
    else:
        return None
    if guess:
        answers.unread.insert(0, Unread(0, guess))
    return via, answers


_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_ext",
}
"""Charsets with a larger one of the same letters, which is what their senders use."""
_NO_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")
"""What Python calls encodings of text and no mail is written in."""
_JAPANESE = (b"\x1b$B", b"\x1b$@")
"""How ISO-2022-JP begins, whose bytes are all ASCII."""


class Decoded(NamedTuple):
    """A text, and how its charset was guessed; empty where nothing had to be."""

    text: str
    guess: str = ""


def decoded(content: bytes, charset: str | None = None) -> Decoded:
    """The text of a piece that declares this charset, or none: else by a guess, which is told.

    A charset is read as browsers read it, by the larger set that mailers mean: ``gb2312`` as
    GB 18030, ``iso-8859-1`` as Windows-1252.
    """
    if not charset:
        return _guessed(content, "it declares no charset, and is not UTF-8", declared=False)
    shown = printable(charset)[:40]
    try:
        text = content.decode(_codec(charset)).removeprefix("\ufeff").replace("\0", "")
        text.encode()  # UTF-7 can hold half a pair of surrogates, which is no text
        return Decoded(text)
    except UnicodeError:
        wrong = f"its bytes are not the '{shown}' that it declares"
    except (LookupError, ValueError):
        wrong = f"it declares the charset '{shown}', which nobody knows"
    return _guessed(content, wrong, declared=True)


def _codec(charset: str) -> str:
    """The codec for a declared charset; `LookupError` if there is none."""
    name = codecs.lookup(charset).name
    if name in _NO_CHARSETS:
        raise LookupError(name)
    return _MEANT.get(name, name)


def _guessed(content: bytes, wrong: str, *, declared: bool) -> Decoded:
    """UTF-8 where it is, ISO-2022-JP by its escapes, else Windows-1252; and which of them."""
    if any(mark in content for mark in _JAPANESE):
        try:
            return Decoded(content.decode("iso2022_jp_ext"), _guess_note(wrong, "ISO-2022-JP"))
        except UnicodeDecodeError:
            pass  # no such text after all: the next guess is told
    text, is_mended = decode(content)
    if not is_mended:
        return Decoded(text, _guess_note(wrong, "UTF-8") if declared else "")
    return Decoded(text, _guess_note(wrong, "Windows-1252"))


def _guess_note(wrong: str, guess: str) -> str:
    return f"{wrong}: read as {guess}. Look whether its words are right"
