"""Building an index: what is in it, and that a later build gives what a first one would."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference import search as twin
from tests.sampling import examples, sized
from tests.unit.retrieval.index.making import (
    Row,
    arrays_of,
    assert_same_arrays,
    build,
    columns_of,
    context,
    section,
    write_collection,
)

from citebed.collection.storing.store import lock_collection
from citebed.errors import CitebedError, CollectionError, UnknownName
from citebed.files.output_files import DRAFT_PREFIX
from citebed.retrieval import kernels
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index import builder, term_counts
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.search.searcher import Searcher

DOCUMENTS = (
    {"doc_id": "b", "title": "Trees of trees", "abstract": "A tree's leaves.", "keywords": ["oak"]},
    {"doc_id": "a", "title": "The sea", "keywords": ["salt water", "tree"]},
    {"doc_id": "é", "title": "", "abstract": None},
)


def test_what_is_in_an_index(tmp_path: Path) -> None:
    folder = write_collection(
        tmp_path / "c",
        DOCUMENTS,
        sections=[section("a", "Salt, salt."), section("a", "Salt!", 2), section("gone", "x y")],
        contexts=[context("p", ["b", "a", "gone"], "Leaves [1] in the sea"), context("p", [], "x")],
    )
    report = build(folder)
    index = open_index(folder)
    assert report[:8] == (3, 3, 6, 9, report.bytes, 2, 0, False)
    assert list(index.ids) == ["a", "b", "é"]
    assert list(index.terms) == ["leav", "oak", "salt", "sea", "tree", "water"]
    assert columns_of(index) == {
        "title": [("sea", "a", 1), ("tree", "b", 2)],
        "abstract": [("leav", "b", 1), ("tree", "b", 1)],
        "keywords": [("oak", "b", 1), ("salt", "a", 1), ("tree", "a", 1), ("water", "a", 1)],
        "fulltext": [("salt", "a", 3)],
        "citing": [("leav", "a", 1), ("leav", "b", 1), ("sea", "a", 1), ("sea", "b", 1)],
    }
    assert {name: lengths.tolist() for name, lengths in index.lengths.items()} == {
        "title": [1, 2, 0],
        "abstract": [0, 2, 0],
        "keywords": [3, 1, 0],
        "fulltext": [3, 0, 0],
        "citing": [2, 2, 0],
    }
    assert list(index.papers) == ["p"]
    assert index.is_current()
    assert [index.term_number(term) for term in ("salt", "none", "salt")] == [2, -1, 2]


TEXT = st.text("ab é猫", max_size=6) | st.just("the of") | st.just("trees, tree's \U0001f600")
ROW = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXT,
        "abstract": TEXT | st.none(),
        "keywords": st.lists(TEXT, max_size=2) | st.none(),
        "sections": st.lists(TEXT, max_size=2),
    },
)
STATE = st.fixed_dictionaries(
    {
        "documents": st.dictionaries(st.sampled_from(["a", "B", "c d", "é", "猫", "10.1/x"]), ROW),
        "contexts": st.lists(
            st.tuples(st.sampled_from("pq"), st.sampled_from(["a", "é", "no"]), TEXT), max_size=4
        ),
        "backwards": st.booleans(),
    }
)


def write_state(folder: Path, state: Mapping) -> None:
    rows = [{"doc_id": name, **row} for name, row in state["documents"].items()]
    if state["backwards"]:
        rows.reverse()
    sections = [
        section(row["doc_id"], text, place)
        for row in rows
        for place, text in enumerate(row.get("sections", ()))
    ]
    contexts = [context(paper, [cited], text) for paper, cited, text in state["contexts"]]
    write_collection(folder, rows, sections=sections, contexts=contexts)


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATE, min_size=2, max_size=4))
def test_building_on_gives_what_building_again_gives(states: list[Mapping]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name) / "c"
        for number, state in enumerate(states):
            write_state(folder, state)
            os.utime(folder / "documents.parquet", (number, number))
            build(folder)
        grown = arrays_of(folder)
        build(folder, rebuild=True)
        assert_same_arrays(grown, arrays_of(folder))


@settings(max_examples=examples(50))
@given(STATE)
def test_an_index_is_what_the_slow_twin_counts(state: Mapping) -> None:
    terms = analyser_of("english").terms
    docs = {
        name: {
            "title": terms(row.get("title") or ""),
            "abstract": terms(row.get("abstract") or ""),
            "keywords": terms(" ; ".join(row.get("keywords") or ())),
        }
        for name, row in state["documents"].items()
    }
    fields = ("title", "abstract", "keywords")
    expected = twin.arrays(list(docs), list(docs.values()), fields)
    with TemporaryDirectory() as name:
        write_state(Path(name), {**state, "contexts": []})
        build(Path(name))
        index = open_index(Path(name))
        assert list(index.ids) == expected["ids"]
        found = columns_of(index)
        for field in fields:
            assert index.lengths[field].tolist() == expected["lengths"][field]
            assert found[field] == [
                (expected["terms"][term], expected["ids"][doc], tf[field])
                for term, doc, tf in expected["postings"]
                if tf[field]
            ]


def test_only_what_changed_is_counted(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    assert build(folder).counted == 3
    assert build(folder).unchanged
    more: list[Row] = [
        *DOCUMENTS[:2],
        {"doc_id": "c", "title": "New"},
        {"doc_id": "é", "title": "Now"},
    ]
    write_collection(folder, more)
    assert not open_index(folder).is_current()
    assert build(folder)[:3] == (4, 2, 8)
    assert build(folder, rebuild=True).counted == 4
    assert build(folder, analyser="none").counted == 4
    assert build(folder, analyser=" NONE ").unchanged


def test_a_copy_with_other_times_is_still_current(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    build(folder)
    os.utime(folder / "documents.parquet", (1, 1))
    assert open_index(folder).is_current()
    write_collection(folder, DOCUMENTS, contexts=[context("p", ["a"], "Words")])
    assert not open_index(folder).is_current()


def test_an_index_of_another_polars_is_not_built_upon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes of documents are promised to stay the same within one version of polars only."""
    folder = write_collection(tmp_path, DOCUMENTS)
    build(folder)
    write_collection(folder, DOCUMENTS[:2])
    monkeypatch.setattr(builder, "_HASHING", "polars 99")
    assert build(folder).counted == 2


def test_frequencies_above_what_a_posting_holds(tmp_path: Path) -> None:
    """One text counts a word 8,191 times at most, many texts count it as often as they all do."""
    often = [section("a", "tree " * 6000, place) for place in range(3)]
    folder = write_collection(
        tmp_path, [{"doc_id": "a", "title": "sea " * 9000}, {"doc_id": "b"}], sections=often
    )
    build(folder)
    first = arrays_of(folder)
    assert columns_of(open_index(folder))["fulltext"] == [("tree", "a", 18_000)]
    assert columns_of(open_index(folder))["title"] == [("sea", "a", 8191)]
    assert open_index(folder).lengths["title"].tolist() == [9000, 0]
    write_collection(
        folder, [{"doc_id": "a", "title": "sea " * 9000}, {"doc_id": "b"}], sections=often[::-1]
    )
    assert build(folder).counted == 0
    assert_same_arrays(first, arrays_of(folder))


@pytest.mark.parametrize(
    "documents",
    [[], [{"doc_id": "a"}], [{"doc_id": "a", "title": "the"}, {"doc_id": "b", "keywords": []}]],
    ids=["no documents", "no text", "stop words"],
)
def test_collections_without_a_word(tmp_path: Path, documents: list[dict]) -> None:
    folder = write_collection(tmp_path, documents)
    assert build(folder)[:4] == (len(documents), len(documents), 0, 0)
    index = open_index(folder)
    index.verify()
    assert len(index.ids) == len(documents)
    searcher = Searcher(index, model_of("kl"))
    for _ in range(2):
        assert len(searcher.search(searcher.query("the words"), 10).docs) == 0
        searcher.prepare()
    write_collection(folder, DOCUMENTS)
    assert build(folder)[:3] == (3, 3, 6)


def test_text_of_all_kinds(tmp_path: Path) -> None:
    titles = ["Шолом алейхем", "שלום עולם", "猫とねこ", "naïve Café \U0001f600", "a\x00b \u2028 c"]
    ids = ["with blank", "\N{PILE OF POO}", 'quo"te', "\t", "ü" * 300]
    documents = [{"doc_id": name, "title": title} for name, title in zip(ids, titles, strict=True)]
    folder = write_collection(tmp_path, documents)
    build(folder)
    index = open_index(folder)
    assert list(index.ids) == sorted(ids, key=str.encode)
    searcher = Searcher(index, model_of("bm25"))
    for name, word in zip(ids, ["алейхем", "עולם", "猫", "café"], strict=False):
        hits = searcher.search(searcher.query(word), 10)
        assert [index.ids[int(doc)] for doc in hits.docs] == [name]


def test_an_analyser_that_there_is_not(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    with pytest.raises(UnknownName, match="Did you mean 'english'"):
        build(folder, analyser="engli")
    assert not (folder / "index").exists()


def test_too_many_to_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_collection(tmp_path, DOCUMENTS, contexts=[context("p", ["a", "b", "é"], "x")])
    build(folder)
    before = arrays_of(folder)
    for name, value, what in (
        ("MOST_ROWS", 2, "2 documents; this collection has 3"),
        ("MOST_TERMS", 3, "more than 3 different terms"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(term_counts, name, value)
            with pytest.raises(CitebedError, match=what):
                build(folder, rebuild=True)
        assert_same_arrays(before, arrays_of(folder))
    more = [context("p", ["a", "b", "é"], text) for text in ("x", "y")]
    write_collection(folder, DOCUMENTS, contexts=more)
    monkeypatch.setattr(term_counts, "MOST_ROWS", 5)
    with pytest.raises(CitebedError, match="can hold 5 contexts; there are 6"):
        build(folder)


# --- threads --------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection that is counted by compiled code in threads, in many jobs."""
    monkeypatch.setattr(builder, "COMPILED_ROWS", 10)
    monkeypatch.setattr(term_counts, "_ROWS_READ", 170)
    monkeypatch.setattr(term_counts, "_ROWS_PER_BATCH", 50)
    rows = [
        {"doc_id": f"d{n:04}", "title": f"wörd{n % 91} tree", "abstract": "sea " * (n % 7)}
        for n in range(1000)
    ]
    return write_collection(tmp_path / "c", rows)


def test_threads_count_as_one_does_and_as_the_obvious_way(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(large, workers=3)
    many = arrays_of(large)
    build(large, workers=1, rebuild=True)
    assert_same_arrays(many, arrays_of(large))
    monkeypatch.setattr(builder, "COMPILED_ROWS", 10_000)
    build(large, rebuild=True)
    assert_same_arrays(many, arrays_of(large))


def test_a_thread_that_fails_leaves_the_old_index(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(large)
    before = arrays_of(large)
    original = term_counts.TokenBatch.counts

    def counts(read: term_counts.TokenBatch) -> term_counts.Counts:
        if read.batch.rows[0] >= 300:
            raise MemoryError
        return original(read)

    monkeypatch.setattr(term_counts.TokenBatch, "counts", counts)
    with pytest.raises(MemoryError):
        build(large, workers=2, rebuild=True)
    assert_same_arrays(before, arrays_of(large))
    assert not list((large / "index").glob(".work-*"))


def test_a_search_is_compiled_while_a_large_collection_is_indexed(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("citebed.retrieval.numba_cache.is_to_compile", lambda _: True)
    monkeypatch.setattr(kernels, "compile_search", lambda: asked.append(True))
    build(large)
    assert asked == [True]


def test_what_is_compiled_ahead_is_what_searches_use(large: Path) -> None:
    kernels.compile_search()
    build(large)
    searcher = Searcher(open_index(large), model_of("bm25"))
    searcher.prepare()
    assert len(searcher.search(searcher.query("tree"), 5).docs) == 5
    assert len(kernels.search_many.signatures) == 1


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux tells what is in memory")
def test_an_index_releases_what_it_has_read(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, [{"doc_id": f"d{n}", "title": "sea"} for n in range(9000)])
    build(folder)
    index = open_index(folder)

    def resident() -> int:
        parts = Path("/proc/self/smaps").read_text().split(f"{folder / 'index'}/ids.")[1:]
        return sum(int(part.partition("\nRss:")[2].split()[0]) for part in parts)

    assert len(list(index.ids)) == 9000
    assert resident() > 100
    index.release()
    assert resident() == 0
    assert index.ids[8999] == "d999"


# --- others at work at the same time ---------------------------------------------------------


def test_two_builders_at_once(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    with lock_collection(folder), pytest.raises(CollectionError, match="being changed by another"):
        build(folder)
    assert build(folder).documents == 3


def test_whoever_has_the_old_index_open_goes_on(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    build(folder)
    old = Searcher(open_index(folder), model_of("bm25"))
    write_collection(folder, [{"doc_id": "z", "title": "tree"}])
    build(folder)
    hits = old.search(old.query("trees"), 10)
    assert [old.index.ids[int(doc)] for doc in hits.docs] == ["b", "a"]
    assert list(open_index(folder).ids) == ["z"]


def test_opening_while_a_new_index_takes_the_place_of_the_old(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    build(folder)
    stop = threading.Event()

    def builder() -> None:
        while not stop.is_set():
            write_index(folder, IndexOptions(workers=1, rebuild=True))

    thread = threading.Thread(target=builder)
    thread.start()
    try:
        until = time.monotonic() + sized(1, 2)
        while time.monotonic() < until:
            assert len(open_index(folder, verified=True).ids) == 3
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("rebuild", [False, True])
def test_what_a_killed_builder_left_is_cleared_away(tmp_path: Path, rebuild: bool) -> None:
    """Also if there is nothing to build; files that are not leftovers stay."""
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    build(folder)
    index = folder / "index"
    for name in (".work-mine", f"{DRAFT_PREFIX}{0x123:016x}"):
        (index / name).mkdir()
        (index / name / "citing.parquet").write_bytes(b"half")
    (index / "docs.9.npy").write_bytes(b"half")
    (index / "index.json.new").write_text("{")
    (index / "mine.npy").write_text("no array of an index")
    open_index(folder, verified=True)
    assert build(folder, rebuild=rebuild).unchanged != rebuild
    names = {path.name for path in index.iterdir()}
    wanted = {entry["file"] for entry in open_index(folder).description.files.values()}
    assert names == {"index.json", "index.json.new", "mine.npy", ".work-mine", *wanted}


def test_what_the_first_builder_left_is_cleared_away(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    (folder / "index").mkdir()
    (folder / "index" / "docs.1.npy").write_bytes(b"half")
    build(folder)
    wanted = {entry["file"] for entry in open_index(folder).description.files.values()}
    assert {path.name for path in (folder / "index").iterdir()} == {"index.json", *wanted}


def test_files_respect_the_umask(tmp_path: Path) -> None:
    folder = write_collection(tmp_path, DOCUMENTS)
    before = os.umask(0o027)
    try:
        build(folder)
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder / "index").iterdir()}
    assert modes == {0o640}
    assert stat.S_IMODE((folder / "index").stat().st_mode) == 0o750


def test_nothing_is_written_through_links(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / "index").mkdir()
    for name in ("index.json", "index.json.new", "docs.1.npy", "docs.2.npy"):
        (folder / "index" / name).symlink_to(victim)
    build(folder)
    assert victim.read_text() == "precious"
    open_index(folder, verified=True)
    assert not any(path.is_symlink() for path in (folder / "index").glob("*.npy"))


def test_the_command_loads_nothing_of_encoders_unless_asked(tmp_path: Path) -> None:
    script = (
        "import os, sys; from citebed.cli import run\n"
        "os._exit = lambda code: print(code, [m for m in sys.modules if 'encoders.' in m])\n"
        "run()"
    )
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    words = [sys.executable, "-c", script, "index", str(folder), "--quiet"]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.stdout == "0 []\n", run.stderr
