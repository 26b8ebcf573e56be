"""The commands about machine judges: judge, judges, assess, next and qrels assess."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.campaigns import small_campaign, with_lists

from citebed.cli.app import main
from citebed.evaluation.scoring.judge_quality import Bias, assess_judge
from citebed.judging import open_campaign
from citebed.report.judge_page import favoured_papers, judge_advice, judge_page, judge_verdict

PROGRAM = """
import json, sys
next(sys.stdin)
for line in sys.stdin:
    task = json.loads(line)
    bad = "\\x1b[31mno" if task["doc_id"] == "d2" else None
    print(json.dumps({"id": task["id"], "grade": bad or 1 + len(task["doc_id"]), "tokens": 3}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of two authors, a judge, a run, and the current folder."""
    with_lists(small_campaign(tmp_path, ["Ada", "Ben"]), 4).database.close()
    (tmp_path / "judge.py").write_text(PROGRAM)
    for name in ("one", "two"):
        lines = [
            f"p{q}-a1q1 Q0 d{n + q} {n} {20 - n if name == 'one' else n} {name}\n"
            for q in (1, 2)
            for n in range(1, 13)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_judging_from_the_dry_run_to_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["campaign", "judge", "cr", "--with", f"{sys.executable} judge.py"]
    runs = ["--runs", "one.run", "--runs", "two.run"]
    assert main([*judge, *runs, "--depth", "12", "--dry-run"]) == 0
    shown = capsys.readouterr()
    head, task = map(json.loads, shown.out.splitlines())
    assert head["grades"][0]["label"] == "not relevant"
    assert (task["id"], task["query_id"], task["doc_id"]) == (1, "p1-a1q1", "d2")
    assert "24 calls; 0 judged already" in shown.err

    assert main([*judge, *runs, "--depth", "12"]) == 1  # of 12 and 12 papers, d2 is broken once
    shown = capsys.readouterr()
    assert "judge: 23 judgements, 0 can't say, 1 problem" in shown.out
    assert "citebed campaign judges cr --problems" in shown.err
    assert main(["campaign", "judges", "cr"]) == 0
    line = capsys.readouterr().out.splitlines()[1].split()
    assert line[:2] == ["judge", "program"]
    assert line[-6:-1] == ["23", "0", "1", "24", "69"]
    assert main(["campaign", "judges", "cr", "--problems"]) == 0
    printed = capsys.readouterr().out
    assert "d2" in printed
    assert "\x1b" not in printed
    assert "expected 1 to 4, or null" in printed

    words = ["campaign", "next", "cr", "judge", *runs, "-m", "nDCG@10", "--budget", "40"]
    assert main([*words, "-o", "plan.run"]) == 0
    shown = capsys.readouterr()
    planned = len(Path("plan.run").read_text().splitlines())
    assert f"plan.run: {planned} papers of 2 queries" in shown.out
    assert "citebed campaign pool cr --plan plan.run" in shown.err
    assert main([*words, "-o", "one.run"]) == 1
    assert "one.run is an input file" in capsys.readouterr().err
    pool = ["campaign", "pool", "cr", "--plan"]
    assert main([*pool, "plan.run", "--size", "3"]) == 1
    assert "Leave out the other options" in capsys.readouterr().err
    assert main([*pool, "plan.run"]) == 0
    assert "list 2" in capsys.readouterr().out
    assert main([*pool, "plan.run"]) == 0
    assert "the judges have every paper of the plan already" in capsys.readouterr().err
    Path("other.run").write_text("q9 Q0 d1 1 1.0 other\n")
    assert main([*pool, "other.run"]) == 1
    assert "the plan 'other' has no query of this campaign" in capsys.readouterr().err
    assert main([*judge, *runs, "--depth", "12"]) == 1  # d2 again
    assert (
        "0 judgements, 0 can't say, 1 problem; judged before: 23 papers" in capsys.readouterr().out
    )
    assert main(["campaign", "export", "cr", "-o", "out"]) == 0
    judged = len(Path("out/machine-judge.qrels").read_text().splitlines())
    assert f"machine-judge.qrels: {judged} judgements of 2 queries" in capsys.readouterr().out
    assert main(["campaign", "assess", "cr", "judge", *runs, "-o", "judge.html"]) == 0
    assert "People and the judge both judged" in capsys.readouterr().out
    page = Path("judge.html").read_text()
    assert "citebed campaign assess cr judge -o judge.html --runs one.run --runs two.run" in page
    assert "<h2>Can it be trusted?</h2>" in page


def test_the_recommender_is_a_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "collection"]) == 0
    capsys.readouterr()
    assert main(["campaign", "judge", "cr", "--with", "recommend", "--json"]) == 0
    [report] = json.loads(capsys.readouterr().out)
    assert (report["judge"], report["grades"], report["problems"]) == ("recommend", 18, 0)
    said = open_campaign(folder / "cr").machine_judgements()
    assert set(said["value"]) <= {1, 2}
    assert said.filter(value=2)["reason"].str.contains(r"^recommended at rank \d+$").all()


@pytest.mark.usefixtures("folder")
def test_empty_tables_and_wrong_usage_say_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["judges", "cr"], "no machine has judged yet. See 'citebed campaign judge'"),
        (["judges", "cr", "--problems"], "no judge has given a response that citebed could not"),
        (["preferences", "cr", "--only", "strengths"], "no assessor has compared papers yet"),
    ):
        assert main(["campaign", *words]) == 0
        shown = capsys.readouterr()
        assert (shown.out, said in shown.err) == ("", True)
    assert main(["campaign", "judge", "cr"]) == 1
    assert "See 'citebed campaign judge --help'." in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_another_machine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["campaign", "judge", "cr", "--with", "openai", "--model", "m", "--dry-run"]
    assert main(words) == 0
    assert "not to this machine" not in capsys.readouterr().err
    assert main([*words, "--address", "https://models.example.org/v1"]) == 0
    shown = capsys.readouterr()
    assert "papers go to https://models.example.org/v1, not to this machine" in shown.err
    assert "<document>\nRanking documents in study 1\n" in shown.out


def write(name: str, rows: list[tuple[str, str, int]]) -> str:
    Path(name).write_text("".join(f"{query} 0 {doc} {value}\n" for query, doc, value in rows))
    return name


def test_what_the_figures_of_files_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [(f"q{q}", f"d{n}") for q in range(12) for n in range(10)]
    human = write("human.qrels", [(q, d, int(d in ("d0", "d1"))) for q, d in pairs])
    # The machine also accepts d2, and d3 in every second query: it agrees on 8.5 of ten.
    more = {"q0": ("d2",), "q1": ("d2", "d3")}
    said = [(q, d, int(d in ("d0", "d1", *more[f"q{int(q[1:]) % 2}"]))) for q, d in pairs]
    machine = write("machine.qrels", said)
    assert main(["qrels", "assess", human, machine, "-o", "page.html"]) == 0
    out = capsys.readouterr().out
    assert "both judged 120 papers and agreed on 85 %." in out
    # kappa: observed .85, by chance .2 · .35 + .8 · .65 = .59; (.85 − .59) / .41 = .634
    assert "substantial agreement (kappa 0.63" in out
    assert "It is laxer than people: the share of papers that it accepts differs by +15" in out
    assert "too few" not in out
    assert main(["qrels", "assess", human, machine, "--json"]) == 0
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["strictness"]["value"] == pytest.approx(0.15)
    table = re.findall(r"<bdi>([^<]*)</bdi>", Path("page.html").read_text())
    at = table.index("people: 0")
    assert table[at : at + 4] == ["people: 0", "78", "18", "81 %"]
    assert main(["qrels", "assess", human, machine, "-o", human]) == 1
    assert "is also an input file" in capsys.readouterr().err


def test_a_tuned_judge_is_named_and_no_name_is_markup() -> None:
    people, judge, run = {}, {}, {}
    for query in range(30):
        docs = [f"d{n}" for n in range(20)]
        people[f"q{query}"] = {doc: int(n % 7 == query % 7) for n, doc in enumerate(docs)}
        first = {doc for n, doc in enumerate(docs) if (n + query) % 20 < 5}
        judge[f"q{query}"] = {
            doc: max(value, int(doc in first)) for doc, value in people[f"q{query}"].items()
        }
        run[f"q{query}"] = {doc: 20.0 - (n + query) % 20 for n, doc in enumerate(docs)}
    other = {q: {d: float(-int(d[1:])) for d in docs} for q, docs in run.items()}
    quality = assess_judge(people, judge, {"<b>own": run, "other": other})
    text = "\n".join([*judge_verdict(quality), *judge_advice(quality)])
    assert "it accepts papers that <b>own ranks high more often" in text
    assert "Do not compare <b>own with other systems" in text
    page = judge_page(quality, "<i>name", "citebed")
    assert "<b>own" not in page
    assert "<i>name" not in page


def test_what_a_bias_favours() -> None:
    def favours(name: str, value: float) -> str:
        return favoured_papers(Bias(name, value, value, value, 0.01))

    assert favours("year", 0.1) == "recent papers"
    assert favours("year", -0.1) == "old papers"
    assert favours("system bm25", -0.1) == "papers that bm25 ranks low"
    assert favours("pages", 0.1) == "papers with a high pages"
