"""The value of a reader's judgements: ``python bench/feedback.py [WORK]``.

A reader sees ten documents for a text, marks the first right one as good and the first two wrong
ones as not relevant. Then citebed ranks the rest again. The result is compared with the ranking
without feedback; judged documents count in neither (the residual collection, as in Salton and
Buckley 1990). Texts have at least two right documents, one of them among the ten. Documents that
are only not cited may still be right.

Data: life sciences (``elife``, sentences of 2022 with several citations), computer science (papers
of the fold that nothing was learned from), ACM-CR, and the queries of CACM and Cranfield.
``--tune`` takes the sentences of 2021 and the next fold instead, alone and three together as a
paragraph, and tries other constants. The script makes collections in the folder WORK, or in a
temporary one.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import citebed
from citebed.collection import open_collection
from citebed.collection.rules import load_profile
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Query
from citebed.retrieval.search.feedback import MOVING, Judged, Moving
from common import machine, shared_data
from fields import Asked, computer_science, interval, life_sciences, of_people

DEPTH, SEEN, ROUNDS = 10, 10, 2000
SCENARIOS = ("one good", "one good, two not", "two not")


class Text(NamedTuple):
    """A query, its right documents by number, the paper that asks, and the documents seen first."""

    query: Query
    relevant: frozenset[int]
    paper: str
    first: np.ndarray


class Field(NamedTuple):
    """A field's name, and its texts asked of a runner."""

    name: str
    runner: Runner
    texts: Sequence[Text]


def field_of(name: str, folder: Path, asked: Sequence[Asked], model: str) -> Field:
    """A field's texts, and what is seen for each."""
    collection = open_collection(folder)
    runner = Runner(collection, open_index(collection), parse_pipeline(model), RunOptions())
    runner.prepare()
    find = runner.index.ids.find
    found = []
    for one in asked:
        relevant = frozenset(number for each in one.relevant if (number := find(each)) >= 0)
        query = runner.query(one.text, paper=one.paper, exclude=[one.paper])
        query = replace(query, year=one.year or query.year)
        if relevant and len(query.terms.ids):
            found.append(Text(query, relevant, one.paper, ranked(runner, query)))
    return Field(name, runner, found)


def several(asked: Iterable[Asked]) -> list[Asked]:
    """The texts that cite several documents, with all that they cite."""
    found: dict[tuple[str, str], Asked] = {}
    for one in asked:
        known = found.get((one.paper, one.text), one)
        found[one.paper, one.text] = one._replace(relevant=known.relevant | one.relevant)
    return [one for one in found.values() if len(one.relevant) > 1]


def joined(asked: Iterable[Asked], count: int = 3) -> list[Asked]:
    """Texts of several sentences: consecutive citing sentences of a paper."""
    found = []
    for _, group in itertools.groupby(asked, key=lambda one: one.paper):
        of_paper = list(group)
        for at in range(0, len(of_paper) - 1, count):
            some = of_paper[at : at + count]
            text = " ".join(one.text.strip() for one in some)
            relevant = frozenset().union(*(one.relevant for one in some))
            found.append(some[0]._replace(text=text, relevant=relevant))
    return found


def of_set(folder: Path, name: str) -> list[Asked]:
    """The queries of a set of citing papers."""
    collection = open_collection(folder)
    judged = collection.qrels(name).table.filter(pl.col("relevance") > 0)
    relevant = dict(judged.group_by("query_id").agg("doc_id").iter_rows())
    return [
        Asked(row["text"], frozenset(relevant[row["query_id"]]), row["paper_id"])
        for row in collection.queries(name).iter_rows(named=True)
        if row["query_id"] in relevant
    ]


def ranked(runner: Runner, query: Query) -> np.ndarray:
    """The documents for a query, more than are looked at."""
    (result,) = runner.run([query], 2 * DEPTH + SEEN)
    return result.docs


def judged_in(text: Text, scenario: str) -> tuple[list[int], list[int]] | None:
    """The reader's judgements; ``None`` if no right document is seen, or none is left to find."""
    seen = text.first[:SEEN].tolist()
    right = [each for each in seen if each in text.relevant][:1]
    wrong = [each for each in seen if each not in text.relevant][:2]
    right = right if "good" in scenario else []
    wrong = wrong if "not" in scenario else []
    is_there = ("good" not in scenario or right) and ("not" not in scenario or wrong)
    return (right, wrong) if is_there and len(text.relevant) > len(right) else None


def scores(docs: np.ndarray, text: Text, judged: Sequence[int]) -> tuple[float, float]:
    """nDCG@10 and R@10 of what was not judged."""
    rest = docs[~np.isin(docs, judged)][:DEPTH]
    wanted = text.relevant.difference(judged)
    right = np.isin(rest, list(wanted))
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    ideal = discounts[: min(len(wanted), DEPTH)].sum()
    return float(discounts[: len(right)] @ right / ideal), right.sum() / len(wanted)


def measured(field: Field, scenario: str, moving: Moving) -> tuple[np.ndarray, list[str]]:
    """For each text nDCG@10 and R@10 without and with feedback, and who asks."""
    found, papers = [], []
    for text in field.texts:
        if (said := judged_in(text, scenario)) is None:
            continue
        right, wrong = (np.array(each, np.int64) for each in said)
        query = asked_again(text.query, Judged(right, wrong, moving))
        judged = [*said[0], *said[1]]
        again = ranked(field.runner, query)
        found.append([*scores(text.first, text, judged), *scores(again, text, judged)])
        papers.append(text.paper)
    return np.array(found).reshape(-1, 4), papers


def asked_again(query: Query, judged: Judged) -> Query:
    """The query with what was said of documents, as a runner makes it."""
    return replace(query, judged=judged, cites=np.concatenate([query.cites, judged.relevant]))


def gain(values: np.ndarray, papers: Sequence[str]) -> str:
    """The mean difference with an interval by citing paper, and how many gain and lose."""
    difference = values[:, 2] - values[:, 0]
    low, high = interval(difference, papers)
    up, down = (difference > 1e-9).sum(), (difference < -1e-9).sum()
    p = sign_flips(difference, papers)
    return f"{difference.mean():+.4f} [{low:+.4f}, {high:+.4f}] p {p:.3f}  {up} up, {down} down"


def sign_flips(values: np.ndarray, papers: Sequence[str]) -> float:
    """The p-value of a permutation test: papers' differences with random signs."""
    names, of = np.unique(np.array(papers), return_inverse=True)
    sums = np.bincount(of, values)
    draw = np.random.default_rng(1)
    drawn = draw.choice((-1.0, 1.0), (ROUNDS, len(names))) @ sums
    return float((1 + (np.abs(drawn) >= abs(sums.sum()) - 1e-12).sum()) / (ROUNDS + 1))


def calibrated(field: Field, moving: Moving) -> str:
    """The mean probability of ten documents that were not judged, and how many were right: without
    feedback, and with one document that is good."""
    found: tuple[list[tuple[float, bool]], list[tuple[float, bool]]] = ([], [])
    for text in field.texts:
        if (said := judged_in(text, SCENARIOS[0])) is None:
            continue
        again = asked_again(text.query, Judged(np.array(said[0], np.int64), moving=moving))
        for rows, query in zip(found, (text.query, again), strict=True):
            (result,) = field.runner.run([query], DEPTH + 1)
            if result.probabilities is None:
                return ""
            pairs = zip(result.docs.tolist(), result.probabilities.tolist(), strict=True)
            rows += [(p, doc in text.relevant) for doc, p in pairs if doc not in said[0]]
    means = [np.mean(np.array(rows, float), axis=0) for rows in found if rows]
    return ", then ".join(f"told {told:.3f}, right {right:.3f}" for told, right in means)


def report(field: Field, moving: Moving) -> None:
    """Print a line a scenario, and one of the probabilities."""
    for scenario in SCENARIOS:
        values, papers = measured(field, scenario, moving)
        if not len(values):
            continue
        one, other = values[:, :2].mean(axis=0), values[:, 2:].mean(axis=0)
        print(
            f"{field.name:22} {scenario:18} {len(values):5} texts  nDCG@10 {one[0]:.3f} -> "
            f"{other[0]:.3f} {gain(values, papers)}  R@10 {one[1]:.3f} -> {other[1]:.3f}",
            flush=True,
        )
    print(f"{field.name:22} probabilities: {calibrated(field, moving)}", flush=True)


_TOGETHER = 300
SOURCES = {
    "elife": "elife/documents.jsonl.xz",
    "cs": "citation-contexts/cited-documents.jsonl.xz",
    "cacm": "cacm",
    "cran": "cranfield",
    "acm-cr": "acm-cr",
}


def collection_in(work: Path, name: str) -> Path:
    """The folder of a field's collection, made and indexed where it is not there."""
    folder = work / name
    if not folder.exists():
        rules = load_profile("cranfield") if name == "cran" else None
        source = shared_data("elife").parent / SOURCES[name]
        citebed.create(folder, source, rules=rules).index(quiet=True)
    return folder


def texts_of(work: Path, name: str, before: int) -> dict[str, list[Asked]]:
    """The texts of a field, by what they are called."""
    data = shared_data("elife").parent
    citing = {
        "elife": ("life sciences", life_sciences),
        "cs": ("computer science", computer_science),
    }
    if name in citing:
        title, read = citing[name]
        asked = read(data, before)
        together = [one for one in joined(asked) if len(one.relevant) > 1][:_TOGETHER]
        more = {f"{title}, three": together} if before else {}
        return {title: several(asked), **more}
    if name == "acm-cr":
        sets = ("paragraphs", "sentences")
        return {f"ACM-CR {each}": of_set(collection_in(work, name), each) for each in sets}
    return {name: of_people(collection_in(work, name))}


GRID = {
    "beta": (0.0, 0.25, 0.5, 0.75, 1.0),
    "towards": (0.0, 0.25, 0.5, 0.75, 1.0),
    "terms": (10, 20, 40),
    "away": (0.0, 0.05, 0.1, 0.2),
}


def tune(fields: Sequence[Field]) -> None:
    """Try one constant after another around the present ones, and print what each gives."""
    for name, values in GRID.items():
        scenarios = SCENARIOS[1:2] if name == "away" else SCENARIOS[:1]
        for value, scenario in itertools.product(values, scenarios):
            moving = MOVING._replace(**{name: value})
            lines = [gain(*measured(field, scenario, moving)) for field in fields]
            print(f"{name}={value} {scenario}: {' | '.join(lines)}", flush=True)


def main() -> None:
    """Make the collections, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, help="The folder for the collections.")
    parser.add_argument("--model", default="bm25+learned")
    parser.add_argument("--only", nargs="+", default=list(SOURCES))
    parser.add_argument("--tune", action="store_true")
    arguments = parser.parse_args()
    print(machine(), MOVING)
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        names = ("elife", "cs") if arguments.tune else arguments.only
        fields = (
            field_of(text, collection_in(work, name), asked, arguments.model)
            for name in names
            for text, asked in texts_of(work, name, int(arguments.tune)).items()
        )
        if arguments.tune:
            tune(list(fields))
        else:
            for field in fields:
                report(field, MOVING)


if __name__ == "__main__":
    main()
