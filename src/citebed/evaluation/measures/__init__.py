"""Measures: one file a family, and the table of all of them.

A measure is written as in ir_measures: ``nDCG@10``, ``AP(rel=2)``, ``RBP(p=0.9)``.
"""

from __future__ import annotations

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.ndcg import BinG, G, RnDCG, nDCG, nDCGRel
from citebed.evaluation.measures.precision import (
    AP,
    AUC,
    GMAP,
    RR,
    YAAP,
    Bpref,
    ElevenPoint,
    GMBpref,
    IPrec,
    Judged,
    P,
    R,
    RelativeP,
    RescaledAUC,
    Rprec,
    RprecMult,
    Success,
    Unjudged,
    infAP,
)  # fmt: skip
from citebed.evaluation.measures.rbp import ERR, RBP, GradedRBP, RBPResidual
from citebed.evaluation.measures.sets import (
    SU,
    NumNonRelRet,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    SetAP,
    SetF,
    SetP,
    SetR,
    SetRelativeP,
    Utility,
)

MEASURES: dict[str, type[Measure]] = {
    measure.NAME: measure
    for measure in (
        AP, AUC, BinG, Bpref, ElevenPoint, ERR, G, GMAP, GMBpref, GradedRBP, infAP, IPrec, Judged,
        nDCG, nDCGRel, NumNonRelRet, NumQ, NumRel, NumRelRet, NumRet, P, R, RBP, RBPResidual,
        RelativeP, RescaledAUC, RnDCG, Rprec, RprecMult, RR, SetAP, SetF, SetP, SetR, SetRelativeP,
        SU, Success, Unjudged, Utility, YAAP,
    )
}  # fmt: skip

__all__ = [
    "AP", "AUC", "ERR", "GMAP", "MEASURES", "RBP", "RR", "SU", "YAAP", "BinG", "Bpref",
    "ElevenPoint", "G", "GMBpref", "GradedRBP", "IPrec", "Judged", "Measure", "NumNonRelRet",
    "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "R", "RBPResidual", "RelativeP", "RescaledAUC",
    "RnDCG", "Rprec", "RprecMult", "SetAP", "SetF", "SetP", "SetR", "SetRelativeP", "Success",
    "Unjudged", "Utility", "infAP", "nDCG", "nDCGRel",
]  # fmt: skip
