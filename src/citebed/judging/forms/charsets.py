"""Bytes of a mail or file as text: by the charset that they declare, else by a guess that is told.

A charset is read as browsers read it, by the larger set that mailers mean: ``gb2312`` as GB 18030,
``iso-8859-1`` as Windows-1252.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

from citebed.collection.formats.base import decode
from citebed.wording import printable

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
    """The text of a piece that declares this charset, or none."""
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
            return Decoded(content.decode("iso2022_jp_ext"), _told(wrong, "ISO-2022-JP"))
        except UnicodeDecodeError:
            pass  # no such text after all: the next guess is told
    text, is_mended = decode(content)
    if not is_mended:
        return Decoded(text, _told(wrong, "UTF-8") if declared else "")
    return Decoded(text, _told(wrong, "Windows-1252"))


def _told(wrong: str, guess: str) -> str:
    return f"{wrong}: read as {guess}. Look whether its words are right"
