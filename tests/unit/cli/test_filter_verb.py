"""The verb of filtering as a stranger types it: results, exit codes, messages."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Run

from citebed.cli.app import main
from citebed.runs.kba_files import read_filter_run
from citebed.timeline.filters import checkpoint

STREAM: list[dict[str, Any]] = [
    {"doc_id": "a", "time": "2011-12-09T12:00:00Z", "text": "Oaks are planted."},
    {"doc_id": "b", "time": "2011-12-09T14:00:00+02:00", "title": "Ann Oak plants an oak"},
    {"doc_id": "c", "time": 1323432060, "text": "Bo Elm paints; Ann Oak plants."},
]
TOPICS = [
    {"query_id": "oak", "name": "Ann Oak", "text": "She plants oaks"},
    {"query_id": "elm", "name": "Bo Elm", "text": "He paints elms"},
]
BIB = """@article{x1, title={Ann Oak and her trees}, author={Ash, A}, year={2001}, journal={J}}
@article{x2, title={No date}, author={Ash, A}, journal={J}, abstract={Bo Elm}}
@article{x3, title={Of paint}, author={Ash, A}, year={1969}, journal={J}, abstract={Bo Elm}}
"""


@pytest.fixture
def run(command: Run) -> Run:
    """Run the command line in a folder with a stream and topics."""
    lines(Path("s.jsonl"), STREAM)
    lines(Path("t.jsonl"), TOPICS)

    return command


def lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_names_are_filtered_and_written_as_kba_does(run: Run) -> None:
    code, out, err = run("filter", "s.jsonl", "--topics", "t.jsonl", "-o", "out.run")
    assert (code, err) == (0, "")
    assert out == "read 3 documents, skipped 0 lines, wrote 3 lines: out.run\n"
    header, *rest = Path("out.run").read_text().splitlines()
    assert json.loads(header[1:])["system_id"] == "names"
    assert rest == [
        "citebed names 1323432000-b oak 667 1 1 2011-12-09-12",
        "citebed names 1323432060-c oak 500 1 1 2011-12-09-12",
        "citebed names 1323432060-c elm 500 1 1 2011-12-09-12",
    ]


@pytest.mark.parametrize("model", ["names", "relevance_model(mu=1)", "incremental"])
def test_every_model_writes_a_run_that_reads_back(run: Run, model: str) -> None:
    code, out, _ = run("filter", "s.jsonl", "-t", "t.jsonl", "-m", model, "--json", "-o", "o.gz")
    row = json.loads(out)[0]
    table = read_filter_run("o.gz").table
    assert code == 0
    assert (row["documents"], row["skipped"], row["resumed"]) == (3, 0, 0)
    assert row["lines"] == table.height > 0
    assert gzip.decompress(Path("o.gz").read_bytes()).startswith(b'#{"team_id": "citebed"')
    assert sorted(path.name for path in Path().iterdir()) == ["o.gz", "s.jsonl", "t.jsonl"]


def test_the_output_has_a_name_of_its_own_and_is_not_replaced(run: Run) -> None:
    assert run("filter", "s.jsonl", "-t", "t.jsonl", "-q") == (0, "", "")
    assert Path("s.jsonl.names.run").exists()
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl")
    assert code == 1
    assert "'s.jsonl.names.run' already exists; add --overwrite" in err
    assert run("filter", "s.jsonl", "-t", "t.jsonl", "--overwrite")[0] == 0


def test_judgements_teach_the_incremental_model_after_their_delay(run: Run) -> None:
    Path("q").write_text("oak 1323432000-b 1000 2 1\n")
    scores = {}
    for delay in ("0", "60s", "1d"):
        code, _, _ = run(
            *("filter", "s.jsonl", "-t", "t.jsonl", "-m", "incremental", "-j", "q"),
            *("--feedback-delay", delay, "-o", delay),
        )
        assert code == 0
        rows = read_filter_run(delay).table.rows(named=True)
        scores[delay] = [row["score"] for row in rows if row["query_id"] == "oak"]
    assert scores["60s"] == scores["1d"]
    assert scores["0"][0] == scores["1d"][0]
    assert scores["0"][1] > scores["1d"][1]


def test_what_is_left_out_is_counted_and_told(run: Run) -> None:
    with Path("s.jsonl").open("a") as stream:
        stream.write('{"doc_id": "d", "time": "2011-12-09T13:00:00", "text": "x"}\nno\n')
    code, out, err = run("filter", "s.jsonl", "-t", "t.jsonl")
    assert code == 0
    assert "skipped 2 lines" in out
    assert "skipped s.jsonl:4: the time '2011-12-09T13:00:00' is neither" in err
    assert "skipped s.jsonl:5: not a JSON object" in err
    _, out, _ = run("filter", "s.jsonl", "-t", "t.jsonl", "--utc", "-o", "utc")
    assert "read 4 documents, skipped 1 line," in out
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "--strict", "-o", "strict")
    assert code == 1
    assert "citebed: s.jsonl:4: the time" in err
    assert not Path("strict").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["none.jsonl", "-t", "t.jsonl"], "no such file: none.jsonl"),
        (["s.jsonl", "-t", "none"], "no such file: none"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "nmaes"], "Did you mean 'names'"),
        (["s.jsonl", "-t", "t.jsonl", "-j", "t.jsonl"], "does not learn from judgements"),
        (["s.jsonl", "-t", "t.jsonl", "--feedback-delay", "soon"], "is not a duration"),
        (["s.jsonl", "-t", "s.jsonl"], "s.jsonl:1: no topic"),
        (["s.jsonl", "-t", "t.jsonl", "--team", "a b"], "must be one word"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "incremental", "--analyser", "x"], "unknown analyser"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "incremental", "-j", "t.jsonl"], "t.jsonl:1:"),
        (["t.jsonl", "-t", "t.jsonl", "--strict"], "t.jsonl:1: the doc_id None"),
        (["s.jsonl", "-t", "t.jsonl", "--feedback-delay", "7d"], "--feedback-delay has no effect"),
        (["s.jsonl", "-t", "t.jsonl", "--analyser", "x"], "matches names only"),
    ],
)
def test_what_the_user_can_fix_is_said(run: Run, arguments: list[str], what: str) -> None:
    code, out, err = run("filter", *arguments)
    assert (code, out) == (1, "")
    assert what in err


def test_a_collection_is_a_stream_by_date(run: Run) -> None:
    Path("in").mkdir()
    Path("in/refs.bib").write_text(BIB)
    assert run("import", "c", "in", "-q")[0] == 0
    code, out, err = run("filter", "c", "-t", "t.jsonl", "-o", "out.run", "--skipped", "list")
    assert code == 0
    assert Path("list").read_text() == ""
    assert "read 2 documents" in out
    assert "skipped 1 document without a date" in err
    table = read_filter_run("out.run").table
    # 1969-01-01 and 2001-01-01, UTC
    assert table.select("query_id", "time").rows() == [("elm", -31536000), ("oak", 978307200)]
    assert [name.split("-")[-1] for name in table["doc_id"]] == ["x3", "x1"]


def test_a_collection_without_dates_is_not_a_stream(run: Run) -> None:
    Path("in").mkdir()
    Path("in/refs.bib").write_text(BIB.splitlines()[1])
    assert run("import", "c", "in", "-q")[0] == 0
    code, _, err = run("filter", "c", "-t", "t.jsonl", "-o", "out.run")
    assert code == 1
    assert "citebed: c: no document has a date (1 document)" in err
    assert not Path("out.run").exists()


def test_the_example_of_the_page_is_true(run: Run) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "filter.md").read_text("utf-8")
    example = page.split("## A working example")[1].split("## ")[0]
    topics, stream, expected = re.findall(r"^```\w+\n(.*?)^```$", example, re.M | re.S)
    Path("topics.jsonl").write_text(topics)
    Path("stream.jsonl").write_text(stream)
    code, out, _ = run("filter", "stream.jsonl", "--topics", "topics.jsonl", "-o", "out.run")
    assert code == 0
    assert out.strip() in " ".join(example.split())
    assert Path("out.run").read_text().split("\n", 1)[1] == expected


@pytest.mark.parametrize(
    ("stream", "output"),
    [
        ("s.jsonl", "s.jsonl"),
        ("x.run.partial", "x.run"),
        ("s.jsonl", "t.jsonl"),
    ],
)
def test_nothing_that_is_read_is_written_over(run: Run, stream: str, output: str) -> None:
    if stream != "s.jsonl":
        Path(stream).write_bytes(Path("s.jsonl").read_bytes())
    before = {name: Path(name).read_bytes() for name in (stream, "t.jsonl")}
    code, _, err = run("filter", stream, "-t", "t.jsonl", "-o", output, "--overwrite")
    assert code == 1
    assert "is one of the files that are read" in err
    assert {name: Path(name).read_bytes() for name in before} == before


def test_a_collection_is_not_written_over(run: Run) -> None:
    Path("refs.bib").write_text("@article{a, title={Ann Oak}, year={2001}}\n")
    assert main(["import", "c", "refs.bib", "-q"]) == 0
    before = Path("c/documents.parquet").read_bytes()
    for output in ("c/documents.parquet", "c/citebed.toml"):
        code, _, err = run("filter", "c", "-t", "t.jsonl", "-o", output, "--overwrite")
        assert (code, f"'{output}' is part of the collection" in err) == (1, True)
    assert Path("c/documents.parquet").read_bytes() == before
    for _ in range(2):  # a filter run there may be made again
        assert run("filter", "c", "-t", "t.jsonl", "-o", "c/a.run.gz", "--overwrite")[0] == 0


def test_a_pipe_is_not_a_stream(run: Run) -> None:
    os.mkfifo("pipe")
    code, _, err = run("filter", "pipe", "-t", "t.jsonl")
    assert code == 1
    assert "'pipe' is a pipe. Use a regular file" in err


def test_a_folder_is_not_an_output(run: Run) -> None:
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "-o", ".")
    assert code == 1
    assert "is a folder" in err


# --- again, in vain, and left out -----------------------------------------------------------


@pytest.mark.parametrize(("model", "packed"), [("names", False), ("incremental", True)])
def test_a_document_that_comes_again_is_reported_and_timeline_takes_the_run(
    run: Run, model: str, packed: bool
) -> None:
    run("filter", "s.jsonl", "-t", "t.jsonl", "-m", model, "-o", "once.run")
    twice = "".join(json.dumps(row) + "\n" for row in STREAM for _ in range(2)).encode()
    Path("s.jsonl").write_bytes(gzip.compress(twice) if packed else twice)
    output = "twice.run.gz" if packed else "twice.run"
    code, out, err = run("filter", "s.jsonl", "-t", "t.jsonl", "-m", model, "-o", output)
    assert code == 0
    assert "read 3 documents, skipped 3 lines (3 the same document again), wrote" in out
    assert "skipped s.jsonl:2: the same document again: 'a' came before at the same time" in err
    written = Path(output).read_bytes()
    assert (gzip.decompress(written) if packed else written) == Path("once.run").read_bytes()
    Path("q").write_text("oak 1323432000-b 1000 2 1\n")
    assert run("timeline", "q", output, "--slice", "1d")[0] == 0


def test_all_skipped_lines_are_listed_where_one_wants(run: Run) -> None:
    with Path("s.jsonl").open("a") as stream:
        stream.write("no\n" * 7)
    _, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "-o", "1")
    assert err.count("skipped s.jsonl:") == 5
    assert err.endswith("skipped 2 more lines; --skipped FILE lists them all\n")
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "-o", "2", "--skipped", "list")
    assert code == 0
    assert err.endswith("skipped 2 more lines; list lists them all\n")
    why = "not a JSON object in UTF-8 (Expecting value at character 1)"
    assert Path("list").read_text() == "".join(f"s.jsonl:{n}: {why}\n" for n in range(4, 11))


@pytest.mark.parametrize(
    ("listed", "what"),
    [
        ("s.jsonl", "'s.jsonl' is one of the files that are read"),
        ("t.jsonl", "'t.jsonl' is one of the files that are read"),
        ("link", "'link' is one of the files that are read"),
        ("out.run", "'out.run' would be written by both -o and --skipped"),
        ("out.run.partial", "'out.run.partial' would be written by both"),
        ("out.run.checkpoint", "'out.run.checkpoint' would be written by both"),
        (".", "'.' is a folder; name a file with --skipped"),
    ],
)
def test_the_list_goes_over_nothing_else(run: Run, listed: str, what: str) -> None:
    Path("link").hardlink_to("s.jsonl")
    before = {name: Path(name).read_bytes() for name in ("s.jsonl", "t.jsonl")}
    options = ("-o", "out.run", "--skipped", listed, "--overwrite")
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", *options)
    assert code == 1
    assert what in err
    assert {name: Path(name).read_bytes() for name in before} == before
    assert sorted(path.name for path in Path().iterdir()) == ["link", "s.jsonl", "t.jsonl"]


def test_what_was_given_in_vain_is_reported(run: Run) -> None:
    lines(Path("t.jsonl"), [*TOPICS, {"query_id": "yew", "training": ["nix"]}])
    Path("q").write_text("oak 0 b 1\nfig 0 b 1\n" + "".join(f"elm 0 x{n} 1\n" for n in range(6)))
    options = ("-m", "incremental", "-j", "q", "-o", "out.run")
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", *options)
    assert code == 0
    assert err.splitlines() == [
        "1 of 3 topics matched no document: yew",
        "1 judged topic missing from --topics: fig",
        "7 judged or training documents not in the stream: nix, x0, x1, x2, x3 and 2 more",
    ]
    assert run("filter", "s.jsonl", "-t", "t.jsonl", *options, "--overwrite", "-q") == (0, "", "")
    _, out, _ = run("filter", "s.jsonl", "-t", "t.jsonl", *options, "--overwrite", "--json")
    row = json.loads(out)[0]
    assert (row["unmatched"], row["unknown"]) == (["yew"], ["fig"])
    assert row["unmet"] == ["nix", "x0", "x1", "x2", "x3", "x4", "x5"]


# --- stopped --------------------------------------------------------------------------------

COMMAND = ("filter", "s.jsonl", "-t", "t.jsonl", "-o", "out.run", "--checkpoint-every", "0")


def interrupting(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Ctrl-C instead of the checkpoint of this number; the first is made after three documents."""
    real, saves = checkpoint.save, list[int]()

    def save(*arguments: Any) -> None:
        saves.append(1)
        if len(saves) == at:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(checkpoint, "save", save)


def test_ctrl_c_says_how_to_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("filter", "s.jsonl", "-t", "t.jsonl", "-o", "whole.run")
    with monkeypatch.context() as patch:
        interrupting(patch, 2)
        code, out, err = run(*COMMAND)
    assert (code, out) == (130, "")
    assert err.startswith(
        "to go on after document 3, run the same command again (out.run.partial and "
        "out.run.checkpoint are kept for that); add --restart to start over\n"
    )
    code, out, _ = run(*COMMAND)
    assert "read 3 documents (3 of them before it was stopped), skipped 0 lines" in out
    assert Path("out.run").read_bytes() == Path("whole.run").read_bytes()


def test_ctrl_c_before_the_first_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, 1)
    code, _, err = run(*COMMAND)
    assert code == 130
    assert err.startswith("stopped before the first checkpoint: the same command starts over\n")
    assert sorted(path.name for path in Path().iterdir()) == ["s.jsonl", "t.jsonl"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("-m", "incremental"), "made with the model 'names(half=1,title=2,common=0.01)' (now"),
        (("-t", "u.jsonl"), "made with the topics file 't.jsonl' (now 'u.jsonl')."),
        (("--team", "x"), "made with the team 'citebed' (now 'x')."),
    ],
)
def test_a_checkpoint_that_does_not_fit_says_why(
    run: Run, monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...], what: str
) -> None:
    lines(Path("u.jsonl"), TOPICS)
    with monkeypatch.context() as patch:
        interrupting(patch, 2)
        run(*COMMAND)
    before = sorted(Path().iterdir())
    code, _, err = run(*COMMAND, *change)
    assert code == 1
    assert f"citebed: the checkpoint out.run.checkpoint does not fit: it was {what}" in err
    assert "analyser" not in err
    assert "add --restart to start over" in err
    assert sorted(Path().iterdir()) == before
    assert run(*COMMAND, *change, "--restart")[0] == 0
