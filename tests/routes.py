"""Return all paths of an application and its routers."""

from __future__ import annotations

from typing import Any


def all_routes(app: Any) -> list[tuple[str, frozenset[str]]]:
    """Each path, with the methods that it takes."""
    found = []
    for route in app.routes:
        router = getattr(route, "original_router", None)
        prefix = getattr(getattr(route, "include_context", None), "prefix", "")
        for each in [route] if router is None else router.routes:
            methods = frozenset(getattr(each, "methods", None) or ())
            found.append((f"{prefix}{each.path}", methods))
    return found
