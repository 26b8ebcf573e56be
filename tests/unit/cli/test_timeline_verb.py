"""``citebed timeline`` as a stranger types it: results, exit codes, messages."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import threading
from datetime import datetime
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from tests.commands import Run

from citebed.cli.app import main

START = 1_317_945_600  # 2011-10-07T00:00:00Z
DAY = 86_400

# The case that docs/timeline.md works out.
QRELS = [("q", "a", 0, 1), ("q", "b", 0, 1), ("q", "c", 0, 0), ("q", "d", 8, 1), ("r", "e", 9, 1),
         ("r", "f", 22, 1)]  # fmt: skip
RUN = [("q", "a", 0, 900), ("q", "c", 0, 800), ("q", "b", 0, 700), ("q", "x", 8, 600),
       ("q", "d", 8, 500), ("q", "y", 15, 950), ("r", "e", 9, 100)]  # fmt: skip


def stream_id(doc: str, day: int) -> str:
    return f"{START + day * DAY + 3600}-{doc}"


@pytest.fixture
def run(command: Run) -> Run:
    """Run the command line in a folder with judgements and runs, in TREC's form and KBA's."""
    lines = [(q, stream_id(d, day), s) for q, d, day, s in RUN]
    Path("t.qrels").write_text("".join(f"{q} 0 {stream_id(d, y)} {g}\n" for q, d, y, g in QRELS))
    Path("me.run").write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in lines))
    Path("worse.run").write_text("".join(f"{q} Q0 {d} 1 {1001 - s} tag\n" for q, d, s in lines))
    Path("none.run").write_text("r Q0 1317945601-z 1 5 tag\nnobody Q0 1317945601-z 1 5 tag\n")
    Path("kba.txt").write_text(
        "".join(f"{q} {stream_id(d, y)} 1000 {2 * g or -1} 1\n" for q, d, y, g in QRELS)
    )

    return partial(command, "timeline")


def test_slicings_are_side_by_side(run: Run) -> None:
    """As docs/timeline.md works them out: 7/12 in weeks, 1/2 as one batch."""
    asked = ("t.qrels", "me.run", "--slice", "7d", "--slice", "all", "-m", "AP", "--no-intervals")
    code, out, _ = run(*asked)
    lines = out.splitlines()
    assert code == 0
    assert re.split(r"  +", lines[0].strip()) == ["run", "queries", "AP, uniform, 7d", "AP, all"]
    assert lines[1].split() == ["me", "2", "0.5833", "0.5000"]
    assert out.index("Slices of 7d:") < out.index("Slices of all:")
    code, out, _ = run(*asked, "--json")
    rows = [(row["slicing"], round(row["value"], 4)) for row in json.loads(out)]
    assert rows == [("7d", 0.5833), ("all", 0.5)]
    code, _, err = run(*asked, "--report", "page.html")
    assert code == 1
    assert "one slicing. Give --slice once" in err


def test_scores_by_kind_of_query(run: Run) -> None:
    asked = ("t.qrels", "me.run", "--slice", "7d", "-m", "AP", "--by-kind")
    code, out, _ = run(*asked)
    assert code == 0
    assert out.splitlines()[0].split() == ["run", "measure", "weight", "few", "(2)"]
    assert out.splitlines()[1].split() == ["me", "AP", "uniform", "0.5833"]
    code, out, _ = run(*asked, "--json")
    assert [(row["kind"], row["queries"]) for row in json.loads(out)] == [("few", 2)]
    for others in (["--trend"], ["-q"], ["-s"], ["--baseline", "me"]):
        code, _, err = run(*asked, "--json", *others)
        assert code == 1
        assert "Remove" in err


def test_a_table_for_people(run: Run) -> None:
    code, out, err = run(
        "t.qrels",
        "me.run",
        "-m",
        "AP",
        "--weight",
        "uniform",
        "--weight",
        "burst",
        "--slice",
        "7d",
        "--no-intervals",
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split("  ")[-2:] == ["AP, uniform", "AP, burst"]
    assert lines[1].split() == ["me", "2", "0.5833", "0.6111"]
    assert "No trends: only 3 slices with relevant documents" in lines
    assert "note: 1 of 4 slices without a relevant document, in no average" in lines
    assert lines[-1] == (
        "2 queries in 4 slices from 2011-10-07T00:00:00Z to 2011-11-04T00:00:00Z; "
        "1 run of 7 documents"
    )


def test_rows_for_programs_have_the_fields_of_the_interface(run: Run) -> None:
    words = ["-m", "AP", "-w", "burst", "--slice", "7d", "--no-intervals", "--json"]
    code, out, err = run("t.qrels", "me.run", "worse.run", *words)
    assert code == 0
    assert json.loads(out)[0] == {
        "run": "me", "measure": "AP", "query_id": "all", "slice": "all", "weight": "burst",
        "value": pytest.approx(11 / 18), "low": None, "high": None,
    }  # fmt: skip
    assert len(json.loads(out)) == 2
    assert "note: me: it returned nothing in 1 of 4 pairs" in err


def test_rows_of_queries_and_slices(run: Run) -> None:
    _, out, _ = run("t.qrels", "me.run", "-m", "AP", "-q", "-s", "--slice", "7d", "--csv")
    rows = [
        (row["query_id"], row["slice"][:10], row["weight"], round(float(row["value"]), 4))
        for row in csv.DictReader(io.StringIO(out))
    ]
    assert rows == [
        ("q", "2011-10-07", "", 0.8333), ("q", "2011-10-14", "", 0.5), ("r", "2011-10-14", "", 1),
        ("r", "2011-10-28", "", 0), ("q", "all", "uniform", 0.6667), ("r", "all", "uniform", 0.5),
        ("all", "2011-10-07", "", 0.8333), ("all", "2011-10-14", "", 0.75),
        ("all", "2011-10-28", "", 0), ("all", "all", "uniform", 0.5833),
    ]  # fmt: skip


def test_tables_of_queries_and_slices(run: Run) -> None:
    _, out, _ = run("t.qrels", "me.run", "-m", "AP", "--per-query", "--per-slice", "--slice", "7d",
                    "--no-trend")  # fmt: skip
    assert "me, query  AP, uniform" in out
    assert re.search(r"^2011-10-14T00:00:00Z +2 +2  0\.7500$", out, re.MULTILINE)
    assert re.search(r"^2011-10-21T00:00:00Z +0 +0       –$", out, re.MULTILINE)
    assert "\n2011-10-28T00:00:00Z (partial) " in out
    assert "note: the last slice is partial: 2 days of 7d, from 2011-10-28T00:00:00Z on" in out
    _, out, _ = run("t.qrels", "me.run", "-m", "AP", "--slice", "7d", "-s", "--json")
    assert [row.get("partial") for row in json.loads(out)] == [False, False, True, None]


def test_trends_for_programs_and_in_words(run: Run) -> None:
    code, out, _ = run("t.qrels", "me.run", "-m", "AP", "--slice", "1d", "--trend", "--json")
    (row,) = json.loads(out)
    assert (code, row["run"], row["unit"], row["slices"]) == (0, "me", "day", 4)
    assert row["significant"] is False
    _, out, _ = run("t.qrels", "me.run", "worse.run", "none.run", "-m", "AP", "--slice", "1d")
    assert "AP: the ranking of systems in a slice agrees with the overall one at τ" in out


def test_kba_judgements_and_the_official_scoring(run: Run) -> None:
    code, out, _ = run("official", "kba.txt", "me.run", "--cutoff-step", "100", "--json")
    rows = [
        row for row in json.loads(out)
        if (row["positives"], row["entities"], row["average"]) == ("central", "all", "micro")
    ]  # fmt: skip
    assert code == 0
    # Above 0: TP a, b, d, e; FP c (x and y are not judged); FN f.
    best = {row["best"]: row for row in rows}["F1 of means"]
    assert (best["cutoff"], best["precision"], best["recall"]) == (0, 0.8, 0.8)
    assert best["su"] == pytest.approx(((2 * 4 - 1) / 10 + 0.5) / 1.5)
    assert best["su_of_nothing"] == pytest.approx(1 / 3)


def test_the_official_scoring_as_tables(run: Run) -> None:
    _, out, err = run("official", "kba.txt", "me.run")
    assert err == ""
    assert out.startswith("Best cut-offs by F1 of means:\nrun")
    assert "SU of nothing" in out
    assert "central+relevant  all, each with positives  weighted" in out
    assert len(out.splitlines()) == 2 * (1 + 1 + 2 * 3 + 1) + 1  # not 12 rows a table
    _, out, _ = run(
        "official", "kba.txt", "me.run", "--cutoff-step", "500", "--all-cutoffs",
        "--require-positives", "--csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["cutoff"] for row in rows[:2]] == ["0", "500"]
    assert {row["entities"] for row in rows} == {"with positives"}
    assert len(rows) == 2 * 3 * 2


def test_unjudged_entities_and_silence_are_counted(run: Run) -> None:
    code, out, _ = run("t.qrels", "none.run", "-m", "AP")
    assert code == 0
    assert "note: none: 1 of 2 documents left out, for 1 query without judgements: nobody" in out
    assert "note: none: it returned nothing in 4 of 4 pairs of query and slice" in out


def test_times_from_a_file(run: Run) -> None:
    Path("plain.qrels").write_text("q 0 a 1\nq 0 b 1\n")
    Path("plain.run").write_text("q Q0 b 1 5 t\nq Q0 a 2 4 t\n")
    Path("times").write_text("a 2011-10-07T01:00:00+02:00\nb 2011-10-08T00:00:00Z\n")
    code, out, _ = run("plain.qrels", "plain.run", "--times", "times", "-m", "AP", "-s", "--csv",
                       "--slice", "1d")  # fmt: skip
    slices = [row["slice"] for row in csv.DictReader(io.StringIO(out))]
    assert (code, slices) == (0, ["2011-10-06T00:00:00Z", "2011-10-08T00:00:00Z", "all"])
    Path("times").write_text("a 2011-10-07T01:00:00\nb 2011-10-08T00:00:00\n")
    code, _, err = run("plain.qrels", "plain.run", "--times", "times")
    assert (code, "times:1: the time '2011-10-07T01:00:00' has no time zone" in err) == (1, True)
    assert run("plain.qrels", "plain.run", "--times", "times", "--utc", "--slice", "1d")[0] == 0


def test_times_from_a_collection(run: Run) -> None:
    Path("refs.bib").write_text(
        "@article{a, title={A}, year={2001}}\n@article{b, title={B}, year={2003}}\n"
    )
    assert main(["import", "c", "refs.bib", "-q"]) == 0
    Path("plain.qrels").write_text("q 0 a 1\nq 0 b 1\n")
    Path("plain.run").write_text("q Q0 b 1 5 t\nq Q0 a 2 4 t\n")
    code, out, _ = run("plain.qrels", "plain.run", "--times", "c", "--slice", "1mo", "-s", "--csv")
    starts = {row["slice"] for row in csv.DictReader(io.StringIO(out[out.index("run,") :]))}
    assert (code, starts) == (0, {"2001-01-01T00:00:00Z", "2003-01-01T00:00:00Z", "all"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.qrels", "me.run", "--slice", "60d"], "slices of 60d are longer than"),
        (["t.qrels", "me.run", "--slice", "weekly"], "cannot read the slicing 'weekly'"),
        (["t.qrels", "me.run", "--from", "2012-01-01"], "no later than it starts"),
        (["t.qrels", "me.run", "--from", "soon"], "neither an epoch second nor ISO 8601"),
        (["t.qrels", "me.run", "--from", "2013"], "like a year. Write 2013-01-01T00:00:00Z"),
        (["t.qrels", "me.run", "--from", "999999999999"], "not within the years 1 to 9999"),
        (["t.qrels", "me.run", "--seed", "-1"], "-1"),
        (["t.qrels", "me.run", "--weight", "bursty"], "unknown weighting 'bursty'"),
        (["t.qrels", "me.run", "-m", "AP(rel=2)"], "--rel 2"),
        (["t.qrels", "me.run", "--assessors", "vote"], "unknown rule for several assessors"),
        (["t.qrels", "me.run", "--rel", "2"], "the lowest relevant grade (--rel)"),
        (["me.run", "t.qrels"], "a run, but judgements were expected"),
        (["t.qrels", "t.qrels"], "instead of a run"),
        (["t.qrels", "gone.run"], "gone.run"),
        (["t.qrels", "empty.run"], "the file is empty"),
        (["t.qrels", "me.run", "--official"], "use 'citebed timeline official'"),
        (["t.qrels", "me.run", "--official", "-s", "--plots", "p"], "Remove --per-slice."),
        (["t.qrels", "me.run", "--teams"], "the run 'me' does not name its team"),
        (["t.qrels", "me.run", "--teams-file", "bounds"], "has no team"),
        (["t.qrels", "me.run", "--alpha", "2"], "--alpha"),
        (["t.qrels", "me.run", "--threshold", "nan"], "'--threshold': nan is not a number"),
        (["t.qrels", "me.run", "--trend", "-s", "--json"], "Remove --per-query, --per-slice"),
        (["t.qrels", "me.run", "--slice", "200000mo"], "slices of 200000mo are longer than"),
        (["t.qrels", "me.run", "--report", "x.html", "--plots", "x.html"], "cannot be both"),
        (["far.qrels", "me.run", "--slice", "all"], "no epoch second in the id '999999999999-e'"),
        (
            ["t.qrels", "me.run", "--slice", "cuts", "--to", "2011-10-20"],
            "Leave out --from and --to",
        ),
        (["official", "t.qrels", "me.run", "--cutoff-step", "0"], "expected from 1 to 999"),
    ],
)
def test_what_a_user_can_fix(run: Run, arguments: list[str], message: str) -> None:
    Path("empty.run").write_text("")
    Path("far.qrels").write_text(f"q 0 999999999999-e 1\nq 0 {START}-a 1\n")
    Path("cuts").write_text(f"{START}\n{START + 30 * DAY}\n")
    Path("bounds").write_text("other ours\n")
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith("citebed: ")


def test_slices_by_boundaries_and_formats(run: Run) -> None:
    Path("bounds").write_text("2011-10-07T00:00Z\n2011-10-08T00:00Z\n2011-10-17T00:00Z\n")
    code, out, err = run(
        "t.qrels",
        "me.run",
        "--slice",
        "bounds",
        "-m",
        "AP",
        "--format",
        "markdown",
        "--no-trend",
        "--no-intervals",
    )
    # q: 5/6 and x d; r: e.
    assert (code, out.splitlines()[-1]) == (0, "| me | 2 | 0.8333 |")
    assert "note: 1 of 6 judged pairs outside all slices" in err


def test_a_half_life_of_an_hour_leaves_every_query_its_own_last_slice(run: Run) -> None:
    # Query q ends two weeks before r: its own last slice is d's, where d is second of two.
    code, out, err = run("t.qrels", "me.run", "-m", "AP", "-w", "recency:1h", "-q", "--json")
    assert (code, "Warning" in err) == (0, False)
    values = {row["query_id"]: row["value"] for row in json.loads(out)}
    assert values["q"] == pytest.approx(0.5)
    assert values["r"] == pytest.approx(0.0, abs=1e-9)


def test_months_end_with_the_calendar_and_start_at_the_given_date(run: Run) -> None:
    code, out, _ = run("t.qrels", "me.run", "-m", "AP", "--slice", "1mo", "--to", "9999-12-30")
    assert (code, "slices from 2011-10-07T00:00:00Z to 9999-12-30" in out) == (0, True)
    Path("one.qrels").write_text(f"q 0 {START}-a 1\nq 0 {START + 3600}-b 1\n")
    words = ["--slice", "1mo", "--from", "2011-10-07T00:30:00Z", "--to", "2011-11-07T00:30:00Z"]
    assert run("one.qrels", "me.run", "-m", "AP", *words)[0] == 0


def test_pictures_never_replace_what_is_read(run: Run) -> None:
    Path("p").mkdir()
    Path("p/scores_AP.svg").write_text(Path("me.run").read_text())
    code, _, err = run("t.qrels", "p/scores_AP.svg", "-m", "AP", "--plots", "p")
    assert code == 1
    assert "'p/scores_AP.svg' is an input file" in err
    assert Path("p/scores_AP.svg").read_text() == Path("me.run").read_text()


def test_a_mark_of_byte_order_before_a_header(run: Run) -> None:
    text = '\ufeff#{"team_id": "x"}\r\n' + f"T s {stream_id('a', 0)} q 5 1 1\r\n"
    Path("bom.run").write_text(text, "utf-8", newline="")
    assert run("t.qrels", "bom.run", "-m", "AP")[0] == 0


def test_runs_of_one_name_are_distinguished(run: Run) -> None:
    Path("old").mkdir()
    Path("old/me.run").write_text(Path("worse.run").read_text())
    code, out, _ = run("t.qrels", "me.run", "old/me.run", "-m", "AP", "--json")
    names = [row["run"] for row in json.loads(out)]
    assert (code, names) == (0, [f"{Path.cwd().name}/me", "old/me"])
    code, out, err = run("t.qrels", "me.run", "me.run", "-m", "AP")
    assert (code, out, err) == (1, "", "citebed: the file 'me.run' is given twice.\n")


def test_judgements_and_runs_from_pipes(run: Run) -> None:
    texts = {name: Path(name).read_text() for name in ("t.qrels", "me.run")}
    _, whole, _ = run("t.qrels", "me.run", "-m", "AP", "--csv")
    for name in texts:
        Path(name).unlink()
        os.mkfifo(name)
    writers = [
        threading.Thread(target=Path(name).write_text, args=(text,)) for name, text in texts.items()
    ]
    for writer in writers:
        writer.start()
    code, out, _ = run("t.qrels", "me.run", "-m", "AP", "--csv")
    for writer in writers:
        writer.join()
    assert (code, out) == (0, whole)


def test_official_scores_need_no_times(run: Run) -> None:
    Path("plain.qrels").write_text("q 0 a 1\nq 0 b 1\nq 0 c 0\n")
    Path("plain.run").write_text("q Q0 a 1 900 t\nq Q0 c 2 800 t\n")
    words = ["--cutoff-step", "500", "--all-cutoffs", "--all-entities", "--json"]
    code, out, _ = run("official", "plain.qrels", "plain.run", *words)
    rows = [row for row in json.loads(out) if row["positives"] == "central+relevant"]
    assert code == 0
    assert {row["precision"] for row in rows} == {0.5}
    assert {row["recall"] for row in rows} == {0.5}


def test_official_scores_know_ids_with_a_time_in_front(run: Run) -> None:
    Path("times").write_text(f"a {START}\nb {START}\n")
    Path("plain.qrels").write_text("q 0 a 1\nq 0 b 1\nq 0 c -1\n")
    Path("filter.run").write_text(f"t s {START}-a q 900 1 1\nt s {START}-c q 800 1 1\n")
    words = ["--cutoff-step", "500", "--all-cutoffs", "--all-entities", "--json"]
    code, out, _ = run("official", "plain.qrels", "filter.run", *words, "--times", "times")
    rows = [row for row in json.loads(out) if row["positives"] == "central+relevant"]
    assert {(row["precision"], row["recall"]) for row in rows} == {(1.0, 0.5)}  # c is unjudged
    code, _, err = run("official", "plain.qrels", "filter.run", *words)
    assert code == 0
    assert "none of its 2 documents is judged. Do the run and the judgements use the same" in err


@pytest.mark.parametrize("times", [[], ["--times", "times"]], ids=["plain", "timed"])
def test_official_scores_of_tables_with_other_names_and_types(run: Run, times: list[str]) -> None:
    Path("times").write_text(f"a {START}\n")
    Path("plain.run").write_text("1 Q0 a 1 900 t\n")
    for doc_id in ("a", datetime(2011, 10, 7)):
        table = pl.DataFrame({"qid": [1], "docno": [doc_id], "label": [2]})
        table.write_parquet("q.parquet")
        code, _, err = run("official", "q.parquet", "plain.run", *times)
        assert code == 0, err


def test_judgements_in_a_file_called_as_the_verb_are_named_by_their_place(run: Run) -> None:
    Path("official").write_text(Path("t.qrels").read_text())
    assert run("./official", "me.run", "--json")[:2] == run("t.qrels", "me.run", "--json")[:2]


def test_nothing_is_weighted_by_positives_where_there_are_none(run: Run) -> None:
    code, out, _ = run("official", "t.qrels", "me.run", "--json")  # nothing is central
    central = {row["average"] for row in json.loads(out) if row["positives"] == "central"}
    assert (code, central) == (0, {"micro", "macro"})


def test_a_query_cannot_be_called_as_the_mean_is(run: Run) -> None:
    for name in ("t.qrels", "me.run"):
        Path(name).write_text(Path(name).read_text().replace("q ", "all "))
    code, out, err = run("t.qrels", "me.run", "-m", "AP", "-q", "--json")
    assert (code, out) == (1, "")
    assert "a query is called 'all'" in err
    assert main(["evaluate", "t.qrels", "me.run", "-m", "AP", "-q", "--json"]) == 1
    assert run("t.qrels", "me.run", "-m", "AP", "--json")[0] == 0


def test_a_run_of_other_ids_is_reported(run: Run) -> None:
    Path("other.run").write_text(f"q Q0 {START}-other 1 5 tag\n")
    code, out, _ = run("t.qrels", "other.run", "-m", "AP")
    assert code == 0
    assert (
        "none of its 1 document is judged. Do the run and the judgements use the same document ids?"
        in out
    )
    assert f"other has '{START}-other', the judgements '{START + 3600}-" in out


def test_a_filter_run_meets_judgements_of_plain_ids(run: Run) -> None:
    """A filter puts the time in front of ids; judgements of a collection have plain ids."""
    Path("times").write_text(f"a {START}\nb {START + DAY}\n")
    Path("plain.qrels").write_text("q 0 a 1\nq 0 b 1\n")
    Path("filter.run").write_text(f"t s {START}-a q 900 1 1\nt s {START + DAY}-b q 800 1 1\n")
    words = ["--times", "times", "--slice", "1d", "-m", "AP", "--json"]
    code, out, _ = run("plain.qrels", "filter.run", *words)
    assert (code, json.loads(out)[0]["value"]) == (0, 1)


@pytest.mark.parametrize(
    ("last", "slices"),
    [(67 * 366 * DAY, 68), (86 * DAY, 13), (30 * DAY, 31), (5 * DAY, 21), (3 * 3600, 4), (1800, 1)],
)
def test_slices_fit_the_stream_unless_asked(run: Run, last: int, slices: int) -> None:
    """Years, weeks, days, hours, or the half hour in one."""
    end = START + last
    Path("s.qrels").write_text(f"q 0 {START}-a 1\nq 0 {end}-b 1\n")
    Path("s.run").write_text(f"q Q0 {START}-a 1 9 t\n")
    to = ["--to", str(end + 1)] if last < DAY else []
    code, out, _ = run("s.qrels", "s.run", "-m", "AP", *to)
    assert code == 0
    assert f"1 query in {slices} slice" in out
