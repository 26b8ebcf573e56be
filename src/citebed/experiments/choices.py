"""Lists of measures, models, tests and corrections, for autocompletion."""

from __future__ import annotations

import contextlib
from typing import Any

from citebed.errors import CitebedError
from citebed.evaluation.measures import MEASURES
from citebed.evaluation.measures.base import Measure
from citebed.report.evaluation_tables import as_written, measure_paragraphs
from citebed.retrieval.feedback import FEEDBACK
from citebed.retrieval.models import MODELS
from citebed.retrieval.pipeline import RANKINGS, parse_pipeline

_USUAL_CUTOFFS = {"rank": ("10", "5", "20", "100"), "rank or R": ("10", "R"), "recall": ("0.1",)}
_FIRST = (
    "nDCG@10",
    "R@10",
    "AP",
    "RR",
    "P@5",
    "R@100",
    "Rprec",
    "Bpref",
    "Success@10",
    "Judged@10",
)


def list_measures() -> list[dict[str, str]]:
    """Return the measures with their usual cutoffs, the most common first."""
    rows = {}
    for kind in MEASURES.values():
        for name in _written(kind):
            rows[name] = {
                "name": name,
                "about": measure_paragraphs(kind)[0],
                "form": as_written(kind),
            }
    first = [rows.pop(name) for name in _FIRST if name in rows]
    return [*first, *rows.values()]


def _written(kind: type[Measure]) -> list[str]:
    cutoffs = _USUAL_CUTOFFS.get(kind.CUTOFF, ())
    with_cutoff = [f"{kind.NAME}@{cutoff}" for cutoff in cutoffs]
    return with_cutoff if kind.NEEDS_CUTOFF else [kind.NAME, *with_cutoff[:1]]


def list_models() -> list[dict[str, str]]:
    """Return the models, alone and with feedback or re-ranking, with a description."""
    plain = [{"name": kind.name, "about": kind.summary} for kind in MODELS.values()]
    plain.append({"name": "tfidf", "about": "The same as cosine, under its usual name."})
    fed = [
        {"name": f"{_base(name)}+{name}", "about": f"With feedback. {_first(kind)}"}
        for name, kind in FEEDBACK.items()
    ]
    ranked = [{"name": f"bm25+{kind.name}", "about": _first(kind)} for kind in RANKINGS.values()]
    return [*plain, *reversed(ranked), *fed]


def _base(feedback: str) -> str:
    """Return the first model that supports a feedback method."""
    for base in MODELS:
        with contextlib.suppress(CitebedError):
            parse_pipeline(f"{base}+{feedback}")
            return base
    return next(iter(MODELS))


def _first(kind: type[Any]) -> str:
    summary = getattr(kind, "summary", "") or (kind.__doc__ or "")
    return str(summary).strip().split("\n")[0]
