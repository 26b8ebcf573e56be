"""``citebed timeline --snapshots`` as a user types it: folders, results, messages."""

from __future__ import annotations

import gzip
import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from tests.commands import Run
from tests.unit.timeline.made_snapshots import CASE, run_lines, snapshots, write

import citebed
from citebed.errors import CitebedError, UnknownName
from citebed.timeline import compare_snapshots


@pytest.fixture
def run(command: Run) -> Run:
    for name, runs in CASE.items():
        write(Path(name), runs)
    return partial(command, "timeline", "--snapshots")


def test_the_command_prints_what_python_returns(run: Run) -> None:
    code, out, _ = run("a", "b", "-m", "RR", "--pivot", "bm25", "--json")
    assert code == 0
    rows = compare_snapshots(["a", "b"], measures="RR", pivot="bm25").rows
    assert json.loads(out) == rows
    assert rows == compare_snapshots(snapshots(CASE), pivot="bm25", measures="RR").rows
    code, out, _ = run("a", "b", "-m", "RR", "--csv")
    assert code == 0
    assert out.splitlines()[0].startswith("run,measure,snapshot,queries,value,low,high,shared")


def test_the_command_says_which_system_degrades(command: Run, tmp_path: Path) -> None:
    case = {
        "old": {"bm25": dict.fromkeys("abcdefgh", 2), "mine": dict.fromkeys("abcdefgh", 1)},
        "new": {"bm25": dict.fromkeys("abcdefgh", 2), "mine": dict.fromkeys("abcdefgh", 3)},
    }
    case["old"]["mine"] |= {"a": 2}
    case["new"]["mine"] |= {"b": 2}
    case["old"]["other"], case["new"]["other"] = case["new"]["mine"], case["old"]["mine"]
    for name, runs in case.items():
        write(tmp_path / name, runs)
    places = (str(tmp_path / "old"), str(tmp_path / "new"))
    code, out, _ = command("timeline", "snapshots", *places, "-m", "RR", "--pivot", "bm25")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "snapshot"
    (line,) = (line for line in lines if line.startswith("mine: RR degrades"))
    # Differences of -1/6, -1/2 and six of -2/3: the error is 0.062994, t of 7 degrees is 2.364624.
    assert line == (
        "mine: RR degrades from old to new: −0.5833 (95% interval −0.7323 to −0.4344), 62% of its "
        "first score"
    )
    assert any(line.startswith("mine: RR: loses ground to bm25 from old to new") for line in lines)
    assert any(line.startswith("other: RR improves from old to new") for line in lines)
    assert any(line.startswith("other: RR: gains on bm25") for line in lines)
    assert "bm25: RR: no interval of the change" in out
    assert "RR: the ranking of 3 runs in new agrees with old at Kendall τ = −1.00" in out


def test_folders_as_longeval_has_them(command: Run, tmp_path: Path) -> None:
    """Judgements by snapshot, and for each system a folder with a folder per snapshot."""
    for name, of in CASE.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "qrels_processed.txt").write_text(
            "".join(f"{query} 0 r 1\n" for query in of["mine"])
        )
        (tmp_path / name / "queries.txt").write_text("q1\tcats\n")
        for system, ranks in of.items():
            place = tmp_path / "systems" / system / name
            place.mkdir(parents=True)
            (place / "run.txt.gz").write_bytes(gzip.compress(run_lines(ranks).encode()))
            (place.parent / "ir-metadata.yml").write_text("tag: x\n")
    systems = [
        word for system in ("bm25", "mine") for word in ("--system", tmp_path / "systems" / system)
    ]
    words = map(str, (tmp_path / "a", tmp_path / "b", *systems, "-m", "RR", "--json"))
    code, out, _ = command("timeline", *words, "--snapshots", "--pivot", "bm25")
    assert code == 0
    expected = compare_snapshots(snapshots(CASE), pivot="bm25", measures="RR").rows
    assert json.loads(out) == expected
    # The same runs inside of the snapshots, by system.
    for name in CASE:
        for system in ("bm25", "mine"):
            (tmp_path / name / system).mkdir()
            there = tmp_path / "systems" / system / name / "run.txt.gz"
            there.rename(tmp_path / name / system / "run.txt.gz")
    words = map(str, (tmp_path / "a", tmp_path / "b"))
    assert compare_snapshots(list(words), pivot="bm25", measures="RR").rows == expected


def test_collections_with_several_sets(command: Run, demo_indexed: Path, tmp_path: Path) -> None:
    for name in ("2020", "2021"):
        shutil.copytree(demo_indexed, tmp_path / name)
        for queries in ("paragraphs", "sentences"):
            code, _, _ = command(
                "search", str(tmp_path / name), "--queries", queries, "--depth", "20", "--quiet"
            )
            assert code == 0
    places = [tmp_path / "2020", tmp_path / "2021"]
    with pytest.raises(CitebedError, match="several judgement sets: paragraphs, sentences"):
        compare_snapshots(places)
    scores = compare_snapshots(places, judgements="paragraphs")
    assert scores.runs == ["bm25"]
    assert [row["change"] for row in scores.rows] == [None, 0.0]
    documents = citebed.open(places[0]).documents.height
    assert scores.overlap["shared_documents"].to_list() == [documents, documents]
    with pytest.raises(UnknownName, match="judgement set"):
        compare_snapshots(places, judgements="pages")


def test_what_is_missing_is_named(run: Run) -> None:
    def error(*words: str) -> str:
        code, out, err = run(*words)
        assert (code, out) == (1, "")
        return err

    assert "found 1 snapshot. Name two or more" in error("a")
    assert "'none' is not a folder" in error("a", "none")
    Path("empty").mkdir()
    assert "'empty' has no judgements" in error("a", "empty")
    Path("empty/qrels.txt").write_text("q1 0 r 1\n")
    assert "'empty' has no runs" in error("a", "empty")
    assert "unknown pivot 'bm26'" in error("a", "b", "--pivot", "bm26")
    assert "cannot find the 'paper' of the queries" in error("a", "b", "--cluster", "paper")
    assert "no mean over queries" in error("a", "b", "-m", "GMAP")
    assert "'x/a' is not a folder with one run" in error("a", "b", "--system", "x")
    Path("mine/a").mkdir(parents=True)
    Path("mine/a/run.txt").write_text("q1 Q0 r 1 1 tag\n")
    assert "two runs of a are called 'mine'" in error("a", "b", "--system", "mine")
