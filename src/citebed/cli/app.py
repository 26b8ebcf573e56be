"""The verbs, and what becomes of errors.

Exit codes: 0 done, 1 something the user can fix, 2 a bug of ours, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import typer
from typer.exceptions import TyperException

from citebed.errors import CitebedError

INTERRUPTED = 130

# Which file has which verbs, in the order of the help: only the file of the verb at hand is
# loaded, for start-up is felt.
VERBS = {
    "collect": ("import", "stats", "lint", "export", "fetch"),
    "retrieve": ("index", "search", "recommend"),
    "evaluating": ("evaluate", "compare", "measures"),
    "contrasting": ("contrast", "pool-bias"),
    "judgement_sets": ("qrels",),
    "fusing": ("fuse",),
    "reporting": ("report",),
    "timeline": ("timeline",),
    "simulating": ("simulate",),
    "filtering": ("filter",),
    "demo": ("demo",),
}

# These multiply no large matrices, and would only start the threads for it.
WITHOUT_MATRICES = {"evaluate", "compare", "timeline", "fuse", "qrels"}


def _version(wanted: bool) -> None:
    if wanted:
        from citebed._version import __version__

        typer.echo(f"citebed {__version__}")
        raise typer.Exit


def _main(
    version: bool = typer.Option(
        False, "--version", help="Print the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    """A workbench for citation recommendation: collect, recommend, judge, evaluate, look."""


def build(verb: str | None = None) -> typer.Typer:
    """The command line with the file of one verb, or with all when there is no such verb."""
    app = typer.Typer(
        name="citebed",
        help="A workbench for citation recommendation: collect, recommend, judge, evaluate, look.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    wanted = [name for name, verbs in VERBS.items() if verb in verbs] or list(VERBS)
    for name in wanted:
        import_module(f"citebed.cli.{name}").register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None and given[:1] and given[0] in WITHOUT_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        result = build(given[0] if given else None)(args=given, standalone_mode=False)
        sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except TyperException as error:
        typer.echo(f"citebed: {error.format_message()}", err=True)
        typer.echo("Run 'citebed --help', or 'citebed VERB --help', for how it is used.", err=True)
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # typer turns the former into the latter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CitebedError as error:
        typer.echo(f"citebed: {error}", err=True)
        return 1
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"citebed: {place}{error.strerror or error}", err=True)
        return 1
    except Exception as error:
        return _bug(error)
    if result == INTERRUPTED:  # how typer passes Ctrl-C on
        return _interrupted()
    return result if isinstance(result, int) else 0


def _interrupted() -> int:
    typer.echo("citebed: interrupted; nothing that was stored is changed", err=True)
    return INTERRUPTED


def _bug(error: Exception) -> int:
    if os.environ.get("CITEBED_DEBUG"):
        traceback.print_exc()
    else:
        typer.echo(
            f"citebed: a bug of ours: {type(error).__name__}: {error}\n"
            "Set CITEBED_DEBUG=1 and run again for the details to report.",
            err=True,
        )
    return 2
