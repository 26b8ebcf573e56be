"""On ACM-CR, held-out texts that cite nothing are skipped, and citing sentences are not."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.sampling import FULL

import citebed
from citebed.retrieval.recommend.calibration import Calibration
from citebed.retrieval.recommend.recommender import Recommender

HELD_OUT = Path(__file__).parents[3] / "held_out_texts.tsv"
EVERY = 5


def test_texts_without_citations_are_skipped(acm_cr_indexed: Path) -> None:
    runner = Recommender(acm_cr_indexed).runner
    runner.prepare()
    calibration = Calibration(runner)

    def skipped(texts: list[str]) -> float:
        found = runner.run([runner.query(text) for text in texts], 10)
        return sum(calibration.citation_need(each).is_too_low for each in found) / len(texts)

    with HELD_OUT.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[::EVERY]
    assert skipped([text for kind, _, text in rows if kind == "everyday"]) >= 0.9
    assert skipped([text for kind, _, text in rows if kind == "boilerplate"]) >= 0.9
    sentences = citebed.open(acm_cr_indexed).queries("sentences")["text"].to_list()[::EVERY]
    assert skipped(sentences) <= (0.04 if FULL else 0.05)
