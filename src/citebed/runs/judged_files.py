"""Files of judgements over a stream, as tables: TREC qrels, KBA's two forms, Parquet.

Nothing here waits for numpy, so that judgements can be read before the rest of a program loads.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from citebed.errors import FormatError
from citebed.files.parquet import read_parquet
from citebed.runs.forms import Form, form_of
from citebed.runs.trec_files import QRELS, read_trec


def read_judged(path: Path) -> pl.DataFrame:
    """``query_id, doc_id, relevance`` and, if the file has them, ``time``.

    In KBA's scale -1 is garbage, a judgement, and becomes 0; in TREC's it says that nobody
    judged, and stays.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    form = form_of(path)
    if form in (Form.KBA_SHORT, Form.KBA):
        from citebed.runs.kba_files import read_judgements

        return read_judgements(path).table.with_columns(pl.col("relevance").clip(lower_bound=0))
    if form is Form.TREC_QRELS:
        return read_trec(path, QRELS).select(QRELS.kept)
    raise FormatError(
        path,
        None,
        "this looks like a run where judgements should stand. Expected 'query 0 doc_id "
        "relevance', or KBA's 'entity stream_id confidence rating contains_mention'.",
    )
