"""Rankings by several signals over shards: the very run of one index of all documents."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.sampling import sized
from tests.unit.retrieval.sharded.cutting import cut, index_here, queries_of, search_here
from tests.unit.retrieval.sharded.test_sharded_search import citing, collection, text, years

from citebed.retrieval import build_index
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.pipeline import parse_pipeline

MODELS = ("bm25+learned", "bm25+learned(fit=no)", "bm25+dense(sentence=0)")
authors = st.lists(st.sampled_from(["Ada Oak", "ada oak", "Bo Elm", "Cy Ash"]), max_size=3)
documents = st.lists(
    st.fixed_dictionaries({
        "title": text, "abstract": text, "year": years, "authors": authors,
        "pages": st.sampled_from([None, "1–9", "3", "7:1–7:20"]),
    }),
    min_size=2, max_size=30,
)  # fmt: skip
asked = st.lists(
    st.fixed_dictionaries({
        "text": st.lists(text, min_size=1, max_size=3).map(". Then ".join),
        "before": st.sampled_from([None, "2004", "2005-01"]),
        "paper_id": st.sampled_from([None, "p1", "p2", "p9"]),
        "exclude": st.sampled_from([[], ["d3", "d11", "no"]]),
    }),
    min_size=1, max_size=4,
)  # fmt: skip


@given(documents, citing, asked, st.integers(1, 9), st.integers(1, 12))
@settings(
    max_examples=sized(4, 40), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
def test_runs_are_those_of_one_index(
    rows: Any, cites: Any, queries: Any, size: int, depth: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        one = collection(Path(name) / "one", rows, {}, cites)
        parts = cut(one, Path(name) / "parts", size)
        build_index(one, IndexOptions(analyser="english"))
        index_here(parts, analyser="english")
        table = queries_of(*({"query_id": f"q{n}", **q} for n, q in enumerate(queries)))
        options = RunOptions(depth=depth)
        for model in MODELS:
            here = run_queries(one, None, table, parse_pipeline(model), options)
            with (  # as of large shards: several extracts, and their postings in several spans
                mock.patch("citebed.retrieval.sharded.ranking._DOCUMENTS", 2),
                mock.patch("citebed.retrieval.sharded.partial_index._POSTINGS", 3),
                mock.patch("citebed.retrieval.search.searcher._POSTINGS_FOR_THREAD", 1),
            ):
                there = search_here(parts, table, model, options)
            assert there.table.rows() == here.table.rows(), model
            assert there.notes == here.notes
            assert there.facts == here.facts
