"""Judged documents by source (Tables 3 and 4 of the paper), counted from a database's raw rows.

Slow and obvious: plain SQL that selects whole tables of a SQLite file with one campaign in one
round, and loops. Nothing of citebed is used.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

PARTS = ("judged", "unique", "unique without manual")
SOURCES = ("all", "phase one", "phase two", "manual", "automatic")


class Counted(NamedTuple):
    """Documents of all queries of T1+2 by part and source: how many, and how many relevant."""

    kept: set[str]
    both: set[str]
    counts: dict[tuple[str, str], tuple[int, int]]
    judgements: dict[int, int]


class Rows:
    """All rows of a database, as dicts."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.row_factory = sqlite3.Row
        self._read: dict[str, list[dict[str, Any]]] = {}

    def __getitem__(self, table: str) -> list[dict[str, Any]]:
        if table not in self._read:
            rows = self._connection.execute(f"SELECT * FROM {table} ORDER BY id")
            self._read[table] = [dict(row) for row in rows]
        return self._read[table]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def count_tables(path: Path) -> Counted:
    """Everything counted once more."""
    rows = Rows(path)
    try:
        return _count(rows)
    finally:
        rows.close()


def _count(rows: Rows) -> Counted:
    (campaign,) = rows["campaigns"]
    threshold = json.loads(campaign["settings"])["relevant_from"]
    aside = _set_aside(rows)
    kept = [each for each in rows["questions"] if each["id"] not in aside]
    overruled = {each["supersedes"] for each in rows["judgements"]}
    current = [each for each in rows["judgements"] if each["id"] not in overruled]
    phases = {each["id"]: 1 if each["phase"] == 1 else 2 for each in rows["forms"]}
    number = {1: 0, 2: 0}
    for each in current:
        number[phases[each["form_id"]]] += 1
    counts = {(part, source): [0, 0] for part in PARTS for source in SOURCES}
    both = set()
    for question in kept:
        first, second = _said(rows, current, question["id"], threshold)
        if not first or not second:
            continue
        both.add(question["query_id"])
        _count_query(rows, question["id"], first, second, counts)
    plain = {cell: (total, relevant) for cell, (total, relevant) in counts.items()}
    return Counted({each["query_id"] for each in kept}, both, plain, number)


def _set_aside(rows: Rows) -> set[int]:
    last: dict[tuple[int, str], bool] = {}
    for each in rows["exclusions"]:
        last[each["question_id"], each["rule"]] = bool(each["lifted"])
    return {question for (question, _), lifted in last.items() if not lifted}


def _said(
    rows: Rows, current: list[dict[str, Any]], question: int, threshold: int
) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return the judgement of each document in each phase; the best of several."""
    first: dict[str, bool] = {}
    second: dict[str, bool] = {}
    for item in rows["items"]:
        if item["question_id"] != question or item["doc_id"] is None:
            continue
        for judgement in current:
            if judgement["item_id"] != item["id"] or judgement["value"] is None:
                continue
            if item["pool_id"] is None:
                relevant = judgement["value"] >= threshold
                first[item["doc_id"]] = first.get(item["doc_id"], False) or relevant
            else:
                relevant = judgement["value"] == 1
                second[item["doc_id"]] = second.get(item["doc_id"], False) or relevant
    return first, second


def _count_query(
    rows: Rows,
    question: int,
    first: dict[str, bool],
    second: dict[str, bool],
    counts: dict[tuple[str, str], list[int]],
) -> None:
    marked = []
    for mark in rows["marks"]:
        if mark["question_id"] == question:
            if mark["marked"]:
                marked.append(mark["doc_id"])
            else:
                marked.remove(mark["doc_id"])
    cited = [
        item["doc_id"]
        for item in rows["items"]
        if item["question_id"] == question and item["pool_id"] is None
    ]
    (pool,) = (each for each in rows["pools"] if each["question_id"] == question)
    settings = json.loads(pool["settings"])
    by_machine = _reached(settings["lists"], marked, cited, settings["size"])
    by_machine_alone = _reached(settings["lists"], [], cited, settings["size"])
    for doc_id in first.keys() | second.keys():
        relevant = first[doc_id] if doc_id in first else second[doc_id]
        found = {
            "phase one": doc_id in first,
            "manual": doc_id in marked,
            "automatic": doc_id in by_machine,
        }
        sources = [name for name, there in found.items() if there]
        _add(counts, "judged", sources[0], relevant)
        if len(sources) == 1:
            _add(counts, "unique", sources[0], relevant)
        found = {"phase one": doc_id in first, "automatic": doc_id in by_machine_alone}
        sources = [name for name, there in found.items() if there]
        if len(sources) == 1:
            _add(counts, "unique without manual", sources[0], relevant)


def _reached(
    lists: dict[str, list[str]], manual: list[str], cited: list[str], size: int
) -> set[str]:
    """Walk down the lists in turn until there are enough documents; all that was walked over."""
    there = {*cited, *manual}
    missing = size - len({*manual} - {*cited})
    names, place = list(lists), dict.fromkeys(lists, 0)
    seen: set[str] = set()
    turn = 0
    while missing > 0 and any(place[name] < len(lists[name]) for name in names):
        name = names[turn % len(names)]
        turn += 1
        while place[name] < len(lists[name]):
            doc_id = lists[name][place[name]]
            place[name] += 1
            seen.add(doc_id)
            if doc_id not in there:
                there.add(doc_id)
                missing -= 1
                break
    return seen


def _add(counts: dict[tuple[str, str], list[int]], part: str, source: str, relevant: bool) -> None:
    names = ["all", source]
    if source != "phase one":
        names.append("phase two")
    for name in names:
        counts[part, name][0] += 1
        counts[part, name][1] += int(relevant)
