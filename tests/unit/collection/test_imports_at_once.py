"""Several processes change one collection: every import that reports success is kept."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.kills import content
from tests.sampling import FULL, sized

from citebed.cli.app import main
from citebed.collection import import_sources, open_collection
from citebed.collection.storing import store
from citebed.errors import CollectionError

BUSY = "is being changed by another citebed. Wait for it to finish and try again."
CHANGED = "was changed by another citebed since it was opened."
PAPERS = 60
ROUNDS = sized(1, 25)
NUMBERS = (2, 4) if FULL else (4,)
"""How many imports start at once."""


def write_source(folder: Path, name: str) -> str:
    """A bibliography whose keys begin with its name."""
    said = f"abstract={{Oak trees. {'word ' * 50}}}"
    entries = (
        f"@article{{{name}{n}, title={{Paper {n} of {name}}}, {said}}}" for n in range(PAPERS)
    )
    (folder / f"{name}.bib").write_text("\n".join(entries))
    return f"{name}.bib"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "abcdef":
        write_source(tmp_path, name)
    return tmp_path


class Process:
    """A citebed that was started, and how it ended."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.words = words
        command = [sys.executable, "-m", "citebed", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self._process = subprocess.Popen(command, cwd=folder, text=True, **pipes)  # type: ignore[call-overload]

    def end(self) -> tuple[int, str]:
        said: str = self._process.communicate(timeout=300)[0]
        assert "Traceback" not in said, said
        assert "internal error" not in said, said
        return self._process.returncode, said


def all_at_once(folder: Path, *commands: Sequence[str]) -> list[tuple[int, str]]:
    """Start all imports and return their results; a refused one says that another runs."""
    started = [Process(folder, *words) for words in commands]
    ended = [process.end() for process in started]
    for (code, said), words in zip(ended, commands, strict=True):
        assert code in (0, 1), (words, said)
        assert code == 0 or BUSY in said or CHANGED in said, (words, said)
    return ended


def keys(folder: Path) -> set[str]:
    return set(open_collection(folder / "c").documents["doc_id"])


def assert_kept(folder: Path, told: set[str]) -> None:
    """All that was said to be kept is there, whole; and nothing is left lying about."""
    assert keys(folder) == {f"{name}{n}" for name in told for n in range(PAPERS)}
    assert set(open_collection(folder / "c").files["source"]) == {f"{name}.bib" for name in told}
    assert not (folder / "c/.staging").exists()
    assert not (folder / "c/.commit.json").exists()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("there", [False, True])
def test_different_sources(folder: Path, number: int, there: bool) -> None:
    for _ in range(ROUNDS):
        shutil.rmtree(folder / "c", ignore_errors=True)
        if there:
            assert main(["import", str(folder / "c"), str(folder / "f.bib"), "-q"]) == 0
        names = "abcd"[:number]
        ended = all_at_once(folder, *(("import", "c", f"{name}.bib") for name in names))
        done = {name for name, (code, _) in zip(names, ended, strict=True) if code == 0}
        assert done
        assert_kept(folder, done | ({"f"} if there else set()))
        for name in set(names) - done:  # who was refused tries again
            assert Process(folder, "import", "c", f"{name}.bib").end()[0] == 0
        assert_kept(folder, set(names) | ({"f"} if there else set()))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_same_source(folder: Path, number: int) -> None:
    for _ in range(ROUNDS):
        shutil.rmtree(folder / "c", ignore_errors=True)
        ended = all_at_once(folder, *[("import", "c", "a.bib")] * number)
        assert 0 in {code for code, _ in ended}
        assert_kept(folder, {"a"})


READERS = (
    ("index", "c", "-q"),
    ("recommend", "c", "oak trees", "--json", "--min-probability", "0"),
    ("search", "c", "--queries", "q", "-o", "o.run", "--overwrite", "-q"),
)


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_beside_others(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "q.jsonl").write_text('{"query_id": "q1", "text": "oak trees"}\n')
    assert main(["import", str(folder / "c"), str(folder / "a.bib"), str(folder / "q.jsonl")]) == 0
    assert main(["index", str(folder / "c"), "-q"]) == 0
    told = {"a"}
    for name in itertools.islice("bcdef", min(ROUNDS, 5)):
        (folder / "o.run").unlink(missing_ok=True)
        ended = all_at_once(folder, ("import", "c", f"{name}.bib"), words)
        told |= {name} if ended[0][0] == 0 else set()
        assert keys(folder) == {f"{each}{n}" for each in told for n in range(PAPERS)}
        assert Process(folder, "index", "c", "-q").end()[0] == 0
        assert Process(folder, *words).end()[0] == 0
    assert not [path for path in content(folder) if ".citebed-" in path]


@contextlib.contextmanager
def another_began(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Another has made the folder, just before we ask for its lock."""
    original = store.lock_collection
    with contextlib.ExitStack() as held, monkeypatch.context() as patch:

        def late(asked: Path, **how: bool) -> contextlib.AbstractContextManager[None]:
            held.enter_context(original(folder))
            return original(asked, **how)

        patch.setattr(store, "lock_collection", late)
        with pytest.raises(CollectionError, match="being changed by another"):
            import_sources(folder, [folder.parent / "a.bib"])
        patch.setattr(store, "lock_collection", original)
        yield


def test_who_is_refused_leaves_the_lock_of_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another_began(monkeypatch, folder / "c"):
        assert (folder / "c/.lock").exists()
        with pytest.raises(CollectionError, match="being changed by another"):
            import_sources(folder / "c", [folder / "b.bib"])
    assert not (folder / "c").exists()
    import_sources(folder / "c", [folder / "b.bib"])
    assert_kept(folder, {"b"})


def test_a_lock_that_was_taken_away_is_not_held(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that opened the lock before its removal locks a deleted file."""
    original, gone = fcntl.flock, list[int]()

    def flock(handle: int, how: int) -> None:
        original(handle, how)
        if not gone:
            gone.append(handle)
            (folder / "c/.lock").unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    with store.lock_collection(folder / "c"):
        assert (folder / "c/.lock").exists()
        with pytest.raises(CollectionError, match="being changed by another"):
            import_sources(folder / "c", [folder / "b.bib"])
    assert not (folder / "c").exists()
