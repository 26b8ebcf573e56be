"""The encoder's vectors of an index, some documents at a time: what there is is used meanwhile.

An encoder takes a second for some dozen documents. The most useful ones come first, and the index
is written every now and then with what has been made: whoever asks it has the vectors that are
there, and whoever goes on later begins with the first that is missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import locked
from citebed.errors import CollectionError
from citebed.retrieval.index import layout
from citebed.retrieval.index.embedding import Heard, Numbers, checked, texts_of
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import Description, array_names
from citebed.retrieval.index.statistics import IndexReport, vector_sizes
from citebed.retrieval.vectors.vectors import Embedder, Quantised
from citebed.wording import printable

_KIND = "encoder"
_AT_ONCE = 1024
"""Documents that the encoder is given at a time."""
_SECONDS = 60.0
"""The index is written no more often: that takes a second for 100,000 documents."""


def encode_index(
    collection: Collection,
    encoder: Embedder,
    report: IndexReport,
    progress: Progress = SILENT,
    *,
    anew: bool = False,
) -> IndexReport:
    """Give an index the vectors of its documents that it lacks, or with ``anew`` all of them;
    ``report`` is what became of the index so far."""
    start = time.monotonic()
    with locked(collection.folder):
        index = open_index(collection)
        if not index.is_current():
            name = printable(collection.folder)
            raise CollectionError(f"{name} has changed meanwhile. Run: citebed index {name} again")
        work = _Encoding(collection, encoder, index, _begun(index, encoder, anew=anew), progress)
        made = work.run()
    return report._replace(
        unchanged=report.unchanged and not made,
        encoded=made,
        not_encoded=0,
        vector_seconds=round(time.monotonic() - start, 3) if made else report.vector_seconds,
        **vector_sizes(layout.read_description(index.folder)),
    )


@dataclass
class _Begun:
    """Room for all vectors, and which of them are there."""

    vectors: Quantised
    there: NDArray[np.bool_]


def _begun(index: Index, encoder: Embedder, *, anew: bool) -> _Begun:
    """What an index has of the encoder's vectors; where some are missing, those of empty texts are
    made again too."""
    count, old = len(index.ids), None if anew else index.vectors(_KIND, incomplete=True)
    if old is None or not old.is_of(encoder):
        empty = Quantised(np.zeros((count, encoder.width), np.int8), np.zeros(count, np.float32))
        return _Begun(empty, np.zeros(count, bool))
    there = np.ones(count, bool) if old.present is None else old.present.copy()
    return _Begun(Quantised(old.rows.copy(), old.scales.copy()), there)


@dataclass
class _Encoding:
    """The work on an index."""

    collection: Collection
    encoder: Embedder
    index: Index
    begun: _Begun
    progress: Progress

    def run(self) -> int:
        """Make all that is missing; returns how many vectors these were."""
        wanted = np.flatnonzero(~self.begun.there)
        if not len(wanted) and self._is_written:
            return 0
        written = time.monotonic()
        try:
            for _ in self._parts(wanted):
                if time.monotonic() - written >= _SECONDS:
                    self._write()
                    written = time.monotonic()
        except KeyboardInterrupt:
            if self.begun.there.any():
                self._write()
            raise
        self._write()
        return len(wanted)

    @property
    def _is_written(self) -> bool:
        old = self.index.vectors(_KIND)
        return old is not None and old.is_of(self.encoder)

    def _parts(self, wanted: Numbers) -> Iterator[None]:
        """Make vectors, some documents at a time, the most useful first."""
        self.progress.step(f"making vectors ({_KIND})", len(wanted))
        heard, rows = Heard(self.progress), _table_rows(self.collection)
        wanted = wanted[np.argsort(_places(self.index)[wanted])]
        vectors, there = self.begun.vectors, self.begun.there
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            part = part[np.argsort(rows[part])]
            made = self.encoder.documents(texts_of(self.collection, rows[part]), heard)
            vectors.rows[part], vectors.scales[part] = checked(self.encoder, made, len(part))
            there[part] = True
            heard.end_of_part(len(part))
            yield

    def _write(self) -> None:
        """Write the index with the vectors that are there; its other files stay."""
        self.collection.check_unchanged()
        folder, old = self.index.folder, layout.read_description(self.index.folder)
        names = array_names(_KIND)
        kept = {name: entry for name, entry in old.files.items() if name not in names}
        rows, scales = self.begun.vectors
        arrays: dict[str, NDArray[Any]] = {names[0]: rows, names[1]: scales}
        layout.write(folder, self._described(old), arrays, kept)

    def _described(self, old: Description) -> Description:
        missing = int(np.count_nonzero(~self.begun.there))
        about: dict[str, Any] = {
            **{"name": self.encoder.name, "fingerprint": self.encoder.fingerprint},
            **{"width": self.encoder.width},
            **({"missing": missing} if missing else {}),
        }
        generation = layout.next_generation(self.index.folder)
        return replace(old, vectors={**old.vectors, _KIND: about}, generation=generation)


def _table_rows(collection: Collection) -> Numbers:
    """The documents' rows in the collection's table, in the order of the index."""
    names = collection.scan_documents().select("doc_id").with_row_index("row")
    return names.sort("doc_id").collect()["row"].to_numpy().astype(np.int64)


def _places(index: Index) -> Numbers:
    """Each document's place in the order of use: what most papers cite comes first, then what has
    an abstract, and of these the latest."""
    count = len(index.ids)
    cited = np.zeros(count, np.int64)
    if index.citing is not None:
        cited += np.bincount(index.citing.docs, minlength=count)
    years = index.records.years.astype(np.int64)
    order = np.lexsort((-years, index.lengths["abstract"] == 0, -cited))
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    return places
