"""Learning how likely a text asks for a citation that is there.

Sentences that cite, and whose citation is among the first documents, are held against texts that
cite nothing: everyday ones, and what papers say of themselves (``asking.tsv``, which was written
for it). What kind of text one is, is learned first, by a logistic regression over word vectors; the
sentences that cite are then those of the collections and of thirty more fields, so that a field is
no kind. The model of all clues sees only kinds that were told by a model of other texts.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.ranking.citation_need import background, clues_of
from citebed.retrieval.ranking.ranker import CLUES, Asking, Level, Ranker
from citebed.retrieval.vectors.vectors import Embedder, Vectors

Reals = NDArray[np.float64]
_FOLDS, _LOST = 5, 0.009
"""Parts of which one at a time is told by the others; and of the sentences whose citation is found,
the share that may get no answer."""
_OF_KIND, _OF_CLUES = 1e-3, 1e-3
"""How much great weights cost."""
_KINDS = ("asks", "everyday", "boilerplate")


class Text(NamedTuple):
    """A text that was written to learn from: whether it ``asks``, or is ``everyday`` or
    ``boilerplate``, and its subject."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True, eq=False)
class Source:
    """A collection to learn from: its index, and sentences that cite what is found in it."""

    index: Index
    level: Level
    sentences: Sequence[str]


def written_texts() -> list[Text]:
    """The texts that were written to learn from."""
    with files(__package__).joinpath("asking.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Text(*row) for row in rows]


def learn_asking(sources: Sequence[Source], ranker: Ranker, model: Embedder) -> Asking:
    """What collections teach; ``ranker`` and ``model`` are those that find documents."""
    texts = {kind: [t.text for t in written_texts() if t.kind == kind] for kind in _KINDS}
    vectors = {kind: model.queries(those) for kind, those in texts.items()}
    cited = [model.queries(source.sentences) for source in sources]
    asks, nothing = [*cited, vectors["asks"]], [vectors["boilerplate"]]
    kind, constant = _kind(asks, nothing)
    blank = Asking(np.zeros(len(CLUES)), 0.0, kind, constant, 0.0)
    ranker = replace(ranker, asking=blank)
    parts = []
    for source, own in zip(sources, cited, strict=True):
        behind = background(source.index, ranker, model, source.level)
        for those, rows, is_asking, weight in (
            (source.sentences, own, True, 1.0),
            (texts["everyday"], vectors["everyday"], False, 0.5),
            (texts["boilerplate"], vectors["boilerplate"], False, 0.5),
        ):
            clues = clues_of(source.index, ranker, model, source.level, those)
            table = behind.measured(clues)
            table[:, -1] = _told_by_others(asks, nothing, rows, kind, constant)
            parts.append((table, is_asking, np.full(len(table), weight / len(table))))
    return _learned(parts, blank)


def _kind(asks: Sequence[Vectors], nothing: Sequence[Vectors]) -> tuple[Reals, float]:
    """What tells kinds apart; each group of texts counts the same on its side."""
    groups = [*asks, *nothing]
    x = np.concatenate(groups)
    y = np.repeat([*(True for _ in asks), *(False for _ in nothing)], [len(g) for g in groups])
    sides = [len(asks)] * len(asks) + [len(nothing)] * len(nothing)
    each = np.repeat([1 / (len(g) * n) for g, n in zip(groups, sides, strict=True)],
                     [len(g) for g in groups])  # fmt: skip
    weights = logistic(np.column_stack([x, np.ones(len(x))]), y, each, _OF_KIND)
    return weights[:-1], float(weights[-1])


def _told_by_others(
    asks: Sequence[Vectors], nothing: Sequence[Vectors], rows: Vectors, kind: Reals, constant: float
) -> Reals:
    """The kinds of texts, each by a model that did not see it."""
    found = rows @ kind + constant
    if not any(rows is group for group in (*asks, *nothing)):
        return np.asarray(found)
    fold = np.arange(len(rows)) % _FOLDS
    for number in range(_FOLDS):
        others = [
            [group[np.arange(len(group)) % _FOLDS != number] for group in side]
            for side in (asks, nothing)
        ]
        own, own_constant = _kind(*others)
        found[fold == number] = rows[fold == number] @ own + own_constant
    return np.asarray(found)


def _learned(parts: Sequence[tuple[Reals, bool, Reals]], blank: Asking) -> Asking:
    x = np.concatenate([table for table, _, _ in parts])
    y = np.concatenate([np.full(len(table), is_asking) for table, is_asking, _ in parts])
    spread = x.std(axis=0)
    spread[spread == 0] = 1
    rows = np.column_stack([x / spread, np.ones(len(x))])
    weights = logistic(rows, y, np.concatenate([each for _, _, each in parts]), _OF_CLUES)
    asking = replace(blank, weights=weights[:-1] / spread, constant=float(weights[-1]))
    least = float(np.quantile(asking.probabilities(x[y]), _LOST))
    return replace(asking, min_probability=least)


def logistic(x: Reals, y: NDArray[np.bool_], each: Reals, strength: float) -> Reals:
    """The weights under which what is true is likeliest, each row as much as it counts; great ones
    cost, but for the last, which is the constant's."""
    from scipy.optimize import minimize

    signs, each = np.where(y, 1, -1), each / each.sum()

    def loss(weights: Reals) -> tuple[float, Reals]:
        odds = signs * (x @ weights)
        costly = np.append(weights[:-1], 0)
        slope = -(each * signs / (1 + np.exp(odds))) @ x
        total = float(each @ np.logaddexp(0, -odds)) + strength * float(costly @ costly)
        return total, slope + 2 * strength * costly

    found = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x, np.float64)
