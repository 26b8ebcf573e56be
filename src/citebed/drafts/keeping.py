"""A draft that was read, as text to keep: what was found in files need not be found again."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from citebed.drafts.records import Cited, Draft, Entry, Passage, Place
from citebed.errors import CitebedError


def draft_to_json(draft: Draft) -> str:
    """A draft as JSON, with all that it is."""
    return json.dumps(asdict(draft), ensure_ascii=False)


def draft_from_json(text: str) -> Draft:
    """The draft that was kept; raises ``CitebedError`` for what is none."""
    try:
        kept = json.loads(text)
        passages = tuple(map(_passage, kept.pop("passages")))
        cited = _cited(kept.pop("cited"))
        rest = {name: _frozen(value) for name, value in kept.items()}
        return Draft(passages=passages, cited=cited, **rest)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CitebedError(f"this is no draft that was kept: {error}") from error


def _passage(kept: dict[str, Any]) -> Passage:
    places = tuple(Place(*place) for place in kept.pop("places"))
    return Passage(places=places, **{name: _frozen(value) for name, value in kept.items()})


def _cited(kept: dict[str, Any]) -> Cited:
    entries = tuple(Entry(**entry) for entry in kept.pop("entries"))
    return Cited(entries=entries, **{name: _frozen(value) for name, value in kept.items()})


def _frozen(value: Any) -> Any:
    """Lists as the tuples that they were."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
