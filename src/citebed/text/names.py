"""What names of people look like in running text, as pieces of regular expressions.

Two shapes: ``SURNAME`` is one that few systems' names have (``Salton``, ``McKeown``,
``Pérez-Agüera``, but neither ``WordNet`` nor ``BERT``); ``NAME`` is any capitalised name as it
may stand before a year (``World Health Organization``, ``OpenAI``). Capitalised words that begin
a sentence (``The``, ``However``) have these shapes too; ``skip_starters`` passes over them.

All pieces are bounded and take one reading of a place (atomic groups), so that an expression made
of them costs a time that grows with the text and no faster.
"""

from __future__ import annotations

from citebed.patterns import compiled

_ACCENT = "[\u0300-\u036f]"
_HYPHEN = "[-\u2010\u2011]"
_END = rf"(?!\w|{_ACCENT})"
# Beyond Latin-1 a letter may be either: a class of all capitals is slow to compile, and whoever
# finds a name looks at its letters again.
UPPER = rf"(?:[^\W\d_a-zß-öø-ÿ]{_ACCENT}?+)"
LOWER = rf"(?:[^\W\d_A-ZÀ-ÖØ-Þ]{_ACCENT}?+)"

# Words that are capitalised because a sentence begins with them.
NOT_NAMES = frozenset(
    (
        *("A", "About", "According", "Additionally", "After", "Again", "All", "Along", "Already"),
        *("Also", "Alternatively", "Although", "Among", "An", "And", "Another", "Any", "Apart"),
        *(
            "Approaches",
            "Are",
            "As",
            "At",
            "Based",
            "Because",
            "Before",
            "Besides",
            "Beyond",
            "Both",
        ),
        *("But", "By", "Can", "Contrary", "Consequently", "Conversely", "Despite", "Does", "Due"),
        *(
            "During",
            "Each",
            "Early",
            "Earlier",
            "Either",
            "Especially",
            "Even",
            "Every",
            "Examples",
        ),
        *("Existing", "Few", "Finally", "First", "Firstly", "Following", "For", "From", "Further"),
        *(
            "Furthermore",
            "Generally",
            "Given",
            "He",
            "Hence",
            "Her",
            "Here",
            "His",
            "How",
            "However",
        ),
        *("If", "In", "Indeed", "Inspired", "Instead", "Interestingly", "Into", "Is", "It", "Its"),
        *(
            "Just",
            "Last",
            "Lastly",
            "Lately",
            "Later",
            "Latter",
            "Least",
            "Like",
            "Likewise",
            "Many",
        ),
        *(
            "Meanwhile",
            "Methods",
            "Models",
            "More",
            "Moreover",
            "Most",
            "Motivated",
            "My",
            "Namely",
        ),
        *("Nevertheless", "Next", "No", "Nonetheless", "Not", "Notable", "Notably", "Note", "Now"),
        *("Of", "On", "Once", "One", "Only", "Or", "Originally", "Other", "Others", "Our", "Over"),
        *("Particularly", "Per", "Perhaps", "Please", "Previous", "Previously", "Prior", "Rather"),
        *("Recent", "Recently", "Refer", "Related", "Second", "Secondly", "See", "Several", "She"),
        *(
            "Similar",
            "Similarly",
            "Since",
            "So",
            "Some",
            "Specifically",
            "Still",
            "Studies",
            "Such",
        ),
        *("Subsequently", "Than", "That", "The", "Their", "Then", "There", "Therefore", "These"),
        *(
            "They",
            "Third",
            "This",
            "Those",
            "Though",
            "Through",
            "Thus",
            "To",
            "Together",
            "Toward",
        ),
        *("Towards", "Traditionally", "Two", "Typically", "Under", "Unlike", "Unfortunately"),
        *(
            "Until",
            "Upon",
            "Using",
            "Usually",
            "Various",
            "Very",
            "Via",
            "We",
            "Well",
            "What",
            "When",
        ),
        *("Whereas", "Where", "Whether", "Which", "While", "Who", "Whose", "Why", "With", "Within"),
        *("Without", "Work", "Works", "Yet", "You", "Your"),
    )
)

INITIALS = rf"(?:{UPPER}\.(?:{_HYPHEN}?{UPPER}\.){{0,3}})"
PARTICLE = (
    "(?:[vV][ao]n(?: de[rn]?| het)?|[dD](?:e(?: l[ao]s?|l|lla)?|i|a|os|as|u|er|en)|[tT]e[nr]"
    "|[lL][ae]|[zZ]ur?|[eE]l|[bB]in|[iI]bn|[aA]f)"
)
_PREFIX = "(?:Mc|Mac|De|Di|Da|Du|La|Le|Van|Von|Fitz|[ODLodl]['’]|[aAeE]l-)"
_PART = rf"(?:{_PREFIX}(?={UPPER}))?+{UPPER}{LOWER}{{1,30}}+"
SURNAME = rf"(?>{_PART}(?:{_HYPHEN}(?:{_PART}|{LOWER}{{1,30}}+)){{0,3}}+{_END})"

_WORD = rf"(?:[dDlLO]['’]|[aAeE]l-)?+{UPPER}(?:\w|['’](?!s\b)\w|{_ACCENT}|{_HYPHEN}\w){{0,40}}+"
_TOKEN = rf"(?>{INITIALS}|{PARTICLE}(?=[ ~])|{_WORD}{_END})"
NAME = rf"(?>{_TOKEN}(?:[ ~]{{1,2}}+{_TOKEN}){{0,4}}+)"

ET_AL = r"(?:et\.?[ ~]{1,2}al\b\.?|and (?:colleagues|coworkers|co-workers|others))"
AND = r"(?:and|&|\\&)"
YEAR = r"(?:1[5-9]|20)\d\d"

_FIRST_WORD = compiled(r"(\w++)[\s~,]*+")


def skip_starters(text: str, start: int, end: int) -> int:
    """Where names begin in ``text[start:end]``, after words that only begin a sentence."""
    while (word := _FIRST_WORD.match(text, start, end)) is not None and word[1] in NOT_NAMES:
        start = word.end()
    return start
