"""Words of a text: Unicode's word breaks (UAX #29), as Lucene's StandardTokenizer draws them.

A word is a run of letters and digits, with what holds them together (``can't``, ``3.14``,
``snake_case``); a run of katakana, or of a script without blanks such as Thai; a single ideograph
or hiragana; an emoji. Accents and format characters belong to what stands before them. All else
parts words. A word has at most 255 UTF-16 units; a longer one is cut there, as Lucene does.

Lower case is letter by letter, as Lucene's LowerCaseFilter has it: ``İ`` is ``i``, and a sigma is
never final.

Most text is ASCII, and there the rules shrink to very little: what is no part of a word becomes a
blank, and the blanks part the words. Text with some other characters is cut at blanks, which no
rule reaches across, into stretches that are ASCII and stretches that are not. Those are read with
one long expression, made when first needed, that takes the first kind of word that fits. Where
several may fit, or a word may be too long, the longest is looked for at each place.
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
# A word that is too long fills at least one of the stretches, this long, that a text is cut into.
_STRETCH = (MAX_UNITS + 1) // 2

_MID = ".,;:'"
_ASCII_LOWER = "".join(
    char.lower() if char.isalnum() or char == "_" or char in _MID else " "
    for char in map(chr, range(128))
)
_LOOSE_MID = re.compile(r"['.:,;](?!(?<=[a-z]['.:])[a-z]|(?<=[0-9]['.,;])[0-9])")
_OTHER = re.compile(r"[^\x00-\x7f]")
_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
# Letters that are emoji too: which of the two they are depends on what follows.
_LETTERS_AND_EMOJI = frozenset("ℹⓂ🅰🅱🅾🅿")


def words(text: str) -> list[str]:
    """The words of ``text``, in lower case and in their order."""
    if text.isascii():
        return _ascii_words(text)
    if len(text.encode("utf-8", "surrogatepass")) > 1.2 * len(text):
        return _other_words(text)
    found: list[str] = []
    for part in _parts(text):
        found += _ascii_words(part) if part.isascii() else _other_words(part)
    return found


def word_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of ``text`` with the places where each begins and ends."""
    lower, at = _lower(text), 0  # as long as the text: letters are lowered one by one
    for word in words(text):
        start = lower.index(word, at)
        at = start + len(word)
        yield word, start, at


def words_and_pairs(text: str) -> list[str]:
    """The words of ``text``, and of each run of ideographs also all pairs of neighbours: words are
    not parted there, and most are of one or two."""
    if text.isascii():
        return _ascii_words(text)
    return words(text) + [a + b for run in _RUN.findall(text) for a, b in pairwise(run)]


def _parts(text: str) -> Iterator[str]:
    """The text cut at blanks, into parts that are ASCII and parts that are not."""
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
    return _cut(found) if _may_be_too_long(spaced) else found


def _cut(found: list[str]) -> list[str]:
    """The words with those that are too long cut."""
    cut = [_longest_words(word) if len(word) > MAX_UNITS else [word] for word in found]
    return [word for pieces in cut for word in pieces]


def _may_be_too_long(spaced: str) -> bool:
    """Whether some stretch of a text has no blank, as it would in a word that is too long."""
    ends = len(spaced) - _STRETCH + 1
    return any(" " not in spaced[at : at + _STRETCH] for at in range(0, ends, _STRETCH))


def _other_words(text: str) -> list[str]:
    if not _LETTERS_AND_EMOJI.isdisjoint(text):
        return _longest_words(text)
    found = _pattern(_units(text) > len(text)).findall(_lower(text))
    if max(map(len, found), default=0) > MAX_UNITS // 2:
        return _longest_words(text)
    return found


def _lower(text: str) -> str:
    """Each letter's own lower case: Python's ``lower`` heeds neighbours for these two only."""
    return text.replace("İ", "i").replace("Σ", "σ").lower()


def _units(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# --- The rules as expressions ---------------------------------------------------------------

_JOINER = "\u200d"
_EMOJI_LOOK = "\ufe0f"
_LOOKS = "\ufe0e\ufe0f"
_FLAG_HALF = "[\U0001f1e6-\U0001f1ff]"
_SKIN = "[\U0001f3fb-\U0001f3ff]"
_TAGS = "[\U000e0020-\U000e007e]++\U000e007f"
_KEYCAP = "\u20e3"
# A word does not begin with more of what only joins; else a long row of it, with nothing to join,
# would be walked again from each of its places.
_ENOUGH = str(MAX_UNITS)


@cache
def word_break() -> dict[str, str]:
    """Unicode's Word_Break classes by name: hexadecimal code points and ranges, ends included."""
    return tomllib.loads((resources.files(__package__) / "word_break.toml").read_text("utf-8"))


def _one_of(*classes: str, astral: bool, without: str = "") -> str:
    """A set of the characters of some classes: those of the BMP only, unless ``astral``."""
    ranges = []
    for part in " ".join(word_break()[name] for name in classes).split():
        low, _, high = part.partition("-")
        first, last = chr(int(low, 16)), chr(int(high or low, 16))
        if astral or last <= "\uffff":
            ranges.append(f"{first}-{last}")
    members = f"[{''.join(ranges)}]"
    return f"(?![{without}]){members}" if without else members


def _run(kind: str, astral: bool, most: str = "") -> str:
    """Characters of one class, each with its accents."""
    more = _one_of(kind, "EXTEND", astral=astral)
    return f"{_one_of(kind, astral=astral)}{more}{{0,{most}}}+"


def _letters_and_digits(astral: bool) -> str:
    """Letters and digits in any order: WB5 to WB12.

    A Hebrew letter takes an apostrophe, or a quotation mark with the Hebrew letter behind it;
    a letter that was reached so, or across a full stop, takes no other. (Unicode's own rules
    would let it; Lucene's do not.)
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
    """Letters, digits and katakana, joined by such as ``_`` (WB13): what most words are."""
    core = f"(?:{_letters_and_digits(astral)}|{_run('KATAKANA', astral)})"
    first = _run("JOINER", astral, most=_ENOUGH)
    return f"(?:{first})?+{core}(?:{_run('JOINER', astral)}{core}?+)*+"


def _emoji(astral: bool) -> str:
    """A pictograph with its modifiers, and those that a zero-width joiner ties to it.

    Joiners before it belong to it if no word has taken them.
    """
    accents = f"(?:{_one_of('EXTEND', astral=astral, without=_LOOKS)})*+"
    picture = f"{_one_of('EMOJI', astral=astral)}{accents}{_EMOJI_LOOK}?+"
    more = f"(?:(?:(?<={_JOINER})|{_JOINER})(?:{_JOINER}*+{picture}|{_SKIN}{accents}))++"
    first = f"(?:{_JOINER}{{0,{_ENOUGH}}}+{picture}|{_SKIN}{accents})"
    return f"{first}(?:{more}|{_TAGS})?+"


def _keycap(astral: bool) -> str:
    """``#`` or ``*`` on a key; a digit on one is a number with an accent."""
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
    """One expression for all kinds of words."""
    return compile_regex("|".join((_word(astral), *_others(astral))))


# --- The longest word at each place ---------------------------------------------------------


def _longest_words(text: str) -> list[str]:
    """The words of ``text``: at each place the longest of any kind that is not too long."""
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
    """As much of the text from ``at`` on as a word may take."""
    window = text[at : at + MAX_UNITS]
    while (excess := _units(window) - MAX_UNITS) > 0:
        window = window[: len(window) - (excess + 1) // 2]
    return window
