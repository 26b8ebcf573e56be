"""Training texts: documents, the contexts that cite them, their file, and pairs to learn from.

The file is JSON Lines compressed with xz: a header line, a line for each document, and a line for
each context. Training on another machine needs nothing else.

The fold of a citing paper decides whether it is for training or for evaluation. The fold is a hash
of the paper's id, so every run and machine splits papers in the same way, and a new paper does not
move any other. If papers are split by year instead, the contexts contain their part.

A pair is a text and the document that it should find. Contexts are the task itself. Titles,
keywords and sentences that should find the rest of their own abstract teach the words of the field.
Consecutive contexts of a paper represent passages with several citations.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError, import_extra
from citebed.files.lines import parse_json_object, read_numbered_lines
from citebed.files.output_files import replace_files
from citebed.retrieval.vectors.static_model import CONTINUATION, WordPieces, can_be_split
from citebed.text.sentences import split_sentences
from citebed.text.words import plain_words

KIND = "citebed training texts"
_EXPECTED = "Expected a file that 'citebed train prepare' wrote."
PARTS = ("training", "development", "test")
FOLDS = 20
TEST, DEVELOPMENT = 0, 1
"""The folds for the test and for development; the others are for training."""
KEYWORDS_SHARE = 0.7
"""The probability of using a document's keywords; it is below 1 because many documents have
none."""
_SHORTEST_ABSTRACT = 80
"""Characters of the shortest abstract that pairs are made from."""
_PASSAGE_SIZES = (2, 3, 4)


class DocumentText(NamedTuple):
    """The text of a document; ``field`` is empty if all documents belong to one field."""

    doc_id: str
    title: str
    abstract: str
    keywords: tuple[str, ...] = ()
    field: str = ""


class CitingText(NamedTuple):
    """One or two sentences of a citing paper without citation markers.

    ``cited`` holds the places of the cited documents. ``part`` is one of ``PARTS``; if it is empty,
    the paper's fold decides.
    """

    paper_id: str
    text: str
    cited: tuple[int, ...]
    part: str = ""


class Form(NamedTuple):
    """A document by its place, with or without title, keywords and one sentence of its abstract."""

    place: int
    title: bool = True
    keywords: bool = True
    without: int = -1


@dataclass(frozen=True)
class TrainingTexts:
    """Documents and the contexts that cite them; ``about`` describes their sources."""

    documents: Sequence[DocumentText]
    contexts: Sequence[CitingText]
    about: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str, shift: int = 0) -> list[CitingText]:
        """Return the contexts for ``training``, ``development`` or the ``test``."""
        return [
            context
            for context in self.contexts
            if (context.part or part_of_fold(assign_fold(context.paper_id), shift)) == name
        ]

    @cached_property
    def cited(self) -> list[int]:
        """The places of all cited documents, among which evaluation searches."""
        return sorted({place for context in self.contexts for place in context.cited})

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The sentences of every document's abstract."""
        return [split_sentences(document.abstract) for document in self.documents]

    def document_text(self, form: Form) -> str:
        """Return the text of a document for models: title, abstract and keywords."""
        document = self.documents[form.place]
        abstract, title = document.abstract, document.title if form.title else ""
        if form.without >= 0:
            numbered = enumerate(self.sentences[form.place])
            abstract = " ".join(sentence for at, sentence in numbered if at != form.without)
        has_keywords = form.keywords and document.keywords
        keywords = f" {', '.join(document.keywords)}" if has_keywords else ""
        return f"{title}. {abstract}{keywords}".strip(" .")

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line)
        return digest.hexdigest()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, without empty optional fields."""
        optional = ("keywords", "field", "part")
        rows: tuple[DocumentText | CitingText, ...] = (*self.documents, *self.contexts)
        for row in rows:
            yield _line({k: v for k, v in row._asdict().items() if v or k not in optional})


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write_prepared(path: Path, texts: TrainingTexts) -> None:
    """Write training texts to a file, completely or not at all."""
    head = {
        "kind": KIND,
        "format": 1,
        "documents": len(texts.documents),
        "contexts": len(texts.contexts),
        "fingerprint": texts.fingerprint,
        "about": texts.about,
    }
    with replace_files(path) as (draft,), lzma.open(draft, "wb", preset=6) as packed:
        packed.write(_line(head))
        packed.writelines(texts.lines())


def read_prepared(path: Path) -> TrainingTexts:
    """Read the training texts of a file; a truncated, changed or other file is an error."""
    lines = ((at, line) for at, line in read_numbered_lines(path) if line)
    at, line = next(lines, (1, b"{}"))
    head = _parse_row(path, at, line)
    if head.get("kind") != KIND or head.get("format") != 1:
        raise FormatError(path, at, f"these are not training texts of format 1. {_EXPECTED}")
    rows = [(at, _parse_row(path, at, line)) for at, line in lines]
    number = head.get("documents")
    if not isinstance(number, int) or len(rows) != number + head.get("contexts", 0):
        what = f"found {len(rows):,} lines, not the number in the first line. {_EXPECTED}"
        raise FormatError(path, None, what)
    documents, contexts = [], []
    for at, row in rows[:number]:
        keywords, name = row.get("keywords", []), row.get("field", "")
        doc_id, title, abstract = (row.get(key) for key in ("doc_id", "title", "abstract"))
        if not all(isinstance(each, str) for each in (doc_id, title, abstract, *keywords, name)):
            raise FormatError(path, at, f"is not a document. {_EXPECTED}")
        texts = str(doc_id), str(title), str(abstract)
        documents.append(DocumentText(*texts, tuple(keywords), name))
    for at, row in rows[number:]:
        paper_id, text, cited = (row.get(key) for key in ("paper_id", "text", "cited"))
        part = row.get("part", "")
        are_strings = isinstance(paper_id, str) and isinstance(text, str) and part in ("", *PARTS)
        are_places = isinstance(cited, list) and all(
            isinstance(place, int) and 0 <= place < number for place in cited
        )
        if not (are_strings and are_places and cited):
            raise FormatError(path, at, f"is not a context. {_EXPECTED}")
        contexts.append(CitingText(str(paper_id), str(text), tuple(cited), part))
    prepared = TrainingTexts(documents, contexts, head.get("about", {}))
    if prepared.fingerprint != head.get("fingerprint"):
        what = "checksum mismatch. Create it again with 'citebed train prepare'."
        raise FormatError(path, None, what)
    return prepared


def _parse_row(path: Path, at: int, line: bytes) -> dict[str, Any]:
    return parse_json_object(path, at, line.decode("utf-8", "replace"), _EXPECTED)


def assign_fold(paper_id: str) -> int:
    """Return the fold of a citing paper, 0 to 19."""
    return int(hashlib.sha256(paper_id.encode()).hexdigest()[:8], 16) % FOLDS


def part_of_fold(fold: int, shift: int = 0) -> str:
    """Return the part of a fold: ``test``, ``development`` or ``training``.

    With a ``shift`` of n, fold n is the test and the next one is for development.
    """
    return {TEST: "test", DEVELOPMENT: "development"}.get((fold - shift) % FOLDS, "training")


# --- pairs ----------------------------------------------------------------------------------


class Pair(NamedTuple):
    """A text, the document that it should find, all documents that it cites, the citing paper."""

    text: str
    form: Form
    cited: tuple[int, ...]
    paper_id: str = ""


def random_source(*parts: object) -> random.Random:
    """Return a random generator for one part of the work, seeded by ``parts``."""
    return random.Random(":".join(map(str, parts)))


def context_pairs(contexts: Iterable[CitingText], rng: random.Random) -> Iterator[Pair]:
    for context in contexts:
        for place in context.cited:
            form = Form(place, keywords=rng.random() < KEYWORDS_SHARE)
            yield Pair(context.text, form, context.cited, context.paper_id)


def passage_pairs(
    contexts: Iterable[CitingText], rng: random.Random, sizes: Sequence[int] = _PASSAGE_SIZES
) -> Iterator[Pair]:
    """Join consecutive contexts of a paper, and pair each passage with two cited documents."""
    by_paper: dict[str, list[CitingText]] = {}
    for context in contexts:
        by_paper.setdefault(context.paper_id, []).append(context)
    for paper_id, own in by_paper.items():
        at = 0
        while at < len(own) - 1:
            group = own[at : at + rng.choice(sizes)]
            at += len(group)
            cited = tuple(sorted({place for context in group for place in context.cited}))
            text = " ".join(context.text for context in group)
            for place in rng.sample(cited, min(2, len(cited))):
                yield Pair(text, Form(place), cited, paper_id)


def document_pairs(
    texts: TrainingTexts, rng: random.Random, sentences: int = 1, keywords: bool = False
) -> Iterator[Pair]:
    """Pair the title, some sentences and the keywords of a document with the rest of it."""
    for place, document in enumerate(texts.documents):
        if len(document.abstract) < _SHORTEST_ABSTRACT:
            continue
        with_keywords, itself = rng.random() < KEYWORDS_SHARE, (place,)
        if document.title:
            yield Pair(document.title, Form(place, title=False, keywords=with_keywords), itself)
        own = texts.sentences[place]
        for at in rng.sample(range(len(own)), min(sentences, len(own))) if len(own) > 2 else ():
            yield Pair(own[at], Form(place, keywords=with_keywords, without=at), itself)
        if keywords and len(document.keywords) > 2:
            yield Pair(", ".join(document.keywords), Form(place, keywords=False), itself)


def group_by_field(
    pairs: list[Pair], texts: TrainingTexts, batch: int, rng: random.Random
) -> list[Pair]:
    """Reorder pairs so that each batch comes from one field.

    Documents of another field are too easy to reject. The rest of each field goes to the end,
    mixed.
    """
    fields: dict[str, list[Pair]] = {}
    for pair in pairs:
        fields.setdefault(texts.documents[pair.form.place].field, []).append(pair)
    if len(fields) < 2:
        return pairs
    batches: list[list[Pair]] = []
    rest: list[Pair] = []
    for some in fields.values():
        whole = len(some) - len(some) % batch
        batches += [some[at : at + batch] for at in range(0, whole, batch)]
        rest += some[whole:]
    rng.shuffle(batches)
    rng.shuffle(rest)
    return [pair for some in (*batches, rest) for pair in some]


_CHUNK = 512


def measure_vectors(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    relevant: Sequence[Sequence[int]],
    depth: int = 10,
) -> dict[str, float]:
    """Return the mean R and nDCG of rankings by the products of vectors; ties stay in order.

    ``relevant`` holds the rows of the documents that each query should find, at least one.
    """
    values = []
    for start in range(0, len(queries), _CHUNK):
        scores = queries[start : start + _CHUNK] @ documents.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        for row, wanted in zip(best, relevant[start : start + _CHUNK], strict=True):
            values.append(recall_and_ndcg(np.isin(row, wanted), len(wanted), depth))
    if not values:
        return {}
    recall, gain = np.mean(values, axis=0).tolist()
    return {f"R@{depth}": recall, f"nDCG@{depth}": gain}


def recall_and_ndcg(
    is_relevant: NDArray[np.bool_], relevant: int, depth: int = 10
) -> tuple[float, float]:
    """Return R and nDCG of one ranking; ``relevant`` is the number of all relevant documents."""
    first = is_relevant[:depth]
    gains = 1 / np.log2(np.arange(2, depth + 2))
    ideal = gains[: min(depth, relevant)].sum()
    return float(first.sum() / relevant), float((first * gains[: len(first)]).sum() / ideal)


_FREQUENT = 10_000
"""The most frequent words, which are never split into pieces."""


def count_words(texts: TrainingTexts, fold: int) -> list[str]:
    """Return all words of documents and training contexts, most frequent first, then by alphabet.

    The weight of a text falls with the square root of the number of texts in its field, so that the
    words of a large field leave room for the words of a small one.
    """
    by_field: dict[str, list[str]] = {}
    for place, document in enumerate(texts.documents):
        by_field.setdefault(document.field, []).append(texts.document_text(Form(place)))
    for context in texts.part("training", fold):
        by_field[texts.documents[context.cited[0]].field].append(context.text)
    counts: dict[str, float] = {}
    for own in by_field.values():
        numbers: Counter[str] = Counter()
        for text in own:
            numbers.update(set(plain_words(text)))
        for word, number in numbers.items():
            counts[word] = counts.get(word, 0.0) + number / math.sqrt(len(own))
    return sorted(counts, key=lambda word: (-counts[word], word))


def choose_pieces(words: Sequence[str], known: int, most: int) -> list[str]:
    """Return pieces of rare words: all letters and digits, and the most frequent combinations.

    ``words`` are all words, most frequent first; each word after the frequent ones counts once.
    """
    if not most:
        return []
    tokenizers = import_extra("torch", "tokenizers")
    rare = [word for word in words[min(_FREQUENT, known) :] if can_be_split(word)]
    alphabet = [*ascii_lowercase, *digits]
    model = tokenizers.Tokenizer(tokenizers.models.BPE(continuing_subword_prefix=CONTINUATION))
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=most,
        initial_alphabet=alphabet,
        continuing_subword_prefix=CONTINUATION,
        show_progress=False,
    )
    model.train_from_iterator(rare, trainer)
    letters = [mark + each for mark in ("", CONTINUATION) for each in alphabet]
    return [*letters, *sorted(set(model.get_vocab()) - set(letters))][:most]


class WordIds:
    """The numbers of a word's vectors: known words come first, then pieces of others.

    With a ``share``, words after the frequent ones are split into pieces that often, at random.
    """

    def __init__(
        self,
        words: Sequence[str],
        pieces: Sequence[str],
        share: float = 0.0,
        rng: random.Random | None = None,
    ) -> None:
        self._pieces = WordPieces(pieces, len(words))
        self._ids: dict[str, Sequence[int]] = {word: (at,) for at, word in enumerate(words)}
        self._split: dict[str, Sequence[int]] = {}
        self._share, self._rng = share, rng

    def __call__(self, word: str) -> Sequence[int]:
        """Return the numbers of a word's vectors."""
        known, rng = self._ids.get(word), self._rng
        may_split = rng is not None and self._share and known and known[0] >= _FREQUENT
        if known is not None and not (may_split and rng and rng.random() < self._share):
            return known
        if word not in self._split:
            self._split[word] = self._pieces.split(word)
        return self._split[word] or known or []
