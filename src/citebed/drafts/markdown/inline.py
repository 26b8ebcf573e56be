"""Markdown within a paragraph: links, emphasis, code, notes, and pandoc's citations."""

from __future__ import annotations

import html
import re

from citebed.drafts.findings import Findings
from citebed.drafts.tex.cites import place_commands
from citebed.patterns import compiled
from citebed.text.identifiers import arxiv_in, doi_in
from citebed.text.latex import DISPLAY_MATHS, maths_as_text

# An escaped character is moved out of the way (into the private use area) and back at the end.
_ESCAPED = re.compile(r"\\([*_#@$\[\]<>`^~|!-])")
_SHIFT = 0xE100
_MOVED = re.compile("[\ue100-\ue17f]")

_CODE = re.compile(r"(?<!`)``(?!`)(?:[^`]|`(?!`)){1,400}``(?!`)|(?<!`)`[^`]{1,400}`(?!`)")
_MATHS = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$]{1,400}?)(?<=\S)\$(?![\d$])")
_INLINE_NOTE = compiled(r"\^\[((?:[^][]++|\[[^][]*+\])*+)\]")
_LINK = compiled(
    r"(!?)\[((?:[^][]++|\[[^][]*+\])*+)\]\(\s*+<?((?:[^()\s<>]++|\([^()\s]*+\))*+)>?"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)(?:\{[^{}\n]*+\})?"
)
_LABEL = re.compile(r"\\(?:label|[A-Za-z]{0,4}ref)\*?\{[^{}\n]{0,200}\}")
_GIVEN_LINK = compiled(r"!?\[([^][^@]*+)\](?:\[[^][]*+\]|\{[^{}\n]*+\})")
_NOTE_MARK = re.compile(r"\[\^[^][\s]{1,80}\]")
_GROUP = compiled(r"\[([^][@]*+@[^][]*+)\](?!\()")
_KEY = compiled(
    r"(?<![\w./}])-?@(?:\{([^{}\s]{1,200})\}|(\w++(?:[:.#$%&+?<>~/-]++\w++)*+))"
    r"(?:\s?\[(?:pp?\.|ch|sec|fig|vol|§|\d)[^][@]{0,80}\])?"
)
_CROSS_REFERENCE = re.compile(r"(?:fig|tbl|tab|eq|sec|lst|thm|lem)[:-]")
_TAG = compiled(r"</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]*+)?/?>")
# The leading class lets the search skip plain text quickly.
_EMPHASIS = re.compile(
    r"[*_~=](?:(?<=\*)\*{0,2}(?=\S)|(?<=\S\*)\*{0,2}"
    r"|(?<=_)(?<!\w_)_{0,2}(?=\S)|(?<=\S_)_{0,2}(?!\w)|(?<=~)~|(?<==)=)"
)


def inline_text(text: str, findings: Findings) -> tuple[str, list[str]]:
    """The words of a paragraph, its citations as places; and the notes written within it."""
    text = _CODE.sub(" ", text) if "`" in text else text
    text = _ESCAPED.sub(lambda m: chr(_SHIFT + ord(m[1])), text) if "\\" in text else text
    if "$" in text:
        text = _MATHS.sub(lambda m: maths_as_text(m[1]), DISPLAY_MATHS["$"].sub(" ", text))
    notes = [_words(match[1], findings) for match in _INLINE_NOTE.finditer(text)]
    return _words(_INLINE_NOTE.sub("", text), findings), notes


def _words(text: str, findings: Findings) -> str:
    text = place_commands(_LABEL.sub("", text) if "\\" in text else text, findings)
    if "@" in text:
        text = _GROUP.sub(lambda match: _placed(match[1], findings) or match[0], text)
        text = _KEY.sub(lambda match: _placed(match[0], findings) or " ", text)
    if "[" in text:
        for _ in range(2):  # an image may be the text of a link
            text = _LINK.sub(lambda match: _linked(match, findings), text)
        text = _GIVEN_LINK.sub(r"\1", _NOTE_MARK.sub("", text))
    text = _EMPHASIS.sub("", _TAG.sub(" ", text) if "<" in text else text)
    text = _MOVED.sub(lambda m: chr(ord(m[0]) - _SHIFT), text)
    return html.unescape(text) if "&" in text else text


def _linked(match: re.Match[str], findings: Findings) -> str:
    """What a link reads; one to a DOI or to arXiv cites."""
    if doi := doi_in(match[3]):
        return f"{match[2]} {findings.cite([doi])}"
    if arxiv := arxiv_in(match[3]):
        return f"{match[2]} {findings.cite([f'arXiv:{arxiv}'])}"
    return match[2]


def _placed(text: str, findings: Findings) -> str:
    keys = [match[1] or match[2] for match in _KEY.finditer(text)]
    works = [key for key in keys if not _CROSS_REFERENCE.match(key)]
    return findings.cite(works) if works else ""


def entry_text(line: str) -> str:
    """A line of a list of references without emphasis, its addresses kept."""
    return _EMPHASIS.sub("", _LINK.sub(r"\2 \3 ", line))
