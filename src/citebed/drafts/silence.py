"""What asks for no citations: captions, headings, stubs of lists, keywords, thanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citebed.drafts.records import STUB

_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Tab\.|Algorithm|Listing|Scheme|Abbildung|Tabelle|Tableau)\s*"
    r"(?:(?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})?\s?[a-z]?\s*(?:[.:|]|[–—-]\s)|:)\s*\S"
)
_KEYWORDS = re.compile(
    r"(?:keywords|key words|index terms|ccs concepts)\b\s*[:.–—-]", re.IGNORECASE
)
_THANKS = re.compile(
    r"(?:\d+(?:\.\d+)*\.?\s+)?(?:acknowledge?ments?|funding|author contributions?"
    r"|(?:conflicts?|declaration) of (?:competing )?interests?|competing interests"
    r"|data availability(?: statement)?)",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
# In a script without blanks every letter is a word, or half of one.
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_FEWEST_WORDS = 10
"""What has fewer words, and does not end as a sentence does, is a heading or the stub of a list."""
_FEWEST, _FEWEST_OF_ITEM = 3, 4
"""Fewer words are no question, even if they end as a sentence does."""


def silent_as(text: str, sentences: Sequence[str], kind: str, section: str) -> str:
    """What a passage is that asks for no citations, in a word or two; nothing for prose."""
    if kind == "caption" or is_caption(text):
        return "caption"
    if _KEYWORDS.match(text):
        return "list of keywords"
    if _THANKS.fullmatch(section):
        return "acknowledgement"
    is_bare = _words(text) < (_FEWEST_OF_ITEM if kind == "item" else _FEWEST)
    return STUB if is_bare or all(map(_is_stub, sentences)) else ""


def is_caption(text: str) -> bool:
    """Whether a text begins as captions do: ``Figure 3: …``."""
    return _CAPTION.match(text) is not None


def _is_stub(sentence: str) -> bool:
    return _words(sentence) < _FEWEST_WORDS and not _ENDED.search(sentence)


def _words(text: str) -> int:
    return len(_WORD.findall(text))
