"""The lines of a printed reference as one: words and addresses that lines broke, made whole."""

from __future__ import annotations

from citebed.patterns import compiled
from citebed.text.hyphens import join_hyphens
from citebed.text.normalise import entities_to_text, fold

LONGEST = 20_000
"""No reference has more characters; what follows is something else."""

_ADDRESS = compiled(
    r"(?i)(?:https?|ftp):|www\.|\bdoi\b|(?<![\d.])10\.(?:\d{4,9}/|\d{0,9}(?:\s|$))|arxiv:"
)
_GOES_ON = compiled(r"[/?=&#%_~]|\.(?=\w)|\d{3,9}\.\d|\d{5,9}\.?$|[\w-]{0,40}[/=?_%]\S")
_LAST = compiled(r"\d[\w.()-]*+\.?$")
_OPEN_END = tuple("/:=?&#%_~.-")
_YEAR = compiled(r"[(\[]?(?:1[5-9]|20)\d\d[a-z]?[.,;)\]]*$")
_TOKEN = compiled(r"(\S++)(\s*+)")
# Where lines were joined before: the hyphen of a broken word, and a blank.
_HYPHEN = compiled(r"(?<=[^\W\d_A-Z])- (?=[a-z])")


def mended(text: str) -> str:
    """A reference as one line: its words joined where a hyphen broke them, its addresses where the
    end of a line did."""
    text = text[:LONGEST].strip()
    whole = _with_addresses(text) if _ADDRESS.search(text) else text
    return fold(join_hyphens(_HYPHEN.sub("-\n", entities_to_text(whole))))


def _with_addresses(text: str) -> str:
    pieces: list[str] = []
    last, blank = "", ""
    for token in _TOKEN.finditer(text):
        broken = blank and _is_broken(last, token[1], "\n" in blank or "\r" in blank)
        pieces += ["" if broken else blank, token[1]]
        last = last + token[1] if broken else token[1]
        blank = token[2]
    return "".join(pieces)


def _is_broken(last: str, first: str, line_ends: bool) -> bool:
    """Whether an address that ends one line goes on in the next; a blank may stand for its end."""
    if not _ADDRESS.search(last[-300:]):
        return False
    if last.endswith(("http:", "https:")):
        return first.startswith("//")
    if _YEAR.match(first):
        return False
    if last.endswith(_OPEN_END):
        return _GOES_ON.match(first) is not None or (
            not last.endswith(".") and (line_ends or first[0].isdigit()) and len(last) > 5
        )
    return line_ends and (_GOES_ON.match(first) is not None or _LAST.match(first) is not None)
