"""Which form a file of judgements or of a run has: the fields of its first line say so."""

from __future__ import annotations

import gzip
import zlib
from enum import Enum
from pathlib import Path

from citebed.errors import CitebedError, FormatError
from citebed.wording import count

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Form(Enum):
    """TREC's forms by their number of fields, 4 and 6; KBA's with 5, or 7 and more."""

    TREC_QRELS = "TREC judgements"
    TREC_RUN = "a TREC run"
    KBA_SHORT = "KBA judgements"
    KBA = "a KBA filter run"


_BY_FIELDS = {4: Form.TREC_QRELS, 5: Form.KBA_SHORT, 6: Form.TREC_RUN}


def form_of(path: Path) -> Form:
    """The form of a text file, plain or gzip; a file of comments only is an empty filter run."""
    if path.is_dir():
        raise CitebedError(f"{path} is a folder; give the file itself.")
    fields = _first_fields(path)
    if fields is None:
        return Form.KBA
    if len(fields) > 6:
        return Form.KBA
    if len(fields) not in _BY_FIELDS:
        raise FormatError(
            path,
            None,
            f"the first line has {count(len(fields), 'field')}. Expected 4 (TREC judgements: "
            "query 0 doc_id relevance), 6 (TREC run), 5 (KBA judgements) or 7 and more (KBA "
            "filter run).",
        )
    return _BY_FIELDS[len(fields)]


def _first_fields(path: Path) -> list[bytes] | None:
    """The fields of the first line of data; ``None`` where there are only comments."""
    with path.open("rb") as handle:
        zipped = handle.read(2) == _GZIP
    anything = False
    try:
        with gzip.open(path) if zipped else path.open("rb") as lines:
            for line in lines:
                text = line.removeprefix(_BOM).strip()
                anything = anything or bool(text)
                if text and not text.startswith(b"#"):
                    return text.split()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(
            path, None, f"the gzip file is cut short or damaged ({error}). Get it anew."
        ) from None
    if not anything:
        raise FormatError(path, None, "the file is empty; expected a run or judgements.")
    return None
