"""Train word vectors: the vector of a text is the sum of its words' vectors.

The vector of a query is also multiplied by a matrix. A word that occurs n times counts 1 + ln n, as
in `citebed.retrieval.vectors.static_model`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.vectors.model_files import Arrays, read_model
from citebed.retrieval.vectors.static_model import CONTINUATION, FORMAT, KIND, SHIPPED, StaticModel
from citebed.text.words import plain_words
from citebed.training.encoder import EncoderTask, contrastive_loss, divergence
from citebed.training.network import read_initial_model
from citebed.training.run import LearningRate
from citebed.training.settings import EncoderSettings, Report, StaticSettings, Tensor
from citebed.training.texts import (
    Form,
    Pair,
    TrainingTexts,
    WordIds,
    choose_pieces,
    context_pairs,
    count_words,
    document_pairs,
    measure_vectors,
    passage_pairs,
    random_source,
)

Vectors = NDArray[np.float32]
_SENTENCES = 3
"""The number of sentences of a document that should find the rest of it."""
_PASSAGE_ROUNDS = 2
"""The number of times that contexts are joined into passages, each time with other boundaries."""
_WARM_UP = 50
_FINAL_FRACTION = 0.02
_INITIAL_SCALE = 20.0
"""The first factor of products of vectors; it is learned."""
_ENCODED_AT_ONCE = 8192
_LENGTH = 0.2
"""The length of initial vectors, in proportion to the rarity of the word."""
_SAMPLE = 20_000
"""The number of documents from which the main directions of a teacher's vectors are computed."""
_WORD_TOKENS = 16


# --- the model ------------------------------------------------------------------------------


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
        self._weights = torch.from_numpy(weights).to(device)
        self._starts = torch.from_numpy(np.array(starts, np.int64)).to(device)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the words of some texts, their weights, and the start of each text in them."""
        first = self._starts[rows]
        lengths = self._starts[rows + 1] - first
        begins = torch.cumsum(lengths, 0) - lengths
        ahead = torch.repeat_interleave(first - begins, lengths)
        places = torch.arange(len(ahead), device=ahead.device) + ahead
        return self.ids[places].long(), self._weights[places], begins


class WordVectors:
    """The model: a vector for each word, the matrix for queries, and the scale of products."""

    def __init__(self, vectors: Vectors, query: Vectors, device: str) -> None:
        scale = np.array(np.log(_INITIAL_SCALE), np.float32)
        initial = {"vectors": vectors, "query": query, "scale": scale}
        self.weights = {
            name: torch.tensor(values, device=device).requires_grad_()
            for name, values in initial.items()
        }

    def texts(self, bags: DeviceBags, rows: Tensor, query: bool, dropout: float = 0.0) -> Tensor:
        """Return the vectors of some texts, with a random share of their words dropped."""
        ids, weights, begins = bags.take(rows)
        if dropout:
            weights = weights * (torch.rand_like(weights) > dropout)
        summed = F.embedding_bag(
            ids, self.weights["vectors"], begins, mode="sum", per_sample_weights=weights
        )
        return F.normalize(summed @ self.weights["query"] if query else summed, dim=-1)

    def encode(self, bags: DeviceBags, query: bool) -> Vectors:
        rows = torch.arange(len(bags), device=bags.ids.device)
        with torch.no_grad():
            parts = [self.texts(bags, some, query).cpu() for some in rows.split(_ENCODED_AT_ONCE)]
        return np.concatenate([part.numpy() for part in parts])

    def round_to_bytes(self) -> None:
        """Round the vectors to 8 bits per number, with a scale per word."""
        with torch.no_grad():
            vectors = self.weights["vectors"]
            scale = vectors.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            vectors.copy_((vectors / scale).round() * scale)


# --- the task -------------------------------------------------------------------------------


class Teacher(NamedTuple):
    """An encoder's vectors of all queries and documents."""

    queries: Tensor
    documents: Tensor


class StaticTask:
    """Texts and pairs as word numbers, the model, and its initial vectors.

    ``facts`` name the teacher or the model that the vectors started from.
    """

    def __init__(
        self,
        texts: TrainingTexts,
        settings: StaticSettings,
        device: str,
        source: tuple[str | Path | None, str | Path | None],
        report: Report,
    ) -> None:
        """``source`` is the folder of a teacher, and the file of a model to start from."""
        self.settings, self.device, self._texts = settings, device, texts
        self._make_pairs()
        words = count_words(texts, settings.fold)
        self.words = words[: settings.words]
        self.pieces = choose_pieces(words, len(self.words), settings.pieces)
        self._ids = WordIds(self.words, self.pieces)
        rng = random_source(settings.seed, "pieces")
        ids_of = WordIds(self.words, self.pieces, settings.piece_share, rng)
        self.queries = DeviceBags(self._queries, ids_of, device)
        self.documents = DeviceBags(map(texts.document_text, self._forms), ids_of, device)
        self.batch = settings.batch or (8192 if device.startswith("cuda") else 2048)
        self.teacher: Teacher | None = None
        self.facts: dict[str, Any]
        self.model = WordVectors(*self._initial_vectors(*source, report), device)

    def _make_pairs(self) -> None:
        """Make all pairs as rows of query, form and document, with distinct texts only once."""
        texts, settings = self._texts, self.settings
        contexts = texts.part("training", settings.fold)
        rng = random_source(settings.seed, "static")
        citing: list[Pair] = [*context_pairs(contexts, rng)]
        for _ in range(_PASSAGE_ROUNDS):
            citing += passage_pairs(contexts, rng)
        pairs = [*citing, *document_pairs(texts, rng, _SENTENCES, keywords=True)]
        self._citing = len(citing)
        names = {name: at for at, name in enumerate(sorted({d.field for d in texts.documents}))}
        self._fields = np.array([names[d.field] for d in texts.documents], np.int64)
        self._queries = list(dict.fromkeys(pair.text for pair in pairs))
        forms = [Form(place) for place in range(len(texts.documents))]
        self._forms = list(dict.fromkeys([*forms, *(pair.form for pair in pairs)]))
        query_rows = {text: row for row, text in enumerate(self._queries)}
        form_rows = {form: row for row, form in enumerate(self._forms)}
        self.rows = np.array(
            [(query_rows[pair.text], form_rows[pair.form], pair.form.place) for pair in pairs],
            np.int64,
        )

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the pairs of an epoch: contexts and passages twice, half of the documents' own.

        If ``fields_apart`` is set, each batch comes from one field, and the rest is mixed.
        """
        settings = self.settings
        rng = np.random.default_rng([settings.seed, epoch])
        citing = np.arange(self._citing)
        own = rng.permutation(np.arange(self._citing, len(self.rows)))
        order = rng.permutation(np.concatenate([citing, citing, own[: len(own) // 2]]))
        fields = self._fields[self.rows[order, 2]]
        if not settings.fields_apart or not fields.any():
            return order
        batch = min(self.batch, len(order))
        batches, rest = [], []
        for number in range(int(fields.max()) + 1):
            some = order[fields == number]
            whole = len(some) - len(some) % batch
            batches += np.split(some[:whole], whole // batch) if whole else []
            rest.append(some[whole:])
        rng = np.random.default_rng([settings.seed, epoch, 1])
        rng.shuffle(batches)
        return np.concatenate([*batches, rng.permutation(np.concatenate(rest))])

    def measure(self, part: str) -> dict[str, float]:
        """Measure how well contexts of a part find what they cite among all cited documents."""
        texts = self._texts
        contexts = texts.part(part, self.settings.fold)
        if not contexts:
            return {}
        rows = {place: row for row, place in enumerate(texts.cited)}
        queries = DeviceBags((c.text for c in contexts), self._ids, self.device)
        shown = (texts.document_text(Form(place)) for place in texts.cited)
        documents = self.model.encode(DeviceBags(shown, self._ids, self.device), query=False)
        relevant = [[rows[place] for place in context.cited] for context in contexts]
        return measure_vectors(self.model.encode(queries, query=True), documents, relevant)

    def _initial_vectors(
        self, teacher: str | Path | None, start: str | Path | None, report: Report
    ) -> tuple[Vectors, Vectors]:
        """Return the first vectors of words and matrix, from a teacher, a model, or at random.

        Rare words get long vectors: ln(N / (df + 1)), at least 0.1.
        """
        settings = self.settings
        width, total = settings.width, len(self.words) + len(self.pieces)
        holding = np.bincount(self.documents.ids.cpu().numpy(), minlength=total)
        rarity = np.log(len(self.documents) / (holding + 1))
        rarity = np.maximum(rarity, 0.1).astype(np.float32)
        query = np.eye(width, dtype=np.float32)
        if teacher is not None:
            return self._learn_from_teacher(Path(teacher), rarity, report), query
        drawn = np.random.default_rng(settings.seed).standard_normal((len(rarity), width))
        vectors = np.asarray(drawn / np.sqrt(width) * rarity[:, None] * _LENGTH, np.float32)
        if start == "":
            self.facts = {"start": "nothing"}
            return vectors, query
        path = Path(start) if start is not None else SHIPPED
        self.facts = {"start": {"name": path.name, "sha256": hash_file(path)}}
        file = read_model(path, KIND, FORMAT)
        model = StaticModel(file)
        known = file.arrays["vectors"] * file.arrays["scales"].astype(np.float32)[:, None]
        if known.shape[1] != width:
            raise CitebedError(
                f"the model to start from has {known.shape[1]} numbers a word, not {width}. "
                f"Give --width {known.shape[1]}, or no model."
            )
        rows = {word: row for row, word in enumerate([*model.words, *model.pieces])}
        for place, word in enumerate([*self.words, *self.pieces]):
            if word in rows:
                vectors[place] = known[rows[word]]
        return vectors, file.arrays["query"].astype(np.float32)

    def _learn_from_teacher(self, folder: Path, rarity: Vectors, report: Report) -> Vectors:
        """Return a teacher's vectors of words along the main directions of its documents.

        This also computes its vectors of all queries and documents.
        """
        initial = read_initial_model(folder)
        settings = EncoderSettings(fold=self.settings.fold)
        encoder = EncoderTask(initial, self._texts, settings, self.device)
        report(f"the teacher reads {len(self._queries) + len(self._texts.documents):,} texts")
        vectors = encoder.document_vectors(range(len(self._texts.documents)))
        self.teacher = Teacher(encoder.vectors(self._queries, settings.text_tokens), vectors)
        self.facts = {"teacher": initial.facts}
        names = [*self.words, *(piece.strip(CONTINUATION) for piece in self.pieces)]
        words = encoder.vectors(names, _WORD_TOKENS).cpu().numpy()
        documents, width = vectors.cpu().numpy(), self.settings.width
        sample = documents[np.random.default_rng(0).permutation(len(documents))[:_SAMPLE]]
        centred = sample - documents.mean(0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        projected = (words - words.mean(0)) @ directions[:, ::-1][:, :width]
        if projected.shape[1] < width:  # the teacher is narrower
            projected = np.pad(projected, ((0, 0), (0, width - projected.shape[1])))
        return np.asarray(projected * rarity[:, None] * _LENGTH, np.float32)


class StaticStage:
    """All epochs of word vectors."""

    name, timing_pairs = "word vectors", 0

    def __init__(self, task: StaticTask) -> None:
        self._task, settings = task, task.settings
        self._rows = torch.from_numpy(task.rows).to(task.device)
        pairs = len(task.order(0))
        self.batch = min(task.batch, pairs)
        self.epoch_steps = pairs // self.batch
        self.steps = settings.epochs * self.epoch_steps
        warm_up = min(_WARM_UP, self.steps // 4)
        self.learning_rate = LearningRate(settings.rate, warm_up, _FINAL_FRACTION)
        self._epoch, self._order = -1, torch.empty(0)

    def begin(self, state: Arrays | None) -> dict[str, NDArray[Any]]:
        """The stage has no state."""
        return dict(state or {})

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Compute the gradients of a batch and return the loss."""
        task, settings, model = self._task, self._task.settings, self._task.model
        torch.manual_seed(settings.seed * 1_000_003 + step)
        epoch, at = divmod(step, self.epoch_steps)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = torch.from_numpy(task.order(epoch)).to(task.device)
        first = at * self.batch
        rows = self._rows[self._order[first : first + (most or self.batch)]]
        asked, forms, places = rows.unbind(1)
        queries = model.texts(task.queries, asked, True, settings.word_dropout)
        documents = model.texts(task.documents, forms, False, settings.word_dropout)
        scores = queries @ documents.T * model.weights["scale"].exp()
        mask = (places[:, None] == places[None]) | (asked[:, None] == asked[None])
        mask.fill_diagonal_(False)
        loss = contrastive_loss(scores, mask, settings.reverse)
        if task.teacher is not None:
            theirs = task.teacher.queries[asked] @ task.teacher.documents[places].T
            wanted = theirs / settings.teacher_temperature
            loss = loss + settings.teacher_weight * divergence(scores, wanted, mask)
        loss.backward()
        return loss.detach()
