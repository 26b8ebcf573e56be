"""Options that commands share, and the command line of a dataclass of options."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from citebed.cli.output import Rows, print_json, print_rows
from citebed.errors import CitebedError
from citebed.options import Option, option
from citebed.report.terminal import progress_bar
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.collection.progress import Progress
    from citebed.distributed.engine import Engine
    from citebed.report.tables import Table

LAST = ("format", "as_json", "as_csv", "quiet")
"""Options that every help text lists last."""


class PlainCommand(TyperCommand):
    """A command whose usage line has required arguments without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class _Declared(NamedTuple):
    """An option or argument: its name, its declaration, the type of its value, its default."""

    name: str
    option: Option
    kind: Any
    default: Any

    @property
    def is_repeatable(self) -> bool:
        """Whether the type is ``tuple[X, ...]``."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[-1] is Ellipsis

    @property
    def parameter(self) -> Parameter:
        """What typer makes the option from."""
        about, kind, default = self.option, self.kind, self.default
        if self.is_repeatable:
            kind, default = list[get_args(kind)[0]] | None, None  # type: ignore[misc]
        if about.is_positional:
            metavar = about.metavar or _metavar(self.name, kind)
            info: Any = typer.Argument(
                help=about.help, metavar=metavar, show_default=about.show_default
            )
        else:
            flags = list(about.flags)
            if len(self.name) > 1 and not any(flag.startswith("--") for flag in flags):
                flags.insert(0, f"--{self.name.replace('_', '-')}")
            info = typer.Option(
                *flags, help=about.help, min=about.min, max=about.max, metavar=about.metavar,
                show_default=about.show_default,
            )  # fmt: skip
        annotation = Annotated[kind, info]  # type: ignore[valid-type]
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

    def value(self, given: Any) -> Any:
        """Return the value for the field or the parameter."""
        if not self.is_repeatable:
            return given
        return self.default if given is None else tuple(given)


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters are made by `option`, `argument` and dataclasses of them.

    The command line has one option for each field of a dataclass, also of dataclasses inside; the
    function receives the dataclasses.
    """
    groups: dict[str, Any] = {}
    grouped: dict[str, _Declared] = {}
    single: dict[str, _Declared] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(function, eval_str=True).parameters.items():
        kind = parameter.annotation
        if is_dataclass(_plain(kind)):
            groups[name] = kind
            inside = {each.name: each for each in _options(kind)}
            grouped |= inside
            parameters |= {each.name: each.parameter for each in inside.values()}
        elif isinstance(parameter.default, Field):
            default = parameter.default
            single[name] = _Declared(name, default.metadata["option"], kind, default.default)
            parameters[name] = single[name].parameter
        else:
            parameters[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for info in get_args(kind)[1:]:
                if isinstance(info, ArgumentInfo) and info.metavar is None:
                    info.metavar = _metavar(name, kind)
    takes_context = parameters.pop("context", None) is not None
    parameters |= {name: parameters.pop(name) for name in LAST if name in parameters}
    declared = grouped | single

    @wraps(function)
    def run(context: typer.Context, **values: Any) -> Any:
        for name, value in values.items():
            needed = declared[name].option.needs if name in declared else None
            is_nan = isinstance(value, float) and math.isnan(value)
            wrong = "nan is not a number." if is_nan else None
            if needed and is_given(context, name) and not values[needed]:
                wrong = f"this option needs --{needed.replace('_', '-')}."
            if wrong:
                given = next(each for each in context.command.params if each.name == name)
                raise typer.BadParameter(wrong, context, given)
        values |= {name: each.value(values[name]) for name, each in declared.items()}
        made = {name: _build(kind, values) for name, kind in groups.items()}
        others = {name: value for name, value in values.items() if name not in grouped}
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


def _metavar(name: str, kind: Any) -> str:
    return name.upper() + "…" * ("list" in str(kind))


def _fields(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields of a dataclass that are options or dataclasses, with their types."""
    left_out = get_args(kind)[1] if get_origin(kind) is Annotated else ()
    hints = get_type_hints(_plain(kind), include_extras=True)
    for field in fields(_plain(kind)):
        is_offered = "option" in field.metadata or is_dataclass(_plain(hints[field.name]))
        if is_offered and field.name not in left_out:
            yield field, hints[field.name]


def _options(kind: Any) -> Iterator[_Declared]:
    """Yield the options of a dataclass, also of dataclasses inside."""
    for field, hint in _fields(kind):
        if option := field.metadata.get("option"):
            yield _Declared(field.name, option, option.kind or hint, field.default)
        else:
            yield from _options(hint)


def _build(kind: Any, values: Mapping[str, Any]) -> Any:
    """Make a dataclass from the values of its options; other fields keep their default."""
    made = {
        field.name: values[field.name] if "option" in field.metadata else _build(hint, values)
        for field, hint in _fields(kind)
    }
    return _plain(kind)(**made)


def command_group(help: str, *commands: Callable[..., Any]) -> typer.Typer:
    """Return a command with subcommands, which are named like their functions with ``-``."""
    group = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)
    for function in commands:
        name = function.__name__.rstrip("_").replace("_", "-")
        group.command(name, cls=PlainCommand)(command(function))
    return group


def is_given(context: typer.Context, name: str | None) -> bool:
    """Return True if the user gave this parameter, even with its default value."""
    return getattr(context.get_parameter_source(name or ""), "name", "") == "COMMANDLINE"


def typed(context: typer.Context) -> str:
    """Return the command line to repeat this command, with file names instead of paths."""

    def word(value: Any, path: bool) -> str:
        plain = str(value)
        return printable(Path(plain).name or "." if path or Path(plain).is_file() else plain)

    group = context.parent if context.parent and context.parent.parent else None
    words = ["citebed", *(each.command.name or "" for each in (group, context) if each)]
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


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and summary.")]
CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
NewCollectionFolder = Annotated[
    Path,
    typer.Argument(
        metavar="COLLECTION", help="Collection folder; created if missing.", show_default=False
    ),
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
class JsonOptions:
    """What a command prints about its work: lines for people, or rows of JSON."""

    as_json: bool = option(False, "Print the results as JSON, for programs.", "--json")
    quiet: bool = False

    def progress(self, unit: str = "bytes") -> AbstractContextManager[Progress]:
        """Show the progress, unless a program reads the output."""
        return progress_bar(self.quiet or self.as_json, unit=unit)

    def print(self, rows: Rows, lines: Iterable[str]) -> None:
        """Print rows for programs or lines for people."""
        if self.as_json:
            print_json(rows)
        elif not self.quiet:
            for line in lines:
                typer.echo(line)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(JsonOptions):
    """What a command prints about its work, if anything."""

    quiet: bool = option(False, "Hide progress and summary.", "-q")


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

    def __post_init__(self) -> None:
        self.style  # noqa: B018 - an error before the work begins

    @property
    def is_rows(self) -> bool:
        """Whether the output is rows for programs."""
        return self.style in ("json", "csv")

    def print(self, rows: Callable[[], Rows], text: Callable[[], str]) -> None:
        """Print rows for programs, or a text for people."""
        if self.is_rows:
            print_rows(rows(), self.style)
        else:
            typer.echo(text(), nl=False)


@dataclass(frozen=True, kw_only=True)
class LineOptions(RowOptions):
    """The format of findings in files: a text, lines for editors, or rows for programs."""

    format: str | None = option(
        None, "One of text, lines; 'lines' prints 'file:line:column: message' for editors."
    )


@dataclass(frozen=True, kw_only=True)
class TableOptions(RowOptions):
    """The format of the output, with further formats of tables."""

    format: TableFormat | None = option(None, "Output format (default: table).")

    def print_tables(self, rows: Callable[[], Rows], tables: Iterable[Table]) -> None:
        """Print rows for programs, or tables under their captions for people."""
        if self.is_rows:
            print_rows(rows(), self.style)
            return
        titles = {"table": "{}\n", "markdown": "**{}**\n\n", "latex": "% {}\n"}
        title = titles[self.style]
        texts = (title.format(each.caption) + each.written(self.style) for each in tables)
        typer.echo("\n".join(texts), nl=False)


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
