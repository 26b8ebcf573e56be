"""An export that is killed leaves the whole old one or the whole new one, and can be run again."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kills import KILLED, Victims, content, victims
from tests.sampling import examples, sized

from citebed.collection import Collection
from citebed.collection.exporting import export

ROUNDS = examples(25)


@pytest.fixture(scope="module")
def exporting() -> Iterator[Victims]:
    with victims("citebed.cli.collection", "citebed.collection.exporting") as running:
        yield running


def target_of(folder: Path, form: str) -> Path:
    return folder / ("out.bib" if form == "bibtex" else "out")


def command(small: Collection, target: Path, form: str, *more: str) -> list[str]:
    return ["export", str(small.folder), str(target), "--to", form, *more]


def put(path: Path, files: dict[str, bytes]) -> None:
    """Make a path what it was, without looking at what it is."""
    shutil.rmtree(path, ignore_errors=True)
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)


@pytest.mark.parametrize(
    ("form", "exchanging"), [("trec", True), ("trec", False), ("bibtex", True)]
)
def test_killed_at_every_step(
    small: Collection, tmp_path: Path, exporting: Victims, form: str, exchanging: bool
) -> None:
    target = target_of(tmp_path, form)
    export(small, form, target)
    new = content(target)
    old = {".": b"old"} if form == "bibtex" else {"old": b"old", "a/b": b"old"}
    words = command(small, target, form, "--overwrite")
    code, steps, seen = KILLED, 0, []
    while code == KILLED:
        put(target, old)
        code = exporting.run(words, tmp_path, "steps", steps, exchanging=exchanging)
        found = content(target)
        assert found in (old, new) or (not exchanging and not found)
        seen.append(found)
        if steps % sized(4, 1) == 0:
            assert exporting.run(words, tmp_path, exchanging=exchanging) == 0
            assert content(target) == new
            assert os.listdir(tmp_path) == [target.name]
        steps += 1
    assert code == 0
    assert old in seen
    assert new in seen[:-1]
    assert steps > 5


def test_a_folder_that_a_kill_left_aside_is_put_back_first(
    small: Collection, tmp_path: Path, exporting: Victims
) -> None:
    """A system that cannot exchange two folders in one step moves the old one aside."""
    target = tmp_path / "out"
    old = {"old": b"old"}
    words = command(small, target, "trec")
    steps, over = 0, [*words, "--overwrite"]
    put(target, old)
    while target.exists():
        assert exporting.run(over, tmp_path, "steps", steps, exchanging=False) == KILLED
        steps += 1
    assert exporting.run(words, tmp_path, exchanging=False) == 1
    assert content(target) == old


@pytest.mark.parametrize("form", ["csv", "bibtex"])
def test_killed_at_any_moment(
    small: Collection, tmp_path: Path, exporting: Victims, form: str
) -> None:
    target = target_of(tmp_path, form)
    export(small, form, target)
    whole = content(target)
    seed = random.Random(f"export {form}")
    words = command(small, target, form, "--overwrite")
    for _ in range(ROUNDS):
        assert exporting.run(words, tmp_path, "after", seed.uniform(0, 0.6)) == KILLED
        assert content(target) == whole
    assert exporting.run(words, tmp_path) == 0
    assert content(target) == whole
    assert os.listdir(tmp_path) == [target.name]
