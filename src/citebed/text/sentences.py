"""Split scholarly text into sentences.

A sentence ends at a full stop, question mark or exclamation mark (and closing quotation marks and
brackets), if a space and a possible start of a sentence follow: a capital, a digit, an opening
bracket or quotation mark. It does not end after an abbreviation (``e.g.``, ``Fig. 4``), an initial
(``J. Smith``) or the number of a list item (``1. First``). After ``etc.`` and ``et al.`` it ends if
the next word often starts sentences (``The``, ``However``). A marker after the stop (``shown.[12]
We``, ``shown. [12] We``) belongs to the sentence before it, unless it is the subject of the next
one (``shown. [12] propose``). An empty line, and a line that starts with a bullet or a number,
start a new sentence. The stops of Chinese and Japanese (``。``) always end a sentence.
"""

from __future__ import annotations

import re

from citebed.text.names import NOT_NAMES
from citebed.text.regex import compile_regex

_MARK = r"\[[\d,; –-]{1,40}\]"
_MARKS = rf"{_MARK}(?:\s?[,;–-]?\s?{_MARK}){{0,20}}+"
_STOP = compile_regex(
    rf"(?<![.!?…])(?P<stop>[.!?…]++)(?P<close>[\"'”’)\]}}»]*+)(?P<mark>(?:{_MARKS}|[⁰¹²³⁴-⁹][⁰¹²³⁴-⁹,;⁻–-]{{0,40}}+)?+)"
    r"(?P<blank>\s++)(?P<next>\S)"
)
_WIDE_STOP = compile_regex(r"[。！？]++[”’」』）】》]*+\s*+(?=\S)")
_NEW_LINE = compile_regex(r"\n[^\S\n]*+(?:\n\s*+|(?=(?:[•▪◦‣∙*–—-]|\(?\d{1,2}[.)]|\([a-z]\)) ))")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“‘'/–—]*$")
_WORD_AFTER = compile_regex(r"\w++(?!\.)")
_MIXED = re.compile(r"[^\W\d_]+[A-Z\d]")
_MARK_OF_LAST = compile_regex(rf"{_MARKS}\s+(?=[A-Z\"“])")

# Never the end of a sentence.
_GOES_ON = frozenset(
    """
    e.g eg i.e ie cf vs viz resp approx ca w.r.t s.t fig figs tab sect eq eqs eqn eqns ref refs
    thm chap dr prof mr mrs st proc conf symp trans univ dept incl esp a.k.a jan feb apr aug sept
    oct nov dec
    bzw vgl hrsg bd bde kap abschn abb sog ggf evtl inkl insb bspw ebd dt frz engl lat griech jh jhd
    mio mrd éd éds coll env av apr mm p.ex sra dra ud uds núm pág págs aprox ej cfr vd sig dott pag
    pagg cap bijv bv blz dhr mevr np tj tzn m.in им др
    """.split()  # noqa: SIM905
)
_LONG, _ENDS_OF_LONG = 5, ("pprox", "aprox", "trans", "bschn", "riech")
"""Only these of the abbreviations end in this many letters."""
# Goes on if a number follows: "no. 5", but "the answer is no. Then".
_GOES_ON_TO_NUMBER = frozenset(
    (
        *("no", "nos", "vol", "p", "pp", "ch", "sec", "secs", "art", "app", "ex", "ed", "eds"),
        *("def", "lem", "prop", "alg", "mar", "jun", "jul", "sep"),
    )
)
# Goes on unless the next word is one that begins sentences: "et al. We", but "et al. Proceedings".
_MAY_GO_ON = frozenset(
    ("al", "inc", "ltd", "co", "corp", "jr", "sr", "ph.d", "u.s", "u.k", "u.s.a", "e.u", "ms")
)


_LISTS_END = frozenset(("etc", "usw", "ecc", "enz", "itd", "itp"))
_SHORT_AFTER = compile_regex(r"\w{1,2}\.")
# After German ordinal numbers: "im 18. Jahrhundert", "am 3. Oktober".
_AFTER_ORDINAL = compile_regex(
    r"(?:Jahrhundert|Jh|Jahrzehnt|Jahrestag|Lebensjahr|Geburtstag|Auflage|Band|Kapitel|Kongress"
    r"|Tagung|Sitzung|Legislatur"
    r"|Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text without surrounding white space."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each sentence."""
    cuts = {*_stops(text), *(match.end() for match in _NEW_LINE.finditer(text))}
    if not text.isascii():
        cuts.update(match.end() for match in _WIDE_STOP.finditer(text))
    offsets = sorted(cuts)
    spans = []
    for start, end in zip([0, *offsets], [*offsets, len(text)], strict=True):
        piece = text[start:end].rstrip()
        if own := len(piece.lstrip()):
            spans.append((start + len(piece) - own, start + len(piece)))
    return spans


def _stops(text: str) -> list[int]:
    """Return the offsets at which sentences start after a stop."""
    cuts: list[int] = []
    start = 0
    for match in _STOP.finditer(text):
        if _ends_here(text, start, match):
            start = match.end("blank")
            if not match["mark"] and (mark := _MARK_OF_LAST.match(text, start)) is not None:
                start = mark.end()
            cuts.append(start)
    return cuts


def _ends_here(text: str, start: int, match: re.Match[str]) -> bool:
    """Return True if a stop ends the sentence that begins at ``start``."""
    at = match.end("blank")
    if text[at].islower():
        begins = _MIXED.match(text, at) is not None
    else:
        begins = text[at] not in ",;:.)]}%&+=/…"
    if not begins:
        return False
    if match.group("stop", "close", "mark") != (".", "", ""):
        return True
    # Most stops follow a plain word; this test is fast, because few abbreviations are as long.
    last = text[max(start, match.start() - _LONG) : match.start()]
    if len(last) == _LONG and last.isalpha() and last.islower():
        return last not in _ENDS_OF_LONG
    far = max(start, match.start() - 30)
    before = _WORD_BEFORE.search(text, far, match.start())
    word = before[0] if before is not None else ""
    if word.isdigit() and len(word) <= 2:  # the number of an item begins its sentence
        ahead = text[far : match.start() - len(word)].rstrip()
        is_ordinal = _AFTER_ORDINAL.match(text, at) is not None
        return not (ahead == "" or ahead.endswith(":") or is_ordinal)
    return not _goes_on(word, text, match.end("blank"))


def _goes_on(word: str, text: str, at: int) -> bool:
    """Return True if a sentence continues at ``at`` after a word with a full stop."""
    plain = word.lower().rstrip(".")
    if plain in _GOES_ON or (plain == "a" and text.endswith((" u. a. ", "(u. a. "), 0, at)):
        return True
    if plain in _GOES_ON_TO_NUMBER:
        return text[at].isdigit()
    if plain in _LISTS_END:
        return not text[at].isalpha()
    if len(word) == 1 and word.islower():  # "z. B.", "p. ex."; but "for each x. We"
        return _SHORT_AFTER.match(text, at) is not None
    if plain in _MAY_GO_ON or (len(word) == 1 and word.isupper()):
        after = _WORD_AFTER.match(text, at)
        return after is None or after[0] not in NOT_NAMES
    return False
