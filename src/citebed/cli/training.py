"""``citebed train``: training texts, word vectors, an encoder and its student, a ranker."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsJson, Quiet, print_json
from citebed.errors import CitebedError
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.training import TrainingResult, TrainingTexts

train = typer.Typer(
    help="Train models on your own collection and citation contexts.", no_args_is_help=True
)

Source = Annotated[Path, typer.Argument(help="Collection, or a file from 'citebed train prepare'.")]
Contexts = Annotated[
    list[Path] | None,
    typer.Option(help="Citation contexts (JSON Lines), as for 'index --citing' (repeatable)."),
]
Also = Annotated[
    list[Path] | None,
    typer.Option(help="Another collection with cited documents (repeatable)."),
]
Own = Annotated[
    bool,
    typer.Option(
        "--own", help="Also train on the collection's own citing papers (its test queries)."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Fold = Annotated[int, typer.Option(min=0, max=19, help="Held-out fold of citing papers (0 to 19).")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Number of epochs.")]
BatchSize = Annotated[int | None, typer.Option(min=2, help="Batch size.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Another setting, e.g. --set rate=3e-5 (repeatable)."),
]
Adapter = Annotated[
    Path | None,
    typer.Option(help="Also save the weights as a low-rank adapter (1/15 of the model size)."),
]
Weights = Annotated[
    list[Path] | None,
    typer.Option(
        help="Weights of the model (.safetensors, .npz) if they are not in its folder (repeatable)."
    ),
]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda, cuda:1 …")]
Minutes = Annotated[
    float, typer.Option(min=0, help="Time limit in minutes; run the same command to continue.")
]
EveryMinutes = Annotated[float, typer.Option(min=0, help="Minutes between checkpoints.")]
Restart = Annotated[bool, typer.Option("--restart", help="Ignore the checkpoint and start over.")]


@train.command()
def prepare(
    collection: Annotated[Path, typer.Argument(help="The collection.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output file, e.g. texts.jsonl.xz.")
    ],
    contexts: Contexts = None,
    also: Also = None,
    own: Own = False,
    every: Annotated[
        bool,
        typer.Option("--every", help="Include all documents of other collections, cited or not."),
    ] = False,
    test_year: Annotated[
        int | None,
        typer.Option(
            min=1, max=9999, help="Split by year: papers from this year on are the test set."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write all texts that training needs into one file, for a machine with a GPU.

    There, 'python -m citebed.training' needs only PyTorch. You can pass contexts of several fields,
    each with the collection that they cite.

    Example: citebed train prepare acm-cr/ --contexts contexts.jsonl.xz -o texts.jsonl.xz
    """
    from citebed.training import write_prepared

    texts = _texts(collection, contexts, also, own, every=every, test_year=test_year)
    write_prepared(output, texts)
    if quiet:
        return
    size = f"{output.stat().st_size / 1e6:.1f} MB"
    typer.echo(
        f"{printable(output)}: {count(len(texts.documents), 'document')}, "
        f"{count(len(texts.contexts), 'context')}, {size}"
    )
    if texts.about["contexts_elsewhere"]:
        left = count(texts.about["contexts_elsewhere"], "context")
        typer.echo(f"skipped {left} with citations outside the given collections")


@train.command()
def static(
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output model (.npz).")],
    contexts: Contexts = None,
    also: Also = None,
    own: Own = False,
    teacher: Annotated[
        Path | None, typer.Option(help="Teacher encoder folder, for distillation.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Static model to start from (default: citebed's; '' for none)."),
    ] = None,
    seed: Seed = 7,
    fold: Fold = 0,
    epochs: Epochs = None,
    batch: BatchSize = None,
    changes: Changes = None,
    device: Device = "auto",
    minutes: Minutes = 0,
    checkpoint_minutes: EveryMinutes = 5,
    restart: Restart = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train word vectors like those that ship with citebed: minutes on a CPU.

    An interrupted run resumes from its checkpoint, which is stored next to the model.

    Example: citebed train static acm-cr/ --contexts contexts.jsonl.xz -o mine.npz
    """
    from citebed.training import train_static
    from citebed.training.settings import Machine

    settings = _settings(changes, seed=seed, fold=fold, epochs=epochs, batch=batch)
    machine = Machine(device, checkpoint_minutes, minutes, restart)
    texts = _texts(source, contexts, also, own)
    report = _silent if quiet else _tell
    given: dict[str, Any] = {"teacher": teacher, "start": start}
    trained = train_static(texts, out=output, machine=machine, report=report, **given, **settings)
    _finish(trained, as_json, quiet)


@train.command()
def encoder(
    source: Source,
    start: Annotated[Path, typer.Option(help="Folder of the model to start from.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output folder of the trained model.")
    ] = None,
    adapter: Adapter = None,
    contexts: Contexts = None,
    also: Also = None,
    own: Own = False,
    weights: Weights = None,
    seed: Seed = 7,
    fold: Fold = 0,
    epochs: Epochs = None,
    batch: BatchSize = None,
    changes: Changes = None,
    device: Device = "auto",
    minutes: Minutes = 0,
    checkpoint_minutes: EveryMinutes = 5,
    restart: Restart = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train an encoder on citations: minutes on a large GPU, days on a CPU.

    citebed prints an estimate of the time at the start. An interrupted run resumes from its
    checkpoint, which is stored next to the output.

    Example: citebed train encoder texts.jsonl.xz --start gte-small -o mine
    """
    from citebed.training import train_encoder
    from citebed.training.settings import Machine

    settings = _settings(changes, seed=seed, fold=fold, epochs=epochs, batch=batch)
    machine = Machine(device, checkpoint_minutes, minutes, restart)
    texts = _texts(source, contexts, also, own)
    places: dict[str, Any] = {"out": output, "adapter": adapter, "weights": weights or ()}
    report = _silent if quiet else _tell
    trained = train_encoder(
        texts, start=start, machine=machine, report=report, **places, **settings
    )
    _finish(trained, as_json, quiet)


@train.command()
def student(
    source: Source,
    teacher: Annotated[Path, typer.Option(help="Folder of the teacher encoder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder of the student.")],
    file: Annotated[
        Path | None, typer.Option(help="Also save only the student's layers to this file.")
    ] = None,
    layers: Annotated[int, typer.Option(min=1, help="Number of layers of the student.")] = 4,
    contexts: Contexts = None,
    also: Also = None,
    own: Own = False,
    seed: Seed = 7,
    fold: Fold = 0,
    epochs: Epochs = None,
    batch: BatchSize = None,
    changes: Changes = None,
    device: Device = "auto",
    minutes: Minutes = 0,
    checkpoint_minutes: EveryMinutes = 5,
    restart: Restart = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train an encoder with fewer layers, and so a faster one, to imitate another encoder.

    Minutes on a large GPU, days on a CPU. An interrupted run resumes from its checkpoint.

    Example: citebed train student texts.jsonl.xz --teacher mine -o my-student
    """
    from citebed.training import train_student
    from citebed.training.settings import Machine

    settings = _settings(changes, seed=seed, fold=fold, epochs=epochs, batch=batch, layers=layers)
    machine = Machine(device, checkpoint_minutes, minutes, restart)
    places: dict[str, Any] = {"teacher": teacher, "out": output, "file": file}
    texts = _texts(source, contexts, also, own)
    report = _silent if quiet else _tell
    trained = train_student(texts, machine=machine, report=report, **places, **settings)
    _finish(trained, as_json, quiet)


@train.command()
def average(
    source: Source,
    encoders: Annotated[list[Path], typer.Argument(help="Model folders from 'train encoder'.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output folder of the averaged model.")
    ] = None,
    adapter: Adapter = None,
    start: Annotated[
        Path | None, typer.Option(help="Model that they started from; needed for an adapter.")
    ] = None,
    weights: Weights = None,
    contexts: Contexts = None,
    also: Also = None,
    own: Own = False,
    device: Device = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Average encoders trained with different seeds; the average is better than each of them.

    Example: citebed train average texts.jsonl.xz seed-7 seed-8 -o mine
    """
    from citebed.training import average_encoders

    texts = _texts(source, contexts, also, own)
    places: dict[str, Any] = {"out": output, "adapter": adapter, "weights": weights or ()}
    report = _silent if quiet else _tell
    found = average_encoders(texts, encoders, start=start, device=device, report=report, **places)
    _finish(found, as_json, quiet)


@train.command()
def ranker(
    collection: Annotated[
        Path,
        typer.Argument(help="Collection that was indexed with --citing (and optionally --neural)."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, e.g. ranker.json.")],
    questions: Annotated[int, typer.Option(min=10, help="Number of training queries.")] = 3000,
    seed: Seed = 7,
    fold: Fold = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train the ranker: feature weights and calibrated probabilities from citing sentences.

    Takes minutes on a CPU, without PyTorch. Use the result with --model
    'bm25+learned(with=ranker.json)'.

    Example: citebed train ranker acm-cr/ -o ranker.json
    """
    from citebed.training.ranker import RankerSettings, train_ranker

    settings = RankerSettings(questions, seed, fold)
    about = train_ranker(collection, output, settings, _silent if quiet or as_json else _tell)
    if as_json:
        print_json([{"level": name, **rows["learned"]} for name, rows in about["figures"].items()])
    elif not quiet:
        for level, rows in about["figures"].items():
            found = ", ".join(
                f"{measure} {value:.3f}" for measure, value in rows["learned"].items()
            )
            typer.echo(f"{printable(output)}, level {level}: {found}")


def _texts(
    source: Path, contexts: list[Path] | None, also: list[Path] | None, own: bool, **how: Any
) -> TrainingTexts:
    from citebed.training.api import load_training_texts

    return load_training_texts(source, contexts or (), also or (), own, **how)


def _settings(changes: list[str] | None, **named: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {k: v for k, v in named.items() if v is not None}
    for change in changes or ():
        name, _, value = change.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or math.isnan(number):
            raise CitebedError(f"--set {change}: expected a name and a number, e.g. rate=3e-5.")
        found[name.replace("-", "_")] = int(value) if value.isdecimal() else number
    return found


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _silent(_: str) -> None:
    pass


def _finish(trained: TrainingResult, as_json: bool, quiet: bool) -> None:
    if as_json:
        after = trained.card.get("after") or {}
        print_json(
            [{"model": printable(trained.path), **after, "seconds": trained.card["seconds"]}]
        )
    elif not quiet:
        typer.echo(str(trained))
