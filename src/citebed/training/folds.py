"""Which citing papers are learned from, and which are kept for measuring.

A paper's fold follows from its id alone, so that every run and every machine parts them alike, and
a paper that is added moves no other.
"""

from __future__ import annotations

import hashlib

FOLDS = 20
TEST = 0
DEVELOPMENT = 1


def fold_of(paper_id: str) -> int:
    """The fold of a citing paper, 0 to 19."""
    return int(hashlib.sha256(paper_id.encode()).hexdigest()[:8], 16) % FOLDS


def part_of(fold: int, shift: int = 0) -> str:
    """What a fold is for: ``test``, ``development`` or ``training``.

    With a ``shift`` of n fold n is the test, and the one after it development.
    """
    turned = (fold - shift) % FOLDS
    return {TEST: "test", DEVELOPMENT: "development"}.get(turned, "training")
