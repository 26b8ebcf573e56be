"""Getting the encoder: public weights, joined with what training on citations changed in them."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from citebed._version import __version__
from citebed.collection.fetching.download import Expected, downloaded
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError, import_extra
from citebed.files.environment import check_online
from citebed.files.input_files import hash_file, read_small
from citebed.files.output_files import replace_folder
from citebed.retrieval.encoders.encoder import load_dense_encoder
from citebed.retrieval.encoders.fetching.joining import (
    QUANTISED,
    QUANTISED_WEIGHTS,
    onnx_weights,
    write_quantised,
)
from citebed.retrieval.encoders.fetching.public_weights import (
    GTE_SMALL,
    WEIGHTS,
    archive_url,
    read_public,
)
from citebed.retrieval.encoders.loading.architectures import Shape, shape_of
from citebed.retrieval.encoders.loading.folder import (
    CARD,
    DOCUMENT_WEIGHTS,
    MODULES,
    TOKENISER_FILES,
    ModelFolder,
    Pooling,
    blaming,
    check_files,
    fingerprint,
    most_tokens,
    open_folder,
    pooling_of,
    read_json,
    write_card,
)
from citebed.retrieval.encoders.loading.names import encoder_folder, packaged_encoder
from citebed.retrieval.encoders.loading.onnx_runtime import read_weights
from citebed.retrieval.vectors.trained_weights import (
    SHIPPED_ADAPTER,
    SHIPPED_STUDENT,
    Adapter,
    Student,
    count_layers,
    read_adapter,
    read_student,
)
from citebed.wording import printable

_LOG = logging.getLogger("citebed")
_MAX_TOKENS, _FEWEST_TOKENS = 256, 16
_DOCUMENT_TOKENS, _OF_STUDENT = 192, 224
"""Of a document: of the whole encoder, and of its student, which loses more by what it does not
read. The fewest are about a title."""


@dataclass(frozen=True)
class FetchedEncoder:
    """The encoder's folder, what became of it (``fetched``, ``kept``, or ``installed`` as a package
    before), and its fingerprint."""

    folder: Path
    state: str
    bytes: int
    fingerprint: str


class _Parts(NamedTuple):
    """What a model folder is made of."""

    config: Mapping[str, Any]
    shape: Shape
    weights: Mapping[str, Any]
    tokeniser: Mapping[str, bytes]
    documents: Mapping[str, Any] = {}  # weights of the network that reads documents, if another
    pooling: Pooling = Pooling()
    max_tokens: int = _MAX_TOKENS
    document_tokens: int = _DOCUMENT_TOKENS


def fetch_encoder(  # noqa: PLR0913 - each is one that a notebook user looks for
    folder: str | Path | None = None,
    *,
    source: str | Path | None = None,
    mirror: str | None = None,
    adapter: Path = SHIPPED_ADAPTER,
    student: Path | None = SHIPPED_STUDENT,
    document_tokens: int | None = None,
    progress: Progress = SILENT,
) -> FetchedEncoder:
    """Put the encoder into a folder, by default where citebed looks for it.

    It is made of public weights and an ``adapter``: twelve layers, which read queries. Documents
    are read by a ``student`` of four, in a third of the time; ``None`` is for documents that are
    read by all twelve.

    ``source``: the package of the public weights as a file, or the folder of an encoder that
    ``citebed train encoder`` made; then nothing is downloaded. ``mirror``: an address under which
    the package lies. An encoder that is there, whole and of the same parts is kept; where the
    package ``citebed-encoder`` brings it, nothing is fetched. A folder is put in place whole or not
    at all; what has arrived of a download waits for the next try. Of a document
    it reads the first ``document_tokens``: fewer take less time.
    """
    tokens = document_tokens or (_DOCUMENT_TOKENS if student is None else _OF_STUDENT)
    _check(source, tokens)
    target = encoder_folder() if folder is None else Path(folder)
    _refuse_other(target)
    learned = _Learned(read_adapter(adapter), None if student is None else read_student(student))
    about = {**learned.about(), "document_tokens": tokens}
    installed = packaged_encoder() if folder is None else None
    if installed is not None and source is None and _is_there(installed, about):
        return _report(installed, "installed")
    if installed is not None:
        _LOG.warning("note: %s", _hidden_by(installed))
    if source is not None and Path(source).is_dir():
        return _install(Path(source), target, document_tokens or _DOCUMENT_TOKENS, progress)
    if _is_there(target, about):
        return _report(target, "kept")
    with _package(source, target.parent, mirror, progress) as path:
        progress.step("joining", 0)
        parts = _joined(read_public(path, GTE_SMALL), learned)
        _write_folder(target, parts._replace(document_tokens=tokens), about)
    return _report(target, "fetched")


def _check(source: str | Path | None, document_tokens: int) -> None:
    """Say early what cannot be."""
    if not _FEWEST_TOKENS <= document_tokens <= _MAX_TOKENS:
        raise CitebedError(
            f"{document_tokens} tokens of a document; expected {_FEWEST_TOKENS} to {_MAX_TOKENS}"
        )
    if source is not None and not Path(source).exists():
        raise CitebedError(
            f"no such file or folder: {printable(source)}. Expected the package "
            f"{GTE_SMALL.archive.path}, or the folder of an encoder that was trained."
        )
    for package in ("onnx", "onnxruntime", "tokenizers"):
        import_extra("neural", package)


def _hidden_by(installed: Path) -> str:
    return (
        f"the package citebed-encoder in '{printable(installed.parent)}' has another encoder, and "
        "goes before what is fetched. Uninstall it, or install the one of this citebed"
    )


def _refuse_other(target: Path) -> None:
    """What is at the place is replaced only if it is a model of ours, or nothing."""
    is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    if not is_free and not (target / CARD).is_file():
        raise CitebedError(f"'{printable(target)}' is not an encoder's folder. Name another one.")


def _is_there(target: Path, about: Mapping[str, Any]) -> bool:
    """Whether the encoder of these parts is in the folder, whole."""
    try:
        card = check_files(target)
    except CitebedError:
        return False
    return card is not None and all(card.get(name) == value for name, value in about.items())


def _report(target: Path, state: str) -> FetchedEncoder:
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return FetchedEncoder(target, state, size, load_dense_encoder(target).fingerprint)


# --- public weights and an adapter ----------------------------------------------------------


@contextmanager
def _package(
    source: str | Path | None, beside: Path, mirror: str | None, progress: Progress
) -> Iterator[Path]:
    """The package of the public weights: a file that was given, or a download.

    The download goes when the encoder is made of it; till then it waits for the next try.
    """
    if source is not None:
        yield Path(source)
        return
    archive = GTE_SMALL.archive
    path = beside / archive.path
    if not path.is_file() or hash_file(path) != archive.sha256:
        _download(archive_url(GTE_SMALL, mirror), path, progress)
    yield path
    path.unlink(missing_ok=True)


def _download(url: str, path: Path, progress: Progress) -> None:
    archive = GTE_SMALL.archive
    if not url.lower().startswith("file:"):
        instead = f"Get it on another machine, and give the file here: --from {archive.path}"
        check_online(f"the encoder's public weights are to be fetched from {url}", instead)
    size = f"{(archive.bytes or 0) / 1e6:.0f} MB"
    _LOG.warning("note: fetching %s, %s, from %s", GTE_SMALL.title, size, url)
    with downloaded(url, path, Expected(archive.sha256 or "", "citebed", archive.bytes), progress):
        pass


class _Learned(NamedTuple):
    """What training made of the public weights; without a student, they and the adapter are all."""

    adapter: Adapter
    student: Student | None

    def about(self) -> dict[str, Any]:
        """What a card says of it."""
        adapter, student = self
        base = {"name": GTE_SMALL.title, "licence": GTE_SMALL.licence, "sha256": adapter.base}
        return {
            "base": base,
            "adapter": {"sha256": adapter.fingerprint, "scale": adapter.scale},
            "student": student and {"sha256": student.fingerprint, **_told(student.about)},
            "weights": QUANTISED_WEIGHTS,
            "training": _told(adapter.about),
        }

    def check(self, base: str) -> None:
        """Refuse what was not learned from these weights."""
        adapter, student = self
        if adapter.base != base:
            raise CitebedError(
                f"the adapter {printable(adapter.file.path)} belongs to weights with SHA-256 "
                f"{adapter.base}, the public ones have {base}. Get an adapter and a citebed of the "
                "same version."
            )
        if student is not None and student.adapter != adapter.fingerprint:
            raise CitebedError(
                f"the student {printable(student.file.path)} belongs to an adapter with SHA-256 "
                f"{student.adapter}, this one has {adapter.fingerprint}. Get both of one citebed."
            )


def _told(about: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in about.items() if k not in ("kind", "format")}


def _joined(files: Mapping[str, bytes], learned: _Learned) -> _Parts:
    """Public files and what was learned, joined."""
    learned.check(GTE_SMALL.files[WEIGHTS].sha256 or "")
    config = json.loads(files["config.json"])
    weights = learned.adapter.apply(onnx_weights(files[WEIGHTS]))
    few = {} if learned.student is None else learned.student.apply(weights)
    tokeniser = {name: data for name, data in files.items() if name in TOKENISER_FILES}
    return _Parts(config, shape_of(config), weights, tokeniser, few)


# --- an encoder that was trained ------------------------------------------------------------


def _install(
    source: Path, target: Path, document_tokens: int, progress: Progress
) -> FetchedEncoder:
    """An encoder's folder, brought to 8 bits; one that is in 8 bits already is copied."""
    card = check_files(source)
    folder = open_folder(source)
    with blaming(folder):
        about = {
            "trained": {"sha256": fingerprint(folder)},
            "weights": QUANTISED_WEIGHTS,
            "document_tokens": document_tokens,
            "training": read_json(source / "card.json") or {},
        }
        if card is not None and folder.is_quantised:
            about = {name: value for name, value in card.items() if name != "files"}
        if _is_there(target, about):
            return _report(target, "kept")
        progress.step("joining", 0)
        if folder.weights.suffix == ".onnx":
            _copy(source, target, card)
        else:
            parts = _trained(folder)._replace(document_tokens=document_tokens)
            _write_folder(target, parts, about)
    return _report(target, "fetched")


def _copy(source: Path, target: Path, card: Mapping[str, Any] | None) -> None:
    if card is None:
        raise CitebedError(
            f"the folder '{printable(source)}' has an .onnx file and no {CARD} that says what it "
            "is. Use it where it is: citebed index COLLECTION --neural FOLDER"
        )
    with replace_folder(target) as made:
        for name in (*card["files"], CARD):
            (made / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / name, made / name)


def _trained(folder: ModelFolder) -> _Parts:
    shape, weights = read_weights(folder)
    there = [name for name in TOKENISER_FILES if (folder.path / name).is_file()]
    tokeniser = {name: read_small(folder.path / name) for name in there}
    tokens = min(most_tokens(folder, None), _MAX_TOKENS)
    pooling = pooling_of(folder, None)
    return _Parts(folder.config, shape, weights, tokeniser, pooling=pooling, max_tokens=tokens)


# --- the folder -----------------------------------------------------------------------------


def _write_folder(target: Path, parts: _Parts, about: Mapping[str, Any]) -> None:
    """A model folder, whole or not at all; one that cannot be run is not put in place."""
    settings = {
        "config.json": {**parts.config, "quantised": QUANTISED},
        "sentence_bert_config.json": {
            "max_seq_length": parts.max_tokens,
            "document_tokens": min(parts.max_tokens, parts.document_tokens),
            "do_lower_case": False,
        },
        "modules.json": MODULES,
        "1_Pooling/config.json": {"pooling_mode": parts.pooling.kind},
    }
    with replace_folder(target) as made:
        (made / "1_Pooling").mkdir()
        for name, value in settings.items():
            (made / name).write_text(json.dumps(value, indent=1) + "\n", "utf-8")
        for name, data in parts.tokeniser.items():
            (made / name).write_bytes(data)
        write_quantised(made / WEIGHTS, parts.shape, parts.weights)
        if parts.documents:
            layers = count_layers(parts.documents)
            shape = replace(parts.shape, layers=layers)
            write_quantised(made / DOCUMENT_WEIGHTS, shape, parts.documents)
        write_card(made, {**about, "citebed": __version__})
        encoder = load_dense_encoder(made)
        encoder.queries(["a text that cites"])
        encoder.documents(["a text that is cited"])
