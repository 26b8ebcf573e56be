"""A training run: its stages, learning rate, checkpoints and time estimate.

A checkpoint is an ``.npz`` file of plain arrays (the weights, the optimiser's state and the state
of a stage) with a JSON text that identifies its run. citebed writes it completely or not at all.
Reading it unpickles nothing.
"""

from __future__ import annotations

import json
import math
import time
import zipfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.output_files import replace_files
from citebed.files.system_errors import open_for_reading
from citebed.retrieval.vectors.model_files import Arrays
from citebed.training.settings import Machine, Report, Tensor, describe_device, format_duration
from citebed.wording import count, printable

_SECONDS_BETWEEN_REPORTS = 20.0
_ABOUT = "about"
_RESTART = "To start over, add --restart (restart=True in Python)."


def weight_arrays(weights: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    return {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}


def load_weights(weights: Mapping[str, Tensor], arrays: Arrays) -> None:
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(torch.from_numpy(np.asarray(arrays[name])))


@dataclass(frozen=True)
class LearningRate:
    """The learning rate of a stage: it rises for ``warm_up`` steps, then falls as a cosine to
    ``final_fraction``.

    ``decay`` is the weight decay. ``clip`` is the maximum length of the gradient (0: no limit).
    """

    rate: float
    warm_up: int
    final_fraction: float = 0.0
    decay: float = 0.0
    clip: float = 0.0

    def at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step."""
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(steps, 1))))
        rising = min(1.0, (step + 1) / max(self.warm_up, 1))
        return self.rate * (rising * max(self.final_fraction, cosine))


class Stage(Protocol):
    """A part of a run with an optimiser of its own.

    ``timing_pairs`` is the number of pairs of a batch that estimate the time on a CPU; 0 for all.
    """

    name: str
    steps: int
    epoch_steps: int
    batch: int
    learning_rate: LearningRate
    timing_pairs: int

    def begin(self, state: Arrays | None) -> dict[str, NDArray[Any]]:
        """Compute the stage's state from the model, or take it from a checkpoint."""

    def learn(self, step: int, most: int | None = None) -> Tensor:
        """Compute the gradients of a step, or of ``most`` of its pairs, and return the loss."""


@dataclass(frozen=True)
class Checkpoint:
    """A run before ``step`` of ``stage``, with its ``notes`` for the card.

    ``weights`` are the arrays of the model, and ``optimiser`` the arrays of the optimiser.
    ``state`` is what the stage computed from the model at its beginning.
    """

    stage: int = 0
    step: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    optimiser: Arrays = field(default_factory=dict)
    state: Arrays = field(default_factory=dict)


_ARRAYS = {"weights": "weights", "optimiser": "optimiser", "kept": "state"}
"""The names in the file, and the fields of a checkpoint."""


def write_checkpoint(path: Path, identity: Mapping[str, Any], checkpoint: Checkpoint) -> None:
    """Replace the last checkpoint; ``identity`` must be the same when the run continues."""
    about = {"belongs": identity, "stage": checkpoint.stage, "step": checkpoint.step}
    text = json.dumps({**about, "notes": checkpoint.notes}, sort_keys=True)
    arrays = {_ABOUT: np.frombuffer(text.encode(), np.uint8)}
    for part, name in _ARRAYS.items():
        own: Arrays = getattr(checkpoint, name)
        arrays |= {f"{part}|{key}": array for key, array in own.items()}
    with replace_files(path) as (draft,), draft.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> Checkpoint | None:
    """Read the checkpoint, or return ``None``; a checkpoint of other data or settings is an
    error."""
    if not path.exists():
        return None
    try:
        with open_for_reading(path) as stream, np.load(stream, allow_pickle=False) as stored:
            about = json.loads(bytes(stored[_ABOUT]))
            _check_same(path, about["belongs"], json.loads(json.dumps(identity)))
            parts: dict[str, dict[str, NDArray[Any]]] = {}
            for name in stored.files:
                part, _, key = name.partition("|")
                parts.setdefault(part, {})[key] = stored[name]
            arrays = [parts.get(part, {}) for part in _ARRAYS]
            return Checkpoint(about["stage"], about["step"], about["notes"], *arrays)
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        what = f"'{printable(path)}' is not a checkpoint, or is damaged ({error})."
        raise CitebedError(f"{what} {_RESTART}") from None


def _check_same(path: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in sorted({*stored, *wanted}):
        theirs, ours = stored.get(name), wanted.get(name)
        if isinstance(theirs, dict) and isinstance(ours, dict):
            _check_same(path, theirs, ours)
        elif theirs != ours:
            raise CitebedError(
                f"'{printable(path)}' is the checkpoint of another run: its {name} is {theirs!r}, "
                f"not {ours!r}. Give the same data and settings to continue it. {_RESTART}"
            )


@dataclass
class TrainingRun:
    """One training run: the model's weights, its stages, and the path of its checkpoint.

    ``identity`` names the data and settings, and ``notes`` go into the card. The run began at
    ``began``.
    """

    weights: Mapping[str, Tensor]
    stages: Sequence[Stage]
    checkpoint: Path
    identity: Mapping[str, Any]
    machine: Machine
    device: str
    report: Report = lambda _: None
    notes: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._saved = self._reported = time.monotonic()
        self._seconds_before = 0.0
        self._at = Checkpoint()
        self._losses: deque[Tensor] = deque(maxlen=50)
        if self.machine.restart:
            return
        stored = read_checkpoint(self.checkpoint, self.identity)
        if stored is not None:
            self._at = stored
            load_weights(self.weights, stored.weights)
            self.notes.update(stored.notes)
            self._seconds_before = float(self.notes.get("seconds", 0))
            self.report(
                f"continuing from {self.checkpoint.name}, written after "
                f"{format_duration(self._seconds_before)}"
            )

    @property
    def seconds(self) -> float:
        """The time of the run so far, including the time before an interruption."""
        return self._seconds_before + time.monotonic() - self.began

    def train(self) -> None:
        """Train all stages, starting at the checkpoint if there is one."""
        for number in range(self._at.stage, len(self.stages)):
            stage, first = self.stages[number], self._at.step
            rate = stage.learning_rate
            state = stage.begin(self._at.state if first else None)
            parameters = list(self.weights.values())
            is_fused = self.device.startswith("cuda")
            # Without decay this is Adam.
            optimiser = torch.optim.AdamW(
                parameters, rate.rate, weight_decay=rate.decay, fused=is_fused
            )
            if first:
                _restore(optimiser, self._at.optimiser)
            self._estimate(number)
            self._losses.extend(self.notes.pop("recent", []))
            since = time.monotonic()
            for step in range(first, stage.steps):
                for group in optimiser.param_groups:
                    group["lr"] = rate.at(step, stage.steps)
                optimiser.zero_grad(set_to_none=True)
                self._losses.append(stage.learn(step))
                if rate.clip:
                    torch.nn.utils.clip_grad_norm_(parameters, rate.clip)
                optimiser.step()
                self._at = Checkpoint(number, step + 1)
                pace = (time.monotonic() - since) / (step + 1 - first)
                self._after_step(stage, step + 1, pace, optimiser, state)
            loss = self._mean_loss()
            self.notes.setdefault("losses", {})[stage.name] = round(loss, 4)
            self.report(f"{stage.name}: done, {count(stage.steps, 'step')}, loss {loss:.3f}")
            self._losses.clear()
            self._at = Checkpoint(number + 1)
            self._save({}, {})

    def finish(self) -> None:
        """Delete the checkpoint after the model is written."""
        self.checkpoint.unlink(missing_ok=True)

    def _mean_loss(self) -> float:
        """Return the mean of the last losses, which stay on the device until now."""
        return sum(map(float, self._losses)) / max(len(self._losses), 1)

    def _after_step(
        self, stage: Stage, step: int, pace: float, optimiser: Any, state: Arrays
    ) -> None:
        """Report and save if it is time, and stop at the end of ``minutes``."""
        now, machine = time.monotonic(), self.machine
        if now - self._reported >= _SECONDS_BETWEEN_REPORTS:
            self._reported = now
            left = format_duration(pace * (stage.steps - step))
            self.report(
                f"{stage.name}: step {step:,} of {stage.steps:,}, loss {self._mean_loss():.3f}, "
                f"{left} left of it"
            )
        is_over = machine.minutes and now - self.began > 60 * machine.minutes
        is_due = now - self._saved > 60 * machine.checkpoint_minutes
        if is_over or is_due or (step % stage.epoch_steps == 0 and step < stage.steps):
            # "12.exp_avg" is an array of the twelfth weight.
            arrays = {
                f"{number}.{name}": value.detach().cpu().numpy()
                for number, values in optimiser.state_dict()["state"].items()
                for name, value in values.items()
            }
            self._save(arrays, state)
        if is_over:
            raise CitebedError(
                f"stopped after {format_duration(now - self.began)}, at step {step:,} of "
                f"{stage.steps:,} of '{stage.name}'. Run the same command to continue from "
                f"{self.checkpoint.name}."
            )

    def _save(self, optimiser: Arrays, state: Arrays) -> None:
        self.notes["seconds"] = round(self.seconds, 1)
        recent = {"recent": [float(each) for each in self._losses]} if self._losses else {}
        at, notes = self._at, {**self.notes, **recent}
        whole = Checkpoint(at.stage, at.step, notes, weight_arrays(self.weights), optimiser, state)
        write_checkpoint(self.checkpoint, self.identity, whole)
        self._saved = time.monotonic()

    def _estimate(self, number: int) -> None:
        """Report how long the rest will take, from two trial steps that change nothing."""
        stage = self.stages[number]
        on_gpu = self.device.startswith("cuda")
        trial = stage.batch if on_gpu or not stage.timing_pairs else stage.timing_pairs
        most, took = min(trial, stage.batch), 0.0
        for _ in range(2):  # the first step also warms up
            began = time.perf_counter()
            stage.learn(0, most)
            if on_gpu:
                torch.cuda.synchronize()
            took = (time.perf_counter() - began) * stage.batch / most
        for tensor in self.weights.values():
            tensor.grad = None
        seconds = took * sum(each.steps for each in self.stages[number:])
        self.notes.setdefault("estimate_seconds", round(seconds))
        self.report(
            f"{stage.name}: {count(stage.steps, 'step')}; all that is left takes about "
            f"{format_duration(seconds)} on {describe_device(self.device)}"
        )


def _restore(optimiser: Any, arrays: Arrays) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = torch.from_numpy(np.array(array))
    if state:
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": state, "param_groups": groups})
