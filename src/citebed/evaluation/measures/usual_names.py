"""What measures are called elsewhere: ``MAP``, ``R-prec``, ``F1``, ``P10``, ``P(5)``."""

from __future__ import annotations

import re

from citebed.evaluation.measures import MEASURES, Measure, SetF
from citebed.grammar import plain_name

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


def usual_kind(name: str) -> type[Measure] | None:
    """The measure that a name means elsewhere, whatever its case, hyphens and underscores."""
    plain = plain_name(name)
    found = USUAL_NAMES.get(plain) or _LOWER.get(plain)
    return MEASURES[found] if found else None


def from_usual_name(text: str) -> Measure | None:
    """The measure behind ``F1``, ``F2`` (van Rijsbergen's: β is squared), ``P10`` or ``P(10)``."""
    if (weight := _F.fullmatch(text)) is not None:
        beta = float(weight[1]) ** 2
        return SetF(beta=beta) if beta else None
    if text.lower() in USUAL_NAMES:  # also one that begins with a digit, as no name of ours does
        return MEASURES[USUAL_NAMES[text.lower()]]() if text[0].isdigit() else None
    if (glued := _GLUED.fullmatch(text)) is None:
        return None
    kind = usual_kind(glued[1])
    return (
        kind(cutoff=int(glued[2] or glued[3])) if kind and kind.CUTOFF.startswith("rank") else None
    )
