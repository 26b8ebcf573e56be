"""Find placeholders for citations (``\\cite{}``, ``[?]``), and passages that need no citations.

Captions, headings, list fragments, keywords and acknowledgements need no citations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from citebed.drafts.records import STUB, Passage, Place
from citebed.text.normalise import unique

_NO_KEY = re.compile(
    r"[?.…_-]+|x{2,}|(?:todo|fixme|tbd)(?:[-_:.].*)?|missing|cite|ref|citation(?:[-_]?needed)?",
    re.IGNORECASE,
)
_TO_CITE = r"(?:citations?(?: needed)?|cite(?: this| here| me)?|refs?\.?(?: needed)?|references?)"
_BRACKETED = re.compile(
    rf"\[(?:\?+(?:[,;]\s?\?+)*|@\??|{_TO_CITE}|(?:todo|tbd|fixme)(?::? ?{_TO_CITE})?|x{{2,3}})\]"
    rf"|\((?:\?+|citations? needed|refs?\.? needed|(?:todo|fixme):? ?{_TO_CITE}|cite|ref)\)"
    r"|(?<=\s)\[\](?=[\s.,;:)])",
    re.IGNORECASE,
)


def is_placeholder(name: str) -> bool:
    """Return True for a placeholder instead of a key: ``?``, ``TODO``, ``XXX``."""
    return _NO_KEY.fullmatch(name) is not None


def mark_placeholders(text: str, place: Callable[[], str]) -> str:
    """Replace the placeholders in a text by the marks that ``place`` returns."""
    return _BRACKETED.sub(lambda _: place(), text)


def put_placeholders_first(passages: Sequence[Passage]) -> list[Passage]:
    """Return the sentences with a placeholder first, each alone, then the rest of all passages."""
    first = [_part(each, [number]) for each in passages for number in each.wanted]
    rests = [[n for n in range(len(each.sentences)) if n not in each.wanted] for each in passages]
    pairs = zip(passages, rests, strict=True)
    others = [_part(each, rest) if each.wanted else each for each, rest in pairs]
    return [*first, *(each for each in others if each.text)]


def _part(passage: Passage, numbers: Sequence[int]) -> Passage:
    """Return a passage with only these sentences."""
    sentences = tuple(passage.sentences[number] for number in numbers)
    cites = tuple(passage.sentence_cites[number] for number in numbers)
    places = tuple(passage.places[number] for number in numbers)
    start = places[0] if places else Place(passage.source, passage.line, passage.column)
    wanted = tuple(at for at, number in enumerate(numbers) if number in passage.wanted)
    return replace(
        passage, text=" ".join(sentences), source=start.source, line=start.line,
        column=start.column, cites=unique(name for names in cites for name in names),
        sentences=sentences, sentence_cites=cites, places=places, wanted=wanted,
    )  # fmt: skip


# --- Passages without citations ---------------------------------------------------------------


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
# In scripts without blanks, each character counts as a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_FEWEST_WORDS = 10
"""A passage with fewer words that does not end like a sentence is a heading or a list fragment."""
_FEWEST, _FEWEST_OF_ITEM = 3, 4
"""A passage or list item with fewer words is a stub, even if it ends like a sentence."""


def skip_reason(text: str, sentences: Sequence[str], kind: str, section: str) -> str:
    """Return the reason why a passage needs no citations, or "" for prose."""
    if kind == "caption" or is_caption(text):
        return "caption"
    if _KEYWORDS.match(text):
        return "list of keywords"
    if _THANKS.fullmatch(section):
        return "acknowledgement"
    is_bare = _words(text) < (_FEWEST_OF_ITEM if kind == "item" else _FEWEST)
    return STUB if is_bare or all(map(_is_stub, sentences)) else ""


def is_caption(text: str) -> bool:
    """Return True if a text begins like a caption: ``Figure 3: …``."""
    return _CAPTION.match(text) is not None


def _is_stub(sentence: str) -> bool:
    return _words(sentence) < _FEWEST_WORDS and not _ENDED.search(sentence)


def _words(text: str) -> int:
    return len(_WORD.findall(text))
