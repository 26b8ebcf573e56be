"""Differences between citebed and trec_eval, as docs/trec_eval.md lists them."""

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


@pytest.fixture
def program() -> Callable[[str], str]:
    """trec_eval itself: beside the real data, on the PATH, or where the environment says."""

    def find(version: str) -> str:
        name = f"trec_eval-{version}"
        peers = Path(__file__).resolve().parents[3] / "shared" / "peers"
        folder = os.environ.get("CITEBED_PEERS", str(peers))
        path = shutil.which(name, path=os.pathsep.join((folder, os.environ.get("PATH", ""))))
        if path is None:
            pytest.skip(f"{name} is not here: set CITEBED_PEERS to its folder")
        return path

    return find


@pytest.fixture(params=["9.0.8", "10.0"])
def theirs(
    request: pytest.FixtureRequest, tmp_path: Path, program: Callable[[str], str]
) -> Printed:
    """Return the output of a version of trec_eval."""
    path = program(request.param)

    def printed(qrels: str, run: str, *options: str) -> tuple[int, dict[tuple[str, str], str], str]:
        for file, text in (("y.qrels", qrels), ("y.run", run)):
            (tmp_path / file).write_text(text, "utf-8")
        command = [path, *options, str(tmp_path / "y.qrels"), str(tmp_path / "y.run")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"{path} does not run on this machine: {error.strerror}")
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
    assert "x.qrels:1: is this a comment, or does a query have the id '#1'?" in said


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


NEAR = "q1 Q0 a 1 16777217.0 x\nq1 Q0 c 2 16777216.5 x\nq2 Q0 d 1 1 x\nq3 Q0 f 1 1 x\n"


def test_scores_that_are_ties_in_32_bits(ours: Printed) -> None:
    """The ledger says what trec_eval 9.0.8 would print."""
    _, found, said = ours(QRELS, NEAR, "-m", "map", "-m", "P.1")
    assert found["map", "all"] == "0.6667"
    assert "AP for 1 query, the mean from 0.6667 to 0.5833 (-0.0833)" in said
    assert "P@1 for 1 query, the mean from 1.0000 to 0.6667 (-0.3333)" in said
    _, found, said = ours(QRELS, NEAR, "-m", "map", "--scores", "float")
    assert found["map", "all"] == "0.5833"
    assert "32 bits" not in said
    # In 32 bits a and b are a tie as well, and their order is the same.
    _, _, said = ours(QRELS, NEAR.replace(" a ", " x ").replace(" c ", " a "), "-m", "map")
    assert "32 bits" not in said


def test_scores_that_are_ties_in_32_bits_there(theirs: Printed) -> None:
    _, found, version = theirs(QRELS, NEAR, "-m", "map")
    assert found["map", "all"] == ("0.5833" if version == "9.0.8" else "0.6667")


# --- odd inputs: what each program and ours do --------------------------------------------------

JUDGED = "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 d 1\n"
RETRIEVED = "q1 Q0 a 1 3 t\nq1 Q0 c 2 2 t\nq1 Q0 b 3 1 t\nq2 Q0 d 1 1 t\n"
ODD: dict[str, tuple[str, str, str, tuple[int, int, int]]] = {
    # judgements, run, options; the exit codes of 9.0.8, of 10.0 and ours
    "remark in judgements": ("# made\n" + JUDGED, RETRIEVED, "", (2, 0, 0)),
    "blank line in judgements": (JUDGED + "\n", RETRIEVED, "", (2, 2, 0)),
    "blank line in a run": (JUDGED, RETRIEVED + "\n", "", (0, 0, 0)),
    "infinite score": (JUDGED, RETRIEVED.replace("1 3 t", "1 inf t"), "", (0, 0, 1)),
    "nan score": (JUDGED, RETRIEVED.replace("1 3 t", "1 nan t"), "", (0, 0, 1)),
    "hexadecimal score": (JUDGED, RETRIEVED.replace("1 3 t", "1 0x10 t"), "", (0, 0, 1)),
    "Latin-1 id": (JUDGED.replace(" a ", " é "), RETRIEVED.replace(" a ", " é "), "", (0, 0, 1)),
    "Latin-1 tag": (JUDGED, RETRIEVED.replace(" t\n", " é\n"), "-m map", (0, 0, 0)),
    "grade beyond 32 bits": (JUDGED.replace("d 1", "d 99999999999"), RETRIEVED, "", (4, 4, 1)),
    "returns": (JUDGED.replace("\n", "\r\n"), RETRIEVED.replace("\n", "\r\n"), "", (0, 0, 0)),
    "set_F.0": (JUDGED, RETRIEVED, "-m set_F.0", (0, 0, 0)),
    "set_F.-1": (JUDGED, RETRIEVED, "-m set_F.-1", (0, 0, 1)),
    "negative -N": (JUDGED, RETRIEVED, "-N -5 -m utility", (0, 0, 0)),
    "overflowing -N": (JUDGED, RETRIEVED, "-N 99999999999999999999 -m map", (0, 0, 0)),
    "overflowing -M": (JUDGED, RETRIEVED, "-M 99999999999999999999 -m map", (0, 0, 0)),
    "-M 0": (JUDGED, RETRIEVED, "-M 0 -m map", (0, 0, 0)),
    "empty -Z": (JUDGED, RETRIEVED, "-Z empty -m map", (255, 255, 1)),
    "empty run": (JUDGED, "", "", (2, 2, 1)),
    "unknown measure": (JUDGED, RETRIEVED, "-m nosuch", (1, 1, 1)),
    "version": (JUDGED, RETRIEVED, "-v", (0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("version", ["9.0.8", "10.0"])
def test_odd_inputs(
    name: str, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str],
) -> None:  # fmt: skip
    """The same lines and exit codes, except for what docs/trec_eval.md lists."""
    qrels, run, options, (of_9, of_10, of_ours) = ODD[name]
    monkeypatch.chdir(tmp_path)
    encoding = "latin-1" if name.startswith("Latin-1") else "utf-8"
    Path("q").write_text(qrels, encoding, newline="")
    Path("r").write_text(run, encoding, newline="")
    Path("empty").touch()
    command = [program(version), *options.split(), "q", "r"]
    theirs = subprocess.run(command, capture_output=True, check=False)
    code = main(["trec_eval", "--as-version", version, *options.split(), "q", "r"])
    out, err = capsys.readouterr()
    assert theirs.returncode == (of_9 if version == "9.0.8" else of_10)
    assert code == of_ours
    assert (err != "") == (code != 0 or name == "version")
    if theirs.returncode == code == 0:
        assert out == theirs.stdout.decode(encoding)
