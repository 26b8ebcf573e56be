"""Public names of a package that Python imports on first use, so that the package imports fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def names_on_first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, from its imports for type checkers.

    The block ``if TYPE_CHECKING:`` of its ``__init__`` is the only list of its public names; the
    type checker, tab completion and imports all use it.
    """

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        import ast

        spec = sys.modules[package].__spec__
        source = spec.loader.get_source(package)  # type: ignore[union-attr]
        blocks = (node for node in ast.parse(source).body if isinstance(node, ast.If))
        lines = (line for block in blocks for line in block.body)
        return {
            alias.asname or alias.name: (str(line.module), alias.name)
            for line in lines
            if isinstance(line, ast.ImportFrom)
            for alias in line.names
        }

    def get(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, inside = homes()[name]
        home = import_module(module)
        # A callable package that is named like its function is returned itself.
        value = home if module == f"{package}.{name}" else getattr(home, inside)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        here = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*here, *homes()})

    return get, names
