"""Rankings for the study: slice sizes, levels of disorder, and perturbations of an ideal ranking.

The paper only says "random perturbation of an ideal ranking", so there are several methods. Each
uses random numbers that are drawn once for all levels: a higher level θ, from 0 (ideal) to 1,
perturbs the same ranking further, and a level's rankings do not depend on the other levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats, Ints

DOCUMENTS = "10,100,200"
RELEVANT = "D/2,D/10"
MOST = 1_000_000


@dataclass(frozen=True)
class Setting:
    """A slice of ``D`` documents with ``R`` relevant ones.

    ``written`` is R as the user wrote it; settings with equal texts differ only in length.
    """

    D: int
    R: int
    written: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.D <= MOST:
            raise CitebedError(
                f"D={self.D}: rankings of 1 to {MOST:,} documents can be studied. A slice with "
                "more is alike but for its length: take a tenth of both D and R."
            )
        if not 1 <= self.R <= self.D:
            raise CitebedError(
                f"D={self.D}, R={self.R}: of {self.D} documents from 1 to {self.D} can be relevant."
            )

    def __str__(self) -> str:
        return f"D={self.D}, R={self.R}"


def settings_of(documents: str = DOCUMENTS, relevant: str = RELEVANT) -> list[Setting]:
    """Combine every number of documents with every number of relevant documents.

    Both are lists separated by commas. A number of relevant documents is an integer or a fraction
    such as ``D/10``. Repeated settings count once.
    """
    settings: dict[tuple[int, int], Setting] = {}
    for text in _pieces(documents, "the numbers of documents"):
        length = _whole(text, "the number of documents")
        for written in _pieces(relevant, "the numbers of relevant documents"):
            setting = Setting(length, _relevant(written, length), written)
            settings.setdefault((setting.D, setting.R), setting)
    return list(settings.values())


def levels_of(text: str) -> tuple[float, ...]:
    """Parse levels of disorder from 0 to 1; return them sorted, each once."""
    levels = set()
    for piece in _pieces(text, "the levels"):
        try:
            levels.add(float(piece))
        except ValueError:
            raise CitebedError(f"the level '{piece}' is not a number from 0 to 1.") from None
    return checked_levels(sorted(levels))


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Raise an error unless all levels are from 0 to 1."""
    if not levels:
        raise CitebedError("no level of disorder is given. Give some from 0 to 1, e.g. 0,0.5,1.")
    for level in levels:
        if not 0 <= level <= 1:
            raise CitebedError(
                f"the level of disorder θ={level:g} is not from 0 (ideal) to 1 (most disorder)."
            )
    return tuple(float(level) + 0.0 for level in levels)  # -0.0 becomes 0.0


def _pieces(text: str, what: str) -> list[str]:
    pieces = [piece.replace(" ", "") for piece in text.split(",")]
    if not all(pieces):
        raise CitebedError(f"cannot read {what}, '{text}': expected a list like {DOCUMENTS}.")
    return pieces


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise CitebedError(f"cannot read {what}, '{text}': expected a whole number.")
    return int(text)


def _relevant(text: str, length: int) -> int:
    if not text.upper().startswith("D"):
        return _whole(text, "the number of relevant documents")
    if not re.fullmatch(r"[Dd](/0*[1-9]\d{0,8})?", text):
        raise CitebedError(f"cannot read '{text}' relevant documents: expected D/10, or a number.")
    parts = int(text[2:] or 1)
    if length % parts:
        raise CitebedError(
            f"'{text}' of {length} documents is no whole number. Take numbers of documents that "
            f"{parts} divides, or give R as a number."
        )
    return length // parts


# --- perturbations ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Perturbation:
    """A perturbation method; ``means`` explains the level.

    ``order`` takes a setting, the levels, and draws of the shape (2, rankings, D), uniform in
    [0, 1). It returns the shape (levels, rankings, D): for each rank, the document's position in
    the ideal ranking, from 0.
    """

    means: str
    order: Callable[[Setting, Floats, Floats], Ints]


def _shuffle(_: Setting, levels: Floats, draws: Floats) -> Ints:
    """Remove documents with a draw below θ, and put them back in the order of their second draw."""
    taken = draws[0] < levels[:, None, None]
    documents = np.argsort(np.where(taken, draws[1], 1.0), axis=-1, kind="stable")
    places = np.argsort(~taken, axis=-1, kind="stable")
    order = np.empty_like(documents)
    # Those that stay come last in both lists, in the same order: each goes where it was.
    np.put_along_axis(order, places, documents, axis=-1)
    return order


def _exchange(setting: Setting, levels: Floats, draws: Floats) -> Ints:
    """Give every relevant document a partner; exchange them if the draw is below θ."""
    relevant = setting.R
    if relevant > setting.D - relevant:
        raise CitebedError(
            f"{setting}: to exchange each relevant document for another, no more than half may be "
            "relevant. Take a smaller R, or the perturbation shuffle."
        )
    partner = relevant + np.argsort(draws[1][:, relevant:], axis=-1)[:, :relevant]
    taken = draws[0][:, :relevant] < levels[:, None, None]
    order = np.tile(np.arange(setting.D), (*taken.shape[:2], 1))
    own = order[..., :relevant]
    partners = np.broadcast_to(partner, taken.shape)
    np.put_along_axis(order, partners, np.where(taken, own, partners), axis=-1)
    order[..., :relevant] = np.where(taken, partners, own)
    return order


def _noise(setting: Setting, levels: Floats, draws: Floats) -> Ints:
    """Sort by (1 − θ)·ideal score + θ·noise; ideal scores fall evenly from 1 to 0."""
    ideal = 1.0 - np.arange(setting.D) / max(setting.D - 1, 1)
    theta = levels[:, None, None]
    return np.argsort(-((1.0 - theta) * ideal + theta * draws[0]), axis=-1, kind="stable")


PERTURBATIONS = {
    "shuffle": Perturbation(
        "each document is taken out with probability θ, and those taken out are put back in "
        "random order",
        _shuffle,
    ),
    "exchange": Perturbation(
        "each relevant document changes places with probability θ with one that is not relevant",
        _exchange,
    ),
    "noise": Perturbation(
        "documents are ordered by 1 − θ parts of an ideal score, which falls evenly from the top "
        "to the bottom, and θ parts of noise",
        _noise,
    ),
}
"""All perturbations by name; the first is the default."""


def as_rankings(setting: Setting, order: Ints) -> Rankings:
    """Convert to `Rankings`, with all documents judged and retrieved, without ties.

    ``order`` has the document at each rank along its last axis; the first R documents are relevant.
    """
    length = setting.D
    queries = order.size // length
    query = np.repeat(np.arange(queries), length)
    rank = np.tile(np.arange(1, length + 1), queries)
    return Rankings(
        query_ids=pl.Series("query_id", np.arange(queries)).cast(pl.String),
        in_run=np.ones(queries, bool),
        retrieved=np.full(queries, length),
        query=query,
        rank=rank,
        relevance=(order.ravel() < setting.R).astype(np.int64),
        tie_first=rank,
        tie_size=np.ones_like(rank),
        judged_query=query,
        judged_relevance=(rank <= setting.R).astype(np.int64),
        highest=1,
    )
