"""The verbs contrast and pool-bias as a stranger types them: rows, tables, plots, messages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import typer
from matplotlib.figure import Figure
from typer.testing import CliRunner

from citebed.cli import contrast
from citebed.cli.app import split_pairs
from citebed.cli.options import command
from citebed.errors import CitebedError

Invoke = Callable[..., tuple[int, str, str]]


def write_run(path: Path, rankings: Mapping[str, Sequence[str]]) -> None:
    lines = [
        f"{query} Q0 {document} {rank} {-rank} tag\n"
        for query, documents in rankings.items()
        for rank, document in enumerate(documents, 1)
    ]
    path.write_text("".join(lines))


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a verb in a folder with judgements and two runs; gives code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("j1.qrels").write_text("q1 0 a 1\nq2 0 x 1\nold 0 a 1\n")
    Path("j12.qrels").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 x 1\nq2 0 y 1\nq2 0 n 0\n")
    write_run(Path("one.run"), {"q1": "acb", "q2": "y"})
    write_run(Path("two.run"), {"q1": "cab", "q2": "nx"})
    app = typer.Typer()
    app.command("contrast")(command(contrast.contrast))
    app.command("pool-bias")(command(contrast.pool_bias))

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, split_pairs(words))
        if isinstance(result.exception, CitebedError):
            return 1, result.stdout, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


CONTRAST = ("contrast", "j1.qrels", "j12.qrels", "one.run", "two.run")
BIAS = ("pool-bias", "j12.qrels", "one.run", "two.run")


def test_changes_as_rows(invoke: Invoke) -> None:
    code, out, _ = invoke(*CONTRAST, "-m", "AP", "--part", "changes", "--json")
    first, second = json.loads(out)
    assert code == 0
    # AP 1 and 0, then (1 + 2/3)/2 and 1/2; of the second run 1/2 and 1/2, then (1/2 + 2/3)/2
    # and (1/2)/2.
    assert first == {
        "run": "one", "measure": "AP", "queries": 2, "before": 0.5,
        "after": pytest.approx(2 / 3), "change": pytest.approx(1 / 6),
        "rose": 1, "same": 0, "fell": 1,
    }  # fmt: skip
    assert (second["before"], second["after"]) == pytest.approx((1 / 2, (7 / 12 + 1 / 4) / 2))


def test_all_rows_carry_the_name_of_their_part(invoke: Invoke) -> None:
    _, out, _ = invoke(*CONTRAST, "-m", "AP", "-m", "GMAP", "--json")
    rows = json.loads(out)
    parts = list(dict.fromkeys(row["part"] for row in rows))
    assert parts == ["judgements", "summary", "changes", "correlations", "conclusions", "movers"]
    assert all(not isinstance(value, dict | list) for row in rows for value in row.values())
    moved = {(r["run"], r["query_id"], r["move"]) for r in rows if r["part"] == "movers"}
    assert moved == {
        ("one", "q1", "from best"),
        ("one", "q2", "from 0"),
        ("two", "q1", "rose"),
        ("two", "q2", "fell"),
    }


def test_queries_as_csv(invoke: Invoke) -> None:
    _, out, err = invoke(*CONTRAST, "-m", "P@1", "--part", "queries", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["run"], r["query_id"], r["before"], r["after"]) for r in rows] == [
        ("one", "q1", "1.0", "1.0"),
        ("one", "q2", "0.0", "1.0"),
        ("two", "q1", "0.0", "0.0"),
        ("two", "q2", "0.0", "0.0"),
    ]
    assert "1 query is judged in j1 alone" in err


def test_the_measures_of_the_study_are_the_default(invoke: Invoke) -> None:
    _, out, _ = invoke(*CONTRAST, "--part", "changes", "--json")
    measures = list(dict.fromkeys(row["measure"] for row in json.loads(out)))
    assert measures == ["AP", "P@5", "Rprec", "GMAP", "Bpref"]


def test_tables_for_people(invoke: Invoke) -> None:
    code, out, _ = invoke(*CONTRAST, "-m", "AP", "--full")
    assert code == 0
    assert "0.5000 → 0.6667 +0.1667" in out
    assert "Correlations of j1 with j12" in out
    assert "--full" not in out
    assert "AP: 1 query fell from the best value (in runs): q1 (1)" in out
    assert "note: 1 query is judged in j1 alone and left out: old" in out
    assert "2 queries judged in both sets; 2 runs" in out


@pytest.fixture
def blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but nothing is drawn: only which ones there are is looked at."""
    monkeypatch.setattr(Figure, "savefig", lambda _, file, **__: file.write(b"<svg/>"))


@pytest.fixture
def eight(invoke: Invoke) -> tuple[str, ...]:  # noqa: ARG001 - the files go into its folder
    """Return eight runs over twenty queries; half have further judgements in the second set."""
    queries = [f"q{n:02}" for n in range(20)]
    for name, more in (("j1", ""), ("j12", "bd")):
        lines = [
            f"{query} 0 {doc} 1\n"
            for n, query in enumerate(queries)
            for doc in "a" + more * (n % 2)
        ]
        Path(f"{name}.qrels").write_text("".join(lines))
    for at in range(8):
        orders = {
            query: "abcdefgh"[n * at % 8 :] + "xab"[: n % 4] for n, query in enumerate(queries)
        }
        rankings = {query: "".join(dict.fromkeys(order)) for query, order in orders.items()}
        write_run(Path(f"run{at}.run"), rankings)
    return ("contrast", "j1.qrels", "j12.qrels", *(f"run{at}.run" for at in range(8)))


@pytest.mark.usefixtures("blank")
def test_eight_runs_fit_on_a_screen_and_the_rest_is_on_request(
    invoke: Invoke, eight: tuple[str, ...]
) -> None:
    code, out, _ = invoke(*eight, "--plots", "figures")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) <= 40
    assert max(len(line) for line in lines if not line.startswith("note:")) <= 110
    assert "In short, from j1 to j12" in out
    assert lines[-1].startswith("--full prints the rest")
    files = {path.stem for path in Path("figures").iterdir()}
    assert len(files) <= 3
    assert "systems" in files
    _, full, _ = invoke(*eight, "--full", "--plots", "all")
    assert len(full.splitlines()) > 60
    assert len({path.stem for path in Path("all").iterdir()}) == 8 * (4 + 1) + 1


def test_rows_for_programs_have_everything_without_asking(
    invoke: Invoke, eight: tuple[str, ...]
) -> None:
    short, full = (json.loads(invoke(*eight, "--json", *more)[1]) for more in ((), ("--full",)))
    assert short == full
    assert len([row for row in short if row["part"] == "conclusions"]) == 5 * 28
    assert {"shift", "shift_p"} <= short[-1].keys() | {k for row in short for k in row}


@pytest.mark.usefixtures("blank")
def test_the_runs_that_are_drawn_are_those_asked_for(
    invoke: Invoke, eight: tuple[str, ...]
) -> None:
    words = ("-m", "AP", "--plots", "f", "--draw", "run3", "--draw", "run5")
    assert invoke(*eight, *words)[0] == 0
    assert {path.stem for path in Path("f").iterdir()} == {"run3", "run5", "systems"}
    code, _, err = invoke(*eight, "--plots", "g", "--draw", "run9")
    assert (code, Path("g").exists()) == (1, False)
    assert "unknown run to plot 'run9'" in err


def test_pool_bias_lists_few_doubts_unless_asked(invoke: Invoke, eight: tuple[str, ...]) -> None:
    words = ("pool-bias", *eight[2:], "--depth", "3")
    _, short, _ = invoke(*words)
    _, full, _ = invoke(*words, "--full")
    assert len(full.splitlines()) > len(short.splitlines())
    assert "would" not in short
    assert json.loads(invoke(*words, "--json")[1]) == json.loads(
        invoke(*words, "--json", "--full")[1]
    )


@pytest.mark.parametrize(("style", "mark"), [("markdown", "| one |"), ("latex", r"\toprule")])
def test_tables_for_papers_are_alone_on_standard_output(
    invoke: Invoke, style: str, mark: str
) -> None:
    _, out, err = invoke(*CONTRAST, "-m", "AP", "--part", "changes", "--format", style)
    assert mark in out
    assert "judged in both sets" not in out
    assert "judged in both sets" in err


@pytest.mark.usefixtures("blank")
def test_plots(invoke: Invoke) -> None:
    measures = ("-m", "AP", "-m", "P@5", "-m", "GMAP")
    words = ("--plots", "figures", "--pair", "one,two", "--full")
    code, out, _ = invoke(*CONTRAST, *measures, *words)
    assert code == 0
    stems = ["one-two", "one", "one_AP", "one_P@5", "systems", "two", "two_AP", "two_P@5"]
    files = sorted(path.name for path in Path("figures").iterdir())
    assert files == sorted(f"{stem}.{end}" for stem in stems for end in ("svg", "png"))
    assert "16 figure files in figures" in out
    assert "GMAP has no scores of its own" in out


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("pair", [("one,two",), ("one", "two"), ("one.run", "./two.run")])
def test_a_pair_is_written_in_two_ways(invoke: Invoke, pair: tuple[str, ...]) -> None:
    code, _, err = invoke(
        *CONTRAST, "-m", "AP", "--plots", "f", "--draw", "one.run", "--pair", *pair
    )
    assert code == 0, err
    assert {path.stem for path in Path("f").iterdir()} == {"one", "one-two", "systems"}


def test_pool_bias_as_rows(invoke: Invoke) -> None:
    code, out, _ = invoke(*BIAS, "-m", "P@1", "--depth", "1", "--part", "falls", "--json")
    assert code == 0
    # Only the first run has a on top for q1, and y for q2; only the second has n for q2.
    assert [(r["run"], r["unique"], r["unique_relevant"], r["before"], r["after"]) for r in
            json.loads(out)] == [("one", 2, 2, 1.0, 0.0), ("two", 1, 0, 0.0, 0.0)]  # fmt: skip


def test_pool_bias_for_people(invoke: Invoke) -> None:
    Path("teams.txt").write_text("one us\ntwo us\n")
    code, out, _ = invoke(*BIAS, "-m", "P@1", "--teams", "teams.txt", "--depth", "1")
    assert code == 0
    assert "us" in out
    assert "5 judgements; 2 are of documents that no run has in its first 1" in out


def test_cutoffs_of_unjudged_documents(invoke: Invoke) -> None:
    _, out, _ = invoke(*BIAS, "-m", "P@1", "--cutoff", "2", "--part", "unjudged", "--json")
    # Of "acb" c is not judged, and y is all there is: 1 of 3. Of "cab" and "nx" 1 of 4.
    assert [(row["cutoff"], row["before"]) for row in json.loads(out)] == [
        (2, pytest.approx(1 / 3)),
        (2, 1 / 4),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*CONTRAST, "-m", "nDGC@10"), "unknown measure 'nDGC'"),
        ((*CONTRAST, "--test", "z"), "unknown test 'z'"),
        ((*CONTRAST, "one.run"), "the file 'one.run' is given twice"),
        ((*CONTRAST, "--plots", "j1.qrels"), "is a file; name a folder"),
        ((*CONTRAST, "--plots", "f", "--pair", "one,three"), "unknown run to plot 'three'"),
        ((*CONTRAST, "--plots", "f", "--pair", "one", "one.run"), "names 'one' twice"),
        ((*CONTRAST, "--plots", "f", "--draw", "tow"), "Did you mean 'two'?"),
        ((*CONTRAST, "--pair", "one,two"), "--pair needs --plots"),
        ((*CONTRAST, "--draw", "one"), "--draw needs --plots"),
        ((*BIAS, "--correct", "tukey"), "Correct with holm"),
        (("pool-bias", "j12.qrels", "one.run"), "found one run"),
    ],
)
def test_what_a_user_can_fix_is_said(invoke: Invoke, words: tuple[str, ...], message: str) -> None:
    code, out, err = invoke(*words)
    assert (code > 0, out) == (True, "")
    assert message in err


@pytest.mark.parametrize("verb", [CONTRAST, BIAS])
def test_one_way_to_print(invoke: Invoke, verb: tuple[str, ...]) -> None:
    code, out, err = invoke(*verb, "--csv", "--format", "markdown")
    assert (code, out) == (1, "")
    assert "--csv and --format markdown were given. Choose one." in err
    assert invoke(*verb, "--csv", "--format", "csv")[0] == 0


def test_files_of_one_name_are_distinguished(invoke: Invoke) -> None:
    for folder in ("old", "new"):
        Path(folder).mkdir()
        write_run(Path(folder, "one.run"), {"q1": "acb", "q2": "y"})
    Path("old/j.qrels").write_text(Path("j1.qrels").read_text())
    Path("new/j.qrels").write_text(Path("j12.qrels").read_text())
    runs = ("old/one.run", "new/one.run")
    words = ("contrast", "old/j.qrels", "new/j.qrels", *runs, "-m", "AP", "--json")
    rows = json.loads(invoke(*words)[1])
    assert [row["judgements"] for row in rows if row["part"] == "judgements"] == ["old/j", "new/j"]
    assert [row["run"] for row in rows if row["part"] == "changes"] == ["old/one", "new/one"]
    rows = json.loads(invoke("pool-bias", "j12.qrels", *runs, "--part", "falls", "--json")[1])
    assert {row["run"] for row in rows} == {"old/one", "new/one"}


def test_no_difference_has_no_sign_of_a_loss(invoke: Invoke) -> None:
    """Nor has what rounding leaves of it: 0.4 + 0.6 + 0.2 is less than 0.2 + 0.4 + 0.6."""
    lines = [f"q{at} 0 a 1\nq{at} 0 b 1\nq{at} 0 c 1\n" for at in range(3)]
    for name in ("k1.qrels", "k12.qrels"):
        Path(name).write_text("".join(lines))
    write_run(Path("x.run"), {"q0": "a", "q1": "ab", "q2": "abc"})
    write_run(Path("y.run"), {"q0": "ab", "q1": "abc", "q2": "a"})
    _, out, _ = invoke(
        "contrast", "k1.qrels", "k12.qrels", "x.run", "y.run", "-m", "P@5", "--part", "conclusions"
    )
    assert "P@5" in out
    assert "-0.0000" not in out


def test_a_page_has_all_of_it_and_replaces_no_data(invoke: Invoke) -> None:
    code, out, _ = invoke(*CONTRAST, "-m", "AP", "--report", "page.html")
    assert code == 0
    assert "page.html: 0." in out
    page = Path("page.html").read_text("utf-8")
    for heading in ("The two sets", "What changes", "Is the order the same?", "Notes"):
        assert f"<h2>{heading}</h2>" in page
    assert "citebed contrast j1.qrels j12.qrels one.run two.run" in page
    assert page.count("<svg") >= 2
    assert "<script src" not in page
    code, _, err = invoke(*CONTRAST, "--report", "one.run")
    assert code == 1
    assert "is also an input file" in err
