"""Cranfield's judgements split by source, as cited and non-cited papers: docs/contrast.md.

Cranfield was judged in two phases as in Ritchie, Robertson & Teufel (2007): authors judged the
papers they cite, then papers that others found; but its files do not say which is which. So
the phases are simulated, in ways that differ in who cites what, and the same runs are scored
under J1 (the first phase) and J1+2 (both).

Run: python bench/contrast.py [--write]. The option puts tables and figures into docs/.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

from citebed.collection import Collection
from citebed.evaluation.contrasts.contrast import Contrast, contrast
from citebed.evaluation.options import CONTRASTED
from citebed.evaluation.scoring.evaluation import evaluate
from citebed.report.contrast_page import draw_contrast
from citebed.report.contrast_tables import (
    AGREEMENTS,
    DIGESTS,
    SETS,
    changes_table,
    fates_table,
)
from citebed.report.tables import Table, build_table, text_table
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.runs.tables import Qrels, Run
from common import REPOSITORY
from models import imported

SEED = 2007
SEEDS = 20
DEPTH = 100
"""As in the study, 100 documents a query."""
CITED = 4.82 / 11.39
"""The share of the relevant documents that the study's first phase had."""
REFUSED = 3.38 / 4.82
"""For each relevant one, the documents that its first phase judged not relevant."""
LIST = 15
"""Documents on the list of its second phase."""

PLAIN = {
    "ql": "ql(mu=2500)", "cosine": "cosine(tf=log)", "okapi": "okapi", "kl": "kl(mu=1000)",
    "bm25": "bm25",
}  # fmt: skip
POOLED = ("okapi+feedback", "kl(mu=1000)+feedback", "cosine(tf=log)")
"""The three systems of the study's own second phase."""
FED = ("okapi", "kl")
PAGE = REPOSITORY / "docs" / "contrast.md"
FIGURES = REPOSITORY / "docs" / "figures"
DRAWN = {
    "kl": "contrast-queries", "systems": "contrast-systems", "kl-j1-kl-j12": "contrast-feedback",
}  # fmt: skip
Judgements = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Cranfield:
    """The input of the splits.

    ``relevant`` holds each query's relevant documents with their grades, ``source`` the paper
    that a query was taken from, ``pooled`` the rankings of the three pooled systems.
    """

    relevant: Mapping[str, Mapping[str, int]]
    source: Mapping[str, str]
    pooled: Mapping[str, Sequence[Sequence[str]]]

    def best_rank(self, query: str, document: str) -> int:
        """The best rank of a document in the pooled systems."""
        ranks = [r.index(document) for r in self.pooled[query] if document in r]
        return min(ranks, default=DEPTH) + 1


# --- the splits -----------------------------------------------------------------------------


def by_chance(_: Cranfield, __: str, documents: list[str], draw: random.Random) -> list[str]:
    """Whether an author cites a relevant paper is chance."""
    return draw.sample(documents, len(documents))


def hard_first(data: Cranfield, query: str, documents: list[str], draw: random.Random) -> list[str]:
    """Authors know papers that searches do not find; what searches find is left to phase two."""
    order = draw.sample(documents, len(documents))
    return sorted(order, key=lambda document: -data.best_rank(query, document))


def easy_first(data: Cranfield, query: str, documents: list[str], draw: random.Random) -> list[str]:
    """Authors cite what is in their own words, so that searches find it too."""
    order = draw.sample(documents, len(documents))
    return sorted(order, key=lambda document: data.best_rank(query, document))


def grades_first(
    data: Cranfield, query: str, documents: list[str], draw: random.Random
) -> list[str]:
    """Authors cite what matters most; phase two finds papers of lower grades."""
    order = draw.sample(documents, len(documents))
    return sorted(order, key=lambda document: -data.relevant[query][document])


SPLITS = {
    "random": by_chance, "highest grades": grades_first,
    "easy to find": easy_first, "hard to find": hard_first,
}  # fmt: skip
SAME_NUMBERS, SAME_SHARES = "sample, counts of J1", "sample, ratio of J1+2"


def split(data: Cranfield, kind: str, seed: int) -> tuple[Judgements, Judgements]:
    """J1 and J1+2 of all queries."""
    draw = random.Random(seed)
    cited = {}
    for query, grades in data.relevant.items():
        order = SPLITS[kind](data, query, sorted(grades), draw)
        cited[query] = order[: max(1, round(CITED * len(order)))]
    first, both = {}, {}
    for query, known in cited.items():
        refused = _refused(data, cited, query, draw)
        first[query] = dict.fromkeys(known, 1) | dict.fromkeys(refused, 0)
        both[query] = first[query] | _second(data, query, first[query])
    return first, both


def _refused(
    data: Cranfield, cited: Mapping[str, list[str]], query: str, draw: random.Random
) -> list[str]:
    """Papers on the reference list that do not answer this question.

    An author has several questions and one list: what is cited for the others comes first,
    then what is cited in papers that share references with this one.
    """
    own = set(data.relevant[query])
    alike: Counter[str] = Counter()
    for other, known in cited.items():
        near = 1000 if data.source[other] == data.source[query] else 0
        near += len(own & data.relevant[other].keys())
        for document in known if near and other != query else ():
            alike[document] = max(alike[document], near)
    order = draw.sample(sorted(alike), len(alike))
    order.sort(key=lambda document: -alike[document])
    fit = [x for x in order if x not in own and x != data.source[query]]
    return fit[: round(REFUSED * len(cited[query]))]


def _second(data: Cranfield, query: str, known: Mapping[str, int]) -> dict[str, int]:
    """Phase two: all other relevant papers, and what the pooled systems find, in turns."""
    found = {x: 1 for x in data.relevant[query] if x not in known}
    for row in zip(*data.pooled[query], strict=False):
        for document in row:
            if len(found) >= LIST:
                return found
            if document not in known and document != data.source[query]:
                found.setdefault(document, 0)
    return found


def sampled(both: Judgements, first: Judgements, same_shares: bool, seed: int) -> Judgements:
    """A control: a plain sample of J1+2, with as many relevant documents as J1 has.

    Of the others it has as many as J1, or the same share as of the relevant ones.
    """
    draw = random.Random(seed)
    found: Judgements = {}
    for query, judged in both.items():
        relevant, others = (sorted(x for x, y in judged.items() if y == g) for g in (1, 0))
        known = sum(first[query].values())
        number = len(first[query]) - known
        if same_shares:
            number = round(len(others) * known / len(relevant))
        kept = draw.sample(relevant, known), draw.sample(others, number)
        found[query] = dict.fromkeys(kept[0], 1) | dict.fromkeys(kept[1], 0)
    return found


def mixed(first: Judgements, both: Judgements, grade: int) -> Judgements:
    """J1 with only the relevant, or only the other, documents of phase two."""
    return {
        query: {x: y for x, y in judged.items() if x in first[query] or y == grade}
        for query, judged in both.items()
    }


# --- data and runs --------------------------------------------------------------------------


def searched(collection: Collection, model: str) -> pl.DataFrame:
    """The run of a model, 100 documents a query."""
    (name,) = collection.query_sets
    options = RunOptions(depth=DEPTH, as_is=True)
    index = open_index(collection.folder)
    return run_queries(
        collection, index, collection.queries(name), parse_pipeline(model), options
    ).table


def read_cranfield(collection: Collection) -> Cranfield:
    """Judgements in which code -1 marks the source paper of each query."""
    (name,) = collection.query_sets
    relevant: dict[str, dict[str, int]] = {}
    source = {}
    for query, document, grade in collection.qrels(name).table.iter_rows():
        if grade:
            relevant.setdefault(query, {})[document] = grade
        else:
            source[query] = document
    rankings = [_rankings(searched(collection, model)) for model in POOLED]
    pooled = {query: [ranking.get(query, []) for ranking in rankings] for query in relevant}
    return Cranfield(relevant, source, pooled)


def _rankings(table: pl.DataFrame) -> dict[str, list[str]]:
    rows = table.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(rows.iter_rows())


def plain_runs(collection: Collection, source: Mapping[str, str]) -> list[Run]:
    """One run per model, without the paper that a query comes from."""
    return [_run(searched(collection, model), name, source) for name, model in PLAIN.items()]


def fed_runs(
    collection: Collection, source: Mapping[str, str], judged: Mapping[str, Judgements]
) -> Iterator[Run]:
    """Runs with feedback from the judgements themselves, as in the study's Table 5."""
    for model in FED:
        for name, judgements in judged.items():
            path = collection.folder / f"{name}.qrels"
            lines = (
                f"{query} 0 {document} {grade}\n"
                for query, rows in judgements.items()
                for document, grade in rows.items()
            )
            path.write_text("".join(lines), "utf-8")
            table = searched(collection, f"{PLAIN[model]}+feedback(from={path},terms=20)")
            yield _run(table, f"{model}-{name}", source)


def _run(table: pl.DataFrame, name: str, source: Mapping[str, str]) -> Run:
    own = pl.DataFrame({"query_id": list(source), "doc_id": list(source.values())})
    columns = table.select("query_id", "doc_id", "score")
    return Run(columns.join(own, on=["query_id", "doc_id"], how="anti"), name)


def qrels(judgements: Judgements, name: str) -> Qrels:
    """Judgements as a table."""
    rows = [(q, d, g) for q, judged in judgements.items() for d, g in judged.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    return Qrels(pl.DataFrame(rows, schema=schema, orient="row"), name)


# --- tables ---------------------------------------------------------------------------------


def _means(judgements: Judgements, runs: Iterable[Run]) -> list[float]:
    """Each measure's summary, averaged over the runs."""
    found = evaluate(qrels(judgements, "x"), list(runs), CONTRASTED).summary()
    means = found.group_by("measure", maintain_order=True).agg(pl.col("value").mean())
    return means["value"].to_list()


def causes(first: Judgements, both: Judgements, runs: Sequence[Run]) -> Table:
    """The effect of phase two's relevant documents alone, and of its other documents alone."""
    sets = {
        "J1": first,
        "J1 + relevant documents of phase two": mixed(first, both, 1),
        "J1 + other documents of phase two": mixed(first, both, 0),
        "J1+2": both,
    }
    rows = [
        [name, *(f"{value:.4f}" for value in _means(judged, runs))] for name, judged in sets.items()
    ]
    return text_table(["judgements", *CONTRASTED], rows)


def moves(found: Contrast, run: str) -> Table:
    """For one run: how many queries rose and fell, and those from the ends of the scale."""
    head = ["", "rose", "same", "fell", "fell from 1", "of these, one relevant in J1",
            "rose from 0"]  # fmt: skip
    rows = []
    for measure in map(str, found.by_query):
        change = found.change(run, measure)
        own = found.parts["movers"].filter(run=run, measure=measure).to_dicts()
        best = [x for x in own if x["move"] == "from best"]
        numbers = [
            change["rose"], change["same"], change["fell"], len(best),
            sum(x["before_relevant"] == 1 for x in best), sum(x["move"] == "from 0" for x in own),
        ]  # fmt: skip
        rows.append([measure, *map(str, numbers)])
    return text_table(head, rows)


def ranks(data: Cranfield, first: Judgements, both: Judgements) -> Table:
    """The ranks at which the pooled systems have the judged documents of both phases."""
    rows = []
    for grade, what in ((1, "relevant"), (0, "not relevant")):
        for phase in (1, 2):
            best = [
                data.best_rank(query, document)
                for query, judged in both.items()
                for document, known in judged.items()
                if known == grade and (document in first[query]) == (phase == 1)
            ]
            missed = sum(rank > DEPTH for rank in best) / len(best)
            rows.append(
                [f"phase {phase}, {what}", str(len(best)), f"{median(best):.0f}", f"{missed:.0%}"]
            )
    return text_table(["documents", "number", "median best rank", "not in the top 100"], rows)


def splits_table(data: Cranfield, runs: Sequence[Run]) -> Table:
    """Every split: the means over the runs, with how many of the seeds agree in direction."""
    rows = []
    for kind in (*SPLITS, SAME_NUMBERS, SAME_SHARES):
        sides = [_sides(data, kind, SEED + number) for number in range(SEEDS)]
        means = [(_means(x, runs), _means(y, runs)) for x, y in sides]
        cells = []
        for at in range(len(CONTRASTED)):
            before = sum(x[at] for x, _ in means) / SEEDS
            after = sum(y[at] for _, y in means) / SEEDS
            rose = sum(y[at] > x[at] for x, y in means)
            cells.append(f"{before:.3f} → {after:.3f} {_word(rose)}")
        rows.append([kind, *cells])
    return text_table(["cited papers", *CONTRASTED], rows)


def _word(rose: int) -> str:
    return "rises" if rose == SEEDS else "falls" if rose == 0 else f"rises in {rose}/{SEEDS}"


def _sides(data: Cranfield, kind: str, seed: int) -> tuple[Judgements, Judgements]:
    if kind in SPLITS:
        return split(data, kind, seed)
    first, both = split(data, "random", seed)
    return sampled(both, first, kind == SAME_SHARES, seed), both


def tables(
    data: Cranfield, sides: tuple[Judgements, Judgements], found: Contrast, runs: Sequence[Run]
) -> dict[str, str]:
    """The page's tables by the names of their marks."""
    systems = [x for x in found.rows("correlations") if x["of"] == "systems" or x["run"] == "kl"]
    return {
        "sets": build_table(SETS, found.sets.facts).markdown(),
        "table 5": changes_table(found.rows("changes")).markdown(),
        "summary": build_table(DIGESTS, found.rows("summary")).markdown(),
        "correlations": build_table(AGREEMENTS, systems).markdown(),
        "fates": fates_table(found.parts["conclusions"]).markdown(),
        "moves": moves(found, "kl").markdown(),
        "ranks": ranks(data, *sides).markdown(),
        "causes": causes(*sides, runs).markdown(),
        "splits": splits_table(data, runs).markdown(),
    }


def write(made: Mapping[str, str], drawn: Path) -> None:
    """Put tables and figures where the page shows them."""
    text = PAGE.read_text("utf-8")
    for name, table in made.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            sys.exit(f"{PAGE} has no '<!-- {name} -->'")
        text = pattern.sub(lambda found, table=table: f"{found[1]}\n{table}\n{found[2]}", text)
    PAGE.write_text(text, "utf-8")
    for name, kept in DRAWN.items():
        (FIGURES / f"{kept}.svg").write_bytes((drawn / f"{name}.svg").read_bytes())


def main() -> None:
    """Make the tables, and put them into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="fill docs/contrast.md, its figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        collection = imported("cranfield", Path(work) / "cranfield")
        data = read_cranfield(collection)
        sides = split(data, "random", SEED)
        runs = plain_runs(collection, data.source)
        fed = fed_runs(collection, data.source, dict(zip(("j1", "j12"), sides, strict=True)))
        found = contrast(qrels(sides[0], "J1"), qrels(sides[1], "J1+2"), [*runs, *fed])
        made = tables(data, sides, found, runs)
        for name, table in made.items():
            print(f"{name}\n\n{table}")
        if arguments.write:
            draw_contrast(found, Path(work) / "figures", ("kl-j1", "kl-j12"), runs=["kl"])
            write(made, Path(work) / "figures")


if __name__ == "__main__":
    main()
