"""Files moved and removed below a folder that is held open: nothing outside is reached."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from citebed.files.output_files import UnexpectedFile, open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "diary").write_text("mine")
    (tmp_path / "c" / "deep").mkdir(parents=True)
    (tmp_path / "c" / "a").write_text("a")
    (tmp_path / "c" / "deep" / "b").write_text("b")
    (tmp_path / "c" / "linked").symlink_to("../home")
    (tmp_path / "c" / "deep" / "diary").symlink_to("../../home/diary")
    return tmp_path / "c"


@pytest.mark.parametrize(
    "name",
    ["../home/diary", "linked/diary", "deep/../../home/diary", "./a", "deep//b", "", "a/b", "x\0y"],
)
def test_names_that_lead_elsewhere_are_refused(folder: Path, name: str) -> None:
    with open_folder(folder) as inside:
        for act in (inside.has, inside.remove, lambda name: inside.move("a", name)):
            with pytest.raises(UnexpectedFile):
                act(name)
    assert (folder.parent / "home" / "diary").read_text() == "mine"
    assert sorted(os.listdir(folder)) == ["a", "deep", "linked"]


def test_a_link_in_place_of_a_file_is_not_a_file_and_goes_alone(folder: Path) -> None:
    with open_folder(folder) as inside:
        with pytest.raises(UnexpectedFile, match="not a plain file"):
            inside.has("deep/diary")
        inside.remove("deep/diary")
        inside.remove("deep/diary")
        inside.remove("nowhere/diary")
    assert os.listdir(folder / "deep") == ["b"]
    assert (folder.parent / "home" / "diary").read_text() == "mine"


def test_files_are_moved_between_folders(folder: Path) -> None:
    with open_folder(folder) as inside:
        assert inside.has("a")
        assert not inside.has("new/a")
        inside.open_below("new/er", make=True)
        inside.move("a", "new/er/a")
        inside.move("deep/b", "new/er/a")
        inside.sync()
    assert (folder / "new" / "er" / "a").read_text() == "b"
    assert not (folder / "a").exists()


def test_a_folder_that_is_exchanged_for_a_link_meanwhile_leads_nowhere_else(folder: Path) -> None:
    with open_folder(folder) as inside:
        inside.open_below("deep")
        (folder / "deep").rename(folder / "aside")
        (folder / "deep").symlink_to("../home")
        inside.move("a", "deep/diary")
    assert (folder.parent / "home" / "diary").read_text() == "mine"
    assert (folder / "aside" / "diary").read_text() == "a"


def test_all_handles_are_closed(folder: Path) -> None:
    def handles() -> list[str]:
        numbers = os.listdir("/proc/self/fd")
        paths = [f"/proc/self/fd/{number}" for number in numbers]
        return [os.readlink(path) for path in paths if os.path.lexists(path)]

    with open_folder(folder) as inside:
        inside.open_below("new/er", make=True)
        assert any(path.startswith(str(folder)) for path in handles())
    assert not any(path.startswith(str(folder)) for path in handles())
