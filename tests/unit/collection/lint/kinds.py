"""The types of the fixtures."""

from __future__ import annotations

from collections.abc import Callable

from citebed.collection import Collection

Collect = Callable[..., Collection]
"""Imports files given as ``name: text``."""

Altered = Callable[..., Collection]
"""Changes columns of a table of a collection."""

Found = Callable[..., list[tuple[str, str]]]
"""Runs one check on a collection; gives id and what of each finding."""
