"""Indexes that are broken, cut off or of another time; and disks that are full."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kills import Killed, killed_after
from tests.sampling import sized
from tests.unit.retrieval.index.making import (
    arrays_of,
    assert_same_arrays,
    build,
    context,
    section,
    write_collection,
)

from citebed.cli.app import main
from citebed.errors import CitebedError, CollectionError
from citebed.files.input_files import hash_file
from citebed.retrieval.index import layout
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import DamagedIndex

DOCUMENTS = (
    {"doc_id": "a", "title": "Trees", "abstract": "Leaves of trees", "keywords": ["oak"]},
    {"doc_id": "b", "title": "The sea"},
)
OTHERS = ({"doc_id": "c", "title": "Other trees"},)


def make(folder: Path) -> Path:
    """A collection with every field there is, indexed."""
    sections, contexts = [section("a", "Roots")], [context("p", ["b"], "Salt water")]
    write_collection(folder, DOCUMENTS, sections=sections, contexts=contexts)
    build(folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One to be broken and mended again and again."""
    return make(tmp_path_factory.mktemp("whole") / "c")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("model") / "c")


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    """One of the test's own."""
    return Path(shutil.copytree(model, tmp_path / "my c"))


def array_files(folder: Path) -> list[Path]:
    return sorted((folder / "index").glob("*.npy"))


def assert_told_and_mended(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says how to rebuild; doing so repairs the index completely."""
    capsys.readouterr()
    assert main(["recommend", str(folder), "oak trees"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("citebed: the index ")
    assert said.endswith(f"Rebuild it with: citebed index {folder}\n")
    assert main(["index", str(folder), "-q"]) == 0
    assert main(["recommend", str(folder), "oak trees"]) == 0
    assert "Trees" in capsys.readouterr().out


def test_there_is_no_index_yet(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    with pytest.raises(CollectionError, match=r"no index yet\. Build it with: citebed index"):
        open_index(folder)


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 4])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-1], r"has .* bytes, not"),
        (_flipped, "was changed after it was written"),
        (None, "lacks its file"),
    ],
    ids=["cut", "changed", "gone"],
)
def test_damage_to_any_file_is_reported_and_repaired(
    folder: Path,
    damage: Callable[[bytes], bytes] | None,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = arrays_of(folder)
    good = {path: path.read_bytes() for path in array_files(folder)}
    for path, data in good.items():
        for other, content in good.items():
            other.write_bytes(content)
        path.unlink()
        if damage is not None:
            path.write_bytes(damage(data))
        with pytest.raises(DamagedIndex, match=message) as error:
            open_index(folder, verified=True)
        assert path.name in str(error.value)
    assert_told_and_mended(folder, capsys)
    assert_same_arrays(before, arrays_of(folder))


def test_opening_leaves_the_warnings_of_other_threads_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warning filters belong to the whole process."""
    before, load = list(warnings.filters), np.load

    def watched(*given: Any, **options: Any) -> Any:
        assert list(warnings.filters) == before
        return load(*given, **options)

    monkeypatch.setattr(np, "load", watched)
    open_index(folder)


@given(st.data())
def test_any_byte_changed_is_reported(whole: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(array_files(whole)))
    good = path.read_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bad)
    try:
        with pytest.raises(DamagedIndex):
            open_index(whole, verified=True)
    finally:
        path.write_bytes(good)


def forge(folder: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change an array, and write its checksum down as the index's maker would."""
    description = layout.read_description(folder / "index")
    entry = description.files[name]
    path = folder / "index" / entry["file"]
    np.save(path, change(np.load(path)))
    facts = {"bytes": path.stat().st_size, "sha256": hash_file(path)}
    made = json.loads((folder / "index" / "index.json").read_text())
    made["files"][name] |= facts
    (folder / "index" / "index.json").write_text(json.dumps(made))


def with_value(place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change


FORGED: tuple[tuple[str, Any], ...] = (
    *(("docs", with_value(0, 2**32 - 1)), ("docs", lambda array: array[:-1])),
    ("docs", lambda array: array.astype(np.int64)),
    *((name, with_value(-1, 10**12)) for name in ("offsets", "ids.offsets", "terms.offsets")),
    *((name, with_value(1, -1)) for name in ("offsets", "papers.offsets", "share.offsets")),
    *(("ids", with_value(0, 255)), ("terms", lambda array: array.reshape(1, -1))),
    *((name, lambda array: array[:-1]) for name in ("hashes", "length.title", "share.times")),
    *(("share.postings", with_value(0, 10**6)), ("share.lengths.docs", with_value(0, 2))),
    *(("share.lengths.offsets", with_value(0, 1)), ("tf.title", lambda array: array[:-1])),
    *((name, lambda array: array[:-1]) for name in ("vectors.static", "vectors.static.scales")),
    *(("vectors.static", change) for change in (np.ravel, np.uint8)),
    *(("vectors.static.scales", with_value(0, value)) for value in (-1, np.nan, np.inf, 2)),
    ("vectors.static.scales", lambda array: array.astype(np.float64)),
)


def test_impossible_numbers_are_reported_though_the_checksums_fit(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (name, change) in enumerate(FORGED):
        folder = Path(shutil.copytree(model, tmp_path / f"{number}"))
        forge(folder, name, change)
        with pytest.raises(DamagedIndex, match="is damaged"):
            open_index(folder, verified=True)
    assert_told_and_mended(folder, capsys)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("tf.keywords.at", with_value(0, 2**32 - 1), "not all are below"),
        ("docs", lambda array: array[::-1].copy(), "they do not rise"),
    ],
)
def test_a_larger_index_that_leads_astray_is_reported(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], told: str
) -> None:
    rows = [{"doc_id": f"d{n}", "title": "Trees", "abstract": "a " * n} for n in range(1, 40)]
    folder = write_collection(tmp_path / "c", [*rows, {"doc_id": "k", "keywords": ["oak"]}])
    build(folder)
    open_index(folder, verified=True)
    forge(folder, name, change)
    with pytest.raises(DamagedIndex, match=told):
        open_index(folder, verified=True)


def test_a_file_that_goes_while_it_is_open(folder: Path) -> None:
    index = open_index(folder)
    array_files(folder)[0].unlink()
    with pytest.raises(DamagedIndex, match="lacks its file"):
        index.verify()


# --- index.json -----------------------------------------------------------------------------


def rewrite(folder: Path, **values: object) -> None:
    """Change values of the index's description."""
    path = folder / "index" / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_an_index_of_another_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (0, 2, "1", None):
        rewrite(folder, format=number)
        with pytest.raises(DamagedIndex, match=f"has format {number!r}, this citebed reads 1"):
            open_index(folder)
    assert_told_and_mended(folder, capsys)


def test_a_description_that_is_invalid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "index" / "index.json"
    for data in (b"", b"{", b"[]", b"null", b"7", b"\xff\xfe\0", b'{"format": 1}', b"[" * 100_000):
        path.write_bytes(data)
        with pytest.raises(DamagedIndex, match="is damaged"):
            open_index(folder)
    assert_told_and_mended(folder, capsys)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(st.data())
def test_a_description_with_anything_in_it(whole: Path, data: st.DataObject) -> None:
    """It is refused, or what is wrong makes no difference."""
    path = whole / "index" / "index.json"
    good = path.read_text()
    values = json.loads(good)
    name = data.draw(st.sampled_from(list(values)))
    if name in ("files", "sources") and data.draw(st.booleans()):
        inner = data.draw(st.sampled_from(list(values[name])))
        if data.draw(st.booleans()):
            values[name][inner] = data.draw(JSON)
        else:
            values[name][inner][data.draw(st.sampled_from(["file", "bytes", "sha256"]))] = (
                data.draw(JSON)
            )
    elif data.draw(st.booleans()):
        values[name] = data.draw(JSON)
    else:
        del values[name]
    path.write_text(json.dumps(values))
    try:
        try:
            index = open_index(whole, verified=True)
        except DamagedIndex:
            return
        index.is_current()
        assert list(index.ids) == ["a", "b"]
    finally:
        path.write_text(good)


@given(st.binary(max_size=60))
def test_a_description_of_random_bytes(whole: Path, data: bytes) -> None:
    path = whole / "index" / "index.json"
    good = path.read_bytes()
    path.write_bytes(data)
    try:
        with pytest.raises(DamagedIndex):
            open_index(whole)
    finally:
        path.write_bytes(good)


def test_names_of_files_do_not_lead_out_of_the_index(folder: Path) -> None:
    path = folder / "index" / "index.json"
    values = json.loads(path.read_text())
    for name in ("../../secret.npy", "/etc/passwd", "ids.1.npy", "docs.2.npy", "docs", "", ".",
                 "docs.1.npy/."):  # fmt: skip
        values["files"]["docs"]["file"] = name
        path.write_text(json.dumps(values))
        with pytest.raises(DamagedIndex, match="not a file of an index"):
            open_index(folder)
    values["generation"] = "../../x"
    values["files"]["docs"]["file"] = "docs.../../x.npy"
    path.write_text(json.dumps(values))
    with pytest.raises(DamagedIndex, match="'generation' is not a count"):
        open_index(folder)


@pytest.mark.parametrize("name", ["documents", "terms", "postings", "citing_papers"])
def test_a_count_must_be_a_number(folder: Path, name: str) -> None:
    values: tuple[object, ...] = ("7", None, -1, 7.5, [], {}, True)
    for value in values:
        rewrite(folder, **{name: value})
        with pytest.raises(DamagedIndex, match=f"'{name}' is not a count"):
            open_index(folder)


@pytest.mark.parametrize("name", ["index.json", "docs.1.npy"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_links_and_pipes_are_not_files_of_an_index(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    path = folder / "index" / name
    path.rename(folder / "aside")
    if kind == "link":
        path.symlink_to(folder / "aside")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(DamagedIndex, match=f"'{name}' is not a plain file"):
        open_index(folder)
    if kind != "folder":
        assert_told_and_mended(folder, capsys)


# --- full disks -----------------------------------------------------------------------------

full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "index").iterdir())}


def full_at(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """A file whose name starts so leads to a device that is always full."""
    write = Path.open

    def opened(self: Path, mode: str = "r", *given: Any, **options: Any) -> Any:
        if mode[0] == "w" and self.name.startswith(wanted):
            self.symlink_to("/dev/full")
        return write(self, mode, *given, **options)

    monkeypatch.setattr(Path, "open", opened)


@full_disk
def test_a_disk_that_is_full_at_any_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, arrays = files_of(folder), arrays_of(folder)
    write_collection(folder, OTHERS)
    message = r"cannot write .*index(/index\.json)?: No space left on device"
    for name in ("offsets", "docs", "tf.title", "terms", "ids", "hashes", "length.keywords",
                 "index.", "vectors.static.2", "vectors.static.scales"):  # fmt: skip
        with monkeypatch.context() as patch:
            full_at(patch, name)
            with pytest.raises(CitebedError, match=message):
                build(folder)
        assert files_of(folder) == before, name
    assert_same_arrays(arrays, arrays_of(folder))
    assert build(folder).documents == 1


@full_disk
def test_a_full_disk_on_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full_at(monkeypatch, "docs.")
    assert main(["index", str(folder), "--rebuild"]) == 1
    assert capsys.readouterr().err.endswith("index: No space left on device\n")


def test_a_limit_on_the_size_of_files(folder: Path, tmp_path: Path) -> None:
    """As a quota or a file system would have it; contexts are written to a file of their own."""
    contexts = [context(f"p{n}", ["a"], f"word{n * n} " * 9) for n in range(3000)]
    write_collection(folder, DOCUMENTS, contexts=contexts)
    before = files_of(folder)
    done = subprocess.run(
        [sys.executable, "-m", "citebed", "index", str(folder), "--workers", "1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert files_of(folder) == before


# --- kills ----------------------------------------------------------------------------------


STEPS = ((Path, "replace"), (Path, "unlink"), (layout, "_write_array"))
"""Writing, renaming and removing files."""


def test_cut_off_at_any_step_the_old_or_the_new_index_is_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = arrays_of(folder)
    write_collection(folder, OTHERS)
    seen = []
    for steps in range(0, 80, sized(3, 1)):
        with monkeypatch.context() as patch, contextlib.suppress(Killed):
            killed_after(patch, steps, *STEPS)
            build(folder, rebuild=True)
        index = open_index(folder, verified=True)
        seen.append(len(index.ids))
        if seen[-1] == len(DOCUMENTS):
            assert_same_arrays(old, arrays_of(folder))
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {len(DOCUMENTS), len(OTHERS)}


BUILDER = """
import sys
from pathlib import Path
from citebed.retrieval.index import builder, term_counts
builder.COMPILED_ROWS, term_counts._ROWS_PER_BATCH = 10, 500
print("ready", flush=True)
while True:
    for name in ("english", "none"):
        options = builder.IndexOptions(name, workers=2, rebuild=True)
        builder.write_index(Path(sys.argv[1]), options)
"""


@pytest.fixture
def two_states(tmp_path: Path) -> tuple[Path, dict[str, dict[str, np.ndarray]]]:
    """A collection, and its arrays under each of two analysers."""
    rows = [{"doc_id": f"d{n}", "title": f"trees{n} of the sea"} for n in range(1500)]
    contexts = [context("p", [f"d{n}"], f"Salt{n} waters") for n in range(300)]
    folder = write_collection(tmp_path / "c", rows, contexts=contexts)
    states = {}
    for name in ("english", "none"):
        build(folder, analyser=name)
        states[name] = arrays_of(folder)
    return folder, states


def test_killed_at_any_time_the_old_or_the_new_index_is_whole(
    two_states: tuple[Path, dict[str, dict[str, np.ndarray]]],
) -> None:
    folder, states = two_states
    seed = random.Random(0)
    for _ in range(sized(5, 12)):
        command = [sys.executable, "-c", BUILDER, str(folder)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        ) as child:
            child.stdout.readline()
            time.sleep(seed.uniform(0.1, 0.8))
            child.send_signal(signal.SIGKILL)
        index = open_index(folder, verified=True)
        assert_same_arrays(states[index.description.analyser], arrays_of(folder))
    build(folder, rebuild=True)
    wanted = {entry["file"] for entry in open_index(folder).description.files.values()}
    assert {path.name for path in (folder / "index").iterdir()} == {"index.json", *wanted}


def test_interrupted_by_the_user(
    two_states: tuple[Path, dict[str, dict[str, np.ndarray]]],
) -> None:
    folder, states = two_states
    command = [sys.executable, "-c", BUILDER, str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as child:
        child.stdout.readline()
        time.sleep(0.7)
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(timeout=30) != 0
        said = child.stderr.read().decode()
    # The script's own traceback and no worker's. One Ctrl-C can reach it twice, from polars and
    # from Python: then the first is reported as the cause of the second.
    twice = said.count("During handling of the above exception")
    assert said.count("Traceback") - twice <= 1, said
    assert "KeyboardInterrupt" in said
    index = open_index(folder, verified=True)
    assert_same_arrays(states[index.description.analyser], arrays_of(folder))
    assert not list((folder / "index").glob(".*"))
