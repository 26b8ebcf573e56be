"""The lines of a printed reference as one: words and addresses that lines broke, made whole."""

from __future__ import annotations

from citebed.patterns import compiled
from citebed.text.hyphens import join_hyphens
from citebed.text.normalise import entities_to_text, fold

LONGEST = 20_000
"""No reference has more characters; what follows is something else."""

_ADDRESS = compiled(r"(?i)(?:https?|ftp):|www\.|\bdoi\b|(?<![\d.])10\.(?:\d{4,9}/|\d{0,9}$)|arxiv:")
_GOES_ON = compiled(r"[/?=&#%_~]|\.(?=\w)|\d{3,9}\.\d|\d{5,9}(?:\.\s|\.?$)|[\w-]{0,40}[/=?_%]\S")
_LAST = compiled(r"\d[\w.()-]*+\.?$")
_OPEN_END = tuple("/:=?&#%_~.-")
_YEAR = compiled(r"(?:1[5-9]|20)\d\d[a-z]?[.,;)]*$")
_SPACED = compiled(r"(?i)(https?:) (?=//\w)|(https?:// ?(?:dx\.)?doi\.org/) (?=10\.)")


def mended(text: str) -> str:
    """A reference as one line: its words joined where a hyphen broke them, its addresses where the
    end of a line did."""
    lines = [line.strip() for line in text[:LONGEST].splitlines()]
    lines = [line for line in lines if line]
    pieces: list[str] = []
    for line in lines:
        if pieces:
            pieces.append("" if _is_broken(pieces[-1], line) else "\n")
        pieces.append(line)
    whole = join_hyphens(entities_to_text("".join(pieces)))
    return fold(_SPACED.sub(r"\1\2", whole) if "http" in whole else whole)


def _is_broken(before: str, after: str) -> bool:
    """Whether an address that ends one line goes on in the next."""
    last, first = before.rsplit(None, 1)[-1], after.split(None, 1)[0]
    if not _ADDRESS.search(last):
        return last[-1] in "/=_" and _GOES_ON.match(first) is not None
    if last.endswith(_OPEN_END):
        return not (first[0].isupper() and last.endswith(".")) and not _YEAR.match(first)
    if _GOES_ON.match(first):
        return True
    return first == after and _LAST.match(first) is not None and not _YEAR.match(first)
