"""The card of a model folder: what the model is made of, and the checksums of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.files.reading import file_hash
from citebed.retrieval.encoders.loading.folder import read_json
from citebed.wording import printable

CARD = "citebed.json"
FORMAT = 1


def write_card(folder: Path, about: Mapping[str, Any]) -> None:
    """Write down what a model is, with the SHA-256 of every file in its folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CARD)
    sums = {path.relative_to(folder).as_posix(): file_hash(path) for path in files}
    text = json.dumps({"format": FORMAT, **about, "files": sums}, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", "utf-8")


def read_card(folder: Path) -> dict[str, Any] | None:
    """What a model folder says of itself; ``None`` where it has no card."""
    return read_json(folder / CARD)


def check_files(folder: Path) -> dict[str, Any] | None:
    """The card, after every file that it names was found to be as it was written."""
    card = read_card(folder)
    sums = card.get("files", {}) if card is not None else {}
    if card is not None and (card.get("format") != FORMAT or not isinstance(sums, dict)):
        raise _damaged(folder, f"{CARD} is not a card that this citebed reads")
    for name, expected in sums.items():
        path = folder / name
        leads_out = ".." in path.parts or not path.resolve().is_relative_to(folder.resolve())
        if leads_out or not path.is_file():
            raise _damaged(folder, f"{name} is missing")
        if file_hash(path) != expected:
            raise _damaged(folder, f"{name} is not as it was written")
    return card


def _damaged(folder: Path, what: str) -> CitebedError:
    return CitebedError(
        f"the model in '{printable(folder)}' is damaged: {what}. Get it anew: citebed fetch "
        "encoder; or train it anew."
    )
