"""The value of a reader's judgements: ``python bench/feedback.py [WORK]``.

A reader sees ten documents for a text, marks the first right one as good and the first two wrong
ones as not relevant. Then citebed ranks the rest again. The result is compared with the ranking
without feedback; judged documents count in neither (the residual collection, as in Salton and
Buckley 1990). Texts have at least two right documents, one of them among the ten. Documents that
are only not cited may still be right.

Data: life sciences (``elife``, sentences of 2022 with several citations), computer science (papers
of the fold that nothing was learned from), ACM-CR, and the queries of CACM and Cranfield. The
script makes the collections that the folder WORK does not have, or all of them in a temporary one.
``--write`` puts the tables into docs/recommend.md. ``--tune`` takes the sentences of 2021 and the
next fold instead, alone and three together as a paragraph, and tries other constants.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import citebed
from citebed.collection import open_collection
from citebed.collection.rules import load_profile
from citebed.report.tables import text_table
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.confidence import Confidence, sigmoid
from citebed.retrieval.search.feedback import MOVING, Judged, Moving
from citebed.retrieval.search.searcher import finish_query
from common import machine, shared_data, write_between
from fields import Asked, citing_fields, interval, of_people

DEPTH, SEEN = 10, 10
SCENARIOS = ("one good", "one good, two not")


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


def ranked(runner: Runner, query: Query) -> np.ndarray:
    """The documents for a query, more than are looked at."""
    (result,) = runner.run([query], 2 * DEPTH + SEEN)
    return result.docs


def judged_in(text: Text, scenario: str) -> tuple[list[int], list[int]] | None:
    """The reader's judgements; ``None`` if no right document is seen, or none is left to find."""
    seen = text.first[:SEEN].tolist()
    right = [each for each in seen if each in text.relevant][:1]
    wrong = [each for each in seen if each not in text.relevant][:2]
    wrong = wrong if "not" in scenario else []
    is_there = right and ("not" not in scenario or wrong)
    return (right, wrong) if is_there and len(text.relevant) > 1 else None


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


def gain(values: np.ndarray, papers: Sequence[str], column: int = 0) -> str:
    """Return a mean without and with feedback, and the difference with an interval by paper."""
    without, by_feedback = values[:, column], values[:, column + 2]
    low, high = interval(by_feedback - without, papers)
    difference = f"{(by_feedback - without).mean():+.3f} [{low:+.3f}, {high:+.3f}]"
    return f"{without.mean():.3f} → {by_feedback.mean():.3f}, {difference}"


def calibrated(field: Field, moving: Moving) -> list[str]:
    """Return the mean probability of the ten first documents that were not judged, and the share
    that was right: without feedback, and with one document that is good."""
    judge = Confidence(field.runner.index, has_vectors=True)
    found: tuple[list[tuple[float, bool]], list[tuple[float, bool]]] = ([], [])
    for text in field.texts:
        if (said := judged_in(text, SCENARIOS[0])) is None:
            continue
        again = asked_again(text.query, Judged(np.array(said[0], np.int64), moving=moving))
        for rows, query in zip(found, (text.query, again), strict=True):
            (result,) = field.runner.run([query], DEPTH + 1)
            terms = finish_query(result.query.terms, field.runner.searcher.view).ids
            result = judge.assess(result, terms)
            probabilities = result.probabilities * sigmoid(result.asks)
            pairs = zip(result.docs.tolist(), probabilities.tolist(), strict=True)
            rows += [(p, doc in text.relevant) for doc, p in pairs if doc not in said[0]]
    means = [np.mean(np.array(rows, float), axis=0) for rows in found]
    return [f"{100 * probability:.1f}%, {100 * right:.1f}%" for probability, right in means]


_TOGETHER = 300


def fields_of(work: Path, before: int) -> Iterator[tuple[str, Path, list[Asked]]]:
    """The name of each kind of texts, its collection and the texts; ``before`` for tuning."""
    data = shared_data("elife").parent
    sources = citing_fields(data)
    if not before:
        sources |= {name: (data / name.lower(), None) for name in ("ACM-CR", "CACM", "Cranfield")}
    for field, (source, contexts) in sources.items():
        folder = work / field.replace(" ", "-").lower()
        if not folder.exists():
            rules = load_profile("cranfield") if field == "Cranfield" else None
            citebed.create(folder, source, rules=rules).index(quiet=True)
        if contexts is None:
            for name in ("paragraphs", "sentences") if field == "ACM-CR" else ("",):
                yield f"{field}, {name or 'queries'}", folder, of_people(folder, name)
            continue
        asked = contexts(data, before)
        yield f"{field}, sentences", folder, several(asked)
        if before:
            together = [one for one in joined(asked) if len(one.relevant) > 1]
            yield f"{field}, three sentences", folder, together[:_TOGETHER]


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
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--write", action="store_true", help="Write the tables into docs/.")
    arguments = parser.parse_args()
    print(machine(), MOVING)
    gains, probabilities = list[list[str]](), list[list[str]]()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        fields = (field_of(*each, arguments.model) for each in fields_of(work, int(arguments.tune)))
        if arguments.tune:
            tune(list(fields))
            return
        for field in fields:
            one, two = (measured(field, scenario, MOVING) for scenario in SCENARIOS)
            gains.append([field.name, f"{len(one[0])}", gain(*one), gain(*two), gain(*one, 1)])
            probabilities.append([field.name, *calibrated(field, MOVING)])
            print(gains[-1], probabilities[-1], flush=True)
    head = ["nDCG@10", "texts", "one good", "one good, two “not this”", "one good: R@10"]
    told = ["mean probability, right", "without feedback", "one good"]
    tables = (text_table(head, gains), text_table(told, probabilities))
    if arguments.write:
        write_between("recommend.md", "feedback", "\n".join(each.markdown() for each in tables))


if __name__ == "__main__":
    main()
