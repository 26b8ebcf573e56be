"""Which fields of a document count, and how much: ``title=2,abstract,keywords``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.index.layout import FIELDS


@dataclass(frozen=True)
class Fields:
    """Weights of the fields; a field that is not named does not count."""

    weights: Mapping[str, float]

    def __str__(self) -> str:
        named = ((name, float(self.weights[name])) for name in FIELDS if name in self.weights)
        return ",".join(
            name if weight == 1 else f"{name}={repr(weight).removesuffix('.0')}"
            for name, weight in named
        )

    def __hash__(self) -> int:
        return hash(str(self))


DEFAULT_FIELDS = Fields({"title": 1.0, "abstract": 1.0, "keywords": 1.0})


def fields_of(text: str) -> Fields:
    """The fields that ``text`` names, e.g. ``title=2,abstract,keywords,citing=0.5``."""
    weights: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in FIELDS:
            raise UnknownName("field", name, FIELDS)
        weights[name] = _weight(name, value) if "=" in part else 1.0
    kept = {name: weights[name] for name in FIELDS if weights.get(name)}
    if not kept:
        raise CitebedError(
            f"'{text}' names no field with a weight. Write them as: title=2,abstract,keywords"
        )
    return Fields(kept)


def _weight(name: str, value: str) -> float:
    try:
        weight = float(value)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise CitebedError(f"the weight of field '{name}' is '{value}'; it must be 0 or more")
    return weight
