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


class Said(NamedTuple):
    """What a paper (by number) says of a document; its year, where that is known."""

    text: str
    paper: int
    year: int | None


class Evidence(NamedTuple):
    """Which sentence of the text (by number) is most like a document, what of the document's
    abstract is most like the text, and what others say when they cite it for the same."""

    asked_by: int
    abstract: str
    citing: tuple[Said, ...]


def evidence(
    asked: Vectors,
    documents: Vectors,
    abstracts: Sequence[str],
    citing: Sequence[tuple[CitingSentences, NDArray[np.int64]]],
    model: Embedder,
) -> list[Evidence]:
    """The evidence for documents, of which there are vector, abstract and perhaps citing sentences
    (by number); ``asked`` are the vectors of the text's sentences."""
    parts = [_sentences(abstract) for abstract in abstracts]
    flat = model.documents([sentence for part in parts for sentence in part])
    rows = np.split(flat, np.cumsum([len(part) for part in parts])[:-1])
    asked_by = (asked @ documents.T).argmax(axis=0).tolist()
    found = []
    for place, (sentences, vectors) in enumerate(zip(parts, rows, strict=True)):
        said = _said(asked, *citing[place]) if citing else ()
        found.append(Evidence(asked_by[place], _likest(asked, sentences, vectors), said))
    return found


def _likest(asked: Vectors, sentences: Sequence[str], vectors: Vectors) -> str:
    """The sentence that is most like one of the text's, if it is like enough."""
    if not sentences:
        return ""
    likeness = (asked @ vectors.T).max(axis=0)
    best = int(likeness.argmax())
    return sentences[best] if likeness[best] >= _LIKE_ENOUGH else ""


def _sentences(abstract: str) -> list[str]:
    return [each for each in split_sentences(abstract) if len(each.split()) >= _SHORTEST]


def _said(asked: Vectors, citing: CitingSentences, numbers: NDArray[np.int64]) -> tuple[Said, ...]:
    """What the likest citing sentences say, each once."""
    if not len(numbers):
        return ()
    likeness = (asked @ citing.vectors.of(numbers).T).max(axis=0)
    order = np.argsort(-likeness, kind="stable")
    found: dict[str, Said] = {}
    for number in (int(numbers[at]) for at in order if likeness[at] >= _LIKE_ENOUGH):
        said = Said(citing.texts[number], int(citing.papers[number]), int(citing.years[number]))
        found.setdefault(said.text, said._replace(year=said.year or None))
    return tuple(found.values())[:_MOST_CITING]
