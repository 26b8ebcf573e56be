"""Training word vectors: a text is the sum of its words' vectors, a query goes through a matrix.

A word that occurs n times counts 1 + ln n, as in `citebed.retrieval.vectors.static_model`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.vectors.model_files import Arrays, read_model
from citebed.retrieval.vectors.static_model import CONTINUATION, FORMAT, KIND, SHIPPED, StaticModel
from citebed.text.words import plain_words
from citebed.training.encoding import EncoderTask
from citebed.training.loop import Pace
from citebed.training.losses import contrast, unlike_teacher
from citebed.training.measuring import Figures, figures_of
from citebed.training.pairs import Pair, context_pairs, document_pairs, generator, passage_pairs
from citebed.training.prepared import Form, TrainingTexts
from citebed.training.settings import EncoderSettings, Report, StaticSettings, Tensor
from citebed.training.start import read_start
from citebed.training.vocabulary import WordIds, pieces_for, texts_by_field, vocabulary

_SENTENCES = 3
"""Of a document that look for the rest of it."""
_TURNS = 2
"""How often the contexts are put into passages, each time cut otherwise."""
_WARM_UP = 50
_LEAST = 0.02
_SCALE = 20.0
"""What products of vectors are multiplied by at first; learned."""
_AT_ONCE = 8192


class DeviceBags:
    """The known words of texts on a device: numbers, weights, and where each text begins."""

    def __init__(
        self, texts: Iterable[str], ids_of: Callable[[str], Sequence[int]], device: str
    ) -> None:
        ids, times, starts = array("i"), array("i"), array("q", [0])
        for text in texts:
            bag = Counter(n for word in plain_words(text) for n in ids_of(word))
            ids.extend(bag.keys())
            times.extend(bag.values())
            starts.append(len(ids))
        weights = 1 + np.log(np.array(times, np.float32))
        self.ids = torch.from_numpy(np.array(ids, np.int32)).to(device)
        self.weights = torch.from_numpy(weights).to(device)
        self._starts = torch.from_numpy(np.array(starts, np.int64)).to(device)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The words of some texts, their weights, and where each text begins among them."""
        first = self._starts[rows]
        lengths = self._starts[rows + 1] - first
        begins = torch.cumsum(lengths, 0) - lengths
        ahead = torch.repeat_interleave(first - begins, lengths)
        places = torch.arange(len(ahead), device=ahead.device) + ahead
        return self.ids[places].long(), self.weights[places], begins


class WordVectors:
    """The model: a vector for each word, the matrix of queries, and the scale of products."""

    def __init__(
        self, vectors: NDArray[np.float32], query: NDArray[np.float32], device: str
    ) -> None:
        scale = np.array(np.log(_SCALE), np.float32)
        start = {"vectors": vectors, "query": query, "scale": scale}
        self.weights = {
            name: torch.tensor(array, device=device).requires_grad_()
            for name, array in start.items()
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights by name."""
        return {name: each.detach().cpu().numpy() for name, each in self.weights.items()}

    def load(self, arrays: Arrays) -> None:
        """Take weights by name."""
        with torch.no_grad():
            for name, tensor in self.weights.items():
                tensor.copy_(torch.from_numpy(np.asarray(arrays[name])))

    def texts(self, bags: DeviceBags, rows: Tensor, query: bool, dropout: float = 0.0) -> Tensor:
        """The vectors of some texts, with a share of their words left out."""
        ids, weights, begins = bags.take(rows)
        if dropout:
            weights = weights * (torch.rand_like(weights) > dropout)
        summed = F.embedding_bag(
            ids, self.weights["vectors"], begins, mode="sum", per_sample_weights=weights
        )
        return F.normalize(summed @ self.weights["query"] if query else summed, dim=-1)

    def encode(self, bags: DeviceBags, query: bool) -> NDArray[np.float32]:
        """The vectors of all texts, nothing left out."""
        rows = torch.arange(len(bags), device=bags.ids.device)
        with torch.no_grad():
            parts = [self.texts(bags, some, query).cpu() for some in rows.split(_AT_ONCE)]
        return np.concatenate([part.numpy() for part in parts])

    def round_to_bytes(self) -> None:
        """Make the vectors what is left of them in 8 bits a number with a scale a word."""
        with torch.no_grad():
            vectors = self.weights["vectors"]
            scale = vectors.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            vectors.copy_((vectors / scale).round() * scale)


class PairTable:
    """All pairs of a run as numbers: texts and forms of documents once each."""

    def __init__(self, texts: TrainingTexts, settings: StaticSettings) -> None:
        contexts = texts.part("training", settings.fold)
        rng = generator(settings.seed, "static")
        cited = list(context_pairs(contexts, rng))
        for _ in range(_TURNS):
            cited += passage_pairs(contexts, rng)
        own = list(document_pairs(texts, rng, _SENTENCES, keywords=True))
        pairs: list[Pair] = [*cited, *own]
        self.contexts = len(cited)
        names = {name: at for at, name in enumerate(sorted({d.field for d in texts.documents}))}
        self.fields = np.array([names[each.field] for each in texts.documents], np.int64)
        self.queries = list(dict.fromkeys(pair.text for pair in pairs))
        forms = [Form(place) for place in range(len(texts.documents))]
        self.forms = list(dict.fromkeys([*forms, *(pair.form for pair in pairs)]))
        of_text = {text: row for row, text in enumerate(self.queries)}
        of_form = {form: row for row, form in enumerate(self.forms)}
        self.rows = np.array(
            [(of_text[pair.text], of_form[pair.form], pair.form.place) for pair in pairs], np.int64
        )

    def order(self, settings: StaticSettings, epoch: int) -> NDArray[np.int64]:
        """The pairs of an epoch: contexts and passages twice, half of the documents' own."""
        rng = np.random.default_rng([settings.seed, epoch])
        cited = np.arange(self.contexts)
        own = rng.permutation(np.arange(self.contexts, len(self.rows)))
        return rng.permutation(np.concatenate([cited, cited, own[: len(own) // 2]]))

    def order_by_field(self, settings: StaticSettings, epoch: int, batch: int) -> NDArray[np.int64]:
        """The same in an order in which each batch is of one field; what is left is mixed."""
        order = self.order(settings, epoch)
        fields = self.fields[self.rows[order, 2]]
        if not settings.fields_apart or not fields.any():
            return order
        batches, left = [], []
        for number in range(int(fields.max()) + 1):
            some = order[fields == number]
            whole = len(some) - len(some) % batch
            batches += np.split(some[:whole], whole // batch) if whole else []
            left.append(some[whole:])
        rng = np.random.default_rng([settings.seed, epoch, 1])
        rng.shuffle(batches)
        return np.concatenate([*batches, rng.permutation(np.concatenate(left))])


class StaticStage:
    """All epochs of word vectors."""

    name = "word vectors"
    trial = 0

    def __init__(
        self, task: StaticTask, teacher: tuple[Tensor, Tensor] | None, device: str
    ) -> None:
        self._task, self._teacher, self._device = task, teacher, device
        settings, table = task.settings, task.table
        self._rows = torch.from_numpy(table.rows).to(device)
        self.batch = min(task.batch, len(table.order(settings, 0)))
        self.epoch_steps = len(table.order(settings, 0)) // self.batch
        self.steps = settings.epochs * self.epoch_steps
        self.pace = Pace(settings.rate, min(_WARM_UP, self.steps // 4), _LEAST)
        self._epoch, self._order = -1, torch.empty(0)

    def begin(self, kept: Arrays | None) -> dict[str, NDArray[Any]]:
        """Nothing is needed from the model."""
        return dict(kept or {})

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Gradients of a batch."""
        settings, model = self._task.settings, self._task.model
        torch.manual_seed(settings.seed * 1_000_003 + step)
        rows = self._rows[self._batch_of(step, most)]
        asked, forms, places = rows.unbind(1)
        queries = model.texts(self._task.queries, asked, True, settings.word_dropout)
        documents = model.texts(self._task.documents, forms, False, settings.word_dropout)
        scores = queries @ documents.T * model.weights["scale"].exp()
        mask = (places[:, None] == places[None]) | (asked[:, None] == asked[None])
        mask.fill_diagonal_(False)
        loss = contrast(scores, mask, settings.reverse)
        if self._teacher is not None:
            theirs = self._teacher[0][asked] @ self._teacher[1][places].T
            far = unlike_teacher(scores, theirs / settings.teacher_temperature, mask)
            loss = loss + settings.teacher_weight * far
        loss.backward()
        return loss.detach()

    def _batch_of(self, step: int, most: int | None) -> Tensor:
        epoch, at = divmod(step, self.epoch_steps)
        if epoch != self._epoch:
            order = self._task.table.order_by_field(self._task.settings, epoch, self.batch)
            self._epoch, self._order = epoch, torch.from_numpy(order).to(self._device)
        first = at * self.batch
        return self._order[first : first + (most or self.batch)]


class StaticTask:
    """Texts and pairs as the model sees them, and the model."""

    def __init__(self, texts: TrainingTexts, settings: StaticSettings, device: str) -> None:
        self.texts, self.settings, self.device = texts, settings, device
        self.table = PairTable(texts, settings)
        words = vocabulary(texts_by_field(texts, settings.fold))
        self.words = words[: settings.words]
        self.pieces = pieces_for(words, len(self.words), settings.pieces)
        self._ids = WordIds(self.words, self.pieces)
        ids_of = self._ids.sometimes_cut(settings.piece_share, generator(settings.seed, "pieces"))
        self.queries = DeviceBags(self.table.queries, ids_of, device)
        shown = (texts.document_text(form) for form in self.table.forms)
        self.documents = DeviceBags(shown, ids_of, device)
        self.batch = settings.batch or (8192 if device.startswith("cuda") else 2048)
        self.model: WordVectors

    def rarity(self) -> NDArray[np.float32]:
        """How rare each word or piece is among all texts of documents: ln(N / (df + 1)), at least
        0.1."""
        ids = self.documents.ids.cpu().numpy()
        holding = np.bincount(ids, minlength=len(self.words) + len(self.pieces))
        rare = np.log(len(self.documents) / (holding + 1))
        return np.maximum(rare, 0.1).astype(np.float32)

    def figures(self, part: str) -> Figures:
        """How well the contexts of a part find what they cite among all cited documents."""
        contexts = self.texts.part(part, self.settings.fold)
        if not contexts:
            return {}
        cited = self.texts.cited
        rows = {place: row for row, place in enumerate(cited)}
        asked = DeviceBags((each.text for each in contexts), self._ids, self.device)
        shown = (self.texts.document_text(Form(place)) for place in cited)
        documents = self.model.encode(DeviceBags(shown, self._ids, self.device), query=False)
        wanted = [[rows[place] for place in each.cited] for each in contexts]
        return figures_of(self.model.encode(asked, query=True), documents, wanted)


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
    report: Report,
) -> Begun:
    """Give a task its first vectors, and the teacher's of everything that it is shown."""
    settings, rarity = task.settings, task.rarity()
    query = np.eye(settings.width, dtype=np.float32)
    if teacher is not None:
        vectors, begun = _taught(task, Path(teacher), rarity, report)
    elif start == "":
        vectors = from_nothing(len(rarity), rarity, settings.width, settings.seed)
        begun = Begun({"start": "nothing"})
    else:
        path = Path(start) if start is not None else SHIPPED
        known = [*task.words, *task.pieces]
        vectors, query = from_model(path, known, rarity, settings.width, settings.seed)
        begun = Begun({"start": {"name": path.name, "sha256": hash_file(path)}})
    task.model = WordVectors(vectors, query, task.device)
    return begun


def _taught(
    task: StaticTask, folder: Path, rarity: Vectors, report: Report
) -> tuple[Vectors, Begun]:
    begun = read_start(folder)
    encoder = EncoderTask(begun, task.texts, EncoderSettings(fold=task.settings.fold), task.device)
    report(f"the teacher reads {len(task.table.queries) + len(task.texts.documents):,} texts")
    documents = encoder.document_vectors(range(len(task.texts.documents)))
    queries = encoder.vectors(task.table.queries, encoder.settings.text_tokens)
    named = [*task.words, *(piece.strip(CONTINUATION) for piece in task.pieces)]
    words = encoder.vectors(named, _WORD_TOKENS).cpu().numpy()
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
    file = read_model(path, KIND, FORMAT)
    model = StaticModel(file)
    known = [*model.words, *model.pieces]
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
