"""The encoder as a package of its own, so that it can be published and installed by pip.

A wheel is a zip archive: the module ``citebed_encoder`` with nothing but the model's folder in it,
and what pip wants to know. citebed finds the folder without importing the module.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.output_files import write_file
from citebed.retrieval.encoders.loading.folder import CARD, check_files
from citebed.retrieval.pipeline import ENCODER_PACKAGE
from citebed.wording import printable

_LICENCES = "Apache-2.0 AND MIT"
"""Ours, and that of the public weights."""
_SUMMARY = "The encoder of citebed: a small transformer that was trained on sentences that cite."
_MODULE = f'"""{_SUMMARY} citebed finds the folder ``model`` in this package."""\n'
_MADE_HOW = "Wheel-Version: 1.0\nGenerator: citebed\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(folder: str | Path, into: str | Path) -> Path:
    """The wheel of an encoder's folder, which must be as its card says; returns the wheel's path.

    The same folder always makes the same bytes.
    """
    model = Path(folder)
    card = check_files(model)
    if card is None:
        raise CitebedError(
            f"'{printable(model)}' has no {CARD} that says what it is. Expected a folder that "
            "'citebed fetch encoder' made."
        )
    inside = {f"{ENCODER_PACKAGE}/__init__.py": _MODULE.encode()}
    for name in (CARD, *sorted(card["files"])):
        inside[f"{ENCODER_PACKAGE}/model/{name}"] = (model / name).read_bytes()
    stem = f"{ENCODER_PACKAGE}-{__version__}"
    about = {"METADATA": _metadata(card), "WHEEL": _MADE_HOW}
    inside |= {f"{stem}.dist-info/{name}": text.encode() for name, text in about.items()}
    path = Path(into) / f"{stem}-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, _archive(inside, f"{stem}.dist-info/RECORD"))
    return path


def _metadata(card: Mapping[str, Any]) -> str:
    """What pip and people are told: of what the encoder was made, and how to use it."""
    base = card.get("base") or card.get("trained") or {}
    lines = [
        *("Metadata-Version: 2.4", f"Name: {ENCODER_PACKAGE.replace('_', '-')}"),
        *(f"Version: {__version__}", f"Summary: {_SUMMARY}", "Requires-Python: >=3.11"),
        *(f"License-Expression: {_LICENCES}", "Description-Content-Type: text/plain", ""),
        f"Made of {base.get('name', 'an encoder that was trained')} (SHA-256 {base.get('sha256')})",
        f"and citebed's adapter (SHA-256 {(card.get('adapter') or {}).get('sha256')}), in 8 bits.",
        "Installed beside citebed it is found by itself: citebed index COLLECTION --neural",
    ]
    return "\n".join(lines) + "\n"


def _archive(inside: Mapping[str, bytes], record: str) -> bytes:
    """The files and their hashes, which stand in the last of them."""
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in inside.items()]
    listed = "\n".join([*rows, f"{record},,"]) + "\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, data in {**inside, record: listed.encode()}.items():
            member = zipfile.ZipInfo(name)  # of a fixed date
            member.external_attr = 0o644 << 16
            packed.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
    return stream.getvalue()


def _digest(data: bytes) -> str:
    """A hash as wheels write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
