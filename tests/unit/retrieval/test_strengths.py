"""Weak, fair and strong matches: the rule, and how many of each are right in a small library."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

import citebed
from citebed.retrieval.recommending import Recommender
from citebed.retrieval.showing import _strength
from citebed.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("chance", "held", "short", "said"),
    [
        (0.2, 0.0, False, "strong"),
        (0.19, 0.3, False, "fair"),
        (0.19, 0.29, False, "weak"),
        (0.03, 0.9, False, "fair"),
        (0.029, 0.9, False, "weak"),
        (0.6, 0.49, True, "weak"),
        (0.6, 0.5, True, "strong"),
        (None, 0.5, False, "fair"),
        (None, 0.49, False, "weak"),
        (None, 1.0, True, "fair"),
    ],
)
def test_the_rule(chance: float | None, held: float, short: bool, said: str) -> None:
    assert _strength(chance, held, short) == said


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> citebed.Workbench:
    mine = citebed.demo(tmp_path_factory.mktemp("strengths") / "mine")
    mine.index(quiet=True)
    return mine


def test_stronger_matches_are_right_more_often(demo: citebed.Workbench) -> None:
    one, right = Recommender(demo), defaultdict[str, list[bool]](list)
    for name in demo.query_sets:
        cited = demo.qrels(name).table.filter(relevance=1).select("query_id", "doc_id").rows()
        for query in demo.queries(name).iter_rows(named=True):
            asked = one._runner.asked(query["text"], paper=query["paper_id"])
            asked = replace(asked, sentences=split_sentences(asked.text))
            (answer,) = one._runner.answers([asked], 10)
            said = one._showing.strengths(asked, answer)
            for number, strength in zip(answer.hits.docs.tolist(), said, strict=True):
                right[strength].append((query["query_id"], one.index.ids[number]) in cited)
    shares = {name: sum(found) / len(found) for name, found in right.items()}
    assert shares["weak"] < 0.2
    assert 0.5 < shares["fair"] < 0.8 < shares["strong"]
    assert min(map(len, right.values())) >= 50


def test_a_small_library_tells_strengths_and_no_chance(demo: citebed.Workbench) -> None:
    odd = demo.recommend("zebra feedback of monkeys")
    assert {each.strength for each in odd} == {"weak"}
    good = demo.recommend("Pseudo-relevance feedback is a classic technique of query expansion.")
    assert good[0].strength == "strong"
    assert good[0].chance is None
    assert good.table["strength"].to_list() == [each.strength for each in good]
    plain = demo.recommend("Pseudo-relevance feedback of queries.", model="bm25")
    assert {each.strength for each in plain} == {""}


def test_the_command_prints_the_word_and_no_number(
    demo: citebed.Workbench, capsys: pytest.CaptureFixture[str]
) -> None:
    from citebed.cli.app import main

    assert main(["recommend", str(Path(demo.folder)), "zebra feedback of monkeys", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert "weak match  because of: feedback" in out
