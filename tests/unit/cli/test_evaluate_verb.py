"""The verbs evaluate and compare, as a user types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from citebed.cli.app import main

QUERIES = 12


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Judgements of twelve queries in three papers, and two runs: one lacks the last query."""
    judged, good, poor, queries = [], [], [], []
    for query in range(QUERIES):
        name = f"q{query:02}"
        judged += [f"{name} 0 d{query} 1", f"{name} 0 e{query} 0"]
        good += [f"{name} Q0 d{query} 1 2.0 good", f"{name} Q0 e{query} 2 1.0 good"]
        first, second = ("e", "d") if query % 3 else ("d", "e")
        poor += [f"{name} Q0 {first}{query} 1 2.0 poor", f"{name} Q0 {second}{query} 2 1.0 poor"]
        queries.append(json.dumps({"query_id": name, "text": "x", "paper_id": f"p{query % 3}"}))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries").mkdir()
    (tmp_path / "qrels" / "all.qrels").write_text("\n".join(judged))
    (tmp_path / "queries" / "all.jsonl").write_text("\n".join(queries))
    (tmp_path / "good.run").write_text("\n".join(good[:-2]))
    (tmp_path / "poor.run").write_text("\n".join(poor))
    return tmp_path


def typed(files: Path, *words: str) -> list[str]:
    runs = [str(files / "good.run"), str(files / "poor.run")]
    return [words[0], str(files / "qrels" / "all.qrels"), *runs, *words[1:]]


def test_a_table_with_intervals_and_the_ledger(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(files, "evaluate", "-m", "RR", "-m", "P@1")) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["run", "queries", "RR", "P@1"]
    assert shown[1].split()[:3] == ["good", "11", "1.0000"]
    # the poor run has d first for queries 0, 3, 6 and 9: (4 + 8/2) / 12
    assert shown[2].split()[:3] == ["poor", "12", "0.6667"]
    text = "\n".join(shown)
    assert "good: 1 of 12 judged queries is not in the run and is left out" in text
    assert "cover different queries" in text
    assert "0 of 24 (0%)" in text


def test_json_rows(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(files, "evaluate", "-m", "RR", "--per-query", "--json", "-c")) == 0
    printed = capsys.readouterr()
    rows = json.loads(printed.out)
    assert rows[0] == {"run": "good", "measure": "RR", "query_id": "q00", "value": 1.0}
    whole = [row for row in rows if row["query_id"] == "all"]
    assert [row["run"] for row in whole] == ["good", "poor"]
    assert whole[0]["value"] == pytest.approx(11 / 12)
    assert whole[0]["low"] < whole[0]["value"] < whole[0]["high"]
    assert len(rows) == 2 * (QUERIES + 1)
    assert "counted as 0: q11" in printed.err


def test_other_forms(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(files, "evaluate", "-m", "RR", "--csv", "--no-intervals")) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[1]["run"] == "poor"
    assert float(rows[1]["value"]) == pytest.approx(8 / 12)
    assert rows[1]["low"] == ""
    assert main(typed(files, "evaluate", "-m", "RR", "--format", "latex", "--no-intervals")) == 0
    assert "good & 11 & 1.0000 \\\\" in capsys.readouterr().out
    assert main(typed(files, "evaluate", "-m", "RR", "--format", "markdown", "-q")) == 0
    assert "| q11 | 0.5000 |" in capsys.readouterr().out
    assert main(typed(files, "evaluate", "-m", "RR", "--ledger", "--json")) == 0
    assert json.loads(capsys.readouterr().out)[0]["missing"] == 1


def test_switches_of_trec_eval(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = typed(files, "evaluate", "-m", "P@1", "-m", "P(rel=1)@2", "-l", "2", "-J", "--json")
    assert main(given) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["measure"] for row in rows} == {
        "P(rel=2,judged_only=True)@1",
        "P(judged_only=True)@2",  # its own rel counts, though it is what rel is without a word
    }


def test_compare_by_query_and_by_paper(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(files, "compare", "--baseline", "poor", "-m", "RR", "--json")) == 0
    (row,) = json.loads(capsys.readouterr().out)
    # the eleven queries that both have: 4 ties (0, 3, 6, 9) and 7 wins of 1/2
    assert (row["queries"], row["wins"], row["ties"], row["losses"]) == (11, 7, 4, 0)
    assert row["difference"] == pytest.approx(3.5 / 11)
    assert row["clusters"] == 11
    assert row["significant"] is True
    by_paper = typed(files, "compare", "--baseline", "poor", "-m", "RR", "--cluster", "paper")
    assert main([*by_paper, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["clusters"] == 3
    assert row["significant"] is False
    assert main(by_paper) == 0
    assert "11 queries in 3 clusters" in capsys.readouterr().out


def test_all_pairs_by_tukey(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = typed(files, "compare", "-m", "RR", "--correct", "tukey")
    assert main(given) == 0
    assert "Tukey's test of all pairs" in capsys.readouterr().out
    assert main([*given, "--baseline", "good"]) == 1
    assert "Tukey's test is for all pairs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compare", "--baseline", "godo"], "unknown baseline 'godo'. Did you mean 'good'?"),
        (["compare", "--test", "z"], "unknown test 'z'"),
        (["compare", "--correct", "fdr"], "unknown correction 'fdr'"),
        (["compare", "--alpha", "2"], "alpha is 2.0"),
        (["compare", "-m", "NumRel"], "counts are not compared"),
        (["evaluate", "--cluster", "author"], "the query has no 'author'"),
        (["evaluate", "--samples", f"{9**30}"], "expected 1 to 10,000,000"),
        (["pool-bias", "--cutoff", f"{9**30}", "-m", "RR"], "a cut-off is a rank"),
        (["evaluate", "--cluster", "paper", "--queries", "no.jsonl"], "no such file: no.jsonl"),
        (["evaluate", "-m", "nDGC@10"], "Did you mean 'nDCG'?"),
        (["evaluate", "--json", "--csv"], "--json and --csv were given. Choose one."),
        (["evaluate", "--json", "--format", "table"], "--json and --format table were given"),
        (["compare", "--csv", "--format", "latex"], "--csv and --format latex were given"),
        (["evaluate", "--ledger", "--format", "trec_eval"], "--ledger prints JSON or CSV only"),
    ],
)
def test_wrong_words(
    words: list[str], told: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(files, *words)) == 1
    assert told in capsys.readouterr().err


def test_clusters_from_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"q{query:02} c{query // 2}" for query in range(QUERIES)]
    (files / "clusters").write_text("\n".join(["# by hand", *lines]))
    given = typed(files, "compare", "-m", "RR", "--cluster", str(files / "clusters"), "--json")
    assert main(given) == 0
    assert json.loads(capsys.readouterr().out)[0]["clusters"] == 6
    (files / "clusters").write_text("q00 a b\n")
    assert main(given) == 1
    assert "clusters:1: found 3 fields" in capsys.readouterr().err
    (files / "clusters").write_text("q00 a\nq00 b\n")
    assert main(given) == 1
    assert "clusters:2: the query 'q00' has a second cluster" in capsys.readouterr().err


def test_one_run_is_not_a_comparison(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", str(files / "qrels" / "all.qrels"), str(files / "good.run")]
    assert main(words) == 1
    assert "a comparison needs two or more" in capsys.readouterr().err


def test_runs_of_one_name_are_distinguished(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "old").mkdir()
    text = (files / "poor.run").read_text()
    for name in ("good.txt", "old/poor.run"):
        (files / name).write_text(text)
    given = typed(files, "compare", str(files / "good.txt"), str(files / "old" / "poor.run"))
    here = files.name
    assert main([*given, "--baseline", str(files / "good.txt"), "-m", "RR", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["base"] for row in rows} == {"good.txt"}
    assert [row["run"] for row in rows] == ["good.run", f"{here}/poor", "old/poor"]
    assert main([*given, "--baseline", "good.run", "-m", "RR", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["base"] == "good.run"
    assert main([*given, "--baseline", "poor.run"]) == 1  # which of the two?
    assert "unknown baseline 'poor.run'" in capsys.readouterr().err
    assert main([*given, str(files / "good.txt")]) == 1
    assert "good.txt' is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("q00 Q0 e0 1 2 t\nq00 Q0 d0 2 1 t\nzz Q0 a 1 1 t\n", "1 of 2 queries in the run lacks"),
        ("q00 Q0 d0 2 1 t\nq00 Q0 e0 1 1 t\n", "2 documents in a tie across relevance"),
        ("q00 Q0 d0 2 1 t\n", "1 judged query; 1 run of 1 document\n"),
    ],
)
def test_one_is_not_many(
    run: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.qrels").write_text("q00 0 d0 1\n")
    (tmp_path / "x.run").write_text(run)
    assert main(["evaluate", str(tmp_path / "x.qrels"), str(tmp_path / "x.run")]) == 0
    assert told in capsys.readouterr().out


def test_one_query_without_a_relevant_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.qrels").write_text("q00 0 d0 0\n")
    (tmp_path / "x.run").write_text("q00 Q0 d0 2 1 t\n")
    assert main(["evaluate", str(tmp_path / "x.qrels"), str(tmp_path / "x.run")]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 measured query without relevant documents: it scores 0" in shown


def test_compared_runs_are_averaged_over_the_queries_they_share(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run lacks q11; a third one lacks q00 instead, and has as many queries."""
    lines = (files / "poor.run").read_text().splitlines()
    (files / "third.run").write_text("\n".join(line for line in lines if line[:3] != "q00"))
    words = typed(files, "compare", "-m", "RR")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "cover different queries" not in out
    assert "; 11 queries" in out
    words.insert(4, str(files / "third.run"))
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["queries"] for row in rows] == [11, 10, 11]
    assert main([*words, "--correct", "tukey", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    # All of the ten queries q01 to q10: poor has d first for 3, 6 and 9, so (3 + 7/2) / 10.
    assert [row["queries"] for row in rows] == [10, 10, 10]
    assert [row["value"] for row in rows] == pytest.approx([0.65] * 3)
    assert rows[0]["difference"] == pytest.approx(0.65 - 1)
    # Two runs of eleven queries each, and not the same ones: their means are not comparable.
    assert main(["evaluate", words[1], words[2], words[4], "-m", "RR"]) == 0
    assert "cover different queries" in capsys.readouterr().out
