"""Files that commands write: under any name, completely or not at all, private, no links."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.kills import KILLED, Victims, content, victims
from tests.sampling import examples

from citebed.cli.app import main
from citebed.files.output_files import DRAFT_PREFIX

ODD = os.fsdecode(b"caf\xe9")
BIB = """@article{oak, title={Oak Trees}, year={2001}, doi={10.5072/oak}, abstract={Oaks grow.}}
@inproceedings{elm, title={Elms in Forests}, year={2005}, doi={10.5072/elm}}
"""
XML = """<doc><id>p</id><title>A Paper</title><year>2015</year><contexts>
<context id="1"><s cites="1">Forests have oaks [1].</s><s cites="2">Elms too [2].</s></context>
</contexts><references><reference id="1">10.5072/oak</reference>
<reference id="2">10.5072/elm</reference></references></doc>"""


class Verb(NamedTuple):
    """A command that writes: its arguments (OUT is the output), and the name of the output."""

    words: str
    name: str


SEARCH = "search c --queries sentences --overwrite -q -o OUT"
FUSE = "fuse one.run two.run -o OUT"
VERBS = (
    *(Verb(f"export c OUT --overwrite --to {form}", "out") for form in ("trec", "beir", "parquet")),
    *(Verb(f"export c OUT --overwrite --to {form}", "out") for form in ("csv", "ir_datasets")),
    Verb("export c OUT --overwrite --to jsonl", "out"),
    Verb("export c OUT --overwrite --to bibtex", "out.bib"),
    Verb(SEARCH, "out.run"),
    Verb(SEARCH, "out.parquet"),
    Verb(FUSE, "out.run"),
    Verb(FUSE, "out.gz"),
    Verb(FUSE, "out.parquet"),
    Verb("qrels sample j.qrels --share 1 -o OUT", "out.qrels"),
    Verb("qrels subset j.qrels --min-relevance 1 -o OUT", "out.parquet"),
    Verb("qrels difference j.qrels k.qrels -o OUT", "out.qrels"),
    Verb("qrels merge j.qrels k.qrels --rule max -o OUT", "out.gz"),
    Verb("qrels expand j.qrels --cocited c --at-least 1 -o OUT", "out.qrels"),
    Verb("report j.qrels one.run two.run -m AP --samples 100 -o OUT", "out.html"),
    Verb("report j.qrels one.run -m AP --samples 100 --figures OUT -o page.html", "figures"),
    Verb("stats c --plot OUT", "out.png"),
    Verb("contrast j.qrels k.qrels one.run two.run -m AP --plots OUT", "plots"),
    Verb("robustness -R 2 -D 4 --theta 0,1 --rankings 2 --measures AP --plot OUT", "out.svg"),
)
MODULES = (
    "citebed.cli.collection", "citebed.cli.search", "citebed.cli.fusion",
    "citebed.cli.judgements", "citebed.cli.evaluation", "citebed.collection.exporting",
    "citebed.runs.writer", "citebed.report.collection_figure",
    "citebed.report.contrast_page", "citebed.report.evaluation_page",
)  # fmt: skip
each_verb = pytest.mark.parametrize(
    "verb", VERBS, ids=lambda verb: f"{verb.words.split(' OUT')[0]} {verb.name}"
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed collection ``c``, two sets of judgements and two runs."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "in").mkdir()
    (folder / "in/refs.bib").write_text(BIB)
    (folder / "in/p.xml").write_text(XML)
    assert main(["import", str(folder / "c"), str(folder / "in"), "-q"]) == 0
    assert main(["index", str(folder / "c"), "-q"]) == 0
    (folder / "j.qrels").write_text("q1 0 oak 1\nq2 0 oak 1\n")
    (folder / "k.qrels").write_text("q1 0 oak 2\nq2 0 elm 1\n")
    (folder / "one.run").write_text("q1 Q0 elm 1 2 t\nq1 Q0 oak 2 1 t\nq2 Q0 oak 1 2 t\n")
    (folder / "two.run").write_text("q1 Q0 oak 1 2 t\nq2 Q0 elm 1 2 t\nq2 Q0 oak 2 1 t\n")
    return folder


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with copies of the inputs."""
    shutil.copytree(inputs, tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def run(words: str, out: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit code and everything that was printed."""
    code = main([word.replace("OUT", out) for word in words.split()])
    said = "".join(capsys.readouterr())
    assert "internal error" not in said
    said.encode()
    return code, said


@each_verb
@pytest.mark.usefixtures("blank_figures")
def test_written_files_are_private_and_may_have_any_name(
    here: Path, capsys: pytest.CaptureFixture[str], verb: Verb, tmp_path: Path
) -> None:
    """They respect the umask, replace links under names that can be guessed instead of following
    them, and print or store a name that is not UTF-8 with escapes."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in (verb.name, f"{verb.name}.json", "page.html"):
        for guess in (f".{name}.{os.getpid()}.tmp", f"{name}.new", f"{name}.tmp", f".{name}"):
            (here / guess).symlink_to(precious)
    before = os.umask(0o077)
    try:
        there = set(here.rglob("*"))
        assert run(verb.words, verb.name, capsys)[0] == 0
        for path in set(here.rglob("*")) - there:
            kind = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == kind, path
    finally:
        os.umask(before)
    assert precious.read_text() == "precious"
    Path(ODD).mkdir()
    target = f"{ODD}/{verb.name.replace('out', ODD)}"
    code, said = run(verb.words, target, capsys)
    assert (code, said) == (0, said)
    assert content(here / target).keys() == content(here / verb.name).keys()
    for path in here.rglob(f"*{ODD}*.json"):
        assert "caf\\xe9" in json.dumps(json.loads(path.read_text("utf-8"))).replace("\\\\", "\\")
    assert not list(here.rglob(f"{DRAFT_PREFIX}*"))


@pytest.mark.parametrize(
    "words",
    [
        "report j.qrels one.run two.run -m AP --samples 100 --title ODD --baseline one.run",
        "qrels merge j.qrels k.qrels --rule max -o out.qrels --csv",
        "contrast j.qrels k.qrels one.run two.run -m AP --csv",
        "fuse one.run two.run -o out.run --tag ODD",
    ],
)
def test_sources_whose_names_are_not_utf_8(
    here: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    for name in ("one.run", "two.run", "j.qrels", "k.qrels"):
        (here / name).rename(here / f"{ODD}-{name}")
        words = words.replace(f" {name}", f" {ODD}-{name}")
    code, said = run(words.replace("ODD", ODD), "", capsys)
    assert (code, said) == (0, said)


# --- full disks and kills -------------------------------------------------------------------


@pytest.fixture(scope="module")
def writers() -> Iterator[Victims]:
    with victims(*MODULES) as running:
        yield running


@each_verb
def test_a_full_disk(here: Path, writers: Victims, verb: Verb) -> None:
    """The old file stays, nothing else is left, and a message names what could not be written."""
    is_folder = "." not in verb.name
    old = here / verb.name / "old" if is_folder else here / verb.name
    old.parent.mkdir(exist_ok=True)
    old.write_text("old")
    before = content(here)
    words = [word.replace("OUT", verb.name) for word in verb.words.split()]
    for most in (1, 60):
        assert writers.run(words, here, "bytes", most) == 1, writers.said
        assert f"cannot write {verb.name}" in writers.said.replace(f"{here}/", "")
        assert "File too large" in writers.said
        assert "Traceback" not in writers.said
        assert content(here) == before
    assert writers.run(words, here) == 0
    assert not list(here.rglob(f"{DRAFT_PREFIX}*"))


def test_a_full_disk_for_an_index(here: Path, writers: Victims) -> None:
    before = content(here)
    assert writers.run(["index", "c", "--rebuild", "--workers", "1"], here, "bytes", 150) == 1
    assert "cannot write c/index: File too large" in writers.said
    assert content(here) == before


def speaks_of(run: Path) -> bool:
    """Return whether the metadata file of a run, if it exists, describes this run."""
    import hashlib

    about = run.with_name(f"{run.name}.json")
    if not (run.exists() and about.exists()):
        return True
    found: str = json.loads(about.read_text())["sha256"]
    return found == hashlib.sha256(run.read_bytes()).hexdigest()


@pytest.mark.parametrize("there", [False, True])
def test_a_search_that_is_killed_at_every_step(here: Path, writers: Victims, there: bool) -> None:
    """Without --overwrite if there is no run yet, with it otherwise."""
    out = here / "o" / "out.run"
    words = ["search", "c", "--queries", "sentences", "-q", "-o", "o/out.run"]
    assert main([*words, "-m", "kl"]) == 0
    old = content(out.parent)
    words += ["--overwrite"] if there else []
    code, steps, seen = KILLED, 0, []
    while code == KILLED:
        shutil.rmtree(out.parent)
        out.parent.mkdir()
        for name, data in old.items() if there else ():
            (out.parent / name).write_bytes(data)
        code = writers.run(words, here, "steps", steps)
        seen.append(content(out.parent).get("out.run", b""))
        assert speaks_of(out)
        if code == KILLED and (there or not out.exists()):
            assert writers.run(words, here) == 0, writers.said
            assert sorted(os.listdir(out.parent)) == ["out.run", "out.run.json"]
            assert speaks_of(out)
        steps += 1
    assert code == 0
    assert set(seen) == {old["out.run"] if there else b"", out.read_bytes()}


def test_a_search_that_is_killed_at_any_moment(here: Path, writers: Victims) -> None:
    out = here / "o" / "out.run"
    words = ["search", "c", "--queries", "sentences", "-q", "-o", "o/out.run", "--overwrite"]
    assert main(words) == 0
    whole, seed = out.read_bytes(), random.Random("search")
    for _ in range(examples(20)):
        assert writers.run(words, here, "after", seed.uniform(0, 0.4)) == KILLED
        assert out.read_bytes() == whole
        assert speaks_of(out)
    assert writers.run(words, here) == 0
    assert sorted(os.listdir(out.parent)) == ["out.run", "out.run.json"]


# --- links ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["runs", "runs/bm25.sentences.run", "index"])
def test_links_in_a_collection_are_not_written_through(
    here: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    """A collection may come from a stranger."""
    elsewhere, place = tmp_path / "elsewhere", here / "c" / name
    elsewhere.mkdir()
    if place.exists():
        place.rename(elsewhere / place.name)
    place.symlink_to(elsewhere / place.name)
    before = content(elsewhere)
    words = "index c --rebuild" if name == "index" else "search c --queries sentences"
    code, said = run(words, "", capsys)
    assert (code, "is a link" in said) == (1, True)
    assert content(elsewhere) == before
