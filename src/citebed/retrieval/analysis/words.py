"""Split text into words by Unicode's word breaks (UAX #29), as Lucene's StandardTokenizer does.

A word is a run of letters and digits with the characters that join them (``can't``, ``3.14``,
``snake_case``); a run of katakana, or of a script without blanks such as Thai; a single ideograph
or hiragana; or an emoji. Accents and format characters belong to the character before them. All
other characters separate words. A word of more than 255 UTF-16 units is cut there, as in Lucene.

Each letter is lowered by itself, as in Lucene's LowerCaseFilter: ``İ`` becomes ``i``, and a sigma
never becomes a final sigma.

Most text is ASCII, where the rules are simple: replace every character that belongs to no word with
a blank, and split at blanks. Other text is first cut at blanks, which no rule crosses, into
stretches with and without other characters. One long regular expression, compiled when first
needed, splits the stretches that are not ASCII. It takes the first kind of word that matches. If
several kinds may match, or a word may be too long, the code looks for the longest word at each
position.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import pairwise

from citebed.text.regex import compile_regex

MAX_UNITS = 255
# Stretches of text of this length; a word that is too long fills at least one of them.
_STRETCH = (MAX_UNITS + 1) // 2

_MID = ".,;:'"
_ASCII_LOWER = "".join(
    char.lower() if char.isalnum() or char == "_" or char in _MID else " "
    for char in map(chr, range(128))
)
_LOOSE_MID = re.compile(r"['.:,;](?!(?<=[a-z]['.:])[a-z]|(?<=[0-9]['.,;])[0-9])")
_OTHER = re.compile(r"[^\x00-\x7f]")
_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
# Characters that are letters or emoji, depending on the next character.
_LETTERS_AND_EMOJI = frozenset("ℹⓂ🅰🅱🅾🅿")


def words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case and in order."""
    if text.isascii():
        return _ascii_words(text)
    if len(text.encode("utf-8", "surrogatepass")) > 1.2 * len(text):
        return _other_words(text)
    found: list[str] = []
    for part in _parts(text):
        found += _ascii_words(part) if part.isascii() else _other_words(part)
    return found


def word_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Return the words of ``text``, with the start and end of each."""
    lower, at = _lower(text), 0  # same length as the text: each letter is lowered by itself
    for word in words(text):
        start = lower.index(word, at)
        at = start + len(word)
        yield word, start, at


def words_and_pairs(text: str) -> list[str]:
    """Return the words of ``text``, and all pairs of neighbours in each run of ideographs.

    Blanks do not separate words there, and most words have one or two ideographs.
    """
    if text.isascii():
        return _ascii_words(text)
    return words(text) + [a + b for run in _RUN.findall(text) for a, b in pairwise(run)]


def _parts(text: str) -> Iterator[str]:
    """Cut the text at blanks into parts that are ASCII and parts that are not."""
    at = 0
    for match in _OTHER.finditer(text):
        if match.start() >= at:
            start = max(at, text.rfind(" ", at, match.start()))
            end = text.find(" ", match.end())
            if at < start:
                yield text[at:start]
            yield text[start : end if end >= 0 else len(text)]
            at = end if end >= 0 else len(text)
    yield text[at:]


def _ascii_words(text: str) -> list[str]:
    spaced = _LOOSE_MID.sub(" ", text.translate(_ASCII_LOWER))
    found = spaced.split()
    if "_" in text:
        found = [word for word in found if word.strip("_")]
    # If every stretch of the text has a blank, no word is too long.
    ends = len(spaced) - _STRETCH + 1
    if all(" " in spaced[at : at + _STRETCH] for at in range(0, ends, _STRETCH)):
        return found
    cut = [_longest_words(word) if len(word) > MAX_UNITS else [word] for word in found]
    return [word for pieces in cut for word in pieces]


def _other_words(text: str) -> list[str]:
    if not _LETTERS_AND_EMOJI.isdisjoint(text):
        return _longest_words(text)
    found = _pattern(_units(text) > len(text)).findall(_lower(text))
    if max(map(len, found), default=0) > MAX_UNITS // 2:
        return _longest_words(text)
    return found


def _lower(text: str) -> str:
    """Lower each letter by itself. Python's ``lower`` looks at neighbours for these two only."""
    return text.replace("İ", "i").replace("Σ", "σ").lower()


def _units(text: str) -> int:
    """Return the number of UTF-16 units of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# --- The rules as expressions ---------------------------------------------------------------

_JOINER = "\u200d"
_EMOJI_LOOK = "\ufe0f"
_LOOKS = "\ufe0e\ufe0f"
_FLAG_HALF = "[\U0001f1e6-\U0001f1ff]"
_SKIN = "[\U0001f3fb-\U0001f3ff]"
_TAGS = "[\U000e0020-\U000e007e]++\U000e007f"
_KEYCAP = "\u20e3"
# The number of joining characters that begin a word is limited: without a limit the expression
# would read a long row of them, with nothing to join, again from each position.
_ENOUGH = str(MAX_UNITS)


@cache
def word_break() -> dict[str, str]:
    """Unicode's Word_Break classes by name: hexadecimal code points and ranges, ends included."""
    return tomllib.loads((resources.files(__package__) / "word_break.toml").read_text("utf-8"))


def _one_of(*classes: str, astral: bool, without: str = "") -> str:
    """Return the set of characters of some classes; without ``astral`` only BMP characters."""
    ranges = []
    for part in " ".join(word_break()[name] for name in classes).split():
        low, _, high = part.partition("-")
        first, last = chr(int(low, 16)), chr(int(high or low, 16))
        if astral or last <= "\uffff":
            ranges.append(f"{first}-{last}")
    members = f"[{''.join(ranges)}]"
    return f"(?![{without}]){members}" if without else members


def _run(kind: str, astral: bool, most: str = "") -> str:
    """Return an expression for characters of one class, each with its accents."""
    more = _one_of(kind, "EXTEND", astral=astral)
    return f"{_one_of(kind, astral=astral)}{more}{{0,{most}}}+"


def _letters_and_digits(astral: bool) -> str:
    """Return an expression for letters and digits in any order: WB5 to WB12.

    A Hebrew letter may be followed by an apostrophe, or by a quotation mark and another Hebrew
    letter. A letter that was reached in this way, or across a full stop, may not be followed by
    another of these. (Unicode's rules would allow it; Lucene's do not.)
    """
    accents = _one_of("EXTEND", astral=astral) + "*+"
    hebrew = _one_of("HEBREW", astral=astral) + accents
    letters = f"(?:{_run('LETTER', astral)}|{hebrew})"
    digits = _run("DIGIT", astral)
    mid_letter = _one_of("MID_LETTER", astral=astral) + accents
    mid_digit = _one_of("MID_DIGIT", astral=astral) + accents
    quoted = f"{hebrew}(?:'{accents}|\"{accents}{hebrew})"
    return f"(?:{quoted}|{letters}(?:{mid_letter}{letters})*+|{digits}(?:{mid_digit}{digits})*+)++"


def _word(astral: bool) -> str:
    """Letters, digits and katakana, joined by characters such as ``_`` (WB13): most words."""
    core = f"(?:{_letters_and_digits(astral)}|{_run('KATAKANA', astral)})"
    first = _run("JOINER", astral, most=_ENOUGH)
    return f"(?:{first})?+{core}(?:{_run('JOINER', astral)}{core}?+)*+"


def _emoji(astral: bool) -> str:
    """Return an expression for pictographs with modifiers, tied by zero-width joiners.

    Joiners before a pictograph belong to it if no word has taken them.
    """
    accents = f"(?:{_one_of('EXTEND', astral=astral, without=_LOOKS)})*+"
    picture = f"{_one_of('EMOJI', astral=astral)}{accents}{_EMOJI_LOOK}?+"
    more = f"(?:(?:(?<={_JOINER})|{_JOINER})(?:{_JOINER}*+{picture}|{_SKIN}{accents}))++"
    first = f"(?:{_JOINER}{{0,{_ENOUGH}}}+{picture}|{_SKIN}{accents})"
    return f"{first}(?:{more}|{_TAGS})?+"


def _keycap(astral: bool) -> str:
    """A keycap ``#`` or ``*``; a keycap digit counts as a number with an accent."""
    accent = _one_of("EXTEND", astral=astral, without=_LOOKS)
    other = _one_of("EXTEND", astral=astral, without=_LOOKS + _KEYCAP)
    ends = (f"(?:{accent})*+{_EMOJI_LOOK}{_KEYCAP}", f"(?:{other})*+{_KEYCAP}")
    return f"[#*](?:{'|'.join(ends)})(?:{accent})*+"


def _others(astral: bool) -> list[str]:
    accents = _one_of("EXTEND", astral=astral) + "*+"
    single = _one_of("SINGLE", astral=astral) + accents
    flag = f"{_FLAG_HALF}{accents}{_FLAG_HALF}{accents}"
    return [_run("COMPLEX", astral), single, _emoji(astral), _keycap(astral), flag]


@cache
def _pattern(astral: bool) -> re.Pattern[str]:
    return compile_regex("|".join((_word(astral), *_others(astral))))


# --- The longest word at each place ---------------------------------------------------------


def _longest_words(text: str) -> list[str]:
    """Return the words of ``text``: at each position the longest that is not too long."""
    astral = _units(text) > len(text)
    found, at = [], 0
    while at < len(text):
        window = _window(text, at) if astral else text[at : at + MAX_UNITS]
        kinds = _kinds() if window[0] in _LETTERS_AND_EMOJI else [_pattern(astral)]
        matches = (kind.match(window) for kind in kinds)
        longest = max(match.end() if match is not None else 0 for match in matches)
        if longest:
            found.append(_lower(window[:longest]))
        at += longest or 1
    return found


@cache
def _kinds() -> list[re.Pattern[str]]:
    return [compile_regex(kind) for kind in (_word(astral=True), *_others(astral=True))]


def _window(text: str, at: int) -> str:
    """Return the part of the text from ``at`` on that a word may take."""
    window = text[at : at + MAX_UNITS]
    while (excess := _units(window) - MAX_UNITS) > 0:
        window = window[: len(window) - (excess + 1) // 2]
    return window
