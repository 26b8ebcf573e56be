"""citebed as a provider of ir_measures, and so inside PyTerrier's experiments.

>>> from citebed.evaluation import ir_measures_provider          # doctest: +SKIP
>>> ir_measures_provider.register()                              # doctest: +SKIP
>>> ir_measures.calc_aggregate([AP, nDCG @ 10], qrels, run)      # doctest: +SKIP

Nothing is registered by importing this. A measure that both know gives the number that
ir_measures' own providers are defined by (trec_eval's, for most); a measure or parameter that
citebed has not is refused, so that ir_measures asks its next provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
"""A cut-off beyond any ranking, for ``Judged`` without one."""

GDEVAL_MAX_REL = 4
"""The highest grade of gdeval, by which ir_measures' ERR is defined."""


# --- names and parameters, both ways ----------------------------------------------------------


def _provided(theirs: Any, *names: str) -> dict[str, Any]:
    """The parameters of an ir_measures measure that have a value."""
    values = {name: theirs[name] for name in names}
    return {name: value for name, value in values.items() if value is not NOT_PROVIDED}


def _same(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda theirs: _provided(theirs, *names)


def _ndcg(theirs: Any) -> dict[str, Any] | None:
    if theirs["gains"] is not NOT_PROVIDED:
        return None
    return _provided(theirs, "cutoff", "dcg", "judged_only")


def _rbp(theirs: Any) -> dict[str, Any] | None:
    """Without ``rel`` theirs is by graded gains, which ours is not."""
    return None if theirs["rel"] is NOT_PROVIDED else _provided(theirs, "cutoff", "p", "rel")


def _set_p(theirs: Any) -> dict[str, Any] | None:
    return None if theirs["relative"] else _provided(theirs, "rel", "judged_only")


_FROM: dict[str, Callable[[Any], dict[str, Any] | None]] = {
    "AP": _same("cutoff", "rel", "judged_only"),
    "Bpref": _same("rel"),
    "ERR": lambda theirs: {**_provided(theirs, "cutoff"), "max_rel": GDEVAL_MAX_REL},
    "IPrec": lambda theirs: {"cutoff": theirs["recall"], **_provided(theirs, "rel", "judged_only")},
    "Judged": lambda theirs: {"cutoff": EVERY_RANK, **_provided(theirs, "cutoff")},
    "NumQ": _same(),
    "NumRel": _same("rel"),
    "NumRet": _same("rel"),
    "P": _same("cutoff", "rel", "judged_only"),
    "R": _same("cutoff", "rel", "judged_only"),
    "RBP": _rbp,
    "RR": _same("cutoff", "rel", "judged_only"),
    "Rprec": _same("rel", "judged_only"),
    "SetAP": _same("rel", "judged_only"),
    "SetF": _same("beta", "rel", "judged_only"),
    "SetP": _set_p,
    "SetR": _same("rel"),
    "Success": _same("cutoff", "rel", "judged_only"),
    "infAP": _same("rel"),
    "nDCG": _ndcg,
}


def from_ir_measures(theirs: Any) -> Measure | None:
    """Our measure for one of ir_measures; ``None`` where we have not the same."""
    if isinstance(theirs, CitebedMeasure):
        return theirs.citebed
    if theirs.NAME not in _FROM:
        return None
    theirs.validate_params()
    parameters = _FROM[theirs.NAME](theirs)
    if parameters is None:
        return None
    name = "NumRelRet" if theirs.NAME == "NumRet" and "rel" in parameters else theirs.NAME
    try:
        return MEASURES[name](**parameters)
    except CitebedError:  # a value that ours does not take, such as rel=-1
        return None


def to_ir_measures(ours: str | Measure) -> Any:
    """A measure for ir_measures: theirs where both have the same, else one that only we compute.

    So GMAP, AUC or nDCG@R can stand in a list for ``ir_measures`` or ``pt.Experiment``, once
    this provider is registered.
    """
    measure = parse_measure(ours)
    theirs = _alike(measure)
    if theirs is not None and from_ir_measures(theirs) == measure:
        return theirs
    return CitebedMeasure(measure)


def _alike(measure: Measure) -> Any:
    """Their measure with our parameters, as far as it has them; ``None`` without such."""
    if measure.NAME == "NumRelRet":
        return ir_measures.NumRet(rel=measure.rel)
    if measure.NAME not in _FROM:
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
    parameters.pop("gains", None)  # theirs is a dict; ours stands in our own name
    defaults = {name: info.default for name, info in kind.SUPPORTED_PARAMS.items()}
    written = kind(**{name: value for name, value in parameters.items() if value != defaults[name]})
    try:
        written.validate_params()
    except AssertionError:  # a cut-off R, for example
        return None
    return written


class CitebedMeasure(ir_measures.measures.Measure):
    """A measure of ours that ir_measures has not, under our name for it."""

    def __init__(self, citebed: Measure) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.citebed = citebed
        self.NAME = self.__name__ = str(citebed)
        self.PRETTY_NAME = self.NAME
        self.SHORT_DESC = (type(citebed).__doc__ or "").split("\n")[0]

    def __call__(self, **_: Any) -> Any:
        """Parameters stand in our own name of a measure: ``to_ir_measures("GMAP(rel=2)")``."""
        raise TypeError(f"give the parameters of {self.NAME} to to_ir_measures instead.")

    def aggregator(self) -> Any:
        """The mean, or what the measure has in its place."""
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
    """Scores by citebed: double precision, ties by document id descending as trec_eval's.

    Judged queries that a run lacks get the measure's default, 0, as ir_measures does with every
    provider (a measure that only we have gets its own value for a query without documents);
    queries without judgements are passed over. A document that stands twice for a query, or a
    score that is no finite number, is an error.
    """

    NAME = "citebed"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def supports(self, measure: Any) -> bool:
        """Whether we have the same measure."""
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
    """Put citebed first among the providers that ``ir_measures.calc_aggregate`` and such ask.

    A second call changes nothing. ``ir_measures.providers.registry["citebed"]`` is it.
    """
    registry: dict[str, Any] = ir_measures.providers.registry
    provider = registry.get(CitebedProvider.NAME)
    if not isinstance(provider, CitebedProvider):
        provider = registry[CitebedProvider.NAME] = CitebedProvider()
    others = [one for one in ir_measures.DefaultPipeline.providers if one is not provider]
    ir_measures.DefaultPipeline.providers[:] = [provider, *others]
    return provider


def unregister() -> None:
    """Take citebed out again; nothing happens where it is not registered."""
    ir_measures.providers.registry.pop(CitebedProvider.NAME, None)
    ir_measures.DefaultPipeline.providers[:] = [
        one for one in ir_measures.DefaultPipeline.providers if not isinstance(one, CitebedProvider)
    ]
