"""All commands, and how citebed runs one and reports its errors.

citebed loads only the module of the current command, and none to list commands, so that it starts
fast. Exit codes: 0 success, 1 an error that the user can fix, 2 an internal error, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.exceptions import TyperException

from citebed.errors import CitebedError, is_interrupt
from citebed.files.environment import OFFLINE
from citebed.report.terminal import escape_terminal_output
from citebed.wording import printable

VERBS: dict[str, tuple[str, str]] = {
    "import": ("collection", "Read bibliographies and papers into a collection."),
    "annotate": ("annotation", "Extract citing sentences and references from PDFs."),
    "forget": ("collection", "Remove sources or papers from a collection."),
    "stats": ("collection", "Show statistics of a collection."),
    "lint": ("collection", "Check a collection for errors."),
    "export": ("collection", "Export a collection to BEIR, TREC, BibTeX and more."),
    "fetch": ("collection", "Download a public collection or the encoder."),
    "index": ("search", "Index a collection for searching."),
    "watch": ("watch", "Import and index files whenever they change."),
    "search": ("search", "Search with a set of queries and save the rankings."),
    "recommend": ("recommendation", "Recommend papers that a text should cite."),
    "check": ("check", "Check the references of a draft."),
    "fill": ("fill", "Find papers for the missing citations of a draft."),
    "lsp": ("editors", "Start the language server for editors."),
    "find": ("search", "Look up documents by words, author, year or key."),
    "tune": ("search", "Tune ranking weights on your drafts or judgements."),
    "train": ("trained_models", "Train encoders and rankers on your own citations."),
    "evaluate": ("evaluation", "Score runs against judgements."),
    "compare": ("evaluation", "Compare runs: differences, intervals, tests."),
    "measures": ("evaluation", "List the measures, or explain one."),
    "trec_eval": ("evaluation", "Drop-in replacement for trec_eval."),
    "contrast": ("contrast", "See how scores change under a second judgement set."),
    "pool-bias": ("contrast", "Measure pool bias: leave out a run or team at a time."),
    "qrels": ("judgements", "Describe, sample, merge or extend judgement sets."),
    "campaign": ("campaign", "Collect relevance judgements from paper authors."),
    "serve": ("workbench", "Open the workbench in a browser; serve campaigns."),
    "mcp": ("assistants", "Let an assistant search a collection and cite from it."),
    "desk": ("workbench", "List drafts of the workbench; export your feedback."),
    "fuse": ("fusion", "Fuse runs into one, by scores or by ranks."),
    "report": ("evaluation", "Write an evaluation report as one HTML page."),
    "timeline": ("timeline", "Score runs over a stream, slice by slice."),
    "timeline official": (
        "timeline",
        "Score filter runs with TREC KBA's official measures.",
    ),
    "timeline snapshots": ("timeline", "Score runs in several snapshots of a collection."),
    "robustness": ("robustness", "Test which measures suit time slices of unequal size."),
    "filter": ("filter", "Filter a document stream for a set of topics."),
    "published": ("published", "Reproduce the tables of three published papers."),
    "docs": ("demo", "Open the handbook in a browser, offline."),
    "demo": ("demo", "Create the demo collection and try a recommendation."),
}
"""All commands in the order of the work: the module of each, and a short summary."""

INTERRUPTED = 130
DEBUG = "CITEBED_DEBUG"

# These commands parse their arguments themselves, including options.
PASSED_ON = {"trec_eval"}
AS_TYPED: dict[str, Any] = {
    "context_settings": {"ignore_unknown_options": True, "help_option_names": ["--help"]},
}

# SIGINT stops these commands even as background jobs of scripts; other commands ignore it there.
SERVERS = {"serve", "mcp", "lsp", "watch"}

# These commands do not multiply large matrices, so they need no BLAS threads.
WITHOUT_MATRICES = {"evaluate", "trec_eval", "compare", "timeline", "fuse", "qrels"}

WITH_PAIRS = {"contrast", "timeline"}
PAIR, _SNAPSHOTS = "--pair", "--snapshots"


def build(verb: str | None = None) -> typer.Typer:
    """Return the command line with one command loaded, or with the summaries of all commands."""

    def show_version(wanted: bool) -> None:
        if wanted:
            from citebed._version import __version__

            typer.echo(f"citebed {__version__}")
            raise typer.Exit

    def main(
        context: typer.Context,
        offline: bool = typer.Option(
            False, "--offline", help=f"Do not use the network (same as {OFFLINE}=1)."
        ),
        version: bool = typer.Option(  # noqa: ARG001 - its callback does it
            False, "--version", help="Show the version and exit.", callback=show_version,
            is_eager=True,
        ),
    ) -> None:  # fmt: skip
        if offline:  # in the environment, so that child processes inherit it
            context.with_resource(_environment(OFFLINE))

    app = typer.Typer(
        name="citebed",
        help="Import your bibliography, get citation suggestions, collect judgements and evaluate"
        " recommenders.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        # "color": show text that looks like a colour code, because it comes from a user's file
        context_settings={"help_option_names": ["-h", "--help"], "color": True},
    )
    app.callback()(main)
    if verb not in VERBS:
        for name, (_, what) in VERBS.items():
            app.command(name, help=what)(lambda: None)  # only its name is used; it is never called
        return app
    module = import_module(f"citebed.cli.{VERBS[verb][0]}")
    name = verb.replace("-", "_").replace(" ", "_")
    found = getattr(module, name, None) or getattr(module, f"{name}_")  # a keyword of Python
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=verb)
    else:
        from citebed.cli.options import PlainCommand, command

        settings = AS_TYPED if verb in PASSED_ON else {}
        app.command(verb, cls=PlainCommand, **settings)(command(found))
    return app


@contextmanager
def _environment(name: str) -> Iterator[None]:
    """Set an environment variable to 1 for a while."""
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name)
        os.environ.update({} if before is None else {name: before})


# --- the words of the command line -----------------------------------------------------------


def parse_words(words: list[str]) -> tuple[list[str], str | None]:
    """Return the words as typer takes them, and the command.

    ``citebed help VERB`` becomes ``VERB --help``; a command of two words becomes one word, and
    ``--snapshots`` becomes the second word of ``timeline``.
    """
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if "timeline" in words and _SNAPSHOTS in words[(at := words.index("timeline")) :]:
        others = [word for word in words[at + 1 :] if word != _SNAPSHOTS]
        words = [*words[: at + 1], _SNAPSHOTS.strip("-"), *others]
    for at, word in enumerate(words):
        if not word.startswith("-"):
            verb = " ".join(words[at : at + 2])
            if verb not in VERBS:
                verb = word
            else:
                words = [*words[:at], verb, *words[at + 2 :]]
            if verb in WITH_PAIRS:
                words = split_pairs(words)
            if verb in PASSED_ON:  # "--" too
                words = [*words[: at + 1], "--", *words[at + 1 :]]
            return words, verb
    return words, None


def split_pairs(words: Sequence[str]) -> list[str]:
    """Split the runs of ``--pair A,B`` and ``--pair=A,B`` into two words.

    A comma does not separate runs if it belongs to the name of a file on the command line.
    """

    def split(word: str) -> list[str]:
        parts = [part.strip() for part in word.split(",")]
        is_file = [Path(each).name for each in words].count(Path(word).name) > 1
        is_name = is_file or any(each.startswith(f"{word}.") for each in words)
        return parts if len(parts) == 2 and all(parts) and not is_name else [word]

    made: list[str] = []
    for at, word in enumerate(words):
        option, equals, joined = word.partition("=")
        if option == PAIR and equals:
            made += [PAIR, *split(joined)]
        elif at and words[at - 1] == PAIR:
            runs, after = split(word), next(iter(words[at + 1 :]), "--")
            if len(runs) == 1 and after.startswith("--"):
                raise CitebedError(
                    f"{PAIR} takes two runs, {PAIR} A B or {PAIR} A,B; found '{word}'."
                )
            made += runs
        else:
            made.append(word)
    return made


# --- running a command -----------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code. Printed messages contain no control characters."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    with escape_terminal_output():
        if "--debug" not in given:
            return _run(given, is_process=arguments is None)
        with _environment(DEBUG):
            return _run(given, is_process=arguments is None)


def _run(given: list[str], *, is_process: bool) -> int:
    verb: str | None = None
    try:
        words, verb = parse_words(given)
        if is_process:
            _prepare_process(verb)
        result = build(verb)(args=words, prog_name="citebed", standalone_mode=False)
        if result != INTERRUPTED:  # how typer passes Ctrl-C on
            sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except TyperException as error:
        return _report_usage(error, verb)
    except (KeyboardInterrupt, typer.Abort):
        return _report_interrupt()
    except (BrokenPipeError, SystemExit):  # typer turns the former into the latter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CitebedError as error:
        if "--debug" in given and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        typer.echo(f"citebed: {error}", err=True)
        return 1
    except BaseException as error:  # a panic in a Rust library is not an Exception
        return _report_interrupt() if is_interrupt(error) else _report_failure(error)
    if result == INTERRUPTED:
        return _report_interrupt()
    return result if isinstance(result, int) else 0


def _prepare_process(verb: str | None) -> None:
    """Limit the threads of short commands; settle a background job of a script.

    Such a job ignores SIGINT, as shells expect, but servers still stop. It is blocked in this
    thread, and so in all later threads: polars and Sail react to it even if it is ignored, and
    waiting for a stopped Sail server never ends.
    """
    if (verb or "").partition(" ")[0] in WITHOUT_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
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


def _report_usage(error: TyperException, verb: str | None) -> int:
    """Report a usage error; without any arguments, show the help."""
    message = printable(error.format_message())
    if message.startswith("Usage:"):
        typer.echo(message, err=True)
        return 1
    for theirs, ours in _WORDED:
        message = re.sub(theirs, ours, message)
    typer.echo(f"citebed: {message}", err=True)
    path = getattr(getattr(error, "ctx", None), "command_path", f"citebed {verb}")
    typer.echo(f"See '{path} --help'.", err=True)
    return 1


def _report_interrupt() -> int:
    typer.echo("citebed: interrupted; stored data is complete", err=True)
    return INTERRUPTED


def _report_failure(error: BaseException) -> int:
    """Report an unexpected error: one of the operating system, or an internal one."""
    from citebed.files.system_errors import find_system_error

    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    message = str(error).strip().partition("\n")[0]
    if isinstance(error, OSError):
        place = f"{printable(error.filename)}: " if isinstance(error.filename, str) else ""
        typer.echo(f"citebed: {place}{error.strerror or message}", err=True)
    elif find_system_error(error) is not None:
        typer.echo(f"citebed: {message}", err=True)
    elif isinstance(error, MemoryError):
        typer.echo("citebed: out of memory", err=True)
    else:
        typer.echo(f"citebed: internal error: {type(error).__name__}: {message}", err=True)
        typer.echo("Set CITEBED_DEBUG=1, run again and report the traceback.", err=True)
        return 2
    return 1
