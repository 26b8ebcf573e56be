"""Analysers: what turns a text into the terms that are indexed and searched.

An analyser is a value that prints as its name and is read back from it, so that an index can say
how its terms were made and queries are always analysed alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from citebed.errors import UnknownName
from citebed.retrieval.analysis.porter import porter
from citebed.retrieval.analysis.words import words, words_and_pairs

# The words that Lucene's EnglishAnalyzer leaves out.
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
"""Languages whose words are not parted by blanks: pairs of ideographs are searched for too."""


@dataclass(frozen=True)
class Analyser:
    """A named way from a text to its terms.

    ``words`` and ``term`` are apart because a text has many words and a collection few different
    ones: whoever indexes keeps the term of each word it has seen.
    """

    name: str
    stemmers: tuple[str, ...] = field(default=(), repr=False)
    stop_words: frozenset[str] = field(default=frozenset(), repr=False)
    possessives: bool = field(default=False, repr=False)
    pairs: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def words(self, text: str) -> list[str]:
        """The words of a text in lower case, stop words among them: the same for all analysers, but
        that some have pairs of ideographs too, behind them."""
        return words_and_pairs(text) if self.pairs else words(text)

    def term(self, word: str) -> str | None:
        """The index term of one word as ``words`` gives it; ``None`` for a stop word."""
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
        """The terms of a text, in the order of its words."""
        return [term for word in self.words(text) if (term := self.term(word)) is not None]


def is_telling(term: str) -> bool:
    """Whether a term of citing text tells a topic: a single letter or digit does not."""
    return len(term) > 1 or not term.isascii()


_PORTER = "porter of Lucene"
ENGLISH = Analyser("english", (_PORTER,), ENGLISH_STOP_WORDS, possessives=True)
NONE = Analyser("none")
ANALYSERS = {analyser.name: analyser for analyser in (ENGLISH, NONE)}


def snowball(language: str) -> Analyser:
    """The Snowball stemmer of a language over lower-case words, without stop words.

    Which languages there are is PyStemmer's to say. There are no stop words because which words
    carry no meaning is for the users of a language to decide, and we keep no lists of others.
    """
    if language not in languages():
        raise UnknownName("analyser", f"snowball({language})", known())
    return Analyser(f"snowball({language})", (language,))


def mixed(names: Iterable[str]) -> Analyser:
    """An analyser for texts in several languages, each in its own: what ``english`` does if that is
    one of them, then the Snowball stemmers of the others, one after another; of Chinese and
    Japanese ideographs, and pairs of them.

    All stemmers see all words, so that a word is always the same term, whatever the language of the
    text that it is in is taken for.
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
    """The analyser that prints as ``name``; blanks and capitals do not matter."""
    name = "".join(name.lower().split())
    if name in ANALYSERS:
        return ANALYSERS[name]
    if (match := _SNOWBALL.fullmatch(name)) is not None:
        return snowball(match[1])
    if (match := _MIXED.fullmatch(name)) is not None:
        return mixed(match[1].split(","))
    raise UnknownName("analyser", name, known())


def known() -> list[str]:
    """The names of all analysers."""
    own = (f"snowball({language})" for language in languages())
    return [*ANALYSERS, *own, "mixed(english,german)", "mixed(english,chinese)"]


def languages() -> list[str]:
    """The languages that the installed PyStemmer has stemmers for."""
    import Stemmer

    return sorted(Stemmer.algorithms())


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    if name == _PORTER:
        return porter
    import Stemmer

    # Without a cache of its own: whoever indexes has one, and a stemmer without is smaller.
    stem: Callable[[str], str] = Stemmer.Stemmer(name, 0).stemWord
    return stem
