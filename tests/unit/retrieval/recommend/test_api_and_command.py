"""``citebed.recommend()`` and ``citebed recommend`` are one: on the demo, for drafts that cite."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import citebed
from citebed.cli.app import main
from citebed.collection.filters import Filter
from citebed.drafts import read_draft
from citebed.errors import CitebedError
from citebed.retrieval import Recommendations

TEX = r"""\documentclass{article}
\title{Cumulated Gain-Based Evaluation of IR Techniques}
\begin{document}
\section{Models}
Language models with Dirichlet smoothing rank documents well~\cite{ponte1998language}, as does
the vector space model (\url{https://doi.org/10.1145/361219.361220}).

The of and.

\section{Feedback}
Pseudo-relevance feedback adds terms from the documents that were found first.
Relevance based language models estimate them without training data.

Cumulated gain measures graded relevance.
\end{document}
"""
MARKDOWN = """# Ours

Relevance feedback expands queries [@rocchio1971relevance].

Test collections need judgements, and pooling says whose (doi:10.1145/361219.361220).
"""


@pytest.fixture(scope="module")
def place(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    shutil.copytree(demo_indexed, folder / "mine")
    (folder / "draft.tex").write_text(TEX)
    (folder / "draft.md").write_text(MARKDOWN)
    (folder / "notes.txt").write_text("Stemming conflates words.\n\nPooling samples judgements.\n")
    return folder


@pytest.fixture(autouse=True)
def _here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def command(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["recommend", "mine", *words, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def rows(found: Recommendations) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(json.dumps(found.rows))
    return read


OPTIONS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["-k", "3", "--each", "sentence"], {"k": 3, "each": "sentence"}),
    (["--each", "text", "--before", "1999"], {"each": "text", "before": "1999"}),
    (["--keep-cited"], {"keep_cited": True}),
    (["-m", "kl+rm3", "--fields", "title=2"], {"model": "kl+rm3", "fields": "title=2"}),
]


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_a_draft_gets_the_same_from_python_and_the_command(
    capsys: pytest.CaptureFixture[str], number: int
) -> None:
    words, options = OPTIONS[number]
    name = ("draft.tex", "draft.md", "notes.txt")[number % 3]
    expected = command(capsys, name, *words)
    assert expected
    for given in (Path(name), name, [Path(name)], read_draft(Path(name))):
        assert rows(citebed.recommend("mine", given, **options)) == expected


def test_what_a_draft_cites_or_is_comes_back_in_neither_door() -> None:
    found = citebed.recommend("mine", Path("draft.tex"), 50)
    titles = {each.title for each in found}
    everything = citebed.recommend("mine", Path("draft.tex"), 50, keep_cited=True)
    assert len(found.left_out) == 3
    assert not found.left_out & {each.doc_id for each in found}
    assert found.left_out <= {each.doc_id for each in everything}
    assert "A Language Modeling Approach to Information Retrieval" not in titles
    (note,) = found.notes
    assert note == "skipped 1 passage with only stop words (line 8)"
    assert [passage.number for passage in found.passages] == [1, 3, 4]


def test_a_text_through_both_doors(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Query expansion helps (see doi:10.1145/361219.361220). Smoothing helps, too."
    expected = command(capsys, text)
    for collection in ("mine", Path("mine"), citebed.open("mine")):
        assert rows(citebed.recommend(collection, text)) == expected
    Path("feedback").write_text("the name of a file, and a text all the same")
    assert citebed.recommend("mine", "feedback")[0].terms == ("feedback",)


def test_several_texts_are_numbered_through() -> None:
    texts: list[str | Path] = [
        "Stemming conflates words.",
        Path("notes.txt"),
        "Pooling samples judgements.",
    ]
    found = citebed.recommend("mine", texts, 2)
    assert [each.passage for each in found] == [1, 1, 2, 2, 3, 3, 4, 4]
    alone = citebed.recommend("mine", texts[0], 2)
    assert [each.doc_id for each in found.of(found.passages[0])] == [each.doc_id for each in alone]
    assert [each.score for each in found[2:4]] == [each.score for each in alone]


def test_texts_that_cannot_be_asked_with() -> None:
    for text, what in (
        ("missing.tex", "there is no file 'missing.tex'"),
        ("", "the text is empty"),
        ("[12]", "no prose"),
        (Path("mine"), "this is a folder"),
    ):
        with pytest.raises(CitebedError, match=what):
            citebed.recommend("mine", text)
    for odd in ("feedback \ud800", "feedback \udce9"):
        assert citebed.recommend("mine", odd, 1)[0].terms == ("feedback",)


def test_recommendations_are_a_table_that_prints_and_renders() -> None:
    found = citebed.recommend("mine", Path("draft.tex"), 2)
    assert isinstance(found.table, pl.DataFrame)
    assert set(found.table.columns) == {*vars(found[0]), "sure"}
    assert found.table["doc_id"].to_list() == [each.doc_id for each in found]
    assert "because of" in repr(found)
    assert found[0].title[:20] in repr(found)
    assert "<div class='citebed-answers'>" in found._repr_html_()
    assert "passage" in repr(found)
    assert "passage" not in repr(citebed.recommend("mine", "feedback"))
    nothing = citebed.recommend("mine", "feedback", 0)
    assert nothing.table.is_empty()
    assert nothing.table.schema == found.table.schema
    assert repr(nothing)


def test_names_paths_and_collections_do_alike() -> None:
    for collection in ("mine", Path("mine"), citebed.open("mine")):
        assert citebed.build_index(collection).unchanged
        assert len(citebed.open_index(collection).ids) == 153
        assert citebed.Recommender(collection).recommend("feedback", 1)[0].rank == 1
        run = citebed.run_queries(collection, None, "paragraphs", "bm25")
        assert run.name == "bm25"


def test_runs_go_straight_into_evaluation() -> None:
    mine = citebed.open("mine")
    runs = [citebed.run_queries(mine, None, "paragraphs", name) for name in ("bm25", "kl+rm3")]
    scores = citebed.evaluate(mine.qrels("paragraphs"), runs, ["nDCG@10"])
    for name in ("bm25", "kl+rm3"):
        assert 0 < scores[name].of("nDCG@10").mean() < 1


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Figure 3: Relevance feedback and language models.", "1 caption (line 1)"),
        ("The rest of the paper is organised as follows.", "1 passage that needs no citation"),
        ("Die Suche nach Dokumenten ist nicht einfach, und die Modelle sind es auch nicht.",
         "1 passage without a"),
        ("Mix the flour with two eggs, add butter and sugar, and bake for 40 minutes.",
         "1 passage without a good match (line 1); --min-probability 0 shows the best matches"),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_gets_none_by_any_door(
    capsys: pytest.CaptureFixture[str], text: str, note: str
) -> None:
    one = citebed.Recommender("mine")
    for found in (
        one.recommend(text), one.recommend_for(text), citebed.recommend("mine", text),
        citebed.open("mine").recommend(text),
    ):  # fmt: skip
        assert len(found) == 0
        assert [note in each for each in found.notes] == [True]
    assert main(["recommend", "mine", text]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert note in err
    for model in ("bm25+learned", "bm25"):
        assert len(citebed.Recommender("mine", None, model).recommend(text, min_probability=0))


def test_both_of_a_recommenders_doors_give_the_same() -> None:
    one = citebed.Recommender("mine")
    for text in ("Language models rank documents well. Smoothing matters.", "feedback"):
        placed = one.recommend_for(text).table.with_columns(column=pl.lit(1, pl.Int64))
        assert one.recommend(text).table.equals(placed)
        assert len(one.recommend(text, 3)) == 3


def test_a_small_collection_has_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Language models with smoothing rank documents well."
    found = citebed.recommend("mine", text)
    values = [each.probability for each in found if each.probability is not None]
    assert len(values) == len(found)
    assert sorted(values, reverse=True) == values
    for each in found:
        assert each.probability is not None
        at_least = {"strong": 0.75, "fair": 0.4, "weak": 0.0}[each.strength]
        assert each.probability >= at_least
    assert main(["recommend", "mine", text]) == 0
    assert f"{found[0].strength}, " in capsys.readouterr().out


# --- What is said beside the text ----------------------------------------------------------------

FEEDBACK = "Pseudo-relevance feedback adds terms from the documents that were found first."


def test_filters_are_the_same_behind_both_doors(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--years", "1990-", "--type", "article", "--type", "book")
    typed = command(capsys, FEEDBACK, *options, "-k", "4")
    among = Filter(years="1990-", types=("article", "book"))
    found = citebed.open("mine").recommend(FEEDBACK, 4, among=among)
    assert [row["doc_id"] for row in typed] == [each.doc_id for each in found]
    assert len(typed) == 4


def test_venues_authors_and_bib_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (venue, *_), by = command(capsys, FEEDBACK, "-k", "1"), ("--author", "Croft, W. Bruce")
    assert command(capsys, FEEDBACK, "--venue", venue["venue"], "-k", "1")[0] == venue
    assert all("Croft, W. Bruce" in row["authors"] for row in command(capsys, FEEDBACK, *by))
    bib = tmp_path / "refs.bib"
    bib.write_text("@book{rocchio1971relevance,}")
    (row,) = command(capsys, FEEDBACK, "--bib", str(bib), "--in-bib")
    assert (row["doc_id"], row["in_bib"]) == ("rocchio1971relevance", True)


def test_what_is_good_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--good", "rocchio1971relevance", "--not-this", "lavrenko2001relevance")
    typed = command(capsys, FEEDBACK, *options, "--not-this", "10.1145/243199.243202", "-k", "4")
    found = citebed.open("mine").recommend(
        FEEDBACK, 4, relevant=["rocchio1971relevance"],
        nonrelevant=["lavrenko2001relevance", "xu1996query"],
    )  # fmt: skip
    assert [row["doc_id"] for row in typed] == [each.doc_id for each in found]
    assert typed[0]["doc_id"] == "rocchio1971relevance"
    assert {"lavrenko2001relevance", "xu1996query"}.isdisjoint(row["doc_id"] for row in typed)


@pytest.mark.parametrize("option", ["--venue", "--type", "--author"])
def test_names_that_no_document_has(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "mine", FEEDBACK, option, "nobody's"]) == 1
    assert f"no document has the {option[2:]} 'nobody's'" in capsys.readouterr().err
