"""Coverage and width of scores from 100 human judgements and a machine's judgements.

Four collections with complete judgements: ACM-CR (paragraphs), Cranfield, CACM, and citing
sentences of eLife papers of 2022. The pool of a query are the first ten documents of four models
and all relevant ones. A machine judges the pool: with random errors, or as a real system or person
does (for this, also documents that two assessors of KBA 2012 judged). Simulated people judge at
most 100 documents, by a plan. Each simulation computes the interval of the score that complete
human judgements give, and counts whether it contains that score.

Run: python bench/machine_judges.py [WORK] [--acm-cr FOLDER] [--simulations 1000] [--seed 10000]
[--tables scores,real] [--write]. Collections that the folder WORK does not have are imported into
it (a temporary one by default); ACM-CR is taken from an imported and indexed collection.
``--write`` puts the tables into docs/machine-judges.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import citebed
from citebed.collection import Collection, open_collection
from citebed.evaluation.judgements.agreement import cohens_kappa
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Resampling
from citebed.evaluation.scoring.judge_quality import DEPTH as BIAS_DEPTH
from citebed.evaluation.scoring.judge_quality import find_biases
from citebed.evaluation.scoring.judgement_plan import (
    PlanOptions,
    draw_documents,
    measure_influence,
    rank_judgements_to_make,
)
from citebed.evaluation.scoring.machine import (
    MachineOptions,
    evaluate_with_machine,
    make_pool,
)
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
SHARED, TRIALS, HONEST = (100, 200, 400), 100, 1000
"""Judgements by people and the machine, to find a tuned judge; trials with it and an honest one."""
PER_JUDGE = 40
"""Simulations that share the machine's judgements; then it judges anew."""
PAIR = ["query_id", "doc_id"]


class Errors(NamedTuple):
    """How often a machine rejects what people find relevant, and accepts what they do not.

    It accepts ``favoured`` of the irrelevant documents with a property: those that the first run
    ranks in its first ``own_depth``, or the third of the pool with the highest value of ``likes``.
    """

    misses: float
    accepts: float
    favoured: float | None = None
    own_depth: int = 5
    likes: str | None = None


JUDGES = {
    "careful": Errors(0.1, 0.03),
    "lax": Errors(0.05, 0.15),
    "own system": Errors(0.05, 0.15, 0.5),
    "random": Errors(0.7, 0.3),
    "adversarial": Errors(0.8, 0.6),
}
"""The judge with an ``own system`` accepts half of what the first run ranks in its first five."""
HONEST_JUDGE = Errors(0.05, 0.15)
TUNED = {
    "system bm25": Errors(0.05, 0.15, 0.8, 10),
    "first three": Errors(0.05, 0.15, 0.8, 3),
    "length": Errors(0.05, 0.1, 0.4, likes="length"),
    "query words": Errors(0.05, 0.1, 0.4, likes="query words"),
}
"""Judges that favour ``bm25`` or its first three documents, long documents, or shared words."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A collection's pool with its complete judgements, its runs, and properties of documents."""

    name: str
    truth: pl.DataFrame
    runs: list[Run]
    properties: pl.DataFrame | None = None


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
    truth = pool.join(grades, on=PAIR, how="left").fill_null(0).sort(PAIR)
    text = pl.concat_str("title", "abstract", separator=" ", ignore_nulls=True)
    words = text.str.to_lowercase().str.extract_all(r"[a-z]{4,}")
    documents = collection.documents.select("doc_id", words=words)
    texts = queries.select("query_id", asked=pl.col("text").str.to_lowercase()
                           .str.extract_all(r"[a-z]{4,}"))  # fmt: skip
    both = truth.join(documents, on="doc_id", how="left").join(texts, on="query_id", how="left")
    properties = both.select(
        *PAIR,
        pl.col("words").list.len().alias("length"),
        pl.col("words").list.set_intersection("asked").list.len().alias("query words"),
    )
    return Judged(name, truth, runs, properties.unique(PAIR, maintain_order=True))


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


def top(run: Run, depth: int) -> pl.DataFrame:
    """The first documents of a run."""
    return in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR)


def judge(judged: Judged, errors: Errors, rng: np.random.Generator) -> pl.DataFrame:
    """Judge the pool with errors at random."""
    truth = judged.truth["relevance"].to_numpy()
    accepts = np.full(len(truth), errors.accepts)
    if errors.favoured is not None:
        if errors.likes is None:
            own = top(judged.runs[0], errors.own_depth)
        else:
            assert judged.properties is not None
            liked = pl.col(errors.likes)
            own = judged.properties.filter(liked > liked.quantile(2 / 3)).select(PAIR)
        mine = judged.truth.join(own.with_columns(own=True), on=PAIR, how="left",
                                 maintain_order="left")["own"]  # fmt: skip
        accepts[mine.fill_null(False).to_numpy()] = errors.favoured
    chance = rng.random(len(truth))
    grades = np.where(truth > 0, truth * (chance >= errors.misses), chance < accepts)
    return judged.truth.with_columns(relevance=pl.Series(grades.astype(np.int64)))


def first_three(judged: Judged) -> pl.DataFrame:
    """A second system as a judge: it accepts its first three documents."""
    return accepted(judged, top(judged.runs[1], 3))


def vote(judged: Judged) -> pl.DataFrame:
    """All systems as a judge: it accepts what three of the four rank in their first five."""
    tops = pl.concat([top(run, 5) for run in judged.runs])
    return accepted(judged, tops.group_by(PAIR).len().filter(pl.col("len") >= 3).select(PAIR))


def strict(judged: Judged) -> pl.DataFrame:
    """Cranfield's assessors as a judge who accepts only the higher grades."""
    return judged.truth.with_columns(
        pl.when(pl.col("relevance") > 2).then("relevance").otherwise(0).alias("relevance")
    )


def accepted(judged: Judged, pairs: pl.DataFrame) -> pl.DataFrame:
    """The pool with these documents as the relevant ones."""
    table = judged.truth.select(PAIR).join(pairs.with_columns(relevance=pl.lit(1, pl.Int64)),
                                           on=PAIR, how="left", maintain_order="left")  # fmt: skip
    return table.with_columns(pl.col("relevance").fill_null(0))


def two_assessors() -> tuple[Judged, pl.DataFrame]:
    """Documents of KBA 2012 that two assessors judged: central or not; runs by time and by id.

    The first assessor stands for people, and the second one for the machine.
    """
    names = ["query_id", "doc_id", "confidence", "rating", "mention"]
    table = pl.read_csv(
        shared_data("kba-2012") / "training-qrels.txt", separator=" ", has_header=False,
        new_columns=names,
    )  # fmt: skip
    twice = table.group_by(PAIR, maintain_order=True).agg("rating").filter(
        pl.col("rating").list.len() > 1
    ).sort(PAIR)  # fmt: skip
    people, second = (
        twice.select(*PAIR, relevance=(pl.col("rating").list.get(at) > 1).cast(pl.Int64))
        for at in (0, 1)
    )
    time = pl.col("doc_id").str.split("-").list.get(0).cast(pl.Float64)
    name = pl.col("doc_id").str.slice(11, 8).str.to_integer(base=16).cast(pl.Float64)
    runs = [Run(twice.select(*PAIR, score=by), label)
            for by, label in ((time, "newest"), (name, "id"))]  # fmt: skip
    return Judged("KBA 2012", people, runs), second


@dataclass(frozen=True)
class Outcome:
    """What the simulations of one judge gave: corrected, from people alone, without a machine."""

    kappa: float
    judgements: Ints
    errors: Floats
    widths: Floats

    def cells(self) -> list[str]:
        """Coverage and half widths, and ratios of the half widths."""
        covered = (np.abs(self.errors) <= self.widths + 1e-12).mean(axis=0)
        halves = np.median(self.widths, axis=0)
        rest = [
            cell
            for share, half in zip(covered[1:], halves[1:], strict=True)
            for cell in (f"{share:.1%}", f"{half:.3f}", f"{halves[0] / half:.2f}")
        ]
        return [
            f"{self.kappa:.2f}", f"{self.judgements.max()}", f"{covered[0]:.1%}",
            f"{halves[0]:.3f}", *rest,
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


class Simulated:
    """A machine's judgements, with all that does not depend on the draw of a plan."""

    def __init__(
        self, judged: Judged, machine: pl.DataFrame, measure: Measure, against: int | None
    ) -> None:
        self.runs = [judged.runs[0], *([] if against is None else [judged.runs[against]])]
        self.judged, self.machine, self.measure = judged, machine, measure
        self.pool = pool = make_pool(judged.truth, machine)
        self.influence = measure_influence(pool, self.runs, [measure], TREC_EVAL)
        self.influence *= np.sqrt(pool.doubt)
        self.queries, rows = np.arange(len(pool.drawn)), np.arange(len(pool.machine))
        matched = [pool.match(run, TREC_EVAL) for run in self.runs]
        self.known, people = (
            combine([pool.score(each, [measure], self.queries, grades)[0] for each in matched])
            for grades in (pool.machine, pool.human)
        )
        self.truth = float(people.mean())
        self.flips = combine([pool.flips(each, measure, rows) for each in matched])
        # Every document is judged, in the order of the plan.
        order = np.lexsort((-self.influence, pool.rows.query))
        rank = np.empty(len(order))
        rank[order] = np.arange(len(order)) - pool.starts[pool.rows.query[order]]
        every = replace(pool, used=pool.machine >= 0, probability=1.0 / (1.0 + rank))
        self.begins, self.changes = list[Floats](), list[Floats]()
        for base in (np.full(len(rank), -1), pool.machine):
            steps = [every.steps(each, [measure], self.queries, base) for each in matched]
            number, changed = steps[0][0], combine([step[2][0] for step in steps])
            is_first = np.diff(number, prepend=-1) > 0
            self.begins.append(changed[is_first])
            self.changes.append(np.empty(len(rank)))
            self.changes[-1][order] = changed[~is_first]

    def draw(self, seed: int, *weights: float | None) -> tuple[int, list[float], list[float]]:
        """Plan and estimate: the number of judgements, errors and half widths by weight."""
        options = PlanOptions(seed=seed)
        rows, probability = draw_documents(self.pool, self.influence, self.queries, options)
        drawn, of = np.unique(self.pool.rows.query[rows], return_inverse=True)
        human, machine = (
            begin[drawn] + np.bincount(of, change[rows] / probability)
            for begin, change in zip(self.begins, self.changes, strict=True)
        )
        used = np.zeros(len(self.influence))
        used[rows] = probability
        size = replace(self.pool, probability=used).error_size(self.flips[rows], rows)
        sample = Sample(queries=len(self.queries), drawn=drawn, whole=False)
        means = [
            powered_mean(
                human, human - machine + self.known[drawn], self.known, sample,
                weight=weight, error=size,
            )
            for weight in weights
        ]  # fmt: skip
        return (
            len(rows),
            [mean.value - self.truth for mean in means],
            [(mean.high - mean.low) / 2 for mean in means],
        )

    def check(self, seed: int) -> None:
        """Compare one draw with what a user of citebed gets."""
        options = PlanOptions(seed=seed)
        plan = rank_judgements_to_make(self.machine, self.runs, [self.measure], options)
        human = self.judged.truth.join(plan.table, on=PAIR, how="semi")
        base = self.runs[0].name if len(self.runs) > 1 else None
        row = evaluate_with_machine(
            human, self.machine, self.runs[::-1], [self.measure],
            MachineOptions(plan=plan, baseline=base),
        ).rows[-1]  # fmt: skip
        _, (off,), _ = self.draw(seed, None)
        # citebed subtracts the baseline, and cuts scores to the possible range.
        found = (row.value if base is None else -row.value) - self.truth
        if row.low > 0 and row.high < 1 and not np.isclose(found, off):
            raise AssertionError(f"citebed's corrected score is off by {found}, not {off}")


@cache
def without_machine(
    judged: Judged, measure: str, against: int | None, simulations: int, seed: int
) -> list[tuple[list[float], list[float]]]:
    """Errors and half widths of people who judge by a plan that was made without a machine."""
    nobody = judged.truth.with_columns(relevance=pl.lit(0, pl.Int64))
    simulated = Simulated(judged, nobody, *parse_measures([measure]), against)
    return [simulated.draw(seed + draw, 0.0)[1:] for draw in range(simulations)]


def simulate(
    judged: Judged, errors: Errors | pl.DataFrame, measure: str, simulations: int, seed: int,
    *, against: int | None = None,
) -> Outcome:  # fmt: skip
    """Estimate the first run's score, or its difference from another run, many times."""
    (wanted,) = parse_measures([measure])
    without = without_machine(judged, measure, against, simulations, seed)
    results, agreement = list[tuple[int, list[float], list[float]]](), list[float]()
    per_judge = PER_JUDGE if isinstance(errors, Errors) else simulations
    for number in range(-(-simulations // per_judge)):
        rng = np.random.default_rng(seed + number)
        machine = judge(judged, errors, rng) if isinstance(errors, Errors) else errors
        if number < 5:
            agreement.append(kappa(judged, machine))
        simulated = Simulated(judged, machine, wanted, against)
        if not number:
            simulated.check(seed)
        results += [
            simulated.draw(1000 * (seed + number) + draw, None, 0.0) for draw in range(per_judge)
        ]
    results = results[:simulations]
    return Outcome(
        float(np.mean(agreement)),
        np.array([used for used, _, _ in results]),
        np.array([a[1] + b[0] for a, b in zip(results, without, strict=True)]),
        np.array([a[2] + b[1] for a, b in zip(results, without, strict=True)]),
    )


def combine(scores: Sequence[Floats]) -> Floats:
    """Return the scores of a run, or their differences from those of a second run."""
    return scores[0] if len(scores) == 1 else scores[0] - scores[1]


def flagged(judged: Judged, errors: Errors, name: str, shared: int, trials: int, seed: int) -> str:
    """How often a judge is flagged; for an honest judge, because of any property."""
    number, runs = 0, [Run(run.table.join(top(run, BIAS_DEPTH), on=PAIR, how="semi"), run.name)
                       for run in judged.runs]  # fmt: skip
    for trial in range(seed, seed + trials):
        rng = np.random.default_rng(trial)
        machine = judge(judged, errors, rng)
        some = np.sort(rng.choice(machine.height, shared, replace=False))
        both = judged.truth[some].rename({"relevance": "human"}).with_columns(
            machine=machine["relevance"][some]
        )  # fmt: skip
        units = both["query_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
        biases = find_biases(both, units, runs, judged.properties, Resampling(samples=1000))
        wanted = {"first three": "system bm25"}.get(name, name)
        number += any(b.is_flagged for b in biases if wanted in ("honest", b.name))
    return f"{number / trials:.1%}" if trials >= 1000 else f"{number} of {trials}"


def flag_table(all_judged: Sequence[Judged], seed: int) -> str:
    """Make the table of judges that are called tuned."""
    lines = []
    for judged in all_judged:
        for shared in SHARED:
            cells = [
                *(flagged(judged, errors, name, shared, TRIALS, seed)
                  for name, errors in TUNED.items()),
                flagged(judged, HONEST_JUDGE, "honest", shared, HONEST, seed),
            ]  # fmt: skip
            lines.append([judged.name, f"{shared}", *cells])
            print(*lines[-1], sep="  ", flush=True)
    head = ["collection", "judgements", *TUNED, "honest"]
    return text_table(head, lines, range(1)).written("markdown")


HEAD = [
    "collection", "judge", "kappa", "most judgements", "covers", "half width", "people cover",
    "people's half width", "ratio", "no machine covers", "its half width", "its ratio",
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
    parser.add_argument("--seed", type=int, default=10_000, help="first seed; 0 was used to tune")
    parser.add_argument("--tables", default="scores,measures,differences,real,flagged")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        collections = list(judged_collections(work, arguments.acm_cr))
    number, seed = arguments.simulations, arguments.seed

    def scored(judged: Judged, who: str) -> Outcome:
        return simulate(judged, JUDGES[who], "nDCG@10", number, seed)

    def differ(judged: Judged, who: str) -> Outcome:
        return simulate(judged, JUDGES[who], "nDCG@10", number, seed, against=1)

    def measured(judged: Judged, measure: str) -> Outcome:
        return simulate(judged, JUDGES["careful"], measure, number, seed)

    def real() -> str:
        judges = {"another system": first_three, "vote of systems": vote, "strict person": strict}
        cases = [
            (judged, who, make(judged))
            for judged in collections
            for who, make in judges.items()
            if make is not strict or judged.name == "Cranfield"
        ]
        first, second = two_assessors()
        cases.append((first, "second person", second))
        lines = []
        for judged, who, machine in cases:
            for measure in ("nDCG@10", "P@10"):
                cells = simulate(judged, machine, measure, number, seed).cells()
                lines.append([judged.name, who, measure, *cells])
                print(*lines[-1], sep="  ", flush=True)
        return text_table([*HEAD[:2], "measure", *HEAD[2:]], lines, range(3)).written("markdown")

    makers: dict[str, Callable[[], str]] = {
        "scores": lambda: table(collections, list(JUDGES), scored),
        "measures": lambda: table(collections, ["AP", "R@10", "P@10"], measured, "measure"),
        "differences": lambda: table(collections, ["careful", "own system"], differ),
        "real": real,
        "flagged": lambda: flag_table(collections, seed),
    }
    for name in arguments.tables.split(","):
        text = makers[name]()
        print(text, flush=True)
        if arguments.write:
            write_between("machine-judges.md", f"table: {name}", text)


if __name__ == "__main__":
    main()
