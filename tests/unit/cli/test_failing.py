"""Unexpected errors: system errors get a message, others are reported as bugs."""

from __future__ import annotations

import gc
import os

import polars as pl
import pytest

from citebed import cli
from citebed.cli.app import main

PANIC = pl.exceptions.PanicException


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("citebed.cli.options.print_json", fail)
    return main(["fetch", "--json"])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "out of memory"),
        (OSError(28, "No space left on device", "a.run"), "a.run: No space left on device"),
        (OSError(28, "No space left on device", b"caf\xe9"), "No space left on device"),
        (OSError(2, "No such file or directory", "caf\udce9"), "caf\\xe9: No such file"),
        (OSError("not a gzip file"), "not a gzip file"),
        (pl.exceptions.ComputeError("cannot write: full (os error 28)\nmore"), "(os error 28)"),
        (PANIC("called `unwrap()`: Os { No space left on device (os error 28) }"), "No space left"),
    ],
)
def test_errors_of_the_machine_are_reported_in_a_line(
    error: BaseException,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fail_with(error, monkeypatch) == 1
    err = capsys.readouterr().err
    assert err.startswith("citebed: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("kind", [PANIC, RecursionError, TypeError])
def test_everything_else_is_a_bug(
    kind: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fail_with(kind("index out of bounds\n  1: frame\n  2: frame"), monkeypatch) == 2
    err = capsys.readouterr().err
    assert f"citebed: internal error: {kind.__name__}: index out of bounds\n" in err
    assert "frame" not in err
    assert "CITEBED_DEBUG" in err


def test_ctrl_c_that_a_library_turned_into_a_panic_is_not_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    panic = PANIC("called `Result::unwrap()`: PyErr { type: <class 'KeyboardInterrupt'>, value: ")
    assert fail_with(panic, monkeypatch) == 130
    assert capsys.readouterr().err == "citebed: interrupted; stored data is complete\n"


@pytest.mark.parametrize(("debug", "stack"), [("", "0"), ("1", "1")])
def test_a_panic_shows_its_stack_only_to_who_asks(
    debug: str, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    monkeypatch.setenv("CITEBED_DEBUG", debug)
    monkeypatch.setenv("MPLBACKEND", "agg")
    told: list[str] = []
    monkeypatch.setattr("citebed.cli.app.main", lambda: told.append(os.environ["RUST_BACKTRACE"]))
    monkeypatch.setattr("citebed.cli._leave", lambda _, **__: None)
    threshold = gc.get_threshold()
    cli.run()
    gc.set_threshold(*threshold)
    assert told == [stack]
