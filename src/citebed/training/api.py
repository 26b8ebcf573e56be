"""The functions that train a model, from a collection or from prepared texts, and its card.

The card of a model records its data with hashes, all settings and versions, the device, the time,
and how well it finds what unseen papers cite, before and after training.
"""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from citebed._version import __version__
from citebed.errors import CitebedError, import_extra
from citebed.files.input_files import hash_file, is_existing_file
from citebed.files.output_files import replace_folder, write_file
from citebed.retrieval.encoders.model_folder import MODULES, TOKENISER_FILES, read_json
from citebed.training.settings import (
    EncoderSettings,
    Machine,
    Report,
    StaticSettings,
    StudentSettings,
    Tensor,
    describe_device,
    format_duration,
    import_torch,
    parse_settings,
    resolve_device,
)
from citebed.training.texts import DEVELOPMENT, FOLDS, PARTS, TEST, TrainingTexts, read_prepared
from citebed.wording import count, json_text, printable

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.retrieval.vectors.model_files import Arrays
    from citebed.training.network import InitialModel
    from citebed.training.run import Stage

Card = Mapping[str, Any]
_PACKAGES = ("torch", "transformers", "numpy", "tokenizers", "safetensors")


@dataclass(frozen=True)
class AdapterFile:
    """A file for the difference between the trained and the initial weights.

    ``rank`` is the width of its factors, ``base`` the SHA-256 of the public file that it belongs to
    (by default of the file of initial weights), ``scale`` the share of the difference that is added
    when it is used.
    """

    path: str | Path
    rank: int = 64
    base: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class TrainingResult:
    """A trained model: its path and its card."""

    path: Path
    card: Card

    def __str__(self) -> str:
        after = self.card.get("after") or {}
        values = ", ".join(f"{name} {value:.3f}" for name, value in after.items())
        return f"{self.path}: {values or 'not measured'}"


def load_training_texts(
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    also: Iterable[str | Path | Collection] = (),
    own: bool = False,
    **options: Any,
) -> TrainingTexts:
    """Return the given training texts, or the texts of a prepared file or a collection.

    ``options`` are passed to `prepare`.
    """
    is_file = isinstance(source, str | Path) and is_existing_file(source)
    is_prepared = isinstance(source, TrainingTexts) or is_file
    files, others = tuple(contexts), tuple(also)
    if is_prepared and (files or others or own or any(options.values())):
        raise CitebedError("prepared texts hold all contexts; leave the other files out.")
    if isinstance(source, TrainingTexts):
        return source
    if is_file:
        return read_prepared(Path(str(source)))
    from citebed.training.preparation import prepare  # needs polars

    return prepare(source, files, others, own=own, **options)


def train_encoder(  # noqa: PLR0913 - options that a notebook user looks for
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
) -> TrainingResult:
    """Train an encoder, starting with the model in the folder ``start``.

    ``source`` is a collection with files of ``contexts``, prepared texts, or their file. This
    writes a model's folder ``out``, the difference to the start as a small file ``adapter``, or
    both. The settings are the fields of `EncoderSettings`. If a run was interrupted, the same call
    continues it.
    """
    import_torch()
    from citebed.training.encoder import EncoderTask, encoder_stages
    from citebed.training.network import read_initial_model
    from citebed.training.run import weight_arrays

    chosen = parse_settings(EncoderSettings, settings)
    session = _Session(source, contexts, chosen, _output_path(out, adapter), machine, report)
    initial = read_initial_model(start, weights)
    task = EncoderTask(initial, session.texts, chosen, session.device)
    trained, stages = task.network.weights, encoder_stages(task)
    card = session.train("encoder", trained, stages, task.measure, {"start": initial.facts})
    _write_encoder(initial, weight_arrays(trained), card, out, adapter, half)
    return session.finish(card)


def train_student(  # noqa: PLR0913 - as above
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
) -> TrainingResult:
    """Train an encoder with fewer layers to give the vectors of the one in the folder ``teacher``.

    ``source`` is a collection with files of ``contexts``, prepared texts, or their file. This
    writes a model's folder ``out``, and with ``file`` also its layers alone, in the form that ships
    with citebed, for the teacher that citebed's own adapter makes. The settings are the fields of
    `StudentSettings`. If a run was interrupted, the same call continues it.
    """
    import_torch()
    from citebed.retrieval.vectors.trained_weights import read_adapter, write_student
    from citebed.training.encoder import StudentStage, StudentTask
    from citebed.training.network import read_initial_model
    from citebed.training.run import weight_arrays

    chosen = parse_settings(StudentSettings, settings)
    session = _Session(source, contexts, chosen, Path(out), machine, report)
    model = read_initial_model(teacher)
    task = StudentTask(model, session.texts, chosen, session.device)
    trained, stages = task.student.network.weights, [StudentStage(task)]
    card = session.train("student", trained, stages, task.measure, {"teacher": model.facts})
    arrays = weight_arrays(trained)
    _write_encoder(task.initial, arrays, card, out, None, half)
    if file is not None:
        write_student(Path(file), arrays, read_adapter().file.fingerprint, {"card": card})
    return session.finish(card)


def train_static(  # noqa: PLR0913 - as above
    source: str | Path | Collection | TrainingTexts,
    contexts: Iterable[str | Path] = (),
    *,
    out: str | Path,
    teacher: str | Path | None = None,
    start: str | Path | None = None,
    machine: Machine | None = None,
    report: Report = lambda _: None,
    **settings: Any,
) -> TrainingResult:
    """Train word vectors and write them to the file ``out``, and their card to its folder.

    ``source`` is a collection with files of ``contexts``, prepared texts, or their file.
    ``teacher`` is the folder of an encoder; the word vectors also learn its similarities. Without a
    teacher, training starts with the static model ``start``, by default citebed's own (``""``:
    random vectors). The settings are the fields of `StaticSettings`. If a run was interrupted, the
    same call continues it.
    """
    import_torch()
    from citebed.retrieval.vectors.static_model import write_static_model
    from citebed.training.run import weight_arrays
    from citebed.training.word_vectors import StaticStage, StaticTask

    chosen = parse_settings(StaticSettings, settings)
    session = _Session(source, contexts, chosen, Path(out), machine, report)
    task = StaticTask(session.texts, chosen, session.device, (teacher, start), report)
    trained, finish = task.model.weights, task.model.round_to_bytes
    card = session.train(
        "static", trained, [StaticStage(task)], task.measure, task.facts, finish, batch=task.batch
    )
    about, arrays, path = {"card": card}, weight_arrays(trained), session.path
    write_static_model(path, task.words, arrays["vectors"], arrays["query"], about, task.pieces)
    bare = path.with_suffix("")
    write_file(bare.with_name(f"{bare.name}.card.json"), json_text(card, indent=2) + "\n")
    write_file(bare.with_name(f"{bare.name}.card.md"), format_card(card))
    return session.finish(card)


def average_encoders(  # noqa: PLR0913 - as above
    source: str | Path | Collection | TrainingTexts,
    encoders: Sequence[str | Path],
    contexts: Iterable[str | Path] = (),
    *,
    out: str | Path | None = None,
    adapter: str | Path | AdapterFile | None = None,
    start: str | Path | None = None,
    weights: Sequence[str | Path] = (),
    half: bool = False,
    device: str = "auto",
    report: Report = lambda _: None,
) -> TrainingResult:
    """Average the weights of encoders that `train_encoder` made from one start and the same texts.

    The mean is slightly better than each of them and costs no more to use (Wortsman et al. 2022).
    ``source`` are those texts; their test contexts measure the result. This writes a model's folder
    ``out``, the difference to ``start`` as a small file ``adapter``, or both.
    """
    import_torch()
    from citebed.training.encoder import EncoderTask
    from citebed.training.network import read_initial_model
    from citebed.training.run import load_weights

    path, texts = _output_path(out, adapter), load_training_texts(source, contexts)
    if adapter and start is None:
        raise CitebedError(
            "--adapter needs --start: the model that the encoders were trained from."
        )
    folders = [Path(each) for each in encoders]
    cards = _check_cards(folders, texts)
    models = [read_initial_model(folder) for folder in folders]
    initial = read_initial_model(start, weights) if start is not None else models[0]
    first = models[0].weights
    for model in models[1:]:
        same = model.weights.keys() == first.keys() and all(
            array.shape == first[name].shape for name, array in model.weights.items()
        )
        if not same:
            raise CitebedError("the encoders have different architectures and cannot be averaged.")
    mean = {name: np.mean([model.weights[name] for model in models], axis=0) for name in first}
    settings = parse_settings(EncoderSettings, cards[0]["settings"])
    task = EncoderTask(initial, texts, settings, resolve_device(device))
    load_weights(task.network.weights, mean)
    after = task.measure("test")
    values = ", ".join(f"{name} {value:.4f}" for name, value in after.items())
    report(f"mean of {len(models)} encoders: {values}")
    kept = ("made", "seconds", "losses", "after")
    facts = {
        "device": describe_device(task.network.device),
        "seconds": sum(card.get("seconds", 0) for card in cards),
        "start": cards[0]["start"],
        "runs": [
            {"seed": card["settings"].get("seed"), **{name: card.get(name) for name in kept}}
            for card in cards
        ],
        "before": cards[0].get("before") or {},
        "after": after,
    }
    data = data_facts(texts, settings.fold)
    card = make_card("encoder", data, cards[0]["settings"], facts)
    _write_encoder(initial, mean, card, out, adapter, half)
    return TrainingResult(path, card)


def _check_cards(folders: Sequence[Path], texts: TrainingTexts) -> list[dict[str, Any]]:
    """Return the cards of encoders that were trained in the same way on these texts."""
    if len(folders) < 2:
        raise CitebedError("give at least two encoders to average.")
    cards: list[dict[str, Any]] = []
    for folder in folders:
        card = read_json(folder / "card.json") or {}
        if not all(isinstance(card.get(name), dict) for name in ("data", "settings", "start")):
            raise CitebedError(
                f"'{printable(folder)}' is not an encoder from 'citebed train encoder': it has no "
                "card.json with its data."
            )
        this = f"'{printable(folder)}' was trained"
        if cards and card["start"] != cards[0]["start"]:
            raise CitebedError(f"{this} from another start than '{printable(folders[0])}'.")
        if card["data"].get("sha256") != texts.fingerprint:
            raise CitebedError(f"{this} on other texts than the given ones.")
        if cards and card["settings"].get("fold") != cards[0]["settings"].get("fold"):
            raise CitebedError(f"{this} with another fold for the test.")
        cards.append(card)
    return cards


class _Session:
    """A training: its texts, settings, output path and machine. It needs enough contexts."""

    def __init__(
        self,
        source: str | Path | Collection | TrainingTexts,
        contexts: Iterable[str | Path],
        settings: EncoderSettings | StaticSettings | StudentSettings,
        path: Path,
        machine: Machine | None,
        report: Report,
    ) -> None:
        self.began, self.path, self.report = time.monotonic(), path, report
        self.settings, self.machine = settings, machine or Machine()
        self.device = resolve_device(self.machine.device)
        self.texts = load_training_texts(source, contexts)
        if settings.fold >= FOLDS:
            raise CitebedError(f"the fold is {settings.fold}; expected 0 to {FOLDS - 1}.")
        self._data = data_facts(self.texts, settings.fold)
        parts = self._data["contexts"]
        if parts["training"] < 2:
            raise CitebedError(
                f"there are {count(parts['training'], 'context')} to learn from, and "
                f"{parts['test']:,} for the test. Give more contexts of citations, or another "
                "fold."
            )
        self.report(
            f"{count(self._data['documents'], 'document')}, {self._data['cited']:,} cited; "
            f"{count(parts['training'], 'context')} to learn from, {parts['test']:,} for the test"
        )

    def train(
        self,
        kind: str,
        weights: Mapping[str, Tensor],
        stages: Sequence[Stage],
        measure: Callable[[str], dict[str, float]],
        facts: Card,
        finish: Callable[[], None] = lambda: None,
        **identity: Any,
    ) -> dict[str, Any]:
        """Run all stages, from the checkpoint of the same run if it exists, measure the model, and
        return its card. ``facts`` and ``identity`` tell runs apart, and the facts are in the card.
        """
        from citebed.training.run import TrainingRun

        checkpoint = self.path.with_name(f"{self.path.name}.checkpoint.npz")
        settings = asdict(self.settings)
        whole = {"data": self.texts.fingerprint, "settings": settings, **identity, **facts}
        machine, device = self.machine, self.device
        run = TrainingRun(
            weights, stages, checkpoint, whole, machine, device, self.report, began=self.began
        )
        for when in ("before", "after"):
            if when == "after":
                run.train()
                finish()
            if when not in run.notes:  # a checkpoint may hold the values
                run.notes[when] = measure("test")
            values = ", ".join(f"{name} {value:.4f}" for name, value in run.notes[when].items())
            self.report(f"{when}: {values or 'no paper for the test'}")
        notes = {"device": describe_device(device), **run.notes, "seconds": round(run.seconds)}
        self._end = run.finish
        return make_card(kind, self._data, settings, {**notes, **facts})

    def finish(self, card: Card) -> TrainingResult:
        """Delete the checkpoint after the model is written."""
        self._end()
        return TrainingResult(self.path, card)


def _output_path(out: str | Path | None, adapter: str | Path | AdapterFile | None) -> Path:
    path = out or (adapter.path if isinstance(adapter, AdapterFile) else adapter)
    if path is None:
        raise CitebedError("give a place for the model: a folder (out) or a file (adapter).")
    return Path(path)


def _write_encoder(
    initial: InitialModel,
    weights: Arrays,
    card: Card,
    out: str | Path | None,
    adapter: str | Path | AdapterFile | None,
    half: bool,
) -> None:
    """Write a model's folder, its difference to the start, or both.

    ``load_encoder`` and sentence-transformers read the folder; it is written completely or not at
    all.
    """
    if out:
        save = import_extra("torch", "safetensors.numpy").save_file
        kind = np.float16 if half else np.float32
        pooling = {
            "word_embedding_dimension": weights["embeddings.word_embeddings.weight"].shape[1],
            "pooling_mode_mean_tokens": True,
        }
        contents = {
            "config.json": initial.folder.config,
            "modules.json": MODULES,
            "1_Pooling/config.json": pooling,
            "card.json": card,
        }
        with replace_folder(Path(out)) as draft:
            # safetensors would write arrays that are not stored by rows in the wrong order.
            arrays = {name: np.ascontiguousarray(each, kind) for name, each in weights.items()}
            save(arrays, draft / "model.safetensors")
            for name in (*TOKENISER_FILES, "special_tokens_map.json"):
                if (initial.folder.path / name).is_file():
                    shutil.copyfile(initial.folder.path / name, draft / name)
            for name, content in contents.items():
                (draft / name).parent.mkdir(exist_ok=True)
                (draft / name).write_text(json_text(content, indent=2) + "\n", "utf-8")
            (draft / "README.md").write_text(format_card(card), "utf-8")
    if adapter:
        from citebed.retrieval.vectors.trained_weights import write_adapter

        wanted = adapter if isinstance(adapter, AdapterFile) else AdapterFile(adapter)
        base = wanted.base or hash_file(initial.folder.weights)
        about = {"base": base, "scale": wanted.scale, "card": card}
        write_adapter(Path(wanted.path), weights, initial.weights, about, rank=wanted.rank)


# --- the card -------------------------------------------------------------------------------


def data_facts(texts: TrainingTexts, fold: int) -> dict[str, Any]:
    """Return the size of the training data, its sources, and a hash of all texts."""
    return {
        **texts.about,
        "sha256": texts.fingerprint,
        "documents": len(texts.documents),
        "cited": len(texts.cited),
        "contexts": {part: len(texts.part(part, fold)) for part in PARTS},
        "test_fold": (TEST + fold) % FOLDS,
        "development_fold": (DEVELOPMENT + fold) % FOLDS,
    }


def make_card(kind: str, data: Card, settings: Card, run: Card) -> dict[str, Any]:
    """Return a card; ``run`` holds device, seconds, losses and values of measures."""
    versions = {"citebed": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "kind": kind,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "data": dict(data),
        "settings": dict(settings),
        "versions": versions,
        **run,
    }


def format_card(card: Card) -> str:
    data, contexts = card["data"], card["data"]["contexts"]
    before, after = card.get("before") or {}, card.get("after") or {}
    values = ["No citing paper is in the test fold: citebed measured nothing."]
    if after:
        values = [
            "Contexts of unseen papers, searching among all cited documents:",
            *("", "| | before | after |", "|---|---|---|"),
        ]
        for name in after:
            earlier = f"{before[name]:.4f}" if before.get(name) is not None else ""
            values.append(f"| {name} | {earlier} | {after[name]:.4f} |")
    tables: list[str] = []
    for title, rows in (("Settings", card["settings"]), ("Versions", card["versions"])):
        cells = (f"| {name} | {value} |" for name, value in rows.items())
        tables += [f"## {title}", "", "| | |", "|---|---|", *cells, ""]
    lines = [
        f"# {card['kind']} trained on {data.get('collection', 'contexts of citations')}",
        "",
        f"Made {card['made']} by citebed {card['versions']['citebed']} on {card['device']} "
        f"in {format_duration(card['seconds'])}, with the seed {card['settings']['seed']}.",
        "",
        *values,
        "",
        "## Data",
        "",
        f"{data['documents']:,} documents, {data['cited']:,} of them cited. Contexts by citing "
        f"paper: {contexts['training']:,} to learn from, {contexts['development']:,} for "
        f"development (fold {data['development_fold']} of {FOLDS}), {contexts['test']:,} for the "
        f"test (fold {data['test_fold']}).",
        "",
        f"SHA-256 of all texts: `{data['sha256']}`",
        "",
        *(f"- {each['file']}: `{each['sha256']}`" for each in data.get("files", ())),
        "",
        *tables,
    ]
    return "\n".join(lines).replace("\n\n\n", "\n\n")
