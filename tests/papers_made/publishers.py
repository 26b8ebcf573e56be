"""Made-up papers with the first pages and reference lists of several publishers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.papers_made.composing import Paper
from tests.papers_made.setting import Journal, abstract
from tests.papers_made.wording import (
    BIOLOGY,
    COMPUTING,
    GERMAN,
    HISTORY,
    LAW,
    MEDICINE,
    PHYSICS,
    Field,
)

Person = Callable[[str, str, int], str]


def _authors(paper: Paper, person: Person, between: str = ", ", last: str | None = None) -> str:
    """Return the authors as a publisher prints them; ``person`` gets given, family and number."""
    people = [person(given, family, n) for n, (family, given) in enumerate(paper.authors, 1)]
    if last is None or len(people) < 2:
        return between.join(people)
    return between.join(people[:-1]) + last + people[-1]


def _raised(given: str, family: str, n: int) -> str:
    return rf"{given} {family}$^{{{n % 3 + 1}{',4' if n % 2 else ''}{',*' if n == 1 else ''}}}$"


def _letters(given: str, family: str, n: int) -> str:
    return rf"{given} {family}\textsuperscript{{{'abc'[n % 3]}{',1' if n == 1 else ''}}}"


@dataclass(frozen=True)
class Front:
    """A first page: ``TITLE``, ``AUTHORS``, ``ABSTRACT`` and ``YEAR`` are replaced."""

    page: str
    person: Person = _raised
    between: str = ", "
    last: str | None = None

    def __call__(self, paper: Paper) -> str:
        return (
            self.page.replace("TITLE", paper.title)
            .replace("AUTHORS", _authors(paper, self.person, self.between, self.last))
            .replace("ABSTRACT", abstract(paper))
            .replace("YEAR", str(paper.year))
        )


_PLACES = (
    r"$^1$Department of Ponds, University of Northtown, Northtown 1203, Norway. "
    r"$^2$Elm Institute, 45 Garden Street, Southtown, United Kingdom. "
    r"$^3$Centre for Moss Research, Westville, New Zealand"
)
_LICENCE = (
    r"This is an open access article distributed under the terms of the Creative Commons "
    r"Attribution License, which permits unrestricted use."
)
_NATURE = Front(
    r"""\twocolumn[{\noindent{\sffamily\large ARTICLE}\\[2pt]
{\sffamily\small Received 3 Jan YEAR | Accepted 4 May YEAR | Published 5 Jun YEAR
\hfill DOI: 10.5555/made.77 \hfill OPEN}\par\vspace{12pt}
{\raggedright\sffamily\fontsize{22}{26}\selectfont TITLE\par}\vspace{8pt}
{\raggedright\noindent AUTHORS\par}\vspace{14pt}
\begin{minipage}{.78\textwidth}\sffamily\bfseries\fontsize{9.5}{13.5}\selectfont ABSTRACT
\end{minipage}\vspace{20pt}}]
\footnotetext{\scriptsize """
    + _PLACES
    + r". Correspondence should be addressed to A.B. (email: a@example.org).}",
    last=r" \& ",
)
_PNAS = Front(
    r"""\twocolumn[{\raggedright\sffamily\bfseries\fontsize{18}{21}\selectfont TITLE\par\vspace{6pt}
\normalsize AUTHORS\par\vspace{3pt}
\mdseries\footnotesize\textsuperscript{a}Department of Ponds, University of Northtown, Northtown,
CA 94305; \textsuperscript{b}Elm Institute, Southtown, United Kingdom; and
\textsuperscript{c}Centre for Moss Research, Westville, New Zealand\par\vspace{3pt}
Edited by Nobody Else, Elm Institute, and approved May 4, YEAR (received for review January 3, YEAR)
\par\vspace{8pt}}]
{\noindent\bfseries\small ABSTRACT\par\medskip\noindent\mdseries ponds $|$ elms $|$ mosses\par
\bigskip}
""",
    _letters,
    last=", and ",
)
_SPRINGER = Front(
    r"""{\noindent\footnotesize Ponds (YEAR) 12:345--367\\ https://doi.org/10.5555/made.12\par}
\vspace{8pt}{\noindent\small\bfseries ORIGINAL PAPER\par}\vspace{10pt}
{\raggedright\noindent\bfseries\Large TITLE\par}\vspace{10pt}
{\raggedright\noindent\bfseries AUTHORS\par}\vspace{12pt}
{\noindent\footnotesize Received: 3 January YEAR / Accepted: 4 May YEAR / Published online: 5 June
YEAR\\ \copyright\ The Author(s) YEAR\par}\vspace{12pt}
{\noindent\small\textbf{Abstract}\quad ABSTRACT\par\vspace{6pt}
\noindent\textbf{Keywords}\quad Elms $\cdot$ Ponds $\cdot$ Mosses\par}\vspace{10pt}""",
    lambda given, family, n: rf"{given} {family}$^{{{n % 3 + 1}}}$",
    r" $\cdot$ ",
)
_WILEY = Front(
    r"""{\noindent\footnotesize Received: 3 January YEAR \quad Revised: 2 March YEAR \quad Accepted:
4 May YEAR\\ DOI: 10.5555/made.13\par}\vspace{4pt}
{\noindent\small\bfseries R E S E A R C H \quad A R T I C L E\hfill Journal of Ponds\par}
\vspace{10pt}{\raggedright\noindent\bfseries\LARGE TITLE\par}\vspace{8pt}
{\raggedright\noindent\large AUTHORS\par}\vspace{8pt}
{\noindent\footnotesize """
    + _PLACES
    + r"""\par\noindent Correspondence\\ Anna Nobody, Elm Institute. Email: a@example.org\par}
\vspace{8pt}{\noindent\textbf{Abstract}\par\noindent ABSTRACT\par\vspace{6pt}
\noindent\footnotesize K E Y W O R D S\\ elms, ponds, mosses\par}\vspace{10pt}""",
    _raised,
    " $|$ ",
)
_MDPI = Front(
    r"""{\noindent\hfill\itshape\fontsize{28}{30}\selectfont ponds\hfill\par}
{\noindent\itshape Article\par}\vspace{4pt}
{\raggedright\noindent\bfseries\fontsize{17}{20}\selectfont TITLE\par}\vspace{8pt}
{\raggedright\noindent\bfseries AUTHORS\par}\vspace{6pt}
\begin{minipage}[t]{.25\textwidth}\raggedright\scriptsize Citation: Nobody, A.; Else, B. Some title
of this paper. \textit{Ponds} \textbf{YEAR}, 6, 1310. https://doi.org/10.5555/made.14\par\medskip
Academic Editor: Berta Else\par\medskip Received: 3 January YEAR\\ Accepted: 4 May YEAR\\
Published: 5 June YEAR\par\medskip Copyright: \copyright\ YEAR by the authors. """
    + _LICENCE
    + r"""\end{minipage}\hfill\begin{minipage}[t]{.7\textwidth}\footnotesize """
    + _PLACES
    + r"""\\ * Correspondence: a@example.org\par\medskip
\small\textbf{Abstract:} ABSTRACT\par\medskip\textbf{Keywords:} elms; ponds; mosses
\end{minipage}\vspace{10pt}""",
    lambda given, family, n: rf"{given} {family} $^{{{n % 3 + 1}{',*' if n == 1 else ''}}}$",
    last=" and ",
)
_FRONTIERS = Front(
    r"""{\noindent\hfill\scriptsize\bfseries ORIGINAL RESEARCH\par\noindent\hfill published: 5 June
YEAR\par\noindent\hfill doi: 10.5555/made.15\par}\vspace{20pt}
\noindent\begin{minipage}[b]{.2\textwidth}\raggedleft\scriptsize\itshape\textbf{Edited by:}\\
Berta Else,\\ Elm Institute, Norway\\ \textbf{Reviewed by:}\\ Carl Third,\\ University of
Southtown\\ \textbf{*Correspondence:}\\ Anna Nobody\\ a@example.org\\ \textbf{Specialty section:}\\
This article was submitted to\\ Pond Psychology,\\ a section of the journal\\ Frontiers in Ponds
\end{minipage}\hfill\begin{minipage}[b]{.76\textwidth}
{\raggedright\bfseries\fontsize{19}{22}\selectfont TITLE\par}\vspace{6pt}
{\raggedright\itshape\small AUTHORS\par}\vspace{4pt}{\scriptsize\itshape """
    + _PLACES
    + r"""\par}\vspace{10pt}\sffamily ABSTRACT\par\vspace{6pt}
{\scriptsize\bfseries Keywords: elms, ponds, mosses\par}\end{minipage}\vspace{10pt}""",
    last=" and ",
)
_MEDICAL = Front(
    r"""{\noindent\large\bfseries Journal of Pond Medicine\hfill Original Investigation\par}
\vspace{20pt}{\raggedright\noindent\bfseries\Large TITLE\par}\vspace{8pt}
{\raggedright\noindent AUTHORS\par}\vspace{10pt}
{\noindent\small\textbf{SUMMARY}\par\noindent\textbf{Aims:} ABSTRACT\par\smallskip
\noindent J Pond Med. YEAR;12(3):45--51.\par}
\vspace{10pt}""",
    lambda given, family, n: rf"{given} {family}, {('MD', 'PhD', 'MD, MPH')[n % 3]}",
    "; ",
)
_JOSE = Front(
    r"""\noindent\begin{minipage}[t]{.2\textwidth}\raggedright\scriptsize\vspace{60pt}
\textbf{DOI:} 10.5555/jose.00077\par\medskip\textbf{Software}\par $\bullet$ Review\par
$\bullet$ Repository\par $\bullet$ Archive\par\medskip\textbf{Submitted:} 03 January YEAR\par
\textbf{Published:} 05 June YEAR\par\medskip\textbf{License}\par Authors of papers retain copyright
and release the work under a Creative Commons Attribution 4.0 International License.
\end{minipage}\hfill\begin{minipage}[t]{.75\textwidth}\sffamily\vspace{0pt}
{\raggedright\bfseries\Large TITLE\par}\vspace{10pt}
{\raggedright\bfseries AUTHORS\par}\vspace{6pt}
{\raggedright\footnotesize\textbf{1} Department of Ponds, University of Northtown, Norway
\textbf{2} Elm Institute, Southtown, United Kingdom \textbf{3} Independent Researcher, France\par}
\end{minipage}\vspace{10pt}""",
    last=", and ",
)
_JSS = Front(
    r"""{\noindent\bfseries\huge\sffamily JSS\hfill Journal of Made-Up Software\par\noindent\small
\mdseries\itshape June YEAR, Volume 12, Issue 3.\hfill doi: 10.5555/jss.v012.i03\par}\vspace{30pt}
\begin{center}{\bfseries\LARGE TITLE\par}\vspace{14pt}AUTHORS\vspace{14pt}\end{center}
\begin{abstract}ABSTRACT\end{abstract}
{\noindent\itshape Keywords: \upshape elms, ponds, mosses.\par}\vspace{10pt}""",
    lambda given, family, _: (
        rf"\parbox[t]{{.3\textwidth}}{{\centering\textbf{{{given} {family}}}"
        r"\\University of Northtown}"
    ),
    r"\hfill ",
)
_GERMAN = Front(
    r"""{\noindent\itshape\footnotesize Zeitschrift f\"ur Teichkunde 12 (YEAR), Heft 3, S. 45--67
\par}
\vspace{20pt}{\noindent AUTHORS\par}\vspace{8pt}
{\raggedright\noindent\bfseries\Large TITLE\par}\vspace{12pt}
{\noindent\small\textbf{Zusammenfassung:} ABSTRACT\par\medskip\noindent
\textbf{Schlagw\"orter:} Ulmen, Teiche, Moose\par}\vspace{10pt}""",
    lambda given, family, _: rf"{given} {family}",
    " / ",
)
_GERMAN_NOTES = Front(
    r"""\begin{center}{\scshape\large AUTHORS}\par\vspace{10pt}
{\bfseries\Large TITLE\par}\vspace{14pt}\end{center}""",
    lambda given, family, _: rf"{given} {family}",
    ", ",
    " und ",
)
_ELSEVIER = Front(
    r"""\begin{frontmatter}\title{TITLE}AUTHORS
\address[a]{Department of Ponds, University of Northtown, Norway}
\address[b]{Elm Institute, Southtown, United Kingdom}\address[c]{Moss Centre, New Zealand}
\begin{abstract}ABSTRACT\end{abstract}
\begin{keyword}elms \sep ponds\end{keyword}\end{frontmatter}""",
    lambda given, family, n: rf"\author[{'abc'[n % 3]},b]{{{given} {family}}}",
    "\n",
)
_REVTEX = Front(
    r"""\title{TITLE}AUTHORS\date{May 3, YEAR}
\begin{abstract}ABSTRACT\end{abstract}\maketitle""",
    lambda given, family, n: (
        rf"\author{{{given} {family}}}"
        rf"\affiliation{{Institute {n}, Northtown}}"
    ),
    "\n",
)
_ACHEMSO = Front(
    r"""\title{TITLE}AUTHORS
\begin{document}\begin{abstract}ABSTRACT\end{abstract}""",
    lambda given, family, n: (
        rf"\author{{{given} {family}}}"
        rf"\affiliation{{Institute {'ABC'[n % 3]}, Northtown}}"
    ),
    "\n",
)
_APA = Front(
    r"""\begin{center}{\bfseries TITLE\par}\vspace{10pt}AUTHORS\par\vspace{4pt}
University of Northtown\par\vspace{14pt}\textbf{Abstract}\end{center}
{\noindent ABSTRACT\par\medskip\textit{Keywords:} elms, ponds, mosses\par}\newpage""",
    lambda given, family, _: rf"{given} {family}",
    last=" and ",
)
_REPOSITORY = Front(
    r"""\begin{titlepage}{\raggedleft\small www.repository.example.org\par}\vspace{40pt}
{\noindent\bfseries\Large TITLE\par}\vspace{8pt}{\noindent AUTHORS\par}\vspace{14pt}
{\noindent\footnotesize Ver\"offentlichungsversion / Published Version\\ Zeitschriftenartikel /
journal article\par\vspace{10pt}\noindent\textbf{Empfohlene Zitierung / Suggested Citation:}\\
AUTHORS: TITLE. In: Zeitschrift f\"ur Teichkunde 12 (YEAR), 3, pp. 45--67. DOI:
https://doi.org/10.5555/made.16\par\vfill\noindent\textbf{Nutzungsbedingungen:}\\ Dieser Text wird
unter einer CC BY Lizenz zur Verf\"ugung gestellt.\par}\end{titlepage}
{\noindent\Large\bfseries TITLE\par}\vspace{8pt}{\noindent\itshape AUTHORS\par}\vspace{12pt}""",
    lambda given, family, _: f"{family}, {given}",
    "; ",
)
_USUAL = r"""\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage[%LANGUAGE]{babel}
\usepackage{mathptmx}\usepackage[scaled=.92]{helvet}\usepackage{courier}\usepackage{url}
"""
_BEGIN = "\\begin{document}\n"
_NATBIB: dict[str, Any] = {
    "cite": r"\citep{%s}",
    "textual": r"\citet{%s}",
    "located": r"\citep[%s]{%s}",
}
_NOTES: dict[str, Any] = {"cite": r"\footcite{%s}", "located": r"\footcite[%s]{%s}", "biber": True}
_BARE: dict[str, Any] = {"section": r"\section*{%s}", "located": ""}
_SUPPLEMENT = r"""\section*{Supplementary Notes}

The sites that are not in the tables were visited by one of us only. They are listed in the order of
the visits, and nothing was left out that could be read on the day."""


def _bib(style: str) -> str:
    return rf"\bibliographystyle{{{style}}}\bibliography{{made}}"


def _article(options: str, packages: str) -> str:
    return rf"\documentclass[{options}]{{article}}{_USUAL}\usepackage{{multicol}}{packages}{_BEGIN}"


_SUPER = r"\usepackage[super,sort&compress]{natbib}"
_NUMBERS = r"\usepackage[numbers,sort&compress]{natbib}"
_ROUND = r"\usepackage[round]{natbib}"
_BIBLATEX = r"\usepackage{csquotes}\usepackage[style=%s,backend=biber]{biblatex}" + (
    r"\addbibresource{made.bib}"
)

PUBLISHERS: tuple[tuple[Journal, Field, int], ...] = (
    (
        Journal(
            "nature-like", _article("10pt,twocolumn", _SUPER), _NATURE, _bib("naturemag"),
            stop_first=True, **_BARE,
        ),
        BIOLOGY, 14,
    ),
    (
        Journal(
            "pnas-like", _article("10pt,twocolumn", _NUMBERS), _PNAS,
            r"\renewcommand{\bibsection}{}\footnotesize" + _bib("unsrtnat"), **_BARE,
        ),
        BIOLOGY, 7,
    ),
    (
        Journal("springer-like", _article("11pt", _ROUND), _SPRINGER, _bib("plainnat"), **_NATBIB),
        COMPUTING, 5,
    ),
    (
        Journal("wiley-like", _article("11pt", _ROUND), _WILEY, _bib("apalike"), **_NATBIB),
        MEDICINE, 6,
    ),
    (
        Journal("mdpi-like", _article("11pt", _NUMBERS), _MDPI, _bib("unsrtnat")),
        BIOLOGY, 8,
    ),
    (
        Journal(
            "frontiers-like", _article("10pt,twocolumn", _ROUND + r"\onecolumn"), _FRONTIERS,
            r"\begin{multicols}{3}\scriptsize" + _bib("apalike") + r"\end{multicols}",
            section=r"\section*{%s}", **_NATBIB,
        ),
        MEDICINE, 5,
    ),
    (
        Journal(
            "medical", _article("11pt", r"\usepackage[super,sort&compress]{natbib}"), _MEDICAL,
            _bib("vancouver") + _SUPPLEMENT, stop_first=True, **_BARE,
        ),
        MEDICINE, 6,
    ),
    (
        Journal("jose-like", _article("11pt", _ROUND), _JOSE, _bib("apalike"),
                section=r"\section*{%s}", **_NATBIB),
        COMPUTING, 4,
    ),
    (
        Journal("jss-like", _article("11pt", _ROUND), _JSS, _bib("plainnat"), **_NATBIB),
        COMPUTING, 3,
    ),
    (
        Journal(
            "elsevier-letters",
            rf"\documentclass[final,5p,times,twocolumn]{{elsarticle}}{_USUAL}{_BEGIN}",
            _ELSEVIER, _bib("elsarticle-num"), dated=False,
        ),
        MEDICINE, 6,
    ),
    (
        Journal(
            "elsevier-one-column",
            rf"\documentclass[preprint,11pt,authoryear]{{elsarticle}}{_USUAL}{_BEGIN}",
            _ELSEVIER, _bib("elsarticle-harv"), dated=False, **_NATBIB,
        ),
        BIOLOGY, 6,
    ),
    (
        Journal(
            "revtex-arxiv",
            rf"\documentclass[aps,prd,twocolumn,nofootinbib]{{revtex4-2}}{_USUAL}{_BEGIN}",
            _REVTEX, r"\bibliography{made}", located="",
        ),
        PHYSICS, 9,
    ),
    (
        Journal(
            "achemso",
            rf"\documentclass[journal=jacsat,manuscript=article]{{achemso}}{_USUAL}",
            _ACHEMSO, r"\bibliography{made}", dated=False, stop_first=True, **_BARE,
        ),
        MEDICINE, 4,
    ),
    (
        Journal(
            "apacite", _article("12pt", r"\usepackage[natbibapa]{apacite}\linespread{1.6}"), _APA,
            _bib("apacite"), section=r"\section*{%s}", dated=False, **_NATBIB,
        ),
        LAW, 3,
    ),
    (
        Journal(
            "german-social",
            rf"\documentclass[11pt]{{scrartcl}}{_USUAL}"
            + _BIBLATEX % "authoryear-comp" + _BEGIN,
            _GERMAN, r"\printbibliography[title=Literaturverzeichnis]",
            cite=r"\parencite{%s}", textual=r"\textcite{%s}", located=r"\parencite[%s]{%s}",
            biber=True, joint="und",
        ),
        GERMAN, 2,
    ),
    (
        Journal(
            "german-ibid",
            rf"\documentclass[11pt]{{scrartcl}}{_USUAL}" + _BIBLATEX % "verbose-ibid" + _BEGIN,
            _GERMAN_NOTES, "", dated=False, joint="und", **_NOTES,
        ),
        GERMAN, 2,
    ),
    (
        Journal(
            "german-trad",
            rf"\documentclass[11pt]{{scrartcl}}{_USUAL}" + _BIBLATEX % "verbose-trad2" + _BEGIN,
            _GERMAN_NOTES, "", dated=False, joint="und", **_NOTES,
        ),
        GERMAN, 1,
    ),
    (
        Journal(
            "english-ibid",
            rf"\documentclass[11pt]{{article}}{_USUAL}" + _BIBLATEX % "verbose-ibid" + _BEGIN,
            _GERMAN_NOTES, "", dated=False, **_NOTES,
        ),
        HISTORY, 2,
    ),
    (
        Journal(
            "german-footnote-dw",
            rf"\documentclass[11pt]{{scrartcl}}{_USUAL}" + _BIBLATEX % "footnote-dw" + _BEGIN,
            _GERMAN_NOTES, "", dated=False, joint="und", **_NOTES,
        ),
        GERMAN, 1,
    ),
    (
        Journal(
            "german-authortitle-dw",
            rf"\documentclass[11pt]{{scrartcl}}{_USUAL}\usepackage[perpage]{{footmisc}}"
            + _BIBLATEX % "authortitle-dw" + _BEGIN,
            _GERMAN_NOTES, r"\printbibliography", dated=False, joint="und", **_NOTES,
        ),
        GERMAN, 2,
    ),
    (
        Journal(
            "german-law",
            rf"\documentclass[11pt]{{article}}{_USUAL}" + _BIBLATEX % "biblatex-juradiss" + _BEGIN,
            _GERMAN_NOTES, r"\printbibliography", dated=False, joint="und", **_NOTES,
        ),
        GERMAN, 1,
    ),
    (
        Journal(
            "english-notes-perpage",
            rf"\documentclass[11pt,twoside]{{article}}{_USUAL}\usepackage[perpage]{{footmisc}}"
            + _BIBLATEX % "verbose-note" + _BEGIN,
            _GERMAN_NOTES, "", dated=False, **_NOTES,
        ),
        HISTORY, 2,
    ),
    (
        Journal(
            "english-endnotes",
            rf"\documentclass[11pt]{{article}}{_USUAL}\usepackage{{endnotes}}"
            r"\let\footnote=\endnote" + _BIBLATEX % "verbose-inote" + _BEGIN,
            _GERMAN_NOTES, r"\theendnotes", dated=False, **_NOTES,
        ),
        HISTORY, 2,
    ),
    (
        Journal(
            "chicago-notes",
            rf"\documentclass[11pt]{{article}}{_USUAL}" + _BIBLATEX % "verbose-trad1" + _BEGIN,
            _GERMAN_NOTES, r"\printbibliography", dated=False, **_NOTES,
        ),
        HISTORY, 1,
    ),
    (
        Journal(
            "repository", _article("11pt", _ROUND), _REPOSITORY, _bib("plainnat"), **_NATBIB,
        ),
        HISTORY, 3,
    ),
)  # fmt: skip
"""A journal, the words of its field, and the number of its authors."""
