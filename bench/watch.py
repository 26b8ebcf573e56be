"""Measure how soon a saved library is in the index, and how soon a server shows it.

The script samples the BibTeX entries of a collection into libraries of several sizes, starts
``citebed watch`` on each, and saves a new title several times. It prints the median and longest
seconds from saving until the index is in place, and from there until a running server finds the
title. With ``whole``, the collection itself is watched (a copy of it), beside a library of one
entry.

Run: python -m bench.watch COLLECTION [SIZE … whole]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from citebed.web.workbench.open_collections import OpenCollection

TIMES = 5
_WORDS = ("zebra", "quokka", "axolotl", "pangolin", "okapi", "numbat", "tapir", "kakapo")


def entry(number: int) -> str:
    """Return an entry whose title has a word that no other entry has."""
    title = f"Retrieval of {_WORDS[number]}{number}x passages"
    return f"@article{{new, title = {{{title}}}, author = {{New, Ann}}, year = {{2024}}}}\n"


def measure(folder: Path, library: Path, text: str) -> Iterator[tuple[float, float]]:
    """Yield the seconds from saving to the index, and from the index to the server."""
    command = [sys.executable, "-u", "-m", "citebed", "watch", str(folder), str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while "watching" not in (line := process.stdout.readline()):
                if not line:
                    raise SystemExit("citebed watch ended")
            server = OpenCollection("watched", folder)
            for number in range(TIMES + 1):
                server.library.find(_WORDS[number])
                saved = time.monotonic()
                library.write_text(text + entry(number), "utf-8")
                process.stdout.readline()
                indexed = time.monotonic()
                while not server.library.find(f"{_WORDS[number]}{number}x").total:
                    time.sleep(0.02)
                if number:  # the first loads what the later ones have
                    yield indexed - saved, time.monotonic() - indexed
        finally:
            process.terminate()


def main(arguments: list[str]) -> None:
    """Print a table: a row for each size."""
    source = Path(arguments[0])
    sizes = arguments[1:] or ["100", "1000", "5000"]
    entries = pl.scan_parquet(source / "documents.parquet").select("bibtex").drop_nulls()
    print("documents   saved to index: median, longest   index to server: median, longest")
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder, library = Path(name, "mine"), Path(name, "library.bib")
            text = ""
            if size == "whole":
                shutil.copytree(source, folder)
            else:
                some = entries.collect().sample(int(size), seed=1)
                text = "\n\n".join(some.to_series()) + "\n\n"
            library.write_text(text + "@article{first, title = {A first paper}}\n", "utf-8")
            found = list(measure(folder, library, text))
            total = pl.scan_parquet(folder / "documents.parquet").select(pl.len()).collect().item()
            cells = (
                f"{statistics.median(each):6.2f} s {max(each):6.2f} s"
                for each in zip(*found, strict=True)
            )
            print(f"{total:9,}", *cells, sep="         ", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main(sys.argv[1:])
