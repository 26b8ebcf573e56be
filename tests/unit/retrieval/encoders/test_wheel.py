"""The encoder as a package: built, installed by pip, found before what was fetched."""

from __future__ import annotations

import logging
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.encoders.conftest import TEXTS, TinyPublic

from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.retrieval.encoders import dense_encoder as encoders
from citebed.retrieval.encoders import fetch
from citebed.retrieval.encoders.dense_encoder import (
    find_encoder,
    load_dense_encoder,
    load_encoder_for_index,
)
from citebed.retrieval.encoders.fetch import fetch_encoder
from citebed.retrieval.encoders.model_folder import find_model
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.vectors.trained_weights import read_adapter

SCRIPT = Path(__file__).parents[4] / "bench/encoder_wheel.py"
write_wheel = runpy.run_path(str(SCRIPT))["write_wheel"]
BIB = """@article{a, title={The test of a query}, abstract={A paper cites the graph.}}
@article{b, title={Retrieval of papers}, abstract={The document of a query.}}
"""


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    encoders._load_once.cache_clear()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, made: TinyPublic, _tiny_for_all: None) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    model = fetch_encoder(
        folder / "model", source=made.archive, adapter=made.adapter, student=made.student
    ).folder
    return write_wheel(model, folder / "dist")


@pytest.fixture(scope="session")
def _tiny_for_all(made: TinyPublic) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "GTE_SMALL", made.known)
        yield


@pytest.fixture(scope="session")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip unpacked the wheel; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("site") / "site"
    words = [*("install", "--quiet", "--no-deps", "--no-index"), "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *words, str(wheel)], check=True)
    return folder


@pytest.fixture
def installed(
    site: Path, tiny: TinyPublic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The model's folder in the package, on Python's path."""
    del tiny
    shutil.copytree(site, tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site" / "citebed_encoder" / "model"


def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        about = packed.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {"citebed_encoder/__init__.py", "citebed_encoder/model/citebed.json"} <= set(names)
    assert names[-1].endswith(".dist-info/RECORD")
    assert not any(name.endswith(".py") for name in names[1:]), "it is data"
    assert "Name: citebed-encoder\n" in about
    assert "gte-small" in about


def test_the_same_folder_makes_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = write_wheel(wheel.parents[1] / "model", tmp_path)
    assert (again.name, again.read_bytes()) == (wheel.name, wheel.read_bytes())


def test_a_foreign_encoder_makes_none(wheel: Path, tmp_path: Path) -> None:
    shutil.copytree(wheel.parents[1] / "model", tmp_path / "model")
    (tmp_path / "model" / "model.onnx").write_bytes(b"x")
    with pytest.raises(CitebedError, match=r"model\.onnx was changed"):
        write_wheel(tmp_path / "model", tmp_path / "dist")
    (tmp_path / "model" / "citebed.json").unlink()
    with pytest.raises(CitebedError, match=r"has no citebed\.json"):
        write_wheel(tmp_path / "model", tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_from_pip_to_an_answer(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is fetched, configured or written where fetched encoders are."""
    (tmp_path / "a.bib").write_text(BIB, "utf-8")
    collection = str(tmp_path / "c")
    assert main(["import", collection, str(tmp_path / "a.bib")]) == 0
    assert main(["index", collection, "--neural"]) == 0
    vectors = open_index(tmp_path / "c").vectors("encoder")
    assert vectors is not None
    assert (vectors.name, vectors.fingerprint) == ("encoder", load_dense_encoder().fingerprint)
    capsys.readouterr()
    assert main(["recommend", collection, "retrieval of papers", "--min-probability", "0"]) == 0
    out, err = capsys.readouterr()
    assert "Retrieval of papers" in out
    assert "only word vectors" not in err
    assert find_encoder() == installed
    assert not (tmp_path / "data" / "citebed" / "models").exists()


def test_fetching_says_that_it_is_there(
    installed: Path, tiny: TinyPublic, caplog: pytest.LogCaptureFixture
) -> None:
    found = fetch_encoder(adapter=tiny.adapter, student=tiny.student)
    assert (found.state, found.folder) == ("installed", installed)
    assert found.fingerprint == load_dense_encoder().fingerprint
    assert not caplog.records


def test_it_goes_before_what_was_fetched(
    installed: Path, tiny: TinyPublic, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        fetched = fetch_encoder(source=tiny.archive, adapter=tiny.adapter, student=tiny.student)
    assert "prefers it to the fetched one" in caplog.text
    assert find_model("gte") == find_encoder() == installed
    assert find_model(fetched.folder) == fetched.folder


def test_one_of_another_version_is_reported(
    installed: Path,
    tiny: TinyPublic,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    del installed
    other = replace(read_adapter(tiny.adapter), scale=0.25)
    monkeypatch.setattr(fetch, "read_adapter", lambda _: other)
    found = fetch_encoder(mirror=f"file://{tiny.folder}", student=None)
    assert found.state == "fetched"
    assert "citebed-encoder" in caplog.text


def test_an_index_of_the_fetched_one_is_still_asked(
    wheel: Path, installed: Path, tiny: TinyPublic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors were made before the package came, which has another encoder."""
    del wheel
    other = replace(read_adapter(tiny.adapter), scale=0.25)
    monkeypatch.setattr(fetch, "read_adapter", lambda _: other)
    before = fetch_encoder(source=tiny.archive, student=None)
    (tmp_path / "a.bib").write_text(BIB, "utf-8")
    assert main(["import", str(tmp_path / "c"), str(tmp_path / "a.bib")]) == 0
    write_index(tmp_path / "c", IndexOptions(neural=load_dense_encoder(before.folder)))
    vectors = open_index(tmp_path / "c").vectors("encoder")
    assert vectors is not None
    assert find_encoder() == installed
    assert load_encoder_for_index(vectors).fingerprint == before.fingerprint


def test_a_damaged_package_is_refused_and_says_how_to_get_it(installed: Path) -> None:
    assert load_dense_encoder().queries(TEXTS).dtype == np.float32
    (installed / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(CitebedError, match=r"pip install --force-reinstall citebed-encoder"):
        load_dense_encoder()
