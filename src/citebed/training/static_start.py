"""What word vectors start from: a teacher's vectors of the words, another model's, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.reading import file_hash
from citebed.retrieval.dense.model_files import read_model
from citebed.retrieval.dense.static_model import KIND, SHIPPED, StaticModel
from citebed.training.encoding import Encoder
from citebed.training.settings import EncoderSettings
from citebed.training.start import read_start
from citebed.training.static import StaticTask, WordVectors

Vectors = NDArray[np.float32]
_PART = 0.2
_SAMPLE = 20_000
_WORD_TOKENS = 16


@dataclass(frozen=True)
class Begun:
    """How word vectors begin: the facts of it, and the teacher's vectors of texts and documents."""

    facts: dict[str, Any]
    teacher: tuple[Any, Any] | None = None


def begin(
    task: StaticTask,
    teacher: str | Path | None,
    start: str | Path | None,
    told: Callable[[str], None],
) -> Begun:
    """Give a task its first vectors, and the teacher's of everything that it is shown."""
    settings, rarity = task.settings, task.rarity()
    query = np.eye(settings.width, dtype=np.float32)
    if teacher is not None:
        vectors, begun = _taught(task, Path(teacher), rarity, told)
    elif start == "":
        vectors = from_nothing(len(task.words), rarity, settings.width, settings.seed)
        begun = Begun({"start": "nothing"})
    else:
        path = Path(start) if start is not None else SHIPPED
        vectors, query = from_model(path, task.words, rarity, settings.width, settings.seed)
        begun = Begun({"start": {"name": path.name, "sha256": file_hash(path)}})
    task.model = WordVectors(vectors, query, task.device)
    return begun


def _taught(
    task: StaticTask, folder: Path, rarity: Vectors, told: Callable[[str], None]
) -> tuple[Vectors, Begun]:
    begun = read_start(folder)
    encoder = Encoder(begun, task.texts, EncoderSettings(fold=task.settings.fold), task.device)
    told(f"the teacher reads {len(task.table.queries) + len(task.texts.documents):,} texts")
    documents = encoder.document_vectors(range(len(task.texts.documents)))
    queries = encoder.vectors(task.table.queries, encoder.settings.text_tokens)
    words = encoder.vectors(task.words, _WORD_TOKENS).cpu().numpy()
    vectors = from_teacher(words, documents.cpu().numpy(), rarity, task.settings.width)
    facts = {"teacher": {"name": folder.name, "sha256": begun.fingerprint}}
    return vectors, Begun(facts, (queries, documents))


def from_teacher(words: Vectors, documents: Vectors, rarity: Vectors, width: int) -> Vectors:
    """A teacher's vectors of words along the main directions of its documents, by rarity."""
    rng = np.random.default_rng(0)
    some = documents[rng.permutation(len(documents))[:_SAMPLE]]
    centred = some - documents.mean(0)
    _, turned = np.linalg.eigh(centred.T @ centred)
    main = turned[:, ::-1][:, :width]
    found = (words - words.mean(0)) @ main
    if found.shape[1] < width:  # a teacher that is narrower
        found = np.pad(found, ((0, 0), (0, width - found.shape[1])))
    return np.asarray(found * rarity[:, None] * _PART, np.float32)


def from_nothing(words: int, rarity: Vectors, width: int, seed: int) -> Vectors:
    """Random vectors, the longer the rarer the word."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((words, width)) / np.sqrt(width)
    return np.asarray(drawn * rarity[:, None] * _PART, np.float32)


def from_model(
    path: Path, words: Sequence[str], rarity: Vectors, width: int, seed: int
) -> tuple[Vectors, Vectors]:
    """The vectors and the matrix of another model; words that it does not know are random."""
    file = read_model(path, KIND)
    known = StaticModel(file).words
    vectors = file.arrays["vectors"] * file.arrays["scales"].astype(np.float32)[:, None]
    query = file.arrays["query"].astype(np.float32)
    if vectors.shape[1] != width:
        raise CitebedError(
            f"the model to start from has {vectors.shape[1]} numbers a word, not {width}. "
            f"Give --width {vectors.shape[1]}, or no model."
        )
    found = from_nothing(len(words), rarity, width, seed)
    rows = {word: row for row, word in enumerate(known)}
    for place, word in enumerate(words):
        if word in rows:
            found[place] = vectors[rows[word]]
    return found, query
