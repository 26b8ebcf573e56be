"""How many cases and examples a run of the tests has.

``make test`` runs every case, the same ones each time. ``make test-full`` also gives property tests
all their examples and studies their full size. ``make quick`` and the tests with other Pythons run
only every n-th case of a parametrised test; pytest counts the rest as deselected.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

FULL = os.environ.get("CITEBED_FULL") == "1"
EVERY = int(os.environ.get("CITEBED_EVERY", "1"))
"""Run every n-th case of a parametrised test."""

CASE = os.environ.get("CITEBED_CASE", "")
"""Run all cases that have this in their name."""


def examples(number: int) -> int:
    """How many examples a property test sees that asks for so many."""
    return number if FULL else max(8, number // (6 * EVERY))


def sized(usual: int, full: int) -> int:
    """The size of a study: smaller in every run of the tests, whole in the full one."""
    return full if FULL else usual


@cache
def changed() -> tuple[str, ...]:
    """Files of tests that were written or changed since the last commit."""
    command = ("git", "ls-files", "--modified", "--others", "--exclude-standard", "--", "tests")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git: nothing is known to have changed
        return ()
    return tuple(done.stdout.split("\n")[:-1])


def sampled(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests to run, and those to leave out."""
    numbers: Counter[str] = Counter()
    chosen, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name, _, case = item.nodeid.partition("[")
        is_new = bool(CASE and CASE in case) or name.partition("::")[0] in changed()
        is_left = bool(case) and numbers[name] % EVERY > 0 and not is_new
        numbers[name] += 1
        (left if is_left else chosen).append(item)
    return chosen, left
