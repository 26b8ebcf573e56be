"""The doors: train an encoder or word vectors from a collection, or from prepared texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citebed.errors import CitebedError
from citebed.files.reading import file_hash
from citebed.training.card import card_of, data_facts
from citebed.training.devices import described, device_of, import_torch
from citebed.training.folds import FOLDS
from citebed.training.prepared import TrainingTexts, read_prepared
from citebed.training.settings import EncoderSettings, Machine, StaticSettings, settings_of
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.collection import Collection

Told = Callable[[str], None]


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
) -> TrainingTexts:
    """Training texts: those given, those of a prepared file, or those of a collection."""
    prepared = isinstance(source, TrainingTexts) or (
        isinstance(source, str | Path) and Path(source).is_file()
    )
    files, others = tuple(contexts), tuple(also)
    if prepared and (files or others or own):
        raise CitebedError("prepared texts hold all contexts; leave the other files out.")
    if isinstance(source, TrainingTexts):
        return source
    if prepared:
        return read_prepared(Path(str(source)))
    from citebed.training.preparing import prepare

    return prepare(source, files, others, own=own)


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
    told: Told = lambda _: None,
    **settings: Any,
) -> Trained:
    """Train an encoder, from the model in the folder ``start`` on.

    ``source`` is a collection with files of ``contexts``, prepared texts or their file. Writes a
    model's folder ``out``, or the difference to the start as one small file ``adapter``, or both.
    The settings are those of `EncoderSettings`. A run that was stopped goes on when it is called
    again.
    """
    import_torch()
    from citebed.retrieval.dense.adapter import write_adapter
    from citebed.training.encoding import Encoder, stages_of
    from citebed.training.loop import Run
    from citebed.training.outputs import write_encoder
    from citebed.training.start import read_start

    place, chosen = _place(out, adapter), settings_of(EncoderSettings, settings)
    machine = machine or Machine()
    device = device_of(machine.device)
    texts, begun = texts_of(source, contexts), read_start(start, weights)
    data = _checked(texts, chosen.fold)
    told(_summary(data))
    encoder = Encoder(begun, texts, chosen, device)
    belongs = {"data": texts.fingerprint, "start": begun.fingerprint, "settings": asdict(chosen)}
    stages, checkpoint = stages_of(encoder), _checkpoint(place)
    run = Run(encoder.network, stages, checkpoint, belongs, machine, device, told)
    _measure(run, "before", encoder.figures)
    run.train()
    _measure(run, "after", encoder.figures)
    start_facts = {"start": {"name": begun.folder.path.name, "sha256": begun.fingerprint}}
    facts = {"device": described(device), **run.notes, "seconds": round(run.seconds), **start_facts}
    card = card_of("encoder", data, asdict(chosen), facts)
    learned = encoder.network.arrays()
    if out:
        write_encoder(Path(out), begun, learned, card, half)
    if adapter:
        wanted = adapter if isinstance(adapter, AdapterFile) else AdapterFile(adapter)
        base = wanted.base or file_hash(begun.folder.weights)
        about = {"base": base, "scale": wanted.scale, "card": card}
        write_adapter(Path(wanted.path), learned, begun.weights, about, rank=wanted.rank)
    run.finish()
    return Trained(place, card)


def train_static(  # noqa: PLR0913 - likewise
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    *,
    out: str | Path,
    teacher: str | Path | None = None,
    start: str | Path | None = None,
    machine: Machine | None = None,
    told: Told = lambda _: None,
    **settings: Any,
) -> Trained:
    """Train word vectors and write them to the file ``out``, their card beside it.

    ``source`` is a collection with files of ``contexts``, prepared texts or their file. ``teacher``
    is the folder of an encoder whose similarities are learned too; without one training starts
    from the static model ``start``, by default citebed's own (``""``: from nothing). The settings
    are those of `StaticSettings`. A run that was stopped goes on when it is called again.
    """
    import_torch()
    from citebed.training.loop import Run
    from citebed.training.outputs import write_static
    from citebed.training.static import StaticStage, StaticTask
    from citebed.training.static_start import Begun, begin

    place, chosen = Path(out), settings_of(StaticSettings, settings)
    machine = machine or Machine()
    device = device_of(machine.device)
    texts = texts_of(source, contexts)
    data = _checked(texts, chosen.fold)
    told(_summary(data))
    task = StaticTask(texts, chosen, device)
    begun: Begun = begin(task, teacher, start, told)
    belongs = {"data": texts.fingerprint, "start": begun.facts, "settings": asdict(chosen)}
    stages = [StaticStage(task, begun.teacher, device)]
    run = Run(
        task.model,
        stages,
        _checkpoint(place),
        {**belongs, "batch": task.batch},
        machine,
        device,
        told,
    )
    _measure(run, "before", task.figures)
    run.train()
    task.model.round_to_bytes()
    _measure(run, "after", task.figures)
    facts = {"device": described(device), **run.notes, "seconds": round(run.seconds)}
    card = card_of("static", data, asdict(chosen), {**facts, **begun.facts})
    write_static(place, task.words, task.model.arrays(), card)
    run.finish()
    return Trained(place, card)


def _place(out: str | Path | None, adapter: str | Path | AdapterFile | None) -> Path:
    place = out or (adapter.path if isinstance(adapter, AdapterFile) else adapter)
    if place is None:
        raise CitebedError("say where the model goes: a folder (out) or a file (adapter).")
    return Path(place)


def _checkpoint(place: Path) -> Path:
    return place.with_name(f"{place.name}.checkpoint.npz")


def _checked(texts: TrainingTexts, fold: int) -> dict[str, Any]:
    """The facts of the data, which must hold something to learn from."""
    if not 0 <= fold < FOLDS:
        raise CitebedError(f"the fold is {fold}; expected 0 to {FOLDS - 1}.")
    data = data_facts(texts, fold)
    if data["contexts"]["training"] < 2:
        raise CitebedError(
            f"there are {count(data['contexts']['training'], 'context')} to learn from, and "
            f"{data['contexts']['test']} for the test. Give more contexts of citations, or "
            "another fold."
        )
    return data


def _summary(data: Mapping[str, Any]) -> str:
    kept = data["contexts"]
    return (
        f"{count(data['documents'], 'document')}, {data['cited']:,} cited; "
        f"{count(kept['training'], 'context')} to learn from, {kept['test']:,} for the test"
    )


def _measure(run: Any, when: str, figures: Callable[[str], dict[str, float]]) -> None:
    """Measure on papers that are not learned from, unless a checkpoint knows the figures."""
    if when not in run.notes:
        run.notes[when] = figures("test")
    found = ", ".join(f"{name} {value:.4f}" for name, value in run.notes[when].items())
    run.told(f"{when}: {found or 'no paper for the test'}")
