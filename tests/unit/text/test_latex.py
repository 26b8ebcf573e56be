"""LaTeX to text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized
from tests.strategies import ANY_TEXT, TEXT

from citebed.text.latex import is_plain, latex_to_text, text_to_latex
from citebed.text.normalise import fold


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        # accents, in every spelling
        (r"\'e \'{e} {\'e} {\'{e}} \'{ e } \' e", "é é é é é é"),
        (r"\`a \^o \~n \=a \.z \"u", "à ô ñ ā ż ü"),
        (r"\c{c} \c c {\c c} \v{s} \v s \u{g}", "ç ç ç š š ğ"),
        (r"\H{o} \k{a} \r{a} \d{s} \b{b}", "ő ą å ṣ ḇ"),
        (r"Erd{\H o}s, Erd\H os, Erd\H{o}s", "Erdős, Erdős, Erdős"),
        (r"{\'\i} \'{\i} {\^\j} \v{\i} G\"{\i} {\u\i}", "í í ĵ ǐ Gï ĭ"),
        (r"Garc\'\i a, Pevny\u\i, \'\ae x, \'{\o} x", "García, Pevnyĭ, ǽx, ǿ x"),
        (r"\d{\^e} \'{\^e} \'\^e \'{\^{e}}", "ệ ế ế ế"),
        (r"K\accent23u {\accent '27 u} \accent99 u", "Ků ů u"),
        # letters by number, breaks, French quotation marks
        (r"caf\char233 caf{\char'351} caf\char'351s, \char 233t\'e", "cafécafé cafés, été"),
        (r'caf\char"E9, \symbol{"E9}t', "café, ét"),
        (r"a\char`\_b \char`~ \symbol{95}", "a_b ~_"),
        (r"x\char7 y\char99999999 z\char, \charge", "xyzchar, charge"),
        (r"10.1000\penalty0 /x, a \penalty-100 b\penalty 10000\ c", "10.1000/x, a b c"),
        (r"\og texte \fg{}, \og{}mot\fg{} et {\og}mot{\fg}", "« texte », «mot» et «mot»"),
        (r'\accent"17 u', "ů"),
        (r"Schr$\ddot{o}$dinger, Vuleti$\acute{c}$, $\check{s}$", "Schrödinger, Vuletić, š"),
        (r"Cvitanovi\ifmmode \acute{c}\else \'{c}\fi{}, P.", "Cvitanović, P."),
        (r"Ma\ifmmode\check{s}\else\v{s}\fi ek \ifmmode x\fi{}y", "Mašek y"),
        (r"5 \ifmmode\mu\else\textmu\fi{}m \ifmmode\beta\else\textbeta\fi{} decay", "5 µm β decay"),
        (r"Y{\i}ld{\i}z", "Yıldız"),
        (r"\'{E}cole {\'E}cole \'Ecole", "École École École"),
        ("\\'\n e", "é"),
        (r"\'{} \~{} \^{}", "' ~ ^"),
        (r"\'{ea}", "ea"),
        (r"\t{oo}", "oo"),
        # letters and ligatures
        (r"S\o rensen, {\O}re, \AA ngstr\"om, \L{}\'od\'z", "Sørensen, Øre, Ångström, Łódź"),
        (r"Stra\ss e, Stra{\ss}e, \ae\oe\AE\OE", "Straße, Straße, æœÆŒ"),
        (r"\dh\th\DH\TH\dj\ng", "ðþÐÞđŋ"),
        ("ofﬁce", "office"),
        (r"Gel\cprime fand, and\slash or, non\hyphen linear", "Gel'fand, and/or, non-linear"),
        (r"\textalpha{}-\textmu m \upmu", "α-µ m μ"),
        # dashes, quotes, ties, spaces
        ("a -- b --- c a-b", "a – b — c a-b"),
        ("``a'' `b' ''", "“a” `b' ”"),
        (r"J.~Doe J.\ Doe\, x\;y\:z\!w a\-b\/c", "J. Doe J. Doe x y zw abc"),
        (r"a\\b \\ c", "a b c"),
        (r"\textendash \textemdash{}x\ldots", "– —x…"),
        # escapes
        (r"C\#, AT\&T, 5\%, a\_b, \$5, \{x\}", "C#, AT&T, 5%, a_b, $5, {x}"),
        (r"a\textbackslash b \textasciitilde{}c \textless d", r"a\ b ~c < d"),
        # braces
        ("{A} {{Deep} {N}}est{}", "A Deep Nest"),
        ("un}bal{anced", "unbalanced"),
        ("{" * 9 + "x", "x"),
        # commands
        (r"\emph{a} \textit{b}{\bf c} {\em d}\textsc{e}", "a bc de"),
        (r"\foo bar \foo{bar} \foo", "foo bar bar foo"),
        (r"\LaTeX{} is \TeX", "LaTeX is TeX"),
        (r"O{\textbackslash}textquotesingle Connor", "O' Connor"),
        (r"Caf{\textbackslash}'\{e\}, Caf{\textbackslash}'e", "Café, Café"),
        (r"{\textbackslash}foo, a$\backslash$ b", r"\foo, a\ b"),
        (r"\{\vphantom\}P,N\vphantom\{\}", "{P,N}"),
        (r"{\noopsort{b}}1973 \printfirst{a}{b} \bibinfo{author}{c}", "1973 a c"),
        (r"a\cite{x} b~\cite[p. 3]{y} c\label{z}", "a b c"),
        (r"\href{http://a.b}{the page} \url{http://c.d/e_f}", "the page http://c.d/e_f"),
        # mathematics
        (r"$O(n \log n)$", "O(n log n)"),
        (r"$\alpha$-stable, \(k\)-NN, \[x\], $$y$$", "α-stable, k-NN, x, y"),
        (r"$n^2$ $x_i$ $x^{10}$ $x_{ij}$ $x^{-1}$ $x^{a+b}$", "n^2 x_i x^10 x_ij x^-1 x^(a+b)"),
        (r"$\frac{1}{2}$ $\frac{a+b}{c}$ \tfrac{n}{m}", "1/2 (a+b)/c n/m"),
        (r"$\frac{\sqrt{2}}{n_{1}}$ $x^{n^{2}}$ $x_{a_{b_{c}}}$", "(√2)/n_1 x^(n^2) x_a_b_c"),
        (r"$\sqrt{2}$ $\sqrt[3]{x+y}$", "√2 √(x+y)"),
        (r"$\mathbb{R}^n$ $\mathbb N$ $\mathcal{O}(1)$", "ℝ^n ℕ O(1)"),
        (r"$a \leq b \times c$ $\infty$", "a ≤ b × c ∞"),
        (r"$\sim$5 $>$10 $\pm 3$ $-$7", "∼5 >10 ± 3 -7"),
        (r"$S\sp {M}(\beta)$ H\sb2O x\sp{n+1} $\surd n$", "S^M(β) H_2O x^(n+1) √ n"),
        # dollars that are money
        ("$5", "$5"),
        ("from $5 to $10", "from $5 to $10"),
        ("$5-$10, US$3/US$4", "$5-$10, US$3/US$4"),
        (r"\$5 to \$10", "$5 to $10"),
        (r"$\$$ $5 $", "$ $5 $"),
        # HTML mixed in
        ("a &amp; b &lt; c &eacute;", "a & b < c é"),
        ("<i>x</i><sup>2</sup><br>y", "x^2 y"),
        ("&lt;i&gt;x&lt;/i&gt; &lt;sup&gt;2&lt;/sup&gt;", "x ^2"),
        ("&lt;a href='x?a&amp;b'&gt;y&lt;/a&gt;", "y"),
        ("a <b, c> vector<int> &unknown; &notit;", "a <b, c> vector<int> &unknown; &notit;"),
        (r"\&lt; \&lt;i x\&gt; \&amp;", "&lt; &lt;i x&gt; &amp;"),
        ("{\\'e} &amp; <b>{\\\"o}</b>", "é & ö"),
        # ends
        ("", ""),
        ("\\", ""),
        ("a\\", "a"),
        ("$", "$"),
        ("&", "&"),
        (" plain  text ", "plain text"),
    ],
)  # fmt: skip
def test_latex(latex: str, text: str) -> None:
    assert latex_to_text(latex) == text


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("plain é", "plain é"),
        ("50% of R&D #1 a_b $5", r"50\% of R\&D \#1 a\_b \$5"),
        ("a\\b{c}~^<", r"a\textbackslash{}b\textbraceleft{}c\textbraceright{}"
         r"\textasciitilde{}\textasciicircum{}\textless{}"),
        ("a--b---c ``d''", "a-{}-b-{}-{}-c `{}`d'{}'"),
        ("O'Neill - x", "O'Neill - x"),
    ],
)  # fmt: skip
def test_text_to_latex(text: str, latex: str) -> None:
    assert text_to_latex(text) == latex


@given(TEXT | st.text().map(fold))
def test_text_comes_back_from_latex(text: str) -> None:
    assert latex_to_text(text_to_latex(text)) == text


@given(ANY_TEXT)
def test_written_latex_has_balanced_braces(text: str) -> None:
    depth = 0
    for char in text_to_latex(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0


@given(ANY_TEXT | st.text(alphabet="\\{}$&<>;^_ abcs-`'~\"lt/u"))
def test_anything_is_read_as_clean_text(latex: str) -> None:
    text = latex_to_text(latex)
    assert text == fold(text)
    if is_plain(latex):
        assert text == fold(latex)


_UNITS = [
    *"\\{}$~&<^_`'-\"",
    *("{}", "}{", "$$", "$a", "$a ", "$\\", "$\\$", "$$a", "\\(", "\\\\", "--", "``"),
    *("\\frac{", "\\frac{a}{", "\\frac{{a}", "\\sqrt[", "\\sqrt{{", "\\cite[", "\\cite[a]"),
    *("\\href{a}", "\\mathbb{", "\\'{", "\\c ", "\\c{ ", "\\a ", "\\a*", "^{", "_{a", "^{{a}"),
    *("^{^{a}", "<sup>", "<sup> 1", "<a ", "</", "<b:", "&lt;", "&lt;a ", "&lt;b:", "&lt;a&"),
    *(
        "\\ifmmode", "\\ifmmode\\else", "\\ifmmode a\\else b", "\\accent1", "\\sp{", "\\u\\",
        "\\ddot{",
    ),
    *("\\printfirst{a}{", "\\bibinfo{", "\\rule{"),
    *("&lt;sup&gt;", "&#1", "&#x", "&a"),
]  # fmt: skip


@pytest.mark.parametrize("unit", _UNITS)
def test_repeated_units_take_linear_time(unit: str) -> None:
    """Quadratic time would take minutes here; the test asserts no time."""
    size = sized(1 << 15, 1 << 18)
    assert latex_to_text(unit * (size // len(unit)) + " 42").endswith("42")
