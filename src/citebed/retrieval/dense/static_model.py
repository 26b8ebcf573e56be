"""The static model: a vector for each word, learned from citations; a text is their sum.

Words are runs of plain letters and digits, in lower case, without accents. A word that occurs
``n`` times counts 1 + ln n. A query's vector goes through a matrix of its own, since a text that
cites speaks otherwise than the paper it cites.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Told, Vectors
from citebed.retrieval.dense.model_files import ModelFile, damaged, read_model, write_model
from citebed.retrieval.dense.vectors import quantised, unit_rows

KIND = "static"
SHIPPED = Path(__file__).with_name("static.npz")

_WORD = re.compile(r"[a-z0-9]+")
_MOST_WIDTH = 4096


class Bags(NamedTuple):
    """The known words of texts: those of text ``i`` are ``ids[starts[i]:starts[i + 1]]``, rising,
    each with how often it occurs."""

    ids: NDArray[np.int32]
    times: NDArray[np.int32]
    starts: NDArray[np.int64]


class StaticModel:
    """A model of word vectors; ``shipped_model`` opens the one of the package."""

    def __init__(self, file: ModelFile) -> None:
        self.path, self.fingerprint, self.about = file.path, file.fingerprint, file.about
        self._vectors = file.array("vectors", "int8", None, None)
        count, self.width = self._vectors.shape
        if not 0 < self.width <= _MOST_WIDTH:
            raise damaged(file.path, f"vectors of {self.width} numbers")
        self._scales = file.array("scales", "float16", count)
        self._query = file.array("query", "float16", self.width, self.width)
        for name, numbers in (("scales", self._scales), ("query", self._query)):
            if not np.isfinite(numbers).all():
                raise damaged(file.path, f"numbers of '{name}' are not finite")
        self.words = _unpacked(file, count)

    @property
    def name(self) -> str:
        """What people call the model."""
        return str(self.about.get("name") or self.path.stem)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def documents(self, texts: Sequence[str] | pl.Series, progress: Told | None = None) -> Vectors:
        """A vector of length 1 for each text; zeros where none of its words is known."""
        found = unit_rows(self._sums(self.bags(texts)))
        if progress is not None:
            progress(len(found), len(found))
        return found

    def queries(self, texts: Sequence[str] | pl.Series) -> Vectors:
        """A vector of length 1 for each text that looks for documents; zeros likewise."""
        return unit_rows(self._sums(self.bags(texts)) @ self._query.astype(np.float32))

    def bags(self, texts: Sequence[str] | pl.Series) -> Bags:
        """The known words of each text."""
        ids: list[int] = []
        times: list[int] = []
        starts = [0]
        for text in folded(texts):
            found = map(self._numbers.get, _WORD.findall(text))
            bag = sorted(Counter(number for number in found if number is not None).items())
            ids += (number for number, _ in bag)
            times += (count for _, count in bag)
            starts.append(len(ids))
        return Bags(np.array(ids, np.int32), np.array(times, np.int32), np.array(starts, np.int64))

    def _sums(self, bags: Bags) -> Vectors:
        weights = (1 + np.log(bags.times)).astype(np.float32)
        weights *= self._scales[bags.ids].astype(np.float32)
        found = np.zeros((len(bags.starts) - 1, self.width), np.float32)
        for row, (start, end) in enumerate(itertools.pairwise(bags.starts.tolist())):
            words = self._vectors[bags.ids[start:end]].astype(np.float32)
            found[row] = (words * weights[start:end, None]).sum(axis=0)
        return found


def folded(texts: Sequence[str] | pl.Series) -> pl.Series:
    """Texts in lower case and without accents."""
    series = pl.Series(texts, dtype=pl.String)
    plain = series.str.normalize("NFKD").str.replace_all(r"\p{Mn}+", "")
    return plain.str.to_lowercase()


def _unpacked(file: ModelFile, count: int) -> list[str]:
    """The words, which must rise: their numbers are found by halving or in a table."""
    blob = file.array("words", "uint8", None)
    offsets = file.array("words.offsets", "uint32", count + 1).tolist()
    if offsets[0] != 0 or offsets[-1] != len(blob):
        raise damaged(file.path, "'words.offsets' do not span all words")
    try:
        text = blob.tobytes().decode("ascii")
    except ValueError:
        raise damaged(file.path, "words that are not plain letters and digits") from None
    words = [text[start:end] for start, end in itertools.pairwise(offsets)]
    if not all(one < other for one, other in itertools.pairwise(words)):
        raise damaged(file.path, "words that are not in their order")
    return words


def write_static_model(
    path: Path,
    words: Sequence[str],
    vectors: Vectors,
    query: Vectors,
    about: Mapping[str, Any],
) -> None:
    """Write a model: a vector for each word (words × width), and the queries' matrix."""
    order = sorted(range(len(words)), key=lambda number: words[number])
    small = quantised(np.asarray(vectors, np.float32)[order])
    encoded = [words[number].encode("ascii") for number in order]
    offsets = np.zeros(len(encoded) + 1, np.uint32)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    arrays: dict[str, NDArray[Any]] = {
        "words": np.frombuffer(b"".join(encoded), np.uint8),
        "words.offsets": offsets,
        "vectors": small.rows,
        "scales": small.scales.astype(np.float16),
        "query": np.asarray(query, np.float16),
    }
    write_model(path, KIND, about, arrays)


def open_static_model(path: str | Path) -> StaticModel:
    """The model in a file."""
    return StaticModel(read_model(Path(path), KIND))


@cache
def shipped_model() -> StaticModel:
    """The model that comes with citebed."""
    return open_static_model(SHIPPED)
