"""What a run leaves: a model with its card, which says what it learned from, how, and how well."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from citebed._version import __version__
from citebed.errors import import_extra
from citebed.files.output_files import replace_folder, write_file
from citebed.retrieval.encoders.loading.folder import MODULES, TOKENISER_FILES
from citebed.retrieval.vectors.model_files import Arrays
from citebed.retrieval.vectors.static_model import write_static_model
from citebed.training.prepared import DEVELOPMENT, FOLDS, TEST, TrainingTexts
from citebed.training.settings import in_words
from citebed.training.start import Start
from citebed.wording import json_text

_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors")


def data_facts(texts: TrainingTexts, fold: int) -> dict[str, Any]:
    """What was learned from: how much, of what, with the hash of all of it."""
    parts = ("training", "development", "test")
    return {
        **texts.about,
        "sha256": texts.fingerprint,
        "documents": len(texts.documents),
        "cited": len(texts.cited),
        "contexts": {part: len(texts.part(part, fold)) for part in parts},
        "test_fold": (TEST + fold) % FOLDS,
        "development_fold": (DEVELOPMENT + fold) % FOLDS,
    }


def versions() -> dict[str, str]:
    """What the run was made with."""
    found = {"citebed": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def card_of(
    kind: str, data: Mapping[str, Any], settings: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    """The card; ``run`` is what the run has to tell: device, seconds, losses, figures."""
    return {
        "kind": kind,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "data": dict(data),
        "settings": dict(settings),
        "versions": versions(),
        **run,
    }


def card_text(card: Mapping[str, Any]) -> str:
    """The card as Markdown, for people."""
    data = card["data"]
    lines = [
        f"# {card['kind']} trained on {data.get('collection', 'contexts of citations')}",
        "",
        f"Made {card['made']} by citebed {card['versions']['citebed']} on {card['device']} "
        f"in {in_words(card['seconds'])}, from the seed {card['settings']['seed']}.",
        "",
        *_figures(card),
        "## Data",
        "",
        f"{data['documents']:,} documents, {data['cited']:,} of them cited. Contexts by citing "
        f"paper: {data['contexts']['training']:,} to learn from, "
        f"{data['contexts']['development']:,} for development (fold {data['development_fold']} of "
        f"{FOLDS}), {data['contexts']['test']:,} for the test (fold {data['test_fold']}).",
        "",
        f"SHA-256 of all texts: `{data['sha256']}`",
        "",
        *(f"- {each['file']}: `{each['sha256']}`" for each in data.get("files", ())),
        "",
        *_table("Settings", card["settings"]),
        *_table("Versions", card["versions"]),
    ]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _figures(card: Mapping[str, Any]) -> list[str]:
    before, after = card.get("before") or {}, card.get("after") or {}
    if not after:
        return ["No citing paper is in the fold of the test: nothing was measured.", ""]
    rows = [f"| {name} | {_shown(before.get(name))} | {after[name]:.4f} |" for name in after]
    return [
        "Contexts of papers that were not learned from, looking among all cited documents:",
        "",
        "| | before | after |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _table(title: str, rows: Mapping[str, Any]) -> list[str]:
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return [f"## {title}", "", "| | |", "|---|---|", *lines, ""]


_KEPT = (*TOKENISER_FILES, "special_tokens_map.json")


def write_encoder(
    folder: Path, start: Start, weights: Arrays, card: Mapping[str, Any], half: bool
) -> None:
    """A folder that ``load_encoder`` and sentence-transformers read, whole or not at all."""
    save = import_extra("train", "safetensors.numpy").save_file
    kind = np.float16 if half else np.float32
    with replace_folder(folder) as draft:
        # In another order of memory than rows first, arrays would be written scrambled.
        arrays = {name: np.ascontiguousarray(each, kind) for name, each in weights.items()}
        save(arrays, draft / "model.safetensors")
        for name in _KEPT:
            if (start.folder.path / name).is_file():
                shutil.copyfile(start.folder.path / name, draft / name)
        _json(draft / "config.json", start.folder.config)
        _json(draft / "modules.json", MODULES)
        pooling = {"word_embedding_dimension": start.shape.hidden, "pooling_mode_mean_tokens": True}
        _json(draft / "1_Pooling" / "config.json", pooling)
        _json(draft / "card.json", card)
        (draft / "README.md").write_text(card_text(card), "utf-8")


def _json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json_text(value, indent=2) + "\n", "utf-8")


def write_static(
    path: Path,
    words: Sequence[str],
    pieces: Sequence[str],
    weights: Arrays,
    card: Mapping[str, Any],
) -> None:
    """Word vectors as a file, and their card beside it."""
    about = {"card": card}
    write_static_model(path, words, weights["vectors"], weights["query"], about, pieces)
    bare = path.with_suffix("")
    write_file(bare.with_name(f"{bare.name}.card.json"), json_text(card, indent=2) + "\n")
    write_file(bare.with_name(f"{bare.name}.card.md"), card_text(card))
