"""The authors that ``\\author`` names, in the many ways of the document classes."""

from __future__ import annotations

import re

from citebed.text.latex import latex_to_text
from citebed.text.normalise import unique

_LONGEST = 20_000
_BETWEEN = re.compile(r"\\(?:and|And|AND|quad|qquad)(?![A-Za-z])|\\\\\s*(?:\[[^]]*\])?\s*\\and")
_ASIDE = re.compile(
    r"\\(?:thanks|textsuperscript|inst|affil|orcid|orcidID|email|footnotemark|fnref|corref|texttt"
    r"|IEEEauthorrefmark|authornote|authornotemark|IEEEauthorblockA|href|url|samethanks)\*?"
    r"(?:\[[^][{}]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\})?"
    r"|\\(?:begin|end)\{\w+\*?\}(?:\[[^]]*\])?(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})?"
    r"|\$[^$]*\$|%[^\n]*|\\footnote\{(?:[^{}]|\{[^{}]*\})*\}"
)
_NAME = re.compile(r"[^\W\d_][^\d@/|]*")


def authors_in(tex: str) -> tuple[str, ...]:
    """The names in the argument of ``\\author``: first lines, without notes and affiliations."""
    if len(tex) > _LONGEST:
        return ()
    plain = _ASIDE.sub("", tex)
    lines = [part.split("\\\\")[0] for part in _BETWEEN.split(plain)]
    names = [name for line in lines for name in _names_of(latex_to_text(line))]
    return unique(names)


def _names_of(line: str) -> list[str]:
    """``A. One, B. Two and C. Three`` as three names; what is no name is left out."""
    parts = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+&\s+", line)
    names = (part.strip(" .*†‡") for part in parts)
    return [name for name in names if 1 < len(name.split()) < 7 and _NAME.fullmatch(name)]
