"""Weak, fair and strong matches: the rule, and how many of each are right in small libraries that
it was not chosen on: an invented one, and others than those of ``bench/strengths.py``."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import REPOSITORY

import citebed
from citebed.collection import import_sources
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.recommend.calibration import match_strength
from citebed.training.texts import FOLDS, TEST, assign_fold

RULE: tuple[tuple[float | None, float, bool, str], ...] = (
    (0.1, 0.35, False, "strong"),
    (0.9, 0.34, False, "fair"),  # likely, but too few of the sentence's words
    (0.09, 0.9, False, "fair"),
    (0.9, 0.29, False, "weak"),
    (0.02, 0.3, False, "fair"),
    (0.019, 0.9, False, "weak"),
    (0.6, 0.49, True, "weak"),
    (0.6, 0.5, True, "strong"),
    (None, 0.5, False, "fair"),
    (None, 0.49, False, "weak"),
    (None, 1.0, True, "fair"),
)


def test_the_rule() -> None:
    constants = shipped_ranker().constants
    for probability, share, short, expected in RULE:
        assert match_strength(constants, probability, share, is_short=short) == expected


# --- An invented library ---

LIBRARY = {
    "moss": ("Moss cushions as reservoirs of water on slate roofs",
             "We weigh moss cushions after rain and show how long slate roofs stay cool."),
    "kites": ("Tethered kites for measuring wind above vineyards",
              "Kites with light sensors measure wind and frost above vineyards at night."),
    "bells": ("Tuning church bells after casting",
              "The partial tones of cast bronze bells are tuned on a lathe by removing metal."),
    "ferries": ("Timetables of river ferries under changing water levels",
                "We plan ferry timetables by integer programming when rivers run low."),
    "honey": ("Pollen grains tell the origin of honey",
              "Counting pollen grains under a microscope reveals false labels of honey jars."),
    "knots": ("Slippage of climbing knots in wet ropes",
              "Wet nylon ropes lose friction, and common climbing knots slip at lower loads."),
    "glaze": ("Crystalline glazes on stoneware at slow cooling",
              "Zinc silicate crystals grow in stoneware glazes when kilns cool slowly."),
    "owls": ("Hearing of barn owls in snow",
             "Barn owls locate voles under snow by the difference of sound between both ears."),
    "maps": ("Folding patterns of paper maps and how they tear",
             "Creases of paper maps tear where valley folds cross; other folding patterns last."),
    "bread": ("Sourdough cultures kept in village bakeries",
              "Yeasts and lactic bacteria of sourdough differ between bakeries for decades."),
    "lamps": ("Moths at street lamps of different colours",
              "Amber street lamps attract fewer moths than white ones along rivers."),
    "chess": ("Blunders of chess players under time pressure",
              "Online games show that blunders of chess players double in the last minute."),
}  # fmt: skip
ASKED = {
    "Cushions of moss hold rain water and keep slate roofs cool.": "moss",
    "Wind and frost above vineyards have been measured with sensors on kites.": "kites",
    "After casting, the partial tones of bronze bells are tuned by removing metal.": "bells",
    "Ferry timetables can be planned by integer programming when water levels change.": "ferries",
    "The origin of honey is revealed by counting pollen grains under a microscope.": "honey",
    "Knots slip at lower loads when climbing ropes are wet.": "knots",
    "Slow cooling of the kiln lets zinc silicate crystals grow in glazes.": "glaze",
    "Owls locate voles under snow by the sound at their ears.": "owls",
    "Paper maps tear where their creases cross, and folding patterns matter.": "maps",
    "Bakeries keep sourdough cultures with their own yeasts and bacteria.": "bread",
    "Amber lamps along streets attract fewer moths than white lamps.": "lamps",
    "Chess players make more blunders in the last minute of online games.": "chess",
}
NOT_THERE = (
    "Sails of coated cotton lose their strength in sunlight within three summers.",
    "Voters in small towns read the programmes of parties more often than others.",
    "The glue of old violins softens in damp rooms, so that seams open.",
    "Salmon return to the streams of their birth by the smell of the water.",
    "Prices of wheat rose in ports whenever ships were late.",
    "Children learn to read faster when words are set in wide lines.",
)


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> citebed.Workbench:
    folder = tmp_path_factory.mktemp("strengths")
    rows = [
        {"doc_id": name, "title": title, "abstract": abstract, "authors": [f"Ann {name}"]}
        for name, (title, abstract) in LIBRARY.items()
    ]
    source = folder / "library.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    import_sources(folder / "mine", [source])
    mine = citebed.open(folder / "mine")
    mine.index(quiet=True)
    return mine


def test_strong_matches_of_an_invented_library_are_the_right_ones(
    invented: citebed.Workbench,
) -> None:
    strong = [
        (each.doc_id, right)
        for text, right in ASKED.items()
        for each in invented.recommend(text)
        if each.strength == "strong"
    ]
    assert len(strong) >= 8
    assert all(found == right for found, right in strong)
    for text in NOT_THERE:
        assert "strong" not in {
            each.strength for each in invented.recommend(text, min_probability=0)
        }


# --- Real sentences ---


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, shared_data: Path) -> Any:
    monkeypatch.setenv("CITEBED_DATA", str(shared_data))
    monkeypatch.syspath_prepend(REPOSITORY / "bench")
    return importlib.import_module("strengths")


# Papers that cut-offs were not chosen on, and that taught neither vectors nor the ranker.
@pytest.mark.parametrize(
    ("name", "folds"), [("life_sciences", range(1, FOLDS, 2)), ("computing", [TEST])]
)
def test_stronger_matches_are_right_more_often(bench: Any, name: str, folds: Sequence[int]) -> None:
    field, draw = getattr(bench, name)(), random.Random(f"test {name}")
    kept = [each for each in field.sentences if assign_fold(each.paper) in folds]
    has = bench.library(field, 250, close=True, draw=draw)
    found = bench.answered(field, has, bench.questions(kept, kept, has, 80, draw))
    by_kind = {kind: [each for each in found if each.kind == kind] for kind in bench.KINDS}
    shares = {}
    for strength in bench.STRENGTHS:
        right = bench.right_of(by_kind[bench.INSIDE], strength)
        assert len(right) >= 10
        shares[strength] = sum(right) / len(right)
    assert shares["strong"] > 1.3 * shares["fair"] > 2 * shares["weak"]
    strong = bench.right_of(found, "strong")
    assert sum(strong) / len(strong) > 0.45, "of all, though half have no right answer there"
    assert not bench.right_of(by_kind["everyday sentence"], "strong")


# --- The doors ---


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> citebed.Workbench:
    mine = citebed.demo(tmp_path_factory.mktemp("strengths") / "mine")
    mine.index(quiet=True)
    return mine


def test_a_small_library_tells_strengths_and_no_chance(demo: citebed.Workbench) -> None:
    odd = demo.recommend("zebra feedback of monkeys")
    assert {each.strength for each in odd} == {"weak"}
    good = demo.recommend("Pseudo-relevance feedback is a classic technique of query expansion.")
    assert good[0].strength == "strong"
    assert good[0].probability is None
    assert good.table["strength"].to_list() == [each.strength for each in good]
    plain = demo.recommend("Pseudo-relevance feedback of queries.", model="bm25")
    assert {each.strength for each in plain} == {""}


def test_the_command_prints_the_word_and_no_number(
    demo: citebed.Workbench, capsys: pytest.CaptureFixture[str]
) -> None:
    from citebed.cli.app import main

    assert main(["recommend", str(Path(demo.folder)), "zebra feedback of monkeys", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert "weak match  because of: feedback" in out
