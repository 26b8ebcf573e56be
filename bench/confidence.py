"""Silence and probabilities by size and field: ``python bench/confidence.py [--write] [--learn]``.

The script draws libraries of 10 to 12,600 papers from the life sciences (``elife``) and computer
science (``citation-contexts``), with abstracts, with titles only, and with titles and some
sentences of other papers that cite them; ``--acm-cr`` names a folder
with all of ACM-CR, indexed without contexts. Texts are sentences and paragraphs that cite a paper
of the library, sentences of the same field that cite others, sentences and paragraphs of the other
field, everyday sentences, and what papers say about themselves.

Training uses sentences of 2021 and the development fold, and ``asking.tsv``; the report
uses sentences of 2022, the test fold and ``tests/held_out_texts.tsv``. The report prints which
texts get a recommendation, how many right documents are lost, and how well probabilities are
calibrated; ``--write`` puts it into docs/learned.md, with a figure. ``--learn`` fits the models
first and writes ``confidence.json``.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

import fields
from citebed.collection import import_sources, open_collection
from citebed.report.tables import text_table
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.ranking import confidence
from citebed.retrieval.ranking.collection_weights import CollectionWeights
from citebed.retrieval.ranking.confidence import FAIR, STRONG, Confidence, sigmoid
from citebed.retrieval.ranking.weight_fit import build_index
from citebed.retrieval.recommend.query_words import AuthorNames, count_terms
from citebed.retrieval.search.searcher import finish_query, query_of_counts
from citebed.text.words import is_routine
from citebed.training.texts import assign_fold
from common import REPOSITORY, machine, shared_data, write_between
from confidence_fit import Example, fit_models, written_texts

HELD_OUT = REPOSITORY / "tests" / "held_out_texts.tsv"
SHIPPED = Path(confidence.__file__).with_name("confidence.json")
FIGURE = REPOSITORY / "docs" / "figures" / "reliability.svg"
SIZES = {10: 4, 25: 2, 60: 3, 200: 2, 600: 2, 2500: 1, 12_000: 1}
"""How many libraries of each size a field has."""
SHOWN = (10, 60, 600, 12_000, 108_857)
RECORDS = ("abstracts", "titles only", "titles and citing sentences")
CITING_SENTENCES = {"train": 4, "test": 3}
"""The largest number of citing sentences per document, in libraries that have any."""
BINS = 10
BESIDE = 10
"""The largest number of co-citations to follow per document: a library has more than one subject.
"""
HALVES = {"train": (2021, 1), "test": (2022, 0)}
"""The year of the life sciences and the fold of computer science."""


class Cited(NamedTuple):
    """A sentence of a paper, without its marker, and the documents that it cites."""

    paper: str
    text: str
    documents: frozenset[str]


class Text(NamedTuple):
    """A text, its kind, its right documents, the paper that asks, and its sentences."""

    kind: str
    text: str
    right: frozenset[str] = frozenset()
    paper: str = ""
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Library:
    """A collection with texts; examples by the model's source."""

    field: str
    size: int
    records: str
    examples: dict[str, list[Example]]
    routine: list[bool]


def sentences(field: str, half: str) -> list[Cited]:
    """Return the sentences of a field for one half."""
    data, found = shared_data("elife").parent, dict[tuple[str, str], set[str]]()
    year, fold = HALVES[half]
    if field == "life sciences":
        for row in fields.rows(data / "elife" / "contexts.jsonl.xz"):
            if row["year"] == year:
                key = row["citing"], row["text"].replace("[CIT]", "")
                found.setdefault(key, set()).update(row["cited"])
    else:
        for row in fields.rows(data / "citation-contexts" / "contexts-train.jsonl.xz"):
            if assign_fold(row["citing"]) == fold:
                key = row["citing"], row["context"].replace("[CIT]", "")
                found.setdefault(key, set()).add(row["cited"])
    return [Cited(*key, frozenset(cited)) for key, cited in found.items()]


def documents(field: str) -> dict[str, dict[str, Any]]:
    """Return the documents of a field by id."""
    source, _ = fields.citing_fields(shared_data("elife").parent)[field]
    return {row["id"]: row for row in fields.rows(source)}


def earlier_contexts(field: str, half: str) -> dict[str, list[dict[str, Any]]]:
    """Return the sentences that cite each document, from before the half's own sentences."""
    data, found = shared_data("elife").parent, dict[str, list[dict[str, Any]]]()
    year, _ = HALVES[half]
    if field == "life sciences":
        for row in fields.rows(data / "elife" / "contexts.jsonl.xz"):
            if row["year"] < year:
                each = {"citing": row["citing"], "context": row["text"], "cited": row["cited"]}
                for cited in row["cited"]:
                    found.setdefault(cited, []).append(each)
    else:
        folds = [fold for _, fold in HALVES.values()]
        for row in fields.rows(data / "citation-contexts" / "contexts-train.jsonl.xz"):
            if assign_fold(row["citing"]) not in folds:
                each = {name: row[name] for name in ("citing", "context", "cited")}
                found.setdefault(row["cited"], []).append(each)
    return found


def draw_library(
    own: Sequence[Cited], known: dict[str, Any], size: int, draw: random.Random, *, is_close: bool
) -> set[str]:
    """Return papers that sentences cite, in a large library with others too.

    A close library follows co-citations, like a person's; the other is a random sample.
    """
    papers: dict[str, list[str]] = {}
    beside: dict[str, list[str]] = {}
    for paper, _, cited in own:
        for each in sorted(cited & known.keys()):
            papers.setdefault(each, []).append(paper)
            beside.setdefault(paper, []).append(each)
    names = sorted(papers)
    draw.shuffle(names)
    if not is_close or size > len(names) // 2:
        rest = sorted(set(known) - set(names))
        draw.shuffle(rest)
        return set((names + rest)[:size])
    found, queue = dict[str, None](), list[str]()
    while len(found) < size:
        each = queue.pop(0) if queue else draw.choice(names)
        found[each] = None
        others = sorted({o for paper in papers[each] for o in beside[paper]} - found.keys())
        queue += draw.sample(others, min(BESIDE, len(others)))
    return set(found)


def texts(
    own: Sequence[Cited], other: Sequence[Cited], has: set[str], half: str, draw: random.Random
) -> Iterator[Text]:
    """Yield the texts of a library."""
    many = 120 if len(has) >= 200 else 50
    inside = [each for each in own if each.documents & has]
    outside = [each for each in own if not each.documents & has]
    for kind, some in (("cites", inside), ("cites others", outside)):
        for each in draw.sample(some, min(many, len(some))):
            yield Text(kind, each.text, each.documents, each.paper)
    for each in draw.sample(other, 80):
        yield Text("other field", each.text)
    papers = {each.paper for each in inside}
    own_paragraphs = paragraphs([each for each in own if each.paper in papers], draw)
    count = 0
    for each in own_paragraphs:
        if each.right & has and count < many // 2:
            count += 1
            yield each._replace(kind="cites, paragraph")
    for each in list(paragraphs(other, draw))[:50]:
        yield each._replace(kind="other field, paragraph", right=frozenset(), paper="")
    if half == "train":
        written = [(each.kind, each.text) for each in written_texts()]
    else:
        with HELD_OUT.open(encoding="utf-8") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            written = [(kind, text) for kind, _, text in rows]
    for kind in ("everyday", "boilerplate", "asks"):
        some = [text for each, text in written if each == kind]
        for text in draw.sample(some, min(60, len(some))):
            yield Text("thirty fields" if kind == "asks" else kind, text)


def paragraphs(some: Sequence[Cited], draw: random.Random) -> Iterator[Text]:
    """Yield two to five sentences of each paper together."""
    papers: dict[str, list[Cited]] = {}
    for each in some:
        papers.setdefault(each.paper, []).append(each)
    names = sorted(name for name, own in papers.items() if len(own) > 1)
    draw.shuffle(names)
    for name in names:
        own = draw.sample(papers[name], min(draw.randint(2, 5), len(papers[name])))
        right = frozenset().union(*(each.documents for each in own))
        parts = tuple(each.text for each in own)
        yield Text("", " ".join(parts), right, name, parts)


def observe(folder: Path, number: int, asked: Sequence[Text]) -> dict[str, list[Example]]:
    """Return the examples of a library, with word vectors and by words alone."""
    collection, found = open_collection(folder), {}
    index = open_index(collection)
    names = AuthorNames(collection, index)
    for source in ("vectors", "words"):
        runner = Runner(collection, index, parse_pipeline("bm25+learned"), RunOptions())
        runner.prepare()
        if source == "words":
            runner.ranker.weigh(CollectionWeights(0, len(index.ids), 0.0, ""))
        judge = Confidence(index, has_vectors=source == "vectors")
        queries = [
            runner.query(each.text, exclude=[each.paper], sentences=each.sentences)
            for each in asked
        ]
        queries = [
            replace(
                query,
                terms=query_of_counts(runner.searcher.view, count_terms(index, query.text)),
                named=names.find(query.text),
            )
            for query in queries
        ]
        examples = found[source] = list[Example]()
        for each, result in zip(asked, runner.run(queries, 10), strict=True):
            ids = finish_query(result.query.terms, runner.searcher.view).ids
            best = result if result.best is None else result.best
            text, rows = judge.columns(result, best, ids, with_vectors=source == "vectors")
            right = [index.ids[doc] in each.right for doc in result.docs.tolist()]
            examples.append(Example(each.kind, number, text, rows, np.array(right, bool)))
    return found


def libraries(half: str, acm_cr: Path | None, work: Path) -> Iterator[Library]:
    """Yield all libraries of a half with their examples."""
    names = ("life sciences", "computer science")
    every = {name: sentences(name, half) for name in names}
    number = 0
    for field, other in (names, names[::-1]):
        known, contexts = documents(field), earlier_contexts(field, half)
        for size, count in SIZES.items():
            for place in range(count):
                draw = random.Random(f"{half}-{field}-{size}-{place}")
                is_close = place % 2 == 1
                has = draw_library(every[field], known, size, draw, is_close=is_close)
                asked = list(texts(every[field], every[other], has, half, draw))
                rows = [known[each] for each in sorted(has)]
                routine = [is_routine(each.text) for each in asked]
                for records in RECORDS if place == 0 else RECORDS[:2]:
                    folder = work / f"{half}-{field}-{size}-{place}-{records}"
                    quoted = CITING_SENTENCES[half] if records == RECORDS[2] else 0
                    make(folder, rows, records, contexts, quoted)
                    found = observe(folder, number, asked)
                    yield Library(field, size, records, found, routine)
                    number += 1
    if acm_cr is not None:
        ids = set(open_collection(acm_cr).scan_documents().select("doc_id").collect()["doc_id"])
        draw = random.Random(f"{half}-acm-cr")
        own, other = every["computer science"], every["life sciences"]
        asked = [each for each in texts(own, other, ids, half, draw) if each.kind != "cites others"]
        routine = [is_routine(each.text) for each in asked]
        yield Library(
            "computer science", len(ids), RECORDS[0], observe(acm_cr, number, asked), routine
        )


def observe_half(half: str, acm_cr: Path | None, work: Path) -> list[Library]:
    """Return the libraries of a half, for another process."""
    return list(libraries(half, acm_cr, work))


def make(
    folder: Path, rows: list[dict[str, Any]], records: str, contexts: dict[str, Any], quoted: int
) -> None:
    """Import and index some papers, with at most ``quoted`` citing sentences for each."""
    names = ("title", "authors", "year", *(("abstract",) if records == RECORDS[0] else ()))
    source, citing = folder.with_suffix(".jsonl"), folder.with_suffix(".contexts.jsonl")
    kept = [{"doc_id": row["id"], **{n: row[n] for n in names if row.get(n)}} for row in rows]
    source.write_text("".join(f"{json.dumps(row)}\n" for row in kept), "utf-8")
    import_sources(folder, [source])
    draw = random.Random(str(folder.name))
    some = (draw.sample(all_, min(quoted, len(all_))) for row in kept
            if (all_ := contexts.get(row["doc_id"])))  # fmt: skip
    citing.write_text("".join(f"{json.dumps(each)}\n" for own in some for each in own), "utf-8")
    build_index(folder, IndexOptions(citing=(citing,) if quoted else ()))


# --- the report ---------------------------------------------------------------------------------


class Answer(NamedTuple):
    """Whether a text is answered, and the probabilities of its documents."""

    is_answered: bool
    probabilities: np.ndarray
    is_right: np.ndarray


def answers(library: Library, source: str) -> dict[str, list[Answer]]:
    """Return what the bundled models make of the examples, by kind."""
    models = confidence.shipped_confidence()
    model = models.vectors if source == "vectors" else models.words
    found: dict[str, list[Answer]] = {}
    for example, routine in zip(library.examples[source], library.routine, strict=True):
        asks = float(sigmoid(model.asks.log_odds(example.text))[0])
        right = sigmoid(model.right.log_odds(example.documents)) * asks
        right = np.maximum.accumulate(right[::-1])[::-1]
        is_answered = len(right) > 0 and not routine and asks >= model.min_probability
        found.setdefault(example.kind, []).append(Answer(is_answered, right, example.is_right))
    return found


def calibration_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error in ten bins of equal size."""
    parts = np.array_split(np.argsort(probabilities, kind="stable"), BINS)
    gaps = [abs(probabilities[p].mean() - right[p].mean()) * len(p) for p in parts if len(p)]
    return float(sum(gaps) / max(len(probabilities), 1))


def report(found: Sequence[Library]) -> str:
    """Return the tables: silence, and calibration."""
    silence, calibration = [], []
    for size in SHOWN:
        for records in RECORDS:
            some = [e for e in found if (e.size, e.records) == (size, records)]
            if not some:
                continue
            by_kind: dict[str, list[Answer]] = {}
            for each in some:
                for kind, own in answers(each, "vectors").items():
                    by_kind.setdefault(kind, []).extend(own)
            label = f"{size:,}", records
            in_ten = [each for each in by_kind["cites"] if each.is_right.any()]
            lost = share([not each.is_answered for each in in_ten])
            kinds = ("everyday", "boilerplate", "other field", "other field, paragraph")
            cells = [share([e.is_answered for e in by_kind[kind]]) for kind in kinds]
            silence.append([*label, lost, *cells])
    for field in ("life sciences", "computer science"):
        for size in SHOWN:
            for records in RECORDS:
                some = [
                    answer
                    for each in found
                    if (each.field, each.size, each.records) == (field, size, records)
                    for answer in answers(each, "vectors")["cites"]
                ]
                if some:
                    label = field, f"{size:,}", records
                    calibration.append([*label, *calibration_cells(some)])
    heads = (
        ["papers", "records", "right ones lost", "everyday sentences answered",
         "thanks, outlines … answered", "sentences of another field answered",
         "paragraphs of another field answered"],
        ["field", "papers", "records", "calibration error", "strong: right", "fair: right",
         "weak: right"],
    )  # fmt: skip
    return "\n\n".join(
        (
            text_table(heads[0], silence, range(2)).markdown(),
            text_table(heads[1], calibration, range(3)).markdown(),
        )
    )


def calibration_cells(some: Sequence[Answer]) -> list[str]:
    """Return the calibration error, and how many of each strength are right."""
    likely = np.concatenate([each.probabilities for each in some])
    right = np.concatenate([each.is_right for each in some])
    cells = [f"{calibration_error(likely, right):.3f}"]
    for low, high in ((STRONG, 2.0), (FAIR, STRONG), (0.0, FAIR)):
        rows = (likely >= low) & (likely < high)
        cells.append(f"{int(right[rows].sum()):,} of {rows.sum():,} ({share(right[rows])})")
    return cells


def share(values: Sequence[bool] | np.ndarray) -> str:
    """Return the share of true values in percent."""
    return f"{np.mean(values):.0%}" if len(values) else "none"


def draw_figure(found: Sequence[Library]) -> None:
    """Draw reliability diagrams: predicted against observed, for each size and field."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "reliability"
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(3 * len(SHOWN), 3.2), sharey=True)
    for axis, size in zip(axes, SHOWN, strict=True):
        axis.plot([0, 1], [0, 1], color="#b0b0b0", linewidth=0.8)
        for field, color in (("life sciences", "#1b6e5a"), ("computer science", "#a6421e")):
            for records, style in zip(RECORDS, ("-", "--", ":"), strict=True):
                some = [
                    answer
                    for each in found
                    if (each.field, each.size, each.records) == (field, size, records)
                    for answer in answers(each, "vectors")["cites"]
                ]
                if not some:
                    continue
                likely = np.concatenate([each.probabilities for each in some])
                right = np.concatenate([each.is_right for each in some])
                bins = [
                    (likely >= low) & (likely < low + 0.1 + 1e-9)
                    for low in np.arange(0, 1, 0.1).round(1)
                ]
                points = [(likely[b].mean(), right[b].mean()) for b in bins if b.sum() >= 10]
                label = f"{field}, {records}"
                axis.plot(*zip(*points, strict=True), style, marker="o", ms=3, color=color,
                          label=label)  # fmt: skip
        axis.set_title(f"{size:,} papers", fontsize=10)
        axis.set_xlabel("predicted probability")
    axes[0].set_ylabel("share that is right")
    axes[0].legend(fontsize=6, loc="upper left")
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Learn if asked to, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acm-cr", type=Path, help="A folder with ACM-CR, indexed.")
    parser.add_argument("--learn", action="store_true", help="Fit the models first.")
    parser.add_argument("--write", action="store_true", help="Write the tables and the figure.")
    arguments = parser.parse_args()
    print(machine())
    halves = ("train", "test") if arguments.learn else ("test",)
    with tempfile.TemporaryDirectory() as work, ProcessPoolExecutor(2) as pool:
        ends = [pool.submit(observe_half, half, arguments.acm_cr, Path(work)) for half in halves]
        *taught, found = (end.result() for end in ends)
    if taught:
        values = json.loads(SHIPPED.read_text("utf-8"))
        for source in values["models"]:
            examples = [example for each in taught[0] for example in each.examples[source]]
            values["models"][source] = fit_models(source, examples)
        SHIPPED.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
        confidence.shipped_confidence.cache_clear()
    table = report(found)
    print(table)
    if arguments.write:
        write_between("learned.md", "confidence", table)
        draw_figure(found)


if __name__ == "__main__":
    main()
