"""The folder for ir_datasets, loaded with the real package."""

from __future__ import annotations

import ast
import importlib.util
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citebed.collection import Collection
from citebed.collection.exporting import export
from citebed.collection.exporting.ir_datasets_plugin import load, register
from citebed.errors import CitebedError, MissingExtra, UnknownName


@pytest.fixture(scope="module")
def ir_datasets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the package; by default it makes a folder in the home directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("ir_datasets_home")))
        patch.setenv("IR_DATASETS_TMP", str(tmp_path_factory.mktemp("ir_datasets_tmp")))
        yield pytest.importorskip("ir_datasets")


@pytest.fixture
def folder(small: Collection, tmp_path: Path) -> Path:
    export(small, "ir_datasets", tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def registry(ir_datasets: Any) -> Iterator[Any]:
    """The package's registry; what a test registers is taken out again."""
    known = dict(ir_datasets.registry._registered)
    yield ir_datasets.registry
    ir_datasets.registry._registered.clear()
    ir_datasets.registry._registered.update(known)


def test_the_name_of_a_query_set_is_never_run(tmp_path: Path, imported: Any) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "docs.jsonl").write_text('{"doc_id": "d", "title": "T"}\n')
    (source / 'x""" + evil() + """.jsonl').write_text('{"query_id": "q", "text": "t"}\n')
    collection = imported(source)
    assert collection.query_sets == ('x""" + evil() + """',)
    export(collection, "ir_datasets", tmp_path / "out")
    (module,) = (tmp_path / "out").glob("*.py")
    assert "evil" not in module.read_text("utf-8")
    ast.parse(module.read_text("utf-8"))


@pytest.mark.usefixtures("ir_datasets")
def test_documents(small: Collection, folder: Path) -> None:
    data = load(folder, "cats")
    documents = list(data.docs_iter())
    assert data.has_docs()
    assert [doc.doc_id for doc in documents] == small.documents["doc_id"].to_list()
    assert data.docs_count() == len(documents) == len(data.docs)
    cats = data.docs_store().get("adams2001")
    assert cats in documents
    assert cats.authors == ("Adams, Ann", "Böhm, Bo", "IBM Research, Zürich")
    assert (cats.year, cats.date, cats.doi) == (2001, "2001-08", "10.5072/cats.1")
    assert cats.default_text() == f"{cats.title} {cats.abstract}"
    assert data.docs_cls()._fields[0] == "doc_id"
    assert data.docs_store().get("adams2001", "year") == 2001
    assert list(data.docs_store().get_many(["zero", "none", "adams2001"])) == ["adams2001", "zero"]
    with pytest.raises(KeyError):
        data.docs_store().get("none")


@pytest.mark.usefixtures("ir_datasets")
def test_parts_of_the_documents(folder: Path) -> None:
    data = load(folder)
    ids = [doc.doc_id for doc in data.docs_iter()]
    for part in (slice(2), slice(1, 7, 2), slice(-3, None), slice(0.25, 0.75), slice(1 / 3, 1.0)):
        start, stop = (int(v * 8) if isinstance(v, float) else v for v in (part.start, part.stop))
        whole = slice(start, stop, part.step)
        assert [doc.doc_id for doc in data.docs_iter()[part]] == ids[whole]
    assert data.docs_iter()[-1].doc_id == ids[-1]
    assert data.docs_iter()[2:6][1:][1].doc_id == ids[4]
    with pytest.raises(IndexError):
        data.docs_iter()[len(ids)]


@pytest.mark.usefixtures("ir_datasets")
@pytest.mark.parametrize("name", ["paragraphs", "sentences", "cats"])
def test_queries_and_qrels(small: Collection, folder: Path, name: str) -> None:
    data = load(folder, name)
    queries, qrels = small.queries(name), small.qrels(name).table
    assert [q.query_id for q in data.queries_iter()] == queries["query_id"].to_list()
    assert [q.default_text() for q in data.queries_iter()] == queries["text"].to_list()
    assert [tuple(q)[:3] for q in data.qrels_iter()] == qrels.rows()
    assert (data.queries_count(), data.qrels_count()) == (queries.height, qrels.height)
    assert data.qrels_dict().keys() == set(qrels["query_id"])
    assert set(data.qrels_defs()) == set(qrels["relevance"])
    assert data.metadata()["qrels"]["count"] == qrels.height
    assert data.dataset_id() == f"citebed/my-small-set/{name}"
    assert data.queries.lookup(queries["query_id"][0]).text == queries["text"][0]


def test_the_small_file_registers_the_folder(
    ir_datasets: Any, registry: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "citebed_my_small_set.py"
    spec = importlib.util.spec_from_file_location("citebed_my_small_set", place)
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "citebed/my-small-set/cats" in module.DATASETS
    data = ir_datasets.load("citebed/my-small-set/cats")
    assert [query.query_id for query in data.queries_iter()] == ["q1", "q2"]
    assert ir_datasets.docs_parent_id("citebed/my-small-set/cats") == "citebed/my-small-set"
    assert "citebed/my-small-set" in set(registry)
    assert register(folder) == module.DATASETS


@pytest.mark.usefixtures("registry")
def test_two_folders_of_one_name(small: Collection, folder: Path, tmp_path: Path) -> None:
    export(small, "ir_datasets", tmp_path / "other")
    register(folder)
    with pytest.raises(CitebedError, match="already has 'citebed/my-small-set'"):
        register(tmp_path / "other")


@pytest.mark.usefixtures("ir_datasets")
def test_the_documents_travel_to_other_processes(folder: Path) -> None:
    handler = load(folder).docs_handler()
    handler.docs_store().get("zero")
    assert pickle.loads(pickle.dumps(handler)).docs_store().get("zero").doc_id == "zero"


@pytest.mark.usefixtures("ir_datasets")
def test_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'cats'"):
        load(folder, "cat")
    with pytest.raises(CitebedError, match="not an export for ir_datasets"):
        load(tmp_path)
    (folder / "docs.jsonl").write_text("damaged\n")
    for _ in range(2):  # nothing half built is taken for the documents
        with pytest.raises(ValueError, match="line 1"):
            load(folder).docs_store().get("zero")


def test_a_folder_that_may_not_be_written_to(
    ir_datasets: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(folder.rglob("*"))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert load(folder).docs_store().get("zero").doc_id == "zero"
    assert sorted(folder.rglob("*")) == before
    assert any((ir_datasets.util.home_path() / "citebed").iterdir())


def test_the_package_is_an_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[ir-datasets\]"):
        load(folder)
    with pytest.raises(MissingExtra):
        register(folder)
