"""What a run leaves: an encoder as a model's folder, with its card."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import import_extra
from citebed.files.writing import whole_folder, write_whole
from citebed.retrieval.dense.static_model import write_static_model
from citebed.retrieval.encoders.loading.folder import TOKENISER_FILES
from citebed.training.card import card_text
from citebed.training.start import Start
from citebed.wording import json_text

Arrays = Mapping[str, NDArray[Any]]
_KEPT = (*TOKENISER_FILES, "special_tokens_map.json")
_MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {
        "idx": 2,
        "name": "2",
        "path": "2_Normalize",
        "type": "sentence_transformers.models.Normalize",
    },
]


def write_encoder(
    folder: Path, start: Start, weights: Arrays, card: Mapping[str, Any], half: bool
) -> None:
    """A folder that ``load_encoder`` and sentence-transformers read, whole or not at all."""
    save = import_extra("train", "safetensors.numpy").save_file
    kind = np.float16 if half else np.float32
    with whole_folder(folder) as draft:
        save(
            {name: each.astype(kind) for name, each in weights.items()}, draft / "model.safetensors"
        )
        for name in _KEPT:
            if (start.folder.path / name).is_file():
                shutil.copyfile(start.folder.path / name, draft / name)
        _json(draft / "config.json", start.folder.config)
        _json(draft / "modules.json", _MODULES)
        pooling = {"word_embedding_dimension": start.shape.hidden, "pooling_mode_mean_tokens": True}
        _json(draft / "1_Pooling" / "config.json", pooling)
        _json(draft / "card.json", card)
        (draft / "README.md").write_text(card_text(card), "utf-8")


def _json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json_text(value, indent=2) + "\n", "utf-8")


def write_static(
    path: Path, words: Sequence[str], weights: Arrays, card: Mapping[str, Any]
) -> None:
    """Word vectors as a file, and their card beside it."""
    write_static_model(path, words, weights["vectors"], weights["query"], {"card": card})
    bare = path.with_suffix("")
    write_whole(bare.with_name(f"{bare.name}.card.json"), json_text(card, indent=2) + "\n")
    write_whole(bare.with_name(f"{bare.name}.card.md"), card_text(card))
