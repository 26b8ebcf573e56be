"""citebed as a provider of ir_measures, and so inside PyTerrier's experiments.

>>> from citebed.evaluation import ir_measures_provider          # doctest: +SKIP
>>> ir_measures_provider.register()                              # doctest: +SKIP
>>> ir_measures.calc_aggregate([AP, nDCG @ 10], qrels, run)      # doctest: +SKIP

Importing this module registers nothing. A measure that both libraries have gives the same value as
ir_measures' own providers (mostly trec_eval's). citebed refuses other measures and parameters, so
that ir_measures uses its next provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from citebed.errors import CitebedError, MissingExtra
from citebed.evaluation.measures import MEASURES, Measure
from citebed.evaluation.measures.names import measure as parse_measure
from citebed.evaluation.measures.rankings import match
from citebed.runs.ranking import SortedQrels, check_repeated_documents, prepare, rank
from citebed.runs.reader import as_qrels, as_run

try:
    import ir_measures
    from ir_measures.providers.base import NOT_PROVIDED
except ModuleNotFoundError as missing:
    if missing.name != "ir_measures":
        raise
    raise MissingExtra("ir-measures", "ir_measures") from None

EVERY_RANK = 2**62
"""A cut-off beyond any ranking, for ``Judged`` without a cut-off."""

GDEVAL_MAX_REL = 4
"""The highest grade of gdeval, which ir_measures uses for ERR."""


# --- names and parameters in both directions --------------------------------------------------


_SHARED = (
    "AP", "Bpref", "ERR", "IPrec", "Judged", "NumQ", "NumRel", "NumRet", "P", "R", "RBP", "RR",
    "Rprec", "SetAP", "SetF", "SetP", "SetR", "Success", "infAP", "nDCG",
)  # fmt: skip
"""The measures of both libraries; parameters have the same names, except as below."""


def _parameters(theirs: Any) -> dict[str, Any] | None:
    """Return the parameters of citebed's measure, or ``None`` if it lacks one."""
    name, given = theirs.NAME, {each: theirs[each] for each in theirs.SUPPORTED_PARAMS}
    given = {each: value for each, value in given.items() if value is not NOT_PROVIDED}
    if "gains" in given or given.pop("relative", False):
        return None
    if name == "RBP" and "rel" not in given:
        return None  # ir_measures uses graded gains, which citebed's RBP does not have
    if name == "IPrec":
        given["cutoff"] = given.pop("recall")
    more = {"ERR": {"max_rel": GDEVAL_MAX_REL}, "Judged": {"cutoff": EVERY_RANK}}
    return {**more.get(name, {}), **given}


def from_ir_measures(theirs: Any) -> Measure | None:
    """Return citebed's measure for one of ir_measures, or ``None`` if it has no such measure."""
    if isinstance(theirs, CitebedMeasure):
        return theirs.citebed
    if theirs.NAME not in _SHARED:
        return None
    theirs.validate_params()
    parameters = _parameters(theirs)
    if parameters is None:
        return None
    name = "NumRelRet" if theirs.NAME == "NumRet" and "rel" in parameters else theirs.NAME
    try:
        return MEASURES[name](**parameters)
    except CitebedError:  # a value that citebed does not accept, such as rel=-1
        return None


def to_ir_measures(ours: str | Measure) -> Any:
    """Return a measure for ir_measures: its own if it has the same, otherwise citebed's.

    Thus GMAP, AUC or nDCG@R can be used in ``ir_measures`` and ``pt.Experiment``, after `register`.
    """
    measure = parse_measure(ours)
    theirs = _alike(measure)
    if theirs is not None and from_ir_measures(theirs) == measure:
        return theirs
    return CitebedMeasure(measure)


def _alike(measure: Measure) -> Any:
    """Return ir_measures' measure with the same parameters if it has them, or ``None``."""
    if measure.NAME == "NumRelRet":
        return ir_measures.NumRet(rel=measure.rel)
    if measure.NAME not in _SHARED:
        return None
    kind = ir_measures.measures.registry[measure.NAME]
    parameters = {name: getattr(measure, name) for name in kind.SUPPORTED_PARAMS
                  if getattr(measure, name, None) is not None}  # fmt: skip
    if measure.NAME == "IPrec":
        parameters["recall"] = float(str(measure.cutoff))
    if measure.NAME == "NumRet":
        parameters.pop("rel")
    if measure.cutoff == EVERY_RANK:
        parameters.pop("cutoff")
    parameters.pop("gains", None)  # a dict in ir_measures
    defaults = {name: info.default for name, info in kind.SUPPORTED_PARAMS.items()}
    written = kind(**{name: value for name, value in parameters.items() if value != defaults[name]})
    try:
        written.validate_params()
    except AssertionError:  # a cut-off R, for example
        return None
    return written


class CitebedMeasure(ir_measures.measures.Measure):
    """A measure of citebed that ir_measures does not have, under citebed's name."""

    def __init__(self, citebed: Measure) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.citebed = citebed
        self.NAME = self.__name__ = str(citebed)
        self.PRETTY_NAME = self.NAME
        self.SHORT_DESC = (type(citebed).__doc__ or "").split("\n")[0]

    def __call__(self, **_: Any) -> Any:
        """Raise an error: parameters are part of the name (``to_ir_measures("GMAP(rel=2)")``)."""
        raise TypeError(f"give the parameters of {self.NAME} to to_ir_measures instead.")

    def aggregator(self) -> Any:
        """Return the aggregator for the measure's summary."""
        return _Aggregator(self.citebed)


class _Aggregator(ir_measures.measures.base.Agg):
    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self.values.append(value)

    def result(self) -> float:
        return self.measure.summary(np.array(self.values, np.float64))


# --- the provider -----------------------------------------------------------------------------


class CitebedProvider(ir_measures.providers.Provider):
    """Scores by citebed: in double precision, with ties by descending document id, as in trec_eval.

    Judged queries that a run lacks get the measure's default, 0, as with every provider; a measure
    that only citebed has gets its own value for a query without documents. Queries without
    judgements are skipped. A document that occurs twice for a query, or a score that is not a
    finite number, is an error.
    """

    NAME = "citebed"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def supports(self, measure: Any) -> bool:
        """Return True if citebed has the same measure."""
        return from_ir_measures(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        pairs = [(theirs, from_ir_measures(theirs)) for theirs in measures]
        for theirs, ours in pairs:
            if ours is None:
                raise ValueError(f"unsupported measure {theirs}")
        return _Evaluator(
            [(theirs, ours) for theirs, ours in pairs if ours is not None],
            prepare(as_qrels(qrels)),
        )


class _Evaluator(ir_measures.providers.Evaluator):
    def __init__(self, pairs: list[tuple[Any, Measure]], qrels: SortedQrels) -> None:
        super().__init__([theirs for theirs, _ in pairs], qrels.query_ids.to_list())
        self.pairs = pairs
        self.qrels = qrels

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        ranked = rank(as_run(run))
        check_repeated_documents(ranked)
        rankings = match(self.qrels, ranked)
        names = self.qrels.query_ids.to_list()
        for theirs, ours in self.pairs:
            counted = rankings.in_run | isinstance(theirs, CitebedMeasure)
            values = ours.values(rankings)
            for at in np.flatnonzero(counted).tolist():
                yield ir_measures.Metric(names[at], theirs, float(values[at]))


def register() -> CitebedProvider:
    """Make citebed the first provider of ``ir_measures.calc_aggregate`` and similar functions.

    A second call changes nothing. The provider is ``ir_measures.providers.registry["citebed"]``.
    """
    registry: dict[str, Any] = ir_measures.providers.registry
    provider = registry.get(CitebedProvider.NAME)
    if not isinstance(provider, CitebedProvider):
        provider = registry[CitebedProvider.NAME] = CitebedProvider()
    others = [one for one in ir_measures.DefaultPipeline.providers if one is not provider]
    ir_measures.DefaultPipeline.providers[:] = [provider, *others]
    return provider


def unregister() -> None:
    """Remove citebed from the providers, if it is registered."""
    ir_measures.providers.registry.pop(CitebedProvider.NAME, None)
    ir_measures.DefaultPipeline.providers[:] = [
        one for one in ir_measures.DefaultPipeline.providers if not isinstance(one, CitebedProvider)
    ]
