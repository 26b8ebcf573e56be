"""``python -m citebed.training``: training where nothing of citebed is installed.

It takes prepared texts; ``citebed train`` takes collections too and has the same options.
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
from citebed.training.averaging import average_encoders
from citebed.training.doors import AdapterFile, train_encoder, train_static, train_student
from citebed.training.settings import EncoderSettings, Machine, StaticSettings, StudentSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a training; gives the exit code."""
    given = vars(_parser().parse_args(arguments))
    train, settings = given.pop("train"), given.pop("settings", None)
    if settings:
        machine = Machine(**{each.name: given.pop(each.name) for each in fields(Machine)})
        given["machine"] = machine
    if train not in (train_static, train_student):
        parts = {each.name: given.pop(each.name) for each in fields(AdapterFile)[1:]}
        given["adapter"] = AdapterFile(given["adapter"], **parts) if given["adapter"] else None
    with escape_terminal_output():
        try:
            trained = train(given.pop("texts"), report=_teller(), **given)
        except CitebedError as error:
            print(f"citebed: {error}", file=sys.stderr)
            return 1
        print(trained)
    return 0


def _teller() -> Callable[[str], None]:
    began = time.monotonic()

    def tell(line: str) -> None:
        print(f"[{time.monotonic() - began:7.1f} s] {line}", file=sys.stderr, flush=True)

    return tell


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m citebed.training", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    encoder = _verb(verbs, "encoder", train_encoder, EncoderSettings)
    _encoder_files(encoder, start_needed=True)
    average = _verb(verbs, "average", average_encoders)
    average.add_argument("encoders", type=Path, nargs="+", help="encoders of one start")
    average.add_argument("--device", default="auto")
    _encoder_files(average, start_needed=False)
    student = _verb(verbs, "student", train_student, StudentSettings)
    student.add_argument("--teacher", type=Path, required=True, help="the folder of an encoder")
    student.add_argument("--out", "-o", type=Path, required=True, help="the student's folder")
    student.add_argument("--file", type=Path, help="a file of its layers alone")
    student.add_argument("--half", action="store_true", help="weights in half precision")
    static = _verb(verbs, "static", train_static, StaticSettings)
    static.add_argument("--out", "-o", type=Path, required=True, help="the model's file (.npz)")
    static.add_argument("--teacher", type=Path, help="the folder of an encoder to learn from")
    static.add_argument("--start", help="a static model to start from; '' for none")
    return parser


def _encoder_files(verb: Any, start_needed: bool) -> None:
    verb.add_argument("--start", type=Path, required=start_needed, help="a model's folder")
    verb.add_argument("--weights", type=Path, nargs="+", default=[], help="its weights")
    verb.add_argument("--out", "-o", type=Path, help="the folder of the trained model")
    verb.add_argument("--adapter", type=Path, help="the file of the difference to the start")
    for each in fields(AdapterFile)[1:]:
        verb.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    verb.add_argument("--half", action="store_true", help="weights in half precision")


def _verb(verbs: Any, name: str, train: Callable[..., Any], settings: type | None = None) -> Any:
    verb = verbs.add_parser(name, help=train.__doc__)
    verb.set_defaults(train=train, settings=settings)
    verb.add_argument("texts", type=Path, help="what 'citebed train prepare' wrote")
    for each in (*fields(Machine), *fields(settings)) if settings else ():
        option = f"--{each.name.replace('_', '-')}"
        if isinstance(each.default, bool):
            verb.add_argument(option, action="store_true")
        else:
            verb.add_argument(option, type=type(each.default), default=each.default)
    return verb


if __name__ == "__main__":
    sys.exit(main())
