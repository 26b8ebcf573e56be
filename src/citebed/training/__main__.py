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
from citebed.training.doors import AdapterFile, train_encoder, train_static
from citebed.training.settings import EncoderSettings, Machine, StaticSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a training; gives the exit code."""
    given = vars(_parser().parse_args(arguments))
    train, settings = given.pop("train"), given.pop("settings")
    machine = Machine(**{each.name: given.pop(each.name) for each in fields(Machine)})
    chosen = {each.name: given.pop(each.name) for each in fields(settings)}
    if train is train_encoder:
        parts = {each.name: given.pop(each.name) for each in fields(AdapterFile)[1:]}
        given["adapter"] = AdapterFile(given["adapter"], **parts) if given["adapter"] else None
    try:
        trained = train(given.pop("texts"), machine=machine, told=_teller(), **given, **chosen)
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
    encoder.add_argument("--start", type=Path, required=True, help="a model's folder")
    encoder.add_argument("--weights", type=Path, nargs="+", default=[], help="its weights")
    encoder.add_argument("--out", "-o", type=Path, help="the folder of the trained model")
    encoder.add_argument("--adapter", type=Path, help="the file of the difference to the start")
    for each in fields(AdapterFile)[1:]:
        encoder.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    encoder.add_argument("--half", action="store_true", help="weights in half precision")
    static = _verb(verbs, "static", train_static, StaticSettings)
    static.add_argument("--out", "-o", type=Path, required=True, help="the model's file (.npz)")
    static.add_argument("--teacher", type=Path, help="the folder of an encoder to learn from")
    static.add_argument("--start", help="a static model to start from; '' for none")
    return parser


def _verb(verbs: Any, name: str, train: Callable[..., Any], settings: type) -> Any:
    verb = verbs.add_parser(name, help=train.__doc__)
    verb.set_defaults(train=train, settings=settings)
    verb.add_argument("texts", type=Path, help="what 'citebed train prepare' wrote")
    for each in (*fields(Machine), *fields(settings)):
        option = f"--{each.name.replace('_', '-')}"
        if isinstance(each.default, bool):
            verb.add_argument(option, action="store_true")
        else:
            verb.add_argument(option, type=type(each.default), default=each.default)
    return verb


if __name__ == "__main__":
    sys.exit(main())
