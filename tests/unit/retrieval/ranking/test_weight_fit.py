"""Weights fitted to a collection: held-out texts, the choice, and when to fit again."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.retrieval.index.making import write_collection

from citebed.collection import Collection, open_collection
from citebed.retrieval.index import builder
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.ranking import weight_fit
from citebed.retrieval.ranking.collection_weights import (
    MIN_DOCUMENTS,
    CollectionWeights,
    apply_weights,
    choose_language,
    read_weights,
)
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.ranking.weight_fit import (
    DEFAULT_SHARE,
    WEIGHTS,
    build_index,
    choose_by_language,
    choose_lowest,
    split_abstract,
)
from citebed.retrieval.recommend.recommender import Recommender

SUBJECTS = ("tree", "river", "harbour", "violin", "cloud", "engine", "garden", "letter")


def abstract(number: int) -> str:
    """Four sentences on a subject each, all with a number that no other document has."""
    own = 90_000 + number
    return " ".join(
        f"In sentence {part} the {SUBJECTS[(3 * number + place) % 8]} of {own} is measured again."
        for place, part in enumerate(("one", "two", "three", "four"))
    )


def made(folder: Path, count: int) -> Path:
    rows = [
        {
            "doc_id": f"d{n:03d}",
            "title": f"On {SUBJECTS[n % 8]}s",
            "abstract": abstract(n),
        }
        for n in range(count)
    ]
    return write_collection(folder, rows)


def known(folder: Path) -> CollectionWeights:
    fit = read_weights(open_index(folder))
    assert fit is not None
    return fit


def test_weights_by_hand() -> None:
    level = shipped_ranker().levels["encoder"]
    fit = CollectionWeights(100, 1000, 0.2, "f")
    weights = dict(zip(SIGNALS, level.weights, strict=True))
    words = weights["bm25"] + weights["bm25_sentence"]
    static = weights["static"] + weights["static_sentence"]
    encoder = weights["encoder"] + weights["encoder_sentence"]
    more = (words + static + encoder) / (words + 0.2 * static + encoder)
    now = dict(zip(SIGNALS, apply_weights(level, fit).weights, strict=True))
    assert now["bm25"] == pytest.approx(weights["bm25"] * more)
    assert now["static_sentence"] == pytest.approx(weights["static_sentence"] * 0.2 * more)
    assert now["encoder"] == pytest.approx(weights["encoder"] * more)
    assert {n: now[n] for n in ("age", "cited", "peers")} == {
        n: weights[n] for n in ("age", "cited", "peers")
    }


@given(st.text(max_size=400) | st.lists(st.sampled_from("ab. C? the"), max_size=300).map("".join))
def test_nothing_is_lost_of_what_is_cut(text: str) -> None:
    cut = split_abstract(text, random.Random(1))
    if cut is not None:
        sentence, rest = cut
        assert sentence
        assert sorted((sentence + rest).split()) or not text.split()
        assert sorted("".join((sentence + rest).split())) == sorted("".join(text.split()))


def test_a_sentence_is_cut_or_some_words_where_there_is_none() -> None:
    sentence, rest = split_abstract(abstract(3), random.Random(1)) or ("", "")
    assert sentence.startswith("In sentence ")
    assert rest.count("In sentence ") == 3
    plain = " ".join(f"w{n}" for n in range(80))
    piece, rest = split_abstract(plain, random.Random(1)) or ("", "")
    assert len(piece.split()) == 20
    assert len(rest.split()) == 60
    assert split_abstract("Too short. To teach. Anything.", random.Random(1)) is None


def gains(of_best: float, of_own: float, spread: float, count: int = 400) -> Any:
    """Return gains that are highest for the middle weight; the ranker's own weight is worse."""
    rows = np.full((len(WEIGHTS), count), 0.1)
    noise = np.resize([spread, -spread], count)
    rows[4] = of_best
    rows[3] = of_best - 0.001 + noise
    rows[-1] = of_own + noise
    return rows


def test_what_is_chosen() -> None:
    # A standard error of 0.1 / 20 = 0.005: 0.001 behind is within it, 0.1 is not.
    assert choose_lowest(gains(0.5, 0.4, 0.1)) == 3
    # Without any spread the best alone is not behind.
    assert choose_lowest(gains(0.5, 0.4, 0.0)) == 4
    # The ranker's own weights stay where they are behind by less than a quarter of that.
    assert choose_lowest(gains(0.5, 0.499, 0.1)) == len(WEIGHTS) - 1
    assert choose_lowest(gains(0.5, 0.498, 0.1)) == 3
    assert choose_lowest(np.zeros((len(WEIGHTS), 30))) == len(WEIGHTS) - 1


def test_a_language_is_taught_by_its_own_sentences() -> None:
    """English finds as much with the ranker's own weight, German only by words, French has too
    few."""
    english, german, french = 40, 30, 5
    rows = np.full((len(WEIGHTS), english + german + french), 0.5)
    rows[1:, english : english + german] = 0.1
    languages = np.array(["en", ""] * (english // 2) + ["de"] * german + ["fr"] * french, object)
    assert choose_by_language(rows, languages) == (1.0, {"de": 0.0})
    # What vectors are no better and no worse for is left to words, unless it is English.
    equal = np.full_like(rows, 0.5)
    assert choose_by_language(equal, languages) == (1.0, {"de": 0.0})
    assert choose_by_language(equal[:, :30], np.array(["de"] * 30, object)) == (0.0, {"de": 0.0})
    # If words find nothing, all weights give the same result.
    assert choose_by_language(np.zeros_like(rows), languages) == (DEFAULT_SHARE, {})


def test_weights_choose_by_language() -> None:
    level, fit = (
        shipped_ranker().levels["static"],
        CollectionWeights(9, 9, 1.0, "", languages={"de": 0.2}),
    )
    assert [fit.share(code) for code in (None, "en", "de", "fr")] == [1.0, 1.0, 0.2, 0.0]
    assert apply_weights(level, fit, "fr").weights[2] == 0
    assert (apply_weights(level, fit, "en").weights == level.weights).all()
    assert fit.with_share("fr", 0.5).languages == {"de": 0.2, "fr": 0.5}
    assert fit.with_share("en", 0.5).static == 0.5
    switched_off = CollectionWeights(0, 0, 1.0, "")
    assert switched_off.share("de") == 1.0


GERMAN = "Der Baum Nummer {} steht am Fluss und wird von uns mit der Uhr vermessen."


def test_a_text_is_weighed_as_its_language_was(tmp_path: Path) -> None:
    """English and German in one library."""
    rows = [{"doc_id": f"e{n}", "title": "On trees", "abstract": abstract(n)} for n in range(30)]
    for n in range(30):
        said = " ".join(GERMAN.format(70_000 + 4 * n + part) for part in range(4))
        rows.append({"doc_id": f"g{n}", "title": "Über Bäume", "abstract": said})
    folder = write_collection(tmp_path / "c", rows)
    build_index(folder)
    fit = known(folder)
    assert open_index(folder).description.analyser == "mixed(english,german)"
    assert list(fit.languages) == ["de"]
    runner = Recommender(folder).runner
    texts = (GERMAN.format(70_009), "The tree of 90008 is measured again by all of us.")
    german, _ = runner.run([runner.query(text) for text in texts], 3)
    assert runner.index.ids[int(german.docs[0])] == "g2"
    assert Recommender(folder).recommend(texts[0], 1).table["doc_id"].to_list() == ["g2"]


def test_a_few_words_are_in_the_language_of_the_index(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", 3)
    for name, language in (("english", None), ("snowball(german)", "de"), ("none", None)):
        write_index(folder, IndexOptions(name))
        runner = Recommender(folder).runner
        assert choose_language(runner.index, runner.query("Baum").language) == language
        assert (
            choose_language(runner.index, runner.query("the tree is of the river").language) == "en"
        )


def test_words_that_tell_all_are_trusted(tmp_path: Path) -> None:
    """Each document has a number of its own, which vectors do not know: BM25 finds every one."""
    folder = made(tmp_path / "c", 60)
    report = build_index(folder)
    fit = known(folder)
    assert report.fitted_on == fit.sentences == 60
    assert fit.bm25 == 1.0
    assert fit.shipped < 0.9
    assert fit.static < 0.5
    assert report.words_share == round(fit.words_share(), 2) > 0.4
    best = Recommender(folder).recommend("The tree of 90008 is measured again by us.", 1)
    assert best.table["doc_id"].to_list() == ["d008"]


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", 60)
    build_index(folder)
    first = known(folder)
    build_index(folder, fit=True)
    assert known(folder) == first


def test_a_large_collection_teaches_while_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "c", 60)
    build_index(folder)
    first = known(folder)
    shutil.rmtree(folder / "index")
    was_there, original = [], weight_fit.fit_weights

    def learned(*given: Any) -> CollectionWeights:
        was_there.append((folder / "index" / "index.json").exists())
        return original(*given)

    monkeypatch.setattr(weight_fit, "fit_weights", learned)
    monkeypatch.setattr(weight_fit, "COMPILED_ROWS", 10)
    monkeypatch.setattr(builder, "COMPILED_ROWS", 10)
    build_index(folder)
    assert known(folder) == first
    build_index(folder, IndexOptions(rebuild=True))
    assert was_there == [False]


def test_what_was_learned_for_another_index_is_learned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "c", 60)
    for module in (weight_fit, builder):
        monkeypatch.setattr(module, "COMPILED_ROWS", 10)
    given, original = [], weight_fit.fit_weights

    def learned(collection: Collection, now: weight_fit.FitInput, *more: Any) -> CollectionWeights:
        given.append(now.documents)
        return original(collection, now._replace(documents=now.documents - len(given) % 2), *more)

    monkeypatch.setattr(weight_fit, "fit_weights", learned)
    build_index(folder)
    assert given == [60, 60]
    assert known(folder).documents == 60


def test_it_stands_until_a_tenth_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "c", 40)
    build_index(folder)
    first = known(folder)
    made(folder, 44)
    build_index(folder)
    assert known(folder) == first
    made(folder, 45)
    build_index(folder)
    assert known(folder).documents == 45
    monkeypatch.setattr(weight_fit, "fit_weights", lambda *_: pytest.fail("it was learned already"))
    assert build_index(folder).unchanged


def test_a_rebuilt_index_has_the_weights_of_one_that_grew(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", 40)
    build_index(folder)
    made(folder, 44)
    build_index(folder)
    grown = open_index(folder).description
    build_index(folder, IndexOptions(rebuild=True))
    anew = open_index(folder).description
    assert grown.fit == anew.fit
    assert known(folder).documents == 40
    build_index(folder, IndexOptions(rebuild=True), fit=True)
    assert known(folder).documents == 44


def test_it_can_be_switched_off_and_on(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", 60)
    assert build_index(folder, fit=False).fitted_on == 0
    assert known(folder).static == 1.0
    assert build_index(folder).fitted_on == 0
    made(folder, 90)
    assert build_index(folder).fitted_on == 0
    assert build_index(folder, fit=True).fitted_on == 90


def test_one_ranking_does_without(tmp_path: Path) -> None:
    assert (
        str(parse_pipeline("bm25+learned(fit=no)"))
        == "bm25(k1=0.9,b=0.4)+learned(encoder=auto,fit=no)"
    )
    folder = made(tmp_path / "c", 60)
    build_index(folder)
    text = "The violin of 90011 is compared with a river of others, and measured."
    fitted, plain = (
        Recommender(folder, None, model).recommend(text, 30, min_probability=0).table["score"]
        for model in ("bm25+learned", "bm25+learned(fit=no)")
    )
    assert fitted.to_list() != plain.to_list()
    build_index(folder, fit=False)
    unfitted = Recommender(folder).recommend(text, 30, min_probability=0).table["score"]
    assert unfitted.to_list() == plain.to_list()


@pytest.mark.parametrize(
    ("rows", "sentences", "static"),
    [
        ([{"abstract": abstract(1)}], 0, DEFAULT_SHARE),
        ([{"abstract": abstract(1)}] * 50, 50, None),
        ([{"abstract": None}] * 50, 0, DEFAULT_SHARE),
        ([{"abstract": abstract(n)} for n in range(MIN_DOCUMENTS - 1)], 0, DEFAULT_SHARE),
        ([{"abstract": "Das Haus steht am Fluss und wird vermessen. " * 4}] * 15
         + [{"abstract": abstract(n)} for n in range(15)], 30, None),
        ([{"abstract": "\u200b" * 500}, {"abstract": "a " * 5000}], 0, DEFAULT_SHARE),
    ],
    ids=["one document", "equal ones", "no abstracts", "too few", "two languages", "odd ones"],
)  # fmt: skip
def test_odd_collections(
    tmp_path: Path, rows: list[dict[str, Any]], sentences: int, static: float | None
) -> None:
    named = [{"doc_id": f"d{n}", "title": "A title", **row} for n, row in enumerate(rows)]
    folder = write_collection(tmp_path / "c", named)
    build_index(folder)
    fit = known(folder)
    assert fit.sentences == sentences
    assert fit.static == static or (static is None and 0 <= fit.static <= 1)
    assert Recommender(folder).recommend("A title of the house", 1, min_probability=0).table.height


def test_contexts_that_all_cite_one_paper(tmp_path: Path) -> None:
    """The fit ignores it and equals the fit on abstracts."""
    folder, contexts = made(tmp_path / "c", 60), tmp_path / "contexts.jsonl"
    build_index(folder)
    before = known(folder)
    rows = [
        {
            "citing": f"p{n}",
            "cited": "d000",
            "context": f"The {SUBJECTS[n % 8]} was found by [CIT].",
        }
        for n in range(200)
    ]
    contexts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    build_index(folder, IndexOptions(citing=(contexts,)), fit=True)
    assert known(folder).static == before.static
    answers = Recommender(folder).recommend(
        "In sentence one the river of 90011 is measured again.", 5
    )
    assert answers.table["doc_id"][0] == "d011"


def test_no_documents(tmp_path: Path) -> None:
    assert build_index(write_collection(tmp_path / "c", [])).fitted_on == 0


@pytest.mark.parametrize(
    "fit",
    [
        {"sentences": 5}, {"unknown": 1}, {"static": "much"}, {"static": -1.0}, {"static": 1e300},
        {"static": None}, {"static": [1]}, {"static": True, "sentences": "x"},
        {"static": 1.0, "languages": ["de"]}, {"static": 1.0, "languages": {"de": "x"}},
        {"static": 1.0, "languages": {"de": -1}}, {"static": 1.0, "sets": 3},
    ],
)  # fmt: skip
def test_what_a_stranger_wrote_is_not_believed(tmp_path: Path, fit: dict[str, Any]) -> None:
    folder = made(tmp_path / "c", 25)
    write_index(folder)
    path = folder / "index" / "index.json"
    values = json.loads(path.read_text())
    whole = {"sentences": 1, "documents": 1, "static": 1.0, "fingerprint": ""}
    values["fit"] = fit if "static" not in fit else {**whole, **fit}
    path.write_text(json.dumps(values))
    assert read_weights(open_index(folder)) is None
    assert build_index(folder).fitted_on == 25


def test_nothing_of_the_copy_stays(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", 30)
    write_index(folder, IndexOptions())
    before = {path.name for path in (folder / "index").iterdir()}
    build_index(open_collection(folder))
    assert {path.name for path in (folder / "index").iterdir()} == before
