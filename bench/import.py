"""How fast is `citebed import` on all of ACM-CR, against what pybtex needs to parse it?

Both read the same 903 BibTeX files (172 MB, 113,512 entries) back to back on this machine.
pybtex only parses; citebed parses, cleans, merges, looks up the citing papers' references and
writes the collection. Run: python bench/import.py [--skip-peer] [--repeat N]
"""

from __future__ import annotations

import argparse
import os
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from common import REPOSITORY, watch


def data_folder() -> Path:
    given = os.environ.get("CITEBED_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    if not (folder / "acm-cr" / "acm-dl.tar.xz").is_file():
        sys.exit("ACM-CR is not here: set CITEBED_DATA to the folder that holds acm-cr/")
    return folder / "acm-cr"


def time_pybtex(files: list[Path]) -> tuple[float, int]:
    from pybtex.database.input import bibtex
    from pybtex.errors import capture

    started, entries = time.perf_counter(), 0
    with capture():
        for path in files:
            entries += len(bibtex.Parser().parse_file(str(path)).entries)
    return time.perf_counter() - started, entries


def time_citebed(sources: list[Path], acm_cr: Path, target: Path) -> tuple[float, float]:
    """Seconds from shell to shell, and the peak memory of all processes together in MB."""
    command = [sys.executable, "-m", "citebed", "import", str(target), *map(str, sources)]
    command += ["--profile", "acm-cr", "--exclude", str(acm_cr / "blacklist.txt"), "--quiet"]
    done = watch(command)
    if done.code != 0:
        sys.exit(f"the import failed: {done.err}")
    return done.seconds, done.megabytes


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--skip-peer", action="store_true", help="do not run pybtex")
    options.add_argument("--repeat", type=int, default=3, help="runs of citebed; the best counts")
    arguments = options.parse_args()
    acm_cr = data_folder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(acm_cr / "acm-dl.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        files = sorted(folder.rglob("*.bib"))
        size = sum(path.stat().st_size for path in files) / 1e6
        print(f"{len(files)} BibTeX files, {size:.0f} MB, {os.cpu_count()} cores")
        peer = None
        if not arguments.skip_peer:
            peer, entries = time_pybtex(files)
            print(f"pybtex, parse only              {peer:6.1f} s   {entries:,} entries")
        for label, source in (("folder", folder / "acm-dl"), ("tar.xz", acm_cr / "acm-dl.tar.xz")):
            runs = [
                time_citebed([source, acm_cr / "papers"], acm_cr, folder / f"{label}-{number}")
                for number in range(arguments.repeat)
            ]
            best, peak = min(run[0] for run in runs), max(run[1] for run in runs)
            all_runs = ", ".join(f"{seconds:.1f}" for seconds, _ in runs)
            ratio = f"   {peer / best:.1f} times as fast as pybtex" if peer else ""
            took = f"{best:6.1f} s   ({all_runs}) peak {peak:,.0f} MB"
            print(f"citebed import, {label:14}  {took}{ratio}")


if __name__ == "__main__":
    main()
