"""The verb of filtering: filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsJson, a_number, print_json
from citebed.cli.scoring_options import Debug, On, SparkConf
from citebed.errors import CitebedError, CollectionError
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.timeline.filters.base import Filter, Tools
    from citebed.timeline.filters.running import FilterReport
    from citebed.timeline.streams.stream_files import Source

ANALYSER = "english"
SHOWN = 5
_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9})(s|min|h|d)?")


def filter_(
    stream: Annotated[
        Path,
        typer.Argument(help="JSON Lines in the order of time (.gz too), or a collection."),
    ],
    topics: Annotated[
        Path, typer.Option("--topics", "-t", help="JSON Lines: query_id, name, aliases, text.")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="names, relevance_model or incremental, or as in 'names(common=0.01)'.",
        ),
    ] = "names",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The filter run; .gz to pack it. STREAM.MODEL.run by default."
        ),
    ] = None,
    skipped: Annotated[
        Path | None,
        typer.Option("--skipped", help="List every skipped line, and why, in this file."),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option("--judgements", "-j", help="What 'incremental' learns from, as time passes."),
    ] = None,
    feedback_delay: Annotated[
        str,
        typer.Option(help="How long after a document its judgement is known: 0, 12h, 7d."),
    ] = "0",
    analyser: Annotated[str, typer.Option(help="How text becomes terms.")] = ANALYSER,
    team: Annotated[str, typer.Option(help="The first field of the run's lines.")] = "citebed",
    utc: Annotated[bool, typer.Option("--utc", help="Times without a zone are in UTC.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A line to skip is an error, and ends it.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, callback=a_number, help="Seconds between checkpoints.")
    ] = 10.0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget the checkpoint, and start over.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output, and the list of --skipped.")
    ] = False,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    part_size: Annotated[
        float,
        typer.Option(
            min=0,
            max=1e6,
            callback=a_number,
            help="With --on: MB of the stream that are a part; 0 is 16 to 128, by its size.",
        ),
    ] = 0.0,
    as_json: AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no notes, no summary.")
    ] = False,
) -> None:
    """Filter a stream for standing topics, in the order of time, and write a KBA filter run.

    A run that was stopped (killed, Ctrl-C, disk full) goes on from its last checkpoint when it is
    started again in the same way, and writes the same bytes.

    Example: citebed filter stream.jsonl --topics topics.jsonl --model names -o names.run.gz
    """
    from citebed.timeline.filters import filter_of
    from citebed.timeline.filters.running import FilterOptions, FilterTask
    from citebed.timeline.filters.topics import read_topics
    from citebed.timeline.filters.unfinished import Unfinished

    declared = filter_of(model)
    task = FilterTask(
        _source(stream, quiet),
        read_topics(topics),
        declared,
        _tools(declared, analyser, judgements, _seconds(feedback_delay)),
    )
    options = FilterOptions(
        team=team,
        header=_header(team, declared.name, topics, stream),
        about={"the analyser": analyser} if declared.needs_terms else {},
        skipped=skipped,
        naive_is_utc=utc,
        strict=strict,
        overwrite=overwrite,
        restart=restart,
        every=checkpoint_every,
    )
    path = output or Path(f"{_plain_name(stream).removesuffix('.gz')}.{declared.name}.run")
    Unfinished(path, skipped).check_place([each for each in (stream, topics, judgements) if each])
    with _telling_how_to_go_on(), progress_bar(quiet or as_json) as progress:
        known = stream.is_file() and stream.suffix != ".gz"
        progress.step("filtering", stream.stat().st_size if known else 0)
        with _filter(on, spark_conf or (), part_size) as run:
            report = run(task, path, options, progress.add)
    if not quiet:
        _tell_notes(stream, report, len(task.topics), skipped)
    _tell(report, as_json, quiet)


def _plain_name(stream: Path) -> str:
    """The name of a stream; of a pattern, which only an engine takes, that of its folder."""
    names = (part for part in reversed(stream.parts) if not set(part) & set("*?[{"))
    return stream.name if stream.exists() else next(names, stream.name)


@contextmanager
def _filter(
    on: str | None, conf: Sequence[str], part_size: float
) -> Iterator[Callable[..., FilterReport]]:
    """What runs a filter: this machine, or an engine."""
    if on is None:
        from citebed.timeline.filters.running import run_filter

        yield run_filter
        return
    from citebed.distributed.door import engine

    with engine(on, conf) as there:
        yield partial(there.filter, part=round(part_size * 1e6))


@contextmanager
def _telling_how_to_go_on() -> Iterator[None]:
    """Whatever stops a run that can be gone on with: say how, before it is said what it was."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as cause:
        notes = getattr(cause, "__notes__", [])
        if isinstance(cause, KeyboardInterrupt) and not notes:
            notes = ["stopped before the first checkpoint: the same command starts over"]
        for note in notes:
            typer.echo(note, err=True)
        raise


def _header(team: str, system: str, topics: Path, stream: Path) -> dict[str, str]:
    """What the run says of itself in its first line."""
    from citebed._version import __version__

    return {
        "team_id": team,
        "system_id": system,
        "run_type": "automatic",
        "topic_set_id": printable(topics.name),
        "corpus_id": printable(stream.name),
        "made_by": f"citebed {__version__}",
    }


def _tell_notes(stream: Path, report: FilterReport, topics: int, skipped: Path | None) -> None:
    """What was skipped, and what was given in vain; on standard error."""
    shown = report.problems[:SHOWN]
    for problem in shown:
        typer.echo(f"skipped {printable(stream)}:{problem.line}: {problem.what}", err=True)
    more = report.skipped - len(shown)
    if more:
        where = f"{printable(skipped) if skipped else '--skipped FILE'} lists them all"
        typer.echo(f"skipped {count(more, 'more line')}; {where}", err=True)
    without, unmet = len(report.unmatched), count(len(report.unmet), "judged or training document")
    told = {
        f"{without:,} of {count(topics, 'topic')} matched no document": report.unmatched,
        f"{count(len(report.unknown), 'judged topic')} not among the topics": report.unknown,
        f"{unmet} not in the stream": report.unmet,
    }
    for what, names in told.items():
        if names:
            others = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            typer.echo(f"{what}: {', '.join(names[:SHOWN])}{others}", err=True)


def _tell(report: FilterReport, as_json: bool, quiet: bool) -> None:
    if as_json:
        row: dict[str, Any] = report._asdict()
        row["problems"] = [problem._asdict() for problem in report.problems]
        print_json([row])
    elif not quiet:
        before = f" ({report.resumed:,} of them before it was stopped)" if report.resumed else ""
        again = f" ({report.repeated:,} the same document again)" if report.repeated else ""
        typer.echo(
            f"read {count(report.documents, 'document')}{before}, skipped "
            f"{count(report.skipped, 'line')}{again}, wrote {count(report.lines, 'line')}: "
            f"{printable(report.output)}"
        )


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"'{text}' is no length of time; write 0, 90s, 30min, 12h or 7d")
    return int(match[1]) * _UNITS[match[2] or ""]


def _tools(declared: Filter, analyser: str, judgements: Path | None, delay: int) -> Tools:
    from citebed.files.reading import at_hand
    from citebed.timeline.filters.base import Tools
    from citebed.timeline.filters.learning import labels_of

    if judgements is not None and not declared.takes_judgements:
        raise typer.BadParameter(
            f"'{declared.name}' does not learn from judgements; leave --judgements out, or take "
            "--model incremental"
        )
    if delay and not declared.needs_terms:
        raise typer.BadParameter(f"'{declared.name}' learns nothing; leave --feedback-delay out")
    if analyser != ANALYSER and not declared.needs_terms:
        raise typer.BadParameter(f"'{declared.name}' looks for names only; leave --analyser out")
    labels = {}
    if judgements:
        with at_hand(judgements) as file:
            labels = labels_of(file)[0]
    if not declared.needs_terms:
        return Tools(labels=labels, delay=delay)
    from citebed.retrieval.analysis import analyser_of

    chosen = analyser_of(analyser)
    return Tools(chosen.words, labels, delay, chosen.term)


def _source(stream: Path, quiet: bool) -> Source:
    """The stream: a file, or the documents of a collection by date."""
    import polars as pl

    from citebed.timeline.streams.stream_files import documents_by_date, file_source, table_source

    if stream.is_fifo():
        raise CitebedError(
            f"'{printable(stream)}' is a pipe; a stream must be a file, since a run that was "
            "stopped reads it again."
        )
    if not stream.is_dir():
        return file_source(stream)
    from citebed.collection import open_collection

    documents = documents_by_date(open_collection(stream).scan_documents()).collect()
    dated = documents.filter(pl.col("time").is_not_null())
    undated = count(documents.height - dated.height, "document")
    if not dated.height:
        raise CollectionError(
            f"{printable(stream)}: it has {undated}, and none with a date; a stream is in the "
            "order of time"
        )
    if documents.height > dated.height and not quiet:
        typer.echo(f"left out {undated} without a date", err=True)
    return table_source(printable(stream), dated)
