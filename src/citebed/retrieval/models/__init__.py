"""Retrieval models: values that parse, print and score.

To add a model, write one class and add it to ``MODELS``. ``model_of`` parses a model.
"""

from __future__ import annotations

from citebed.errors import UnknownName
from citebed.grammar import Call, only_call, plain_name
from citebed.retrieval.models.base import Corpus, Model, Postings
from citebed.retrieval.models.bm25 import Bm25, Bm25f, Okapi
from citebed.retrieval.models.cosine import Cosine
from citebed.retrieval.models.language import Kl, Ql

__all__ = ["MODELS", "Corpus", "Model", "Postings", "model_from", "model_of"]

MODELS: dict[str, type[Model]] = {
    model.name: model for model in (Bm25, Bm25f, Okapi, Cosine, Kl, Ql)
}
"""All models by name, in the order in which the documentation explains them."""

_USUAL = {
    "ql": "lm languagemodel querylikelihood dirichlet indri",
    "ql(mu=1000)": "qld",
    "ql(mu=2000)": "lmdirichlet",
    "kl": "lemur kld kldivergence",
    "kl(lambda=0.1)": "jm jelinekmercer qljm lmjm lmjelinekmercer",
    "cosine": "tfidf vsm vector vectorspace vectorspacemodel",
    "bm25": "okapibm25 bm25okapi",
    "bm25(lengths=lucene)": "lucene anserini pyserini",
}
USUAL_NAMES = {usual: model for model, names in _USUAL.items() for usual in names.split()}
"""Names of models in other software, with the parameters of Indri, Anserini and Lucene."""


def model_of(text: str) -> Model:
    """Parse a model, such as ``bm25(k1=0.9,b=0.4)`` or just ``bm25``."""
    return model_from(only_call(text, "model"))


def model_from(call: Call) -> Model:
    """Return the model of a parsed call; ``BM25`` means ``bm25``, and ``tf-idf`` means
    ``cosine``.
    """
    plain = plain_name(call.name)
    meant = only_call(USUAL_NAMES[plain], "model") if plain in USUAL_NAMES else Call(plain)
    if meant.name not in MODELS:
        raise UnknownName("model", call.name, MODELS, usual=USUAL_NAMES)
    params = {**dict(meant.params), **dict(call.params)}
    return MODELS[meant.name].from_call(Call(meant.name, tuple(params.items())))
