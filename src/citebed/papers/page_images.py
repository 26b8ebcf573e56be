"""Render a page of a PDF as an image, or return the text in a part of it.

Run `answer` in a child process, so that a damaged file does no harm.
"""

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
from citebed.files.input_files import hash_file

MAX_PIXELS = 24_000_000
"""Limit for one image: a file may state that its page is a mile wide."""


class PageImageRequest(NamedTuple):
    """A page, counted from 0, of the file with this hash; ``width`` is in pixels."""

    path: str
    sha256: str
    page: int
    width: int


class PageTextRequest(NamedTuple):
    """A part of a page, in points from its upper left corner."""

    path: str
    sha256: str
    page: int
    left: float
    top: float
    right: float
    bottom: float


def answer(request: PageImageRequest | PageTextRequest) -> bytes | str:
    """Return the PNG or the text that is requested.

    Raise `CitebedError` if the file has changed or has no such page.
    """
    if isinstance(request, PageImageRequest):
        with _open_page(request) as page:
            width, height = page.get_size()
            largest = (MAX_PIXELS / max(width * height, 1.0)) ** 0.5
            image = page.render(scale=min(request.width / max(width, 1.0), largest)).to_pil()
            png = io.BytesIO()
            image.convert("RGB").save(png, "PNG", compress_level=3)
        return png.getvalue()
    with _open_page(request) as page:
        left, _, _, top = page.get_bbox()
        text: str = page.get_textpage().get_text_bounded(
            left + request.left, top - request.bottom, left + request.right, top - request.top
        )
    for char in _LIGATURES:
        text = text.replace(char, unicodedata.normalize("NFKC", char))
    return _BROKEN.sub("-\n", text).replace("\r\n", "\n")


_LIGATURES = "ﬀﬁﬂﬃﬄﬅﬆ"
_BROKEN = re.compile(r"[\ufffe\x02]\s*")
"""The codes that PDFium uses for a hyphen at the end of a line."""


@contextlib.contextmanager
def _open_page(request: PageImageRequest | PageTextRequest) -> Iterator[pypdfium2.PdfPage]:
    """Open a page of the annotated PDF.

    The path comes from a review file that anyone may have written, so the hash must match.
    """
    path = Path(request.path)
    if not path.is_file():
        raise CitebedError(f"the paper's PDF no longer exists: '{path}'.")
    if hash_file(path) != request.sha256:
        raise CitebedError(f"'{path}' is not the PDF that citebed annotated.")
    document = pypdfium2.PdfDocument(path)
    try:
        if request.page >= len(document):
            raise CitebedError(f"the PDF has no page {request.page + 1}.")
        yield document[request.page]
    finally:
        document.close()
