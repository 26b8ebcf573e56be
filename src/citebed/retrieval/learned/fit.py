"""A fit: how much word vectors count in a collection, as it taught when it was indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from citebed.retrieval.index.index import Index
from citebed.retrieval.learned.features import SIGNALS
from citebed.retrieval.learned.ranker import Level, shipped_ranker

OF_WORDS = ("bm25", "bm25_sentence")
"""Signals that come from equal words."""
OF_STATIC = ("static", "static_sentence")
"""Those of word vectors."""
_OF_ENCODER = ("encoder", "encoder_sentence")
_MOST = 1 << 32
"""No number of a fit is as great."""
_TEXTS = ("fingerprint", "sets")


@dataclass(frozen=True)
class Fit:
    """What a collection taught: ``static`` is the weight of word vectors as a share of the
    ranker's, from so many ``sentences``; the others are nDCG@10 of these, by BM25, with the
    ranker's own weights, and as fitted. Without sentences nothing was learned. Where it was
    ``tuned`` on so many questions, their answers told ``static``; ``sets`` are those query sets of
    the collection that they are of, with commas."""

    sentences: int
    documents: int
    static: float
    fingerprint: str
    bm25: float = 0.0
    shipped: float = 0.0
    fitted: float = 0.0
    tuned: int = 0
    sets: str = ""

    @property
    def words_share(self) -> float:
        """The share of words, of words and vectors together, without an encoder."""
        level = fitted_level(shipped_ranker().levels["static"], self)
        words, vectors = (_sum(level, names) for names in (OF_WORDS, OF_STATIC))
        return words / (words + vectors)


def fit_of(index: Index) -> Fit | None:
    """What an index says was learned from its collection, if that can be used."""
    values = index.description.fit
    try:
        fit = Fit(**values) if values else None
    except TypeError:
        return None
    usable = fit is not None and all(
        isinstance(each, str) if name in _TEXTS else _is_number(each)
        for name, each in asdict(fit).items()
    )
    return fit if usable else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _MOST


def fitted_level(level: Level, fit: Fit) -> Level:
    """A level whose word vectors count as much as fits the collection.

    What texts tell counts as much as before in all, so that the other signals keep their share and
    probabilities their meaning.
    """
    weights = level.weights.copy()
    texts = places(OF_WORDS + OF_STATIC + _OF_ENCODER)
    before = float(weights[texts].sum())
    weights[places(OF_STATIC)] *= fit.static
    now = float(weights[texts].sum())
    weights[texts] *= before / now if now > 0 else 1.0
    return replace(level, weights=weights)


def places(names: Sequence[str]) -> list[int]:
    """Where signals stand among all."""
    return [list(SIGNALS).index(name) for name in names]


def _sum(level: Level, names: Sequence[str]) -> float:
    return float(level.weights[places(names)].sum())
