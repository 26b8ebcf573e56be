"""Rows that commands print have the fields that the page of promises names."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.shared import Once

import citebed
from citebed.cli.app import main

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "promises.md").read_text("utf-8")
COMMANDS = {
    "import": "import again mine.bib",
    "stats": "stats mine",
    "lint": "lint mine",
    "index": "index mine",
    "find": "find mine croft",
    "recommend": "recommend mine BM25 -k 1",
    "tune": "tune mine",
    "evaluate": "evaluate mine/qrels/paragraphs.qrels bm25.run -m AP",
    "timeline": "timeline stream.qrels stream.run -m AP",
    "compare": "compare mine/qrels/paragraphs.qrels bm25.run ql.run --baseline bm25 -m AP",
}
SEARCH = "search --queries paragraphs --model"
FIRST, LAST = 1_600_000_000, 1_700_000_000


def promised() -> dict[str, set[str]]:
    """The fields of each verb's rows, of the page's table."""
    table = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.+) \|$", PAGE, re.MULTILINE)
    found = {
        verb: set(re.findall(r"`(\w+)`", fields)) - {"all", "evaluate"}
        for verbs, fields in table
        for verb in re.findall(r"\w+", verbs)
    }
    found["timeline"] |= found["evaluate"]
    return found


@pytest.fixture(scope="module")
def place(once: Once) -> Path:
    def make(folder: Path) -> None:
        mine = citebed.demo(folder / "mine")
        mine.index()
        for model in ("bm25", "ql"):
            assert (
                main([*SEARCH.split(), model, str(folder / "mine"), "-o", f"{folder}/{model}.run"])
                == 0
            )
        times = [FIRST, LAST]
        run = "".join(f"q Q0 {time}-d 1 {time} us\n" for time in times)
        (folder / "stream.run").write_text(run)
        (folder / "stream.qrels").write_text("".join(f"q 0 {time}-d 1\n" for time in times))
        shutil.copy(REPOSITORY / "src/citebed/demo/landmarks.bib", folder / "mine.bib")

    return once("promises", make)


def test_the_table_names_the_verbs_tried_here() -> None:
    assert promised().keys() == COMMANDS.keys()


@pytest.mark.parametrize("verb", COMMANDS)
def test_rows_have_the_fields_that_are_promised(
    verb: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(place, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert main([*COMMANDS[verb].split(), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    assert all(promised()[verb] <= row.keys() for row in rows)


def test_the_top_of_the_changelog_is_this_version() -> None:
    changes = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d|unreleased)\)$", changes, re.M)
    assert versions[0][0] == citebed.__version__
    assert len(versions) == len(re.findall(r"^## ", changes, re.M))
