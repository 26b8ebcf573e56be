"""Analysers: they turn a text into the terms of an index or a query.

An analyser prints as its name and can be parsed from it. An index stores the name of its analyser,
so that queries are always analysed like the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from citebed.errors import UnknownName
from citebed.retrieval.analysis.porter import porter
from citebed.retrieval.analysis.words import words, words_and_pairs

# The stop words of Lucene's EnglishAnalyzer.
ENGLISH_STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into"),
        *("is", "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then"),
        *("there", "these", "they", "this", "to", "was", "will", "with"),
    )
)
_POSSESSIVES = ("'s", "’s", "＇s")
_SNOWBALL = re.compile(r"snowball\((\w+)\)")
_MIXED = re.compile(r"mixed\((\w+(?:,\w+)*)\)")
WITHOUT_BLANKS = ("chinese", "japanese")
"""Languages that put no blanks between words; the index also holds pairs of their ideographs."""


@dataclass(frozen=True)
class Analyser:
    """A named function from a text to its terms.

    ``words`` and ``term`` are separate methods because a collection has few different words: an
    indexer can cache the term of each word.
    """

    name: str
    stemmers: tuple[str, ...] = field(default=(), repr=False)
    stop_words: frozenset[str] = field(default=frozenset(), repr=False)
    possessives: bool = field(default=False, repr=False)
    pairs: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def words(self, text: str) -> list[str]:
        """Return the words of a text in lower case, including stop words.

        All analysers return the same words; some append pairs of ideographs.
        """
        return words_and_pairs(text) if self.pairs else words(text)

    def term(self, word: str) -> str | None:
        """Return the index term of a word that ``words`` returned; ``None`` for a stop word."""
        if self.possessives and word.endswith(_POSSESSIVES):
            word = word[:-2]
        if not word or word in self.stop_words:
            return None
        for stem in self._stems:
            word = stem(word)
        return word or None

    @cached_property
    def _stems(self) -> list[Callable[[str], str]]:
        return [*map(_stemmer, self.stemmers)]

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in the order of its words."""
        return [term for word in self.words(text) if (term := self.term(word)) is not None]


def is_telling(term: str) -> bool:
    """Return True if a term can describe a topic: it is not a single letter or digit."""
    return len(term) > 1 or not term.isascii()


_PORTER = "porter of Lucene"
ENGLISH = Analyser("english", (_PORTER,), ENGLISH_STOP_WORDS, possessives=True)
NONE = Analyser("none")
ANALYSERS = {analyser.name: analyser for analyser in (ENGLISH, NONE)}


def snowball(language: str) -> Analyser:
    """The Snowball stemmer of a language for lower-case words, without stop words.

    PyStemmer decides which languages are available. citebed has stop words only for English,
    because speakers of a language should choose its stop words.
    """
    if language not in languages():
        raise UnknownName("analyser", f"snowball({language})", known())
    return Analyser(f"snowball({language})", (language,))


def mixed(names: Iterable[str]) -> Analyser:
    """An analyser for a collection with texts in several languages.

    It applies ``english`` if that is one of the languages, then the Snowball stemmers of the
    others, one after another. Chinese and Japanese text gives single ideographs and pairs of them.
    All stemmers process all words, so that a word always gives the same term, whatever language its
    text seems to be in.
    """
    chosen = sorted(set(names), key=lambda name: (name != ENGLISH.name, name))
    if unknown := set(chosen) - {*languages(), *WITHOUT_BLANKS}:
        raise UnknownName("language", min(unknown), [*languages(), *WITHOUT_BLANKS])
    base = ENGLISH if ENGLISH.name in chosen else NONE
    others = (name for name in chosen if name not in (ENGLISH.name, *WITHOUT_BLANKS))
    return replace(
        base,
        name=f"mixed({','.join(chosen)})",
        stemmers=(*base.stemmers, *others),
        pairs=not set(WITHOUT_BLANKS).isdisjoint(chosen),
    )


def analyser_of(name: str) -> Analyser:
    """Parse the name of an analyser; blanks and upper case do not matter."""
    name = "".join(name.lower().split())
    if name in ANALYSERS:
        return ANALYSERS[name]
    if (match := _SNOWBALL.fullmatch(name)) is not None:
        return snowball(match[1])
    if (match := _MIXED.fullmatch(name)) is not None:
        return mixed(match[1].split(","))
    raise UnknownName("analyser", name, known())


def known() -> list[str]:
    """Return the names of all analysers."""
    own = (f"snowball({language})" for language in languages())
    return [*ANALYSERS, *own, "mixed(english,german)", "mixed(english,chinese)"]


def languages() -> list[str]:
    """Return the languages for which the installed PyStemmer has a stemmer."""
    import Stemmer

    return sorted(Stemmer.algorithms())


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    if name == _PORTER:
        return porter
    import Stemmer

    # Without PyStemmer's own cache: indexers have a cache, and this saves memory.
    stem: Callable[[str], str] = Stemmer.Stemmer(name, 0).stemWord
    return stem
