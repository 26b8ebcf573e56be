"""The verb robustness as a stranger types it: rows, tables, figure, messages; and its page."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import citebed
from citebed.cli import robustness
from citebed.cli.options import command
from citebed.errors import CitebedError

Invoke = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).resolve().parents[3] / "docs"
SMALL = ("-D", "10,20", "--theta", "0,1", "--rankings", "10", "--seed", "7")


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run the verb in an empty folder; gives code, output, errors."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("robustness")(command(robustness.robustness))

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, list(words))
        if isinstance(result.exception, CitebedError):
            return 1, result.stdout, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


def test_rows_of_means(invoke: Invoke) -> None:
    code, out, err = invoke("--measures", "AP,nDCG@R", *SMALL, "--json")
    rows = json.loads(out)
    assert code == 0
    assert len(rows) == 2 * 4 * 2
    assert list(rows[0]) == ["measure", "D", "R", "theta", "mean", "low", "high", "sd"]
    first = {"measure": "AP", "D": 10, "R": 5, "theta": 0.0, "mean": 1.0, "low": 1.0, "high": 1.0}
    assert rows[0] == {**first, "sd": 0.0}
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)
    assert "10 rankings of each size" in err


def test_rows_of_measures(invoke: Invoke) -> None:
    _, out, _ = invoke("-m", "AP,SetP", *SMALL, "--part", "measures", "--json")
    ap, setp = json.loads(out)
    assert ap["measure"] == "AP"
    assert ap["largest_move"] >= ap["mean_move"] > 0
    assert (setp["share"], setp["verdict"], setp["follows"]) == (None, "does not fall", False)


def test_a_table_and_words_for_people(invoke: Invoke) -> None:
    code, out, _ = invoke("-m", "nDCG,nDCG@R", *SMALL)
    assert code == 0
    assert out.startswith("measure  r with θ")
    assert "nDCG@R moves by up to" in out
    assert "It finds that AP and R-precision do, nDCG does with the cut-off R" in out
    assert "Not comparable" not in out
    assert "seed 7. Perturbation shuffle" in out


def test_the_means_as_a_table(invoke: Invoke) -> None:
    _, out, err = invoke("-m", "AP", *SMALL, "--part", "means", "--format", "markdown")
    assert out.startswith("| measure | D | R | θ=0 | θ=1 |\n")
    assert "| AP | 10 | 5 | 1.000 |" in out
    assert "10 rankings" in err


def test_the_figure_is_drawn(invoke: Invoke) -> None:
    code, out, _ = invoke("-m", "AP", *SMALL, "--plot", "robustness.svg")
    assert code == 0
    assert Path("robustness.svg").read_text("utf-8").startswith("<?xml")
    assert "Drawn: robustness.svg" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "nDGC"], "unknown measure 'nDGC'. Did you mean 'nDCG'?"),
        (["-m", "AUC:halved"], "unknown way to change AUC 'halved'"),
        (["--theta", "0,1.5"], "θ=1.5 is not from 0 (ideal) to 1"),
        (["--theta", "-0.5"], "θ=-0.5 is not from 0"),
        (["-D", "10", "-R", "20"], "D=10, R=20: of 10 documents from 1 to 10 can be relevant."),
        (["-D", "10", "-R", "D/3"], "'D/3' of 10 documents is not a whole number."),
        (["--rankings", "0"], "found 0 rankings of each kind"),
        (["--rankings", "-5"], "found -5 rankings of each kind"),
        (["-D", "1000100"], "rankings of 1 to 1,000,000 documents"),
        (["--perturbation", "swap"], "unknown perturbation 'swap'."),
        (["-R", "D", "--perturbation", "exchange"], "no more than half may be relevant"),
        (["--plot", "a.gif"], "unknown picture format 'gif'"),
        (["--plot", "none/a.svg"], "there is no folder 'none'"),
    ],
)
def test_bad_input_is_explained(invoke: Invoke, words: list[str], message: str) -> None:
    code, out, err = invoke(*(SMALL if "-D" not in words else SMALL[2:]), *words)
    assert (code, out) == (1, "")
    assert message in err
    assert list(Path().iterdir()) == []


# --- the page -------------------------------------------------------------------------------


def page_blocks() -> list[tuple[str, str]]:
    """Commands of the page with the output that follows each."""
    text = (DOCS / "robustness.md").read_text("utf-8")
    return re.findall(r"^```text\n\$ citebed robustness (.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)


def test_the_page_has_commands_with_their_output() -> None:
    assert len(page_blocks()) >= 3


@pytest.mark.parametrize(("command", "shown"), page_blocks()[1:], ids=lambda text: text[:60])
def test_the_page_shows_what_the_commands_print(invoke: Invoke, command: str, shown: str) -> None:
    code, out, _ = invoke(*shlex.split(command))
    assert code == 0
    assert shown.strip() in out


def test_the_page_shows_what_its_first_command_prints_and_draws(invoke: Invoke) -> None:
    command, shown = page_blocks()[0]
    code, out, _ = invoke(*shlex.split(command))
    assert code == 0
    assert shown.strip() in out
    drawn = Path("robustness.svg").read_text("utf-8")
    committed = (DOCS / "figures" / "robustness.svg").read_text("utf-8")
    texts = re.compile(r"<text[^>]*>([^<]+)</text>")
    assert texts.findall(drawn) == texts.findall(committed) != []


def test_the_page_says_what_an_empty_slice_scores() -> None:
    """Its table, row by row: what is returned, and every measure of it."""
    lines = (DOCS / "robustness.md").read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("| returned in a slice"))
    head, _, *rows = (line.strip("| ").split(" | ") for line in lines[at : at + 7])
    returned = ["abxy", "axby", "xyab", "x", ""]
    runs = {
        row[0]: {
            "q": {f"1704067200-{doc}": 9.0 - n for n, doc in enumerate(docs)},
            "other": {"1-z": 1.0},
        }
        for row, docs in zip(rows, returned, strict=True)
    }
    relevant = {"q": {"1704067200-a": 1, "1704067200-b": 1}}
    found = citebed.timeline(relevant, runs, measures=head[1:]).table
    for row in rows:
        values = [float(cell.replace("−", "-")) for cell in row[1:]]
        assert found.filter(run=row[0])["value"].to_list() == pytest.approx(values, abs=0.005), row
