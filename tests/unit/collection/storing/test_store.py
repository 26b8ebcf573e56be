"""The folder on disk: a change is whole or not at all, wherever it is cut off."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kills import Killed, killed_after

from citebed.collection.rules import Rules
from citebed.collection.storing import store
from citebed.collection.storing.store import Manifest
from citebed.errors import CollectionError


def prepare(folder: Path, text: str) -> None:
    ready = folder / ".staging" / "ready"
    for name in ("citebed.toml", "documents.parquet", "qrels/a.qrels"):
        path = ready / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, text: str) -> None:
    prepare(folder, text)
    store.commit_change(folder, [])


def contents(folder: Path) -> dict[str, str]:
    names = ("citebed.toml", "documents.parquet", "qrels/a.qrels", "links.parquet")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


def failing_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Let the n-th renaming or removing of a file be the last thing that does not happen."""
    killed_after(monkeypatch, calls, (os, "replace"), (os, "unlink"))


@pytest.mark.parametrize("steps", range(9))
def test_a_commit_cut_off_at_any_step_is_seen_before_or_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    commit(tmp_path, "one")
    (tmp_path / "links.parquet").write_text("one")
    before = contents(tmp_path)
    prepare(tmp_path, "two")
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        failing_after(patch, steps)
        store.commit_change(tmp_path, ["links.parquet"])
    store.recover(tmp_path)
    after = {"citebed.toml": "two", "documents.parquet": "two", "qrels/a.qrels": "two"}
    assert contents(tmp_path) == (before if steps == 0 else after)
    assert not (tmp_path / ".commit.json").exists()


def test_recovering_twice_changes_nothing(tmp_path: Path) -> None:
    commit(tmp_path, "one")
    store.recover(tmp_path)
    assert set(contents(tmp_path).values()) == {"one"}


def test_staging_is_empty_and_goes_away(tmp_path: Path) -> None:
    (tmp_path / ".staging" / "left-over").mkdir(parents=True)
    with store.prepare_change(tmp_path) as folder:
        assert not any(folder.iterdir())
    with contextlib.suppress(Killed), store.prepare_change(tmp_path) as folder:
        raise Killed
    assert not (tmp_path / ".staging").exists()


names = st.text(max_size=30)


@given(
    name=names,
    exclude=st.lists(names, max_size=4),
    types=st.lists(names, max_size=3),
    paths=st.lists(names, max_size=3),
    codes=st.dictionaries(st.integers(-5, 9), st.integers(0, 4), max_size=5),
)
def test_a_manifest_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    exclude: list[str],
    types: list[str],
    paths: list[str],
    codes: dict[int, int],
) -> None:
    rules = Rules(exclude=tuple(exclude), types=tuple(types), relevance=codes, no_future=True)
    sources = tuple({"path": path, "files": 1, "sha256": "0"} for path in paths)
    manifest = Manifest(name, rules, sources, ("a", "b"), "1.0")
    folder = tmp_path_factory.mktemp("manifest")
    (folder / "citebed.toml").write_text(manifest.to_toml(), encoding="utf-8", newline="")
    assert store.read_manifest(folder) == manifest


def test_a_damaged_manifest_is_reported(tmp_path: Path) -> None:
    (tmp_path / "citebed.toml").write_text("format = ")
    with pytest.raises(CollectionError, match="damaged"):
        store.read_manifest(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CollectionError, match="cannot write"),
        store.lock_collection(tmp_path / "file" / "c"),
    ):
        pass
