"""What is learned: that a text is nearer to the document it cites than to the others of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from citebed.training.pairs import Pair
from citebed.training.settings import Tensor

_NEVER = -1e4


def not_wrong(pairs: Sequence[Pair], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which documents of a batch are no wrong answers for which text, its own aside.

    Row i is the text of pair i, whose own answer is column i; ``places`` are all documents of the
    batch. The same document, or another that the text cites, is neither right nor wrong.
    """
    mask = np.zeros((len(pairs), len(places)), bool)
    columns: dict[int, list[int]] = {}
    for column, place in enumerate(places.tolist()):
        columns.setdefault(place, []).append(column)
    for row, pair in enumerate(pairs):
        for place in pair.cited:
            mask[row, columns.get(place, [])] = True
    mask[np.arange(len(pairs)), np.arange(len(pairs))] = False
    return mask


def contrast(scores: Tensor, mask: Tensor, reverse: float) -> Tensor:
    """The loss of texts that look for documents, and so much of that of documents for texts.

    ``scores`` are texts × documents, the right ones on the diagonal; masked ones do not count.
    """
    count = len(scores)
    kept = scores.masked_fill(mask, _NEVER)
    right = torch.arange(count, device=scores.device)
    back = F.cross_entropy(kept[:, :count].T, right)
    return F.cross_entropy(kept, right) + reverse * back


def unlike_teacher(scores: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """How far the scores' distribution is from the teacher's; masked ones do not count."""
    return unlike(scores.masked_fill(mask, _NEVER), teacher.masked_fill(mask, _NEVER))


def unlike(scores: Tensor, teacher: Tensor) -> Tensor:
    """How far the scores' distribution is from the teacher's (Kullback and Leibler), a text."""
    own, theirs = F.log_softmax(scores, -1), F.log_softmax(teacher, -1)
    return F.kl_div(own, theirs, log_target=True, reduction="batchmean")
