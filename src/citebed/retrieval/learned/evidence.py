"""Evidence for a recommendation beside its words: what its abstract says that is most like the
text, and what other papers said when they cited it for the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder, Vectors
from citebed.retrieval.index.citing_sentences import CitingSentences
from citebed.text.sentences import split_sentences

_MOST_CITING = 2
_LIKE_ENOUGH = 0.3
"""What is less alike is not shown to people; to count as a signal it must be a little more so."""
_SHORTEST = 4
"""Words of a sentence that says something."""


class Evidence(NamedTuple):
    """Which sentence of the text (by number) asks most for a document, what of the document's
    abstract is most like the text, and what others say when they cite it for the same."""

    asked_by: int
    abstract: str
    citing: tuple[str, ...]


def evidence(
    asked: Vectors,
    abstracts: Sequence[str],
    citing: Sequence[tuple[CitingSentences, NDArray[np.int64]]],
    model: Embedder,
) -> list[Evidence]:
    """The evidence for documents, of which there are the abstract and perhaps citing sentences
    (by number); ``asked`` are the vectors of the text's sentences."""
    parts = [_sentences(abstract) for abstract in abstracts]
    flat = model.documents([sentence for part in parts for sentence in part])
    rows = np.split(flat, np.cumsum([len(part) for part in parts])[:-1])
    found = []
    for place, (sentences, vectors) in enumerate(zip(parts, rows, strict=True)):
        likeness = asked @ vectors.T
        asked_by, best = 0, ""
        if len(sentences) and likeness.max() >= _LIKE_ENOUGH:
            asked_by, at = (int(i) for i in np.unravel_index(likeness.argmax(), likeness.shape))
            best = sentences[at]
        said = _said(asked, *citing[place]) if citing else ()
        found.append(Evidence(asked_by, best, said))
    return found


def _sentences(abstract: str) -> list[str]:
    return [each for each in split_sentences(abstract) if len(each.split()) >= _SHORTEST]


def _said(asked: Vectors, citing: CitingSentences, numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """What the likest citing sentences say, each once."""
    if not len(numbers):
        return ()
    likeness = (asked @ citing.vectors.of(numbers).T).max(axis=0)
    order = np.argsort(-likeness, kind="stable")
    texts = (citing.texts[int(numbers[at])] for at in order if likeness[at] >= _LIKE_ENOUGH)
    return tuple(dict.fromkeys(texts))[:_MOST_CITING]
