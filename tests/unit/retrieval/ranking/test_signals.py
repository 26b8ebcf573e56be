"""Signals: each of them as the tables have it, nothing from the asking paper or a later one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.reference import signals as slow
from tests.unit.retrieval.index.making import Row, build, write_collection

from citebed.collection import open_collection
from citebed.errors import CollectionError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.recommend.documents import DocumentRecords
from citebed.retrieval.recommend.evidence import CitingPapers, explain

DOCUMENTS: tuple[Row, ...] = (
    {"doc_id": "a", "title": "Ranking documents by language models", "year": 1998,
     "authors": ["Ponte, Jay", "Croft, W. Bruce"], "pages": "275–281",
     "abstract": "A document is ranked by how likely its model makes the query."},
    {"doc_id": "b", "title": "Smoothing of language models", "year": 2001,
     "authors": ["Zhai, ChengXiang"], "pages": "2:1–2:16",
     "abstract": "How zero probabilities are avoided matters for retrieval."},
    {"doc_id": "c", "title": "Compilers for parallel machines", "year": 2010,
     "authors": ["CROFT, W. Bruce", "zhai, Chengxiang", "Zhai, ChengXiang"], "pages": "7",
     "abstract": "Loops are turned into code that runs on many processors."},
    {"doc_id": "d", "title": "Query expansion", "year": 0, "pages": "C1",
     "authors": ["Ponte, Jay"]},
    {"doc_id": "e", "title": "The salt of the sea", "abstract": "Water and salt.", "year": 2015},
)  # fmt: skip
CONTEXTS = (
    {"paper": "P1", "year": 2003, "doc": "a", "text": "Language models rank documents well."},
    {"paper": "P1", "year": 2003, "doc": "b", "text": "They need smoothing."},
    {"paper": "P2", "year": 2009, "doc": "a", "text": "Retrieval models of language are common."},
    {"paper": "P2", "year": 2009, "doc": "d", "text": "Queries can be expanded by feedback."},
    {"paper": "P3", "year": 0, "doc": "a", "text": "The likelihood of a query ranks documents."},
)
TEXT = "Language models rank documents by the likelihood of the query. Smoothing matters much."


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    folder = tmp_path_factory.mktemp("signals") / "c"
    write_collection(folder, DOCUMENTS)
    file = folder.parent / "contexts.jsonl"
    rows = [
        {"citing": r["paper"], "context": r["text"], "cited": r["doc"], "year": r["year"]}
        for r in CONTEXTS
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build(folder, citing=(file,))
    pipeline = parse_pipeline("bm25+learned")
    return Runner(open_collection(folder), open_index(folder), pipeline, RunOptions())


def question(
    runner: Runner, paper: str | None = None, year: int | None = None, cites: str = ""
) -> Query:
    numbers = np.array([runner.index.ids.find(name) for name in cites], np.int64)
    return replace(runner.query(TEXT), cites=numbers, paper=paper, year=year)


def weighed(runner: Runner, asked: Query) -> Candidates:
    signals = runner.ranker.signals
    (vectors,) = signals.embed([asked])
    return signals.compute(asked, runner.searcher.search(asked.terms, 10), vectors, 10)


def column(found: Candidates, name: str) -> list[float]:
    return [round(float(v), 6) for v in found.signals[:, list(SIGNALS).index(name)]]


@pytest.mark.parametrize(
    ("paper", "year"),
    [(None, None), ("P1", None), ("P1", 2005), (None, 2009), (None, 2003), ("other", 1990)],
)
def test_what_others_say(runner: Runner, paper: str | None, year: int | None) -> None:
    asked = question(runner, paper, year, "b")
    found = weighed(runner, asked)
    known = slow.helpful(CONTEXTS, paper, year)
    names = [runner.index.ids[int(number)] for number in found.docs]
    assert names == ["a", "b", "c", "d", "e"]
    assert column(found, "cited") == [round(slow.cited(known, name), 6) for name in names]
    assert column(found, "cocited") == [round(slow.cocited(known, n, "b"), 6) for n in names]
    others = [slow.authors(known, DOCUMENTS, each) for each in DOCUMENTS]
    assert column(found, "authors") == pytest.approx(others, abs=1e-6)
    like = [slow.citing(known, name, asked.sentences) for name in names]
    assert column(found, "citing") == pytest.approx(np.maximum(like, 0).tolist(), abs=0.01)


def test_similarities_and_records(runner: Runner) -> None:
    asked = question(runner)
    found = weighed(runner, asked)
    texts = [f"{d.get('title')}. {d.get('abstract') or ''} " for d in DOCUMENTS]
    whole, best = slow.similarities(asked.sentences, texts)
    assert column(found, "static") == pytest.approx(whole, abs=0.01)
    assert column(found, "static_sentence") == pytest.approx(best, abs=0.01)
    assert column(found, "title_only") == [0, 0, 0, 1, 0]
    assert column(found, "age") == pytest.approx(
        [np.log1p(2015 - y) if y else 0 for y in (1998, 2001, 2010, 0, 2015)], abs=1e-6
    )
    assert column(found, "length") == pytest.approx(
        [np.log(7 / 8), np.log(16 / 8), np.log(1 / 8), 0, 0], abs=1e-6
    )
    assert max(column(found, "bm25")) == 1.0
    assert column(found, "encoder") == [0] * 5


def test_bm25_is_that_of_searching(runner: Runner) -> None:
    asked = question(runner)
    hits = runner.searcher.search(asked.terms, 10)
    found = weighed(runner, asked)
    shares = dict(zip(found.docs.tolist(), column(found, "bm25"), strict=True))
    for number, score in zip(hits.docs.tolist(), hits.scores.tolist(), strict=True):
        assert shares[number] == pytest.approx(score / hits.scores[0], abs=1e-6)


def test_bm25_of_the_best_sentence(runner: Runner) -> None:
    asked = question(runner)
    assert len(asked.sentences) == 2
    shares = dict.fromkeys(range(len(DOCUMENTS)), 0.0)
    for sentence in asked.sentences:
        hits = runner.searcher.search(runner.searcher.query(sentence), 10)
        for number, score in zip(hits.docs.tolist(), hits.scores.tolist(), strict=True):
            shares[number] = max(shares[number], score / hits.scores[0])
    found = column(weighed(runner, asked), "bm25_sentence")
    assert found == pytest.approx(list(shares.values()), abs=1e-6)
    assert found[1] == 1, "the second sentence asks for the second document"
    assert found != column(weighed(runner, asked), "bm25")
    alone = replace(asked, split=asked.sentences[:1])
    both = weighed(runner, alone)
    assert column(both, "bm25_sentence") == column(both, "bm25")


def test_the_best_known_author(runner: Runner) -> None:
    """Three papers cite Croft's other work and Ponte's first, one Ponte's second and Zhai's."""
    found = weighed(runner, question(runner))
    assert column(found, "authors") == pytest.approx(np.log1p([1, 0, 3, 3, 0]).tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("depth", "divisor", "count"),
    [(1, 1, 1), (2, 1, 2), (3, 1, 3), (50, 1, 50), (50, 5, 1), (50, 6, 0)],
)
def test_peers(
    runner: Runner, depth: int, divisor: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals = runner.ranker.signals
    assert (signals.constants.peer_depth, signals.constants.peer_divisor) == (50, 100)
    assert column(weighed(runner, question(runner)), "peers") == [0] * 5
    constants = signals.constants._replace(peer_depth=depth, peer_divisor=divisor)
    monkeypatch.setattr(signals, "constants", constants)
    found = weighed(runner, question(runner))
    names = [runner.index.ids[int(number)] for number in found.docs]
    parts = ("bm25", "bm25_sentence", "static", "static_sentence")
    likeness = np.sum([column(found, name) for name in parts], axis=0)
    best = sorted(names, key=lambda name: -likeness[names.index(name)])[:count]
    expected = [slow.peers(DOCUMENTS, best, each) for each in DOCUMENTS]
    assert column(found, "peers") == pytest.approx(expected, abs=1e-6)
    if count == 50:
        assert expected == np.log1p([1, 1, 1, 1, 0]).tolist()


@pytest.mark.parametrize(
    ("pages", "count"),
    [("1–10", 10), ("12", 1), ("7:1–7:20", 20), ("e5:1–e5:2", 2), ("100–700", 8), ("9–3", 8),
     ("1–100", 60), ("iv", 8), ("1–es", 8), ("1–3, 7–9", 8), (None, 8), ("", 8),
     ("1–99999999999", 8)],
)  # fmt: skip
def test_pages(tmp_path: Path, pages: str | None, count: int) -> None:
    rows: list[Row] = [
        {"doc_id": "a", "title": "One"},
        {"doc_id": "b", "title": "Two", "pages": pages},
    ]
    write_collection(tmp_path / "c", rows)
    build(tmp_path / "c")
    records = open_index(tmp_path / "c").records
    assert records.log_pages(np.arange(2)).tolist() == [0, np.log(count / 8)]


def test_records_are_in_the_order_of_the_index_whatever_that_of_the_table(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"doc_id": "d", "title": "Four", "year": 2004, "pages": "1–4", "authors": ["Dee"]},
        {"doc_id": "a", "title": "One", "year": 2001, "pages": "1–16", "authors": ["Ann"]},
        {"doc_id": "b", "title": "Two"},
        {"doc_id": "c", "title": "Three", "year": 2003, "pages": "1–8", "authors": ["ann", "Cy"]},
    ]
    write_collection(tmp_path / "c", rows)
    build(tmp_path / "c")
    records = open_index(tmp_path / "c", verified=True).records
    assert records.years.tolist() == [2001, 0, 2003, 2004]
    assert records.latest == 2004
    assert records.log_pages(np.arange(4)) == pytest.approx(np.log([2, 1, 1, 1 / 2]))
    wrote = records.authorship(np.arange(4))
    assert sorted(wrote.documents.tolist()) == [0, 2, 2, 3]
    assert wrote.sum_other_works(np.array([1.0, 0, 5, 7])).tolist() == [5, 0, 1, 0]
    both = records.works_by_authors_of(np.array([0]))
    assert both.documents.tolist() == [0, 2]


def test_an_index_of_before_says_what_to_do_and_is_brought_up_to_date(tmp_path: Path) -> None:
    """One that lacks the documents' years and authors: it is searched, and not ranked from."""
    folder = tmp_path / "c"
    write_collection(folder, DOCUMENTS)
    build(folder)
    path = folder / "index" / "index.json"
    about = json.loads(path.read_text())
    about["files"] = {k: v for k, v in about["files"].items() if not k.startswith("records.")}
    path.write_text(json.dumps(about))
    with pytest.raises(CollectionError, match=r"earlier version.*citebed index"):
        open_index(folder, verified=True).records  # noqa: B018
    assert not build(folder).unchanged
    assert open_index(folder, verified=True).records.latest == 2015


def test_lately(runner: Runner) -> None:
    """Cited in 2009 by the latest paper whose year is known: as of 2010 that is the year before."""
    assert column(weighed(runner, question(runner, year=2010)), "lately")[0] == 1
    assert column(weighed(runner, question(runner, "P2", 2010)), "lately")[0] == pytest.approx(
        1 / 7, abs=1e-6
    )
    assert column(weighed(runner, question(runner, year=2009)), "lately")[0] == pytest.approx(
        1 / 6, abs=1e-6
    )


def test_evidence(runner: Runner) -> None:
    candidates = weighed(runner, question(runner, "P1"))
    candidates = candidates.take([i for i, n in enumerate(candidates.docs) if n != 2])
    rows = [row for row in DOCUMENTS if row["doc_id"] in "abde"]

    class Records(DocumentRecords):
        def abstracts(self, ids: Sequence[str]) -> list[str]:
            return [str(row.get("abstract") or "") for row in DOCUMENTS if row["doc_id"] in ids]

    records = Records(runner.collection, runner.index, keywords=False)
    filled = records.get([str(row["doc_id"]) for row in rows])
    found = explain(runner, candidates, filled, records, CitingPapers(runner.collection))
    by_id = {fields["doc_id"]: (fields, sentence) for fields, sentence in found}
    assert by_id["b"][1] == 1
    first, sentence = by_id["a"]
    assert (first["abstract_sentence"], sentence) == (DOCUMENTS[0]["abstract"], 0)
    said = first["citing_sentences"]
    assert "Language models rank documents well." not in said, "the citing paper's own"
    assert said[0] == "The likelihood of a query ranks documents."
    assert by_id["d"][0]["abstract_sentence"] == ""
    assert by_id["e"][0]["citing_sentences"] == ()
