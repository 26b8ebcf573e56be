"""Find sentences that make a claim and cite nothing, with a small model of English sentences.

The model adds up features of a sentence (names, numbers, words about other people's work or the
authors' own, its section), the kind of text that its word vector suggests, and how much the text
around it cites. ``bench/fill.py --train`` learns the weights from papers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from citebed.drafts.records import Draft, Passage
from citebed.errors import CitebedError
from citebed.retrieval.ranking.confidence import sigmoid
from citebed.text.languages import language_of

MIN_PROBABILITY = 0.3
"""Sentences with at least this probability are shown: in published papers, half of them cite."""
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
    "follows", "colon", *_SECTIONS, "kind", "previous cites", "next cites", "paragraph", "section",
    "draft",
)  # fmt: skip
AROUND = FEATURES[-5:]
"""The features of what the text around a sentence cites. A second model has none of them, for a
draft without citations."""
_FEWEST_WORDS = 5
_SAMPLE = 20_000
_PRIOR, _WEIGHT = 0.7, 4
"""Citing sentences and sentences that are added to each count, for short sections."""


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
    sentences, table = claim_features(draft)
    open_ones = [at for at, (passage, number) in enumerate(sentences) if not cites(passage, number)]
    if not open_ones:
        return []
    models = json.loads(files(__package__).joinpath("claims.json").read_text("utf-8"))
    model = models["no citations" if len(open_ones) == len(sentences) else "some citations"]
    weights = np.array([model["weights"][name] for name in FEATURES])
    likely = sigmoid(table[open_ones] @ weights + model["constant"]).tolist()
    least = MIN_PROBABILITY if min_probability is None else min_probability
    pairs = zip(open_ones, likely, strict=True)
    return [(*sentences[at], probability) for at, probability in pairs if probability >= least]


def cites(passage: Passage, number: int) -> bool:
    """Return True if a sentence cites something, or has a placeholder for a citation."""
    return bool(passage.sentence_cites[number]) or number in passage.wanted


def claim_features(draft: Draft) -> tuple[list[tuple[Passage, int]], NDArray[np.float64]]:
    """Return the sentences of a draft's prose, as passages and numbers of sentences in them, and a
    row of features for each, in the order of ``FEATURES``. What a sentence itself cites has no
    influence on its row."""
    from citebed.retrieval.ranking.confidence import shipped_confidence
    from citebed.retrieval.vectors.static_model import shipped_model

    sentences, rows = list[tuple[Passage, int]](), list[list[float]]()
    by_section = defaultdict[str, list[bool]](list)
    prose = [p for p in draft.passages if not p.silent and p.section.lower() != "abstract"]
    for passage in prose:
        by_section[passage.section] += [cites(passage, n) for n in range(len(passage.sentences))]
    every = [flag for flags in by_section.values() for flag in flags]
    for passage in prose:
        flags = [cites(passage, number) for number in range(len(passage.sentences))]
        section, last = passage.section.lower(), len(flags) - 1
        for number, text in enumerate(passage.sentences):
            if len(text.split()) < _FEWEST_WORDS:
                continue
            sentences.append((passage, number))
            around = (
                (sum(some) - flags[number] + _PRIOR) / (len(some) - 1 + _WEIGHT)
                for some in (by_section[passage.section], every)
            )
            rows.append([
                np.log1p(len(text.split())), _OWN.search(text) is not None,
                min(len(_OTHERS.findall(text)), 3), _SHOWN_HERE.search(text) is not None,
                re.search(r"\d", text) is not None, min(len(_NAME.findall(text)), 4),
                number == 0, number == last, text.endswith("?"),
                _FOLLOWS.match(text) is not None, ":" in text or ";" in text,
                *(re.search(pattern, section) is not None for pattern in _SECTIONS.values()),
                0.0, number > 0 and flags[number - 1], number < last and flags[number + 1],
                (sum(flags) - flags[number]) / max(1, last), *around,
            ])  # fmt: skip
    table = np.array(rows, np.float64).reshape(len(rows), len(FEATURES))
    if sentences:
        texts = [passage.sentences[number] for passage, number in sentences]
        vectors = np.asarray(shipped_model().queries(texts), np.float64)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        table[:, FEATURES.index("kind")] = shipped_confidence().kind.score(vectors / lengths)
    return sentences, table
