"""Texts as vectors and their similarity, slowly: one word and one number after another."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence

PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789"


def plain_words(text: str) -> list[str]:
    """Return runs of ASCII letters and digits in lower case; an accent does not end a word."""
    words, word = [], ""
    for char in unicodedata.normalize("NFKD", text):
        if char.lower() in PLAIN:
            word += char.lower()
        elif not "\u0300" <= char <= "\u036f":
            words.append(word)
            word = ""
    return [each for each in (*words, word) if each]


def text_vector(text: str, vectors: Mapping[str, Sequence[float]], width: int) -> list[float]:
    """The sum of a text's word vectors: one that occurs n times counts 1 + ln n."""
    words = plain_words(text)
    total = [0.0] * width
    for word in sorted(set(words) & set(vectors)):
        weight = 1 + math.log(words.count(word))
        total = [t + weight * x for t, x in zip(total, vectors[word], strict=True)]
    return total


def through(vector: Sequence[float], matrix: Sequence[Sequence[float]]) -> list[float]:
    """A row vector times a matrix."""
    columns = zip(*matrix, strict=True)
    return [sum(x * y for x, y in zip(vector, column, strict=True)) for column in columns]


def unit(vector: Sequence[float]) -> list[float]:
    """A vector of length 1; zeros stay."""
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else list(vector)
