"""Shards searched with the numbers of the whole: the very run of one index of all documents."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.retrieval.index.making import build, context, section, write_collection
from tests.unit.retrieval.search.made import EVERY_MODEL
from tests.unit.retrieval.sharded.cutting import cut, index_here, queries_of, search_here

from citebed.errors import CitebedError
from citebed.retrieval.pipeline import pipeline_of
from citebed.retrieval.running.runner import RunOptions, run_queries
from citebed.retrieval.search.fields import fields_of
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
    """Documents with full texts and citing text, those of them that there are."""
    named = [{"doc_id": f"d{number}", **row} for number, row in enumerate(rows)]
    ids = [row["doc_id"] for row in named]
    sections = [section(f"d{n}", texts[n]) for n in texts if f"d{n}" in ids]
    contexts = [
        context(paper, [f"d{n}" for n in dict.fromkeys(cited) if f"d{n}" in ids], said)
        for paper, cited, said in cites
    ]
    return write_collection(folder, named, sections=sections, contexts=contexts)


def outcome(search: Any, *given: Any) -> Any:
    """The run, or that there is none."""
    try:
        found: Run = search(*given)
    except CitebedError:
        return None
    return found.table.rows(), found.notes


@given(
    documents, full_texts, citing, asked, st.integers(1, 6), st.sampled_from(FIELDS), some_models
)
@settings(max_examples=12, deadline=None)
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
            here = outcome(run_queries, one, None, table, pipeline_of(model), options)
            assert outcome(search_here, parts, table, model, options) == here, model
