"""The script that starts a Spark in a job of Slurm's, as the page has it, on this machine alone."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import REPOSITORY
from tests.spark.works import lay_runs

import citebed

pytestmark = pytest.mark.spark


def test_the_script_of_the_page_scores_a_run(tmp_path: Path) -> None:
    lay_runs(tmp_path)
    page = (REPOSITORY / "docs" / "spark.md").read_text("utf-8")
    script = next(
        block for block in re.findall(r"```bash\n(.*?)```", page, re.S) if "srun" in block
    )
    (tmp_path / "citebed.slurm").write_text(script)
    stands_for_srun = tmp_path / "bin" / "srun"
    stands_for_srun.parent.mkdir()
    stands_for_srun.write_text('#!/bin/sh\nexec "$@"\n')
    stands_for_srun.chmod(0o755)
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "PATH": f"{stands_for_srun.parent}:{os.environ['PATH']}",
        "VENV": str(Path(sys.executable).parent.parent), "PORT": str(port), "QRELS": "some.qrels",
        "RUN": "parts.run", "WORKER_MEMORY": "1g", "EXECUTOR_MEMORY": "800m",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "citebed.slurm"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    scored = json.loads((tmp_path / "scores.json").read_text())
    here = citebed.evaluate(tmp_path / "some.qrels", tmp_path / "whole.run").rows()
    values = {row["measure"]: row["value"] for row in scored if row["query_id"] == "all"}
    assert values == {row["measure"]: row["value"] for row in here if row["query_id"] == "all"}
