"""LaTeX to clean Unicode text, and clean text to LaTeX that reads back the same.

Bibliographies mix LaTeX with HTML (publishers export both in one field), so one pass reads
both: what one token leaves behind is never looked at again, and ``\\&lt;`` stays ``&lt;``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from citebed.patterns import compiled
from citebed.text.normalise import ENTITY_PATTERN, TAG_PATTERN, entity_to_text, fold, tag_to_text

ACCENTS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a", "b": "\u0331", "d": "\u0323", "t": "\u0361",
}  # fmt: skip
"""Accent command to the combining character that follows its letter."""

LETTERS = {
    "ss": "ß", "SS": "SS", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ",
    "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð",
    "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ",
}  # fmt: skip
"""Letters as commands: the blank after one only ends its name (``S\\o rensen``)."""

SYMBOLS = {
    # text
    "textbackslash": "\\", "textbraceleft": "{", "textbraceright": "}", "lbrace": "{",
    "rbrace": "}", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
    "textgreater": ">", "textbar": "|", "textquoteleft": "‘", "textquoteright": "’",
    "textquotedblleft": "“", "textquotedblright": "”", "textquotesingle": "'",
    "textquotedbl": '"', "textasciigrave": "`", "textendash": "–", "textemdash": "—",
    "textellipsis": "…", "textregistered": "®", "texttrademark": "™", "textcopyright": "©",
    "copyright": "©", "textdegree": "°", "textperiodcentered": "·", "textbullet": "•",
    "texteuro": "€", "euro": "€", "pounds": "£", "textsterling": "£", "textyen": "¥",
    "S": "§", "P": "¶", "dag": "†", "ddag": "‡", "textdagger": "†", "textmu": "µ",
    "texttimes": "×", "textpm": "±", "textonehalf": "½", "ordfeminine": "ª",
    "textordfeminine": "ª", "textordmasculine": "º", "guillemotleft": "«",
    "guillemotright": "»", "textunderscore": "_", "textexclamdown": "¡",
    "textquestiondown": "¿", "textcent": "¢", "textsection": "§", "textsuperscript": "",
    "LaTeX": "LaTeX", "TeX": "TeX", "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮",
    # Greek
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε",
    "eps": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "varpi": "ϖ",
    "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ", "upsilon": "υ",
    "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
    "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    # mathematics
    "times": "×", "cdot": "·", "pm": "±", "mp": "∓", "div": "÷", "ast": "∗", "star": "⋆",
    "circ": "∘", "bullet": "∙", "oplus": "⊕", "otimes": "⊗", "le": "≤", "leq": "≤",
    "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "ll": "≪", "gg": "≫",
    "neq": "≠", "ne": "≠", "equiv": "≡", "approx": "≈", "sim": "∼", "simeq": "≃", "cong": "≅",
    "propto": "∝", "in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "subseteq": "⊆",
    "supset": "⊃", "supseteq": "⊇", "cup": "∪", "cap": "∩", "setminus": "∖", "emptyset": "∅",
    "forall": "∀", "exists": "∃", "neg": "¬", "lnot": "¬", "land": "∧", "wedge": "∧",
    "lor": "∨", "vee": "∨", "to": "→", "rightarrow": "→", "longrightarrow": "→",
    "leftarrow": "←", "leftrightarrow": "↔", "Rightarrow": "⇒", "Leftarrow": "⇐",
    "Leftrightarrow": "⇔", "mapsto": "↦", "uparrow": "↑", "downarrow": "↓", "infty": "∞",
    "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏", "int": "∫", "ell": "ℓ",
    "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "mid": "|", "vert": "|",
    "Vert": "‖", "parallel": "∥", "perp": "⊥", "models": "⊨", "vdash": "⊢", "angle": "∠",
    "prime": "′", "top": "⊤", "bot": "⊥", "triangle": "△", "rhd": "⊳", "lhd": "⊲",
    "square": "□", "diamond": "⋄", "checkmark": "✓", "degree": "°", "colon": ":",
    "lbrack": "[", "rbrack": "]", "backslash": "\\", "quad": " ", "qquad": " ",
}  # fmt: skip
"""Symbols: the blank after one is kept, since in running text it was meant (``a \\times b``)."""

NOTHING = frozenset(
    """
    emph em it bf rm sf sc tt sl bfseries itshape upshape scshape ttfamily rmfamily sffamily
    textit textbf textrm textsf textsc texttt textsl textup textnormal text mbox hbox fbox
    underline uline sout uppercase lowercase MakeUppercase MakeLowercase ensuremath
    mathit mathbf mathrm mathsf mathtt mathcal cal mathscr mathfrak boldsymbol bm boldmath
    operatorname left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle
    scriptstyle limits nolimits protect relax noopsort url path nolinkurl href selectlanguage
    hat bar vec tilde widetilde widehat overline dot ddot small large Large footnotesize tiny
    normalsize par newline linebreak noindent centering hskip xspace null
    """.split()  # noqa: SIM905
)
"""Commands that only change how their argument looks, or nothing at all."""

_SPACES = {
    " ": " ", "\n": " ", "\t": " ", ",": " ", ";": " ", ":": " ", ">": " ", "!": "",
    "/": "", "-": "", "@": "", "\\": " ", "(": "", ")": "", "[": "", "]": "", "": "",
    '"': "", "'": "", "`": "", "^": "", "~": "", "=": "", ".": "",
}  # fmt: skip
"""Escaped characters that are spacing, mathematics delimiters or an accent on nothing."""

_BLACKBOARD = {
    "A": "𝔸", "C": "ℂ", "E": "𝔼", "F": "𝔽", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ",
    "S": "𝕊", "Z": "ℤ",
}  # fmt: skip


# --- LaTeX to text --------------------------------------------------------------------------

_LETTER = r"\\[ij](?![A-Za-z])|[A-Za-z]"
_GROUP = r"\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}"

# The leading class lets the search skip plain text quickly; each alternative then looks back
# at the one character that the class took.
_TOKEN = compiled(
    rf"""[\\{{}}$~&<^_`'-](?:
    (?P<accent>  (?<=\\) (["'`^~=.]) \s*+ (?: \{{ \s*+ ((?:{_LETTER})?) \s*+ \}} | ({_LETTER}) ) )
  | (?P<mark>    (?<=\\) ([cvuHkrbdt])
                 (?: \s*+ \{{ \s*+ ((?:{_LETTER})?) \s*+ \}} | \s++ ({_LETTER}) ) )
  | (?P<frac>    (?<=\\) [dt]?frac \s*+ {_GROUP} \s*+ {_GROUP} )
  | (?P<sqrt>    (?<=\\) sqrt \s*+ (?:\[[^][{{}}]*+\])? {_GROUP} )
  | (?P<board>   (?<=\\) (?:mathbb|Bbb) \s*+ \{{? ([A-Za-z]) (?![A-Za-z]) \}}? )
  | (?P<drop>    (?<=\\) (?:
                     (?:cite[a-z]*+|label|ref|vspace|hspace)\*?
                     (?:\[[^][{{}}]*+\])*+ \{{[^{{}}]*+\}}
                   | href \s*+ \{{[^{{}}]*+\}} (?=\{{) ) )
  | (?P<command> (?<=\\) ([A-Za-z]++) \*? (\s*+\{{\}}|\s++)? )
  | (?P<escaped> (?<=\\) (.?) )
  | (?P<brace>   (?<=[{{}}]) )
  | (?P<dash>    (?<=-) --?+ )
  | (?P<quote>   (?<=`) ` | (?<=') ' )
  | (?P<tie>     (?<=~) )
  | (?P<script>  (?<=[\^_]) {_GROUP} )
  | (?P<display> (?<=\$) \$ ([^$]*+) \$\$ )
  | (?P<sign>    (?<=\$) (\\[A-Za-z]++\s*+|[<>=+]) \$ )
  | (?P<math>    (?<=\$) (?=[^\s$]) ((?:[^$\\]++|\\.)*+) (?<=\S) \$ (?!\d) )
  | (?P<entity>  (?<=&) {ENTITY_PATTERN[1:]} )
  | (?P<power>   (?<=<) (?:sup|superscript)> \s*+ ([-+−]?+\d++) \s*+ </(?:sup|superscript)> )
  | (?P<tag>     (?<=<) (?i:{TAG_PATTERN[1:]}) )
    )""",
    re.VERBOSE | re.DOTALL,
)
# Its attributes end before another tag begins; ``\\&lt;`` is not HTML but three plain letters.
_ESCAPED_TAG = compiled(
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
        and "--" not in text
        and "''" not in text
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
    return fold(_plain(text))


def _replace(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return _HANDLERS[kind](match, _TOKEN.groupindex[kind])


def _plain(tex: str) -> str:
    return _TOKEN.sub(_replace, tex)


def _in_parentheses(tex: str) -> str:
    text = _plain(tex).strip()
    return text if re.fullmatch(r"\w*|[-−+]?\d+(\.\d+)?", text) else f"({text})"


def _accent(match: re.Match[str], at: int) -> str:
    mark, base = match[at + 1], match[at + 2] or match[at + 3]
    if not base:
        return mark if mark in "\"'`^~=." else ""
    return unicodedata.normalize("NFC", base[-1] + ACCENTS[mark])


def _command(match: re.Match[str], at: int) -> str:
    name, tail = match[at + 1], match[at + 2] or ""
    if (letter := LETTERS.get(name)) is not None:
        return letter
    blank = " " if tail and tail.isspace() else ""
    if (symbol := SYMBOLS.get(name)) is not None:
        return symbol + blank
    takes_argument = match.string[match.end() : match.end() + 1] == "{"
    return "" if name in NOTHING or takes_argument else name + blank


# Given the match and the number of its alternative's group; what is inside has the next numbers.
_HANDLERS: dict[str, Callable[[re.Match[str], int], str]] = {
    "accent": _accent,
    "mark": _accent,
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

INLINE_MATHS = compiled(r"\$((?:[^$\\\n]++|\\.|\n(?![ \t]*+\n))++)\$", re.DOTALL)
"""``$…$`` within one paragraph, at a dollar."""

DISPLAY_MATHS = {
    "$": compiled(r"\$\$[^$]*+\$\$"),
    "(": compiled(r"\\\(((?:[^\\\n]++|\\[^()]|\n(?![ \t]*+\n))*+)\\\)"),
    "[": compiled(r"\\\[((?:[^\\]++|\\[^][])*+)\\\]"),
}
"""Formulas in other delimiters, by what they begin with; one ends before another begins."""


def maths_as_text(tex: str) -> str:
    """A formula as it would be read out, or a blank where it is too long for that."""
    if len(tex) > 8 * _LONGEST_FORMULA:
        return " "
    text = latex_to_text(tex)
    return text if len(text) <= _LONGEST_FORMULA else " "
