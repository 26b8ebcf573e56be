"""Retrieval models: values that parse, print and score.

A model is one file and one line in ``MODELS``; ``model_of`` reads one.
"""

from __future__ import annotations

from citebed.errors import UnknownName
from citebed.grammar import Call, only_call
from citebed.retrieval.models.base import Corpus, Model, Postings
from citebed.retrieval.models.bm25 import Bm25
from citebed.retrieval.models.bm25f import Bm25f
from citebed.retrieval.models.cosine import Cosine
from citebed.retrieval.models.kl import Kl
from citebed.retrieval.models.okapi import Okapi
from citebed.retrieval.models.ql import Ql

__all__ = ["MODELS", "Corpus", "Model", "Postings", "model_from", "model_of"]

MODELS: dict[str, type[Model]] = {
    model.name: model for model in (Bm25, Bm25f, Okapi, Cosine, Kl, Ql)
}
"""All models by name, in the order in which they are explained."""


def model_of(text: str) -> Model:
    """The model that a text describes, e.g. ``bm25(k1=0.9,b=0.4)`` or just ``bm25``."""
    return model_from(only_call(text, "model"))


def model_from(call: Call) -> Model:
    """The model that a call of a spec describes; ``BM25`` is ``bm25``."""
    found = MODELS.get(call.name.lower())
    if found is None:
        raise UnknownName("model", call.name, MODELS)
    return found.from_call(call)
