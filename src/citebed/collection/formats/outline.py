"""The numbers of headings, as an outline: ``A.`` after ``II.`` stands below it."""

from __future__ import annotations

import re

_ARABIC = re.compile(r"\s*(\d+(?:\.\d+)*)\.?(?!\d)")
_ROMAN = re.compile(r"\s*(X{0,3}(?:IX|IV|V?I{0,3}))[.)]?(?:\s|$)")
_LETTER = re.compile(r"\s*([A-Z])[.)]?(?:\s|$)")
_VALUES = {"I": 1, "V": 5, "X": 10}


class Outline:
    """Where the headings of a paper stand that are all written beside each other, as GROBID does.

    Arabic numbers say it themselves (``2.1``). Letters stand below the Roman number before them,
    and plain Arabic ones below both: ``II.``, ``A.``, ``1)``. Letters of a paper without Roman
    numbers are those of its appendix.
    """

    def __init__(self) -> None:
        self._at: list[str] = []

    def place(self, label: str) -> str:
        """The place of the next heading (``2.1``, ``II.A``), or ``""`` where it has no number."""
        roman, letter, arabic = (kind.match(label) for kind in (_ROMAN, _LETTER, _ARABIC))
        if roman and roman[1] and self._is_next(roman[1]):
            self._at = [roman[1]]
        elif letter and self._at:
            self._at = [self._at[0], letter[1]]
        elif arabic and self._at and "." not in arabic[1]:
            self._at = [*(part for part in self._at[:2] if not part.isdecimal()), arabic[1]]
        else:
            return arabic[1] if arabic else ""
        return ".".join(self._at)

    def _is_next(self, roman: str) -> bool:
        """Whether it is a Roman number: one letter is, where that number is to come."""
        before = _value(self._at[0]) if self._at else 0
        return len(roman) > 1 or _value(roman) == before + 1


def _value(roman: str) -> int:
    values = [_VALUES[letter] for letter in roman]
    later = [*values[1:], 0]
    return sum(-one if one < two else one for one, two in zip(values, later, strict=True))
