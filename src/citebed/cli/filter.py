"""The command ``filter``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.options import SparkOptions
from citebed.cli.output import print_json, say
from citebed.errors import CitebedError, CollectionError
from citebed.options import option
from citebed.report.terminal import progress_bar
from citebed.wording import count, list_first, printable

if TYPE_CHECKING:
    from citebed.timeline.filters.online_learning import Filter
    from citebed.timeline.filters.runner import FilterReport
    from citebed.timeline.filters.topics import FilterContext
    from citebed.timeline.streams.stream_files import Source

ANALYSER = "english"
SHOWN = 5
_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9})(s|min|h|d)?")


@dataclass(frozen=True, kw_only=True)
class FilterCommand:
    """How to filter, and the run to write."""

    model: str = option(
        "names",
        "Model: names (matches the topic's names), relevance_model (compares terms) or incremental "
        "(learns from judgements); with parameters, e.g. 'names(common=0.01)'.",
        "-m",
    )
    output: Path | None = option(
        None, "Output run; .gz compresses it (default: STREAM.MODEL.run).", "-o"
    )
    skipped: Path | None = option(None, "List every skipped line, and why, in this file.")
    judgements: Path | None = option(None, "Judgements to learn from (model 'incremental').", "-j")
    feedback_delay: str = option("0", "Delay between a document and its judgement: 0, 12h, 7d.")
    analyser: str = option(ANALYSER, "Text analyser (tokeniser and stemmer).")
    team: str = option("citebed", "Team name, the first field of each output line.")
    utc: bool = option(False, "Treat timestamps without a time zone as UTC.")
    strict: bool = option(False, "Stop at the first invalid line instead of skipping it.")
    checkpoint_every: float = option(10.0, "Seconds between checkpoints.", min=0)
    restart: bool = option(False, "Ignore the checkpoint and start over.")
    overwrite: bool = option(False, "Overwrite the output, and the file given with --skipped.")
    part_size: float = option(
        0.0,
        "With --on: part size in MB (0: 16 to 128, chosen by stream size).",
        min=0,
        max=1e6,
        needs="on",
    )
    as_json: bool = option(False, "Print the results as JSON, for programs.", "--json")
    quiet: bool = option(False, "Hide progress, notes and summary.", "-q")


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
    options: FilterCommand,
    spark: SparkOptions,
) -> None:
    """Find the documents of a stream that concern a set of topics; write a TREC KBA filter run.

    Run the same command again to resume an interrupted run (killed, Ctrl-C, disk full) from its
    last checkpoint; the output is byte-identical.

    Example: citebed filter stream.jsonl --topics topics.jsonl --model names -o names.run.gz
    """
    from citebed._version import __version__
    from citebed.timeline.filters import parse_filter
    from citebed.timeline.filters.output_files import OutputFiles
    from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
    from citebed.timeline.filters.topics import read_topics

    declared = parse_filter(options.model)
    source = _open_stream(stream, options.quiet)
    task = FilterTask(source, read_topics(topics), declared, _context(declared, options))
    header = {
        "team_id": options.team, "system_id": declared.name, "run_type": "automatic",
        "topic_set_id": printable(topics.name), "corpus_id": printable(stream.name),
        "made_by": f"citebed {__version__}",
    }  # fmt: skip
    how = FilterOptions(
        team=options.team,
        header=header,
        about={"the analyser": options.analyser} if declared.needs_terms else {},
        skipped=options.skipped,
        naive_is_utc=options.utc,
        strict=options.strict,
        overwrite=options.overwrite,
        restart=options.restart,
        every=options.checkpoint_every,
    )
    # A pattern, which only --on accepts, gets the name of its folder.
    names = (part for part in reversed(stream.parts) if not set(part) & set("*?[{"))
    name = stream.name if stream.exists() else next(names, stream.name)
    output = options.output or Path(f"{name.removesuffix('.gz')}.{declared.name}.run")
    read = [path for path in (stream, topics, options.judgements) if path]
    OutputFiles(output, options.skipped).check_place(read)
    with _resume_hints(), progress_bar(options.quiet or options.as_json) as progress:
        is_plain = stream.is_file() and stream.suffix != ".gz"
        progress.step("filtering", stream.stat().st_size if is_plain else 0)
        if spark.on is None:
            report = run_filter(task, output, how, progress.add)
        else:
            with spark.engine() as there:
                run = partial(there.filter, part=round(options.part_size * 1e6))
                report = run(task, output, how, progress.add)
    if not options.quiet:
        _print_notes(stream, report, len(task.topics), options.skipped)
    _print_report(report, options)


@contextmanager
def _resume_hints() -> Iterator[None]:
    """When a run stops that can be resumed, say how before the error is reported."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as cause:
        notes = getattr(cause, "__notes__", [])
        if isinstance(cause, KeyboardInterrupt) and not notes:
            notes = ["stopped before the first checkpoint: the same command starts over"]
        for note in notes:
            say(note)
        raise


def _print_notes(stream: Path, report: FilterReport, topics: int, skipped: Path | None) -> None:
    """Print what was skipped and which inputs had no effect."""
    shown = report.problems[:SHOWN]
    for problem in shown:
        say(f"skipped {printable(stream)}:{problem.line}: {problem.what}")
    if more := report.skipped - len(shown):
        where = f"{printable(skipped) if skipped else '--skipped FILE'} lists them all"
        say(f"skipped {count(more, 'more line')}; {where}")
    without, unmet = len(report.unmatched), count(len(report.unmet), "judged or training document")
    for what, names in (
        (f"{without:,} of {count(topics, 'topic')} matched no document", report.unmatched),
        (f"{count(len(report.unknown), 'judged topic')} missing from --topics", report.unknown),
        (f"{unmet} not in the stream", report.unmet),
    ):
        if names:
            say(f"{what}: {list_first(names, SHOWN)}")


def _print_report(report: FilterReport, options: FilterCommand) -> None:
    if options.as_json:
        row: dict[str, Any] = report._asdict()
        row["problems"] = [problem._asdict() for problem in report.problems]
        print_json([row])
    elif not options.quiet:
        before = f" ({report.resumed:,} of them before it was stopped)" if report.resumed else ""
        again = f" ({report.repeated:,} the same document again)" if report.repeated else ""
        typer.echo(
            f"read {count(report.documents, 'document')}{before}, skipped "
            f"{count(report.skipped, 'line')}{again}, wrote {count(report.lines, 'line')}: "
            f"{printable(report.output)}"
        )


def _context(declared: Filter, options: FilterCommand) -> FilterContext:
    """Return what the model needs beside the stream: judgements and an analyser."""
    from citebed.files.input_files import reusable_path
    from citebed.timeline.filters.online_learning import labels_of
    from citebed.timeline.filters.topics import FilterContext

    match = _DURATION.fullmatch(options.feedback_delay.strip())
    if match is None:
        raise typer.BadParameter(
            f"'{options.feedback_delay}' is not a duration. Use 0, 90s, 30min, 12h or 7d"
        )
    delay = int(match[1]) * _UNITS[match[2] or ""]
    if options.judgements is not None and not declared.takes_judgements:
        raise typer.BadParameter(
            f"'{declared.name}' does not learn from judgements. Remove --judgements, or use "
            "--model incremental"
        )
    if delay and not declared.needs_terms:
        raise typer.BadParameter(
            f"'{declared.name}' does not learn, so --feedback-delay has no effect. Remove it"
        )
    if options.analyser != ANALYSER and not declared.needs_terms:
        raise typer.BadParameter(
            f"'{declared.name}' matches names only, so --analyser has no effect. Remove it"
        )
    labels = {}
    if options.judgements:
        with reusable_path(options.judgements) as file:
            labels = labels_of(file)[0]
    if not declared.needs_terms:
        return FilterContext(labels=labels, delay=delay)
    from citebed.retrieval.analysis import analyser_of

    chosen = analyser_of(options.analyser)
    return FilterContext(chosen.words, labels, delay, chosen.term)


def _open_stream(stream: Path, quiet: bool) -> Source:
    """Open the stream: a file, or the documents of a collection by date."""
    import polars as pl

    from citebed.collection import open_collection
    from citebed.timeline.streams.stream_files import documents_by_date, file_source, table_source

    if stream.is_fifo():
        raise CitebedError(
            f"'{printable(stream)}' is a pipe. Use a regular file, so that an interrupted run can "
            "resume."
        )
    if not stream.is_dir():
        return file_source(stream)
    documents = documents_by_date(open_collection(stream).scan_documents()).collect()
    dated = documents.filter(pl.col("time").is_not_null())
    undated = count(documents.height - dated.height, "document")
    if not dated.height:
        raise CollectionError(
            f"{printable(stream)}: no document has a date ({undated}). Filtering needs dates"
        )
    if documents.height > dated.height and not quiet:
        say(f"skipped {undated} without a date")
    return table_source(printable(stream), dated)
