"""ACM-CR on a real Spark, imported, indexed and searched in 1, 3 and 16 shards: the very runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from tests.spark.clusters import MASTER, connect_server, settings
from tests.unit.distributed.test_importing import check_acm_cr

import citebed
from citebed.collection import Collection
from citebed.distributed.engine import Engine
from citebed.retrieval import build_index
from citebed.retrieval.execution.runner import RunOptions, run_queries

pytestmark = pytest.mark.spark
MODELS = ("bm25", "bm25f", "cosine", "kl(mu=1000)", "bm25+rm3", "bm25+learned")
SETS = ("paragraphs", "sentences")
DEEP = RunOptions(depth=1000)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with citebed.engine(MASTER, settings(tmp_path_factory.mktemp("halts"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def alone(
    acm_cr: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], pl.DataFrame]:
    """The runs of one machine."""
    folder = tmp_path_factory.mktemp("alone") / "acm-cr"
    shutil.copytree(acm_cr, folder)
    build_index(folder)

    @cache
    def run(queries: str, model: str) -> pl.DataFrame:
        return run_queries(folder, None, queries, model, DEEP).table

    return run


def test_behind_a_server_too(shared_data: Path, acm_cr: Path, tmp_path: Path) -> None:
    conf = settings(tmp_path)
    with connect_server(conf, tmp_path) as address, citebed.engine(address) as engine:
        check_acm_cr(engine, shared_data, acm_cr, tmp_path / "acm-cr")


@pytest.mark.parametrize("shards", [1, 3, 16])
def test_runs_are_those_of_one_machine(
    engine: Engine,
    shared_data: Path,
    acm_cr: Path,
    alone: Callable[[str, str], pl.DataFrame],
    tmp_path: Path,
    shards: int,
) -> None:
    folder = tmp_path / "acm-cr"
    size = -(-Collection(acm_cr).document_count // shards)
    check_acm_cr(engine, shared_data, acm_cr, folder, size)
    assert len(Collection(folder).shards) == shards
    engine.index(folder)
    for queries in SETS:
        for model in MODELS:
            found = engine.search(folder, queries, model, DEEP).table
            assert found.height > 0
            assert found.equals(alone(queries, model)), (queries, model)
