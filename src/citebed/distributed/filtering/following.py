"""A stream from part to part: its lines counted, its order seen to, and what a filter knows at the
beginning of each part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.distributed.filtering.cutting import first_line
from citebed.distributed.filtering.read_files import read_told
from citebed.distributed.filtering.task import PartTask
from citebed.distributed.filtering.working import tallied, telling
from citebed.errors import FormatError
from citebed.files.lines import read_numbered_lines
from citebed.records import Problem
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.stream_checks import check_order
from citebed.timeline.filters.topics import LearningDocuments, RunningFilter, Skipped, State
from citebed.timeline.streams.stream_files import Decoded


class Account(NamedTuple):
    """What was read: of the whole stream, how many documents came before each part, how many
    lines, and the parts that have judged documents, with these documents' times."""

    whole: Progress
    documents: list[int]
    lines: list[int]
    judged: dict[int, list[int]]


def line_of(task: PartTask, account: Account, number: int, line: int) -> int:
    """The number in the stream of a line that has a number in its part."""
    return account.lines[number] + line - first_line(task.cuts[number]) + 1


def account_of(task: PartTask, parts: int) -> Account:
    """What was read in the first parts, if they are in order."""
    account = Account(Progress(), [], [], {})
    whole = account.whole
    for number in range(parts):
        account.documents.append(whole.documents)
        account.lines.append(whole.line - 1)
        progress, state = checkpoint.load(task.part(number).summary, {})
        _check_beginning(task, account, number, state)
        whole.line += progress.line - 1
        whole.documents += progress.documents
        if progress.last_time is not None:
            whole.last_time = progress.last_time
        whole.skipped += progress.skipped
        whole.repeated += progress.repeated
        whole.problems += [
            each._replace(line=line_of(task, account, number, each.line))
            for each in progress.problems[: LISTED - len(whole.problems)]
        ]
        if state["judged"].size:
            account.judged[number] = state["judged"][:, 1].tolist()
    account.documents.append(whole.documents)
    account.lines.append(whole.line - 1)
    return account


def _check_beginning(task: PartTask, account: Account, number: int, state: State) -> None:
    """Refuse a part that begins earlier than the one before it ends."""
    if state["first"].size:
        line, time = state["first"].tolist()
        at = line_of(task, account, number, line)
        row = pl.DataFrame({"line": [at], "doc_id": [str(state["first_id"])], "time": [time]})
        check_order(Decoded(row, ()), account.whole.last_time, task.name)


def error_of(task: PartTask, number: int, line: int | None, what: str) -> FormatError:
    """What is wrong in a part, with its line in the stream; what is wrong before it, is first."""
    account = account_of(task, number)
    at = None if line is None else line_of(task, account, number, line)
    return FormatError(task.name, at, what)


def problems_of(task: PartTask, account: Account) -> Iterator[list[Problem]]:
    """All lines that are no documents, part by part."""
    for number in range(task.parts):
        listed = read_numbered_lines(task.part(number).skipped)
        found = (json.loads(line) for _, line in listed if line)
        yield [Problem(line_of(task, account, number, line), what) for line, what in found]


def save_states(task: PartTask, account: Account) -> RunningFilter:
    """What the filter knows at the beginning of each part that is not scored yet; gives it as it
    is at the end."""
    filtering = task.started()
    for number in range(task.parts):
        part = task.part(number)
        if not part.scored.exists():
            begin = Progress(documents=account.documents[number])
            checkpoint.save(part.state, {}, begin, filtering.state())
        _, state = checkpoint.load(part.summary, {})
        first, after = account.documents[number : number + 2]
        told = read_told(part.told) if account.judged else None
        more = _More(telling(task, number, range(after - first)))
        filtering.skip(Skipped(first, after - first, tallied(filtering, state), told, more))
    return filtering


class _More:
    """All documents of a part, asked for range after range: it is read once, if at all."""

    def __init__(self, told: Iterator[LearningDocuments]) -> None:
        self._told = told
        self._left: LearningDocuments | None = None

    def __call__(self, start: int, end: int) -> Iterator[LearningDocuments]:
        while True:
            told = self._left if self._left is not None else next(self._told)
            rows = told.reads.rows
            first, last = np.searchsorted(rows, (start, end)).tolist()
            self._left = told.take(np.arange(last, rows.size)) if last < rows.size else None
            if first < last:
                yield told.take(np.arange(first, last))
            if rows[-1] >= end - 1:
                break
