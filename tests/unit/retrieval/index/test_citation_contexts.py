"""Citing text: where it comes from, and that a paper's own can be taken out again."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import examples
from tests.unit.retrieval.index.making import build, columns_of, context, write_collection

from citebed.errors import CitebedError, FormatError
from citebed.retrieval.index.index import open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.recommend.recommender import Recommender
from citebed.retrieval.search.feedback import feedback_documents
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.searcher import Searcher

DOCUMENTS = (
    {"doc_id": "A1", "title": "Trees", "doi": "10.5072/tree", "aliases": ["W7", "b2"]},
    {"doc_id": "B2", "title": "The sea"},
)


def contexts_file(path: Path, *rows: object) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as handle:
        handle.write(text)
    return path


def cites(citing: str, cited: str, text: str) -> dict[str, str]:
    return {"citing": citing, "context": text, "cited": cited}


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.xz", "txt"])
def test_contexts_files(tmp_path: Path, ending: str) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    path = contexts_file(
        tmp_path / f"contexts.{ending}",
        cites("p", "a1", "Roots [3] and"),
        cites("p", "10.5072/TREE", "Leaves (Oak, 2001)."),
        cites("q", "w7", "Bark"),
        {"paper_id": "q", "text": "Waves", "doc_id": "B2"},
        {"citing_id": "q", "sentence": "Waves", "cited_id": "B2"},  # the same a second time
        cites("q", "elsewhere", "Sand"),
    )
    report = build(folder, citing=(path,))
    assert (report.contexts, report.contexts_elsewhere) == (4, 1)
    index = open_index(folder)
    assert columns_of(index)["citing"] == [
        ("bark", "A1", 1),
        ("leav", "A1", 1),
        ("root", "A1", 1),
        ("wave", "B2", 1),
    ]
    assert list(index.papers) == ["p", "q"]
    assert index.description.citing_papers == 2
    assert build(folder, citing=(path,)).unchanged
    assert build(folder).contexts == 0
    assert "citing" not in open_index(folder).fields


DRAFTS = {
    "old.tex": "\\documentclass{article}\\begin{document}\nRoots of oaks drink water \\cite{A1}, "
    "and waves wash the shore \\cite{B2, none}. Nobody is cited here.\n\\end{document}\n",
    "old.md": "Roots of oaks drink water [@A1], and waves wash the shore [@B2; @none].\n\n"
    "Nobody is cited here.\n",
    "old.rst": "Roots of oaks drink water :cite:`A1`, and waves wash the shore :cite:`B2,none`.\n",
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_says_what_it_cites(tmp_path: Path, name: str) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    draft = tmp_path / name
    draft.write_text(DRAFTS[name])
    said = "Roots of oaks drink water, and waves wash the shore."
    written = contexts_file(tmp_path / "x.jsonl", cites(name, "A1", said), cites(name, "B2", said))
    found = []
    for path in (draft, written):
        assert build(folder, citing=(path,)).contexts == 2
        index = open_index(folder)
        found.append((columns_of(index)["citing"], list(index.papers)))
    assert found[0] == found[1]


def test_a_title_that_says_nothing_is_found_by_what_a_draft_says_of_it(tmp_path: Path) -> None:
    titles = ("The Problem of Social Cost", "Governing the Commons", "The Market for Lemons")
    documents = [{"doc_id": f"D{at}", "title": title} for at, title in enumerate(titles)]
    folder = write_collection(tmp_path / "c", documents)
    draft = tmp_path / "old.tex"
    draft.write_text(
        "\\documentclass{article}\\begin{document}\nPrivate bargaining over externalities leads "
        "to an efficient outcome if rights are clear and trading them costs nothing \\cite{D0}.\n"
        "\\end{document}\n"
    )
    text = "Bargaining can internalise externalities when property rights are clear."
    build(folder)
    assert all(each.doc_id != "D0" for each in Recommender(folder).recommend(text))
    build(folder, citing=(draft,))
    first = Recommender(folder).recommend(text)[0]
    assert (first.doc_id, first.reason) == ("D0", "similar citing sentence")
    assert not Recommender(folder).recommend("We had soup and fresh bread for lunch in the garden.")


def test_a_text_may_cite_a_list(tmp_path: Path) -> None:
    path = contexts_file(
        tmp_path / "contexts.jsonl",
        {"citing": "p", "context": "Barks", "cited": ["a1", "B2"], "year": 2020},
        {"citing": "q", "context": "None.", "cited": []},
    )
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    assert build(folder, citing=(path,)).contexts == 2
    index = open_index(folder)
    assert columns_of(index)["citing"] == [("bark", "A1", 1), ("bark", "B2", 1)]
    assert list(index.papers) == ["p"]


def test_names_that_are_ids_come_before_other_names(tmp_path: Path) -> None:
    """``b2`` is the id of one document, but for its capital, and an alias of the other."""
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    path = contexts_file(tmp_path / "c.jsonl", cites("p", "b2", "Waves"))
    build(folder, citing=(path,))
    assert columns_of(open_index(folder))["citing"] == [("wave", "B2", 1)]


def test_a_contexts_file_that_changed_is_read_again(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    path = contexts_file(tmp_path / "c.jsonl", cites("p", "A1", "Roots"))
    build(folder, citing=(path,))
    contexts_file(path, cites("p", "A1", "Roots"), cites("p", "B2", "Waves"))
    assert not open_index(folder).is_current()
    assert build(folder, citing=(path,)).contexts == 2
    path.unlink()
    assert not open_index(folder).is_current()


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b'{"citing": "p", "context": "x", "cited": "A1"}\nnot json\n', 2, "is not JSON"),
        (b"\n\n[1]\n", 3, "has list; expected"),
        (b'{"citing": "p", "text": "x"}\n', 1, "has citing, text; expected"),
        (b'{"citing": 7, "context": "x", "cited": "A1"}', 1, "expected"),
        (b"{}", 1, "has nothing; expected"),
        (b"[" * 100_000, 1, "is not JSON"),
        (b"\n\xff\xfe\n", 2, "is not JSON"),
    ],
)
def test_contexts_that_are_invalid(
    tmp_path: Path, data: bytes, line: int | None, what: str
) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    build(folder)
    path = tmp_path / "c.jsonl"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=what) as caught:
        build(folder, citing=(path,))
    assert caught.value.line == line
    assert open_index(folder, verified=True).is_current()
    assert not list((folder / "index").glob(".work-*"))


@pytest.mark.parametrize("ending", ["gz", "xz"])
def test_archives_that_are_broken(tmp_path: Path, ending: str) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    rows = [cites("p", "A1", f"word{n * n}") for n in range(500)]
    path = contexts_file(tmp_path / f"c.{ending}", *rows)
    good = path.read_bytes()
    middle = bytearray(good)
    middle[len(good) // 2] ^= 255
    for bad in (good[: len(good) // 2], bytes(middle), b"plain text\n", b""):
        path.write_bytes(bad)
        if not bad:
            assert build(folder, citing=(path,), rebuild=True).contexts == 0
            continue
        with pytest.raises(FormatError, match=r"cut short or damaged|is not JSON"):
            build(folder, citing=(path,))


def test_odd_text_in_contexts(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    path = tmp_path / "c.jsonl"
    rows = [
        cites("p\ud800", "A1", "half \ud83d a tree"),
        cites("\N{BEAR FACE}", "a1", "x\u2028 猫\0"),
    ]
    text = json.dumps(rows[0]) + "\r\n\n" + json.dumps(rows[1], ensure_ascii=False)
    path.write_text("\ufeff" + text, newline="")
    assert build(folder, citing=(path,)).contexts == 2
    index = open_index(folder)
    assert list(index.papers) == ["p?", "\N{BEAR FACE}"]
    assert {term for term, _, _ in columns_of(index)["citing"]} >= {"half", "tree", "猫"}


def test_a_contexts_file_that_is_not_there(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(CitebedError, match="is not a file"):
            build(folder, citing=(path,))


# --- taking a paper's own citing text out ------------------------------------------------------

WORDS = st.lists(st.sampled_from(["oak", "sea", "elm", "ash"]), max_size=5).map(" ".join)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "p q", "é"]),
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2),
        WORDS,
    ),
    min_size=1,
    max_size=8,
)
MODELS = (
    *("bm25", "bm25f(b_citing=0.9)", "bm25(lengths=lucene)", "okapi", "cosine(tf=log)"),
    *("kl(mu=10)", "kl(delta=0.5)", "ql(mu=5)"),
)
CITING = Fields({"title": 1.0, "citing": 0.5})


@settings(max_examples=examples(35), suppress_health_check=[HealthCheck.too_slow])
@given(titles=st.lists(WORDS, min_size=3, max_size=3), rows=ROWS, model=st.sampled_from(MODELS))
def test_without_a_paper_is_as_if_it_had_never_been_indexed(
    titles: list[str], rows: list[tuple[str, list[str], str]], model: str
) -> None:
    documents = [
        {"doc_id": name, "title": title} for name, title in zip("abc", titles, strict=True)
    ]
    with TemporaryDirectory() as name:
        whole = write_collection(
            Path(name) / "whole", documents, contexts=[context(*row) for row in rows]
        )
        build(whole)
        everything = Searcher(open_index(whole), model_of(model), CITING)
        for paper in {row[0] for row in rows} | {"nobody"}:
            others = [context(*row) for row in rows if row[0] != paper]
            less = write_collection(Path(name) / f"less {paper}", documents, contexts=others)
            build(less)
            fields = CITING if others else Fields({"title": 1.0})
            expected = Searcher(open_index(less), model_of(model), fields)
            assert_same_view(everything, paper, expected)


def assert_same_view(everything: Searcher, paper: str, expected: Searcher) -> None:
    """Check that frequencies, lengths, document vectors and scores equal the other index's."""
    view, other = everything.without(paper), expected.view
    assert view is everything.without(paper)
    np.testing.assert_array_equal(view.stats.lengths, other.stats.lengths)
    np.testing.assert_array_equal(view.stats.unique, other.stats.unique)
    assert view.stats.tokens == other.stats.tokens
    counted = [terms_of(each) for each in (view, other)]
    assert counted[0] == counted[1]
    np.testing.assert_array_equal(view.per_document, other.per_document)
    for text in ("oak", "oak sea sea", "oak sea elm ash"):
        query = everything.query(text, view)
        (hits,) = everything.search_all([query], 10, paper=paper)
        wanted = expected.search(expected.query(text), 10)
        np.testing.assert_array_equal(hits.docs, wanted.docs)
        np.testing.assert_array_equal(hits.scores, wanted.scores)
        fed, other_fed = feedback_documents(view, hits), feedback_documents(other, wanted)
        for part in ("starts", "tf", "df", "cf", "lengths", "x"):
            np.testing.assert_array_equal(getattr(fed, part), getattr(other_fed, part))


def terms_of(view: Any) -> dict[str, tuple[int, float]]:
    """df and cf of the terms that some document has."""
    parts = list(view.parts())
    df, cf = (
        np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)])
        for name in ("df", "cf")
    )
    names = list(view.index.terms)
    one_by_one = view.frequencies(np.arange(len(names)))
    np.testing.assert_array_equal(one_by_one[0], df)
    np.testing.assert_array_equal(one_by_one[1], cf)
    return {name: (int(n), float(times)) for name, n, times in zip(names, df, cf, strict=True) if n}


def test_a_word_that_a_paper_says_very_often(tmp_path: Path) -> None:
    """Nine texts with 8,000 times the same word: more than 16 bits can count."""
    rows = [context("p", ["A1"], "oak " * 8000 + f"w{n}") for n in range(9)]
    folder = write_collection(tmp_path, DOCUMENTS, contexts=[*rows, context("q", ["A1"], "oak")])
    build(folder)
    searcher = Searcher(open_index(folder), model_of("bm25"), Fields({"citing": 1.0}))
    term = np.array([searcher.index.term_number("oak")])
    assert searcher.view.frequencies(term)[1].tolist() == [72_001]
    assert searcher.without("p").frequencies(term)[1].tolist() == [1]
    assert searcher.without("p").stats.lengths.tolist() == [1, 0]


def test_where_the_citing_text_does_not_count_nothing_is_taken_out(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS, contexts=[context("p", ["A1"], "oak")])
    build(folder)
    index = open_index(folder)
    searcher = Searcher(index, model_of("bm25"), Fields({"title": 1.0}))
    assert searcher.without("p") is searcher.view
    searcher = Searcher(index, model_of("bm25"), CITING)
    assert searcher.without("q") is searcher.view
    assert searcher.without(None) is searcher.view
    assert not searcher.without("p").is_whole
    assert index.share("q") is None
