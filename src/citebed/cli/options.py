"""Options that commands share, and the command line of a dataclass of options."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from citebed.errors import CitebedError
from citebed.options import Option, option
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.distributed.engine import Engine

LAST = ("format", "as_json", "as_csv", "quiet")
"""Options that every help text lists last."""


class PlainCommand(TyperCommand):
    """A command whose usage line has required arguments without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters that are dataclasses become their options.

    The command line has one option for each field made by `citebed.options.option`, also of
    dataclasses inside; the function receives the dataclasses.
    """
    groups: dict[str, Any] = {}
    parameters: dict[str, Parameter] = {}
    declared: dict[str, Option] = {}
    for parameter in signature(function, eval_str=True).parameters.values():
        if is_dataclass(_plain(parameter.annotation)):
            groups[parameter.name] = parameter.annotation
            for field, kind in _options(parameter.annotation):
                declared[field.name] = field.metadata["option"]
                parameters[field.name] = _parameter(field, kind)
        else:
            parameters[parameter.name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for info in get_args(parameter.annotation)[1:]:
                if isinstance(info, ArgumentInfo) and info.metavar is None:
                    is_list = "list" in str(parameter.annotation)
                    info.metavar = parameter.name.upper() + "…" * is_list
    takes_context = parameters.pop("context", None) is not None
    parameters |= {name: parameters.pop(name) for name in LAST if name in parameters}

    @wraps(function)
    def run(context: typer.Context, **values: Any) -> Any:
        for name, value in values.items():
            needed = declared[name].needs if name in declared else None
            is_nan = isinstance(value, float) and math.isnan(value)
            wrong = "nan is not a number." if is_nan else None
            if needed and is_given(context, name) and not values[needed]:
                wrong = f"this option needs --{needed.replace('_', '-')}."
            if wrong:
                given = next(each for each in context.command.params if each.name == name)
                raise typer.BadParameter(wrong, context, given)
        made = {name: _build(kind, values) for name, kind in groups.items()}
        others = {name: value for name, value in values.items() if name not in declared}
        own = {"context": context} if takes_context else {}
        return function(**own, **others, **made)

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    every = [context, *parameters.values()]
    run.__signature__ = signature(function).replace(  # type: ignore[attr-defined]
        parameters=every, return_annotation=None
    )
    run.__annotations__ = {each.name: each.annotation for each in every}
    return run


def _plain(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _options(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields that are options, also of dataclasses inside, with the types of values."""
    left_out = get_args(kind)[1] if get_origin(kind) is Annotated else ()
    hints = get_type_hints(_plain(kind), include_extras=True)
    for field in fields(_plain(kind)):
        if field.name in left_out:
            continue
        if "option" in field.metadata:
            yield field, field.metadata["option"].kind or hints[field.name]
        elif is_dataclass(_plain(hints[field.name])):
            yield from _options(hints[field.name])


def _has_many(kind: Any) -> bool:
    """Return True for ``tuple[X, ...]``, which is a repeatable option."""
    return get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis


def _parameter(field: Field[Any], kind: Any) -> Parameter:
    """Return what typer makes an option from."""
    declared: Option = field.metadata["option"]
    default, flags = field.default, list(declared.flags)
    if _has_many(kind):
        kind, default = list[get_args(kind)[0]] | None, None  # type: ignore[misc]
    if len(field.name) > 1 and not any(flag.startswith("--") for flag in flags):
        flags.insert(0, f"--{field.name.replace('_', '-')}")
    info = typer.Option(
        *flags, help=declared.help, min=declared.min, max=declared.max, metavar=declared.metavar,
        show_default=declared.show_default,
    )  # fmt: skip
    annotation = Annotated[kind, info]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _build(kind: Any, values: Mapping[str, Any]) -> Any:
    """Make a dataclass from the options' values; missing options keep their default."""
    offered = {field.name: field_kind for field, field_kind in _options(kind)}
    made = {}
    for name, inside in get_type_hints(_plain(kind), include_extras=True).items():
        if is_dataclass(_plain(inside)):
            made[name] = _build(inside, values)
        elif name in offered and not (_has_many(offered[name]) and values[name] is None):
            made[name] = tuple(values[name]) if _has_many(offered[name]) else values[name]
    return _plain(kind)(**made)


def command_group(help: str, **commands: Callable[..., Any]) -> typer.Typer:
    """Return a command with subcommands; ``_`` in a name becomes ``-`` unless it comes last."""
    group = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)
    for name, function in commands.items():
        group.command(name.rstrip("_").replace("_", "-"), cls=PlainCommand)(command(function))
    return group


def is_given(context: typer.Context, name: str | None) -> bool:
    """Return True if the user gave this parameter, even with its default value."""
    return getattr(context.get_parameter_source(name or ""), "name", "") == "COMMANDLINE"


def typed(context: typer.Context) -> str:
    """Return the command line to repeat this command, with file names instead of paths."""

    def word(value: Any, path: bool) -> str:
        plain = str(value)
        return printable(Path(plain).name or "." if path or Path(plain).is_file() else plain)

    words = ["citebed", context.command.name or ""]
    for parameter in context.command.params:
        if not is_given(context, parameter.name):
            continue
        value = context.params[parameter.name or ""]
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
            continue
        name = parameter.opts[:1] if parameter.param_type_name == "option" else []
        path = parameter.type.name in ("path", "file", "directory")
        if parameter.nargs > 1:
            words += [*name, *(word(part, path) for part in value)]
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [*name, word(one, path)]
    return shlex.join(words)


AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and summary.")]
CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
QrelsFile = Annotated[Path, typer.Argument(help="Judgements (qrels or Parquet).", metavar="QRELS")]
QrelsFiles = Annotated[list[Path], typer.Argument(help="Judgement sets.", metavar="QRELS…")]
_RUNS = "Runs in TREC format or TREC KBA's filter format (.gz allowed), or Parquet"
RunFiles = Annotated[list[Path], typer.Argument(help=f"{_RUNS}.", metavar="RUN…")]
RunSources = Annotated[
    list[str],
    typer.Argument(help=f"{_RUNS}; with --on, any path Spark reads.", metavar="RUN…"),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="Measure, e.g. nDCG@10 (repeatable)."),
]
TableFormat = Literal["table", "json", "csv", "markdown", "latex"]


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The format of the output: a table for people, or rows for programs."""

    as_json: bool = option(False, "Print the results as JSON, for programs.", "--json")
    as_csv: bool = option(False, "Print the results as CSV, for programs.", "--csv")

    @property
    def style(self) -> str:
        """``table``, ``json``, ``csv`` or another format; an error if several were given."""
        styles = {"json": "--json"} if self.as_json else {}
        styles |= {"csv": "--csv"} if self.as_csv else {}
        if (format := getattr(self, "format", None)) is not None:
            styles.setdefault(format, f"--format {format}")
        if len(styles) > 1:
            raise CitebedError(f"{' and '.join(styles.values())} were given. Choose one.")
        return next(iter(styles), "table")


@dataclass(frozen=True, kw_only=True)
class TableOptions(RowOptions):
    """The format of the output, with further formats of tables."""

    format: TableFormat | None = option(None, "Output format (default: table).")


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Options of commands that can run on Apache Spark."""

    on: str | None = option(
        None, "Run on Spark: local, sc://host:15002 (Spark Connect), or a Spark master URL."
    )
    spark_conf: tuple[str, ...] = option((), "Spark setting key=value for --on (repeatable).",
                                         needs="on")  # fmt: skip
    debug: bool = option(False, "Show full Spark logs and tracebacks (same as CITEBED_DEBUG=1).")

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Connect to Spark."""
        from citebed.distributed.engine import engine

        assert self.on is not None
        with engine(self.on, self.spark_conf) as there:
            yield there
