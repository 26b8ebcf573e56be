"""A fit: how much word vectors count in a collection, as it taught when it was indexed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from citebed.retrieval.index.index import Index
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import Level, shipped_ranker
from citebed.text.languages import is_language, language_code

OF_WORDS = ("bm25", "bm25_sentence")
"""Signals that come from equal words."""
OF_STATIC = ("static", "static_sentence")
"""Those of word vectors."""
_OF_ENCODER = ("encoder", "encoder_sentence")
OF_FAME = ("cited", "lately", "authors")
"""Those of how much others cite a document, and works of its authors."""
_MOST = 1 << 32
"""No number of a fit is as great."""
_TEXTS = ("fingerprint", "sets", "analyser")
KNOWN = (None, "en")
"""The language that word vectors and probabilities were learned from, and none that can be told."""


@dataclass(frozen=True)
class Fit:
    """What a collection taught: ``static`` is the weight of word vectors as a share of the
    ranker's, from so many ``sentences``; the others are nDCG@10 of these, by BM25, with the
    ranker's own weights, and as fitted. Without sentences nothing was learned. Where it was
    ``tuned`` on so many questions, their answers told the weight; ``sets`` are those query sets of
    the collection that they are of, with commas. ``static`` is for texts in English, and where the
    language is not known; ``languages`` has the weights for others, by code, as each was taught by
    its own sentences, of terms that the ``analyser`` made. ``fame`` is how much it
    counts that others cite a document, as a share of the ranker's: only tuning tells another."""

    sentences: int
    documents: int
    static: float
    fingerprint: str
    bm25: float = 0.0
    shipped: float = 0.0
    fitted: float = 0.0
    tuned: int = 0
    sets: str = ""
    languages: Mapping[str, float] = field(default_factory=dict)
    analyser: str = "english"
    fame: float = 1.0

    def share(self, language: str | None = None) -> float:
        """The weight of word vectors for texts in a language, as a share of the ranker's.

        The vectors learned from English: in another language nothing speaks for them but what was
        taught. One that was switched off is the same for all.
        """
        if language in KNOWN or not self.documents:
            return self.static
        return self.languages.get(language or "", 0.0)

    def with_share(self, language: str | None, share: float) -> Fit:
        """The fit with another weight for texts in a language."""
        if language in KNOWN:
            return replace(self, static=share)
        return replace(self, languages={**self.languages, language or "": share})

    def words_share(self, language: str | None = None) -> float:
        """The share of words, of words and vectors together, without an encoder."""
        level = fitted_level(shipped_ranker().levels["static"], self, language)
        words, vectors = (_sum(level, names) for names in (OF_WORDS, OF_STATIC))
        return words / (words + vectors)


def fit_of(index: Index) -> Fit | None:
    """What an index says was learned from its collection, if that can be used."""
    return as_fit(index.description.fit)


def as_fit(values: Mapping[str, Any]) -> Fit | None:
    """A fit as it was written down, if it can be used."""
    try:
        fit = Fit(**values) if values else None
    except TypeError:
        return None
    usable = fit is not None and all(
        _is_of_its_kind(name, each) for name, each in asdict(fit).items()
    )
    return fit if usable else None


def _is_of_its_kind(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == "languages":
        if not isinstance(value, dict):
            return False
        return all(isinstance(code, str) and _is_number(each) for code, each in value.items())
    return _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _MOST


def language_in(index: Index, language: str | None) -> str | None:
    """The language of a text; where it cannot be told, the one that the index is of, if that is
    another than English."""
    if language is not None:
        return language
    of_index = re.fullmatch(r"snowball\((\w+)\)", index.description.analyser)
    code = language_code(of_index[1]) if of_index else None
    return code if code and is_language(code) else None


def fitted_level(level: Level, fit: Fit, language: str | None = None) -> Level:
    """A level whose word vectors count as much as fits the collection, for texts in a language.

    What texts tell counts as much as before in all, so that the other signals keep their share and
    probabilities their meaning.
    """
    weights = level.weights.copy()
    texts = places(OF_WORDS + OF_STATIC + _OF_ENCODER)
    before = float(weights[texts].sum())
    weights[places(OF_STATIC)] *= fit.share(language)
    now = float(weights[texts].sum())
    weights[texts] *= before / now if now > 0 else 1.0
    weights[places(OF_FAME)] *= fit.fame
    return replace(level, weights=weights)


def places(names: Sequence[str]) -> list[int]:
    """Where signals stand among all."""
    return [list(SIGNALS).index(name) for name in names]


def _sum(level: Level, names: Sequence[str]) -> float:
    return float(level.weights[places(names)].sum())
