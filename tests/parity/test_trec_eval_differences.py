"""Where citebed reads or prints otherwise than trec_eval, as docs/evaluate.md tells."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from citebed.cli.app import main

QRELS = "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 d 1\nq2 0 e 2\nq3 0 f 1\n"
RUN = "q1 Q0 a 1 3 first\nq1 Q0 c 2 2 last\nq2 Q0 d 1 1 last\n"
BOM = "\ufeff"
Printed = Callable[..., tuple[int, dict[tuple[str, str], str], str]]


@pytest.fixture
def ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    def printed(qrels: str, run: str, *options: str) -> tuple[int, dict[tuple[str, str], str], str]:
        paths = [tmp_path / "x.qrels", tmp_path / "x.run"]
        for path, text in zip(paths, (qrels, run), strict=True):
            path.write_text(text, "utf-8")
        code = main(["evaluate", *map(str, paths), "--format", "trec_eval", *options])
        out, err = capsys.readouterr()
        return code, rows(out), err

    return printed


@pytest.fixture(params=["9.0.8", "10.0"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Printed:
    """trec_eval itself: beside the real data, on the PATH, or where the environment says."""
    name = f"trec_eval-{request.param}"
    peers = Path(__file__).resolve().parents[3] / "shared" / "peers"
    folder = os.environ.get("CITEBED_PEERS", str(peers))
    program = shutil.which(name, path=os.pathsep.join((folder, os.environ.get("PATH", ""))))
    if program is None:
        pytest.skip(f"{name} is not here: set CITEBED_PEERS to its folder")

    def printed(qrels: str, run: str, *options: str) -> tuple[int, dict[tuple[str, str], str], str]:
        for file, text in (("y.qrels", qrels), ("y.run", run)):
            (tmp_path / file).write_text(text, "utf-8")
        command = [program, *options, str(tmp_path / "y.qrels"), str(tmp_path / "y.run")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"{name} does not run on this machine: {error.strerror}")
        return done.returncode, rows(done.stdout), request.param

    return printed


def rows(text: str) -> dict[tuple[str, str], str]:
    fields = [line.split("\t") for line in text.splitlines()]
    return {(measure.strip(), query): value for measure, query, value in fields}


def test_lines_of_missing_queries(ours: Printed) -> None:
    _, found, _ = ours(QRELS, RUN, "-c", "-q", "-m", "map")
    assert found["map", "q3"] == "0.0000"
    assert found["map", "all"] == "0.3333"


def test_lines_of_missing_queries_there(theirs: Printed) -> None:
    _, found, version = theirs(QRELS, RUN, "-c", "-q", "-m", "map")
    assert found.get(("map", "q3")) == (None if version == "9.0.8" else "0.0000")
    assert found["map", "all"] == "0.3333"


def test_relevant_documents_from_a_grade_on(ours: Printed) -> None:
    _, found, _ = ours(QRELS, RUN, "-c", "-l", "2")
    assert found["num_rel", "all"] == "2"


def test_relevant_documents_from_a_grade_on_there(theirs: Printed) -> None:
    _, found, _ = theirs(QRELS, RUN, "-c", "-l", "2")
    assert found["num_rel", "all"] == "5"


def test_the_line_runid(ours: Printed) -> None:
    _, found, _ = ours(QRELS, RUN, "-m", "map")
    assert found["runid", "all"] == "first"


def test_the_line_runid_there(theirs: Printed) -> None:
    assert ("runid", "all") not in theirs(QRELS, RUN, "-c", "-m", "map")[1]
    assert theirs(QRELS, RUN, "-c")[1]["runid", "all"] == "last"


def test_a_byte_order_mark(ours: Printed) -> None:
    assert ours(BOM + QRELS, BOM + RUN)[1]["num_ret", "all"] == "3"


def test_a_byte_order_mark_there(theirs: Printed) -> None:
    assert theirs(QRELS, BOM + RUN, "-c")[1]["num_ret", "all"] == "2"


def test_a_query_whose_name_starts_with_a_hash(ours: Printed) -> None:
    code, _, said = ours(QRELS, "# made by us\n" + RUN)
    assert code == 0
    code, _, said = ours(QRELS.replace("q1", "#1"), RUN.replace("q1", "#1"))
    assert code == 1
    assert "x.qrels:1: is this a remark, or has a query the name '#1'?" in said


def test_a_query_whose_name_starts_with_a_hash_there(theirs: Printed) -> None:
    run = RUN.replace("q1", "#1")
    _, found, version = theirs(QRELS.replace("q1", "#1"), run, "-c", "-q", "-m", "map")
    assert found["map", "#1"] == ("0.5000" if version == "9.0.8" else "0.0000")


def test_a_line_of_seven_fields(ours: Printed) -> None:
    code, _, said = ours(QRELS, RUN.replace("2 2 last", "2 2 last more"))
    assert code == 1
    assert "x.run:2: found 7 fields" in said


def test_a_line_of_seven_fields_there(theirs: Printed) -> None:
    code, found, _ = theirs(QRELS, RUN.replace("2 2 last", "2 2 last more"), "-c")
    assert code == 0
    assert found["num_ret", "all"] == "3"
