"""The static model: a vector for each word, learned from citations; a text is their sum.

A word that occurs ``n`` times counts 1 + ln n. A query's vector goes through a matrix of its own,
since a text that cites speaks otherwise than the paper it cites. A model of format 2 has vectors of
pieces too, for words that it does not know.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.places import models_folder
from citebed.files.reading import file_hash, read_small
from citebed.files.writing import write_whole
from citebed.retrieval.vectors.model_files import ModelFile, damaged, read_model, write_model
from citebed.retrieval.vectors.pieces import PIECE, Pieces
from citebed.retrieval.vectors.vectors import OnProgress, Vectors, quantised, unit_rows
from citebed.text.words import plain_words

KIND = "static"
SHIPPED = Path(__file__).with_name("static.npz")
SHIPPED_NAME = "shipped"
"""What the model that comes with citebed is asked for by, where a file may be named too."""
MANY = 10_000
"""From so many texts on, compiled code reads them: starting it takes a second, once."""

FORMAT = 2
"""Of files with pieces; those without have format 1."""

_MOST_WIDTH = 4096
_MOST_KEPT = 1_000_000
"""Words of which it is remembered how they are cut."""

Ids = NDArray[np.int32]


class Bags(NamedTuple):
    """The known words of texts: those of text ``i`` are ``ids[starts[i]:starts[i + 1]]``, rising,
    each with how often it occurs."""

    ids: Ids
    times: NDArray[np.int64]
    starts: NDArray[np.int64]


class Tokens(NamedTuple):
    """Texts as numbers of words: the words of text ``i`` end at ``ends[i]``. Word ``w`` has the
    vectors ``numbers[starts[w]:starts[w + 1]]``."""

    ids: Ids
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    numbers: Ids


_BLOCK = 32


def _product(rows: Vectors, matrix: Vectors) -> Vectors:
    """``rows @ matrix``, in blocks of one size. A row's product then does not depend on how many
    other rows there are, to the last bit, so that a shard and an increment give the vectors of a
    whole index; BLAS rounds differently for other sizes."""
    found = np.empty((len(rows), matrix.shape[1]), np.float32)
    block = np.zeros((_BLOCK, rows.shape[1]), np.float32)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        block[: len(part)] = part
        found[start : start + _BLOCK] = (block @ matrix)[: len(part)]
    return found


class StaticModel:
    """A model of word vectors; ``shipped_model`` opens the one of the package."""

    def __init__(self, file: ModelFile) -> None:
        self.path, self.fingerprint, self.about = file.path, file.fingerprint, file.about
        self._vectors = file.array("vectors", "int8", None, None)
        count, self.width = self._vectors.shape
        if not 0 < self.width <= _MOST_WIDTH:
            raise damaged(file.path, f"vectors of {self.width} numbers")
        self._scales = file.array("scales", "float16", count).astype(np.float32)
        self._query = file.array("query", "float16", self.width, self.width).astype(np.float32)
        for name, numbers in (("scales", self._scales), ("query", self._query)):
            if not np.isfinite(numbers).all():
                raise damaged(file.path, f"numbers of '{name}' are not finite")
        self.pieces = _pieces(file)
        self.words = _words(file, count - len(self.pieces))
        self._is_ready = False

    @property
    def name(self) -> str:
        """What people call the model."""
        return str(self.about.get("name") or self.path.stem)

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        """A vector of length 1 for each text; zeros where none of its words is known."""
        found = unit_rows(self._sums(texts))
        if progress is not None:
            progress(len(found), len(found))
        return found

    def documents_of_tokens(self, tokens: Tokens) -> Vectors:
        """Return the vectors of texts that are split into words already."""
        from citebed.retrieval.vectors.compiled import bags_of_tokens

        return unit_rows(self._sums_of(Bags(*bags_of_tokens(*tokens, len(self._vectors)))))

    def queries(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text that looks for documents; zeros likewise."""
        return unit_rows(_product(self._sums(texts), self._query))

    def prepare(self) -> None:
        """Make ready for many texts, one at a time: compiled code is loaded."""
        self._is_ready = True
        self._sums([""])

    def _sums(self, texts: Sequence[str]) -> Vectors:
        bags = _bags(*self._found(texts), len(texts))
        if self._is_ready or len(texts) >= MANY:
            return self._sums_of(bags)
        return _plain_sums(self._vectors, bags.ids, self._weights(bags), bags.starts)

    def _sums_of(self, bags: Bags) -> Vectors:
        from citebed.retrieval.vectors.compiled import sums

        weights = self._weights(bags)
        return np.asarray(sums(self._vectors, bags.ids, weights, bags.starts), np.float32)

    def _weights(self, bags: Bags) -> NDArray[np.float32]:
        return (1 + np.log(bags.times)).astype(np.float32) * self._scales[bags.ids]

    def numbers_in(self, piece: str) -> Sequence[int]:
        """The numbers of the vectors of a word of an index, or of any other piece of text."""
        if piece in self._ids or (piece.isascii() and piece.isalnum() and piece.islower()):
            return self.word_ids(piece)
        return [number for word in plain_words(piece) for number in self.word_ids(word)]

    def _found(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """The number of each known word in the texts, and the row of its text."""
        ids: list[int] = []
        ends = [0]
        for text in texts:
            ids += itertools.chain.from_iterable(map(self.word_ids, plain_words(text)))
            ends.append(len(ids))
        rows = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(ends))
        return np.array(ids, np.int32), rows

    def word_ids(self, word: str) -> Sequence[int]:
        """The numbers of a word's vectors: its own, or those of its pieces, which may be none."""
        found = self._ids.get(word)
        if found is None:
            found = self._cut.of(word)
            if len(self._ids) < _MOST_KEPT:
                self._ids[word] = found
        return found

    @cached_property
    def _ids(self) -> dict[str, Sequence[int]]:
        """The numbers of known words, and of others that were looked for."""
        return {word: (number,) for number, word in enumerate(self.words)}

    @cached_property
    def _cut(self) -> Pieces:
        return Pieces(self.pieces, len(self.words))


def _bags(ids: Ids, rows: Ids, count: int) -> Bags:
    keys = rows.astype(np.int64) << 32 | ids
    keys.sort()
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    times = np.diff(np.r_[first, len(keys)])
    starts = np.searchsorted(keys[first] >> 32, np.arange(count + 1))
    return Bags((keys[first] & 0xFFFFFFFF).astype(np.int32), times, starts)


def _plain_sums(
    vectors: NDArray[np.int8], ids: Ids, weights: NDArray[np.float32], starts: NDArray[np.int64]
) -> Vectors:
    """The sum of each text's word vectors, each times its weight, one after another."""
    found = np.zeros((len(starts) - 1, vectors.shape[1]), np.float32)
    for row, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        words = vectors[ids[start:end]].astype(np.float32)
        words *= weights[start:end, None]
        np.add.reduce(words, axis=0, out=found[row])
    return found


def _words(file: ModelFile, count: int) -> list[str]:
    """The words, each once and in their order: the same words always make the same file."""
    words = _listed(file, "words")
    if len(words) != count:
        raise damaged(file.path, f"{len(words):,} words, but {count:,} vectors")
    return words


def _pieces(file: ModelFile) -> list[str]:
    """The pieces, whose vectors stand behind those of the words; files of format 1 have none."""
    found = _listed(file, "pieces") if "pieces" in file.arrays else []
    if not all(map(PIECE.fullmatch, found)):
        raise damaged(file.path, "pieces that are not of letters and digits")
    return found


def _listed(file: ModelFile, name: str) -> list[str]:
    try:
        found = file.array(name, "uint8", None).tobytes().decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise damaged(file.path, f"{name} that are not plain letters and digits") from None
    if found != sorted(found) or len(set(found)) < len(found):  # of a sorted list that is quick
        raise damaged(file.path, f"{name} that are not in their order")
    return found


def write_static_model(
    path: Path,
    words: Sequence[str],
    vectors: Vectors,
    query: Vectors,
    about: Mapping[str, Any],
    pieces: Sequence[str] = (),
) -> None:
    """Write a model: a vector for each word, then each piece (rows × width), and the queries'
    matrix."""
    order = sorted(range(len(words)), key=lambda number: words[number])
    behind = sorted(range(len(pieces)), key=lambda number: pieces[number])
    rows = [*order, *(len(words) + number for number in behind)]
    small = quantised(np.asarray(vectors, np.float32)[rows])
    arrays: dict[str, NDArray[Any]] = {
        "words": _blob(words[number] for number in order),
        "vectors": small.rows,
        "scales": small.scales.astype(np.float16),
        "query": np.asarray(query, np.float16),
    }
    if pieces:
        arrays["pieces"] = _blob(pieces[number] for number in behind)
    write_model(path, KIND, about, arrays, FORMAT if pieces else 1)


def _blob(lines: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode("ascii"), np.uint8)


def open_static_model(path: str | Path) -> StaticModel:
    """The model in a file."""
    return StaticModel(read_model(Path(path), KIND, FORMAT))


@cache
def shipped_model() -> StaticModel:
    """The model that comes with citebed, if it is just the one that was published."""
    try:
        published = json.loads(read_small(SHIPPED.with_suffix(".json")))
        model = open_static_model(SHIPPED)
        if model.fingerprint != published["sha256"]:
            raise damaged(SHIPPED, "checksum mismatch: not the published file")
    except (CitebedError, ValueError, TypeError, KeyError) as error:
        what = "the word vectors of the installation cannot be used; install citebed anew"
        raise CitebedError(f"{what} ({error})") from None
    return model


def kept_model(path: str | Path) -> StaticModel:
    """The model in a file, kept among the user's models, where an index finds it again."""
    model = open_static_model(path)
    place = _place(model.fingerprint)
    if not place.is_file() or file_hash(place) != model.fingerprint:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, Path(path).read_bytes())
    return open_static_model(place)


def index_model(given: str | Path | None) -> StaticModel | None:
    """The word vectors to index with, if they are named: a file's, which is kept, or ``shipped``.

    A file that is called so is meant by ``./shipped``, or by a ``Path``.
    """
    if given is None:
        return None
    return shipped_model() if given == SHIPPED_NAME else kept_model(given)


def model_of(fingerprint: str) -> StaticModel:
    """The model of a fingerprint: one that was kept, else the one that comes with citebed."""
    place = _place(fingerprint)
    is_name = fingerprint.isalnum()  # of a stranger's index it may be anything
    if is_name and place.is_file() and fingerprint != shipped_model().fingerprint:
        return open_static_model(place)
    return shipped_model()


def _place(fingerprint: str) -> Path:
    return models_folder() / f"static-{fingerprint[:32]}.npz"
