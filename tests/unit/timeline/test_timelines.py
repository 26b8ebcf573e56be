"""``citebed.timeline(...)``: one call, whatever judgements and runs are given as."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError, UnknownName
from citebed.runs.reader import as_qrels, as_run
from citebed.timeline.scoring.official import official_timeline
from citebed.timeline.timelines import timeline

DAY, START = 86_400, 1_317_945_600  # 2011-10-07T00:00:00Z

# The case that docs/timeline.md works out.
JUDGED = [("q", "a", 0, 1), ("q", "b", 0, 1), ("q", "c", 0, 0), ("q", "d", 8, 1), ("r", "e", 9, 1),
          ("r", "f", 22, 1)]  # fmt: skip
FOUND = [("q", "a", 0, 900.0), ("q", "c", 0, 800.0), ("q", "b", 0, 700.0), ("q", "x", 8, 600.0),
         ("q", "d", 8, 500.0), ("q", "y", 15, 950.0), ("r", "e", 9, 100.0)]  # fmt: skip


def frame(rows: list[tuple[str, str, int, Any]], value: str) -> pl.DataFrame:
    found = [(query, doc, START + day * DAY + 60, number) for query, doc, day, number in rows]
    return pl.DataFrame(found, schema=["query_id", "doc_id", "time", value], orient="row")


QRELS, RUN = frame(JUDGED, "relevance"), frame(FOUND, "score")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = pl.format("{}-{}", "time", "doc_id")
    qrels = QRELS.select(line=pl.format("{} 0 {} {}", "query_id", named, "relevance"))
    Path("t.qrels").write_text("\n".join(qrels["line"]) + "\n")
    run = RUN.select(line=pl.format("{} Q0 {} 1 {} me", "query_id", named, "score"))
    for name in ("me.run", "too.run"):
        Path(name).write_text("\n".join(run["line"]) + "\n")


def values(of: pl.DataFrame) -> list[float]:
    return [round(value, 4) for value in of["value"]]


def test_the_worked_case_from_tables() -> None:
    found = timeline(QRELS, RUN, slices="7d", weight=["uniform", "burst"], measures=["AP"])
    assert values(found.table) == [0.5833, 0.6111]
    assert found.table["weight"].to_list() == ["uniform", "burst"]
    assert values(found.slices) == [0.8333, 0.75, 0.0]
    assert values(found.queries) == [0.6667, 0.5, 0.7222, 0.5]
    assert found.slice_queries.height == 4
    # The last slice has two days of seven: from the middle of the first to its own are 18.5 days.
    assert found.trends.select("run", "measure", "slices", "unit", "slope", "p").row(0) == (
        "run", "AP", 3, "week", pytest.approx(-5 / 6 / (18.5 / 7)), pytest.approx(0.2963, abs=1e-4)
    )  # fmt: skip


@pytest.mark.usefixtures("files")
def test_it_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = citebed.timeline("t.qrels", ["me.run", Path("too.run")], measures=["AP"])
    for options, table in (([], found.table), (["--trend"], found.trends)):
        assert (
            main(["timeline", "t.qrels", "me.run", "too.run", "-m", "AP", "--json", *options]) == 0
        )
        assert json.loads(capsys.readouterr().out) == table.to_dicts()


@pytest.mark.usefixtures("files")
def test_runs_are_named_by_file_by_key_or_by_number() -> None:
    def names(runs: Any) -> list[str]:
        return timeline("t.qrels", runs, measures=["AP"]).table["run"].to_list()

    assert names("me.run") == ["me"]
    assert names(["me.run", RUN, RUN]) == ["me", "run2", "run3"]
    assert names({"one": "me.run", "two": RUN}) == ["one", "two"]
    nested = {"q": {f"{START + 60}-a": 2.0}}
    assert names(nested) == ["run"]
    assert names({"one": nested, "two": nested}) == ["one", "two"]
    with pytest.raises(CitebedError, match="is given twice"):
        names(["me.run", "me.run"])
    with pytest.raises(CitebedError, match="no runs were given"):
        names([])


def test_one_measure_and_values_of_the_house_are_taken_as_they_are() -> None:
    qrels = as_qrels({"q": {f"{START}-a": 1}}, "mine")
    runs = [as_run({"q": {f"{START}-a": 2.0}}, "one"), as_run({"q": {f"{START}-b": 1.0}}, "two")]
    found = timeline(qrels, runs, measures="AP")
    assert found.table.select("run", "measure", "value").rows() == [
        ("one", "AP", 1.0), ("two", "AP", 0.0),
    ]  # fmt: skip
    assert found.pairs.qrels.name == "mine"


def test_times_may_be_a_table_of_any_whole_numbers() -> None:
    times = pl.concat([QRELS, RUN], how="diagonal").select("doc_id", pl.col("time").cast(pl.Int32))
    plain = timeline(QRELS.drop("time"), RUN.drop("time"), times=times.unique(), measures=["AP"])
    assert values(plain.table) == [0.5833]


def test_it_prints_as_a_table_and_renders_as_html() -> None:
    found = timeline(QRELS, {"<b>me": RUN}, weight=["uniform", "burst"], measures=["AP"])
    assert [word in repr(found) for word in ("AP, uniform", "0.5833", "0.6111")] == [True] * 3
    assert "0.6111" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_what_is_wrong_is_reported_before_a_run_is_read() -> None:
    broken = pl.DataFrame({"query_id": ["q"], "doc_id": ["no time"], "score": [1.0]})
    with pytest.raises(UnknownName, match="weighting"):
        timeline(QRELS, broken, weight="even")
    with pytest.raises(UnknownName, match="query with relevant documents"):
        timeline(QRELS, broken, focus="nobody")
    with pytest.raises(UnknownName, match="measure"):
        timeline(QRELS, broken, measures=["nothing"])


def test_the_official_scores() -> None:
    found = official_timeline(QRELS, {"me": RUN}, step=100)
    assert set(found.best) == {"F1 of means", "SU"}
    assert found.table["cutoff"].unique().to_list() == list(range(0, 1000, 100))


def test_the_package_is_called_and_stays_a_package() -> None:
    assert inspect.signature(citebed.timeline) == inspect.signature(timeline)
    assert "timeline" in dir(citebed)
    package = importlib.reload(sys.modules["citebed.timeline"])
    assert citebed.timeline is package
    assert values(citebed.timeline(QRELS, RUN, measures=["AP"]).table) == [0.5833]
    code = (
        "import citebed; citebed.timeline; import citebed.timeline.slices as slices;"
        "from citebed.timeline import trend; print(callable(citebed.timeline), slices.__name__)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "True citebed.timeline.slices\n"


def test_silence_is_not_an_order_at_random() -> None:
    """One wrong document and nothing at all score the same, unless asked otherwise."""
    measures = ["AUC", "RescaledAUC", "RescaledAUC(empty=0)"]
    at = START + 60
    runs = {"wrong": {"q": {f"{at}-x": 1.0}}, "silent": {"other": {f"{at}-x": 1.0}}}
    found = timeline({"q": {f"{at}-a": 1, f"{at}-b": 1}}, runs, measures=measures)
    assert found.table["value"].to_list() == [0, -1, -1, 0, -1, 0]
    assert found.run_notes()[-2:] == [
        "RescaledAUC is −1 if a run returned nothing",
        "RescaledAUC(empty=0.0) is 0 if a run returned nothing",
    ]
