"""A student: a few layers of an encoder that learn to give the vectors of the whole.

It begins as some of its teacher's layers, evenly spaced, with the last. What it learns: that its
vector of a text is that of the teacher, and that texts are as like other texts as the teacher finds
them (Hinton et al. 2015; Sanh et al. 2019 begin alike). Tables of words and positions stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.vectors.model_files import Arrays
from citebed.training.encoding import EncoderTask
from citebed.training.loop import Pace
from citebed.training.losses import unlike
from citebed.training.measuring import Figures
from citebed.training.network import sent
from citebed.training.pairs import generator
from citebed.training.prepared import Form, TrainingTexts, fold_of
from citebed.training.settings import EncoderSettings, StudentSettings, Tensor
from citebed.training.start import Start, names_of_weights

_HELD_OUT = 0
"""The fold of documents that the student does not see: how near it comes is measured on them."""
_TITLE_CHANCE = 0.4
_SENTENCES = 4
_WARM_UP = 0.02
_DECAY = 0.01
_LESS = 16
"""Tokens: the student also learns from documents that are cut a little earlier."""


def chosen_layers(layers: int, of: int) -> list[int]:
    """Which layers of a teacher a student of so many begins as."""
    if not 0 < layers < of:
        raise CitebedError(f"a student of {layers} layers; its teacher has {of}: expected fewer.")
    return [round((number + 1) * of / layers) - 1 for number in range(layers)]


def student_of(teacher: Start, layers: int) -> Start:
    """Some layers of a teacher as a model of its own."""
    kind, own = teacher.shape.architecture, chosen_layers(layers, teacher.shape.layers)
    config = {**teacher.folder.config, kind.settings[2]: layers}
    shape = replace(teacher.shape, layers=layers)
    weights = {}
    for name in names_of_weights(shape):
        number = name.removeprefix(f"{kind.layers}.").partition(".")[0]
        theirs = name
        if name.startswith(f"{kind.layers}."):
            theirs = name.replace(f".{number}.", f".{own[int(number)]}.", 1)
        weights[name] = teacher.weights[theirs]
    return Start(replace(teacher.folder, config=config), shape, weights)


def is_table(name: str) -> bool:
    """Whether a weight is a table of words or positions, which a student shares."""
    return name.endswith("_embeddings.weight")


class StudentTask:
    """A teacher, its student, and the texts that one tells the other of."""

    def __init__(
        self, teacher: Start, texts: TrainingTexts, settings: StudentSettings, device: str
    ) -> None:
        read = EncoderSettings(
            seed=settings.seed, fold=settings.fold, dropout=0.0, group=settings.group,
            text_tokens=settings.teacher_tokens, document_tokens=settings.teacher_tokens,
        )  # fmt: skip
        self.settings, self.texts = settings, texts
        self.begun = student_of(teacher, settings.layers)
        self.teacher = EncoderTask(teacher, texts, read, device)
        shorter = replace(read, document_tokens=settings.document_tokens)
        self.student = EncoderTask(self.begun, texts, shorter, device)
        for name, weight in self.student.network.weights.items():
            weight.requires_grad_(not is_table(name))

    def figures(self, part: str) -> Figures:
        """What the student finds, and how near its teacher it is on documents that it never saw."""
        held = [each for each in range(len(self.texts.documents)) if self._is_held_out(each)]
        found = self.student.figures(part)
        if held:
            both = self.student.document_vectors(held) * self.teacher.document_vectors(held)
            found = {**found, "cosine": float(both.sum(-1).mean())}
        return found

    def shown(self) -> list[str]:
        """What the student reads: documents, contexts to learn from, and parts of abstracts."""
        seen = [place for place in range(len(self.texts.documents)) if not self._is_held_out(place)]
        contexts = self.texts.part("training", self.settings.fold)
        documents = [self.texts.document_text(Form(place)) for place in seen]
        return [*documents, *(each.text for each in contexts), *self._parts(seen)]

    def _is_held_out(self, place: int) -> bool:
        return fold_of(self.texts.documents[place].doc_id) == _HELD_OUT

    def _parts(self, places: Sequence[int]) -> Iterator[str]:
        """One to four sentences of each abstract, some with the title."""
        rng = generator(self.settings.seed, "parts")
        for place in places:
            title, said = self.texts.documents[place].title, self.texts.sentences[place]
            if len(said) < 2:
                yield title
                continue
            size = rng.randint(1, min(_SENTENCES, len(said)))
            first = rng.randint(0, len(said) - size)
            part = " ".join(said[first : first + size])
            yield f"{title}. {part}" if rng.random() < _TITLE_CHANCE else part


class StudentStage:
    """All epochs of a student."""

    name, trial = "student", 32

    def __init__(self, task: StudentTask) -> None:
        settings, self._task = task.settings, task
        self._texts = task.shown()
        self.batch = min(settings.batch, len(self._texts))
        self.epoch_steps = len(self._texts) // self.batch
        self.steps = self.epoch_steps * settings.epochs
        warm_up = int(_WARM_UP * self.steps)
        self.pace = Pace(settings.rate, warm_up, decay=_DECAY, clip=1.0)
        self._wanted: Tensor = None
        self._tokens: list[NDArray[np.int32]] = []  # a fifth of the room of lists
        self._order: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, np.int64))

    def begin(self, kept: Arrays | None) -> dict[str, NDArray[Any]]:
        """The teacher's vectors of all texts; they are made anew when a run goes on."""
        most = self._task.settings.teacher_tokens
        self._wanted = self._task.teacher.vectors(self._texts, most)
        read = self._task.student.tokens
        for at in range(0, len(self._texts), self.batch):
            some = read(self._texts[at : at + self.batch], most)
            self._tokens += [np.array(each, np.int32) for each in some]
        return dict(kept or {})

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Gradients of a batch, whose texts are all cut alike."""
        settings, rng = self._task.settings, np.random.default_rng([self._task.settings.seed, step])
        places = self._places(step)[:most]
        cuts = (settings.document_tokens, settings.document_tokens - _LESS, settings.teacher_tokens)
        cut = cuts[int(rng.integers(len(cuts)))]
        tokens = [_cut(self._tokens[place], cut).tolist() for place in places.tolist()]
        others = rng.integers(len(self._tokens), size=settings.others)
        network = self._task.student.network
        wanted, bank = (self._wanted[sent(some, network.device)] for some in (places, others))

        def loss_of(vectors: Tensor) -> Tensor:
            apart = 1 - (vectors * wanted).sum(-1).mean()
            own, theirs = (each @ bank.T / settings.temperature for each in (vectors, wanted))
            return settings.nearness * apart + unlike(own, theirs)

        return network.learn(network.batch(tokens), loss_of, f"{settings.seed}:student:{step}")

    def _places(self, step: int) -> NDArray[np.int64]:
        """The texts of a step; every epoch has an order of its own."""
        epoch, inside = divmod(step, self.epoch_steps)
        if self._order[0] != epoch:
            rng = np.random.default_rng([self._task.settings.seed, epoch, 1])
            self._order = epoch, rng.permutation(len(self._texts))
        return self._order[1][inside * self.batch : (inside + 1) * self.batch]


def _cut(tokens: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """The first tokens and the last, which ends a text."""
    return tokens if len(tokens) <= most else np.append(tokens[: most - 1], tokens[-1:])
