"""The fields of a document to search, with their weights: ``title=2,abstract,keywords``."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.index.layout import FIELDS

FULL_TEXT = 0.1
"""The default weight of a word in the full text; in the title it is 1.

A full text is about 30 times as long as an abstract, and mentions many things in passing.
"""
_BY_DEFAULT = "default"


@dataclass(frozen=True)
class Fields:
    """Weights of the fields; a field that is not named does not count.

    The fields ``by_default`` include the full text if the index has it.
    """

    weights: Mapping[str, float]
    by_default: bool = False

    def __str__(self) -> str:
        if self.by_default:
            return _BY_DEFAULT
        named = ((name, float(self.weights[name])) for name in FIELDS if name in self.weights)
        return ",".join(
            name if weight == 1 else f"{name}={repr(weight).removesuffix('.0')}"
            for name, weight in named
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def of(self, indexed: Collection[str]) -> Fields:
        """Return the fields to search in an index with these fields."""
        if not self.by_default:
            return self
        more = {"fulltext": FULL_TEXT} if "fulltext" in indexed else {}
        return Fields({**self.weights, **more})


DEFAULT_FIELDS = Fields({"title": 1.0, "abstract": 1.0, "keywords": 1.0}, by_default=True)


def fields_of(text: str) -> Fields:
    """Parse fields with weights, e.g. ``title=2,abstract,keywords,citing=0.5``.

    ``default`` is title, abstract and keywords, and the full text if the index has it.
    """
    if text.strip() == _BY_DEFAULT:
        return DEFAULT_FIELDS
    weights: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in FIELDS:
            raise UnknownName("field", name, FIELDS)
        try:
            weight = float(value) if "=" in part else 1.0
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise CitebedError(f"the weight of field '{name}' is '{value}'; it must be 0 or more")
        weights[name] = weight
    kept = {name: weights[name] for name in FIELDS if weights.get(name)}
    if not kept:
        raise CitebedError(
            f"'{text}' names no field with a weight. Write them as: title=2,abstract,keywords"
        )
    return Fields(kept)
