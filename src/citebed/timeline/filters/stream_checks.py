"""Checks of a stream before a filter sees it: documents in order of time, and each one once."""

from __future__ import annotations

from citebed.errors import FormatError
from citebed.files.lines import Block
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.repeated_documents import RepeatedDocuments
from citebed.timeline.streams.stream_files import Decoded


class Admission:
    """Checks the blocks of the stream ``name`` and counts them in ``progress``.

    With ``strict``, a line that is not a document is an error.
    """

    def __init__(self, name: str, progress: Progress, *, strict: bool) -> None:
        self.progress = progress
        self.repeats = RepeatedDocuments()
        self._name, self._strict = name, strict

    def admitted(self, decoded: Decoded) -> Decoded:
        """Check the order of the next block and remove repeated documents."""
        last = self.progress.last_time
        check_order(decoded, last, self._name)
        decoded = self.repeats.left_out(decoded, last)
        if decoded.problems and self._strict:
            raise FormatError(self._name, *decoded.problems[0][:2])
        return decoded

    def passed(self, block: Block, decoded: Decoded) -> None:
        """Count a block after its documents were filtered."""
        progress = self.progress
        progress.offset += len(block.data)
        progress.line += block.lines
        progress.documents += decoded.table.height
        if decoded.table.height:
            progress.last_time = decoded.table["time"][-1]
        progress.skipped += len(decoded.problems)
        progress.repeated += decoded.repeated
        progress.problems += decoded.problems[: LISTED - len(progress.problems)]


def check_order(decoded: Decoded, last: int | None, name: str) -> None:
    """Raise an error if a document is earlier than the one before; ``last`` is the time before."""
    times = decoded.table["time"]
    before = times.shift(1, fill_value=last)
    early = (times < before).fill_null(False).arg_true()
    if not early.len():
        return
    row = decoded.table.row(early[0], named=True)
    raise FormatError(
        name,
        row["line"],
        f"'{row['doc_id']}' is of {row['time']}, earlier than the document before it "
        f"({before[early[0]]}). A stream must be in the order of time: sort it, for instance with "
        "jq -s -c 'sort_by(.time)[]'",
    )
