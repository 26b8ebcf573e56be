"""The LaTeX commands that bibliographies use, and the text for each."""

from __future__ import annotations

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
