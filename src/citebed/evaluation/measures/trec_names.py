"""trec_eval's measures: their names in both directions, their order, and the default set.

``map`` prints one line. ``P`` prints a line for each cut-off, by default nine (``P.5,10`` sets
others). ``ndcg.1=3,2=9`` prints one line for a measure with parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from citebed.errors import CitebedError
from citebed.evaluation.measures import MEASURES, Measure, ndcg, precision, rbp, sets
from citebed.wording import parse_number

ParameterForm = Literal["one", "ranks", "levels", "whole"]
RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
LEVELS = tuple(f"{level / 10:g}" for level in range(11))
MULTIPLES = tuple(f"{part / 5:g}" for part in range(1, 11))


class TrecMeasure(NamedTuple):
    """A measure of trec_eval with citebed's class.

    It has no class for the run's tag (``runid``) and for judgements as letters (``relstring``).
    ``form`` is ``one`` without parameters, ``ranks`` or ``levels`` for a line per parameter, and
    ``whole`` for one line with all parameters, from which ``parse`` makes those of the class.
    ``usual`` are the default parameters. ``by_level`` says whether trec_eval's ``-l`` affects the
    measure; ``only_10``, whether it is new in trec_eval 10.
    """

    name: str
    kind: type[Measure] | None
    form: ParameterForm = "one"
    usual: tuple[str, ...] = ("",)
    parse: Callable[[str], dict[str, Any]] = lambda _: {}
    by_level: bool = True
    only_10: bool = False

    def made(self, parameter: str) -> Any:
        """Return citebed's measure, or ``None``."""
        match self.form:
            case "ranks":
                given: dict[str, Any] = {"cutoff": int(parameter)}
            case "levels":
                given = {"cutoff": float(parameter)}
            case _:
                given = self.parse(parameter)
        return self.kind and self.kind(**given)

    def label(self, parameter: str) -> str:
        """Return trec_eval's name for the line of a parameter."""
        if self.form == "one" or not parameter:
            return self.name
        if self.form == "whole":
            return f"{self.name}_{parameter}"
        number = int(parameter) if self.form == "ranks" else f"{float(parameter):3.2f}"
        return f"{self.name}_{number}"

    def lines(self, parameters: str | None) -> list[tuple[str, Any]]:
        """Return labels and measures; ``parameters`` is the text after the dot."""
        if parameters is None or self.form == "one":
            chosen = list(self.usual)
        elif self.form == "whole":
            chosen = [parameters]
        else:
            chosen = self._sorted(parameters)
        return [(self.label(parameter), self.made(parameter)) for parameter in chosen]

    def takes(self, number: str) -> bool:
        """Return whether a line's name may end with this number."""
        return (
            self.form == "levels"
            or self.name == "set_F"
            or (self.form == "ranks" and number.isdigit())
        )

    def _sorted(self, parameters: str) -> list[str]:
        chosen = sorted((part.strip() for part in parameters.split(",")), key=self._number)
        if len({self._number(part) for part in chosen}) < len(chosen):
            raise CitebedError(f"{self.name}.{parameters}: a cut-off is given twice.")
        return chosen

    def _number(self, text: str) -> float:
        pattern = r"\+?[0-9]{1,18}" if self.form == "ranks" else r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)"
        if not re.fullmatch(pattern, text):
            what = "a whole number from 1" if self.form == "ranks" else "a number from 0"
            raise CitebedError(f"{self.name}: the cut-off '{text}' is not {what}.")
        return float(text)


def _utility(weights: str) -> dict[str, Any]:
    parts = weights.split(",") if weights else ["1", "-1", "0", "0"]
    if len(parts) != 4:
        raise CitebedError(f"utility.{weights}: it takes four numbers, as in utility.1,-1,0,0.")
    names = ("relevant_retrieved", "other_retrieved", "relevant_missed", "other_missed")
    return {name: _a_number("utility", part) for name, part in zip(names, parts, strict=True)}


def _gains(gains: str) -> dict[str, Any]:
    return {"gains": gains}


def _rbp(pairs: str) -> dict[str, Any]:
    p, gains = rbp_pairs("rbp", pairs)
    return {"p": p, "gains": gains}


def rbp_pairs(owner: str, pairs: str) -> tuple[float, str]:
    """Parse ``p=0.8,1=3`` into the persistence p and the gains of grades."""
    parts = pairs.split(",") if pairs else []
    persistence = ["0.9", *(part[2:] for part in parts if part.startswith("p="))]
    gains = ",".join(part for part in parts if not part.startswith("p="))
    return _a_number(owner, persistence[-1]), gains


def _a_number(owner: str, text: str) -> float:
    number = parse_number(text)
    if number is None:
        raise CitebedError(f"{owner}: '{text}' is not a number.")
    return number


TREC_MEASURES = (
    TrecMeasure("num_q", sets.NumQ),
    TrecMeasure("num_ret", sets.NumRet),
    TrecMeasure("num_rel", sets.NumRel),
    TrecMeasure("num_rel_ret", sets.NumRelRet),
    TrecMeasure("map", precision.AP),
    TrecMeasure("gm_map", precision.GMAP),
    TrecMeasure("Rprec", precision.Rprec),
    TrecMeasure("bpref", precision.Bpref),
    TrecMeasure("recip_rank", precision.RR),
    TrecMeasure("iprec_at_recall", precision.IPrec, "levels", LEVELS),
    TrecMeasure("P", precision.P, "ranks", RANKS),
    TrecMeasure("recall", precision.R, "ranks", RANKS),
    TrecMeasure("infAP", precision.infAP),
    TrecMeasure("gm_bpref", precision.GMBpref),
    TrecMeasure("Rprec_mult", precision.RprecMult, "levels", MULTIPLES),
    TrecMeasure("utility", sets.Utility, "whole", parse=_utility),
    TrecMeasure("11pt_avg", precision.ElevenPoint, "whole", parse=lambda at: {"levels": at}),
    TrecMeasure("binG", ndcg.BinG),
    TrecMeasure("G", ndcg.G, "whole", parse=_gains, by_level=False),
    TrecMeasure("ndcg", ndcg.nDCG, "whole", parse=_gains, by_level=False),
    TrecMeasure("ndcg_rel", ndcg.nDCGRel, "whole", parse=_gains, by_level=False),
    TrecMeasure("Rndcg", ndcg.RnDCG, "whole", parse=_gains, by_level=False),
    TrecMeasure("ndcg_cut", ndcg.nDCG, "ranks", RANKS, by_level=False),
    TrecMeasure("map_cut", precision.AP, "ranks", RANKS),
    TrecMeasure("relative_P", precision.RelativeP, "ranks", RANKS),
    TrecMeasure("success", precision.Success, "ranks", ("1", "5", "10")),
    TrecMeasure("set_P", sets.SetP),
    TrecMeasure("set_relative_P", sets.SetRelativeP),
    TrecMeasure("set_recall", sets.SetR),
    TrecMeasure("set_map", sets.SetAP),
    TrecMeasure(
        "set_F", sets.SetF, "whole",
        parse=lambda beta: {"beta": _a_number("set_F", beta)} if beta else {},
    ),
    TrecMeasure("num_nonrel_judged_ret", sets.NumNonRelRet),
    TrecMeasure("yaap", precision.YAAP),
    TrecMeasure("rbp", rbp.GradedRBP, "whole", parse=_rbp, by_level=False, only_10=True),
    TrecMeasure("unj", precision.Unjudged, "ranks", ("5", "10", "20"), only_10=True),
)  # fmt: skip
"""In trec_eval's order, without runid and relstring, which are not measures of a query."""

NICKNAMES = {
    "official": ("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
                 "recip_rank", "iprec_at_recall", "P"),
    "set": ("num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_relative_P",
            "set_recall", "set_map", "set_F"),
    "all_trec": tuple(each.name for each in TREC_MEASURES if each.name != "yaap"),
}  # fmt: skip
"""Names of several measures."""

_BY_NAME = {each.name: each for each in TREC_MEASURES}
# Names in any case, except names of a different citebed measure: RBP is not trec_eval's rbp.
_OURS = {name.lower() for name in MEASURES}
_IN_ANY_CASE = {each.name.lower(): each for each in TREC_MEASURES if each.name not in _OURS}
_FORM = re.compile(r"(?P<name>\w+?)[_.](?P<cutoff>[0-9]{1,18}(?:\.[0-9]{1,18})?)")


def by_level(name: str) -> bool:
    """Return whether ``-l`` affects the measure with this name."""
    return name in _BY_NAME and _BY_NAME[name].by_level


def _known(name: str) -> TrecMeasure | None:
    return _BY_NAME.get(name) or _IN_ANY_CASE.get(name.lower())


def _switched(
    known: TrecMeasure, made: Measure, switches: Mapping[str, Any] | None = None
) -> Measure:
    """Apply trec_eval's switches to a measure: ``-l`` is ``rel``, ``-J`` is ``judged_only``."""
    heeded = {k: v for k, v in (switches or {}).items() if known.by_level or k != "rel"}
    return replace(made, **heeded)


def from_trec_name(text: str, switches: Mapping[str, Any] | None = None) -> Measure | None:
    """Return the measure named ``ndcg_cut_10`` or ``ndcg_cut.10``, for example, or ``None``.

    ``switches`` has ``rel`` and ``judged_only``; measures of gains ignore ``rel``, as in trec_eval.
    """
    match = _FORM.fullmatch(text)
    known = _known(match["name"] if match else text)
    if known is None or not (known.takes(match["cutoff"]) if match else known.usual == ("",)):
        return None
    return _switched(known, known.made(match["cutoff"] if match else ""), switches)


def trec_lines(text: str, switches: Mapping[str, Any] | None = None) -> list[Measure] | None:
    """Return the measures of an argument of trec_eval's ``-m``: ``P.5,10``, ``official`` etc.

    Return ``None`` if it is not a name of trec_eval.
    """
    name, dot, parameters = text.partition(".")
    known = _known(name)
    names = NICKNAMES.get(text, (known.name,) if known else ())
    if not names:
        return None
    return [
        _switched(known, made, switches)
        for known in TREC_MEASURES
        if known.name in names
        for _, made in known.lines(parameters if dot else None)
    ]


def trec_name(measure: Measure, switches: Mapping[str, Any] | None = None) -> str:
    """Return trec_eval's name of a measure, or citebed's if trec_eval does not have it.

    The name depends on the switches: ``AP(rel=2)`` is ``map`` only with ``-l 2``.
    """
    return _line(measure, switches)[2]


def sort_like_trec_eval(
    measures: Iterable[Measure], switches: Mapping[str, Any] | None = None
) -> list[Measure]:
    """Sort measures in trec_eval's order; other measures come last, as given."""
    return sorted(measures, key=lambda measure: _line(measure, switches)[:2])


def _line(measure: Measure, switches: Mapping[str, Any] | None) -> tuple[int, float, str]:
    """Return a measure's position by name in trec_eval's output, its cut-off, and its label."""
    numbered = isinstance(measure.cutoff, int | float)
    cutoff = str(measure.cutoff) if numbered else f"{getattr(measure, 'beta', 1.0):g}"
    for place, known in enumerate(TREC_MEASURES):
        for parameter in ("", cutoff) if known.kind is type(measure) else ():
            fits = known.takes(cutoff) if parameter else known.usual == ("",)
            if fits and _switched(known, known.made(parameter), switches) == measure:
                return place, float(cutoff), known.label(parameter)
    return len(TREC_MEASURES), 0.0, str(measure)


OFFICIAL = tuple(trec_lines("official") or ())
"""The measures that trec_eval prints by default."""


def line_text(label: str, query: str, measure: Measure, value: float) -> str:
    """Format a line as trec_eval does: counts as integers, others with four decimals."""
    shown = f"{value:.0f}" if measure.SUMMARY == "sum" else f"{value:6.4f}"
    return f"{label:<22}\t{query}\t{shown}\n"
