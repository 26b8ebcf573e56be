"""Silence: what gets no answer, where a list ends, and what is said where no probability is told.

People are shown no answer without a good match, no tail of what is hardly ever right, and
probabilities only where they were learned for such a case; else a match is weak, fair or strong.

How likely a text asks for something that is there was learned (``learned/asking.py``): one that
hardly does gets no answer, and else the probabilities of its documents are multiplied by it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from citebed.collection import Collection
from citebed.drafts.citation_placeholders import is_caption
from citebed.drafts.records import Passage, Place
from citebed.errors import CitebedError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Index
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, Learned
from citebed.retrieval.query import Query, Result
from citebed.retrieval.ranking.citation_need import Background, Clues, background_of
from citebed.retrieval.ranking.constants import Constants
from citebed.retrieval.ranking.fitted_weights import KNOWN, language_in
from citebed.retrieval.ranking.fitting import found_background
from citebed.retrieval.ranking.ranker import CLUES, shipped_ranker
from citebed.retrieval.ranking.topics import Subject
from citebed.text.languages import language_name, language_of
from citebed.text.words import (
    ENOUGH,
    FUNCTION_WORDS,
    FUNCTION_WORDS_OF,
    plain_words,
    telling_words,
)
from citebed.wording import count

_UNTOLD = "no chances are told: they "
_OF_FEW_WORDS = f"{_UNTOLD}were learned from sentences and paragraphs, not from a few words"
_OF_FEW_DOCUMENTS = f"{_UNTOLD}were learned in a far larger collection, and are too low in this one"
_OF_ENGLISH = f"{_UNTOLD}were learned from English texts"
_OF_OTHER_VECTORS = (
    f"{_UNTOLD}were not learned with the vectors of this index; learn them with: "
    "citebed train ranker"
)
_WITHOUT_MATCH = "passage without a good match"
_WITHOUT_CLAIM = "passage that asks for no citation"
_WITHOUT_WORDS = "passage without a word that is in the index"
OF_THE_COMMAND = "; --min-probability 0 shows the best there is"
"""What a note ends with where more can be had; a page has a button for it."""
_HINTS = {
    "a good match": OF_THE_COMMAND,
    "no citation": OF_THE_COMMAND,
    "in the index": "; is it in another language, or on another subject?",
}


_SEVERAL, _OF_ONE_WORD = 2, 0.1


class Asks(NamedTuple):
    """How likely a text asks for something that is there, what kind of text it is (below 0 rather
    what papers say of themselves), and whether it gets no answer."""

    probability: float
    kind: float = 1.0
    is_silent: bool = False


class NothingToAsk(CitebedError):
    """A text that gets no answer; ``kind`` is what such a passage is called.

    It is unsearchable where no word of it can be searched for.
    """

    def __init__(self, message: str, kind: str = "", *, is_unsearchable: bool = False) -> None:
        super().__init__(message)
        self.kind, self.is_unsearchable = kind or message, is_unsearchable


class Silence:
    """What is not shown of the results of a runner; of rankings that are not learned, all is."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._index = runner, runner.index
        self._is_learned = isinstance(runner.pipeline.stage, Learned)

    @cached_property
    def _constants(self) -> Constants:
        ranks = self._runner.ranks if self._is_learned else shipped_ranker()
        return ranks.constants

    @cached_property
    def _languages(self) -> Languages:
        return Languages(self._runner.collection, self._index, self._constants)

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self._index)

    @cached_property
    def _clues(self) -> Clues:
        return Clues(self._index, self._runner.ranks.asking)

    @cached_property
    def _background(self) -> Background | None:
        return background_of(self._index) or found_background(self._index)

    def check(self, passage: Passage, query: Query, min_probability: float | None) -> None:
        """Raise what a passage is that gets no answer, whatever could be found for it."""
        if passage.silent:
            raise NothingToAsk(passage.silent)
        if min_probability != 0 and (language := self._languages.foreign(passage.text)):
            raise NothingToAsk(f"passage in {language}")
        if min_probability is None and is_caption(query.raw):
            raise NothingToAsk("caption")
        if not len(query.terms.ids):
            raise self._nothing_to_ask(query.text)

    def _nothing_to_ask(self, text: str) -> NothingToAsk:
        if not self._index.analyser.words(text):
            what = "the text has no words. Give a sentence or a paragraph of prose."
            return NothingToAsk(what, "passage without words", is_unsearchable=True)
        if not any(map(is_telling, self._index.analyser.terms(text))):
            what = "the text has only stop words. Give a sentence or a paragraph of prose."
            return NothingToAsk(what, "passage with only stop words", is_unsearchable=True)
        return NothingToAsk(_WITHOUT_WORDS)

    def shown(
        self, result: Result, min_probability: float | None, *, tail: bool, wanted: bool = False
    ) -> Result:
        """What is shown of a result: up to where documents are hardly ever right, unless its
        ``tail`` is wanted; raises where the text hardly asks for any of them, unless a citation is
        ``wanted`` in it. A probability that is asked for takes the place of both rules."""
        asking = self.asking(result)
        result = self.told(result, asking)
        if min_probability is not None:
            return result.at_least(min_probability)
        if asking.is_silent and not wanted:
            raise NothingToAsk(_WITHOUT_MATCH if asking.kind > 0 else _WITHOUT_CLAIM)
        return result if tail else self.without_tail(result)

    def asking(self, result: Result) -> Asks:
        """How likely the text of a result asks for something that is there, whatever it was asked
        among: for certain where a person found something for it, where nothing was learned of it,
        or where it is a few words and no sentence."""
        text = result.query.text
        known = self._is_learned and result.probabilities is not None and "static" in result.vectors
        is_search = self._is_short(text) and not _is_sentence(text)
        is_answered = result.query.judged.moves
        if not known or self._background is None or is_search or is_answered:
            return Asks(1.0)
        if not len(result.hits.docs) or result.features is None:
            return Asks(1.0)
        best = result.of_all or result.features.only(
            np.arange(min(CALIBRATION_DEPTH, len(result.hits.docs)))
        )
        clues = self._clues.of(text, best, result.vectors["static"])
        learned = self._runner.ranks.asking
        (probability,) = learned.probabilities(self._background.measured(clues[None]))
        kind = clues[list(CLUES).index("kind")]
        return Asks(float(probability), float(kind), bool(probability < learned.min_probability))

    def told(self, result: Result, asking: Asks) -> Result:
        """The result with the probabilities as they are told, where they are: higher among fewer
        documents than they were learned among, lower the less the text asks, and no more than one
        in ten for what shares a single word with it."""
        features = result.features
        if result.probabilities is None or features is None or self.untold(result.query.text):
            return result
        fewer = max(self._runner.ranks.learned_among / max(len(self._index.ids), 1), 1.0)
        odds = result.probabilities / np.maximum(1 - result.probabilities, 1e-9)
        odds = odds * fewer**self._constants.of_size
        likely = odds / (1 + odds) * asking.probability
        if features.shares is not None:
            single = (features.shares > 0).sum(axis=1) < _SEVERAL
            likely = np.where(single, np.minimum(likely, _OF_ONE_WORD), likely)
        return replace(result, probabilities=likely)

    def without_tail(self, result: Result) -> Result:
        """The result up to where documents are hardly ever right, as far as that is known."""
        if not self._is_learned or self._is_short(result.query.text):
            return result
        few = self.untold(result.query.text)
        constants = self._constants
        return result.without_those_below(
            constants.hardly_any_of_few if few else constants.hardly_any
        )

    def untold(self, text: str) -> str:
        """Why a text's answers have no probabilities, in a line for people; empty where they
        have."""
        if not self._is_learned:
            return ""
        ranks = self._runner.ranks
        if not ranks.has_probabilities:
            return _OF_OTHER_VECTORS
        if len(self._index.ids) * self._constants.far_larger < ranks.learned_among:
            return _OF_FEW_DOCUMENTS
        if language_in(self._index, _language(text)) not in KNOWN:
            return _OF_ENGLISH
        return _OF_FEW_WORDS if self._is_short(text) else ""

    def strengths(self, result: Result) -> list[str]:
        """How strong each match is, in a word, where no probability is told; else nothing."""
        if not len(result.hits.docs) or not self.untold(result.query.text):
            return []
        return [match.strength(self._constants) for match in self.matches(result)]

    def matches(self, result: Result) -> list[Match]:
        """What each document of a result is told to be a strong or a weak match by."""
        texts = result.query.sentences or (result.query.text,)
        held = np.max([self._subject.held(each, result.hits.docs) for each in texts], axis=0)
        short = self._is_short(result.query.text)
        return [
            Match(result.probability(place), float(share), short)
            for place, share in enumerate(held)
        ]

    def _is_short(self, text: str) -> bool:
        return _telling(text) < self._constants.few_words


@lru_cache(8)
def _language(text: str) -> str | None:
    return language_of(None, None, text[:ENOUGH])


def _is_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does, and has a word that holds one together."""
    ends = text.rstrip().endswith((".", "!", "?"))
    return ends and not FUNCTION_WORDS.isdisjoint(plain_words(text))


@lru_cache(8)
def _telling(text: str) -> int:
    """How many words of a text tell something; each stage asks for it."""
    return len(telling_words(text))


def silence_notes(silent: Iterable[tuple[str, Passage]]) -> list[str]:
    """One note for each kind of passage that gets no answer: how many there are, and where.

    A kind is a noun with what follows it: ``caption``, ``passage in German``.
    """
    kinds: dict[str, list[Passage]] = {}
    for kind, passage in silent:
        kinds.setdefault(kind, []).append(passage)
    return [_silence_note(kind, passages) for kind, passages in kinds.items()]


def _silence_note(kind: str, passages: Sequence[Passage]) -> str:
    from citebed.drafts.parsed_draft import list_places

    many = re.sub(r"^\w+|(?<=^heading or )\w+", r"\g<0>s", kind).replace("that asks", "that ask")
    where = list_places([Place(each.source, each.line, each.column) for each in passages])
    hint = next((hint for end, hint in _HINTS.items() if kind.endswith(end)), "")
    return f"no answer for {count(len(passages), kind, many)} ({where}){hint}"


class Match(NamedTuple):
    """A document found for a text: its probability (as in a large collection), the share that it
    has of a sentence's words, and whether the text is a few words only."""

    probability: float | None
    held: float
    is_short: bool

    def strength(self, cuts: Constants) -> str:
        """``weak``, ``fair`` or ``strong``; without a probability words alone tell, and none is
        strong. Probabilities alone do not tell: outside the field that they were learned in they
        are too high."""
        if self.held < cuts.held_of_few and (self.is_short or self.probability is None):
            return "weak"
        if self.probability is None:
            return "fair"
        if self.probability >= cuts.strong_probability and self.held >= cuts.strong_held:
            return "strong"
        is_fair = self.probability >= cuts.fair_probability and self.held >= cuts.fair_held
        return "fair" if is_fair else "weak"


# --- Languages: in one that a collection does not have, what a text finds is chance ---------------

_SAMPLE = 500
# No stop words of the analyser, so that they are in the index; an English abstract has several.
_ENGLISH = ("we", "our", "from", "which", "can", "has", "have", "its", "between", "more")


class Languages:
    """The languages of a collection."""

    def __init__(
        self, collection: Collection, index: Index, constants: Constants | None = None
    ) -> None:
        self._collection, self._index = collection, index
        self._constants = constants or shipped_ranker().constants

    def foreign(self, text: str) -> str:
        """The name of the language of a text that the collection does not have, else nothing."""
        text = text[:ENOUGH]
        code = language_of(None, None, text)
        if (code == "en" and self._shows_english) or code in self.codes:
            return ""
        ours = frozenset().union(
            *(FUNCTION_WORDS_OF[known] for known in self.codes if known in FUNCTION_WORDS_OF)
        )
        words = self._index.analyser.words(text)
        share = sum(word in ours for word in words) / max(len(words), 1)
        least = self._constants.hardly_own_words if code is None else self._constants.own_words
        if not ours or share >= least:
            return ""
        if code is not None:
            return language_name(code)
        is_known = [self._index.document_frequency(word) > 0 for word in words]
        enough = len(set(words)) >= self._constants.foreign_words
        strange = sum(is_known) < self._constants.known_words * len(words)
        return "another language" if enough and strange else ""

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of its languages, by a sample of its titles; none where these do not tell."""
        titles = self._collection.scan_documents().select("language", "title").collect()
        rows = titles.gather_every(max(1, titles.height // _SAMPLE)).iter_rows()
        found = Counter(filter(None, (_language_of(stated, title or "") for stated, title in rows)))
        enough = self._constants.language_share * found.total()
        return frozenset(code for code, many in found.items() if many >= enough)

    @cached_property
    def _shows_english(self) -> bool:
        """Whether the index tells that much of the collection is English: sooner than titles."""
        seen = sum(map(self._index.document_frequency, _ENGLISH))
        return seen > self._constants.english_share * len(self._index.ids)


def _language_of(stated: str | None, title: str) -> str | None:
    """The language of a title: as stated, by its script, or by very few small words."""
    if stated or not title.isascii():
        return language_of(stated, title, None)
    words = title.lower().split()
    many = Counter(
        {code: sum(word in own for word in words) for code, own in FUNCTION_WORDS_OF.items()}
    )
    (best, most), (_, second) = many.most_common(2)
    return best if most > second else None
