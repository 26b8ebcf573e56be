"""Print the output of trec_eval, versions 9.0.8 and 10.0, with citebed's measures.

The versions differ for a judged query that the run lacks. Version 9.0.8 ignores it, except that
``-c`` counts it in the mean's divisor. Version 10.0 refuses it; with ``-c`` it is treated as a
query with one unjudged document, and some measures are set to 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.evaluation.measures import (
    ElevenPoint,
    IPrec,
    Measure,
    NumQ,
    NumRel,
    RBPResidual,
    RnDCG,
    Utility,
)
from citebed.evaluation.measures.base import FLOOR
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.measures.rbp import powers
from citebed.evaluation.measures.trec_names import (
    NICKNAMES,
    TREC_MEASURES,
    TrecMeasure,
    by_level,
    line_text,
    rbp_pairs,
)
from citebed.evaluation.trec_eval.options import Options, Version
from citebed.files.input_files import read_lines
from citebed.runs.ranking import check_repeated_documents, prepare, rank
from citebed.runs.reader import read_as_trec_eval
from citebed.runs.tables import Flags, Floats
from citebed.wording import printable

_NOTHING_IF_MISSING = ("num_ret", "utility", "rbp_resid")
_LETTERS = np.array(list("0123456789>.-"))
_ABOVE_9, _POOLED, _UNPOOLED = 10, 11, 12
UNKNOWN = -1_000_000.0
"""The Z score of a query and measure without a mean in the file."""

Means = Mapping[tuple[str, str], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Scored:
    """A scored run: ``counted`` queries are printed, and means are over ``queries`` queries."""

    options: Options
    rankings: Rankings
    counted: Flags
    queries: int
    tag: str
    means: Means | None = None

    @property
    def names(self) -> list[str]:
        """The ids of the printed queries."""
        names: list[str] = self.rankings.query_ids.to_numpy()[self.counted].tolist()
        return names

    def values(self, line: Line) -> Floats:
        """Return the value or Z score of each printed query; logarithms for geometric means."""
        assert line.measure is not None
        values = self._as_there(line, self._measure(line.measure, line.name))[self.counted]
        values = line.measure.scaled(values)
        if self.means is None:
            return values
        return z_scores(self.means, line.label, self.names, values)

    def _measure(self, measure: Measure, name: str) -> Measure:
        """Apply the command line's switches to a measure."""
        switches: dict[str, Any] = {"rel": self.options.level} if by_level(name) else {}
        if isinstance(measure, Utility):
            switches["documents"] = self.options.documents
        if isinstance(measure, IPrec | ElevenPoint) and self.options.version == "10.0":
            switches["round"] = "nearest"
        return replace(measure, **switches)

    def _as_there(self, line: Line, measure: Measure) -> Floats:
        """Return citebed's values, except where trec_eval divides by 0 and similar cases."""
        values, rankings = measure.score(self.rankings), self.rankings
        if isinstance(measure, IPrec | ElevenPoint):  # trec_eval divides 0 by 0
            levels = measure.at() if isinstance(measure, ElevenPoint) else (_level(measure),)
            asks_nothing = np.any([measure.needed(rankings, x) == 0 for x in levels], axis=0)
            values = np.where(asks_nothing & (rankings.retrieved == 0), np.nan, values)
        if isinstance(measure, RnDCG):  # trec_eval divides by the number of steps, even if it is 0
            without = np.where(rankings.judged(self.options.level) > 0, np.nan, 0.0)
            some = (without != 0) & (measure.gained(rankings).positive > 0)
            values = np.where(some, values, without)
        if isinstance(measure, RBPResidual):
            values = _residuals(rankings, measure.p)
        listed = line.label in _NOTHING_IF_MISSING or line.name == "unj"  # version 10's own list
        if listed and self.options.version == "10.0":
            values = np.where(rankings.in_run, values, 0.0)
        return values

    def summary(self, line: Line, values: Floats) -> float:
        """Summarise all queries in one number."""
        measure = line.measure
        assert measure is not None
        if isinstance(measure, NumQ):
            return self.queries
        if isinstance(measure, NumRel) and self.options.complete:  # -l has no effect here
            return float(self.rankings.judged(1).sum())
        if measure.SUMMARY == "sum":
            return float(values.sum())
        geometric = measure.SUMMARY == "geometric mean"
        missing = np.full(self.queries - len(values), math.log(FLOOR) if geometric else 0.0)
        mean = float(np.cumsum(np.concatenate((values, missing)))[-1]) / self.queries
        return math.exp(mean) if geometric else mean

    def relstrings(self, line: Line) -> list[str]:
        """Return, for each printed query, the judgements of its first documents as letters."""
        rankings, number = self.rankings, line.number
        empty = rankings.retrieved == 0
        if self.options.version == "10.0" and line.label == line.name:
            empty = empty | ~rankings.in_run
        shown = np.where(empty, 0, np.minimum(rankings.retrieved, number))
        starts = np.append(0, np.cumsum(shown))
        letters = np.full(starts[-1], _UNPOOLED)
        rows = np.flatnonzero(rankings.rank <= shown[rankings.query])
        at = starts[rankings.query[rows]] + rankings.rank[rows] - 1
        grades = rankings.relevance[rows]
        letters[at] = np.where(grades >= 0, np.minimum(grades, _ABOVE_9), _POOLED)
        text = "".join(_LETTERS[letters].tolist())
        some = np.flatnonzero(self.counted).tolist()
        return [text[starts[query] : starts[query + 1]] for query in some]


def _residuals(rankings: Rankings, p: float) -> Floats:
    """Compute RBP's residual in trec_eval's order of additions; 0 if all documents are judged."""
    judged = rankings.rows(rankings.relevance >= 0)
    ends = np.cumsum(rankings.retrieved)
    unjudged = np.ones(ends[-1], bool)
    unjudged[(ends - rankings.retrieved)[judged.query] + judged.rank - 1] = False
    going_on = powers(p, int(rankings.retrieved.max(initial=0)))
    residuals = np.zeros(rankings.queries)
    for query, (end, length) in enumerate(zip(ends, rankings.retrieved, strict=True)):
        if unjudged[end - length : end].any():
            sums = np.cumsum(unjudged[end - length : end] * going_on[:length])
            residuals[query] = sums[-1] * (1.0 - p) + going_on[length]
    return residuals


def _level(measure: IPrec) -> float:
    assert isinstance(measure.cutoff, int | float)
    return float(measure.cutoff)


def score(options: Options) -> Scored:
    """Read the two files and match them."""
    stdin = options.run == "-" and options.version == "10.0"
    qrels, run = read_as_trec_eval(
        Path(options.qrels), Path("/dev/stdin" if stdin else options.run)
    )
    ranked = rank(run, "float" if options.version == "9.0.8" else "double")
    check_repeated_documents(ranked)
    rankings = match(prepare(qrels), ranked)
    counted = rankings.in_run
    if options.version == "10.0":
        if not options.complete and not counted.all():
            missing = rankings.query_ids.to_numpy()[~counted]
            raise CitebedError(
                f"the query '{missing[0]}' is judged but not in the run, which trec_eval 10 does "
                "not accept. Use -c to count it as 0."
            )
        counted = np.ones_like(counted)
        rankings = replace(rankings, retrieved=np.where(rankings.in_run, rankings.retrieved, 1))
    elif not counted.any():
        raise CitebedError("no query is both judged and in the run. Do the files belong together?")
    queries = rankings.queries if options.complete else int(counted.sum())
    means = None if options.means is None else read_means(Path(options.means))
    if options.max_documents is not None:
        rankings = rankings.first(options.max_documents)
    rankings = rankings.condensed if options.judged_only else rankings
    return Scored(options, rankings, counted, queries, run.tag or "", means)


def printed(options: Options) -> Iterator[str]:
    """Yield the program's output in pieces."""
    lines = select_lines(options.measures, options.version)
    scored = score(options)
    values: dict[str, Any] = {
        line.label: scored.relstrings(line) if line.name == "relstring" else scored.values(line)
        for line in lines
        if line.name != "runid"
    }
    if options.per_query:
        shown = [
            line
            for line in lines
            if line.name == "relstring"
            or (
                line.measure is not None
                and line.measure.SUMMARY != "geometric mean"
                and not isinstance(line.measure, NumQ)
            )
        ]
        yield from _of_queries(scored, shown, values)
    if not options.without_summary:
        for line in lines:
            if line.measure is not None:
                yield _line(scored, line, "all", scored.summary(line, values[line.label]))
            elif line.name == "runid":
                yield f"{line.label:<22}\tall\t{scored.tag}\n"


def _of_queries(scored: Scored, lines: list[Line], values: Mapping[str, Any]) -> Iterator[str]:
    for at, query in enumerate(scored.names):
        yield "".join(
            f"{line.label:<22}\t{query}\t'{values[line.label][at]}'\n"
            if line.measure is None
            else _line(scored, line, query, values[line.label][at])
            for line in lines
        )


def _line(scored: Scored, line: Line, query: str, value: float) -> str:
    assert line.measure is not None
    if scored.means is None:
        return line_text(line.label, query, line.measure, value)
    return f"Z{line.label:<22}\t{query}\t{value:6.4f}\n"


# --- -Z: values as deviations from means that a file gives, in standard deviations -----------


def read_means(path: Path) -> Means:
    """Read lines ``query measure mean standard_deviation``."""
    means = {}
    for number, line in read_lines(path):
        fields = line.split()
        try:
            if fields:
                query, label, mean, deviation = fields
                means[query, label] = float(mean), float(deviation)
        except ValueError:
            raise FormatError(
                path,
                number,
                "expected a query, a measure's label, a mean and a standard deviation, like "
                "'q1 map 0.25 0.1'.",
            ) from None
    if not means:
        raise CitebedError(
            f"{printable(path)}: the file of -Z has no means. Write lines of a query, a measure's "
            "label, a mean and a standard deviation, like 'q1 map 0.25 0.1'."
        )
    return means


def z_scores(means: Means, label: str, queries: Sequence[str], values: Floats) -> Floats:
    """Convert the values of one label to deviations from their means."""
    pairs = [means.get((query, label), (np.nan, np.nan)) for query in queries]
    mean, deviation = np.array(pairs, np.float64).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):  # division by 0 as in C
        scores = (values - mean) / deviation
    return np.where(np.isnan(mean), UNKNOWN, scores)


# --- the lines for the arguments of -m, and their order ---------------------------------------

_NOT_BUILT = ("prefs", "all_prefs", "qrels_jg")


class Line(NamedTuple):
    """A line of the output: its label, the name of its measure in trec_eval, and the measure.

    ``measure`` is ``None`` for the run's tag (``runid``) and for the judgements of the first
    documents as letters (``relstring``).
    """

    label: str
    name: str
    measure: Measure | None

    @property
    def number(self) -> int:
        """The number of judgements of ``relstring``."""
        return int(self.label.removeprefix("relstring").removeprefix("_") or "10")


def _relstring(number: str) -> dict[str, Any]:
    if number and not re.fullmatch(r"[0-9]{1,9}", number):
        raise CitebedError(f"relstring.{number}: expected a whole number from 0.")
    return {}


def _residual(pairs: str) -> dict[str, Any]:
    return {"p": rbp_pairs("rbp_resid", pairs)[0]}


def _in_order() -> Iterator[TrecMeasure]:
    """Yield all measures of trec_eval in order."""
    yield TrecMeasure("runid", None)
    for each in TREC_MEASURES:
        yield each
        if each.name == "P":
            yield TrecMeasure("relstring", None, "whole", parse=_relstring)
        elif each.name == "rbp":
            yield each._replace(name="rbp_resid", kind=RBPResidual, parse=_residual)


def select_lines(wanted: Sequence[str], version: Version) -> list[Line]:
    """Return the lines for the arguments of ``-m``, in trec_eval's order.

    If a name is given twice, the first parameters count.
    """
    order = {each.name: each for each in _in_order() if version == "10.0" or not each.only_10}
    chosen: dict[str, str | None] = {}
    for text in wanted:
        for name, parameters in _named(text, list(order)):
            if chosen.get(name) is None:
                chosen[name] = parameters
    return [
        Line(label, name, measure)
        for name, each in order.items()
        if name in chosen
        for label, measure in each.lines(chosen[name])
    ]


def _named(text: str, names: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return each name that an argument of ``-m`` stands for, with its parameters."""
    name, dot, parameters = text.partition(".")
    if name in NICKNAMES and (parameters or not dot):  # trec_eval ignores the parameters
        more = ("runid", "relstring", "rbp_resid") if name == "all_trec" else ("runid",)
        return [(each, None) for each in names if each in (*NICKNAMES[name], *more)]
    if name in _NOT_BUILT or name.startswith("prefs_") or name.endswith("_avgjg"):
        raise CitebedError(f"-m {text}: measures that need other judgements are not supported.")
    if name not in names:
        raise UnknownName("measure of trec_eval", name, (*NICKNAMES, *names))
    if dot and not parameters:
        raise CitebedError(f"-m {text}: missing parameter after the dot.")
    return [(name, parameters if dot else None)]
