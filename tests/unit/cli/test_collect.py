"""The verbs of collecting as a stranger types them: results, exit codes, messages."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import Run
from tests.sampling import sized

import citebed
from citebed.cli.app import main
from citebed.cli.demo import QUESTION
from citebed.collection import open_collection
from citebed.errors import CollectionError

BIB = """@article{a, title={On Reading}, author={Ash, Ann}, year={2001}, journal={J. of Tests},
  abstract={Reading is hard.}, doi={10.5072/a}}
@inproceedings{b, title={On Writing}, author={Birch, Bo}, year={2003}, booktitle={Proc. of Pens}}
@article{s, title={Session 2: Pens}, year={2003}}
"""
XML = """<doc><id>p</id><title>A Paper</title><year>2005</year><contexts>
<context id="1" section="intro">
<s cites="1">As said before [1].</s></context></contexts>
<references><reference id="1">10.5072/A</reference></references></doc>"""


@pytest.fixture
def run(command: Run) -> Run:
    """Run the command line in an empty folder that holds ``in/``; gives code, stdout, stderr."""
    Path("in").mkdir()
    Path("in/refs.bib").write_text(BIB)
    Path("in/p.xml").write_text(XML)
    return command


def test_import_says_what_it_read_kept_and_left_out(run: Run) -> None:
    code, out, _ = run("import", "c", "in", "--front-matter", "sessions")
    assert code == 0
    assert "c: 2 documents" in out
    read = r"read +3 records of documents, 1 other; 2 new or changed files"
    assert re.search(read, out)
    assert re.search(r"set aside +1: session heading 1", out)
    assert re.search(r"queries +1 paragraphs, 1 sentences", out)


def test_import_as_json_gives_flat_rows(run: Run) -> None:
    code, out, _ = run("import", "c", "in", "--json")
    rows = {(row["group"], row["name"]): row["value"] for row in json.loads(out)}
    assert code == 0
    assert rows["kept", "documents"] == 3
    assert rows["queries", "paragraphs"] == 1


def test_rules_are_kept_and_options_change_only_what_they_name(run: Run) -> None:
    assert run("import", "c", "in", "--types", "article", "--quiet")[:2] == (0, "")
    assert "c: 2 documents" in run("import", "c")[1]
    assert "c: 1 document\n" in run("import", "c", "--front-matter", "sessions")[1]
    assert "c: 3 documents" in run("import", "c", "--types", "all", "--front-matter", "keep")[1]


def test_profiles_and_exclusions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("# not these\n10.5072/A\n")
    code, out, _ = run("import", "c", "in", "--profile", "acm-cr", "--exclude", "out.txt")
    assert code == 0
    assert "c: 1 document\n" in out
    (tmp_path / "mine.toml").write_text('types = ["inproceedings"]\n')
    assert "c: 1 document\n" in run("import", "c", "--profile", "mine.toml")[1]


def test_only_reads_what_matches(run: Run) -> None:
    assert "citing" not in run("import", "c", "in", "--only", "*.bib")[1]


def test_stats_for_people_and_for_programs(run: Run, tmp_path: Path) -> None:
    run("import", "c", "in", "--quiet")
    code, out, _ = run("stats", "c")
    assert code == 0
    assert "3 documents, 1 citing paper" in out
    rows = json.loads(run("stats", "c", "--json")[1])
    named = {(row["group"], row["name"]): row["value"] for row in rows}
    assert named["documents", "count"] == 3
    table = list(csv.DictReader(io.StringIO(run("stats", "c", "--csv")[1])))
    assert len(table) == len(rows)
    code, _, err = run("stats", "c", "--plot", "c.png", "--json")
    assert code == 0
    assert "drew c.png" in err
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_lint_finds_counts_and_tells_how_to_fix(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in/x.qrels").write_text("q1 0 nowhere 1\nq1 0 a 1\n")
    run("import", "c", "in", "--quiet")
    code, out, _ = run("lint", "c")
    assert code == 1
    assert re.search(r"error: .*\(1\)  \[absent-documents\]", out)
    assert "mend:" in out
    rows = json.loads(run("lint", "c", "--only", "absent-documents", "--json")[1])
    assert [(row["check"], row["count"]) for row in rows] == [("absent-documents", 1)]
    assert run("lint", "c", "--only", "absent-queries")[0] in (0, 1)
    code, _, err = run("lint", "c", "--only", "absent-document")
    assert code == 1
    assert "Did you mean 'absent-documents'?" in err


def test_an_export_is_not_replaced_unless_asked(run: Run) -> None:
    run("import", "c", "in", "--quiet")
    for form in ("trec", "bibtex"):
        code, out, _ = run("export", "c", form, "--to", form)
        assert (code, "3" in out, Path(form).exists()) == (0, True, True)
        code, _, err = run("export", "c", form, "--to", form)
        assert (code, "--overwrite" in err) == (1, True)
        assert run("export", "c", form, "--to", form, "--overwrite")[0] == 0


def test_fetch_from_a_mirror_and_the_command_it_prints(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("fetch")
    assert code == 0
    assert "acm-cr" in out
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/cacm.tar.gz").write_bytes(b"not really")
    code, out, _ = run("fetch", "cacm", "--mirror", (tmp_path / "mirror").as_uri())
    assert code == 0
    assert "citebed import cacm-collection cacm/cacm.tar.gz" in out
    code, _, err = run("fetch", "cacmm")
    assert code == 1
    assert "Did you mean 'cacm'?" in err


def test_the_demo_fits_one_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("demo")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "demo-collection: 153 documents" in out
    assert QUESTION in out
    assert " 1. Relevance Based Language Models" in out
    assert lines[lines.index("Next:") + 1].startswith("  citebed serve")
    assert run("lint", "demo-collection")[0] == 0
    assert len(run("demo")[1].splitlines()) <= 40


def test_the_demo_leaves_the_work_of_others_alone(run: Run) -> None:
    assert run("import", "mine", "in/refs.bib")[0] == 0
    before = open_collection("mine").documents
    for folder, held in (("mine", "the collection 'mine'"), ("in", "files")):
        code, out, err = run("demo", folder)
        assert (code, out) == (1, "")
        assert f"'{folder}' already contains {held}" in err
        assert "citebed demo demo-collection-2" in err
    assert open_collection("mine").documents.equals(before)
    assert not Path("in/citebed.toml").exists()
    with pytest.raises(CollectionError, match="already contains the collection"):
        citebed.demo("mine")


@pytest.mark.usefixtures("blank_figures")
def test_the_whole_demo(run: Run) -> None:
    code, out, _ = run("demo", "--full")
    assert code == 0
    assert "15 paragraphs" in out
    stream = Path("demo-collection/reports/stream.html").read_text("utf-8")
    for model in ("names", "relevance_model", "incremental"):
        assert f"{model}.run" in stream
    cited = open_collection("demo-collection").references.drop_nulls("doc_id")
    judged = Path("demo-collection/stream/topics.qrels").read_text().splitlines()
    pairs = set(cited.select("paper_id", "doc_id").iter_rows())
    assert {(line.split()[0], line.split()[2]) for line in judged} == pairs
    # The page of the three papers names files of a demo called "mine".
    page = Path(__file__).parents[3] / "docs" / "papers.md"
    named = set(re.findall(r"mine/(stream/[\w./*]+)", page.read_text("utf-8")))
    assert named == {"stream/kba.qrels", "stream/kba/*.run"}
    assert all(list(Path("demo-collection").glob(name)) for name in named)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "in/refs.bib"], "is a file. Give the collection folder first"),
        (["import", "c"], "name at least one file"),
        (["import", "c", "nowhere.bib"], "no such file or folder: nowhere.bib"),
        (["import", "c", "in", "--profile", "acmcr"], "Did you mean 'acm-cr'?"),
        (["import", "c", "in", "--front-matter", "dorp"], "Did you mean 'drop'?"),
        (["import", "c", "in", "--exclude", "nowhere.txt"], "no such file: nowhere.txt"),
        (["imprt"], "Did you mean 'import'?"),
        (["import", "c", "in", "--types", "articel"], "Did you mean 'article'?"),
        (
            ["import", "c", "in", "--types", "book"],
            "of 3 records none would be kept: type article 2",
        ),
        (["import", "c", "in", "--only", "*.ris"], "nothing was imported: the named sources have"),
        (["import", "c", "in", "--workers", "x"], "'x' is not a whole number."),
        (["lint", "c", "--examples", "x"], "'x' is not a whole number."),
        (["lint", "c", "--examples", "-1"], "-1 is too small; the minimum is 0."),
        (["lint", "c", "--examples", "-1"], "See 'citebed lint --help'"),
        (["import", "c", "in", "--tpyes", "article"], "No such option"),
        (["stats", "nowhere"], "there is no collection at 'nowhere'"),
        (["stats", "in"], "is not a collection"),
        (["stats", "in/refs.bib"], "is a file; a collection is a folder"),
        (["export", "c", "x"], "Missing option '--to'"),
        (["lint", "nowhere"], "there is no collection"),
    ],
)
def test_wrong_things_get_a_clear_message_and_exit_code_1(
    run: Run, arguments: list[str], message: str
) -> None:
    code, out, err = run(*arguments)
    assert code == 1
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_every_verb_shows_a_working_example(run: Run) -> None:
    for verb in ("import", "forget", "stats", "lint", "export", "fetch", "demo"):
        code, out, _ = run(verb, "--help")
        assert code == 0
        assert f"Example: citebed {verb}" in out


def test_a_bug_is_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("citebed.collection.open_collection", broken)
    code, err = main(["stats", "c"]), capsys.readouterr().err
    assert code == 2
    assert "internal error: ZeroDivisionError: oh" in err
    assert "CITEBED_DEBUG" in err


def test_interrupting_leaves_no_half_made_collection(tmp_path: Path) -> None:
    entry = "@article{{k{0}, title={{Paper {0} of Many}}, abstract={{{1}}}}}\n"
    text = "".join(entry.format(n, "words " * 80) for n in range(sized(15_000, 40_000)))
    (tmp_path / "big.bib").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "citebed", "import", str(tmp_path / "c"), str(tmp_path / "big.bib")],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.glob("c/.staging/parts/*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in err
    assert not (tmp_path / "c").exists()


def test_a_terminal_shows_a_bar_with_rate_and_time_left(tmp_path: Path) -> None:
    entry = "@article{{k{0}, title={{Paper {0} of Many}}, abstract={{{1}}}}}\n"
    text = "".join(entry.format(n, "words " * 80) for n in range(sized(12_000, 30_000)))
    (tmp_path / "big.bib").write_text(text)
    try:
        ours, theirs = pty.openpty()
    except OSError:
        pytest.skip("this machine has no pseudo-terminals")
    process = subprocess.Popen(
        [sys.executable, "-m", "citebed", "import", str(tmp_path / "c"), str(tmp_path / "big.bib")],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    waiting = select.poll()  # which takes descriptors above 1024, too
    waiting.register(ours, select.POLLIN)
    while waiting.poll(60_000):
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(ours)
    assert process.wait() == 0
    assert b"MB/s" in seen
    assert b"left" in seen
