"""One door to the terminal: no verb prints what a terminal would obey, whatever it read."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import citebed
from citebed.cli.app import main
from citebed.collection import open_collection
from citebed.errors import CitebedError, FormatError
from citebed.report.terminal import console, escape_terminal_output, progress_bar

SOURCE = Path(citebed.__file__).parent
EVIL = "\x1b[31m\x9b2J\x08\x7f\u202eevil\u2066\u200f\u061c"
"""Escape sequences of seven and eight bits, and controls of the direction of writing."""
_MARKS = "\u200e\u200f\u061c"
_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def obeyed(text: str) -> list[str]:
    """Return the characters that a terminal would obey, by Unicode's own tables."""
    return [
        f"U+{ord(sign):04X}"
        for sign in text
        if (unicodedata.category(sign) in ("Cc", "Zl", "Zp") and sign not in "\n\t")
        or unicodedata.bidirectional(sign) in _DIRECTIONS
        or sign in _MARKS
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which all names and texts are hostile, and a collection that was forged."""
    folder = tmp_path_factory.mktemp("hostile")
    with contextlib.chdir(folder):
        entries = "".join(
            f"@article{{k{n}{EVIL}, title={{Sorting apples {n} {EVIL}}}, author={{A{EVIL}, B}},"
            f" abstract={{Apples, pears and quinces {n}.}}, doi={{no{EVIL}}}, year={{20{n:02}}}}}\n"
            for n in range(1, 12)
        )
        Path("in").mkdir()
        Path(f"in/refs{EVIL}.bib").write_text(f"{entries}@article{{broken{EVIL}, title={{x\n")
        Path(f"in/no{EVIL}.bin").write_bytes(b"nothing of ours")
        rows = range(1, 12)
        Path(f"run{EVIL}.run").write_text(
            "".join(f"q1{EVIL} Q0 k{n}{EVIL} {n} {9 - n} tag{EVIL}\n" for n in rows)
        )
        Path("other.run").write_text("".join(f"q1{EVIL} Q0 k{n} {n} {9 - n} t\n" for n in rows))
        Path(f"judged{EVIL}.qrels").write_text(
            "".join(f"q{q}{EVIL} 0 k{n}{EVIL} {n % 3}\n" for q in (1, 2) for n in rows)
        )
        Path("draft.txt").write_text(f"Apples are sorted {EVIL} with pears [7].")
        yield folder


def said_by(*words: str) -> tuple[int, str, str]:
    """Run a command in this process: its exit code, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


QRELS, RUN = f"judged{EVIL}.qrels", f"run{EVIL}.run"
COMMANDS = (
    ("import", f"c{EVIL}", "in"),
    ("import", f"c{EVIL}", f"nowhere{EVIL}"),
    ("stats", f"c{EVIL}"),
    ("lint", f"c{EVIL}"),
    ("index", f"c{EVIL}", "--workers", "1"),
    ("forged",),
    ("stats", f"c{EVIL}"),
    ("lint", f"c{EVIL}"),
    ("recommend", f"c{EVIL}", "Sorting apples", "-k", "5", "--min-probability", "0"),
    ("recommend", f"c{EVIL}", "Sorting apples", "-k", "5", "--min-probability", "0", "--bibtex"),
    ("recommend", f"c{EVIL}", "draft.txt", "-k", "5", "--min-probability", "0"),
    ("search", f"c{EVIL}", "--queries", f"none{EVIL}"),
    ("evaluate", QRELS, RUN, "other.run"),
    ("evaluate", QRELS, RUN, "other.run", "-q"),
    ("evaluate", QRELS, RUN, "--format", "trec_eval", "-q"),
    ("evaluate", QRELS, RUN, "--format", "markdown"),
    ("evaluate", QRELS, RUN, "--format", "latex"),
    ("evaluate", RUN, QRELS),
    ("evaluate", QRELS, RUN, "-m", f"nDCG{EVIL}"),
    ("compare", QRELS, RUN, "other.run"),
    ("contrast", QRELS, QRELS, RUN, "other.run"),
    ("pool-bias", QRELS, RUN, "other.run"),
    ("qrels", "stats", QRELS),
    ("qrels", "difference", QRELS, QRELS),
    ("fuse", RUN, "other.run", "-o", f"fused{EVIL}.run"),
    ("timeline", QRELS, RUN, "--slice", "7d"),
    ("report", QRELS, RUN, "-o", f"page{EVIL}.html"),
    ("export", f"c{EVIL}", f"out{EVIL}", "--to", "bibtex"),
    ("forget", f"c{EVIL}", f"none{EVIL}"),
    ("forget", f"c{EVIL}", f"in/refs{EVIL}.bib"),
    ("fetch", f"none{EVIL}"),
    ("measures", f"none{EVIL}"),
    ("campaign", "status", f"c{EVIL}"),
    (f"verb{EVIL}",),
    ("evaluate", f"--option{EVIL}"),
    ("timeline", QRELS, RUN, "--slice", f"7{EVIL}"),
)


def forge(folder: Path) -> None:
    """Put into a collection's table what no import would."""
    table = pl.read_parquet(io.BytesIO((folder / "documents.parquet").read_bytes()))
    evil = [pl.col(name) + pl.lit(EVIL) for name in ("title", "abstract", "venue", "type")]
    with (folder / "documents.parquet").open("wb") as file:  # polars takes no such name
        table.with_columns(*evil).write_parquet(file)


def test_no_verb_prints_what_a_terminal_obeys(hostile: Path) -> None:
    told = {}
    for words in COMMANDS:
        if words == ("forged",):
            forge(hostile / f"c{EVIL}")
            continue
        code, out, err = said_by(*words)
        assert code in (0, 1), (words, err)
        assert not obeyed(out + err), (words, out + err)
        told[words[0]] = out + err
    assert "\\x1b[31m" in told["evaluate"]
    assert "\\u202e" in told["stats"]


@pytest.mark.usefixtures("hostile")
def test_what_is_for_programs_is_as_it_was_given() -> None:
    code, out, _ = said_by("evaluate", QRELS, RUN, "-q", "--json")
    assert code == 0
    assert not obeyed(out)
    rows = json.loads(out)
    assert f"q1{EVIL}" in {row["query_id"] for row in rows}
    assert {row["run"] for row in rows} == {f"run{EVIL}"}
    _, out, _ = said_by("evaluate", QRELS, RUN, "-q", "--csv")
    assert f"q1{EVIL}" in {row["query_id"] for row in csv.DictReader(io.StringIO(out))}


@pytest.mark.usefixtures("hostile")
def test_files_are_as_they_were_given() -> None:
    assert said_by("fuse", RUN, "other.run", "-o", "exact.run")[0] == 0
    assert f"q1{EVIL} " in Path("exact.run").read_text()


@pytest.mark.usefixtures("hostile")
def test_errors_and_tables_in_python_are_harmless_too() -> None:
    assert not obeyed(str(CitebedError(f"no such file: {EVIL}")))
    assert not obeyed(str(FormatError(f"a{EVIL}", 3, f"found '{EVIL}'")))
    assert not obeyed(repr(citebed.evaluate(QRELS, [RUN])))


def test_an_import_takes_no_directions_into_its_texts(tmp_path: Path) -> None:
    source = tmp_path / "a.bib"
    source.write_text(f"@article{{k, title={{Sorting {EVIL}}}, author={{A\u202e, B}}}}\n")
    citebed.import_sources(tmp_path / "c", [source])
    (row,) = open_collection(tmp_path / "c").documents.rows(named=True)
    assert not obeyed(row["title"] + "".join(row["authors"]))


def test_letters_that_only_look_odd_are_left_alone() -> None:
    text = "می‌خواهم 👩‍🔬 שלום “é” naïve …\tend\n"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), escape_terminal_output():
        print(text, end="")
    assert out.getvalue() == text


def test_a_console_has_colours_of_its_own_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), escape_terminal_output():
        console().print(f"[bold]title[/bold] {EVIL}")
    assert out.getvalue().startswith("\x1b[1mtitle\x1b[0m")
    assert not obeyed(out.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", ""))


def test_nobody_goes_around_the_door() -> None:
    around = ("rich.console", "sys.stdout.buffer", "sys.stderr.buffer", "__stdout__", "__stderr__")
    door = SOURCE / "report" / "terminal.py"
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert path == door or not [word for word in around if word in text], path


def test_a_bar_is_shown_where_somebody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook's own stream is seen; that some library has loaded a notebook's code is not."""
    in_notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    for stream, is_shown in ((io.StringIO(), False), (in_notebook(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with escape_terminal_output(), progress_bar() as progress:
            progress.step("filtering", 10)
        assert bool(stream.getvalue()) == is_shown
