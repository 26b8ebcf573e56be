"""The commands, and how errors are reported.

Exit codes: 0 success, 1 an error that the user can fix, 2 an internal error, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import signal
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
from citebed.files.environment import OFFLINE
from citebed.report.terminal import escape_terminal_output
from citebed.wording import printable

INTERRUPTED = 130

# These commands parse their arguments themselves, including options.
PASSED_ON = {"trec_eval"}
AS_TYPED: dict[str, Any] = {
    "context_settings": {"ignore_unknown_options": True, "help_option_names": ["--help"]},
}

# SIGINT stops these commands even as background jobs of scripts; other commands ignore it there.
SERVERS = {"serve"}

# These commands do not multiply large matrices, so they need no BLAS threads.
WITHOUT_MATRICES = {"evaluate", "trec_eval", "compare", "timeline", "fuse", "qrels"}


def _version(wanted: bool) -> None:
    if wanted:
        from citebed._version import __version__

        typer.echo(f"citebed {__version__}")
        raise typer.Exit


def _main(
    context: typer.Context,
    offline: bool = typer.Option(
        False, "--offline", help=f"Do not use the network (same as {OFFLINE}=1)."
    ),
    version: bool = typer.Option(  # noqa: ARG001 - its callback does it
        False, "--version", help="Show the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    """Import your bibliography, get citation suggestions, collect judgements and evaluate
    recommenders.
    """
    if offline:
        before = {OFFLINE: os.environ[OFFLINE]} if OFFLINE in os.environ else {}
        os.environ[OFFLINE] = "1"  # so that child processes inherit it
        context.call_on_close(lambda: os.environ.pop(OFFLINE) and os.environ.update(before))


def build(verb: str | None = None) -> typer.Typer:
    """Return the command line with one command loaded, or with the summaries of all commands."""
    app = typer.Typer(
        name="citebed",
        help="Import your bibliography, get citation suggestions, collect judgements and evaluate"
        " recommenders.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        # "color": text that looks like a colour code comes from a user's file; show it, do not
        # strip it
        context_settings={"help_option_names": ["-h", "--help"], "color": True},
    )
    app.callback()(_main)
    if verb in VERBS:
        _add(app, verb)
    else:
        for name, (_, what) in VERBS.items():
            app.command(name, help=what)(lambda: None)  # only its name is used; it is never called
    return app


def _add(app: typer.Typer, verb: str) -> None:
    found = _command(import_module(f"citebed.cli.{VERBS[verb][0]}"), verb)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=verb)
    else:
        app.command(verb, **(AS_TYPED if verb in PASSED_ON else {}))(found)


def _command(module: ModuleType, verb: str) -> Any:
    """Return a command's function or app from its module; a Python keyword has ``_`` appended."""
    name = verb.replace("-", "_").replace(" ", "_")
    return getattr(module, name, None) or getattr(module, f"{name}_")


def asked_for_help(words: list[str]) -> list[str]:
    """Translate ``citebed help`` and ``citebed help VERB …`` to ``VERB … --help``."""
    return [*words[1:], "--help"] if words[:1] == ["help"] else words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code. Printed messages contain no control characters."""
    with escape_terminal_output():
        return _run(arguments)


def with_verb(words: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments with the command as one item (it may be two words), and the command."""
    for at, word in enumerate(words):
        if not word.startswith("-"):
            verb = " ".join(words[at : at + 2])
            return ([*words[:at], verb, *words[at + 2 :]], verb) if verb in VERBS else (words, word)
    return words, None


def _run(arguments: Sequence[str] | None) -> int:
    given, verb = with_verb(asked_for_help(sys.argv[1:] if arguments is None else list(arguments)))
    if arguments is None and (verb or "").partition(" ")[0] in WITHOUT_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments is None and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        _settle_background_job(verb)
    try:
        words = in_two_words(given) if verb in PAIRED else given
        if verb in PASSED_ON:  # "--" too
            words = [*words[: words.index(verb) + 1], "--", *words[words.index(verb) + 1 :]]
        result = build(verb)(args=words, prog_name="citebed", standalone_mode=False)
        if result != INTERRUPTED:  # how typer passes Ctrl-C on
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
    except BaseException as error:  # a panic in a Rust library is not an Exception
        return _interrupted() if is_interrupt(error) else _failed(error)
    if result == INTERRUPTED:
        return _interrupted()
    return result if isinstance(result, int) else 0


def _settle_background_job(verb: str | None) -> None:
    """Ignore SIGINT in a background job of a script, as shells expect; servers still stop.

    Block it in this thread, and so in all later threads: polars and Sail react to it even if it
    is ignored, and waiting for a stopped Sail server never ends.
    """
    if verb in SERVERS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


# Typer's messages about invalid values, and ours.
_WORDED = (
    (r"is not a valid int(?: range)?\.", "is not a whole number."),
    (r"is not a valid float(?: range)?\.", "is not a number."),
    (r"is not in the range x>=(\S+)\.", r"is too small; the minimum is \1."),
    (r"is not in the range x>(\S+)\.", r"is too small; it must be more than \1."),
    (r"is not in the range x<=?(\S+)\.", r"is too large; the maximum is \1."),
    (r"is not in the range (\S+?)<=?x<=?(\S+)\.", r"is not between \1 and \2."),
)


def _mistyped(error: TyperException, verb: str | None) -> int:
    """Report a usage error; without any arguments, show the help."""
    said = printable(error.format_message())
    if said.startswith("Usage:"):
        typer.echo(said, err=True)
        return 1
    for theirs, ours in _WORDED:
        said = re.sub(theirs, ours, said)
    typer.echo(f"citebed: {said}", err=True)
    known = f"{verb} " if verb in VERBS else ""
    typer.echo(f"See 'citebed {known}--help'.", err=True)
    return 1


def _interrupted() -> int:
    typer.echo("citebed: interrupted; stored data is complete", err=True)
    return INTERRUPTED


def _failed(error: BaseException) -> int:
    """Report an unexpected error: one of the operating system, or an internal one."""
    from citebed.files.system_errors import find_system_error

    if os.environ.get("CITEBED_DEBUG"):
        traceback.print_exception(error)
    said = str(error).strip().partition("\n")[0]
    if isinstance(error, OSError):
        place = f"{printable(error.filename)}: " if isinstance(error.filename, str) else ""
        typer.echo(f"citebed: {place}{error.strerror or said}", err=True)
    elif find_system_error(error) is not None:
        typer.echo(f"citebed: {said}", err=True)
    elif isinstance(error, MemoryError):
        typer.echo("citebed: out of memory", err=True)
    else:
        typer.echo(f"citebed: internal error: {type(error).__name__}: {said}", err=True)
        typer.echo("Set CITEBED_DEBUG=1, run again and report the traceback.", err=True)
        return 2
    return 1
