"""Ways to perturb an ideal ranking at a level θ, from 0 (ideal) to 1.

The paper says "random perturbation of an ideal ranking" and no more, so there are several. Each
takes numbers drawn once for all levels: at a higher level the same ranking is perturbed further,
and a level's rankings are the same whatever other levels are studied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.tables import Floats, Ints
from citebed.timeline.robustness.settings import Setting


@dataclass(frozen=True)
class Perturbation:
    """A way to perturb; ``means`` says in words what the level is.

    ``order`` takes a setting, the levels and draws of the shape (2, rankings, D), uniform in
    [0, 1), and gives the shape (levels, rankings, D): for each place from the top the document
    there, known by its place in the ideal ranking, from 0.
    """

    name: str
    means: str
    order: Callable[[Setting, Floats, Floats], Ints]


def _shuffle(_: Setting, levels: Floats, draws: Floats) -> Ints:
    """Those drawn below θ are taken out, and put back in the order of their second draw."""
    taken = draws[0] < levels[:, None, None]
    documents = np.argsort(np.where(taken, draws[1], 1.0), axis=-1, kind="stable")
    places = np.argsort(~taken, axis=-1, kind="stable")
    order = np.empty_like(documents)
    # Those that stay come last in both lists, in the same order: each goes where it was.
    np.put_along_axis(order, places, documents, axis=-1)
    return order


def _exchange(setting: Setting, levels: Floats, draws: Floats) -> Ints:
    """Every relevant document has a partner; those drawn below θ change places with theirs."""
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
    """By (1 − θ)·ideal score + θ·noise; ideal scores fall evenly from 1 at the top to 0."""
    ideal = 1.0 - np.arange(setting.D) / max(setting.D - 1, 1)
    theta = levels[:, None, None]
    return np.argsort(-((1.0 - theta) * ideal + theta * draws[0]), axis=-1, kind="stable")


PERTURBATIONS: dict[str, Perturbation] = {
    each.name: each
    for each in (
        Perturbation(
            "shuffle",
            "each document is taken out with probability θ, and those taken out are put back in "
            "random order",
            _shuffle,
        ),
        Perturbation(
            "exchange",
            "each relevant document changes places with probability θ with one that is not "
            "relevant",
            _exchange,
        ),
        Perturbation(
            "noise",
            "documents are ordered by 1 − θ parts of an ideal score, which falls evenly from the "
            "top to the bottom, and θ parts of noise",
            _noise,
        ),
    )
}
"""All perturbations by name; the first is the one that is used unless another is named."""
