"""The encoder as a Python package, ``citebed-encoder``, that pip can install.

A wheel is a zip archive. This one holds the module ``citebed_encoder``, which contains only the
model's folder, and pip's metadata. citebed finds the folder without importing the module.

Run: python bench/encoder_wheel.py FOLDER INTO (``make encoder-wheel`` fetches the encoder first)
"""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import zipfile
from pathlib import Path

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.output_files import write_file
from citebed.retrieval.encoders.model_folder import CARD, check_files
from citebed.retrieval.pipeline import ENCODER_PACKAGE
from citebed.wording import printable

_LICENCES = "Apache-2.0 AND MIT"
"""The licences of citebed and of the public weights."""
_SUMMARY = "The encoder of citebed: a small transformer that was trained on sentences that cite."
_MODULE = f'"""{_SUMMARY} citebed finds the folder ``model`` in this package."""\n'
_WHEEL = "Wheel-Version: 1.0\nGenerator: citebed\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(folder: str | Path, into: str | Path) -> Path:
    """Write the wheel of an encoder's folder, which must match its card; return the wheel's path.

    The same folder always gives the same bytes.
    """
    model = Path(folder)
    card = check_files(model)
    if card is None:
        raise CitebedError(
            f"'{printable(model)}' has no {CARD} with its parts. Expected a folder from 'citebed "
            "fetch encoder'."
        )
    base = card.get("base") or card.get("trained") or {}
    metadata = [
        *("Metadata-Version: 2.4", f"Name: {ENCODER_PACKAGE.replace('_', '-')}"),
        *(f"Version: {__version__}", f"Summary: {_SUMMARY}", "Requires-Python: >=3.11"),
        *(f"License-Expression: {_LICENCES}", "Description-Content-Type: text/plain", ""),
        f"Made of {base.get('name', 'an encoder that was trained')} (SHA-256 {base.get('sha256')})",
        f"and citebed's adapter (SHA-256 {(card.get('adapter') or {}).get('sha256')}), in 8 bits.",
        "citebed finds it if both are installed: citebed index COLLECTION --neural",
    ]
    stem = f"{ENCODER_PACKAGE}-{__version__}"
    files = {f"{ENCODER_PACKAGE}/__init__.py": _MODULE.encode()}
    for name in (CARD, *sorted(card["files"])):
        files[f"{ENCODER_PACKAGE}/model/{name}"] = (model / name).read_bytes()
    files[f"{stem}.dist-info/METADATA"] = ("\n".join(metadata) + "\n").encode()
    files[f"{stem}.dist-info/WHEEL"] = _WHEEL.encode()

    record, rows = f"{stem}.dist-info/RECORD", []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(data)}")
    files[record] = ("\n".join([*rows, f"{record},,"]) + "\n").encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)  # with a fixed date
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
    path = Path(into) / f"{stem}-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, stream.getvalue())
    return path


if __name__ == "__main__":
    print(write_wheel(*sys.argv[1:]))
