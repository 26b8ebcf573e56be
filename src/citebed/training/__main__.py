"""``python -m citebed.training``: training on a machine where citebed is not installed.

It reads prepared texts; ``citebed train`` also reads collections and has the same options.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.report.terminal import escape_terminal_output
from citebed.training.api import (
    AdapterFile,
    average_encoders,
    train_encoder,
    train_static,
    train_student,
)
from citebed.training.settings import EncoderSettings, Machine, StaticSettings, StudentSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Train a model, and return the exit code."""
    given = vars(_make_parser().parse_args(arguments))
    train, has_machine, began = given.pop("train"), given.pop("has_machine"), time.monotonic()
    if has_machine:
        values = {field.name: given.pop(field.name) for field in fields(Machine)}
        given["machine"] = Machine(**values)
    if train in (train_encoder, average_encoders):
        parts = {field.name: given.pop(field.name) for field in fields(AdapterFile)[1:]}
        given["adapter"] = AdapterFile(given["adapter"], **parts) if given["adapter"] else None

    def report(line: str) -> None:
        print(f"[{time.monotonic() - began:7.1f} s] {line}", file=sys.stderr, flush=True)

    with escape_terminal_output():
        try:
            result = train(given.pop("texts"), report=report, **given)
        except CitebedError as error:
            print(f"citebed: {error}", file=sys.stderr)
            return 1
        print(result)
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m citebed.training", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    encoder = _add_verb(verbs, "encoder", train_encoder, EncoderSettings)
    _add_encoder_files(encoder, start_needed=True)
    average = _add_verb(verbs, "average", average_encoders)
    average.add_argument("encoders", type=Path, nargs="+", help="encoders of one start")
    average.add_argument("--device", default="auto")
    _add_encoder_files(average, start_needed=False)
    student = _add_verb(verbs, "student", train_student, StudentSettings)
    student.add_argument("--teacher", type=Path, required=True, help="folder of an encoder")
    student.add_argument("--out", "-o", type=Path, required=True, help="output folder")
    student.add_argument("--file", type=Path, help="output file with the layers alone")
    student.add_argument("--half", action="store_true", help="write half precision")
    static = _add_verb(verbs, "static", train_static, StaticSettings)
    static.add_argument("--out", "-o", type=Path, required=True, help="output file (.npz)")
    static.add_argument("--teacher", type=Path, help="folder of an encoder to learn from")
    static.add_argument("--start", help="static model to start from; '' for none")
    return parser


def _add_verb(
    verbs: Any, name: str, train: Callable[..., Any], settings: type | None = None
) -> Any:
    verb = verbs.add_parser(name, help=train.__doc__)
    verb.set_defaults(train=train, has_machine=settings is not None)
    verb.add_argument("texts", type=Path, help="file from 'citebed train prepare'")
    for field in (*fields(Machine), *fields(settings)) if settings else ():
        option = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            verb.add_argument(option, action="store_true")
        else:
            verb.add_argument(option, type=type(field.default), default=field.default)
    return verb


def _add_encoder_files(verb: Any, start_needed: bool) -> None:
    verb.add_argument("--start", type=Path, required=start_needed, help="folder of a model")
    verb.add_argument("--weights", type=Path, nargs="+", default=[], help="files of its weights")
    verb.add_argument("--out", "-o", type=Path, help="output folder")
    verb.add_argument("--adapter", type=Path, help="output file for the difference to the start")
    for field in fields(AdapterFile)[1:]:
        verb.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    verb.add_argument("--half", action="store_true", help="write half precision")


if __name__ == "__main__":
    sys.exit(main())
