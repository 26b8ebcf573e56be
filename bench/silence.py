"""Texts without suggestions, and calibration of probabilities: ``python bench/silence.py [WORK]``.

Texts that were not used for tuning (``tests/held_out_texts.tsv``: everyday sentences, and what
papers say about themselves) should get no suggestions. Citing sentences of papers that nothing was
learned from should get them if they are right. Collections are those of ``bench/fields.py``, and
the folders that ``--also`` names with their query sets. The script prints, by collection, how many
of each kind get no suggestions, how many right ones are lost, and predicted probabilities against
observed ones in five bins. ``--learn`` fits the rule again, from sentences of the year and the
fold before, and writes the ranker.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from citebed.retrieval.recommend.calibration import Calibration
from citebed.training.citation_need import Source, train_citation_need

import citebed
import fields
from citebed.collection import open_collection
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Candidates
from citebed.retrieval.ranking.collection_weights import apply_weights, read_weights
from citebed.retrieval.ranking.ranker import SHIPPED, ranker_json, shipped_ranker
from citebed.retrieval.vectors.static_model import find_model
from common import machine, shared_data

HELD_OUT = Path(__file__).parent.parent / "tests" / "held_out_texts.tsv"
BINS = (0.0, 0.05, 0.1, 0.2, 0.4, 1.01)
DEPTH = 10


class Answered(NamedTuple):
    """Whether a text gets no answer, and of its documents the chances and which are right."""

    is_silent: bool
    told: np.ndarray
    right: np.ndarray


class Place:
    """A collection that is asked."""

    def __init__(self, folder: Path) -> None:
        collection = open_collection(folder)
        self.index: Index = open_index(collection)
        self.runner = Runner(collection, self.index, parse_pipeline("bm25+learned"), RunOptions())
        self.runner.prepare()
        self.calibration = Calibration(self.runner)

    def results(self, asked: Sequence[fields.Asked]) -> list[Candidates]:
        queries = [
            replace(
                self.runner.query(one.text, paper=one.paper, exclude=[one.paper]), year=one.year
            )
            for one in asked
        ]
        return list(self.runner.run(queries, DEPTH))

    def answered(self, asked: Sequence[fields.Asked]) -> list[Answered]:
        found = []
        for one, result in zip(asked, self.results(asked), strict=True):
            need = self.calibration.citation_need(result)
            told = self.calibration.calibrate(result, need)
            names = [self.index.ids[number] in one.relevant for number in result.docs.tolist()]
            likely = np.zeros(len(names)) if told.probabilities is None else told.probabilities
            found.append(Answered(need.is_too_low or not names, likely, np.array(names, bool)))
        return found


def together(asked: Sequence[fields.Asked]) -> list[fields.Asked]:
    """Sentences once each, with all that they cite."""
    found: dict[tuple[str, str], fields.Asked] = {}
    for one in asked:
        known = found.setdefault((one.paper, one.text), one)
        found[one.paper, one.text] = known._replace(relevant=known.relevant | one.relevant)
    return list(found.values())


def held_out(kind: str) -> list[fields.Asked]:
    with HELD_OUT.open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [fields.Asked(text, frozenset(), "") for of, _, text in rows if of == kind]


def report(name: str, place: Place, asked: Sequence[fields.Asked]) -> None:
    """Print what is silent, what it costs, and what chances are worth."""
    print(f"{name}: {len(place.index.ids):,} documents, {len(asked):,} sentences that cite")
    silent = 0
    for kind in ("everyday", "boilerplate"):
        found = place.answered(held_out(kind))
        many = sum(each.is_silent for each in found)
        silent += many
        print(f"  {kind:12} {many} of {len(found)} silent ({many / len(found):.1%})")
    answers = place.answered(asked)
    right = [each for each in answers if each.right.any()]
    lost = sum(each.is_silent for each in right)
    without = sum(each.is_silent for each in answers)
    print(f"  citing       {without} of {len(answers)} silent ({without / len(answers):.1%})")
    print(f"  right answers lost: {lost} of {len(right)} ({lost / max(len(right), 1):.1%})")
    print(f"  of what is silent asks for nothing: {silent / max(silent + without, 1):.1%}")
    told = np.concatenate([each.told for each in answers if not each.is_silent])
    true = np.concatenate([each.right for each in answers if not each.is_silent])
    for low, high in itertools.pairwise(BINS):
        those = (told >= low) & (told < high)
        if those.any():
            said, came = told[those].mean(), true[those].mean()
            print(f"    told {said:.3f}  came true {came:.3f}  of {those.sum():,}", flush=True)


def learn(places: Sequence[tuple[Place, list[fields.Asked]]]) -> None:
    """Learn it of sentences whose citation is found, and write the ranker."""
    ranker, model = shipped_ranker(), find_model("")
    sources = []
    for place, asked in places:
        found = place.answered(asked)
        texts = [one.text for one, each in zip(asked, found, strict=True) if each.right.any()]
        fit = read_weights(place.index)
        level = ranker.levels["static"]
        sources.append(Source(place.index, apply_weights(level, fit) if fit else level, texts))
    need = train_citation_need(sources, ranker, model)
    SHIPPED.write_text(ranker_json(ranker.levels, need, ranker.about), encoding="utf-8")
    weights = json.loads(SHIPPED.read_text())["citation_need"]["weights"]
    print(json.dumps(weights), need.min_probability)


def main() -> None:
    """Make the collections, learn if asked to, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, help="The folder for the collections.")
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="Other collections.")
    parser.add_argument(
        "--texts", type=int, default=1500, help="The largest number of texts per field."
    )
    parser.add_argument("--learn", action="store_true")
    arguments = parser.parse_args()
    data = shared_data("elife").parent
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        asked = {}
        for name, (source, contexts) in fields.citing_fields(data).items():
            field = name.replace(" ", "-")
            if not (work / field).exists():
                citebed.create(work / field, source).index(quiet=True)
            some = together(contexts(data, before=1 if arguments.learn else 0))
            random.Random(1).shuffle(some)
            asked[field] = some[: arguments.texts]
        if arguments.learn:
            learn([(Place(work / field), some) for field, some in asked.items()])
            return
        for field, some in asked.items():
            report(field, Place(work / field), some)
        for folder in arguments.also:
            report(folder.name, Place(folder), fields.of_people(folder))


if __name__ == "__main__":
    main()
