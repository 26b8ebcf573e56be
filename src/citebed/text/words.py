"""Function words, and the words of a text for word vectors: lower case, no accents, not stemmed.

Training and use of word vectors share these rules; other modules apply the patterns to many texts
at once.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources

from citebed.text.languages import language_of
from citebed.text.regex import compile_regex

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those such each every either neither both all any some no none other
    others another same own few fewer many more most much less least several various
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her
    hers herself it its itself they them their theirs themselves one ones who whom whose which what
    somebody someone something anybody anyone anything nobody nothing everybody everyone everything
    am is are was were be been being do does did done doing have has had having can could may might
    must shall should will would need ought cannot
    of in on at by for from to into onto upon with without within about above below under over
    between among amongst across along around through throughout during before after until till
    since against toward towards off out up down near beside besides beyond behind except despite
    per via than like unlike as
    and or but nor so yet if unless whether while whereas because although though however therefore
    thus hence moreover furthermore nevertheless nonetheless otherwise instead also too even only
    just not never ever always often sometimes usually again already still then there here where
    wherever when whenever why how once now
    very quite rather really almost nearly enough well further else perhaps maybe indeed namely e.g
    i.e etc vs cf et al eg ie
    isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't
    wouldn't shouldn't it's that's there's let's
    """.split()  # noqa: SIM905
)
"""English articles, pronouns, auxiliaries, prepositions, conjunctions and general adverbs."""

PREFIXES = frozenset(("re", "co"))
"""Prefixes before hyphens ("re-ranking"), which are words in other languages."""


# --- Plain words ------------------------------------------------------------------------------


MARKS = "[\u0300-\u036f]+"
"""Accents, which NFKD separates from their letters."""
WORD = "[a-z0-9]+"

_MARKS, _WORD = re.compile(MARKS), re.compile(WORD)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in order: runs of ``a`` to ``z`` and digits, after NFKD."""
    return _WORD.findall(unaccented(text).lower())


def unaccented(text: str) -> str:
    """Return a text after NFKD, without accents."""
    return text if text.isascii() else _MARKS.sub("", unicodedata.normalize("NFKD", text))


# --- Other languages --------------------------------------------------------------------------

ENOUGH = 5000
"""Number of characters that are enough to detect the language of a text."""
_LETTERS = re.compile(r"[^\W\d_]+")
_NOUNS_LIKE_FUNCTION_WORDS = re.compile(r"(?<=[\w,;:)»“”] )[A-ZÄÖÜ][a-zäöüß]{2,}")
_POLITE = frozenset(("sie", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihres", "ihnen"))


@cache
def _function_words() -> Mapping[str, frozenset[str]]:
    text = resources.files(__package__).joinpath("function_words.toml").read_text("utf-8")
    others = {code: frozenset(words.split()) for code, words in tomllib.loads(text).items()}
    return {"en": FUNCTION_WORDS, **others}


def function_words_of(code: str | None) -> frozenset[str]:
    """Return the function words of a language by its code; of English for unknown ones."""
    return _function_words().get(code or "en", FUNCTION_WORDS)


@lru_cache(256)
def text_language(text: str) -> str | None:
    """Return the code of the language of a text, also of a short one, or ``None`` if unclear.

    The language has the most function words, at least two; else `language_of` decides.
    """
    text = text[:ENOUGH]
    words = _LETTERS.findall(text.lower())
    counts = {code: sum(word in own for word in words) for code, own in _function_words().items()}
    (most, first), (second, _) = sorted(((n, code) for code, n in counts.items()), reverse=True)[:2]
    return first if most >= 2 and most > second else language_of(None, None, text)


def function_words(text: str) -> frozenset[str]:
    """Return the function words of a text's language (default: English), and prefixes.

    In German, words that the text capitalises inside a sentence are nouns (``das Sein``).
    """
    code = text_language(text)
    found = function_words_of(code) | PREFIXES
    if code != "de":
        return found
    nouns = {word.lower() for word in _NOUNS_LIKE_FUNCTION_WORDS.findall(text)} - _POLITE
    return found - nouns


# --- Sentences that ask for nothing --------------------------------------------------------------


@cache
def _routine() -> re.Pattern[str]:
    text = resources.files(__package__).joinpath("routine_phrases.toml").read_text("utf-8")
    patterns = (each for own in tomllib.loads(text).values() for each in own)
    return compile_regex("|".join(f"(?:{each})" for each in patterns))


def is_routine(sentence: str) -> bool:
    """Return True for thanks, outlines, declarations, and sentences about the text's own tables."""
    return _routine().match(sentence.strip().lower()) is not None
