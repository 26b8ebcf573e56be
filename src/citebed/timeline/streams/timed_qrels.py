"""Judgements of a stream with the time of each document, and the runs' rows for judged topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import reusable_path
from citebed.files.lines import read_numbered_lines
from citebed.runs.assessors import OFFICIAL, Disagreement, disagreements, merge_assessors
from citebed.runs.ranking import SortedQrels, encode_queries, sort_qrels
from citebed.runs.reader import as_qrels, read_judgement_table, run_name
from citebed.runs.tables import Ints, Qrels, Run, checked_columns, id_column
from citebed.runs.times import TIMES, epochs, format_time, parse_time, time_column
from citebed.runs.trec_files import QRELS
from citebed.timeline.slices import Range
from citebed.timeline.streams.stream_files import blocks, decode, documents_by_date, file_source
from citebed.wording import count, printable

NO_TIMES_HELP = (
    "Expected ids that start with an epoch second, like 1323450574-47f28b762b24; or give times "
    "as lines 'doc_id time', the stream itself or a collection (--times)."
)


class QrelsLedger(NamedTuple):
    """Counts of the judgements read.

    ``lines`` are judgements, ``pairs`` pairs of query and document. ``several`` pairs have several
    assessors, who ``disagree`` on relevance or ``differ`` only in the grade. ``untimed`` pairs have
    no time and were left out.
    """

    lines: int
    pairs: int
    several: int
    disagree: int
    differ: int
    untimed: int


@dataclass(frozen=True, eq=False, kw_only=True)
class TimedQrels(SortedQrels):
    """Sorted judgements with the time of each row's document.

    Documents with grade 1 or more are relevant; grades below ``rel`` became 0.
    """

    times: Ints
    ledger: QrelsLedger

    def first(self) -> TimedQrels:
        """Return all query ids with only the first judgement, which is enough for workers."""
        return replace(
            self, starts=np.minimum(self.starts, 1), doc_ids=self.doc_ids[:1],
            relevance=self.relevance[:1], keys=self.keys[:1], times=self.times[:1],
        )  # fmt: skip

    def range(self, start: int | None = None, end: int | None = None) -> Range:
        """Return the time range to cut into slices."""
        relevant = np.sort(self.times[self.relevance > 0])
        return Range(int(self.times.min()), int(self.times.max()), relevant, start, end)


def read_timed_qrels(path: str | Path, times: pl.DataFrame | None = None) -> TimedQrels:
    """Read judgements with times from TREC qrels, Parquet, or KBA's formats.

    ``times`` is a table of ``doc_id`` and ``time``; without it, ids start with an epoch second.
    """
    return timed_qrels(*judged_table(path), times)


def timed_qrels(
    table: pl.DataFrame,
    name: str = "qrels",
    times: pl.DataFrame | None = None,
    rule: str = OFFICIAL,
    rel: int = 1,
) -> TimedQrels:
    """Prepare judgements from a table ``query_id, doc_id, relevance`` and optionally ``time``.

    ``rule`` merges several assessors (`citebed.runs.assessors`). Grades below ``rel`` become 0;
    higher grades are kept, and each measure decides whether to use them.
    """
    timed = with_times(_checked(table, name), times)
    if not timed.height:
        raise CitebedError(f"{name}: the file has no judgements.")
    if timed["time"].null_count() == timed.height:
        example = f", '{table['doc_id'][0]}' for one" if table.height else ""
        raise CitebedError(f"{name}: no judged document has a time{example}. {NO_TIMES_HELP}")
    if times is None and timed["time"].null_count():
        doc_id = timed.filter(pl.col("time").is_null())["doc_id"][0]
        raise CitebedError(f"{name}: no epoch second in the id '{doc_id}'. {NO_TIMES_HELP}")
    merged = merge_assessors(timed, rule, rel)
    with_time = merged.drop_nulls("time")
    repeated = merged.height < timed.height
    disagreement = disagreements(timed, rel) if repeated else Disagreement()
    ledger = QrelsLedger(
        table.height, merged.height, *disagreement, merged.height - with_time.height
    )
    grade, none = pl.col("relevance").cast(pl.Int64), pl.lit(0, pl.Int64)
    kept = pl.when(grade >= max(rel, 1)).then(grade)
    graded = with_time.with_columns(relevance=kept.otherwise(pl.min_horizontal(grade, none)))
    judged, order = sort_qrels(Qrels(graded.select("query_id", "doc_id", "relevance"), name))
    return TimedQrels(**vars(judged), times=graded["time"].to_numpy()[order], ledger=ledger)


def _checked(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Check and convert the columns of judgements, including ``time`` if there is one."""
    try:
        checked = checked_columns(table, QRELS)
        timed = "time" in table.columns
        return checked.with_columns(time_column(table["time"])) if timed else checked
    except CitebedError as error:
        raise CitebedError(f"{name}: {error}") from None


def timeless_qrels(
    table: pl.DataFrame, name: str, rule: str = OFFICIAL, times: pl.DataFrame | None = None
) -> TimedQrels:
    """Prepare judgements for scoring without time: all documents get the same second.

    ``times`` serves only to recognise ids with a time in front.
    """
    lines = _checked(table.drop("time", strict=False), name).lazy()
    lines = lines if times is None else joined_times(lines, times)
    same = lines.with_columns(pl.lit(0, pl.Int64).alias("time")).collect()
    return timed_qrels(same, name, None, rule)


def with_times(table: pl.DataFrame, times: pl.DataFrame | None) -> pl.DataFrame:
    """Add a column ``time`` from ``times``, the table or the ids; null if unknown."""
    if times is not None:
        return joined_times(table.lazy(), times).collect()
    if "time" in table.columns:
        return table
    return table.with_columns(epochs(table["doc_id"]))


def judged_table(judgements: Any) -> tuple[pl.DataFrame, str]:
    """Return the table of judgements, with times if it has them, and its name."""
    if isinstance(judgements, str | Path):
        with reusable_path(Path(judgements)) as file:
            return read_judgement_table(file), run_name(Path(judgements))
    if isinstance(judgements, pl.DataFrame):
        return judgements, "qrels"
    qrels = as_qrels(judgements)
    return qrels.table, qrels.name


# --- runs ---------------------------------------------------------------------------------------


class Skipped(NamedTuple):
    """Counts of a run's lines, and of lines that cannot be scored.

    ``unjudged`` lines are for topics without judgements (named in ``queries``); ``untimed`` lines
    have no time.
    """

    lines: int = 0
    unjudged: int = 0
    untimed: int = 0
    queries: tuple[str, ...] = ()


class TopicRun(NamedTuple):
    """A run's rows for judged topics with their topic numbers, and the counts of other rows."""

    run: Run
    query: Ints
    skipped: Skipped


def topic_run(run: Run, judged: SortedQrels) -> TopicRun:
    """Select the rows for judged topics."""
    query, lines = encode_queries(run, judged.query_ids), run.rows.height
    known = query >= 0
    if known.all():
        return TopicRun(run, query, Skipped(lines))
    names = run.rows["query_id"].filter(pl.Series(~known)).unique().cast(pl.String)
    skipped = Skipped(lines, int((~known).sum()), queries=tuple(sorted(names)))
    return TopicRun(run.only(pl.Series(known)), query[known], skipped)


def timed(topics: TopicRun, times: pl.DataFrame | None) -> tuple[TopicRun, Ints]:
    """Select the rows with a time, and return the times.

    Times come from ``times``, the run's own column, or the ids. Without ``times``, a document that
    has none is an error.
    """
    run = topics.run if times is None else restore_timed_ids(topics.run, times)
    own = run.times is not None
    time = run.epochs
    if not time.null_count():
        return topics._replace(run=run), time.to_numpy()
    known = time.is_not_null()
    if times is None:
        doc_id = run.rows["doc_id"].filter(~known)[0]
        what = "the document '{}' has no time." if own else "no epoch second in the id '{}'. "
        raise FormatError(run.name, None, what.format(doc_id) + ("" if own else NO_TIMES_HELP))
    skipped = topics.skipped._replace(untimed=time.null_count())
    return (
        TopicRun(run.only(known), topics.query[known.to_numpy()], skipped),
        time.drop_nulls().to_numpy(),
    )


def restore_timed_ids(run: Run, times: pl.DataFrame) -> Run:
    """Return the run with a table's ids and times; ids with a time in front are recognised."""
    rows = joined_times(run.rows.lazy(), times).collect()
    return replace(run, rows=rows.drop("time"), times=rows["time"], hashes=None, source=None)


def times_of(source: Any, *, utc: bool = False) -> pl.DataFrame | None:
    """Return times from a file (`read_times`), a table, or a collection's documents.

    A date with a year or month only means its first day.
    """
    if source is None or (isinstance(source, pl.DataFrame) and source.schema == TIMES):
        return source
    if isinstance(source, pl.DataFrame):
        ids, times = id_column(source["doc_id"]), time_column(source["time"])
        return times_table(zip(ids, times, strict=True), "times")
    if isinstance(source, str | Path):
        with reusable_path(Path(source)) as file:
            return read_times(file, utc=utc)
    dated = documents_by_date(source.scan_documents()).select("doc_id", "time")
    return dated.drop_nulls().collect()


def read_times(path: str | Path, *, utc: bool = False) -> pl.DataFrame:
    """Read lines ``doc_id time`` or a stream of JSON documents, optionally compressed.

    An invalid line and two times for one id are errors; in a stream, lines that are not documents
    are skipped. Times may have different zones; all are converted to UTC.
    """
    path = Path(path)
    first = next((line for _, line in _text_lines(path) if line), "")
    if first.startswith("{"):  # a stream, read as a filter reads it
        pairs = [
            row
            for block in blocks(file_source(path), 1 << 24)
            for row in decode(block, utc).table.select("doc_id", "time").iter_rows()
        ]
    else:
        pairs = list(_lines(path, utc))
    if not pairs:
        raise FormatError(path, None, "found no document times; expected lines of 'doc_id time'.")
    return times_table(pairs, printable(path))


def times_by_id(times: pl.DataFrame) -> pl.DataFrame:
    """Add the ids that a filter run gives to documents; ``known`` is a document's own id.

    A filter run puts the epoch second in front of the id, with or without zeros to ten digits.
    """
    plain = times.lazy().select("doc_id", "time", known="doc_id")
    written = (pl.col("time").cast(pl.String), pl.col("time").cast(pl.String).str.zfill(10))
    stream_ids = [plain.with_columns(doc_id=pl.format("{}-{}", time, "doc_id")) for time in written]
    every = pl.concat([plain, *stream_ids])
    return every.unique("doc_id", keep="first", maintain_order=True).collect()


def joined_times(lines: pl.LazyFrame, times: pl.DataFrame) -> pl.LazyFrame:
    """Join the ``time`` of each line's ``doc_id``, or null; restore ids with a time in front."""
    known = times if "known" in times.columns else times_by_id(times)
    return (
        lines.drop("time", strict=False)
        .join(known.lazy(), on="doc_id", how="left", maintain_order="left")
        .with_columns(doc_id=pl.coalesce("known", "doc_id"))
        .drop("known")
    )


def times_table(pairs: Iterable[tuple[str, int]], name: str) -> pl.DataFrame:
    """Build a table of documents and times; raise an error if a document has two times."""
    table = pl.DataFrame(list(pairs), schema=TIMES, orient="row").unique(maintain_order=True)
    twice = table.filter(pl.col("doc_id").is_duplicated())
    if twice.height:
        doc_id = twice["doc_id"][0]
        times = twice.filter(pl.col("doc_id") == doc_id)["time"].to_list()
        raise CitebedError(
            f"{name}: '{doc_id}' has two times, {format_time(times[0])} and "
            f"{format_time(times[1])}. Keep one."
        )
    return table


def _lines(path: Path, utc: bool) -> Iterator[tuple[str, int]]:
    for number, text in _text_lines(path):
        if not text or text.startswith("#"):
            continue
        try:
            doc_id, *time = text.split()
            if len(time) not in (1, 2):
                fields = count(1 + len(time), "field")
                raise CitebedError(f"found {fields}, expected two: 'doc_id time'.")
            yield doc_id, parse_time(" ".join(time), utc=utc)
        except CitebedError as error:
            raise FormatError(path, number, str(error)) from None


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in read_numbered_lines(path):
        try:
            yield number, line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            what = f"byte 0x{line[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
            raise FormatError(path, number, what) from None
