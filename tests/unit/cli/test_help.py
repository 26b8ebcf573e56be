"""``citebed help`` is what people type first."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer

from citebed.cli.app import VERBS, build, main


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (["help"], ["--help"]),
        (["help", "recommend"], ["recommend", "--help"]),
        (["help", "qrels", "stats"], ["qrels", "stats", "--help"]),
        (["help", "timeline", "official"], ["timeline", "official", "--help"]),
    ],
)
def test_help_is_a_word_too(
    asked: list[str], meant: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(meant) == 0
    expected = capsys.readouterr().out
    assert main(asked) == 0
    assert capsys.readouterr().out == expected != ""


def test_help_for_a_verb_that_is_invalid_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "recomend"]) == 1
    assert "recomend" in capsys.readouterr().err


def test_every_verb_is_listed_in_whole_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.split("Commands:\n")[1].splitlines()
    assert [tuple(re.split("  +", line.strip())) for line in listed] == [
        (verb, what) for verb, (_, what) in VERBS.items()
    ]


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_is_in_its_file(verb: str) -> None:
    assert list(typer.main.get_command(build(verb)).commands) == [verb]  # type: ignore[attr-defined]


def test_the_list_of_verbs_loads_none_of_them() -> None:
    code = "import sys; from citebed.cli.app import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("citebed.")}
    assert "citebed.cli.app" in loaded
    assert not loaded & {f"citebed.cli.{file}" for file, _ in VERBS.values()}
