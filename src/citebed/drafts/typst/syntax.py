"""What the signs and names of Typst mean for someone who reads only the prose."""

from __future__ import annotations

import re

from citebed.patterns import compiled

TOKEN = compiled(
    r"(?P<comment>//[^\n]*+|/\*)"
    r"|(?P<raw>`+)"
    r"|(?P<maths>\$)"
    r"|(?P<escape>\\(?:u\{[0-9a-fA-F]{1,6}\}|[^\s\w]|\n)?)"
    r"|(?P<address>https?://[^\s\]\[<>(){}\"]++)"
    r"|(?P<reference>(?<![\w.])@(?P<key>\w(?:[\w:./-]*\w)?))"
    r"|(?P<label><[A-Za-z_][\w:.-]*+>)"
    r"|(?P<blank>\n[ \t]*+(?:\n[ \t]*+)++)"
    r"|(?P<line>\n[ \t]*+(?:(?P<head>=+)[ \t]+|(?P<item>[-+]|\d{1,3}\.|/(?!/))[ \t]+))"
    r"|(?P<code>\#(?:(?P<name>[A-Za-z_][\w-]*+(?:\.[A-Za-z_][\w-]*+)*+)|(?=[({\[\"])))"
    r"|(?P<open>\[)|(?P<close>\])"
    r"|(?P<style>(?<!\w)[*_]|[*_](?!\w))"
)
IN_CODE = compiled(
    r"(?P<comment>//[^\n]*+|/\*)|(?P<raw>`+)|(?P<string>\"(?:[^\"\\]++|\\.)*+\"?)"
    r"|(?P<maths>\$)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n|;)|(?P<label><[\w:./-]++>)"
    r"|(?P<word>[A-Za-z_][\w.-]*+)|(?P<colon>:)|(?P<comma>,)",
    re.DOTALL,
)
STATEMENTS = frozenset(("set", "show", "let", "import", "include", "if", "for", "while", "context"))
MUTED = frozenset(
    """
    table grid image cetz raw diagram canvas equation math outline figure-table tablex lq plot
    rect circle line polygon path place-table pagebreak colbreak v h counter numbering metadata
    """.split()  # noqa: SIM905
)
TOLD = {"footnote": "note", "caption": "caption", "title": "title", "abstract": "abstract"}
SHOWN = "["
COMMENT_MARK = re.compile(r"/\*|\*/")
STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
CLOSING = {"(": ")", "[": "]", "{": "}"}
LABEL = re.compile(r"<([A-Za-z_][\w:.-]*)>")
GROUPS = (
    *("comment", "raw", "maths", "escape", "address", "reference", "label", "blank", "line"),
    *("code", "open", "close", "style"),
)
CODE_GROUPS = (
    *("comment", "raw", "string", "maths", "open", "close", "end", "label", "word", "colon"),
    "comma",
)
INCLUDED = re.compile(r"^[ \t]*#include[ \t]*\"([^\"\n]{1,500})\"", re.MULTILINE)
_POINTING = re.compile(r"(?:cite|ref|label|link|locate|query)\(\s*$")


def own_labels(text: str) -> frozenset[str]:
    """The labels that a text sets itself: an ``@`` with their names is no citation."""
    return frozenset(
        match[1]
        for match in LABEL.finditer(text)
        if not _POINTING.search(text, max(0, match.start() - 12), match.start())
    )
