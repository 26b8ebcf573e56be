"""Which queries belong together: those of one paper, one author, one day; and runs of a team."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from citebed.errors import CitebedError, FormatError
from citebed.files.places import names_file
from citebed.files.reading import read_lines
from citebed.runs.query_files import queries_beside, query_rows


def clusters_of(
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
