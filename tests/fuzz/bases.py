"""Starting points of cases: an indexed collection, and filters that were interrupted."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.wellformed import MADE, collection_sources

from citebed.cli.app import main
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.online_learning import labels_of
from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
from citebed.timeline.filters.topics import FilterContext, read_topics
from citebed.timeline.streams.stream_files import Source, file_source

MODELS = ("names", "relevance_model(buckets=1024)", "incremental(buckets=1024)")
_OPTIONS = FilterOptions(every=0, block=300)


class _Stopped(Exception):
    pass


def make(place: Path) -> None:
    """Lay the bases into a new folder, which is there only when it is whole."""
    folder = place.with_name(f"{place.name}-draft")
    sources = folder / "sources"
    for name, data in collection_sources().items():
        path = sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    collection = str(folder / "c")
    _run(["import", collection, str(sources), "--quiet"])
    _run(["index", collection, "--quiet", "--workers", "1"])
    _run(["search", collection, "--queries", "topics", "--quiet", "--threads", "1"])
    for at, _ in enumerate(MODELS):
        _stop(folder / f"stopped{at}")
    folder.replace(place)


def _run(arguments: list[str]) -> None:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = main(arguments)
    if code:
        raise RuntimeError(f"citebed {' '.join(arguments)}: {said.getvalue()}")


def _stop(folder: Path) -> None:
    folder.mkdir()
    for kind in ("stream", "filter-topics", "kba-short"):
        name, data = MADE[kind]
        (folder / name).write_bytes(data)
    with contextlib.suppress(_Stopped):
        go_on(folder, stop_after=3)


def go_on(folder: Path, stop_after: int | None = None) -> None:
    """Filter the stream of a folder to its end, or start to; go on from a checkpoint."""
    topics, judged = read_topics(folder / MADE["filter-topics"][0]), MADE["kba-short"][0]
    tools = FilterContext(str.split, labels_of(folder / judged)[0], 5)
    source = file_source(folder / MADE["stream"][0], 200)
    declared = parse_filter(MODELS[int(folder.name[-1])])
    # Its name is part of what must be the same when it goes on.
    source = Source("stream", source.pieces if stop_after is None else _cut(source, stop_after))
    run_filter(FilterTask(source, topics, declared, tools), folder / "out.run", _OPTIONS)


def _cut(source: Source, after: int):  # type: ignore[no-untyped-def]
    def pieces() -> Iterator[bytes]:
        for number, piece in enumerate(source.pieces()):
            if number == after:
                raise _Stopped
            yield piece

    return pieces
