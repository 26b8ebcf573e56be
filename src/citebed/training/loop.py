"""Training, step by step: rates, checkpoints, what is told meanwhile, and how long it will take."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.vectors.model_files import Arrays
from citebed.training.checkpoints import Standing, read_checkpoint, write_checkpoint
from citebed.training.settings import Machine, Report, Tensor, described, in_words
from citebed.wording import count

_TOLD_EVERY = 20.0


class Trainable(Protocol):
    """What is trained: its weights as tensors by name, and as arrays to be kept."""

    weights: dict[str, Tensor]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights as arrays."""

    def load(self, arrays: Arrays) -> None:
        """Take them back."""


@dataclass(frozen=True)
class Pace:
    """How a stage learns: its rate, the steps until it is reached, the least part of it at the end;
    the decay of weights, and the length that gradients are cut to (0 for none)."""

    rate: float
    warm_up: int
    least: float = 0.0
    decay: float = 0.0
    clip: float = 0.0


class Stage(Protocol):
    """A part of a run with an optimiser of its own; ``trial`` is how many pairs of a batch tell how
    long all of it takes on a CPU; 0 for all."""

    name: str
    steps: int
    epoch_steps: int
    batch: int
    pace: Pace
    trial: int

    def begin(self, kept: Arrays | None) -> dict[str, NDArray[Any]]:
        """Make what the stage needs from the model, or take what a checkpoint kept of it."""

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Gradients of a step's batch, or of so many pairs of it; gives the loss."""


@dataclass
class TrainingRun:
    """One training run: what it trains, in which stages, and where its checkpoint lies.

    ``belongs`` says which data and settings it is of; ``notes`` go into the card; ``began`` is when
    the work on it began.
    """

    model: Trainable
    stages: Sequence[Stage]
    checkpoint: Path
    belongs: Mapping[str, Any]
    machine: Machine
    device: str
    report: Report = lambda _: None
    notes: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._saved = self._said = time.monotonic()
        self._before = 0.0
        self._standing = Standing()
        self._losses: deque[Tensor] = deque(maxlen=50)
        if not self.machine.restart:
            found = read_checkpoint(self.checkpoint, self.belongs)
            if found is not None:
                self._resume(found)

    @property
    def resumed(self) -> bool:
        """Whether the run goes on from a checkpoint."""
        return bool(self._standing.weights)

    @property
    def seconds(self) -> float:
        """How long the run took so far, also before it was stopped."""
        return self._before + time.monotonic() - self.began

    def _resume(self, found: Standing) -> None:
        self._standing = found
        self.model.load(found.weights)
        self.notes.update(found.notes)
        self._before = float(self.notes.get("seconds", 0))
        self.report(f"going on from {self.checkpoint.name}, made after {in_words(self._before)}")

    def train(self) -> None:
        """Go through all stages, from the checkpoint on where there is one."""
        for number in range(self._standing.stage, len(self.stages)):
            self._train_stage(number)
            self._standing = Standing(number + 1)
            self._save({}, {})

    def finish(self) -> None:
        """Take the checkpoint away, once what was trained is written."""
        self.checkpoint.unlink(missing_ok=True)

    def _train_stage(self, number: int) -> None:
        stage, first = self.stages[number], self._standing.step
        kept = stage.begin(self._standing.kept if first else None)
        optimiser = _optimiser(self.model, stage, self.device)
        _restore(optimiser, self._standing.optimiser if first else {})
        self._estimate(number)
        self._losses.extend(self.notes.pop("recent", []))
        since = time.monotonic()
        for step in range(first, stage.steps):
            self._losses.append(self._step(stage, optimiser, step))
            self._standing = Standing(number, step + 1)
            self._tell(stage, step + 1, (time.monotonic() - since) / (step + 1 - first))
            self._save_if_due(stage, step + 1, optimiser, kept)
        self.notes.setdefault("losses", {})[stage.name] = round(self._loss(), 4)
        self.report(f"{stage.name}: done, {count(stage.steps, 'step')}, loss {self._loss():.3f}")
        self._losses.clear()

    def _loss(self) -> float:
        """The mean of the last losses; they stay on the device until somebody asks."""
        return sum(map(float, self._losses)) / max(len(self._losses), 1)

    def _step(self, stage: Stage, optimiser: Any, step: int) -> Tensor:
        for group in optimiser.param_groups:
            group["lr"] = stage.pace.rate * factor(step, stage.steps, stage.pace)
        optimiser.zero_grad(set_to_none=True)
        loss = stage.learn(step)
        if stage.pace.clip:
            parameters = list(self.model.weights.values())
            torch.nn.utils.clip_grad_norm_(parameters, stage.pace.clip)
        optimiser.step()
        return loss

    def _save_if_due(
        self, stage: Stage, step: int, optimiser: Any, kept: dict[str, NDArray[Any]]
    ) -> None:
        now = time.monotonic()
        out_of_time = self.machine.minutes and now - self.began > 60 * self.machine.minutes
        due = now - self._saved > 60 * self.machine.checkpoint_minutes
        ends = step % stage.epoch_steps == 0 and step < stage.steps
        if out_of_time or due or ends:
            self._save(_stored(optimiser), kept)
        if out_of_time:
            raise CitebedError(
                f"stopped after {in_words(now - self.began)}, at step {step:,} of {stage.steps:,} "
                f"of '{stage.name}'. The same command goes on from {self.checkpoint.name}."
            )

    def _save(self, optimiser: Arrays, kept: Arrays) -> None:
        self.notes["seconds"] = round(self.seconds, 1)
        recent = {"recent": [float(each) for each in self._losses]} if self._losses else {}
        notes = {**self.notes, **recent}
        at = self._standing
        whole = Standing(at.stage, at.step, notes, self.model.arrays(), optimiser, kept)
        write_checkpoint(self.checkpoint, self.belongs, whole)
        self._saved = time.monotonic()

    def _tell(self, stage: Stage, step: int, pace: float) -> None:
        now = time.monotonic()
        if now - self._said < _TOLD_EVERY:
            return
        self._said = now
        left = in_words(pace * (stage.steps - step))
        at = f"{stage.name}: step {step:,} of {stage.steps:,}"
        self.report(f"{at}, loss {self._loss():.3f}, {left} left of it")

    def _estimate(self, number: int) -> None:
        """Tell how long the rest will take, from a few trial steps that change nothing."""
        stage = self.stages[number]
        on_gpu = self.device.startswith("cuda")
        most = stage.batch if on_gpu or not stage.trial else min(stage.trial, stage.batch)
        for _ in range(2):  # the first also warms up
            began = time.perf_counter()
            stage.learn(0, most)
            if on_gpu:
                torch.cuda.synchronize()
            took = (time.perf_counter() - began) * stage.batch / most
        for each in self.model.weights.values():
            each.grad = None
        seconds = took * sum(each.steps for each in self.stages[number:])
        self.notes.setdefault("estimate_seconds", round(seconds))
        self.report(
            f"{stage.name}: {count(stage.steps, 'step')}; all that is left takes about "
            f"{in_words(seconds)} on {described(self.device)}"
        )


def factor(step: int, steps: int, pace: Pace) -> float:
    """What part of the rate holds at a step: rising at first, then falling as a cosine."""
    falling = max(pace.least, 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(steps, 1)))))
    return min(1.0, (step + 1) / max(pace.warm_up, 1)) * falling


def _optimiser(model: Trainable, stage: Stage, device: str) -> Any:
    parameters = list(model.weights.values())
    pace, fused = stage.pace, device.startswith("cuda")
    # Without decay it is Adam.
    return torch.optim.AdamW(parameters, pace.rate, weight_decay=pace.decay, fused=fused)


def _stored(optimiser: Any) -> dict[str, NDArray[Any]]:
    """What an optimiser remembers, as arrays: ``12.exp_avg`` is that of the twelfth weight."""
    return {
        f"{number}.{name}": value.detach().cpu().numpy()
        for number, kept in optimiser.state_dict()["state"].items()
        for name, value in kept.items()
    }


def _restore(optimiser: Any, arrays: Arrays) -> None:
    if not arrays:
        return
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        number, _, inside = name.partition(".")
        state.setdefault(int(number), {})[inside] = torch.from_numpy(np.array(array))
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
