"""Maps: who is on them and why, groups with words, and what a draft leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.unit.retrieval.library.conftest import write_library

from citebed.retrieval.library.layout import name_clusters
from citebed.retrieval.library.library import Library
from citebed.retrieval.library.map import EDGES, ROLES

_SUBJECTS = {
    "oak": "oak trees growing slowly in northern forests",
    "sea": "salt water waves beneath the ocean sea",
    "car": "engines wheels brakes driving motor cars",
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Library:
    documents: list[dict[str, Any]] = [
        {
            "doc_id": f"{name}{number}", "title": f"{name} study {words.split()[number % 5]}",
            "abstract": f"{words}. Results of part {number}.", "year": 2000 + number,
            "authors": [f"{name.title()}, A."], "cite_key": f"{name}{number}",
        }
        for name, words in _SUBJECTS.items() for number in range(6)
    ]  # fmt: skip
    contexts = (
        {"paper_id": "p", "context_id": "1", "paragraph": 1, "sentence": 1,
         "cited": ["oak0", "oak1"], "text": "Oaks [1, 2]."},
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("map") / "c"
    return write_library(folder, documents, contexts=contexts)


def test_around_a_document(drawn: Library) -> None:
    found = drawn.map("oak0", k=12)
    roles = {node["doc_id"]: node["role"] for node in found.nodes}
    assert len(roles) == 12
    assert roles["oak0"] == "centre"
    assert roles["oak1"] == "cited with"
    assert set(roles.values()) <= set(ROLES)
    assert all(0 <= node[axis] <= 1 for node in found.nodes for axis in "xy")
    assert found.gaps == ()
    assert {edge["kind"] for edge in found.edges} <= set(EDGES)
    assert {"source": "oak0", "target": "oak1", "kind": "cited together", "weight": 1.0} in list(
        found.edges
    )
    ids = set(roles)
    assert all(edge["source"] in ids and edge["target"] in ids for edge in found.edges)


def test_what_a_draft_leaves_out(drawn: Library, tmp_path: Path) -> None:
    draft = tmp_path / "draft.tex"
    draft.write_text(
        "\\documentclass{article}\\begin{document}\n"
        "Oak trees grow slowly in northern forests \\cite{oak2,oak3}.\n\n"
        "Salt water makes waves in the ocean and the sea.\n\n"
        "Motor cars have engines, wheels and brakes for driving.\n"
        "\\end{document}\n"
    )
    found = drawn.map(draft, k=18)
    roles = {node["doc_id"]: node["role"] for node in found.nodes}
    assert {name for name, role in roles.items() if role == "cited"} == {"oak2", "oak3"}
    assert "recommended" in roles.values()
    missed = [name for gap in found.gaps for name in gap["doc_ids"]]
    assert any(name.startswith("sea") for name in missed)
    assert not {"oak2", "oak3"} & set(missed)
    sizes = [gap["size"] for gap in found.gaps]
    assert sizes == sorted(sizes, reverse=True)
    assert found.rows("gaps") == list(found.gaps)


def test_groups_have_names_of_their_own(drawn: Library) -> None:
    found = drawn.map(["oak0", "sea0", "car0"], k=18)
    labels = [group["label"] for group in found.groups]
    assert len(set(labels)) == len(labels)
    titles = [node["title"] for node in found.nodes]
    assert all(any(label in title for title in titles) for label in labels)
    assert sum(group["size"] for group in found.groups) == len(found.nodes) == 18
    by_subject = {(node["doc_id"][:3], node["group"]) for node in found.nodes}
    assert len(by_subject) == 3


def test_groups_are_named_by_phrases_of_titles(drawn: Library) -> None:
    groups = [
        ["A Deep Matching Model for Ad-hoc Retrieval", "Ad Hoc Retrieval with BERT",
         "Ad hoc retrieval: a survey", "Neural Nets"],
        ["ON STATISTICAL SIGNIFICANCE TESTS", "Statistical Significance Tests in Retrieval"],
        ["Learning to Rank", "Learning-to-Rank using BERT-based Features",
         "BERT-based features of pages"],
        ["Evaluation of the Past", "Evaluation in 1999: Past Evaluation"],
        ["Oaks", "Oaks"],
        ["Oaks"],
        ["", "?!"],
    ]  # fmt: skip
    titles = [title for own in groups for title in own]
    numbers = [number for number, own in enumerate(groups) for _ in own]
    assert name_clusters(drawn.recommender.index, titles, numbers) == [
        "ad hoc retrieval", "statistical significance tests", "BERT-based features",
        "past evaluation", "oaks", "others", "others",
    ]  # fmt: skip


def test_nodes_tell_how_many_papers_here_cite_them(drawn: Library) -> None:
    cited = {node["doc_id"]: node["citations"] for node in drawn.map("oak0", k=18).nodes}
    assert (cited["oak0"], cited["oak1"], cited["oak2"]) == (1, 1, 0)


def test_the_same_every_time(drawn: Library) -> None:
    assert drawn.map("oak0").nodes == drawn.map("oak0").nodes
    again = Library(drawn.recommender)
    assert again.map("oak0").nodes == drawn.map("oak0").nodes


def test_a_picture_and_a_table(drawn: Library) -> None:
    found = drawn.map("Salt water in the ocean", k=10)
    root = ElementTree.fromstring(found.svg())
    titles = root.findall(".//{http://www.w3.org/2000/svg}title")
    assert len(titles) == len(found.nodes) == 10
    assert found._repr_html_() == found.svg()
    assert found.tables["nodes"].height == 10
    assert "10 documents" in found.summary
    assert "label" in repr(found)


def test_titles_do_nothing_in_a_picture(tmp_path: Path) -> None:
    documents = [
        {"doc_id": f"<b>{n}", "title": f"<script>alert({n})</script>", "abstract": "x"}
        for n in range(3)
    ]
    library = write_library(tmp_path / "c", documents)
    svg = library.map(["<b>0"]).svg()
    assert "<script" not in svg
    ElementTree.fromstring(svg)


def test_what_is_excluded_is_on_no_map(drawn: Library) -> None:
    text = "Salt water makes waves in the ocean and the sea."
    whole = {node["doc_id"] for node in drawn.map(text, k=18).nodes}
    fewer = {node["doc_id"] for node in drawn.map(text, k=18, exclude=["sea1", "car2"]).nodes}
    assert fewer == whole - {"sea1", "car2"}
    roles = {node["doc_id"]: node["role"] for node in drawn.map(text, k=18, cited=["car1"]).nodes}
    assert roles["car1"] == "cited"
    assert "oak0" in {node["doc_id"] for node in drawn.map(["oak0"], exclude=["oak0"]).nodes}
