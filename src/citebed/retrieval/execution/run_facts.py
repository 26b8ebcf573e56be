"""What is written down beside a run: how it was made, of what, by which versions."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from citebed._version import __version__
from citebed.files.input_files import hash_file
from citebed.retrieval.execution.runner import RunOptions
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import DESCRIPTION
from citebed.retrieval.pipeline import Pipeline

if TYPE_CHECKING:
    from citebed.runs.tables import Run

_PACKAGES = ("numpy", "polars", "numba", "PyStemmer", "onnxruntime", "tokenizers", "torch")


class Searchable(Protocol):
    """What was searched, an index or several, as a run tells of it."""

    @property
    def fields(self) -> Collection[str]:
        """The fields that it has."""

    @property
    def analyser(self) -> str:
        """How its texts become terms."""

    @property
    def facts(self) -> dict[str, Any]:
        """What tells it from any other."""


def index_facts(index: Index) -> dict[str, Any]:
    """What a run says of the index that it was made with."""
    return {
        "documents": index.description.documents,
        "sha256": hash_file(index.folder / DESCRIPTION),
        "sources": {k: v["sha256"] for k, v in index.description.sources.items()},
    }


def run_facts(
    index: Searchable,
    pipeline: Pipeline,
    options: RunOptions,
    run: Run,
    queries: dict[str, Any],
    command: Sequence[str],
) -> dict[str, Any]:
    """What the sidecar says: command, versions, model, hashes of the inputs."""
    import platform
    from importlib import metadata

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name.lower()] = metadata.version(name)
    return {
        "made_by": f"citebed {__version__}",
        "command": list(command),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": str(pipeline),
        "fields": str(options.fields.of(index.fields)),
        "depth": options.depth,
        "queries_as_is": options.as_is,
        "seed": None,
        "analyser": index.analyser,
        "queries": queries,
        "index": index.facts,
        **run.facts,
        "notes": list(run.notes),
        "versions": versions,
    }
