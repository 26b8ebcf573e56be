"""The doors: train an encoder, a student of one, or word vectors; from a collection, or from
prepared texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citebed.errors import CitebedError
from citebed.files.input_files import hash_file, is_existing_file
from citebed.training.card import card_of, data_facts
from citebed.training.prepared import FOLDS, TrainingTexts, read_prepared
from citebed.training.settings import (
    EncoderSettings,
    Machine,
    Report,
    StaticSettings,
    StudentSettings,
    described,
    device_of,
    import_torch,
    settings_of,
)
from citebed.wording import count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from citebed.collection import Collection
    from citebed.training.loop import Stage, Trainable, TrainingRun
    from citebed.training.start import Start


@dataclass(frozen=True)
class AdapterFile:
    """A file for the difference to the weights that training started from.

    ``rank`` is the width of its factors, ``base`` the SHA-256 of the public file that it belongs
    to (by default that of the file of weights), ``scale`` how much of the difference is added when
    it is used.
    """

    path: str | Path
    rank: int = 64
    base: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class Trained:
    """What was trained: where it lies, and its card."""

    path: Path
    card: Mapping[str, Any]

    def __str__(self) -> str:
        after = self.card.get("after") or {}
        figures = ", ".join(f"{name} {value:.3f}" for name, value in after.items())
        return f"{self.path}: {figures or 'not measured'}"


def texts_of(
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    also: Iterable[str | Path | Collection] = (),
    own: bool = False,
    **how: Any,
) -> TrainingTexts:
    """Training texts: those given, those of a prepared file, or those of a collection.

    ``how`` is the rest of what `prepare` takes.
    """
    prepared = isinstance(source, TrainingTexts) or (
        isinstance(source, str | Path) and is_existing_file(source)
    )
    files, others = tuple(contexts), tuple(also)
    if prepared and (files or others or own or any(how.values())):
        raise CitebedError("prepared texts hold all contexts; leave the other files out.")
    if isinstance(source, TrainingTexts):
        return source
    if prepared:
        return read_prepared(Path(str(source)))
    from citebed.training.preparing import prepare

    return prepare(source, files, others, own=own, **how)


def train_encoder(  # noqa: PLR0913 - each is one that a notebook user looks for
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    *,
    start: str | Path,
    out: str | Path | None = None,
    adapter: str | Path | AdapterFile | None = None,
    weights: Sequence[str | Path] = (),
    half: bool = False,
    machine: Machine | None = None,
    report: Report = lambda _: None,
    **settings: Any,
) -> Trained:
    """Train an encoder, from the model in the folder ``start`` on.

    ``source`` is a collection with files of ``contexts``, prepared texts or their file. Writes a
    model's folder ``out``, or the difference to the start as one small file ``adapter``, or both.
    The settings are those of `EncoderSettings`. A run that was stopped goes on when it is called
    again.
    """
    import_torch()
    from citebed.training.encoding import EncoderTask, stages_of
    from citebed.training.start import read_start

    work = _work(source, contexts, place_of(out, adapter), machine, report)
    chosen, begun = settings_of(EncoderSettings, settings), read_start(start, weights)
    data = work.checked(chosen)
    encoder = EncoderTask(begun, work.texts, chosen, work.device)
    facts = {"start": {"name": begun.folder.path.name, "sha256": begun.fingerprint}}
    run = work.run(encoder.network, stages_of(encoder), {"settings": asdict(chosen), **facts})
    _measure(run, "before", encoder.figures)
    run.train()
    _measure(run, "after", encoder.figures)
    card = card_of("encoder", data, asdict(chosen), {**_notes_of(run), **facts})
    write_trained(begun, encoder.network.arrays(), card, out, adapter, half)
    run.finish()
    return Trained(work.place, card)


def write_trained(
    begun: Start,
    learned: Mapping[str, NDArray[np.float32]],
    card: Mapping[str, Any],
    out: str | Path | None,
    adapter: str | Path | AdapterFile | None,
    half: bool,
) -> None:
    """What was learned as a model's folder, as its difference to the start, or both."""
    from citebed.retrieval.vectors.trained_weights import write_adapter
    from citebed.training.card import write_encoder

    if out:
        write_encoder(Path(out), begun, learned, card, half)
    if adapter:
        wanted = adapter if isinstance(adapter, AdapterFile) else AdapterFile(adapter)
        base = wanted.base or hash_file(begun.folder.weights)
        about = {"base": base, "scale": wanted.scale, "card": card}
        write_adapter(Path(wanted.path), learned, begun.weights, about, rank=wanted.rank)


def train_student(  # noqa: PLR0913 - likewise
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    *,
    teacher: str | Path,
    out: str | Path,
    file: str | Path | None = None,
    half: bool = False,
    machine: Machine | None = None,
    report: Report = lambda _: None,
    **settings: Any,
) -> Trained:
    """Train an encoder of fewer layers to give the vectors of the one in the folder ``teacher``.

    ``source`` is a collection with files of ``contexts``, prepared texts or their file. Writes a
    model's folder ``out``, and with ``file`` its layers alone too, as they come with citebed: for
    the teacher that citebed's own adapter makes. The settings are those of `StudentSettings`. A run
    that was stopped goes on when it is called again.
    """
    import_torch()
    from citebed.retrieval.vectors.trained_weights import read_adapter, write_student
    from citebed.training.distilling import StudentStage, StudentTask
    from citebed.training.start import read_start

    work = _work(source, contexts, Path(out), machine, report)
    chosen, taught = settings_of(StudentSettings, settings), read_start(teacher)
    data = work.checked(chosen)
    task = StudentTask(taught, work.texts, chosen, work.device)
    facts = {"teacher": {"name": taught.folder.path.name, "sha256": taught.fingerprint}}
    network = task.student.network
    run = work.run(network, [StudentStage(task)], {"settings": asdict(chosen), **facts})
    _measure(run, "before", task.figures)
    run.train()
    _measure(run, "after", task.figures)
    card = card_of("student", data, asdict(chosen), {**_notes_of(run), **facts})
    write_trained(task.begun, network.arrays(), card, out, None, half)
    if file is not None:
        write_student(Path(file), network.arrays(), read_adapter().fingerprint, {"card": card})
    run.finish()
    return Trained(work.place, card)


def train_static(  # noqa: PLR0913 - likewise
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    *,
    out: str | Path,
    teacher: str | Path | None = None,
    start: str | Path | None = None,
    machine: Machine | None = None,
    report: Report = lambda _: None,
    **settings: Any,
) -> Trained:
    """Train word vectors and write them to the file ``out``, their card beside it.

    ``source`` is a collection with files of ``contexts``, prepared texts or their file. ``teacher``
    is the folder of an encoder whose similarities are learned too; without one training starts
    from the static model ``start``, by default citebed's own (``""``: from nothing). The settings
    are those of `StaticSettings`. A run that was stopped goes on when it is called again.
    """
    import_torch()
    from citebed.training.card import write_static
    from citebed.training.static import StaticStage, StaticTask, begin

    work = _work(source, contexts, Path(out), machine, report)
    chosen = settings_of(StaticSettings, settings)
    data = work.checked(chosen)
    task = StaticTask(work.texts, chosen, work.device)
    begun = begin(task, teacher, start, report)
    belongs = {"settings": asdict(chosen), "batch": task.batch, **begun.facts}
    run = work.run(task.model, [StaticStage(task, begun.teacher, work.device)], belongs)
    _measure(run, "before", task.figures)
    run.train()
    task.model.round_to_bytes()
    _measure(run, "after", task.figures)
    card = card_of("static", data, asdict(chosen), {**_notes_of(run), **begun.facts})
    write_static(work.place, task.words, task.pieces, task.model.arrays(), card)
    run.finish()
    return Trained(work.place, card)


@dataclass(frozen=True)
class _Work:
    """What both kinds of runs have: texts, a place for the result, a machine."""

    texts: TrainingTexts
    place: Path
    machine: Machine
    device: str
    report: Report
    began: float

    def checked(
        self, settings: EncoderSettings | StaticSettings | StudentSettings
    ) -> dict[str, Any]:
        """The facts of the data, which must hold something to learn from."""
        if settings.fold >= FOLDS:
            raise CitebedError(f"the fold is {settings.fold}; expected 0 to {FOLDS - 1}.")
        data = data_facts(self.texts, settings.fold)
        kept = data["contexts"]
        if kept["training"] < 2:
            raise CitebedError(
                f"there are {count(kept['training'], 'context')} to learn from, and "
                f"{kept['test']:,} for the test. Give more contexts of citations, or another fold."
            )
        self.report(
            f"{count(data['documents'], 'document')}, {data['cited']:,} cited; "
            f"{count(kept['training'], 'context')} to learn from, {kept['test']:,} for the test"
        )
        return data

    def run(
        self, model: Trainable, stages: Sequence[Stage], belongs: Mapping[str, Any]
    ) -> TrainingRun:
        """A run, from its checkpoint on where there is one that belongs to the same."""
        from citebed.training.loop import TrainingRun

        checkpoint = self.place.with_name(f"{self.place.name}.checkpoint.npz")
        whole = {"data": self.texts.fingerprint, **belongs}
        machine, device = self.machine, self.device
        return TrainingRun(
            model, stages, checkpoint, whole, machine, device, self.report, began=self.began
        )


def _work(
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path],
    place: Path,
    machine: Machine | None,
    report: Report,
) -> _Work:
    began, chosen = time.monotonic(), machine or Machine()
    device = device_of(chosen.device)
    return _Work(texts_of(source, contexts), place, chosen, device, report, began)


def _notes_of(run: TrainingRun) -> dict[str, Any]:
    return {"device": described(run.device), **run.notes, "seconds": round(run.seconds)}


def place_of(out: str | Path | None, adapter: str | Path | AdapterFile | None) -> Path:
    """Where a model goes: its folder, or the file of the difference."""
    place = out or (adapter.path if isinstance(adapter, AdapterFile) else adapter)
    if place is None:
        raise CitebedError("say where the model goes: a folder (out) or a file (adapter).")
    return Path(place)


def _measure(run: TrainingRun, when: str, figures: Callable[[str], dict[str, float]]) -> None:
    """Measure on papers that are not learned from, unless a checkpoint knows the figures."""
    if when not in run.notes:
        run.notes[when] = figures("test")
    found = ", ".join(f"{name} {value:.4f}" for name, value in run.notes[when].items())
    run.report(f"{when}: {found or 'no paper for the test'}")
