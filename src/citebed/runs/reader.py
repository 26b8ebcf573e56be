"""Read runs and judgements from files, tables, dicts and the objects of other libraries.

``read_qrels`` and ``read_run`` read one file: TREC text, KBA text or Parquet. ``as_qrels`` and
``as_runs`` also accept polars and pandas tables, dicts of dicts, ir_datasets datasets, ranx
objects, and iterables of records, dicts or plain triples (``query_id``, ``doc_id``, and ``score``
or ``relevance``), as ir_measures and ir_datasets yield.

This module does not import numpy, so that reading can start before the rest of citebed is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from numbers import Real
from os.path import abspath
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.input_files import is_reusable_path, reusable_path
from citebed.files.lines import read_numbered_lines
from citebed.files.parquet import read_parquet
from citebed.runs.tables import Qrels, Run, checked_columns, is_parquet
from citebed.runs.trec_files import (
    DOC_HASH,
    QRELS,
    RUN,
    Layout,
    last_tag,
    read_coded,
    read_trec,
    run_tag,
)
from citebed.wording import count, printable

_LEAST_KBA = 7
"""The smallest number of fields of a line of a KBA filter run."""
_ENDINGS = {".gz", ".run", ".txt", ".trec", ".parquet", ".qrels", ".res", ".results", ".tsv"}


# --- files ----------------------------------------------------------------------------------


def read_qrels(path: str | Path) -> Qrels:
    """Read judgements from a TREC file (plain, gzip or a pipe), a KBA file, or Parquet."""
    from citebed.runs.kba_files import kba_qrels

    path = Path(path)
    with reusable_path(path) as file:
        if not is_parquet(file) and (qrels := kba_qrels(file, run_name(path))):
            return qrels
        return Qrels(*_read(file, QRELS, path))


def read_run(path: str | Path) -> Run:
    """Read a run from a TREC file (plain, gzip or a pipe), a KBA file, or Parquet."""
    from citebed.runs.kba_files import kba_run

    path = Path(path)
    with reusable_path(path) as file:
        if not is_parquet(file) and (run := kba_run(file, run_name(path))):
            return run
        return Run(*_read(file, RUN, path), None if is_parquet(file) else run_tag(file))


def read_as_trec_eval(qrels: Path, run: Path) -> tuple[Qrels, Run]:
    """Read judgements and a run in TREC's text format, plain, compressed, or from pipes.

    As in trec_eval, further fields of a run's lines are ignored, and the run's tag is taken from
    the last line.
    """
    with reusable_path(qrels) as file:
        judged = Qrels(*_read(file, QRELS, qrels))
    with reusable_path(run) as file:
        return judged, Run(*_read(file, RUN._replace(more=True), run), last_tag(file))


def _read(
    path: Path, layout: Layout, source: Path
) -> tuple[pl.DataFrame, str, Path, pl.Series | None, pl.Series | None]:
    """Read a file; return its columns, the run's name, the path, and hashes and times if known."""
    if not is_parquet(path):
        table = read_coded(path, layout)
        return table.select(layout.columns), run_name(source), source, table[DOC_HASH], None
    table = read_parquet(path)
    try:
        checked = checked_columns(table, layout)
    except CitebedError as error:
        raise FormatError(path, None, str(error)) from None
    if not checked.height:
        raise FormatError(path, None, "the table has no rows.")
    return checked, run_name(source), source, None, _times(table)


def _times(table: pl.DataFrame) -> pl.Series | None:
    """Return a table's column ``time``, unchecked, or ``None``."""
    return table["time"] if "time" in table.columns else None


def read_runs(paths: Sequence[Path]) -> Iterator[Run]:
    """Read runs one at a time, under distinct names.

    Reading the first run starts at once, in a thread, while the rest of citebed is loaded. An
    exception is a pipe, which must be copied first: nothing would remove the copy if the program
    ended.
    """
    names = distinct_names(paths)
    read: Iterator[Run] = map(read_run, paths)
    if is_reusable_path(paths[0]):
        beside = ThreadPoolExecutor(1)
        first = beside.submit(read_run, paths[0])
        beside.shutdown(wait=False)
        read = chain((each.result() for each in (first,)), map(read_run, paths[1:]))
    return (replace(run, name=name) for run, name in zip(read, names, strict=True))


def read_sets(paths: Sequence[Path], read: Callable[[Path], Qrels] = read_qrels) -> list[Qrels]:
    """Read judgement sets under distinct names."""
    names = distinct_names(paths)
    return [replace(read(path), name=name) for path, name in zip(paths, names, strict=True)]


def read_judgement_table(path: Path) -> pl.DataFrame:
    """Read a table ``query_id, doc_id, relevance`` and, if the file has times, ``time``.

    Parquet is recognised by the file name, the others by the number of fields of the first line; a
    file with only comments is an empty filter run. The grade -1 means garbage in KBA's files and
    becomes 0; in TREC's it means unjudged and stays.
    """
    if is_parquet(path):
        return read_parquet(path)
    text = b""  # the first line of data, or else the last comment
    for text in filter(None, (line.strip() for _, line in read_numbered_lines(path))):
        if not text.startswith(b"#"):
            break
    if not text:
        raise FormatError(path, None, "the file is empty; expected a run or judgements.")
    number = _LEAST_KBA if text.startswith(b"#") else len(text.split())
    if number == len(QRELS.fields):
        return read_trec(path, QRELS).select(QRELS.columns)
    if number < len(QRELS.fields):
        what = (
            f"the first line has {count(number, 'field')}. Expected 4 (TREC judgements: "
            "query 0 doc_id relevance), 6 (TREC run), 5 (KBA judgements) or 7 and more (KBA "
            "filter run)."
        )
        raise FormatError(path, None, what)
    if number == len(RUN.fields):
        what = (
            "this looks like a run, but judgements were expected: 'query 0 doc_id relevance', or "
            "KBA's 'entity stream_id confidence rating contains_mention'."
        )
        raise FormatError(path, None, what)
    from citebed.runs.kba_files import read_judgements

    return read_judgements(path).table.with_columns(pl.col("relevance").clip(lower_bound=0))


# --- names ----------------------------------------------------------------------------------


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return distinct names for files, by default the file names without endings.

    Files in one folder that differ only in their endings keep them (``bm25.run``, ``bm25.txt``).
    Files with the same name in several folders get as many folders in front as necessary
    (``old/bm25``, ``new/bm25``). The same file twice is an error.
    """
    alike: dict[str, dict[Path, Path]] = {}
    places = [Path(abspath(path)) for path in paths]
    for path, place in zip(paths, places, strict=True):
        known = alike.setdefault(run_name(place), {})
        if place in known:
            same = "" if path == known[place] else f": as '{printable(known[place])}' too"
            raise CitebedError(f"the file '{printable(path)}' is given twice{same}.")
        known[place] = path
    return [_name_among(place, list(alike[run_name(place)])) for place in places]


def _name_among(place: Path, alike: Sequence[Path]) -> str:
    """Name a file among those with the same name without endings."""
    beside = [x for x in alike if x.parent == place.parent]
    name = place.name if len(beside) > 1 else run_name(place)
    ours, others = place.parts[:-1], {x.parts[:-1] for x in alike} - {place.parts[:-1]}
    depth = 0
    while any(_last(depth, parts) == _last(depth, ours) for parts in others):
        depth += 1
    return printable(Path(*_last(depth, ours), name).as_posix())


def _last(number: int, parts: tuple[str, ...]) -> tuple[str, ...]:
    return parts[max(len(parts) - number, 0) :]


def find_run_name(wanted: str, runs: Sequence[Path], kind: str = "baseline") -> str:
    """Find a run's name, given its name, path or file name."""
    names = distinct_names(runs)
    if wanted in names:
        return wanted
    for ways in ([abspath(path) for path in runs], [path.name for path in runs]):
        for way in (abspath(wanted), wanted):
            if ways.count(way) == 1:
                return names[ways.index(way)]
    raise UnknownName(kind, wanted, names)


def check_names(names: Sequence[str]) -> None:
    """Raise an error unless the runs have distinct names."""
    if not names:
        raise CitebedError("no runs were given.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CitebedError(f"two runs are called '{twice}'. Give them different names.")


def run_name(path: Path) -> str:
    """Return a run's name: its file name without endings."""
    name = printable(path.name)
    while Path(name).suffix.lower() in _ENDINGS and Path(name).stem:
        name = Path(name).stem
    return name


# --- files, tables, dicts and objects of other libraries -----------------------------------


def as_qrels(data: Any, name: str = "qrels") -> Qrels:
    """Convert judgements from a file, a table, a dict or an object of another library."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | Path):
        return read_qrels(data)
    has_table = isinstance(getattr(data, "table", None), pl.DataFrame)
    source = getattr(data, "source", None) if has_table else None  # to find the queries
    return Qrels(checked_columns(_as_frame(data, QRELS, "qrels_iter"), QRELS), name, source)


def as_run(data: Any, name: str = "run") -> Run:
    """Convert a run from a file, a table, a dict or an object of another library."""
    if isinstance(data, Run):
        return data
    if isinstance(data, str | Path):
        return read_run(data)
    table = _as_frame(data, RUN, "scoreddocs_iter")
    return Run(checked_columns(table, RUN), name, times=_times(table))


def as_runs(data: Any) -> Iterator[Run]:
    """Yield one run, several (a list or a generator), or a dict of runs by name."""
    if isinstance(data, Mapping) and not _is_nested(data):
        for name, run in data.items():
            yield replace(as_run(run, str(name)), name=str(name))
        return
    several = isinstance(data, list | tuple) and bool(data) and not _is_row(data[0])
    if isinstance(data, Iterator):
        first = list(islice(data, 1))
        several, data = bool(first) and not _is_row(first[0]), chain(first, data)
    if isinstance(data, list | tuple) and data and all(isinstance(x, str | Path) for x in data):
        yield from read_runs([Path(x) for x in data])
    elif several:
        for number, run in enumerate(data, 1):
            yield as_run(run, f"run{number}")
    else:
        yield as_run(data)


def _is_nested(data: Mapping[Any, Any]) -> bool:
    """Return True for a dict of queries, False for a dict of runs."""
    if not data:
        return True
    first = next(iter(data.values()))
    return isinstance(first, Mapping) and not any(isinstance(x, Mapping) for x in first.values())


def _is_row(data: Any) -> bool:
    """Return True for a row of a run: a record, a dict of fields, or a triple."""
    if isinstance(data, Mapping):
        return any(name in data for name in ("query_id", "qid")) and not any(
            isinstance(value, Mapping) for value in data.values()
        )
    return hasattr(data, "query_id") or (
        isinstance(data, tuple | list)
        and len(data) == 3
        and isinstance(data[0], str | int)
        and isinstance(data[2], Real)
    )


def _as_frame(data: Any, layout: Layout, iterator: str) -> pl.DataFrame:
    """Convert data to a table, unchecked; ``iterator`` is ir_datasets' method for its rows."""
    if isinstance(getattr(data, "table", None), pl.DataFrame):
        data = data.table
    if hasattr(data, iterator):
        data = getattr(data, iterator)()
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    try:
        if hasattr(data, "columns") and hasattr(data, "iloc"):  # pandas, without importing it
            return _from_pandas(data)
        if not isinstance(data, Mapping) and hasattr(data, "to_dict"):  # ranx's Qrels and Run
            data = data.to_dict()
        if isinstance(data, Mapping):
            return _from_dicts(data, layout)
        if isinstance(data, Iterable):
            return _from_rows(data, layout)
    except UnicodeEncodeError as error:
        raise CitebedError(
            f"{error.object!a} contains half a character (a lone surrogate), which is not text."
        ) from None
    raise CitebedError(
        f"cannot read {layout.what} from a {type(data).__name__}. Give a file, a table with "
        f"columns {', '.join(layout.columns)}, or a dict of dicts."
    )


_NUMBERS = ("score", "relevance", "label", "rel")


def _from_pandas(data: Any) -> pl.DataFrame:
    """Convert a pandas table; missing values become null.

    pandas turns integers into floats if one is missing; ids are turned back into integers.
    """
    columns = {}
    for name in data.columns:
        values, gone = data[name].tolist(), data[name].isna()
        if str(name) not in _NUMBERS and data[name].dtype.kind == "f":
            values = [
                int(x) if not no and x.is_integer() else x
                for x, no in zip(values, gone, strict=True)
            ]
        if gone.any():
            values = [None if no else x for x, no in zip(values, gone, strict=True)]
        columns[str(name)] = values
    return pl.DataFrame(columns, strict=False)


def _from_dicts(data: Mapping[Any, Any], layout: Layout) -> pl.DataFrame:
    queries: list[str] = []
    documents: list[str] = []
    values: list[Any] = []
    for query, of_query in data.items():
        if not isinstance(of_query, Mapping):
            raise CitebedError(
                f"query '{query}' has a {type(of_query).__name__}; expected a dict from document "
                f"to {layout.columns[2]}."
            )
        queries.extend([str(query)] * len(of_query))
        documents.extend(map(str, of_query))
        values.extend(of_query.values())
    columns = dict(zip(layout.columns, (queries, documents, values), strict=True))
    return pl.DataFrame(columns, strict=False)


def _from_rows(data: Iterable[Any], layout: Layout) -> pl.DataFrame:
    rows = list(data)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return pl.from_dicts(rows, strict=False)
    if rows and hasattr(rows[0], layout.columns[2]):
        columns = {name: [getattr(row, name) for row in rows] for name in layout.columns}
    else:
        try:
            columns = {name: [row[at] for row in rows] for at, name in enumerate(layout.columns)}
        except (TypeError, IndexError, KeyError):
            raise CitebedError(
                f"expected rows of {', '.join(layout.columns)}; found {rows[0]!r:.80}."
            ) from None
    return pl.DataFrame(columns, strict=False)
