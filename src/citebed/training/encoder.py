"""Train an encoder and a student: batches, negatives, losses and stages.

A student is an encoder with a few layers that learns to give the vectors of a larger one. It starts
with some layers of its teacher, evenly spaced and including the last. It learns to match the
teacher's vector of a text, and the teacher's similarities between texts (Hinton et al. 2015; Sanh
et al. 2019 start in the same way). Its embeddings of words and positions stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from citebed.errors import CitebedError, import_extra
from citebed.retrieval.encoders.runtimes import load_tokenizer
from citebed.retrieval.vectors.model_files import Arrays
from citebed.training.network import DeviceBatch, InitialModel, Network, send
from citebed.training.run import LearningRate, Stage
from citebed.training.settings import EncoderSettings, StudentSettings, Tensor
from citebed.training.texts import (
    Form,
    Pair,
    TrainingTexts,
    assign_fold,
    context_pairs,
    document_pairs,
    group_by_field,
    measure_vectors,
    passage_pairs,
    random_source,
)

_NEGATIVE_RANKS = (5, 60)
"""Ranks of hard negatives; too many higher documents are relevant."""
_DECAY = 0.01
_WARM_UP, _STUDENT_WARM_UP = 0.05, 0.02
_MINED_AT_ONCE = 1024
_TOKENISED_AT_ONCE = 8192
_LONGEST = 512
_MASKED = -1e4
_STUDENT_TEST_FOLD = 0
"""The fold of documents that a student never sees, on which it is measured."""
_TITLE_SHARE = 0.4
_MOST_SENTENCES = 4
_FEWER_TOKENS = 16
"""A student also learns from documents that are truncated a little earlier."""


# --- losses ---------------------------------------------------------------------------------


def not_negative(pairs: Sequence[Pair], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask (texts × documents) of the documents that are not negatives for a text.

    Row i belongs to the text of pair i, whose own document is in column i. ``places`` are all
    documents of the batch. The mask covers other copies of the same document, and other documents
    that the text cites.
    """
    mask = np.zeros((len(pairs), len(places)), bool)
    columns: dict[int, list[int]] = {}
    for column, place in enumerate(places.tolist()):
        columns.setdefault(place, []).append(column)
    for row, pair in enumerate(pairs):
        for place in pair.cited:
            mask[row, columns.get(place, [])] = True
    mask[np.arange(len(pairs)), np.arange(len(pairs))] = False
    return mask


def contrastive_loss(scores: Tensor, mask: Tensor, reverse: float) -> Tensor:
    """Return the loss from texts to documents, plus ``reverse`` times that from documents to texts.

    ``scores`` are texts × documents, with the relevant ones on the diagonal. Masked scores do not
    count.
    """
    count = len(scores)
    masked = scores.masked_fill(mask, _MASKED)
    relevant = torch.arange(count, device=scores.device)
    back = F.cross_entropy(masked[:, :count].T, relevant)
    return F.cross_entropy(masked, relevant) + reverse * back


def divergence(scores: Tensor, teacher: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the Kullback-Leibler divergence of the scores from the teacher's, per text."""
    if mask is not None:
        scores, teacher = (each.masked_fill(mask, _MASKED) for each in (scores, teacher))
    own, theirs = F.log_softmax(scores, -1), F.log_softmax(teacher, -1)
    return F.kl_div(own, theirs, log_target=True, reduction="batchmean")


# --- an encoder -----------------------------------------------------------------------------


class TrainingBatch(NamedTuple):
    """A batch on the device; ``mask`` (texts × documents) marks documents that are not
    negatives."""

    batch: DeviceBatch
    mask: Tensor


class EncoderTask:
    """A network with its tokeniser, its texts and its settings."""

    def __init__(
        self, initial: InitialModel, texts: TrainingTexts, settings: EncoderSettings, device: str
    ) -> None:
        import_extra("torch", "tokenizers")
        self.texts, self.settings = texts, settings
        self.network = Network(initial, device, settings.dropout, settings.group)
        self._tokenizer = load_tokenizer(initial.folder)
        self._tokenizer.no_padding()
        self._longest = initial.folder.positions or _LONGEST
        self.workers = ThreadPoolExecutor(1, "batches")

    def tokens(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """Return the token numbers of each text, truncated to ``most`` or the model's limit."""
        self._tokenizer.enable_truncation(min(most, self._longest))
        return [each.ids for each in self._tokenizer.encode_batch_fast(list(texts))]

    def vectors(self, texts: Sequence[str], most: int) -> Tensor:
        """Return the vector of each text; the tokens of all texts are never in memory at once."""
        parts = [
            self.network.encode(self.tokens(texts[at : at + _TOKENISED_AT_ONCE], most))
            for at in range(0, len(texts), _TOKENISED_AT_ONCE)
        ]
        return torch.cat(parts) if parts else self.network.encode([])

    def document_vectors(self, places: Sequence[int]) -> Tensor:
        whole = [self.texts.document_text(Form(place)) for place in places]
        return self.vectors(whole, self.settings.document_tokens)

    def measure(self, part: str) -> dict[str, float]:
        """Measure how well contexts of a part find what they cite among all cited documents."""
        contexts = self.texts.part(part, self.settings.fold)
        if not contexts:
            return {}
        rows = {place: row for row, place in enumerate(self.texts.cited)}
        queries = self.vectors([c.text for c in contexts], self.settings.text_tokens)
        documents = self.document_vectors(self.texts.cited).cpu().numpy()
        relevant = [[rows[place] for place in context.cited] for context in contexts]
        return measure_vectors(queries.cpu().numpy(), documents, relevant)

    def batch(self, pairs: Sequence[Pair], negatives: Sequence[int]) -> TrainingBatch:
        """Send pairs to the device, with further documents as negatives."""
        settings = self.settings
        forms = [*(pair.form for pair in pairs), *(Form(place) for place in negatives)]
        documents = [self.texts.document_text(form) for form in forms]
        tokens = [
            *self.tokens([pair.text for pair in pairs], settings.text_tokens),
            *self.tokens(documents, settings.document_tokens),
        ]
        mask = not_negative(pairs, np.array([form.place for form in forms]))
        return TrainingBatch(self.network.batch(tokens), send(mask, self.network.device))

    def learn(self, batch: TrainingBatch, seed: str) -> Tensor:
        """Compute the gradients of a batch and return the loss."""
        settings, pairs = self.settings, len(batch.mask)

        def loss_of(vectors: Tensor) -> Tensor:
            scores = vectors[:pairs] @ vectors[pairs:].T / settings.temperature
            return contrastive_loss(scores, batch.mask, settings.reverse)

        return self.network.learn(batch.batch, loss_of, seed)


class PairStage:
    """A stage over batches of pairs; with ``mined``, each pair has hard negatives.

    Hard negatives are documents that the model ranked high and that the paper does not cite.
    """

    timing_pairs = 32

    def __init__(
        self, task: EncoderTask, name: str, epochs: list[list[Pair]], batch: int, rate: float,
        rng: Any = None,
    ) -> None:  # fmt: skip
        self.name, self._task, self._mining = name, task, rng
        self.batch = min(batch, *map(len, epochs))
        order = random_source(task.settings.seed, name, "fields")
        self._pairs = [group_by_field(pairs, task.texts, self.batch, order) for pairs in epochs]
        counts = [len(pairs) // self.batch for pairs in self._pairs]
        self.epoch_steps = counts[0]
        self._starts = np.cumsum([0, *counts])
        self.steps = int(self._starts[-1])
        warm_up = int(_WARM_UP * self.steps)
        self.learning_rate = LearningRate(rate, warm_up, decay=_DECAY, clip=1.0)
        self._negatives: NDArray[np.int64] | None = None
        self._next: dict[int, Future[TrainingBatch]] = {}

    def begin(self, state: Arrays | None) -> dict[str, NDArray[Any]]:
        """Find hard negatives for every pair with the current model."""
        if self._mining is None:
            return dict(state or {})
        self._negatives = state["negatives"] if state else self._mine()
        return {"negatives": self._negatives}

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Compute the gradients of a step while the next batch is being prepared."""
        task, seed = self._task, f"{self._task.settings.seed}:{self.name}:{step}"
        if most:
            return task.learn(self._batch(step, most), seed)
        future = self._next.pop(step, None) or task.workers.submit(self._batch, step)
        if step + 1 < self.steps:
            self._next = {step + 1: task.workers.submit(self._batch, step + 1)}
        return task.learn(future.result(), seed)

    def _batch(self, step: int, most: int | None = None) -> TrainingBatch:
        epoch = int(np.searchsorted(self._starts, step, side="right")) - 1
        first = (step - int(self._starts[epoch])) * self.batch
        places = slice(first, first + min(self.batch, most or self.batch))
        mined = () if self._negatives is None else self._negatives[places].ravel().tolist()
        return self._task.batch(self._pairs[epoch][places], mined)

    def _mine(self) -> NDArray[np.int64]:
        """Draw negatives for each pair from the middle ranks; in a small collection, from all
        ranks."""
        task, pairs, rows = self._task, self._pairs[0], []
        settings, rng = task.settings, self._mining
        cited: dict[str, set[int]] = {}
        for context in task.texts.part("training", settings.fold):
            cited.setdefault(context.paper_id, set()).update(context.cited)
        documents = task.document_vectors(range(len(task.texts.documents)))
        most = min(_NEGATIVE_RANKS[1], len(documents))
        for start in range(0, len(pairs), _MINED_AT_ONCE):
            some = pairs[start : start + _MINED_AT_ONCE]
            queries = task.vectors([pair.text for pair in some], settings.text_tokens)
            ranked = (queries @ documents.T).topk(most).indices.cpu().tolist()
            for pair, best in zip(some, ranked, strict=True):
                own = cited[pair.paper_id]
                middle = [place for place in best[_NEGATIVE_RANKS[0] :] if place not in own]
                if len(middle) >= settings.negatives:
                    rows.append(rng.sample(middle, settings.negatives))
                else:
                    others = [place for place in best if place not in own] or best
                    rows.append(rng.choices(others, k=settings.negatives))
        return np.array(rows, np.int64)


def encoder_stages(task: EncoderTask) -> list[Stage]:
    """Return all stages: contexts (twice), passages and documents; then hard negatives."""
    settings = task.settings
    contexts = task.texts.part("training", settings.fold)
    epochs = []
    for epoch in range(settings.epochs):
        rng = random_source(settings.seed, "contexts", epoch)
        pairs = [
            *context_pairs(contexts, rng),
            *context_pairs(contexts, rng),
            *passage_pairs(contexts, rng),
            *document_pairs(task.texts, rng),
        ]
        rng.shuffle(pairs)
        epochs.append(pairs)
    stages: list[Stage] = [PairStage(task, "contexts", epochs, settings.batch, settings.rate)]
    for epoch in range(settings.hard_epochs):
        rng = random_source(settings.seed, "hard", epoch)
        pairs = [*context_pairs(contexts, rng), *passage_pairs(contexts, rng, (3,))]
        rng.shuffle(pairs)
        name, rate = f"hard negatives {epoch + 1}", settings.hard_rate / 2**epoch
        stages.append(PairStage(task, name, [pairs], settings.hard_batch, rate, rng))
    return stages


# --- a student ------------------------------------------------------------------------------


def choose_layers(layers: int, of: int) -> list[int]:
    """Return the teacher's layers with which a student starts."""
    if not 0 < layers < of:
        raise CitebedError(f"a student of {layers} layers; its teacher has {of}: expected fewer.")
    return [round((number + 1) * of / layers) - 1 for number in range(layers)]


def make_student(teacher: InitialModel, layers: int) -> InitialModel:
    """Return some layers of a teacher as a model."""
    chosen, weights = choose_layers(layers, teacher.layers), {}
    for name, array in teacher.weights.items():
        before, layer, rest = name.partition(".layer.")
        number, _, part = rest.partition(".")
        if not layer:
            weights[name] = array
        elif int(number) in chosen:
            weights[f"{before}.layer.{chosen.index(int(number))}.{part}"] = array
    config = {**teacher.folder.config, teacher.layers_key: layers}
    return InitialModel(replace(teacher.folder, config=config), weights)


class StudentTask:
    """A teacher, its student, and the texts that the student learns from."""

    def __init__(
        self, teacher: InitialModel, texts: TrainingTexts, settings: StudentSettings, device: str
    ) -> None:
        read = EncoderSettings(
            seed=settings.seed, fold=settings.fold, dropout=0.0, group=settings.group,
            text_tokens=settings.teacher_tokens, document_tokens=settings.teacher_tokens,
        )  # fmt: skip
        self.settings, self._texts = settings, texts
        self.initial = make_student(teacher, settings.layers)
        self.teacher = EncoderTask(teacher, texts, read, device)
        shorter = replace(read, document_tokens=settings.document_tokens)
        self.student = EncoderTask(self.initial, texts, shorter, device)
        for name, weight in self.student.network.weights.items():
            weight.requires_grad_(not name.endswith("_embeddings.weight"))
        folds = [assign_fold(document.doc_id) for document in texts.documents]
        self._unseen = [at for at, fold in enumerate(folds) if fold == _STUDENT_TEST_FOLD]

    def measure(self, part: str) -> dict[str, float]:
        """Measure the student's rankings, and its similarity to the teacher on unseen documents."""
        values = self.student.measure(part)
        if self._unseen:
            own = self.student.document_vectors(self._unseen)
            both = own * self.teacher.document_vectors(self._unseen)
            values = {**values, "cosine": float(both.sum(-1).mean())}
        return values

    def seen_texts(self) -> list[str]:
        """Return what the student reads: documents, training contexts, and parts of abstracts."""
        unseen = set(self._unseen)
        seen = [place for place in range(len(self._texts.documents)) if place not in unseen]
        contexts = self._texts.part("training", self.settings.fold)
        documents = [self._texts.document_text(Form(place)) for place in seen]
        return [*documents, *(context.text for context in contexts), *self._parts(seen)]

    def _parts(self, places: Sequence[int]) -> Iterator[str]:
        """Yield one to four sentences of each abstract, some with the title."""
        rng = random_source(self.settings.seed, "parts")
        for place in places:
            title, sentences = self._texts.documents[place].title, self._texts.sentences[place]
            if len(sentences) < 2:
                yield title
                continue
            size = rng.randint(1, min(_MOST_SENTENCES, len(sentences)))
            first = rng.randint(0, len(sentences) - size)
            part = " ".join(sentences[first : first + size])
            yield f"{title}. {part}" if rng.random() < _TITLE_SHARE else part


class StudentStage:
    """All epochs of a student."""

    name, timing_pairs = "student", 32

    def __init__(self, task: StudentTask) -> None:
        settings, self._task = task.settings, task
        self._texts = task.seen_texts()
        self.batch = min(settings.batch, len(self._texts))
        self.epoch_steps = len(self._texts) // self.batch
        self.steps = self.epoch_steps * settings.epochs
        warm_up = int(_STUDENT_WARM_UP * self.steps)
        self.learning_rate = LearningRate(settings.rate, warm_up, decay=_DECAY, clip=1.0)
        self._wanted: Tensor = None
        self._tokens: list[NDArray[np.int32]] = []  # a fifth of the memory of lists
        self._order: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, np.int64))

    def begin(self, state: Arrays | None) -> dict[str, NDArray[Any]]:
        """Compute the teacher's vectors of all texts, also when a run continues."""
        most, task = self._task.settings.teacher_tokens, self._task
        self._wanted = task.teacher.vectors(self._texts, most)
        for at in range(0, len(self._texts), self.batch):
            some = task.student.tokens(self._texts[at : at + self.batch], most)
            self._tokens += [np.array(numbers, np.int32) for numbers in some]
        return dict(state or {})

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Compute the gradients of a batch, whose texts are all truncated to the same length."""
        settings, network = self._task.settings, self._task.student.network
        rng = np.random.default_rng([settings.seed, step])
        epoch, inside = divmod(step, self.epoch_steps)
        if self._order[0] != epoch:  # every epoch has its own order
            order = np.random.default_rng([settings.seed, epoch, 1])
            self._order = epoch, order.permutation(len(self._texts))
        places = self._order[1][inside * self.batch : (inside + 1) * self.batch][:most]
        limits = (
            settings.document_tokens,
            settings.document_tokens - _FEWER_TOKENS,
            settings.teacher_tokens,
        )
        limit = limits[int(rng.integers(len(limits)))]
        tokens = []
        for place in places.tolist():
            numbers = self._tokens[place].tolist()
            # The last token ends a text.
            is_short = len(numbers) <= limit
            tokens.append(numbers if is_short else [*numbers[: limit - 1], numbers[-1]])
        others = rng.integers(len(self._tokens), size=settings.others)
        wanted, bank = (self._wanted[send(some, network.device)] for some in (places, others))

        def loss_of(vectors: Tensor) -> Tensor:
            distance = 1 - (vectors * wanted).sum(-1).mean()
            own, theirs = (each @ bank.T / settings.temperature for each in (vectors, wanted))
            return settings.nearness * distance + divergence(own, theirs)

        return network.learn(network.batch(tokens), loss_of, f"{settings.seed}:student:{step}")
