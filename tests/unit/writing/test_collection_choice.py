"""The collection that `citebed check`, `fill`, `lsp` and `mcp` use when none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.errors import CitebedError
from citebed.writing.collection_choice import COLLECTION, find_collection


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(COLLECTION, raising=False)


def make_collection(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "citebed.toml").write_text("")
    return folder


def test_given_folder_wins_over_the_environment_and_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, other = make_collection(tmp_path / "a" / "mine"), make_collection(tmp_path / "other")
    monkeypatch.setenv(COLLECTION, str(other))
    assert find_collection(tmp_path / "a", given) == given
    assert find_collection(tmp_path / "a") == other


def test_finds_the_only_collection_of_the_closest_folder(tmp_path: Path) -> None:
    near = make_collection(tmp_path / "thesis" / "mine")
    make_collection(tmp_path / "far")
    (tmp_path / "thesis" / "chapters").mkdir()
    assert find_collection(tmp_path / "thesis" / "chapters") == near
    assert find_collection(near) == near


def test_several_or_no_collections_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_collection(tmp_path / "one")
    make_collection(tmp_path / "two")
    with pytest.raises(CitebedError, match="several collections: one, two"):
        find_collection(tmp_path)
    with pytest.raises(CitebedError, match=r"is not a collection: it has no citebed\.toml"):
        find_collection(tmp_path, tmp_path)
    monkeypatch.setenv(COLLECTION, str(tmp_path / "missing"))
    with pytest.raises(CitebedError, match=r"missing \(from CITEBED_COLLECTION\) is not"):
        find_collection(tmp_path)


def test_search_ends_where_anybody_may_write(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    make_collection(shared / "strange")
    (shared / "drafts").mkdir()
    assert find_collection(shared / "drafts") == shared / "strange"
    shared.chmod(0o777)
    with pytest.raises(CitebedError, match="no collection in"):
        find_collection(shared / "drafts")
