"""The verb report as a stranger types it: the page, the figures, the messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import html
from typer.testing import CliRunner

from citebed.cli.evaluation import report
from citebed.cli.options import command
from citebed.collection import ImportOptions, import_sources
from citebed.errors import CitebedError

Invoke = Callable[..., tuple[int, str, str]]
QUICK = ("--samples", "100")


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run the verb in a folder with judgements and two runs; gives code, output, errors."""
    monkeypatch.chdir(tmp_path)
    Path("j.qrels").write_text("q1 0 a 1\nq2 0 c 1\n")
    Path("one.run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 c 1 2 t\n")
    Path("two.run").write_text("q1 Q0 a 1 2 t\nq2 Q0 d 1 2 t\nq2 Q0 c 2 1 t\n")
    app = typer.Typer()
    app.command("report")(command(report))

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [*words, *QUICK])
        if isinstance(result.exception, CitebedError):
            return 1, result.stdout, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


FILES = ("j.qrels", "one.run", "two.run")


def page(name: str = "report.html") -> html.HtmlElement:
    return html.document_fromstring(Path(name).read_text("utf-8"))


def data(name: str = "report.html") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page(name).xpath("string(//script[@id='query-data'])"))
    return found


def test_a_page_is_written_and_said(invoke: Invoke) -> None:
    code, out, _ = invoke(*FILES)
    assert code == 0
    assert out.startswith("report.html: 2 runs, 2 judged queries, ")
    assert page().findtext(".//h1/bdi") == "j: 2 runs"


def test_the_command_is_there_with_names_of_files_only(invoke: Invoke, tmp_path: Path) -> None:
    words = [str(tmp_path / name) for name in FILES]
    invoke(*words, "-m", "RR", "--baseline", "two", "--correct", "holm", "-o", "x.html")
    assert str(tmp_path) not in Path("x.html").read_text("utf-8")
    assert page("x.html").findtext(".//pre/code") == (
        "citebed report j.qrels one.run two.run --output x.html --baseline two --correct holm "
        "--samples 100 --measure RR"
    )


def test_the_first_run_is_the_baseline_unless_one_is_named(invoke: Invoke) -> None:
    invoke(*FILES)
    assert data()["base"] == 0
    invoke(*FILES, "--baseline", "two.run")
    assert data()["base"] == 1
    assert "compared with two," in page().xpath("string(//section[@id='comparison']//caption)")


def test_an_unknown_baseline_is_reported_and_nothing_is_written(invoke: Invoke) -> None:
    code, _, err = invoke(*FILES, "--baseline", "twoo")
    assert code == 1
    assert "Did you mean 'two'?" in err
    assert not Path("report.html").exists()


def test_all_pairs_are_tested_by_tukey(invoke: Invoke) -> None:
    code, _, _ = invoke(*FILES, "--correct", "tukey")
    assert code == 0
    code, _, err = invoke(*FILES, "--correct", "tukey", "--baseline", "one")
    assert (code, "all pairs" in err) == (1, True)


def test_one_run_is_enough(invoke: Invoke) -> None:
    code, out, _ = invoke("j.qrels", "one.run")
    assert (code, out[:19]) == (0, "report.html: 1 run,")
    assert not page().xpath("//section[@id='comparison']")


def test_texts_come_from_a_file(invoke: Invoke) -> None:
    Path("q.jsonl").write_text('{"query_id": "q1", "text": "ranking"}\n{"query_id": "q2"}\n')
    invoke(*FILES, "--queries", "q.jsonl")
    assert {query["id"]: query["text"] for query in data()["queries"]} == {
        "q1": "ranking",
        "q2": "",
    }


def test_texts_and_titles_come_from_the_collection_around_the_judgements(invoke: Invoke) -> None:
    Path("a.bib").write_text("@article{a, title={Of Ranking}, year=2001}\n")
    import_sources(Path("col"), [Path("a.bib")], ImportOptions(name="col"))
    for folder in ("qrels", "queries"):
        Path("col", folder).mkdir(exist_ok=True)
    Path("j.qrels").rename("col/qrels/mine.qrels")
    Path("col/queries/mine.jsonl").write_text('{"query_id": "q1", "text": "ranking"}\n')
    invoke("col/qrels/mine.qrels", "one.run", "two.run")
    found = data()
    assert found["titles"][found["documents"].index("a")] == "Of Ranking"
    assert "ranking" in [query["text"] for query in found["queries"]]


def test_titles_come_from_a_collection_that_is_named(invoke: Invoke) -> None:
    Path("a.bib").write_text("@article{a, title={Of Ranking}, year=2001}\n")
    import_sources(Path("col"), [Path("a.bib")], ImportOptions(name="col"))
    invoke(*FILES, "--collection", "col")
    assert "Of Ranking" in data()["titles"]
    code, _, err = invoke(*FILES, "--collection", "elsewhere")
    assert (code, "elsewhere" in err) == (1, True)


def test_queries_can_be_drawn_by_cluster(invoke: Invoke) -> None:
    Path("q.jsonl").write_text(
        '{"query_id": "q1", "paper_id": "p1"}\n{"query_id": "q2", "paper_id": "p2"}\n'
    )
    code, _, _ = invoke(*FILES, "--queries", "q.jsonl", "--cluster", "paper")
    assert code == 0
    assert "whole clusters" in page().xpath("string(//section[@id='scores'])")


def test_figures_are_written_and_the_same_twice(invoke: Invoke) -> None:
    code, out, _ = invoke(*FILES, "-m", "RR", "--figures", "one/figures")
    assert (code, "one/figures: 2 figures" in out) == (0, True)
    invoke(*FILES, "-m", "RR", "--figures", "two")
    first = {path.name: path.read_bytes() for path in Path("one/figures").iterdir()}
    assert sorted(first) == ["differences_RR_two-one.svg", "intervals_RR.svg"]
    assert first == {path.name: path.read_bytes() for path in Path("two").iterdir()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "one.run"), "is also an input file"),
        (("-o", "nowhere/x.html"), "the folder 'nowhere' does not exist"),
        (("-o", "."), "is a folder"),
        (("-o", "three.run"), "Name a file that ends in .html"),
        (("--test", "f"), "unknown test 'f'"),
        (("-m", "nDGC"), "nDGC"),
        (("--figures", "one.run"), "is a file"),
    ],
)
def test_what_cannot_be_done_is_reported(invoke: Invoke, words: tuple[str, ...], said: str) -> None:
    before = sorted(Path().iterdir())
    code, _, err = invoke(*FILES, *words)
    assert (code, said in err) == (1, True), err
    assert sorted(Path().iterdir()) == before
    assert Path("one.run").read_text().startswith("q1 Q0 b")


def test_an_older_page_stays_when_making_a_new_one_fails(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("report.html").write_text("old")
    Path("two.run").write_text("q1 Q0 a 1 oops t\n")
    assert invoke(*FILES)[0] == 1
    assert Path("report.html").read_text() == "old"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    Path("two.run").write_text("q1 Q0 a 1 1 t\n")
    monkeypatch.setattr(Path, "replace", full)
    before = sorted(Path().iterdir())
    code, _, err = invoke(*FILES)
    assert (code, err) == (1, "cannot write report.html: No space left on device")
    assert Path("report.html").read_text() == "old"
    assert sorted(Path().iterdir()) == before


def test_runs_of_one_name_are_distinguished(invoke: Invoke) -> None:
    Path("one.txt").write_text(Path("two.run").read_text())
    assert invoke("j.qrels", "one.run", "one.txt", "--baseline", "one.txt")[0] == 0
    assert data()["base"] == 1
    assert "compared with one.txt," in page().xpath("string(//section[@id='comparison']//caption)")
