"""``python -m citebed``."""

from citebed.cli import run

run()
