"""A page of a PDF as a picture, and the text in a part of it, made where a damaged file can do no
harm: in a child process."""

from __future__ import annotations

import contextlib
import io
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pypdfium2

from citebed.errors import CitebedError
from citebed.files.reading import file_hash

MOST_PIXELS = 24_000_000
"""Of one picture: a page may say that it is a mile wide."""


class Wanted(NamedTuple):
    """A page, counted from 0, of the file with this hash, so many pixels wide."""

    path: str
    sha256: str
    page: int
    width: int


class Marked(NamedTuple):
    """A part of a page, in points from its upper left corner."""

    path: str
    sha256: str
    page: int
    left: float
    top: float
    right: float
    bottom: float


def answer(job: Wanted | Marked) -> bytes | str:
    """What a child process is asked for."""
    return picture(job) if isinstance(job, Wanted) else marked_text(job)


def picture(wanted: Wanted) -> bytes:
    """The page as PNG; `CitebedError` where the file is not the one, or has no such page."""
    with _page(wanted) as page:
        wide, high = page.get_size()
        most = (MOST_PIXELS / max(wide * high, 1.0)) ** 0.5
        image = page.render(scale=min(wanted.width / max(wide, 1.0), most)).to_pil()
        made = io.BytesIO()
        image.convert("RGB").save(made, "PNG", compress_level=3)
    return made.getvalue()


def marked_text(marked: Marked) -> str:
    """The text in a part of a page, line by line."""
    with _page(marked) as page:
        left, _, _, top = page.get_bbox()
        text: str = page.get_textpage().get_text_bounded(
            left + marked.left, top - marked.bottom, left + marked.right, top - marked.top
        )
    for char in _LIGATURES:
        text = text.replace(char, unicodedata.normalize("NFKC", char))
    return _BROKEN.sub("-\n", text).replace("\r\n", "\n")


_LIGATURES = "ﬀﬁﬂﬃﬄﬅﬆ"
_BROKEN = re.compile(r"[\ufffe\x02]\s*")
"""How the library tells a hyphen at the end of a line."""


@contextlib.contextmanager
def _page(job: Wanted | Marked) -> Iterator[pypdfium2.PdfPage]:
    """A page of a file; a path that stands in a file of somebody else opens nothing but the paper
    that was read."""
    path = Path(job.path)
    if not path.is_file():
        raise CitebedError(f"the paper's PDF is not there any more: '{path}'.")
    if file_hash(path) != job.sha256:
        raise CitebedError(f"'{path}' is not the PDF that was read.")
    document = pypdfium2.PdfDocument(path)
    try:
        if job.page >= len(document):
            raise CitebedError(f"the PDF has no page {job.page + 1}.")
        yield document[job.page]
    finally:
        document.close()
