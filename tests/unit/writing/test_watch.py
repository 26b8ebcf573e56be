"""`citebed watch`: every way of saving, damaged files, deletions, locks, kills."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kills import KILLED, victims
from tests.sampling import sized

import citebed
from citebed.cli.app import main
from citebed.collection import ImportOptions, import_sources
from citebed.collection.storing.store import lock_collection, read_manifest
from citebed.errors import CitebedError
from citebed.web.workbench.open_collections import OpenCollection
from citebed.writing.watch import Update, watch

PATIENCE = 60.0
ENTRIES = [
    f"@article{{k{number},\n  title = {{{title}}},\n  author = {{Doe, Ann}},\n}}\n"
    for number, title in enumerate(
        ("Language models for retrieval", "Query expansion with feedback", "Smoothing of estimates")
    )
]
LIBRARY = "\n".join(ENTRIES)
NEW = "\n@article{new, title = {Zebras in print}, author = {Roe, Bo}, year = {2020}}\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a library of three entries."""
    monkeypatch.chdir(tmp_path)
    Path("library.bib").write_text(LIBRARY)
    return tmp_path


class Watched:
    """A watcher in a thread, and what it reports."""

    def __init__(self, *paths: str, prune: bool = False) -> None:
        self.stop, self._updates = threading.Event(), queue.Queue[Update | BaseException]()
        self._found = watch("mine", paths, prune=prune, stop=self.stop)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            for update in self._found:
                self._updates.put(update)
        except BaseException as error:  # the test fails with it
            self._updates.put(error)

    def wait_for(self, kind: str) -> Update:
        """Return the next update of a kind."""
        while True:
            update = self._updates.get(timeout=PATIENCE)
            if isinstance(update, BaseException):
                raise update
            if update.kind == kind:
                return update

    def end(self) -> None:
        """Stop and wait for the thread."""
        self.stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def watched(*paths: str, prune: bool = False) -> Iterator[Watched]:
    """Watch paths; the first update is done."""
    made = Watched(*paths, prune=prune)
    try:
        made.wait_for("watching")
        yield made
    finally:
        made.end()


def titles() -> set[str]:
    return set(citebed.open("mine").documents["title"])


def once(*paths: str, prune: bool = False) -> list[Update]:
    return list(watch("mine", paths, once=True, prune=prune))


def citing_sources() -> list[str]:
    names = json.loads(Path("mine/index/index.json").read_text())["citing_sources"]
    return [Path(name).name for name in names]


# --- what is read ------------------------------------------------------------------------------


def test_bibliographies_are_imported_and_drafts_become_citing_text() -> None:
    drafts = Path("drafts")
    drafts.mkdir()
    (drafts / "paper.tex").write_text(
        "\\documentclass{article}\\begin{document}\\input{intro}\n"
        "Queries are too short \\cite{k1}.\\end{document}"
    )
    (drafts / "intro.tex").write_text("Language models rank documents \\cite{k0}.")
    (drafts / "paper.pdf").write_bytes(b"%PDF-1.4 not really")
    for name in ("paper.aux", "paper.log", "refs.bib~", "notes.xyz", ".hidden.bib"):
        (drafts / name).write_text(NEW if "bib" in name else "\\relax")
    (update,) = once("library.bib", "drafts")
    assert (update.kind, update.documents) == ("updated", 3)
    assert "2 citing sentences" in update.message
    assert citing_sources() == ["paper.tex"]
    assert [row["path"] for row in read_manifest(Path("mine")).sources] == ["library.bib"]
    (drafts / "refs.bib").write_text(NEW)
    assert once("library.bib", "drafts")[0].documents == 4
    assert [row["path"] for row in read_manifest(Path("mine")).sources] == ["library.bib", "drafts"]


def test_without_paths_the_sources_of_the_collection_are_watched(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "other.bib"
    elsewhere.write_text(NEW)
    import_sources("mine", ["library.bib", elsewhere])
    Path("library.bib").write_text(ENTRIES[0])
    first, update = once()
    assert first.kind == "problem"
    assert first.message.startswith("other.bib is not watched")
    assert update.documents == 2


def test_missing_paths_are_errors() -> None:
    with pytest.raises(CitebedError, match="no such file or folder"):
        once("missing.bib")
    with pytest.raises(CitebedError, match="there is no collection"):
        once()


def test_the_options_of_the_index_stay() -> None:
    Path("old.md").write_text("Language models rank documents [@k0].")
    Path("new.md").write_text("Queries are expanded by feedback [@k1].")
    import_sources("mine", ["library.bib"])
    citebed.open("mine").index("none", citing=["old.md"], quiet=True)
    once("library.bib", "new.md")
    assert json.loads(Path("mine/index/index.json").read_text())["analyser"] == "none"
    assert citing_sources() == ["old.md", "new.md"]
    Path("old.md").unlink()
    once("library.bib", "new.md")
    assert citing_sources() == ["new.md"]


def test_an_unreadable_draft_is_a_problem_and_the_rest_is_updated() -> None:
    Path("bad.tex").write_bytes(b"\x00\x01\x02" * 100)
    Path("good.md").write_text("Language models rank documents [@k0].")
    problem, update = once("library.bib", "bad.tex", "good.md")
    assert problem.kind == "problem"
    assert "bad.tex: this is binary data" in problem.message
    assert update.kind == "updated"
    assert citing_sources() == ["good.md"]
    assert once("library.bib", "good.md")[-1].kind == "unchanged"


# --- ways of saving ----------------------------------------------------------------------------


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def in_steps(path: Path, text: str) -> None:
    with path.open("w") as file:
        for start in range(0, len(text), 50):
            file.write(text[start : start + 50])
            file.flush()


def by_renaming(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.sb-1234")
    draft.write_text(text)
    draft.replace(path)


def by_deleting(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def with_backup(path: Path, text: str) -> None:
    path.rename(f"{path}~")
    path.write_text(text)


@pytest.mark.parametrize(("save", "root"), [
    (in_place, "library.bib"), (by_renaming, "library.bib"), (in_steps, "folder"),
    (by_deleting, "folder"), (with_backup, "folder"),
])  # fmt: skip
def test_every_way_of_saving_is_noticed(root: str, save: Callable[[Path, str], None]) -> None:
    path = Path(root)
    if root == "folder":
        path.mkdir()
        path /= "library.bib"
        shutil.move("library.bib", path)
    with watched(root) as running:
        save(path, LIBRARY + NEW)
        assert running.wait_for("updated").documents == 4
    assert "Zebras in print" in titles()


def test_the_target_of_a_link_is_watched(tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("dropbox") / "real.bib"
    shutil.move("library.bib", target)
    Path("library.bib").symlink_to(target)
    with watched("library.bib") as running:
        by_renaming(target, LIBRARY + NEW)
        assert running.wait_for("updated").documents == 4


def test_new_files_in_new_folders_are_noticed() -> None:
    Path("folder").mkdir()
    shutil.move("library.bib", "folder")
    with watched("folder") as running:
        Path("folder/new/deeper").mkdir(parents=True)
        Path("folder/new/deeper/more.bib").write_text(NEW)
        assert running.wait_for("updated").documents == 4


def test_a_change_of_an_included_draft_is_noticed() -> None:
    Path("paper.tex").write_text("\\begin{document}\\input{intro}\\end{document}")
    Path("intro.tex").write_text("Language models rank documents \\cite{k0}.")
    with watched("library.bib", "paper.tex", "intro.tex") as running:
        Path("intro.tex").write_text(
            "Language models rank documents \\cite{k0}. Feedback \\cite{k1}."
        )
        assert "2 citing sentences" in running.wait_for("updated").message


def test_a_running_server_shows_the_change() -> None:
    with watched("library.bib") as running:
        server = OpenCollection("mine", Path("mine"))
        assert not server.library.find("zebras").total
        Path("library.bib").write_text(LIBRARY + NEW)
        running.wait_for("updated")
        assert server.library.find("zebras").total == 1


# --- damaged files -----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", LIBRARY[:150].encode(), b"\x00\xff" * 500])
def test_a_damaged_file_keeps_its_records_until_it_is_whole(damage: bytes) -> None:
    with watched("library.bib") as running:
        Path("library.bib").write_bytes(damage)
        update = running.wait_for("damaged")
        assert "library.bib: " in update.message
        assert "Its earlier records stay" in update.message
        assert len(titles()) == 3
        Path("library.bib").write_text(ENTRIES[0] + NEW)
        assert running.wait_for("updated").documents == 2


@given(st.integers(min_value=0, max_value=len(LIBRARY) - 1))
def test_no_cut_through_a_file_removes_documents(cut: int) -> None:
    Path("library.bib").write_text(LIBRARY)
    shutil.rmtree("mine", ignore_errors=True)
    options = ImportOptions(keep_damaged=True, workers=1)
    import_sources("mine", ["library.bib"], options)
    Path("library.bib").write_text(LIBRARY[:cut])
    import_sources("mine", ["library.bib"], options)
    ends = {
        len("\n".join(ENTRIES[: number + 1])) + more for number in (0, 1) for more in (-1, 0, 1)
    }
    assert len(titles()) == 3 or cut in ends


def test_damage_in_one_file_leaves_others_alone() -> None:
    Path("other.bib").write_text(NEW)
    once("library.bib", "other.bib")
    Path("library.bib").write_text(LIBRARY[:150])
    Path("other.bib").write_text(NEW.replace("Zebras", "Quokkas"))
    damaged, update = once("library.bib", "other.bib")
    assert (damaged.kind, update.kind) == ("damaged", "updated")
    assert titles() >= {"Quokkas in print", "Query expansion with feedback"}
    assert len(titles()) == 4


def test_a_known_broken_entry_does_not_stop_updates() -> None:
    Path("library.bib").write_text(LIBRARY + "@article{broken, author = {Nobody}, year = ")
    with watched("library.bib") as running:
        Path("library.bib").write_text(ENTRIES[0] + "@article{broken, author = {Nobody}, year = ")
        assert running.wait_for("updated").documents == 1


# --- deletions, locks, signals -----------------------------------------------------------------


@pytest.mark.parametrize("prune", [False, True])
def test_documents_of_deleted_files_stay_unless_pruned(prune: bool) -> None:
    Path("other.bib").write_text(NEW)
    with watched("library.bib", "other.bib", prune=prune) as running:
        Path("other.bib").unlink()
        if prune:
            assert running.wait_for("updated").documents == 3
        else:
            assert running.wait_for("gone").message.startswith("other.bib: deleted")
    assert ("Zebras in print" in titles()) is not prune


def test_it_waits_while_another_citebed_changes_the_collection() -> None:
    with watched("library.bib") as running:
        with lock_collection(Path("mine")):
            Path("library.bib").write_text(LIBRARY + NEW)
            assert "being changed by another citebed" in running.wait_for("waiting").message
        assert running.wait_for("updated").documents == 4


def test_links_to_nowhere_and_pipes_in_a_folder_are_left_alone() -> None:
    Path("folder").mkdir()
    shutil.move("library.bib", "folder")
    Path("folder/nowhere.bib").symlink_to("missing.bib")
    os.mkfifo("folder/pipe.bib")
    assert once("folder")[-1].documents == 3


def test_a_problem_does_not_end_it() -> None:
    with watched("library.bib") as running:
        shutil.move("mine/citebed.toml", "manifest")
        Path("mine/citebed.toml").write_text("format = 99\n")
        Path("library.bib").write_text(LIBRARY + NEW)
        assert "format 99" in running.wait_for("problem").message
        shutil.move("manifest", "mine/citebed.toml")
        Path("library.bib").write_text(LIBRARY + NEW + "\n")
        assert running.wait_for("updated").documents == 4


def start_process() -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "citebed", "watch", "mine", "library.bib"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_ends_it_calmly() -> None:
    with start_process() as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert "3 documents" in lines[0]
    assert "watching 1 file" in lines[1]
    assert (process.returncode, errors) == (0, "stopped; the collection is complete\n")


def test_a_kill_at_any_step_leaves_a_collection_that_the_next_start_completes(
    place: Path,
) -> None:
    once("library.bib")
    Path("library.bib").write_text(ENTRIES[0] + NEW)
    shutil.copytree(place, place / "start")
    words, steps, code = ["watch", "mine", "library.bib", "--once"], 0, KILLED
    with victims() as killed:
        while code == KILLED:
            shutil.rmtree(place / "now", ignore_errors=True)
            shutil.copytree(place / "start", place / "now")
            code = killed.run(words, place / "now", "steps", steps)
            os.chdir(place / "now")
            assert len(titles()) in (2, 3)
            assert once("library.bib")[-1].documents == 2
            assert titles() == {"Language models for retrieval", "Zebras in print"}
            steps += sized(25, 1)
    assert steps > sized(25, 1)
    assert code == 0


def test_the_command_updates_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "mine", "library.bib", "--once"]) == 0
    assert "library.bib: 3 documents new or changed (3 documents" in capsys.readouterr().out
    assert main(["watch", "mine", "gone.bib", "--once"]) == 1
    assert "no such file or folder: gone.bib" in capsys.readouterr().err
