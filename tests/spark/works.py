"""Commands for a real Spark, and the results that must equal those of one machine."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import polars as pl
from tests.docs_place import run
from tests.unit.retrieval.sharded.cutting import index_here

START = 1_323_400_000
"""When TREC KBA 2012's stream begins, about."""


PART_SIZE = ("--part-size", "0.015")
"""Given with an engine only."""


class Work(NamedTuple):
    """A command in a folder that ``prepare`` fills.

    ``outputs`` are the files and folders that exist when it is done, and not before. ``parts`` are
    patterns of files that may exist earlier, each complete. The output must equal the output on one
    machine. ``alone`` does the work on one machine without output, if that needs another command.
    """

    name: str
    prepare: Callable[[Path], None]
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    alone: Callable[[Path], None] | None = None


def lay_runs(folder: Path) -> None:
    """Judgements of three grades with holes, and runs with ties: text in parts, and Parquet."""
    chance = random.Random(1)
    documents = [f"{START + n * 977}-{n:08x}" for n in range(600)]
    judged = [
        f"t{topic} 0 {doc} {chance.choice((-1, 0, 0, 1, 2))}\n"
        for topic in range(12) for doc in chance.sample(documents, 60) if topic != 5
    ]  # fmt: skip
    (folder / "some.qrels").write_text("".join(judged))
    rows = [
        (f"t{topic}", doc, float(chance.randrange(1, 40)))
        for topic in range(12) for doc in chance.sample(documents, 300) if topic != 7
    ]  # fmt: skip
    parts = folder / "parts.run"
    parts.mkdir()
    lines = [f"{topic} Q0 {doc} 1 {score} me\n" for topic, doc, score in rows]
    for part in range(4):
        (parts / f"part-{part}.txt").write_text("".join(lines[part::4]))
    (folder / "whole.run").write_text("".join(lines))
    table = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    table.with_columns(score=pl.col("score") * 3 % 17).write_parquet(folder / "other.parquet")


def lay_shards(folder: Path) -> None:
    """The demo's documents as a collection ``c`` in four shards, and some queries."""
    _lay_collection(folder, "--shard-size", "40")


def lay_indexed_shards(folder: Path) -> None:
    """The same, indexed by shards."""
    lay_shards(folder)
    index_here(folder / "c")


def searching(model: str) -> Work:
    """A search of shards, which finds what one index finds."""

    def alone(folder: Path) -> None:
        _lay_collection(folder)
        run("index", folder / "c", "--quiet")
        paths = {word: folder / word for word in ("c", "asked.jsonl", "found.run")}
        run(*(paths.get(word, word) for word in words))

    words = (*_SEARCH, model)
    return Work(f"search-{model}", lay_indexed_shards, words, ("found.run",), alone=alone)


def _lay_collection(folder: Path, *options: str) -> None:
    with resources.as_file(resources.files("citebed") / "demo" / "landmarks.bib") as papers:
        run("import", folder / "c", papers, "--quiet", *options)
    asked = ("relevance feedback in the vector space model", "smoothing of language models")
    lines = [json.dumps({"query_id": f"q{at}", "text": text}) for at, text in enumerate(asked)]
    (folder / "asked.jsonl").write_text("\n".join(lines) + "\n")


def lay_stream(folder: Path) -> None:
    """Write a stream in several parts, with invalid lines and repeated documents; topics with
    names, texts and training documents; and judgements."""
    chance = random.Random(2)
    words = [f"word{n}" for n in range(60)]
    names = [("Ann Oak", "oak tree"), ("Bo Elm", "elm tree"), ("Sea Company", "salt")]
    lines, ids = [], []
    for n in range(900):
        text = chance.choices(words, k=12) + list(chance.choice(names)) * (n % 9 == 0)
        ids.append(f"{START + n // 3 * 50}-{n:08x}")
        lines.append(json.dumps({"doc_id": ids[-1], "text": " ".join(text)}))
        lines += [lines[-1]] * (n % 100 == 7) + ["{"] * (n % 200 == 11)
    (folder / "stream.jsonl").write_text("".join(f"{line}\n" for line in lines))
    topics = [
        {"query_id": f"t{n}", "name": name, "text": text, "training": ids[n * 27 : 200 : 45]}
        for n, (name, text) in enumerate(names)
    ]
    (folder / "topics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in topics))
    judged = (f"t{chance.randrange(3)} 0 {each} {chance.randrange(2)}\n" for each in ids[::11])
    (folder / "judged.qrels").write_text("".join(judged))


def filtering(model: str, *more: str) -> Work:
    """A filter over a stream in some ten parts."""
    run = f"{model}.run.gz"
    words = ("filter", "stream.jsonl", "-t", "topics.jsonl", "-m", model, "-o", run, *more)
    options = ("--skipped", "skipped.txt", *PART_SIZE, "--quiet")
    return Work(f"filter-{model}", lay_stream, (*words, *options), (run, "skipped.txt"))


def lay_sources(folder: Path) -> None:
    """The demo's bibliography twice: the second time under other keys, and with less in it."""
    text = (resources.files("citebed") / "demo" / "landmarks.bib").read_text("utf-8")
    (folder / "in").mkdir()
    (folder / "in" / "landmarks.bib").write_text(text)
    shorter = re.sub(r"(?m)^\s*doi\s*=.*\n", "", re.sub(r"(?m)^(@\w+\{)", r"\1of-", text))
    (folder / "in" / "shorter.bib").write_text(shorter)


def lay_imported(folder: Path) -> None:
    """The same, in a collection that has half of the first."""
    lay_sources(folder)
    first = folder / "in" / "landmarks.bib"
    text = first.read_text("utf-8")
    first.write_text(text[: len(text) // 2].rpartition("\n@")[0])
    run("import", folder / "c", folder / "in", "--quiet", "--shard-size", "40")
    first.write_text(text)


_RUNS = ("some.qrels", "whole.run", "other.parquet")
_SEARCH = ("search", "c", "--queries", "asked.jsonl", "--quiet", "-o", "found.run", "--model")
_IMPORTED = ("c/citebed.toml", "c/documents.parquet", "c/import", "c/shards")
WORKS = (
    Work("import", lay_sources, ("import", "c", "in", "--shard-size", "50", "--json"), _IMPORTED),
    Work("import-again", lay_imported, ("import", "c", "in", "--json"), _IMPORTED),
    Work("stats", lay_shards, ("stats", "c", "--json")),
    Work("evaluate", lay_runs, ("evaluate", *_RUNS, "--per-query", "--json")),
    Work("timeline", lay_runs, ("timeline", *_RUNS, "--slice", "1d", "--per-slice", "--json")),
    Work(
        "index", lay_shards, ("index", "c", "--quiet"), ("c/index",),
        ("c/shards/*/index/[!w]*.npy",), lay_indexed_shards,
    ),
    searching("bm25+rm3"),
    searching("bm25+learned"),
    filtering("names"),
    filtering("relevance_model", "--feedback-delay", "10min"),
    filtering("incremental", "--judgements", "judged.qrels", "--feedback-delay", "10min"),
)  # fmt: skip
