"""Options of commands, declared once as fields of dataclasses.

A dataclass of options is what a function takes in Python. Its fields carry the help and the limits
that the command line shows (`citebed.cli.options.command`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import Parameter, signature
from typing import Any, TypeVar

_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Option:
    """How an option looks on the command line.

    ``flags`` are its names; without a long one, it is made from the field's name. ``kind`` is the
    type of a typed value if it differs from the field's. ``needs`` is the field of another option
    without which this one has no effect. A positional argument has no flags.
    """

    help: str
    flags: tuple[str, ...] = ()
    kind: Any = None
    min: float | None = None
    max: float | None = None
    metavar: str | None = None
    needs: str | None = None
    show_default: bool | str = True
    is_positional: bool = False


def option(default: _T, help: str, *flags: str, **settings: Any) -> _T:
    """Declare a field with its default, its help, and the other settings of an `Option`; or a
    parameter of a command."""
    made = Option(help=help, flags=flags, **settings)
    return field(default=default, metadata={"option": made})


def argument(default: _T, help: str, **settings: Any) -> _T:
    """Declare a positional argument that users can leave out."""
    return option(default, help, is_positional=True, **settings)


def without(*names: str) -> tuple[str, ...]:
    """Mark an annotated dataclass of options whose fields of these names are not on offer."""
    return names


def takes_options(kind: type[Any]) -> Callable[[_Function], _Function]:
    """Show the fields and help of a dataclass as parameters of a function with ``**changes``."""

    def show(function: _Function) -> _Function:
        own = [p for p in signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = [
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in fields(kind)
        ]
        function.__doc__ = f"{function.__doc__}\n{(kind.__doc__ or '').partition('.')[2]}"
        function.__signature__ = signature(function).replace(  # type: ignore[attr-defined]
            parameters=[*own, *shown]
        )
        return function

    return show
