"""Convert LaTeX to clean Unicode text, and back.

Bibliographies mix LaTeX with HTML in one field, so a single pass reads both. The output of a token
is not read again: ``\\&lt;`` stays ``&lt;``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable

from citebed.text.normalise import ENTITY_PATTERN, TAG_PATTERN, entity_to_text, fold, tag_to_text
from citebed.text.regex import compile_regex

ACCENTS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a", "b": "\u0331", "d": "\u0323", "t": "\u0361",
}  # fmt: skip
"""Accent commands and their combining characters."""

MATHS_ACCENTS = {
    "acute": "'", "grave": "`", "check": "v", "breve": "u", "mathring": "r", "ddot": '"',
}  # fmt: skip
"""Accents of formulas, which publishers use in names (``Schr$\\ddot{o}$dinger``)."""

ACCENT_NUMBERS = {
    18: "`", 19: "'", 20: "v", 21: "u", 22: "=", 23: "r", 24: "c", 94: "^", 95: ".", 125: "H",
    126: "~", 127: '"',
}  # fmt: skip
"""The numbers of accents in TeX's fonts, for ``\\accent23u``."""

LETTERS = {
    "ss": "ß", "SS": "SS", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ",
    "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð",
    "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ", "ij": "ij", "IJ": "IJ",
    "imath": "ı", "jmath": "ȷ", "cprime": "'", "cdprime": '"', "slash": "/", "hyphen": "-",
}  # fmt: skip
"""Letters; the space after the command only ends its name (``S\\o rensen``)."""

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
    "textrightarrow": "→", "textleftarrow": "←", "textuparrow": "↑", "textdownarrow": "↓",
    "textonequarter": "¼", "textthreequarters": "¾", "textonesuperior": "¹",
    "texttwosuperior": "²", "textthreesuperior": "³", "textdiv": "÷", "textlnot": "¬",
    "textparagraph": "¶", "textbrokenbar": "¦", "textasteriskcentered": "*", "textdollar": "$",
    "textperthousand": "‰", "textnumero": "№", "textohm": "Ω", "textcelsius": "℃",
    "textsurd": "√", "textminus": "−", "textvisiblespace": " ", "textasciimacron": "¯",
    "quotesinglbase": "‚", "quotedblbase": "„", "guilsinglleft": "‹", "guilsinglright": "›",
    "glqq": "„", "grqq": "“", "glq": "‚", "grq": "‘", "flqq": "«", "frqq": "»", "flq": "‹",
    "frq": "›", "og": "«", "fg": "»", "lq": "‘", "rq": "’", "emdash": "—", "endash": "–",
    "mdash": "—", "ndash": "–",
    "pound": "£", "ohm": "Ω", "micro": "µ", "celsius": "℃", "angstrom": "Å", "permil": "‰",
    "nobreakspace": " ", "space": " ", "dagger": "†", "ddagger": "‡",
    "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "dots": "…", "ldots": "…",
    "cdots": "⋯", "vdots": "⋮",
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
    "partial": "∂", "sum": "∑", "prod": "∏", "int": "∫", "ell": "ℓ",
    "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "mid": "|", "vert": "|",
    "Vert": "‖", "parallel": "∥", "perp": "⊥", "models": "⊨", "vdash": "⊢", "angle": "∠",
    "prime": "′", "top": "⊤", "bot": "⊥", "triangle": "△", "rhd": "⊳", "lhd": "⊲",
    "square": "□", "diamond": "⋄", "checkmark": "✓", "degree": "°", "colon": ":",
    "surd": "√", "gets": "←", "longleftarrow": "←", "longleftrightarrow": "↔", "iff": "⇔",
    "implies": "⇒", "Longrightarrow": "⇒", "Longleftarrow": "⇐", "Longleftrightarrow": "⇔",
    "longmapsto": "↦", "hookrightarrow": "↪", "hookleftarrow": "↩", "twoheadrightarrow": "↠",
    "rightleftharpoons": "⇌", "leftrightarrows": "⇆", "rightharpoonup": "⇀", "nearrow": "↗",
    "searrow": "↘", "updownarrow": "↕", "Uparrow": "⇑", "Downarrow": "⇓", "rightsquigarrow": "⇝",
    "bigcup": "⋃", "bigcap": "⋂", "bigvee": "⋁", "bigwedge": "⋀", "bigoplus": "⊕",
    "bigotimes": "⊗", "coprod": "∐", "oint": "∮", "iint": "∬", "ominus": "⊖", "oslash": "⊘",
    "odot": "⊙", "uplus": "⊎", "sqcup": "⊔", "sqcap": "⊓", "amalg": "⨿", "ltimes": "⋉",
    "rtimes": "⋊", "wr": "≀", "prec": "≺", "succ": "≻", "preceq": "⪯", "succeq": "⪰",
    "asymp": "≍", "doteq": "≐", "lesssim": "≲", "gtrsim": "≳", "lessapprox": "⪅",
    "gtrapprox": "⪆", "subsetneq": "⊊", "supsetneq": "⊋", "nsubseteq": "⊈", "sqsubseteq": "⊑",
    "sqsupseteq": "⊒", "nmid": "∤", "nexists": "∄", "varnothing": "∅", "complement": "∁",
    "wp": "℘", "beth": "ℶ", "hslash": "ℏ", "mho": "℧", "natural": "♮", "flat": "♭", "sharp": "♯",
    "Box": "□", "Diamond": "◇", "blacksquare": "■", "bigcirc": "○", "lvert": "|", "rvert": "|",
    "lVert": "‖", "rVert": "‖", "therefore": "∴", "because": "∵", "dotsc": "…", "dotsb": "⋯",
    "dashv": "⊣", "Vdash": "⊩", "vDash": "⊨", "measuredangle": "∡", "ddots": "⋱", "lozenge": "◊",
    "bigstar": "★", "nabla": "∇", "triangleq": "≜", "trianglelefteq": "⊴", "leadsto": "⇝",
    "lbrack": "[", "rbrack": "]", "backslash": "\\", "quad": " ", "qquad": " ",
}  # fmt: skip
"""Symbols; the space after the command stays, because authors mean it (``a \\times b``)."""

NOTHING = frozenset(
    """
    emph em it bf rm sf sc tt sl bfseries itshape upshape scshape ttfamily rmfamily sffamily
    textit textbf textrm textsf textsc texttt textsl textup textnormal text mbox hbox fbox
    underline uline sout uppercase lowercase MakeUppercase MakeLowercase ensuremath
    mathit mathbf mathrm mathsf mathtt mathcal cal mathscr mathfrak boldsymbol bm boldmath
    operatorname left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle
    scriptstyle limits nolimits protect relax url path nolinkurl href selectlanguage
    hat bar vec tilde widetilde widehat overline dot ddot small large Large footnotesize tiny
    normalsize par newline linebreak noindent centering hskip xspace null normalfont unskip
    ignorespaces allowbreak nobreak hfill mathop mathbin mathrel mathord mathopen mathclose
    mathnormal rlap llap smash upright enquote mkbibquote mkbibemph bibnamefont bibfnamefont
    textsubscript ud toenglish endtoenglish cyr cyracc bibpar singleletter proglang pkg
    """.split()  # noqa: SIM905
)
"""Commands that only change how their argument looks, or nothing at all."""

OPERATORS = frozenset(
    """
    log ln lg exp sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan min max inf sup
    lim liminf limsup det dim ker deg arg gcd hom Pr mod bmod pmod
    """.split()  # noqa: SIM905
)
"""Commands that print their own name."""

BIBLIOGRAPHIES = frozenset(
    """
    a accent char symbol choose over frac dfrac tfrac binom sqrt sb sp mathbb Bbb mathbbm mathds
    stackrel overset underset underbrace overbrace overrightarrow substack nonumber notag
    cdotp nicefrac sfrac not lt gt hphantom vphantom phantom hspace vspace penalty kern hfil
    thinspace negthinspace enspace thickspace medspace leavevmode strut nolinebreak slshape
    mdseries textmd ulcorner urcorner SI si num qty unit ce textsc textlangle textrangle
    cite citep citet citealp citealt citeauthor citeyear textcite parencite nocite
    doi urlprefix urlstyle eprint arxiv bibinfo natexlab noopsort SortNoop printfirst
    switchargs htmladdnormallink textcolor color ieeetran mkbibbold mkbibitalic
    mkbibparens mkbibbrackets bibstring bibrangedash bibrangessep addspace addcomma adddot addcolon
    addsemicolon addperiod autocap textquote hyphenquote foreignquote
    foreignlanguage textgreek textcyrillic textlatin inprep inpress submitted etal etc ie eg
    iint iiint varkappa digamma varGamma varDelta varTheta varLambda varXi varPi varSigma varPhi
    varPsi varOmega mathbfit mathsfit bold boldmath unboldmath vartriangle sphericalangle
    """.split()  # noqa: SIM905
)
"""Further commands in bibliographies that only print."""


_SPACES = {
    " ": " ", "\n": " ", "\t": " ", ",": " ", ";": " ", ":": " ", ">": " ", "!": "",
    "/": "", "-": "", "@": "", "\\": " ", "(": "", ")": "", "[": "", "]": "", "": "",
    '"': "", "'": "", "`": "", "^": "", "~": "", "=": "", ".": "",
}  # fmt: skip
"""Escaped characters that are spacing, delimiters of formulas, or accents without a letter."""

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
# Its attributes end before another tag begins; ``\\&lt;`` is plain text, not HTML.
_ESCAPED_TAG = compile_regex(
    rf"(?<!\\)&lt;((?i:{TAG_PATTERN[1:-1]}))&gt;".replace("[^<>]*", "(?:[^<>&]|&(?![lg]t;))*+")
)


def is_plain(text: str) -> bool:
    """Return True if ``latex_to_text`` would change nothing but white space."""
    # This runs for every field of every record; a loop would take four times as long.
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


def latex_to_text(text: str) -> str:
    """Return clean Unicode text for LaTeX, with accents, symbols and dashes, without braces.

    Formulas stay readable (``$O(n \\log n)$`` becomes ``O(n log n)``), formatting commands become
    their contents, unknown commands their names. HTML tags and entities are converted, too. Other
    text stays as it is; this never fails.
    """
    if (
        text.isascii()
        and not text.encode("ascii").translate(None, _HARMLESS)
        and "  " not in text
        and ("-" not in text or "--" not in text)
        and ("'" not in text or "''" not in text)
        and text[:1] != " "
        and text[-1:] != " "
    ):
        return text
    if is_plain(text):
        return fold(text)
    if "&lt;" in text:
        text = _ESCAPED_TAG.sub(r"<\1>", text)
    if "backslash" in text:
        text = _TWICE.sub(_unescaped_command, text)
    return fold(_plain(in_text_mode(text)))


# Mendeley and Zotero escape LaTeX once more: ``O{\textbackslash}textquotesingle Connor``.
_TWICE = compile_regex(
    r"(?:\{\\textbackslash\}|\$\\backslash\$)(?:([A-Za-z]{2,})|([\"'`^~=.])\\?\{?([A-Za-z])\\?\}?)"
)


def _unescaped_command(match: re.Match[str]) -> str:
    """Return the command whose backslash was escaped, if it is a known one."""
    if match[1] is None:
        return f"\\{match[2]}{{{match[3]}}}"
    return f"\\{match[1]}" if match[1] in KNOWN_COMMANDS else match[0]


# Its length is limited, so that one without an end does not cost much time.
_MODE = compile_regex(
    r"\\ifmmode(?![A-Za-z])(?:(?!\\else|\\fi).){0,200}+"
    r"(?:\\else(?![A-Za-z])\s*+((?:(?!\\fi(?![A-Za-z])).){0,200}+))?+\\fi(?![A-Za-z])(?:\{\}|\s++)?+",
    re.DOTALL,
)


_NAME_LAST = re.compile(r"\\[A-Za-z]{1,40}\Z")


def in_text_mode(tex: str) -> str:
    """Return LaTeX without the mathematical half of ``\\ifmmode … \\else … \\fi``."""
    if "\\ifmmode" not in tex:
        return tex
    # The half for text; braces separate its final command from what follows (``\mu\fi{}m``).
    return _MODE.sub(lambda match: _NAME_LAST.sub(r"\g<0>{}", match[1] or ""), tex)


def _plain(tex: str) -> str:
    return _TOKEN.sub(lambda m: _HANDLERS[m.lastgroup or ""](m, m.lastindex or 0), tex)


def _in_parentheses(tex: str) -> str:
    text = _plain(tex).strip()
    return text if re.fullmatch(r"\w*|[-−+]?\d+(\.\d+)?", text) else f"({text})"


def _accent(match: re.Match[str], at: int) -> str:
    """Return a letter with its accent; without a letter the accent itself; a word without it."""
    mark, group, letter = match[at + 1], match[at + 2], match[at + 3]
    base = _plain(letter if group is None else group).strip()
    if not base:
        return mark if mark in "\"'`^~=." else ""
    return _accented(base, MATHS_ACCENTS.get(mark, mark))


def _accented(base: str, mark: str) -> str:
    parts = unicodedata.normalize("NFD", base)
    first, marks = parts[0], parts[1:]
    if not first.isalpha() or not all(map(unicodedata.combining, marks)):
        return base
    return unicodedata.normalize("NFC", _DOTTED.get(first, first) + marks + ACCENTS[mark])


def _numbered_accent(match: re.Match[str], at: int) -> str:
    """Return TeX's ``\\accent23u``, with a decimal, octal (``'27``) or hexadecimal number."""
    given, base = match[at + 1], _plain(match[at + 2]).strip()
    number = _number(given)
    return _accented(base, ACCENT_NUMBERS[number]) if number in ACCENT_NUMBERS else base


def _number(given: str) -> int:
    """Return a TeX number in decimal, octal or hexadecimal; ignore more than seven digits."""
    return int(given.strip("'\"")[:7], {"'": 8, '"': 16}.get(given[0], 10))


def _char(match: re.Match[str], at: int) -> str:
    """Return a letter by its number: ``\\char233``, ``\\char`\\%`` or ``\\symbol{233}``."""
    given = match[at + 1] or match[at + 2]
    if given[0] == "`":
        return given[-1]
    number = _number(given)
    return chr(number) if number <= sys.maxunicode and chr(number).isprintable() else ""


def _level(match: re.Match[str], at: int) -> str:
    """Return TeX's subscripts and superscripts ``\\sb`` and ``\\sp``."""
    tex = match[at + 3] if match[at + 2] is None else match[at + 2]
    return ("_" if match[at + 1] == "b" else "^") + _in_parentheses(tex)


def _command(match: re.Match[str], at: int) -> str:
    name, tail = match[at + 1], match[at + 2] or ""
    if (letter := LETTERS.get(name)) is not None:
        return letter
    blank = " " if tail and tail.isspace() else ""
    found = SYMBOLS.get(name)
    if found is None and name.startswith(("text", "up")):
        greek = SYMBOLS.get(name.removeprefix("text").removeprefix("up"), "")
        found = greek if "\u0370" <= greek <= "\u03ff" else None
    if (symbol := found) is not None:
        return symbol + blank
    takes_argument = match.string[match.end() : match.end() + 1] == "{"
    return "" if name in NOTHING or takes_argument else name + blank


# Arguments: the match and the number of the alternative's group; groups inside have the next ones.
_HANDLERS: dict[str, Callable[[re.Match[str], int], str]] = {
    "accent": _accent,
    "mark": _accent,
    "above": _accent,
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
"""Commands that are converted, or print their own name."""


# --- Text to LaTeX --------------------------------------------------------------------------

_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    "$": r"\$", "%": r"\%", "&": r"\&", "#": r"\#", "_": r"\_",
})  # fmt: skip
_LIGATED = re.compile(r"-(?=-)|`(?=`)|'(?=')")


def text_to_latex(text: str) -> str:
    """Return LaTeX with balanced braces that ``latex_to_text`` converts back to the same text."""
    text = text.translate(_ESCAPES)
    return _LIGATED.sub(lambda m: m[0] + "{}", text)


# --- Formulas -------------------------------------------------------------------------------

_LONGEST_FORMULA = 20
"""Length in characters from which a formula does not help a search."""

INLINE_MATHS = compile_regex(r"\$((?:[^$\\\n]++|\\.|\n(?![ \t]*+\n))++)\$", re.DOTALL)
"""``$…$`` within one paragraph."""

DISPLAY_MATHS = {
    "$": compile_regex(r"\$\$[^$]*+\$\$"),
    "(": compile_regex(r"\\\(((?:[^\\\n]++|\\[^()]|\n(?![ \t]*+\n))*+)\\\)"),
    "[": compile_regex(r"\\\[((?:[^\\]++|\\[^][])*+)\\\]"),
}
"""Formulas with other delimiters, by their second character."""


def maths_as_text(tex: str) -> str:
    """Return a short formula as text, or a space for a long one."""
    if len(tex) > 8 * _LONGEST_FORMULA:
        return " "
    text = latex_to_text(tex)
    return text if len(text) <= _LONGEST_FORMULA else " "
