"""Snapshots whose queries have one relevant document, at a given rank."""

from __future__ import annotations

from pathlib import Path

# The rank of the one relevant document: the case that docs/timeline.md works out.
CASE = {
    "a": {
        "bm25": {"q1": 2, "q2": 2, "q3": 2, "q4": 2},
        "mine": {"q1": 1, "q2": 1, "q3": 2, "q4": 2},
    },
    "b": {
        "bm25": {"q3": 2, "q4": 2, "q5": 2, "q6": 2},
        "mine": {"q3": 2, "q4": 2, "q5": 1, "q6": 2},
    },
}


def ranking(rank: int) -> dict[str, float]:
    """A ranking whose relevant document "r" has this rank, so that RR is 1/rank."""
    return {"r" if at == rank else f"n{at}": -float(at) for at in range(1, rank + 1)}


def snapshots(case: dict[str, dict[str, dict[str, int]]]) -> dict[str, tuple[object, object]]:
    return {
        name: (
            {query: {"r": 1} for query in runs["mine"]},
            {run: {query: ranking(rank) for query, rank in of.items()} for run, of in runs.items()},
        )
        for name, runs in case.items()
    }


def write(folder: Path, runs: dict[str, dict[str, int]]) -> None:
    """A snapshot as a folder: ``qrels.txt`` and ``RUN.run``."""
    folder.mkdir(parents=True)
    queries = runs["mine"]
    (folder / "qrels.txt").write_text("".join(f"{query} 0 r 1\n" for query in queries))
    for run, ranks in runs.items():
        (folder / f"{run}.run").write_text(run_lines(ranks))


def run_lines(ranks: dict[str, int]) -> str:
    return "".join(
        f"{query} Q0 {doc} 1 {score} tag\n"
        for query, rank in ranks.items()
        for doc, score in ranking(rank).items()
    )
