"""The card of a model: what it learned from, how, for how long, and how well it does."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from citebed._version import __version__
from citebed.training.devices import in_words
from citebed.training.folds import DEVELOPMENT, FOLDS, TEST
from citebed.training.prepared import TrainingTexts

_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors")


def data_facts(texts: TrainingTexts, fold: int) -> dict[str, Any]:
    """What was learned from: how much, of what, with the hash of all of it."""
    parts = ("training", "development", "test")
    return {
        **texts.about,
        "sha256": texts.fingerprint,
        "documents": len(texts.documents),
        "cited": len(texts.cited),
        "contexts": {part: len(texts.part(part, fold)) for part in parts},
        "test_fold": (TEST + fold) % FOLDS,
        "development_fold": (DEVELOPMENT + fold) % FOLDS,
    }


def versions() -> dict[str, str]:
    """What the run was made with."""
    found = {"citebed": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def card_of(
    kind: str, data: Mapping[str, Any], settings: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    """The card; ``run`` is what the run has to tell: device, seconds, losses, figures."""
    return {
        "kind": kind,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "data": dict(data),
        "settings": dict(settings),
        "versions": versions(),
        **run,
    }


def card_text(card: Mapping[str, Any]) -> str:
    """The card as Markdown, for people."""
    data = card["data"]
    lines = [
        f"# {card['kind']} trained on {data.get('collection', 'contexts of citations')}",
        "",
        f"Made {card['made']} by citebed {card['versions']['citebed']} on {card['device']} "
        f"in {in_words(card['seconds'])}, from the seed {card['settings']['seed']}.",
        "",
        *_figures(card),
        "## Data",
        "",
        f"{data['documents']:,} documents, {data['cited']:,} of them cited. Contexts by citing "
        f"paper: {data['contexts']['training']:,} to learn from, "
        f"{data['contexts']['development']:,} for development (fold {data['development_fold']} of "
        f"{FOLDS}), {data['contexts']['test']:,} for the test (fold {data['test_fold']}).",
        "",
        f"SHA-256 of all texts: `{data['sha256']}`",
        "",
        *(f"- {each['file']}: `{each['sha256']}`" for each in data.get("files", ())),
        "",
        *_table("Settings", card["settings"]),
        *_table("Versions", card["versions"]),
    ]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _figures(card: Mapping[str, Any]) -> list[str]:
    before, after = card.get("before") or {}, card.get("after") or {}
    if not after:
        return ["No citing paper is in the fold of the test: nothing was measured.", ""]
    rows = [f"| {name} | {_shown(before.get(name))} | {after[name]:.4f} |" for name in after]
    return [
        "Contexts of papers that were not learned from, looking among all cited documents:",
        "",
        "| | before | after |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _table(title: str, rows: Mapping[str, Any]) -> list[str]:
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return [f"## {title}", "", "| | |", "|---|---|", *lines, ""]
