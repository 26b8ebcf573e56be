"""Parse names of measures: ``NAME(parameter=value,…)@cutoff``, trec_eval's and common names.

Common names are, for example, ``MAP``, ``R-prec``, ``F1``, ``P10`` and ``P(5)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import MEASURES, Measure, SetF
from citebed.evaluation.measures.trec_names import from_trec_name, trec_lines
from citebed.grammar import Call, SpecError, Value, parse_call, plain_name, value_text
from citebed.wording import parse_integer, parse_number

_USUAL = {
    "AP": "map meanaverageprecision averageprecision avep avgprec",
    "AUC": "rocauc aucroc auroc roc",
    "ElevenPoint": "11pt 11ptavg 11point iap",
    "ERR": "expectedreciprocalrank",
    "GMAP": "gmmap geometricmap",
    "infAP": "inferredap xinfap",
    "IPrec": "interpolatedprecision ircl",
    "nDCG": "normalizeddcg normaliseddcg ndcgcut",
    "P": "precision prec",
    "R": "recall rec",
    "RBP": "rankbiasedprecision",
    "Rprec": "rp rprecision",
    "RR": "mrr reciprank reciprocalrank meanreciprocalrank",
    "SetF": "f f1 fmeasure fscore f1score setfmeasure",
    "SetP": "setprecision",
    "SetR": "setrecall",
    "Success": "hit hits hitrate hitratio hr s",
    "SU": "scaledutility t11su",
}
USUAL_NAMES = {usual: name for name, names in _USUAL.items() for usual in names.split()}
_LOWER = {name.lower(): name for name in MEASURES}
_F = re.compile(r"(?:set)?f([0-9](?:\.[0-9]{1,4})?)", re.IGNORECASE)
_GLUED = re.compile(r"([A-Za-z]+)(?:[-_]?([0-9]{1,9})|\(([0-9]{1,9})\))")


def measure(text: str | Measure, unless_given: Mapping[str, Any] | None = None) -> Measure:
    """Parse the name of a measure; ``unless_given`` has defaults for missing parameters.

    >>> str(measure("nDCG@10"))
    'nDCG@10'
    >>> str(measure("ndcg_cut_10"))
    'nDCG@10'
    >>> [str(measure(text)) for text in ("MAP", "MRR@10", "R-prec", "F1", "P10")]
    ['AP', 'RR@10', 'Rprec', 'SetF', 'P@10']
    >>> [str(measure(text, {"rel": 2})) for text in ("AP", "AP(rel=1)")]
    ['AP(rel=2)', 'AP']
    """
    if isinstance(text, Measure):
        return text
    text = str(text).strip()
    if (theirs := from_trec_name(text, unless_given)) is not None:
        return theirs
    if (usual := from_usual_name(text)) is not None:
        return replace(usual, **(unless_given or {}))
    call = _call(text)
    kind = measure_class(call.name)
    types = {field.name: str(field.type) for field in fields(kind) if field.name != "cutoff"}
    given: dict[str, Any] = {
        name: _typed(kind, name, value, types[name])
        for name, value in call.known_params(kind.NAME, types).items()
    }
    if (cutoff := call.cutoff) is not None:
        whole = parse_integer(cutoff)
        number = parse_number(cutoff) if whole is None else whole
        if number is None and cutoff != "R":
            raise CitebedError(f"the cut-off '@{cutoff}' is not a number (or R).")
        given["cutoff"] = "R" if cutoff == "R" else number
    return kind(**{**(unless_given or {}), **given})


def _call(text: str) -> Call:
    """Split the text of a measure into name, parameters and cut-off."""
    what = "."
    try:
        call, rest = parse_call(text, cutoffs=True)
        if not rest:
            return call
    except SpecError:
        what = ": expected name=value in the brackets." if "(" in text else "."
    raise CitebedError(
        f"cannot read the measure '{text}'{what} Write it like nDCG@10, AP(rel=2) or RBP(p=0.9)."
    )


def measures(
    texts: str | Measure | Iterable[str | Measure], unless_given: Mapping[str, Any] | None = None
) -> list[Measure]:
    """Parse several measures, each once, in the order given.

    One text may name several: ``P@5,P@10``, or trec_eval's ``ndcg_cut`` and ``P.5,10``.
    """
    chosen: dict[Measure, None] = {}
    for text in [texts] if isinstance(texts, str | Measure) else texts:
        if isinstance(text, str) and re.search("[._]", text):
            theirs = trec_lines(text.strip(), unless_given)
            if theirs is not None:
                chosen.update(dict.fromkeys(theirs))
                continue
        parts = [text] if isinstance(text, Measure) else split_names(str(text))
        chosen.update((measure(part, unless_given), None) for part in parts)
    if not chosen:
        raise CitebedError("no measure was named. Name one, e.g. nDCG@10.")
    return list(chosen)


def split_names(text: str) -> list[str]:
    """Split a text at blanks and commas outside parentheses."""
    return re.findall(r"(?:\([^()]*\)|[^\s,()])+", text) or [text]


def measure_class(name: str) -> type[Measure]:
    """Return the measure with this name (in any case) or common name, or raise `UnknownName`."""
    if name in MEASURES:
        return MEASURES[name]
    if (usual := class_by_usual_name(name)) is not None:
        return usual
    raise UnknownName("measure", name, MEASURES, usual=USUAL_NAMES)


def _typed(kind: type[Measure], name: str, value: Value, wanted: str) -> Any:
    """Convert a value to the type of the measure's field, given by its annotation ``wanted``."""
    text = value if isinstance(value, str) else value_text(value)
    typed: Any = text
    if wanted == "bool":
        typed = {"true": True, "false": False}.get(text.lower())
    elif wanted.startswith("int"):
        typed = parse_integer(text)
    elif wanted == "float":
        typed = parse_number(text)
    if typed is None:
        raise CitebedError(
            f"{kind.NAME}({name}={text}): '{text}' is not {_IN_WORDS[wanted.split(maxsplit=1)[0]]}."
        )
    return typed


_IN_WORDS = {"bool": "True or False", "int": "a whole number", "float": "a number"}


def class_by_usual_name(name: str) -> type[Measure] | None:
    """Return the measure with a common name, ignoring case, hyphens and underscores."""
    plain = plain_name(name)
    known = USUAL_NAMES.get(plain) or _LOWER.get(plain)
    return MEASURES[known] if known else None


def from_usual_name(text: str) -> Measure | None:
    """Parse names such as ``F1``, ``F2`` (van Rijsbergen's, with β squared), ``P10``, ``P(10)``."""
    if (weight := _F.fullmatch(text)) is not None:
        beta = float(weight[1]) ** 2
        return SetF(beta=beta) if beta else None
    if text.lower() in USUAL_NAMES:  # such as 11pt_avg, which starts with a digit
        return MEASURES[USUAL_NAMES[text.lower()]]() if text[0].isdigit() else None
    if (glued := _GLUED.fullmatch(text)) is None:
        return None
    kind = class_by_usual_name(glued[1])
    return (
        kind(cutoff=int(glued[2] or glued[3])) if kind and kind.CUTOFF.startswith("rank") else None
    )
