"""The how-tos do what they say: the code of each page is added, and used as any other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.how_to_code import PAGES, first_block

import citebed
from citebed.collection.formats import FORMATS, recognise
from citebed.collection.importing import ImportOptions, import_sources
from citebed.evaluation.measures import MEASURES
from citebed.judging.pooling_methods import METHODS, PoolingOptions, pool
from citebed.retrieval.models import MODELS
from citebed.retrieval.ranking.features import RECORD_SIGNALS, SIGNALS
from citebed.retrieval.ranking.ranker import SHIPPED


@pytest.fixture
def added(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module that a page's first block of Python is."""
    code = first_block(PAGES / f"{request.param}.md")
    module = ModuleType(f"how_to_{request.param}")
    sys.modules[module.__name__] = module
    exec(compile(code, f"{request.param}.md", "exec"), vars(module))
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("added", ["measure"], indirect=True)
def test_a_measure(added: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "Silence", added.Silence)
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
    scores = citebed.evaluate(qrels, {"us": run}, ["Silence@1", "Silence@2"]).per_query
    values = {(m, q): v for m, q, v in scores.select("measure", "query_id", "value").iter_rows()}
    assert [values["Silence@1", q] for q in ("q1", "q2")] == [0, 1]
    assert [values["Silence@2", q] for q in ("q1", "q2")] == [0, 0]


@pytest.mark.parametrize("added", ["model"], indirect=True)
def test_a_model(added: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "coordination", added.Coordination)
    papers = {"a": "apple pear pear", "b": "apple", "c": "plum"}
    entries = [f"@misc{{{key}, title={{{title}}}}}\n" for key, title in papers.items()]
    (tmp_path / "mine.bib").write_text("".join(entries))
    mine = citebed.create(tmp_path / "mine", tmp_path / "mine.bib")
    mine.index()
    hits = citebed.recommend(mine, "apple apple pear", k=3, model="coordination")
    assert [(each.doc_id, each.score) for each in hits] == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("added", ["format"], indirect=True)
def test_a_format(added: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "paper-list", added.PAPER_LIST)
    text = "#papers\np1 | On Apples | 1999\nno record\np2 | On Pears | 2001\n"
    assert [name for name, each in FORMATS.items() if each.sniff(text)][-1] == "paper-list"
    assert recognise(text) is not None
    (tmp_path / "list.txt").write_text(text)
    options = ImportOptions(format="paper-list")
    report = import_sources(tmp_path / "mine", [tmp_path / "list.txt"], options)
    documents = citebed.open(tmp_path / "mine").documents
    assert documents.select("doc_id", "title", "year").rows() == [
        ("p1", "On Apples", 1999),
        ("p2", "On Pears", 2001),
    ]
    assert report.problems["line"].to_list() == [3]


@pytest.mark.parametrize("added", ["pooling"], indirect=True)
def test_a_pooling_method(added: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "votes", added.Votes)
    lists = {"one": ["a", "b", "c"], "two": ["d", "c"], "three": ["c", "b"]}
    made = pool(lists, (), {"a": True}, PoolingOptions(size=3, method="votes"))
    assert made.doc_ids == ["c", "b", "d"]


@pytest.mark.parametrize("added", ["signal"], indirect=True)
def test_a_signal(added: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.bib").write_text("@misc{a, title={Apples}}\n@misc{b, title={Apples, pears}}")
    mine = citebed.create(tmp_path / "mine", tmp_path / "mine.bib")
    mine.index()
    values = added.title_words(citebed.open_index(mine), np.array([0, 1]))
    assert values == pytest.approx([np.log(2), np.log(3)])
    monkeypatch.setitem(SIGNALS, "title_words", "the words of its title (logarithm)")
    monkeypatch.setitem(RECORD_SIGNALS, "title_words", added.title_words)
    ranker = json.loads(SHIPPED.read_bytes())
    for weight, order in ((0, ["a", "b"]), (100, ["b", "a"]), (-100, ["a", "b"])):
        ranker["levels"]["static"]["weights"]["title_words"] = weight
        (tmp_path / f"{weight}.json").write_text(json.dumps(ranker))
        model = f"bm25+learned(encoder=no,with={tmp_path / f'{weight}.json'})"
        hits = citebed.recommend(mine, "We eat apples.", k=2, model=model, min_probability=0)
        assert [each.doc_id for each in hits] == order
