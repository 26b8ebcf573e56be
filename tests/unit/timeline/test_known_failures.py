"""Four systems that fail in known ways, on the real judgements of TREC KBA 2012."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.reference import timeline as reference
from tests.reference.timeline import DAY, Judgement, Line
from tests.sampling import FULL
from tests.unit.timeline.made_streams import judgement_table

from citebed.runs.reader import as_run
from citebed.runs.tables import Ints
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import StreamScores, score_stream
from citebed.timeline.scoring.topic_slices import topic_slices
from citebed.timeline.scoring.trends import stability, trend
from citebed.timeline.slices import parse_slicing
from citebed.timeline.streams.timed_qrels import TimedQrels, read_timed_qrels, timed_qrels

WEEK = 7 * DAY
NOISE = 3
SEED = 7
MEASURES = ("AP", "nDCG@R", "Rprec")
PAGE = (Path(__file__).parents[3] / "docs" / "timeline.md").read_text("utf-8")


@pytest.fixture(scope="module", params=["kba 2012", "made up"])
def truth(request: pytest.FixtureRequest) -> TimedQrels:
    """Real judgements with real bursts; and a stream of our own, which is there everywhere."""
    if request.param == "made up":
        return made_up()
    return read_timed_qrels(request.getfixturevalue("kba_2012"))


def made_up() -> TimedQrels:
    """Thirty topics of thirteen weeks with a few relevant documents, and in two weeks many."""
    rng = np.random.default_rng(3)
    rows: list[tuple[str, str, int, int]] = []
    for topic in range(30):
        counts = rng.poisson(3, 13) + 1
        counts[rng.choice(13, 2, replace=False)] += 30
        for week, count in enumerate(counts):
            times = 1_317_427_200 + week * WEEK + rng.integers(0, WEEK, count)
            rows += [(f"t{topic:02}", f"{time}-{len(rows) + at}", int(time), 1 + at % 2)
                     for at, time in enumerate(times)]  # fmt: skip
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "time", "relevance"], orient="row")
    return timed_qrels(table, "made-up")


@pytest.fixture(scope="module")
def systems(truth: TimedQrels) -> dict[str, pl.DataFrame]:
    return made_systems(truth)


def in_bursts(truth: TimedQrels, query: Ints, times: Ints) -> Any:
    """Whether each document comes in a burst of its entity."""
    judged, start = truth, int(truth.times.min()) // DAY * DAY
    week = (truth.times - start) // WEEK
    counts = np.zeros((len(judged.query_ids), week.max() + 1))
    np.add.at(counts, (judged.query, week), judged.relevance > 0)
    average = counts.sum(axis=1) / np.maximum((counts > 0).sum(axis=1), 1)
    return (counts > 1.2 * average[:, None])[query, (times - start) // WEEK]


def made_systems(truth: TimedQrels) -> dict[str, pl.DataFrame]:
    """Each judged document comes with three others of its entity and week.

    A system sees each document through noise; ``sight`` is by how many standard deviations
    relevant documents stand out. A burst is a week with more than 1.2 times as many relevant
    documents as the entity's weeks have on average.
    """
    rng = np.random.default_rng(SEED)
    judged, start = truth, int(truth.times.min()) // DAY * DAY
    week = (truth.times - start) // WEEK
    noise_times = start + np.tile(week, NOISE) * WEEK + rng.integers(0, WEEK, NOISE * len(week))
    query = np.tile(judged.query, NOISE + 1)
    times = np.concatenate((truth.times, noise_times))
    ids = [*judged.doc_ids, *(f"{time}-noise{at}" for at, time in enumerate(noise_times))]
    relevant = np.concatenate((judged.relevance > 0, np.zeros(len(noise_times), bool)))
    age = (times - start) / (times.max() - start)
    in_burst = in_bursts(truth, query, times)
    sights = {
        "noisy": np.full(len(query), 1.2),
        "degrading": 3 * (1 - age),
        "bursts only": np.where(in_burst, 4.0, 0.0),
        "blind in bursts": np.where(in_burst, 0.0, 4.0),
    }
    return {
        name: pl.DataFrame(
            {
                "query_id": judged.query_ids.gather(query),
                "doc_id": ids,
                "time": times,
                "score": np.clip(
                    np.round(500 + 100 * (rng.normal(size=len(query)) + relevant * sight)), 1, 1000
                ),
            }
        )
        for name, sight in sights.items()
    }


def scored(
    truth: TimedQrels, systems: dict[str, pl.DataFrame], slicing: str, graded: bool | None = None
) -> dict[str, StreamScores]:
    cells = topic_slices(truth, parse_slicing(slicing, truth.range()))
    measures = slice_measures(MEASURES)
    return {
        name: score_stream(as_run(table, name), cells, measures, graded=graded)
        for name, table in systems.items()
    }


def judgements_of(truth: TimedQrels) -> list[Judgement]:
    judged = truth
    queries = judged.query_ids.gather(judged.query)
    grades = judged.relevance.tolist()
    rows = zip(queries, judged.doc_ids, truth.times.tolist(), grades, strict=True)
    return [Judgement(*row) for row in rows]


def test_the_judgements_are_those_of_the_track(kba_2012: Path) -> None:
    """The figures that the data's own description gives."""
    truth = read_timed_qrels(kba_2012)
    assert truth.ledger.lines == 9925
    assert truth.ledger.several == 1401
    # All lines are positives, so assessors differ only in central against relevant.
    assert (truth.ledger.pairs, truth.ledger.disagree, truth.ledger.differ) == (8486, 0, 347)
    assert len(truth.query_ids) == 29
    rows = [line.split() for line in kba_2012.read_text("utf-8").splitlines()]
    lines = [Judgement(q, doc, int(doc.split("-")[0]), int(grade)) for q, doc, _, grade, _ in rows]
    assert sorted(judgements_of(truth)) == sorted(reference.merged(lines, "any-dissent-negative"))


@pytest.mark.parametrize(("slicing", "graded"), [("7d", None), ("7d", True), ("1d", None)])
def test_scores_agree_with_plain_loops(
    truth: TimedQrels, systems: dict[str, pl.DataFrame], slicing: str, graded: bool | None
) -> None:
    if not FULL:  # the plain loops take most of the time
        few = set(truth.query_ids[:6])
        judged = [each for each in judgements_of(truth) if each.query in few]
        truth = timed_qrels(judgement_table(judged), "some")
        systems = {
            name: table.filter(pl.col("query_id").is_in(few)) for name, table in systems.items()
        }
    judgements = reference.shown_to("nDCG", judgements_of(truth), graded)
    length = {"7d": WEEK, "1d": DAY}[slicing]
    slices = reference.uniform_slices(judgements, length)
    for name, found in scored(truth, systems, slicing, graded).items():
        lines = [Line(*row) for row in systems[name].iter_rows()]
        for measure in MEASURES if name == "degrading" else MEASURES[:1]:
            cells = reference.cell_scores(judgements, lines, slices, measure)
            assert found.of(measure) == pytest.approx(list(cells.values()), abs=1e-9)
            for weight in ("uniform", "burst") if measure == "AP" and slicing == "7d" else ():
                shares = reference.weights(judgements, list(cells), weight, slices[-1][1])
                means = reference.query_scores(cells, shares).values()
                expected = sum(means) / len(means)
                assert found.mean(measure, weight) == pytest.approx(expected, abs=1e-9)


def test_the_scores_that_the_docs_give(kba_2012: Path) -> None:
    """Binary as in the paper, and graded; AP knows no grades."""
    truth = read_timed_qrels(kba_2012)
    systems = made_systems(truth)
    binary, graded = (scored(truth, systems, "7d", how)["noisy"] for how in (None, True))
    for measure, expected in (("nDCG@R", (0.6301, 0.5887)), ("AP", (0.6682, 0.6682))):
        found = tuple(round(each.mean(measure, "uniform"), 4) for each in (binary, graded))
        assert found == expected
        assert measure == "AP" or f"nDCG@R {expected[0]} binary and {expected[1]} graded" in PAGE


def test_silence_is_no_order_at_random(kba_2012: Path) -> None:
    """The robustness page's sentence about a system that is good in bursts only."""
    truth = read_timed_qrels(kba_2012)
    whole = made_systems(truth)["bursts only"]
    query = np.tile(truth.query, NOISE + 1)
    silent = whole.filter(pl.Series(in_bursts(truth, query, whole["time"].to_numpy())))
    cells = topic_slices(truth, parse_slicing("7d", truth.range()))
    measures = slice_measures(["RescaledAUC", "RescaledAUC(empty=0)"])
    found = [
        round(score_stream(as_run(table, "system"), cells, measures).mean(str(each), "uniform"), 3)
        for table in (whole, silent)
        for each in measures
    ]
    assert found == [0.286, 0.286, -0.402, 0.298]


def test_weightings_order_the_systems_as_designed(
    truth: TimedQrels, systems: dict[str, pl.DataFrame]
) -> None:
    found = scored(truth, systems, "7d")
    for measure in MEASURES:
        uniform = {name: scores.mean(measure, "uniform") for name, scores in found.items()}
        burst = {name: scores.mean(measure, "burst") for name, scores in found.items()}
        # Most weeks are quiet: seeing there only is worth most when all weeks count alike.
        assert max(uniform, key=uniform.__getitem__) == "blind in bursts"
        assert min(uniform, key=uniform.__getitem__) == "bursts only"
        # When weeks count by what is in them it is the other way round.
        assert max(burst, key=burst.__getitem__) == "bursts only"
        assert min(burst, key=burst.__getitem__) == "blind in bursts"
        # A system that is as good at any time does not care.
        assert abs(burst["noisy"] - uniform["noisy"]) < 0.05


@pytest.mark.parametrize("slicing", ["7d", "1d"])
def test_the_trend_test_flags_the_degrading_system_only(
    truth: TimedQrels, systems: dict[str, pl.DataFrame], slicing: str
) -> None:
    for name, scores in scored(truth, systems, slicing).items():
        for measure in MEASURES:
            found = trend(scores.pairs.slices.middles, scores.by_slice(measure), samples=200)
            assert found.significant() == (name == "degrading"), (name, measure, found)
            if name == "degrading":
                assert found.high < 0
                assert found.drop > 0.2


def test_rankings_of_these_systems_are_not_stable(
    truth: TimedQrels, systems: dict[str, pl.DataFrame]
) -> None:
    found = scored(truth, systems, "7d")
    by_slice = {name: scores.by_slice("AP") for name, scores in found.items()}
    assert 0 < stability(by_slice).with_overall < 0.9
