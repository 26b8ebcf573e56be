"""The static model: a vector for each word, learned from citations; a text is the sum of its words.

A word that occurs ``n`` times counts 1 + ln n. A query's vector is multiplied by a matrix, because
a text that cites has other words than the paper it cites.

Models of format 2 also have vectors of word pieces. Names of genes, compounds and species have more
forms than any vocabulary. An unknown word is split from left to right into the longest known
pieces; pieces inside a word begin with ``#``, so an ending differs from a beginning.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.environment import models_folder
from citebed.files.input_files import hash_file, read_small
from citebed.files.output_files import write_file
from citebed.retrieval.vectors.model_files import ModelFile, damaged, read_model, write_model
from citebed.retrieval.vectors.vectors import OnProgress, Vectors, quantise, unit_rows
from citebed.text.words import plain_words

KIND = "static"
FORMAT = 2
"""The format of files with pieces; files without pieces have format 1."""
SHIPPED = Path(__file__).with_name("static.npz")
SHIPPED_NAME = "shipped"
"""The name of the shipped model where a file can be given."""
MANY = 10_000
"""From this number of texts on, compiled code reads them; loading it takes a second."""
CONTINUATION = "#"
_PIECE = re.compile(f"{CONTINUATION}?[a-z0-9]+")
_SPLIT_LENGTHS = range(3, 41)
"""Longer words are addresses and numbers."""
_MAX_WIDTH = 4096
_MAX_CACHED_WORDS = 1_000_000
_BLOCK = 32

Ids = NDArray[np.int32]


class Bags(NamedTuple):
    """The known words of texts: text ``i`` has ``ids[starts[i]:starts[i + 1]]`` in ascending order,
    with their frequencies."""

    ids: Ids
    frequencies: NDArray[np.int64]
    starts: NDArray[np.int64]


class Tokens(NamedTuple):
    """Texts as word numbers: the words of text ``i`` end at ``ends[i]``. Word ``w`` has the vectors
    ``numbers[starts[w]:starts[w + 1]]``."""

    ids: Ids
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    numbers: Ids


class WordPieces:
    """Known pieces, numbered from ``first``, in a prefix tree (the number is at the key ``""``)."""

    def __init__(self, pieces: Sequence[str], first: int = 0) -> None:
        self._tree: dict[str, Any] = {}
        for number, piece in enumerate(pieces, first):
            node = self._tree
            for letter in piece:
                node = node.setdefault(letter, {})
            node[""] = number

    def split(self, word: str) -> list[int]:
        """Return the pieces of a word; none if a part is unknown, or if it is a number."""
        if not self._tree or not can_be_split(word):
            return []
        found, at, tree = [], 0, self._tree
        while at < len(word):
            node, number = tree, -1
            for end, letter in enumerate(word[at:], at + 1):
                if letter not in node:
                    break
                node = node[letter]
                if "" in node:
                    number, at = node[""], end
            if number < 0:
                return []
            found.append(number)
            tree = self._tree.get(CONTINUATION, {})
        return found


def can_be_split(word: str) -> bool:
    """Return True if a word may consist of pieces."""
    return len(word) in _SPLIT_LENGTHS and not word.isdigit()


class StaticModel:
    """A model of word vectors; ``shipped_model`` opens the one of the package."""

    def __init__(self, file: ModelFile) -> None:
        self.path, self.fingerprint, self.about = file.path, file.fingerprint, file.about
        self.name = str(self.about.get("name") or self.path.stem)
        self._vectors = file.array("vectors", "int8", None, None)
        count, self.width = self._vectors.shape
        if not 0 < self.width <= _MAX_WIDTH:
            raise damaged(file.path, f"vectors of {self.width} numbers")
        self._scales = file.array("scales", "float16", count).astype(np.float32)
        self._query = file.array("query", "float16", self.width, self.width).astype(np.float32)
        for name, numbers in (("scales", self._scales), ("query", self._query)):
            if not np.isfinite(numbers).all():
                raise damaged(file.path, f"numbers of '{name}' are not finite")
        self.pieces = _read_words(file, "pieces") if "pieces" in file.arrays else []
        if not all(map(_PIECE.fullmatch, self.pieces)):
            raise damaged(file.path, "pieces that are not of letters and digits")
        self.words = _read_words(file, "words")
        if len(self.words) != count - len(self.pieces):
            vectors = f"{count - len(self.pieces):,} vectors"
            raise damaged(file.path, f"{len(self.words):,} words, but {vectors}")
        self._is_compiled = False

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        """Return a unit vector for each text; zeros if it has no known word."""
        vectors = unit_rows(self._sum_words(texts))
        if progress is not None:
            progress(len(vectors), len(vectors))
        return vectors

    def documents_of_tokens(self, tokens: Tokens) -> Vectors:
        """Return the vectors of texts that are already split into words."""
        from citebed.retrieval.vectors.kernels import bags_of_tokens

        bags = Bags(*bags_of_tokens(*tokens, len(self._vectors)))
        return unit_rows(self._sum_bags(bags, is_compiled=True))

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector for each text to search with; zeros if it has no known word."""
        sums = self._sum_words(texts)
        # Blocks of one size: BLAS rounds differently for other sizes, and a shard must get the
        # vectors of a whole index, to the last bit.
        vectors = np.empty((len(sums), self.width), np.float32)
        block = np.zeros((_BLOCK, self.width), np.float32)
        for start in range(0, len(sums), _BLOCK):
            part = sums[start : start + _BLOCK]
            block[: len(part)] = part
            vectors[start : start + _BLOCK] = (block @ self._query)[: len(part)]
        return unit_rows(vectors)

    def prepare(self) -> None:
        """Load compiled code, for many texts that come one at a time."""
        self._is_compiled = True
        self._sum_words([""])

    def numbers_in(self, text: str) -> Sequence[int]:
        """Return the numbers of the vectors of an index's word, or of any other text."""
        if text in self._ids or (text.isascii() and text.isalnum() and text.islower()):
            return self.word_ids(text)
        return [number for word in plain_words(text) for number in self.word_ids(word)]

    def word_ids(self, word: str) -> Sequence[int]:
        """Return the numbers of a word's vectors: its own, or its pieces' vectors, if any."""
        ids = self._ids.get(word)
        if ids is None:
            ids = self._word_pieces.split(word)
            if len(self._ids) < _MAX_CACHED_WORDS:
                self._ids[word] = ids
        return ids

    @cached_property
    def _ids(self) -> dict[str, Sequence[int]]:
        """The numbers of the model's words, and of other words that were looked up."""
        return {word: (number,) for number, word in enumerate(self.words)}

    @cached_property
    def _word_pieces(self) -> WordPieces:
        return WordPieces(self.pieces, len(self.words))

    def _sum_words(self, texts: Sequence[str]) -> Vectors:
        ids: list[int] = []
        ends = [0]
        for text in texts:
            ids += itertools.chain.from_iterable(map(self.word_ids, plain_words(text)))
            ends.append(len(ids))
        rows = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(ends))
        keys = rows << 32 | np.array(ids, np.int32)
        keys.sort()
        first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
        frequencies = np.diff(np.r_[first, len(keys)])
        starts = np.searchsorted(keys[first] >> 32, np.arange(len(texts) + 1))
        bags = Bags((keys[first] & 0xFFFFFFFF).astype(np.int32), frequencies, starts)
        return self._sum_bags(bags, is_compiled=self._is_compiled or len(texts) >= MANY)

    def _sum_bags(self, bags: Bags, *, is_compiled: bool) -> Vectors:
        """Return the weighted sum of each text's word vectors, added one after another."""
        ids, starts = bags.ids, bags.starts
        weights = (1 + np.log(bags.frequencies)).astype(np.float32) * self._scales[ids]
        if is_compiled:
            from citebed.retrieval.vectors.kernels import sums

            return np.asarray(sums(self._vectors, ids, weights, starts), np.float32)
        totals = np.zeros((len(starts) - 1, self.width), np.float32)
        for row, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
            words = self._vectors[ids[start:end]].astype(np.float32)
            words *= weights[start:end, None]
            np.add.reduce(words, axis=0, out=totals[row])
        return totals


def _read_words(file: ModelFile, name: str) -> list[str]:
    """Return words of a file, which are distinct and sorted: the same words make the same file."""
    try:
        words = file.array(name, "uint8", None).tobytes().decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise damaged(file.path, f"{name} that are not plain letters and digits") from None
    if words != sorted(words) or len(set(words)) < len(words):  # sorting a sorted list is fast
        raise damaged(file.path, f"{name} that are not sorted")
    return words


def write_static_model(
    path: Path,
    words: Sequence[str],
    vectors: Vectors,
    query: Vectors,
    about: Mapping[str, Any],
    pieces: Sequence[str] = (),
) -> None:
    """Write a model: a vector for each word, then for each piece (rows × width), and the query
    matrix."""
    order = sorted(range(len(words)), key=lambda number: words[number])
    piece_order = sorted(range(len(pieces)), key=lambda number: pieces[number])
    rows = [*order, *(len(words) + number for number in piece_order)]
    small = quantise(np.asarray(vectors, np.float32)[rows])
    arrays: dict[str, NDArray[Any]] = {
        "words": np.frombuffer("\n".join(sorted(words)).encode("ascii"), np.uint8),
        "vectors": small.rows,
        "scales": small.scales.astype(np.float16),
        "query": np.asarray(query, np.float16),
    }
    if pieces:
        arrays["pieces"] = np.frombuffer("\n".join(sorted(pieces)).encode("ascii"), np.uint8)
    write_model(path, KIND, about, arrays, FORMAT if pieces else 1)


def open_static_model(path: str | Path) -> StaticModel:
    return StaticModel(read_model(Path(path), KIND, FORMAT))


@cache
def shipped_model() -> StaticModel:
    """Return the shipped model; raise an error if it is not the published file."""
    try:
        published = json.loads(read_small(SHIPPED.with_suffix(".json")))
        model = open_static_model(SHIPPED)
        if model.fingerprint != published["sha256"]:
            raise damaged(SHIPPED, "checksum mismatch: not the published file")
    except (CitebedError, ValueError, TypeError, KeyError) as error:
        what = "the word vectors of this installation are damaged; install citebed again"
        raise CitebedError(f"{what} ({error})") from None
    return model


def import_model(path: str | Path) -> StaticModel:
    """Open the model in a file, and copy it to the user's models, where an index finds it."""
    model = open_static_model(path)
    copy = _model_path(model.fingerprint)
    if not copy.is_file() or hash_file(copy) != model.fingerprint:
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_file(copy, Path(path).read_bytes())
    return open_static_model(copy)


def choose_model(given: str | Path | None) -> StaticModel | None:
    """Return the word vectors to index with: a file's, which is imported, or ``"shipped"``.

    For a file with the name ``shipped``, give ``./shipped`` or a ``Path``.
    """
    if given is None:
        return None
    return shipped_model() if given == SHIPPED_NAME else import_model(given)


def find_model(fingerprint: str) -> StaticModel:
    """Return the imported model with a fingerprint, or else the shipped one."""
    path = _model_path(fingerprint)
    is_safe = fingerprint.isalnum()  # an index from a stranger can contain anything
    if is_safe and path.is_file() and fingerprint != shipped_model().fingerprint:
        return open_static_model(path)
    return shipped_model()


def _model_path(fingerprint: str) -> Path:
    return models_folder() / f"static-{fingerprint[:32]}.npz"
