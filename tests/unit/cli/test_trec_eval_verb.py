"""``citebed trec_eval`` as scripts call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from citebed.cli.app import main

QRELS = "q1 0 a 2\nq1 0 b 1\nq2 0 d 1\n"
RUN = "q1 Q0 c 1 3 first\nq1 Q0 b 2 2 first\nq2 Q0 d 1 2 last tag\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    return [str(tmp_path / "x.qrels"), str(tmp_path / "x.run")]


def test_the_tag_is_the_last_and_fields_behind_it_are_passed_over(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trec_eval", "-m", "runid", "-m", "num_ret", *files]) == 0
    expected = "runid                 \tall\tlast\nnum_ret               \tall\t3\n"
    assert capsys.readouterr().out == expected


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trec_eval", "-v"]) == 0
    assert main(["trec_eval", "--as-version", "10.0", "--version"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "trec_eval version 9.0.8\ntrec_eval version 10.0\n")
    assert main(["trec_eval", "-h"]) == 0
    assert "--as-version 9.0.8|10.0" in capsys.readouterr().out


def test_what_is_refused_prints_nothing_and_exits_1(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = (["-m", "mpa"], ["-Z", "nofile"], ["-R", "qrels_jg"], ["-m", "prefs"], ["-l", "-1"])
    for words in refused:
        assert main(["trec_eval", *words, *files]) == 1
        out, err = capsys.readouterr()
        assert not out
        assert err.startswith("citebed: ")


def test_words_reach_the_program_as_typed(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trec_eval", "--", "-q", *files]) == 1  # three files
    assert "expected 2 files, found 3" in capsys.readouterr().err
    assert main(["trec_eval", "--help", "nofile"]) == 0
    assert "--as-version" in capsys.readouterr().out


def test_parameters_of_several_measures_are_passed_over(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trec_eval", "-m", "official", *files]) == 0
    expected = capsys.readouterr().out
    assert main(["trec_eval", "-m", "official.3", *files]) == 0
    assert capsys.readouterr().out == expected
    assert main(["trec_eval", "-m", "official.", *files]) == 1


def test_numbers_beyond_64_bits(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for number, expected in (("-" + 20 * "9", 2.0**63), (20 * "9", 2.0**63)):
        assert main(["trec_eval", "-N", number, "-m", "utility.0,0,0,1", *files]) == 0
        assert float(capsys.readouterr().out.split()[-1]) == expected
    for wrong in ("set_F.1e999", "utility.inf,0,0,0"):
        assert main(["trec_eval", "-m", wrong, *files]) == 1
        assert "is not a number" in capsys.readouterr().err


def test_a_query_that_the_run_lacks(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with Path(files[0]).open("a") as qrels:
        qrels.write("q3 0 x 1\n")
    assert main(["trec_eval", "--as-version", "10.0", "-m", "map", *files]) == 1
    assert "the query 'q3' is judged but not in the run" in capsys.readouterr().err
    assert main(["trec_eval", "--as-version", "10.0", "-cqn", "-m", "map", *files]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "map                   \tq3\t0.0000"


@pytest.mark.skipif(sys.platform == "win32", reason="/dev/stdin")
def test_version_10_reads_a_run_from_standard_input(files: list[str]) -> None:
    command = [sys.executable, "-c", "from citebed.cli import run; run()", "trec_eval"]
    given = [*command, "--as-version", "10.0", "-m", "map", files[0], "-"]
    done = subprocess.run(given, input=RUN, capture_output=True, text=True, check=False)
    assert done.stdout == "map                   \tall\t0.6250\n"
