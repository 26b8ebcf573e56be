"""Options that take two runs, ``--pair A B``, which people write ``--pair A,B`` too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citebed.errors import CitebedError

OPTION = "--pair"
VERBS = frozenset({"contrast", "timeline"})


def in_two_words(given: Sequence[str]) -> list[str]:
    """The words of a command with the runs of a pair as two of them.

    A comma is not parted where it is in the name of a file that the command names.
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
    """A pair is two runs, once it is known which they are."""
    if pair and len(set(pair)) < len(pair):
        raise CitebedError(f"{OPTION} names '{pair[0]}' twice; a pair is two runs.")


def _named(word: str, words: Sequence[str], at: int) -> list[str]:
    """What stands behind the option: two runs, or the first of them."""
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
