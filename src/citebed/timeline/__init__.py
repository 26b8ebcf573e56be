"""Timeline: streams cut into slices, scored slice by slice, and filters that run on them.

``citebed.timeline(judgements, runs, slices="7d")`` does it all: calling this package calls
`citebed.timeline.timelines.timeline`. ``read_timed_qrels`` and ``parse_slicing`` prepare
``topic_slices``, pairs of a topic and a slice, ``score_stream`` scores a run in them,
``trend`` says whether it degrades, ``score_official`` is TREC KBA's own scoring.
"""

# ruff: isort: skip_file
from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.timeline.scoring.official import (
        OfficialTimeline as OfficialTimeline,
        official_timeline as official_timeline,
        score_official as score_official,
    )
    from citebed.timeline.scoring.stream_scores import (
        StreamScores as StreamScores,
        score_stream as score_stream,
    )
    from citebed.timeline.scoring.topic_slices import (
        TopicSlices as TopicSlices,
        topic_slices as topic_slices,
    )
    from citebed.timeline.scoring.trends import (
        mann_kendall as mann_kendall,
        theil_sen as theil_sen,
        trend as trend,
    )
    from citebed.timeline.scoring.topic_slices import weights_of as weights_of
    from citebed.timeline.slices import Slices as Slices, parse_slicing as parse_slicing
    from citebed.timeline.snapshots import (
        SnapshotScores as SnapshotScores,
        compare_snapshots as compare_snapshots,
    )
    from citebed.timeline.streams.timed_qrels import (
        TimedQrels as TimedQrels,
        read_timed_qrels as read_timed_qrels,
    )
    from citebed.timeline.timelines import Timeline as Timeline, timeline as timeline

__getattr__, __dir__ = names_on_first_use(__name__)


class _CallablePackage(ModuleType):
    """The package ``citebed.timeline``, which can be called like its one function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.timeline(*arguments, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(self.timeline)


sys.modules[__name__].__class__ = _CallablePackage
