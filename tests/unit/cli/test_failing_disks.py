"""Disks that fail and quotas that are used up, call by call: told, nothing half done, and no loss.

A library that is loaded first answers calls of a kind with an error, from the first one on, from
the second one on, and so forth (``tests/failing_disk.c``).
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.kills import Disk, Victims, content, failing_disk, victims
from tests.sampling import FULL
from tests.unit.timeline.filters.bursts import stream, write

import citebed
from citebed.cli.app import main
from citebed.files.output_files import DRAFT_PREFIX
from citebed.judging.demo import demo_papers

BIB = "@article{oak, title={Oak Trees}, year={2001}, abstract={Oaks grow.}}\n"
NEW = "@article{elm, title={Elms in Forests}, year={2005}, abstract={Elms grow.}}\n"
CUT = "could not be changed completely"
PLACED = "The new index is in place, but"
PLACES = range(60) if FULL else (0, 3)
"""How many calls of a kind go well before one fails."""


class Verb(NamedTuple):
    """A command, what it changes or writes, and the calls that matter."""

    words: str
    writes: str
    kinds: tuple[str, ...] = ("read", "write", "sync", "rename", "make")


VERBS = (
    Verb("import c new.bib", "c"),
    Verb("index c --rebuild --workers 1", "c"),
    Verb("search c --queries q --overwrite -o o.run", "o.run"),
    Verb("evaluate q.qrels one.run two.run.gz -m AP --samples 100", "", ("read", "open")),
    Verb("fuse one.run two.run.gz -o o.run", "o.run"),
    Verb("filter s.jsonl -t t.jsonl -o o.run.gz --overwrite --checkpoint-every 0", "o.run.gz"),
    Verb("filter s.jsonl -t t.jsonl -o o.run --overwrite --checkpoint-every 0", "o.run"),
    Verb("train prepare c --contexts ctx.jsonl -o o.xz", "o.xz"),
    Verb("recommend c oak --append o.bib", "o.bib"),
    Verb("campaign export cr -o ex", "ex"),
    Verb("campaign backup cr o.jsonl.gz", "o.jsonl.gz"),
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with input for every command, and a copy of its expected state."""
    folder = tmp_path_factory.mktemp("disk") / "w"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _write_inputs(folder)
        for words in (
            "import c a.bib q.jsonl q.qrels",
            "index c",
            "search c --queries q -o one.run",
        ):
            assert main([*words.split(), "-q"]) == 0
        assert main(["search", "c", "--queries", "q", "-m", "kl", "-q", "-o", "two.run.gz"]) == 0
        citebed.demo(folder / "mine").index(quiet=True)
        made = "campaign new cr --collection mine --papers papers.csv --contact me@example.org"
        assert main(made.split()) == 0
    shutil.copytree(folder, folder.parent / "before")
    return folder


def _write_inputs(folder: Path) -> None:
    (folder / "a.bib").write_text(BIB)
    (folder / "new.bib").write_text(NEW)
    (folder / "q.jsonl").write_text('{"query_id": "q1", "text": "oak trees"}\n')
    (folder / "q.qrels").write_text("q1 0 oak 1\n")
    (folder / "ctx.jsonl").write_text('{"citing": "p1", "context": "Oaks.", "cited": "oak"}\n')
    (folder / "t.jsonl").write_text('{"query_id": "oak", "name": "Ann Oak", "text": "oaks"}\n')
    write(folder / "s.jsonl", stream(20))
    (folder / "papers.csv").write_bytes(demo_papers())


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    with victims(library=failing_disk(tmp_path_factory.mktemp("library"))) as running:
        yield running


def start_anew(here: Path, verb: Verb) -> dict[str, bytes]:
    """As it was before, with an earlier file where one is written."""
    before = here.parent / "before"
    for path in [*here.iterdir()]:
        if not (before / path.name).exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if verb.writes == "c":
        shutil.rmtree(here / "c")
        shutil.copytree(before / "c", here / "c")
    elif "." in verb.writes:
        (here / verb.writes).write_text("% earlier\n")
    return state(here)


def state(here: Path) -> dict[str, bytes]:
    """All that a user has; not drafts, locks, and what SQLite and filters leave to go on from."""
    ours = (DRAFT_PREFIX, ".staging", ".lock", ".sqlite-", ".partial", ".checkpoint")
    return {
        name: data for name, data in content(here).items() if not any(each in name for each in ours)
    }


def assert_told(said: str, error: int) -> None:
    last = said.strip().splitlines()[-1]
    assert "Traceback" not in said, said
    assert "internal error" not in said, said
    assert last.startswith("citebed: "), said
    if "the database" in last:  # SQLite has words of its own
        assert "does not respond: " in last or os.strerror(error) in last, said
        return
    assert any(words in last for words in ("cannot read ", "cannot write ", CUT)), said
    assert os.strerror(error) in last, said
    assert "damaged" not in last, said


def assert_as_before(here: Path, before: dict[str, bytes], verb: Verb, decided: bool) -> None:
    """Compare all files, except a committed change and a run whose second file failed."""
    after = state(here)
    if verb.writes == "c" and decided:
        return
    changed = [name for name in before if before[name] != after.get(name)]
    assert not changed or (changed == ["o.run"] and after["o.run"].startswith(b"q1 Q0 oak"))
    assert not after.keys() - before.keys()


@pytest.mark.parametrize(
    ("verb", "error"),
    [(verb, errno.EIO) for verb in VERBS]
    + [(verb, errno.EDQUOT) for verb in (VERBS if FULL else VERBS[::4])],
)
def test_every_kind_of_call_fails(here: Path, failing: Victims, verb: Verb, error: int) -> None:
    words, told = verb.words.split(), 0
    for index, kind in enumerate(verb.kinds):
        if error == errno.EDQUOT and kind in ("read", "open", "sync"):
            continue  # a quota does not prevent reading
        # Otherwise the first call and the fourth take turns.
        for number in PLACES if FULL else [PLACES[index % 2] if error == errno.EIO else 0]:
            before = start_anew(here, verb)
            code = failing.run(words, here, "calls", number, disk=Disk(here, [kind], error))
            if not failing.failed:
                break
            assert code in (0, 1), failing.said
            if code == 1:
                told += 1
                assert_told(failing.said, error)
                decided = any(words in failing.said for words in (CUT, PLACED))
                assert_as_before(here, before, verb, decided)
                if "are kept for that" in failing.said:  # what a filter can go on from
                    assert (here / f"{verb.writes}.checkpoint").exists()
            assert failing.run(words, here) == 0, (kind, number, failing.said)
            assert not [
                name for name in content(here) if DRAFT_PREFIX in name or ".partial" in name
            ]
    assert told or (error == errno.EDQUOT and not verb.writes)


@pytest.mark.parametrize("kind", ["make", "write"])
@pytest.mark.parametrize("verb", ["restore", "new"])
def test_a_campaign_whose_folder_cannot_be_written_is_begun_again(
    here: Path, failing: Victims, verb: str, kind: str
) -> None:
    """Else its database has it, and no folder to open it by."""
    start_anew(here, VERBS[0])
    assert failing.run(["campaign", "backup", "cr", "kept"], here) == 0
    name = f"{verb}-{kind}"
    more = {"restore": "kept", "new": "--papers papers.csv --contact me@example.org"}
    words = ["campaign", verb, name, "--collection", "mine", *more[verb].split()]
    disk = Disk(here / name, [kind], errno.EDQUOT)
    assert failing.run(words, here, "calls", 0, disk=disk) == 1
    assert f"cannot write {name}/campaign.toml: Disk quota exceeded" in failing.said
    assert failing.run(words, here) == 0, failing.said
    assert failing.run(["campaign", "status", name], here) == 0
