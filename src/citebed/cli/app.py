"""The verbs, and what becomes of errors.

Exit codes: 0 done, 1 something the user can fix, 2 a bug of ours, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import typer
from typer.exceptions import TyperException

from citebed.cli.pairs import VERBS as PAIRED
from citebed.cli.pairs import in_two_words
from citebed.cli.verbs import VERBS
from citebed.errors import CitebedError, is_interrupt
from citebed.files.network import VARIABLE as OFFLINE
from citebed.report.terminal import for_people
from citebed.wording import printable

INTERRUPTED = 130

# These read their words themselves, options too.
PASSED_ON = {"trec_eval"}
AS_TYPED: dict[str, Any] = {
    "context_settings": {"ignore_unknown_options": True, "help_option_names": ["--help"]},
}

# These multiply no large matrices, and would only start the threads for it.
WITHOUT_MATRICES = {"evaluate", "trec_eval", "compare", "timeline", "fuse", "qrels"}


def _version(wanted: bool) -> None:
    if wanted:
        from citebed._version import __version__

        typer.echo(f"citebed {__version__}")
        raise typer.Exit


def _main(
    context: typer.Context,
    offline: bool = typer.Option(
        False, "--offline", help=f"Never use the network; as {OFFLINE}=1 in the environment."
    ),
    version: bool = typer.Option(  # noqa: ARG001 - its callback does it
        False, "--version", help="Print the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    """A workbench for citation recommendation: collect, recommend, judge, evaluate, look."""
    if offline:
        before = {OFFLINE: os.environ[OFFLINE]} if OFFLINE in os.environ else {}
        os.environ[OFFLINE] = "1"  # so that the processes we start know too
        context.call_on_close(lambda: os.environ.pop(OFFLINE) and os.environ.update(before))


def build(verb: str | None = None) -> typer.Typer:
    """The command line with one verb; where there is no such verb, with what all do in words."""
    app = typer.Typer(
        name="citebed",
        help="A workbench for citation recommendation: collect, recommend, judge, evaluate, look.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        # "color": what looks like a colour is from somebody's file, and is shown, not taken out
        context_settings={"help_option_names": ["-h", "--help"], "color": True},
    )
    app.callback()(_main)
    if verb in VERBS:
        _add(app, verb)
    else:
        for name, (_, what) in VERBS.items():
            app.command(name, help=what)(lambda: None)  # named, never called
    return app


def _add(app: typer.Typer, verb: str) -> None:
    found = _command(import_module(f"citebed.cli.{VERBS[verb][0]}"), verb)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=verb)
    else:
        app.command(verb, **(AS_TYPED if verb in PASSED_ON else {}))(found)


def _command(module: ModuleType, verb: str) -> Any:
    """What a verb's file has under its name, with ``_`` behind a word that Python knows."""
    name = verb.replace("-", "_").replace(" ", "_")
    return getattr(module, name, None) or getattr(module, f"{name}_")


def asked_for_help(words: list[str]) -> list[str]:
    """``citebed help`` and ``citebed help VERB …`` as what they mean: ``VERB … --help``."""
    return [*words[1:], "--help"] if words[:1] == ["help"] else words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code. What it prints for people is harmless."""
    with for_people():
        return _run(arguments)


def with_verb(words: list[str]) -> tuple[list[str], str | None]:
    """The words of a command with its verb as one of them, be it of two; and the verb."""
    for at, word in enumerate(words):
        if not word.startswith("-"):
            verb = " ".join(words[at : at + 2])
            return ([*words[:at], verb, *words[at + 2 :]], verb) if verb in VERBS else (words, word)
    return words, None


def _run(arguments: Sequence[str] | None) -> int:
    given, verb = with_verb(asked_for_help(sys.argv[1:] if arguments is None else list(arguments)))
    if arguments is None and (verb or "").partition(" ")[0] in WITHOUT_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        words = in_two_words(given) if verb in PAIRED else given
        result = build(verb)(args=words, prog_name="citebed", standalone_mode=False)
        sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except TyperException as error:
        return _mistyped(error, verb)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # typer turns the former into the latter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CitebedError as error:
        if "--debug" in given and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        typer.echo(f"citebed: {error}", err=True)
        return 1
    except BaseException as error:  # a library written in Rust panics with no Exception
        return _interrupted() if is_interrupt(error) else _failed(error)
    if result == INTERRUPTED:  # how typer passes Ctrl-C on
        return _interrupted()
    return result if isinstance(result, int) else 0


# What typer says of a value that does not fit, and how it reads.
_WORDED = (
    (r"is not a valid int(?: range)?\.", "is not a whole number."),
    (r"is not a valid float(?: range)?\.", "is not a number."),
    (r"is not in the range x>=(\S+)\.", r"is too small; the least is \1."),
    (r"is not in the range x>(\S+)\.", r"is too small; it must be more than \1."),
    (r"is not in the range x<=?(\S+)\.", r"is too large; the most is \1."),
    (r"is not in the range (\S+?)<=?x<=?(\S+)\.", r"is not between \1 and \2."),
)


def _mistyped(error: TyperException, verb: str | None) -> int:
    """Tell what was wrong with a command as it was typed; without any words, how it is used."""
    said = printable(error.format_message())
    if said.startswith("Usage:"):
        typer.echo(said, err=True)
        return 1
    for theirs, ours in _WORDED:
        said = re.sub(theirs, ours, said)
    typer.echo(f"citebed: {said}", err=True)
    known = f"{verb} " if verb in VERBS else ""
    typer.echo(f"Run 'citebed {known}--help' for how it is used.", err=True)
    return 1


def _interrupted() -> int:
    typer.echo("citebed: interrupted; what was stored is whole", err=True)
    return INTERRUPTED


def _failed(error: BaseException) -> int:
    """Tell an error that no verb foresaw: the machine's, or a bug of ours."""
    from citebed.files.system_errors import system_error

    if os.environ.get("CITEBED_DEBUG"):
        traceback.print_exception(error)
    said = str(error).strip().partition("\n")[0]
    if isinstance(error, OSError):
        place = f"{printable(error.filename)}: " if isinstance(error.filename, str) else ""
        typer.echo(f"citebed: {place}{error.strerror or said}", err=True)
    elif system_error(error) is not None:
        typer.echo(f"citebed: {said}", err=True)
    elif isinstance(error, MemoryError):
        typer.echo("citebed: there is not enough memory for this", err=True)
    else:
        typer.echo(f"citebed: a bug of ours: {type(error).__name__}: {said}", err=True)
        typer.echo("Set CITEBED_DEBUG=1 and run again for the details to report.", err=True)
        return 2
    return 1
