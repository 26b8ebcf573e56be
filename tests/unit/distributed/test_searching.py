"""Collections in shards indexed and searched on an engine: the very runs of one machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.retrieval.index.making import build, write_collection
from tests.unit.retrieval.sharded.cutting import cut

from citebed.cli.app import main
from citebed.distributed.engine import Engine
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.search.fields import fields_of
from citebed.retrieval.sharded import sharded_index
from citebed.retrieval.sharded.sharded_index import ShardOptions
from citebed.runs.tables import Run

WORDS = ("oak", "elm", "ash", "forest", "soil", "sea", "bark", "tree", "münchen", "rain", "cloud",
         "river", "stone")  # fmt: skip
MODELS = ("bm25", "okapi", "ql", "kl", "cosine", "bm25f", "bm25+rm3(docs=3)", "cosine+rocchio",
          "bm25+learned(fit=no)")  # fmt: skip


def made(folder: Path) -> Path:
    """A collection with full texts, citing text, queries of papers, dates and judgements."""

    def text(number: int, length: int) -> str:
        return " ".join(WORDS[(number * 7 + at * (number % 5 + 1)) % 13] for at in range(length))

    documents = [
        {"doc_id": f"d{n}", "title": text(n, 4), "abstract": text(n + 3, n % 9), "year": 1990 + n}
        for n in range(40)
    ]
    sections = [
        {"doc_id": f"d{n}", "record": f"d{n}", "text": text(n, 30), "position": 1, "heading": ""}
        for n in (2, 30)
    ]
    contexts = [
        {"paper_id": f"p{n % 3}", "cited": [f"d{n}"], "text": text(n + 1, 6), "context_id": str(n)}
        for n in range(0, 40, 5)
    ]
    queries = [
        {"query_id": f"q{n}", "text": text(n + 2, 5), "paper_id": f"p{n % 4}",
         "before": "2010" if n % 3 == 0 else None, "exclude": ["d4"] if n % 2 else []}
        for n in range(9)
    ] + [{"query_id": "none", "text": "of the"}]  # fmt: skip
    qrels = "".join(f"q{n} 0 d{(n * 5 + k) % 43} {k % 2}\n" for n in range(7) for k in range(4))
    return write_collection(
        folder, documents, sections=sections, contexts=contexts, queries={"some": queries},
        qrels={"some": qrels},
    )  # fmt: skip


def same(one: Run, other: Run) -> bool:
    return one.table.equals(other.table) and (one.notes, one.facts) == (other.notes, other.facts)


@pytest.mark.parametrize("size", [7, 40])
def test_runs_are_those_of_one_machine(engine: Engine, tmp_path: Path, size: int) -> None:
    one = made(tmp_path / "one")
    parts = cut(one, tmp_path / "parts", size)
    build(one, analyser="english")
    report = engine.index(parts, ShardOptions(analyser="english"))
    assert (report.documents, report.contexts, report.unchanged) == (40, 8, False)
    assert engine.index(parts, ShardOptions(analyser="english")).unchanged
    for fields in ("default", "title=2,abstract=0.3,citing=0.7"):
        options = RunOptions(depth=9, fields=fields_of(fields))
        for model in MODELS if fields == "default" else MODELS[:5]:
            here = run_queries(one, None, "some", model, options)
            assert same(here, engine.search(parts, "some", model, options)), (model, fields)
    judged = "bm25+rocchio(from=some,gamma=0.2)"
    assert same(run_queries(one, None, "some", judged), engine.search(parts, "some", judged))


def test_the_command_writes_the_same_run(tmp_path: Path, capsys: Any) -> None:
    one = made(tmp_path / "one")
    parts = cut(one, tmp_path / "parts", 16)
    assert main(["index", str(one), "--no-fit", "--quiet"]) == 0
    assert main(["index", str(parts), "--on", "local"]) == 0
    assert "indexed 40 documents" in capsys.readouterr().out
    for folder, more in ((one, []), (parts, ["--on", "local"])):
        run = str(tmp_path / f"{folder.name}.run")
        assert main(["search", str(folder), "--queries", "some", "-o", run, *more]) == 0
    told = [json.loads((tmp_path / f"{name}.run.json").read_text()) for name in ("one", "parts")]
    assert (tmp_path / "one.run").read_bytes() == (tmp_path / "parts.run").read_bytes()
    differs = {key for key in told[0] if told[0][key] != told[1][key]}
    assert differs <= {"command", "time", "index", "run", "file", "resources"}
    assert told[1]["index"]["shards"] == 3
    assert main(["search", str(parts), "--queries", "some"]) == 1
    assert "search with --on local" in capsys.readouterr().err


def damage(parts: Path, how: str) -> None:
    shard = parts / "shards" / "00001"
    if how == "gone":
        shutil.rmtree(shard)
    elif how == "no index":
        shutil.rmtree(shard / "index")
    elif how == "format":
        path = shard / "index" / "index.json"
        path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    elif how == "another":
        build(shard, analyser="none")
    elif how == "torn":
        path = next((shard / "index").glob("docs.*.npy"))
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        sharded_index._opened.cache_clear()  # as another process has not opened it yet
    else:
        path = parts / "index" / "shards.json"
        path.write_text(path.read_text().replace('"format": 1', '"format": 7'))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("gone", "shard 00001 .*its folder is not there"),
        ("no index", "shard 00001 .*it has no index"),
        ("format", "shard 00001 .*has format 0, this citebed reads 1"),
        ("another", "shard 00001 .*was not made together with the others"),
        ("torn", "shard 00001 .*is damaged"),
        ("parent", "has format 7, this citebed reads 1"),
    ],
)
def test_damaged_shards_are_reported(engine: Engine, tmp_path: Path, how: str, told: str) -> None:
    parts = cut(made(tmp_path / "one"), tmp_path / "parts", 16)
    with pytest.raises(CitebedError, match=r"have no index yet\. Index them with: citebed index"):
        engine.search(parts, "some")
    engine.index(parts)
    damage(parts, how)
    with pytest.raises(CitebedError, match=told) as error:
        engine.search(parts, "some")
    assert ("citebed import" if how == "gone" else "citebed index") in str(error.value)
    assert "Traceback" not in str(error.value)


def test_what_does_not_work_on_shards_is_refused(engine: Engine, tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    parts = cut(one, tmp_path / "parts", 16)
    with pytest.raises(CitebedError, match=r"is in one piece.*--shard-size"):
        engine.index(one)
    engine.index(parts)
    with pytest.raises(CitebedError, match=r"does not work on shards.*Search with 'bm25\("):
        engine.search(parts, "some", "bm25+minilm")
    with pytest.raises(CitebedError, match="unknown query set"):
        engine.search(parts, "no")
