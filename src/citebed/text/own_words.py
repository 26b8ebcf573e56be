"""Words with which a paper speaks of itself: its parts, its course, its thanks.

A sentence that has no others ("The rest of the paper is organised as follows.") says nothing that
a citation could support.
"""

from __future__ import annotations

from citebed.text.function_words import FUNCTION_WORDS
from citebed.text.plain_words import plain_words

OWN_WORDS = frozenset(
    """
    above abstract acceptance accepted acknowledge acknowledged acknowledgement
    acknowledgements acknowledgment acknowledgments additional aim aims anonymous appendices
    appendix approach approaches article assume authors available axis begin below best bold
    brief briefly case cases chapter chapters code column columns comment comments compare
    compared complete concern concerns conclude concluded concludes conclusion conclusions
    conducted consider contribution contributions corollary corresponding cover covers denote
    denoted denotes depicted depicts describe described describes detail detailed details
    difference differences discuss discussed discusses discussion draft evaluate evaluated
    evaluates example examples experiment experimental experiments explain explained explains
    fig figs figure figures final finally financial find findings first five follow followed
    following follows footnote foundation four full funded funding future give given gives
    goal goals grant grants grateful held help helpful hold holds hypotheses hypothesis
    illustrate illustrated illustrates implementation important included includes induction
    insightful introduce introduced introduces introduction investigate larger last left lemma
    list listed lists look made main make makes material materials mean means mention
    mentioned method methods ministry motivate motivation namely next notation note novel
    observation observations observe observed obtain obtained omit omitted organised organized
    outline outlined outlines overview page pages paper papers paragraph part partially
    particular parts performed please point points present presented presents previous
    previously proceed project proof proofs propose proposed proposes proposition prove proved
    publication published question questions refer referred refers released remainder
    remaining remains remark remarks report reported reports request respectively rest result
    results reviewer reviewers revisit right row rows run runs say second section sections see
    seen sentence setting settings setup several shall show showed shown shows similar
    similarly small smaller start state stated statement states step steps structured studies
    study subsection summarise summarised summarises summarize summarized summarizes summary
    supplementary support supported supports tab table tables text thank thanks theorem
    theorems therefore third three today turn turns two upon use used uses using various
    version way ways work works write written
    """.split()  # noqa: SIM905 - words, as one reads them
)
"""Of any length and number; none of them names a thing that others have studied."""


def speaks_of_itself(text: str) -> bool:
    """Whether a sentence has no word but function words, numbers, and those of a paper's course.

    Words alone, without any that holds a sentence together, are what somebody looks for.
    """
    telling = telling_words(text)
    is_sentence = any(word in FUNCTION_WORDS for word in plain_words(text))
    return is_sentence and bool(telling) and all(word in OWN_WORDS for word in telling)


def telling_words(text: str) -> list[str]:
    """The words of a text without numbers, single letters and those that hold it together."""
    words = (word for word in plain_words(text) if len(word) > 1 and not word.isdigit())
    return [word for word in words if word not in FUNCTION_WORDS]
