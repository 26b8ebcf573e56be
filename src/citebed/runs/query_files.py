"""Files of queries: where they stand, what they say, and which belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os.path import realpath
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError, FormatError
from citebed.files.line_blocks import json_object
from citebed.files.places import names_file
from citebed.files.reading import read_lines


def queries_beside(qrels: Path | None) -> Path | None:
    """The queries of judgements that stand in a collection, if they do.

    They are ``queries/NAME.jsonl`` for ``qrels/NAME.qrels``.
    """
    if qrels is None:
        return None
    place = Path(realpath(qrels))
    path = place.parent.parent / "queries" / f"{qrels.name.split('.qrels')[0]}.jsonl"
    return path if path.is_file() else None


def query_rows(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every query of a file: its line, its id, and all its fields."""
    expected = 'Expected a JSON object with a "query_id".'
    for number, line in read_lines(path):
        if not line.strip():
            continue
        row = json_object(path, number, line, expected)
        if not isinstance(row.get("query_id"), str | int):
            raise FormatError(path, number, f"there is no query_id. {expected}")
        yield number, str(row["query_id"]), row


def query_texts(path: Path) -> dict[str, str]:
    """The text of each query that has one."""
    texts: dict[str, str] = {}
    for number, query, row in query_rows(path):
        text = row.get("text")
        if text is None:
            continue
        if not isinstance(text, str):
            raise FormatError(path, number, f"'text' must be text, not {type(text).__name__}.")
        if query in texts:
            raise FormatError(path, number, f"has query '{query}' a second time.")
        texts[query] = text
    return texts


# --- which queries belong together: those of one paper, one author, one day; and runs of a team --


def load_clusters(
    wanted: Mapping[str, str] | str | Path | None,
    queries: Path | None = None,
    qrels: Path | None = None,
) -> Mapping[str, str] | None:
    """The cluster of each query; ``None`` where none is wanted.

    ``wanted`` is that itself, a file of lines ``query_id cluster``, or the name of a field
    (``paper`` stands for ``paper_id``) of the queries in ``queries``, JSON Lines; where that is
    not given, of the queries that stand beside the judgements in a collection
    (``queries/NAME.jsonl`` for ``qrels/NAME.qrels``).
    """
    if isinstance(wanted, Mapping):
        return wanted
    if not wanted:
        return None
    if names_file(wanted):
        return read_groups(Path(wanted), "query", "cluster")
    source = queries or queries_beside(qrels)
    if source is None:
        raise CitebedError(
            f"cannot tell the '{wanted}' of a query: '{wanted}' is no file, and there are no "
            "queries beside the judgements. Give the queries with --queries FILE.jsonl, or a "
            "file of lines 'query_id cluster'."
        )
    return _fields(source, str(wanted))


def _fields(path: Path, wanted: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    for number, query, row in query_rows(path):
        name = wanted if wanted in row else f"{wanted}_id"
        if row.get(name) is None:
            known = ", ".join(sorted(row))
            raise FormatError(path, number, f"the query has no '{wanted}'. Found: {known}.")
        groups[query] = str(row[name])
    return groups


def read_groups(path: Path, name: str, group: str) -> dict[str, str]:
    """The group of each name; blank lines and ``#`` comments are skipped.

    ``name`` and ``group`` are what the two fields are called in messages.
    """
    groups: dict[str, str] = {}
    for number, line in read_lines(path):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) != 2:
            raise FormatError(
                path, number, f"found {len(parts)} fields, expected two: {name} and {group}."
            )
        if groups.setdefault(parts[0], parts[1]) != parts[1]:
            raise FormatError(path, number, f"the {name} '{parts[0]}' is in a second {group}.")
    return groups
