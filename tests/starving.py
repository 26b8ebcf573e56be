"""Imports with too little room: files that may not grow, disks that fill up.

Runs as a process of its own (``python -m tests.starving HOW FOLDER ROOM…``), for a limit holds
for a whole process, and prints a line of JSON for each import that it tried.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from citebed.cli.app import main
from citebed.collection import ImportOptions, Rules, import_sources
from citebed.collection.reading import parser
from citebed.collection.reading import reader as reading
from citebed.collection.storing import store, table_files

EARLIER, NEW = 250, 160
"""How many documents the collection has, and how many an import adds."""
PAGE = 4096
_FILES = 8


class Tried(NamedTuple):
    """The result of an import with too little disk space, and the step in which it failed.

    ``kept`` says whether every file is unchanged, ``documents`` how many there are after the same
    import with enough space.
    """

    room: int
    code: int
    said: str
    step: str
    kept: bool
    documents: int


def prepare(folder: Path) -> None:
    """Write a collection (``c``), files to import (``new``), and the expected result (``after``).

    The sizes let a limit hit any kind of file; space can even run out at the very end, because the
    tables are far smaller than the manifest with its long list of ids.
    """
    rng = random.Random(0)
    (folder / "new").mkdir(parents=True)
    (folder / "old.bib").write_text(_entries(rng, "old", EARLIER))
    for number in range(_FILES):
        text = _entries(rng, f"new{number}x", NEW // _FILES)
        (folder / "new" / f"{number}.bib").write_text(text)
    rules = Rules(exclude=tuple(rng.randbytes(200).hex() for _ in range(4000)))
    import_sources(folder / "c", [folder / "old.bib"], ImportOptions(rules=rules, workers=1))
    shutil.copytree(folder / "c", folder / "after")
    import_sources(folder / "after", [folder / "new"], ImportOptions(workers=1))


def _entries(rng: random.Random, key: str, count: int) -> str:
    """Entries whose text does not get smaller when it is packed."""
    return "".join(
        f"@article{{{key}{n}, title={{{rng.randbytes(20).hex()}}}, "
        f"abstract={{{rng.randbytes(250).hex()}}}}}\n"
        for n in range(count)
    )


def snapshot(folder: Path) -> dict[str, str]:
    """Return a hash of every file in a collection except its lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def pages(folder: Path, before: Path | None = None) -> int:
    """Return the disk space of a folder's files, in pages; with the folder ``before``, only of
    files that differ from it, because an import writes no others."""
    there = {} if before is None else snapshot(before)
    names = (name for name, content in snapshot(folder).items() if there.get(name) != content)
    return sum(-(-(folder / name).stat().st_size // PAGE) for name in names) * PAGE


@contextlib.contextmanager
def short_files(_: Path, room: int) -> Iterator[Callable[[], None]]:
    """No file may be larger than ``room``; what is yielded ends that."""

    def make_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield make_room
    finally:
        make_room()


@contextlib.contextmanager
def small_disk(place: Path, room: int) -> Iterator[Callable[[], None]]:
    """A disk of ``room`` bytes at ``place``; what is yielded makes it larger."""

    def mount(*options: str) -> None:
        subprocess.run(["mount", *options, str(place)], check=True)

    mount("-t", "tmpfs", "-o", f"size={room}", "tmpfs")
    try:
        yield lambda: mount("-o", "remount,size=100m")
    finally:
        subprocess.run(["umount", str(place)], check=True)


HOW = {"files": short_files, "disk": small_disk}


def attempt(how: str, folder: Path, room: int, workers: int) -> Tried:
    """Import with too little room, then with enough."""
    place = folder / "place"
    place.mkdir(exist_ok=True)
    with HOW[how](place, room if how == "disk" else 1 << 40) as make_room:
        collection = place / "c"
        shutil.copytree(folder / "c", collection)
        before, steps = snapshot(collection), list[str]()
        limit = short_files(place, room) if how == "files" else contextlib.nullcontext()
        with limit, _noted(steps):
            code, said = _import(collection, folder / "new", workers)
        kept = snapshot(collection) == before
        make_room()
        report = import_sources(collection, [folder / "new"], ImportOptions(workers=1))
        shutil.rmtree(collection)
    return Tried(room, code, said, steps[-1], kept, report.documents)


def _import(collection: Path, source: Path, workers: int) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["import", str(collection), str(source), "--workers", str(workers)])
    return code, said.getvalue()


@contextlib.contextmanager
def _noted(steps: list[str]) -> Iterator[None]:
    """Write down which step of an import has begun."""
    watched: list[tuple[Any, str]] = [
        (reading, "parse_all"),
        (table_files, "write_frames"),
        (table_files, "write_table"),
        (store.Manifest, "to_toml"),
        (store, "commit_change"),
    ]
    originals = [getattr(owner, name) for owner, name in watched]

    def noting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            steps.append(name)
            return original(*arguments, **options)

        return call

    for (owner, name), original in zip(watched, originals, strict=True):
        setattr(owner, name, noting(name, original))
    try:
        yield
    finally:
        for (owner, name), original in zip(watched, originals, strict=True):
            setattr(owner, name, original)


def run(how: str, folder: Path, rooms: list[int]) -> list[Tried]:
    """Try an import with each of some limits, in a process that may mount disks of its own."""
    command = [sys.executable, "-m", "tests.starving", how, str(folder), *map(str, rooms)]
    alone = ["unshare", "--map-root-user", "--mount"] if how == "disk" else []
    done = subprocess.run(
        [*alone, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    return [Tried(**json.loads(line)) for line in done.stdout.splitlines()]


def may_mount() -> bool:
    """Whether this machine lets us have disks of our own."""
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    parser.IN_PROCESS_BYTES, parser.JOB_BYTES = 0, 1  # every file to a worker
    for number, given in enumerate(sys.argv[3:]):
        tried = attempt(sys.argv[1], Path(sys.argv[2]), int(given), workers=1 + number % 2)
        print(json.dumps(tried._asdict()), flush=True)
