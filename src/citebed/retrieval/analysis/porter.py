"""Porter's stemmer for English, with the same results as Lucene's.

Porter, M. F. (1980). An algorithm for suffix stripping. Program, 14(3), 130-137.

It follows the paper's rules, with the three changes that Porter made in his own programs and that
Lucene kept: words of one or two letters stay as they are, ``bli`` becomes ``ble`` (the paper has
``abli``), and ``logi`` becomes ``log``. Snowball's stemmer ``porter`` is not used, because it
follows the paper in these cases and undoubles only some consonants: it turns ``revving`` into
``revv``, this module into ``rev``.

Every character other than ``aeiou`` and some ``y`` counts as a consonant, including digits and
accented letters. A letter beyond Unicode's first 65,536, such as a mathematical ``𝑥``, counts as
two letters, as in Java.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from citebed.text.regex import compile_regex

# A word is [C](VC){m}[V]: C a run of consonants, V of vowels. A y is a vowel after a consonant.
_C = "[^aeiou][^aeiouy]*+"
_V = "[aeiouy][aeiou]*+"
_has_vowel = compile_regex(f"(?:{_C})?+[aeiouy]").match
_m_over_0 = compile_regex(f"(?:{_C})?+{_V}{_C}").match
_m_over_1 = compile_regex(f"(?:{_C})?+{_V}{_C}{_V}{_C}").match
# Consonants, one vowel, one consonant: m is 1, and the word lost an e or must keep it.
_is_short = compile_regex(f"{_C}[aeiouy][^aeiouwxy]").fullmatch

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# A consonant that occurs in no word.
_SECOND_HALF = "\ue000"

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def _by_last_two(endings: Iterable[str]) -> dict[str, list[str]]:
    """Group the endings by their last two letters, longest first."""
    groups: dict[str, list[str]] = {}
    for ending in sorted(endings, key=len, reverse=True):
        groups.setdefault(ending[-2:], []).append(ending)
    return groups


_STEP_2_ENDINGS, _STEP_3_ENDINGS, _STEP_4_ENDINGS = map(_by_last_two, (_STEP_2, _STEP_3, _STEP_4))


@lru_cache(1 << 16)
def porter(word: str) -> str:
    """Return the stem of an English word in lower case."""
    if not word.isascii() and _ASTRAL.search(word) is not None:
        return _stem(_ASTRAL.sub(rf"\g<0>{_SECOND_HALF}", word)).replace(_SECOND_HALF, "")
    return _stem(word)


def _stem(word: str) -> str:
    if len(word) <= 2:
        return word
    if word[-1] == "s":  # step 1a
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word[-2] != "s":
            word = word[:-1]
    if word[-1] in "dg":
        word = _without_ending(word)
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if (endings := _STEP_2_ENDINGS.get(word[-2:])) is not None:
        word = _replaced(word, endings, _STEP_2)
    if (endings := _STEP_3_ENDINGS.get(word[-2:])) is not None:
        word = _replaced(word, endings, _STEP_3)
    if (endings := _STEP_4_ENDINGS.get(word[-2:])) is not None:
        word = _without_suffix(word, endings)
    if word[-1] == "e":  # step 5: also removes one l of two
        stem = word[:-1]
        if _m_over_1(stem) or (_m_over_0(stem) and not _is_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _m_over_1(word) else word


def _without_ending(word: str) -> str:
    """Step 1b: remove ``ed`` and ``ing``, and restore the stem that they changed."""
    if word.endswith("eed"):
        return word[:-1] if _m_over_0(word[:-3]) else word
    stem = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if not stem or not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-1] == stem[-2:-1] and stem[-1] not in "aeioulsz" and not _ends_in_vowel(stem):
        return stem[:-1]
    return stem + "e" if _is_short(stem) else stem


def _ends_in_vowel(stem: str) -> bool:
    """Return True if the last letter is a vowel. Only a ``y`` depends on the letters before it."""
    ys = len(stem) - len(stem.rstrip("y"))
    if ys == 0 or stem[-1] != "y":
        return stem[-1] in "aeiou"
    before = stem[: len(stem) - ys]
    first_is_vowel = bool(before) and before[-1] not in "aeiou"
    return first_is_vowel == (ys % 2 == 1)


def _replaced(word: str, endings: list[str], by: dict[str, str]) -> str:
    """Steps 2 and 3: replace the longest ending if the measure of the stem is above 0."""
    for ending in endings:
        if word.endswith(ending):
            stem = word[: -len(ending)]
            return stem + by[ending] if _m_over_0(stem) else word
    return word


def _without_suffix(word: str, suffixes: list[str]) -> str:
    """Step 4: remove the longest suffix if the measure of the stem is above 1.

    The first letter of ``sion`` and ``tion`` stays.
    """
    for suffix in suffixes:
        if word.endswith(suffix):
            stem = word[: -3 if suffix.endswith("ion") else -len(suffix)]
            return stem if _m_over_1(stem) else word
    return word
