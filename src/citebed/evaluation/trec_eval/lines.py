"""Which lines trec_eval prints for what stands behind ``-m``, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import Measure, NumQ, RBPResidual
from citebed.evaluation.measures.trec_names import NICKNAMES, TREC_MEASURES, TrecMeasure, rbp_pairs
from citebed.evaluation.trec_eval.options import Version

_SHOWN_JUDGEMENTS = 10
_NOT_BUILT = ("prefs", "all_prefs", "qrels_jg")


class Line(NamedTuple):
    """A line of the program: its label, whose it is, and what it measures.

    ``measure`` is ``None`` for the run's tag (``runid``) and for the judgements of the first
    ``number`` documents as letters (``relstring``).
    """

    label: str
    name: str
    measure: Measure | None
    number: int = 0


def _residual(pairs: str) -> Measure:
    p, _ = rbp_pairs("rbp_resid", pairs)
    return RBPResidual(p=p)


_RESIDUAL = TrecMeasure("rbp_resid", _residual, "whole", by_level=False, only_10=True)


def _in_order() -> Iterator[TrecMeasure | str]:
    """All names of the program; those that are texts, not numbers, as such."""
    yield "runid"
    for each in TREC_MEASURES:
        yield each
        if each.name == "P":
            yield "relstring"
        elif each.name == "rbp":
            yield _RESIDUAL


def lines_of(wanted: Sequence[str], version: Version) -> list[Line]:
    """The lines for what was asked, in the program's order, whatever order it was asked in.

    A name that is asked for twice has the parameters that it was first given.
    """
    order = [each for each in _in_order() if _has(version, each)]
    names = [_name(each) for each in order]
    chosen: dict[str, str | None] = {}
    for text in wanted:
        for name, parameters in _named(text, names):
            if chosen.get(name) is None:
                chosen[name] = parameters
    return [
        line
        for each in order
        if _name(each) in chosen
        for line in _lines(each, chosen[_name(each)])
    ]


def _name(each: TrecMeasure | str) -> str:
    return each if isinstance(each, str) else each.name


def _has(version: Version, each: TrecMeasure | str) -> bool:
    return version == "10.0" or isinstance(each, str) or not each.only_10


def _named(text: str, names: Sequence[str]) -> list[tuple[str, str | None]]:
    """Each name that a text stands for, with its parameters."""
    name, dot, parameters = text.partition(".")
    if name in NICKNAMES and not dot:
        more = ("runid", "relstring", "rbp_resid") if name == "all_trec" else ("runid",)
        return [(each, None) for each in names if each in (*NICKNAMES[name], *more)]
    if name in _NOT_BUILT or name.startswith("prefs_") or name.endswith("_avgjg"):
        raise CitebedError(f"-m {text}: it needs other judgements than qrels, which are not built.")
    if name not in names:
        raise UnknownName("measure of trec_eval", name, (*NICKNAMES, *names))
    if dot and not parameters:
        raise CitebedError(f"-m {text}: there is nothing behind the dot.")
    return [(name, parameters if dot else None)]


def _lines(each: TrecMeasure | str, parameters: str | None) -> list[Line]:
    if isinstance(each, TrecMeasure):
        return [Line(label, each.name, measure) for label, measure in each.lines(parameters)]
    if each == "runid" or parameters is None:
        return [Line(each, each, None, _SHOWN_JUDGEMENTS)]
    if not re.fullmatch(r"[0-9]{1,9}", parameters):
        raise CitebedError(f"relstring.{parameters}: how many documents is a whole number from 0.")
    return [Line(f"{each}_{parameters}", each, None, int(parameters))]


def is_for_queries(line: Line) -> bool:
    """Whether the line is printed for each query."""
    if line.measure is None:
        return line.name != "runid"
    return not isinstance(line.measure, NumQ) and line.measure.SUMMARY != "geometric mean"
