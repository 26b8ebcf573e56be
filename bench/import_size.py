"""How do time and memory of `citebed import` grow with what is imported, against ACM-CR?

The BibTeX is made of the real entries of many people (`formats/real-bib.tar.xz`), over and over
under other keys, until it has the wanted size. With ``--papers`` titles and DOIs are others too,
so that nothing merges; without, hundreds of entries are each one document.
Run: python bench/import_size.py [--megabytes N] [--files N] [--papers] [--skip-acm-cr]
"""

from __future__ import annotations

import argparse
import itertools
import re
import resource
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.bibtex import BIBTEX
from citebed.records import Document
from common import shared_data, watch

_KEY = re.compile(r"([{(]\s*[^\s,]+)")
_NUMBERED = re.compile(r"(\b(?:title|doi)\s*=\s*[{\"]+)", re.IGNORECASE)


def real_entries() -> list[str]:
    """The entries of real files that can stand alone."""
    entries: list[str] = []
    with tarfile.open(shared_data("formats") / "real-bib.tar.xz") as archive:
        for info in archive:
            if (file := archive.extractfile(info)) is not None:
                entries += [
                    record.bibtex
                    for record in BIBTEX.parse(Chunk(file.read(), info.name))
                    if isinstance(record, Document) and record.bibtex and record.keys
                ]
    return entries


def altered(entry: str, number: int, *, papers: bool) -> str:
    """The entry under another key and, as another paper, with another title and DOI."""
    if papers:
        entry = _NUMBERED.sub(lambda m: _as_another(m[0], number), entry)
    return _KEY.sub(lambda m: f"{m[0]}:{number}", entry, count=1)


def _as_another(start: str, number: int) -> str:
    return (
        f"{start}10.{10_000 + number}/" if start.lower().startswith("doi") else f"{start}{number} "
    )


def write(folder: Path, megabytes: int, files: int, *, papers: bool) -> int:
    """Files of so many bytes in all under ``folder``; gives how many entries they have."""
    folder.mkdir()
    entries, room = real_entries(), (megabytes << 20) // files
    endless = _endless(entries, papers=papers)
    count = 0
    for number in range(files):
        with (folder / f"{number:05d}.bib").open("w", encoding="utf-8") as file:
            while file.tell() < room:
                batch = list(itertools.islice(endless, max(1, min(500, room >> 12))))
                file.write("\n".join(batch) + "\n")
                count += len(batch)
    return count


def _endless(entries: list[str], *, papers: bool) -> Iterator[str]:
    for number in itertools.count(1):
        for entry in entries:
            yield altered(entry, number, papers=papers)


def run(label: str, words: list[str], records: int) -> None:
    """Import, and print the time per record: wall clock, and all processors together."""
    before = _processors()
    ran = watch([sys.executable, "-m", "citebed", "import", *words])
    if ran.code:
        sys.exit(ran.err)
    spent = _processors() - before
    by_record = (
        f"{ran.seconds / records * 1e6:.0f} µs a record, {spent / records * 1e6:.0f} of work"
    )
    print(f"{label:34} {ran.seconds:7.1f} s   {by_record}   peak {ran.megabytes:,.0f} MB")
    print("\n".join(f"    {line}" for line in ran.out.splitlines()[:4]), flush=True)


def _processors() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--megabytes", type=int, default=1024)
    options.add_argument("--files", type=int, default=1)
    options.add_argument("--papers", action="store_true", help="no two entries are one paper")
    options.add_argument("--skip-acm-cr", action="store_true")
    options.add_argument("--folder", help="make the files here, and leave them")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if not given.skip_acm_cr:
            source = shared_data("acm-cr") / "acm-dl.tar.xz"
            run("ACM-CR, 172 MB of BibTeX", [str(folder / "acm-cr"), str(source)], 113_512)
        count = write(folder / "files", given.megabytes, given.files, papers=given.papers)
        label = f"{given.megabytes} MB, {given.files} files, {count:,} entries"
        run(label, [str(folder / "c"), str(folder / "files")], count)


if __name__ == "__main__":
    main()
