"""The page of the Python door, from the docstrings of its public names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

_HEAD = """# Python, name by name

What `import citebed` offers, from the docstrings.
[From Python, and in notebooks](docs/python.md) is where to start.
"""


def python_page() -> str:
    """A page of Markdown: a section for each public name, and one for each method of a class."""
    door = import_module("citebed")
    names = [name for name in dir(door) if not name.startswith("_")]
    values = {name: getattr(door, name) for name in sorted(names, key=str.lower)}
    return "\n".join([_HEAD, *(part for item in values.items() for part in _entry(*item))])


def _entry(name: str, value: Any) -> Iterator[str]:
    """A function, a class with its methods, or a package that is called as its function."""
    yield f"## citebed.{name}\n"
    yield _signature(f"citebed.{name}", value)
    yield f"{inspect.getdoc(value) or ''}\n"
    if inspect.isclass(value):
        for member in sorted(vars(value)):
            if not member.startswith("_") and inspect.getdoc(getattr(value, member, None)):
                yield from _member(name, member, inspect.getattr_static(value, member))


def _member(owner: str, name: str, value: Any) -> Iterator[str]:
    member = getattr(value, "__func__", None) or getattr(value, "func", None) or value
    if not (callable(member) or isinstance(member, property)):
        return
    yield f"### {owner}.{name}\n"
    if callable(member) and not hasattr(value, "func"):
        yield _signature(f".{name}", member)
    yield f"{inspect.getdoc(member) or ''}\n"


def _signature(name: str, value: Callable[..., Any]) -> str:
    """How it is called, a parameter a line; defaults that are no plain values are not shown."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    every = signature.parameters.values()
    lines = [f"    {_parameter(each)},\n" for each in every if each.name not in ("self", "cls")]
    result = signature.return_annotation
    is_known = result is not inspect.Signature.empty and not inspect.isclass(value)
    arrow = f" -> {_annotation(result)}" if is_known else ""
    body = "".join(["\n", *lines]) if lines else ""
    return f"```python\n{name}({body}){arrow}\n```\n"


def _parameter(parameter: inspect.Parameter) -> str:
    is_more = parameter.kind is parameter.VAR_POSITIONAL
    star = "*" if is_more else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    known = parameter.annotation is not inspect.Parameter.empty
    kind = f": {_annotation(parameter.annotation)}" if known else ""
    if parameter.default is inspect.Parameter.empty:
        return f"{star}{parameter.name}{kind}"
    default = repr(parameter.default)
    return f"{parameter.name}{kind} = {'…' if ' at 0x' in default else default}"


def _annotation(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))
