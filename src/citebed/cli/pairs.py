"""Options that take two runs: ``--pair A B`` or ``--pair A,B``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citebed.errors import CitebedError

OPTION = "--pair"
VERBS = frozenset({"contrast", "timeline"})


def in_two_words(given: Sequence[str]) -> list[str]:
    """Return the arguments with a pair's runs as two separate ones.

    A comma does not separate runs if it belongs to the name of a file on the command line.
    """
    words: list[str] = []
    for at, word in enumerate(given):
        option, equals, joined = word.partition("=")
        if option == OPTION and equals:
            words += [OPTION, *_parted(joined, given)]
        elif at and given[at - 1] == OPTION:
            words += _named(word, given, at)
        else:
            words.append(word)
    return words


def check_pair(pair: Sequence[str] | None) -> None:
    """Raise an error unless the pair names two different runs."""
    if pair and len(set(pair)) < len(pair):
        raise CitebedError(f"{OPTION} names '{pair[0]}' twice. Name two different runs.")


def _named(word: str, words: Sequence[str], at: int) -> list[str]:
    """Return the option's values: two runs, or the first of them."""
    runs, after = _parted(word, words), next(iter(words[at + 1 :]), "--")
    if len(runs) == 1 and after.startswith("--"):
        raise CitebedError(
            f"{OPTION} takes two runs, {OPTION} A B or {OPTION} A,B; found '{word}'."
        )
    return runs


def _parted(word: str, words: Sequence[str]) -> list[str]:
    parts = [part.strip() for part in word.split(",")]
    names = [Path(each).name for each in words]
    whole = names.count(Path(word).name) > 1 or any(x.startswith(f"{word}.") for x in names)
    return parts if len(parts) == 2 and all(parts) and not whole else [word]
