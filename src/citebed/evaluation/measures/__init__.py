"""Measures: one file each, and the table of all of them.

A measure is written as in ir_measures: ``nDCG@10``, ``AP(rel=2)``, ``RBP(p=0.9)``.
"""

from __future__ import annotations

from citebed.evaluation.measures.ap import AP
from citebed.evaluation.measures.auc import AUC, RescaledAUC
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.bpref import Bpref
from citebed.evaluation.measures.counts import NumQ, NumRel, NumRelRet, NumRet
from citebed.evaluation.measures.err import ERR
from citebed.evaluation.measures.gmap import GMAP
from citebed.evaluation.measures.infap import infAP
from citebed.evaluation.measures.iprec import ElevenPoint, IPrec
from citebed.evaluation.measures.judged import Judged
from citebed.evaluation.measures.ndcg import nDCG
from citebed.evaluation.measures.precision import P
from citebed.evaluation.measures.rbp import RBP, RBPResidual
from citebed.evaluation.measures.recall import R
from citebed.evaluation.measures.rprec import Rprec
from citebed.evaluation.measures.rr import RR
from citebed.evaluation.measures.sets import SU, SetAP, SetF, SetP, SetR, Utility
from citebed.evaluation.measures.success import Success

MEASURES: dict[str, type[Measure]] = {
    measure.NAME: measure
    for measure in (
        AP, AUC, Bpref, ElevenPoint, ERR, GMAP, infAP, IPrec, Judged, nDCG, NumQ, NumRel,
        NumRelRet, NumRet, P, R, RBP, RBPResidual, RescaledAUC, Rprec, RR, SetAP, SetF, SetP,
        SetR, SU, Success, Utility,
    )
}  # fmt: skip

__all__ = [
    "AP", "AUC", "ERR", "GMAP", "MEASURES", "RBP", "RR", "SU", "Bpref", "ElevenPoint", "IPrec",
    "Judged", "Measure", "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "R", "RBPResidual",
    "RescaledAUC", "Rprec", "SetAP", "SetF", "SetP", "SetR", "Success", "Utility", "infAP", "nDCG",
]  # fmt: skip
