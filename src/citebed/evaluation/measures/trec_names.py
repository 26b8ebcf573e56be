"""trec_eval's names of the measures, both ways."""

from __future__ import annotations

import re

from citebed.evaluation.measures import (
    AP,
    GMAP,
    RR,
    Bpref,
    ElevenPoint,
    IPrec,
    Measure,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    R,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    Success,
    Utility,
    infAP,
    nDCG,
)  # fmt: skip

_PLAIN: dict[str, type[Measure]] = {
    "num_q": NumQ,
    "num_ret": NumRet,
    "num_rel": NumRel,
    "num_rel_ret": NumRelRet,
    "map": AP,
    "gm_map": GMAP,
    "bpref": Bpref,
    "recip_rank": RR,
    "ndcg": nDCG,
    "11pt_avg": ElevenPoint,
    "set_P": SetP,
    "set_recall": SetR,
    "set_F": SetF,
    "set_map": SetAP,
    "utility": Utility,
    "Rprec": Rprec,
    "infAP": infAP,
}
_WITH_CUTOFF: dict[str, type[Measure]] = {
    "P": P,
    "recall": R,
    "map_cut": AP,
    "ndcg_cut": nDCG,
    "success": Success,
    "iprec_at_recall": IPrec,
    "set_F": SetF,
}
_FORM = re.compile(r"(?P<name>[A-Za-z][A-Za-z_]*?)[_.](?P<cutoff>\d+(?:\.\d+)?)")


def from_trec_name(text: str) -> Measure | None:
    """The measure behind a name such as ``ndcg_cut_10`` or ``ndcg_cut.10``; ``None`` if none."""
    if text in _PLAIN:
        return _PLAIN[text]()
    match = _FORM.fullmatch(text)
    if not match or match["name"] not in _WITH_CUTOFF:
        return None
    kind = _WITH_CUTOFF[match["name"]]
    if kind is SetF:
        return SetF(beta=float(match["cutoff"]))
    if kind is IPrec:
        return kind(cutoff=float(match["cutoff"]))
    return kind(cutoff=int(match["cutoff"])) if match["cutoff"].isdigit() else None


def trec_name(measure: Measure) -> str:
    """trec_eval's name of a measure; our own where it has none.

    ``rel`` and ``judged_only`` are switches of the whole program there, so they do not show.
    """
    for name, kind in (_PLAIN if measure.cutoff is None else _WITH_CUTOFF).items():
        if type(measure) is kind:
            if measure.cutoff is None:
                return name
            if kind is IPrec:
                return f"{name}_{measure.cutoff:.2f}"
            return f"{name}_{measure.cutoff}"
    return str(measure)


OFFICIAL: tuple[Measure, ...] = (
    NumQ(),
    NumRet(),
    NumRel(),
    NumRelRet(),
    AP(),
    GMAP(),
    Rprec(),
    Bpref(),
    RR(),
    *(IPrec(cutoff=level / 10) for level in range(11)),
    *(P(cutoff=rank) for rank in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
)
