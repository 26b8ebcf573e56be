"""Align a run, or a part of one, with pairs of topic and slice, and count what was used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.evaluation.measures.rankings import Rankings, match_unordered
from citebed.runs.ranking import SortedQrels, spread
from citebed.runs.tables import Hashes, Ints, Run, raise_duplicate
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.streams.timed_qrels import Skipped, TopicRun, timed, topic_run
from citebed.wording import count


class RunLedger(NamedTuple):
    """Coverage of a run: ``measured`` documents are in scored pairs, ``judged`` of these judged.

    ``outside`` documents are in no slice, ``elsewhere`` documents in a slice without relevant
    documents for their query. ``skipped`` counts documents that cannot be scored. ``silent`` of the
    ``pairs`` have no document and score 0. If no document is judged, ``alike`` has an id of the
    run and one of the judgements, for a message.
    """

    run: str
    skipped: Skipped
    measured: int
    judged: int
    elsewhere: int
    outside: int
    pairs: int
    silent: int
    alike: tuple[str, str]

    def notes(self) -> list[str]:
        """Return notes about documents and pairs that were left out or are empty."""
        skipped = self.skipped
        if not skipped.lines:
            return ["the run returned nothing and scores 0"]
        more = " …" if len(skipped.queries) > 3 else ""
        return of_some({
            f"{skipped.unjudged:,} of {count(skipped.lines, 'document')} left out, for "
            f"{count(len(skipped.queries), 'query')} without judgements: "
            f"{', '.join(skipped.queries[:3])}{more}": skipped.unjudged,
            f"{count(skipped.untimed, 'document')} without a time, left out": skipped.untimed,
            f"{count(self.outside, 'document')} outside all slices, left out": self.outside,
            f"it returned nothing in {self.silent:,} of {count(self.pairs, 'pair')} of query "
            "and slice, which score 0": self.silent,
        })  # fmt: skip


class AlignedStreamRun(NamedTuple):
    """A run as rankings of pairs: all documents, those above the threshold, and its coverage."""

    everything: Rankings
    accepted: Rankings
    ledger: RunLedger


def lay(
    run: Run, pairs: TopicSlices, times: pl.DataFrame | None = None, threshold: float | None = None
) -> AlignedStreamRun:
    """Align a run with the pairs; without a ``threshold`` all documents are accepted."""
    topics, pair = placed(run, pairs, times)
    return align_with_judgements(topics, pair, pairs, pairs.pair_qrels, threshold)


def placed(run: Run, pairs: TopicSlices, times: pl.DataFrame | None) -> tuple[TopicRun, Ints]:
    """Return a run's usable documents with the number of each one's pair.

    The number is -1 if the pair is not scored, -2 if the document is in no slice.
    """
    topics, time = timed(topic_run(run, pairs.qrels), times)
    pair = pairs.of(topics.query, time)
    _refuse_twice(topics)
    return topics, pair


def align_with_judgements(
    topics: TopicRun, pair: Ints, pairs: TopicSlices, judged: SortedQrels, threshold: float | None
) -> AlignedStreamRun:
    """Align documents with judgements by the numbers of their pairs."""
    number = np.maximum(pair, -1)
    everything = accepted = match_unordered(judged, topics.run, number)
    if threshold is not None:
        above = topics.run.rows["score"] > threshold
        accepted = match_unordered(judged, topics.run.only(above), number[above.to_numpy()])
    return AlignedStreamRun(everything, accepted, _ledger(topics, pair, everything, pairs))


def _refuse_twice(topics: TopicRun) -> None:
    """Raise an error if a document occurs twice for a topic; compare hashes first."""
    run = topics.run
    numbers = np.arange(int(topics.query.max(initial=-1)) + 1)
    if not _has_doubles(run.doc_hashes ^ spread(numbers)[topics.query]):
        return
    rows = run.rows.select("query_id", "doc_id").cast({"query_id": pl.String})
    twice = rows.filter(rows.is_duplicated()).sort("query_id", "doc_id")
    if twice.height:
        raise_duplicate(run, *twice.row(0))


def _has_doubles(keys: Hashes) -> bool:
    """Return True if a number occurs twice; compare half of the bits first, twice as fast."""
    halves = np.sort((keys >> np.uint64(32)).astype(np.uint32))
    again = halves[1:][halves[1:] == halves[:-1]]
    alike = np.zeros(1 << 20, bool)
    alike[again >> np.uint32(12)] = True
    some = np.sort(keys[alike[(keys >> np.uint64(44)).view(np.int64)]]) if len(again) else keys[:0]
    return bool((some[1:] == some[:-1]).any())


def _ledger(topics: TopicRun, pair: Ints, rankings: Rankings, pairs: TopicSlices) -> RunLedger:
    """Count the coverage of a run; ``pair`` has the pair number of each usable document."""
    outside, elsewhere = (int((pair == code).sum()) for code in (-2, -1))
    return RunLedger(
        run=topics.run.name,
        skipped=topics.skipped,
        measured=len(pair) - outside - elsewhere,
        judged=len(rankings.rank),
        elsewhere=elsewhere,
        outside=outside,
        pairs=len(pairs),
        silent=int((rankings.retrieved == 0).sum()),
        alike=("" if len(rankings.rank) else _least_id(topics), str(pairs.qrels.doc_ids[0])),
    )


def _least_id(topics: TopicRun) -> str:
    return str(topics.run.rows["doc_id"].min() or "")


def of_some(numbers: Mapping[str, int]) -> list[str]:
    """Return the notes whose number is not 0."""
    return [note for note, number in numbers.items() if number]
