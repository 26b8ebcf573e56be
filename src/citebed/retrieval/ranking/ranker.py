"""Ranker files: a weight for each signal, calibrated probabilities, the citation need, constants.

A ranker is a JSON file that people can read. It has a level for machines without the encoder
(``static``) and with it (``encoder``). A document's score is the weighted sum of its signals. Its
probability is a logistic function of the score and of the raw similarities: the score compares
documents for one text, the similarities show whether any of them is good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import hash_file, read_small
from citebed.retrieval.query import Candidates
from citebed.retrieval.ranking.features import RAW, SIGNALS, Constants, weighted_sums
from citebed.retrieval.vectors.vectors import Embedder, Vectors

Reals = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("ranker.json")
FORMAT = 4
LEVELS = ("static", "encoder")
BACKGROUND_FEATURES = {
    "static": "the highest similarity of word vectors to one of the best documents",
    "bm25": "the highest BM25 of one of these (logarithm)",
    "matched": "how many of the text's words one of these has (logarithm)",
    "strange": "how much rarer its words are than words of documents, in standard errors",
}
"""Features of the citation need that are standardised with the collection's background."""
NEED_FEATURES = {
    **BACKGROUND_FEATURES,
    "telling": "content words of the text (logarithm)",
    "kind": "the kind of text, by word vectors: low for thanks and outlines, high for citing text",
}
"""The features that show whether a text needs a citation of this collection."""
INPUTS = ("constant", "score", "is_cited", *(f"raw_{name}" for name in RAW))
"""The inputs of probabilities. ``raw_bm25`` is a logarithm; ``is_cited`` is 1 if any document is
known to be cited, because all scores are lower without citing sentences."""
_MAX_WEIGHT = 1_000_000
_BM25 = RAW.index("bm25")
_CITED = list(SIGNALS).index("cited")
_OLD_NAMES = {"chance": "probability", "least": "min_probability"}
"""Names in format 1, which had no constants; format 2 had others, and no citation need. citebed
uses the shipped ones then."""
_OLD_CONSTANTS = {
    "by_words": "bm25_depth", "candidates": "candidates_per_signal",
    "alike": "min_citing_similarity", "fitting": "peer_depth", "fitting_one_of": "peer_divisor",
    "shown_alike": "min_evidence_similarity", "shown_words": "min_sentence_words",
    "shown_citing": "max_citing_sentences", "few_words": "short_text_words",
    "hardly_any": "unlikely", "hardly_any_of_few": "unlikely_if_small",
    "one_in_ten": "about_ten_percent", "far_larger": "max_size_ratio", "of_size": "size_exponent",
    "strong_held": "strong_word_share", "fair_held": "fair_word_share",
    "held_of_few": "short_text_word_share", "language_share": "min_language_share",
    "own_words": "min_native_share", "hardly_own_words": "min_native_share_if_unknown",
    "foreign_words": "min_foreign_words", "known_words": "min_known_share",
    "english_share": "min_english_share",
}  # fmt: skip
"""Names in format 3."""


@dataclass(frozen=True)
class Level:
    """Weights of the signals, weights of the calibration, and the probability of a good match."""

    weights: Reals
    probability: Reals
    min_probability: float

    def score(self, candidates: Candidates) -> Reals:
        """Return the candidates' scores."""
        return weighted_sums(candidates.signals, self.weights)

    def calibrate(self, rows: Reals) -> Reals:
        """Return probabilities of rows of ``INPUTS``, by a logistic function."""
        sums = weighted_sums(rows, self.probability)
        return np.asarray(np.exp(-np.logaddexp(0, -sums)), np.float64)


@dataclass(frozen=True)
class CitationNeedModel:
    """How likely a text needs a citation of the collection: a weight for each feature.

    Texts below ``min_probability`` get no recommendation. ``kind`` is a linear model of a text's
    vector.
    """

    weights: Reals
    constant: float
    kind: Reals
    kind_constant: float
    min_probability: float

    def score_kind(self, vectors: Vectors) -> Reals:
        """Return the kind of each text; below 0 for what papers say about themselves."""
        return np.asarray(vectors @ self.kind + self.kind_constant, np.float64)

    def predict(self, features: Reals) -> Reals:
        """Return the probabilities for texts, by their standardised features (a row each)."""
        odds = features @ self.weights + self.constant
        return np.asarray(np.exp(-np.logaddexp(0, -odds)), np.float64)


@dataclass(frozen=True)
class Ranker:
    """A ranker file; ``fingerprint`` is its SHA-256, ``about`` its description of itself."""

    path: Path
    fingerprint: str
    levels: Mapping[str, Level]
    citation_need: CitationNeedModel
    constants: Constants
    about: Mapping[str, Any]

    @property
    def documents(self) -> int:
        """The number of documents in the training collection; 0 if unknown."""
        return int(self.about.get("documents", 0))

    def is_calibrated_for(self, models: Mapping[str, Embedder]) -> bool:
        """Return True if the ranker was trained with these models, by kind.

        Word vectors are compared by their file, an encoder by its name: in 8 bits it can differ a
        little between machines.
        """
        trained = self.about.get("vectors", {})
        return all(
            model.name == trained[kind]["name"]
            and (kind != "static" or model.fingerprint == trained[kind]["fingerprint"])
            for kind, model in models.items()
            if kind in trained
        )

    def level(self, encoder_share: float) -> Level:
        """Return the weights for an encoder that has read this share of the documents.

        With a few documents read, it should not push the others aside.
        """
        static, encoder = (self.levels[name] for name in LEVELS)
        if not encoder_share:
            return static
        rest = 1 - encoder_share
        return Level(
            rest * static.weights + encoder_share * encoder.weights,
            rest * static.probability + encoder_share * encoder.probability,
            rest * static.min_probability + encoder_share * encoder.min_probability,
        )


def calibration_inputs(candidates: Candidates, scores: Reals) -> Reals:
    """Return the inputs of probabilities: a column for each of ``INPUTS``."""
    raw = candidates.raw.copy()
    raw[:, _BM25] = np.log1p(np.maximum(raw[:, _BM25], 0))
    is_cited = np.full(len(scores), float(candidates.signals[:, _CITED].any()))
    return np.column_stack([np.ones(len(scores)), scores, is_cited, raw])


def read_ranker(path: str | Path) -> Ranker:
    """Read a ranker file."""
    path = Path(path)
    try:
        values = json.loads(read_small(path))
        if not isinstance(values, dict):
            raise TypeError("not a JSON object")
        version = values["format"]
        if version not in range(1, FORMAT + 1):
            raise ValueError(f"format {version!r}; this citebed reads up to {FORMAT}")
        levels = {}
        for name in LEVELS:
            stored = values["levels"][name].items()
            level = {_OLD_NAMES.get(key, key): each for key, each in stored}
            levels[name] = Level(
                _numbers(level["weights"], SIGNALS),
                _numbers(level["probability"], INPUTS),
                _probability(level["min_probability"]),
            )
        if version > 2:
            need = _read_citation_need(values["asking" if version == 3 else "citation_need"])
            constants = _read_constants(values["constants"])
        else:
            need, constants = shipped_ranker().citation_need, shipped_ranker().constants
        about = dict(values["about"])
        _ = int(about.get("documents", 0))
        _ = [(each["name"], each["fingerprint"]) for each in about.get("vectors", {}).values()]
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else f"{error}"
        message = f"not a ranker, or damaged ({why}). Train one with: citebed train ranker"
        raise FormatError(path, None, message) from None
    return Ranker(path, hash_file(path), levels, need, constants, about)


def _read_citation_need(values: Mapping[str, Any]) -> CitationNeedModel:
    kind = [float(each) for each in values["kind"]["vector"]]
    numbers = [float(values["constant"]), float(values["kind"]["constant"]), *kind]
    if not all(abs(each) <= _MAX_WEIGHT for each in numbers):  # NaN fails too
        raise ValueError(f"a number of the citation need is not within ±{_MAX_WEIGHT:,}")
    least = _probability(values["min_probability"])
    weights = _numbers(values["weights"], NEED_FEATURES)
    return CitationNeedModel(weights, numbers[0], np.array(kind), numbers[1], least)


def _read_constants(values: Mapping[str, Any]) -> Constants:
    types = get_type_hints(Constants)
    found = {_OLD_CONSTANTS.get(name, name): each["value"] for name, each in values.items()}
    if wrong := set(found) ^ set(types):
        raise ValueError(f"constants that are unknown or missing: {', '.join(sorted(wrong))}")
    for name, value in found.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not (is_whole or (isinstance(value, float) and types[name] is float)):
            raise ValueError(f"the constant '{name}' is {value!r}")
        if not 0 <= value <= _MAX_WEIGHT:  # NaN fails too
            raise ValueError(f"the constant '{name}' is not a number from 0 to {_MAX_WEIGHT:,}")
    return Constants(**found)


def _probability(value: Any) -> float:
    if not 0 <= float(value) <= 1:
        raise ValueError(f"min_probability is {value}")
    return float(value)


def _numbers(values: Mapping[str, Any], names: Iterable[str]) -> Reals:
    """Return numbers in the order of all names, 0 for missing ones."""
    if unknown := set(values) - set(names):
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    found = [float(values.get(name, 0)) for name in names]
    if not all(abs(weight) <= _MAX_WEIGHT for weight in found):  # NaN fails too
        raise ValueError(f"a weight is not a number within ±{_MAX_WEIGHT:,}")
    return np.array(found)


def ranker_json(
    levels: Mapping[str, Level], need: CitationNeedModel, about: Mapping[str, Any]
) -> str:
    """Return the text of a ranker file, with the shipped constants."""

    def named(values: Reals, names: Iterable[str]) -> dict[str, float]:
        return {n: round(float(v), 4) for n, v in zip(names, values, strict=True) if v}

    rows = {
        name: {
            "weights": named(level.weights, SIGNALS),
            "probability": named(level.probability, INPUTS),
            "min_probability": round(level.min_probability, 4),
        }
        for name, level in levels.items()
    }
    needs = {
        "weights": named(need.weights, NEED_FEATURES),
        "constant": round(need.constant, 4),
        "min_probability": round(need.min_probability, 4),
        "kind": {
            "constant": round(need.kind_constant, 4),
            "vector": [round(each, 3) for each in need.kind.tolist()],
        },
    }
    constants = json.loads(read_small(SHIPPED))["constants"]
    values = {
        "format": FORMAT, "about": dict(about), "levels": rows, "citation_need": needs,
        "constants": constants,
    }  # fmt: skip
    return json.dumps(values, indent=1) + "\n"


@cache
def shipped_ranker() -> Ranker:
    """Return the shipped ranker."""
    if not SHIPPED.is_file():
        raise CitebedError(f"'{SHIPPED.name}' is missing from the installation. Install it again.")
    return read_ranker(SHIPPED)
