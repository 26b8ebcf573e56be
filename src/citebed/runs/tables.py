"""Runs and judgements as tables: ``query_id, doc_id, score`` and ``query_id, doc_id, relevance``.

Both are values: made once, checked once, never changed. Ids are strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os.path import abspath
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.files.parquet import read_parquet
from citebed.files.reading import at_hand
from citebed.runs.trec_files import (
    DOC_HASH,
    QRELS,
    QUERY_HASH,
    RUN,
    Layout,
    read_lines,
    read_trec,
    run_tag,
)
from citebed.wording import printable

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

_ENDINGS = {".gz", ".run", ".txt", ".trec", ".parquet", ".qrels", ".res", ".results", ".tsv"}


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements: columns ``query_id``, ``doc_id``, ``relevance`` (whole numbers).

    A document below 0 was in the pool but not judged, as in trec_eval. ``source`` is the file
    it came from, for messages; ``hashes`` those of the ids, where reading gave them.
    """

    table: pl.DataFrame
    name: str = "qrels"
    source: Path | None = None
    hashes: pl.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """What a system retrieved: columns ``query_id``, ``doc_id``, ``score`` (finite numbers).

    ``tag`` is what the run calls itself in its file.
    """

    table: pl.DataFrame
    name: str = "run"
    source: Path | None = None
    hashes: pl.DataFrame | None = None
    tag: str | None = None


def read_qrels(path: str | Path) -> Qrels:
    """Judgements from a TREC file (plain or gzip, or a pipe) or from Parquet."""
    path = Path(path)
    with at_hand(path) as file:
        table = _read(file, QRELS)
    return Qrels(table.select(QRELS.kept), name_of(path), path, _hashes(table))


def read_run(path: str | Path) -> Run:
    """A run from a TREC file (plain or gzip, or a pipe) or from Parquet."""
    path = Path(path)
    with at_hand(path) as file:
        table = _read(file, RUN)
        tag = None if _is_table(file) else run_tag(file)
    return Run(table.select(RUN.kept), name_of(path), path, _hashes(table), tag)


def _hashes(table: pl.DataFrame) -> pl.DataFrame | None:
    names = [name for name in (QUERY_HASH, DOC_HASH) if name in table.columns]
    return table.select(names) if names else None


def hashes_of(of: Qrels | Run) -> pl.DataFrame:
    """The hashes of a table's ids, row by row: ``query_hash`` and ``doc_hash``."""
    if of.hashes is not None:
        return of.hashes
    return of.table.select(
        pl.col("query_id").hash().alias(QUERY_HASH), pl.col("doc_id").hash().alias(DOC_HASH)
    )


def read_runs(paths: Sequence[Path]) -> Iterator[Run]:
    """Runs one at a time, under names that tell them apart."""
    for path, name in zip(paths, names_of(paths), strict=True):
        yield replace(read_run(path), name=name)


def read_sets(paths: Sequence[Path]) -> list[Qrels]:
    """Sets of judgements under names that tell them apart."""
    names = names_of(paths)
    return [replace(read_qrels(path), name=name) for path, name in zip(paths, names, strict=True)]


def names_of(paths: Sequence[Path]) -> list[str]:
    """Names that tell files apart: each file's name without endings, where that is enough.

    Files in one folder that differ by their endings keep them (``bm25.run``, ``bm25.txt``);
    files of one name in several folders have as many folders in front as it takes
    (``old/bm25``, ``new/bm25``). The same file twice is an error.
    """
    alike: dict[str, dict[Path, Path]] = {}
    places = [Path(abspath(path)) for path in paths]
    for path, place in zip(paths, places, strict=True):
        known = alike.setdefault(name_of(place), {})
        if place in known:
            same = "" if path == known[place] else f": as '{printable(known[place])}' too"
            raise CitebedError(f"the file '{printable(path)}' is given twice{same}.")
        known[place] = path
    return [_name_among(place, list(alike[name_of(place)])) for place in places]


def _name_among(place: Path, alike: Sequence[Path]) -> str:
    """The name of a file among those that have the same one without endings."""
    beside = [x for x in alike if x.parent == place.parent]
    name = place.name if len(beside) > 1 else name_of(place)
    ours, others = place.parts[:-1], {x.parts[:-1] for x in alike} - {place.parts[:-1]}
    depth = 0
    while any(_last(depth, parts) == _last(depth, ours) for parts in others):
        depth += 1
    return printable(Path(*_last(depth, ours), name).as_posix())


def _last(number: int, parts: tuple[str, ...]) -> tuple[str, ...]:
    return parts[max(len(parts) - number, 0) :]


def check_names(names: Sequence[str]) -> None:
    """Runs are told apart by their names, so each must have its own."""
    if not names:
        raise CitebedError("no runs were given.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CitebedError(
            f"two runs are called '{twice}', and results are told apart by that. "
            "Give them different names."
        )


def name_of(path: Path) -> str:
    """A run's name: its file name without endings."""
    name = printable(path.name)
    while Path(name).suffix.lower() in _ENDINGS and Path(name).stem:
        name = Path(name).stem
    return name


def _read(path: Path, layout: Layout) -> pl.DataFrame:
    return _read_parquet(path, layout) if _is_table(path) else read_trec(path, layout)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _read_parquet(path: Path, layout: Layout) -> pl.DataFrame:
    table = read_parquet(path)
    try:
        checked = checked_columns(table, layout)
    except CitebedError as error:
        raise FormatError(path, None, str(error)) from None
    if not checked.height:
        raise FormatError(path, None, "the table has no rows.")
    return checked


_SYNONYMS = {
    "query_id": ("query_id", "qid", "q_id", "query"),
    "doc_id": ("doc_id", "docno", "docid", "doc"),
    "score": ("score",),
    "relevance": ("relevance", "label", "rel"),
}


def checked_columns(table: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """The three columns of a table under our names and types, or an error that names the fault.

    PyTerrier's names (``qid``, ``docno``, ``label``) are understood too.
    """
    found = {}
    for name in layout.kept:
        known = [x for x in _SYNONYMS[name] if x in table.columns]
        if not known:
            raise CitebedError(
                f"the table has no column '{name}'. Found: {', '.join(table.columns) or 'none'}; "
                f"expected {', '.join(layout.kept)}."
            )
        found[name] = table[known[0]].rename(name)
    value = number_column(found[layout.kept[2]], layout.number)
    return pl.DataFrame([id_column(found["query_id"]), id_column(found["doc_id"]), value])


def id_column(column: pl.Series) -> pl.Series:
    """Ids as text; one that is missing, or can be none, is told."""
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise CitebedError(f"the {column.name} of row {row + 1} is missing.")
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if whole.cast(pl.Float64).eq_missing(column).all():
            column = whole  # 1.0 is the id 1 that a table with gaps once held
    return _cast(column, pl.String, "ids")


def _cast(column: pl.Series, kind: type[pl.DataType], expected: str) -> pl.Series:
    """The column in another type; one whose values can be no such thing is told."""
    try:
        if not column.dtype.is_nested():
            return column.cast(kind)
    except pl.exceptions.PolarsError:
        pass
    raise CitebedError(f"the column '{column.name}' holds {column.dtype}; expected {expected}.")


def number_column(column: pl.Series, kind: type[pl.Float64] | type[pl.Int64]) -> pl.Series:
    """Finite or whole numbers; what is none is told."""
    cast = _cast(column, kind, "numbers")
    bad = cast.is_null()
    if kind is pl.Float64:
        bad = bad | ~cast.is_finite()
    elif column.dtype.is_float() or column.dtype.is_decimal():
        bad = bad | (cast.cast(pl.Float64) != column.cast(pl.Float64))
    if bad.any():
        row = bad.arg_true()[0]
        what = "a finite number" if kind is pl.Float64 else "a whole number"
        raise CitebedError(f"the {column.name} of row {row + 1}, {column[row]}, is not {what}.")
    return cast


def duplicate(of: Qrels | Run, query: str, document: str) -> NoReturn:
    """Say that a document stands twice for a query, with the line where it came from a file."""
    layout = QRELS if isinstance(of, Qrels) else RUN
    what = "judged" if layout is QRELS else "retrieved"
    message = (
        f"document '{document}' is {what} twice for query '{query}'. "
        "Keep one of the two lines: which one counts is not ours to guess."
    )
    if of.source is None or _is_table(of.source) or not of.source.is_file():
        raise CitebedError(f"{printable(of.source or of.name)}: {message}")
    lines = [n for n, q, d, _ in read_lines(of.source, layout) if (q, d) == (query, document)]
    raise FormatError(of.source, lines[-1], f"{message} First in line {lines[0]}.")
