"""Sentences that papers have about themselves, in whatever words: thanks, funding, outlines.

``speaks_of_itself`` knows them by having no other words; here they are known by their phrases, so
that one asks for nothing though it names its subject ("Table 3 shows the results of the ablation").
"""

from __future__ import annotations

import re

from citebed.patterns import compiled

_NUMBER = r"(?-i:[A-Z]?\d{1,3}(?:\.\d{1,2}){0,2}[a-z]?|[IVX]{1,4}|[A-Z])\b"
_PART = (
    r"(?:tables?|figures?|fig\.|figs\.|tab\.|listings?|algorithms?|equations?|eqs?\.|sections?"
    r"|sec\."
    r"|sect\.|subsections?|chapters?|appendix|appendices|§{1,2})"
)
_PLACE = (
    rf"{_PART}\s*{_NUMBER}(?:(?:\s*(?:,|and|to|through|–|-)\s*){{1,2}}(?:{_PART}\s*)?{_NUMBER})*+"
)
_SHOWS = (
    r"(?:shows?|presents?|lists?|reports?|summari[sz]es?|compares?|gives?|depicts?|illustrates?"
    r"|plots?|displays?|provides?|contains?|details?|describes?|discuss(?:es)?|introduces?|reviews?"
    r"|concludes?|covers?|outlines?|explains?|surveys?|visuali[sz]es?|breaks? down|offers?|draws?"
    r"|turns?|sketch(?:es)?|evaluates?|analy[sz]es?|states?|formali[sz]es?|motivates?)"
)
_SHOWN = (
    r"(?:shown|presented|listed|reported|summari[sz]ed|compared|given|depicted|illustrated|plotted"
    r"|displayed|provided|described|discussed|detailed|found|seen|included|collected|omitted"
    r"|deferred|outlined|available|relegated)"
)
_LATER = r"(?:future|further|later|subsequent|follow-?up|upcoming)"
_STUDY = (
    r"(?:work|research|study|studies|investigations?|analys[ei]s|exploration|papers?|versions?)"
)
_OURS = r"(?:(?:this|the present|the|our|these|that) )"
_MADE = (
    r"(?:code(?:base)?|source code|scripts?|implementations?|data|datasets?|materials?|models?"
    r"|checkpoints?|annotations?|notebooks?|software|artefacts?|artifacts?|logs?|prompts?|runs?)"
)
_PAID = r"(?:supported|funded|financed|sponsored|made possible|carried out with (?:the )?support)"

# What a sentence begins with.
_BEGINS = (
    rf"{_PLACE}\s*(?:\([^()]{{1,20}}\)\s*)?,?\s*(?:also |then |further |first |briefly |finally "
    rf")?{_SHOWS}\b",
    rf"(?:finally|next|then|first|lastly|in turn),?\s*(?:in )?{_PLACE}\b",
    rf"(?:in|see) {_PLACE},?\s+we (?:then |also |first |next |briefly |finally )?{_SHOWS}\b",
    rf"see (?:also )?(?:the )?(?:{_PLACE}|appendix|supplement\w*|supporting)\b",
    rf"as (?:can be |is |we )?(?:{_SHOWN}|see|show|evident|visible|indicated) (?:in|from|by) "
    rf"{_PLACE}",
    r"(?:the|a) (?:rest|remainder) of (?:this|the|our) (?:paper|article|chapter|thesis|work|report"
    r"|section|manuscript|study)\b",
    r"(?:this|the|our) (?:paper|article|chapter|thesis|report|manuscript|section|work|remainder) "
    r"(?:is"
    r"|has been|proceeds|unfolds|continues)\b[^.]{0,40}\b(?:organi[sz]ed|structured|arranged|laid "
    r"out"
    r"|divided|as follows)\b",
    r"(?:the|our) (?:main |key |major |primary |specific |core )?contributions (?:of|in|to|are|can"
    r"|made)\b",
    r"we (?:(?:would|should) (?:also )?like to |wish to |want to |also |sincerely |gratefully "
    r"|warmly"
    r"|deeply |further )*thank\b",
    r"(?:many |special |our |sincere )+thanks (?:go |are due )?to\b",
    r"the authors? (?:(?:would )?(?:also )?(?:like|wish)(?:es)? to |also |gratefully |sincerely )*"
    r"(?:thank|acknowledge|declare|report|express|state|confirm|have no|has no|are grateful)\b",
    r"(?:we|i|the authors?) (?:are|am|is) (?:very |most |also |deeply |especially )?(?:grateful"
    r"|indebted|thankful|obliged) (?:to|for)\b",
    r"(?:all|both|the) authors? (?:have |has )?(?:read|approved|contributed|agreed|discussed|wrote"
    r"|reviewed|conceived|drafted)\b",
    rf"(?:all )?(?:the |our )?(?:source )?{_MADE}(?: and {_MADE})? (?:(?:used|generated|analy[sz]ed"
    r"|collected|produced|needed|that \w+)[^.]{0,60} )?(?:is|are|will be|can be|has been|have "
    r"been)\s"
    r"(?:made )?(?:\w+ly )?(?:available|released|found|accessed|downloaded|obtained|included|shared"
    r"|published|open)",
    rf"we (?:will |also |have |plan to )*(?:release|make|publish|share|open-?source|provide)d? "
    rf"(?:all "
    rf"|our |the |both |full |source )+{_MADE}",
    r"permission to make (?:digital|hard)|all rights reserved|copyright\b|©",
    r"(?:correspondence|requests for materials)\b[^.]{0,60}\b(?:to|addressed)\b",
    r"(?:any|the) (?:views?|opinions?|findings)[^.]{0,80}\b(?:are (?:those|solely)|do not "
    r"necessarily)",
    r"(?:due to|for|because of|given) (?:lack of |reasons of |the )?(?:space|brevity|page"
    r"|length)\b",
)
# What a sentence has somewhere.
_HAS = (
    rf"\b(?:leave|leaves|left|leaving|defer|defers|deferred|deferring|postpone|postponed|reserve"
    rf"|reserved|relegate|relegated|save|saved)\b[^.]{{0,80}}\b(?:to|for|as|until) (?:a |an |our )?"
    rf"{_LATER} {_STUDY}",
    rf"\b(?:subject|topic|matter|avenue|direction|question|task|plan|goal|room)s? (?:of|for|in) "
    rf"(?:our )?"
    rf"{_LATER} {_STUDY}",
    r"\b(?:beyond|outside|out of|exceeds?) (?:of )?(?:the )?scope of (?:this|the present|our"
    r"|the)\b",
    r"\bno (?:known |potential |other |competing |relevant )*(?:conflicts?|competing|financial) "
    r"?(?:of )?"
    r"(?:interests?|financial)",
    r"\bconflicts? of interest[^.]{0,30}\b(?:declared|exists?|disclose)",
    r"\bnothing to (?:declare|disclose)\b",
    rf"\b{_OURS}(?:work|research|study|project|paper|material|publication|article|effort)s? (?:was"
    rf"|is"
    rf"|were|has been|have been|received)\b[^.]{{0,40}}\b(?:{_PAID}|funding|support(?:ed)? (?:from"
    rf"|by))",
    r"\b(?:acknowledges?|acknowledged|thanks?)\b[^.]{0,40}\b(?:support|funding|grant|reviewers?"
    r"|help"
    r"|assistance|fellowship|computing|feedback|comments|discussions?)\b",
    r"\b(?:under|through|by|via) (?:the )?(?:grants?|awards?|contracts?|agreements?|projects?"
    r"|fellowship)"
    r" (?:agreement |no\.?|numbers?|nos\.?|id|#|\(?[A-Z]*[-\d])",
    r"\b(?:funding|grants?|financial support) (?:was|were|from|provided)\b[^.]{0,60}\b(?:by|from"
    r"|council"
    r"|foundation|agency|ministry|commission)\b",
    r"\bcontributed equally\b|\bequal contribution\b|\bcorresponding author\b",
    r"\b(?:approved|approval|exempt\w*|waived|granted)\b[^.]{0,60}\b(?:review board|ethics "
    r"(?:committee"
    r"|board|commission)|irb)\b",
    r"\b(?:informed|written|oral) consent\b[^.]{0,60}\b(?:participants?|subjects?|obtained|gave"
    r"|given)",
    rf"\b(?:results?|scores?|values?|details?|proofs?|statistics|settings?|hyper-?parameters?"
    rf"|derivations?"
    rf"|numbers|examples?|outputs?|findings)\b[^.]{{0,80}}\b(?:is|are|can be|may be|were|have "
    rf"been)\b"
    rf"[^.]{{0,20}}\b(?:{_SHOWN}|moved|placed)\b[^.]{{0,40}}\b(?:{_PLACE}|appendix|appendices"
    rf"|supplement)",
    r"\b(?:best|highest|significant|second[- ]best|largest) (?:\w+ ){0,4}(?:is|are) (?:shown "
    r"|marked "
    r"|printed |set |highlighted |given )?(?:in |as )?(?:bold|boldface|underlined|italics?)",
    r"\bdata sharing (?:is )?not applicable\b|\bavailable (?:up)?on (?:reasonable )?request\b",
    r"\blicensed under\b[^.]{0,40}\bcreative commons\b",
)
_ASKS = re.compile(r"\[\s?\?+\s?\]|\\[A-Za-z]*cite|\(\?\)")
_STARTS = compiled(rf"\s*+(?:\d+(?:\.\d+)*+\.?\s+)?(?:{'|'.join(_BEGINS)})", re.IGNORECASE)
_POINTS = compiled(rf"\b{_PLACE}", re.IGNORECASE)
_HOLDS = compiled("|".join(_HAS), re.IGNORECASE)
_LONGEST, _LONGEST_POINTING = 400, 140
"""Characters of such a sentence, at most; one that points to a part of the paper and goes on may
well compare with others' work."""


def is_boilerplate(sentence: str) -> bool:
    """Whether a sentence thanks, declares, points to a part of the paper, or puts off.

    One in which a citation is wanted (``[?]``) is none.
    """
    if len(sentence) > _LONGEST or _ASKS.search(sentence):
        return False
    if len(sentence) > _LONGEST_POINTING and _POINTS.search(sentence):
        return False
    return _STARTS.match(sentence) is not None or _HOLDS.search(sentence) is not None
