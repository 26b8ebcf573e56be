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
    found = getattr(value, "__func__", None) or getattr(value, "func", None) or value
    if not (callable(found) or isinstance(found, property)):
        return
    yield f"### {owner}.{name}\n"
    if callable(found) and not hasattr(value, "func"):
        yield _signature(f".{name}", found)
    yield f"{inspect.getdoc(found) or ''}\n"


def _signature(name: str, value: Callable[..., Any]) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    given = [each for each in signature.parameters.values() if each.name != "self"]
    plain = [str(each.replace(annotation=inspect.Parameter.empty)) for each in given]
    line = f"{name}({', '.join(plain)})"
    typed = [f"    {each}," for each in map(str, given)]
    short = len(line) <= 88 and not typed
    body = line if short else "\n".join([f"{name}(", *typed, ")"])
    result = signature.return_annotation
    arrow = (
        "" if result is inspect.Signature.empty else f" -> {getattr(result, '__name__', result)}"
    )
    return f"```python\n{body}{arrow}\n```\n"
