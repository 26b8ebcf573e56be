"""How good the learned ranking is, level by level: ``python bench/learned.py COLLECTION``.

COLLECTION is ACM-CR, indexed with citing sentences and the encoder:

    citebed index acm-cr/ --citing contexts.jsonl --neural

(each line of the contexts with the ``year`` of its citing paper, so that no later paper helps).
Prints the tables of docs/learned.md; ``--write`` puts them there. Every text is weighed twice,
without the encoder and with it; a level is a choice of weights, and differences between levels are
tested by citing paper.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import citebed
from citebed.collection import open_collection
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import open_index
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.collection_weights import WORD_SIGNALS
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.training.ranker import (
    CITATION_FEATURES,
    Example,
    RankerSettings,
    TrainingQueries,
    measure_example,
)

ORIGINS = Path(__file__).with_name("origins.jsonl")
PAGE = Path(__file__).parent.parent / "docs" / "learned.md"
SETS = ("paragraphs", "sentences")
NAMES = list(SIGNALS)
FACTORS = (0, 0.25, 0.4, 0.5, 0.6, 0.75, 1)
_NONE = np.zeros(0, np.int64)


class Judged(NamedTuple):
    """A query's id, and what may answer it."""

    query_id: str
    example: Example


Sets = dict[str, list[Judged]]


class Level(NamedTuple):
    """How much each signal counts, and whether the encoder is there."""

    weights: np.ndarray
    has_encoder: bool


def weights(**chosen: float) -> np.ndarray:
    return np.array([chosen.get(name, 0.0) for name in NAMES])


def levels() -> dict[str, Level]:
    """The levels by name: each has more than the one before."""
    ranker = shipped_ranker()
    static, encoder = ranker.level(False).weights, ranker.level(True).weights
    citing = np.array([name in CITATION_FEATURES for name in NAMES])
    words = weights(bm25=1, static=1, static_sentence=1)
    neural = weights(bm25=1, encoder=1, encoder_sentence=1)
    return {
        "BM25": Level(weights(bm25=1), False),
        "BM25 + word vectors, equal weights": Level(words, False),
        "default, no citing sentences": Level(np.where(citing, 0, static), False),
        "default": Level(static, False),
        "BM25 + encoder, equal weights": Level(neural, True),
        "with the encoder, no citing sentences": Level(np.where(citing, 0, encoder), True),
        "with the encoder": Level(encoder, True),
    }


def weigh(
    runner: Runner, queries: Sequence[Query], wanted: Sequence[Iterable[str]]
) -> list[Judged]:
    """The documents of a collection, and its queries with their relevant documents."""
    signals, found = runner.ranker.signals, []
    for start in range(0, len(queries), 64):
        part = [replace(query, cites=_NONE) for query in queries[start : start + 64]]
        first = runner.searcher.search_all(
            [query.terms for query in part], 1000, excluded=[query.excluded for query in part]
        )
        rows = zip(part, first, signals.embed(part), wanted[start:], strict=False)
        for query, hits, vectors, right in rows:
            features = signals.compute(query, hits, vectors, 100)
            numbers = [runner.index.ids.find(name) for name in right]
            cited = np.isin(features.docs, numbers)
            example = Example(query.paper or "", features, cited, len(numbers), False)
            found.append(Judged(query.query_id, example))
    return found


def judged(runner: Runner, name: str) -> list[Judged]:
    """The queries of a set."""
    table = runner.collection.qrels(name).table.filter(pl.col("relevance") > 0)
    right = dict(table.group_by("query_id").agg("doc_id").iter_rows())
    rows = [
        r for r in runner.collection.queries(name).iter_rows(named=True) if r["query_id"] in right
    ]
    asked = [
        runner.query(r["text"], r["query_id"], exclude=r["exclude"] or (), paper=r["paper_id"])
        for r in rows
    ]
    return weigh(runner, asked, [right[row["query_id"]] for row in rows])


def origins(runner: Runner) -> list[Judged]:
    """Sentences of our own about ideas, and the papers that introduced them."""
    rows = [json.loads(line) for line in ORIGINS.read_text().splitlines()]
    asked = [runner.query(row["text"], str(at)) for at, row in enumerate(rows)]
    return weigh(runner, asked, [row["doc_ids"] for row in rows])


def mean(queries: Iterable[Judged], chosen: np.ndarray) -> tuple[float, float]:
    rows = [measure_example(q.example, q.example.features.signals @ chosen) for q in queries]
    recall, gain = np.array(rows).mean(axis=0)
    return float(recall), float(gain)


def hits(queries: Sequence[Judged], chosen: np.ndarray) -> float:
    return float(np.mean([_best(q.example, chosen).any() for q in queries]))


def _best(example: Example, chosen: np.ndarray) -> np.ndarray:
    order = np.argsort(-(example.features.signals @ chosen), kind="stable")[:10]
    return example.is_cited[order]


def as_run(runner: Runner, queries: Sequence[Judged], chosen: np.ndarray) -> pl.DataFrame:
    parts = []
    for query_id, example in queries:
        scores = example.features.signals @ chosen
        order = np.argsort(-scores, kind="stable")[:100]
        names = [runner.index.ids[int(n)] for n in example.features.docs[order]]
        parts.append(pl.DataFrame({"query_id": query_id, "doc_id": names, "score": scores[order]}))
    return pl.concat(parts)


def level_table(both: dict[bool, Sets]) -> Iterable[str]:
    of_sets = "paragraphs R@10 / nDCG@10 | sentences R@10 / nDCG@10"
    yield f"| | {of_sets} | unseen contexts R@10 | origins hit@10 |"
    yield "|---|---|---|---|---|"
    for name, (chosen, has_encoder) in levels().items():
        sets = both[has_encoder]
        scores = [mean(sets[each], chosen) for each in SETS]
        cells = [f"{recall:.3f} / {gain:.3f}" for recall, gain in scores]
        cells += [f"{mean(sets['contexts'], chosen)[0]:.3f}"]
        cells += [f"{hits(sets['origins'], chosen):.3f}"]
        yield f"| {name} | {' | '.join(cells)} |"


def significance(runner: Runner, both: dict[bool, Sets]) -> Iterable[str]:
    yield "| nDCG@10 | against | paragraphs: difference, p | sentences: difference, p |"
    yield "|---|---|---|---|"
    pairs = [
        ("default, no citing sentences", "BM25"), ("default", "default, no citing sentences"),
        ("with the encoder", "default"), ("with the encoder", "BM25"),
    ]  # fmt: skip
    known = levels()
    for name, other in pairs:
        cells = []
        for each in SETS:
            chosen = {n: known[n] for n in (other, name)}
            runs = {n: as_run(runner, both[of][each], w) for n, (w, of) in chosen.items()}
            papers = {q.query_id: q.example.paper for q in both[True][each]}
            found = citebed.evaluate(runner.collection.qrels(each), runs, ["nDCG@10"])
            row = found.compare(baseline=other, cluster=papers).table.row(0, named=True)
            cells.append(f"{row['difference']:+.3f}, {_p(row['p'])}")
        yield f"| {name} | {other} | {' | '.join(cells)} |"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def ablation(sets: Sets) -> Iterable[str]:
    full = levels()["with the encoder"].weights
    groups = {
        "everything": (), "BM25": WORD_SIGNALS, "word vectors": ("static", "static_sentence"),
        "the encoder": ("encoder", "encoder_sentence"),
        "best sentences": ("bm25_sentence", "static_sentence", "encoder_sentence"),
        "BM25's best sentence": ("bm25_sentence",), "citing sentences": ("citing",),
        "its authors' others that fit": ("peers",),
        "how often and how lately cited": ("cited", "lately"),
        "other works of its authors": ("authors",), "age": ("age",), "length": ("length",),
        "title-only records": ("title_only",),
    }  # fmt: skip
    yield "| without | paragraphs | sentences | unseen contexts | origins hit@10 |"
    yield "|---|---|---|---|---|"
    for name, left_out in groups.items():
        chosen = np.where([each in left_out for each in NAMES], 0, full)
        cells = [
            "{:.3f} / {:.3f}".format(*mean(sets[each], chosen)) for each in (*SETS, "contexts")
        ]
        label = "nothing" if name == "everything" else name
        yield f"| {label} | {' | '.join(cells)} | {hits(sets['origins'], chosen):.3f} |"


def choice(queries: Sequence[Judged]) -> Iterable[str]:
    """How much signals of citing count, chosen without the citing papers that are then asked."""
    full, shipped = levels()["with the encoder"].weights, RankerSettings().citing
    of_citing = np.array([name in CITATION_FEATURES for name in NAMES])
    papers = sorted({query.example.paper for query in queries})
    folds = np.array([papers.index(query.example.paper) % 5 for query in queries])
    scores = {}
    for factor in FACTORS:
        chosen = np.where(of_citing, factor / shipped, 1) * full
        scores[factor] = np.array(
            [
                measure_example(query.example, query.example.features.signals @ chosen)
                for query in queries
            ]
        )
    yield "| papers left out | chosen | R@10 / nDCG@10 of those | with 0 | with 1 |"
    yield "|---|---|---|---|---|"
    for fold in range(5):
        inside = folds == fold
        best = max(FACTORS, key=lambda factor: scores[factor][~inside].sum())
        cells = ["{:.3f} / {:.3f}".format(*scores[f][inside].mean(axis=0)) for f in (best, 0, 1)]
        yield f"| {fold + 1} of 5 | {best} | {' | '.join(cells)} |"


def groups_table(runner: Runner, both: dict[bool, list[Judged]]) -> Iterable[str]:
    """Recall@10 of cited papers by their age and by how often they are cited."""
    table = runner.collection.scan_documents().select("doc_id", "year").collect()
    years = dict(table.iter_rows())
    known = levels()
    chosen = {
        n: known[n] for n in ("BM25", "default, no citing sentences", "default", "with the encoder")
    }
    rows: dict[str, list[Any]] = {}
    cited = NAMES.index("cited")
    for without, (_, example) in zip(both[False], both[True], strict=True):
        of = {False: without.example, True: example}
        tops = {n: set(_docs(of[has_encoder], w)) for n, (w, has_encoder) in chosen.items()}
        for place in np.flatnonzero(example.is_cited):
            number = int(example.features.docs[place])
            year = years.get(runner.index.ids[number]) or 0
            times = round(float(np.expm1(example.features.signals[place, cited])))
            found = {n: number in top for n, top in tops.items()}
            rows.setdefault(_age(2020 - year), []).append(found)
            rows.setdefault(_times(times), []).append(found)
    yield f"| cited papers among the candidates | number | {' | '.join(chosen)} |"
    yield "|---|---|" + "---|" * len(chosen)
    for group in sorted(rows):
        share = [f"{np.mean([row[n] for row in rows[group]]):.3f}" for n in chosen]
        yield f"| {group[2:]} | {len(rows[group]):,} | {' | '.join(share)} |"


def _docs(example: Example, chosen: np.ndarray) -> list[int]:
    order = np.argsort(-(example.features.signals @ chosen), kind="stable")[:10]
    return example.features.docs[order].tolist()


def _age(years: int) -> str:
    named = ((3, "1 of the last 3 years"), (10, "2 4 to 10 years old"), (2000, "3 older"))
    return next(name for most, name in named if years <= most)


def _times(times: int) -> str:
    named = ((0, "4 cited by no paper we know"), (3, "5 by 1 to 3"), (10, "6 by 4 to 10"))
    return next((name for most, name in named if times <= most), "7 by more than 10")


def _sets(examples: TrainingQueries) -> Sets:
    runner = examples.runner
    sets = {name: judged(runner, name) for name in SETS} | {"origins": origins(runner)}
    contexts = [Judged(str(at), each) for at, each in enumerate(examples.examples("test"))]
    return sets | {"contexts": contexts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("--questions", type=int, default=1500)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    collection = open_collection(given.collection)
    index = open_index(collection, verified=True)
    settings = RankerSettings(questions=given.questions)
    asked = {
        has_encoder: TrainingQueries(collection, index, encoder, settings, lambda _: None)
        for has_encoder, encoder in ((False, "no"), (True, "yes"))
    }
    sets = {has_encoder: _sets(each) for has_encoder, each in asked.items()}
    of_papers = {has: [query for name in SETS for query in sets[has][name]] for has in sets}
    runner = asked[True].runner
    tables = [level_table(sets), significance(runner, sets), ablation(sets[True])]
    tables += [groups_table(runner, of_papers), choice(of_papers[True])]
    texts = ["\n".join(table) for table in tables]
    print("\n\n".join(texts))
    if given.write:
        _write(texts)


def _write(texts: Sequence[str]) -> None:
    page = PAGE.read_text()
    for number, text in enumerate(texts, 1):
        start, end = f"<!-- table {number} -->\n", f"<!-- end {number} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE} has no place for table {number}")
        page = f"{before}{start}{text}\n{end}{after}"
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
