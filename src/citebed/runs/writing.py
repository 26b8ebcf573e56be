"""Runs and judgements to files: TREC's text form (gzip or not) or Parquet, whole or not at all.

The ending of the name chooses: ``.parquet``, ``.gz``, anything else is plain text. The same table
gives the same bytes.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import polars as pl

from citebed.errors import CitebedError
from citebed.files.writing import whole_files
from citebed.runs.pair_codes import in_rank_order
from citebed.runs.tables import Qrels, Run
from citebed.wording import json_text, printable

# A blank ends a field, a NUL is no text; a line that starts with # is a comment, and a mark at
# the beginning of a file is not part of what follows.
_UNFIT = {"query_id": r"[\s\x00\x1c-\x1f]|^$|^[#\x{feff}]", "doc_id": r"[\s\x00\x1c-\x1f]|^$"}
_LEVEL = 6


def write_qrels(
    path: str | Path,
    qrels: Qrels,
    label: str = "0",
    facts: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write judgements in the order of their table; gives the files written.

    ``label`` goes into TREC's second field, which evaluation programs do not look at, and into a
    column ``label`` of Parquet when it is not ``0``. Further columns of the table are kept in
    Parquet. ``facts`` are put into ``NAME.json`` beside it: how the set was made.
    """
    path = Path(path)
    _check_label(label)
    if _is_table(path):
        extra = [pl.lit(label).alias("label")] if label != "0" else []
        return _write(path, qrels.table.with_columns(extra), facts)
    fields = ("query_id", pl.lit(label).alias("label"), "doc_id", "relevance")
    return _write(path, qrels.table.select(fields), facts)


def write_run(
    path: str | Path,
    run: Run,
    tag: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a run in rank order, queries ascending; gives the files written.

    Ranks count from 1 in the one order of a ranking. The tag is the run's name if none is given.
    Scores are written with all their digits, so that reading gives the same numbers.
    """
    path = Path(path)
    ordered = in_rank_order(run)
    if _is_table(path):
        return _write(path, ordered.select("query_id", "doc_id", "rank", "score"), facts)
    name = "".join(printable(tag or run.name).split()) or "run"
    fields = ("query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit(name))
    return _write(path, ordered.select(fields), facts)


def refuse_input(out: Path, *inputs: Path) -> None:
    """Judgements and runs are never overwritten by what is made of them."""
    for made in (out, out.with_name(f"{out.name}.json")):
        for path in inputs:
            if made.exists() and path.exists() and made.samefile(path):
                raise CitebedError(
                    f"{printable(made)} is one of the files that were read; it would be lost. "
                    "Give another name for the result."
                )


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _check_label(label: str) -> None:
    if not label or len(label.split()) != 1:
        raise CitebedError(f"the label '{label}' must be one word, without blanks.")


def check_ids(table: pl.DataFrame, path: Path) -> None:
    """Refuse ids that a TREC file cannot hold, or that would be read otherwise."""
    for column, pattern in _UNFIT.items():
        unfit = table[column].str.contains(pattern).fill_null(True)
        if unfit.any():
            raise CitebedError(
                f"the {column} {table[column].filter(unfit)[0]!r} is empty, has a blank in it or "
                "starts with #, which a TREC file cannot hold. "
                f"Write Parquet instead: {printable(path.stem)}.parquet"
            )


def _write(path: Path, table: pl.DataFrame, facts: Mapping[str, Any] | None) -> list[Path]:
    if not _is_table(path):
        check_ids(table, path)
    paths = [path] if facts is None else [path, path.with_name(f"{path.name}.json")]
    with whole_files(*paths) as drafts:
        with drafts[0].open("wb") as handle:
            _fill(path, table, handle)
        if facts is not None:
            text = json_text({**facts, "file": path.name}, indent=2)
            drafts[1].write_text(text + "\n", "utf-8")
    return paths


def _fill(path: Path, table: pl.DataFrame, handle: IO[bytes]) -> None:
    if _is_table(path):
        table.write_parquet(handle)
    elif path.suffix.lower() == ".gz":
        # Neither name nor time in the gzip header: the same table gives the same bytes.
        with gzip.GzipFile("", "wb", _LEVEL, handle, mtime=0) as zipped:
            _write_text(table, zipped)
    else:
        _write_text(table, handle)


def _write_text(table: pl.DataFrame, handle: Any) -> None:
    table.write_csv(
        handle, include_header=False, separator=" ", quote_style="never", batch_size=65536
    )
