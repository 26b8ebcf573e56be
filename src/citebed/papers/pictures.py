"""A page of a PDF as a picture, made where a damaged file can do no harm: in a child process."""

from __future__ import annotations

import io
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


def picture(wanted: Wanted) -> bytes:
    """The page as PNG; `CitebedError` where the file is not the one, or has no such page.

    A path that stands in a file of somebody else opens nothing but the paper that was read.
    """
    path = Path(wanted.path)
    if not path.is_file():
        raise CitebedError(f"the paper's PDF is not there any more: '{path}'.")
    if file_hash(path) != wanted.sha256:
        raise CitebedError(f"'{path}' is not the PDF that was read.")
    document = pypdfium2.PdfDocument(path)
    try:
        if wanted.page >= len(document):
            raise CitebedError(f"the PDF has no page {wanted.page + 1}.")
        page = document[wanted.page]
        wide, high = page.get_size()
        most = (MOST_PIXELS / max(wide * high, 1.0)) ** 0.5
        image = page.render(scale=min(wanted.width / max(wide, 1.0), most)).to_pil()
    finally:
        document.close()
    made = io.BytesIO()
    image.convert("RGB").save(made, "PNG", compress_level=3)
    return made.getvalue()
