"""LaTeX to clean Unicode text, and clean text to LaTeX that reads back the same.

Bibliographies mix LaTeX with HTML (publishers export both in one field), so one pass reads
both: what one token leaves behind is never looked at again, and ``\\&lt;`` stays ``&lt;``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable

from citebed.text.latex_commands import (
    ACCENT_NUMBERS,
    ACCENTS,
    LETTERS,
    MATHS_ACCENTS,
    NOTHING,
    OPERATORS,
    SYMBOLS,
)
from citebed.text.normalise import ENTITY_PATTERN, TAG_PATTERN, entity_to_text, fold, tag_to_text
from citebed.text.regex import compile_regex

_SPACES = {
    " ": " ", "\n": " ", "\t": " ", ",": " ", ";": " ", ":": " ", ">": " ", "!": "",
    "/": "", "-": "", "@": "", "\\": " ", "(": "", ")": "", "[": "", "]": "", "": "",
    '"': "", "'": "", "`": "", "^": "", "~": "", "=": "", ".": "",
}  # fmt: skip
"""Escaped characters that are spacing, mathematics delimiters or an accent on nothing."""

_DOTTED = {"ı": "i", "ȷ": "j"}
_BLACKBOARD = {
    "A": "𝔸", "C": "ℂ", "E": "𝔼", "F": "𝔽", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ",
    "S": "𝕊", "Z": "ℤ",
}  # fmt: skip


# --- LaTeX to text --------------------------------------------------------------------------

_LETTER = r"\\(?:[ijoOlL]|ae|AE|oe|OE|aa|AA)(?![A-Za-z])\s*+|[A-Za-z]"
_GROUP = r"\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}"

# The leading class lets the search skip plain text quickly; each alternative then looks back
# at the one character that the class took.
_TOKEN = compile_regex(
    rf"""[\\{{}}$~&<^_`'-](?:
    (?P<accent>  (?<=\\) (["'`^~=.]) \s*+ (?: {_GROUP} | (\\["'`^~=.][A-Za-z]|{_LETTER}) ) )
  | (?P<mark>    (?<=\\) ([cvuHkrbdt]) (?: \s*+ {_GROUP} | (?=[\\\s]) \s*+ ({_LETTER}) ) )
  | (?P<above>   (?<=\\) (acute|grave|check|breve|mathring|ddot)
                 (?: \s*+ {_GROUP} | (?=[\\\s]) \s*+ ({_LETTER}) ) )
  | (?P<number>  (?<=\\) accent \s*+ ('[0-7]++|"[0-9A-F]++|\d++) \s*+ \{{?+ ({_LETTER}) )
  | (?P<char>    (?<=\\) (?: char \s*+ ('[0-7]++|"[0-9A-F]++|\d++|`\\?+[!-~])
                        | symbol \s*+ \{{ \s*+ ('[0-7]++|"[0-9A-F]++|\d++) \s*+ \}} ) \s?+ )
  | (?P<frac>    (?<=\\) [dt]?frac \s*+ {_GROUP} \s*+ {_GROUP} )
  | (?P<sqrt>    (?<=\\) sqrt \s*+ (?:\[[^][{{}}]*+\])? {_GROUP} )
  | (?P<level>   (?<=\\) s([bp]) (?![A-Za-z]) \s*+ (?: {_GROUP} | (\\[A-Za-z]++|[^\s\\{{}}]) ) )
  | (?P<first>   (?<=\\) (?:printfirst|htmladdnormallink) \s*+ {_GROUP} \s*+ {_GROUP} )
  | (?P<second>  (?<=\\) (?:bibinfo|textcolor) \s*+ \{{[^{{}}]*+\}} (?=\{{) )
  | (?P<board>   (?<=\\) (?:mathbb|Bbb) \s*+ \{{? ([A-Za-z]) (?![A-Za-z]) \}}? )
  | (?P<drop>    (?<=\\) (?:
                     (?:cite[a-z]*+|label|ref|vspace|hspace|[hv]?phantom|noopsort|SortNoop
                       |begin|end|color|rule\{{[^{{}}]*+\}})\*?
                     (?:\[[^][{{}}]*+\])*+ \{{[^{{}}]*+\}}
                   | [hv]?phantom \\[{{}}]
                   | penalty \s*+ [-+]?+ \d++ \s?+
                   | href \s*+ \{{[^{{}}]*+\}} (?=\{{) ) )
  | (?P<command> (?<=\\) ([A-Za-z]++) \*? (\s*+\{{\}}|\s++)? )
  | (?P<escaped> (?<=\\) (.?) )
  | (?P<brace>   (?<=[{{}}]) )
  | (?P<dash>    (?<=-) --?+ )
  | (?P<quote>   (?<=`) ` | (?<=') ' )
  | (?P<tie>     (?<=~) )
  | (?P<script>  (?<=[\^_]) {_GROUP} )
  | (?P<display> (?<=\$) \$ ([^$]*+) \$\$ )
  | (?P<sign>    (?<=\$) (\\[A-Za-z]++\s*+|[<>=+-]) \$ )
  | (?P<math>    (?<=\$) (?=[^\s$]) ((?:[^$\\]++|\\.)*+) (?<=\S) \$ (?!\d) )
  | (?P<entity>  (?<=&) {ENTITY_PATTERN[1:]} )
  | (?P<power>   (?<=<) (?:sup|superscript)> \s*+ ([-+−]?+\d++) \s*+ </(?:sup|superscript)> )
  | (?P<tag>     (?<=<) (?i:{TAG_PATTERN[1:]}) )
    )""",
    re.VERBOSE | re.DOTALL,
)
# Its attributes end before another tag begins; ``\\&lt;`` is not HTML but three plain letters.
_ESCAPED_TAG = compile_regex(
    rf"(?<!\\)&lt;((?i:{TAG_PATTERN[1:-1]}))&gt;".replace("[^<>]*", "(?:[^<>&]|&(?![lg]t;))*+")
)


def is_plain(text: str) -> bool:
    """Whether the text holds nothing that ``latex_to_text`` would look at."""
    # Written out: this runs for every field of every record, and a loop costs four times as much.
    return not (
        "\\" in text
        or "{" in text
        or "}" in text
        or "&" in text
        or "$" in text
        or "<" in text
        or "~" in text
        or "--" in text
        or "``" in text
        or "''" in text
    )


_HARMLESS = bytes(set(range(0x20, 0x7F)) - set(b"\\{}$~&<`"))


def _is_clean(text: str) -> bool:
    """Whether this is ASCII that needs nothing done, found out as quickly as can be."""
    return (
        text.isascii()
        and not text.encode("ascii").translate(None, _HARMLESS)
        and "  " not in text
        and ("-" not in text or "--" not in text)
        and ("'" not in text or "''" not in text)
        and text[:1] != " "
        and text[-1:] != " "
    )


def latex_to_text(text: str) -> str:
    """Clean Unicode text of a LaTeX string: accents, symbols and dashes resolved, braces gone.

    Mathematics stays readable (``$O(n \\log n)$`` is ``O(n log n)``), formatting commands
    leave their contents, an unknown command leaves its name. HTML tags and entities are
    resolved too. Never fails: what is not LaTeX stays as it is.
    """
    if _is_clean(text):
        return text
    if is_plain(text):
        return fold(text)
    if "&lt;" in text:
        text = _ESCAPED_TAG.sub(r"<\1>", text)
    if "backslash" in text:
        text = _TWICE.sub(_once, text)
    return fold(_plain(in_text_mode(text)))


# Mendeley and Zotero escape what was LaTeX already: ``O{\textbackslash}textquotesingle Connor``.
_TWICE = compile_regex(
    r"(?:\{\\textbackslash\}|\$\\backslash\$)(?:([A-Za-z]{2,})|([\"'`^~=.])\\?\{?([A-Za-z])\\?\}?)"
)


def _once(match: re.Match[str]) -> str:
    """The command that a backslash escaped too much was meant for, if it is one."""
    if match[1] is None:
        return f"\\{match[2]}{{{match[3]}}}"
    return f"\\{match[1]}" if match[1] in KNOWN_COMMANDS else match[0]


# What stands in it is bounded: one that never ends costs no second look at all that follows.
_MODE = compile_regex(
    r"\\ifmmode(?![A-Za-z])(?:(?!\\else|\\fi).){0,200}+"
    r"(?:\\else(?![A-Za-z])\s*+((?:(?!\\fi(?![A-Za-z])).){0,200}+))?+\\fi(?![A-Za-z])(?:\{\}|\s++)?+",
    re.DOTALL,
)


_NAME_LAST = re.compile(r"\\[A-Za-z]{1,40}\Z")


def in_text_mode(tex: str) -> str:
    """LaTeX without the mathematical half of the APS's ``\\ifmmode … \\else … \\fi``."""
    return _MODE.sub(_of_text, tex) if "\\ifmmode" in tex else tex


def _of_text(match: re.Match[str]) -> str:
    """The half for text; a command at its end stays apart from what follows (``\\mu\\fi{}m``)."""
    half = match[1] or ""
    return half + "{}" if _NAME_LAST.search(half) else half


def _replace(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return _HANDLERS[kind](match, _TOKEN.groupindex[kind])


def _plain(tex: str) -> str:
    return _TOKEN.sub(_replace, tex)


def _in_parentheses(tex: str) -> str:
    text = _plain(tex).strip()
    return text if re.fullmatch(r"\w*|[-−+]?\d+(\.\d+)?", text) else f"({text})"


def _accent(match: re.Match[str], at: int) -> str:
    """The letter with its accent; an accent on nothing is the sign, on a word it is left out."""
    mark, group, letter = match[at + 1], match[at + 2], match[at + 3]
    base = _plain(letter if group is None else group).strip()
    if not base:
        return mark if mark in "\"'`^~=." else ""
    return _accented(base, mark)


def _accented(base: str, mark: str) -> str:
    parts = unicodedata.normalize("NFD", base)
    first, marks = parts[0], parts[1:]
    if not first.isalpha() or not all(map(unicodedata.combining, marks)):
        return base
    return unicodedata.normalize("NFC", _DOTTED.get(first, first) + marks + ACCENTS[mark])


def _maths_accent(match: re.Match[str], at: int) -> str:
    base = _plain(match[at + 2] if match[at + 3] is None else match[at + 3]).strip()
    return _accented(base, MATHS_ACCENTS[match[at + 1]]) if base else ""


def _numbered_accent(match: re.Match[str], at: int) -> str:
    """TeX's ``\\accent23u``, its number in decimal, octal (``'27``) or hexadecimal (``"17``)."""
    given, base = match[at + 1], _plain(match[at + 2]).strip()
    number = _number(given)
    return _accented(base, ACCENT_NUMBERS[number]) if number in ACCENT_NUMBERS else base


def _number(given: str) -> int:
    """A number as TeX writes it, in decimal, octal or hexadecimal; no letter has a longer one."""
    return int(given.strip("'\"")[:7], {"'": 8, '"': 16}.get(given[0], 10))


def _char(match: re.Match[str], at: int) -> str:
    """A letter by its number, as TeX (``\\char233``, also ``\\char`\\%``) and LaTeX write it."""
    given = match[at + 1] or match[at + 2]
    if given[0] == "`":
        return given[-1]
    number = _number(given)
    return chr(number) if number <= sys.maxunicode and chr(number).isprintable() else ""


def _level(match: re.Match[str], at: int) -> str:
    """TeX's ``\\sb`` and ``\\sp``: an index below or above the line."""
    tex = match[at + 3] if match[at + 2] is None else match[at + 2]
    return ("_" if match[at + 1] == "b" else "^") + _in_parentheses(tex)


def _command(match: re.Match[str], at: int) -> str:
    name, tail = match[at + 1], match[at + 2] or ""
    if (letter := LETTERS.get(name)) is not None:
        return letter
    blank = " " if tail and tail.isspace() else ""
    if (symbol := _symbol(name)) is not None:
        return symbol + blank
    takes_argument = match.string[match.end() : match.end() + 1] == "{"
    return "" if name in NOTHING or takes_argument else name + blank


def _symbol(name: str) -> str | None:
    """What a symbol prints; Greek letters in text (``\\textalpha``, ``\\upmu``) too."""
    found = SYMBOLS.get(name)
    if found is None and name.startswith(("text", "up")):
        greek = SYMBOLS.get(name.removeprefix("text").removeprefix("up"), "")
        found = greek if "\u0370" <= greek <= "\u03ff" else None
    return found


# Given the match and the number of its alternative's group; what is inside has the next numbers.
_HANDLERS: dict[str, Callable[[re.Match[str], int], str]] = {
    "accent": _accent,
    "mark": _accent,
    "above": _maths_accent,
    "number": _numbered_accent,
    "char": _char,
    "level": _level,
    "first": lambda m, at: _plain(m[at + 1]),
    "second": lambda _m, _at: "",
    "frac": lambda m, at: f"{_in_parentheses(m[at + 1])}/{_in_parentheses(m[at + 2])}",
    "sqrt": lambda m, at: "√" + _in_parentheses(m[at + 1]),
    "board": lambda m, at: _BLACKBOARD.get(m[at + 1], m[at + 1]),
    "drop": lambda _m, _at: "",
    "command": _command,
    "escaped": lambda m, at: _SPACES.get(m[at + 1], m[at + 1]),
    "script": lambda m, at: m[0][0] + _in_parentheses(m[at + 1]),
    "display": lambda m, at: _plain(m[at + 1]),
    "sign": lambda m, at: _plain(m[at + 1]),
    "math": lambda m, at: _plain(m[at + 1]),
    "power": lambda m, at: "^" + m[at + 1],
    "tag": lambda m, _at: tag_to_text(m[0]),
    "entity": lambda m, _at: entity_to_text(m[0]),
    "dash": lambda m, _at: "—" if len(m[0]) == 3 else "–",
    "quote": lambda m, _at: "“" if m[0] == "``" else "”",
    "tie": lambda _m, _at: " ",
    "brace": lambda _m, _at: "",
}


KNOWN_COMMANDS = frozenset(
    (
        *ACCENTS, *MATHS_ACCENTS, *LETTERS, *SYMBOLS, *NOTHING, *OPERATORS,
        *("frac", "dfrac", "tfrac", "sqrt", "mathbb", "Bbb", "accent", "ifmmode", "else", "fi"),
        *("char", "symbol", "penalty"),
        *("printfirst", "htmladdnormallink", "bibinfo", "textcolor", "cite", "citep", "citet"),
        *("label", "ref", "hspace", "vspace", "phantom", "hphantom", "vphantom", "noopsort"),
        *("SortNoop", "begin", "end", "color", "rule"),
    )
)  # fmt: skip
"""Commands of which no name is left, or the one that they print."""


# --- The way back ---------------------------------------------------------------------------

_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    "$": r"\$", "%": r"\%", "&": r"\&", "#": r"\#", "_": r"\_",
})  # fmt: skip
_LIGATED = re.compile(r"-(?=-)|`(?=`)|'(?=')")


def text_to_latex(text: str) -> str:
    """LaTeX for clean text, with balanced braces, that ``latex_to_text`` reads back unchanged."""
    text = text.translate(_ESCAPES)
    return _LIGATED.sub(lambda m: m[0] + "{}", text)


# --- Formulas -------------------------------------------------------------------------------

_LONGEST_FORMULA = 20
"""Formulas that read as more characters than this say nothing to a search for papers."""

INLINE_MATHS = compile_regex(r"\$((?:[^$\\\n]++|\\.|\n(?![ \t]*+\n))++)\$", re.DOTALL)
"""``$…$`` within one paragraph, at a dollar."""

DISPLAY_MATHS = {
    "$": compile_regex(r"\$\$[^$]*+\$\$"),
    "(": compile_regex(r"\\\(((?:[^\\\n]++|\\[^()]|\n(?![ \t]*+\n))*+)\\\)"),
    "[": compile_regex(r"\\\[((?:[^\\]++|\\[^][])*+)\\\]"),
}
"""Formulas in other delimiters, by what they begin with; one ends before another begins."""


def maths_as_text(tex: str) -> str:
    """A formula as it would be read out, or a blank where it is too long for that."""
    if len(tex) > 8 * _LONGEST_FORMULA:
        return " "
    text = latex_to_text(tex)
    return text if len(text) <= _LONGEST_FORMULA else " "
