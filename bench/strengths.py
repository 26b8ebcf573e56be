"""How often weak, fair and strong matches are right in small libraries: ``bench/strengths.py``.

The script draws libraries of 200 to 500 documents from the papers that others cite: half of them at
random, half by following co-citations from a document, as in a person's library. They have no
citing sentences. Queries are sentences that cite a document of the library, as many of the same
field whose cited papers it lacks, some of the other field, and everyday sentences.

The thresholds are chosen on half of the citing papers of the life sciences, and measured on other
libraries and papers: the other half, and computer science (only papers of the fold that no vectors
and no ranker learned from). ``--write`` puts the table into docs/recommend.md.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from citebed.retrieval.recommend.calibration import Calibration, match_strength

from citebed.collection import import_sources, open_collection
from citebed.report.tables import text_table
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, parse_pipeline
from citebed.retrieval.ranking.features import Constants
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.recommend.recommender import DEFAULT_MODEL
from citebed.training.texts import TEST, assign_fold
from common import shared_data, write_between

SIZES = (200, 300, 400, 500)
QUESTIONS, OF_OTHERS = 150, 40
EVERYDAY = Path(__file__).with_name("everyday.txt").read_text("utf-8").splitlines()
INSIDE, OUTSIDE = "cites a paper of the collection", "cites none"
KINDS = (INSIDE, OUTSIDE, "from the other field", "everyday sentence")
STRENGTHS = ("strong", "fair", "weak")
STRONG_RIGHT, FAIR_RIGHT = 0.5, 0.2
"""So many of the strong matches must be right on the half that cut-offs are chosen on, and of the
fair ones, though half of the sentences have no right answer in the library."""
CHANCES = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3)
SHARES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
USED = shipped_ranker().constants
BESIDE = 10
"""The largest number of co-citations to follow per document: a library has more than one subject.
"""


class Cited(NamedTuple):
    """A sentence of a paper, without its marker, and the documents that it cites."""

    paper: str
    text: str
    documents: frozenset[str]


class Field(NamedTuple):
    """The documents of a field by id, and the sentences that cite them."""

    documents: dict[str, dict[str, Any]]
    sentences: list[Cited]


class Question(NamedTuple):
    """A sentence, its kind, its right documents, and the documents to exclude."""

    kind: str
    text: str
    right: frozenset[str] = frozenset()
    paper: str = ""


class Match(NamedTuple):
    """A document of a query: its probability, its share of a sentence's words, and whether the
    query is short."""

    probability: float | None
    share: float
    is_short: bool

    def strength(self, constants: Constants) -> str:
        return match_strength(constants, self.probability, self.share, is_short=self.is_short)


class Answered(NamedTuple):
    """The matches that a question was shown, and which of them are right; none where silent."""

    kind: str
    matches: list[Match]
    right: list[bool]


# --- fields and libraries ---------------------------------------------------------------------


def life_sciences() -> Field:
    """eLife's papers and sentences."""
    folder = shared_data("elife")
    rows = _rows(folder / "contexts.jsonl.xz")
    sentences = [Cited(r["citing"], _plain(r["text"]), frozenset(r["cited"])) for r in rows]
    return Field({row["id"]: row for row in _rows(folder / "documents.jsonl.xz")}, sentences)


def computing() -> Field:
    """The computer-science papers and sentences: one row of the file a document cited."""
    folder, cited = shared_data("citation-contexts"), defaultdict[tuple[str, str], set[str]](set)
    for row in _rows(folder / "contexts-train.jsonl.xz"):
        cited[row["citing"], _plain(row["context"])].add(row["cited"])
    sentences = [Cited(*key, frozenset(documents)) for key, documents in cited.items()]
    return Field({row["id"]: row for row in _rows(folder / "cited-documents.jsonl.xz")}, sentences)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _plain(text: str) -> str:
    return text.replace("[CIT]", "")


def library(field: Field, size: int, *, close: bool, draw: random.Random) -> set[str]:
    """So many documents that are cited: at random, or ``close`` to one another."""
    of, by = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for paper, _, documents in field.sentences:
        for each in documents & field.documents.keys():
            of[paper].add(each)
            by[each].add(paper)
    cited = sorted(by)
    if not close:
        return set(draw.sample(cited, size))
    found: dict[str, None] = {}
    queue: list[str] = []
    while len(found) < size:
        each = queue.pop(0) if queue else draw.choice(cited)
        found[each] = None
        beside = sorted({other for paper in by[each] for other in of[paper]} - found.keys())
        queue += draw.sample(beside, min(BESIDE, len(beside)))
    return set(found)


def questions(
    own: Sequence[Cited], other: Sequence[Cited], has: set[str], count: int, draw: random.Random
) -> list[Question]:
    """Return the queries of a library: sentences of its own field and of another, and everyday
    ones."""
    inside = [each for each in own if each.documents & has]
    outside = [each for each in own if not each.documents & has]
    asked = [
        Question(kind, each.text, each.documents, each.paper)
        for kind, some in ((INSIDE, inside), (OUTSIDE, outside))
        for each in draw.sample(some, min(count, len(some)))
    ]
    asked += [Question(KINDS[2], each.text) for each in draw.sample(other, OF_OTHERS)]
    return asked + [Question(KINDS[3], text) for text in EVERYDAY]


def answered(field: Field, has: set[str], asked: Sequence[Question]) -> list[Answered]:
    """Return the matches that a library of these documents shows for each query."""
    with tempfile.TemporaryDirectory() as work:
        source, folder = Path(work) / "documents.jsonl", Path(work) / "library"
        names = ("title", "abstract", "authors", "year")
        rows = [
            {"doc_id": each, **{n: v for n in names if (v := field.documents[each].get(n))}}
            for each in sorted(has)
        ]
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        import_sources(folder, [source])
        write_index(folder)
        collection, index = open_collection(folder), open_index(folder)
        runner = Runner(collection, index, parse_pipeline(DEFAULT_MODEL), RunOptions())
        calibration = Calibration(runner)
        assert calibration.missing_probabilities(EVERYDAY[0]), (
            "a library this small tells no chances"
        )
        return [_answered(runner, calibration, question) for question in asked]


def _answered(runner: Runner, calibration: Calibration, question: Question) -> Answered:
    """As recommending does: what hardly asks is silent, and a list has no tail."""
    query = runner.query(question.text, exclude=[question.paper])
    (result,) = runner.run([query], CALIBRATION_DEPTH) if len(query.terms.ids) else (None,)
    if result is None or calibration.citation_need(result).is_too_low:
        return Answered(question.kind, [], [])
    result = calibration.drop_unlikely(result)
    names = [runner.index.ids[number] for number in result.docs.tolist()]
    right = [name in question.right for name in names]
    if not names:
        return Answered(question.kind, [], right)
    is_short = calibration.is_short(result.query.text)
    shares = enumerate(calibration.word_shares(result).tolist())
    matches = [Match(result.probability(row), share, is_short) for row, share in shares]
    return Answered(question.kind, matches, right)


# --- cut-offs and tables ----------------------------------------------------------------------


def chosen(found: Iterable[Answered]) -> Constants:
    """The cut-offs with which most right answers are called strong, and of the others fair, so that
    as many of those are right as must be."""
    pairs = [pair for each in found for pair in zip(each.matches, each.right, strict=True)]
    grid = list(product(CHANCES, SHARES))
    never = (2.0, 2.0)
    strong = max(grid, key=lambda cut: _worth(pairs, cuts(cut, never), "strong", STRONG_RIGHT))
    fair = max(grid, key=lambda cut: _worth(pairs, cuts(strong, cut), "fair", FAIR_RIGHT))
    return cuts(strong, fair)


def cuts(strong: tuple[float, float], fair: tuple[float, float]) -> Constants:
    """The constants with other cut-offs: probability and share of the words."""
    return USED._replace(
        strong_probability=strong[0], strong_word_share=strong[1],
        fair_probability=fair[0], fair_word_share=fair[1],
    )  # fmt: skip


def _worth(
    pairs: Sequence[tuple[Match, bool]], cuts: Constants, strength: str, least: float
) -> int:
    right = [is_right for match, is_right in pairs if match.strength(cuts) == strength]
    return sum(right) if right and sum(right) >= least * len(right) else -1


def rows_of(name: str, found: Sequence[Answered]) -> Iterator[list[str]]:
    """A row for each kind of question: right answers of each strength, and what it got at best."""
    for kind in KINDS:
        own = [each for each in found if each.kind == kind]
        cells = [share(own, strength) for strength in STRENGTHS]
        strong = sum("strong" in {m.strength(USED) for m in each.matches} for each in own)
        silent = sum(not each.matches for each in own)
        asked = f"{len(own):,}"
        yield [name, kind, asked, *cells, f"{strong / len(own):.1%}", f"{silent / len(own):.0%}"]


def share(found: Iterable[Answered], strength: str) -> str:
    """How many matches of a strength are right, of how many."""
    right = right_of(found, strength)
    percent = f" ({sum(right) / len(right):.0%})" if any(right) else ""
    return f"{sum(right):,} of {len(right):,}{percent}" if right else "none"


def right_of(found: Iterable[Answered], strength: str) -> list[bool]:
    """For each match of a strength, whether it is right."""
    return [
        is_right
        for each in found
        for match, is_right in zip(each.matches, each.right, strict=True)
        if match.strength(USED) == strength
    ]


def of_libraries(
    field: Field, own: Sequence[Cited], other: Sequence[Cited], seed: str
) -> list[Answered]:
    """Return the matches of libraries of all sizes."""
    found: list[Answered] = []
    for number, size in enumerate(SIZES):
        draw = random.Random(f"{seed} {size}")
        has = library(field, size, close=number % 2 == 0, draw=draw)
        found += answered(field, has, questions(own, other, has, QUESTIONS, draw))
    return found


def main() -> None:
    """Choose, print what came true, and put it into the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="fill docs/recommend.md")
    arguments = parser.parse_args()
    life, machines = life_sciences(), computing()
    halves = [[s for s in life.sentences if assign_fold(s.paper) % 2 == half] for half in (0, 1)]
    unseen = [each for each in machines.sentences if assign_fold(each.paper) == TEST]
    best = chosen(of_libraries(life, halves[0], unseen, "chosen"))
    print(f"chosen: {best}{'' if best == USED else f', NOT those in use: {USED}'}\n")
    groups = {
        "life sciences": of_libraries(life, halves[1], unseen, "told"),
        "computer science": of_libraries(machines, unseen, halves[1], "computing"),
    }
    head = ["collection from", "sentence", "number of sentences",
            *(f"{each}: correct" for each in STRENGTHS),
            "sentences with a strong match", "sentences without suggestions"]  # fmt: skip
    rows = [row for name, found in groups.items() for row in rows_of(name, found)]
    table = text_table(head, rows, range(2)).markdown()
    print(table)
    for name, found in groups.items():
        known = [_by_words(each) for each in found]
        print(f"{name}, by words alone: fair {share(known, 'fair')}, weak {share(known, 'weak')}")
    if arguments.write:
        write_between("recommend.md", "strengths", table)


def _by_words(each: Answered) -> Answered:
    """The same as if no probability were known."""
    return each._replace(matches=[match._replace(probability=None) for match in each.matches])


if __name__ == "__main__":
    main()
