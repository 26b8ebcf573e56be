"""Coverage and width of scores from 100 human judgements and a machine's judgements.

Four collections with complete judgements: ACM-CR (paragraphs), Cranfield, CACM, and citing
sentences of eLife papers of 2022. The pool of a query are the first ten documents of four models
and all relevant ones. A simulated machine judges the pool with known errors; simulated people judge
at most 100 documents, by a plan. Each simulation computes the interval of the score that complete
human judgements give, and counts whether it contains that score.

Run: python bench/machine_judges.py [WORK] [--acm-cr FOLDER] [--simulations 1000] [--write].
Collections that the folder WORK does not have are imported into it (a temporary one by default);
ACM-CR is taken from an imported and indexed collection. ``--write`` puts the tables into
docs/machine-judges.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import citebed
from citebed.collection import Collection, open_collection
from citebed.evaluation.judgements.agreement import cohens_kappa
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Resampling
from citebed.evaluation.scoring.judge_quality import assess_judge
from citebed.evaluation.scoring.judgement_plan import (
    PlanOptions,
    allocate_probabilities,
    draw_queries,
    measure_influence,
)
from citebed.evaluation.scoring.machine import Pool, make_pool, ranges
from citebed.evaluation.statistics.prediction_powered import Sample, powered_mean
from citebed.report.tables import text_table
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.runs.ranking import in_rank_order
from citebed.runs.tables import Floats, Ints, Qrels, Run
from common import shared_data, write_between
from fields import rows
from models import imported

MODELS = ("bm25", "kl(mu=1000)", "cosine(tf=log)", "bm25+rm3")
POOL, DEPTH, YEAR, PAPERS = 10, 20, 2022, 60
SHARED, TRIALS = 400, 50
"""Judgements by people and the machine, to find a judge that is tuned to a system."""
PER_JUDGE = 20
"""Simulations that share the machine's judgements; then it judges anew."""
PAIR = ["query_id", "doc_id"]


class Errors(NamedTuple):
    """How often a machine rejects what people find relevant, and accepts what they do not."""

    misses: float
    accepts: float
    accepts_own: float | None = None
    own_depth: int = 5


JUDGES = {
    "careful": Errors(0.1, 0.03),
    "lax": Errors(0.05, 0.15),
    "own system": Errors(0.05, 0.15, 0.5),
    "random": Errors(0.7, 0.3),
    "adversarial": Errors(0.8, 0.6),
}
"""The judge with an ``own system`` accepts half of what the first run ranks in its first five."""
TUNED = {"tuned to a system": Errors(0.05, 0.15, 0.8, 10), "honest": Errors(0.05, 0.15)}


@dataclass(frozen=True)
class Judged:
    """A collection's pool with its complete judgements, and its runs."""

    name: str
    truth: pl.DataFrame
    runs: list[Run]


def searched(name: str, collection: Collection, queries: pl.DataFrame, qrels: Qrels) -> Judged:
    """Run the models and make the pool of the queries with a relevant document."""
    index, runs = open_index(collection.folder), []
    relevant = qrels.table.filter(pl.col("relevance") > 0)
    queries = queries.join(relevant.select("query_id"), on="query_id", how="semi")
    for model in MODELS:
        options = RunOptions(as_is=True, depth=DEPTH, threads=1)
        run = run_queries(collection, index, queries, parse_pipeline(model), options)
        runs.append(replace(run, name=model))
    tops = [in_rank_order(run).filter(pl.col("rank") <= POOL).select(PAIR) for run in runs]
    pool = pl.concat([relevant.select(PAIR), *tops]).unique().sort(PAIR)
    grades = relevant.select(*PAIR, "relevance")
    return Judged(name, pool.join(grades, on=PAIR, how="left").fill_null(0).sort(PAIR), runs)


def judged_collections(work: Path, acm_cr: Path | None) -> Iterator[Judged]:
    """Yield the four collections with their runs."""
    if acm_cr is not None:
        collection = open_collection(acm_cr)
        queries, qrels = collection.queries("paragraphs"), collection.qrels("paragraphs")
        yield searched("ACM-CR", collection, queries, qrels)
    for name in ("cranfield", "cacm"):
        known = (work / name / "citebed.toml").exists()
        collection = open_collection(work / name) if known else imported(name, work / name)
        (asked,) = collection.query_sets
        queries, qrels = collection.queries(asked), collection.qrels(asked)
        yield searched({"cranfield": "Cranfield", "cacm": "CACM"}[name], collection, queries, qrels)
    yield searched("eLife", *citing_sentences(work / "elife"))


def citing_sentences(folder: Path) -> tuple[Collection, pl.DataFrame, Qrels]:
    """The papers of eLife, and the sentences of some that cite others."""
    data = shared_data("elife")
    if not (folder / "citebed.toml").exists():
        citebed.import_sources(folder, [data / "documents.jsonl.xz"])
        write_index(folder)
    papers: dict[str, list[dict[str, object]]] = {}
    for row in rows(data / "contexts.jsonl.xz"):
        if row["year"] == YEAR:
            papers.setdefault(row["citing"], []).append(row)
    asked = [row for paper in sorted(papers)[:PAPERS] for row in papers[paper]]
    texts = [(row["id"], str(row["text"]).replace("[CIT]", "")) for row in asked]
    cited = [(row["id"], doc, 1) for row in asked for doc in sorted(set(row["cited"]))]  # type: ignore[call-overload]
    return (
        open_collection(folder),
        pl.DataFrame(texts, ["query_id", "text"], orient="row"),
        Qrels(pl.DataFrame(cited, ["query_id", "doc_id", "relevance"], orient="row")),
    )


def judge(judged: Judged, errors: Errors, rng: np.random.Generator) -> pl.DataFrame:
    """Judge the pool with errors at random."""
    truth = judged.truth["relevance"].to_numpy()
    accepts = np.full(len(truth), errors.accepts)
    if errors.accepts_own is not None:
        own = in_rank_order(judged.runs[0]).filter(pl.col("rank") <= errors.own_depth).select(PAIR)
        mine = judged.truth.join(own.with_columns(own=True), on=PAIR, how="left",
                                 maintain_order="left")["own"]  # fmt: skip
        accepts[mine.fill_null(False).to_numpy()] = errors.accepts_own
    chance = rng.random(len(truth))
    grades = np.where(truth > 0, truth * (chance >= errors.misses), chance < accepts)
    return judged.truth.with_columns(relevance=pl.Series(grades.astype(np.int64)))


@dataclass(frozen=True)
class Outcome:
    """What the simulations of one judge gave."""

    kappa: float
    judgements: Ints
    errors: Floats
    widths: Floats

    def cells(self) -> list[str]:
        """Coverage, half widths and their ratio, for the corrected score and for people alone."""
        covered = (np.abs(self.errors) <= self.widths).mean(axis=0)
        both, alone = np.median(self.widths, axis=0)
        return [
            f"{self.kappa:.2f}", f"{self.judgements.max()}", f"{covered[0]:.1%}", f"{both:.3f}",
            f"{covered[1]:.1%}", f"{alone:.3f}", f"{both / alone:.2f}",
        ]  # fmt: skip


def kappa(judged: Judged, machine: pl.DataFrame) -> float:
    """Agreement on what is relevant."""
    both = [
        table.select(
            item=pl.concat_str(PAIR, separator=" "), judge=pl.lit(who),
            value=(pl.col("relevance") > 0).cast(pl.Int64),
        )
        for who, table in (("people", judged.truth), ("machine", machine))
    ]  # fmt: skip
    return cohens_kappa(pl.concat(both)).value or 0.0


def simulate(
    judged: Judged, errors: Errors, measure: str, simulations: int, *, against: int | None = None
) -> Outcome:
    """Estimate the first run's score, or its difference from another run, many times."""
    wanted, options = parse_measures([measure]), PlanOptions()
    runs = [judged.runs[0], *([] if against is None else [judged.runs[against]])]
    results, agreement = list[tuple[int, Floats, Floats]](), list[float]()
    for number in range(-(-simulations // PER_JUDGE)):
        rng = np.random.default_rng(number)
        machine = judge(judged, errors, rng)
        if number < 5:
            agreement.append(kappa(judged, machine))
        pool = make_pool(judged.truth, machine)
        influence = measure_influence(pool, runs, wanted, TREC_EVAL)
        pool = replace(pool, probability=allocate_probabilities(pool, influence, options))
        matched = [pool.match(run, TREC_EVAL) for run in runs]
        queries = np.arange(len(pool.drawn))

        known, people = (
            combine([pool.score(each, wanted, queries, grades)[0] for each in matched])
            for grades in (pool.machine, pool.human)
        )
        truth = float(people.mean())
        for seed in range(PER_JUDGE):
            chosen, cut = draw_queries(
                pool, pool.probability, queries, replace(options, seed=1000 * number + seed)
            )
            planned = plan(pool, chosen, cut)
            estimates = [
                combine([planned.estimates(each, wanted, chosen, base)[0] for each in matched])
                for base in (np.full(len(pool.machine), -1), pool.machine)
            ]
            machine_scores = estimates[0] - estimates[1] + known[chosen]
            sample = Sample(queries=len(queries), drawn=chosen, whole=False)
            means = [
                powered_mean(estimates[0], machine_scores, known, sample, weight=weight)
                for weight in (None, 0.0)
            ]
            off = np.array([each.value - truth for each in means])
            half = np.array([(each.high - each.low) / 2 for each in means])
            results.append((int(planned.used.sum()), off, half))
    costs, off_all, half_all = zip(*results[:simulations], strict=True)
    return Outcome(
        float(np.mean(agreement)), np.array(costs), np.stack(off_all), np.stack(half_all)
    )


def combine(scores: Sequence[Floats]) -> Floats:
    """Return the scores of a run, or their differences from those of a second run."""
    return scores[0] if len(scores) == 1 else scores[0] - scores[1]


def plan(pool: Pool, chosen: Ints, cut: Floats) -> Pool:
    """Return the pool with the judgements of the drawn documents."""
    rows, of = ranges(pool.starts[chosen], pool.starts[chosen + 1])
    used = np.zeros(len(pool.machine), bool)
    used[rows[pool.probability[rows] >= cut[of]]] = True
    return replace(pool, used=used)


def flagged(judged: Judged, errors: Errors, trials: int) -> str:
    """How often a judge is called tuned to a system, from judgements of 400 documents."""
    number = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        machine = judge(judged, errors, rng)
        some = np.sort(rng.choice(machine.height, SHARED, replace=False))
        quality = assess_judge(
            judged.truth[some], machine[some], judged.runs, resampling=Resampling(samples=1000)
        )
        number += any(bias.is_flagged for bias in quality.biases)
    return f"{number} of {trials}"


def flag_table(all_judged: Sequence[Judged]) -> str:
    """Make the table of judges that are called tuned."""
    lines = [
        [judged.name, *(flagged(judged, errors, TRIALS) for errors in TUNED.values())]
        for judged in all_judged
    ]
    return text_table(["collection", *TUNED], lines, range(1)).written("markdown")


HEAD = [
    "collection", "judge", "kappa", "most judgements", "covers", "half width", "people cover",
    "people's half width", "ratio",
]  # fmt: skip


def table(
    all_judged: Sequence[Judged], judges: Sequence[str], cell: Callable[[Judged, str], Outcome],
    head: str = "judge",
) -> str:  # fmt: skip
    """Simulate and make a table."""
    lines = []
    for judged in all_judged:
        for name in judges:
            lines.append([judged.name, name, *cell(judged, name).cells()])
            print(*lines[-1], sep="  ", flush=True)
    return text_table([HEAD[0], head, *HEAD[2:]], lines, range(2)).written("markdown")


def main() -> None:
    """Make the tables, and put them into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path)
    parser.add_argument("--acm-cr", type=Path, help="folder of the imported collection")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        collections = list(judged_collections(work, arguments.acm_cr))
    number, fewer = arguments.simulations, max(arguments.simulations // 5, PER_JUDGE)
    first = table(
        collections, list(JUDGES), lambda j, who: simulate(j, JUDGES[who], "nDCG@10", number)
    )
    careful = JUDGES["careful"]
    second = table(
        collections, ["AP", "R@10", "P@10"], lambda j, m: simulate(j, careful, m, fewer), "measure"
    )
    third = table(
        collections, ["careful", "own system"],
        lambda j, who: simulate(j, JUDGES[who], "nDCG@10", fewer, against=1),
    )  # fmt: skip
    fourth = flag_table(collections)
    print(fourth)
    if arguments.write:
        tables = {"scores": first, "measures": second, "differences": third, "flagged": fourth}
        for name, text in tables.items():
            write_between("machine-judges.md", f"table: {name}", text)


if __name__ == "__main__":
    main()
