"""trec_eval's names of the measures, both ways."""

from __future__ import annotations

import re

from citebed.evaluation.measures import MEASURES, Measure, SetF

_PLAIN = {
    "num_q": "NumQ", "num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRelRet",
    "map": "AP", "gm_map": "GMAP", "bpref": "Bpref", "recip_rank": "RR", "ndcg": "nDCG",
    "11pt_avg": "ElevenPoint", "set_P": "SetP", "set_recall": "SetR", "set_F": "SetF",
    "set_map": "SetAP", "utility": "Utility", "Rprec": "Rprec", "infAP": "infAP",
}  # fmt: skip
_WITH_CUTOFF = {
    "P": "P", "recall": "R", "map_cut": "AP", "ndcg_cut": "nDCG", "success": "Success",
    "iprec_at_recall": "IPrec", "set_F": "SetF",
}  # fmt: skip
_LOWER = {name.lower(): known for name, known in _PLAIN.items()}
_LOWER_WITH_CUTOFF = {name.lower(): known for name, known in _WITH_CUTOFF.items()}
_FORM = re.compile(r"(?P<name>[A-Za-z][A-Za-z_]*?)[_.](?P<cutoff>[0-9]{1,18}(?:\.[0-9]{1,18})?)")


def from_trec_name(text: str) -> Measure | None:
    """The measure behind a name such as ``ndcg_cut_10`` or ``ndcg_cut.10``; ``None`` if none."""
    if text.lower() in _LOWER:
        return MEASURES[_LOWER[text.lower()]]()
    match = _FORM.fullmatch(text)
    if not match or match["name"].lower() not in _LOWER_WITH_CUTOFF:
        return None
    kind, behind = MEASURES[_LOWER_WITH_CUTOFF[match["name"].lower()]], match["cutoff"]
    if kind is SetF:
        return SetF(beta=float(behind))
    if kind.NAME == "IPrec":
        return kind(cutoff=float(behind))
    return kind(cutoff=int(behind)) if behind.isdigit() else None


def trec_name(measure: Measure) -> str:
    """trec_eval's name of a measure; our own where it has none.

    ``rel`` and ``judged_only`` are switches of the whole program there, so they do not show.
    """
    for name, known in (_PLAIN if measure.cutoff is None else _WITH_CUTOFF).items():
        if known == measure.NAME:
            if measure.cutoff is None:
                return name
            return (
                f"{name}_{measure.cutoff:.2f}" if known == "IPrec" else f"{name}_{measure.cutoff}"
            )
    return str(measure)


_OFFICIAL = (
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    "recip_rank",
    *(f"iprec_at_recall_{level / 10:.2f}" for level in range(11)),
    *(f"P_{rank}" for rank in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
)
OFFICIAL = tuple(measure for name in _OFFICIAL if (measure := from_trec_name(name)))
"""What trec_eval prints unless told otherwise."""
