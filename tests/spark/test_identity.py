"""Random runs with ties, holes and graded judgements, scored by a real Spark: the very figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.spark.clusters import Cluster
from tests.unit.distributed import test_evaluating, test_timelines
from tests.unit.timeline.made_streams import stream_files

import citebed
from citebed.distributed.engine import Engine

pytestmark = pytest.mark.spark
few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def engine(cluster: Cluster) -> Iterator[Engine]:
    with citebed.engine(cluster.on, cluster.conf) as opened:
        yield opened


@given(test_evaluating.cases)
@few
def test_evaluations_are_those_of_one_machine(engine: Engine, tmp_path: Path, case: Any) -> None:
    test_evaluating.check_scores(engine, tmp_path, *case)


@given(stream_files)
@few
def test_timelines_are_those_of_one_machine(engine: Engine, tmp_path: Path, case: Any) -> None:
    test_timelines.check_scores(engine, tmp_path, case)
