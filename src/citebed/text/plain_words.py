"""The words of a text as word vectors know them: lower case, without accents, not stemmed.

The same rule makes the vocabulary when vectors are trained and finds the vectors when they are
used; the patterns stand here for whoever applies it to many texts at once.
"""

from __future__ import annotations

import re
import unicodedata

MARKS = "[\u0300-\u036f]+"
"""Accents, which NFKD parts from their letters."""
WORD = "[a-z0-9]+"

_MARKS, _WORD = re.compile(MARKS), re.compile(WORD)


def plain_words(text: str) -> list[str]:
    """The words of a text in their order: runs of ``a`` to ``z`` and digits, after NFKD."""
    return _WORD.findall(unaccented(text).lower())


def unaccented(text: str) -> str:
    """A text after NFKD, without accents."""
    return text if text.isascii() else _MARKS.sub("", unicodedata.normalize("NFKD", text))
