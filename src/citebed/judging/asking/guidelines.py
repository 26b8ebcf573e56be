"""What the organisers tell their judges about judging, at hand on the page of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from citebed.collection.formats.base import decode
from citebed.files.reading import read_small

LONGEST = 64 << 10
"""Bytes that guidelines may have: they are read between two papers."""


def read_guidelines(path: str | Path) -> str:
    """Guidelines from a text or Markdown file."""
    return decode(read_small(Path(path), LONGEST))[0].strip()


@cache
def guidelines_html(text: str) -> str:
    """Markdown as HTML; tags in it stay text, and nothing is loaded."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).disable("image").render(text))
