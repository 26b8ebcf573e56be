"""The command ``filter``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsJson, a_number, needs, print_json
from citebed.cli.scoring_options import Debug, On, SparkConf
from citebed.errors import CitebedError, CollectionError
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.timeline.filters.runner import FilterReport
    from citebed.timeline.filters.topics import Filter, FilterContext
    from citebed.timeline.streams.stream_files import Source

ANALYSER = "english"
SHOWN = 5
_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9})(s|min|h|d)?")


def filter_(
    stream: Annotated[
        Path,
        typer.Argument(
            help="Documents sorted by time as JSON Lines (.gz allowed), or a collection."
        ),
    ],
    topics: Annotated[
        Path,
        typer.Option(
            "--topics", "-t", help="Topics as JSON Lines with query_id, name, aliases and text."
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="Model: names, relevance_model or incremental; with parameters, e.g. "
            "'names(common=0.01)'.",
        ),
    ] = "names",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Output run; .gz compresses it (default: STREAM.MODEL.run)."
        ),
    ] = None,
    skipped: Annotated[
        Path | None,
        typer.Option("--skipped", help="List every skipped line, and why, in this file."),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(
            "--judgements", "-j", help="Judgements for online learning (model 'incremental')."
        ),
    ] = None,
    feedback_delay: Annotated[
        str,
        typer.Option(help="Delay between a document and its judgement: 0, 12h, 7d."),
    ] = "0",
    analyser: Annotated[
        str, typer.Option(help="Text analyser (tokeniser and stemmer).")
    ] = ANALYSER,
    team: Annotated[
        str, typer.Option(help="Team name, the first field of each output line.")
    ] = "citebed",
    utc: Annotated[
        bool, typer.Option("--utc", help="Treat timestamps without a time zone as UTC.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at the first invalid line instead of skipping it."),
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, callback=a_number, help="Seconds between checkpoints.")
    ] = 10.0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Ignore the checkpoint and start over.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite the output and the file of --skipped.")
    ] = False,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    part_size: Annotated[
        float,
        typer.Option(
            min=0,
            max=1e6,
            callback=needs("on"),
            help="With --on: part size in MB (0: 16 to 128, chosen by stream size).",
        ),
    ] = 0.0,
    as_json: AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Hide progress, notes and summary.")
    ] = False,
) -> None:
    """Filter a time-ordered document stream for a set of topics and write a TREC KBA filter run.

    Run the same command again to resume an interrupted run (killed, Ctrl-C, disk full) from its
    last checkpoint; the output is byte-identical.

    Example: citebed filter stream.jsonl --topics topics.jsonl --model names -o names.run.gz
    """
    from citebed.timeline.filters import parse_filter
    from citebed.timeline.filters.output_files import OutputFiles
    from citebed.timeline.filters.runner import FilterOptions, FilterTask
    from citebed.timeline.filters.topics import read_topics

    declared = parse_filter(model)
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
    OutputFiles(path, skipped).check_place([each for each in (stream, topics, judgements) if each])
    with _telling_how_to_go_on(), progress_bar(quiet or as_json) as progress:
        known = stream.is_file() and stream.suffix != ".gz"
        progress.step("filtering", stream.stat().st_size if known else 0)
        with _filter(on, spark_conf or (), part_size) as run:
            report = run(task, path, options, progress.add)
    if not quiet:
        _tell_notes(stream, report, len(task.topics), skipped)
    _tell(report, as_json, quiet)


def _plain_name(stream: Path) -> str:
    """Return a stream's name; for a pattern, which only --on accepts, its folder's name."""
    names = (part for part in reversed(stream.parts) if not set(part) & set("*?[{"))
    return stream.name if stream.exists() else next(names, stream.name)


@contextmanager
def _filter(
    on: str | None, conf: Sequence[str], part_size: float
) -> Iterator[Callable[..., FilterReport]]:
    """Run the filter on this machine or on Spark."""
    if on is None:
        from citebed.timeline.filters.runner import run_filter

        yield run_filter
        return
    from citebed.distributed.engine import engine

    with engine(on, conf) as there:
        yield partial(there.filter, part=round(part_size * 1e6))


@contextmanager
def _telling_how_to_go_on() -> Iterator[None]:
    """When a run stops that can be resumed, say how before the error is reported."""
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
    """Return the first line of the run, which describes it."""
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
    """Print what was skipped and which inputs had no effect, to standard error."""
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
        f"{count(len(report.unknown), 'judged topic')} missing from --topics": report.unknown,
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
        raise typer.BadParameter(f"'{text}' is not a duration. Use 0, 90s, 30min, 12h or 7d")
    return int(match[1]) * _UNITS[match[2] or ""]


def _tools(declared: Filter, analyser: str, judgements: Path | None, delay: int) -> FilterContext:
    from citebed.files.input_files import reusable_path
    from citebed.timeline.filters.online_learning import labels_of
    from citebed.timeline.filters.topics import FilterContext

    if judgements is not None and not declared.takes_judgements:
        raise typer.BadParameter(
            f"'{declared.name}' does not learn from judgements. Remove --judgements, or use "
            "--model incremental"
        )
    if delay and not declared.needs_terms:
        raise typer.BadParameter(
            f"'{declared.name}' does not learn, so --feedback-delay has no effect. Remove it"
        )
    if analyser != ANALYSER and not declared.needs_terms:
        raise typer.BadParameter(
            f"'{declared.name}' matches names only, so --analyser has no effect. Remove it"
        )
    labels = {}
    if judgements:
        with reusable_path(judgements) as file:
            labels = labels_of(file)[0]
    if not declared.needs_terms:
        return FilterContext(labels=labels, delay=delay)
    from citebed.retrieval.analysis import analyser_of

    chosen = analyser_of(analyser)
    return FilterContext(chosen.words, labels, delay, chosen.term)


def _source(stream: Path, quiet: bool) -> Source:
    """Open the stream: a file, or the documents of a collection by date."""
    import polars as pl

    from citebed.timeline.streams.stream_files import documents_by_date, file_source, table_source

    if stream.is_fifo():
        raise CitebedError(
            f"'{printable(stream)}' is a pipe. Use a regular file, so that an interrupted run can "
            "resume."
        )
    if not stream.is_dir():
        return file_source(stream)
    from citebed.collection import open_collection

    documents = documents_by_date(open_collection(stream).scan_documents()).collect()
    dated = documents.filter(pl.col("time").is_not_null())
    undated = count(documents.height - dated.height, "document")
    if not dated.height:
        raise CollectionError(
            f"{printable(stream)}: no document has a date ({undated}). Filtering needs dates"
        )
    if documents.height > dated.height and not quiet:
        typer.echo(f"skipped {undated} without a date", err=True)
    return table_source(printable(stream), dated)
