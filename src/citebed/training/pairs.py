"""What is learned from: a text that looks for a document, and the document it should find.

Contexts of citations are the task itself. Titles, keywords and sentences that look for the rest of
their own abstract teach the words of the field, and what a passage of several citations looks like
is taken from contexts that follow each other in one paper.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from citebed.training.prepared import CitingText, DocumentText, Form, TrainingTexts

KEYWORDS_CHANCE = 0.7
"""How often a document is shown with its keywords: many have none when they are looked for."""
_ENOUGH = 80
"""Characters of an abstract that says something."""
_SIZES = (2, 3, 4)
"""Contexts of a passage."""


class Pair(NamedTuple):
    """A text, the document it should find, all documents that it cites, and the citing paper."""

    text: str
    form: Form
    cited: tuple[int, ...]
    paper_id: str = ""


def generator(*parts: object) -> random.Random:
    """A source of random numbers of its own for each part of the work, from the seed on."""
    return random.Random(":".join(map(str, parts)))


def context_pairs(contexts: Iterable[CitingText], rng: random.Random) -> Iterator[Pair]:
    """Each context with each document that it cites."""
    for each in contexts:
        for place in each.cited:
            form = Form(place, keywords=rng.random() < KEYWORDS_CHANCE)
            yield Pair(each.text, form, each.cited, each.paper_id)


def passages(
    contexts: Iterable[CitingText], rng: random.Random, sizes: Sequence[int] = _SIZES
) -> Iterator[CitingText]:
    """Contexts of one paper that follow each other, put together as if they were a paragraph."""
    by_paper: dict[str, list[CitingText]] = {}
    for each in contexts:
        by_paper.setdefault(each.paper_id, []).append(each)
    for paper_id, said in by_paper.items():
        at = 0
        while at < len(said) - 1:
            group = said[at : at + rng.choice(sizes)]
            at += len(group)
            cited = sorted({place for each in group for place in each.cited})
            yield CitingText(paper_id, " ".join(each.text for each in group), tuple(cited))


def passage_pairs(
    contexts: Iterable[CitingText], rng: random.Random, sizes: Sequence[int] = _SIZES
) -> Iterator[Pair]:
    """Each passage with two of the documents that it cites."""
    for each in passages(contexts, rng, sizes):
        for place in rng.sample(each.cited, min(2, len(each.cited))):
            yield Pair(each.text, Form(place), each.cited, each.paper_id)


def document_pairs(
    texts: TrainingTexts, rng: random.Random, sentences: int = 1, keywords: bool = False
) -> Iterator[Pair]:
    """Parts of a document that look for the rest of it: its title, some sentences, its keywords."""
    for place, document in enumerate(texts.documents):
        if len(document.abstract) < _ENOUGH:
            continue
        named, itself = rng.random() < KEYWORDS_CHANCE, (place,)
        if document.title:
            yield Pair(document.title, Form(place, title=False, keywords=named), itself)
        said = texts.sentences[place]
        for at in rng.sample(range(len(said)), min(sentences, len(said))) if len(said) > 2 else ():
            yield Pair(said[at], Form(place, keywords=named, without=at), itself)
        if keywords and len(document.keywords) > 2:
            yield Pair(", ".join(document.keywords), Form(place, keywords=False), itself)


def by_field(
    pairs: list[Pair], documents: Sequence[DocumentText], batch: int, rng: random.Random
) -> list[Pair]:
    """Pairs in another order, so that each batch is of one field: a document of another field is
    too easily told to be wrong. What is left of a field goes to the end, mixed."""
    fields: dict[str, list[Pair]] = {}
    for pair in pairs:
        fields.setdefault(documents[pair.form.place].field, []).append(pair)
    if len(fields) < 2:
        return pairs
    batches: list[list[Pair]] = []
    left: list[Pair] = []
    for some in fields.values():
        whole = len(some) - len(some) % batch
        batches += [some[at : at + batch] for at in range(0, whole, batch)]
        left += some[whole:]
    rng.shuffle(batches)
    rng.shuffle(left)
    return [pair for some in (*batches, left) for pair in some]
