"""What was set by hand or chosen beside the weights: ``ranker.json`` says what each number is, and
how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints


class Constants(NamedTuple):
    """The numbers by name."""

    by_words: int
    candidates: int
    alike: float
    cited_candidates: int
    fitting: int
    fitting_one_of: int
    shown_alike: float
    shown_words: int
    shown_citing: int
    few_words: int
    hardly_any: float
    hardly_any_of_few: float
    one_in_ten: float
    far_larger: int
    of_size: float
    strong_probability: float
    strong_held: float
    fair_probability: float
    fair_held: float
    held_of_few: float
    language_share: float
    own_words: float
    hardly_own_words: float
    foreign_words: int
    known_words: float
    english_share: float


_KINDS = get_type_hints(Constants)
_MOST = 1_000_000


def read_constants(values: Mapping[str, Any]) -> Constants:
    """The constants of a ranker's file, which has all of them and no other."""
    if unknown := set(values) ^ set(_KINDS):
        raise ValueError(f"constants that are unknown or missing: {', '.join(sorted(unknown))}")
    found = {name: each["value"] for name, each in values.items()}
    for name, value in found.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not (is_whole or (isinstance(value, float) and _KINDS[name] is float)):
            raise ValueError(f"the constant '{name}' is {value!r}")
        if not 0 <= value <= _MOST:  # which what is no number is not
            raise ValueError(f"the constant '{name}' is no number from 0 to {_MOST:,}")
    return Constants(**found)
