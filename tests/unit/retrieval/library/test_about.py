"""A document's page: who cites it in which words, what goes with it, what is like it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference import library as slow
from tests.unit.retrieval.index.making import build, write_collection
from tests.unit.retrieval.library.conftest import CONTEXTS, DOCUMENTS, write_library

import citebed
from citebed.errors import CollectionError
from citebed.retrieval.library.library import Library
from citebed.retrieval.recommend.recommender import Recommender


def test_who_cites_it_in_which_words_newest_first(library: Library) -> None:
    about = library.about("oak")
    assert [(row["by"], row["doc_id"], row["year"], row["sentence"]) for row in about.cited_by] == [
        ("O'Brien (2005), Elms grow in forests", "elm", 2021, "Oaks [5] and ashes [6] are trees."),
        ("On growing (2020)", None, 2020, "Oaks and elms grow [1, 2]."),
    ]
    assert about.citing_papers == 2
    # Only a reference list says that the second paper cites it.
    said = [(row["paper_id"], row["sentence"]) for row in library.about("sea").cited_by]
    assert said == [("elm", ""), ("p1", "Salt is another matter [4].")]


def test_what_it_cites_and_is_cited_with(library: Library) -> None:
    assert [row["doc_id"] for row in library.about("elm").cites] == ["ash", "oak", "sea"]
    found = {
        row["doc_id"]: (row["sentences"], row["paragraphs"], row["papers"])
        for row in library.about("oak").cited_with
    }
    assert found == {"ash": (1, 2, 2), "elm": (1, 1, 1), "sea": (0, 0, 2)}
    assert list(found) == ["ash", "elm", "sea"]


def test_record_key_and_bibtex(library: Library) -> None:
    about = library.about("oak")
    assert about.document.abstract == "How oaks grow so slowly."
    assert (about.key, about.link) == ("smith2019oak", "https://doi.org/10.5072/oak")
    assert about.bibtex.startswith("@article{smith2019oak,")
    assert "cited by 2 papers here" in repr(about)
    assert about.tables["cited_with"]["doc_id"].to_list() == ["ash", "elm", "sea"]
    assert about.rows("document")[0]["title"] == "Oak trees in forests"
    with pytest.raises(CollectionError, match="no document 'beech'"):
        library.about("beech")


def test_papers_like_these_leave_them_out(library: Library) -> None:
    one = [row["doc_id"] for row in library.similar("oak")]
    assert one[0] == "elm"
    assert "oak" not in one
    both = library.similar(["oak", "elm"], k=2)
    assert next(row["doc_id"] for row in both) == "ash"
    assert not {"oak", "elm"} & {row["doc_id"] for row in both}
    assert all(0 <= row["score"] <= 1 for row in both)
    assert len(library.similar([])) == 0


def test_nearest_is_what_shares_words_and_direction(library: Library) -> None:
    hits = library.similarity.find([library.number_of("oak")], 10)
    vectors = library.similarity.vectors
    assert vectors is not None
    mine = vectors.decode(np.array([library.number_of("oak")]))[0]
    for doc, score in zip(hits.docs.tolist(), hits.scores.tolist(), strict=True):
        cosine = float(np.clip(vectors.decode(np.array([doc]))[0] @ mine, 0, 1))
        assert cosine / 2 - 1e-6 <= score <= cosine / 2 + 0.5 + 1e-6


def test_similarity_does_not_depend_on_cached_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records after the first count by their titles, also after they were shown."""
    monkeypatch.setattr("citebed.retrieval.library.similarity._WHOLE_TEXTS", 1)
    documents = (
        {"doc_id": "a", "title": "Oak forests", "abstract": "Beech."},
        {"doc_id": "b", "title": "Elm forests", "abstract": "Maple."},
        *({"doc_id": word, "title": f"{word} forests"} for word in ("maple", "beech", "birch")),
    )
    library = write_library(tmp_path / "c", documents)
    given = [library.number_of(name) for name in ("a", "b")]
    before = library.similarity.find(given, 10)
    library.similarity.records(given)
    after = library.similarity.find(given, 10)
    assert (before.docs.tolist(), before.scores.tolist()) == (
        after.docs.tolist(), after.scores.tolist(),
    )  # fmt: skip


def test_sentences_of_papers_elsewhere_count_too(tmp_path: Path) -> None:
    write_collection(tmp_path / "c", DOCUMENTS)
    file = tmp_path / "contexts.jsonl"
    file.write_text(
        '{"citing": "x9", "context": "Oak and elm are wood [CIT].", "cited": ["oak", "elm"], '
        '"year": 2015}\n'
    )
    build(tmp_path / "c", citing=(file,))
    library = Library(Recommender(tmp_path / "c"))
    (row,) = library.about("oak").cited_by
    assert (row["paper_id"], row["year"]) == ("x9", 2015)
    assert row["sentence"].startswith("Oak and elm are wood")
    (other,) = library.about("oak").cited_with
    assert (other["doc_id"], other["sentences"], other["papers"]) == ("elm", 1, 1)


def test_links_of_documents(tmp_path: Path) -> None:
    links = (
        {"record": "ash", "doc_id": "ash", "target": "oak", "target_id": "oak", "kind": "cites",
         "weight": 1.0},
        {"record": "oak", "doc_id": "oak", "target": "sea", "target_id": "sea", "kind": "linked",
         "weight": 1.0},
        {"record": "oak", "doc_id": "oak", "target": "elm", "target_id": "elm", "kind": "cocited",
         "weight": 3.0},
        {"record": "oak", "doc_id": "oak", "target": "far", "target_id": None, "kind": "cites",
         "weight": 1.0},
    )  # fmt: skip
    about = write_library(tmp_path / "c", DOCUMENTS, links=links).about("oak")
    assert [row["paper_id"] for row in about.cited_by] == ["ash"]
    assert [(row["doc_id"], row["kind"]) for row in about.cites] == [("sea", "linked")]
    assert [(row["doc_id"], row["papers"]) for row in about.cited_with] == [("elm", 3)]


@pytest.mark.parametrize("seed", range(8))
def test_cited_together_as_the_slow_version_has_it(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"d{number}" for number in range(8)]
    contexts: list[dict[str, Any]] = [
        {
            "paper_id": f"p{paper}", "context_id": str(paragraph), "paragraph": paragraph,
            "sentence": sentence, "cited": rng.sample(names, rng.randint(0, 4)),
            "text": f"Sentence {paper} {paragraph} {sentence}.",
        }
        for paper in range(3) for paragraph in range(3) for sentence in range(3)
    ]  # fmt: skip
    documents = [{"doc_id": name, "title": f"Title {name}"} for name in names]
    library = write_library(tmp_path / "c", documents, contexts=tuple(contexts))
    for name in names:
        about = library.about(name, k=100)
        told = {
            row["doc_id"]: (row["sentences"], row["paragraphs"], row["papers"])
            for row in about.cited_with
        }
        assert told == slow.together(contexts, name)
        assert list(told.values()) == sorted(told.values(), reverse=True)


def test_the_python_door(library: Library) -> None:
    mine = citebed.open(library.collection.folder)
    assert mine.find("smith 2019").rows == library.find("smith 2019").rows
    assert mine.find(among=citebed.Filter(types=("article",))).total == 2
    assert mine.about("oak").cited_by == library.about("oak").cited_by
    assert mine.similar("oak").rows == library.similar("oak").rows
    assert mine.map(["oak"]).nodes == library.map(["oak"]).nodes
    kept = mine.library
    assert mine.library is kept
    assert len(CONTEXTS) == 4


def test_an_index_that_is_older_than_its_collection(tmp_path: Path) -> None:
    write_library(tmp_path / "c", DOCUMENTS, contexts=CONTEXTS)
    index = (tmp_path / "c" / "index").rename(tmp_path / "index")
    fewer = [row for row in DOCUMENTS if row["doc_id"] != "ash"]
    write_collection(tmp_path / "c", fewer, contexts=CONTEXTS)
    index.rename(tmp_path / "c" / "index")
    library = Library(Recommender(tmp_path / "c"))
    assert {row["doc_id"] for row in library.find()} == {"oak", "elm", "sea", "bare"}
    assert library.find("forests").of_facet("type") == {"article": 2}
    about = library.about("oak")
    for rows in (about.cited_with, about.similar, library.map("oak").nodes):
        assert "ash" not in {row["doc_id"] for row in rows}
    with pytest.raises(CollectionError, match="no document 'ash'"):
        library.about("ash")
