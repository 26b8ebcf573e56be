"""Experiments over HTTP: the same rows as the commands print, and the same pages, live."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.commands import Run, command_line
from tests.unit.web.workbench import files, workbench

from citebed.experiments import evaluations
from citebed.experiments.choices import list_measures, list_models
from citebed.retrieval.execution.run_files import SearchRequest, search_to_file
from citebed.retrieval.execution.runner import RunOptions
from citebed.retrieval.pipeline import parse_pipeline

AT = "/api/collections/demo"
RUNS = ["bm25.paragraphs.run", "kl.paragraphs.run"]
CHOSEN: dict[str, Any] = {"qrels": "paragraphs", "runs": RUNS}


@pytest.fixture(scope="module")
def made(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("experiments") / "demo"))
    for model in ("bm25", "kl"):
        asked = SearchRequest(queries="paragraphs", model=model, options=RunOptions(depth=50))
        search_to_file(folder, asked)
    judged = (folder / "qrels" / "paragraphs.qrels").read_text().splitlines(keepends=True)
    (folder / "qrels" / "less.qrels").write_text("".join(judged[::2]))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "demo"))


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with workbench(folder) as made:
        yield made


def printed(run: Run, folder: Path, verb: str, *options: str) -> Any:
    """Return the output of a command with ``--json`` for the two runs."""
    qrels = [folder / "qrels" / "paragraphs.qrels"]
    if verb == "contrast":
        qrels.append(folder / "qrels" / "less.qrels")
    runs = [folder / "runs" / name for name in RUNS]
    code, said, _ = run(verb, *map(str, [*qrels, *runs]), *options, "--json")
    assert code == 0
    return json.loads(said)


def test_what_there_is(client: TestClient) -> None:
    held = client.get(f"{AT}/experiments").json()
    runs = {run["run"]: run for run in held["runs"]}
    assert set(runs) == set(RUNS)
    assert runs["bm25.paragraphs.run"]["queries"] == "paragraphs"
    assert runs["bm25.paragraphs.run"]["depth"] == 50
    judged = {each["qrels"]: each for each in held["judgements"]}
    assert list(judged) == ["paragraphs", "sentences", "less"]
    assert judged["paragraphs"]["shares"] == ["less"]
    assert held["query_sets"] == {"paragraphs": 15, "sentences": 71}


def test_the_rows_are_those_of_the_commands(
    client: TestClient, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = command_line(capsys)
    scored = client.post(f"{AT}/evaluate", json=CHOSEN | {"per_query": True}).json()
    assert scored["rows"] == printed(run, folder, "evaluate", "--per-query")
    asked = CHOSEN | {"baseline": RUNS[0], "measures": ["AP"], "correct": "holm"}
    compared = client.post(f"{AT}/compare", json=asked).json()
    options = ("--baseline", "bm25.paragraphs", "-m", "AP", "--correct", "holm")
    assert compared["rows"] == printed(run, folder, "compare", *options)
    contrasted = client.post(f"{AT}/contrast", json=CHOSEN | {"other": "less"}).json()
    assert contrasted["rows"] == printed(run, folder, "contrast")
    asked = CHOSEN | {"slices": "equal:20", "measures": ["AP"], "per_slice": True}
    followed = client.post(f"{AT}/timeline", json=asked).json()
    sliced = ("--slice", "equal:20", "-m", "AP", "--per-slice", "--times", str(folder))
    assert followed["rows"] == printed(run, folder, "timeline", *sliced)


def test_scores_for_a_page(client: TestClient) -> None:
    shown = client.post(f"{AT}/scores", json=CHOSEN | {"cluster": "paper"}).json()
    assert len(shown["tables"]) == 2
    assert shown["tables"][0]["rows"][0][0]["text"] == "bm25.paragraphs"
    assert [row["run"] for row in shown["rows"][:1]] == ["bm25.paragraphs"]
    assert shown["comparisons"]
    alone = client.post(f"{AT}/scores", json=CHOSEN | {"runs": RUNS[:1]}).json()
    assert len(alone["tables"]) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"qrels": "../../etc/passwd"},
        {"runs": ["../qrels/paragraphs.qrels"]},
        {"runs": ["none.run"]},
        {"measures": ["no such measure"]},
        {"baseline": "no such run"},
    ],
)
def test_what_is_not_there_is_reported(client: TestClient, wrong: dict[str, Any]) -> None:
    answer = client.post(f"{AT}/compare", json=CHOSEN | wrong)
    assert answer.status_code == 400
    assert answer.json()["message"]


def test_no_file_is_taken_for_slices(client: TestClient, folder: Path) -> None:
    for slices in (str(folder / "citebed.toml"), "/etc/passwd"[:20], "..", "7d\n"):
        answer = client.post(f"{AT}/timeline", json=CHOSEN | {"slices": slices})
        assert answer.status_code in (400, 422)


@pytest.mark.parametrize(
    ("page", "more", "says"),
    [
        ("report", {"m": ["AP", "nDCG@10"], "baseline": RUNS[1]}, "Query by query"),
        ("contrast", {"other": "less"}, "Queries that change most"),
        ("timeline", {"slices": "equal:20", "weight": ["uniform", "burst"]}, "Over time"),
    ],
)
def test_the_pages_are_live(client: TestClient, page: str, more: dict[str, Any], says: str) -> None:
    asked = {"qrels": "paragraphs", "run": RUNS, **more}
    answer = client.get(f"/c/demo/experiments/{page}", params=asked)
    assert answer.status_code == 200
    assert says in answer.text
    assert f'<a href="/c/demo/experiments?qrels=paragraphs&amp;run={RUNS[0]}' in answer.text
    stated = re.search(r'Content-Security-Policy" content="([^"]*)"', answer.text)
    assert stated is not None
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith(stated[1])
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_a_page_is_made_once_and_again_when_a_file_changes(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def page(choice: evaluations.EvaluationRequest, back: evaluations.Back) -> str:
        made.append(choice.runs)
        return f"page {len(made)} {back[1]}"

    monkeypatch.setattr(evaluations, "report_page", page)
    address = f"/c/demo/experiments/report?qrels=paragraphs&run={RUNS[0]}"
    texts = [client.get(address).text for _ in range(2)]
    (folder / "runs" / RUNS[0]).touch()
    assert [*texts, client.get(address).text] == [
        "page 1 Experiments", "page 1 Experiments", "page 2 Experiments",
    ]  # fmt: skip


def test_a_page_of_what_is_wrong_says_so(client: TestClient) -> None:
    browser = {"Accept": "text/html"}
    none = client.get("/c/demo/experiments/report?qrels=paragraphs&run=none", headers=browser)
    assert none.status_code == 404
    assert "none" in none.text
    assert client.get("/c/demo/experiments/report", headers=browser).status_code == 422
    test = client.get("/c/demo/experiments/report?qrels=a&run=b&test=x", headers=browser)
    assert test.status_code == 422


def test_runs_and_judgements_of_the_user(client: TestClient, folder: Path) -> None:
    run = (folder / "runs" / RUNS[0]).read_text()
    judged = (folder / "qrels" / "less.qrels").read_text()
    sent = files(("../mine.txt", run), (RUNS[0], run), ("judged", judged))
    taken = client.post(f"{AT}/runs/files", files=sent).json()["files"]
    assert taken == ["runs/mine.txt", "runs/bm25.paragraphs-2.run", "qrels/judged.qrels"]
    assert (folder / "runs" / RUNS[0]).read_text() == run
    asked = {"qrels": "judged", "runs": ["mine.txt"]}
    assert client.post(f"{AT}/evaluate", json=asked).json()["rows"]


def test_of_files_of_the_user_the_good_are_taken_and_of_others_why_not(
    client: TestClient, folder: Path
) -> None:
    run = (folder / "runs" / RUNS[0]).read_text()
    before = set((folder / "runs").iterdir())
    answer = client.post(f"{AT}/runs/files", files=files(("a.run", run), ("b.run", "no run")))
    assert answer.json()["files"] == ["runs/a.run"]
    (refused,) = answer.json()["refused"]
    assert refused["file"] == "b.run"
    assert "b.run" in refused["why"]
    assert str(folder) not in refused["why"]
    assert {*(folder / "runs").iterdir()} - before == {folder / "runs" / "a.run"}
    none = client.post(f"{AT}/runs/files", files=files(("b.run", "no run")))
    assert none.status_code == 400
    assert "b.run" in none.json()["message"]


def test_a_run_is_removed_with_its_facts_and_nothing_else(client: TestClient, folder: Path) -> None:
    assert client.delete(f"{AT}/runs", params={"run": RUNS[0]}).json() == {"run": RUNS[0]}
    left = {path.name for path in (folder / "runs").iterdir()}
    assert left == {RUNS[1], f"{RUNS[1]}.json"}
    for wrong in (RUNS[0], "../qrels/less.qrels", f"{RUNS[1]}.json", ""):
        assert client.delete(f"{AT}/runs", params={"run": wrong}).status_code == 400
    assert {path.name for path in (folder / "runs").iterdir()} == left


def test_an_invalid_measure_is_refused_and_the_others_are_scored(client: TestClient) -> None:
    asked = CHOSEN | {"measures": ["AP", "nDGC@10"]}
    shown = client.post(f"{AT}/scores", json=asked).json()
    assert {row["measure"] for row in shown["rows"]} == {"AP"}
    (refused,) = shown["refused"]
    assert refused["measure"] == "nDGC@10"
    assert "Did you mean 'nDCG'?" in refused["why"]


def test_a_run_of_fewer_queries_is_marked_and_may_count_them(
    client: TestClient, folder: Path
) -> None:
    path = folder / "runs" / RUNS[0]
    lines = path.read_text().splitlines(keepends=True)
    first = lines[0].split()[0]
    path.write_text("".join(line for line in lines if line.split()[0] != first))
    shown = client.post(f"{AT}/scores", json=CHOSEN).json()
    assert [row[1]["small"] for row in shown["tables"][0]["rows"]] == ["1 missing", ""]
    assert not any("--complete" in note for note in shown["notes"])
    assert any("count missing queries as 0" in note for note in shown["notes"])
    whole = client.post(f"{AT}/scores", json=CHOSEN | {"complete": True}).json()
    assert whole["tables"][0]["rows"][0][1]["text"] == "15"


def test_a_run_made_before_documents_got_other_names_is_marked(
    client: TestClient, folder: Path
) -> None:
    path = folder / "runs" / RUNS[0]
    lines = [line.split() for line in path.read_text().splitlines()]
    gone = lines[0][2]
    for line in lines:
        line[2] = "was-" + gone if line[2] == gone else line[2]
    path.write_text("".join(" ".join(line) + "\n" for line in lines))
    held = client.get(f"{AT}/experiments").json()["runs"]
    assert {run["old"] for run in held} == {""}
    os.utime(path, (0, 0))
    held = client.get(f"{AT}/experiments").json()["runs"]
    said = {run["run"]: run["old"] for run in held}
    assert said[RUNS[0]].startswith("older than the last import: 1 document was renamed since")
    assert said[RUNS[1]] == ""
    notes = client.post(f"{AT}/scores", json=CHOSEN).json()["notes"]
    assert f"{RUNS[0]}: {said[RUNS[0]]}" in notes


@pytest.mark.parametrize("page", ["report", "timeline"])
def test_the_command_on_a_page_can_be_typed(
    client: TestClient, folder: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"qrels": "paragraphs", "run": RUNS, "m": ["AP"]}
    text = client.get(f"/c/demo/experiments/{page}", params=asked).text
    found = re.search(rf"citebed {page} [^<]*", text)
    assert found is not None
    words = shlex.split(html.unescape(found[0]))[1:]
    out = ("-o", str(folder / "made.html")) if page == "report" else ()
    code, _, said = command_line(capsys)(*words, *out)
    assert code == 0, said


def test_what_a_run_says_of_itself_is_not_believed(client: TestClient, folder: Path) -> None:
    facts = {"model": ["<b>"], "queries": "x", "depth": "many", "time": 3, "command": {"a": 1}}
    (folder / "runs" / f"{RUNS[0]}.json").write_text(json.dumps(facts))
    (folder / "runs" / f"{RUNS[1]}.json").write_text("[" * 100_000)
    (folder / "runs" / "link.run").symlink_to("/etc/passwd")
    held = client.get(f"{AT}/experiments").json()["runs"]
    assert {run["run"] for run in held} == set(RUNS)
    assert {(run["model"], run["queries"], run["depth"]) for run in held} == {("", "", None)}


def test_what_is_offered_can_be_asked_for() -> None:
    from citebed.evaluation.measures.names import measures

    for each in list_measures():
        assert each["about"]
        measures([each["name"]])
    for each in list_models():
        assert each["about"]
        parse_pipeline(each["name"])
