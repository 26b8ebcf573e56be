"""Commands for streams: filters that are killed or have a full disk, odd names, permissions."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kills import KILLED, Victims, content, victims
from tests.sampling import FULL, sized
from tests.unit.cli.test_odd_files import GOOD, STREAM

from citebed.cli.app import main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good files of every kind."""
    monkeypatch.chdir(tmp_path)
    for name, text in GOOD.items():
        Path(name).write_text(text)
    return tmp_path


@pytest.mark.usefixtures("place")
def test_an_indented_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """It was skipped, and a run of two of three relevant documents had a recall of 1."""
    lines = [f"E 132345067{n}-x 1000 1 1\n" for n in range(3)]
    Path("indented.kba").write_text(lines[0] + "  " + lines[1] + 9 * " " + lines[2])
    found = [f"t s 132345067{n}-x E 500 1 1\n" for n in range(2)]
    for indent in ("", "  "):
        Path("indented.run").write_text(indent.join(found))
        words = "timeline indented.kba indented.run --slice all -m R@9 --json"
        assert main(words.split()) == 0
        assert json.loads(capsys.readouterr().out)[0]["value"] == pytest.approx(2 / 3)


@pytest.fixture
def odd(place: Path) -> str:
    """The beginning of the names of a stream and topics, which is not UTF-8."""
    name = os.fsdecode(os.fsencode(place) + b"/caf\xe9")
    Path(f"{name}.topics").write_text(GOOD["t.jsonl"])
    Path(f"{name}.jsonl").write_text(f"{STREAM}no\n")
    return name


def test_a_filter_continues_from_a_checkpoint_whose_name_is_not_utf_8(
    odd: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    words = ["filter", f"{odd}.jsonl", "-t", f"{odd}.topics", "-o", f"{odd}-stopped.run"]
    words += ["--checkpoint-every", "0"]
    with monkeypatch.context() as patch:
        patch.setattr("citebed.timeline.filters.output_files.OutputFiles.put_in_place", stop)
        assert main(words) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert main([*words, "--team", "other"]) == 1
    assert "caf\\xe9-stopped.run.checkpoint does not fit" in capsys.readouterr().err
    assert main(words) == 0
    assert "(2 of them before it was stopped)" in capsys.readouterr().out


def test_a_team_that_is_not_utf_8_is_refused(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    team = os.fsdecode(b"caf\xe9")
    words = ["filter", f"{odd}.jsonl", "-t", f"{odd}.topics", "-o", "team.run", "--team", team]
    assert main(words) == 1
    assert "the team 'caf\\xe9' must be one word in a filter run" in capsys.readouterr().err


# --- kills, full disks, and permissions --------------------------------------------------------

LONG = "".join(
    f'{{"doc_id": "d{n}", "time": {1323450574 + n}, "text": "Ann Oak {n}"}}\nno\n'
    for n in range(sized(6, 40))
)
FILTER = "filter s.jsonl -t t.jsonl --checkpoint-every 0 --skipped o/list -o o/OUT"
MODULES = ("citebed.cli.filter", "citebed.timeline.filters.runner", "citebed.timeline.filters")


@pytest.fixture(scope="module")
def stopped() -> Iterator[Victims]:
    with victims(*MODULES) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text(LONG)
    (tmp_path / "t.jsonl").write_text(GOOD["t.jsonl"])
    return tmp_path


@pytest.mark.parametrize("name", ["out.run", "out.gz"] if FULL else ["out.gz"])
def test_a_filter_that_is_killed_at_every_step(here: Path, stopped: Victims, name: str) -> None:
    words = FILTER.replace("OUT", name).split()
    assert stopped.run(words, here) == 0, stopped.said
    whole = content(here / "o")
    code, steps, unfinished = KILLED, 0, 0
    while code == KILLED:
        shutil.rmtree(here / "o")
        code = stopped.run(words, here, "steps", steps)
        found = content(here / "o")
        assert found.get(name, whole[name]) == whole[name]
        if code == KILLED:
            unfinished += name not in found
            again = words if name not in found else [*words, "--overwrite"]
            assert stopped.run(again, here) == 0, stopped.said
            assert content(here / "o") == whole
        steps += sized(2, 1)
    assert code == 0
    assert unfinished > 3


@pytest.mark.parametrize("name", ["out.run", "out.gz"])
def test_a_filter_on_a_full_disk_reports_it_and_can_continue(
    here: Path, stopped: Victims, name: str
) -> None:
    words = FILTER.replace("OUT", name).split()
    for most in (1, 60, 3000) if LONG.count("\n") > 40 else (1, 60, 500):
        assert stopped.run(words, here, "bytes", most) == 1
        assert "citebed: cannot write o" in stopped.said
        assert "File too large" in stopped.said
        assert not (here / "o" / name).exists()
    assert stopped.run(words, here) == 0, stopped.said
    assert set(content(here / "o")) == {name, "list"}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("timeline j.kba e.run --slice 1h --report OUT/a.html", ["a.html"]),
        ("timeline j.kba e.run --slice 1h --plots OUT/plots", None),
        ("filter s.jsonl -t t.jsonl -o OUT/a.run --skipped OUT/list", ["a.run", "list"]),
        ("filter s.jsonl -t t.jsonl -o OUT/a.gz", ["a.gz"]),
    ],
)
def test_new_files_respect_the_umask(place: Path, command: str, made: list[str] | None) -> None:
    before = os.umask(0o077)
    try:
        (place / "new").mkdir()
        assert main(command.replace("OUT", "new").split()) == 0
    finally:
        os.umask(before)
    found = [path for path in (place / "new").rglob("*") if path.is_file()]
    assert found
    assert made is None or sorted(path.name for path in found) == made
    for path in (place / "new").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
