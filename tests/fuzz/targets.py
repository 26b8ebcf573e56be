"""All targets, how often each is drawn, and the case of a seed."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from tests.fuzz import readers, verbs
from tests.fuzz.cases import Case

_READER_SHARE = 0.8
"""Readers take a millisecond, verbs a tenth of a second."""
_RARE = {"robustness": 0.3, "measures": 0.1, "fetch": 0.3, "report": 0.5}


@cache
def targets() -> dict[str, float]:
    """Every target with its weight."""
    read = [f"read {name}" for name in readers.READERS]
    verb_weights = {verb: _RARE.get(verb, 1.0) for verb in verbs.verbs()}
    total = sum(verb_weights.values())
    return {
        **dict.fromkeys(read, _READER_SHARE / len(read)),
        **{verb: (1 - _READER_SHARE) * w / total for verb, w in verb_weights.items()},
    }


def target_of(seed: int, only: str = "") -> str:
    """The target of a seed, among those whose name starts with ``only``."""
    known = {name: weight for name, weight in targets().items() if name.startswith(only)}
    if not known:
        raise SystemExit(f"no target '{only}'; there are: {', '.join(targets())}")
    return random.Random(seed).choices(list(known), list(known.values()))[0]


def case_of_seed(target: str, seed: int, folder: Path) -> Case:
    """The case of a target and a seed: the same whenever the code is."""
    rng = random.Random(f"{target} {seed}")
    kind, _, name = target.partition(" ")
    if kind != "read":
        return verbs.draw(target, rng, folder)
    return readers.draw(name, rng, folder)
