"""Pipes as files: what can be read only once, kept while it is needed more often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citebed.errors import FormatError


@contextmanager
def at_hand(path: Path) -> Iterator[Path]:
    """A file that can be opened as often as one likes: the file itself, or a copy of a pipe.

    So ``<(zcat x.run.gz)`` and ``/dev/stdin`` read as any file does. The copy lies where
    temporary files do, and goes at the end; errors of format speak of the pipe, not of it.
    """
    if not path.is_fifo():
        yield path
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="citebed-") as folder:
        copy = Path(folder) / path.name
        with path.open("rb") as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file, 1 << 20)
        try:
            yield copy
        except FormatError as error:
            if error.path != str(copy):
                raise
            raise FormatError(path, error.line, error.what) from None
