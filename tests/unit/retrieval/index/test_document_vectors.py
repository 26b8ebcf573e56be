"""Vectors in an index: made once, taken over, told where they are missing or of another model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import (
    arrays_of,
    assert_same_arrays,
    build,
    write_collection,
)
from tests.unit.retrieval.vectors.models import write_small

from citebed.collection.progress import Progress
from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.index import document_vectors
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import DamagedIndex
from citebed.retrieval.vectors import static_model
from citebed.retrieval.vectors.static_model import shipped_model
from citebed.retrieval.vectors.vectors import quantise, unit_rows

OAK = {"doc_id": "b", "title": "Oak", "abstract": "Leaves of trees.", "keywords": ["wood", "sea"]}
SEA = {"doc_id": "a", "title": "The sea"}
NONE = {"doc_id": "c"}
PINE = {"doc_id": "ab", "title": "Pine trees"}
DOCUMENTS = (OAK, SEA, NONE)


@dataclass
class Encoder:
    """Stands for a slow model; remembers what it was asked."""

    fingerprint: str = "e1"
    name: str = "encoder"
    width: int = 3
    asked: list[str] = field(default_factory=list)

    def documents(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> np.ndarray:
        self.asked += texts
        for done in range(1, len(texts) + 1):
            if progress is not None:
                progress(done, len(texts))
        return self.queries(texts)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        found = np.array([[len(t), t.count("e"), 1] if t else [0, 0, 0] for t in texts], np.float32)
        return unit_rows(found.reshape(len(texts), self.width))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "c", DOCUMENTS)


def rows_of(index: Index, kind: str) -> dict[str, list[float]]:
    found = index.vectors(kind)
    assert found is not None
    return {name: found.decode(np.array([n]))[0].tolist() for n, name in enumerate(index.ids)}


def test_an_index_has_the_vectors_of_its_documents(folder: Path) -> None:
    report = build(folder)
    index, model = open_index(folder, verified=True), shipped_model()
    found = index.vectors_of(model, "static")
    texts = ["The sea", "Oak. Leaves of trees. wood, sea", ""]
    expected = quantise(model.documents(texts))
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.scales, expected.scales)
    assert (found.fingerprint, found.name, found.width) == (model.fingerprint, "static", 256)
    assert index.vectors("encoder") is None
    assert (report.embedded, report.encoded, report.not_encoded) == (3, 0, 0)
    files = index.description.files
    ours = ("vectors.static", "vectors.static.scales")
    assert report.vector_bytes == sum(files[name]["bytes"] for name in ours)
    assert found.score(model.queries(["trees in the sea"]))[0, 2] == 0
    assert found is index.vectors("static")


def test_only_what_changed_is_embedded_again(folder: Path) -> None:
    encoder = Encoder()
    assert build(folder, neural=encoder).encoded == 3
    assert build(folder, neural=encoder).unchanged
    encoder.asked.clear()
    write_collection(folder, (PINE, {**OAK, "title": "Oaks"}, SEA))
    report = build(folder, neural=encoder)
    assert sorted(encoder.asked) == ["Oaks. Leaves of trees. wood, sea", "Pine trees"]
    assert (report.embedded, report.encoded, report.counted) == (2, 2, 2)
    some = arrays_of(folder)
    build(folder, neural=encoder, rebuild=True)
    assert len(encoder.asked) == 5
    assert_same_arrays(some, arrays_of(folder))


def test_another_model_makes_all_again_and_counts_nothing(folder: Path, tmp_path: Path) -> None:
    build(folder, neural=Encoder())
    small = write_small(tmp_path / "small.npz")
    with pytest.raises(
        CollectionError, match=r"come from another static model \('static'\)\. .*index"
    ):
        open_index(folder).vectors_of(small, "static")
    report = build(folder, neural=Encoder("e2"), static=small)
    assert (report.counted, report.embedded, report.encoded) == (0, 3, 3)
    index = open_index(folder, verified=True)
    assert index.vectors_of(small, "static").width == small.width
    assert index.vectors_of(Encoder("e2"), "encoder").fingerprint == "e2"


def without_vectors(folder: Path) -> None:
    """Make the index one of the first versions."""
    path = folder / "index" / "index.json"
    values = json.loads(path.read_text())
    del values["vectors"]
    for name in [name for name in values["files"] if name.startswith("vectors.")]:
        (folder / "index" / values["files"].pop(name)["file"]).unlink()
    path.write_text(json.dumps(values))


def test_an_index_of_the_first_versions_is_read_and_brought_up_to_date(folder: Path) -> None:
    build(folder)
    arrays = arrays_of(folder)
    without_vectors(folder)
    index = open_index(folder, verified=True)
    assert list(index.ids) == ["a", "b", "c"]
    assert index.vectors("static") is None
    with pytest.raises(CollectionError, match=r"no vectors of the static model yet.*citebed index"):
        index.vectors_of(shipped_model(), "static")
    report = build(folder)
    assert (report.unchanged, report.counted, report.embedded) == (False, 0, 3)
    assert_same_arrays(arrays, arrays_of(folder))


# --- an encoder that is not always available ---


def test_vectors_of_an_encoder_stay_as_long_as_they_fit(folder: Path) -> None:
    build(folder, neural=Encoder())
    rows = rows_of(open_index(folder), "encoder")
    for options in ({}, {"analyser": "none"}, {"rebuild": True}):
        report = build(folder, **options)
        assert (report.encoded, report.not_encoded) == (0, 0)
        assert rows_of(open_index(folder, verified=True), "encoder") == rows
    write_collection(folder, (OAK, SEA))
    assert build(folder).not_encoded == 0
    del rows["c"]
    assert rows_of(open_index(folder), "encoder") == rows


def test_those_that_are_missing_are_reported_and_made_when_the_encoder_is_there(
    folder: Path,
) -> None:
    build(folder, neural=Encoder())
    write_collection(folder, (PINE, *DOCUMENTS))
    report = build(folder)
    assert (report.embedded, report.encoded, report.not_encoded) == (1, 0, 1)
    index = open_index(folder, verified=True)
    assert index.vectors("encoder") is None
    with pytest.raises(CollectionError, match=r"lacks the encoder model's .* index .* --neural"):
        index.vectors_of(Encoder(), "encoder")
    assert build(folder).unchanged
    encoder = Encoder()
    assert build(folder, neural=encoder).encoded == 2  # and that of an empty text
    assert sorted(encoder.asked) == ["", "Pine trees"]
    some = arrays_of(folder)
    build(folder, neural=Encoder(), rebuild=True)
    assert_same_arrays(some, arrays_of(folder))


def test_nothing_is_kept_of_an_encoder_that_knew_none_of_the_documents(folder: Path) -> None:
    build(folder, neural=Encoder())
    write_collection(folder, (PINE,))
    assert build(folder).not_encoded == 0
    assert set(open_index(folder).description.vectors) == {"static"}


@pytest.mark.parametrize(
    "made", [np.zeros((2, 3)), np.zeros((3, 4)), *(np.full((3, 3), n) for n in (np.nan, np.inf, 2))]
)
def test_a_model_that_makes_nonsense_leaves_the_old_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, made: np.ndarray
) -> None:
    build(folder)
    before = arrays_of(folder)
    monkeypatch.setattr(Encoder, "documents", lambda *_: made.astype(np.float32))
    with pytest.raises(CitebedError, match="'encoder' made vectors of"):
        build(folder, neural=Encoder())
    assert_same_arrays(before, arrays_of(folder))


# --- many documents ---


def many(folder: Path, count: int) -> Path:
    rows = [
        {"doc_id": f"d{n * 7919 % count:04}", "title": f"tree {n % 91} of the sea" * (n % 3)}
        for n in range(count)
    ]
    return write_collection(folder, rows)


def test_threads_and_compiled_code_make_the_same_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = many(tmp_path / "c", 1000)
    build(folder)
    plain = arrays_of(folder)
    monkeypatch.setattr(document_vectors, "_STATIC_BATCH", 70)
    monkeypatch.setattr(static_model, "MANY", 1)
    for workers in (1, 3):
        build(folder, workers=workers, rebuild=True)
        assert_same_arrays(plain, arrays_of(folder))


def test_progress_hears_of_every_vector_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_vectors, "_STATIC_BATCH", 10)
    folder = many(tmp_path / "c", 45)
    steps: list[list[object]] = []
    progress = Progress(
        lambda name, total: steps.append([name, total, 0]),
        lambda done: steps[-1].__setitem__(2, steps[-1][2] + done),
    )
    write_index(folder, IndexOptions(workers=2, neural=Encoder()), progress)
    assert ["making vectors (static)", 45, 45] in steps
    assert ["making vectors (encoder)", 45, 45] in steps


# --- damage ---


def test_an_index_that_names_vectors_which_it_has_not(folder: Path) -> None:
    build(folder)
    path = folder / "index" / "index.json"
    values = json.loads(path.read_text())
    values["vectors"]["encoder"] = values["vectors"]["static"]
    path.write_text(json.dumps(values))
    with pytest.raises(DamagedIndex, match=r"lacks 'vectors\.encoder'"):
        open_index(folder)


@pytest.mark.parametrize(
    "about",
    [
        *(None, [], {}, {"name": "x", "fingerprint": "y"}),
        {"name": "x", "fingerprint": 7, "width": 256},
        {"name": "x", "fingerprint": "y", "width": float("inf")},
        {"name": "x", "fingerprint": "y", "width": 255},
        {"name": "x", "fingerprint": "y", "width": 256, "missing": "some"},
    ],
)
def test_a_description_of_vectors_that_is_invalid(folder: Path, about: object) -> None:
    build(folder)
    path = folder / "index" / "index.json"
    values = json.loads(path.read_text())
    values["vectors"]["static"] = about
    path.write_text(json.dumps(values))
    with pytest.raises(DamagedIndex):
        open_index(folder, verified=True)
    assert build(folder).embedded == 3
