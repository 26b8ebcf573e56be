"""Write ``golden/`` again: trec_eval's scores of runs and qrels that are made up here.

    python tests/parity/make_golden.py --trec-eval trec_eval
    python tests/parity/make_golden.py --trec-eval trec_eval \\
        --oracle "python oracle.py" --oracle-version "pytrec_eval-terrier 0.5.7"

Without ``--oracle`` this Python must be able to import pytrec_eval. With it, the command may run
anywhere, under emulation or in another Python. It reads one request per line from standard input,

    {"qrels": {query: {document: grade}}, "run": {query: {document: score}},
     "measures": ["map", "P.5,10", ...],
     "options": {"relevance_level": 1, "judged_docs_only_flag": false}}

as JSON, and answers each with one line, ``{query: {measure: value}}``: what
``RelevanceEvaluator(qrels, measures, **options).evaluate(run)`` returns.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
SEED = 20240131
CASES = 150

# Every per-query measure of pytrec_eval, except those that count queries.
# fmt: off
MEASURES = [
    "11pt_avg", "G", "P.1,5,10,30", "Rndcg", "Rprec", "Rprec_mult.0.5,1.4", "binG", "bpref",
    "gm_bpref", "gm_map", "infAP", "iprec_at_recall.0,0.1,0.25,0.3,0.5,0.7,0.9,1", "map",
    "map_cut.1,5,30", "ndcg", "ndcg_cut.1,5,10,30", "ndcg_rel", "num_nonrel_judged_ret",
    "num_rel", "num_rel_ret", "num_ret", "recall.5,10,30", "recip_rank", "relative_P.5,30",
    "set_P", "set_map", "set_recall", "set_relative_P", "success.1,5,10", "utility",
]
# fmt: on
# A request can have only one of them, and the answer calls both set_F.
F_MEASURES = ["set_F", "set_F.0.5"]
SETTINGS = [(level, judged_only) for level in (1, 2) for judged_only in (False, True)]
PRINTED = {
    "stored.trec_eval.txt": [],
    "stored.q.trec_eval.txt": ["-q"],
    "stored.complete.trec_eval.txt": ["-c"],
    "stored.all_trec.txt": ["-q", "-m", "all_trec"],
    "stored.l2.txt": ["-l", "2"],
    "stored.judged.txt": ["-J"],
}

# Mixed case, and letters of one to four bytes: the order by bytes differs from all other orders.
STEMS = ["d", "D", "doc-", "doc_", "Doc", "a.b/", "zoë", "Zoë", "ärzte", "文書", "\uffee", "😀"]
SCORES: list[Callable[[random.Random], float]] = [
    lambda chance: chance.uniform(0, 20),
    lambda chance: chance.gauss(0, 3),
    lambda chance: float(chance.randint(1, 4)),
    lambda chance: chance.choice([-1.5, 0.0, 0.25, 7.0]),
    lambda chance: 1.0 + chance.randint(0, 30) * 1e-9,
    lambda chance: 16777216.0 + chance.randint(0, 6) / 2,
]
# How often a query's documents have the grades -2 to 4.
GRADES = {
    "usual": [1, 3, 10, 5, 3, 2, 1], "sampled pool": [5, 15, 5, 3, 1, 1, 1],
    "binary": [0, 0, 5, 3, 0, 0, 0], "all relevant": [0, 0, 0, 3, 2, 1, 1],
    "low grades": [0, 1, 5, 5, 0, 0, 0], "nothing relevant": [0, 1, 6, 0, 0, 0, 0],
}  # fmt: skip


def make_ids(chance: random.Random, number: int, stems: Sequence[str]) -> list[str]:
    return [f"{chance.choice(stems)}{n}" for n in chance.sample(range(1000), number)]


def make_query(
    chance: random.Random, retrieved: int, stems: Sequence[str], kind: str
) -> tuple[dict[str, int], dict[str, float]]:
    """Judgements and scores of one query; some documents have only the one or the other."""
    ids = make_ids(chance, retrieved + chance.randint(1, 25), stems)
    score = chance.choice(SCORES)
    scores = {doc: score(chance) for doc in ids[:retrieved]}
    pool = ids[retrieved:] if chance.random() < 0.1 else ids
    judged = chance.sample(pool, chance.randint(1, len(pool)))
    grades = chance.choices(range(-2, 5), GRADES[kind], k=len(judged))
    # For a query with negative grades only, trec_eval takes its counts from memory that it never
    # wrote or from the query before, and may not come to an end.
    grades[0] = max(grades[0], 0)
    return dict(zip(judged, grades, strict=True)), scores


def make_case(chance: random.Random) -> dict[str, Any]:
    qrels, run = {}, {}
    for number in range(chance.choice([1, 1, 2, 2, 3, 4])):
        query = chance.choice(["", "q", "Q", "ß"]) + str(number)
        retrieved = chance.choice([1, 2, 5, chance.randint(1, 60)])
        kind = chance.choices(list(GRADES), [8, 3, 3, 2, 2, 2])[0]
        judgements, scores = make_query(chance, retrieved, STEMS, kind)
        absent = chance.random()
        if absent > 0.08:
            qrels[query] = judgements
        if absent < 0.92:
            run[query] = scores
    return {"qrels": qrels, "run": run}


def make_requests(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    requests = []
    for number, case in enumerate(cases):
        measures = [*MEASURES, F_MEASURES[number % 2]]
        for level, judged_only in SETTINGS:
            options = {"relevance_level": level, "judged_docs_only_flag": judged_only}
            requests.append({**case, "measures": measures, "options": options})
    return requests


def ask_command(command: str, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answer = subprocess.run(
        shlex.split(command), input=lines, stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def ask_here(requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    import pytrec_eval

    return [
        pytrec_eval.RelevanceEvaluator(
            request["qrels"], set(request["measures"]), **request["options"]
        ).evaluate(request["run"])
        for request in requests
    ]


def as_table(answer: dict[str, dict[str, float]]) -> dict[str, list[float | None]]:
    """Values by measure, in the order of the sorted queries; ``None`` where it divided 0 by 0."""
    table: dict[str, list[float | None]] = {}
    for query in sorted(answer):
        for measure, value in sorted(answer[query].items()):
            table.setdefault(measure, []).append(None if math.isnan(value) else value)
    return table


def write_cases(
    ask: Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]], version: str
) -> None:
    chance = random.Random(SEED)
    cases = [make_case(chance) for _ in range(CASES)]
    answers = iter(ask(make_requests(cases)))
    for number, case in enumerate(cases):
        case["set_F"] = F_MEASURES[number % 2]
        case["answers"] = [
            {
                "relevance_level": level,
                "judged_only": judged_only,
                "values": as_table(next(answers)),
            }
            for level, judged_only in SETTINGS
        ]
    text = json.dumps(
        {"oracle": version, "cases": cases}, ensure_ascii=False, separators=(",", ":")
    )
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    (GOLDEN / "pytrec_eval.json.gz").write_bytes(packed)


def make_stored() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Twelve queries of forty documents; the run lacks one of them, the qrels another."""
    chance = random.Random(SEED + 1)
    kinds = ["usual"] * 6 + [kind for kind in GRADES if kind != "usual"]
    stems = [stem for stem in STEMS if stem.isascii()]
    qrels, run = {}, {}
    for number, kind in enumerate([*kinds, "usual"], start=1):
        qrels[f"q{number}"], run[f"q{number}"] = make_query(chance, 40, stems, kind)
    del qrels["q3"], run["q5"]
    return qrels, run


def write_stored() -> None:
    qrels, run = make_stored()
    judgements = (
        f"{query} 0 {doc} {grade}\n" for query in qrels for doc, grade in qrels[query].items()
    )
    rows = (
        f"{query} Q0 {doc} {rank} {score!r} stored\n"
        for query in run
        for rank, (doc, score) in enumerate(run[query].items(), start=1)
    )
    (GOLDEN / "stored.qrels").write_text("".join(judgements), encoding="ascii")
    (GOLDEN / "stored.run").write_text("".join(rows), encoding="ascii")


def write_printed(command: str) -> str:
    """Write what the program prints for the stored run, and its version."""
    files = ["stored.qrels", "stored.run"]
    for name, options in PRINTED.items():
        printed = subprocess.run(
            [*shlex.split(command), *options, *files], cwd=GOLDEN, capture_output=True, check=True
        )
        (GOLDEN / name).write_bytes(printed.stdout)
    version = subprocess.run(
        [*shlex.split(command), "--version"], capture_output=True, text=True, check=False
    )
    return (version.stderr + version.stdout).strip().replace(" version", "")


def write_readme(oracle: str, program: str) -> None:
    commands = "\n".join(
        f"| `{name}` | `{' '.join(['trec_eval', *options, 'stored.qrels', 'stored.run'])}` |"
        for name, options in PRINTED.items()
    )
    text = f"""# What trec_eval says

Made by `tests/parity/make_golden.py` in one run, from seed {SEED}; not to be edited by hand. The
runs and qrels are made up: every id, grade and score is drawn at random.

`pytrec_eval.json.gz` has {CASES} cases, each with the answers of {oracle} at relevance
levels 1 and 2, on all documents and on judged ones only. A list of values is in the order of
the sorted queries that the run and the qrels share; `null` is a NaN, 0 divided by 0. A case
names what was asked for as `set_F`, which has the weight 0.5 in every second one.

`stored.run` and `stored.qrels` are files, and the others what {program} prints of them:

| file | command |
| --- | --- |
{commands}

Both programs keep scores as 32-bit floats, so scores that differ only beyond that are tied.

`program.json.gz` is made by `make_program_golden.py`: three made-up pairs of files and, for every
command line of `trec_eval_commands.py`, the exit code and output of trec_eval 9.0.8 and 10.0.
"""
    (GOLDEN / "README.md").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trec-eval", required=True, metavar="COMMAND", help="the C program")
    parser.add_argument("--oracle", metavar="COMMAND", help="what speaks for pytrec_eval")
    parser.add_argument("--oracle-version", metavar="TEXT", help="what is behind --oracle")
    given = parser.parse_args()
    if bool(given.oracle) != bool(given.oracle_version):
        parser.error("--oracle and --oracle-version go together")
    GOLDEN.mkdir(exist_ok=True)
    if given.oracle:
        oracle = given.oracle_version
        write_cases(lambda requests: ask_command(given.oracle, requests), oracle)
    else:
        from importlib.metadata import version

        oracle = f"pytrec_eval-terrier {version('pytrec_eval-terrier')}"
        write_cases(ask_here, oracle)
    write_stored()
    write_readme(oracle, write_printed(given.trec_eval))


if __name__ == "__main__":
    main()
