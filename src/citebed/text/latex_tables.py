"""Which LaTeX command stands for which character."""

from __future__ import annotations

ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "k": "\u0328",
    "r": "\u030a",
    "b": "\u0331",
    "d": "\u0323",
    "t": "\u0361",
}
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

SPACES = {
    " ": " ", "\n": " ", "\t": " ", ",": " ", ";": " ", ":": " ", ">": " ", "!": "",
    "/": "", "-": "", "@": "", "\\": " ", "(": "", ")": "", "[": "", "]": "", "": "",
    '"': "", "'": "", "`": "", "^": "", "~": "", "=": "", ".": "",
}  # fmt: skip
"""Escaped characters that are spacing, mathematics delimiters or an accent on nothing."""

BLACKBOARD = {
    "A": "𝔸", "C": "ℂ", "E": "𝔼", "F": "𝔽", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ",
    "S": "𝕊", "Z": "ℤ",
}  # fmt: skip
