"""Training an encoder: stages, and the wrong answers that it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from citebed.errors import import_extra
from citebed.retrieval.encoders.loading.architectures import positions
from citebed.retrieval.encoders.loading.tokens import load_tokenizer
from citebed.retrieval.vectors.model_files import Arrays
from citebed.training.loop import Pace, Stage
from citebed.training.losses import contrast, not_wrong
from citebed.training.measuring import Figures, figures_of
from citebed.training.network import DeviceBatch, Network, sent
from citebed.training.pairs import (
    Pair,
    by_field,
    context_pairs,
    document_pairs,
    generator,
    passage_pairs,
)
from citebed.training.prepared import Form, TrainingTexts
from citebed.training.settings import EncoderSettings, Tensor
from citebed.training.start import Start

_RANKS = (5, 60)
"""Hard negatives come from these ranks; higher up too many are right."""
_DECAY = 0.01
_WARM_UP = 0.05
_AT_ONCE = 1024
_TOKENISED = 8192
_LONGEST = 512


class Tokens:
    """A model's tokeniser: texts as lists of numbers."""

    def __init__(self, start: Start) -> None:
        import_extra("train", "tokenizers")
        self._tokenizer = load_tokenizer(start.folder)
        self._tokenizer.no_padding()
        self._most = positions(start.folder.config) or _LONGEST

    def __call__(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """The numbers of each text, cut to so many, or to as many as the model takes."""
        self._tokenizer.enable_truncation(min(most, self._most))
        return [each.ids for each in self._tokenizer.encode_batch_fast(list(texts))]


class Ready(NamedTuple):
    """A batch on the device; ``mask`` (texts × documents) says what is no wrong answer."""

    batch: DeviceBatch
    mask: Tensor


class EncoderTask:
    """A network with its tokeniser, its texts and settings."""

    def __init__(
        self, start: Start, texts: TrainingTexts, settings: EncoderSettings, device: str
    ) -> None:
        self.texts, self.settings = texts, settings
        self.network = Network(start, device, settings.dropout, settings.group)
        self.tokens = Tokens(start)
        self.maker = ThreadPoolExecutor(1, "batches")

    def vectors(self, texts: Sequence[str], most: int) -> Tensor:
        """The vector of each text; not all are held as tokens at a time."""
        parts = [texts[at : at + _TOKENISED] for at in range(0, len(texts), _TOKENISED)]
        found = [self.network.encode(self.tokens(part, most)) for part in parts]
        return torch.cat(found) if found else self.network.encode([])

    def document_vectors(self, places: Sequence[int]) -> Tensor:
        """The vectors of documents."""
        whole = [self.texts.document_text(Form(place)) for place in places]
        return self.vectors(whole, self.settings.document_tokens)

    def figures(self, part: str) -> Figures:
        """How well the contexts of a part find what they cite among all cited documents."""
        contexts = self.texts.part(part, self.settings.fold)
        if not contexts:
            return {}
        rows = {place: row for row, place in enumerate(self.texts.cited)}
        asked = self.vectors([each.text for each in contexts], self.settings.text_tokens)
        documents = self.document_vectors(self.texts.cited).cpu().numpy()
        wanted = [[rows[place] for place in each.cited] for each in contexts]
        return figures_of(asked.cpu().numpy(), documents, wanted)

    def ready(self, pairs: Sequence[Pair], more: Sequence[int]) -> Ready:
        """A batch on the device: pairs, and further documents as wrong answers."""
        settings, texts = self.settings, self.texts
        forms = [*(pair.form for pair in pairs), *(Form(place) for place in more)]
        documents = [texts.document_text(form) for form in forms]
        tokens = [
            *self.tokens([pair.text for pair in pairs], settings.text_tokens),
            *self.tokens(documents, settings.document_tokens),
        ]
        mask = not_wrong(pairs, np.array([form.place for form in forms]))
        return Ready(self.network.batch(tokens), sent(mask, self.network.device))

    def learn(self, ready: Ready, seed: str) -> Tensor:
        """Gradients of a batch; gives the loss."""
        settings, pairs = self.settings, len(ready.mask)

        def loss_of(vectors: Tensor) -> Tensor:
            scores = vectors[:pairs] @ vectors[pairs:].T / settings.temperature
            return contrast(scores, ready.mask, settings.reverse)

        return self.network.learn(ready.batch, loss_of, seed)


class _Batches:
    """What the stages share: pairs in batches, one stage after the other."""

    trial = 32

    def __init__(
        self, encoder: EncoderTask, name: str, pairs: list[list[Pair]], batch: int
    ) -> None:
        self.batch = min(batch, *map(len, pairs))
        seed, documents = encoder.settings.seed, encoder.texts.documents
        rng = generator(seed, name, "fields")
        self._pairs = [by_field(each, documents, self.batch, rng) for each in pairs]
        self.name, self._encoder = name, encoder
        counts = [len(each) // self.batch for each in pairs]
        self.epoch_steps = counts[0]
        self._starts = np.cumsum([0, *counts])
        self.steps = int(self._starts[-1])
        self._next: dict[int, Future[Ready]] = {}

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Gradients of a batch; the next one is made meanwhile."""
        if most:
            return self._encoder.learn(self._ready(step, most), self._seed(step))
        asked = self._next.pop(step, None) or self._encoder.maker.submit(self._ready, step)
        if step + 1 < self.steps:
            self._next = {step + 1: self._encoder.maker.submit(self._ready, step + 1)}
        return self._encoder.learn(asked.result(), self._seed(step))

    def _ready(self, step: int, most: int | None = None) -> Ready:
        """The batch of a step."""
        epoch, places = self._places(step, most)
        return self._encoder.ready(self._pairs[epoch][places], self._more(places))

    def _more(self, places: slice) -> Sequence[int]:  # noqa: ARG002 - of some stages only
        """Documents that are shown as wrong answers to these pairs."""
        return ()

    def _places(self, step: int, most: int | None) -> tuple[int, slice]:
        """Which epoch a step is of, and which of its pairs it takes."""
        epoch = int(np.searchsorted(self._starts, step, side="right")) - 1
        first = (step - int(self._starts[epoch])) * self.batch
        return epoch, slice(first, first + min(self.batch, most or self.batch))

    def begin(self, kept: Arrays | None) -> dict[str, NDArray[Any]]:
        """Nothing is needed from the model."""
        return dict(kept or {})

    def _seed(self, step: int) -> str:
        return f"{self._encoder.settings.seed}:{self.name}:{step}"


class ContextStage(_Batches):
    """The first stage: contexts twice, passages, and parts of documents, all in one."""

    def __init__(self, encoder: EncoderTask) -> None:
        settings = encoder.settings
        epochs = [_mixed(encoder.texts, settings, epoch) for epoch in range(settings.epochs)]
        super().__init__(encoder, "contexts", epochs, settings.batch)
        self.pace = _pace(settings.rate, self.steps)


class HardStage(_Batches):
    """An epoch in which each pair brings documents that the model ranked high and are not cited."""

    def __init__(self, encoder: EncoderTask, epoch: int) -> None:
        settings = encoder.settings
        self._rng = generator(settings.seed, "hard", epoch)
        contexts = encoder.texts.part("training", settings.fold)
        self._cited: dict[str, set[int]] = {}
        for each in contexts:
            self._cited.setdefault(each.paper_id, set()).update(each.cited)
        whole = [*context_pairs(contexts, self._rng), *passage_pairs(contexts, self._rng, (3,))]
        self._rng.shuffle(whole)
        super().__init__(encoder, f"hard negatives {epoch + 1}", [whole], settings.hard_batch)
        self.pace = _pace(settings.hard_rate / 2**epoch, self.steps)
        self._negatives: NDArray[np.int64] = np.empty((0, 0), np.int64)

    def begin(self, kept: Arrays | None) -> dict[str, NDArray[Any]]:
        """Find the wrong answers of every pair with the model as it is now."""
        self._negatives = kept["negatives"] if kept else self._mined()
        return {"negatives": self._negatives}

    def _more(self, places: slice) -> Sequence[int]:
        return self._negatives[places].ravel().tolist()

    def _mined(self) -> NDArray[np.int64]:
        encoder, pairs, found = self._encoder, self._pairs[0], []
        documents = encoder.document_vectors(range(len(encoder.texts.documents)))
        most = min(_RANKS[1], len(documents))
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            asked = encoder.vectors([pair.text for pair in some], encoder.settings.text_tokens)
            best = (asked @ documents.T).topk(most).indices.cpu().tolist()
            found += [self._wrong(*each) for each in zip(some, best, strict=True)]
        return np.array(found, np.int64)

    def _wrong(self, pair: Pair, best: list[int]) -> list[int]:
        """Documents of middle rank that the paper does not cite; in a small collection, any."""
        cited, number = self._cited[pair.paper_id], self._encoder.settings.negatives
        middle = [place for place in best[_RANKS[0] :] if place not in cited]
        if len(middle) >= number:
            return self._rng.sample(middle, number)
        others = [place for place in best if place not in cited] or best
        return self._rng.choices(others, k=number)


def stages_of(encoder: EncoderTask) -> list[Stage]:
    """All stages of a run."""
    hard = [HardStage(encoder, epoch) for epoch in range(encoder.settings.hard_epochs)]
    return [ContextStage(encoder), *hard]


def _pace(rate: float, steps: int) -> Pace:
    return Pace(rate, int(_WARM_UP * steps), decay=_DECAY, clip=1.0)


def _mixed(texts: TrainingTexts, settings: EncoderSettings, epoch: int) -> list[Pair]:
    rng = generator(settings.seed, "contexts", epoch)
    contexts = texts.part("training", settings.fold)
    whole = [
        *context_pairs(contexts, rng),
        *context_pairs(contexts, rng),
        *passage_pairs(contexts, rng),
        *document_pairs(texts, rng),
    ]
    rng.shuffle(whole)
    return whole
