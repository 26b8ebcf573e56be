"""What similarity to expect of documents that have no vector yet.

While an encoder is reading a collection, some documents have its vectors and some have not. A
missing similarity must neither favour nor punish: it is taken to be what documents have that are
as like the text by all other signals, as those with vectors tell, text by text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_RIDGE = 3.0
"""As if so many documents had shown that the other signals tell nothing: few cannot teach much."""


def with_expected(
    values: Reals, known: NDArray[np.bool_], fair: NDArray[np.bool_], others: Reals
) -> Reals:
    """Similarities (a row for the text, perhaps one for its best sentence) of candidates, those
    that are not ``known`` replaced by what the ``others`` (columns of signals) let expect.

    Learned from those that are known and ``fair``: put forward by other signals. The nearest by the
    vectors themselves are nearer than others of their kind.
    """
    taught = known & fair if (known & fair).any() else known
    if known.all() or not taught.any():
        return values
    middle = others[taught].mean(axis=0)
    inputs, unknown = others[taught] - middle, others[~known] - middle
    scale = np.maximum(inputs.std(axis=0), 1e-9)
    inputs, unknown = inputs / scale, unknown / scale
    found, means = values.copy(), values[:, taught].mean(axis=1)
    gram = inputs.T @ inputs + _RIDGE * np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs.T @ (values[:, taught].T - means))
    least, most = values[:, taught].min(axis=1), values[:, taught].max(axis=1)
    expected = (unknown @ weights + means).T
    found[:, ~known] = np.clip(expected, least[:, None], most[:, None])
    return found
