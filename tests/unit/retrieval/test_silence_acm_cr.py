"""On ACM-CR: texts that nobody tuned on get no answer where they cite nothing, and what its papers
say when they cite gets one."""

from __future__ import annotations

import csv
from pathlib import Path

import citebed
from citebed.collection import open_collection
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.recommend.abstention import Silence

HELD_OUT = Path(__file__).parents[2] / "held_out_texts.tsv"
EVERY = 5


def test_what_cites_nothing_is_silent_and_what_cites_is_not(acm_cr_indexed: Path) -> None:
    opened = open_collection(acm_cr_indexed)
    index = open_index(opened)
    runner = Runner(opened, index, parse_pipeline("bm25+learned"), RunOptions())
    runner.prepare()
    silence = Silence(runner)

    def silent(texts: list[str]) -> float:
        results = runner.results([runner.query(text) for text in texts], 10)
        return sum(silence.asking(result).is_silent for result in results) / len(texts)

    with HELD_OUT.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[::EVERY]
    assert silent([text for kind, _, text in rows if kind == "everyday"]) >= 0.9
    assert silent([text for kind, _, text in rows if kind == "boilerplate"]) >= 0.9
    sentences = citebed.open(acm_cr_indexed).queries("sentences")["text"].to_list()[::EVERY]
    assert silent(sentences) <= 0.04
