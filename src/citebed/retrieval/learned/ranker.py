"""The ranker: a weight for each signal, and how often recommendations of a score were right.

It is a JSON file that a person can read. A level is what a machine has: ``static`` without the
encoder, ``encoder`` with it. A document's score is the weighted sum of its signals. Its chance is a
logistic function of the score and of the similarities as they are: the score says which document
is better than another for a text, the similarities whether any is good.
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
from citebed.files.reading import file_hash, read_small
from citebed.retrieval.dense.embedder import Embedder
from citebed.retrieval.learned.signals import RAW, SIGNALS, Features

Reals = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("ranker.json")
FORMAT = 1
LEVELS = ("static", "encoder")
INPUTS = ("constant", "score", "is_cited", *(f"raw_{name}" for name in RAW))
"""What the chance is computed from; ``raw_bm25`` is a logarithm, ``is_cited`` whether any of the
documents is known to be cited: without citing sentences all scores are lower."""
_MOST = 1_000_000
"""No weight is greater, so that sums of them are numbers."""
_CITED, _BM25 = list(SIGNALS).index("cited"), RAW.index("bm25")


@dataclass(frozen=True)
class Level:
    """The weights of the signals, those of the chance, and the least chance of a good match."""

    weights: Reals
    chance: Reals
    least: float

    def scores(self, weighed: Features) -> Reals:
        """The documents' scores."""
        return np.asarray(weighed.values @ self.weights, np.float64)

    def chances(self, weighed: Features, scores: Reals) -> Reals:
        """How likely each document is right."""
        return self.chances_of(inputs(weighed, scores))

    def chances_of(self, rows: Reals) -> Reals:
        """The same, of rows of ``INPUTS``: their logistic function."""
        return np.asarray(np.exp(-np.logaddexp(0, -rows @ self.chance)), np.float64)


def inputs(weighed: Features, scores: Reals) -> Reals:
    """What the chances of documents are computed from: a column for each of ``INPUTS``."""
    raw = weighed.raw.copy()
    raw[:, _BM25] = np.log1p(np.maximum(raw[:, _BM25], 0))
    some = np.full(len(scores), float(weighed.values[:, _CITED].any()))
    return np.column_stack([np.ones(len(scores)), scores, some, raw])


@dataclass(frozen=True)
class Ranker:
    """A ranker's file: its levels by name, its SHA-256, and what it says of itself."""

    path: Path
    fingerprint: str
    levels: Mapping[str, Level]
    about: Mapping[str, Any]

    @property
    def documents(self) -> int:
        """Among how many documents it was trained; 0 where that is not known."""
        return int(self.about.get("documents", 0))

    def knows(self, models: Mapping[str, Embedder]) -> bool:
        """Whether it was trained with these models, by kind, so that its chances are theirs.

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
        if values["format"] != FORMAT:
            raise ValueError(f"it has format {values['format']!r}, this citebed reads {FORMAT}")
        levels = {name: _level(values["levels"][name]) for name in LEVELS}
        about = dict(values["about"])
        _ = int(about.get("documents", 0))
        _ = [(each["name"], each["fingerprint"]) for each in about.get("vectors", {}).values()]
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else f"{error}"
        what = f"is no ranker, or damaged ({why})"
        raise FormatError(path, None, f"{what}; train one with: citebed train ranker") from None
    return Ranker(path, file_hash(path), levels, about)


def _level(values: Mapping[str, Any]) -> Level:
    weights = _numbers(values["weights"], SIGNALS)
    least = float(values["least"])
    if not 0 <= least <= 1:
        raise ValueError(f"the least chance is {least}")
    return Level(weights, _numbers(values["chance"], INPUTS), least)


def _numbers(values: Mapping[str, Any], names: Iterable[str]) -> Reals:
    """Numbers by name in the order of all names, 0 for those that are not there."""
    unknown = set(values) - set(names)
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    found = [float(values.get(name, 0)) for name in names]
    if not all(abs(weight) <= _MOST for weight in found):  # which what is no number is not
        raise ValueError(f"a weight is no number up to {_MOST:,}")
    return np.array(found)


def ranker_json(levels: Mapping[str, Level], about: Mapping[str, Any]) -> str:
    """A ranker as the text of its file."""

    def named(values: Reals, names: Iterable[str]) -> dict[str, float]:
        return {n: round(float(v), 4) for n, v in zip(names, values, strict=True) if v}

    rows = {
        name: {
            "weights": named(level.weights, SIGNALS),
            "chance": named(level.chance, INPUTS),
            "least": round(level.least, 4),
        }
        for name, level in levels.items()
    }
    return json.dumps({"format": FORMAT, "about": dict(about), "levels": rows}, indent=1) + "\n"


@cache
def shipped_ranker() -> Ranker:
    """The ranker that comes with citebed."""
    if not SHIPPED.is_file():
        raise CitebedError(f"'{SHIPPED.name}' is missing from the installation: install it anew")
    return read_ranker(SHIPPED)
