"""Campaigns that are played: everybody is made up, everything else is real."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import binom
from tests.reference.judging_tables import count_tables
from tests.sampling import sized
from tests.shared import Once
from typer.testing import CliRunner

import citebed
from citebed.cli.campaign import campaign as app
from citebed.collection import ImportOptions, import_sources, load_profile
from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.judgements.sets import subset
from citebed.evaluation.judgements.statistics import describe
from citebed.judging import SimulationOptions, SimulationResult, open_campaign, simulate
from citebed.judging.questions import FIRST_AUTHOR
from citebed.judging.settings import CampaignSettings
from citebed.judging.simulation import SimulatedJudge, Topic, assign_topics, search_texts
from citebed.judging.store.schema import contributors
from citebed.judging.store.schema import searches as searches_table
from citebed.judging.tables import LABELS
from citebed.retrieval import build_index, run_queries
from citebed.runs.reader import read_qrels
from citebed.runs.writer import write_run

CAREFUL: dict[str, Any] = {"noise": 0.0, "laziness": 0.0, "skill": 1.0}
ALL_ANSWER: dict[str, Any] = {"response": 1.0, "response_two": 1.0}
TABLES = ["returns", "reformulations", "comparison", "sources", "cranfield", "expected", "drawn"]


def _returns(played: SimulationResult) -> dict[tuple[int, str], int]:
    return {(phase, what): n for phase, what, n, _ in played.tables["returns"].iter_rows()}


def _means(played: SimulationResult) -> dict[str, float]:
    return dict(played.expected.select("what", "mean").iter_rows())


def test_judges_answer_or_not_by_chance(demo: citebed.Workbench) -> None:
    played = simulate(
        demo, "sentences", SimulationOptions(judges=20, response=0.4, response_two=0.5)
    )
    numbers = _returns(played)
    assert numbers[1, "invitations"] == 20
    assert 0 < numbers[1, "forms returned"] < 20
    assert numbers[2, "invitations"] == numbers[1, "queries left (All Phase One)"]
    assert numbers[2, "queries with both phases (T1+2)"] == played.queries.height
    assert list(played.tables) == TABLES
    others = (SimulationOptions(judges=20, response=0.4, seed=seed) for seed in range(1, 4))
    returned = {_returns(simulate(demo, "sentences", each))[1, "forms returned"] for each in others}
    assert len(returned) > 1
    assert repr(played).startswith("<SIMULATED campaign of 20 judges")


def test_careful_judges_say_what_the_collection_knows(demo: citebed.Workbench) -> None:
    options = SimulationOptions(
        pool=10, judges=12, cited=0.5, irrelevant=2, **CAREFUL, **ALL_ANSWER
    )
    played = simulate(demo, "paragraphs", options)
    table, relevant = played.queries, demo.qrels("paragraphs").table.filter(pl.col("relevance") > 0)
    known = dict(relevant.group_by("query_id").len().iter_rows())
    for row in table.iter_rows(named=True):
        cited = int(known[row["topic"]] / 2 + 0.5)
        assert (row["found_one"], row["judged_one"]) == (cited, cited + 2)
        assert row["judged_two"] == 10
        assert row["found_one"] + row["found_two"] + row["never"] == known[row["topic"]]
        assert row["wrong"] == 0
    assert table["found_two"].sum() > 0


def test_judges_who_are_always_wrong_turn_everything(demo: citebed.Workbench) -> None:
    wrong = {**CAREFUL, "noise": 1.0}
    options = SimulationOptions(judges=8, cited=0.5, irrelevant=3, **wrong, **ALL_ANSWER)
    played = simulate(demo, "paragraphs", options)
    first = played.tables["comparison"].row(0, named=True)
    assert (first["collection"], first["queries"], first["relevant"]) == ("All Phase One", 8, 3)
    assert played.queries.select("found_one", "found_two").sum().row(0) == (0, 0)
    assert played.queries["wrong"].min() >= 3


def test_lazy_judges_leave_the_end_of_a_list(demo: citebed.Workbench) -> None:
    options = SimulationOptions(judges=6, pool=10, laziness=0.3, noise=0, cited=1, **ALL_ANSWER)
    played = simulate(demo, "paragraphs", options)
    assert played.queries.height > 3
    judged = played.queries["judged_two"].to_list()
    assert len(set(judged)) > 1, "how much is left is drawn for each"
    assert max(judged) <= 10
    laziest = SimulationOptions(judges=6, laziness=1, noise=0, cited=1, irrelevant=0, **ALL_ANSWER)
    played = simulate(demo, "paragraphs", laziest)
    assert played.queries.select("judged_one", "judged_two").unique().rows() == [(1, 1)]


def test_more_judges_than_queries_are_co_authors(demo: citebed.Workbench) -> None:
    options = SimulationOptions(judges=32, noise=0, response=1, response_two=0)
    dealt = assign_topics([Topic(str(n), "?", {}, ()) for n in range(15)], options)
    assert sorted(len(each.judges) for each in dealt) == [2] * 13 + [3] * 2
    assert sorted(judge for each in dealt for judge in each.judges) == list(range(1, 33))
    played = simulate(demo, "paragraphs", options)
    numbers = _returns(played)
    queries = demo.queries("paragraphs").height
    assert numbers[1, "queries with judgements"] == 32
    assert numbers[1, f"set aside: {FIRST_AUTHOR}"] == 32 - queries
    assert played.queries.height == 0
    assert played.expected["mean"].null_count() == played.expected.height


def test_grades_follow_the_relevances_from_the_best_down() -> None:
    topic = Topic("1", "?", {"a": 1, "b": 2, "c": 3, "d": 4}, ())
    settings = CampaignSettings("t", "c")
    sure = SimulatedJudge("Judge 1", topic, [1, 2, 3, 4], SimulationOptions(noise=0), settings)
    assert [sure.grade(doc) for doc in "abcdx"] == [2, 2, 3, 4, 1]
    wrong = SimulatedJudge("Judge 1", topic, [1, 2, 3, 4], SimulationOptions(noise=1), settings)
    assert [wrong.grade(doc) for doc in "adx"] == [1, 1, 2]
    binary = SimulatedJudge(
        "Judge 1", topic._replace(relevant={"a": 1}), [1], sure.options, settings
    )
    assert binary.grade("a") == 4


def test_a_kept_campaign_says_everywhere_that_it_is_simulated(
    demo: citebed.Workbench, tmp_path: Path
) -> None:
    options = SimulationOptions(judges=5, **ALL_ANSWER)
    played = simulate(demo, "paragraphs", options, folder=tmp_path / "sim")
    kept = open_campaign(tmp_path / "sim")
    assert kept.simulated
    tables = kept.tables()
    assert all(table.equals(played.tables[name]) for name, table in tables.items())
    assert tables["comparison"]["simulated"].to_list() == [True] * 3 + [False] * 3
    assert set(kept.judgements["via"]) == {"simulated"}
    assert set(kept.status()["email"]) == {f"judge{n}@example.invalid" for n in range(1, 6)}
    mails = list((tmp_path / "sim/outbox").iterdir())
    assert len(mails) == 10
    assert all("simulated" in mail.read_text("utf-8").lower() for mail in mails)
    with pytest.raises(CitebedError, match="Name a new folder"):
        simulate(demo, "paragraphs", options, folder=tmp_path / "sim")


def test_exported_judgements_give_tables_2_and_3_again(
    demo: citebed.Workbench, tmp_path: Path
) -> None:
    """Counted from the files alone: T1+2 are the queries of J1+2 that J2 has too."""
    options = SimulationOptions(judges=8, **ALL_ANSWER)
    played = simulate(demo, "paragraphs", options, folder=tmp_path / "sim")
    open_campaign(tmp_path / "sim").export(tmp_path / "out")
    asked = read_qrels(tmp_path / "out/j2-all-queries.qrels").table["query_id"]
    whole = tmp_path / "out/j12-all-queries.qrels"
    found = describe(subset(whole, queries=asked), documents=99)
    assert describe(tmp_path / "out/t12.qrels", documents=99).means == found.means
    means = {
        (part, source): numbers
        for part, source, *numbers, _ in played.tables["sources"].iter_rows()
    }
    assert {*found.sources} == {*LABELS.values()}
    for source, label in LABELS.items():
        counted = found.sources[label].per_query(found.queries)
        assert list(counted.values()) == pytest.approx(means["judged", source])
    both = played.tables["comparison"].row(2, named=True)
    assert (both["collection"], both["queries"]) == ("T1+2", found.queries)
    assert found.means["relevant"] == pytest.approx(both["relevant"])
    assert found.means["not relevant"] == pytest.approx(both["irrelevant"])


def test_what_fails_leaves_nothing_behind(demo: citebed.Workbench, tmp_path: Path) -> None:
    for system, what in ("no such model", "cannot read"), ("nomodel", "nomodel"):
        options = SimulationOptions(judges=3, systems=(system,), **ALL_ANSWER)
        with pytest.raises(CitebedError, match=what):
            simulate(demo, None, options, folder=tmp_path / "sim")
        assert not (tmp_path / "sim").exists()
    assert not (demo.folder / "campaigns").exists()


def test_runs_and_models_are_systems(demo: citebed.Workbench, tmp_path: Path) -> None:
    run = run_queries(demo, None, "paragraphs", "bm25")
    write_run(path := tmp_path / "mine.run", run)
    options = SimulationOptions(judges=4, effort=0, systems=(path, "ql(mu=500)"), **ALL_ANSWER)
    simulate(demo, "paragraphs", options, folder=tmp_path / "sim")
    kept = open_campaign(tmp_path / "sim")
    with kept.reading() as tx:
        rows = tx.execute(contributors.select()).all()
    assert {row.method for row in rows} == {"mine", "ql(mu=500)"}
    other = SimulationOptions(judges=4, systems=(path,), **ALL_ANSWER)
    with pytest.raises(CitebedError, match="has no query of this simulation"):
        simulate(demo, "sentences", other)


@pytest.mark.parametrize("method", ["mtf", "depth(k=8)", "bandit(random=0.2)"])
def test_every_method_s_documents_have_a_source(demo: citebed.Workbench, method: str) -> None:
    options = SimulationOptions(judges=4, pool=8, method=method, **ALL_ANSWER)
    table = simulate(demo, "paragraphs", options).tables["cranfield"]
    total = dict(table.select("source", "total").iter_rows())
    assert total["manual"] + total["automatic"] == pytest.approx(total["phase two"])
    assert total["phase one"] + total["phase two"] == pytest.approx(total["all"])


def test_a_campaign_without_answers_has_tables_too(demo: citebed.Workbench) -> None:
    options = SimulationOptions(judges=4, response=0, systems=("bm25",))
    played = simulate(demo, "paragraphs", options)
    assert _returns(played)[1, "forms returned"] == 0
    assert played.drawn["mean"].to_list() == [0.0, 0.0, 0.0]


def test_what_cannot_be_played_is_reported(demo: citebed.Workbench, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="query set"):
        simulate(demo, "paragrafs")
    source = tmp_path / "one.bib"
    source.write_text("@article{a, title={A title of some length}}")
    import_sources(tmp_path / "c", [source])
    with pytest.raises(CitebedError, match=r"no query with a relevant document.*fetch cranfield"):
        simulate(tmp_path / "c")
    for wrong in (
        {"noise": 1.5},
        {"response": float("nan")},
        {"pool": 0},
        {"judges": 0},
        {"effort": -1},
        {"cited": 0, "irrelevant": 0},
        {"method": "magic"},
    ):
        with pytest.raises(CitebedError):
            SimulationOptions(**wrong)


def _rows(demo: citebed.Workbench, hashes: int) -> list[dict[str, object]]:
    words = ["campaign", "simulate", str(demo.folder), "--judges", "4", "--seed", "7"]
    words += ["--response", "1", "--method", "bandit(random=0.2)", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "citebed", *words],
        env={**os.environ, "PYTHONHASHSEED": str(hashes)},
        capture_output=True,
        check=True,
        text=True,
    )
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_a_seed_plays_the_same_campaign_in_every_process(demo: citebed.Workbench) -> None:
    rows = _rows(demo, hashes=1)
    assert rows == _rows(demo, hashes=2)
    published = {"Cranfield 2", "TREC 8", "TREC Robust"}
    assert all(row["simulated"] is (row.get("collection") not in published) for row in rows)
    assert list(dict.fromkeys(row["table"] for row in rows)) == TABLES


def test_another_seed_plays_another_campaign(demo: citebed.Workbench) -> None:
    one, two, again = (
        simulate(demo, "sentences", SimulationOptions(judges=4, seed=seed, **ALL_ANSWER))
        for seed in (7, 8, 7)
    )
    assert not one.queries.equals(two.queries)
    assert one.queries.equals(again.queries)
    assert all(one.tables[name].equals(again.tables[name]) for name in TABLES)


def test_the_verb_prints_that_all_is_simulated(demo: citebed.Workbench, tmp_path: Path) -> None:
    words = ["simulate", str(demo.folder), "--judges", "6", "--response", "1"]
    done = CliRunner().invoke(app, [*words, "--only", "expected", "--only", "drawn"])
    assert done.exit_code == 0
    assert done.stdout.count("(SIMULATED)") == 2
    assert "SIMULATED with the query set 'paragraphs'" in done.stderr
    kept = str(tmp_path / "kept")
    done = CliRunner().invoke(app, [*words, "--latex", "--only", "sources", "-o", kept])
    assert done.stdout.startswith("% Judged documents per query by source (T1+2) (SIMULATED)")
    again = CliRunner().invoke(app, ["tables", kept, "--latex", "--only", "sources"])
    assert again.stdout == done.stdout
    rows = json.loads(CliRunner().invoke(app, ["tables", kept, "--json"]).stdout)
    assert {row["table"] for row in rows} == set(TABLES[:5])


def test_the_number_of_queries_has_an_interval(demo: citebed.Workbench) -> None:
    """Against the binomial distribution: one author per paper, each with a relevant one."""
    queries = demo.queries("paragraphs").height
    options = SimulationOptions(judges=queries, response=0.5, response_two=0.25, noise=0, cited=1)
    drawn = simulate(demo, "paragraphs", options).drawn
    for row, share in zip(drawn.iter_rows(named=True), (0.5, 0.5, 0.125), strict=True):
        assert row["mean"] == pytest.approx(queries * share, rel=0.1), row["what"]
        deviation = math.sqrt(queries * share * (1 - share))
        assert row["deviation"] == pytest.approx(deviation, rel=0.15)
        assert (row["low"], row["high"]) == pytest.approx(
            binom.interval(0.95, queries, share), abs=1
        )


def test_searches_by_hand_are_of_several_kinds() -> None:
    frequencies = {"filters": 3, "age": 1, "stream": 2, "of": 0, "news": 5, "decay": 4}
    titles = ["Decay of filters", "News that decay", "Stream filters"]
    asked = search_texts("Filters of age, stream", titles, lambda word: frequencies.get(word, 0))
    assert asked == [
        "Filters of age, stream", "age stream", "Decay of filters", "age stream decay filters",
    ]  # fmt: skip
    assert search_texts("Age", [], len) == ["Age", "age"]


def test_the_desk_tries_them_all(demo: citebed.Workbench, tmp_path: Path) -> None:
    options = SimulationOptions(judges=6, **CAREFUL, **ALL_ANSWER)
    simulate(demo, "paragraphs", options, folder=tmp_path / "sim")
    kept = open_campaign(tmp_path / "sim")
    with kept.reading() as tx:
        rows = tx.execute(searches_table.select()).all()
    of_each = Counter(row.question_id for row in rows)
    assert min(of_each.values()) >= 3
    assert all(
        len({row.text for row in rows if row.question_id == q}) == n for q, n in of_each.items()
    )


# --- Cranfield --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, once: Once) -> Path:
    """Cranfield 2 with its index; not to be changed."""

    def make(folder: Path) -> None:
        rules = ImportOptions(rules=load_profile("cranfield"))
        import_sources(folder, [shared_data / "cranfield"], rules)
        build_index(folder)

    return once("cranfield", make)


def test_the_tables_of_a_campaign_on_cranfield_are_recounted(
    cranfield: Path, tmp_path: Path
) -> None:
    options = SimulationOptions(judges=sized(24, 60), seed=7, response=1.0)
    played = simulate(cranfield, None, options, folder=tmp_path / "sim")
    counted = count_tables(tmp_path / "sim/campaign.sqlite")
    number = len(counted.both)
    assert set(played.queries["query_id"]) == counted.both
    assert _returns(played)[2, "queries with both phases (T1+2)"] == number > sized(8, 20)
    assert _returns(played)[1, "queries left (All Phase One)"] == len(counted.kept)
    for part, source, *means, _ in played.tables["sources"].iter_rows():
        total, relevant = counted.counts[part, source]
        assert means == pytest.approx([n / number for n in (total, relevant, total - relevant)])
    for row in played.tables["cranfield"].iter_rows(named=True):
        total, relevant = counted.counts["judged", row["source"]]
        assert (row["total"], row["relevant"]) == pytest.approx((total / number, relevant / number))
    assert played.queries["judged"].sum() == counted.counts["judged", "all"][0]
    # Every list has 15 documents or more (all marked ones), and some remain.
    assert counted.judgements[2] == played.queries["judged_two"].sum()
    assert played.queries["judged_two"].max() >= 14
