"""The ranker: a weight for each signal, and how often recommendations of a score were right.

It is a JSON file that a person can read. A level is what a machine has: ``static`` without the
encoder, ``encoder`` with it. A document's score is the weighted sum of its signals. Its probability
is calibrated: a logistic function of the score and of the similarities as they are. The score says
which document is better than another for a text, the similarities whether any is good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import hash_file, read_small
from citebed.retrieval.query import Features
from citebed.retrieval.ranking.constants import Constants, read_constants
from citebed.retrieval.ranking.features import RAW, SIGNALS, weighted_sums
from citebed.retrieval.vectors.vectors import Embedder, Vectors

Reals = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("ranker.json")
FORMAT = 3
_OLD_NAMES = {"chance": "probability", "least": "min_probability"}
"""What format 1 called them. It had no constants, and format 2 others: those that come with citebed
are taken, and so is how likely a text asks."""
LEVELS = ("static", "encoder")
MEASURED = {
    "static": "the greatest similarity of word vectors to one of the best documents",
    "bm25": "the greatest BM25 of one of these (logarithm)",
    "matched": "how many of the text's words one of these has (logarithm)",
    "strange": "how much rarer its words are than those of documents, in standard errors",
}
"""Clues that are measured by the collection's background."""
CLUES = {
    **MEASURED,
    "telling": "words of the text that tell something (logarithm)",
    "kind": "what kind of text it is, by word vectors: thanks and outlines are low, citing is high",
}
"""What tells whether a text asks for something that is there."""
INPUTS = ("constant", "score", "is_cited", *(f"raw_{name}" for name in RAW))
"""What the probability is computed from; ``raw_bm25`` is a logarithm, ``is_cited`` whether any of
the documents is known to be cited: without citing sentences all scores are lower."""
_MOST = 1_000_000
"""No weight is greater, so that sums of them are numbers."""
_CITED, _BM25 = list(SIGNALS).index("cited"), RAW.index("bm25")


@dataclass(frozen=True)
class Level:
    """The weights of the signals, those of the probability, and the least probability of a good
    match."""

    weights: Reals
    probability: Reals
    min_probability: float

    def scores(self, features: Features) -> Reals:
        """The documents' scores."""
        return weighted_sums(features.values, self.weights)

    def probabilities(self, features: Features, scores: Reals) -> Reals:
        """How likely each document is right."""
        return self.probabilities_of(inputs(features, scores))

    def probabilities_of(self, rows: Reals) -> Reals:
        """The same, of rows of ``INPUTS``: their logistic function."""
        return np.asarray(
            np.exp(-np.logaddexp(0, -weighted_sums(rows, self.probability))), np.float64
        )


@dataclass(frozen=True)
class Asking:
    """How likely a text asks for something that is there: a weight for each clue, and the least
    probability that gets an answer. ``kind`` tells by a text's vector how it speaks."""

    weights: Reals
    constant: float
    kind: Reals
    kind_constant: float
    min_probability: float

    def kind_of(self, vectors: Vectors) -> Reals:
        """What kind of text each vector is of: below 0 rather what papers say of themselves."""
        return np.asarray(vectors @ self.kind + self.kind_constant, np.float64)

    def probabilities(self, clues: Reals) -> Reals:
        """How likely texts ask, by their measured clues (a row each)."""
        odds = clues @ self.weights + self.constant
        return np.asarray(np.exp(-np.logaddexp(0, -odds)), np.float64)


def mixed(one: Level, other: Level, share: float) -> Level:
    """A level between two: so large a share of the other's numbers."""
    return Level(
        (1 - share) * one.weights + share * other.weights,
        (1 - share) * one.probability + share * other.probability,
        (1 - share) * one.min_probability + share * other.min_probability,
    )


def inputs(features: Features, scores: Reals) -> Reals:
    """What probabilities are computed from: a column for each of ``INPUTS``."""
    raw = features.raw.copy()
    raw[:, _BM25] = np.log1p(np.maximum(raw[:, _BM25], 0))
    some = np.full(len(scores), float(features.values[:, _CITED].any()))
    return np.column_stack([np.ones(len(scores)), scores, some, raw])


@dataclass(frozen=True)
class Ranker:
    """A ranker's file: its levels by name, how likely texts ask, its constants, its SHA-256, and
    what it says of itself."""

    path: Path
    fingerprint: str
    levels: Mapping[str, Level]
    asking: Asking
    constants: Constants
    about: Mapping[str, Any]

    @property
    def documents(self) -> int:
        """Among how many documents it was trained; 0 where that is not known."""
        return int(self.about.get("documents", 0))

    def knows(self, models: Mapping[str, Embedder]) -> bool:
        """Whether it was trained with these models, by kind, so that its probabilities are theirs.

        Word vectors are known by their file, an encoder by its name: in 8 bits it may differ a
        little from machine to machine.
        """
        trained = self.about.get("vectors", {})
        return all(
            model.name == trained[kind]["name"]
            and (kind != "static" or model.fingerprint == trained[kind]["fingerprint"])
            for kind, model in models.items()
            if kind in trained
        )

    def level(self, has_encoder: bool) -> Level:
        """The weights for a machine with or without the encoder."""
        return self.levels["encoder" if has_encoder else "static"]


def read_ranker(path: str | Path) -> Ranker:
    """The ranker in a file."""
    path = Path(path)
    try:
        values = json.loads(read_small(path))
        if not isinstance(values, dict):
            raise TypeError("it is no JSON object")
        if values["format"] not in (1, 2, FORMAT):
            raise ValueError(f"it has format {values['format']!r}, this citebed reads {FORMAT}")
        levels = {name: _level(values["levels"][name]) for name in LEVELS}
        own = values["format"] == FORMAT
        constants = read_constants(values["constants"]) if own else shipped_ranker().constants
        asking = _asking(values["asking"]) if own else shipped_ranker().asking
        about = dict(values["about"])
        _ = int(about.get("documents", 0))
        _ = [(each["name"], each["fingerprint"]) for each in about.get("vectors", {}).values()]
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else f"{error}"
        what = f"is no ranker, or damaged ({why})"
        raise FormatError(path, None, f"{what}; train one with: citebed train ranker") from None
    return Ranker(path, hash_file(path), levels, asking, constants, about)


def _level(values: Mapping[str, Any]) -> Level:
    values = {_OLD_NAMES.get(name, name): each for name, each in values.items()}
    weights = _numbers(values["weights"], SIGNALS)
    least = float(values["min_probability"])
    if not 0 <= least <= 1:
        raise ValueError(f"the least probability is {least}")
    return Level(weights, _numbers(values["probability"], INPUTS), least)


def _asking(values: Mapping[str, Any]) -> Asking:
    kind = [float(each) for each in values["kind"]["vector"]]
    numbers = [float(values["constant"]), float(values["kind"]["constant"]), *kind]
    if not all(abs(each) <= _MOST for each in numbers):
        raise ValueError(f"a number of how likely texts ask is none up to {_MOST:,}")
    least = float(values["min_probability"])
    if not 0 <= least <= 1:
        raise ValueError(f"the least probability that a text asks is {least}")
    weights = _numbers(values["weights"], CLUES)
    return Asking(weights, numbers[0], np.array(kind), numbers[1], least)


def _numbers(values: Mapping[str, Any], names: Iterable[str]) -> Reals:
    """Numbers by name in the order of all names, 0 for those that are not there."""
    unknown = set(values) - set(names)
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    found = [float(values.get(name, 0)) for name in names]
    if not all(abs(weight) <= _MOST for weight in found):  # which what is no number is not
        raise ValueError(f"a weight is no number up to {_MOST:,}")
    return np.array(found)


def ranker_json(levels: Mapping[str, Level], asking: Asking, about: Mapping[str, Any]) -> str:
    """A ranker as the text of its file, with the constants that come with citebed."""

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
    asks = {
        "weights": named(asking.weights, CLUES),
        "constant": round(asking.constant, 4),
        "min_probability": round(asking.min_probability, 4),
        "kind": {
            "constant": round(asking.kind_constant, 4),
            "vector": [round(each, 3) for each in asking.kind.tolist()],
        },
    }
    constants = json.loads(read_small(SHIPPED))["constants"]
    values = {
        "format": FORMAT, "about": dict(about), "levels": rows, "asking": asks,
        "constants": constants,
    }  # fmt: skip
    return json.dumps(values, indent=1) + "\n"


@cache
def shipped_ranker() -> Ranker:
    """The ranker that comes with citebed."""
    if not SHIPPED.is_file():
        raise CitebedError(f"'{SHIPPED.name}' is missing from the installation: install it anew")
    return read_ranker(SHIPPED)
