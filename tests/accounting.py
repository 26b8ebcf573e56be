"""Does an import account for every file? Runs the real command and holds it to its word."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import polars as pl
from tests.mutations import MUTATIONS, mutated
from tests.samples import SAMPLES

from citebed.collection.reading.parser import Piece, parse_piece, split_member
from citebed.collection.reading.sources import BAD_DATA, SourceNames, members
from citebed.records import CitingPaper, Document, Judgement, Problem, Query

READ = (
    *("bibtex", "acl-xml", "annotation-xml", "tei", "jats", "ris", "csl-json", "openalex"),
    *("semantic-scholar", "jsonl", "beir-corpus", "beir-queries", "local-citation-json"),
)
"""The formats whose samples are damaged."""
_IN_A_ROW = ("bibtex", "ris", "openalex", "semantic-scholar", "jsonl", "beir-corpus")
_TABLES = {"papers": CitingPaper, "import/topics": Query, "import/judgements": Judgement}
_ENDINGS = {"bibtex": "bib", "ris": "ris", "jsonl": "jsonl", "tei": "tei.xml", "jats": "nxml"}


def write_damaged(folder: Path, count: int, seed: int) -> None:
    """``count`` damaged files, each in a folder named after the kind of its (first) damage."""
    rng = random.Random(seed)
    kinds = list(MUTATIONS)
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
    for number in range(count):
        name, kind = READ[number % len(READ)], kinds[number // len(READ) % len(kinds)]
        data = SAMPLES[name] * (rng.choice((1, 1, 3, 10)) if name in _IN_A_ROW else 1)
        ending = _ENDINGS.get(name, "xml" if name.endswith("xml") else "json")
        path = folder / kind / f"{name}-{number:05d}.{ending}"
        path.write_bytes(mutated(data, rng, kind))


def command(collection: Path, source: Path) -> list[str]:
    """The import of a folder as a user would type it."""
    return [sys.executable, "-m", "citebed", "import", str(collection), str(source), "--json"]


class Ran(NamedTuple):
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    def value(self, name: str) -> int:
        """A number of the printed report."""
        rows = json.loads(self.out)
        return sum(row["value"] for row in rows if row["name"] == name)


def run(collection: Path, source: Path) -> Ran:
    """Import ``source`` as the command does, without the time it takes to start."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        from citebed.cli.app import main  # not where only readers are tried

        code = main(command(collection, source)[3:])
    return Ran(code, out.getvalue(), err.getvalue())


def badly_ended(ran: Ran) -> list[str]:
    """Return what is wrong with how a command ended, or an empty text."""
    if "Traceback" in ran.err or ran.code not in (0, 1):
        return [f"exit code {ran.code}: {ran.err[-2000:]}"]
    if ran.code == 1 and not ran.err.startswith("citebed: "):
        return [f"exit code 1 without a message: {ran.err[-2000:]!r}"]
    return []


def table(collection: Path, name: str) -> pl.DataFrame:
    """A table of a collection; empty, with the columns asked for most, if it is not there."""
    path = collection / f"{name}.parquet"
    columns = ("source", "what", "kind")
    return (
        pl.read_parquet(path)
        if path.exists()
        else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    )


def problems_by_file(collection: Path) -> dict[str, Counter[str]]:
    """How many problems of each kind were found in each file; archives count as one file."""
    found: dict[str, Counter[str]] = {}
    for source, kind in table(collection, "import/problems").select("source", "kind").iter_rows():
        found.setdefault(source.partition("!")[0], Counter())[kind] += 1
    return found


def unaccounted(collection: Path, folder: Path) -> list[str]:
    """Return the files under ``folder`` that gave neither a record nor a problem."""
    sources = table(collection, "import/sources")
    records = dict(sources.select("source", "records").iter_rows())
    hashes = set(sources["sha256"])
    told = problems_by_file(collection)
    missed = []
    for path in _files(folder):
        name = SourceNames(collection).name_of(path)
        is_copy = name not in records and path.is_file() and _sha256(path) in hashes
        if not (records.get(name) or name in told or is_copy):
            missed.append(f"{name} is not accounted for")
    return missed


def _files(folder: Path) -> list[Path]:
    return [Path(where, name) for where, _, names in os.walk(folder) for name in sorted(names)]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parsed(path: Path, name: str) -> tuple[list[object], list[tuple[str, int, str, str]]]:
    """All records and problems that the readers give for a file, one after another."""
    records: list[object] = []
    problems = []
    try:
        for member in members(path, name):
            if isinstance(member, Problem):
                problems.append((name, *_row(member)))
                continue
            for piece in split_member(member):
                given = parse_piece(piece).records if isinstance(piece, Piece) else [piece]
                for record in given:
                    if isinstance(record, Problem):
                        problems.append((member.name, *_row(record)))
                    else:
                        records.append(record)
    except BAD_DATA as error:
        problems.append((name, 1, "skipped", f"could not be read to the end: {error}"))
    return records, problems


def _row(problem: Problem) -> tuple[int, str, str]:
    return problem.line, problem.kind, problem.what


def differences(collection: Path, folder: Path) -> list[str]:
    """Return the disagreements between a collection and the readers about the records of a file."""
    sources = table(collection, "import/sources")
    counts = dict(sources.select("source", "records").iter_rows())
    expected: dict[str, Counter[tuple[str, int]]] = {"documents": Counter()}
    expected |= {name: Counter() for name in _TABLES}
    wrong, told = [], Counter[tuple[str, int, str, str]]()
    for path in _files(folder):
        name = SourceNames(collection).name_of(path)
        if name not in counts:
            continue
        records, problems = parsed(path, name)
        told.update(problems)
        if len(records) != counts[name]:
            wrong.append(f"{name}: {counts[name]} records counted, {len(records)} read")
        for record in records:
            for place, kind in (("documents", Document), *_TABLES.items()):
                if isinstance(record, kind):
                    expected[place][name, record.line] += 1  # type: ignore[attr-defined]
    for place, wanted in expected.items():
        found = _places(collection, place)
        wrong += [
            f"{place}: {key} {wanted[key]} read, {found[key]} kept"
            for key in wanted | found
            if wanted[key] != found[key]
        ]
    stored = table(collection, "import/problems").select("source", "line", "kind", "what")
    wrong += [f"problem not kept: {row}" for row in told - Counter(stored.iter_rows())]
    wrong += [f"a reader failed: {row}" for row in told if "reader failed" in row[3]]
    return wrong


def _places(collection: Path, place: str) -> Counter[tuple[str, int]]:
    """Source and line of all records; a document of several is counted by what it is made of."""
    found = table(collection, place)
    if place == "documents":
        columns = ("source", "line")
        single = found.filter(pl.col("records") == 1).select(columns)
        aside = table(collection, "import/set_aside")
        found = pl.concat([single, aside.select(columns)]) if aside.height else single
    return Counter(found.select("source", "line").iter_rows()) if found.height else Counter()


def leaked(collection: Path) -> list[str]:
    """Tables that hold what only a file outside the sources can have told."""
    tables = sorted(collection.rglob("*.parquet"))
    return [f"{path} holds /etc/passwd" for path in tables if _holds(path, "root:x:0")]


def _holds(path: Path, text: str) -> bool:
    return any(text in str(row) for row in pl.read_parquet(path).iter_rows())


def listing(folder: Path, but: Path) -> list[tuple[str, int, int]]:
    """All files and folders with size and time of change, without those under ``but``."""
    rows = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(where, name) != but]
        for name in (*folders, *names):
            path = Path(where, name)
            facts = path.lstat()
            size = 0 if path.is_dir() else facts.st_size
            rows.append((str(path), size, 0 if path.is_dir() else facts.st_mtime_ns))
    return sorted(rows)
