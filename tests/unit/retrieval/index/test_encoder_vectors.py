"""An encoder reads a collection some documents at a time; the index is used meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import (
    arrays_of,
    assert_same_arrays,
    build,
    context,
    write_collection,
)
from tests.unit.retrieval.index.test_document_vectors import Encoder

from citebed.collection import open_collection
from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.index import document_vectors
from citebed.retrieval.index.document_vectors import encode_index
from citebed.retrieval.index.index import open_index

NAMES = [f"d{n}" for n in range(10)]
DOCUMENTS = [
    {"doc_id": name, "title": f"Title {n * 'e'}", "abstract": "Text." if n % 2 else "", "year": n}
    for n, name in enumerate(NAMES)
]
CONTEXTS = [context("P1", ["d2"], "A sentence."), context("P2", ["d2", "d4"], "Another one.")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(document_vectors, "_ENCODER_BATCH", 3)
    monkeypatch.setattr(document_vectors, "_SECONDS_BETWEEN_WRITES", 0.0)
    return write_collection(tmp_path / "c", DOCUMENTS, contexts=CONTEXTS)


class Interrupted(Encoder):
    """Is interrupted after some parts; meanwhile it looks at the index."""

    def __init__(self, folder: Path, parts: int, error: type[BaseException] = KeyboardInterrupt):
        super().__init__()
        self.folder, self.parts, self.error = folder, parts, error
        self.seen: list[int] = []

    def documents(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> np.ndarray:
        found = open_index(self.folder, verified=True).vectors("encoder", incomplete=True)
        self.seen.append(len(NAMES) if found is None else found.missing)
        if len(self.seen) > self.parts:
            raise self.error
        return super().documents(texts, progress)


def encoded(folder: Path) -> set[str]:
    index = open_index(folder, verified=True)
    found = index.vectors("encoder", incomplete=True)
    assert found is not None
    known = np.ones(len(found), bool) if found.present is None else found.present
    return {index.ids[int(number)] for number in np.flatnonzero(known)}


def test_the_index_can_be_asked_while_documents_are_encoded(folder: Path) -> None:
    encoder = Interrupted(folder, 9)
    report = build(folder, neural=encoder)
    assert encoder.seen == [10, 7, 4, 1]
    assert (report.encoded, report.not_encoded, report.counted) == (10, 0, 10)
    found = open_index(folder, verified=True).vectors("encoder")
    assert found is not None
    assert found.present is None
    assert build(folder, neural=encoder).unchanged


def test_the_most_useful_come_first(folder: Path) -> None:
    """The most cited documents come first, then the newest with an abstract."""
    with pytest.raises(KeyboardInterrupt):
        build(folder, neural=Interrupted(folder, 1))
    assert encoded(folder) == {"d2", "d4", "d9"}
    with pytest.raises(KeyboardInterrupt):
        build(folder, neural=Interrupted(folder, 1))
    assert encoded(folder) == {"d2", "d4", "d9", "d7", "d5", "d3"}


def test_what_was_interrupted_goes_on_where_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        document_vectors, "_SECONDS_BETWEEN_WRITES", 1000.0
    )  # what is made is kept all the same
    with pytest.raises(KeyboardInterrupt):
        build(folder, neural=Interrupted(folder, 2))
    assert len(encoded(folder)) == 6
    encoder = Encoder()
    report = build(folder, neural=encoder)
    assert (len(encoder.asked), report.encoded, report.unchanged) == (4, 4, False)
    some = arrays_of(folder)
    build(folder, neural=Encoder(), rebuild=True)
    assert_same_arrays(some, arrays_of(folder))


def test_interrupted_before_anything_was_made(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(folder, neural=Interrupted(folder, 0))
    index = open_index(folder, verified=True)
    assert set(index.description.vectors) == {"static"}
    assert len(index.ids) == 10


def test_an_encoder_that_fails_leaves_what_was_written(folder: Path) -> None:
    with pytest.raises(CitebedError):
        build(folder, neural=Interrupted(folder, 2, CitebedError))
    assert len(encoded(folder)) == 6


def test_other_files_of_the_index_stay_as_they_are(folder: Path) -> None:
    build(folder)
    before = {path.name for path in (folder / "index").iterdir()}
    build(folder, neural=Encoder())
    after = {path.name for path in (folder / "index").iterdir()}
    assert before < after
    assert len(after - before) == 2, "one of each array, none of which is left over"


def test_another_encoder_begins_again(folder: Path) -> None:
    build(folder, neural=Encoder())
    other = Encoder("e2")
    assert build(folder, neural=other).encoded == 10
    assert len(other.asked) == 10
    assert open_index(folder, verified=True).vectors_of(other, "encoder").missing == 0


def test_documents_that_came_meanwhile_are_reported(folder: Path) -> None:
    report = build(folder)
    opened = open_collection(folder)
    write_collection(folder, DOCUMENTS[:5])
    with pytest.raises(CollectionError, match="has changed meanwhile"):
        encode_index(opened, Encoder(), report)


def test_without_documents(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", [])
    assert build(folder, neural=Encoder()).encoded == 0
    assert build(folder, neural=Encoder()).unchanged
