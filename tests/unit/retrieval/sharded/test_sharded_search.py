"""Shards searched with the numbers of the whole: the very run of one index of all documents."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import sized
from tests.unit.retrieval.index.making import (
    arrays_of,
    assert_same_arrays,
    build,
    context,
    section,
    write_collection,
)
from tests.unit.retrieval.search.made import EVERY_MODEL
from tests.unit.retrieval.sharded.cutting import (
    cut,
    index_here,
    indexed_here,
    queries_of,
    search_here,
    sharded,
)

from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.search.fields import DEFAULT_FIELDS, fields_of
from citebed.runs.tables import Run

WORDS = ("oak", "elm", "ash", "forest", "soil", "sea", "bark", "tree", "münchen", "日本", "rain")
FED = (
    "bm25+rm3(docs=3)", "bm25+rocchio(docs=2,terms=3)", "ql+mixture", "kl+mixture(docs=3,terms=4)",
    "okapi+robertson(docs=3,terms=5)", "cosine+rocchio", "bm25f+rm3", "kl+feedback",
)  # fmt: skip
FIELDS = ("default", "title", "title=2.5,abstract=0.3,fulltext=0.1,citing=0.7", "citing")

text = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
years = st.sampled_from([None, 1999, 2004, 2010])
documents = st.lists(
    st.fixed_dictionaries({"title": text, "abstract": text, "year": years}), min_size=2, max_size=14
)
full_texts = st.dictionaries(st.integers(0, 13), text, max_size=3)
citing = st.lists(
    st.tuples(st.sampled_from(["p1", "p2", "p3"]), st.lists(st.integers(0, 13), max_size=3), text),
    max_size=6,
)
asked = st.lists(
    st.fixed_dictionaries({
        "text": text,
        "before": st.sampled_from([None, "2004", "2005-01"]),
        "paper_id": st.sampled_from([None, "p1", "p2", "p9"]),
        "exclude": st.sampled_from([[], ["d3", "d11", "no"]]),
    }),
    min_size=1, max_size=4,
)  # fmt: skip


some_models = st.lists(st.sampled_from((*EVERY_MODEL, *FED)), min_size=3, max_size=3, unique=True)


def collection(folder: Path, rows: Any, texts: Any = (), cites: Any = ()) -> Path:
    """Return a collection with full texts and citing texts where given."""
    named = [{"doc_id": f"d{number}", **row} for number, row in enumerate(rows)]
    ids = [row["doc_id"] for row in named]
    sections = [section(f"d{n}", texts[n]) for n in texts if f"d{n}" in ids]
    contexts = [
        context(paper, [f"d{n}" for n in dict.fromkeys(cited) if f"d{n}" in ids], said)
        for paper, cited, said in cites
    ]
    return write_collection(folder, named, sections=sections, contexts=contexts)


def outcome(search: Any, *given: Any) -> Any:
    """Return the run, or a note that it is missing."""
    try:
        found: Run = search(*given)
    except CitebedError:
        return None
    return found.table.rows(), found.notes


@given(
    documents, full_texts, citing, asked, st.integers(1, 6), st.sampled_from(FIELDS), some_models
)
@settings(max_examples=sized(6, 60), deadline=None)
def test_runs_are_those_of_one_index(  # noqa: PLR0913, PLR0917
    rows: Any, texts: Any, cites: Any, queries: Any, size: int, fields: str, models: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        one = collection(Path(name) / "one", rows, texts, cites)
        parts = cut(one, Path(name) / "parts", size)
        build(one, analyser="english")
        index_here(parts, analyser="english")
        table = queries_of(*({"query_id": f"q{n}", **q} for n, q in enumerate(queries)))
        options = RunOptions(depth=5, fields=fields_of(fields))
        for model in models:
            here = outcome(run_queries, one, None, table, parse_pipeline(model), options)
            assert outcome(search_here, parts, table, model, options) == here, model


def rows(count: int) -> list[dict[str, str]]:
    """Documents of a few words each."""
    words = (WORDS[n % 11] + " " + WORDS[n % 7] for n in range(count))
    return [{"title": title, "abstract": f"{title} rain"} for title in words]


def test_one_index_of_all_shards_is_that_of_one_table(tmp_path: Path) -> None:
    one = collection(tmp_path / "one", rows(17), {3: "soil", 9: "sea"}, [("p", [1, 8], "oak")])
    parts = cut(one, tmp_path / "parts", 5)
    build(one)
    build(parts)
    assert_same_arrays(arrays_of(one), arrays_of(parts))
    assert open_index(parts).is_current()
    assert build(parts).unchanged
    others = collection(tmp_path / "others", rows(16))
    shutil.copy(others / "documents.parquet", parts / "shards" / "00002")
    assert not open_index(parts).is_current()
    assert not build(parts).unchanged


def test_contexts_of_files_are_counted_once(tmp_path: Path) -> None:
    one = collection(tmp_path / "one", rows(9))
    parts, said = cut(one, tmp_path / "parts", 4), tmp_path / "said.jsonl"
    lines = [{"citing": "p", "context": f"oak {n}", "cited": [f"d{n}", "no"]} for n in range(7)]
    said.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = build(one, citing=(said,), analyser="english")
    _, told = indexed_here(parts, citing=(said,), analyser="english")
    assert (told.contexts, told.contexts_elsewhere) == (7, 7)
    assert (report.contexts, report.contexts_elsewhere) == (7, 7)
    options = RunOptions(fields=fields_of("title,citing=0.3"))
    queries = queries_of({"query_id": "q", "text": "oak 3", "paper_id": "p"})
    here = run_queries(one, None, queries, parse_pipeline("ql"), options)
    assert search_here(parts, queries, "ql", options).table.equals(here.table)


def test_shards_that_have_changed_since_are_reported(tmp_path: Path) -> None:
    parts = cut(collection(tmp_path / "one", rows(9)), tmp_path / "parts", 4)
    search = sharded(index_here(parts))
    assert search.is_current()
    others = collection(tmp_path / "others", rows(3))
    shutil.copy(others / "documents.parquet", parts / "shards" / "00002")
    assert not search.is_current()


def test_all_terms_are_counted_once_until_a_shard_is_indexed_again(tmp_path: Path) -> None:
    parts = cut(collection(tmp_path / "one", rows(9)), tmp_path / "parts", 4)
    search = sharded(index_here(parts))
    assert not list(parts.glob("shards/*/index/whole-*.npy"))
    search.keep_all_terms(DEFAULT_FIELDS)
    kept = {path: path.stat().st_ino for path in parts.glob("shards/*/index/whole-*.npy")}
    assert len(kept) == 3
    search.keep_all_terms(DEFAULT_FIELDS)
    assert all(path.stat().st_ino == number for path, number in kept.items())
    anew = sharded(index_here(parts, analyser="none"))
    anew.keep_all_terms(DEFAULT_FIELDS)
    assert not any(path.exists() for path in kept)
    assert len(list(parts.glob("shards/*/index/whole-*.npy"))) == 3


def test_damaged_frequencies_are_reported(tmp_path: Path) -> None:
    parts = cut(collection(tmp_path / "one", rows(9)), tmp_path / "parts", 4)
    sharded(index_here(parts)).keep_all_terms(DEFAULT_FIELDS)
    path = next(parts.glob("shards/00001/index/whole-*.npy"))
    path.write_bytes(path.read_bytes()[:-8])
    query = queries_of({"query_id": "q", "text": "oak"})
    with pytest.raises(CollectionError, match=r"the shard 00001, is damaged\. Remove it"):
        search_here(parts, query, "cosine")
    path.unlink()
    assert search_here(parts, query, "cosine").table.height
