"""How fast is `citebed import` on all of ACM-CR, against what others need to parse it?

All read the same 903 BibTeX files (172 MB, 113,512 entries) back to back on this machine. pybtex
and bibtexparser, where it is installed, only parse; citebed parses, cleans, merges, looks up the
citing papers' references and writes the collection.
Run: python bench/import.py [--skip-peer] [--repeat N]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import logging
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from common import machine, shared_data, watch


def time_pybtex(files: list[Path]) -> tuple[float, int]:
    from pybtex.database.input import bibtex
    from pybtex.errors import capture

    started, entries = time.perf_counter(), 0
    with capture():
        for path in files:
            entries += len(bibtex.Parser().parse_file(str(path)).entries)
    return time.perf_counter() - started, entries


def time_bibtexparser(files: list[Path]) -> tuple[float, int]:
    import bibtexparser

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    started, entries = time.perf_counter(), 0
    for path in files:
        text = path.read_text("utf-8", errors="replace")
        entries += len(bibtexparser.parse_string(text).entries)
    return time.perf_counter() - started, entries


PEERS = {"pybtex": time_pybtex, "bibtexparser": time_bibtexparser}


def command(sources: list[Path], acm_cr: Path, target: Path) -> list[str]:
    """The import of ACM-CR as a user types it."""
    words = [sys.executable, "-m", "citebed", "import", str(target), *map(str, sources)]
    return [*words, "--profile", "acm-cr", "--exclude", str(acm_cr / "blacklist.txt"), "--quiet"]


def time_citebed(words: list[str]) -> float:
    """Seconds from shell to shell."""
    started = time.perf_counter()
    subprocess.run(words, check=True)
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--skip-peer", action="store_true", help="do not run the others")
    options.add_argument("--repeat", type=int, default=3, help="runs of citebed; the best counts")
    arguments = options.parse_args()
    acm_cr = shared_data("acm-cr")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(acm_cr / "acm-dl.tar.xz") as archive:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since 3.11.4
            archive.extractall(folder, **safely)
        files = sorted(folder.rglob("*.bib"))
        size = sum(path.stat().st_size for path in files) / 1e6
        print(f"{len(files)} BibTeX files, {size:.0f} MB; {machine()}")
        peers: dict[str, float] = {}
        for name_of, timed in PEERS.items() if not arguments.skip_peer else ():
            if importlib.util.find_spec(name_of) is None:
                print(f"{name_of}: not installed")
                continue
            peers[name_of], entries = timed(files)
            told = f"{name_of} {importlib.metadata.version(name_of)}, parse only"
            print(f"{told:31} {peers[name_of]:6.1f} s   {entries:,} entries")
        for label, source in (("folder", folder / "acm-dl"), ("tar.xz", acm_cr / "acm-dl.tar.xz")):
            given = [source, acm_cr / "papers"]
            runs = [
                time_citebed(command(given, acm_cr, folder / f"{label}-{number}"))
                for number in range(arguments.repeat)
            ]
            # Looking at memory slows a process down, so that is a run of its own.
            peak = watch(command(given, acm_cr, folder / f"{label}-watched")).megabytes
            all_runs = ", ".join(f"{seconds:.1f}" for seconds in runs)
            ratios = (f"{took / min(runs):.1f} times {peer}" for peer, took in peers.items())
            ratio = f"   {', '.join(ratios)}" if peers else ""
            took = f"{min(runs):6.1f} s   ({all_runs}) peak {peak:,.0f} MB"
            print(f"citebed import, {label:14}  {took}{ratio}")


if __name__ == "__main__":
    main()
