"""A run laid beside judged topics: its rows of those topics, with their times."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.runs.ranking import SortedQrels, query_numbers
from citebed.runs.tables import Ints, Run
from citebed.runs.times import epochs, time_column
from citebed.timeline.streams.timed_qrels import NO_TIMES_HELP
from citebed.timeline.streams.times import joined_times


class Skipped(NamedTuple):
    """Lines of a run, and those that no score can use: of topics that nobody judged (their names
    in ``queries``), and without a time."""

    lines: int = 0
    unjudged: int = 0
    untimed: int = 0
    queries: tuple[str, ...] = ()


class TopicRun(NamedTuple):
    """A run's rows of judged topics, each with the number of its topic, and what was left out."""

    run: Run
    query: Ints
    skipped: Skipped


def topic_run(run: Run, judged: SortedQrels) -> TopicRun:
    """The rows of judged topics alone."""
    query, lines = query_numbers(run, judged.query_ids), run.rows.height
    known = query >= 0
    if known.all():
        return TopicRun(run, query, Skipped(lines))
    names = run.rows["query_id"].filter(pl.Series(~known)).unique().cast(pl.String)
    skipped = Skipped(lines, int((~known).sum()), queries=tuple(sorted(names)))
    return TopicRun(run.only(pl.Series(known)), query[known], skipped)


def timed(topics: TopicRun, times: pl.DataFrame | None) -> tuple[TopicRun, Ints]:
    """The rows that have a time, from ``times``, the run's own, or in front of ids; and the times.

    Without ``times`` a document that has none is an error.
    """
    run = topics.run if times is None else known_again(topics.run, times)
    own = run.times is not None
    time = epochs(run.rows["doc_id"]) if run.times is None else time_column(run.times)
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


def known_again(run: Run, times: pl.DataFrame) -> Run:
    """The run with the ids and times of a table, which knows ids with a time in front too."""
    rows = joined_times(run.rows.lazy(), times).collect()
    return replace(run, rows=rows.drop("time"), times=rows["time"], hashes=None, source=None)
