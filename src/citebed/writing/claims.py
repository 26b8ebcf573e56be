"""Find sentences that make a claim and cite nothing, with a small model of English sentences.

The model adds up features of a sentence (names, numbers, words about other people's work or the
authors' own, its section) and the kind of text that its word vector suggests. ``bench/fill.py
--train`` learns the weights from sentences of papers with and without citations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from citebed.drafts.records import Draft, Passage
from citebed.errors import CitebedError
from citebed.retrieval.ranking.confidence import sigmoid
from citebed.text.languages import language_of

MIN_PROBABILITY = 0.7
"""Sentences with at least this probability are shown: in published papers, most of them cite."""
_OWN = re.compile(
    r"\b(?:we|our|ours|us|I|my|this (?:paper|study|work|article|section|thesis|chapter)|here,)\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:has been|have been|previous(?:ly)?|recent(?:ly)?|prior|existing|studies|literature"
    r"|researchers|authors|et al|proposed|reported|known|popular|widely|introduced|suggested|shown"
    r"|demonstrated|found that|developed by|described by|according to|state-of-the-art"
    r"|traditional(?:ly)?)\b",
    re.IGNORECASE,
)
_SHOWN_HERE = re.compile(
    r"\b(?:fig(?:ure)?s?|tables?|section|equation|eq|algorithm|appendix|supplementary)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][A-Za-z-]*[A-Za-z]\b")
_FOLLOWS = re.compile(
    r"(?:However|But|Thus|Therefore|Hence|So|This|These|It|In this|First|Second|Then|Finally"
    r"|For example)\b"
)
_SECTIONS = {
    "introduction": "intro|background|motivation",
    "related work": "related|previous|literature|state of the art",
    "methods": "method|material|experiment|setup|procedure|data|model|approach",
    "results": "result|evaluation|finding|analysis",
    "discussion": "discussion",
    "conclusion": "conclu|summary|future|limitation|abstract",
}
FEATURES = (
    "words", "own", "others", "shown here", "number", "names", "first", "last", "question",
    "follows", "colon", *_SECTIONS, "kind",
)  # fmt: skip
_FEWEST_WORDS = 5
_SAMPLE = 20_000


def find_claims(
    draft: Draft, min_probability: float | None = None
) -> list[tuple[Passage, int, float]]:
    """Return the sentences that cite nothing and should, with the probability that they should.

    The abstract, captions, lists of keywords and the like are left out. Raise ``CitebedError`` if
    the draft is not in English.
    """
    language = language_of(None, None, " ".join(each.text for each in draft.passages)[:_SAMPLE])
    if language not in (None, "en"):
        raise CitebedError(
            f"--find-gaps knows English sentences only; this draft seems to be in '{language}'."
        )
    sentences = [
        (passage, number)
        for passage in draft.passages
        if not passage.silent and passage.section.lower() != "abstract"
        for number, text in enumerate(passage.sentences)
        if not passage.sentence_cites[number] and number not in passage.wanted
        and len(text.split()) >= _FEWEST_WORDS
    ]  # fmt: skip
    if not sentences:
        return []
    model = json.loads(files(__package__).joinpath("claims.json").read_text("utf-8"))
    weights = np.array([model["weights"][name] for name in FEATURES])
    likely = sigmoid(claim_features(sentences) @ weights + model["constant"]).tolist()
    least = MIN_PROBABILITY if min_probability is None else min_probability
    pairs = zip(sentences, likely, strict=True)
    return [(*sentence, probability) for sentence, probability in pairs if probability >= least]


def claim_features(sentences: Sequence[tuple[Passage, int]]) -> NDArray[np.float64]:
    """Return a row of features for each sentence of a passage, in the order of ``FEATURES``."""
    from citebed.retrieval.ranking.confidence import shipped_confidence
    from citebed.retrieval.vectors.static_model import shipped_model

    texts = [passage.sentences[number] for passage, number in sentences]
    vectors = np.asarray(shipped_model().queries(texts), np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    kinds = shipped_confidence().kind.score(vectors / np.maximum(lengths, 1e-9))
    rows = []
    for (passage, number), text in zip(sentences, texts, strict=True):
        section = passage.section.lower()
        rows.append([
            np.log1p(len(text.split())), _OWN.search(text) is not None,
            min(len(_OTHERS.findall(text)), 3), _SHOWN_HERE.search(text) is not None,
            re.search(r"\d", text) is not None, min(len(_NAME.findall(text)), 4),
            number == 0, number == len(passage.sentences) - 1, text.endswith("?"),
            _FOLLOWS.match(text) is not None, ":" in text or ";" in text,
            *(re.search(pattern, section) is not None for pattern in _SECTIONS.values()),
        ])  # fmt: skip
    return np.hstack([np.array(rows, np.float64), kinds[:, None]])
