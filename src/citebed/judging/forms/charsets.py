"""Decode the text of returned forms: find the charset in which a form was written."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from citebed.collection.formats.base import WIDE_MARKS, decode
from citebed.errors import CitebedError
from citebed.wording import printable

_SUPERSETS = {
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
"""The supersets that mail programs mean when they declare these charsets."""
_NOT_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")
"""Python codecs that are not charsets of mails."""
_JAPANESE_ESCAPES = (b"\x1b$B", b"\x1b$@")
"""Escape sequences of ISO-2022-JP, whose bytes are all ASCII."""


CHARSETS = (
    "utf-8", "windows-1252", "koi8-r", "windows-1251", "iso-8859-5", "ibm866", "koi8-u",
    "windows-1250", "iso-8859-2", "windows-1253", "iso-8859-7", "windows-1254", "windows-1255",
    "windows-1256", "windows-1257", "windows-1258", "windows-874", "gb18030", "big5", "shift_jis",
    "euc-jp", "iso-2022-jp", "euc-kr", "macintosh",
)  # fmt: skip
"""The charsets that organisers can choose from, the most likely first."""
_CODECS = {"windows-874": "cp874", "ibm866": "cp866", "macintosh": "mac-roman"}
_MAX_WORDS = 100
_EXAMINED = 400_000
"""How many characters of a text are examined."""
_COMPARED = 20_000
"""How many characters are compared between charsets."""
_TURNED_CASE = re.compile(r"\b[\u03b1-\u03ce\u0430-\u045f][\u0391-\u03ab\u0400-\u042f]{2,}")
_SIGN_IN_WORD = re.compile(r"[^\W\d_][\x80-\x9f¤¦§©¬®¶\u2116\u2500-\u259f\ufffd][^\W\d_]")
_SIGN_AT_WORD = re.compile(
    r"[^\x00-\x7f\w\s\u2010-\u2027\u3000-\u303f\uff00-\uff65]\w|\w[\u2500-\u259f]"
)
_BOX = re.compile(r"[\u2500-\u259f]")
_MAX_BOXES = 11
"""How many different signs the frames of a table have: ``─│┌┐└┘├┤┬┴┼``."""
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = [
    re.compile(letters)
    for letters in ("[a-zÀ-ʯ]", "[Ͱ-Ͽ]", "[Ѐ-ԯ]", "[א-ת]", "[\u0621-ۓ]", "[ก-ฮ]", "[ｦ-ﾟ]")
]
"""Letters of scripts that do not share a word; half-width katakana is the last."""


class DecodedText(NamedTuple):
    """A text, with a note if it was not read in its declared charset.

    ``is_guess``: nothing in the text confirms the charset.
    """

    text: str
    note: str = ""
    is_guess: bool = False


def decode_text(
    content: bytes, charset: str | None = None, known: Sequence[str] = ()
) -> DecodedText:
    """Decode a part with this declared charset (or none).

    ``known`` are texts of the form, the judge's name first. citebed uses the charset in which most
    of their words appear, and prefers the declared one. Without such words, it uses the declared
    charset unless its text looks garbled, and else guesses the most likely one. The declared
    charset is a guess too if another one gives another text that looks as good. As in browsers, a
    charset means its superset: ``gb2312`` is GB 18030, ``iso-8859-1`` is Windows-1252.
    """
    declared, wrong = _decode_declared(content, charset)
    is_plain = content.isascii() or content.startswith(tuple(WIDE_MARKS))
    if not is_plain and (words := list(distinctive_words(known))):
        found = _choose_by_words(content, declared, words, wrong)
        if found is not None:
            return found
    if declared is None:
        return _guess_charset(content, wrong, bool(charset))
    if is_plain or not (is_garbled(declared) or _is_probably_utf_8(content, declared)):
        others = () if is_plain else (text for _, text in possible_texts(content))
        return DecodedText(declared, is_guess=_is_ambiguous(content, declared, others))
    reason = f"its words look garbled in the declared charset '{printable(charset or '')[:40]}'"
    for name, text in possible_texts(content):
        if not is_garbled(text):
            return DecodedText(text, _charset_note(reason, name), is_guess=True)
    return DecodedText(declared, f"{reason} and in all others", is_guess=True)


def _decode_declared(content: bytes, charset: str | None) -> tuple[str | None, str]:
    """Return the text in its declared charset, or ``None`` and what is wrong with that."""
    if not charset:
        return None, _UNDECLARED
    shown = printable(charset)[:40]
    try:
        name = codecs.lookup(charset).name
        if name in _NOT_CHARSETS:
            raise LookupError(name)
        text = content.decode(_SUPERSETS.get(name, name))
        text = text.removeprefix("\ufeff").replace("\0", "")
        text.encode()  # refuse lone surrogates, which UTF-7 can encode
        return text, ""
    except UnicodeError:
        return None, f"its bytes are not valid in the declared charset '{shown}'"
    except (LookupError, ValueError):
        return None, f"its declared charset '{shown}' is unknown"


def decode_as(content: bytes, charset: str) -> str:
    """Decode a part in the organiser's charset; raise an error if that is impossible."""
    text, wrong = _decode_declared(content, _CODECS.get(charset, charset))
    if text is None:
        shown = printable(charset)[:40]
        why = "the charset is unknown" if "unknown" in wrong else "its bytes are not valid in it"
        raise CitebedError(f"the text cannot be read as '{shown}': {why}. Choose another charset, "
                           f"such as {', '.join(CHARSETS[:4])}.")  # fmt: skip
    return text


def possible_texts(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the charsets in which the bytes are valid, with the text in each."""
    for name in CHARSETS:
        text, _ = _decode_declared(content, _CODECS.get(name, name))
        if text is not None:
            yield name, text


def distinctive_words(known: Iterable[str]) -> Iterator[str]:
    """Yield the non-ASCII words of texts, which tell charsets apart.

    Words of scripts without spaces are cut into pairs, since a line may break anywhere in them.
    """
    seen: set[str] = set()
    for text in known:
        for word in _WORD.findall(text):
            step = 2 if word[0] >= "\u2e80" else len(word)
            pieces = (word[at : at + step] for at in range(0, len(word), step))
            for piece in pieces:
                if len(piece) > 1 and not piece.isascii() and piece not in seen:
                    seen.add(piece)
                    yield piece
                    if len(seen) == _MAX_WORDS:
                        return


def _choose_by_words(
    content: bytes, declared: str | None, words: Sequence[str], wrong: str
) -> DecodedText | None:
    """Use the charset in which most of the words appear; ``None`` if none appear."""

    def number(text: str) -> int:
        part = text[:_EXAMINED]
        return sum(word in part for word in words)

    readings = dict(possible_texts(content))
    numbers = {name: number(text) for name, text in readings.items()}
    most = max(numbers.values(), default=0)
    own = number(declared) if declared is not None else 0
    if max(most, own) == 0:
        return None
    best = [name for name in readings if numbers[name] == most]
    if declared is not None and own >= most:
        others = (readings[name] for name in best if own == most)
        return DecodedText(declared, is_guess=_is_ambiguous(content, declared, others))
    text = readings[best[0]]
    if wrong == _UNDECLARED and best[0] == "utf-8":
        return DecodedText(text)
    is_guess = len({readings[name] for name in best}) > 1
    word = next(word for word in words if word in text)
    wrong = wrong or f"'{word}' is garbled in the declared charset"
    note = f"{wrong}: read as {_NAMES[best[0]]}, in which '{word}' appears"
    return DecodedText(text, f"{note}. {_PLEASE_CHECK}" if is_guess else note, is_guess)


def is_garbled(text: str) -> bool:
    """Return whether most words look garbled: only accents, wrong case, signs or two scripts."""
    part = text[:_EXAMINED]
    foreign = {word for word in _WORD.findall(part) if not word.isascii() and len(word) > 2}
    odd = {
        word for word in foreign
        if sum("\xaa" <= letter <= "\u024f" for letter in word) * 3 > len(word) * 2
        or _is_odd(word)
    }  # fmt: skip
    if _TURNED_CASE.search(part):
        odd |= {word for word in foreign if word[1:].isupper()}
    if len(odd) > 1 and 2 * len(odd) >= len(foreign):
        return True
    return bool(_SIGN_IN_WORD.search(part)) or len(set(_BOX.findall(part))) > _MAX_BOXES


def _is_odd(word: str) -> bool:
    """Return whether a word has letters of two scripts, or capitals after small letters."""
    letters = "".join(set(word.casefold()))
    found = [script for script in _SCRIPTS if script.search(letters)]
    if len(found) > 1 or _SCRIPTS[-1] in found:
        return True
    return not (word.islower() or word.isupper() or word[1:].islower() or word.lower() == word)


def _number_odd(text: str) -> int:
    """Return how many words with non-ASCII characters look odd."""
    part = text[:_COMPARED]
    words = {word for word in _WORD.findall(part) if not word.isascii() and len(word) > 1}
    return sum(map(_is_odd, words)) + len(set(_SIGN_AT_WORD.findall(part)))


def _is_ambiguous(content: bytes, declared: str, others: Iterable[str]) -> bool:
    """Return whether another charset gives another text whose words look as good.

    Only the words count. Bytes that are valid UTF-8 and longer than ASCII are UTF-8.
    """
    with suppress(UnicodeDecodeError):
        if content.decode() == declared:
            return False
    words, most = _WORD.findall(declared[:_COMPARED]), _number_odd(declared)
    return any(
        _WORD.findall(text[:_COMPARED]) != words
        and _number_odd(text) <= most
        and not is_garbled(text[:_COMPARED])
        for text in others
    )


def _is_probably_utf_8(content: bytes, declared: str) -> bool:
    """Return whether UTF-8 text was declared to be in a single-byte charset."""
    try:
        return len(declared) == len(content) and len(content.decode()) < len(content)
    except UnicodeDecodeError:
        return False


def _guess_charset(content: bytes, wrong: str, declared: bool) -> DecodedText:
    """Try UTF-8, ISO-2022-JP by its escapes, then the most likely charset without garbling."""
    if any(mark in content for mark in _JAPANESE_ESCAPES):
        try:
            text = content.decode("iso2022_jp_ext")
            return DecodedText(text, _charset_note(wrong, "iso-2022-jp"), is_guess=True)
        except UnicodeDecodeError:
            pass  # not ISO-2022-JP after all; try the next guess
    text, is_mended = decode(content)
    if not is_mended:
        return DecodedText(text, _charset_note(wrong, "utf-8") if declared else "")
    if is_garbled(text):
        for name, other in possible_texts(content):
            if not is_garbled(other):
                return DecodedText(other, _charset_note(wrong, name), is_guess=True)
    return DecodedText(text, _charset_note(wrong, "windows-1252"), is_guess=True)


_UNDECLARED = "it declares no charset and is not UTF-8"
_PLEASE_CHECK = "Please check the text"
_NAMES = {name: name.upper() if name[0] != "w" else f"W{name[1:]}" for name in CHARSETS}


def _charset_note(wrong: str, charset: str) -> str:
    return f"{wrong}: read as {_NAMES[charset]}. {_PLEASE_CHECK}"
