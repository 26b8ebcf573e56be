"""Help on measures from their docstrings, for the terminal and the docs."""

from __future__ import annotations

import inspect

from citebed.evaluation.measures import MEASURES, Measure
from citebed.evaluation.measures.base import parameters
from citebed.evaluation.measures.trec_names import TREC_MEASURES

_CUTOFFS = {"none": "", "rank": "@k", "rank or R": "@k", "recall": "@x", "multiple": "@x"}


def as_written(kind: type[Measure]) -> str:
    """Return a measure's syntax: ``nDCG(dcg='log2',rel=1,judged_only=False)[@k]``."""
    inside = ", ".join(f"{field.name}={field.default!r}" for field in parameters(kind))
    cutoff = _CUTOFFS[kind.CUTOFF]
    return f"{kind.NAME}({inside})" + (cutoff if kind.NEEDS_CUTOFF or not cutoff else f"[{cutoff}]")


def measure_paragraphs(kind: type[Measure]) -> list[str]:
    """Return the paragraphs on a measure: description, formula, edge cases, and citation."""
    text = inspect.getdoc(kind) or ""
    parts = [part.replace("\n", " ").replace("``", "`") for part in text.split("\n\n")]
    return [*parts, *([f"{kind.CITATION}."] if kind.CITATION else [])]


def measure_page() -> str:
    """Return the documentation page of all measures."""
    parts = [
        "# Measures\n\nEvery measure with its formula, its edge cases and its source. "
        "`citebed measures` prints the same; `make docs` writes this page.\n\n"
        "citebed also accepts other common names, in any case, and trec_eval's names: "
        "`MAP` is AP, `MRR@10` is RR@10, `R-prec` is Rprec, `ROC-AUC` is AUC, `F1` is SetF, "
        "`recall@10` is R@10, `P10` is P@10, `hit@10` is Success@10.\n"
    ]
    for kind in MEASURES.values():
        parts.append(f"## {kind.NAME}\n\n`{as_written(kind)}`\n")
        parts += [f"{part}\n" for part in measure_paragraphs(kind)]
    return "\n".join(parts)


def trec_eval_name(kind: type[Measure]) -> str:
    """Return trec_eval's name of a measure without cut-off, or a dash."""
    for known in TREC_MEASURES:
        if known.kind is kind:
            return known.name
    return "–"
