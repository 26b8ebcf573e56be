# ruff: noqa: E501
"""First pages set by the LaTeX classes of publishers, with titles, names and layouts of many kinds.

No rule of the reader was written with these classes. Needs pdflatex and the classes of TeX Live
(``texlive-publishers``); a class that is not installed is reported and skipped. The PDFs and what
is true of them go into a folder, for ``bench/styles.py``.
Run: python -m tests.papers_made.classes FOLDER [CLASS …] [--seed 1] [--papers 2]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.papers_made.composing import Paper, compose
from tests.papers_made.setting import Journal, _plain, abstract, latex, truth
from tests.papers_made.wording import BIOLOGY, COMPUTING, HISTORY, LAW, MEDICINE, PHYSICS

TITLES = (
    "How slow is slow? Timing the growth of elms in urban gardens",
    "Counting elms with few observers: a randomised, double-blind trial in 14 parishes",
    "Waterways reconsidered",
    "ELMO: a toolkit for counting trees in Python 3",
    "Towards a theory of the pond: snails, reeds and the long memory of still water in parks",
    "Maria Merian and the moths of Surinam",
    "Journal writing and recovery after knee surgery",
    "Why do night fevers end in the morning? Evidence from 1,204 home records, 1998-2014",
    "A review of reviews on harbour rules",
    "The effect of shade on moss: results of the SHADE-2 study",
    "Letters from a village court, and what they do not say about the cost of law",
    "Sparse sketch indexes for low-latency search over streams of very short documents in memory",
    "Self-tuning caches",
    "Of mills and men: river tolls, guild letters and the making of a northern market town",
    "Efficacy and safety of inhaled honey in adults with mild winter cough: protocol of an open trial",
    "Weakly coupled spin chains in a rotating field",
)
NAMES = (
    ("García-Márquez", "Ana"), ("van der Berg", "Jan"), ("O'Connor", "Siobhan"),
    ("Smith", "J. R."), ("Lee", "K."), ("Müller-Lüdenscheid", "Käthe"), ("Ławniczak", "Ewa"),
    ("Şahin", "Ömer"), ("Wang", "Xiaoyu"), ("Al-Hassan", "Omar"), ("Kim", "Min-Jun"),
    ("de la Cruz", "María José"), ("Li", "Na"), ("Papadopoulos", "G."), ("MacDonald", "Iain R. D."),
    ("Di Marco", "Paolo"), ("ten Cate", "Bas"), ("Thørud", "Åse"), ("Young", "Rose"),
    ("Brown", "Forest"), ("Field", "Summer"), ("Nowak", "Łukasz"), ("Yamamoto", "Haruki"),
    ("Okonkwo", "Chidi A."), ("Rossi", "M."), ("von Hagen", "Ulrich"), ("Singh", "Harpreet"),
    ("Zhou", "Yi"), ("Dvořák", "Jiří"), ("El Amrani", "Fatima"), ("Church", "Abbey"),
    ("West", "Virginia"), ("Ng", "Wei Ling"), ("Petrović", "Đorđe"), ("Le Goff", "Anne-Marie"),
    ("King", "Robin"), ("Silva", "João"), ("Ivanova", "T. S."), ("Hill", "A. B. C."),
)  # fmt: skip
COUNTS = (1, 2, 3, 4, 6, 11, 24)
FIELDS = (BIOLOGY, COMPUTING, HISTORY, LAW, MEDICINE, PHYSICS)
PLACES = (
    "Department of Ponds, University of Northtown, Northtown, Norway",
    "Elm Institute, 45 Garden Street, Southtown, United Kingdom",
    "Centre for Moss Research, Westville, New Zealand",
)
UNICODE = (
    r"\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage[english]{babel}"
    r"\providecommand{\keywords}[1]{}"
)
Person = Callable[[str, int, int], str]
"""Makes the source of an author from the name, the number and how many there are."""


@dataclass(frozen=True)
class Class:
    """The source of a first page: ``<TITLE>``, ``<AUTHORS>``, ``<ABSTRACT>``, ``<YEAR>`` are replaced."""

    head: str
    """The options and the name of a class, and packages."""
    front: str
    person: Person = lambda name, _n, _of: name
    between: str = ", "
    last: str | None = None
    most: int = 99
    """The most authors that fit."""
    labels: tuple[str, ...] = ()
    """The headings of the parts of its abstract."""
    group: str = ""
    """A group that it names as the last author."""

    def parts(self, paper: Paper) -> tuple[str, ...]:
        """Return the parts of an abstract with labels."""
        said = [said.pieces[0] for said in paper.abstract]
        return tuple(" ".join(part) for part in (said[:1], said[1:-1], said[-1:]))

    def page(self, paper: Paper) -> str:
        """Return the source of a paper's first page."""
        total = len(paper.authors)
        people = [
            self.person(f"{given} {family}", n, total)
            for n, (family, given) in enumerate(paper.authors, 1)
        ]
        listed = self.between.join(people)
        if self.last is not None and total > 1:
            listed = self.between.join(people[:-1]) + self.last + people[-1]
        named = self.front.replace("<TITLE>", paper.title).replace("<AUTHORS>", listed)
        named = named.replace("<YEAR>", str(paper.year))
        for n, place in enumerate(PLACES, 1):
            named = named.replace(f"<PLACE{n}>", place)
        for n, part in enumerate(self.parts(paper), 1):
            named = named.replace(f"ABS{n}", part)
        return named.replace("<ABSTRACT>", abstract(paper))


def _marked(name: str, n: int, _of: int) -> str:
    return rf"{name}$^{{{n % 3 + 1}{',*' if n == 1 else ''}}}$"


def _own_place(command: str) -> Person:
    return lambda name, n, _of: rf"\author{{{name}}}" + command % PLACES[n % 3]


def _lettered(name: str, n: int, _of: int) -> str:
    return rf"\author[{'abc'[n % 3]}]{{{name}}}"


def _numbered(name: str, n: int, _of: int) -> str:
    return rf"\author[{n % 3 + 1}]{{{name}}}"


USUAL = r"\title{<TITLE>}\author{<AUTHORS>}\date{May <YEAR>}\begin{document}\maketitle"
SUMMARY = r"\begin{abstract}<ABSTRACT>\end{abstract}"
KEYS = r"\noindent\textbf{Keywords:} elms, ponds, mosses"
CLASSES: dict[str, Class] = {
    "aastex": Class(
        r"[twocolumn]{aastex631}",
        r"\begin{document}\title{<TITLE>}<AUTHORS>\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\keywords{Elms (12) --- Ponds (34)}",
        _own_place(r"\affiliation{%s}"), "\n",
    ),
    "aastex-modern": Class(
        r"[modern]{aastex631}",
        r"\begin{document}\title{<TITLE>}<AUTHORS>\begin{abstract}<ABSTRACT>\end{abstract}",
        _own_place(r"\affiliation{%s}"), "\n",
    ),
    "amsart": Class(
        r"{amsart}",
        r"\title[Short title]{<TITLE>}<AUTHORS>\begin{document}\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\subjclass[2020]{Primary 05C05}\keywords{elms, ponds}\maketitle",
        _own_place(r"\address{%s}"), "\n",
    ),
    "aomart": Class(
        r"[]{aomart}",
        r"\title[Short title]{<TITLE>}<AUTHORS>\begin{document}\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\maketitle",
        _own_place(r"\address{%s}"), "\n",
    ),
    "apa7-man": Class(
        r"[man,10pt]{apa7}",
        r"\title{<TITLE>}\shorttitle{ELMS}\authorsnames{<AUTHORS>}"
        r"\authorsaffiliations{{<PLACE1>}}\abstract{<ABSTRACT>}\keywords{elms, ponds}"
        r"\begin{document}\maketitle",
        lambda name, _n, _of: "{" + name + "}", ",", most=6,
    ),
    "apa7-jou": Class(
        r"[jou]{apa7}",
        r"\title{<TITLE>}\shorttitle{ELMS}\authorsnames{<AUTHORS>}"
        r"\authorsaffiliations{{<PLACE1>}}\abstract{<ABSTRACT>}\keywords{elms, ponds}"
        r"\journal{Journal of Elm Psychology}\volume{<YEAR>, Vol. 12, No. 3, 45--67}"
        r"\begin{document}\maketitle",
        lambda name, _n, _of: "{" + name + "}", ",", most=6,
    ),
    "apa6-doc": Class(
        r"[doc]{apa6}",
        r"\title{<TITLE>}\shorttitle{ELMS}\author{<AUTHORS>}\affiliation{<PLACE1>}\abstract{<ABSTRACT>}"
        r"\begin{document}\maketitle",
        last=" and ",
    ),
    "ascelike": Class(
        r"[Journal,letterpaper]{ascelike}",
        r"\title{<TITLE>}\author{<AUTHORS>}\begin{document}\maketitle\begin{abstract}<ABSTRACT>"
        r"\end{abstract}",
        lambda name, n, _of: (
            rf"{name}\thanks{{Professor, {PLACES[n % 3]}. E-mail: a{n}@example.org}}"
        ),
        last=", and ", most=5,
    ),
    "asmeconf": Class(
        r"[]{asmeconf}",
        r"\ConfName{Proceedings of the International Conference on\\Elms}\ConfAcronym{ELM}"
        r"\ConfDate{May 3--5, <YEAR>}\ConfCity{Northtown, Norway}\PaperNo{ELM-77}\title{<TITLE>}"
        r"<AUTHORS>\SetAffiliation{1}{<PLACE1>}\SetAffiliation{2}{<PLACE2>}"
        r"\begin{document}\maketitle\keywords{elms, ponds}\begin{abstract}<ABSTRACT>\end{abstract}",
        lambda name, n, _of: rf"\SetAuthors{{{name}\affil{{{n % 2 + 1}}}}}", "\n", most=1,
    ),
    "asmejour": Class(
        r"[nodefaultsups]{asmejour}",
        r"\JourName{Elms}\SetTitle{<TITLE>}<AUTHORS>\keywords{elms, ponds}"
        r"\begin{document}\begin{abstract}<ABSTRACT>\end{abstract}\date{May <YEAR>}\maketitle",
        lambda name, n, _of: rf"\SetAuthorBlock{{{name}}}{{{PLACES[n % 3]}}}", "\n", most=6,
    ),
    "cc": Class(
        r"{cc}",
        r"\contact{a@example.org}\submitted{May 3}\title{<TITLE>}\titlehead{Elms}"
        r"\author{<AUTHORS>}\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\begin{keywords}elms, ponds\end{keywords}\begin{document}",
        lambda name, n, _of: rf"{name}\\ {PLACES[n % 3]}", r"\and ", most=4,
    ),
    "ejpecp": Class(
        r"[EJP]{ejpecp}",
        r"\SHORTTITLE{Elms}\TITLE{<TITLE>}\AUTHORS{<AUTHORS>}\KEYWORDS{elms}\AMSSUBJ{60K}"
        r"\SUBMITTED{May 3, <YEAR>}\ACCEPTED{June 5, <YEAR>}\VOLUME{12}\YEAR{<YEAR>}\PAPERNUM{0}"
        r"\DOI{vVOL-PID}\ABSTRACT{<ABSTRACT>}\begin{document}",
        lambda name, n, _of: (
            rf"{name}\footnote{{{PLACES[n % 3]}. \EMAIL{{a{n}@example.org}}}}"
        ),
        r" \and ",
    ),
    "elsarticle-review": Class(
        r"[review,12pt]{elsarticle}",
        r"\begin{document}\begin{frontmatter}\title{<TITLE>}<AUTHORS>\address[1]{<PLACE1>}"
        r"\address[2]{<PLACE2>}\address[3]{<PLACE3>}\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\begin{keyword}elms \sep ponds\end{keyword}\end{frontmatter}",
        _numbered, "\n",
    ),
    "ieee-journal": Class(
        r"[journal]{IEEEtran}",
        r"\title{<TITLE>}\author{<AUTHORS>\thanks{A. Nobody is with the <PLACE1>.}\thanks{Manuscript "
        r"received May 3, <YEAR>; revised June 5, <YEAR>.}}\markboth{Transactions on Elms, Vol.~12, "
        r"No.~3, May~<YEAR>}{Nobody \MakeLowercase{\textit{et al.}}: Elms}"
        r"\begin{document}\maketitle" + SUMMARY
        + r"\begin{IEEEkeywords}Elms, ponds\end{IEEEkeywords}",
        lambda name, n, _of: name + (", \\textit{Member, IEEE}" if n % 2 else ""), ", ", " and ",
    ),
    "ieee-blocks": Class(
        r"[conference]{IEEEtran}",
        r"\title{<TITLE>}\author{<AUTHORS>}\begin{document}\maketitle" + SUMMARY,
        lambda name, n, _of: (
            rf"\IEEEauthorblockN{{{name}}}\IEEEauthorblockA{{\textit{{Dept. of Ponds}}\\"
            rf"\textit{{University of Northtown}}\\Northtown, Norway\\a{n}@example.org}}"
        ),
        r"\and ", most=6,
    ),
    "ieee-ranks": Class(
        r"[conference]{IEEEtran}",
        r"\title{<TITLE>}\author{\IEEEauthorblockN{<AUTHORS>}\IEEEauthorblockA{"
        r"\IEEEauthorrefmark{1}<PLACE1>\\\IEEEauthorrefmark{2}<PLACE2>\\\IEEEauthorrefmark{3}<PLACE3>}}"
        r"\begin{document}\maketitle" + SUMMARY,
        lambda name, n, _of: rf"{name}\IEEEauthorrefmark{{{n % 3 + 1}}}", ", ", " and ", most=4,
    ),
    "jacow": Class(
        r"{jacow}",
        r"\begin{document}\title{<TITLE>}\author{<AUTHORS>\\ <PLACE1>}\maketitle" + SUMMARY,
        last=" and ",
    ),
    "jmlr": Class(
        r"[pmlr]{jmlr}",
        r"\jmlrvolume{12}\jmlryear{<YEAR>}\jmlrworkshop{Workshop on Elms}\title[Elms]{<TITLE>}"
        r"\author{<AUTHORS>}\begin{document}\maketitle\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\begin{keywords}elms, ponds\end{keywords}",
        lambda name, n, _of: (
            rf"\Name{{{name}}} \Email{{a{n}@example.org}}\\ \addr {PLACES[n % 3]}"
        ),
        r"\AND ", most=6,
    ),
    "kluwer": Class(
        r"{kluwer}",
        r"\begin{document}\begin{article}\begin{opening}\title{<TITLE>}<AUTHORS>"
        r"\begin{abstract}<ABSTRACT>\end{abstract}\keywords{elms, ponds}\end{opening}",
        lambda name, n, _of: (
            rf"\author{{{name} \email{{a{n}@example.org}}}}\institute{{{PLACES[n % 3]}}}"
        ),
        "\n", most=6,
    ),
    "llncs-runin": Class(
        r"[runningheads]{llncs}",
        r"\begin{document}\title{<TITLE>}\author{<AUTHORS>}\institute{<PLACE1> \and <PLACE2> \and <PLACE3>\\"
        r"\email{a@example.org}}\maketitle\begin{abstract}<ABSTRACT>\keywords{elms \and ponds}"
        r"\end{abstract}",
        lambda name, n, _of: (
            rf"{name}\inst{{{n % 3 + 1}}}" + (r"\orcidID{0000-1111-2222-3333}" if n % 2 else "")
        ),
        r" \and ",
    ),
    "lni": Class(
        r"[english]{lni}",
        r"\begin{document}\title[Elms]{<TITLE>}<AUTHORS>\affil[1]{<PLACE1>\email{a@example.org}}"
        r"\affil[2]{<PLACE2>}\affil[3]{<PLACE3>}\maketitle\begin{abstract}<ABSTRACT>\end{abstract}",
        _numbered, "\n",
    ),
    "ltugboat": Class(
        r"{ltugboat}",
        r"\begin{document}\title{<TITLE>}<AUTHORS>\maketitle\begin{abstract}<ABSTRACT>\end{abstract}",
        lambda name, n, _of: (
            rf"\author{{{name}}}\address{{{PLACES[n % 3]}}}\netaddress{{a{n}@example.org}}"
        ),
        "\n", most=4,
    ),
    "nature": Class(
        r"{nature}",
        r"\begin{document}\title{<TITLE>}\author{<AUTHORS>}\maketitle\begin{affiliations}\item <PLACE1>"
        r"\item <PLACE2>\item <PLACE3>\end{affiliations}\begin{abstract}<ABSTRACT>\end{abstract}",
        _marked, ", ", r" \& ",
    ),
    "oup": Class(
        r"[webpdf,contemporary,large]{oup-authoring-template}",
        r"\begin{document}\journaltitle{Journal of Elms}\DOI{10.5555/made.31}\copyrightyear{<YEAR>}"
        r"\pubyear{<YEAR>}\access{Advance Access Publication Date: 3 May <YEAR>}\appnotes{Paper}"
        r"\firstpage{1}\title[Elms]{<TITLE>}<AUTHORS>\authormark{Nobody et al.}"
        r"\address[1]{<PLACE1>}\address[2]{<PLACE2>}\address[3]{<PLACE3>}"
        r"\corresp[$\ast$]{Corresponding author. a@example.org}"
        r"\received{3}{1}{<YEAR>}\accepted{4}{5}{<YEAR>}\abstract{<ABSTRACT>}\keywords{elms, ponds}"
        r"\maketitle",
        _numbered, "\n",
    ),
    "philosophersimprint": Class(
        r"{philosophersimprint}",
        r"\title[Elms]{<TITLE>}\author{<AUTHORS>}\affiliation{University of Northtown}\date{May <YEAR>}"
        r"\begin{document}\maketitle" + SUMMARY,
        most=1,
    ),
    "resphilosophica": Class(
        r"{resphilosophica}",
        r"\title{<TITLE>}<AUTHORS>\begin{document}\begin{abstract}<ABSTRACT>\end{abstract}\maketitle",
        _own_place(r"\address{%s}"), "\n", most=3,
    ),
    "revtex-prl": Class(
        r"[aps,prl,twocolumn,superscriptaddress]{revtex4-2}",
        r"\begin{document}\title{<TITLE>}<AUTHORS>\date{\today}\begin{abstract}<ABSTRACT>\end{abstract}"
        r"\maketitle",
        _own_place(r"\affiliation{%s}"), "\n",
    ),
    "revtex-aip": Class(
        r"[aip,jcp,reprint]{revtex4-1}",
        r"\begin{document}\title[Elms]{<TITLE>}<AUTHORS>\date{\today}\begin{abstract}<ABSTRACT>"
        r"\end{abstract}\maketitle",
        _own_place(r"\affiliation{%s}"), "\n",
    ),
    "revtex-preprint": Class(
        r"[aps,pre,preprint,superscriptaddress]{revtex4-2}",
        r"\begin{document}\preprint{ELM-TH-77}\title{<TITLE>}<AUTHORS>\date{\today}\begin{abstract}"
        r"<ABSTRACT>\end{abstract}\maketitle",
        _own_place(r"\affiliation{%s}"), "\n",
    ),
    "smfart": Class(
        r"[english]{smfart}",
        r"\title{<TITLE>}<AUTHORS>\begin{document}\begin{abstract}<ABSTRACT>\end{abstract}\maketitle",
        _own_place(r"\address{%s}"), "\n",
    ),
    "spie": Class(
        r"[]{spie}\usepackage{authblk}",
        r"\title{<TITLE>}<AUTHORS>\affil[a]{<PLACE1>}\affil[b]{<PLACE2>}\affil[c]{<PLACE3>}"
        r"\begin{document}\maketitle" + SUMMARY + r"\keywords{elms, ponds}",
        _lettered, "\n",
    ),
    "univie-wlg": Class(
        r"{univie-ling-wlg}",
        r"\title{<TITLE>}\author{<AUTHORS>}\begin{document}\maketitle" + SUMMARY,
        between=r" \and ", most=3,
    ),
    "tlc": Class(
        r"{scrartcl}",
        r"\title{<TITLE>}\subtitle{A study in many gardens}\author{<AUTHORS>}\date{May 3, <YEAR>}"
        r"\begin{document}\maketitle" + SUMMARY,
        lambda name, n, _of: rf"{name}\thanks{{{PLACES[n % 3]}}}", r"\and ", most=8,
    ),
    "authblk": Class(
        r"{article}\usepackage{authblk}",
        r"\title{<TITLE>}<AUTHORS>\affil[1]{<PLACE1>}\affil[2]{<PLACE2>}\affil[3]{<PLACE3>}"
        r"\date{May 3, <YEAR>}\begin{document}\maketitle" + SUMMARY + KEYS,
        _numbered, "\n",
    ),
    "article-tabular": Class(
        r"[11pt]{article}",
        USUAL + SUMMARY,
        lambda name, n, _of: rf"{name}\\ University of Northtown\\ \texttt{{a{n}@example.org}}",
        r"\and ", most=6,
    ),
    "working-paper": Class(
        r"[12pt]{article}\usepackage{setspace}",
        r"\begin{document}\begin{titlepage}\begin{center}{\large NORTHTOWN WORKING PAPER SERIES\par}"
        r"\vspace{40pt}{\large <TITLE>\par}\vspace{20pt}<AUTHORS>\par\vspace{20pt}Working Paper 12345\\"
        r"http://www.example.org/papers/w12345\par\vspace{20pt}NORTHTOWN BUREAU OF ELM RESEARCH\\"
        r"1050 Garden Avenue\\Northtown\\May <YEAR>\end{center}{\small We thank nobody for comments. "
        r"The views expressed herein are those of the authors and do not necessarily reflect the "
        r"views of the Northtown Bureau.\par}\end{titlepage}\noindent <TITLE>\\AUTHORS\\"
        r"Working Paper No. 12345\\May <YEAR>\\JEL No. Q1\par\begin{center}\textbf{ABSTRACT}\end{center}"
        r"\noindent <ABSTRACT>\newpage",
        last=" and ",
    ),
    "arxiv-plain": Class(
        r"[10pt,twocolumn]{article}",
        r"\title{\textbf{<TITLE>}}\author{<AUTHORS>}\date{}\begin{document}\maketitle" + SUMMARY,
        lambda name, n, of: rf"{name}$^{{{n % 3 + 1}}}$"
        + (r"\\[3pt] {\small $^1$<PLACE1>, $^2$<PLACE2>, $^3$<PLACE3>}" if n == of else ""),
        r" \quad ", most=4,
    ),
    # Layouts of journals and repositories that have no public class.
    "labels-run-in": Class(
        r"[10pt,twocolumn]{article}\usepackage{tgtermes}",
        r"\begin{document}\twocolumn[{\noindent\small European Pond Journal (<YEAR>) 12, 345--367\\"
        r"doi:10.5555/epj.77\hfill CLINICAL RESEARCH\par\vspace{20pt}\noindent{\LARGE\bfseries "
        r"<TITLE>\par}\vspace{10pt}\noindent{\large\bfseries <AUTHORS>\par}\vspace{6pt}"
        r"\noindent{\footnotesize$^1$<PLACE1>; $^2$<PLACE2>; and $^3$<PLACE3>\par\noindent\itshape "
        r"Received 3 January <YEAR>; revised 2 March <YEAR>; accepted 4 May <YEAR>\par}\vspace{8pt}"
        r"\noindent\hrule\vspace{4pt}\noindent\begin{tabular}{p{.18\textwidth}p{.78\textwidth}}"
        r"\textbf{Aims} & ABS1 \\[3pt] \textbf{Methods and results} & ABS2 \\[3pt]"
        r"\textbf{Conclusion} & ABS3 \\[3pt] \textbf{Keywords} & Elms $\bullet$ Ponds\\"
        r"\end{tabular}\vspace{4pt}\hrule\vspace{20pt}}]",
        _marked, ", ", ", and ", labels=("Aims", "Methods and results", "Conclusion"),
    ),
    "labels-below": Class(
        r"[11pt]{article}",
        r"\begin{document}{\raggedright{\Large\bfseries <TITLE>\par}\vspace{6pt}<AUTHORS>\par"
        r"\vspace{4pt}{\small 1 <PLACE1>. 2 <PLACE2>. 3 <PLACE3>.\par}\vspace{8pt}"
        r"{\bfseries Abstract\par}\textbf{Background}\par ABS1\par\textbf{Methods}\par ABS2\par"
        r"\textbf{Results and Conclusions}\par ABS3\par\textbf{Trial registration:} ELM-1204.\par"
        r"\vspace{6pt}\textbf{Keywords:} elms, ponds\par}\vspace{20pt}",
        lambda name, n, _of: rf"{name}\textsuperscript{{{n % 3 + 1}{'*' if n == 1 else ''}}}",
        ", ", " and ", labels=("Background", "Methods", "Results and Conclusions"),
    ),
    "two-languages": Class(
        r"[11pt]{article}",
        r"\begin{document}{\small Revista de Estanques 12 (<YEAR>), 45--67\hfill ISSN 1234-5678\par}"
        r"\vspace{20pt}\begin{center}{\Large\bfseries <TITLE>\par}\vspace{6pt}{\large\itshape "
        r"Un estudio de los olmos en los jardines\par}\vspace{10pt}<AUTHORS>\\{\small University of "
        r"Northtown}\end{center}{\small\textbf{Abstract:} <ABSTRACT>\par\textbf{Keywords:} elms, "
        r"ponds.\par\medskip\textbf{Resumen:} Los olmos crecen con lentitud en los jardines grandes "
        r"y con frecuencia se cuentan dos veces. Preguntamos quien los cuenta y por que quedan tan "
        r"pocos en los jardines de la ciudad.\par\textbf{Palabras clave:} olmos, estanques.\par}"
        r"\vspace{16pt}",
        last=" y ", most=4,
    ),
    "german-first": Class(
        r"[11pt]{article}",
        r"\begin{document}{\small Zeitschrift f\"ur Teichkunde, Jg. 12, Heft 3, <YEAR>, S. 45--67\par}"
        r"\vspace{24pt}{\raggedright{\bfseries <AUTHORS>\par}\vspace{8pt}{\LARGE <TITLE>\par}}"
        r"\vspace{14pt}{\itshape\textbf{Abstract:} <ABSTRACT>\par}\medskip{\itshape\textbf{"
        r"Zusammenfassung:} Ulmen wachsen langsam und werden oft doppelt gez\"ahlt. Wir fragen, wer "
        r"sie z\"ahlt und warum in den G\"arten der Stadt so wenige \"ubrig sind.\par}\vspace{16pt}",
        last=" und ", most=4,
    ),
    "letter-no-headings": Class(
        r"[10pt,twocolumn]{article}\usepackage{tgtermes}",
        r"\begin{document}\twocolumn[{\noindent{\sffamily\bfseries LETTERS\hfill doi:10.5555/let.77}"
        r"\par\vspace{16pt}\noindent{\sffamily\huge\raggedright <TITLE>\par}\vspace{8pt}\noindent"
        r"{\sffamily <AUTHORS>\par}\vspace{14pt}}]\noindent\textbf{<ABSTRACT>}\par",
        _marked, ", ", r" \& ",
    ),
    "group-author": Class(
        r"[10pt]{article}",
        r"\begin{document}{\raggedright{\footnotesize Original Investigation $|$ ONCOLOGY\par}"
        r"\vspace{6pt}{\LARGE\bfseries <TITLE>\par}\vspace{6pt}{\small <AUTHORS>; for the ELM Study "
        r"Group\par}\vspace{12pt}{\small\textbf{IMPORTANCE} ABS1\par\medskip\textbf{OBJECTIVE} "
        r"ABS2\par\medskip\textbf{CONCLUSIONS AND RELEVANCE} ABS3\par\medskip\textit{JAMA Ponds.} "
        r"<YEAR>;12(3):45--51. doi:10.5555/jamaponds.<YEAR>.77\par}}\vspace{14pt}",
        lambda name, n, _of: f"{name}, {('MD', 'PhD', 'MD, MPH')[n % 3]}", "; ",
        labels=("IMPORTANCE", "OBJECTIVE", "CONCLUSIONS AND RELEVANCE"), group="ELM Study Group",
    ),
    "family-initials": Class(
        r"[10pt]{article}",
        r"\begin{document}{\footnotesize\itshape Journal of Ponds and Life Vol. 12, Issue 3, "
        r"July-September <YEAR>, pp.45-67\par}\vspace{12pt}\begin{center}{\Large\bfseries <TITLE>\par}"
        r"\vspace{6pt}<AUTHORS>\par{\footnotesize *University of Medicine, Northtown, **Elm Institute"
        r"\par Correspondence to: Nobody A, Email: a@example.org\par}\end{center}"
        r"{\small\textbf{Abstract}\par <ABSTRACT>\par\textbf{Keywords:} elms, ponds\par}\vspace{9pt}",
        lambda name, n, _of: (
            f"{name.split(' ')[-1]} {''.join(w[0] for w in name.split(' ')[:-1])}{'*' * (n % 2 + 1)}"
        ),
    ),
    "jstor-cover": Class(
        r"[11pt]{article}",
        r"\begin{document}\begin{titlepage}\raggedright{\bfseries <TITLE>\par}\vspace{4pt}Author(s): "
        r"<AUTHORS>\\Source: \textit{Annals of Ponds}, Sep., <YEAR>, Vol. 12, No. 3 (Sep., <YEAR>), "
        r"pp. 45-67\\Published by: Northtown University Press\\Stable URL: https://www.jstor.org/"
        r"stable/123456\par\vspace{30pt}\small JSTOR is a not-for-profit service that helps scholars, "
        r"researchers, and students discover, use, and build upon a wide range of content in a trusted "
        r"digital archive.\par Your use of the JSTOR archive indicates your acceptance of the Terms "
        r"\& Conditions of Use, available at https://about.jstor.org/terms\end{titlepage}"
        r"\begin{center}{\Large\scshape <TITLE>\par}\vspace{12pt}{\scshape <AUTHORS>\par}"
        r"\vspace{12pt}\end{center}",
        last=" and ", most=4,
    ),
    "hal-cover": Class(
        r"[11pt]{article}",
        r"\begin{document}\begin{titlepage}\begin{center}{\Huge\bfseries HAL\par}{\small open science"
        r"\par}\vspace{30pt}{\LARGE\bfseries <TITLE>\par}\vspace{10pt}<AUTHORS>\par\end{center}"
        r"\vspace{24pt}\noindent{\bfseries To cite this version:}\par\noindent <AUTHORS>. <TITLE>. "
        r"Annals of Ponds, <YEAR>, 12 (3), pp.45-67. 10.5555/ponds.77. hal-01234567\par\vspace{14pt}"
        r"\noindent\textbf{HAL Id: hal-01234567}\\https://hal.example.org/hal-01234567\\Submitted on "
        r"3 Jan <YEAR>\par\vspace{14pt}\noindent\textbf{HAL} is a multi-disciplinary open access "
        r"archive for the deposit and dissemination of scientific research documents, whether they "
        r"are published or not.\end{titlepage}\begin{center}{\LARGE <TITLE>\par}\vspace{10pt}"
        r"<AUTHORS>\par\end{center}" + SUMMARY,
        most=6,
    ),
    "tandf-cover": Class(
        r"[11pt]{article}",
        r"\begin{document}\begin{titlepage}\raggedright{\Large Annals of Pond Studies\par}{\small "
        r"ISSN: 1234-5678 (Print) 1234-5679 (Online) Journal homepage: https://www.tandf.example.org/"
        r"loi/pond20\par}\vspace{24pt}{\LARGE\bfseries <TITLE>\par}\vspace{8pt}{\bfseries <AUTHORS>"
        r"\par}\vspace{16pt}{\small\textbf{To cite this article:} Nobody (<YEAR>) Ponds, Annals of "
        r"Pond Studies, 12:3, 45-67, DOI: 10.5555/12345.<YEAR>.77\par\textbf{To link to this article:} "
        r"https://doi.org/10.5555/12345.<YEAR>.77\par\vspace{8pt}Published online: 05 Jun <YEAR>.\par "
        r"Submit your article to this journal\par Article views: 77\par View related articles\par}"
        r"\end{titlepage}{\raggedright{\Large\bfseries <TITLE>\par}\vspace{6pt}<AUTHORS>\par"
        r"{\small <PLACE1>; <PLACE2>\par}\vspace{8pt}}\textbf{ABSTRACT}\par\noindent <ABSTRACT>\par"
        r"\medskip\textbf{KEYWORDS} Elms; ponds\par\vspace{9pt}",
        lambda name, n, _of: rf"{name}\textsuperscript{{{'abc'[n % 3]}}}", ", ", " and ",
    ),
    "pure-cover": Class(
        r"[11pt]{article}",
        r"\begin{document}\begin{titlepage}\raggedright{\Large\bfseries University of Northtown\par}"
        r"\vspace{20pt}{\large\bfseries <TITLE>\par}<AUTHORS>\par\vspace{8pt}\textit{Published in:}\\"
        r"Annals of Ponds\par\vspace{6pt}\textit{DOI:}\\10.5555/ponds.77\par\vspace{6pt}\textit{"
        r"Publication date:}\\<YEAR>\par\vspace{6pt}\textit{Document version}\\Peer reviewed version"
        r"\par\vspace{6pt}\textit{Citation for published version (APA):}\\Nobody, A. (<YEAR>). Ponds. "
        r"\textit{Annals of Ponds}, \textit{12}(3), 45--67. https://doi.org/10.5555/ponds.77\par"
        r"\vspace{20pt}{\small\textbf{General rights}\\Copyright and moral rights for the publications "
        r"made accessible in the public portal are retained by the authors.\par}\end{titlepage}"
        r"\begin{center}{\Large <TITLE>\par}\vspace{10pt}<AUTHORS>\end{center}" + SUMMARY,
        last=" and ", most=6,
    ),
    "logo-and-box": Class(
        r"[10pt,twocolumn]{article}\usepackage{helvet}",
        r"\begin{document}\twocolumn[{\noindent{\sffamily\fontsize{34}{36}\selectfont Pond Science "
        r"Advances}\hfill\begin{minipage}[t]{.2\textwidth}\scriptsize Check for updates\\Cite this: "
        r"\textit{Pond Sci. Adv.}, <YEAR>, 12, 345\\DOI: 10.5555/c7ps00077a\end{minipage}\par"
        r"\vspace{6pt}\noindent\rule{\textwidth}{1pt}\par\noindent{\sffamily PAPER\par}\vspace{16pt}"
        r"\noindent{\LARGE\bfseries\raggedright <TITLE>\par}\vspace{6pt}\noindent <AUTHORS>\par"
        r"\vspace{8pt}\noindent{\sffamily\small <ABSTRACT>\par}\vspace{14pt}}]",
        lambda name, n, _of: rf"{name}\textsuperscript{{{'abc'[n % 3]}{'*' if n == 1 else ''}}}",
        ", ", " and ",
    ),
    "names-in-capitals": Class(
        r"[11pt]{article}",
        r"\begin{document}{\small\itshape Austral Pond Law Review\hfill Vol 12 (<YEAR>)\par}"
        r"\vspace{24pt}\begin{center}{\large\MakeUppercase{<TITLE>}\par}\vspace{14pt}"
        r"{\MakeUppercase{<AUTHORS>}\par}\end{center}{\small\itshape <ABSTRACT>\par}\vspace{12pt}"
        r"\begin{center}I\quad INTRODUCTION\end{center}",
        last=" and ", most=3,
    ),
    "thanks-in-names": Class(
        r"[11pt]{article}",
        r"\begin{document}\begin{center}{\bfseries\LARGE <TITLE>\par}\vspace{12pt}\begin{tabular}{ccc}"
        r"<AUTHORS>\end{tabular}\par\vspace{8pt}This version: May <YEAR>\par First version: "
        r"January 2001\end{center}\begin{center}\textbf{Abstract}\end{center}\noindent <ABSTRACT>\par"
        r"\medskip\noindent\textit{JEL classification:} Q15, R52\\\textit{Keywords:} elms, ponds"
        r"\newpage",
        lambda name, n, _of: rf"{name}\footnote{{{PLACES[n % 3]}. I thank nobody.}}" + (
            r"\\" if n % 3 == 0 else ""
        ),
        " & ", most=5,
    ),
    "own-line-each": Class(
        r"[12pt]{article}\usepackage{setspace}\doublespacing",
        r"\begin{document}\begin{center}<TITLE>\\[20pt]<AUTHORS>\\[20pt]Author Note\end{center}"
        r"Correspondence concerning this article should be addressed to A. Nobody, <PLACE1>. Email: "
        r"a@example.org\newpage\begin{center}Abstract\end{center}\noindent <ABSTRACT>\par"
        r"\textit{Keywords:} elms, ponds\newpage",
        lambda name, n, _of: rf"{name}\\{PLACES[n % 3].split(',')[1]}", r"\\", most=4,
    ),
}  # fmt: skip


OPTIONAL = ("epsf", "dsfont", "newtxtext", "newtxmath", "newtxtt", "ccicons", "cochineal")
"""Packages of fonts and pictures; if they are missing, the classes do without them."""


def vary(paper: Paper, draw: random.Random, most: int) -> None:
    """Give a paper a title and authors of other kinds than `compose` does."""
    paper.title = draw.choice(TITLES)
    count = min(draw.choice(COUNTS), most)
    paper.authors = tuple(draw.sample(NAMES, count))


def make(name: str, made: Class, seed: int, folder: Path, number: int) -> bool:
    """Set one paper; return False if LaTeX could not."""
    draw = random.Random(f"{name} {seed} {number}")
    paper = compose(draw.choice(FIELDS), draw.randrange(10**6), 12, 3, 1)
    vary(paper, draw, made.most)
    head = r"\documentclass" + made.head
    head = head[: head.index("}") + 1] + UNICODE + head[head.index("}") + 1 :]
    entries = (
        r"\begin{thebibliography}{99}"
        + "\n".join(
            rf"\bibitem{{{each.key}}} {', '.join(f'{g} {f}' for f, g in each.authors)}. {each.title}. "
            rf"\emph{{{each.venue}}}, {each.year}."
            for each in paper.references
        )
        + r"\end{thebibliography}"
    )
    if "begin{article}" in made.front:
        entries += r"\end{article}"
    journal = Journal(name, head, made.page, entries, dated="<YEAR>" in made.front)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "paper.tex").write_text(latex(paper, journal), "utf-8")
        for style in OPTIONAL:
            sought = ["kpsewhich", f"{style}.sty"]
            if subprocess.run(sought, capture_output=True, check=False).returncode:
                (Path(place) / f"{style}.sty").write_text(rf"\ProvidesPackage{{{style}}}")
        command = ["pdflatex", "-interaction=nonstopmode", "paper"]
        for _ in range(2):
            done = subprocess.run(command, cwd=place, capture_output=True, check=False, timeout=60)
        pdf, stem = Path(place) / "paper.pdf", folder / f"{name}-{number}"
        log = stem.with_suffix(".log")
        log.write_bytes(done.stdout) if done.returncode else log.unlink(missing_ok=True)
        if not pdf.exists() or b"%%EOF" not in pdf.read_bytes()[-1024:]:
            return False
        shutil.copyfile(pdf, stem.with_suffix(".pdf"))
    said = truth(paper, journal)
    if made.labels:
        texts = zip(made.labels, made.parts(paper), strict=True)
        said["abstract"] = _plain(" ".join(f"{label} {text}" for label, text in texts))
    if made.group:
        said["authors"] = [f"{family}, {given}" for family, given in paper.authors] + [made.group]
    stem.with_suffix(".json").write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n")
    return True


def main() -> None:
    """Set papers in all classes, or in those named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("classes", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--papers", type=int, default=2)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, made in CLASSES.items():
        if not given.classes or name in given.classes:
            done = [make(name, made, given.seed, given.folder, n) for n in range(given.papers)]
            print(name, f"{sum(done)} of {given.papers} papers made", flush=True)


if __name__ == "__main__":
    main()
