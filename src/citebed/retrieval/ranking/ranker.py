"""Ranker files: a weight for each signal, and constants of the ranking.

A ranker is a JSON file that people can read. It has a level for machines without the encoder
(``static``) and with it (``encoder``). A document's score is the weighted sum of its signals.
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
from citebed.retrieval.ranking.features import SIGNALS, Constants, weighted_sums

Reals = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("ranker.json")
FORMAT = 5
LEVELS = ("static", "encoder")
_MAX_WEIGHT = 1_000_000
_OLD_CONSTANTS = {
    "by_words": "bm25_depth", "candidates": "candidates_per_signal",
    "alike": "min_citing_similarity", "fitting": "peer_depth", "fitting_one_of": "peer_divisor",
    "shown_alike": "min_evidence_similarity", "shown_words": "min_sentence_words",
    "shown_citing": "max_citing_sentences",
}  # fmt: skip
"""Names in format 3. Formats before 5 also had probabilities and a citation need, which
`confidence` has replaced."""


@dataclass(frozen=True)
class Level:
    """Weights of the signals."""

    weights: Reals

    def score(self, candidates: Candidates) -> Reals:
        return weighted_sums(candidates.signals, self.weights)


@dataclass(frozen=True)
class Ranker:
    """A ranker file; ``fingerprint`` is its SHA-256, ``about`` its description of itself."""

    path: Path
    fingerprint: str
    levels: Mapping[str, Level]
    constants: Constants
    about: Mapping[str, Any]

    def level(self, encoder_share: float) -> Level:
        """Return the weights for an encoder that has read this share of the documents.

        With a few documents read, it should not push the others aside.
        """
        static, encoder = (self.levels[name] for name in LEVELS)
        if not encoder_share:
            return static
        rest = 1 - encoder_share
        return Level(rest * static.weights + encoder_share * encoder.weights)


def read_ranker(path: str | Path) -> Ranker:
    path = Path(path)
    try:
        values = json.loads(read_small(path))
        if not isinstance(values, dict):
            raise TypeError("not a JSON object")
        version = values["format"]
        if version not in range(1, FORMAT + 1):
            raise ValueError(f"format {version!r}; this citebed reads up to {FORMAT}")
        levels = {
            name: Level(_numbers(values["levels"][name]["weights"], SIGNALS)) for name in LEVELS
        }
        constants = shipped_ranker().constants if version < 3 else _read_constants(values)
        about = dict(values["about"])
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else f"{error}"
        message = f"not a ranker, or damaged ({why}). Train one with: citebed train ranker"
        raise FormatError(path, None, message) from None
    return Ranker(path, hash_file(path), levels, constants, about)


def _read_constants(values: Mapping[str, Any]) -> Constants:
    types = get_type_hints(Constants)
    stored = values["constants"].items()
    found = {_OLD_CONSTANTS.get(name, name): each["value"] for name, each in stored}
    if values["format"] < FORMAT:  # these had constants of the probabilities, too
        found = {name: value for name, value in found.items() if name in types}
    if wrong := set(found) ^ set(types):
        raise ValueError(f"constants that are unknown or missing: {', '.join(sorted(wrong))}")
    for name, value in found.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not (is_whole or (isinstance(value, float) and types[name] is float)):
            raise ValueError(f"the constant '{name}' is {value!r}")
        if not 0 <= value <= _MAX_WEIGHT:  # NaN fails too
            raise ValueError(f"the constant '{name}' is not a number from 0 to {_MAX_WEIGHT:,}")
    return Constants(**found)


def _numbers(values: Mapping[str, Any], names: Iterable[str]) -> Reals:
    """Return numbers in the order of all names, 0 for missing ones."""
    if unknown := set(values) - set(names):
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    found = [float(values.get(name, 0)) for name in names]
    if not all(abs(weight) <= _MAX_WEIGHT for weight in found):  # NaN fails too
        raise ValueError(f"a weight is not a number within ±{_MAX_WEIGHT:,}")
    return np.array(found)


def ranker_json(levels: Mapping[str, Level], about: Mapping[str, Any]) -> str:
    """Return the text of a ranker file, with the shipped constants."""
    rows = {
        name: {
            "weights": {
                signal: round(float(weight), 4)
                for signal, weight in zip(SIGNALS, level.weights, strict=True)
                if weight
            }
        }
        for name, level in levels.items()
    }
    constants = json.loads(read_small(SHIPPED))["constants"]
    values = {"format": FORMAT, "about": dict(about), "levels": rows, "constants": constants}
    return json.dumps(values, indent=1) + "\n"


@cache
def shipped_ranker() -> Ranker:
    if not SHIPPED.is_file():
        raise CitebedError(f"'{SHIPPED.name}' is missing from the installation. Install it again.")
    return read_ranker(SHIPPED)
