"""Compiled code where nothing can be kept, where that is damaged, and where the disk is full."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import citebed
from citebed.retrieval import numba_cache

SCRIPT = """
from citebed.retrieval.kernels import member
print(member(0, 0, 1), member._cache.cache_path)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package in a read-only folder, as if root had installed it."""
    folder = tmp_path_factory.mktemp("package")
    source = Path(citebed.__file__).parent
    shutil.copytree(source, folder / "citebed", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "citebed/retrieval/__pycache__").write_text("in the way")
    return folder


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def run(package: Path, temporary: Path, most_bytes: int = -1, **variables: str) -> str:
    """Return where compiled code was stored, without a home folder."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT],
        env={"PYTHONPATH": str(package), "HOME": "/proc/none", "TMPDIR": str(temporary)}
        | variables,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result, _, place = done.stdout.strip().partition(" ")
    assert result == "0"
    return place


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_private_folder_is_taken_where_numba_has_no_place(package: Path, temporary: Path) -> None:
    place = Path(run(package, temporary))
    folder = temporary / f"citebed-{os.geteuid()}"
    assert place.parent == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = {path: path.stat().st_mtime_ns for path in kept(folder)}
    assert before
    run(package, temporary)
    assert {path: path.stat().st_mtime_ns for path in kept(folder)} == before


@pytest.mark.parametrize("why", ["link", "open to all", "file", "another's", "not sticky"])
def test_nothing_is_kept_where_others_could_put_something(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    folder, elsewhere = temporary / f"citebed-{os.geteuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if why == "link":
        folder.symlink_to(elsewhere)
    elif why == "file":
        folder.write_text("")
    elif why == "not sticky":
        temporary.chmod(0o777)
    else:
        folder.mkdir(mode=0o700)
    if why == "open to all":
        folder.chmod(0o777)
    if why == "another's":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        folder.rename(temporary / f"citebed-{os.geteuid()}")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(temporary))
    assert numba_cache._private_folder.__wrapped__() is None


def test_without_any_place_all_is_compiled_again(package: Path, temporary: Path) -> None:
    (temporary / f"citebed-{os.geteuid()}").write_text("in the way")
    assert run(package, temporary) == "None"
    assert len(kept(temporary)) == 1


def test_damage_to_what_was_kept_is_repaired(
    package: Path, tmp_path: Path, temporary: Path
) -> None:
    own = str(tmp_path / "kept")
    assert run(package, temporary, NUMBA_CACHE_DIR=own).startswith(own)
    sizes = {path: path.stat().st_size for path in kept(tmp_path / "kept")}
    for path in sizes:
        path.write_bytes(path.read_bytes()[: sizes[path] // 2])
    run(package, temporary, NUMBA_CACHE_DIR=own)
    assert {path: path.stat().st_size for path in kept(tmp_path / "kept")} == sizes


def test_a_full_disk_keeps_nothing_and_harms_nothing(
    package: Path, tmp_path: Path, temporary: Path
) -> None:
    run(package, temporary, 50, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert kept(tmp_path / "kept") == []


COMPILED_BEFORE = """
import sys
import tempfile
import citebed
from citebed.retrieval import kernels
from citebed.retrieval.models import model_of
from citebed.retrieval.search.searcher import Searcher

def compiled():
    every = ((name, getattr(kernels, name)) for name in dir(kernels))
    return {name: len(made.signatures) for name, made in every if hasattr(made, "signatures")}

kernels.compile_search()
before = compiled()
searcher = Searcher(citebed.open_index(sys.argv[1]), model_of(sys.argv[2]))
searcher.prepare()
assert searcher.search(searcher.query("relevance feedback"), 3).docs.size == 3
print({name for name, many in compiled().items() if many != before[name]})
"""


@pytest.mark.parametrize("model", ["bm25", "ql"])
def test_what_is_compiled_with_an_index_is_all_that_searching_needs(
    tmp_path: Path, model: str
) -> None:
    citebed.demo(tmp_path / "mine").index(quiet=True)
    words = [sys.executable, "-c", COMPILED_BEFORE, str(tmp_path / "mine"), model]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "set()\n"
