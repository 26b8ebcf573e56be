"""Which form a file of judgements or of a run has: the fields of its first line say so."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from citebed.errors import FormatError
from citebed.files.line_blocks import numbered_lines
from citebed.wording import count


class Form(Enum):
    """TREC's forms by their number of fields, 4 and 6; KBA's with 5, or 7 and more."""

    TREC_QRELS = "TREC judgements"
    TREC_RUN = "a TREC run"
    KBA_SHORT = "KBA judgements"
    KBA = "a KBA filter run"


_BY_FIELDS = {4: Form.TREC_QRELS, 5: Form.KBA_SHORT, 6: Form.TREC_RUN}


def form_of(path: Path) -> Form:
    """The form of a text file, plain or packed; a file of comments only is an empty filter run."""
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
    anything = False
    for _, line in numbered_lines(path):
        text = line.strip()
        anything = anything or bool(text)
        if text and not text.startswith(b"#"):
            return text.split()
    if not anything:
        raise FormatError(path, None, "the file is empty; expected a run or judgements.")
    return None
