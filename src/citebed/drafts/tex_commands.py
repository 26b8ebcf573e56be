"""LaTeX commands and environments: citations (natbib, biblatex, apacite), and what to skip."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citebed.drafts.parsed_draft import ParsedDraft
from citebed.text.latex import ACCENTS, LETTERS, NOTHING, SYMBOLS
from citebed.text.regex import compile_regex

_BLANK = r"[ \t]*+(?:\n[ \t]*+)?+"
# Braces in a note protect a bracket: ``\cite[{[sic]}]{a}``.
NOTE = r"\[(?:[^][{}]++|\{[^{}]*+\})*+\]"
_ARGUMENT = rf"(?:{_BLANK}(?:{NOTE}|<[^<>{{}}\n]*+>))*+{_BLANK}\{{([^{{}}]*+)\}}"
_ONE = compile_regex(_ARGUMENT)
_GLOBAL_NOTES = compile_regex(rf"(?:{_BLANK}\([^(){{}}]*+\)){{0,2}}+")
_NAME = compile_regex(
    r"(?!set|define|Declare|At|bib|newcites|renew|def)[A-Za-z]*?[Cc]ite[A-Za-z]*+"
)
_NO_CITATION = frozenset(("citestyle", "citeindextrue", "citeindexfalse", "citenamefont"))
_IN_TEXT = compile_regex(r"\\([A-Za-z]*[Cc]ite[A-Za-z]*+)\*?")


def is_citation(name: str) -> bool:
    """Return True for citation commands: ``cite``, ``citep``, ``Textcite``, ``footcites`` …"""
    return _NAME.fullmatch(name) is not None and name not in _NO_CITATION


def parse_keys(name: str, text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Return the keys of a citation command that ends at ``at``, and the end of its arguments.

    A malformed command has no keys. biblatex's plural commands
    (``\\cites(see)(p. 3)[1]{a}[2]{b}``) take any number of keys.
    """
    several = name.endswith("cites")
    if several and (notes := _GLOBAL_NOTES.match(text, at)):
        at = notes.end()
    keys: dict[str, None] = {}
    while (match := _ONE.match(text, at)) is not None:
        listed = re.sub(r"%[^\n]*", "", match[1]).split(",")
        keys.update(dict.fromkeys("_".join(key.split()) for key in listed if key.strip()))
        at = match.end()
        if not several:
            break
    return tuple(keys), at


def place_commands(text: str, parsed: ParsedDraft) -> str:
    """Replace the citation commands in a text that is not LaTeX by citation marks."""
    if "cite" not in text and "Cite" not in text:
        return text
    pieces, at = [], 0
    for match in _IN_TEXT.finditer(text):
        if match.start() < at:
            continue
        keys, end = parse_keys(match[1], text, match.end())
        is_read = keys or end > match.end()
        pieces += [
            text[at : match.start()],
            add_citation(match[1], keys, parsed) if is_read else "",
        ]
        at = end
    return "".join(pieces) + text[at:]


def add_citation(name: str, keys: Sequence[str], parsed: ParsedDraft) -> str:
    """Store a citation, and return its mark for the text, which is "" for ``\\nocite``."""
    if name == "nocite":
        parsed.every_entry |= "*" in keys
        parsed.unplaced += [key for key in keys if key != "*"]
        return ""
    return parsed.cite(keys)


# --- Environments and commands ----------------------------------------------------------------


RAW = frozenset(
    """
    verbatim verbatim* Verbatim lstlisting minted comment filecontents filecontents*
    alltt CCSXML pycode tcblisting spverbatim
    """.split()  # noqa: SIM905
)
"""Environments with verbatim contents, which are skipped."""

MUTED = frozenset(
    """
    equation align gather multline eqnarray displaymath math flalign alignat array subequations
    dmath split cases figure table wrapfigure wraptable sidewaysfigure sidewaystable subfigure
    tabular tabularx tabulary longtable supertabular tabbing tikzpicture pgfpicture picture
    algorithm algorithmic algorithm2e pseudocode forest axis prooftree diagram pspicture
    teaserfigure marginfigure keywords keyword IEEEkeywords code longtblr tblr
    """.split()  # noqa: SIM905
)
"""Environments without prose, except for captions; also in their starred forms."""

ENVIRONMENT_ARGUMENTS = {
    "minipage": 1, "multicols": 1, "adjustwidth": 2, "spacing": 1, "adjustbox": 1,
    "otherlanguage": 1, "list": 2, "thebibliography": 1, "column": 1,
}  # fmt: skip
"""Number of arguments of an environment that are not prose."""

SECTIONS = frozenset(
    "part chapter section subsection subsubsection frametitle framesubtitle".split()  # noqa: SIM905
)

DROPPED = {
    **dict.fromkeys(
        """
        label ref eqref autoref cref Cref crefrange pageref nameref vref Vref fref Fref subref
        vspace hspace vskip bibliographystyle pagestyle thispagestyle pagenumbering hypersetup
        color pagecolor index glsadd todo graphicspath includegraphics includesvg includepdf
        usepackage RequirePackage documentclass geometry usetikzlibrary pgfplotsset tikzset
        captionsetup lstset setminted url nolinkurl path email affiliation affil institute
        institution address orcid orcidID thanks date keywords ccsdesc acmConference acmYear
        acmMonth acmDOI acmISBN acmJournal acmVolume acmNumber acmArticle acmPrice acmSubmissionID
        setcopyright copyrightyear received authorrunning titlerunning markright country city
        state postcode streetaddress department authornote authornotemark additionalaffiliation
        shortauthors phantom vphantom hphantom cline cmidrule enlargethispage
        linespread fontsize newcounter stepcounter refstepcounter usecounter newlength
        theoremstyle allowdisplaybreaks hyphenation makeatletter inst fnmsep corresp pdfbookmark
        textcolor colorbox hypertarget hyperlink href raisebox scalebox rotatebox foreignlanguage
        selectlanguage addcontentsline settopmatter citestyle setcitestyle bibpunct acmBadge
        AtBeginDocument AtEndDocument marginpar marginnote ExecuteBibliographyOptions
        appendixname runningtitle correspondingauthor ead cortext cormark fnmark fntext received
        """.split(),  # noqa: SIM905
        1,
    ),
    "setlength": 2, "addtolength": 2, "setcounter": 2, "addtocounter": 2, "newtheorem": 2,
    "rule": 2, "resizebox": 2, "multicolumn": 2, "multirow": 2, "fcolorbox": 2, "markboth": 2,
    "PassOptionsToPackage": 2, "definecolor": 3, "newenvironment": 3, "renewenvironment": 3,
    "titleformat": 5, "titlespacing": 4, "newacronym": 3, "setlist": 1, "newcolumntype": 2,
    "newglossaryentry": 2, "counterwithin": 2, "numberwithin": 2, "newfloat": 3,
    "providecolor": 3, "lstdefinestyle": 2, "lstdefinelanguage": 2, "fancyhead": 1, "fancyfoot": 1,
}  # fmt: skip
"""Number of arguments to skip, with options; further braces contain prose."""

INCLUDES = frozenset(("input", "include", "subfile", "InputIfFileExists"))
IMPORTS = frozenset(("import", "subimport"))
BIBLIOGRAPHIES = frozenset(("bibliography", "addbibresource", "addglobalbib", "addsectionbib"))
DEFINITIONS = frozenset(
    """
    newcommand renewcommand providecommand DeclareRobustCommand DeclareMathOperator
    NewDocumentCommand RenewDocumentCommand def gdef edef xdef let
    """.split()  # noqa: SIM905
)
TITLES = frozenset("title icmltitle Title papertitle".split())  # noqa: SIM905
AUTHORS = frozenset("author icmlauthor Author".split())  # noqa: SIM905
CAPTIONS = frozenset(("caption", "captionof", "captionabove", "captionbelow"))
ASIDES = CAPTIONS | {"footnote", "footnotetext"}
BREAKS = frozenset(
    "par bigskip medskip smallskip newpage clearpage maketitle paragraph subparagraph".split()  # noqa: SIM905
)

_SILENT = frozenset(
    """
    begin end item document appendix tableofcontents listoffigures listoftables printbibliography
    frontmatter mainmatter backmatter cleardoublepage pagebreak nopagebreak linebreak nolinebreak
    hfill vfill hrule hline toprule midrule bottomrule raggedright flushleft flushright
    singlespacing doublespacing onehalfspacing twocolumn onecolumn balance makeatother indent
    bibitem newblock footnotemark quad qquad huge Huge LARGE scriptsize normalfont mdseries
    slshape selectfont boldmath unboldmath and And AND thinspace enspace enskip hss strut
    ignorespaces unskip leavevmode today textwidth linewidth columnwidth textheight space enquote
    textquote gls Gls glspl Glspl ac Ac acp acs acl acf acrshort acrlong acrfull enspace
    texorpdfstring num SI si qty unit ang mathop mathrel mathord underbrace overbrace lim max min
    log exp sin cos tan arg sup inf det dim ker Pr bmod pmod frac dfrac tfrac sqrt mathbb Bbb
    abstract acknowledgments acknowledgements ack keywords qed qedhere newline footcite else fi
    iffalse iftrue expandafter csname endcsname nobreak break sloppy fussy noindent obeylines
    textsubscript mathds vskip hskip kern subfloat subcaption titlepage verb lstinline mintinline
    bibinfo bibnamefont bibfnamefont natexlab bibfield BibitemOpen BibitemShut Eprint mathchoice
    textmd textlf highlight hl st ul so caps lettrine cdots left right middle big
    """.split()  # noqa: SIM905
)

READ_BY_LATEX_TO_TEXT = (
    frozenset(LETTERS)
    | frozenset(SYMBOLS)
    | frozenset(name for name in ACCENTS if name.isalpha())
    | frozenset("frac dfrac tfrac sqrt mathbb Bbb".split())  # noqa: SIM905
)
"""Commands for characters, which ``latex_to_text`` replaces."""

KNOWN = READ_BY_LATEX_TO_TEXT | NOTHING | _SILENT | frozenset(DROPPED)
"""Commands that are skipped without a note."""
