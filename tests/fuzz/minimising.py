"""Making a failing case small, by leaving out what it fails without."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.cases import Case
from tests.fuzz.fuzzing import Worker

_SECONDS = 60


def smaller(case: Case, key: str, worker: Worker) -> Case:
    """The case with fewer files, words and bytes that still fails in the same way."""
    end = time.monotonic() + _SECONDS

    def fails(other: Case) -> bool:
        if time.monotonic() > end:
            return False
        failure = worker.ask(case=other.to_json()).get("failure")
        return failure is not None and f"{failure['kind']} {failure['where']}" == key

    for shrink in (_fewer_commands, _fewer_files, _fewer_words, _fewer_bytes):
        case = shrink(case, fails)
    return case


Fails = Callable[[Case], bool]


def _fewer_commands(case: Case, fails: Fails) -> Case:
    for count in range(1, len(case.commands)):
        first = replace(case, commands=case.commands[:count])
        if fails(first):
            return first
    return case


def _fewer_files(case: Case, fails: Fails) -> Case:
    for name in list(case.files):
        without = replace(case, files={n: d for n, d in case.files.items() if n != name})
        case = without if fails(without) else case
    return case


def _fewer_words(case: Case, fails: Fails) -> Case:
    """Without an option, alone or with its value."""
    for row in range(len(case.commands)):
        at = len(case.commands[row]) - 1
        while at > 0:
            for count in (2, 1):
                words = case.commands[row]
                fewer = [*words[:at], *words[at + count :]]
                others = [*case.commands[:row], fewer, *case.commands[row + 1 :]]
                without = replace(case, commands=others)
                if fails(without):
                    case = without
                    break
            at -= 1
    return case


def _fewer_bytes(case: Case, fails: Fails) -> Case:
    for name in list(case.files):
        size = len(case.files[name])
        while size := size // 2:
            at = 0
            while at < len(case.files[name]):
                data = case.files[name]
                without = replace(case, files={**case.files, name: data[:at] + data[at + size :]})
                if fails(without):
                    case = without
                else:
                    at += size
    return case
