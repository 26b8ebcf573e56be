"""Read query files: texts, ids, and the clusters that queries belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os.path import realpath
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import is_existing_file, read_lines
from citebed.files.lines import parse_json_object


def queries_beside(qrels: Path | None) -> Path | None:
    """Return the query file for judgements in a collection, or ``None``.

    It is ``queries/NAME.jsonl`` for ``qrels/NAME.qrels``.
    """
    if qrels is None:
        return None
    place = Path(realpath(qrels))
    path = place.parent.parent / "queries" / f"{qrels.name.split('.qrels')[0]}.jsonl"
    return path if path.is_file() else None


def query_rows(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the line number, id and fields of each query in a file."""
    expected = 'Expected a JSON object with a "query_id".'
    for number, line in read_lines(path):
        if not line.strip():
            continue
        row = parse_json_object(path, number, line, expected)
        if not isinstance(row.get("query_id"), str | int):
            raise FormatError(path, number, f"missing query_id. {expected}")
        yield number, str(row["query_id"]), row


def query_texts(path: Path) -> dict[str, str]:
    """Return the text of each query that has one."""
    texts: dict[str, str] = {}
    for number, query, row in query_rows(path):
        text = row.get("text")
        if text is None:
            continue
        if not isinstance(text, str):
            raise FormatError(path, number, f"'text' must be text, not {type(text).__name__}.")
        if query in texts:
            raise FormatError(path, number, f"the query '{query}' occurs twice.")
        texts[query] = text
    return texts


# --- clusters of queries (of one paper, author or day) and teams of runs ------------------------


def load_clusters(
    wanted: Mapping[str, str] | str | Path | None,
    queries: Path | None = None,
    qrels: Path | None = None,
) -> Mapping[str, str] | None:
    """Load the cluster of each query, or return ``None`` if ``wanted`` is empty.

    ``wanted`` is a mapping, a file of lines ``query_id cluster``, or the name of a field of the
    queries (``paper`` means ``paper_id``). The queries are in the JSON Lines file ``queries`` or,
    by default, in the collection that contains the judgements (`queries_beside`).
    """
    if isinstance(wanted, Mapping):
        return wanted
    if not wanted:
        return None
    if is_existing_file(wanted):
        return read_groups(Path(wanted), "query", "cluster")
    source = queries or queries_beside(qrels)
    if source is None:
        raise CitebedError(
            f"cannot find the '{wanted}' of the queries: '{wanted}' is not a file, and these "
            "judgements have no query file. Name one with --queries FILE.jsonl, or pass a file of "
            "lines 'query_id cluster'."
        )
    groups: dict[str, str] = {}
    for number, query, row in query_rows(source):
        name = str(wanted) if wanted in row else f"{wanted}_id"
        if row.get(name) is None:
            known = ", ".join(sorted(row))
            raise FormatError(source, number, f"the query has no '{wanted}'. Found: {known}.")
        groups[query] = str(row[name])
    return groups


def read_groups(path: Path, name: str, group: str) -> dict[str, str]:
    """Read lines ``name group``; skip blank lines and ``#`` comments.

    ``name`` and ``group`` are the fields' names for messages.
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
            raise FormatError(path, number, f"the {name} '{parts[0]}' has a second {group}.")
    return groups
