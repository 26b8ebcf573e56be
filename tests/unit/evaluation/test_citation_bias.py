"""The question that the study of cited papers left open, asked where the answer is known.

Do judgements from reference lists (J1) favour a run that uses citations over one that does not,
beside judgements of papers that were not cited (J2)? The recipe of docs/contrast.md: the shift of
the difference between the two runs from J1 to J2, under measures that look at judged documents.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from scipy import stats

from citebed.evaluation.contrasts.contrast import contrast
from citebed.evaluation.judgements.sets import difference, merge
from citebed.runs.reader import as_qrels

Judgements = dict[str, dict[str, int]]
Rankings = dict[str, list[str]]

QUERIES = [f"q{n:02}" for n in range(40)]
CITED = {"c0": 1, "c1": 1, "c2": 1, "c3": 0, "c4": 0}
OTHERS = {"o0": 1, "o1": 1, "o2": 1, "o3": 0, "o4": 0}
J1: Judgements = dict.fromkeys(QUERIES, CITED)
J12: Judgements = dict.fromkeys(QUERIES, CITED | OTHERS)


def rankings(seed: int, first: Sequence[str] = ()) -> Rankings:
    """Rank all documents at random, with those of ``first`` higher as far as possible."""
    draw = random.Random(seed)
    found = {}
    for query in QUERIES:
        scores = {doc: draw.random() + (doc in first) * draw.random() for doc in (*CITED, *OTHERS)}
        found[query] = sorted(scores, key=lambda doc: -scores[doc])
    return found


def judged_only(judged: dict[str, int], ranking: list[str]) -> float:
    """Average precision over the judged documents of a ranking, by a plain loop."""
    hits, total = 0, 0.0
    for rank, doc in enumerate((doc for doc in ranking if doc in judged), 1):
        hits += judged[doc]
        total += judged[doc] * hits / rank
    return total / sum(judged.values())


def asked(
    text: Rankings, citing: Rankings, measure: str = "AP(judged_only=True)"
) -> dict[str, Any]:
    """The recipe: J1+2 less J1, then the shift of the two runs' difference."""
    runs = {
        name: {
            query: {doc: -float(at) for at, doc in enumerate(docs)} for query, docs in run.items()
        }
        for name, run in (("text", text), ("citing", citing))
    }
    (found,) = contrast(J1, difference(J12, J1).qrels, runs, [measure]).rows("conclusions")
    return found


def test_what_favours_the_run_with_citations_is_found() -> None:
    """Citations lift what is on the reference list, relevant or not to others."""
    found = asked(rankings(1), rankings(2, first=("c0", "c1", "c2")))
    assert found["before_difference"] > 0.1
    assert abs(found["after_difference"]) < 0.05
    assert found["shift"] < -0.1
    assert found["shift_p"] < 0.01
    assert found["fate"] == "vanishes"


def test_where_citations_help_alike_no_favour_is_found() -> None:
    found = asked(rankings(1), rankings(2, first=("c0", "c1", "c2", "o0", "o1", "o2")))
    assert found["before_difference"] > 0.1
    assert found["after_difference"] > 0.1
    assert found["shift_p"] > 0.05
    assert found["fate"] == "survives"


@pytest.mark.parametrize("first", [(), ("c0", "c1", "c2"), ("o0", "o1")])
def test_the_shift_is_that_of_plain_loops(first: tuple[str, ...]) -> None:
    text, citing = rankings(3), rankings(4, first)
    found = asked(text, citing)
    leads = [
        [judged_only(judged, citing[query]) - judged_only(judged, text[query]) for query in QUERIES]
        for judged in (CITED, OTHERS)
    ]
    gains = [after - before for before, after in zip(*leads, strict=True)]
    assert found["shift"] == pytest.approx(sum(gains) / len(gains), abs=1e-12)
    assert found["shift_p"] == pytest.approx(stats.ttest_1samp(gains, 0).pvalue, rel=1e-9)


def test_documents_of_the_other_phase_would_be_counted_as_errors_without_judged_only() -> None:
    """A run with all cited papers first looks bad on the others, though it orders them as well."""
    text: Rankings = {query: ["o0", "o1", "o2", "o3", "o4", *CITED] for query in QUERIES}
    citing: Rankings = {query: [*CITED, "o0", "o1", "o2", "o3", "o4"] for query in QUERIES}
    assert asked(text, citing)["after_difference"] == 0
    assert asked(text, citing, "AP")["after_difference"] < -0.5


def test_the_phases_come_apart_and_together_again() -> None:
    parts = [as_qrels(J1, "cited"), as_qrels(difference(J12, J1).qrels.table, "others")]
    both = merge(parts, "first").qrels.table
    assert set(both["label"]) == {"cited", "others"}
    assert both.height == len(QUERIES) * 10
