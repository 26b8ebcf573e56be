"""``citebed train``: training texts, word vectors, an encoder and its student, a ranker."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.options import command_group
from citebed.cli.output import print_json, say
from citebed.errors import CitebedError
from citebed.options import option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.training import TrainingResult, TrainingTexts
    from citebed.training.settings import Machine

Source = Annotated[Path, typer.Argument(help="Collection, or a file from 'citebed train prepare'.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Output folder of the trained model.")
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


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The texts to train on."""

    contexts: tuple[Path, ...] = option(
        (), "Citation contexts (JSON Lines), as for 'index --citing' (repeatable)."
    )
    also: tuple[Path, ...] = option((), "Another collection with cited documents (repeatable).")
    own: bool = option(
        False, "Also train on the collection's own citing papers (its test queries)."
    )

    def read(self, source: Path, **others: Any) -> TrainingTexts:
        """Read the texts."""
        from citebed.training.api import load_training_texts

        return load_training_texts(source, self.contexts, self.also, self.own, **others)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """The seed and the held-out papers."""

    seed: int = option(7, "Random seed.", min=0)
    fold: int = option(0, "Held-out fold of citing papers (0 to 19).", min=0, max=19)


@dataclass(frozen=True, kw_only=True)
class PrintOptions:
    """The output of a training."""

    as_json: bool = option(False, "Print the results as JSON, for programs.", "--json")
    quiet: bool = option(False, "Hide progress and summary.", "-q")

    @property
    def report(self) -> Callable[[str], None]:
        """A function that prints a line of progress."""
        return (lambda _: None) if self.quiet else say

    def print(self, trained: TrainingResult) -> None:
        """Print the result."""
        if self.as_json:
            after = trained.card.get("after") or {}
            row = {"model": printable(trained.path), **after, "seconds": trained.card["seconds"]}
            print_json([row])
        elif not self.quiet:
            typer.echo(str(trained))


@dataclass(frozen=True, kw_only=True)
class TrainOptions(SampleOptions):
    """Settings of a training that stores checkpoints."""

    epochs: int | None = option(None, "Number of epochs.", min=1)
    batch: int | None = option(None, "Batch size.", min=2)
    changes: tuple[str, ...] = option(
        (), "Another setting, e.g. --set rate=3e-5 (repeatable).", "--set"
    )
    device: str = option("auto", "Device: auto, cpu, cuda, cuda:1 …")
    minutes: float = option(0, "Time limit in minutes; run the same command to continue.", min=0)
    checkpoint_minutes: float = option(5, "Minutes between checkpoints.", min=0)
    restart: bool = option(False, "Ignore the checkpoint and start over.")

    @property
    def machine(self) -> Machine:
        """The device and the time limits."""
        from citebed.training.settings import Machine

        return Machine(self.device, self.checkpoint_minutes, self.minutes, self.restart)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that were given."""
        named = {name: getattr(self, name) for name in ("seed", "fold", "epochs", "batch")}
        settings = {name: value for name, value in named.items() if value is not None}
        for change in self.changes:
            name, _, value = change.partition("=")
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not name or math.isnan(number):
                raise CitebedError(f"--set {change}: expected a name and a number, e.g. rate=3e-5.")
            settings[name.replace("-", "_")] = int(value) if value.isdecimal() else number
        return settings


def prepare(
    collection: Annotated[Path, typer.Argument(help="The collection.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output file, e.g. texts.jsonl.xz.")
    ],
    texts: TextOptions,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Hide the summary.")] = False,
) -> None:
    """Write the training texts into one file, for a machine with a GPU.

    There, 'python -m citebed.training' needs only PyTorch. You can pass contexts of several fields,
    each with the collection that they cite.

    Example: citebed train prepare acm-cr/ --contexts contexts.jsonl.xz -o texts.jsonl.xz
    """
    from citebed.training import write_prepared

    read = texts.read(collection, every=every, test_year=test_year)
    write_prepared(output, read)
    if quiet:
        return
    size = f"{output.stat().st_size / 1e6:.1f} MB"
    typer.echo(
        f"{printable(output)}: {count(len(read.documents), 'document')}, "
        f"{count(len(read.contexts), 'context')}, {size}"
    )
    if read.about["contexts_elsewhere"]:
        left = count(read.about["contexts_elsewhere"], "context")
        typer.echo(f"skipped {left} with citations outside the given collections")


def static(
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output model (.npz).")],
    texts: TextOptions,
    options: TrainOptions,
    printing: PrintOptions,
    teacher: Annotated[
        Path | None, typer.Option(help="Teacher encoder folder, for distillation.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Static model to start from (default: citebed's; '' for none)."),
    ] = None,
) -> None:
    """Train word vectors like citebed's own: minutes on a CPU.

    An interrupted run resumes from its checkpoint, which is stored next to the model.

    Example: citebed train static acm-cr/ --contexts contexts.jsonl.xz -o mine.npz
    """
    from citebed.training import train_static

    settings: dict[str, Any] = {"teacher": teacher, "start": start, **options.settings}
    trained = train_static(
        texts.read(source), out=output, machine=options.machine, report=printing.report, **settings
    )
    printing.print(trained)


def encoder(
    source: Source,
    start: Annotated[Path, typer.Option(help="Folder of the model to start from.")],
    texts: TextOptions,
    options: TrainOptions,
    printing: PrintOptions,
    output: Output = None,
    adapter: Adapter = None,
    weights: Weights = None,
) -> None:
    """Train an encoder on citations.

    citebed prints an estimate of the time at the start: minutes on a large GPU, days on a CPU. An
    interrupted run resumes from its checkpoint, which is stored next to the output.

    Example: citebed train encoder texts.jsonl.xz --start gte-small -o mine
    """
    from citebed.training import train_encoder

    places: dict[str, Any] = {"out": output, "adapter": adapter, "weights": weights or ()}
    trained = train_encoder(
        texts.read(source), start=start, machine=options.machine, report=printing.report,
        **places, **options.settings,
    )  # fmt: skip
    printing.print(trained)


def student(
    source: Source,
    teacher: Annotated[Path, typer.Option(help="Folder of the teacher encoder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder of the student.")],
    texts: TextOptions,
    options: TrainOptions,
    printing: PrintOptions,
    file: Annotated[
        Path | None, typer.Option(help="Also save only the student's layers to this file.")
    ] = None,
    layers: Annotated[int, typer.Option(min=1, help="Number of layers of the student.")] = 4,
) -> None:
    """Train a smaller, faster encoder to imitate another one.

    It takes minutes on a large GPU, days on a CPU. An interrupted run resumes from its checkpoint.

    Example: citebed train student texts.jsonl.xz --teacher mine -o my-student
    """
    from citebed.training import train_student

    places: dict[str, Any] = {"teacher": teacher, "out": output, "file": file, "layers": layers}
    settings = {**places, **options.settings}
    trained = train_student(
        texts.read(source), machine=options.machine, report=printing.report, **settings
    )
    printing.print(trained)


def average(
    source: Source,
    encoders: Annotated[list[Path], typer.Argument(help="Model folders from 'train encoder'.")],
    texts: TextOptions,
    printing: PrintOptions,
    output: Output = None,
    adapter: Adapter = None,
    start: Annotated[
        Path | None, typer.Option(help="Model that they started from; needed for an adapter.")
    ] = None,
    weights: Weights = None,
    device: Device = "auto",
) -> None:
    """Average encoders with different seeds. The average is better than each.

    Example: citebed train average texts.jsonl.xz seed-7 seed-8 -o mine
    """
    from citebed.training import average_encoders

    places: dict[str, Any] = {"out": output, "adapter": adapter, "weights": weights or ()}
    trained = average_encoders(
        texts.read(source), encoders, start=start, device=device, report=printing.report, **places
    )
    printing.print(trained)


def ranker(
    collection: Annotated[
        Path,
        typer.Argument(help="Collection that was indexed with --citing (and optionally --neural)."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, e.g. ranker.json.")],
    sample: SampleOptions,
    printing: PrintOptions,
    questions: Annotated[int, typer.Option(min=10, help="Number of training queries.")] = 3000,
) -> None:
    """Train a ranker: feature weights and calibrated probabilities.

    It learns from citing sentences, in minutes on a CPU, without PyTorch. Use the result with
    --model 'bm25+learned(with=ranker.json)'.

    Example: citebed train ranker acm-cr/ -o ranker.json
    """
    from citebed.training.ranker import RankerSettings, train_ranker

    settings = RankerSettings(questions, sample.seed, sample.fold)
    silent = printing.quiet or printing.as_json
    about = train_ranker(collection, output, settings, (lambda _: None) if silent else say)
    if printing.as_json:
        print_json([{"level": name, **rows["learned"]} for name, rows in about["figures"].items()])
    elif not printing.quiet:
        for level, rows in about["figures"].items():
            figures = ", ".join(f"{name} {value:.3f}" for name, value in rows["learned"].items())
            typer.echo(f"{printable(output)}, level {level}: {figures}")


train = command_group(
    "Train models on your own collection and citation contexts.",
    prepare=prepare, static=static, encoder=encoder, student=student, average=average,
    ranker=ranker,
)  # fmt: skip
