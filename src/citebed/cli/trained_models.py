"""``citebed train``: training texts, word vectors, an encoder and its student, a ranker."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.options import ReportOptions, command_group
from citebed.cli.output import say
from citebed.errors import CitebedError
from citebed.options import option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.training import TrainingResult, TrainingTexts

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
class PrintOptions(ReportOptions):
    """The output of a training."""

    @property
    def report(self) -> Callable[[str], None]:
        """A function that prints a line of progress."""
        return (lambda _: None) if self.quiet else say

    def print_model(self, trained: TrainingResult) -> None:
        """Print a trained model."""
        after = trained.card.get("after") or {}
        row = {"model": printable(trained.path), **after, "seconds": trained.card["seconds"]}
        self.print([row], [str(trained)])


@dataclass(frozen=True, kw_only=True)
class TrainOptions(PrintOptions, SampleOptions, TextOptions):
    """Texts and settings of a training that stores checkpoints."""

    epochs: int | None = option(None, "Number of epochs.", min=1)
    batch: int | None = option(None, "Batch size.", min=2)
    changes: tuple[str, ...] = option(
        (), "Another setting, e.g. --set rate=3e-5 (repeatable).", "--set"
    )
    device: str = option("auto", "Device: auto, cpu, cuda, cuda:1 …")
    minutes: float = option(0, "Time limit in minutes; run the same command to continue.", min=0)
    checkpoint_minutes: float = option(5, "Minutes between checkpoints.", min=0)
    restart: bool = option(False, "Ignore the checkpoint and start over.")

    def train(self, work: Callable[..., TrainingResult], source: Path, **places: Any) -> None:
        """Train a model on the texts, and print the result."""
        from citebed.training.settings import Machine

        machine = Machine(self.device, self.checkpoint_minutes, self.minutes, self.restart)
        options = {**places, **self.settings, "machine": machine, "report": self.report}
        self.print_model(work(self.read(source), **options))

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
    every: bool = option(False, "Include all documents of other collections, cited or not."),
    test_year: int | None = option(
        None, "Split by year: papers from this year on are the test set.", min=1, max=9999
    ),
    quiet: bool = option(False, "Hide the summary.", "--quiet", "-q"),
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
    options: TrainOptions,
    teacher: Path | None = option(None, "Teacher encoder folder, for distillation."),
    start: str | None = option(
        None, "Static model to start from (default: citebed's; '' for none)."
    ),
) -> None:
    """Train word vectors like citebed's own: minutes on a CPU.

    An interrupted run resumes from its checkpoint, which is stored next to the model.

    Example: citebed train static acm-cr/ --contexts contexts.jsonl.xz -o mine.npz
    """
    from citebed.training import train_static

    options.train(train_static, source, out=output, teacher=teacher, start=start)


def encoder(
    source: Source,
    start: Annotated[Path, typer.Option(help="Folder of the model to start from.")],
    options: TrainOptions,
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

    places = {"out": output, "adapter": adapter, "weights": weights or ()}
    options.train(train_encoder, source, start=start, **places)


def student(
    source: Source,
    teacher: Annotated[Path, typer.Option(help="Folder of the teacher encoder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder of the student.")],
    options: TrainOptions,
    file: Path | None = option(None, "Also save only the student's layers to this file."),
    layers: int = option(4, "Number of layers of the student.", min=1),
) -> None:
    """Train a smaller, faster encoder to imitate another one.

    It takes minutes on a large GPU, days on a CPU. An interrupted run resumes from its checkpoint.

    Example: citebed train student texts.jsonl.xz --teacher mine -o my-student
    """
    from citebed.training import train_student

    options.train(train_student, source, teacher=teacher, out=output, file=file, layers=layers)


def average(
    source: Source,
    encoders: Annotated[list[Path], typer.Argument(help="Model folders from 'train encoder'.")],
    texts: TextOptions,
    printing: PrintOptions,
    output: Output = None,
    adapter: Adapter = None,
    start: Path | None = option(None, "Model that they started from; needed for an adapter."),
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
    printing.print_model(trained)


def ranker(
    collection: Annotated[
        Path,
        typer.Argument(help="Collection that was indexed with --citing (and optionally --neural)."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, e.g. ranker.json.")],
    sample: SampleOptions,
    printing: PrintOptions,
    questions: int = option(3000, "Number of training queries.", min=10),
) -> None:
    """Train a ranker: the weights of its features.

    It learns from citing sentences, in minutes on a CPU, without PyTorch. Use the result with
    --model 'bm25+learned(with=ranker.json)'.

    Example: citebed train ranker acm-cr/ -o ranker.json
    """
    from citebed.training.ranker import RankerSettings, train_ranker

    settings = RankerSettings(questions, sample.seed, sample.fold)
    silent = printing.quiet or printing.as_json
    about = train_ranker(collection, output, settings, (lambda _: None) if silent else say)
    rows, lines = [], []
    for level, measured in about["figures"].items():
        learned = measured["learned"]
        rows.append({"level": level, **learned})
        figures = ", ".join(f"{name} {value:.3f}" for name, value in learned.items())
        lines.append(f"{printable(output)}, level {level}: {figures}")
    printing.print(rows, lines)


train = command_group(
    "Train models on your own collection and citation contexts.",
    prepare, static, encoder, student, average, ranker,
)  # fmt: skip
