"""TREC KBA's files through ``timeline``, ``evaluate`` and ``compare``: grades, teams, entities."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from tests.commands import Run

import citebed

START, DAY = 1_317_945_600, 86_400  # 2011-10-07T00:00:00Z

# Entity, document, day, and what assessors said: 2 central, 1 relevant, 0 neutral, -1 garbage.
JUDGED = [
    ("e", "a", 0, (2,)), ("e", "b", 1, (1,)), ("e", "c", 2, (-1,)), ("e", "d", 9, (2, 1)),
    ("f", "a", 0, (1,)), ("f", "g", 3, (2, 0)), ("f", "h", 10, (2,)),
]  # fmt: skip
RUNS = {
    # team, and the documents of each entity in order of confidence
    "high": ("north", {"e": "abdc", "f": "ahg"}),
    "low": ("north", {"e": "cbad", "f": "gha"}),
    "other": ("south", {"e": "badc", "f": "gah"}),
    "blind": ("west", {"e": "c", "f": "g"}),
}
DAYS = {doc: day for _, doc, day, _ in JUDGED}


def stream_id(doc: str) -> str:
    return f"{START + DAYS[doc] * DAY}-{doc}"


@pytest.fixture
def call(command: Run) -> Run:
    """Run the command line in a folder with judgements and runs in KBA's forms, and in TREC's."""
    votes = [(q, d, grade) for q, d, _, grades in JUDGED for grade in grades]
    Path("kba.txt").write_text("".join(f"{q} {stream_id(d)} 1000 {g} 1\n" for q, d, g in votes))
    merged = [(q, stream_id(d), max(min(grades), 0)) for q, d, _, grades in JUDGED]
    Path("merged.qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in merged))
    for name, (team, found) in RUNS.items():
        lines = [(q, stream_id(d), 900 - 100 * at) for q in found for at, d in enumerate(found[q])]
        head = f'#{{"team_id": "{team}", "system_id": "{name}"}}\n'
        kba = "".join(f"{team} {name} {d} {q} {s} 1 1 2011-10-07-00\n" for q, d, s in lines)
        Path(f"{name}.txt").write_text(head + kba)
        Path(f"{name}.run").write_text("".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, d, s in lines))

    return command


def values(out: str, key: str = "measure") -> dict[str, float]:
    return {row[key]: row["value"] for row in json.loads(out)}


# --- grades ---------------------------------------------------------------------------------

BATCH = ["timeline", "kba.txt", "other.txt", "--slice", "all", "--json"]
# e: b (1) before a (2), d (1, its lowest), c. f: g (not relevant: one said so), a (1), h (2).
LOG3 = 1 / 1.584962500721156
BINARY = (1 + LOG3 / (1 + LOG3)) / 2
GRADED = ((1 + 2 * LOG3 + 0.5) / (2 + LOG3 + 0.5) + LOG3 / (2 + LOG3)) / 2


def test_relevance_is_binary_unless_asked(call: Run) -> None:
    for words, expected in (([], BINARY), (["--binary"], BINARY), (["--graded"], GRADED)):
        code, out, err = call(*BATCH, "-m", "nDCG@R", "-m", "AP", *words)
        assert (code, values(out)["nDCG@R"]) == (0, pytest.approx(expected, abs=1e-12))
        said = (
            "graded: grades 1 to 2 count as such"
            if "--graded" in words
            else ("binary: grades 1 to 2 count alike (--graded lets them count)")
        )
        assert f"note: relevance is {said}" in err


def test_trec_judgements_are_read_alike(call: Run) -> None:
    _, kba, _ = call(*BATCH, "-m", "nDCG@R")
    _, trec, _ = call(
        "timeline", "merged.qrels", "other.run", "--slice", "all", "--json", "-m", "nDCG@R"
    )
    assert values(trec)["nDCG@R"] == values(kba)["nDCG@R"] == pytest.approx(BINARY)
    found = citebed.timeline(
        "merged.qrels", "other.run", slices="all", measures="nDCG@R", graded=True
    )
    assert found.table["value"].to_list() == pytest.approx([GRADED])


def test_measures_that_ask_for_gains_get_them(call: Run) -> None:
    wanted = ["-m", "nDCG@R", "-m", "nDCG(dcg='exp-log2')@R", "-m", "ERR"]
    _, out, err = call(*BATCH, *wanted)
    assert "count alike, but for nDCG(dcg='exp-log2')@R, ERR (--graded" in err
    usual = values(out)
    graded, binary = (values(call(*BATCH, *wanted, way)[1]) for way in ("--graded", "--binary"))
    assert usual["nDCG@R"] == binary["nDCG@R"] == binary["nDCG(dcg='exp-log2')@R"]
    for name in ("nDCG(dcg='exp-log2')@R", "ERR"):
        assert usual[name] == graded[name] != binary[name]


def test_a_higher_grade_may_be_asked_for(call: Run) -> None:
    _, out, err = call(*BATCH, "-m", "AP", "--rel", "2", "-q")
    # Central to all who judged: a for e, h for f; second and third.
    assert values(out, "query_id") == pytest.approx({"e": 1 / 2, "f": 1 / 3, "all": 5 / 12})
    assert "relevance is" not in err


def test_assessors_are_counted_by_what_they_disagree_on(call: Run) -> None:
    _, _, err = call(*BATCH)
    assert (
        "2 of 7 judged pairs with several assessors, who disagree on relevance in 1 and on the "
        "grade alone in 1" in err
    )


# --- teams ----------------------------------------------------------------------------------


def test_table_1_of_the_paper(call: Run) -> None:
    """The best run of each team by AP as one batch, best first, without teams at zero."""
    runs = [f"{name}.txt" for name in RUNS]
    code, out, _ = call("timeline", "kba.txt", *runs, "--teams", "--no-intervals")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["team", "run", "queries", "AP", "nDCG@R", "Rprec"]
    assert [line[:2] for line in lines[1:3]] == [["north", "high"], ["south", "other"]]
    assert "best run of each team by AP over the whole stream, best first (4 runs, 3 teams)" in out
    assert "note: left out 1 team whose best run scores 0: west" in out
    assert "rend" not in out  # of one batch
    assert "τ" not in out
    found = citebed.timeline("kba.txt", runs, teams=True)
    assert found.table.filter(measure="AP").select("team", "run").rows() == [
        ("north", "high"), ("south", "other"),
    ]  # fmt: skip
    for line, run in zip(lines[1:3], ("high", "other"), strict=True):
        scores = found.table.filter(run=run)["value"]
        assert [float(text) for text in line[3:]] == [round(value, 4) for value in scores]


def test_tables_2_and_3_have_the_same_runs_in_the_same_order(call: Run) -> None:
    """Chosen as one batch, whatever slices and weights say then."""
    runs = [f"{name}.txt" for name in ("other", "low", "high", "blind")]
    for weight in ("uniform", "burst"):
        words = ["--teams", "--slice", "1d", "-w", weight, "--json"]
        code, out, _ = call("timeline", "kba.txt", *runs, *words)
        rows = [(row["team"], row["run"]) for row in json.loads(out) if row["measure"] == "AP"]
        assert (code, rows) == (0, [("north", "high"), ("south", "other")])


def test_teams_of_runs_that_do_not_say_theirs(call: Run) -> None:
    Path("teams").write_text("high ours\nlow theirs\n")
    code, out, _ = call("timeline", "merged.qrels", "high.run", "low.run", "--teams-file", "teams")
    assert code == 0
    assert re.search("^ours +high .*\n^theirs +low ", out, re.MULTILINE)
    found = citebed.timeline("merged.qrels", ["high.run", "low.run"],
                             teams={"high": "one", "low": "one"})  # fmt: skip
    assert found.table["run"].unique().to_list() == ["high"]


def test_no_team_is_left(call: Run) -> None:
    code, out, err = call("timeline", "kba.txt", "blind.txt", "--teams")
    assert (code, out) == (1, "")
    assert "the best run of every team scores 0 AP" in err


def test_teams_are_shown_wherever_runs_are(call: Run) -> None:
    _, out, _ = call("timeline", "kba.txt", "high.txt", "high.run", "--slice", "1d", "--no-trend")
    assert out.splitlines()[0].split()[:3] == ["team", "run", "queries"]
    Path("head.txt").write_text('#{"team_id": "east", "system_id": "none"}\n')
    _, out, _ = call("timeline", "kba.txt", "head.txt", "-m", "AP", "--json")
    assert json.loads(out)[0]["team"] == "east"
    _, out, _ = call("timeline", "official", "kba.txt", "high.txt", "--json")
    assert {row["team"] for row in json.loads(out)} == {"north"}


# --- entities -------------------------------------------------------------------------------


def test_official_scores_entity_by_entity(call: Run) -> None:
    words = ["timeline", "official", "kba.txt", "other.txt", "-q"]
    _, out, _ = call(*words, "--all-cutoffs", "--cutoff-step", "700", "--csv")
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["query_id"]]
    found = {
        (row["positives"], row["query_id"], row["cutoff"]): [
            *map(int, (row["tp"], row["fp"], row["fn"])),
            *(float(row[name]) for name in ("precision", "recall", "f1", "su")),
        ]
        for row in rows
    }
    assert len(found) == 2 * 2 * 2
    # Above 700: b and a of e, which has a, b and d; g and a of f, which has a and h.
    assert found["central+relevant", "e", "700"] == pytest.approx(
        [2, 0, 1, 1, 2 / 3, 4 / 5, (4 / 6 + 0.5) / 1.5]
    )
    assert found["central+relevant", "f", "700"] == pytest.approx(
        [1, 1, 1, 1 / 2, 1 / 2, 1 / 2, (1 / 4 + 0.5) / 1.5]
    )
    # Central are a of e and h of f.
    assert found["central", "e", "700"][:3] == [1, 1, 0]
    assert found["central", "f", "700"][:3] == [0, 2, 1]


def test_entities_use_the_cutoff_that_is_best_for_their_mean(call: Run) -> None:
    _, out, _ = call("timeline", "official", "kba.txt", "other.txt", "high.txt", "-q", "--json")
    rows = json.loads(out)
    means = [row for row in rows if row.get("average") == "macro" and row["entities"] == "all"]
    for mean in means:
        kind = [mean[name] for name in ("run", "positives", "best", "cutoff")]
        of = [row for row in rows if [row.get(n) for n in ("run", "positives", "best", "cutoff")]
              == kind and "query_id" in row]  # fmt: skip
        assert [row["query_id"] for row in of] == ["e", "f"]
        assert sum(row["precision"] for row in of) / 2 == pytest.approx(mean["precision"])
        assert sum(row["su"] for row in of) / 2 == pytest.approx(mean["su"])
    assert len(means) == 2 * 2 * 2
    _, out, _ = call("timeline", "official", "kba.txt", "other.txt", "-q")
    assert re.search(r"^team +run +positives +entity +cutoff +P +R +F1 +SU$", out, re.MULTILINE)


def test_what_is_the_same_for_all_entities_is_printed_once(call: Run) -> None:
    """And where it is not, twice; programs get all rows in any case."""
    words = ["timeline", "official", "kba.txt", "other.txt", "--cutoff-step", "100"]
    _, out, _ = call(*words)
    assert out.count("all, each with positives") == 2 * 2 * 3
    assert len(json.loads(call(*words, "--json")[1])) == 24
    Path("kba.txt").write_text(Path("kba.txt").read_text() + f"z {stream_id('a')} 1000 1 1\n")
    _, out, _ = call(*words)
    assert out.count("all, each with positives") == 2 * 3  # z has nothing central
    assert len(re.findall("central  +with positives", out)) == 2 * 3


def test_official_scores_of_a_page_name_teams(call: Run) -> None:
    """This includes runs that --teams leaves out of the slices."""
    runs = ["high.txt", "low.txt", "other.txt"]
    words = ["--official", "--teams", "--report", "out.html"]
    assert call("timeline", "kba.txt", *runs, *words)[0] == 0
    page: Any = html.document_fromstring(Path("out.html").read_text())
    (table, *_) = page.xpath("//section[@id='official']//table")
    assert [cell.text_content() for cell in table.xpath("./thead/tr/*")][:2] == ["team", "run"]
    named = {(row[0].text_content(), row[1].text_content()) for row in table.xpath("./tbody/tr")}
    assert named == {("north", "high"), ("north", "low"), ("south", "other")}


# --- the same question once -----------------------------------------------------------------


@pytest.mark.parametrize("verb", [[], ["official"]], ids=["slices", "official"])
def test_whether_ids_are_written_alike_is_asked_once(call: Run, verb: list[str]) -> None:
    for name in ("one", "two"):
        Path(f"{name}.run").write_text(f"e Q0 {START}-other 1 5 tag\n")
    _, out, _ = call("timeline", *verb, "kba.txt", "one.run", "two.run")
    assert out.count("Do the run and the judgements use the same document ids?") == 1
    assert "note: one, two: none of their 2 documents is judged." in out


# --- evaluate and compare -------------------------------------------------------------------


def test_evaluate_and_compare_read_kba(call: Run) -> None:
    """Confidence as score, several assessors by the track's rule: as from TREC's files."""
    names = ("high", "low", "other")
    for verb in ("evaluate", "compare"):
        words = ["-m", "AP", "-m", "nDCG@10", "--json"]
        code, kba, err = call(verb, "kba.txt", *(f"{name}.txt" for name in names), *words)
        _, trec, plain = call(verb, "merged.qrels", *(f"{name}.run" for name in names), *words)
        assert code == 0
        assert json.loads(kba) == json.loads(trec)
        assert (
            "note: kba: read as KBA judgements, 7 pairs from 9 lines, assessors merged by "
            "any-dissent-negative; grade 2 is central, 1 is relevant, 0 everything else\n" in err
        )
        assert "with the confidence as score: high (north), low (north), other (south)\n" in err
        assert "KBA" not in plain
    found = citebed.evaluate("kba.txt", ["high.txt"], "AP")
    assert found.summary()["value"].to_list() == pytest.approx([(1 + 1) / 2])
    assert "read as KBA filter runs" in found.notes()[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["high.txt", "kba.txt"], "these are KBA judgements, but a run was expected"),
        (["kba.txt", "twice.txt"], "document '1317945600-a' is retrieved twice for query 'e'"),
        (["kba.txt", "bad.txt"], "bad.txt:2: the confidence '0' is not a number above 0"),
        (["kba.txt", "nothing.txt"], "the run 'nothing' is empty"),
    ],
)
def test_kba_files_that_evaluate_cannot_take(call: Run, words: list[str], told: str) -> None:
    line = f"t s {stream_id('a')} e 5 1 1\n"
    Path("twice.txt").write_text(line + line)
    Path("bad.txt").write_text(line + line.replace(" 5 ", " 0 "))
    Path("nothing.txt").write_text('#{"team_id": "t", "system_id": "s"}\n')
    code, out, err = call("evaluate", *words, "-m", "AP")
    assert (code, out) == (1, "")
    assert told in err
