"""Does `citebed import` survive whatever it is given, and account for every file?

Damaged files of every kind are imported together, files made to hurt one by one, by the real
command in a process of its own. Ends with exit code 1 if a single check fails.
Run: python bench/robustness.py [--files N] [--seed N] [--megabytes N]
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from common import REPOSITORY, Watched, watch

sys.path.insert(0, str(REPOSITORY))

from tests import accounting
from tests.hostile import HOSTILE, Hostile

from citebed.collection.reading.sources import SourceNames

PATIENCE = 300.0
KINDS = ("skipped", "mended", "ignored")
GROWTH = 2.5
"""Four times the input may take this many times four times as long, to leave room for noise."""


class Study:
    """The checks so far: how many were made, and which failed."""

    def __init__(self) -> None:
        self.made = 0
        self.failed: list[str] = []

    def check(self, what: str, wrong: list[str]) -> None:
        """Note a check; ``wrong`` is what speaks against it."""
        self.made += 1
        if wrong:
            more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
            self.failed.append(f"{what}: {'; '.join(wrong[:3])}{more}")

    def import_(self, what: str, collection: Path, source: Path) -> Watched:
        """Import once and look at how it ended and what else it changed."""
        around = collection.parent
        before = accounting.listing(around, collection)
        done = watch(accounting.command(collection, source), PATIENCE)
        after = accounting.listing(around, collection)
        ran = accounting.Ran(done.code, done.out, done.err)
        self.check(f"{what}: how it ended", accounting.badly_ended(ran))
        changed = sorted(str(row) for row in {*before} ^ {*after})
        self.check(f"{what}: written outside the collection", changed)
        return done


def value(done: Watched, name: str) -> int:
    """A number of the report that an import printed."""
    return accounting.Ran(done.code, done.out, done.err).value(name)


def again(study: Study, what: str, collection: Path, source: Path) -> Watched:
    """Import the same once more: nothing is read, nothing changes."""
    before = accounting.table(collection, "import/problems").height
    done = study.import_(f"{what}, again", collection, source)
    if done.code == 0:
        files, unchanged = value(done, "files"), value(done, "unchanged files")
        wrong = [] if files == unchanged else [f"{unchanged} of {files}"]
        study.check(f"{what}: all unchanged the second time", wrong)
        after = accounting.table(collection, "import/problems").height
        wrong = [] if before == after else [f"{before}, then {after}"]
        study.check(f"{what}: as many problems the second time", wrong)
    return done


# --- Damaged files --------------------------------------------------------------------------


def damaged(study: Study, root: Path, files: int, seed: int) -> None:
    """Import damaged files together; print a table of the kinds of damage."""
    source, collection = root / "damaged", root / "collection"
    accounting.write_damaged(source, files, seed)
    size = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    done = study.import_("damaged", collection, source)
    if done.code != 0:
        return
    study.check("damaged: files counted", [] if value(done, "files") == files else [done.out])
    study.check("damaged: every file accounted for", accounting.unaccounted(collection, source))
    study.check("damaged: records as read", accounting.differences(collection, source))
    study.check("damaged: nothing from outside", accounting.leaked(collection))
    second = again(study, "damaged", collection, source)
    print_damaged(collection, source)
    print(
        f"\n{files:,} files, {size / 1e6:.0f} MB, seed {seed}: {done.seconds:.1f} s, "
        f"peak {done.megabytes:,.0f} MB; again: {second.seconds:.1f} s\n"
    )


def print_damaged(collection: Path, source: Path) -> None:
    """Files, records and problems for each kind of damage."""
    records = accounting.table(collection, "import/sources").select("source", "records")
    told = accounting.problems_by_file(collection)
    known = dict(records.iter_rows())
    head = ("damage", "files", "records", *KINDS, "no record", "copies")
    print(("{:<11}" + "{:>10}" * 7).format(*head))
    total: Counter[str] = Counter()
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        row: Counter[str] = Counter()
        for name in map(SourceNames(collection).name_of, folder.iterdir()):
            row["files"] += 1
            row["copies"] += name not in known
            row["records"] += known.get(name, 0)
            row["no record"] += known.get(name) == 0
            row.update(told.get(name, {}))
        total.update(row)
        print_row(folder.name, row)
    print_row("all", total)


def print_row(name: str, row: Counter[str]) -> None:
    numbers = (row[key] for key in ("files", "records", *KINDS, "no record", "copies"))
    print(f"{name:<11}" + "".join(f"{number:>10,}" for number in numbers))


# --- Files made to hurt ---------------------------------------------------------------------


def hostile(study: Study, root: Path, megabytes: int) -> None:
    """Import each hostile file alone; print its time and memory."""
    head = ("hostile file", "on disk MB", "seconds", "peak MB", "records")
    print(("{:<22}" + "{:>11}" * 4 + "  first problem").format(*head))
    for item in HOSTILE:
        folder = root / "hostile" / re.sub(r"\W", "-", item.name)
        source = folder / "in"
        source.mkdir(parents=True)
        item.put(source, megabytes)
        one_hostile(study, item, folder / "collection", source)
        shutil.rmtree(folder)
    print()


def one_hostile(study: Study, item: Hostile, collection: Path, source: Path) -> None:
    files = (path for path in source.iterdir() if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files) / 1e6
    done = study.import_(item.name, collection, source)
    if done.code != 0:
        print(
            f"{item.name:<22}{size:>11.2f}{done.seconds:>11.1f}{done.megabytes:>11,.0f}  failed",
            flush=True,
        )
        return
    study.check(f"{item.name}: accounted for", accounting.unaccounted(collection, source))
    study.check(f"{item.name}: nothing from outside", accounting.leaked(collection))
    records = value(done, "records")
    study.check(f"{item.name}: records", [] if item.gives(records) else [str(records)])
    said = list(accounting.table(collection, "import/problems")["what"])
    found = [what for what in said if re.search(item.says, what)] if item.says else not said
    study.check(f"{item.name}: says what is wrong", [] if found else said[:3] or ["nothing said"])
    again(study, item.name, collection, source)
    numbers = f"{size:>11.2f}{done.seconds:>11.1f}{done.megabytes:>11,.0f}{records:>11,}"
    print(f"{item.name:<22}{numbers}  {said[0][-70:] if said else ''}", flush=True)


# --- Growth ---------------------------------------------------------------------------------


def growth(study: Study, root: Path) -> None:
    """Read each hostile file of one kind of text in two sizes: twice four is not sixteen."""
    print(f"{'growth':<22}{'2 MB s':>11}{'8 MB s':>11}{'ratio':>11}")
    for item in HOSTILE:
        if not item.grows:
            continue
        small, large = (seconds_to_read(root / "growth", item, size) for size in (20, 80))
        ratio = large / small
        wrong = [f"{small:.2f} s, {large:.2f} s"] if ratio > 4 * GROWTH and large > 1 else []
        study.check(f"{item.name}: time grows with size", wrong)
        print(f"{item.name:<22}{small:>11.2f}{large:>11.2f}{ratio:>11.1f}", flush=True)
    print()


def seconds_to_read(folder: Path, item: Hostile, megabytes: int) -> float:
    folder.mkdir(exist_ok=True)
    item.write(folder, megabytes)
    (path,) = folder.iterdir()
    seconds = timed(lambda: accounting.parsed(path, path.name))
    path.unlink()
    return seconds


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--files", type=int, default=10_000, help="damaged files")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--megabytes", type=int, default=100, help="size of a single record")
    arguments = options.parse_args()
    study = Study()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        damaged(study, root, arguments.files, arguments.seed)
        hostile(study, root, arguments.megabytes)
        growth(study, root)
    print(f"{study.made:,} checks, {len(study.failed):,} failed")
    for line in study.failed:
        print(f"FAILED {line}")
    sys.exit(1 if study.failed else 0)


if __name__ == "__main__":
    main()
