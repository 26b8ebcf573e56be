"""The verbs of a campaign at the command line, and what they say of wrong words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

import citebed
from citebed.cli.app import main
from citebed.judging import open_campaign
from citebed.judging.demo import demo_papers, play_authors
from citebed.judging.judgements import Source, Verdict, save_all
from citebed.judging.store.schema import forms, now, pairs, preferences

QUERY = "demo-filters-a1q2"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a campaign whose pools of phase two are built."""
    folder = tmp_path_factory.mktemp("verbs")
    citebed.demo(folder / "mine").index(quiet=True)
    (folder / "papers.csv").write_bytes(demo_papers())
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        _do("new cr26 --collection mine --papers papers.csv --contact me@example.org")
        _do("invite cr26 --forms text --on 2024-01-01")
        play_authors(open_campaign("cr26"), Path("inbox"))
        _do("returns cr26 inbox")
        _do(f"search cr26 {QUERY} relevance --mark rocchio1971relevance -k 5")
        _do("pool cr26 --size 5")
    return folder


@pytest.fixture(autouse=True)
def _here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)


def _do(command: str, code: int = 0) -> None:
    assert main(["campaign", *command.split()]) == code, command


def _rows(command: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    _do(f"{command} --json")
    return list(json.loads(capsys.readouterr().out))


def test_every_table_is_rows_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert {row["state"] for row in _rows("status cr26", capsys)} == {"finished", "in outbox"}
    questions = {row["query_id"]: row for row in _rows("questions cr26", capsys)}
    assert questions[QUERY]["stated"] == "When should it be revised?"
    (excluded,) = _rows("exclusions cr26", capsys)
    assert (excluded["query_id"], excluded["lifted"]) == ("demo-filters-a2q1", False)
    assert _rows("problems cr26", capsys) == []
    tables = _rows("tables cr26 --only returns", capsys)
    assert {"table": "returns", "phase": 1, "what": "invitations", "number": 5} in tables
    assert all(row["outcome"] == "known already" for row in _rows("returns cr26 inbox", capsys))


def test_what_closing_phase_one_does_is_reported_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cr27"
    _do(f"new {folder} --collection mine --papers papers.csv --contact me@example.org")
    _do(f"invite {folder} --forms text --on 2024-01-01")
    play_authors(open_campaign(folder), tmp_path / "inbox")
    _do(f"returns {folder} {tmp_path / 'inbox'}")
    due = {row["query_id"]: row["at_closing"] for row in _rows(f"questions {folder}", capsys)}
    reason = "the first author of demo-filters answered too"
    assert {query: why for query, why in due.items() if why} == {"demo-filters-a2q1": reason}
    for command in (f"status {folder}", f"tables {folder} --only returns"):
        _do(command)
        assert "1 question of co-authors" in capsys.readouterr().err
    _do(f"close {folder}")
    assert "phase one is closed; excluded 1 question of co-authors" in capsys.readouterr().err
    _do(f"status {folder}")
    assert "co-authors" not in capsys.readouterr().err


def test_tables_are_latex_for_a_paper(capsys: pytest.CaptureFixture[str]) -> None:
    _do("tables cr26 --latex --only sources")
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_pools_have_what_was_marked_and_go_out_once(capsys: pytest.CaptureFixture[str]) -> None:
    status = open_campaign("cr26").status()
    assert status.filter(phase=2).is_empty()
    _do("pool cr26")
    assert "no query is waiting" in capsys.readouterr().err
    _do("invite cr26 --forms text,web")
    assert "wrote 3 mails" in capsys.readouterr().out
    _do("invite cr26 --forms text,web")
    assert "wrote 0 mails" in capsys.readouterr().out


def test_what_was_not_read_is_reported_with_its_line_and_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("odd.txt").write_text("no form\n")
    _do("returns cr26 odd.txt", 1)
    assert "not a citebed form" in capsys.readouterr().err
    _do("problems cr26")
    assert "odd.txt" in capsys.readouterr().out


def test_a_backup_comes_back_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    _do("backup cr26 b.jsonl.gz")
    _do("restore again b.jsonl.gz --collection mine")
    assert "judgements" in capsys.readouterr().out
    assert open_campaign("again").judgements.equals(open_campaign("cr26").judgements)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("status nowhere", "there is no campaign in nowhere"),
        ("new cr27 --collection mine --papers papers.csv --grades 3", "3 times --grade"),
        ("new cr26 --collection mine --papers papers.csv", "already"),
        ("new cr28 --collection none --papers papers.csv", "none"),
        ("new cr29 --collection mine --papers none.csv", "none.csv"),
        ("new cr30 --collection mine --papers papers.csv --contact nobody", "not a mail address"),
        ("settings cr26 --contact nobody", "'nobody' is not a mail address; expected name@host"),
        ("settings cr26 --address example.org", "expected https://host"),
        ("invite cr26 --forms fax", "unknown kind of form 'fax'"),
        ("invite cr26 --send", "no mail server is set up"),
        ("returns cr26 nothing/", "there is no file or folder"),
        (f"reformulate cr26 {QUERY} x --class taste", "unknown class"),
        ("reformulate cr26 nobody x --class typo", "unknown query 'nobody'"),
        ("suggest cr26 nobody", "unknown query 'nobody'"),
        (f"search cr26 {QUERY} relevance --mark nothing", "did not find 'nothing'"),
        ("pool cr26 --method guess", "guess"),
        ("pool cr26 --runs none.run", "none.run"),
        ("tables cr26 --only none", "unknown table 'none'"),
        ("export cr26 -o mine", "not from a campaign export"),
        ("restore cr26 b.jsonl.gz --collection mine", "already"),
        ("restore new papers.csv --collection mine", "papers.csv"),
    ],
)
def test_wrong_words_are_reported(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _do(command, 1)
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


def test_a_campaign_that_could_not_be_started_leaves_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("bad.csv").write_text("paper_id,title\nlonely,No References\n")
    _do("new failed --collection mine --papers bad.csv", 1)
    assert "has no references" in capsys.readouterr().err
    assert not Path("failed").exists()
    _do("new failed --collection mine --papers papers.csv --contact me@example.org")


def test_a_campaign_made_without_a_contact_is_given_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _do("new shy --collection mine --papers papers.csv")
    assert "the links in mails point to http://localhost:8000" in capsys.readouterr().err
    _do("invite shy --forms text", 1)
    assert "settings shy --contact" in capsys.readouterr().err
    _do("settings shy --contact me@example.org --address https://cr.example.org")
    assert "contact: me@example.org" in capsys.readouterr().out
    _do("invite shy --forms text")
    assert "localhost" not in capsys.readouterr().err
    mail = next(Path("shy/outbox").iterdir()).read_text("utf-8")
    assert "https://cr.example.org/shy/judge/" in mail


def test_a_backup_that_is_not_there_leaves_no_database() -> None:
    _do("restore gone gone.jsonl --collection mine", 1)
    assert not Path("mine/campaigns/gone.sqlite").exists()


def test_without_second_judges_there_is_no_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert _rows("agreement cr26", capsys) == []
    _do("agreement cr26")
    out, err = capsys.readouterr()
    assert out == ""
    assert "citebed campaign second" in err


def test_a_collection_that_was_moved_is_found_where_the_file_says() -> None:
    citebed.demo("here")
    _do("new moved --collection here --papers papers.csv --contact me@example.org")
    Path("here").rename("there")
    _do("status moved", 1)
    file = Path("moved/campaign.toml")
    file.write_text(file.read_text().replace("/here", "/there"))
    _do("status moved")
    _do("tables moved")


def test_a_backup_beside_another_collection_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.bib").write_text("@article{one, title={One}, author={Bell, Ada}, year={2020}}")
    assert main(["import", "elsewhere", "one.bib"]) == 0
    _do("backup cr26 noted.jsonl")
    _do("restore noted noted.jsonl --collection elsewhere")
    assert "Is this the collection that was judged?" in capsys.readouterr().err


def test_an_organiser_needs_a_password_that_is_long_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CITEBED_PASSWORD", "short")
    _do("organiser cr26 ada", 1)
    assert "password" in capsys.readouterr().err
    monkeypatch.setenv("CITEBED_PASSWORD", "a much longer one")
    _do("organiser cr26 ada")


def test_papers_are_compared_in_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert _rows("preferences cr26", capsys) == []
    _do("preferences cr26")
    assert "no assessor has compared papers yet" in capsys.readouterr().err
    judge = ["--judge", "Zoe Zed <zoe@example.org>"]
    assert main(["campaign", "compare", "cr26", QUERY, *judge]) == 0
    out, err = capsys.readouterr()
    assert out == f"{QUERY}: 10 pairs of 5 papers for Zoe Zed\n"
    assert "Next: citebed campaign invite cr26" in err
    assert main(["campaign", "compare", "cr26", QUERY, *judge]) == 0
    assert (
        "no query has a pool of papers that this assessor has not compared"
        in capsys.readouterr().err
    )
    assert main(["campaign", "compare", "cr26", "--judge", "zoe"]) == 1
    assert "'zoe' is not a valid assessor" in capsys.readouterr().err
    assert main(["campaign", "compare", "cr26", "--per-paper", "3"]) == 1
    assert "Give an even number" in capsys.readouterr().err
    campaign = open_campaign("cr26")
    with campaign.writing() as tx:
        chosen = select(forms, pairs.c.id.label("pair")).join(pairs, pairs.c.form_id == forms.c.id)
        for row in tx.execute(chosen).all():
            source = Source(row.person_id, row.id, "web", now())
            save_all(tx, [(source, Verdict(row.pair, 1))], preferences)
    rows = _rows("preferences cr26", capsys)
    assert [row["table"] for row in rows] == ["strengths"] * 5 + ["position"] * 2
    assert rows[-1]["left_won"] == 10
    _do("preferences cr26")
    assert "How often the left paper won" in capsys.readouterr().out
    assert len(_rows("preferences cr26 --only strengths", capsys)) == 5


def test_serving_a_campaign_prints_where_to_log_in(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(*_: object, started: Callable[[int], object]) -> None:
        started(8123)

    monkeypatch.setattr("citebed.web.campaigns.app.serve", serve)
    assert main(["serve", "--campaign", "cr26", "--host", "::1"]) == 0
    assert "log in at http://[::1]:8123/cr26/login. Press Ctrl-C" in capsys.readouterr().err
