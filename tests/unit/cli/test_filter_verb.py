"""The verb of filtering as a stranger types it: results, exit codes, messages."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from citebed.cli.app import VERBS, main
from citebed.timeline.kba_format import read_filter_run

STREAM = [
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
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in a folder with a stream and topics."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(VERBS, "filtering", ("filter",))
    monkeypatch.setenv("COLUMNS", "200")
    lines(Path("s.jsonl"), STREAM)
    lines(Path("t.jsonl"), TOPICS)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "a bug of ours" not in err
        return code, out, err

    return call


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
    assert "'s.jsonl.names.run' is there already; add --overwrite" in err
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
    assert "skipped s.jsonl:5: no JSON object" in err
    _, out, _ = run("filter", "s.jsonl", "-t", "t.jsonl", "--utc", "-o", "utc")
    assert "read 4 documents, skipped 1 line," in out
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "--strict", "-o", "strict")
    assert code == 1
    assert "citebed: s.jsonl:4: the time" in err
    assert not Path("strict").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["none.jsonl", "-t", "t.jsonl"], "none.jsonl: No such file"),
        (["s.jsonl", "-t", "none"], "none: No such file"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "nmaes"], "Did you mean 'names'"),
        (["s.jsonl", "-t", "t.jsonl", "-j", "t.jsonl"], "does not learn from judgements"),
        (["s.jsonl", "-t", "t.jsonl", "--feedback-delay", "soon"], "no length of time"),
        (["s.jsonl", "-t", "s.jsonl"], "s.jsonl:1: no topic"),
        (["s.jsonl", "-t", "t.jsonl", "--team", "a b"], "take one word"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "incremental", "--analyser", "x"], "unknown analyser"),
        (["s.jsonl", "-t", "t.jsonl", "-m", "incremental", "-j", "t.jsonl"], "t.jsonl:1:"),
        (["t.jsonl", "-t", "t.jsonl", "--strict"], "t.jsonl:1: the doc_id None"),
    ],
)
def test_what_the_user_can_mend_is_said(run: Run, arguments: list[str], what: str) -> None:
    code, out, err = run("filter", *arguments)
    assert (code, out) == (1, "")
    assert what in err


def test_a_stream_out_of_order_is_told_with_its_line(run: Run) -> None:
    lines(Path("s.jsonl"), [STREAM[2], STREAM[0]])
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl")
    assert code == 1
    assert "s.jsonl:2: 'a' is of 1323432000, earlier than the document before it" in err


def test_a_collection_is_a_stream_by_date(run: Run) -> None:
    Path("in").mkdir()
    Path("in/refs.bib").write_text(BIB)
    assert run("import", "c", "in", "-q")[0] == 0
    code, out, err = run("filter", "c", "-t", "t.jsonl", "-o", "out.run")
    assert code == 0
    assert "read 2 documents" in out
    assert "left out 1 document without a date" in err
    table = read_filter_run("out.run").table
    # 1969-01-01 and 2001-01-01, UTC
    assert table.select("query_id", "time").rows() == [("elm", -31536000), ("oak", 978307200)]
    assert [name.split("-")[-1] for name in table["doc_id"]] == ["x3", "x1"]


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


def test_a_folder_is_no_output(run: Run) -> None:
    code, _, err = run("filter", "s.jsonl", "-t", "t.jsonl", "-o", ".")
    assert code == 1
    assert "is a folder" in err
