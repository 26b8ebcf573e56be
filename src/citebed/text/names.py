"""Names of people: in records (``Family, Given``) and as patterns for running text.

The pattern ``SURNAME`` matches surnames, but few names of systems (``Salton``, ``McKeown``,
``Pérez-Agüera``; not ``WordNet`` or ``BERT``). ``NAME`` matches any capitalised name that may
precede a year (``World Health Organization``, ``OpenAI``). Both also match capitalised words at the
start of sentences (``The``, ``However``), which ``skip_starters`` skips.

All patterns have limited length and atomic groups, so they take linear time.
"""

from __future__ import annotations

from citebed.text.normalise import fold
from citebed.text.regex import compile_regex

_ACCENT = "[\u0300-\u036f]"
_HYPHEN = "[-\u2010\u2011]"
NAME_END = rf"(?!\w|{_ACCENT})"
# Beyond Latin-1 these match letters of either case, because a class of all capitals is slow to
# compile; callers check the letters of a name again.
UPPER = rf"(?:[^\W\d_a-zß-öø-ÿ]{_ACCENT}?+)"
LOWER = rf"(?:[^\W\d_A-ZÀ-ÖØ-Þ]{_ACCENT}?+)"

# Words that are capitalised only at the start of a sentence.
NOT_NAMES = frozenset(
    """
    A About According Additionally After Again All Along Already Also Alternatively Although Among
    An And Another Any Apart Approaches Are As At Based Because Before Besides Beyond Both But By
    Can Consequently Contrary Conversely Despite Does Due During Each Earlier Early Either
    Especially Even Every Examples Existing Few Finally First Firstly Following For From Further
    Furthermore Generally Given He Hence Her Here His How However If In Indeed Inspired Instead
    Interestingly Into Is It Its Just Last Lastly Lately Later Latter Least Like Likewise Many
    Meanwhile Methods Models More Moreover Most Motivated My Namely Nevertheless Next No
    Nonetheless Not Notable Notably Note Now Of On Once One Only Or Originally Other Others Our
    Over Particularly Per Perhaps Please Previous Previously Prior Rather Recent Recently Refer
    Related Second Secondly See Several She Similar Similarly Since So Some Specifically Still
    Studies Subsequently Such Than That The Their Then There Therefore These They Third This Those
    Though Through Thus To Together Toward Towards Traditionally Two Typically Under Unfortunately
    Unlike Until Upon Using Usually Various Very Via We Well What When Where Whereas Whether Which
    While Who Whose Why With Within Without Work Works Yet You Your
    Ähnlich Auch Bei Bereits Dagegen Für Im Laut Mit Nach Neben Schon Seit Siehe Während Zudem
    Selon Comme Según Para
    """.split()  # noqa: SIM905
)

INITIALS = rf"(?:{UPPER}\.(?:{_HYPHEN}?{UPPER}\.){{0,3}})"
PARTICLE = (
    "(?:[vV][ao]n(?: de[rn]?| het)?|[dD](?:e(?: l[ao]s?|l|lla)?|i|a|os|as|u|er|en)|[tT]e[nr]"
    "|[lL][ae]|[zZ]ur?|[eE]l|[bB]in|[iI]bn|[aA]f)"
)
_PREFIX = "(?:Mc|Mac|De|Di|Da|Du|La|Le|Van|Von|Fitz|[ODLodl]['’]|[aAeE]l-)"
_PART = rf"(?:{_PREFIX}(?={UPPER}))?+{UPPER}{LOWER}{{1,30}}+"
SURNAME = rf"(?>{_PART}(?:{_HYPHEN}(?:{_PART}|{LOWER}{{1,30}}+)){{0,3}}+{NAME_END})"

NAME_WORD = rf"(?:[dDlLO]['’]|[aAeE]l-)?+{UPPER}(?:\w|['’](?!s\b)\w|{_ACCENT}|{_HYPHEN}\w){{0,40}}+"
_TOKEN = rf"(?>{INITIALS}|{PARTICLE}(?=[ ~])|{NAME_WORD}{NAME_END})"
NAME = rf"(?>{_TOKEN}(?:[ ~]{{1,2}}+{_TOKEN}){{0,4}}+)"

ET_AL = (
    r"(?:et\.?[ ~]{1,2}al\b\.?|u\.[ ~]?a\.|und andere\b|et coll\.|y otros\b"
    r"|and (?:colleagues|coworkers|co-workers|others))"
)
AND = r"(?:and|&|\\&|und|sowie|y|e|et(?![ ~.]{1,3}(?:al|coll)\b))"
YEAR = r"(?:1[5-9]|20)\d\d"

_FIRST_WORD = compile_regex(r"(\w++)[\s~,]*+")


def skip_starters(text: str, start: int, end: int) -> int:
    """Return the start of names in ``text[start:end]``, after words that only start a sentence."""
    while (word := _FIRST_WORD.match(text, start, end)) is not None and word[1] in NOT_NAMES:
        start = word.end()
    return start


# --- Names in records -----------------------------------------------------------------------


def name_from_parts(family: str | None, given: str | None = None, suffix: str | None = None) -> str:
    """Return ``Family, Given`` or ``Family, Suffix, Given``, or a single part."""
    parts = [fold(part or "").replace(",", "") for part in (family, suffix, given)]
    if not parts[0]:
        parts = [parts[2], parts[1], ""]
    return ", ".join(part for part in map(str.strip, parts) if part)


_PARTICLES = frozenset(
    """
    von van der den de del della di da do dos das du la le el ten ter zu zur af av al bin ibn
    """.split()  # noqa: SIM905
)


def name_from_display(name: str) -> str:
    """Return ``Family, Given`` for a printed name (``Given Family`` or ``Family, Given``).

    The family name is the last word, with particles (``van der``, but not the name ``Do``) before.
    """
    name = fold(name).strip(" ,")
    if "," in name:
        return canonical_name(name)
    words = name.split()
    if len(words) < 2:
        return name
    cut = len(words) - 1
    while cut > 1 and words[cut - 1].lower() in _PARTICLES and words[cut - 1] not in ("Do", "DO"):
        cut -= 1
    return f"{' '.join(words[cut:])}, {' '.join(words[:cut])}"


def canonical_name(name: str) -> str:
    """Return ``Family``, ``Family, Given`` or ``Family, Suffix, Given`` without extra commas."""
    parts = [part for part in map(fold, name.split(",")) if part]
    if len(parts) > 3:
        parts = [parts[0], parts[1], " ".join(parts[2:])]
    return ", ".join(parts)


def family_name(name: str) -> str:
    """Return the part before the first comma."""
    return name.partition(",")[0]


def display_name(name: str) -> str:
    """Return ``Given Family`` for ``Family, Given`` or ``Family, Jr., Given``."""
    family, _, rest = name.partition(", ")
    suffix, _, given = rest.rpartition(", ")
    return " ".join(filter(None, (given, family, suffix)))
