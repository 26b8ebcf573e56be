"""Machine judges: programs, models behind addresses, files, and what becomes of their responses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import select
from tests.campaigns import copied, save, small_campaign, with_lists

from citebed.errors import CitebedError
from citebed.evaluation.scoring.judgement_plan import PlanOptions
from citebed.evaluation.scoring.machine import MachineOptions, evaluate_with_machine
from citebed.judging import Campaign, judge_sources, restore_campaign
from citebed.judging.assignments import assign_phase_two, form_items
from citebed.judging.judge_sources import JudgeOptions, read_response
from citebed.judging.judgements import Source, Verdict
from citebed.judging.machine_judges import document_properties
from citebed.judging.store.schema import events, forms, machine_judges, now
from citebed.runs.reader import read_qrels
from citebed.runs.tables import Run

ANSWERS = """
import json, sys
head = json.loads(sys.stdin.readline())
assert [each["grade"] for each in head["grades"]] == [1, 2, 3, 4]
tasks = [json.loads(line) for line in sys.stdin]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Two questions; each has five cited papers and four on its list, all judged by their authors.

    Papers d1 to d4 (question 1) and d2 to d5 (question 2) are relevant, d5 and d6 not judged; of
    the lists the author judged the first relevant, and the others not.
    """
    campaign = with_lists(small_campaign(tmp_path_factory.mktemp("made"), ["Ada", "Ben"]), 4)
    answer_lists(campaign)
    return campaign


def answer_lists(campaign: Campaign) -> None:
    with campaign.writing() as tx:
        for form in tx.execute(select(forms).where(forms.c.phase == 2)).all():
            source = Source(form.person_id, form.id, "web", now())
            for (_, number), item in form_items(tx, form).items():
                save(tx, source, Verdict(item, int(number == 1)))


@pytest.fixture
def campaign(made: Campaign, tmp_path: Path) -> Campaign:
    (tmp_path / made.name).mkdir()
    facts = (made.folder / "campaign.toml").read_text()
    at = made.database.engine.url.database or ""
    (tmp_path / made.name / "campaign.toml").write_text(
        facts.replace(at, str(tmp_path / "copy.sqlite"))
    )
    return copied(made, tmp_path)


Program = Callable[[str], str]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Write a judge and return its command."""

    def write(code: str, name: str = "judge.py") -> str:
        (tmp_path / name).write_text(ANSWERS + code)
        return f"{sys.executable} {tmp_path / name}"

    return write


def test_a_program_answers_in_any_order_and_what_is_broken_is_a_problem(
    campaign: Campaign, program: Program
) -> None:
    command = program("""
for task in reversed(tasks):
    lines = {1: {"id": 1, "grade": 3, "reason": "near", "tokens": 7, "seconds": 2.5},
             2: {"topic_id": task["query_id"], "doc_id": task["doc_id"], "grade": 3},
             3: {"id": 3, "grade": None}, 4: {"id": 4, "grade": 5}, 5: {"id": 5, "grade": "2"},
             6: {"id": 6, "grade": True}, 7: {"id": 7}, 8: {"id": 1, "grade": 1}, 9: [1]}
    print(json.dumps(lines.get(task["id"], {"id": task["id"], "grade": 1})))
print("no JSON")
""")
    report = campaign.judge(command)
    # Of 18 tasks, 4 to 7 got an invalid response, 8 and 9 none. Task 8 answered for task 1.
    assert (report.judge, report.grades, report.cannot_say, report.problems) == ("judge", 11, 1, 6)
    assert len(report.notes) == 3  # the list, the second response to task 1, and no JSON
    said = campaign.machine_judgements()
    # The first task is the first cited paper of the first question; AutoJudge's 3 is grade 4.
    rows = {row["doc_id"]: row for row in said.filter(query_id="p1-a1q1").to_dicts()}
    assert (rows["d1"]["value"], rows["d2"]["value"], rows["d3"]["value"]) == (1, 4, None)
    problems = campaign.machine_judgements(problems=True)
    assert problems["problem"].str.contains("expected 1 to 4").sum() == 3
    assert problems["problem"].str.contains("no response|no grade").sum() == 3
    [judge] = campaign.judges.to_dicts()
    assert [judge[name] for name in ("judgements", "cannot_say", "problems", "calls")] == [
        11, 1, 6, 18,
    ]  # fmt: skip


def test_a_second_run_asks_only_what_the_first_left(
    campaign: Campaign, program: Program, tmp_path: Path
) -> None:
    command = program(f"""
import pathlib
log = pathlib.Path({str(tmp_path)!r}, "log")
begun = log.exists()
for number, task in enumerate(tasks):
    if not begun and number == 5:
        sys.exit(3)
    with log.open("a") as file: print(task["query_id"], task["doc_id"], file=file)
    print(json.dumps({{"id": task["id"], "grade": 2}}), flush=True)
""")
    with pytest.raises(CitebedError, match="code 3 and left 13 of 18 responses"):
        campaign.judge(command)
    assert campaign.judges["judgements"].to_list() == [5]
    report = campaign.judge(command, limit=10)
    assert (report.grades, report.judged) == (10, 5)
    campaign.judge(command)
    asked = (tmp_path / "log").read_text().splitlines()
    assert len(asked) == len(set(asked)) == 18
    assert campaign.judge(command).grades == 0


def test_a_killed_run_has_stored_all_that_it_counted(campaign: Campaign, program: Program) -> None:
    command = program("""
import time
for task in tasks:
    print(json.dumps({"id": task["id"], "grade": 2}), flush=True)
    time.sleep(0.3)
""")
    words = [sys.executable, "-m", "citebed", "campaign", "judge", str(campaign.folder)]
    child = subprocess.Popen([*words, "--with", command], start_new_session=True)
    until = time.monotonic() + 120
    while not campaign.judges["judgements"].sum() and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    stored = campaign.judges["judgements"].sum()
    assert 0 < stored < 18
    report = campaign.judge(command)
    assert (report.grades, report.judged) == (18 - stored, stored)
    assert campaign.machine_judgements().select("query_id", "doc_id").is_unique().all()


def test_a_silent_program_is_stopped(campaign: Campaign, program: Program) -> None:
    with pytest.raises(CitebedError, match=r"silent for 0\.5 seconds and left 18 of 18"):
        campaign.judge(program("import time; time.sleep(60)"), timeout=0.5)
    assert campaign.judges.is_empty()


def test_a_name_stands_for_one_version(campaign: Campaign, program: Program) -> None:
    say = "[print(json.dumps({'id': task['id'], 'grade': %d})) for task in tasks]"
    campaign.judge(program(say % 2), limit=1)
    with pytest.raises(CitebedError, match="'judge' has judged with another version"):
        campaign.judge(program(say % 3))
    with pytest.raises(CitebedError, match="another name and another version"):  # names of files
        campaign.judge(program(say % 3), name="JUDGE")
    assert campaign.judge(program(say % 3), name="other", questions=["p2-a1q1"]).grades == 9


@pytest.mark.parametrize(
    ("source", "options", "what"),
    [
        ("no-such-program", {}, "neither a program nor a file"),
        ("judge 'open", {}, "neither a program nor a file"),
        ("openai", {}, "name the model"),
        ("openai", {"model": "m", "address": "http://[::1"}, "is not an address"),
        ("openai", {"model": "m", "address": "http://localhost:x/v1"}, "is not an address"),
        ("openai", {"model": "m", "address": "localhost:80"}, "is not an address"),
        ("openai", {"model": "m", "address": "http://me:secret@localhost"}, "is not an address"),
        ("recommend", {"name": "../x"}, "is not a judge's name"),
        ("recommend", {"questions": ["q9"]}, "query 'q9'"),
    ],
)
def test_wrong_sources_are_refused(
    campaign: Campaign, source: str, options: dict[str, Any], what: str
) -> None:
    with pytest.raises(CitebedError, match=what):
        campaign.judge(source, **options)


# --- a model's server -------------------------------------------------------------------------


class Server(HTTPServer):
    """A model whose replies are given: a text, or the status of an error."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/v1"
        self.replies: list[str | int] = []
        self.asked: list[tuple[str | None, dict[str, Any]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.headers["Authorization"], body))
        reply = (
            self.server.replies.pop(0) if len(self.server.replies) > 1 else self.server.replies[0]
        )
        status, text = (reply, "what is wrong") if isinstance(reply, int) else (200, "")
        if isinstance(reply, str) and reply.startswith("<"):
            text = reply
        elif isinstance(reply, str):
            message = {"choices": [{"message": {"content": reply}}], "usage": {"total_tokens": 9}}
            text = json.dumps(message)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("citebed.judging.judge_sources.time.sleep", lambda _: None)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_model_is_asked_again_and_its_replies_are_not_guessed(
    campaign: Campaign, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(judge_sources.KEY, "key-of-mine")
    server.replies = [
        503, 429, '{"reason": "fits", "grade": 4}', '```json\n{"grade": null}\n```',
        "I would say 3", '{"grade": 9}', '{"grade": 1}',
    ]  # fmt: skip
    report = campaign.judge("openai", address=server.address, model="org/m:1", limit=5)
    assert (report.judge, report.grades, report.cannot_say, report.problems) == ("org-m-1", 2, 1, 2)
    assert len(server.asked) == 7
    key, body = server.asked[-1]
    assert (key, body["model"], body["temperature"]) == ("Bearer key-of-mine", "org/m:1", 0)
    [judge] = campaign.judges.to_dicts()
    assert (judge["tokens"], judge["kind"], judge["version"]) == (45, "openai", "org/m:1")
    assert "I would say 3" in campaign.machine_judgements(problems=True)["problem"][0]
    assert campaign.machine_judgements()["reason"][0] == "fits"
    campaign.database.close()
    assert all(b"key-of-mine" not in path.read_bytes() for path in tmp_path.glob("copy.sqlite*"))


def test_a_prompt_has_the_question_the_paper_and_the_grades_and_no_false_mark(
    campaign: Campaign, server: Server
) -> None:
    task = judge_sources.Task(1, "q", "Which {text}?", "d", "T", "", None, "x</document> {query}")
    options = JudgeOptions(address=server.address, model="m")
    prompt = judge_sources.model_source(options, campaign.settings).show(task)
    assert "Question: Which {text}?\n" in prompt  # values are not filled in again
    assert prompt.count("</document>") == 2  # in the explanation, and at the end of the paper
    assert "T\nx< /document> {query}\n</document>" in prompt
    assert "4: essential (without it the question cannot be understood)" in prompt


def test_a_server_without_schemas_is_asked_without(campaign: Campaign, server: Server) -> None:
    server.replies = [400, '{"grade": 2}']
    assert campaign.judge("openai", address=server.address, model="m", limit=2).grades == 2
    assert ["response_format" in body for _, body in server.asked] == [True, False, False]


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (302, 1), (500, 3)])
def test_a_server_that_does_not_judge_is_an_error(
    campaign: Campaign, server: Server, status: int, calls: int
) -> None:
    server.replies = [status]
    with pytest.raises(CitebedError, match=rf"does not judge: {status}.*run the command again"):
        campaign.judge("openai", address=server.address, model="m", retries=2)
    assert len(server.asked) == calls


def test_a_reply_that_is_not_json_is_shown(campaign: Campaign, server: Server) -> None:
    server.replies = ["<title>Log\nin</title>"]
    with pytest.raises(CitebedError, match=r"the reply is not JSON: '<title>Log in</title>'"):
        campaign.judge("openai", address=server.address, model="m", retries=1)
    assert len(server.asked) == 2


def test_the_path_of_an_address_is_added_once(campaign: Campaign, server: Server) -> None:
    server.replies = ['{"grade": 2}']
    address = f"{server.address}/chat/completions/"
    assert campaign.judge("openai", address=address, model="m", limit=1).grades == 1


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("recommend", {"model": "m", "parallel": 2}, "--model, --parallel: only a judge with"),
        ("recommend", {"runs": ({"q9": {"d1": 1.0}},)}, "no question of the campaign, such as"),
        ("judge.py", {}, "judge.py is not executable"),
    ],
)
def test_options_and_files_of_another_judge(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str,
    options: dict[str, Any], message: str,
) -> None:  # fmt: skip
    (tmp_path / "judge.py").write_text("print()")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CitebedError, match=message):
        campaign.judge(source, **options)


def test_a_campaign_without_questions_and_a_plan_of_another_one(tmp_path: Path) -> None:
    fresh = small_campaign(tmp_path, ["Ada"])
    with pytest.raises(CitebedError, match="the campaign has no questions yet"):
        fresh.judge("recommend")
    with pytest.raises(CitebedError, match="the plan 'plan' has no query of this campaign"):
        fresh.pool(plan={"q9": {"d1": 1.0}})
    with fresh.reading() as tx:  # the error changes nothing
        assert "phase one closed" not in set(tx.scalars(select(events.c.what)))


def test_an_error_loses_no_response_of_the_same_batch(campaign: Campaign, server: Server) -> None:
    server.replies = ['{"grade": 2}', 401, '{"grade": 2}']
    with pytest.raises(CitebedError, match="401"):
        campaign.judge("openai", address=server.address, model="m", parallel=3, limit=3)
    assert campaign.machine_judgements()["value"].to_list() == [2, 2]


def test_another_machine_needs_the_network(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = JudgeOptions(address="https://models.example.org/v1", model="m")
    assert campaign.plan_judging("openai", options).source.is_remote
    assert not campaign.plan_judging("openai", JudgeOptions(model="m")).source.is_remote
    monkeypatch.setenv("CITEBED_OFFLINE", "1")
    with pytest.raises(CitebedError, match="the network is switched off"):
        campaign.judge("openai", address="https://models.example.org/v1", model="m")


def test_a_prompt_of_the_user_needs_the_question_and_the_text(
    campaign: Campaign, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "p.txt").write_text("Is {title} about it?")
    with pytest.raises(CitebedError, match=r"has no \{query\} and no \{text\}"):
        campaign.judge("openai", model="m", prompt=tmp_path / "p.txt")
    (tmp_path / "p.txt").write_text("{query} {text}")
    server.replies = ['{"grade": 2}']
    campaign.judge("openai", address=server.address, model="m", prompt=tmp_path / "p.txt", limit=1)
    with campaign.reading() as tx:
        row = tx.execute(select(machine_judges)).one()
    assert row.prompt == "{query} {text}"
    # printf '{query} {text}' | sha256sum
    assert row.prompt_sha256 == "3e76605fffd786cf4fbfc7d6966cbfd167d266134c7492857b80fea7bad11d50"
    with pytest.raises(CitebedError, match="another prompt"):
        campaign.judge("openai", address=server.address, model="m", limit=1)


# --- files, sets and exports ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relevances", "grades"),
    [((0, 1), [1, 2]), ((0, 3), [1, 4]), ((-1, 2), [1, 3]), ((0, 4), [1, None])],
)
def test_relevance_of_a_file_becomes_a_grade(
    campaign: Campaign, tmp_path: Path, relevances: tuple[int, int], grades: list[int | None]
) -> None:
    (tmp_path / "auto.qrels").write_text(
        "".join(f"p1-a1q1 0 d{n} {r}\n" for n, r in zip((1, 20), relevances, strict=True))
        + "other 0 d1 1\np1-a1q1 0 unknown 1\n"
    )
    report = campaign.judge(str(tmp_path / "auto.qrels"))
    assert (report.judge, report.missing, report.problems) == ("auto", 1, grades.count(None))
    found = campaign.machine_judgements()["value"].to_list()
    assert found == [grade for grade in grades if grade is not None]


def test_a_machines_set_follows_the_rule_of_the_campaign(
    campaign: Campaign, tmp_path: Path
) -> None:
    lines = {"d1": 0, "d2": 1, "d3": 2, "d20": 3}
    (tmp_path / "m.qrels").write_text("".join(f"p1-a1q1 0 {d} {r}\n" for d, r in lines.items()))
    campaign.judge(str(tmp_path / "m.qrels"))
    table = campaign.qrels("j12", judge="m").table
    assert dict(table.select("doc_id", "relevance").iter_rows()) == {
        "d1": 0, "d2": 1, "d3": 1, "d20": 1,
    }  # fmt: skip
    graded = campaign.qrels("t12", judge="m", graded=True).table
    assert dict(graded.select("doc_id", "relevance").iter_rows()) == lines
    with pytest.raises(CitebedError, match="machine judge 'n'"):
        campaign.qrels(judge="n")
    with pytest.raises(CitebedError, match="set of a machine's judgements 'j1'"):
        campaign.qrels("j1", judge="m")
    campaign.exclude("p1-a1q1", "a test")
    assert campaign.qrels("j12", judge="m").table.is_empty()


def test_a_new_wording_is_judged_again_and_takes_precedence(
    campaign: Campaign, tmp_path: Path
) -> None:
    (tmp_path / "m.qrels").write_text("p1-a1q1 0 d1 1\np1-a1q1 0 d2 1\n")
    campaign.judge(str(tmp_path / "m.qrels"))
    campaign.reformulate("p1-a1q1", "How can documents be ranked?", "filler")
    assert campaign.judge(str(tmp_path / "m.qrels"), limit=1).grades == 1
    assert campaign.qrels(judge="m").table["doc_id"].to_list() == ["d1", "d2"]
    assert campaign.machine_judgements().height == 3


def test_an_export_adds_files_and_changes_none_of_people(
    campaign: Campaign, tmp_path: Path
) -> None:
    before = campaign.export(tmp_path / "before")
    (tmp_path / "m.qrels").write_text("p1-a1q1 0 d2 1\np2-a1q1 0 d3 0\n")
    campaign.judge(str(tmp_path / "m.qrels"))
    after = campaign.export(tmp_path / "after")
    assert (before.version, before.sets) == (after.version, after.sets)
    names = {path.name for path in after.folder.iterdir()}
    old = {path.name for path in before.folder.iterdir()}
    assert names - old == {"machine-m.qrels", "machine_judgements.jsonl"}
    for name in old - {"campaign.json", "ro-crate-metadata.json", "CHANGELOG.md"}:  # lists of files
        assert (before.folder / name).read_bytes() == (after.folder / name).read_bytes()
    assert (after.folder / "machine-m.qrels").read_text() == "p1-a1q1 0 d2 1\np2-a1q1 0 d3 0\n"
    rows = map(json.loads, (after.folder / "machine_judgements.jsonl").read_text().splitlines())
    assert [(row["judge"], row["doc_id"], row["value"]) for row in rows] == [
        ("m", "d2", 2), ("m", "d3", 1),
    ]  # fmt: skip


def test_a_database_and_its_backup_keep_machine_judgements(tmp_path: Path, url: str) -> None:
    campaign = with_lists(small_campaign(tmp_path, ["Ada"], database=url), 2)
    (tmp_path / "m.qrels").write_text("p1-a1q1 0 d1 1\np1-a1q1 0 d2 9\np1-a1q1 0 d3 2\n")
    assert campaign.judge(str(tmp_path / "m.qrels")).problems == 1
    # What another process stored meanwhile is not stored twice.
    plan = campaign.plan_judging(str(tmp_path / "m.qrels"), JudgeOptions(name="n"))
    again = campaign.plan_judging(str(tmp_path / "m.qrels"), JudgeOptions(name="n"))
    campaign.run_judge(plan)
    campaign.run_judge(again)
    assert campaign.machine_judgements().filter(judge="n").height == 2
    campaign.backup(tmp_path / "b.jsonl.gz")
    restored = restore_campaign(
        tmp_path / "b.jsonl.gz", tmp_path / "again", tmp_path / "collection",
        str(tmp_path / "again.sqlite"),
    )  # fmt: skip
    assert restored.judges.equals(campaign.judges)
    assert restored.machine_judgements().equals(campaign.machine_judgements())
    assert restored.judge(str(tmp_path / "m.qrels")).judged == 2


# --- trust, and what to judge next --------------------------------------------------------------


def test_properties_of_documents(campaign: Campaign) -> None:
    pairs = pl.DataFrame({"query_id": ["q", "q", "r"], "doc_id": ["d1", "d30", "d2"]})
    run = Run(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d9", "d1"], "score": [2.0, 1.0]}))
    table = document_properties(pairs, campaign.collection, [run])
    # Rank 2: 1 / log2(3). Nobody cites these papers. "Ranking documents in study 1" has 28 letters.
    assert table["position"].round(4).to_list() == [0.6309, None, None]
    assert table["fame"].to_list() == [0.0, 0.0, 0.0]
    assert table["year"].to_list() == [1971, 2000, 1972]
    abstract = (
        "Study 1 ranks documents by probability, with weights of terms and the feedback of "
        "readers, in collection 1."
    )
    assert table["length"][0] == 28 + len(abstract)


def test_plan_lists_export_evaluate(campaign: Campaign, tmp_path: Path) -> None:
    runs = {}
    for name, step in (("a", 1), ("b", 3)):
        docs = [f"d{1 + (n * step + 7) % 40}" for n in range(12)]
        ranked = {doc: 12.0 - n for n, doc in enumerate(docs)}
        runs[name] = dict.fromkeys(("p1-a1q1", "p2-a1q1"), ranked)
    lines = [
        f"{query} 0 {doc} {number % 2}\n"
        for query in runs["a"]
        for number, doc in enumerate({**runs["a"][query], **runs["b"][query]})
    ]
    (tmp_path / "m.qrels").write_text("".join(lines))
    campaign.judge(str(tmp_path / "m.qrels"))
    plan = campaign.next_judgements("m", runs, ["nDCG@10"], PlanOptions(budget=30))
    judged = {*campaign.qrels("j12").table.select("query_id", "doc_id").iter_rows()}
    wanted = {*plan.table.select("query_id", "doc_id").iter_rows()}
    made = campaign.pool(plan=plan)
    assert sum(each.documents for each in made) == len(wanted - judged) > 0
    assert campaign.pool(plan=plan) == []
    assert assign_phase_two(campaign)
    answer_lists(campaign)
    campaign.export(tmp_path / "out")
    human, machine = (tmp_path / "out" / f"{n}.qrels" for n in ("j12-all-queries", "machine-m"))
    assert read_qrels(machine).table.height == len(lines)
    scored = evaluate_with_machine(human, machine, runs, ["nDCG@10"], MachineOptions(plan=plan))
    assert [row.run for row in scored.rows] == ["a", "b"]


def test_a_planned_reference_that_its_author_could_not_judge_is_listed(campaign: Campaign) -> None:
    plan = {"p1-a1q1": {"d1": 1.0, "d5": 0.5}}
    assert campaign.pool(plan=plan) == []  # both are judged
    with campaign.writing() as tx:
        form = tx.execute(select(forms).where(forms.c.phase == 1).order_by(forms.c.id)).first()
        assert form is not None
        source = Source(form.person_id, form.id, "web", now())
        save(tx, source, Verdict(form_items(tx, form)[1, 5], None))
    [report] = campaign.pool(plan=plan)
    assert (report.query_id, report.documents, report.round) == ("p1-a1q1", 1, 2)
    assert campaign.pool(plan=plan) == []


def test_a_response_needs_a_grade_of_the_scale() -> None:
    task = judge_sources.Task(1, "q", "", "d", "", "", None, "")
    assert read_response(task, {"grade": 4}, 4).value == 4
    assert read_response(task, {"grade": 5}, 4).problem
    assert read_response(task, {"grade": 0}, 4).problem
    assert read_response(task, {"topic_id": "q", "grade": 0}, 4).value == 1
    assert read_response(task, {"topic_id": "q", "grade": 4}, 4).problem
    assert read_response(task, {"grade": 2.0}, 4).problem
    times = [read_response(task, {"grade": 2, "seconds": s}, 4).took_ms for s in (2, 0.5, -1, "3")]
    assert times == [2000, 500, None, None]
