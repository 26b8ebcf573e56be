"""The environment may hold anything: verbs do their work, or say which variable is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ODD = {
    "TZ": "Nowhere/\udcff", "LC_ALL": "xx_YY", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
    "COLUMNS": "1", "LINES": "-5", "TERM": "dumb", "TMPDIR": "/nowhere/at/all", "HOME": "/nowhere",
    "XDG_CACHE_HOME": "/dev/null", "MPLBACKEND": "nonsense", "POLARS_MAX_THREADS": "0",
    "OPENBLAS_NUM_THREADS": "many", "CITEBED_OFFLINE": "\udce9",
}  # fmt: skip
VERBS = (
    "import c a.bib q.jsonl q.qrels", "index c", "search c --queries q -o o.run",
    "recommend c cats", "report q.qrels o.run -o r.html", "export c x --to beir", "--help",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.bib").write_text("@article{a, title={Über Katzen}, abstract={Of cats.}}\n")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q1", "text": "cats"}\n')
    (tmp_path / "q.qrels").write_text("q1 0 a 1\n")
    return tmp_path


def citebed(verb: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "citebed", *verb.split()],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_odd_surroundings_disturb_nobody(folder: Path) -> None:
    for verb in VERBS:
        done = citebed(verb, folder, **ODD)
        assert done.returncode == 0, (verb, done.stderr)


def test_a_limit_that_is_not_a_number_is_reported(folder: Path) -> None:
    done = citebed("import c a.bib", folder, CITEBED_MAX_BYTES="abc")
    assert done.returncode == 1
    assert b"CITEBED_MAX_BYTES is 'abc'; expected a number of bytes" in done.stderr


@pytest.mark.parametrize("closed", ["0<&-", ">&-", "2>&-"])
def test_streams_may_be_closed(folder: Path, closed: str) -> None:
    command = f"{sys.executable} -m citebed measures {closed}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_the_output_is_reported(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "citebed", "measures"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = b"citebed: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)
