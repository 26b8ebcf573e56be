"""Papers are read in child processes: the death of one is reported for its paper only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from tests.pdfs import SMALL_PAPER, set_paper

from citebed.papers import child_process
from citebed.papers.child_process import Children, PaperFile, PaperProblem, read_paper, read_papers
from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document
from citebed.processes import WorkerNotStarted

REPOSITORY = Path(__file__).resolve().parents[3]


def what(read: ReadPaper | PaperProblem) -> str:
    assert isinstance(read, PaperProblem)
    return read.what


def title(read: ReadPaper | PaperProblem) -> str:
    assert isinstance(read, ReadPaper), read
    return read.title


def test_a_child_reads_the_same_as_this_process() -> None:
    data = set_paper()
    here, there = read_document(pypdfium2.PdfDocument(data)), read_paper(PaperFile("a.pdf", data))
    assert isinstance(there, ReadPaper)
    assert (there.title, there.authors, there.abstract) == (here.title, here.authors, here.abstract)
    for one, two in zip(here.paragraphs, there.paragraphs, strict=True):
        assert (one.section, one.content.text) == (two.section, two.content.text)
        assert one.content.starts == two.content.starts
        for place, other in zip(one.content.places, two.content.places, strict=True):
            assert place == pytest.approx(other, abs=1e-3)
    assert [entry.label for entry in there.references] == [str(n) for n in range(1, 9)]


def test_papers_come_in_their_order(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{at}.pdf") for at in range(6)]
    for at, name in enumerate(names):
        Path(name).write_bytes(b"" if at == 2 else SMALL_PAPER if at % 2 else set_paper())
    read = list(read_papers([*names, tmp_path, tmp_path / "none.pdf"], workers=2))
    assert what(read[2]).startswith("an empty file")
    assert [title(each)[:8] for at, each in enumerate(read[:6]) if at != 2] == [
        "A Study ", "On the G", "On the G", "A Study ", "On the G",
    ]  # fmt: skip
    assert "a folder" in what(read[6])
    assert what(read[7]) == "no such file"
    assert isinstance(read[7], PaperProblem)
    assert str(read[7].error) == f"{tmp_path / 'none.pdf'}: no such file"


def test_a_packed_paper_is_read(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.pdf.gz").write_bytes(gzip.compress(SMALL_PAPER))
    assert title(read_paper(tmp_path / "a.pdf.gz")) == "On the Growth of Elms"


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.pdf").open("wb") as file:
        file.truncate(300 << 20)
    assert "larger than 200 MiB" in what(read_paper(tmp_path / "a.pdf"))


# --- Children that die --------------------------------------------------------------------------


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    """Children that do what a file asks for."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setattr(child_process, "_TARGET", "tests.paper_targets:read")
    children = Children()
    yield children
    children.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"crash", r"PDFium crashed \(SIGABRT\).*more than 1.5 GiB"),
        (b"spin", "timed out while reading"),
        (b"eat", "memory"),
        (b"bug", r"the reader failed \(ZeroDivisionError: of ours\); please report it"),
        (b"trick", r"PDFium crashed \(exit code [01]\)"),
    ],
)
def test_the_next_paper_is_read(
    strange: Children, data: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    found = what(strange.read(PaperFile("a.pdf", data)))
    assert re.search(said, found), found
    assert title(strange.read(PaperFile("b.pdf", SMALL_PAPER))) == "On the Growth of Elms"
    assert not list(tmp_path.iterdir())


def test_one_that_hangs_is_given_up(strange: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "WALL_SECONDS", 3.0)
    assert "timed out" in what(strange.read(PaperFile("a.pdf", b"hang")))


def test_a_child_that_cannot_start_is_not_a_fault_of_the_paper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(WorkerNotStarted):
        Children().read(PaperFile("a.pdf", SMALL_PAPER))


def test_a_child_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_PAPERS_PER_CHILD", 2)
    children = Children()
    read = [children.read(PaperFile("a.pdf", SMALL_PAPER)) for _ in range(5)]
    assert {title(each) for each in read} == {"On the Growth of Elms"}
    children.close()


# --- Nobody is left behind ----------------------------------------------------------------------


SCRIPT = """
import polars  # with which Python would hear of Ctrl-C only when a paper is read
from citebed.papers import child_process
child_process._TARGET = "tests.paper_targets:read"
print("reading", flush=True)
list(child_process.read_papers([child_process.PaperFile("a", b"hang")] * 4, workers=2))
"""


def marked(mark: str) -> list[int]:
    """The processes with this mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_one = mark.encode() in (place / "environ").read_bytes()
        except OSError:
            continue
        found += [int(place.name)] if is_one else []
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_its_parent(how: signal.Signals) -> None:
    mark = f"CITEBED_TEST_MARK={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), name: value}
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        until = time.monotonic() + 30
        while len(marked(mark)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)  # they are reading now
        parent.send_signal(how)
        parent.wait(20)
    until = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
